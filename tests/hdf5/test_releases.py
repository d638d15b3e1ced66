"""Datasets of all releases, in tests/golden/releases/<version>/hdf5.h5: the plugin restores every one of them bit for bit, and a second reader, written
from docs/hdf5-format.md, restores the chunks. A version without a file, or a preset, mode, type, or form that its file lacks, fails the test.

FZGM_UPDATE_RELEASE=1 writes the file of the version in hdf5-filter/Cargo.toml. HDF5_PLUGIN_PATH names the folder of the plugin; the folder of
fzgm_hdf5.py is on PYTHONPATH.
"""

import os
import pathlib
import re
import struct
import sys
import unittest
import zlib

import h5py
import numpy as np

from fzgm_hdf5 import FILTER_ID, PRESETS, fzgm

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "reference"))
import fzm_reader  # noqa: E402

VERSION = re.search(r'^version = "(.*)"$', (TESTS.parent / "hdf5-filter/Cargo.toml").read_text(), re.M).group(1)
RELEASES = TESTS / "golden/releases"
INTEGERS = ["|u1", "|i1", *(order + kind for kind in ("u2", "u4", "u8", "i2", "i4", "i8") for order in "<>")]
FLOATS = ["<f4", ">f4", "<f8", ">f8"]
SHAPE, CHUNKS = (7, 8, 12), (5, 8, 12)
# The NaNs that mark elements of a frame, by index, and the bits that hold them.
MARKS = {8: ("<f4", "<u4", 0x7FC5A500), 9: ("<f8", "<u8", 0x7FF8465A0000A500)}


def walk(dtype, fill=None, specials=True, shape=SHAPE):
    """A walk; of floats with NaN, infinities, a value that no bin represents, and the fill value in some places."""
    rng = np.random.default_rng(9)
    values = rng.normal(0, 0.02, shape).cumsum(-1) + np.sin(np.arange(shape[0]) / 3).reshape(-1, *[1] * (len(shape) - 1))
    if np.dtype(dtype).kind != "f":
        return np.rint(values * 40 + 60).astype(dtype)
    flat = values.astype(dtype).reshape(-1)
    if specials:
        flat[5:55:10] = (np.nan, np.inf, -np.inf, 1e30, -1e-30)
    if fill is not None:
        flat[100:400:7] = fill
    return flat.reshape(shape)


def marks(dtype):
    """Each NaN that a chunk with marks may use: such a chunk has none."""
    name, bits, first = MARKS[8 if np.dtype(dtype).itemsize == 4 else 9]
    values = walk(name).reshape(-1)
    values.view(bits)[100:356] = first + np.arange(256, dtype=bits)
    return values.astype(dtype).reshape(SHAPE) if dtype[0] == ">" else values.reshape(SHAPE)


def cases():
    """Name, values, lengths of a chunk, fill value, and settings of each dataset."""
    for preset in ("default", "exact"):
        for dtype in (*INTEGERS, *FLOATS):
            yield f"lossless {preset} {dtype}", walk(dtype), CHUNKS, None, fzgm(preset=preset)
    texts = np.array([b"text", b"", b"other"] * 40, "S5")
    pairs = np.zeros(50, [("a", "<f4"), ("b", ">i2"), ("c", "S2")])
    pairs["a"], pairs["b"] = np.arange(50) / 7, np.arange(50)
    for name, values in (("S5", texts), ("compound", pairs), ("bool", texts == b"text")):
        yield f"lossless default {name}", values, (32,), None, fzgm()
    yield "integers with a bound", walk(">i2"), CHUNKS, None, fzgm(abs=1.0, preset="default")
    for preset in (name for name in PRESETS if name != "exact"):
        for dtype in FLOATS:
            for fill in (None, -1.0, 0.1, 1e20, float("nan")):
                values = walk(dtype, fill)
                yield f"abs {preset} {dtype} fill {fill}", values, CHUNKS, fill, fzgm(abs=1e-3, preset=preset)
    for dtype in FLOATS:
        for preset in ("high", "high_once"):
            yield f"abs {preset} {dtype} marks", marks(dtype), CHUNKS, None, fzgm(abs=1e-3, preset=preset)
        for preset in ("default", "pfpl"):
            for fill in (None, 2.0):
                yield f"rel {preset} {dtype} fill {fill}", walk(dtype, fill), CHUNKS, fill, fzgm(rel=1e-3, preset=preset)
    for rank in range(1, 9):
        shape = (40,) if rank == 1 else (5, 4, 3, 2, 2, 2, 2, 2)[:rank]
        yield f"rank {rank}", walk("<f4", shape=(60,), specials=False) if rank == 1 else walk("<f4", shape=shape, specials=False), shape, None, fzgm(abs=1e-3)


