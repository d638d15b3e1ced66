"""The filter through h5py. HDF5_PLUGIN_PATH names the folder of the plugin; the folder of fzgm_hdf5.py is on PYTHONPATH."""

import ctypes
import glob
import multiprocessing
import os
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import h5py
import numpy as np

import fzgm_hdf5
from fzgm_hdf5 import FILTER_ID, PRESETS, describe, describe_words, fzgm, words

# Presets of mode abs.
BOUNDED = [name for name in PRESETS if name != "exact"]
PLUGIN = os.path.join(os.environ["HDF5_PLUGIN_PATH"], "libh5fzgm.so")


def field(shape, dtype="f8", seed=0):
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape))
    return (np.sin(np.arange(n) / 37.0) * 3 + rng.normal(0, 0.01, n)).reshape(shape).astype(dtype)


def halves(x):
    """The two words of a double."""
    return struct.unpack("<II", struct.pack("<d", x))


def error(a, b):
    return np.max(np.abs(a.astype("f8") - b.astype("f8")))


class Base(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "t.h5")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, data, chunks, name="d", opts=None, **more):
        """Writes and reads back through a file that was closed between."""
        opts = fzgm() if opts is None else opts
        with h5py.File(self.path, "w") as f:
            f.create_dataset(name, data=data, chunks=chunks, **opts, **more)
        return self.read(name)

    def read(self, name="d"):
        with h5py.File(self.path) as f:
            d = f[name]
            # HDF5 itself leaves filters out for elements of any length, which lie elsewhere.
            for i in range(0 if h5py.check_vlen_dtype(d.dtype) else d.id.get_num_chunks()):
                # A bit of the mask marks a filter that was left out.
                self.assertEqual(d.id.get_chunk_info(i).filter_mask, 0)
            return d[()]

    def cd_values(self, name="d"):
        with h5py.File(self.path) as f:
            return f[name].id.get_create_plist().get_filter(0)


class Modes(Base):
    def test_abs_keeps_the_bound_of_every_float(self):
        for dtype in ("<f4", "<f8", ">f4", ">f8"):
            for preset in (None, *BOUNDED):
                for bound in (1e-1, 1e-3, 1e-6):
                    a = field((120, 200), dtype)
                    b = self.write(a, (60, 100), opts=fzgm(abs=bound, preset=preset))
                    self.assertEqual(b.dtype, a.dtype)
                    self.assertLessEqual(error(a, b), bound, (dtype, preset, bound))
                    # Codes of 16 bits may make the chunk no smaller, which is then stored as it is.
                    stored = bound == 1e-6 and preset in ("cusz", "cusz_ans", "lc_cr")
                    self.assertTrue(error(a, b) > 0 or stored, (dtype, preset, bound))

    def test_it_compresses(self):
        a = field((512, 512), "f4")
        with h5py.File(self.path, "w") as f:
            f.create_dataset("d", data=a, chunks=(256, 256), **fzgm(abs=1e-2))
            self.assertLess(f["d"].id.get_storage_size(), a.nbytes / 3)

    def test_rel(self):
        a = (field((3000,)) ** 3) * 10.0 ** (np.arange(3000) % 30 - 15)
        for dtype in ("<f4", ">f8"):
            x = a.astype(dtype)
            b = self.write(x, (1000,), opts=fzgm(rel=1e-3))
            self.assertTrue(np.all(np.abs(x.astype("f8") - b.astype("f8")) <= 1e-3 * np.abs(x.astype("f8"))))
            self.assertGreater(error(x, b), 0)

    def test_noa_is_abs_of_a_range(self):
        a = field((100,)) * 50
        b = self.write(a, (50,), opts=fzgm(noa=1e-3, range=(a.min(), a.max())))
        self.assertLessEqual(error(a, b), 1e-3 * (a.max() - a.min()))
        self.assertEqual(self.cd_values()[2][0], 1)

    def test_lossless_is_lossless(self):
        for dtype in ("<f4", ">f4", "<f8", ">f8"):
            a = field((333,), dtype)
            self.assertEqual(self.write(a, (100,)).tobytes(), a.tobytes())
            self.assertEqual(self.write(a, (100,), opts={"compression": FILTER_ID}).tobytes(), a.tobytes())

    def test_exact_is_lossless_and_smaller(self):
        for dtype in ("<f4", ">f4", "<f8", ">f8", "<i2", ">i4", "<u8", "u1"):
            a = (field((96, 80)) * 40).astype(dtype)
            a.reshape(-1)[:3] = [0, 1, 2] if a.dtype.kind in "iu" else [np.nan, -0.0, np.inf]
            sizes = []
            for preset in (None, "exact"):
                self.assertEqual(self.write(a, (96, 40), opts=fzgm(preset=preset)).tobytes(), a.tobytes())
                with h5py.File(self.path, "r+") as f:
                    sizes.append(f["d"].id.get_storage_size())
                    # A chunk that is changed in part is restored and compressed again.
                    f["d"][10:20] = a[30:40]
                changed = a.copy()
                changed[10:20] = a[30:40]
                self.assertEqual(self.read().tobytes(), changed.tobytes())
            self.assertLess(sizes[1], sizes[0], dtype)
        self.assertEqual(self.cd_values()[2][:4], (0, 0, 0, 5))

    def test_nan_and_infinities(self):
        for dtype in ("<f4", ">f4", "<f8", ">f8"):
            a = field((10, 100), dtype)
            a[0, :5] = [np.nan, np.inf, -np.inf, 1e30, -1e30]
            for opts in (fzgm(preset="exact"), *(fzgm(abs=1e-3, preset=preset) for preset in BOUNDED)):
                b = self.write(a, (10, 100), opts=opts)
                self.assertEqual(b[0, :5].tobytes(), a[0, :5].tobytes())
                self.assertLessEqual(error(a[1:], b[1:]), 1e-3)

    def test_the_words_of_the_user_are_the_beginning_of_those_that_are_stored(self):
        self.write(field((64,), "f4"), (16,), opts=fzgm(abs=1e-3))
        _, flags, cd, name = self.cd_values()
        self.assertEqual(cd[:4], words("abs", 1e-3))
        self.assertEqual(cd[3:7], (PRESETS["fast"], 0x465A0001, 8, 4))
        self.assertEqual(cd[11:], (1, 16, 0))
        # Six leading bits of the bound.
        self.assertEqual(struct.unpack("<d", struct.pack("<II", *cd[7:9]))[0], 1 / 1024)
        self.assertEqual(name, b"fzgm")
        self.write(field((64, 3, 2)), (16, 3, 1), opts=fzgm(abs=1e-3))
        # h5py up to 3.15 has room for sixteen.
        self.assertEqual(self.cd_values()[2][11:16], (3, 16, 0, 3, 0))
        self.assertEqual(len(self.cd_values()[2]), 18)


