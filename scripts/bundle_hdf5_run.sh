#!/usr/bin/env bash
# On a machine with a GPU: the datasets of tests/hdf5/device.c by the filter on the GPU (filter.h5) and from chunks in its memory (gpu.h5), into
# $OUT or beside this file; first compared with what the CPU of that machine writes. `bundle_hdf5.sh check` compares them elsewhere.
set -euo pipefail
cd "$(dirname "$0")"
out=${OUT:-$PWD}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HDF5_PLUGIN_PATH=$PWD/plugin
FZGM_DEVICE=cuda:0 ./device filter "$out/filter.h5" egm96.f32
./device gpu "$out/gpu.h5" egm96.f32
FZGM_DISABLE_CUDA=1 ./device filter "$work/filter.h5" egm96.f32
FZGM_DISABLE_CUDA=1 ./device host "$work/gpu.h5" egm96.f32
./device refuse "$work/refused.h5"
for file in filter gpu; do
  cmp "$out/$file.h5" "$work/$file.h5"
  sha256sum "$out/$file.h5"
done
if [ -e example ]; then (here=$PWD && cd "$work" && "$here/example"); fi
echo "ok  files written with the GPU are those of the CPU of this machine"
