"""Arrays and buffers in the form that the extension module expects."""

from __future__ import annotations

import math
import operator
from typing import Any, Sequence

import numpy as np

from ._errors import CallError, ContainerError, PipelineError

DTYPES = {np.dtype(t).newbyteorder("="): s for t, s in (
    (np.uint8, "u8"), (np.uint16, "u16"), (np.uint32, "u32"), (np.uint64, "u64"),
    (np.int8, "i8"), (np.int16, "i16"), (np.int32, "i32"), (np.int64, "i64"),
    (np.float32, "f32"), (np.float64, "f64"),
)}
MAX_DIMS = 8
_BY_NAME = {name: dtype for dtype, name in DTYPES.items()}


def dtype_of(name: str) -> np.dtype:
    return _BY_NAME[name]


def name_of(dtype: Any) -> str:
    """The short name of an element type."""
    try:
        dtype = np.dtype(dtype)
    except TypeError as error:
        raise PipelineError(f"dtype is {dtype!r}; expected an element type of numpy") from error
    name = DTYPES.get(dtype.newbyteorder("=")) if dtype.kind in "iuf" else None
    if name is None:
        raise PipelineError(
            f"the element type is {dtype}; expected float32, float64, or an integer of 8 to 64 bits; "
            "convert the array with x.astype(...)"
        )
    return name


def as_array(x: Any, what: str = "x") -> np.ndarray:
    """``x`` as a contiguous array in C order and native byte order; a copy only where it is not one already."""
    if isinstance(x, np.ma.MaskedArray):
        raise CallError(f"{what} is a masked array; pass {what}.filled(value) and fill_value=value")
    if isinstance(x, (str, bytes, bytearray, memoryview)):
        raise CallError(f"{what} is of type {type(x).__name__}; expected a numpy array")
    try:
        array = np.asarray(x)
    except (TypeError, ValueError) as error:
        raise CallError(f"{what} cannot be converted to a numpy array: {error}") from error
    name = name_of(array.dtype)
    return np.ascontiguousarray(array, dtype=_BY_NAME[name])


def flat_bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of a contiguous array, without a copy."""
    return array.reshape(-1).view(np.uint8)


def dims_of(shape: Sequence[int]) -> list[int]:
    """Dimensions as the library counts them: at most 8, the fastest first; slower ones are joined."""
    if len(shape) > MAX_DIMS:
        shape = (math.prod(shape[: 1 - MAX_DIMS]), *shape[1 - MAX_DIMS :])
    return [int(n) for n in reversed(shape)] or [1]


def container_bytes(buffer: Any) -> np.ndarray:
    """The bytes of any contiguous buffer, without a copy."""
    try:
        view = memoryview(buffer)
    except TypeError as error:
        raise CallError(f"the container is of type {type(buffer).__name__}; expected bytes or another buffer") from error
    if view.nbytes == 0:
        raise empty()
    if not view.c_contiguous:
        raise CallError("the container is a buffer with gaps; expected contiguous bytes")
    return np.frombuffer(view.cast("B"), np.uint8)


def empty() -> ContainerError:
    error = ContainerError("the container has 0 bytes; expected what compress() returned")
    error.status = 32
    return error


def as_shape(shape: Any, elements: int) -> tuple[int, ...]:
    """A shape of this many elements."""
    try:
        shape = tuple(int(n) for n in ((shape,) if np.isscalar(shape) else shape))
    except (TypeError, ValueError) as error:
        raise CallError(f"shape is {shape!r}; expected whole numbers") from error
    if any(n < 0 for n in shape) or math.prod(shape) != elements:
        raise CallError(f"shape is {shape}; expected a shape of the {elements} elements of the container")
    return shape


def whole_shape(shape: Any) -> tuple[int, ...]:
    """A shape that a caller gives, or one length."""
    return tuple(whole("shape", n, 2**56) for n in ((shape,) if np.isscalar(shape) else shape))


def whole(what: str, value: Any, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError as error:
        raise CallError(f"{what} is {value!r}; expected a whole number") from error
    if not 0 <= number <= most:
        raise CallError(f"{what} is {number}; expected a whole number from 0 to {most}")
    return number


def check_out(out: Any, dtype: np.dtype, elements: int, container: np.ndarray | None) -> np.ndarray:
    """``out`` as a destination of the values of ``container``."""
    if not isinstance(out, np.ndarray):
        raise CallError(f"out is of type {type(out).__name__}; expected a numpy array")
    if out.dtype != dtype:
        raise CallError(f"out has element type {out.dtype}; the container has {dtype}")
    if out.size != elements:
        raise CallError(f"out has {out.size} elements; the container has {elements}")
    return _apart(out, container, "the container")


def check_room(out: Any, array: np.ndarray) -> np.ndarray:
    """``out`` as a destination of the container of ``array``."""
    if not isinstance(out, np.ndarray) or out.dtype != np.uint8:
        raise CallError(f"out is {getattr(out, 'dtype', type(out).__name__)}; expected a numpy array of uint8")
    return _apart(out, array, "x")


def _apart(out: np.ndarray, source: np.ndarray | None, name: str) -> np.ndarray:
    """``out`` if it is writable, contiguous, and apart from the ``source`` of the call."""
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise CallError("out is read-only or not contiguous in C order; expected a writable contiguous array")
    if source is not None and np.may_share_memory(out, source):
        raise CallError(f"out overlaps {name}; expected memory of its own")
    return out


def threads_of(threads: Any) -> int:
    return whole("threads", threads, 1024)
