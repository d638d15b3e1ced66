"""The filter on a GPU through h5py: FZGM_DEVICE, forks, and what happens without a driver. The driver is the emulator, whose kernel
launches are counted, because a failure on a GPU is repeated on the CPU without a message."""

import ctypes
import os
import subprocess
import sys
import unittest

import h5py
import numpy as np
from fzgm_hdf5 import fzgm
from test_h5py import Base, error, field

OPTIONS = (fzgm(abs=1e-3, preset="default"), fzgm(abs=1e-3), fzgm(abs=1e-3, preset="fz"), fzgm(abs=1e-3, preset="high"), fzgm(rel=1e-3), fzgm())


def launches():
    count = ctypes.CDLL("libcuda.so.1").fzemu_count
    count.restype = ctypes.c_long
    return count(b"launch")


class Device(Base):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.environ.pop, "FZGM_DEVICE", None)

    def made(self, device, data, chunks, **opts):
        """The file that a device writes, and what it reads of it."""
        if device:
            os.environ["FZGM_DEVICE"] = device
        else:
            os.environ.pop("FZGM_DEVICE", None)
        with h5py.File(self.path, "w") as f:
            f.create_dataset("d", data=data, chunks=chunks, track_times=False, **opts)
        values = self.read()
        with open(self.path, "rb") as f:
            return f.read(), values.tobytes()

    def test_every_device_makes_the_same_files_and_values(self):
        for dtype in ("<f4", ">f4", "<f8", "<i2", ">i8", "S5", "f2"):
            a = (field((50, 40)) * 20).astype(dtype)
            for opts in OPTIONS:
                cpu = self.made("cpu", a, (16, 40), **opts)
                before = launches()
                for device in ("auto", None):
                    self.assertEqual(self.made(device, a, (16, 40), **opts), cpu, (dtype, opts, device))
                self.assertEqual(launches(), before, "memory of the host belongs to the CPU")
                self.assertEqual(self.made("cuda:0", a, (16, 40), **opts), cpu, (dtype, opts))
                self.assertGreater(launches(), before)

    def test_partial_writes(self):
        a = field((64, 128), "f4")
        for device in ("cpu", "cuda:0"):
            os.environ["FZGM_DEVICE"] = device
            with h5py.File(self.path, "w") as f:
                d = f.create_dataset("d", a.shape, "f4", chunks=(64, 128), **fzgm(abs=1e-3))
                d[:] = 0
            for rows in range(0, 64, 8):
                with h5py.File(self.path, "r+") as f:
                    f["d"][rows : rows + 8] = a[rows : rows + 8]
            self.assertLessEqual(error(a, self.read()), 1e-3)

    def test_a_device_that_is_not_there_is_refused_for_new_datasets(self):
        os.environ["FZGM_DEVICE"] = "cuda:99"
        with h5py.File(self.path, "w") as f, self.assertRaisesRegex(Exception, "99"):
            f.create_dataset("d", data=field((64,)), chunks=(16,), **fzgm(abs=1e-3))

    def test_a_device_that_is_not_there_refuses_no_chunk(self):
        a = field((64,), "f4")
        with h5py.File(self.path, "w") as f:
            f.create_dataset("d", data=a, chunks=(16,), **fzgm(abs=1e-3))
        os.environ["FZGM_DEVICE"] = "cuda:99"
        with h5py.File(self.path, "r+") as f:
            f["d"][20:30] = a[20:30] = 1.5
        self.assertLessEqual(error(a, self.read()), 1e-3)

    def test_a_damaged_chunk_is_an_error(self):
        a = field((64,), "f4")
        with h5py.File(self.path, "w") as f:
            f.create_dataset("d", data=a, chunks=(64,), **fzgm(abs=1e-3))
        with h5py.File(self.path) as f:
            where = f["d"].id.get_chunk_info(0)
        with open(self.path, "r+b") as f:
            f.seek(where.byte_offset + where.size - 3)
            f.write(b"\x55\xaa")
        os.environ["FZGM_DEVICE"] = "cuda:0"
        with self.assertRaises(OSError):
            self.read()

    def test_a_fork_after_use(self):
        """CUDA does not survive it. The child reads and writes on the CPU, datasets that were open before too, and makes the same bytes."""
        a = field((64, 128), "f4")
        os.environ["FZGM_DEVICE"] = "cuda:0"
        before = launches()
        with h5py.File(self.path, "w") as f:
            f.create_dataset("d", data=a, chunks=(16, 128), **fzgm(abs=1e-3))
        expected = self.read().tobytes()
        self.assertGreater(launches(), before)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 2 if self.read().tobytes() != expected else 3
                with h5py.File(self.path, "r+") as f:
                    f["d"][8:24] = a[8:24]
                code = 0 if self.read().tobytes() == expected else 4
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertEqual(self.read().tobytes(), expected)

    def test_without_a_driver(self):
        """In a process of its own, which finds no libcuda: cuda:0 is refused with a reason, files are read and changed."""
        a = field((64,), "f4")
        self.write(a, (16,), opts=fzgm(abs=1e-3))
        program = """
import h5py, sys
from fzgm_hdf5 import fzgm
with h5py.File(sys.argv[1], "r+") as f:
    x = f["d"][()]
    f["d"][3:5] = x[3:5]
    try:
        f.create_dataset("e", data=x, chunks=(16,), **fzgm(abs=1e-3))
        sys.exit("a dataset was made on a GPU that is not there")
    except ValueError as e:
        assert "fzgm: no usable GPU" in str(e), e
with h5py.File(sys.argv[1]) as f:
    assert (f["d"][()] == x).all()
"""
        environment = dict(os.environ, FZGM_DEVICE="cuda:0", FZGM_DISABLE_CUDA="1")
        subprocess.run([sys.executable, "-c", program, self.path], env=environment, check=True)


if __name__ == "__main__":
    unittest.main()
