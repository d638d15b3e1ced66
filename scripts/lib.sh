# Shell functions that the scripts share; sourced, not run. Sets $root and goes there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
# Builds of all kinds compile a kernel once between them.
export FZGM_CUDA_CACHE=${FZGM_CUDA_CACHE:-$root/build/fatbins}
# Incremental builds would store gigabytes for later changes, and these scripts build a fixed tree.
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}

say() { printf '\n== %s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# as_root <command…>: runs it with the rights to install packages, or fails.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif has sudo; then sudo "$@"; else return 1; fi
}

# packages <package…>: installs packages by apt; prints the missing ones if apt or the right to use it is missing.
packages() {
  local lock
  has apt-get || die "please install: $* (there is no apt-get here)"
  # apt fails while another process of these scripts installs packages.
  mkdir -p build
  exec {lock}>build/packages.lock
  flock "$lock"
  say "installing $*"
  if [ -z "${apt_updated:-}" ]; then
    as_root apt-get update -qq || die "please install as root: apt-get install $*"
    apt_updated=1
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null \
    || die "please install as root: apt-get install $*"
  exec {lock}>&-
}

# venv <folder> <package…>: a Python environment with these packages of PyPI. Waits for another process that makes it.
venv() {
  local folder=$1 lock
  shift
  need python3 python3
  python3 -c 'import venv, ensurepip' 2>/dev/null || packages python3-venv
  mkdir -p build
  exec {lock}>"$folder.lock"
  flock "$lock"
  if [ "$(cat "$folder/packages" 2>/dev/null)" != "$*" ]; then
    python3 -m venv "$folder" && "$folder/bin/python" -m pip install --quiet "$@" || die "cannot make $folder with $*"
    printf '%s' "$*" >"$folder/packages"
  fi
  exec {lock}>&-
}

# need <command> <package>…: installs the packages of those commands that are not there.
need() {
  local missing=()
  while [ $# -gt 0 ]; do
    has "$1" || missing+=("$2")
    shift 2
  done
  [ ${#missing[@]} = 0 ] || packages "${missing[@]}"
}

need_c() {
  need cc gcc c++ g++ cmake cmake make make
  # A compiler without the C library's headers, as in slim images, is no compiler.
  echo '#include <stdio.h>' | cc -E - >/dev/null 2>&1 || packages libc6-dev
}

rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# rust_is_new_enough <rustc>: it exists and is at least the version that Cargo.toml requires.
rust_is_new_enough() {
  local version
  version=$("$1" --version 2>/dev/null | sed -n 's/^rustc \([0-9.]*\).*/\1/p')
  [ -n "$version" ] && [ "$(printf '%s\n%s\n' "$rust_wanted" "$version" | sort -V | head -n 1)" = "$rust_wanted" ]
}

# use_versioned_rust: Ubuntu ships newer compilers under names with a version; takes the newest that is there.
use_versioned_rust() {
  local v
  for v in $(compgen -c cargo- | sed -n 's/^cargo-\(1\.[0-9]*\)$/\1/p' | sort -Vru); do
    if rust_is_new_enough "rustc-$v"; then
      mkdir -p "$root/build/rust"
      ln -sf "$(command -v "cargo-$v")" "$root/build/rust/cargo"
      ln -sf "$(command -v "rustc-$v")" "$root/build/rust/rustc"
      has "rustdoc-$v" && ln -sf "$(command -v "rustdoc-$v")" "$root/build/rust/rustdoc"
      export PATH="$root/build/rust:$PATH"
      return 0
    fi
  done
  return 1
}

# need_rust: puts a cargo and rustc that are new enough on PATH: those that are there, rustup's, or the distribution's.
need_rust() {
  local bin="${HOME:-/root}/.cargo/bin"
  # Once: with another PATH everything would be built again, since another nvcc may be on it.
  if [ -d "$bin" ] && [[ ":$PATH:" != *":$bin:"* ]]; then export PATH="$bin:$PATH"; fi
  # cargo fetches crates over TLS and needs certificates.
  [ -e /etc/ssl/certs/ca-certificates.crt ] || ! has apt-get || packages ca-certificates
  has cargo && rust_is_new_enough rustc && return 0
  use_versioned_rust && return 0
  # Debian 12 calls its current compiler -web, Ubuntu 24.04 puts the version into the name.
  if has apt-get && { [ "$(id -u)" = 0 ] || has sudo; }; then
    has cc || need_c
    local pair
    [ -n "${apt_updated:-}" ] || as_root apt-get update -qq || true
    apt_updated=1
    for pair in $(apt-cache search --names-only '^cargo-(web|1\.[0-9]+)$' | sed 's/ .*//; s/^cargo-//' | sort -Vr) plain; do
      local suffix="-$pair" version
      [ "$pair" = plain ] && suffix=""
      version=$(apt-cache policy "rustc$suffix" 2>/dev/null | sed -n 's/.*Candidate: \([0-9][0-9.]*\).*/\1/p')
      [ -n "$version" ] && [ "$(printf '%s\n%s\n' "$rust_wanted" "$version" | sort -V | head -n 1)" = "$rust_wanted" ] || continue
      packages "cargo$suffix" "rustc$suffix"
      hash -r
      if { has cargo && rust_is_new_enough rustc; } || use_versioned_rust; then return 0; fi
    done
  fi
  cat >&2 <<TEXT
fzgm needs Rust $rust_wanted or newer, found: $(rustc --version 2>/dev/null || echo none).
Install it for this user with
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal -c clippy -c rustfmt
and run this again.
TEXT
  exit 1
}

# need_nvcc: tests need kernels. Without a network only those of the emulator are compiled, with a message.
need_nvcc() {
  [ -z "${FZGM_CUDA:-}" ] || return 0
  export FZGM_CUDA=require
  need_nvcc_set_it=1
  [ -z "${NVCC:-}" ] || return 0
  bash scripts/setup-nvcc.sh && return 0
  export FZGM_CUDA=emulated
  say "SKIPPED: nvcc cannot be had (no network?), so kernels are compiled for the emulator only"
}

# install_fzgm <prefix>: builds the library, the command line, and the HDF5 filter through CMake, as a user does, and installs them.
install_fzgm() {
  cmake -S . -B build/cmake -DCMAKE_BUILD_TYPE=Release -DFZGM_BUILD_HDF5=ON -DCMAKE_INSTALL_PREFIX="$1" >build/cmake.log 2>&1 \
    || { cat build/cmake.log >&2; die "cmake does not configure"; }
  cmake --build build/cmake
  cmake --install build/cmake >build/install.log
  printf 'installed into %s\n' "$1"
}
