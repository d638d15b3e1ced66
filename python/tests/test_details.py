"""compare(details=True), against definitions written out, and known cases."""

import itertools
import math

import fzgm
import numpy as np
import pytest


def pair(shape=(12, 15), seed=0, noise=0.05):
    source = np.random.default_rng(seed)
    x = source.normal(size=shape).cumsum(-1) + 100
    return x, x + source.uniform(-noise, noise, size=shape)


def of(x, y, **arguments):
    return fzgm.compare(x, y, details=True, **arguments).details


def ssim_of_every_window(x, y, skip=None):
    span, values = np.ptp(x if skip is None else x[~skip]), []
    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    for start in itertools.product(*(range(n - min(7, n) + 1) for n in x.shape)):
        window = tuple(slice(s, s + 7) for s in start)
        a, b = x[window].ravel(), y[window].ravel()
        if skip is not None and skip[window].any():
            continue
        (vx, vxy), (_, vy) = np.cov(a, b)
        values.append((2 * a.mean() * b.mean() + c1) * (2 * vxy + c2) / ((a.mean() ** 2 + b.mean() ** 2 + c1) * (vx + vy + c2)))
    return np.mean(values)


@pytest.mark.parametrize("shape", [(40,), (12, 15), (9, 10, 11), (3, 20)], ids=str)
def test_ssim(shape):
    x, y = pair(shape, noise=1.0)
    assert of(x, y).ssim == pytest.approx(ssim_of_every_window(x, y), rel=1e-9)
    assert of(x, x).ssim == pytest.approx(1)


def test_values_without_a_bound_are_left_out():
    x, y = pair((12, 15), noise=1.0)
    x[0, 0] = y[0, 0] = np.nan
    x[11, 3] = y[11, 3] = 1e20
    d = of(x, y, fill_value=1e20)
    assert d.ssim == pytest.approx(ssim_of_every_window(x, y, skip=~(np.abs(x) < 1e20)), rel=1e-9)
    assert d.histogram.sum() == 178
    for part in (d.spectrum, d.restored_spectrum, d.error_spectrum, d.autocorrelation[:, :11]):
        assert np.isfinite(part).all()
    assert d.spectrum.max() < 1e6


def test_histogram():
    x = np.zeros(1000)
    y = np.linspace(-1, 1, 1000)
    d = of(x, y)
    assert d.histogram.sum() == 1000 and set(d.histogram) == {10} and (d.edges[0], d.edges[-1]) == (-1, 1)
    assert of(x, y, error_bound=2, mode="abs").edges[-1] == 2
    assert of(x, x).histogram.sum() == 1000


def test_autocorrelation():
    x, _ = pair((64, 80))
    source = np.random.default_rng(1)
    white = of(x, x + source.normal(size=x.shape)).autocorrelation
    assert white.shape == (2, 32) and np.abs(white).max() < 0.1
    waves = np.broadcast_to(np.sin(2 * np.pi * np.arange(80) / 8), x.shape)
    along = of(x, x + waves).autocorrelation
    assert along[1, 7] == pytest.approx(1, abs=0.02) and along[1, 3] == pytest.approx(-1, abs=0.02) and along[0] == pytest.approx(np.ones(32))
    assert np.isnan(of(x, x).autocorrelation).all()
    assert np.isnan(of(x[:5], x[:5] + white[0, 0] * x[:5]).autocorrelation[0, 4:]).all()


def test_spectrum():
    n = 64
    x = 3 * np.cos(2 * np.pi * 8 * np.arange(n) / n) + 5
    y = x + 0.5 * np.cos(2 * np.pi * 20 * np.arange(n) / n)
    d = of(x, y)
    assert len(d.frequency) == 33 and d.frequency[8] == 8 / n
    assert d.spectrum[8] == pytest.approx(9 / 4) and d.spectrum[0] == pytest.approx(25)
    assert d.error_spectrum[20] == pytest.approx(1 / 16) and d.error_spectrum[8] == pytest.approx(0, abs=1e-20)
    assert d.restored_spectrum[20] == pytest.approx(1 / 16)
    a, b = pair((10, 12, 14))
    d = of(a, b)
    # The power of all wave vectors is the mean square; those in the corners, beyond 0.5, belong to no bin.
    lengths = np.sqrt(sum(f**2 for f in np.meshgrid(*(np.fft.fftfreq(k) for k in a.shape), indexing="ij")))
    index = np.rint(lengths * 14).astype(int)
    power = np.abs(np.fft.fftn(a) / a.size) ** 2
    expected = [power[index == k].mean() for k in range(8)]
    assert d.spectrum == pytest.approx(expected)


@pytest.mark.parametrize("x", [np.zeros((0, 3)), np.zeros(1), np.float64(3), np.full((4, 4), np.nan), np.zeros((5, 5), "i4")], ids=lambda x: str(x.shape))
def test_corner_cases(x):
    d = of(x, x)
    assert d.ssim == 1 or math.isnan(d.ssim)
    assert fzgm.compare(x, x).details is None
