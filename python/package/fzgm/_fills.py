"""Warning about undeclared fill values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from . import _fzgm
from ._arrays import DTYPES, as_array, dtype_of, flat_bytes
from ._hdf5_filter import fill_warning


class FillValueWarning(UserWarning):
    """An array has a suspected fill value, which is part of the value range: the bound is too large for all other values."""


def warn(dtype: str, flat: Any, container: Any, level: int) -> None:
    """Examines a host array that was compressed with a bound relative to all values. ``level``: frames up to the caller of fzgm."""
    if dtype in ("f32", "f64"):
        _warn(dtype, _fzgm.undeclared_fill(dtype, flat, np.frombuffer(container, np.uint8)), level + 1)


def warn_of_range(array: np.ndarray) -> None:
    """Examines an array from which ``fzgm.hdf5.filter`` takes the range."""
    if array.dtype.kind == "f" and array.dtype.itemsize in (4, 8):
        array = as_array(array)
        dtype = DTYPES[array.dtype]
        _warn(dtype, _fzgm.suspected_fill(dtype, flat_bytes(array)), 4)


def _warn(dtype: str, found: tuple[float, int] | None, level: int) -> None:
    if found is None:
        return
    value, count = found
    text = str(dtype_of(dtype).type(value))  # the shortest text of a float32, which format() does not give
    warnings.warn(fill_warning(text, count), FillValueWarning, stacklevel=level + 1)
