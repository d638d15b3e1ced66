#!/usr/bin/env bash
# Installs each file of a release in a Debian 12 system of its own, tries it there, and removes it: afterwards no file may be left.
# Needs root, and apt, which fetches Debian 12. Prints seconds and sizes.
#
#   tests/packaging/release.sh <folder with the files> [<root>,…]
#
# Roots: bare (a minimal Debian, no compiler), tools (with a C compiler, Python, and h5py of Debian), wheel (the same system), source (with Rust of
# this machine). recipes runs the recipes of packaging/ on the source archive, on this machine.
. "$(dirname "$0")/../../scripts/lib.sh"
out=$(realpath "$1")
wanted=${2:-all}
[ "$wanted" != all ] || wanted=bare,tools,wheel,source,recipes
[ "$(id -u)" = 0 ] || die "needs root: chroot"
need debootstrap debootstrap python3 python3
mkdir -p build/chroots
place=$(realpath build/chroots)
system=$place/system
trap cleanup EXIT

cleanup() {
  local mounted
  for mounted in $(awk -v at="$system" 'index($2, at) == 1 { print $2 }' /proc/mounts | sort -r); do umount -l "$mounted"; done
}

ok() { printf 'ok  %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
inside() { chroot "$system" env -i PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 "$@"; }
# Folders that have no place in a comparison: logs, lists, and caches of dpkg, apt, and the loader.
listing() {
  (cd "$system" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./var/log -o -path ./var/cache -o -path ./var/lib/dpkg \
    -o -path ./var/lib/apt -o -path ./tmp -o -path ./root \) -prune -o ! -path ./etc/ld.so.cache -print | sort)
}
kib() { du -sk "$1" | cut -f 1; }

