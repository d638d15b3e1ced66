#!/usr/bin/env bash
# Packs what writes HDF5 files on a machine with a GPU and without HDF5: the plugin, tests/hdf5/device.c and examples/hdf5_cuda.c with an HDF5
# in them, a field, and run.sh. Part of scripts/bundle.sh, or by itself:
#
#   bundle_hdf5.sh <folder>                 makes the folder; on the machine with a GPU, <folder>/run.sh writes filter.h5 and gpu.h5 to $OUT
#   bundle_hdf5.sh check <folder with them> here, afterwards: compares them with what the CPU writes, and reads them with h5py
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || die "name a folder"
need_c
need_rust
pkg-config --exists hdf5-serial || packages libhdf5-dev
target=${CARGO_TARGET_DIR:-target}

if [ "$1" = check ]; then
  python=$PWD/build/hdf5-venv/bin/python
  "$python" -c 'import h5py' 2>/dev/null || { python3 -m venv build/hdf5-venv && "$python" -m pip install --quiet h5py numpy; }
  # Without kernels: what reads the files here has no GPU to fall back on.
  export FZGM_CUDA=off
  cargo build --quiet --locked -p libfzgm
  cargo build --quiet --locked -p fzgm-hdf5
  mkdir -p build/hdf5-plugin
  cp "$target/debug/libh5fzgm.so" build/hdf5-plugin/
  HDF5_PLUGIN_PATH=$PWD/build/hdf5-plugin PYTHONPATH=$PWD/hdf5-filter/python bash tests/hdf5/device.sh "$python" "$target/debug/libfzgm.a" "$2"
  exit
fi

folder=$1
need_nvcc
mkdir -p "$folder/plugin"
cargo build --quiet --locked --release -p libfzgm
cargo build --quiet --locked --release -p fzgm-hdf5 --features cuda
cp "$target/release/libh5fzgm.so" "$folder/plugin/"
archive=$(pkg-config --libs-only-L hdf5-serial | sed 's/^-L//; s/ .*//')/libhdf5.a
# With its names, so that the plugin finds its functions. Its functions for files from the network are left undefined, and never called.
hdf5=(-Wl,--export-dynamic -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -Wl,-z,lazy -Wl,--unresolved-symbols=ignore-all -l:libsz.a -l:libaec.a -l:libz.a)
flags=(-std=c99 -D_GNU_SOURCE -O2 -Iinclude -Ihdf5-filter)
rest=("$target/release/libfzgm.a" "${hdf5[@]}" -lgcc_s -lutil -lrt -lpthread -lm -ldl)
# shellcheck disable=SC2046
{
  cc "${flags[@]}" $(pkg-config --cflags hdf5-serial) tests/hdf5/device.c -o "$folder/device" "${rest[@]}"
  runtime=$(find -H .nvcc "${CUDA_HOME:-/usr/local/cuda}/" -name libcudart_static.a -print -quit 2>/dev/null || true)
  header=$(find -H .nvcc "${CUDA_HOME:-/usr/local/cuda}/" -name cuda_runtime.h -path '*include*' -print -quit 2>/dev/null || true)
  [ -z "$runtime" ] || [ -z "$header" ] \
    || cc "${flags[@]}" -isystem "$(dirname "$header")" $(pkg-config --cflags hdf5-serial) examples/hdf5_cuda.c -o "$folder/example" "$runtime" "${rest[@]}"
}
strip --strip-unneeded "$folder/plugin/libh5fzgm.so"
strip --strip-debug "$folder/device"
[ ! -e "$folder/example" ] || strip --strip-debug "$folder/example"
cp examples/data/egm96.f32 "$folder/"
cp scripts/bundle_hdf5_run.sh "$folder/run.sh"
du -sh "$folder"
