"""Writes a dataset of xarray, chunk by chunk through dask, as netCDF and as zarr.

python3 xarray_dataset.py
"""

import fzgm.hdf5
import numpy as np
import xarray as xr
from fzgm.zarr import FzgmCodec

t, i, j = np.ogrid[:12, :90, :120]
values = (280 + 10 * np.sin(i / 30 + t / 5) * np.cos(j / 50)).astype("f4")
dataset = xr.Dataset({"t2m": (("time", "lat", "lon"), values, {"units": "K"})}).chunk(time=4)

netcdf = {"t2m": {"chunksizes": (4, 90, 120), **fzgm.hdf5.filter(abs=0.01)}}
dataset.to_netcdf("t2m.nc", engine="h5netcdf", encoding=netcdf)
dataset.to_zarr("t2m.zarr", mode="w", encoding={"t2m": {"serializer": FzgmCodec(error_bound=0.01, mode="abs"), "compressors": None}}, consolidated=False)

for restored in (xr.open_dataset("t2m.nc", engine="h5netcdf"), xr.open_zarr("t2m.zarr", consolidated=False)):
    m = fzgm.compare(values, restored.t2m.values, error_bound=0.01, mode="abs")
    print(f"largest error {m.max_abs_error:.4f} K")
    assert m.kept and m.max_abs_error > 0
