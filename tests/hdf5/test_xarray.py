"""The filter in xarray and netCDF4 as docs/hdf5.md shows it. HDF5_PLUGIN_PATH names the folder of the plugin."""

import os
import subprocess
import sys
import tempfile
import unittest

import h5py
import netCDF4
import numpy as np
import xarray as xr

from fzgm_hdf5 import FILTER_ID, describe, filter, words


def dataset():
    t = 280 + 10 * np.sin(np.arange(24 * 60 * 80).reshape(24, 60, 80) / 900.0)
    t[:, 20:30, 10:50] = np.nan
    return xr.Dataset({"t": (("time", "y", "x"), t.astype("f4"))}, {"time": np.arange(24)})


class Xarray(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "t.nc")

    def written(self, **encoding):
        ds = dataset()
        ds.to_netcdf(self.path, engine="h5netcdf", encoding={"t": {"chunksizes": (12, 60, 80), **encoding}})
        return ds.t.values

    def check(self, wanted, bound=0.01):
        for engine in ("h5netcdf", "netcdf4"):
            with xr.open_dataset(self.path, engine=engine) as ds:
                t = ds.t.values
            np.testing.assert_array_equal(np.isnan(t), np.isnan(wanted), err_msg=engine)
            off = np.nanmax(abs(t.astype("f8") - wanted))
            self.assertTrue(0 < off <= bound, (engine, off))

    def test_h5netcdf_writes_and_both_engines_read(self):
        for preset in (None, "high", "high_once"):
            self.check(self.written(**filter(abs=0.01, preset=preset)))
            with h5py.File(self.path) as f:
                self.assertRegex(describe(f["t"]), f"abs 0.01, preset {preset or 'fast'}.*ratio")

    def test_fill_values(self):
        for fill in (1e20, -9999.0, 0.0):
            wanted = self.written(_FillValue=np.float32(fill), **filter(abs=0.01, preset="high"))
            self.check(wanted)
            with h5py.File(self.path) as f:
                self.assertTrue(np.all(f["t"][()][np.isnan(wanted)] == np.float32(fill)))

    def test_packed_integers_lose_nothing_more(self):
        packed = dict(dtype="i2", scale_factor=0.01, add_offset=280.0, _FillValue=np.int16(-32768))
        self.check(self.written(**packed, **filter(abs=0.01)), 0.006)

    def test_the_other_engine_says_that_it_takes_no_such_encoding(self):
        with self.assertRaisesRegex(ValueError, "unexpected encoding"):
            dataset().to_netcdf(self.path, engine="netcdf4", encoding={"t": filter(abs=0.01)})

    def test_a_copy_needs_a_clear_encoding(self):
        wanted = self.written(**filter(abs=0.01))
        copy = self.path + ".copy.nc"
        with xr.open_dataset(self.path, engine="h5netcdf") as ds:
            ds.t.encoding.clear()
            ds.to_netcdf(copy, engine="h5netcdf", encoding={"t": filter(abs=0.01)})
        self.path = copy
        self.check(wanted, 0.02)

    def test_appending_along_an_unlimited_dimension(self):
        wanted = dataset().t.values
        ds = dataset().isel(time=slice(0, 6))
        ds.to_netcdf(self.path, engine="h5netcdf", unlimited_dims=["time"], encoding={"t": {"chunksizes": (24, 60, 80), **filter(abs=0.01, preset="high")}})
        # netCDF4 writes into the variable that is there, by the filter of the file.
        for start in range(6, 24, 6):
            with netCDF4.Dataset(self.path, "a") as f:
                f["t"][start : start + 6] = wanted[start : start + 6]
        with netCDF4.Dataset(self.path) as f:
            t = np.ma.filled(f["t"][:], np.nan)
        self.assertLessEqual(np.nanmax(abs(t.astype("f8") - wanted)), 0.01)

    def test_netcdf4_through_nccopy(self):
        plain = self.path + ".plain.nc"
        wanted = dataset().t.values
        with netCDF4.Dataset(plain, "w") as f:
            for name, n in zip(("time", "y", "x"), wanted.shape):
                f.createDimension(name, n)
            f.createVariable("t", "f4", ("time", "y", "x"))[:] = wanted
        cd = ",".join(map(str, words("abs", 0.01, "high")))
        subprocess.run(["nccopy", "-M0", "-F", f"t,{FILTER_ID},{cd}", "-c", "t:12,60,80", plain, self.path], check=True)
        self.check(wanted)

    def test_what_guesses_come_to(self):
        data = np.arange(100.0)
        with h5py.File(self.path, "w") as f:
            with self.assertRaisesRegex(ValueError, 'Compression filter "fzgm" is unavailable'):
                f.create_dataset("a", data=data, compression="fzgm")
            with self.assertRaisesRegex(ValueError, "must be a tuple"):
                f.create_dataset("b", data=data, compression=FILTER_ID, compression_opts=0.1)
            d = f.create_dataset("c", data=data, compression=FILTER_ID)
            self.assertTrue(describe(d).startswith("lossless; ratio"))


if __name__ == "__main__":
    unittest.main()
