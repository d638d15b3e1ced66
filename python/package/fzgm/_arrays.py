"""Arrays and buffers in the form that the extension module expects."""

from __future__ import annotations

import math
import operator
import os
from typing import Any, Callable, Sequence

import numpy as np

from ._errors import CallError, ContainerError, Error, PipelineError, RoomError
from ._hdf5_filter import shown  # a module that works without this package, and so cannot import it from here

DTYPES = {np.dtype(t).newbyteorder("="): s for t, s in (
    (np.uint8, "u8"), (np.uint16, "u16"), (np.uint32, "u32"), (np.uint64, "u64"),
    (np.int8, "i8"), (np.int16, "i16"), (np.int32, "i32"), (np.int64, "i64"),
    (np.float32, "f32"), (np.float64, "f64"),
)}
MAX_DIMS = 8
_NUMPY_DIMS = getattr(np, "MAXDIMS", 64)  # numpy 1 has the constant, and 32
_MOST_BYTES = 2**56  # of an array of the library
_BY_NAME = {name: dtype for dtype, name in DTYPES.items()}


def dtype_of(name: str) -> np.dtype:
    return _BY_NAME[name]


def name_of(dtype: Any) -> str:
    """The short name of an element type."""
    if dtype is None:  # float64 to numpy
        raise PipelineError("dtype is None; expected an element type of numpy, such as 'float32'")
    try:
        dtype = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise PipelineError(f"dtype is {shown(dtype)}; expected an element type of numpy, such as 'float32'") from error
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
        dtype = _BY_NAME[name_of(array.dtype)]
        # Not ascontiguousarray, which returns one dimension for none.
        return np.asarray(array, dtype=dtype, order="C")
    except Error:
        raise
    except MemoryError as error:
        raise no_memory(f"a copy of {what}", f"free memory, or pass {what} as a numpy array that is contiguous in C order") from error
    # Arrays of other libraries raise exceptions of any class: those of closed files and stores have no common one.
    except Exception as error:
        raise CallError(f"{what} of type {type(x).__name__} cannot be converted to a numpy array: {error}; expected an array of numbers") from error


