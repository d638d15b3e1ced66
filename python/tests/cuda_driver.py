"""The driver by ctypes, as a library of arrays on GPUs that has nothing to do with fzgm: memory, streams, graphs, and producers of both protocols."""

import ctypes

import numpy as np

try:
    lib = ctypes.CDLL("libcuda.so.1")
except OSError:
    lib = None


def ok(code):
    assert code == 0, f"the driver returned {code}"


def start():
    """Makes the primary context of device 0 current in this thread; whether there is a device."""
    if lib is None or lib.cuInit(0) != 0:
        return False
    context, device = ctypes.c_void_p(), ctypes.c_int()
    ok(lib.cuDeviceGet(ctypes.byref(device), 0))
    ok(lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    ok(lib.cuCtxSetCurrent(context))
    return True


def emulated():
    """True if the driver is the emulator."""
    return lib is not None and hasattr(lib, "fzemu_count")


def copies_to_host():
    """Bytes that the emulator has copied to the host."""
    lib.fzemu_count.restype = ctypes.c_long
    return lib.fzemu_count(b"bytes_to_host")


class Stream:
    def __init__(self):
        self.pointer = ctypes.c_void_p()
        ok(lib.cuStreamCreate(ctypes.byref(self.pointer), 1))  # does not wait for the default stream

    @property
    def handle(self):  # as in numba
        return self.pointer

    def wait(self):
        ok(lib.cuStreamSynchronize(self.pointer))

    def __del__(self):
        lib.cuStreamDestroy_v2(self.pointer)


class Array:
    """An array on device 0. Its subclasses export it."""

    def __init__(self, x):
        x = np.ascontiguousarray(x)
        self.dtype, self.shape, self.nbytes, self.readonly, self.stream = x.dtype, x.shape, x.nbytes, False, None
        self.pointer = ctypes.c_uint64()
        ok(lib.cuMemAlloc_v2(ctypes.byref(self.pointer), ctypes.c_size_t(max(1, x.nbytes))))
        self.put(x)

    @property
    def address(self):
        return self.pointer.value

    def put(self, x, stream=None):
        self.source = np.ascontiguousarray(x)
        copy = ctypes.c_void_p(self.source.ctypes.data), ctypes.c_size_t(self.source.nbytes)
        if stream is None:
            ok(lib.cuMemcpyHtoD_v2(self.pointer, *copy))
        else:
            ok(lib.cuMemcpyHtoDAsync_v2(self.pointer, *copy, stream.pointer))

    def get(self, length=None):
        x = np.empty(self.shape if length is None else length, self.dtype)
        ok(lib.cuMemcpyDtoH_v2(ctypes.c_void_p(x.ctypes.data), self.pointer, ctypes.c_size_t(x.nbytes)))
        return x

    def __del__(self):
        lib.cuMemFree_v2(self.pointer)


class Interface(Array):
    """Exports by ``__cuda_array_interface__``."""

    strides = None

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, self.readonly), "version": 3, "strides": self.strides,
            "stream": self.stream and self.stream.pointer.value,
        }

    def __getitem__(self, part):
        assert part.start is None
        return self.get(part.stop)


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("index", ctypes.c_int32)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Plain(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", Deleter), ("flags", ctypes.c_uint64), ("tensor", Tensor),
    ]


api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]


class Capsules(Array):
    """Exports by ``__dlpack__``, of version 1 if the consumer supports it; counts released tensors, and the streams that consumers name."""

    kind, versions, major, code, strides = 2, True, 1, None, None

    def __init__(self, x):
        super().__init__(x)
        self.lent, self.returned, self.streams = {}, [], []

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, *, stream=None, **rest):
        if rest and not self.versions:
            raise TypeError("an old library")
        self.streams.append(stream)
        versioned = rest.get("max_version", (0, 0))[0] >= 1
        number = len(self.streams)
        lists = (ctypes.c_int64 * len(self.shape))(*self.shape)
        strides = None if self.strides is None else (ctypes.c_int64 * len(self.shape))(*self.strides)
        code = {"i": 0, "u": 1, "f": 2, "c": 5}[self.dtype.kind] if self.code is None else self.code
        tensor = Tensor(self.address - 16, Device(self.kind, 0), len(self.shape), code, 8 * self.dtype.itemsize, 1, lists, strides, 16)
        deleter = Deleter(lambda _: self.returned.append(number))
        made = Versioned(self.major, 0, None, deleter, int(self.readonly), tensor) if versioned else Plain(tensor, None, deleter)
        self.lent[number] = made, lists, strides, deleter
        self.names = b"dltensor_versioned" if versioned else b"dltensor"
        return api.PyCapsule_New(ctypes.addressof(made), self.names, None)

    def __getitem__(self, part):
        assert part.start is None
        return self.get(part.stop)
