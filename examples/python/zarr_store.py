"""Writes a zarr 3 array whose chunks are compressed, and reads it back.

python3 zarr_store.py
"""

import fzgm
import numpy as np
import zarr
from fzgm.zarr import FzgmCodec

t, i, j = np.ogrid[:10, :100, :120]
x = (280 + 10 * np.sin(i / 30 + t / 5) * np.cos(j / 50)).astype("f4")
codec = FzgmCodec(error_bound=0.01, mode="abs")
zarr.create_array("field.zarr", data=x, chunks=(5, 50, 60), serializer=codec, compressors=None, overwrite=True)
y = zarr.open_array("field.zarr", mode="r")[:]  # the codec is found by its name
assert fzgm.compare(x, y, error_bound=0.01, mode="abs").kept
print("the bound is kept")
