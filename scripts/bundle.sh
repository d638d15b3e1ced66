#!/usr/bin/env bash
# Packs what a machine with a GPU needs to test and measure fzgm, where there is a driver and perhaps nvcc, but no cargo:
# build/bundle, a few MB. There, in the folder that holds it:
#
#   bundle/run.sh [quick]      one line per step and a table; ends with the number of failures
#
# BUNDLE: another folder for the result.
. "$(dirname "$0")/lib.sh"
need_c
need_rust
need_nvcc
[ "${FZGM_CUDA:-}" = require ] || die "there is no nvcc, and a bundle without device code tests nothing"
bundle=${BUNDLE:-build/bundle}
rm -rf "$bundle"
mkdir -p "$bundle"/{tests,bin,lib,include,gpu,golden}

cargo build --quiet --locked --release
# What compares with the CPU, and what only a device does.
programs=(contract pipelines cuda)
cargo test --quiet --locked --no-run --message-format=json "${programs[@]/#/--test=}" \
  | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | while read -r program; do
  name=$(basename "$program")
  [[ $name == fzgm-* || $name == fzgm ]] && continue # the command line, which is built besides
  cp "$program" "$bundle/tests/${name%-*}"
done
cp target/release/fzgm "$bundle/bin/"
cp target/release/libfzgm.so "$bundle/lib/"
# A copy and no link: links do not always travel.
cp target/release/libfzgm.so "$bundle/lib/$(readelf -d target/release/libfzgm.so | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
cp include/fzgm.h "$bundle/include/"
cp tests/gpu/*.cu "$bundle/gpu/"
cp tests/golden/*.fzm "$bundle/golden/"
cp scripts/bundle_run.sh "$bundle/run.sh"
strip --strip-unneeded "$bundle"/lib/* "$bundle"/tests/* "$bundle"/bin/*
objdump -T "$bundle"/lib/*.so "$bundle"/tests/* 2>/dev/null | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1 >"$bundle/GLIBC"
du -sh "$bundle"
