"""Codec for zarr 3. zarr finds it by the name ``fzgm`` if the package is installed.

    zarr.create_array(store, data=x, chunks=..., serializer=fzgm.zarr.FzgmCodec(error_bound=1e-3, mode="abs"), compressors=None)

Chunks keep their shape for the predictors. In mode noa the range is that of each chunk. It includes finite fill values that zarr adds to incomplete
chunks. A chunk of equal values is exact.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from zarr.abc.codec import ArrayBytesCodec

from . import _arrays, _codec, _pipelines
from ._errors import CallError

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer


@dataclass(frozen=True, kw_only=True)
class FzgmCodec(ArrayBytesCodec):
    """Array-to-bytes codec. The keywords are those of ``fzgm.compress``; ``pipeline`` is a pipeline as text or TOML."""

    is_fixed_size = False

    error_bound: float | None = None
    mode: str | None = None
    preset: str | None = None
    fill_value: float | None = None
    pipeline: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "fill_value", _pipelines.effective_fill(self.fill_value))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FzgmCodec:
        return cls(**data.get("configuration", {}))

    def to_dict(self) -> dict[str, Any]:
        return {"name": "fzgm", "configuration": {k: v for k, v in asdict(self).items() if v is not None}}

    def validate(self, *, dtype: Any, **_: Any) -> None:
        """Rejects an array that could not be written, at its creation."""
        self._pipeline(_arrays.name_of(dtype.to_native_dtype()))

    def _pipeline(self, dtype: str) -> _pipelines.Pipeline:
        return _pipelines.pipeline_of(dtype, self.error_bound, self.mode, self.preset, self.fill_value, read_pipeline(self.pipeline))

    async def _encode_single(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        array = _arrays.as_array(chunk_array.as_numpy_array())
        pipeline = self._pipeline(_arrays.DTYPES[array.dtype])
        compressed = await asyncio.to_thread(_codec.compress, array, pipeline=pipeline, container="compact")
        return chunk_spec.prototype.buffer.from_bytes(compressed)

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        wanted = chunk_spec.dtype.to_native_dtype()
        array = await asyncio.to_thread(_codec.restored_as, chunk_bytes.as_numpy_array(), wanted, chunk_spec.shape)
        return chunk_spec.prototype.nd_buffer.from_numpy_array(array.astype(wanted, copy=False))

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        raise NotImplementedError("the size of a compressed chunk depends on its values")


def read_pipeline(text: str | None) -> _pipelines.Pipeline | None:
    """The pipeline of a configuration, which is text or TOML."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise CallError(f"pipeline is of type {type(text).__name__}; expected text or TOML, as str(pipeline) returns")
    return _pipelines.Pipeline.from_toml(text) if "[[stage]]" in text else _pipelines.Pipeline.from_text(text)
