"""Compresses the geoid of EGM96 with an error of at most 1e-3 of its range, and measures the error.

python3 arrays.py
"""

from pathlib import Path

import fzgm
import numpy as np

x = np.fromfile(Path(__file__).parents[1] / "data" / "egm96.f32", "f4").reshape(721, 1440)  # latitude, longitude
for preset in ("fast", "high"):
    container = fzgm.compress(x, error_bound=1e-3, preset=preset)
    y = fzgm.decompress(container)
    m = fzgm.compare(x, y, error_bound=1e-3)
    print(f"{preset}: {x.nbytes / len(container):.1f} times smaller, largest error {m.max_abs_error:.4f} m, PSNR {m.psnr:.1f} dB")
    assert m.kept

container = fzgm.compress(x, error_bound=0.1, mode="abs")
print(fzgm.info(container))
assert np.array_equal(fzgm.decompress_region(container, np.s_[100:110, 200]), fzgm.decompress(container)[100:110, 200])
