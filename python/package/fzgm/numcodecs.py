"""Codec for numcodecs, and therefore for zarr 2: ``numcodecs.get_codec({"id": "fzgm", "error_bound": 1e-3})``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numcodecs.abc import Codec

from . import _arrays, _codec, _pipelines
from ._errors import CallError


class Fzgm(Codec):
    """Compresses arrays. The keywords are those of ``fzgm.compress``."""

    codec_id = "fzgm"

    def __init__(
        self,
        error_bound: float | None = None,
        mode: str | None = None,
        preset: str | None = None,
        fill_value: float | None = None,
    ) -> None:
        self.error_bound, self.mode, self.preset = error_bound, mode, preset
        self.fill_value = _pipelines.effective_fill(fill_value)

    def encode(self, buf: Any) -> bytes:
        array = _arrays.as_array(buf, "buf")
        return _codec.compress(
            array, error_bound=self.error_bound, mode=self.mode, preset=self.preset, fill_value=self.fill_value, container="compact"
        )

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Returns the array of a chunk, or ``out`` with its values. If ``out`` has an element type and a shape, they must be those of the chunk."""
        if out is None:
            return _codec.decompress(buf)
        about = _codec.info(buf)
        _codec.decompress(buf, out=_destination(out, about.dtype, about.shape))
        return out


def _destination(out: Any, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """A buffer as an array for the values of a chunk."""
    try:
        array = np.asarray(memoryview(out))
    except (TypeError, ValueError, BufferError) as error:
        raise CallError(f"out of type {type(out).__name__} is no open buffer: {error}; expected an array of {dtype} and shape {shape}") from error
    is_bytes = array.ndim == 1 and array.dtype.kind in "uiS" and array.dtype.itemsize == 1 and array.flags.c_contiguous
    if is_bytes and array.nbytes == math.prod(shape) * dtype.itemsize:
        return array.view(dtype)
    if array.dtype != dtype or _arrays.dims_of(array.shape) != _arrays.dims_of(shape):
        raise CallError(f"out has {array.dtype} of shape {array.shape}, the chunk contains {dtype} of shape {shape}; expected the type and shape of the chunk")
    return array
