#!/usr/bin/env bash
# The filter on a GPU, and chunks that are compressed there and written without the filter, against those of the CPU.
#
#   device.sh <python with h5py> <libfzgm.a>               the driver is the emulator in LD_LIBRARY_PATH
#   device.sh <python with h5py> <libfzgm.a> <folder>      the folder has filter.h5 and gpu.h5, which `bundle/run.sh hdf5` wrote on a GPU
#
# HDF5_PLUGIN_PATH names the folder of a plugin with the feature cuda, PYTHONPATH that of fzgm_hdf5.py.
. "$(dirname "$0")/../shell.sh"
python=$1 library=$(realpath "$2") folder=${3:-}
[ -z "$folder" ] || folder=$(realpath "$folder")
cd "$here/../.."
field=$PWD/examples/data/egm96.f32
# shellcheck disable=SC2046
cc -std=c99 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wshadow -Werror "${undefined[@]}" -Iinclude -Ihdf5-filter $(pkg-config --cflags hdf5-serial) tests/hdf5/device.c \
  -o "$work/device" "$library" $(pkg-config --libs hdf5-serial) -lgcc_s -lutil -lrt -lpthread -lm -ldl
echo '#include <fzgm_hdf5_chunks.h>' >"$work/alone.cpp"
# shellcheck disable=SC2046
c++ -std=c++11 -Wall -Wextra -Wshadow -Werror -Iinclude -Ihdf5-filter $(pkg-config --cflags hdf5-serial) -fsyntax-only "$work/alone.cpp"
compare() { "$python" "$here/device.py" "$@" "field=$field"; }

# Without a GPU, which files are read with as well.
cpu() ( export FZGM_DISABLE_CUDA=1; "$@" )
cpu "$work/device" filter "$work/cpu.h5" "$field"
cpu "$work/device" host "$work/host.h5" "$field"
cpu "$work/device" refuse "$work/refused.h5"
cpu compare "$work/cpu.h5" "$work/host.h5"
ok "fzgm_hdf5_chunks.h makes the frames of the filter on the CPU"
if [ -n "$folder" ]; then
  cpu compare "$work/cpu.h5" "$folder/filter.h5" equal
  cpu compare "$work/host.h5" "$folder/gpu.h5" equal
  ok "the files of $folder, written with a GPU, are those of the CPU"
  exit
fi
exported=$(nm -D --defined-only "$HDF5_PLUGIN_PATH/libh5fzgm.so" | awk '{print $3}' | sort | tr '\n' ' ')
[ "$exported" = "H5PLget_plugin_info H5PLget_plugin_type " ] || fail "the plugin for GPUs exports $exported"
FZGM_DEVICE=cuda:0 "$work/device" filter "$work/filter.h5" "$field"
"$work/device" gpu "$work/gpu.h5" "$field"
cpu compare "$work/cpu.h5" "$work/filter.h5" equal
cpu compare "$work/host.h5" "$work/gpu.h5" equal
ok "the filter on a GPU, and chunks from its memory"
# A driver call of a chunk fails: the CPU writes that chunk. The creation of a dataset reports a missing GPU, by contrast.
for failure in cuMemAlloc_v2:1:2 cuLaunchKernelEx:2:701 cuStreamSynchronize:5:719; do
  FZ_EMU_FAIL=$failure:0 FZGM_DEVICE=cuda:0 "$work/device" filter "$work/failed.h5" "$field"
  cpu compare "$work/cpu.h5" "$work/failed.h5" equal
done
ok "the filter on a GPU whose driver rejects a call"
"$python" "$here/test_device.py"
