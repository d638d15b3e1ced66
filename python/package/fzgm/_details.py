"""Structure of errors: structural similarity, histogram, autocorrelation, and spectrum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

WINDOW = 7
LAGS = 32
BINS = 100


@dataclass(frozen=True, eq=False)
class Details:
    """Further results of ``compare``. An error is restored minus original, in the unit of the array, and 0 for exact values.

    ssim             mean structural similarity of all windows of 7 elements per dimension without exact or non-finite values, with the constants
                     (0.01 range)^2 and (0.03 range)^2; a dimension below 7 elements is one window. NaN without such a window.
    histogram        counts of the errors of bounded values between ``edges``, 100 bins of equal width over the permitted errors; over the
                     occurring errors if no bound is given or the bound depends on the value.
    autocorrelation  of the errors: one row per dimension, the slowest first; column k is lag k + 1. NaN for lags beyond the dimension, and for constant errors.
    frequency        cycles per element, 0 to 0.5, of the following three.
    spectrum, restored_spectrum, error_spectrum
                     mean power of all wave vectors of about that length, in squared units of the array. Exact values are replaced by the mean.
    """

    ssim: float
    edges: np.ndarray
    histogram: np.ndarray
    autocorrelation: np.ndarray
    frequency: np.ndarray
    spectrum: np.ndarray
    restored_spectrum: np.ndarray
    error_spectrum: np.ndarray


def details(original: np.ndarray, restored: np.ndarray, threshold: float, allowed: float | None) -> Details:
    shape = original.shape or (1,)
    a, b = original.reshape(shape).astype(np.float64), restored.reshape(shape).astype(np.float64)
    bounded = np.isfinite(a) & np.isfinite(b) & (np.abs(a) < threshold)
    some = bool(bounded.any())
    mean = float(a[bounded].mean()) if some else 0.0
    a, b = np.where(bounded, a, mean), np.where(bounded, b, mean)
    errors = b - a
    most = float(np.abs(errors).max(initial=0.0)) if allowed is None else allowed
    counts, edges = np.histogram(errors[bounded], BINS, (-most, most) if most > 0 else (-1.0, 1.0))
    span = float(np.ptp(a[bounded])) if some else 0.0
    frequency, powers = _spectra((a, b, errors))
    return Details(_ssim(a, b, bounded, span), edges, counts, _autocorrelation(errors), frequency, *powers)


def _window_means(x: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    for axis, size in enumerate(sizes):
        x = np.moveaxis(x, axis, 0)
        places = len(x) - size + 1
        total = x[:places].copy()
        for shift in range(1, size):
            total += x[shift : shift + places]
        x = np.moveaxis(total, 0, axis)
    return x / math.prod(sizes)


def _ssim(a: np.ndarray, b: np.ndarray, bounded: np.ndarray, span: float) -> float:
    sizes = tuple(min(WINDOW, n) for n in a.shape)
    if a.size == 0:
        return math.nan
    whole = _window_means(bounded.astype(np.float64), sizes) > 1 - 0.5 / math.prod(sizes)
    # Around the mean, so that a large offset does not take the digits of the variances.
    center = a.mean()
    x, y = a - center, b - center
    mx, my = _window_means(x, sizes), _window_means(y, sizes)
    n = math.prod(sizes)
    sample = n / (n - 1) if n > 1 else 1.0
    vx = sample * np.maximum(_window_means(x * x, sizes) - mx * mx, 0)
    vy = sample * np.maximum(_window_means(y * y, sizes) - my * my, 0)
    vxy = sample * (_window_means(x * y, sizes) - mx * my)
    mx, my = mx + center, my + center
    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    above, below = (2 * mx * my + c1) * (2 * vxy + c2), (mx * mx + my * my + c1) * (vx + vy + c2)
    values = np.divide(above, below, out=np.ones_like(above), where=below > 0)[whole]
    return float(values.mean()) if values.size else math.nan


def _autocorrelation(errors: np.ndarray) -> np.ndarray:
    result = np.full((errors.ndim, LAGS), math.nan)
    around = errors - errors.mean() if errors.size else errors
    variance = float(np.mean(around * around)) if errors.size else 0.0
    for axis, length in enumerate(errors.shape if variance > 0 else ()):
        for lag in range(1, min(LAGS, length - 1) + 1):
            head, tail = [slice(None)] * errors.ndim, [slice(None)] * errors.ndim
            head[axis], tail[axis] = slice(None, -lag), slice(lag, None)
            result[axis, lag - 1] = np.mean(around[tuple(head)] * around[tuple(tail)]) / variance
    return result


def _spectra(arrays: tuple[np.ndarray, ...]) -> tuple[np.ndarray, list[np.ndarray]]:
    shape = arrays[0].shape
    bins = max(1, max(shape) // 2) if arrays[0].size else 0
    frequency = np.arange(bins + 1) / (2 * bins) if bins else np.empty(0)
    if not bins:
        return frequency, [frequency] * len(arrays)
    axes = [np.fft.rfftfreq(n) if k == len(shape) - 1 else np.fft.fftfreq(n) for k, n in enumerate(shape)]
    length = np.sqrt(sum(axis * axis for axis in np.meshgrid(*axes, indexing="ij", sparse=True)))
    index = np.rint(length * 2 * bins).astype(np.int64)
    # Each wave vector that a transform of real values leaves out counts with the one opposite to it.
    last = np.arange(axes[-1].size)
    weight = np.broadcast_to(np.where((last == 0) | (2 * last == shape[-1]), 1.0, 2.0), index.shape)
    inside = index <= bins
    number = np.bincount(index[inside], weight[inside], bins + 1)
    powers = []
    for x in arrays:
        power = np.abs(np.fft.rfftn(x) / x.size) ** 2
        total = np.bincount(index[inside], (power * weight)[inside], bins + 1)
        powers.append(np.divide(total, number, out=np.zeros(bins + 1), where=number > 0))
    return frequency, powers
