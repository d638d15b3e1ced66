"""Writes a field with fill values to an HDF5 file and reads it back.

python3 hdf5_file.py
"""

import fzgm.hdf5
import h5py
import numpy as np

i, j = np.ogrid[:300, :400]
field = (280 + 10 * np.sin(i / 30) * np.cos(j / 50)).astype("f4")
field[:20] = 1e20  # land
arguments = fzgm.hdf5.filter(noa=1e-3, data=field, fill_value=1e20)
with h5py.File("field_python.h5", "w") as file:
    stored = file.create_dataset("field", data=field, chunks=(100, 200), fillvalue=1e20, **arguments)
    print(f"{field.nbytes / stored.id.get_storage_size():.1f} times smaller")
with h5py.File("field_python.h5") as file:
    restored = file["field"][()]
m = fzgm.compare(field, restored, error_bound=1e-3, fill_value=1e20)
print(f"largest error {m.max_abs_error:.4f} K of {m.allowed:.4f} K")
assert m.kept
