#!/usr/bin/env bash
# Makes all files of a release from the commit HEAD, into build/release/fzgm-VERSION; docs/releasing.md describes them.
#
#   scripts/release.sh                 the files, with kernels for NVIDIA GPUs
#   scripts/release.sh --cpu           the files without kernels, for a machine without nvcc
#   scripts/release.sh --only=PART,…   some parts, beside the files that are there: source, tarballs, debs, python, crates
#   scripts/release.sh --test[=ROOT,…] installs and tries each file in a Debian 12 root; see tests/packaging/release.sh
#   scripts/release.sh --twice         makes everything again in another folder, and compares the bytes
#   scripts/release.sh --work=DIR      the folder of builds, build/release by default
#
# FZGM_CUDA_ARCHS replaces the architectures with machine code, which are 80, 90, and 100 as far as nvcc has them. Times in the files are those of the commit. A second run compiles only what has changed.
. scripts/lib.sh
cpu='' test='' twice='' work=$root/build/release parts=source,tarballs,debs,python,crates
for option in "$@"; do
  case $option in
    --cpu) cpu=1 ;;
    --only=*) only=1 parts=${option#--only=} ;;
    --test) test=all ;;
    --test=*) test=${option#--test=} ;;
    --twice) twice=1 ;;
    --work=*) work=$(realpath -m "${option#--work=}") ;;
    *) die "unknown option $option; options: --cpu --only=PART,… --test[=ROOT,…] --twice --work=DIR" ;;
  esac
done
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=fzgm-$version
out=$work/$name
if [ -n "$test" ]; then exec bash tests/packaging/release.sh "$out" "$test"; fi

[ -z "$(git status --porcelain --untracked-files=no)" ] || say "changes that are not committed are not in the release"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C
need_c
need_rust
need objcopy binutils dpkg-deb dpkg xz xz-utils python3 python3
sources=$work/source build=$work/build
mkdir -p "$work" "$sources"
[ -n "${only:-}" ] || rm -rf "$out"
mkdir -p "$out"

# The tree of the commit. git writes only files that have changed, so that a second run compiles only these.
GIT_INDEX_FILE=$work/index git --work-tree="$sources" read-tree --reset -u HEAD

# Panics and debug information name files by these, on every machine.
registry=$(echo "${CARGO_HOME:-$HOME/.cargo}"/registry/src)
export RUSTFLAGS="--remap-path-prefix=$registry=/cargo --remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc \
--remap-path-prefix=$work=/build --remap-path-prefix=$sources=/fzgm -Clink-arg=-Wl,--build-id=sha1"

# archive <file.tar.gz> <folder> <entry>…: equal bytes for equal files.
archive() {
  local file=$1 folder=$2
  shift 2
  tar -C "$folder" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -cf - "$@" | gzip -9n >"$file"
}

part_source() {
  git archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$out/$name.tar.gz"
}

# compile cpu|cuda: the libraries, the command line, and the filter, in one tree, so that the crates are compiled once for both.
compile() {
  [ "${compiled:-}" != "$1" ] || return 0
  local plugin=OFF
  if [ "$1" = cpu ]; then
    export FZGM_CUDA=off
  else
    # Machine code for the architectures of data centers that this nvcc has.
    [ -n "${NVCC:-}" ] || bash scripts/setup-nvcc.sh
    NVCC=${NVCC:-$(echo "$root"/.nvcc/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)}
    export NVCC FZGM_CUDA=require FZGM_CUDA_ARCHS=${FZGM_CUDA_ARCHS:-$(architectures)}
    plugin=ON
  fi
  say "build, $1"
  # The debug information is split from the libraries below.
  cmake -S "$sources" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=/usr -DFZGM_BUILD_HDF5=ON \
    -DFZGM_HDF5_CUDA=$plugin >"$work/cmake.log" || { cat "$work/cmake.log"; die "cmake does not configure"; }
  cmake --build "$build"
  compiled=$1
}

architectures() {
  local arch found=()
  for arch in 80 90 100; do "$NVCC" --list-gpu-arch | grep -x "compute_$arch" >/dev/null && found+=($arch); done
  (IFS=, && echo "${found[*]}")
}

