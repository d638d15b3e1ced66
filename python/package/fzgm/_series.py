"""Series: arrays that are appended to one file, step by step."""

from __future__ import annotations

import math
import operator
import os
from dataclasses import dataclass
from typing import Any, Iterator

import numpy as np

from . import _arrays, _codec, _device, _fzgm
from ._errors import CallError


@dataclass(frozen=True)
class Step:
    """A step of a series. ``shape`` has the slowest dimension first, as in NumPy."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    stored_bytes: int
    slabs: int

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return math.prod(self.shape) * self.dtype.itemsize


class Series:
    """Reads a series: ``series[3]`` and ``series["t3"]`` are arrays.

    A series has the steps that were complete when it was opened. A writer may append at the same time; open the series again to read newer steps.
    Threads may share a series. It is also a context manager.
    """

    def __init__(self, path: Any) -> None:
        self._file: Any = _fzgm.SeriesFile(_path(path))
        steps = self._file.steps()
        self.steps = tuple(Step(n, _arrays.dtype_of(t), tuple(reversed(d)), b, s) for n, t, d, b, s in steps)
        self.indexed, self.lost_bytes = self._file.state()

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.read(i) for i in range(len(self)))

    def __contains__(self, name: Any) -> bool:
        return isinstance(name, str) and bool(name) and any(step.name == name for step in self.steps)

    def __getitem__(self, step: Any) -> np.ndarray:
        return self.read(step)

    def index(self, step: Any) -> int:
        """The position of a step, given by its name or its position; negative positions count from the end."""
        if isinstance(step, str):
            return self._open().find(step)
        try:
            index = operator.index(step)
        except TypeError as error:
            raise CallError(f"step is {_arrays.shown(step)}; expected the name of a step, or a whole number") from error
        if not -len(self) <= index < len(self):
            expected = f"-{len(self)} to {len(self) - 1}" if len(self) else "no number, since the series has no steps"
            raise CallError(f"step is {_arrays.shown(index)}; expected {expected}")
        return index % len(self)

    def read(self, step: Any, *, out: Any = None, threads: int = 1, max_memory_bytes: int = 0) -> np.ndarray:
        """Restores a step, given by its name or its position. ``out``, ``threads``, and ``max_memory_bytes`` are those of ``decompress``."""
        file, index = self._open(), self.index(step)
        about, limit = self.steps[index], _arrays.whole("max_memory_bytes", max_memory_bytes, 2**63)
        threads = _arrays.threads_of(threads)
        if out is None:
            out = _arrays.new(about.shape, about.dtype)
        return _arrays.restored_into(
            out, about.dtype, math.prod(about.shape), None, lambda flat: file.read(index, threads, limit, flat)
        )

    def read_region(self, step: Any, region: Any) -> np.ndarray:
        """Restores a region of a step. ``region`` is that of ``decompress_region``. Only the slabs that the region touches are decoded."""
        file, index = self._open(), self.index(step)
        about = self.steps[index]
        origin, extent, shape = _codec._box(region, about.shape)
        result = _arrays.new(tuple(shape), about.dtype)
        file.region(index, origin[::-1], extent[::-1], _arrays.flat_bytes(result))
        return result

    def info(self, step: Any) -> _codec.Info:
        """The header of the first container of a step."""
        return _codec._described(self._open().info(self.index(step)))

    def close(self) -> None:
        """Closes the file. ``steps`` remains."""
        self._file = None

    def _open(self) -> Any:
        if self._file is None:
            raise CallError("the series is closed; expected an open Series")
        return self._file

    def __enter__(self) -> Series:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class SeriesWriter:
    """Appends arrays to a series, which is created if it does not exist. It is also a context manager.

    A step is complete when ``append`` returns. If the process ends before, the file has all steps that were complete; with ``sync`` also after a
    power failure. On Unix the file is locked against other writers until ``close``.
    """

    def __init__(self, path: Any, *, sync: bool = True) -> None:
        self._file = _fzgm.SeriesAppender(_path(path), _arrays.flag("sync", sync))

    def __len__(self) -> int:
        return self._file.count()

    def append(self, x: Any, *, name: str = "", **options: Any) -> int:
        """Compresses an array and appends it as a step. Returns the position of the step.

        name     at most 255 bytes of UTF-8 without control characters, not digits alone, and not the name of another step; empty: no name.
        options  keywords of ``compress``, such as ``error_bound`` and ``preset``. ``out`` is not one of them.
        """
        if "out" in options:
            raise CallError("out is given, but the container is written to the file; remove out")
        return self.append_container(_host(_codec.compress(x, **options)), name=name)

    def append_container(self, container: Any, *, name: str = "") -> int:
        """Appends a container, such as a result of ``Encoder.compress``, as a step. Returns the position of the step."""
        if not isinstance(name, str):
            raise CallError(f"name is {_arrays.shown(name)}; expected a text")
        return self._file.append(name, _arrays.container_bytes(_host(container)))

    def close(self) -> None:
        """Closes the file and releases its lock."""
        self._file.close()

    def __enter__(self) -> SeriesWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _host(container: Any) -> Any:
    """A container on a GPU as bytes of the host."""
    return np.asarray(container) if isinstance(container, _device.DeviceArray) else container


def _path(path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise CallError(f"the path is {_arrays.shown(path)}; expected the path of a file")
    return _codec._path(path)