# image <name> [<package>…]: a minimal Debian 12 with these packages, as an archive that is made once.
image() {
  local archive=$place/$1.tar
  [ -e "$archive" ] && return 0
  say "image $1"
  shift
  cleanup
  rm -rf --one-file-system "$system"
  if [ $# = 0 ]; then
    debootstrap --variant=minbase bookworm "$system" >"$place/image.log" 2>&1 || { tail -n 20 "$place/image.log"; die "debootstrap failed"; }
  else
    image bare
    fresh bare
    cp /etc/resolv.conf "$system/etc/"
    inside sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $*" >"$place/image.log" 2>&1 \
      || { tail -n 20 "$place/image.log"; die "apt-get failed in the image"; }
    rm -rf "$system/etc/resolv.conf" "$system"/var/lib/apt/lists/*
    cleanup
  fi
  rm -rf "$system"/var/cache/apt/archives/*.deb
  tar -C "$system" -cf "$archive.part" .
  mv "$archive.part" "$archive"
}

fresh() {
  cleanup
  rm -rf --one-file-system "$system"
  mkdir -p "$system"
  tar -C "$system" -xf "$place/$1.tar"
  [ -e "$system/dev/null" ] || mknod -m 666 "$system/dev/null" c 1 3
  mount -t proc proc "$system/proc"
  mkdir -p "$system/tmp/in"
}

# try <title> <command…>: the seconds of a step.
try() {
  local title=$1 started=${EPOCHREALTIME/./}
  shift
  "$@" >"$place/step.log" 2>&1 || { tail -n 40 "$place/step.log"; fail "$title"; }
  printf 'ok  %s, %d ms\n' "$title" $(((${EPOCHREALTIME/./} - started) / 1000))
}

# removed <title>: the listing is that of before.
removed() {
  listing >"$place/after"
  diff "$place/before" "$place/after" >"$place/left" || { head -n 20 "$place/left"; fail "$1 leaves files, or lacks them"; }
  ok "$1: nothing is left"
}

# A raw array of 1 MB for the command line.
field() { inside sh -c 'head -c 1000000 /usr/bin/perl > /tmp/field.u8'; }

command_line() { # <program>
  inside "$1" --version \
    && inside "$1" compress --force --dtype u8 --dims 1000000 --lossless /tmp/field.u8 -o /tmp/field.fzm \
    && inside "$1" info /tmp/field.fzm \
    && inside "$1" decompress --force /tmp/field.fzm -o /tmp/back.u8 \
    && inside cmp /tmp/field.u8 /tmp/back.u8
}

# Without a compiler and without a network: every package and archive installs, and the command line runs.
root_bare() {
  local file
  image bare
  fresh bare
  listing >"$place/before"
  cp "$out"/debian/*.deb "$system/tmp/in/"
  field
  try "dpkg -i of $(ls "$out"/debian | wc -l) packages but libfzgm-dev, which needs libc6-dev" \
    inside sh -c 'dpkg -i $(ls /tmp/in/*.deb | grep -v -e -dev)'
  try "the command line of the package" command_line fzgm
  inside sh -c 'dpkg -L libfzgm0 fzgm hdf5-fzgm | sort -u | xargs ls -ld' | awk '$1 ~ /^-/ { sum += $5 } END { printf "    installed: %d KiB\n", sum / 1024 }'
  try "dpkg --purge" inside dpkg --purge fzgm hdf5-fzgm libfzgm0
  removed "packages"
  for file in "$out"/fzgm-*-linux*.tar.gz; do
    case $file in *-debug.tar.gz) continue ;; esac
    try "tar of $(basename "$file")" tar -C "$system/opt" --no-same-owner -xzf "$file"
    printf '    archive %s KiB, unpacked %s KiB\n' "$(kib "$file")" "$(kib "$system/opt")"
    try "the command line of the archive" command_line "/opt/$(ls "$system/opt")/bin/fzgm"
    [ -s "$(echo "$system"/opt/*/share/doc/fzgm/LICENSES.txt)" ] || fail "no LICENSES.txt in $file"
    rm -rf "$system"/opt/*
    removed "archive"
  done
}

tools=(gcc libc6-dev pkg-config python3-h5py python3-venv hdf5-tools perl gdb)

# The quick start in C with both libraries, h5py and h5dump with the filter.
root_tools() {
  local file prefix
  image tools "${tools[@]}"
  fresh tools
  # The first program below the heading.
  awk '/^## C$/ { below = 1 } inside && /^```$/ { exit } inside { print } below && /^```c$/ { inside = 1 }' docs/quickstart.md >"$system/tmp/quickstart.c"
  cp tests/c/twenty.c "$system/tmp/"
  listing >"$place/before"
  cp "$out"/debian/*.deb "$system/tmp/in/"
  try "dpkg -i of all packages" inside sh -c 'dpkg -i /tmp/in/*.deb'
  try "the quick start with pkg-config" \
    inside sh -c 'cd /tmp && gcc -std=c11 -Wall -Werror quickstart.c $(pkg-config --cflags --libs fzgm) -lm -o quickstart && ./quickstart'
  try "the static library" inside sh -c 'cd /tmp && gcc twenty.c -l:libfzgm.a -lgcc_s -lutil -lrt -lpthread -lm -ldl -o static && ./static && ! ldd static | grep fzgm'
  try "h5py finds the filter in the plugin folder" inside python3 -c "$h5py"
  try "h5dump reads the file" inside sh -c 'h5dump -d t -s 0,0 -c 1,4 /tmp/t.h5'
  try "the module fzgm_hdf5 finds the plugin" inside python3 -c 'import fzgm_hdf5; print(fzgm_hdf5.plugin_folder()); fzgm_hdf5.load()'
  try "dpkg --purge" inside dpkg --purge fzgm hdf5-fzgm libfzgm-dev libfzgm0
  removed "packages"

  for file in "$out"/fzgm-*-linux*.tar.gz; do
    prefix=/opt/$(basename "$file" .tar.gz)
    case $file in *-debug.tar.gz) continue ;; esac
    tar -C "$system/opt" --no-same-owner -xzf "$file"
    try "the quick start with $prefix" inside sh -c "cd /tmp && export PKG_CONFIG_PATH=$prefix/lib/pkgconfig && gcc -std=c11 quickstart.c \
      \$(pkg-config --cflags --libs fzgm) -lm -Wl,-rpath,$prefix/lib -o quickstart && ./quickstart"
    try "h5py with its filter" inside env HDF5_PLUGIN_PATH="$prefix/lib/fzgm/hdf5" PYTHONPATH="$prefix/share/fzgm/python" python3 -c "$h5py"
    # The symbols of the archive with debug information belong to these libraries.
    tar -C "$system/opt" --no-same-owner -xzf "${file%.tar.gz}-debug.tar.gz"
    try "gdb finds the lines of its library" inside sh -c "cd /tmp && gdb -batch -iex 'set debug-file-directory $prefix-debug/lib/debug' \
      -ex 'info line fz_version' $prefix/lib/libfzgm.so | tee /dev/stderr | grep '^Line [0-9]* of'"
    rm -rf "$system"/opt/*
  done
  removed "archives"
}

h5py='
import h5py, numpy as np, fzgm_hdf5
x = np.random.default_rng(1).normal(size=(200, 300)).cumsum(-1).astype("f4")
with h5py.File("/tmp/t.h5", "w") as file:
    file.create_dataset("t", data=x, chunks=(100, 100), **fzgm_hdf5.filter(abs=1e-2))
with h5py.File("/tmp/t.h5") as file:
    assert abs(file["t"][...] - x).max() <= 1e-2
    print(fzgm_hdf5.describe(file["t"]))
'

# The wheel in an environment, without a network inside: pip of this machine fetches numpy and h5py.
root_wheel() {
  [ -d "$out/python" ] || { printf 'SKIPPED: the wheel (%s has no folder python)\n' "$out"; return 0; }
  local wheels=$place/wheels wheel
  image tools "${tools[@]}"
  fresh tools
  wheel=$(ls "$out"/python/*.whl)
  mkdir -p "$wheels"
  python3 -m pip download --quiet --only-binary :all: --python-version 3.11 --dest "$wheels" numpy h5py
  cp "$wheels"/*.whl "$wheel" "$system/tmp/in/"
  inside python3 -m venv /tmp/venv
  (cd "$system/tmp/venv" && find . | sort) >"$place/venv-before"
  try "pip install of the wheel ($(kib "$wheel") KiB), numpy, and h5py" inside /tmp/venv/bin/pip install --quiet --no-compile --no-index --find-links /tmp/in "fzgm[hdf5]"
  try "numpy and h5py with the wheel" inside /tmp/venv/bin/python -c '
import fzgm, fzgm.hdf5, h5py, numpy as np
x = np.random.default_rng(1).normal(size=(200, 300)).cumsum(-1).astype("f4")
assert fzgm.compare(x, fzgm.decompress(fzgm.compress(x, error_bound=1e-3, preset="high")), error_bound=1e-3).kept
with h5py.File("/tmp/w.h5", "w") as file:
    file.create_dataset("t", data=x, **fzgm.hdf5.filter(abs=1e-3))
'
  inside sh -c 'ls /tmp/venv/lib/python3*/site-packages/fzgm/LICENSES.txt' >/dev/null || fail "no LICENSES.txt in the wheel"
  try "pip uninstall" inside /tmp/venv/bin/pip uninstall --quiet -y fzgm numpy h5py
  (cd "$system/tmp/venv" && find . | sort) >"$place/venv-after"
  diff "$place/venv-before" "$place/venv-after" || fail "pip uninstall leaves files"
  ok "wheel: nothing is left"
}