# install <library folder> <stage>: installs below <stage>/usr, and moves debug information and symbols into <stage>-debug.
install() {
  local file id
  rm -rf "$2" "$2-debug"
  cmake -S "$sources" -B "$build" -DCMAKE_INSTALL_LIBDIR="$1" >/dev/null
  DESTDIR=$2 cmake --install "$build" >/dev/null
  while read -r file; do
    id=$(readelf -n "$file" | sed -n 's/.*Build ID: //p')
    mkdir -p "$2-debug/lib/debug/.build-id/${id:0:2}"
    objcopy --only-keep-debug --compress-debug-sections "$file" "$2-debug/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
    strip --strip-unneeded "$file"
  done < <(find "$2" -type f \( -name 'lib*.so*' -o -path '*/bin/*' \))
}

variants() { echo cuda; }

part_tarballs() {
  local variant title
  for variant in $(variants); do
    compile "$variant"
    title=$name-$(uname -m)-linux
    [ "$variant" = cpu ] || title+=-cuda
    rm -rf "$work/tar/$title"
    install lib "$work/stage"
    mkdir -p "$work/tar"
    mv "$work/stage/usr" "$work/tar/$title"
    mv "$work/stage-debug" "$work/tar/$title-debug"
    cp "$work/LICENSES.txt" "$work/tar/$title/share/doc/fzgm/"
    archive "$out/$title.tar.gz" "$work/tar" "$title"
    archive "$out/$title-debug.tar.gz" "$work/tar" "$title-debug"
    rm -rf "$work/tar"
  done
}

# One kind: packages with kernels run on every machine.
part_debs() {
  if [ -n "$cpu" ]; then compile cpu; else compile cuda; fi
  install "lib/$(gcc -print-multiarch)" "$work/stage"
  mkdir -p "$out/debian"
  python3 "$sources/packaging/deb.py" "$work/stage" "$work/LICENSES.txt" "$out/debian"
  rm -rf "$work/stage" "$work/stage-debug"
}

part_python() {
  local cuda=--cuda
  [ -z "$cpu" ] || cuda=
  # wheel.sh chooses the architectures, because the size of a wheel is limited.
  (cd "$sources" && env -u FZGM_CUDA -u FZGM_CUDA_ARCHS bash scripts/wheel.sh $cuda --sdist)
  mkdir -p "$out/python"
  cp "$sources"/build/wheels/* "$out/python/"
}

# The archives of crates, each compiled from its archive as a user does. libfzgm is none: cargo does not install libraries.
part_crates() {
  local crate
  (cd "$sources" && FZGM_CUDA=off CARGO_TARGET_DIR=$work/crates cargo publish --dry-run --locked --allow-dirty --quiet -p fzgm -p fzgm-cli -p fzgm-hdf5)
  mkdir -p "$out/crates"
  # cargo leaves the archives of a trial below the folder of packages.
  for crate in fzgm fzgm-cli fzgm-hdf5; do cp "$(find "$work/crates/package" -name "$crate-$version.crate" -print -quit)" "$out/crates/"; done
}

python3 "$sources/packaging/crates.py" licenses "$work/LICENSES.txt"
for part in ${parts//,/ }; do
  declare -F "part_$part" >/dev/null || die "unknown part $part; parts: source, tarballs, debs, python, crates"
  say "part $part"
  started=$SECONDS
  "part_$part"
  printf '%s: %s s\n' "$part" $((SECONDS - started))
done
cp "$work/LICENSES.txt" "$out/"
python3 "$sources/packaging/crates.py" sbom "$out/$name.cdx.json"
(cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS)
say "$out"
(cd "$out" && find . -type f -printf '%s\t%P\n' | sort -k 2)

if [ -n "$twice" ]; then
  again=$(mktemp -d)
  FZGM_CUDA_CACHE=$again/fatbins bash scripts/release.sh ${cpu:+--cpu} --only="$parts" --work="$again/other/folder"
  diff "$out/SHA256SUMS" "$again/other/folder/$name/SHA256SUMS" || die "the second build has other bytes; it is in $again"
  rm -rf "$again"
  say "both builds have equal bytes"
fi
