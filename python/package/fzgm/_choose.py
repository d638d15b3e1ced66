"""The choice of a pipeline by the values of an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays, _device, _fzgm
from ._device import View
from ._errors import CallError
from ._pipelines import AUTOMATIC, Pipeline, real, threshold_of


@dataclass(frozen=True)
class Choice:
    """Result of ``choose``.

    ``pipeline`` has all parameters set. ``preset`` is the name of the preset that it is based on. ``mode`` is that of the pipeline, or ``"lossless"``;
    ``error_bound`` is 0 if it is lossless. ``expected_ratio`` is the ratio of the sample, or 0 if nothing was compressed. ``lattice`` describes the evenly
    spaced levels that the values of the sample are on. It is None if there are none, or the pipeline has a bound.
    """

    pipeline: Pipeline
    preset: str
    mode: str
    error_bound: float
    expected_ratio: float
    lattice: str | None


def choose(
    x: Any,
    *,
    error_bound: float | None = None,
    mode: str | None = None,
    goal: str = "balanced",
    lossless: bool = False,
    target_ratio: float | None = None,
    target_psnr: float | None = None,
    fill_value: float | None = None,
) -> Choice:
    """Chooses a pipeline for an array by a sample of its values. Exactly one of ``error_bound``, ``lossless``, ``target_ratio``, and ``target_psnr`` is
    required.

    x             array as for ``compress``, in host memory or on a GPU.
    error_bound   largest error of a value, relative to ``mode``. The pipeline keeps it for every array.
    mode          ``"noa"`` (default), ``"abs"``, ``"prel"``, or ``"rel"``, as for ``compress``. Only with ``error_bound``.
    goal          ``"balanced"``: highest ratio among pipelines that require at most a few times the time of preset fast; ``"speed"``: shortest time;
                  ``"ratio"``: highest ratio.
    lossless      True: the pipeline is lossless for every array.
    target_ratio  ratio of array size to container size, from 1 to 1e6. The call finds the bound, in mode noa.
    target_psnr   peak signal-to-noise ratio in dB, from 0 to 300. The call finds the bound, in mode noa.
    fill_value    values of this magnitude and above are stored exactly and excluded from the range, as for ``compress``.

    The choice depends on the arguments only, not on the device. With a target the array is compressed up to three times on the CPU. The GIL is released.
    ``x`` must not change until the call returns.
    """
    view = _device.view_of(x, "x")
    wanted = _wanted(error_bound, mode, _arrays.flag("lossless", lossless), target_ratio, target_psnr)
    if not isinstance(goal, str):
        raise CallError(f"goal is of type {type(goal).__name__}; expected 'balanced', 'speed', or 'ratio'")
    return _chosen(_arrays.as_array(x) if view is None else view, wanted, goal, fill_value)


def _chosen(array: np.ndarray | View, wanted: dict[str, Any], goal: str, fill_value: Any) -> Choice:
    dtype = _arrays.DTYPES[array.dtype]
    place = array.place if isinstance(array, View) else _arrays.flat_bytes(array)
    return Choice(*_fzgm.choose(dtype, _arrays.dims_of(array.shape), place, goal, wanted, threshold_of(fill_value, dtype)))


def _wanted(error_bound: Any, mode: Any, lossless: bool, target_ratio: Any, target_psnr: Any) -> dict[str, Any]:
    """The properties of the pipeline that the arguments describe."""
    numbers = {"error_bound": error_bound, "target_ratio": target_ratio, "target_psnr": target_psnr}
    given = [name for name, value in numbers.items() if value is not None] + ["lossless"] * lossless
    if len(given) != 1:
        raise CallError(
            f"{' and '.join(given) or 'none of them'} given; expected exactly one of error_bound, lossless=True, target_ratio, and target_psnr"
        )
    if mode is not None and error_bound is None:
        raise CallError(f"mode is given without error_bound; {given[0]} has no mode, remove it")
    if mode is not None and not isinstance(mode, str):
        raise CallError(f"mode is of type {type(mode).__name__}; expected 'abs', 'noa', 'prel', or 'rel'")
    wanted = {name: None if value is None else real(name, value) for name, value in numbers.items()}
    return {"mode": "noa" if mode is None else mode, **wanted}


def is_automatic(preset: Any, pipeline: Any) -> bool:
    """True if the arguments of ``compress`` require a choice."""
    return pipeline is None and isinstance(preset, str) and preset in AUTOMATIC


def automatic(array: np.ndarray | View, error_bound: Any, mode: Any, preset: str, fill_value: Any) -> Pipeline:
    """The pipeline that an automatic preset chooses for an array."""
    if error_bound is None:
        raise CallError(
            f"error_bound is missing, but preset {preset} requires it; pass a bound such as error_bound=1e-3, or choose a pipeline with "
            "fzgm.choose(x, lossless=True), target_ratio, or target_psnr"
        )
    return _chosen(array, _wanted(error_bound, mode, False, None, None), AUTOMATIC[preset], fill_value).pipeline
