#!/usr/bin/env bash
# Packs what a machine with a GPU needs to test and measure fzgm, where there is a driver and perhaps a toolkit, but no cargo:
# build/bundle, some 20 MB. There, in the folder that holds it:
#
#   bundle/run.sh [<part or group>…]      one line per part; ends with the number of failures
#
# BUNDLE: another folder for the result. BUNDLE_ADD: files and folders to take along, in bundle/extra.
. "$(dirname "$0")/lib.sh"
need_c
need xz xz-utils
need_rust
need_nvcc
[ "${FZGM_CUDA:-}" = require ] || die "there is no nvcc, and a bundle without device code tests nothing"
bundle=${BUNDLE:-build/bundle}
rm -rf "$bundle"
mkdir -p "$bundle"/{tests,gpu,golden,extra}

# pack <name> <flag of cargo>…: the program tests/it under a name
pack() {
  local name=$1 program
  shift
  program=$(cargo test --quiet --locked --no-run --message-format=json --test it "$@" \
    | sed -n 's#.*"executable":"\([^"]*/it-[^"/]*\)".*#\1#p')
  cp "$program" "$bundle/tests/$name"
}
# Comparisons with the CPU and tests of devices have the checks of a debug build; programs that keep a processor busy for long do not.
pack it
install_fzgm "$PWD/$bundle/prefix" # the same compiler output serves the tests
CARGO_TARGET_DIR=build/cmake/cargo pack full --release
# Links do not always travel: run.sh makes them again.
find "$bundle/prefix" -type l -delete
cp tests/gpu/*.cu "$bundle/gpu/"
cp -r tests/golden/*.fzm tests/golden/coders tests/golden/ginterp "$bundle/golden/"
find src/stages -name cases.toml -exec cp --parents {} "$bundle" \;
cp -r examples "$bundle/examples" && rm -r "$bundle/examples/data"
CARGO_TARGET_DIR=build/cmake/cargo bash scripts/bundle_hdf5.sh "$bundle/hdf5"
for path in ${BUNDLE_ADD:-}; do cp -rL "$path" "$bundle/extra/"; done
cp scripts/bundle_package.sh "$bundle/package.sh"
cp scripts/fields.py "$bundle/extra/"
strip --strip-unneeded "$bundle"/prefix/lib*/*.so.* "$bundle"/tests/* "$bundle"/prefix/bin/*
strip --strip-debug "$bundle"/prefix/lib*/*.a
chmod -R u+w "$bundle"
objdump -T "$bundle"/prefix/lib*/*.so.* "$bundle"/tests/* 2>/dev/null | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1 >"$bundle/GLIBC"
# The programs have the same library and the same device code in them: far apart, but within this dictionary.
tar -C "$bundle" -c . | xz --lzma2=preset=6,dict=64MiB >"$bundle.tar.xz"
rm -rf "$bundle"
mkdir "$bundle"
mv "$bundle.tar.xz" "$bundle/packed.tar.xz"
cp scripts/bundle_run.sh "$bundle/run.sh"
du -sh "$bundle"
