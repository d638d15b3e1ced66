"""Calls that run on a GPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _arrays, _device, _fzgm
from ._device import DeviceArray, View
from ._errors import CallError


def checksums(checksum: Any) -> tuple[bool, bool]:
    """True if blocking and asynchronous calls write checksums."""
    if isinstance(checksum, (bool, np.bool_)):
        return bool(checksum), False
    if not isinstance(checksum, str) or checksum != "always":
        raise CallError(f"checksum is {_arrays.shown(checksum)}; expected True, False, or 'always'")
    return True, True


def index_for(view: View | None, what: str, device: Any) -> int | None:
    """The GPU of a call on an array; None for the CPU."""
    index = None if device is None else _device.index_of(device)
    if view is None or device is None:
        return index if view is None else view.device
    if index != view.device:
        raise CallError(f"{what} is on cuda:{view.device} but device is {device}; copy the array there first, or remove device")
    return index


def only_on_gpus(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise CallError(f"{name} is given, but the call runs on the CPU; remove {name}")


def needs_device(device: int | None, call: str) -> None:
    if device is None:
        raise CallError(f"{call} requires an encoder that was created with device='cuda:N'")


def place(array: Any, what: str, device: int) -> Any:
    """The place of an array on this GPU or on the host."""
    if not isinstance(array, View):
        return _arrays.flat_bytes(array)
    if array.device != device:
        raise CallError(f"{what} is on cuda:{array.device}; expected memory of cuda:{device}")
    return array.place


def on_device(x: Any, what: str, device: int, stream: int) -> View:
    """The memory of an array that has to be on this GPU."""
    view = _device.view_of(x, what, stream)
    if view is None:
        raise CallError(f"{what} is of type {type(x).__name__} on the host; asynchronous calls require memory of cuda:{device}")
    place(view, what, device)
    return view


def container_place(buf: Any, view: View | None, device: int) -> Any:
    """The place of a container on this GPU or on the host."""
    if view is None:
        return _arrays.container_bytes(buf)
    if view.dtype.itemsize != 1 or view.size == 0:
        raise CallError(f"the container is {view.dtype} with {view.size} elements on the GPU; expected bytes, such as uint8")
    return place(view, "the container", device)


def room_for_container(out: Any, source: Any, device: int, stream: int | None) -> View:
    """``out`` as a destination of a container."""
    view = _device.view_of(out, "out", stream)
    if view is None or view.device != device:
        where = "on the host" if view is None else f"on cuda:{view.device}"
        raise CallError(f"out is {where}; expected an array of uint8 on cuda:{device}")
    if view.dtype != np.uint8 or len(view.shape) != 1:
        raise CallError(f"out is {view.dtype} of shape {view.shape}; expected uint8 of one dimension")
    _writable(view, source)
    return view


def room_for_array(out: Any, dtype: np.dtype, elements: int, source: Any, device: int, stream: int | None) -> Any:
    """The place of ``out`` as a destination of values, on this GPU or on the host."""
    view = _device.view_of(out, "out", stream)
    if view is None:
        source = source if isinstance(source, np.ndarray) else None
        return _arrays.flat_bytes(_arrays.check_out(out, dtype, elements, source))
    check_room(view, dtype, elements, source)
    return place(view, "out", device)


def check_room(view: View, dtype: np.dtype, elements: int, source: Any) -> None:
    """True if memory on the GPU is a destination of values."""
    if view.dtype != dtype:
        raise CallError(f"out has element type {view.dtype}; the container has {dtype}")
    if view.size != elements:
        raise CallError(f"out has {view.size} elements; the container has {elements}")
    _writable(view, source)


def _writable(view: View, source: Any) -> None:
    if view.read_only:
        raise CallError("out is read-only; expected a writable array")
    if isinstance(source, View) and view.overlaps(source):
        raise CallError("out overlaps the source; expected memory of its own")


def compress(plan: Any, source: Any, array: Any, out: Any, device: int, stream: int | None) -> Any:
    """Compresses with a plan and waits: into ``out``, else to where the array is."""
    room = None if out is None else room_for_container(out, array, device, stream)
    if stream is not None:
        _fzgm.wait(device, stream)  # and so for the work that the libraries of both arrays have queued
    if room is not None:
        return out[: plan.run(source, room.place)]
    if isinstance(array, View):
        memory = plan.compress(source)
        return DeviceArray._around(memory, (memory.nbytes,), np.dtype(np.uint8), device)
    return plan.compress_to_host(source)


def decompress(
    plan: Any, source: Any, view: View | None, dtype: np.dtype, shape: tuple[int, ...], out: Any, to: int | None, device: int, stream: int | None
) -> Any:
    """Decompresses with a plan and waits: into ``out``, else to the GPU ``to`` or to the host."""
    if out is None:
        out = _arrays.new(shape, dtype) if to is None else DeviceArray(shape, dtype, device=to)
    room = room_for_array(out, dtype, math.prod(shape), source if view is None else view, device, stream)
    if stream is not None:
        _fzgm.wait(device, stream)
    plan.run(source, room)
    return out


class Call:
    """An asynchronous call. It keeps the arrays of the call; they must not change, and no other call may use the object's ``out``, until
    the stream has passed the call. Keep the object, and the encoder or decoder, as long as a graph lives that has captured the call.
    """

    def __init__(self, pending: Any, out: Any, container: bool, keep: Any) -> None:
        self._pending, self._out, self._container, self._keep = pending, out, container, keep

    @property
    def out(self) -> Any:
        """The whole destination, which later work on the same stream may read without ``result()``."""
        return self._out

    def result(self) -> Any:
        """Waits for the stream. Returns the container, a part of ``out``, or the array; raises what the call failed with."""
        length = self._pending.result()
        if isinstance(self._out, DeviceArray):
            self._out._stream = None
        return self._out[:length] if self._container else self._out


def enqueue(plan: Any, x: Any, view: View, out: Any, room: View, container: bool, stream: tuple[int, Any]) -> Call:
    """Puts a call on a stream."""
    pending = plan.enqueue(view.place, room.place, *stream)
    if isinstance(out, DeviceArray):
        out._stream = stream
    return Call(pending, out, container, (x, view, room))
