"""Pipelines, and those that arguments describe."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from . import _arrays, _fzgm
from ._errors import CallError

Pipeline = _fzgm.Pipeline
# Presets that are chosen by the values of an array, with their goals.
AUTOMATIC = {"auto": "balanced", "auto:speed": "speed", "auto:balanced": "balanced", "auto:ratio": "ratio"}
_LOSSLESS = {name for name, _, lossless in _fzgm.presets(True) if lossless}


@functools.lru_cache(64)
def _preset(name: str, dtype: str) -> Pipeline:
    """A preset as it is; pipelines are immutable, and reading one takes longer than a call on a small array."""
    return Pipeline.from_preset(name, dtype)


def pipeline_of(dtype: str, error_bound: Any, mode: Any, preset: Any, fill_value: Any, pipeline: Any) -> Pipeline:
    """The pipeline that the arguments describe."""
    if pipeline is not None:
        given = {"error_bound": error_bound, "mode": mode, "preset": preset, "fill_value": fill_value}
        for name, value in given.items():
            if value is not None:
                raise CallError(f"pipeline and {name} are both given; set {name} with pipeline.set(...), or remove the pipeline")
        if not isinstance(pipeline, Pipeline):
            raise CallError(f"pipeline is of type {type(pipeline).__name__}; expected a fzgm.Pipeline")
        return pipeline
    preset = "fast" if preset is None else preset
    if not isinstance(preset, str):
        raise CallError(f"preset is of type {type(preset).__name__}; expected a name")
    if preset in AUTOMATIC:
        raise CallError(f"preset is {preset}, but the values of the array are not known here; pass the pipeline of fzgm.choose(x, ...)")
    made = _preset(preset, dtype)
    if preset in _LOSSLESS:
        if error_bound is not None or mode is not None or fill_value is not None:
            raise CallError(f"preset {preset} is lossless; remove error_bound, mode, and fill_value")
        return made
    if error_bound is None:
        raise CallError(
            f"error_bound is missing, but preset {preset} is lossy; pass a bound such as error_bound=1e-3, "
            "which is 1e-3 of (max - min) in mode noa, or preset='bits', which is lossless"
        )
    if mode is not None and not isinstance(mode, str):
        raise CallError(f"mode is of type {type(mode).__name__}; expected 'abs', 'noa', 'prel', or 'rel'")
    made = made.set(error_bound=real("error_bound", error_bound), mode="noa" if mode is None else mode)
    threshold = threshold_of(fill_value, dtype)
    return made if threshold == math.inf else made.set(outlier_threshold=threshold)


def threshold_of(fill_value: Any, dtype: str) -> float:
    """The magnitude from which values are exact: that of the fill value in this element type."""
    if fill_value is None:
        return math.inf
    fill = real("fill_value", fill_value)
    try:
        with np.errstate(over="ignore"):
            fill = abs(float(_arrays.dtype_of(dtype).type(fill)))
    except (OverflowError, ValueError) as error:
        raise CallError(f"fill_value is {fill}, which {_arrays.dtype_of(dtype)} cannot represent; remove it") from error
    if fill == 0:
        raise CallError("fill_value is 0, but values of its magnitude and above, that is all values, would be exact; remove it")
    return math.inf if math.isnan(fill) else fill


def effective_fill(fill_value: Any) -> Any:
    """A fill value for a configuration in JSON, which has no number for NaN and infinity: they are the same as none."""
    return None if isinstance(fill_value, float) and not math.isfinite(fill_value) else fill_value


def real(what: str, value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise CallError(f"{what} is {_arrays.shown(value)}; expected a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise CallError(f"{what} is {_arrays.shown(value)}; expected a number") from error
