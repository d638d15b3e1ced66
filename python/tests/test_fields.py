"""Real fields through numpy, HDF5, netCDF, and zarr, with NaN and fill values; the bound in exact arithmetic.

The field of the repository, and those of the folders in FZGM_FIELDS: `*.f32` and `*.f64` with their shapes in a `fields.json`.
"""

import json
import os
from fractions import Fraction
from pathlib import Path

import fzgm
import numpy as np
import pytest

BOUND, FILL = 1e-3, 1e20
SHIPPED = Path(__file__).resolve().parents[2] / "examples" / "data" / "egm96.f32"
FIELDS = {"egm96.f32": (SHIPPED, (721, 1440))}
for folder in filter(None, os.environ.get("FZGM_FIELDS", "").split(":")):
    for name, about in json.loads(Path(folder, "fields.json").read_text()).items():
        FIELDS[name] = Path(folder, name), tuple(n for n in reversed(about["dims"]) if n > 1)


@pytest.fixture(params=FIELDS)
def field(request):
    path, shape = FIELDS[request.param]
    x = np.fromfile(path, path.suffix[1] + str(int(path.suffix[2:]) // 8)).reshape(shape)
    x.flat[::1009], x.flat[5::2003], x.flat[7::4001] = np.nan, FILL, -np.inf
    return x


def assert_kept(x, y):
    """Mode noa: abs(x - y) <= BOUND (max - min), with neither side rounded; all other values bit for bit."""
    y = np.ascontiguousarray(y)
    assert x.dtype == y.dtype and x.shape == y.shape
    bounded = np.isfinite(x) & (np.abs(x) < FILL)
    assert 0 < bounded.sum() < x.size and x[~bounded].tobytes() == y[~bounded].tobytes()
    x, y = x[bounded].astype("f8"), y[bounded].astype("f8")
    allowed = Fraction(BOUND) * (Fraction(x.max()) - Fraction(x.min()))
    # A difference of doubles is rounded by 2^-53 of itself at most. Differences that this could move across the bound are taken exactly.
    near = ~(np.abs(x - y) <= float(allowed) * (1 - 2**-50))
    assert all(abs(Fraction(a) - Fraction(b)) <= allowed for a, b in zip(x[near].tolist(), y[near].tolist()))
    assert not np.array_equal(x, y)


@pytest.mark.parametrize("preset", [p.name for p in fzgm.presets() if not p.lossless])
def test_numpy(field, preset):
    for container in ("fzm", "compact"):
        packed = fzgm.compress(field, error_bound=BOUND, preset=preset, fill_value=FILL, container=container, threads=2)
        y = fzgm.decompress(packed)
        assert len(packed) < field.nbytes
        assert_kept(field, y)
        assert fzgm.compare(field, y, error_bound=BOUND, fill_value=FILL).kept


@pytest.mark.parametrize("preset", [None, "high"])
def test_hdf5_and_netcdf(field, preset, tmp_path):
    h5py, netcdf, xarray = (pytest.importorskip(name) for name in ("h5py", "netCDF4", "xarray"))
    pytest.importorskip("h5netcdf")
    import fzgm.hdf5

    encoding = fzgm.hdf5.filter(noa=BOUND, data=field, fill_value=FILL, preset=preset)
    chunks = tuple(-(-n // 2) for n in field.shape)
    dataset = xarray.Dataset({"t": (tuple("zyx"[-field.ndim :]), field)})
    dataset.to_netcdf(tmp_path / "x.nc", engine="h5netcdf", encoding={"t": {"chunksizes": chunks, "_FillValue": None, **encoding}})
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("t", data=field, chunks=chunks, **encoding)
    for name in ("x.h5", "x.nc"):
        with h5py.File(tmp_path / name) as file:
            y = file["t"][()]
            assert file["t"].id.get_storage_size() < field.nbytes
        with netcdf.Dataset(tmp_path / name) as file:
            file.set_auto_mask(False)
            assert file["t"][:].tobytes() == y.tobytes()
        assert_kept(field, y)
    with xarray.open_dataset(tmp_path / "x.nc", engine="h5netcdf") as restored:
        assert restored.t.values.tobytes() == y.tobytes()


@pytest.mark.parametrize("preset", ["fast", "high"])
def test_zarr_of_xarray_and_dask(field, preset, tmp_path):
    xarray, _, _ = (pytest.importorskip(name) for name in ("xarray", "zarr", "dask"))
    from fzgm.zarr import FzgmCodec

    names = tuple("zyx"[-field.ndim :])
    dataset = xarray.Dataset({"t": (names, field)}).chunk({name: -(-n // 2) for name, n in zip(names, field.shape)})
    codec = FzgmCodec(error_bound=BOUND, preset=preset, fill_value=FILL)
    dataset.to_zarr(tmp_path / "x.zarr", encoding={"t": {"serializer": codec, "compressors": None}}, consolidated=False)
    assert json.loads((tmp_path / "x.zarr" / "zarr.json").read_text())["zarr_format"] == 3
    with xarray.open_zarr(tmp_path / "x.zarr", consolidated=False) as restored:
        assert_kept(field, restored.t.values)