# What is made of sources, with the Rust of this machine: the source archive by CMake, the source distribution by pip, the command line of its crate.
root_source() {
  local folder
  image source gcc g++ libc6-dev cmake make pkg-config python3-venv ca-certificates binutils
  fresh source
  folder=$(rustc --print sysroot)
  mkdir -p "$system/opt/rust" "$system/root/.cargo/registry"
  mount --bind -o ro "$folder" "$system/opt/rust"
  mount --bind -o ro "${CARGO_HOME:-$HOME/.cargo}/registry" "$system/root/.cargo/registry"
  cp /etc/resolv.conf "$system/etc/"
  # The source distribution of Python has the same name.
  cp "$out/$(basename "$out").tar.gz" "$system/tmp/in/"
  cp tests/c/twenty.c "$system/tmp/"
  field
  listing >"$place/before"
  local rust="export PATH=\$PATH:/opt/rust/bin FZGM_CUDA=off CARGO_NET_OFFLINE=true CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1"
  try "the source archive by CMake" inside sh -c "$rust; cd /tmp && tar xzf in/fzgm-*.tar.gz && cmake -S fzgm-* -B b -DFZGM_BUILD_HDF5=ON && \
    cmake --build b && cmake --install b && gcc twenty.c -I/usr/local/include -L/usr/local/lib -lfzgm -Wl,-rpath,/usr/local/lib -o twenty && ./twenty"
  try "uninstall" inside cmake --build /tmp/b --target uninstall
  inside find /usr/local -depth -type d -empty -delete
  inside mkdir -p /usr/local/bin /usr/local/etc /usr/local/games /usr/local/include /usr/local/sbin /usr/local/share/man /usr/local/src
  listing | grep -v ^./usr/local >"$place/after"
  grep -v ^./usr/local "$place/before" | diff - "$place/after" || fail "uninstall leaves files"
  [ -z "$(inside find /usr/local -type f)" ] || fail "uninstall leaves files in /usr/local"
  ok "source archive: nothing is left"
  crates_root "$rust"
  sdist_root "$rust"
}

