"""Writes a file that later versions have to read: make_frozen.py frozen/<version of the cd_values>.h5 [<case>…], once for each version;
for presets that come later with a file of their own, which has those cases alone."""

import sys

import h5py

from fzgm_hdf5 import fzgm
from test_h5py import field

CASES = {
    "abs_f4": ("<f4", (40, 30), (16, 16), fzgm(abs=1e-2, preset="default"), 1e-2, None),
    "abs_f8_big_endian": (">f8", (40, 30), (16, 30), fzgm(abs=1e-5, preset="default"), 1e-5, None),
    "fz_f4": ("<f4", (12, 10, 9), (6, 5, 9), fzgm(abs=1e-3, preset="fz"), 1e-3, None),
    "fast_f4": ("<f4", (12, 10, 9), (6, 5, 9), fzgm(abs=1e-3, preset="fast"), 1e-3, None),
    "rel_f4": ("<f4", (500,), (200,), fzgm(rel=1e-3, preset="default"), 4e-3, None),
    "fill_f4": ("<f4", (500,), (200,), fzgm(abs=1e-3, preset="default"), 1e-3, -1.0),
    "lossless_f8": ("<f8", (20, 20), (10, 10), fzgm(), 0.0, None),
    "lossless_i2": (">i2", (400,), (100,), fzgm(abs=1.0, preset="default"), 0.0, None),
    **{
        f"{preset}_{dtype[1:]}": (dtype, (12, 30, 33), (6, 30, 33), fzgm(abs=1e-3, preset=preset), 1e-3, fill)
        for preset in ("high", "high_once")
        for dtype, fill in (("<f4", None), (">f8", 0.1))
    },
    **{f"{preset}_f4": ("<f4", (12, 30, 33), (6, 30, 33), fzgm(abs=0.1, preset=preset), 0.1, -2.0) for preset in ("cusz", "cusz_ans", "lc_cr")},
}

with h5py.File(sys.argv[1], "w") as f:
    for name in sys.argv[2:] or CASES:
        dtype, shape, chunks, opts, bound, fill = CASES[name]
        d = f.create_dataset(name, data=field(shape, dtype, seed=5), chunks=chunks, fillvalue=fill, **opts)
        d.attrs["bound"] = bound
