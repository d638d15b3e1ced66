#!/usr/bin/env bash
# The examples of HDF5, each built and run as its first lines describe, and their files read by
# h5py.
#
#   examples.sh <python with h5py> <libfzgm.a>      HDF5_PLUGIN_PATH names the folder of the plugin
#
# EMULATOR: folder of the emulated driver, for the example with data on a GPU.
. "$(dirname "$0")/../shell.sh"
python=$1 library=$(realpath "$2")
cd "$here/../.."
examples=$PWD/examples flags=(-O1 -g -Wall -Wextra -Wshadow -Werror "${undefined[@]}")
modules=$(dirname "$(find /usr/include/hdf5/serial /usr/include -name hdf5.mod -print -quit 2>/dev/null)")
# shellcheck disable=SC2046
{
  cc -std=c99 "${flags[@]}" -Ihdf5-filter $(pkg-config --cflags hdf5-serial) examples/hdf5.c -o "$work/c" $(pkg-config --libs hdf5-serial) -lm
  cc -std=c99 "${flags[@]}" $(nc-config --cflags) examples/hdf5_netcdf.c -o "$work/netcdf" $(nc-config --libs) -lm
  gfortran -std=f2008 -O1 -g -Wall -Werror -I"$modules" examples/hdf5.f90 -J"$work" -o "$work/fortran" $(pkg-config --libs-only-L hdf5-serial) -lhdf5_fortran \
    $(pkg-config --libs hdf5-serial)
}
cd "$work"
./c
./netcdf
./fortran
# By the scripts of HDF5, which link it statically where nothing else is said.
h5fc -shlib "$examples/hdf5.f90" -o by_script
./by_script
FZGM_HDF5_PLUGIN=$HDF5_PLUGIN_PATH PYTHONPATH=$here/../../hdf5-filter/python env -u HDF5_PLUGIN_PATH "$python" "$examples/hdf5.py"
"$python" - <<'PY'
import h5py, numpy as np
x = np.fromfunction(lambda i, j: 280 + 10 * np.sin(i / 30) * np.cos(j / 50), (300, 400)).astype("f4")
with h5py.File("plain.h5", "w") as f:
    f["field"] = f["other"] = x
PY
"$examples/hdf5_repack.sh" plain.h5 all.h5 0.01 100x200
"$examples/hdf5_repack.sh" plain.h5 one.h5 0.01 100x200 field
nccopy -F none field.nc plain.nc
"$examples/hdf5_repack.sh" plain.nc copied.nc 0.01 y/100,x/200 field
if "$examples/hdf5_repack.sh" plain.h5 refused.h5 -1 100x200 2>/dev/null; then fail "hdf5_repack.sh does not see that a bound is refused"; fi
files=(field.h5 field.nc field_f90.h5 field_py.h5 all.h5 one.h5 copied.nc)

toolkit=$(find -H "$here/../../.nvcc" "${CUDA_HOME:-/usr/local/cuda}/" -name cuda_runtime.h -path '*include*' -print -quit 2>/dev/null || true)
if [ -n "$toolkit" ] && [ -n "${EMULATOR:-}" ]; then
  # shellcheck disable=SC2046
  cc -std=c99 -D_GNU_SOURCE "${flags[@]}" -I"$here/../../include" -I"$here/../../hdf5-filter" -isystem "$(dirname "$toolkit")" $(pkg-config --cflags hdf5-serial) \
    "$examples/hdf5_cuda.c" "$here/cudart.c" -o cuda "$library" $(pkg-config --libs hdf5-serial) -lgcc_s -lutil -lrt -lpthread -lm -ldl
  LD_LIBRARY_PATH=$EMULATOR ./cuda
  files+=(field_cuda.h5)
else
  echo "SKIPPED: examples/hdf5_cuda.c (no cuda_runtime.h, or no emulator)"
fi
"$python" - "${files[@]}" <<'PY'
import sys, h5py, numpy as np
for path in sys.argv[1:]:
    with h5py.File(path) as f:
        d = f["field"]
        assert d.id.get_create_plist().get_filter(0)[0] == 32770, path
        first = 1 if "f90" in path else 0  # indices of Fortran
        wave = lambda k: np.fromfunction(lambda i, j: 280 + 10 * np.sin((i + first) / 30 + k) * np.cos((j + first) / 50), (300, 400))
        off = abs(d[()] - (wave(0) if d.ndim == 2 else [wave(k) for k in range(8)])).max()
        assert 0 < off <= 0.0101, (path, off)
        assert d.id.get_storage_size() < d.size, path
PY
ok "${#files[@]} files of the examples: C, Fortran, Python, netCDF, h5repack and nccopy, and from a GPU"
