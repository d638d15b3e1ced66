"""compress, decompress, and the objects that keep plans."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays, _fzgm
from ._errors import CallError

Pipeline = _fzgm.Pipeline
_LOSSLESS = {name for name, _, lossless in _fzgm.presets(True) if lossless}


def compress(
    x: Any,
    *,
    error_bound: float | None = None,
    mode: str | None = None,
    preset: str | None = None,
    fill_value: float | None = None,
    pipeline: Pipeline | None = None,
    threads: int = 1,
    container: str = "fzm",
    checksum: bool = True,
) -> bytes:
    """Compresses an array.

    x            array of float32, float64, or integers of 8 to 64 bits, of any shape. An array that is not contiguous in C order, or has
                 the other byte order, is copied first. Dimensions beyond 3 are stored joined, see ``decompress(shape=)``.
    error_bound  largest error of a value, in the sense of ``mode``. Required by every preset that rounds; there is no default.
    mode         ``"noa"`` (default): times (max - min); ``"abs"``: in the unit of ``x``; ``"prel"``: times max \\|x\\|; ``"rel"``:
                 times \\|x\\| of each value, with preset ``"pfpl"``.
    preset       one of ``fzgm.presets()``; default ``"fast"``. ``"bits"`` loses nothing.
    fill_value   values of this magnitude and above are stored exactly and are outside of the range (max - min).
    pipeline     in place of preset, mode, bound, and fill value.
    threads      threads of the call; 0 for all cores. The bytes do not depend on it.
    container    ``"fzm"``, the file format, or ``"compact"``, for small arrays.
    checksum     whether checksums are stored.

    The GIL is released. ``x`` must not change until the call returns. Raises a subclass of ``fzgm.Error``.
    """
    array = _arrays.as_array(x)
    dtype = _arrays.DTYPES[array.dtype]
    pipeline = _pipeline(dtype, error_bound, mode, preset, fill_value, pipeline)
    flat = _arrays.flat_bytes(array)
    return _fzgm.compress(pipeline, dtype, _arrays.dims_of(array.shape), flat, _threads(threads), container, bool(checksum))


def decompress(
    buf: Any, *, shape: Any = None, out: np.ndarray | None = None, threads: int = 1, max_memory_bytes: int = 0
) -> np.ndarray:
    """Restores the array of a container.

    buf    bytes or any contiguous buffer.
    shape  shape of the result, with as many elements. A container holds at most 3 dimensions: without ``shape``, an array of
           more comes back with its slowest dimensions joined.
    out    contiguous array of the element type and number of elements of the container, which receives the values and is returned.
    max_memory_bytes  limit of working memory; 0: 8 times the array and 64 MiB.

    The GIL is released. If a damaged container raises an exception, the contents of ``out`` are unspecified.
    """
    data = _arrays.container_bytes(buf)
    about = _fzgm.info(data)
    dtype = _arrays.dtype_of(about["dtype"])
    stored = tuple(reversed(about["dims"]))
    elements = math.prod(stored)
    if out is not None:
        if shape is not None:
            raise CallError("shape and out are both given; expected one of them: the shape is that of out")
        result = _arrays.check_out(out, dtype, elements, data)
    else:
        shape = stored if shape is None else _arrays.as_shape(shape, elements)
        result = np.empty(shape, dtype)
    _fzgm.decompress(data, _arrays.flat_bytes(result), _threads(threads), _whole("max_memory_bytes", max_memory_bytes, 2**63))
    return result


def decompress_region(buf: Any, region: Any) -> np.ndarray:
    """Restores a part of an array of preset ``fast``, without the rest, or of preset ``high``, after decoding the whole array.

    region  an index of the stored shape: whole numbers and slices of step 1, such as ``np.s_[10:20, :, 5]``. Missing dimensions are taken whole.
    """
    data = _arrays.container_bytes(buf)
    about = _fzgm.info(data)
    stored = tuple(reversed(about["dims"]))
    origin, extent, shape = _box(region, stored)
    result = np.empty(shape, _arrays.dtype_of(about["dtype"]))
    _fzgm.decompress_region(data, origin[::-1], extent[::-1], _arrays.flat_bytes(result))
    return result


@dataclass(frozen=True)
class Info:
    """What a container says of itself. ``shape`` has the slowest dimension first, as in numpy."""

    dtype: np.dtype
    shape: tuple[int, ...]
    container: str
    container_bytes: int
    header_bytes: int
    strict: bool | None
    mode: str
    error_bound: float
    outlier_threshold: float
    stages: tuple[tuple[str, dict[str, str]], ...]


def info(buf: Any) -> Info:
    """Reads the header of a container. Checksums are not compared."""
    about = _fzgm.info(_arrays.container_bytes(buf))
    about["shape"] = tuple(reversed(about.pop("dims")))
    about["dtype"] = _arrays.dtype_of(about["dtype"])
    about["stages"] = tuple((name, dict(parameters)) for name, parameters in about["stages"])
    return Info(**about)


@dataclass(frozen=True)
class Preset:
    """A named pipeline."""

    name: str
    about: str
    lossless: bool


def presets(*, all: bool = False) -> list[Preset]:
    """The presets to choose from; with ``all`` also those for comparisons."""
    return [Preset(*p) for p in _fzgm.presets(bool(all))]


class Encoder:
    """Compresses arrays of one shape and element type, with one plan and one workspace. Threads may share it and take turns.

    ``dtype`` and ``shape`` are those of the arrays; all keywords are those of ``compress``.
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
        checksum: bool = True,
    ) -> None:
        name = _arrays.name_of(dtype)
        self.dtype = _arrays.dtype_of(name)
        self.shape = tuple(_whole("shape", n, 2**56) for n in ((shape,) if np.isscalar(shape) else shape))
        self.pipeline = _pipeline(name, error_bound, mode, preset, fill_value, pipeline)
        dims = _arrays.dims_of(self.shape)
        self._encoder = _fzgm.Encoder(self.pipeline, name, dims, _threads(threads), container, bool(checksum))

    @property
    def max_compressed_bytes(self) -> int:
        """No container of this encoder is longer."""
        return self._encoder.max_compressed_bytes

    def compress(self, x: Any) -> bytes:
        """Compresses an array of the shape and element type of the encoder."""
        array = _arrays.as_array(x)
        if array.dtype != self.dtype or array.shape != self.shape:
            raise CallError(f"x is {array.dtype} of shape {array.shape}; the encoder is for {self.dtype} of shape {self.shape}")
        return self._encoder.compress(_arrays.flat_bytes(array))

    def decoder(self) -> Decoder:
        """The decoder of the containers of this encoder."""
        return Decoder(self)


