"""Shared by the scripts that compare fzgm with the compressors of the package hdf5plugin: the packages, the filters, and errors in bounds."""

from environment import ROOT, ensure  # noqa: F401

ensure("hdf5-venv", ("numpy", "h5py", "hdf5plugin"))

import hdf5plugin  # noqa: E402
import numpy as np  # noqa: E402

VERSION = "hdf5plugin " + hdf5plugin.version
# Options of a filter for an absolute bound.
FILTERS = {
    "SZ3": lambda eb: hdf5plugin.SZ3(absolute=eb),
    "SPERR": lambda eb: hdf5plugin.Sperr(absolute=eb),
    "ZFP": lambda eb: hdf5plugin.Zfp(accuracy=eb),
    "SZ": lambda eb: hdf5plugin.SZ(absolute=eb),
}


def worst(a, b, eb):
    """The largest error in bounds, whatever is in b. It exceeds 1 exactly if one value exceeds the bound."""
    bits = f"u{a.itemsize}"
    finite = np.isfinite(a)
    if b.shape != a.shape or b.dtype != a.dtype or not np.array_equal(a[~finite].view(bits), b[~finite].view(bits)):
        return np.inf
    a, b = a[finite].astype("f8"), b[finite].astype("f8")
    if not np.isfinite(b).all():
        return np.inf
    # The difference is s + rest without a rounding error (TwoDiff).
    with np.errstate(over="ignore", invalid="ignore"):
        s = a - b
        minus = s - a
        rest = (a - (s - minus)) - (b + minus)
        over = (np.abs(s) > eb) | ((np.abs(s) == eb) & (rest * s > 0))
        x = float(np.max(np.abs(s), initial=0.0) / eb)
    return max(x, np.nextafter(1.0, 2.0)) if over.any() else min(x, 1.0)


def in_bounds(x):
    """The text of an error in bounds. A number above 1 shows that it is, and 0 is an exact result."""
    if x <= 1:
        return f"{x:.2f}" if x >= 0.01 else f"{x:.2g}"
    return next(text for text in (f"{x:.{digits}g}" for digits in range(4, 18)) if float(text) > 1)