# crates_root <settings of Rust>: the command line and the filter from their archives, which find the crate fzgm in its archive.
crates_root() {
  [ -d "$out/crates" ] || { printf 'SKIPPED: the crates (%s has no folder crates)\n' "$out"; return 0; }
  local file version=${out##*/fzgm-}
  mkdir -p "$system/tmp/crates"
  for file in "$out"/crates/*.crate; do tar -C "$system/tmp/crates" --no-same-owner -xzf "$file"; done
  local patch="--config 'patch.crates-io.fzgm.path=\"/tmp/crates/fzgm-$version\"'"
  try "cargo install of the crate fzgm-cli" inside sh -c "$1; CARGO_TARGET_DIR=/tmp/ct cargo install --quiet --root /tmp/cli --path /tmp/crates/fzgm-cli-$version $patch"
  try "its command line" command_line /tmp/cli/bin/fzgm
  try "the crate fzgm-hdf5" inside sh -c "$1; cd /tmp/crates/fzgm-hdf5-$version && CARGO_TARGET_DIR=/tmp/ct cargo build --quiet --release $patch && ls -l /tmp/ct/release/libh5fzgm.so"
  try "cargo uninstall" inside sh -c "$1; cargo uninstall --root /tmp/cli fzgm-cli"
  [ -z "$(find "$system/tmp/cli" -type f ! -name '.crates*')" ] || fail "cargo uninstall leaves files"
  ok "crates: nothing is left"
}

# sdist_root <settings of Rust>: the source distribution by pip, with wheels of what it needs.
sdist_root() {
  [ -d "$out/python" ] || { printf 'SKIPPED: the source distribution (%s has no folder python)\n' "$out"; return 0; }
  local wheels=$place/sdist-wheels sdist
  sdist=$(ls "$out"/python/*.tar.gz)
  mkdir -p "$wheels" "$system/tmp/sdist"
  python3 -m pip download --quiet --only-binary :all: --python-version 3.11 --dest "$wheels" 'maturin>=1.7,<2' numpy
  cp "$wheels"/*.whl "$sdist" "$system/tmp/sdist/"
  inside python3 -m venv /tmp/venv
  (cd "$system/tmp/venv" && find . | sort) >"$place/venv-before"
  try "pip install of the source distribution ($(kib "$sdist") KiB)" \
    inside sh -c "$1; /tmp/venv/bin/pip install --quiet --no-compile --no-index --find-links /tmp/sdist /tmp/sdist/fzgm-*.tar.gz"
  try "numpy with it" inside /tmp/venv/bin/python -c '
import fzgm, numpy as np
x = np.random.default_rng(1).normal(size=(200, 300)).cumsum(-1).astype("f4")
assert fzgm.compare(x, fzgm.decompress(fzgm.compress(x, error_bound=1e-3, preset="high")), error_bound=1e-3).kept
'
  try "pip uninstall" inside /tmp/venv/bin/pip uninstall --quiet -y fzgm numpy
  (cd "$system/tmp/venv" && find . | sort) >"$place/venv-after"
  diff "$place/venv-before" "$place/venv-after" || fail "pip uninstall leaves files"
  ok "source distribution: nothing is left"
}

root_recipes() { bash tests/packaging/recipes.sh "$out/$(basename "$out").tar.gz"; }

for name in ${wanted//,/ }; do
  say "root $name"
  started=$SECONDS
  "root_$name"
  printf '%s: %s s\n' "$name" $((SECONDS - started))
done
