"""compress, decompress, regions, previews, and headers of containers."""

from __future__ import annotations

import math
import operator
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays, _choose, _device, _fills, _fzgm, _gpu
from ._encoders import Encoder
from ._errors import CallError
from ._pipelines import pipeline_of


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
    device: Any = None,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Compresses an array to bytes, or an array on a GPU to a ``DeviceArray`` of uint8.

    x            array of float32, float64, or integers of 8 to 64 bits, of any shape. An array that is not contiguous in C order, or has
                 the other byte order, is copied first. If it has more than 8 dimensions, the slowest ones are joined. Arrays on a GPU
                 may belong to every library with DLPack or the CUDA array interface; they must be contiguous.
    error_bound  largest error of a value, relative to ``mode``. Required by every lossy preset; there is no default.
    mode         ``"noa"`` (default): times (max - min); ``"abs"``: in the unit of ``x``; ``"prel"``: times max \\|x\\|; ``"rel"``:
                 times \\|x\\| of each value, with preset ``"pfpl"``.
    preset       one of ``fzgm.presets()``; default ``"fast"``. ``"bits"`` is lossless. ``"auto"``, ``"auto:speed"``, and ``"auto:ratio"`` choose a pipeline for
                 ``x``, see ``choose``.
    fill_value   values of this magnitude and above are stored exactly and excluded from the range (max - min). With None (default), a host array
                 with suspected fill values gives a ``FillValueWarning`` in modes noa and prel. NaN and infinity: no fill value, and no warning.
    pipeline     instead of preset, mode, bound, and fill value.
    threads      threads of the call; 0 for all cores. The bytes do not depend on it.
    container    ``"fzm"``, the file format, or ``"compact"``, for small arrays.
    checksum     whether checksums are stored.
    device       ``"cuda:N"`` to compress a host array on that GPU. Without it, the call runs where ``x`` is.
    out          array of uint8 on the device of ``x``, such as a NumPy array or a torch tensor. The result is then ``out[:length]``.
    stream       for arrays on a GPU: the call also waits for this stream. It always waits for the work that the library of ``x`` has enqueued.

    The GIL is released. ``x`` must not change until the call returns. Failures raise a subclass of ``fzgm.Error``.
    """
    asked = {"error_bound": error_bound, "mode": mode, "preset": preset, "fill_value": fill_value, "pipeline": pipeline}
    if type(x) is not np.ndarray or device is not None or out is not None or stream is not None:
        number = _device.stream_number(stream)
        view = _device.view_of(x, "x", number)
        index = _gpu.index_for(view, "x", device)
        if index is not None:
            if view is not None and number is not None and _choose.is_automatic(preset, pipeline):
                _fzgm.wait(index, number)
            source = _arrays.as_array(x) if view is None else view
            encoder = _encoder(source, asked, container=container, checksum=checksum, device=index)
            return encoder._compress(source, out, number)
        _gpu.only_on_gpus(stream=stream)
    array = _arrays.as_array(x)
    if out is not None:
        encoder = _encoder(array, asked, threads=threads, container=container, checksum=checksum)
        return encoder._compress_on_host(array, out, 3)
    dtype = _arrays.DTYPES[array.dtype]
    pipeline = pipeline_of(dtype, **_settled(array, asked))
    flat = _arrays.flat_bytes(array)
    container, checksum = _arrays.container_of(container), _gpu.checksums(checksum)[0]
    made = _fzgm.compress(pipeline, dtype, _arrays.dims_of(array.shape), flat, _arrays.threads_of(threads), container, checksum)
    if fill_value is None:
        _fills.warn(dtype, flat, made, 2)
    return made


def _settled(array: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """The arguments that describe a pipeline, with a chosen pipeline instead of an automatic preset."""
    if not _choose.is_automatic(asked["preset"], asked["pipeline"]):
        return asked
    chosen = _choose.automatic(array, asked["error_bound"], asked["mode"], asked["preset"], asked["fill_value"])
    return {**dict.fromkeys(asked), "pipeline": chosen}


def _encoder(array: Any, asked: dict[str, Any], **options: Any) -> Encoder:
    encoder = Encoder(array.shape, array.dtype, **_settled(array, asked), **options)
    encoder._looks_for_fills = asked["fill_value"] is None
    return encoder


def decompress(
    buf: Any, *, shape: Any = None, out: Any = None, threads: int = 1, max_memory_bytes: int = 0, device: Any = None, stream: Any = None
) -> Any:
    """Restores the array of a container.

    buf    bytes or any contiguous buffer, or an array of bytes on a GPU; not a path.
    shape  shape of the result, with the same number of elements; default: that of the array, whose dimensions beyond 8 are joined.
    out    array of the element type and number of elements of the container; it receives the values and is returned. An array that is not
           contiguous, such as ``grid[2:-2, 2:-2]``, requires memory for a copy.
    max_memory_bytes  limit of working memory, checked before the result is allocated; 0: 8 times the array plus 64 MiB.
    device where the result is: ``"cpu"`` for a NumPy array, ``"cuda:N"`` for a ``DeviceArray``; default: where the container is. If container or
           result is on a GPU, the call runs there, and ``out`` may be an array there.
    stream for memory on a GPU: the call waits for this stream first.

    The GIL is released. If a damaged container raises an exception, the contents of ``out`` are undefined.
    """
    limit = _arrays.whole("max_memory_bytes", max_memory_bytes, 2**63)
    if type(buf) is not bytes or device is not None or stream is not None or (out is not None and type(out) is not np.ndarray):
        done = _decompress_on_gpu(buf, shape, out, limit, device, stream)
        if done is not None:
            return done
    data = _arrays.container_bytes(buf)
    # Working memory first: a container above the limit must not cost the memory of a result.
    plan = _fzgm.Decoder.open(data, _arrays.threads_of(threads), limit)
    name, dims = plan.array
    dtype, stored = _arrays.dtype_of(name), tuple(reversed(dims))
    elements = math.prod(stored)
    if out is not None:
        if shape is not None:
            raise CallError("shape and out are both given; expected one of them: the shape is that of out")
        return _arrays.restored_into(out, dtype, elements, data, lambda flat: plan.decompress(data, flat))
    shape = stored if shape is None else _arrays.as_shape(shape, elements)
    result = _arrays.new(shape, dtype)
    plan.decompress(data, _arrays.flat_bytes(result))
    return result


def restored_as(buf: Any, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """``decompress`` of a chunk, which must match the metadata of its array."""
    about = _fzgm.info(_arrays.container_bytes(buf))
    found, dims = _arrays.dtype_of(about["dtype"]), about["dims"]
    if found != dtype.newbyteorder("=") or dims != _arrays.dims_of(shape):
        raise CallError(
            f"the chunk contains {found} of shape {tuple(reversed(dims))}, but the metadata of its array has {dtype} of shape {shape}; "
            "restore it with fzgm.decompress, or repair the metadata"
        )
    return decompress(buf, shape=shape)


def _decompress_on_gpu(buf: Any, shape: Any, out: Any, limit: int, device: Any, stream: Any) -> Any:
    """``decompress`` if a GPU is involved; otherwise None."""
    number = _device.stream_number(stream)
    source = _device.view_of(buf, "the container", number)
    target = _device.view_of(out, "out", number)
    to = source and source.device if device is None else _device.index_of(device)
    index = next((i for i in (source and source.device, target and target.device, to) if i is not None), None)
    if index is None:
        _gpu.only_on_gpus(stream=stream)
        return None
    if out is not None and shape is not None:
        raise CallError("shape and out are both given; expected one of them: the shape is that of out")
    place = _gpu.container_place(buf, source, index)
    about = _fzgm.info_at(place) if source is not None else _fzgm.info(place)
    stored = tuple(reversed(about["dims"]))
    shape = stored if shape is None else _arrays.as_shape(shape, math.prod(stored))
    plan = _fzgm.DevicePlan.open(place, index, limit)
    return _gpu.decompress(plan, place, source, _arrays.dtype_of(about["dtype"]), shape, out, to, index, number)


def decompress_region(source: Any, region: Any) -> np.ndarray:
    """Restores a region of an array.

    source  container, or the path of a file. Preset ``fast``: only the chunks that the region touches are read. Other presets: the whole array is
            decoded.
    region  index of the stored shape: integers and slices with step 1, such as ``np.s_[10:20, :, 5]``, negative numbers as in NumPy; no Ellipsis.
            Missing dimensions are whole.
    """
    file = _file(source, front=False)
    data = None if file else _arrays.container_bytes(source)
    about = file.info() if file else _fzgm.info(data)
    stored = tuple(reversed(about["dims"]))
    origin, extent, shape = _box(region, stored)
    result = _arrays.new(tuple(shape), _arrays.dtype_of(about["dtype"]))
    if file:
        file.region(origin[::-1], extent[::-1], _arrays.flat_bytes(result))
    else:
        _fzgm.decompress_region(data, origin[::-1], extent[::-1], _arrays.flat_bytes(result))
    return result


def preview(source: Any, step: int) -> np.ndarray:
    """Restores the elements ``[::step, ::step, ...]`` of an array, bit for bit as ``decompress`` restores them.

    source  container, or the path of a file. Preset ``high``: only the front that ``step`` requires is read; the container may end there. If it ends
            earlier, a ContainerError states the required number of bytes. Checksums are not compared. Other presets: everything is decoded.
    step    a power of two.
    """
    step = _arrays.whole("step", step, 2**63)
    file = _file(source, front=True)
    data = None if file else _arrays.container_bytes(source)
    about = file.info() if file else _fzgm.info(data, True)
    if step == 0 or step & (step - 1):
        raise CallError(f"step is {step}; expected a power of two, such as 4")
    shape = tuple(-(-n // step) for n in reversed(about["dims"]))
    result = _arrays.new(tuple(shape), _arrays.dtype_of(about["dtype"]))
    if file:
        file.preview(step, _arrays.flat_bytes(result))
    else:
        _fzgm.preview(data, step, _arrays.flat_bytes(result))
    return result


def _file(source: Any, *, front: bool) -> Any:
    """The open file of a path; None for a container."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    return _fzgm.File(_path(source), front)


