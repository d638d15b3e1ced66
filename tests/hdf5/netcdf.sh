#!/usr/bin/env bash
# The filter in netCDF: its C interface, nccopy, xarray, and h5py beside netCDF4 in one process, each of which brings an HDF5 of its own.
#
#   netcdf.sh <python with h5py, netCDF4, xarray, and h5netcdf>      HDF5_PLUGIN_PATH names the folder of the plugin, PYTHONPATH that of fzgm_hdf5.py
. "$(dirname "$0")/../shell.sh"
python=$1
cd "$work"

# shellcheck disable=SC2046
cc -std=c99 -O1 -Wall -Wextra -Werror "${undefined[@]}" $(nc-config --cflags) "$here/netcdf.c" -o netcdf -lnetcdf -lm
./netcdf c.nc
"$python" - <<'PY'
import h5py, numpy as np
with h5py.File("c.nc") as f:
    assert f["v"].id.get_storage_size() < f["v"].size * 4 and f["v"][0, 0] == -999
PY
nccopy -M0 -F none c.nc plain.nc
nccopy -M0 -F "v,32770,1,1e-3d" -c v:20,32 plain.nc copied.nc
ncdump -hs copied.nc >header.txt
grep -q 'v:_Filter = "32770,1,3539053052,1062232653' header.txt || fail "nccopy does not set the filter"
nccopy -M0 -c v:8,64 copied.nc again.nc
cmp <(ncdump -v v copied.nc | sed 1d) <(ncdump -v v again.nc | sed 1d) || fail "a copy in other chunks moves values"

for order in "h5py, netCDF4" "netCDF4, h5py"; do
  "$python" - <<PY
import $order
import ctypes, glob, os
import numpy as np
from fzgm_hdf5 import fzgm
a = np.sin(np.arange(4096) / 9.0).reshape(64, 64)
for _ in range(2):
    with h5py.File("h.h5", "w") as f:
        f.create_dataset("d", data=a, chunks=(16, 64), **fzgm(abs=1e-3))
    with h5py.File("h.h5") as f:
        assert 0 < abs(f["d"][()] - a).max() <= 1e-3
    with netCDF4.Dataset("copied.nc") as d:
        assert d["v"][:].shape == (40, 64)
    # netCDF4 of Python has no call for filters by number, the library inside has.
    library = glob.glob(os.path.join(os.path.dirname(netCDF4.__file__), "..", "netcdf4.libs", "libnetcdf-*.so*"))[0]
    nc = ctypes.CDLL(library)
    file, variable, dims = ctypes.c_int(), ctypes.c_int(), (ctypes.c_int * 2)()
    ok = lambda rc: rc == 0 or exit(f"netCDF: {rc}")
    ok(nc.nc_create(b"n.nc", 0x1000, ctypes.byref(file)))
    ok(nc.nc_def_dim(file, b"y", ctypes.c_size_t(64), ctypes.byref(dims)))
    ok(nc.nc_def_dim(file, b"x", ctypes.c_size_t(64), ctypes.byref(dims, 4)))
    ok(nc.nc_def_var(file, b"w", 6, 2, dims, ctypes.byref(variable)))
    ok(nc.nc_def_var_chunking(file, variable, 0, (ctypes.c_size_t * 2)(16, 64)))
    cd = (ctypes.c_uint * 4)(*fzgm(abs=1e-3)["compression_opts"])
    ok(nc.nc_def_var_filter(file, variable, ctypes.c_uint(32770), ctypes.c_size_t(4), cd))
    ok(nc.nc_put_var_double(file, variable, a.ctypes.data_as(ctypes.c_void_p)))
    ok(nc.nc_close(file))
    with h5py.File("n.nc") as f:
        assert 0 < abs(f["w"][()] - a).max() <= 1e-3
        assert f["w"].id.get_chunk_info(0).filter_mask == 0
PY
done
"$python" "$here/test_xarray.py" --quiet
printf 'ok  netCDF %s, nccopy, and h5py beside netCDF4\n' "$(nc-config --version | sed 's/.* //')"