class Types(Base):
    def test_integers_lose_nothing_in_any_mode(self):
        for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
            for order in "<>":
                a = (field((7, 30)) * 20).astype(order + kind)
                for opts in (fzgm(), fzgm(preset="exact"), fzgm(abs=1.0), fzgm(rel=0.1)):
                    b = self.write(a, (3, 16), opts=opts)
                    self.assertEqual((b.dtype, b.tobytes()), (a.dtype, a.tobytes()))

    def test_all_else_comes_back_as_it_is(self):
        compound = np.zeros(70, dtype=[("a", "<f4"), ("b", ">i8"), ("c", "S3")])
        compound["a"], compound["b"], compound["c"] = np.arange(70), np.arange(70) * 7, b"xyz"
        for a in (
            np.array([b"one", b"two", b"three", b"four"] * 9),
            np.array([True, False, True] * 20),
            np.arange(60, dtype="f2"),
            np.arange(60, dtype="c8"),
            np.arange(60, dtype=">c16"),
            np.arange(60, dtype="longdouble"),
            np.array([np.void(b"12345")] * 33),
            compound,
        ):
            for opts in (fzgm(abs=0.5), fzgm(preset="exact")):
                b = self.write(a, (16,), opts=opts)
                self.assertEqual(b.tobytes(), a.tobytes(), a.dtype)

    def test_strings_of_any_length_and_enumerations(self):
        texts = ["a", "bb", "ccc" * 50, "ä"] * 10
        b = self.write(texts, (16,), dtype=h5py.string_dtype())
        self.assertEqual([t.decode() for t in b], texts)
        kind = h5py.enum_dtype({"RED": 0, "GREEN": 1}, basetype="i2")
        a = np.array([0, 1, 1] * 9, dtype=kind)
        self.assertEqual(self.write(a, (8,), dtype=kind).tobytes(), a.tobytes())
        kind = np.dtype(("f4", (3,)))
        with h5py.File(self.path, "w") as f:
            f.create_dataset("d", (20,), kind, chunks=(8,), **fzgm(abs=0.1))[...] = field((20, 3), "f4")
        self.assertEqual(self.read().tobytes(), field((20, 3), "f4").tobytes())

    def test_a_float_of_four_bytes_that_is_not_ieee_is_opaque(self):
        with h5py.File(self.path, "w") as f:
            kind = h5py.h5t.IEEE_F32LE.copy()
            kind.set_fields(31, 20, 11, 0, 20)
            kind.set_ebias(1023)
            space = h5py.h5s.create_simple((50,))
            dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            dcpl.set_chunk((20,))
            dcpl.set_filter(FILTER_ID, h5py.h5z.FLAG_OPTIONAL, words("abs", 0.1))
            d = h5py.h5d.create(f.id, b"d", kind, space, dcpl)
            a = np.arange(50, dtype="f8") / 4
            d.write(h5py.h5s.ALL, h5py.h5s.ALL, a)
        with h5py.File(self.path) as f:
            b = np.zeros(50)
            f["d"].id.read(h5py.h5s.ALL, h5py.h5s.ALL, b)
            self.assertEqual(error(a, b), 0)


class Shapes(Base):
    def test_ranks_and_chunks_of_any_shape(self):
        shapes = [((100003,), (5000,)), ((1,), (1,)), ((5, 7), (1, 1)), ((1, 300, 2), (1, 300, 2)), ((3, 4, 5, 6), (2, 3, 4, 5))]
        shapes += [((2,) * 9, (2,) * 9), ((4, 1, 5, 1, 6, 1), (4, 1, 5, 1, 6, 1)), ((10, 10, 10), (3, 4, 10))]
        for shape, chunks in shapes:
            for dtype in ("f4", ">f8"):
                for preset in BOUNDED:
                    a = field(shape, dtype)
                    b = self.write(a, chunks, opts=fzgm(abs=1e-2, preset=preset))
                    self.assertLessEqual(error(a, b), 1e-2, (shape, chunks))

    def test_resizing(self):
        a = field((90, 40), "f4")
        with h5py.File(self.path, "w") as f:
            f.create_dataset("d", (0, 40), "f4", maxshape=(None, 40), chunks=(16, 40), **fzgm(abs=1e-3))
        for i in range(0, 90, 9):
            with h5py.File(self.path, "r+") as f:
                f["d"].resize((i + 9, 40))
                f["d"][i : i + 9] = a[i : i + 9]
        self.assertLessEqual(error(self.read(), a), 1e-3)
        with h5py.File(self.path, "r+") as f:
            f["d"].resize((20, 40))
        self.assertLessEqual(error(self.read(), a[:20]), 1e-3)

    def test_after_other_filters(self):
        a = field((200,), "f4")
        b = self.write(a, (64,), opts=fzgm(abs=1e-3), fletcher32=True)
        self.assertLessEqual(error(a, b), 1e-3)
        b = self.write(a, (64,), shuffle=True)
        self.assertEqual(b.tobytes(), a.tobytes())
        for follow in (lambda p: p.set_deflate(4), lambda p: p.set_shuffle()):
            with h5py.File(self.path, "w") as f:
                dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                dcpl.set_chunk((64,))
                dcpl.set_filter(FILTER_ID, h5py.h5z.FLAG_MANDATORY, words("abs", 1e-3))
                follow(dcpl)
                d = h5py.h5d.create(f.id, b"d", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((200,)), dcpl)
                d.write(h5py.h5s.ALL, h5py.h5s.ALL, a)
            self.assertLessEqual(error(a, self.read()), 1e-3)
        i = np.arange(99, dtype="i4")
        self.assertEqual(self.write(i, (64,), opts=fzgm(abs=1), shuffle=True).tobytes(), i.tobytes())