def _path(source: Any) -> str:
    try:
        path = os.fsdecode(source)
        os.fsencode(path)
    except (TypeError, UnicodeError) as error:
        raise CallError(f"the path is {_arrays.shown(source)}, which cannot be a path: {error}; expected the path of a file") from error
    return path


@dataclass(frozen=True)
class Info:
    """Header of a container. ``shape`` has the slowest dimension first, as in NumPy."""

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


def info(source: Any) -> Info:
    """Reads the header of a container or of a file given by its path. Checksums are not compared."""
    file = _file(source, front=True)
    view = None if file else _device.view_of(source, "the container")
    if file:
        about = file.info()
    elif view is not None:
        about = _fzgm.info_at(_gpu.container_place(source, view, view.device))
    else:
        about = _fzgm.info(_arrays.container_bytes(source))
    return _described(about)


def _described(about: dict[str, Any]) -> Info:
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
    """Returns the presets; with ``all`` also those for comparisons."""
    return [Preset(*p) for p in _fzgm.presets(_arrays.flag("all", all))]


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
            except (TypeError, ValueError) as error:
                raise CallError(f"region[{axis}] is {_slice(part)}; expected a slice of whole numbers with step 1") from error
            if step != 1:
                raise CallError(f"region[{axis}] has step {_arrays.shown(step)}; expected 1")
            origin.append(start)
            extent.append(max(0, stop - start))
            shape.append(extent[-1])
            continue
        try:
            index = operator.index(part)
        except TypeError as error:
            raise CallError(f"region[{axis}] is {_arrays.shown(part)}; expected a whole number or a slice with step 1") from error
        if not -length <= index < length:
            raise CallError(f"region[{axis}] is {_arrays.shown(index)}; expected -{length} to {length - 1}, since the dimension has {length} elements")
        origin.append(index % length)
        extent.append(1)
    return origin, extent, shape


def _slice(part: slice) -> str:
    return f"slice({_arrays.shown(part.start)}, {_arrays.shown(part.stop)}, {_arrays.shown(part.step)})"
