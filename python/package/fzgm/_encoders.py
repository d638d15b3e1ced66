"""Encoders and decoders, which keep plans and working memory between calls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _arrays, _device, _fills, _fzgm, _gpu
from ._errors import CallError
from ._gpu import Call
from ._pipelines import Pipeline, pipeline_of


class Encoder:
    """Compresses arrays of one shape and element type, with one plan and one workspace. Threads may share an encoder; calls are serialized.

    ``dtype`` and ``shape`` are those of the arrays. With ``device="cuda:N"`` all calls run on that GPU. ``checksum="always"`` writes checksums in
    asynchronous calls too. All other keywords are those of ``compress``.
    """

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        *,
        error_bound: float | None = None,
        mode: str | None = None,
        preset: str | None = None,
        fill_value: float | None = None,
        pipeline: Pipeline | None = None,
        threads: int = 1,
        container: str = "fzm",
        checksum: bool | str = True,
        device: Any = None,
    ) -> None:
        name = _arrays.name_of(dtype)
        self.dtype = _arrays.dtype_of(name)
        self.shape = _arrays.whole_shape(shape)
        self.pipeline = pipeline_of(name, error_bound, mode, preset, fill_value, pipeline)
        self._looks_for_fills = fill_value is None
        self.device = None if device is None else _device.index_of(device)
        dims, threads = _arrays.dims_of(self.shape), _arrays.threads_of(threads)
        container, checksum = _arrays.container_of(container), _gpu.checksums(checksum)
        if self.device is None:
            self._plan = _fzgm.Encoder(self.pipeline, name, dims, threads, container, checksum[0])
        else:
            self._plan = _fzgm.DevicePlan(self.pipeline, name, dims, container, checksum, self.device)

    @property
    def max_compressed_bytes(self) -> int:
        """Largest length of a container of this encoder, in bytes."""
        return self._plan.max_compressed_bytes

    def compress(self, x: Any, *, out: Any = None, stream: Any = None) -> Any:
        """Compresses an array of the shape and element type of the encoder. ``out`` and ``stream`` are those of ``compress``."""
        if self.device is None:
            _gpu.only_on_gpus(stream=stream)
            return self._compress_on_host(_arrays.as_array(x), out, 3)
        number = _device.stream_number(stream)
        view = _device.view_of(x, "x", number)
        return self._compress(_arrays.as_array(x) if view is None else view, out, number)

    def _compress_on_host(self, array: np.ndarray, out: Any, level: int) -> Any:
        flat = _arrays.flat_bytes(self._checked(array))
        if out is None:
            made = self._plan.compress(flat)
        else:
            room = _arrays.flat_bytes(_arrays.check_room(out, array))
            made = room[: self._plan.compress_to(flat, room)]
        if self._looks_for_fills:
            _fills.warn(_arrays.DTYPES[self.dtype], flat, made, level)
        return made

    def _compress(self, array: Any, out: Any, stream: int | None) -> Any:
        place = _gpu.place(self._checked(array), "x", self.device)
        return _gpu.compress(self._plan, place, array, out, self.device, stream)

    def preload(self, stream: Any = None) -> None:
        """Loads device code and allocates all memory for asynchronous calls on a stream, so that they can be captured into a graph."""
        _gpu.needs_device(self.device, "preload")
        self._plan.preload(_device.stream_number(stream) or _device.LEGACY)

    def compress_async(self, x: Any, *, out: Any = None, stream: Any = None) -> Call:
        """Enqueues the compression of an array on the GPU and returns before the work completes. The container has no checksums unless the
        encoder was created with ``checksum="always"``.

        out     array of uint8 on the GPU, of ``max_compressed_bytes`` or less; default: a new ``DeviceArray``, whose allocation takes time.
        stream  default: the current stream of torch or CuPy for their arrays, otherwise the default stream.

        Calls of one encoder run one after another; if the stream changes, the call waits for the earlier one.
        """
        _gpu.needs_device(self.device, "compress_async")
        stream = _device.current_stream(x, self.device) if stream is None else (_device.stream_number(stream), stream)
        view = self._checked(_gpu.on_device(x, "x", self.device, stream[0]))
        if out is None:
            out = _device.DeviceArray(self.max_compressed_bytes, np.uint8, device=self.device)
        room = _gpu.room_for_container(out, view, self.device, stream[0])
        return _gpu.enqueue(self._plan, x, view, out, room, True, stream)

    def _checked(self, array: Any) -> Any:
        if array.dtype != self.dtype or array.shape != self.shape:
            raise CallError(f"x is {array.dtype} of shape {array.shape}; the encoder is for {self.dtype} of shape {self.shape}")
        return array

    def decoder(self) -> Decoder:
        """Returns a decoder for the containers of this encoder."""
        return Decoder(self)


class Decoder:
    """Restores the containers of one encoder, with one plan and one workspace, on the device of the encoder. Threads may share a decoder; calls are
    serialized."""

    def __init__(self, encoder: Encoder) -> None:
        if not isinstance(encoder, Encoder):
            raise CallError(f"encoder is of type {type(encoder).__name__}; expected a fzgm.Encoder")
        self.dtype, self.shape, self.device = encoder.dtype, encoder.shape, encoder.device
        self._plan = _fzgm.Decoder.of_encoder(encoder._plan) if self.device is None else encoder._plan.decoder()

    def decompress(self, buf: Any, *, out: Any = None, stream: Any = None) -> Any:
        """Restores a container into ``out``, or into a new array on the device of the container. ``stream`` is that of ``decompress``."""
        if self.device is None:
            _gpu.only_on_gpus(stream=stream)
            data = _arrays.container_bytes(buf)
            if out is None:
                out = _arrays.new(self.shape, self.dtype)
            return _arrays.restored_into(
                out, self.dtype, math.prod(self.shape), data, lambda flat: self._plan.decompress(data, flat)
            )
        number = _device.stream_number(stream)
        view = _device.view_of(buf, "the container", number)
        place = _gpu.container_place(buf, view, self.device)
        to = None if view is None else self.device
        return _gpu.decompress(self._plan, place, view, self.dtype, self.shape, out, to, self.device, number)

    def preload(self, stream: Any = None) -> None:
        """See ``Encoder.preload``."""
        _gpu.needs_device(self.device, "preload")
        self._plan.preload(_device.stream_number(stream) or _device.LEGACY)

    def decompress_async(self, buf: Any, *, out: Any = None, stream: Any = None) -> Call:
        """Enqueues the decompression of a container on the GPU and returns before the work completes.

        buf     array of bytes on the GPU. It may be longer than the container, such as the whole ``out`` of ``compress_async``, so that no
                synchronization is needed between the two calls.
        out     array on the GPU; default: a new ``DeviceArray``, whose allocation takes time.
        stream  see ``Encoder.compress_async``.

        If the container has no checksums, changed values are not detected.
        """
        _gpu.needs_device(self.device, "decompress_async")
        stream = _device.current_stream(buf, self.device) if stream is None else (_device.stream_number(stream), stream)
        view = _gpu.on_device(buf, "the container", self.device, stream[0])
        _gpu.container_place(buf, view, self.device)
        if out is None:
            out = _device.DeviceArray(self.shape, self.dtype, device=self.device)
        room = _gpu.on_device(out, "out", self.device, stream[0])
        _gpu.check_room(room, self.dtype, math.prod(self.shape), view)
        return _gpu.enqueue(self._plan, buf, view, out, room, False, stream)