class Decoder:
    """Restores the containers of one encoder, with one plan and one workspace. Threads may share it and take turns."""

    def __init__(self, encoder: Encoder) -> None:
        if not isinstance(encoder, Encoder):
            raise CallError(f"encoder is of type {type(encoder).__name__}; expected a fzgm.Encoder")
        self.dtype, self.shape = encoder.dtype, encoder.shape
        self._decoder = _fzgm.Decoder.of_encoder(encoder._encoder)

    def decompress(self, buf: Any, *, out: np.ndarray | None = None) -> np.ndarray:
        """Restores a container, into ``out`` if it is given."""
        data = _arrays.container_bytes(buf)
        if out is None:
            out = np.empty(self.shape, self.dtype)
        else:
            _arrays.check_out(out, self.dtype, math.prod(self.shape), data)
        self._decoder.decompress(data, _arrays.flat_bytes(out))
        return out


def _pipeline(dtype: str, error_bound: Any, mode: Any, preset: Any, fill_value: Any, pipeline: Any) -> Pipeline:
    """The pipeline that the arguments describe."""
    if pipeline is not None:
        given = {"error_bound": error_bound, "mode": mode, "preset": preset, "fill_value": fill_value}
        for name, value in given.items():
            if value is not None:
                raise CallError(f"pipeline and {name} are both given; set {name} with pipeline.set(...) or leave the pipeline out")
        if not isinstance(pipeline, Pipeline):
            raise CallError(f"pipeline is of type {type(pipeline).__name__}; expected a fzgm.Pipeline")
        return pipeline
    preset = "fast" if preset is None else preset
    if not isinstance(preset, str):
        raise CallError(f"preset is of type {type(preset).__name__}; expected a name")
    made = Pipeline.from_preset(preset, dtype)
    if preset in _LOSSLESS:
        if error_bound is not None or mode is not None or fill_value is not None:
            raise CallError(f"preset {preset} loses nothing; leave out error_bound, mode, and fill_value")
        return made
    if error_bound is None:
        raise CallError(
            f"error_bound is missing, and preset {preset} rounds values; give a bound such as error_bound=1e-3, "
            "which is 1e-3 of (max - min) in mode noa, or preset='bits', which loses nothing"
        )
    if mode is not None and not isinstance(mode, str):
        raise CallError(f"mode is of type {type(mode).__name__}; expected 'abs', 'noa', 'prel', or 'rel'")
    made = made.set(error_bound=_real("error_bound", error_bound), mode="noa" if mode is None else mode)
    threshold = threshold_of(fill_value, dtype)
    return made if threshold == math.inf else made.set(outlier_threshold=threshold)


def threshold_of(fill_value: Any, dtype: str) -> float:
    """The magnitude from which on values are exact: that of the fill value as an array of this type stores it."""
    if fill_value is None:
        return math.inf
    with np.errstate(over="ignore"):
        fill = abs(float(_arrays.dtype_of(dtype).type(_real("fill_value", fill_value))))
    if fill == 0:
        raise CallError("fill_value is 0, and values of its magnitude and above are exact, which are all; leave it out")
    return math.inf if math.isnan(fill) else fill


def _real(what: str, value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise CallError(f"{what} is {value!r}; expected a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise CallError(f"{what} is {value!r}; expected a number") from error


def _whole(what: str, value: Any, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError as error:
        raise CallError(f"{what} is {value!r}; expected a whole number") from error
    if not 0 <= number <= most:
        raise CallError(f"{what} is {number}; expected a whole number from 0 to {most}")
    return number


def _threads(threads: Any) -> int:
    return _whole("threads", threads, 1024)


def _box(region: Any, stored: tuple[int, ...]) -> tuple[list[int], list[int], list[int]]:
    """Origin, extent, and shape of an index."""
    parts = region if isinstance(region, tuple) else (region,)
    if len(parts) > len(stored):
        raise CallError(f"region has {len(parts)} dimensions; the container has {len(stored)}")
    origin, extent, shape = [], [], []
    for axis, length in enumerate(stored):
        part = parts[axis] if axis < len(parts) else slice(None)
        if isinstance(part, slice):
            try:
                start, stop, step = part.indices(length)
            except TypeError as error:
                raise CallError(f"region[{axis}] is {part}; expected a slice of whole numbers") from error
            if step != 1:
                raise CallError(f"region[{axis}] has step {step}; expected 1")
            origin.append(start)
            extent.append(max(0, stop - start))
            shape.append(extent[-1])
            continue
        try:
            index = operator.index(part)
        except TypeError as error:
            raise CallError(f"region[{axis}] is {part!r}; expected a whole number or a slice") from error
        if not -length <= index < length:
            raise CallError(f"region[{axis}] is {index}; the dimension has {length} elements")
        origin.append(index % length)
        extent.append(1)
    return origin, extent, shape
