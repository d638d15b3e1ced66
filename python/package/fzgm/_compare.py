"""Errors of a restored array."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays, _details, _fzgm
from ._details import Details
from ._errors import CallError
from ._pipelines import real, threshold_of


@dataclass(frozen=True)
class Metrics:
    """Result of ``compare``. Bounded values are finite and below the magnitude of the fill value; errors are those of bounded values.

    ``max_abs_error``, ``rmse``, ``min``, ``max``, ``value_range``, and ``allowed`` have the unit of the array, ``psnr`` is in dB, and all others
    are counts or dimensionless. ``allowed`` is the largest permitted error, ``worst`` the largest ratio of error and bound; both are None without a
    bound. ``details`` is None unless requested. ``kept`` is True if every bounded value keeps the bound and all other values are equal bit for bit.
    """

    elements: int
    bounded: int
    min: float
    max: float
    value_range: float
    max_abs_error: float
    max_rel_error: float
    allowed: float | None
    worst: float | None
    violations: int
    exact_mismatches: int
    non_finite_mismatches: int
    rmse: float
    nrmse: float
    psnr: float
    kept: bool
    details: Details | None = None


def compare(
    original: Any,
    restored: Any,
    *,
    error_bound: float | None = None,
    mode: str | None = None,
    fill_value: float | None = None,
    details: bool = False,
) -> Metrics:
    """Compares an array with its restored array. ``error_bound``, ``mode``, and ``fill_value`` are those of ``compress``.

    ``details=True`` adds structural similarity, histogram, autocorrelation, and spectrum, see ``Details``. This requires seconds for ten million
    values, and ten times the memory of the array as float64.
    """
    # A container of no dimension comes back with one.
    a, b = (np.atleast_1d(_arrays.as_array(x, what)) for x, what in ((original, "original"), (restored, "restored")))
    if a.shape != b.shape or a.dtype != b.dtype:
        raise CallError(f"original is {a.dtype} of shape {a.shape}, restored {b.dtype} of shape {b.shape}; expected the same type and shape")
    if mode is not None and error_bound is None:
        raise CallError("mode is given without error_bound; pass both or neither")
    dtype = _arrays.DTYPES[a.dtype]
    bound = None
    if error_bound is not None:
        if not isinstance(mode, (str, type(None))):
            raise CallError(f"mode is of type {type(mode).__name__}; expected 'abs', 'noa', 'prel', or 'rel'")
        bound = ("noa" if mode is None else mode, real("error_bound", error_bound))
    threshold = math.inf if fill_value is None else threshold_of(fill_value, dtype)
    found = _fzgm.compare(dtype, _arrays.flat_bytes(a), _arrays.flat_bytes(b), bound, threshold)
    if _arrays.flag("details", details):
        allowed = found["allowed"] if bound is not None and bound[0] != "rel" else None
        found["details"] = _details.details(a, b, threshold, allowed)
    return Metrics(**found)
