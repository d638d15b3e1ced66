"""Arrays on GPUs: views of arrays of other libraries, by DLPack or the CUDA array interface, and the class of results."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays, _fzgm
from ._errors import CallError, PipelineError

_CPU, _CUDA, _PINNED, _MANAGED = 1, 2, 3, 13  # device types of DLPack
_KINDS = {0: "i", 1: "u", 2: "f"}  # type codes of DLPack
_CODES = {kind: code for code, kind in _KINDS.items()}
LEGACY = 1  # the default stream, as DLPack and the CUDA array interface number it


class _Sized:
    """Lengths from a shape and an element type."""

    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


@dataclass(frozen=True)
class View(_Sized):
    """Contiguous memory on a GPU, and what keeps it."""

    address: int
    dtype: np.dtype
    shape: tuple[int, ...]
    device: int
    read_only: bool
    owner: Any

    @property
    def place(self) -> tuple[int, int]:
        return self.address, self.nbytes

    def overlaps(self, other: View) -> bool:
        ends = self.address + self.nbytes, other.address + other.nbytes
        return self.nbytes > 0 and other.nbytes > 0 and self.address < ends[1] and other.address < ends[0]


def view_of(x: Any, what: str, stream: int | None = None) -> View | None:
    """The memory of an array on a GPU; None for everything else. Work that its library has queued for it precedes later work on
    ``stream``, and before blocking calls."""
    if isinstance(x, (np.ndarray, np.generic, bytes)):
        return None
    ask = getattr(x, "__dlpack_device__", None)
    if ask is not None:
        try:
            kind, _ = ask()
        except Exception as error:  # of any library
            raise CallError(f"{what} of type {type(x).__name__} has no device: {error}; expected an open array") from error
        if int(kind) in (_CUDA, _MANAGED):
            return _by_dlpack(x, what, LEGACY if stream is None else stream)
        if int(kind) in (_CPU, _PINNED):
            return None
        raise CallError(f"{what} is on a device of DLPack type {int(kind)}; expected memory of the host or of an NVIDIA GPU")
    interface = getattr(x, "__cuda_array_interface__", None)
    return None if interface is None else _by_interface(x, interface, what, stream)


def _by_dlpack(x: Any, what: str, stream: int) -> View:
    try:
        try:
            capsule = x.__dlpack__(stream=stream, max_version=(1, 0))
        except TypeError:
            capsule = x.__dlpack__(stream=stream)
        address, shape, strides, (code, bits, lanes), (_, index), read_only, owner = _fzgm.take_dlpack(capsule)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise CallError(f"{what} of type {type(x).__name__} is not exported by its library: {error}") from error
    kind = _KINDS.get(code)
    try:
        if kind is None or lanes != 1 or bits % 8:
            raise TypeError
        dtype = np.dtype(f"{kind}{bits // 8}")
    except TypeError:
        raise PipelineError(f"the element type of {what} is {getattr(x, 'dtype', 'unknown')}; {_EXPECTED}") from None
    if strides is not None:
        strides = [s * dtype.itemsize for s in strides]
    return _view(what, address, dtype, shape, strides, index, read_only, (x, owner))


def _by_interface(x: Any, interface: Any, what: str, stream: int | None) -> View:
    try:
        address, read_only = interface["data"]
        dtype, shape, strides = np.dtype(interface["typestr"]), interface["shape"], interface.get("strides")
        producer = interface.get("stream")
        if interface.get("mask") is not None:
            raise ValueError("it has a mask")
    except (KeyError, TypeError, ValueError) as error:
        raise CallError(f"{what} of type {type(x).__name__} has no valid __cuda_array_interface__: {error}") from error
    index = (_fzgm.device_of(address) or 0) if address else 0
    if producer is not None and producer != stream:
        _fzgm.wait(index, producer)
    return _view(what, address, dtype, shape, strides, index, bool(read_only), x)


_EXPECTED = "expected float32, float64, or an integer of 8 to 64 bits; convert the array with its own library first"


def _view(what: str, address: int, dtype: np.dtype, shape: Any, strides: Any, index: int, read_only: bool, owner: Any) -> View:
    if dtype not in _arrays.DTYPES:
        raise PipelineError(f"the element type of {what} is {dtype}; {_EXPECTED}")
    shape = tuple(int(n) for n in shape)
    expected = dtype.itemsize
    for length, stride in zip(reversed(shape), reversed(strides or ())):
        if length > 1 and stride != expected and 0 not in shape:
            raise CallError(f"{what} is not contiguous in C order; copy it with its own library first")
        expected *= length
    return View(address, dtype, shape, index, read_only, owner)


def stream_number(stream: Any) -> int | None:
    """A stream of any library as the number that DLPack gives it."""
    if stream is None:
        return None
    number = stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        number = (protocol() if callable(protocol) else protocol)[1]
    else:
        for name in ("cuda_stream", "ptr", "handle"):  # torch, CuPy, numba
            if hasattr(stream, name):
                number = getattr(stream, name)
                number = getattr(number, "value", number) or 0  # a pointer of ctypes
                break
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**64:
        raise CallError(
            f"stream is of type {type(stream).__name__}; expected a stream of torch, CuPy, or numba, an object with __cuda_stream__, "
            "or a cudaStream_t as a whole number"
        )
    return number or LEGACY


def current_stream(x: Any, device: int) -> tuple[int, Any]:
    """The stream that the library of an array works on now, and its object; the default stream for all other arrays."""
    name = type(x).__module__.partition(".")[0]
    library = sys.modules.get(name)
    stream = None
    if name == "torch":
        stream = library.cuda.current_stream(device)
    elif name == "cupy":
        stream = library.cuda.get_current_stream()
    return (LEGACY, None) if stream is None else (stream_number(stream), stream)


def index_of(device: Any) -> int | None:
    """The GPU that ``device`` names; None for the CPU."""
    if isinstance(device, int) and not isinstance(device, bool) and 0 <= device < 2**32:
        return device
    if not isinstance(device, str) and type(device).__module__.partition(".")[0] != "torch":
        raise CallError(f"device is {_arrays.shown(device)}; expected 'cpu', 'cuda', or 'cuda:N'")
    return _fzgm.device_index(str(device))


class DeviceArray(_Sized):
    """A contiguous array on a GPU, with ``__dlpack__`` and ``__cuda_array_interface__``: ``torch.from_dlpack(a)`` and ``cupy.asarray(a)``
    view it without a copy. ``numpy.asarray(a)`` copies it to the host. Its memory is freed with the array and its last view.
    """

    def __init__(self, shape: Any, dtype: Any, *, device: Any = 0) -> None:
        index = index_of(device)
        if index is None:
            raise CallError("device is cpu; expected a GPU such as 'cuda:0'")
        self.dtype = _arrays.dtype_of(_arrays.name_of(dtype))
        self.shape = _arrays.whole_shape(shape)
        self.device = index
        self._memory = _fzgm.Memory(index, self.nbytes)
        self._address = self._memory.address
        self._stream: tuple[int, Any] | None = None

    @classmethod
    def _around(cls, memory: Any, shape: tuple[int, ...], dtype: np.dtype, device: int, offset: int = 0) -> DeviceArray:
        array = cls.__new__(cls)
        array.dtype, array.shape, array.device = dtype, shape, device
        array._memory, array._address, array._stream = memory, memory.address + offset, None
        return array

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("the array has 0 dimensions and no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<fzgm.DeviceArray {self.dtype}{list(self.shape)} on cuda:{self.device}>"

    def __getitem__(self, index: Any) -> DeviceArray:
        """Returns ``a[start:stop]`` along the first dimension, without a copy."""
        if not isinstance(index, slice) or not self.shape:
            raise CallError(f"index is {_arrays.shown(index)}; expected a slice of the first dimension, or copy the array with numpy.asarray")
        start, stop, step = index.indices(self.shape[0])
        if step != 1:
            raise CallError(f"index has step {step}; expected 1")
        row = math.prod(self.shape[1:]) * self.dtype.itemsize
        shape = (max(0, stop - start), *self.shape[1:])
        offset = self._address - self._memory.address + start * row
        part = DeviceArray._around(self._memory, shape, self.dtype, self.device, offset)
        part._stream = self._stream
        return part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the array is on a GPU, so that an array of numpy is a copy of it")
        self._settle()
        host = _arrays.new(self.shape, self.dtype)
        _fzgm.copy_to_host((self._address, self.nbytes), _arrays.flat_bytes(host))
        return host if dtype is None else host.astype(dtype, copy=False)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self._address if self.size else 0, False), "strides": None,
            "version": 3, "stream": self._stream and self._stream[0],
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self.device

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        if copy or dl_device not in (None, (_CUDA, self.device)):
            raise BufferError("the array is exported where it is, without a copy; copy the result")
        if stream != -1 and self._stream is not None and stream != self._stream[0]:
            self._settle()
        kind = _CODES[self.dtype.kind], 8 * self.dtype.itemsize
        versioned = max_version is not None and max_version[0] >= 1
        return _fzgm.lend_dlpack(self, self._address, self.device, list(self.shape), kind, versioned)

    def _settle(self) -> None:
        """Waits for the call that writes the array."""
        if self._stream is not None:
            _fzgm.wait(self.device, self._stream[0])
            self._stream = None
