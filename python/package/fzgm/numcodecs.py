"""The codec for numcodecs, and so for zarr 2: ``numcodecs.get_codec({"id": "fzgm", "error_bound": 1e-3})``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numcodecs.abc import Codec

from . import _arrays, _codec


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
        self.error_bound, self.mode, self.preset, self.fill_value = error_bound, mode, preset, fill_value

    def encode(self, buf: Any) -> bytes:
        array = _arrays.as_array(buf, "buf")
        return _codec.compress(
            array, error_bound=self.error_bound, mode=self.mode, preset=self.preset, fill_value=self.fill_value, container="compact"
        )

    def decode(self, buf: Any, out: Any = None) -> np.ndarray:
        if out is None:
            return _codec.decompress(buf)
        about = _codec.info(buf)
        target = np.frombuffer(out, about.dtype)
        return _codec.decompress(buf, out=target)
