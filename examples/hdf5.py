"""Writes a field to an HDF5 file with an error of at most 0.01 and reads it back.

PYTHONPATH=<prefix>/share/fzgm/python python3 hdf5.py
"""

import fzgm_hdf5
import h5py
import numpy as np

fzgm_hdf5.load()  # or HDF5_PLUGIN_PATH=<prefix>/lib/fzgm/hdf5, which every HDF5 program reads
i, j = np.ogrid[:300, :400]
field = (280 + 10 * np.sin(i / 30) * np.cos(j / 50)).astype("f4")
with h5py.File("field_py.h5", "w") as file:
    stored = file.create_dataset("field", data=field, chunks=(100, 200), **fzgm_hdf5.filter(abs=0.01))
    print(f"field_py.h5: {fzgm_hdf5.describe(stored)}", end=", ")
with h5py.File("field_py.h5") as file:
    restored = file["field"][()]
worst = np.abs(restored.astype("f8") - field).max()
print(f"largest error {worst:.3g}")
assert worst <= 0.01