def new(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array for a result, or a RoomError."""
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError, OverflowError) as error:
        size = math.prod(shape) * dtype.itemsize
        raise no_memory(f"an array of {dtype} and shape {shape}, which has {size} bytes", "free memory, or restore a smaller part") from error


def no_memory(what: str, advice: str) -> RoomError:
    error = RoomError(f"the system has no memory for {what}; {advice}")
    error.status = 43
    return error


def flat_bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of a contiguous array, without a copy. Subclasses may have views of their own."""
    return np.asarray(array).reshape(-1).view(np.uint8)


def dims_of(shape: Sequence[int]) -> list[int]:
    """Dimensions as the library counts them: at most 8, the fastest first; slower ones are joined."""
    if len(shape) > MAX_DIMS:
        shape = (math.prod(shape[: 1 - MAX_DIMS]), *shape[1 - MAX_DIMS :])
    return [int(n) for n in reversed(shape)] or [1]


def container_bytes(buffer: Any) -> np.ndarray:
    """The bytes of any contiguous buffer, without a copy."""
    kind = type(buffer).__name__
    if isinstance(buffer, (str, os.PathLike)):
        raise CallError(
            f"the container is a path, of type {kind}; expected bytes, such as pathlib.Path(path).read_bytes(); "
            "info, preview, and decompress_region accept paths"
        )
    try:
        view = memoryview(buffer)
    except TypeError as error:
        advice = "; pass file.read()" if hasattr(buffer, "read") else ""
        raise CallError(f"the container is of type {kind}; expected bytes or another buffer{advice}") from error
    # Released views, closed memory maps, and types that no buffer has, such as datetime64.
    except (ValueError, BufferError) as error:
        raise CallError(f"the container of type {kind} cannot be read as a buffer: {error}; expected bytes or another open buffer") from error
    if view.nbytes == 0:
        raise empty()
    if not view.c_contiguous:
        raise CallError("the container is a buffer with gaps; expected contiguous bytes")
    return np.frombuffer(view, np.uint8)


def empty() -> ContainerError:
    error = ContainerError("the container has 0 bytes; expected what compress() returned")
    error.status = 32
    return error


def as_shape(shape: Any, elements: int) -> tuple[int, ...]:
    """A shape of this many elements."""
    lengths = _lengths(shape)
    if any(n < 0 for n in lengths) or math.prod(lengths) != elements:
        raise CallError(f"shape is {shown(lengths)}; expected a shape of the {elements} elements of the container")
    return lengths


def whole_shape(shape: Any) -> tuple[int, ...]:
    """A shape that a caller gives, or one length."""
    return tuple(whole("shape", n, 2**56) for n in _lengths(shape))


def _lengths(shape: Any) -> tuple[int, ...]:
    """A shape, or one length, as whole numbers. Neither numpy nor the library has an array beyond these limits."""
    try:
        lengths = tuple(operator.index(n) for n in ((shape,) if np.isscalar(shape) else shape))
    except (TypeError, ValueError) as error:
        raise CallError(f"shape is {shown(shape)}; expected a whole number or a tuple of whole numbers") from error
    if len(lengths) > _NUMPY_DIMS:
        raise CallError(f"shape has {len(lengths)} dimensions; expected at most {_NUMPY_DIMS}, as numpy has")
    if math.prod(max(n, 1) for n in lengths) > _MOST_BYTES:
        raise CallError(f"shape is {shown(lengths)}; expected an array of at most 2^56 bytes, in which a length of 0 counts as 1")
    return lengths


def whole(what: str, value: Any, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError as error:
        raise CallError(f"{what} is {shown(value)}; expected a whole number") from error
    if not 0 <= number <= most:
        raise CallError(f"{what} is {shown(number)}; expected a whole number from 0 to {most}")
    return number


def flag(what: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise CallError(f"{what} is {shown(value)}; expected True or False")
    return bool(value)


def container_of(container: Any) -> str:
    if not isinstance(container, str) or container not in ("fzm", "compact"):
        raise CallError(f"container is {shown(container)}; expected 'fzm' or 'compact'")
    return container


def check_out(out: Any, dtype: np.dtype, elements: int, container: np.ndarray | None) -> np.ndarray:
    """``out`` as a contiguous destination of the values of ``container``."""
    _fits(out, dtype, elements)
    return _apart(out, container, "the container")


def restored_into(out: Any, dtype: np.dtype, elements: int, container: np.ndarray | None, restore: Callable[[np.ndarray], None]) -> np.ndarray:
    """``out`` with the values of ``container``, which ``restore`` writes into contiguous bytes. An array with gaps, such as the interior of a grid with
    ghost cells, receives its values from a copy; no other memory is written."""
    _fits(out, dtype, elements)
    if out.flags.c_contiguous:
        restore(flat_bytes(_apart(out, container, "the container")))
        return out
    reach = dtype.itemsize
    for stride, length in sorted((abs(s), n) for s, n in zip(out.strides, out.shape) if n > 1):
        if stride < reach and out.size:
            raise CallError(f"out has strides {out.strides}, with which elements can share memory; expected an array whose elements are apart")
        reach += stride * (length - 1)
    if not out.flags.writeable:
        raise CallError("out is read-only; expected a writable array")
    if container is not None and np.may_share_memory(out, container):
        raise CallError("out overlaps the container; expected memory of its own")
    packed = new(out.shape, dtype)
    restore(flat_bytes(packed))
    np.copyto(out, packed)
    return out


def _fits(out: Any, dtype: np.dtype, elements: int) -> None:
    if not isinstance(out, np.ndarray):
        raise CallError(f"out is of type {type(out).__name__}; expected a numpy array")
    if out.dtype != dtype:
        raise CallError(f"out has element type {out.dtype}; the container has {dtype}")
    if out.size != elements:
        raise CallError(f"out has {out.size} elements; the container has {elements}")


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
