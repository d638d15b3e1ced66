"""The read and write test of the package hdf5plugin, which others wrote, with this filter in its tables."""

import unittest

import h5py
import hdf5plugin
import numpy
from hdf5plugin import test

from fzgm_hdf5 import FILTER_ID, words


class Fzgm(h5py.filters.FilterRefBase):
    filter_id = FILTER_ID

    def __init__(self, bound=None):
        self.filter_options = () if bound is None else words("abs", bound)


test.compression_name_to_class["fzgm"] = Fzgm
hdf5plugin.FILTERS["fzgm"] = FILTER_ID


class Suite(test.BaseTestHDF5PluginRW):
    def test_lossless(self):
        for dtype in ("i1", "i2", "i4", "i8", "u1", "f4", "f8", ">f4", ">f8"):
            with self.subTest(dtype=dtype):
                self._test("fzgm", numpy.dtype(dtype), compressed="nocheck")

    def test_with_a_bound(self):
        for dtype in ("f4", "f8", ">f4", ">f8"):
            with self.subTest(dtype=dtype):
                self._test("fzgm", numpy.dtype(dtype), lossless=False, options={"bound": 1e-6})


if __name__ == "__main__":
    unittest.main()