class Fills(Base):
    def test_fill_values_come_back_bit_for_bit(self):
        for dtype in ("<f4", ">f4", "<f8", ">f8"):
            for fill in (-9999.0, 1e20, 9.969209968386869e36, -1.0, 0.1, 1.1e-3, 7.0, 0.0, np.nan, -99.99, 12345.678):
                for opts in (*(fzgm(abs=1e-2, preset=preset) for preset in BOUNDED), fzgm(rel=1e-2)):
                    a = field((30, 20), dtype)
                    a[::3] = fill
                    b = self.write(a, (20, 20), opts=opts, fillvalue=np.array(fill, dtype)[()])
                    what = (dtype, fill, opts)
                    self.assertEqual(b[::3].tobytes(), a[::3].tobytes(), what)
                    bound = 1e-2 * (np.abs(a[1::3]) if opts == fzgm(rel=1e-2) else 1)
                    self.assertTrue(np.all(np.abs(a[1::3].astype("f8") - b[1::3]) <= bound), what)

    def test_what_was_never_written_is_fill(self):
        for fill in (np.nan, -1.0, 3.3):
            with h5py.File(self.path, "w") as f:
                d = f.create_dataset("d", (50,), "f8", chunks=(8,), fillvalue=fill, **fzgm(abs=0.1))
                d[20:21] = 5
            b = self.read()
            self.assertEqual(b[:20].tobytes(), np.full(20, fill).tobytes())
            self.assertEqual(b[21:].tobytes(), np.full(29, fill).tobytes())
            self.assertLessEqual(abs(b[20] - 5), 0.1)

    def test_a_fill_value_of_f4_does_not_cost_compression(self):
        a = np.where(np.arange(65536) % 7 < 2, -9999, field((65536,)) * 1000).astype("f4")
        sizes = []
        for fill in (None, -9999):
            with h5py.File(self.path, "w") as f:
                sizes.append(f.create_dataset("d", data=a, chunks=(65536,), fillvalue=fill, **fzgm(abs=0.1)).id.get_storage_size())
        self.assertLess(sizes[1], sizes[0] * 1.1)

    def test_preset_high_keeps_its_ratio_beside_fill_values(self):
        y, x = np.ogrid[:256, :256]
        clean = (1000 * np.sin(y / 20) * np.cos(x / 30) + np.random.default_rng(4).normal(0, 0.2, (256, 256))).astype("f4")
        missing = (x // 64 + y // 64) % 3 == 0
        for preset in ("high", "high_once"):
            sizes = {}
            for fill in (None, 1e20, -999.0, 0.0, np.nan):
                a = clean.copy()
                if fill is not None:
                    a[missing] = fill
                with h5py.File(self.path, "w") as f:
                    d = f.create_dataset("d", data=a, chunks=(256, 256), fillvalue=fill, **fzgm(abs=0.1, preset=preset))
                    sizes[fill] = d.id.get_storage_size()
                self.assertEqual(self.read()[missing].tobytes() == a[missing].tobytes(), fill is not None)
            for fill, size in sizes.items():
                self.assertLess(size, sizes[None] * 1.25, (preset, fill, sizes))

    def test_a_signed_zero_may_be_the_fill_value(self):
        for fill in (0.0, -0.0):
            a = field((64,), "f4")
            a[::2], a[1::4] = fill, -fill
            b = self.write(a, (64,), opts=fzgm(abs=1e-2, preset="high"), fillvalue=np.float32(fill))
            self.assertEqual(b[::2].tobytes(), a[::2].tobytes())


class Rewriting(Base):
    """Chunks that are read, changed in part and written again: the bound holds all the same."""

    def test_twenty_rounds(self):
        for dtype in ("<f4", ">f4", "<f8"):
            for opts in (*(fzgm(abs=1e-3, preset=preset) for preset in ("pfpl", "fz", "fast", "high", "lc_cr")), fzgm(rel=1e-4)):
                rng = np.random.default_rng(1)
                a = (field((64, 128)) * 10.0 ** rng.integers(-2, 4, (64, 1))).astype(dtype)
                with h5py.File(self.path, "w") as f:
                    f.create_dataset("d", data=a, chunks=(64, 128), **opts)
                for _ in range(20):
                    rows = rng.choice(64, 3)
                    scale = 10.0 ** rng.integers(-2, 5)
                    a[rows] = (rng.normal(0, 1, (3, 128)) * scale).astype(dtype)
                    with h5py.File(self.path, "r+") as f:
                        for r in rows:
                            f["d"][r] = a[r]
                b = self.read()
                d = np.abs(a.astype("f8") - b.astype("f8"))
                bound = 1e-4 * np.abs(a.astype("f8")) if opts == fzgm(rel=1e-4) else 1e-3
                self.assertTrue(np.all(d <= bound), (dtype, opts, d.max()))

    def test_a_chunk_larger_than_the_cache(self):
        a = field((1024, 512), "f4")
        with h5py.File(self.path, "w", rdcc_nbytes=1 << 20) as f:
            d = f.create_dataset("d", a.shape, "f4", chunks=(1024, 512), **fzgm(abs=1e-3))
            for i in range(0, 1024, 64):
                d[i : i + 64] = a[i : i + 64]
        self.assertLessEqual(error(self.read(), a), 1e-3)

    def test_restored_bytes_do_not_change(self):
        a = field((64, 64), "f4")
        for preset in (None, "high", "lc_cr"):
            b = self.write(a, (32, 64), opts=fzgm(abs=1e-3, preset=preset))
            for _ in range(3):
                c = self.write(b, (16, 16), opts=fzgm(abs=1e-3, preset=preset))
                self.assertEqual(c.tobytes(), b.tobytes(), preset)

    def test_presets_with_the_same_bins_do_not_move_what_another_one_restored(self):
        for dtype in ("f4", "f8"):
            a = field((64, 64), dtype)
            a[5, :3] = 1e20, 3e4, np.nan
            for first, second in (("high", "fast"), ("fast", "high"), ("pfpl", "high"), ("high", "cusz")):
                b = self.write(a, (64, 64), opts=fzgm(abs=1e-3, preset=first))
                c = self.write(b, (64, 64), opts=fzgm(abs=1e-3, preset=second))
                self.assertEqual(c.tobytes(), b.tobytes(), (dtype, first, second))

    def test_high_once_adds_at_most_a_bound_for_each_time_that_a_chunk_is_written(self):
        a = field((64, 64), "f4")
        with h5py.File(self.path, "w") as f:
            f.create_dataset("d", data=a, chunks=(64, 64), **fzgm(abs=1e-3, preset="high_once"))
        for round in range(1, 6):
            b = self.read()
            self.assertLessEqual(error(a[1:], b[1:]), 1e-3 * round)
            with h5py.File(self.path, "r+") as f:
                f["d"][0] = round

    def test_high_once_keeps_the_bound_of_chunks_that_do_not_leave_the_cache(self):
        a = np.random.default_rng(3).standard_normal((32, 64, 64)).cumsum(-1).astype("f4")

        def largest(rows, cache, slots=521):
            # Chunks of 32 KiB; those that contain a part of one row have 128 KiB.
            with h5py.File(self.path, "w", rdcc_nbytes=cache, rdcc_nslots=slots) as f:
                d = f.create_dataset("d", a.shape, "f4", chunks=(8, 32, 32), **fzgm(abs=1e-2, preset="high_once"))
                for i in range(0, 32, rows):
                    d[i : i + rows] = a[i : i + rows]
            return error(a, self.read()) / 1e-2

        for cache in (0, 1 << 15, 1 << 20):
            self.assertLessEqual(largest(8, cache), 1, cache)
            self.assertLessEqual(largest(32, cache), 1, cache)
        self.assertLessEqual(largest(1, 1 << 17), 1)
        self.assertGreater(largest(1, 1 << 16), 2)
        self.assertGreater(largest(1, 1 << 20, slots=1), 2)


class Pages(unittest.TestCase):
    def test_the_pages_quote_the_examples(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        for page, first, example in (
            ("hdf5.md", "import fzgm_hdf5", "hdf5.py"),
            ("hdf5.md", "#include <fzgm_hdf5.h>", "hdf5.c"),
            ("hdf5-advanced.md", "  fzgm_chunks chunks;", "hdf5_cuda.c"),
        ):
            with open(os.path.join(root, "docs", page)) as f:
                quoted = [block for block in f.read().split("\n```text\n")[1:] if block.startswith(first)]
            self.assertEqual(len(quoted), 1, (page, first))
            with open(os.path.join(root, "examples", example)) as f:
                rest = iter(f.read().splitlines())
            for line in quoted[0].split("\n```")[0].splitlines():
                self.assertIn(line, rest, example)  # from the line before on


class Refusals(Base):
    def refused(self, text, data=None, chunks=(16,), **opts):
        data = field((64,)) if data is None else data
        with h5py.File(self.path, "w") as f:
            with self.assertRaisesRegex(Exception, text):
                f.create_dataset("d", data=data, chunks=chunks, **opts)

    def test_cd_values(self):
        def cd(*opts):
            return {"compression": FILTER_ID, "compression_opts": opts}

        self.refused("2 cd_values are given", **cd(1, 2))
        self.refused("the error bound is", **cd(1, 0, 0))
        for wrong in (-1.0, float("nan"), float("inf")):
            self.refused("the error bound is", **cd(1, *halves(wrong)))
        self.refused("2\\^-17", **cd(2, *halves(1e-6)))
        self.refused("2\\^-17", **cd(2, *halves(0.3)))
        self.refused("noa", **cd(3, *halves(1.0)))
        self.refused("the mode is 17", **cd(17, *halves(1.0)))
        bound = words("abs", 1.0)[:3]
        self.refused("the preset is 99; this plugin supports .*4 \\(high\\).*; for other presets, install a newer plugin", **cd(*bound, 99))
        self.refused("preset 5 \\(exact\\) does not support mode 1 \\(abs\\); pass mode 0", **cd(*bound, 5))
        self.refused("preset 2 \\(fz\\) does not support mode 2 \\(rel\\)", **cd(*words("rel", 1e-3)[:3], 2))
        self.refused("preset 3 \\(fast\\) does not support mode 2 \\(rel\\)", **cd(*words("rel", 1e-3)[:3], 3))
        self.refused("preset 3 \\(fast\\) does not support mode 0 \\(lossless\\)", **cd(0, 0, 0, 3))
        self.refused("preset 4 \\(high\\) does not support mode 2 \\(rel\\)", **cd(*words("rel", 1e-3)[:3], 4))
        self.refused("cd_values are given", **cd(*bound, 0, 0, 0, 0, 0))
        self.refused("the 7 cd_values are incomplete", **cd(*bound, 0, 0x465A0001, 8, 4))
        self.refused("the 7 cd_values are incomplete", **cd(*bound, 4, 0x465A0002, 8, 4))
        self.refused("version 3; .* newer plugin", **cd(*bound, 0, 0x465A0003, 8, 4))
        for version, preset in ((2, 3), (1, 4)):
            stored = (*bound, preset, 0x465A0000 + version, 8, 4, *bound[1:], *bound[1:], 1, 16, 0)
            self.refused(f"the preset is {preset}, which does not belong to version {version}", **cd(*stored))

    def test_a_lossy_filter_that_is_not_first(self):
        self.refused("must be the first filter", shuffle=True, **fzgm(abs=1e-3))
        self.refused("must be the first filter", shuffle=True, data=field((64,), ">f4"), **fzgm(rel=1e-3))
        self.refused("change the length", data=np.arange(64), scaleoffset=6, **fzgm())

    def test_filters_of_elements_after_the_filter(self):
        followers = (
            (r"filter 6 \(scale-offset\) follows fzgm.*; remove scale-offset", lambda p: p.set_scaleoffset(h5py.h5z.SO_INT, 0)),
            (r"filter 5 \(nbit\) follows fzgm.*; remove nbit", lambda p: p.set_filter(5, h5py.h5z.FLAG_OPTIONAL, ())),
            (r"filter 4 \(szip\) follows fzgm.*; remove szip", lambda p: p.set_filter(4, h5py.h5z.FLAG_OPTIONAL, (32, 16))),
        )
        for message, follow in followers:
            for cd in (words("abs", 1e-3), (0,)):
                for between in (False, True):
                    with h5py.File(self.path, "w") as f:
                        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                        dcpl.set_chunk((64,))
                        dcpl.set_filter(FILTER_ID, h5py.h5z.FLAG_OPTIONAL, cd)
                        if between:
                            dcpl.set_shuffle()
                        follow(dcpl)
                        with self.assertRaisesRegex(Exception, message):
                            h5py.h5d.create(f.id, b"d", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((200,)), dcpl)
                        self.assertNotIn("d", f)

    def test_the_filter_stands_once(self):
        # The words of a second one would stay as they are, so that its first chunk fails: h5py even crashed there.
        for flag in (h5py.h5z.FLAG_MANDATORY, h5py.h5z.FLAG_OPTIONAL):
            for cd in (words("abs", 1e-3), (0,)):
                with h5py.File(self.path, "w") as f:
                    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                    dcpl.set_chunk((16,))
                    for _ in range(2):
                        dcpl.set_filter(FILTER_ID, flag, cd)
                    with self.assertRaisesRegex(Exception, "2 times"):
                        h5py.h5d.create(f.id, b"d", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((64,)), dcpl)

    def test_a_fill_value_that_cannot_be_kept_is_named(self):
        self.refused("the fill value is 1e-310", fillvalue=1e-310, **fzgm(abs=1e-3, preset="pfpl"))

    def test_chunks_of_4_gib(self):
        with h5py.File(self.path, "w", libver="latest") as f:
            for rows in (1 << 16, (1 << 16) + 1):
                with self.assertRaisesRegex(Exception, "4 GiB|4GB|32-bit"):
                    f.create_dataset("d", (1 << 17, 1 << 13), "f8", chunks=(rows, 1 << 13), **fzgm(abs=1))

    def test_chunks_just_below_4_gib(self):
        with h5py.File(self.path, "w", libver="latest") as f:
            with self.assertRaisesRegex(Exception, "choose smaller chunks"):
                f.create_dataset("d", (1 << 17, 1 << 13), "f8", chunks=((1 << 16) - 1, 1 << 13), **fzgm(abs=1, preset="pfpl"))

    def test_the_module(self):
        wrong = [({"abs": 1, "rel": 1}, "expected one of them"), ({"noa": 1}, "noa requires either"), ({"abs": 1, "range": (0, 1)}, "without noa")]
        wrong += [({"abs": 1, "preset": name}, "expected one of default, pfpl") for name in ("no", 4, ["fast"])]
        wrong += [({"abs": 1, "preset": "exact"}, "which mode abs does not support"), ({"rel": 0.1, "preset": "high"}, "which mode rel does not support")]
        wrong += [({"abs": "0.1"}, "expected a number"), ({"abs": 0}, "above 0"), ({"rel": 1e-6}, "2\\^-17"), ({"preset": "fast"}, "mode lossless")]
        wrong += [({"noa": 1, "data": [np.nan]}, "give the bound as abs"), ({"noa": 1, "range": (1, 1)}, "above 0")]
        for bad, text in wrong:
            with self.assertRaisesRegex(ValueError, text, msg=bad):
                fzgm(**bad)
        with self.assertRaisesRegex(ValueError, "expected abs=0.1"):
            fzgm(0.1)
        for unknown in ({"eb": 0.1}, {"error_bound": 0.1}, {"abs": 0.1, "fillvalue": -999}, {"abs": 0.1, "fillvalue": -999, "chunks": (4,)}):
            text = "is not an argument of filter; expected abs, rel, or noa for the bound, and preset. Pass the fill value to create_dataset as fillvalue"
            with self.assertRaisesRegex(ValueError, f"^{[name for name in unknown if name != 'abs'][0]} {text}", msg=unknown):
                fzgm(**unknown)
        filled = np.where(np.arange(5000) % 7 == 0, np.float32(1e20), np.sin(np.arange(5000.0)).astype("f4"))
        with self.assertWarnsRegex(UserWarning, r"^715 elements are 1e\+20 and far from the others.*Pass fill_value=1e\+20") as seen:
            fzgm(noa=1e-3, data=filled.reshape(50, 100))
        self.assertEqual(seen.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for fill in (1e20, np.nan):
                fzgm(noa=1e-3, data=filled, fill_value=fill)
            for plain in (filled[1:7], filled[::7], np.zeros(9), np.arange(9), np.arange(9, dtype="f2")):
                fzgm(noa=1e-3, data=plain) if plain.any() and np.ptp(plain) else fzgm_hdf5.range_of(plain)
        with self.assertRaisesRegex(ValueError, "mode is 'noa'"):
            words("noa", 1e-3)
        with self.assertRaisesRegex(ValueError, "mode is 'no'; expected one of lossless"):
            words("no", 1e-3)


class Described(Base):
    def test_words_have_explicit_numbers(self):
        self.assertEqual(words("abs", 1e-3), (1, *halves(1e-3), 3))
        self.assertEqual(words("rel", 1e-3), (2, *halves(1e-3), 1))
        self.assertEqual(words(), (0,))
        for name, number in PRESETS.items():
            mode = ("lossless", 0.0) if name == "exact" else ("abs", 1e-3)
            self.assertEqual(words(*mode, name)[3], number)

    def test_of_words(self):
        self.assertEqual(describe_words([]), "lossless")
        self.assertEqual(describe_words(words("abs", 1e-3, "high")), "abs 0.001, preset high")
        self.assertEqual(describe_words((1, -755914244, 1062232653, 4)), "abs 0.001, preset high")
        self.assertEqual(describe_words((1, *halves(0.5))), "abs 0.5, preset default")
        self.assertEqual(describe_words((1, *halves(0.5), 10)), "abs 0.5, preset number 10, which needs a newer plugin")
        self.assertEqual(describe_words((7, *halves(0.5))), "unknown mode 7 0.5, preset default")
        with self.assertRaisesRegex(ValueError, "2 cd_values"):
            describe_words([1, 2])

    def test_of_datasets(self):
        cases = [
            ({}, fzgm(abs=0.01), r"abs 0\.01, preset fast; ratio \d"),
            ({"fillvalue": -999.0}, fzgm(abs=0.01, preset="high"), r"abs 0\.01, preset high; the fill value -999 is exact; ratio \d"),
            ({"fillvalue": 7.0}, fzgm(rel=0.01), r"rel 0\.01, preset pfpl; values of magnitude 7 and above are exact; the fill value 7 is exact; ratio"),
            ({"fillvalue": -999.0}, fzgm(preset="exact"), r"lossless, preset exact; ratio"),
            ({"fillvalue": 3, "dtype": "i4"}, fzgm(abs=3), r"lossless, because .*\); ratio"),
            ({"fillvalue": 3, "dtype": "f2"}, fzgm(abs=3), r"lossless, because .*\); ratio"),
            ({}, fzgm(), r"lossless; ratio"),
            ({}, fzgm(preset="exact"), r"lossless, preset exact; ratio"),
            ({"dtype": "i4"}, fzgm(abs=3), r"lossless, because only float32 and float64 have error bounds \(requested: abs 3, preset fast\); ratio"),
            ({"dtype": "f2"}, fzgm(abs=3), r"lossless, because only float32 and float64 have error bounds \(requested: abs 3, preset fast\); ratio"),
            ({}, {}, r"not compressed by fzgm; it has no filters"),
            ({}, {"compression": "gzip"}, r"not compressed by fzgm; its filters are deflate \(1\)$"),
            ({}, {"compression": "gzip", "shuffle": True}, r"not compressed by fzgm; its filters are shuffle \(2\), deflate \(1\)$"),
        ]
        with h5py.File(self.path, "w") as f:
            for k, (more, opts, text) in enumerate(cases):
                data = field((4000,)).astype(more.get("dtype", "f4"))
                d = f.create_dataset(f"d{k}", data=data, chunks=(1000,), **opts, **{n: v for n, v in more.items() if n != "dtype"})
                self.assertRegex(describe(d), text)
            empty = f.create_dataset("empty", (100,), "f4", chunks=(10,), **fzgm(abs=1))
            self.assertEqual(describe(empty), "abs 1, preset fast; no chunk is written")
            self.assertNotIn("without the filter", describe(empty))
            empty.id.write_direct_chunk((0,), b"0" * 40, filter_mask=1)
            self.assertIn("; 1 chunks are stored without the filter", describe(empty))
            with self.assertRaisesRegex(ValueError, "expected a dataset"):
                describe(f)

    def test_of_fill_values(self):
        number = 0
        with h5py.File(self.path, "w") as f:
            for dtype in ("<f4", ">f4", "<f8", ">f8"):
                for fill in (None, -999.0, 1e20, -1.0, 0.1, 1.1e-3, 7.0, 0.0, -0.0, np.nan, np.inf, 12345.678, 1e-3):
                    for opts in (*(fzgm(abs=1e-2, preset=preset) for preset in BOUNDED), fzgm(rel=1e-2)):
                        value = None if fill is None else np.array(fill, dtype)[()]
                        number += 1
                        d = f.create_dataset(str(number), (20,), dtype, chunks=(20,), fillvalue=value, **opts)
                        # The one fill value that is not exact: -0 in mode abs, with presets other than high.
                        minus_zero = fill == 0 and np.signbit(fill) and opts["compression_opts"][0] == 1 and opts["compression_opts"][3] not in (4, 9)
                        exact = fill is not None and not minus_zero
                        wanted = [f"the fill value {value:g} is exact"] if exact else []
                        self.assertEqual([part for part in describe(d).split("; ") if "fill value" in part], wanted, (dtype, fill, opts))

    def test_a_fill_value_that_the_words_do_not_keep_is_not_exact(self):
        with h5py.File(self.path, "w") as f:
            d = f.create_dataset("d", (20,), "f4", chunks=(20,), fillvalue=-999, **fzgm(abs=1e-2))
            create = d.id.get_create_plist()
            _, _, cd, _ = create.get_filter(0)
            self.assertTrue(fzgm_hdf5._has_exact_fill(d, create, cd))
            # A static program can store the words of a dataset without a fill value.
            plain = f.create_dataset("plain", (20,), "f4", chunks=(20,), **fzgm(abs=1e-2)).id.get_create_plist().get_filter(0)[2]
            self.assertFalse(fzgm_hdf5._has_exact_fill(d, create, plain))

    def test_of_files_on_the_command_line(self):
        with h5py.File(self.path, "w") as f:
            f.create_dataset("group/d", data=field((100,)), **fzgm(abs=1e-3))
        run = lambda *a: subprocess.run([sys.executable, fzgm_hdf5.__file__, *a], capture_output=True, text=True)
        self.assertIn("group/d: abs 0.001, preset fast; ratio", run("describe", self.path).stdout)
        self.assertIn("UD=32770,0,4,1,3539053052,1062232653,4\n", run("words", "abs", "1e-3", "high").stdout)
        self.assertIn("usage", run().stderr)
        self.assertIn("fzgm_hdf5: preset is 'exact'", run("words", "abs", "1e-3", "exact").stderr)
        for wrong, text in (
            ((self.path + ".no",), "No such file"),
            ((fzgm_hdf5.__file__,), "file signature not found"),
            ((self.folder.name,), "Unable to"),
            ((self.path, "other"), "'other' is not a dataset of this file; omit the name"),
            ((self.path, "group/d", "group"), "'group' is not a dataset of this file; omit the name"),
        ):
            failed = run("describe", *wrong)
            self.assertEqual((failed.returncode, failed.stderr.count("\n")), (1, 1), failed.stderr)
            self.assertRegex(failed.stderr, f"^fzgm_hdf5: {wrong[0]}: .*{text}")


class Loading(Base):
    def folder_of(self, **environment):
        code = "import sys, fzgm_hdf5; fzgm_hdf5.load(); sys.stdout.write(fzgm_hdf5.plugin_folder())"
        own = {k: v for k, v in os.environ.items() if k not in ("HDF5_PLUGIN_PATH", "FZGM_HDF5_PLUGIN")}
        return subprocess.run([sys.executable, "-c", code], env=own | environment, capture_output=True, text=True)

    def test_the_plugin_in_either_variable(self):
        folder = os.path.dirname(PLUGIN)
        for environment in ({"HDF5_PLUGIN_PATH": folder}, {"HDF5_PLUGIN_PATH": f":/nowhere:{folder}"}, {"FZGM_HDF5_PLUGIN": folder}):
            self.assertEqual(self.folder_of(**environment).stdout, os.path.normpath(folder), environment)

    def test_no_plugin(self):
        # Without a plugin beside the module, as in an installation.
        if os.path.exists(os.path.join(os.path.dirname(fzgm_hdf5.__file__), "..", "..", "..", "lib", "fzgm")):
            self.skipTest("the module is installed")
        failed = self.folder_of(HDF5_PLUGIN_PATH=self.folder.name).stderr
        self.assertRegex(failed, f"there is no libh5fzgm.so in .*, {self.folder.name}; set FZGM_HDF5_PLUGIN to its directory, or add its directory to HDF5_PLUGIN_PATH\n$")
        failed = self.folder_of(HDF5_PLUGIN_PATH=os.path.dirname(PLUGIN), FZGM_HDF5_PLUGIN=self.folder.name).stderr
        self.assertRegex(failed, f"there is no libh5fzgm.so in {self.folder.name}; set FZGM_HDF5_PLUGIN to its directory, or unset FZGM_HDF5_PLUGIN\n$")


class Direct(Base):
    def frame(self, chunk, preset=None):
        with h5py.File(self.path, "w") as f:
            f.create_dataset("d", data=chunk, chunks=chunk.shape, **fzgm(abs=1e-3, preset=preset))
        with h5py.File(self.path) as f:
            return f["d"].id.read_direct_chunk((0,) * chunk.ndim)[1]

    def put(self, frame, shape=(16, 64), dtype="f4", **opts):
        with h5py.File(self.path, "w") as f:
            d = f.create_dataset("d", shape, dtype, chunks=shape, **(opts or fzgm(abs=1e-3)))
            d.id.write_direct_chunk((0,) * len(shape), frame)

    def test_a_chunk_is_a_compact_frame(self):
        a = field((16, 64), "f4")
        frame = self.frame(a)
        self.assertEqual(frame[:4], b"FZC1")
        self.put(frame)
        self.assertLessEqual(error(self.read(), a), 1e-3)

    def test_frames_of_other_pipelines_are_read(self):
        a = field((16, 64), "f4")
        frame = self.frame(a)
        # Another bound and lossless: the frame contains the actual one.
        self.put(frame, **fzgm(abs=1.0))
        self.assertLessEqual(error(self.read(), a), 1e-3)
        self.put(frame, **fzgm())
        self.assertLessEqual(error(self.read(), a), 1e-3)
        # Dimensions of 1 do not count, and an array of one dimension has the elements of any shape.
        self.put(frame, shape=(1, 16, 1, 64))
        self.assertLessEqual(error(self.read(), a.reshape(1, 16, 1, 64)), 1e-3)
        self.put(self.frame(a.reshape(-1)))
        self.assertLessEqual(error(self.read(), a), 1e-3)

    def test_frames_of_another_type_or_shape_are_not(self):
        a = field((16, 64), "f4")
        for preset in (None, "high"):
            frame = self.frame(a, preset)
            found = r"it contains 1024 elements of type f32 in the shape \[16, 64\]"
            for shape, dtype, own in (((64, 16), "f4", "f32"), ((8, 2, 64), "f4", "f32"), ((16, 64), "i4", "i32"), ((16, 64), "u4", "u32")):
                if dtype != "f4" and preset == "high":
                    continue  # a chunk of high has a head, which integers never have
                self.put(frame, shape, dtype, **fzgm(abs=1e-3, preset=preset))
                wanted = rf"but a chunk of this dataset has 1024 elements of type {own} in the shape \[{', '.join(map(str, shape))}\]"
                with self.assertRaisesRegex(OSError, f"fzgm: a chunk cannot be restored: {found}, {wanted}"):
                    self.read()

    def test_frames_of_another_length_or_width_are_not(self):
        frame = self.frame(field((16, 64), "f4"))
        for shape, dtype in (((16, 63), "f4"), ((16, 65), "f4"), ((8, 64), "f8"), ((16, 64), "f8"), ((16, 128), "f2")):
            self.put(frame, shape=shape, dtype=dtype)
            with self.assertRaises(OSError):
                self.read()

    def test_every_byte_of_a_chunk_matters(self):
        a = field((6, 10), "f4")
        frame = self.frame(a)
        for i in range(len(frame)):
            for flip in (1, 0x80):
                bad = bytearray(frame)
                bad[i] ^= flip
                self.put(bytes(bad), shape=(6, 10))
                with self.assertRaises(OSError, msg=f"byte {i}"):
                    self.read()

    def test_every_byte_of_the_form_of_preset_high_matters(self):
        # 3e4 has no bin, and lies behind the frame.
        for preset in ("high", "high_once"):
            a = field((6, 10), "f4")
            a[3, 3] = 3e4
            frame = self.frame(a, preset)
            self.assertEqual(frame[:4], b"FZH1")
            self.put(frame, shape=(6, 10), **fzgm(abs=1e-3, preset=preset))
            self.assertLessEqual(error(self.read(), a), 1e-3)
            for i in range(len(frame)):
                bad = bytearray(frame)
                bad[i] ^= 1
                for part in (bytes(bad), frame[:i]) if i else (bytes(bad),):
                    self.put(part, shape=(6, 10), **fzgm(abs=1e-3, preset=preset))
                    with self.assertRaises(OSError, msg=f"{preset}, byte {i}"):
                        self.read()

    def test_a_chunk_of_preset_high_says_what_it_holds(self):
        a = field((16, 64), "f4")
        frame = self.frame(a, "high")
        # Another bound, and the other of the two presets.
        for other in (fzgm(abs=1.0, preset="high"), fzgm(abs=1.0, preset="high_once")):
            self.put(frame, **other)
            self.assertLessEqual(error(self.read(), a), 1e-3)
        self.put(frame, dtype="f8", shape=(16, 32), **fzgm(abs=1e-3, preset="high"))
        with self.assertRaises(OSError):
            self.read()
        # In a dataset of another preset it is no frame.
        self.put(frame, **fzgm(abs=1e-3))
        with self.assertRaises(OSError):
            self.read()
        # A frame alone is restored as it is.
        self.put(self.frame(a), **fzgm(abs=1e-3, preset="high"))
        self.assertLessEqual(error(self.read(), a), 1e-3)

    def test_nans_of_every_number_that_the_form_uses(self):
        for dtype, first in (("u4", 0x7FC5A500), ("u8", 0x7FF8465A0000A500)):
            for most in (254, 255, 256):
                bits = np.zeros(400, dtype)
                bits[:most] = first + np.arange(most, dtype=dtype)
                a = bits.view("f" + dtype[1])
                a[300:] = field((100,))
                b = self.write(a, (400,), opts=fzgm(abs=1e-3, preset="high"), fillvalue=5.0)
                self.assertEqual(b[:300].tobytes(), a[:300].tobytes())
                self.assertLessEqual(error(a[300:], b[300:]), 1e-3)

    def test_truncated_chunks(self):
        frame = self.frame(field((6, 10), "f4"))
        for n in range(1, len(frame)):
            self.put(frame[:n], shape=(6, 10))
            with self.assertRaises(OSError, msg=f"{n} bytes"):
                self.read()
        self.put(frame + b"\0", shape=(6, 10))
        with self.assertRaises(OSError):
            self.read()


class Words(unittest.TestCase):
    """filter() itself, as a damaged file calls it."""

    def setUp(self):
        class Class(ctypes.Structure):
            _fields_ = [("version", ctypes.c_int), ("id", ctypes.c_int), ("encoder", ctypes.c_uint), ("decoder", ctypes.c_uint)]
            _fields_ += [("name", ctypes.c_char_p), ("can_apply", ctypes.c_void_p), ("set_local", ctypes.c_void_p), ("filter", ctypes.c_void_p)]

        plugin = ctypes.CDLL(PLUGIN)
        self.assertEqual(plugin.H5PLget_plugin_type(), 0)
        plugin.H5PLget_plugin_info.restype = ctypes.POINTER(Class)
        info = plugin.H5PLget_plugin_info().contents
        self.assertEqual((info.version, info.id, info.encoder, info.decoder, info.name), (1, FILTER_ID, 1, 1, b"fzgm"))
        size = ctypes.c_size_t
        kind = ctypes.CFUNCTYPE(size, ctypes.c_uint, size, ctypes.POINTER(ctypes.c_uint), size, ctypes.POINTER(size), ctypes.POINTER(ctypes.c_void_p))
        self.filter = kind(info.filter)
        self.libc = ctypes.CDLL(None)
        self.libc.malloc.restype = ctypes.c_void_p
        self.libc.malloc.argtypes = [size]
        self.libc.free.argtypes = [ctypes.c_void_p]

        # Where no HDF5 calls, there is no error stack, and reasons go to standard error.
        shown, quiet = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)
        os.close(quiet)
        self.addCleanup(lambda: (os.dup2(shown, 2), os.close(shown)))

    def call(self, flags, cd, data):
        block = self.libc.malloc(max(len(data), 1))
        ctypes.memmove(block, data, len(data))
        pointer, size = ctypes.c_void_p(block), ctypes.c_size_t(len(data))
        n = self.filter(flags, len(cd), (ctypes.c_uint * max(len(cd), 1))(*cd), len(data), ctypes.byref(size), ctypes.byref(pointer))
        if n == 0:
            self.assertEqual((pointer.value, size.value), (block, len(data)), "a failure leaves everything as it was")
        else:
            self.assertGreaterEqual(size.value, n)
        out = ctypes.string_at(pointer.value, n) if n else None
        self.libc.free(pointer)
        return out

    def stored(self, rows=30, mode=1, bound=1e-3, dtype=8, size=4, preset=0):
        half, version = halves(bound), 2 if preset in (4, 9) else 1
        return [mode, *half, preset, 0x465A0000 + version, dtype, size, *half, *halves(float("inf")), 2, rows, 0, 10, 0]

    def test_wrong_words_are_errors_both_ways(self):
        a = field((30, 10), "f4").tobytes()
        rng = np.random.default_rng(2)
        for preset in (0, 4, 9):
            whole = self.stored(preset=preset)
            frame = self.call(0, whole, a)
            self.assertEqual(len(self.call(0x100, whole, frame)), len(a))
            tried = [whole[:n] for n in range(len(whole))] + [[], [0] * 16, [0xFFFFFFFF] * 80]
            for i in range(len(whole)):
                for value in (0, 1, 2, 3, 4, 0x7FFFFFFF, 0xFFFFFFFF, *rng.integers(0, 1 << 32, 5)):
                    cd = list(whole)
                    cd[i] = int(value)
                    tried.append(cd)
            for cd in tried:
                back = self.call(0x100, cd, frame)
                self.assertIn(None if back is None else len(back), (None, len(a)), cd)
                made = self.call(0, cd, a)
                if made is not None:
                    self.assertEqual(len(self.call(0x100, cd, made)), len(a))

    def test_a_chunk_of_another_length_is_refused(self):
        a = field((30, 10), "f4").tobytes()
        self.assertIsNone(self.call(0, self.stored(), a[:-4]))
        self.assertIsNone(self.call(0, self.stored(), a + a))
        self.assertIsNone(self.call(0, self.stored(), b""))
        self.assertIsNone(self.call(0x100, self.stored(), b""))

    def test_a_large_chunk_that_a_small_frame_claims_costs_no_memory(self):
        frame = self.call(0, self.stored(), field((30, 10), "f4").tobytes())
        self.assertIsNone(self.call(0x100, self.stored(rows=1 << 26), frame))
        # A child's largest size begins with what it has of its parent.
        child = os.fork()
        if child == 0:
            most = [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]
            made = self.call(0x100, self.stored(rows=1 << 24), frame)
            most.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
            os._exit(0 if made is None and most[1] - most[0] < 64 << 10 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


def fork_child(path, queue):
    with h5py.File(path) as f:
        queue.put(float(f["d"][()].sum()))


class Processes(Base):
    def test_threads(self):
        # h5py has one lock; the filter itself is called from several threads through ctypes.
        words_case = Words("test_wrong_words_are_errors_both_ways")
        words_case.setUp()
        self.addCleanup(words_case.doCleanups)
        failed = []

        def work(seed):
            for rows in (30, 40, 50) * 10:
                a = field((rows, 10), "f4", seed)
                cd = words_case.stored(rows)
                b = np.frombuffer(words_case.call(0x100, cd, words_case.call(0, cd, a.tobytes())), "f4").reshape(a.shape)
                if error(a, b) > 1e-3:
                    failed.append((seed, rows))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])

    def test_fork(self):
        a = field((400, 50), "f4")
        expected = float(self.write(a, (50, 50), opts=fzgm(abs=1e-3)).sum())
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        children = [context.Process(target=fork_child, args=(self.path, queue)) for _ in range(3)]
        for c in children:
            c.start()
        for _ in children:
            self.assertEqual(queue.get(timeout=60), expected)
        for c in children:
            c.join(60)
            self.assertEqual(c.exitcode, 0)

    @unittest.skipUnless(hasattr(h5py.h5z, "register_filter"), "h5py 3.8 cannot")
    def test_registered_by_hand(self):
        plugin = ctypes.CDLL(PLUGIN)
        plugin.H5PLget_plugin_info.restype = ctypes.c_void_p
        self.assertTrue(h5py.h5z.register_filter(plugin.H5PLget_plugin_info()))
        a = field((100,))
        self.assertLessEqual(error(self.write(a, (30,), opts=fzgm(abs=1e-3)), a), 1e-3)

    def test_the_device(self):
        a = field((100,), "f4")
        before = self.write(a, (30,), opts=fzgm(abs=1e-3))
        for wish in ("cpu", "auto"):
            os.environ["FZGM_DEVICE"] = wish
            try:
                self.assertEqual(self.write(a, (30,), opts=fzgm(abs=1e-3)).tobytes(), before.tobytes())
            finally:
                del os.environ["FZGM_DEVICE"]
        os.environ["FZGM_DEVICE"] = "toaster"
        try:
            with h5py.File(self.path, "w") as f, self.assertRaisesRegex(Exception, "FZGM_DEVICE"):
                f.create_dataset("d", data=a, chunks=(30,), **fzgm(abs=1e-3))
        finally:
            del os.environ["FZGM_DEVICE"]

    def test_a_wish_that_is_no_device_does_not_touch_datasets_that_exist(self):
        a = field((100,), "f4")
        for wish in ("toaster", "cuda:-1", ""):
            before = self.write(a, (30,), opts=fzgm(abs=1e-3))
            os.environ["FZGM_DEVICE"] = wish
            try:
                with h5py.File(self.path, "r+") as f:
                    f["d"][...] = before
                # Chunks that the optional filter refused would be stored as they are, which `read` looks at.
                self.assertEqual(self.read().tobytes(), before.tobytes())
            finally:
                del os.environ["FZGM_DEVICE"]


class Frozen(Base):
    def test_files_of_earlier_versions_are_read(self):
        here = os.path.dirname(os.path.abspath(__file__))
        found = sorted(glob.glob(os.path.join(here, "frozen", "*.h5")))
        self.assertTrue(found)
        for path in found:
            with h5py.File(path) as f:
                for name in f:
                    d = f[name]
                    a = field(d.shape, d.dtype, seed=5)
                    self.assertLessEqual(error(a, d[()]), d.attrs["bound"], (path, name))
                    with h5py.File(self.path, "w") as g:
                        again = g.create_dataset(name, data=a, chunks=d.chunks, fillvalue=d.fillvalue, **fzgm_of(d))
                        self.assertEqual(again.id.get_storage_size(), d.id.get_storage_size())


def fzgm_of(dataset):
    cd = dataset.id.get_create_plist().get_filter(0)[2]
    return {"compression": FILTER_ID, "compression_opts": cd}


if __name__ == "__main__":
    unittest.main()