def update(path):
    # Short lists of chunks, which HDF5 1.10 reads.
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        for name, values, chunks, fill, settings in cases():
            file.create_dataset(name, data=values, chunks=chunks, fillvalue=fill, **settings)
    # Opened again, because before HDF5 returns the values that were given.
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        for dataset in file.values():
            dataset.attrs["crc32"] = np.uint32(zlib.crc32(dataset[()].tobytes()))


def second(chunk, cd):
    """The elements of a chunk, little-endian, by the page alone."""
    if chunk[:4] != b"FZH1":
        return fzm_reader.decode(chunk)
    assert cd[3] in (PRESETS["high"], PRESETS["high_once"]) and cd[4] == 0x465A0002
    crc, contents, dtype, fill_index, exact_index, count, step = struct.unpack_from("<IBBBBId", chunk, 4)
    assert contents in (0, 1) and dtype == cd[5] & 0xFF and (step > 0 if contents == 0 else step == 0 and count == 0)
    kind, bits, first = MARKS[dtype]
    end = len(chunk) - count * np.dtype(kind).itemsize
    assert end >= 32 and crc == zlib.crc32(chunk[8:32] + chunk[end:])
    values = np.frombuffer(fzm_reader.decode(chunk[32:end]), kind).copy()
    words = values.view(bits)
    filled, exact = words == first + fill_index, words == first + exact_index
    assert exact.sum() == count
    finite = np.isfinite(values)
    if contents == 0:
        values[finite] = (np.rint(values[finite].astype("f8")) * step).astype(kind)
    words[filled] = np.frombuffer(chunk[24:24 + np.dtype(kind).itemsize], bits)[0]
    words[exact] = np.frombuffer(chunk[end:], bits)
    return values.tobytes()


def read_by_second(dataset):
    """All values of a dataset, from its chunks."""
    cd = dataset.id.get_create_plist().get_filter(0)[2]
    whole = np.zeros(dataset.shape, dataset.dtype)
    for at in range(dataset.id.get_num_chunks()):
        info = dataset.id.get_chunk_info(at)
        mask, chunk = dataset.id.read_direct_chunk(info.chunk_offset)
        assert mask == 0, dataset.name
        data = second(chunk, cd)
        # Opaque elements are bytes; big-endian numbers are little-endian in a chunk.
        swapped = cd[5] & 0x100
        values = np.frombuffer(data, dataset.dtype.newbyteorder("<") if swapped else dataset.dtype).reshape(dataset.chunks)
        place = tuple(slice(start, min(start + n, all_)) for start, n, all_ in zip(info.chunk_offset, dataset.chunks, dataset.shape))
        whole[place] = values[tuple(slice(0, part.stop - part.start) for part in place)]
    return whole


class Releases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if "FZGM_UPDATE_RELEASE" in os.environ:
            update(RELEASES / VERSION / "hdf5.h5")
        cls.files = sorted(RELEASES.glob("*/hdf5.h5"))

    def test_this_version_has_its_file(self):
        path = RELEASES / VERSION / "hdf5.h5"
        self.assertTrue(path.exists(), f"{path} is missing; set FZGM_UPDATE_RELEASE=1 to write the file of this version")
        with h5py.File(path) as file:
            recorded = {name: dataset.id.get_create_plist().get_filter(0)[2] for name, dataset in file.items()}
            chunks = [file[name].id.read_direct_chunk((0,) * file[name].ndim)[1] for name in file if "high" in name]
        # A preset of the plugin that no case has would also be missing here.
        self.assertEqual(set(recorded), {name for name, *_ in cases()})
        self.assertEqual({cd[3] for cd in recorded.values()}, set(PRESETS.values()))
        self.assertEqual({cd[4] & 0xFFFF for cd in recorded.values()}, {1, 2})
        self.assertEqual({chunk[8] if chunk[:4] == b"FZH1" else None for chunk in chunks}, {0, 1, None})

    def test_every_dataset_is_restored(self):
        for path in self.files:
            with h5py.File(path) as file:
                for name, dataset in file.items():
                    with self.subTest(f"{path.parent.name}: {name}"):
                        self.assertEqual(dataset.id.get_create_plist().get_filter(0)[0], FILTER_ID)
                        self.assertEqual(zlib.crc32(dataset[()].tobytes()), dataset.attrs["crc32"])

    def test_the_second_reader_restores_every_chunk(self):
        for path in self.files:
            with h5py.File(path) as file:
                for name, dataset in file.items():
                    with self.subTest(f"{path.parent.name}: {name}"):
                        self.assertEqual(zlib.crc32(read_by_second(dataset).tobytes()), dataset.attrs["crc32"])


if __name__ == "__main__":
    unittest.main()
