"""Wrong calls end with an exception and a sentence."""

import io
import mmap
import os
import random
import struct
import zlib
from fractions import Fraction
from pathlib import Path

import fzgm
import numpy as np
import pytest
from fzgm._arrays import shown

X = np.linspace(0, 1, 60, dtype="f4").reshape(3, 4, 5)
CONTAINER = fzgm.compress(X, error_bound=1e-3)


@pytest.mark.parametrize(
    "x",
    [
        np.array([None, 1]), np.array(["a"]), np.array([b"a"]), np.zeros(3, "f2"), np.zeros(3, "c8"), np.zeros(3, "?"),
        np.zeros(3, "M8[s]"), np.zeros(3, [("a", "f4")]), np.zeros(3, np.longdouble), "text", b"bytes", None, object(), {},
        [[1], [1, 2]], np.ma.masked_array([1.0], [True]),
    ],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', '')}",
)
def test_what_is_no_array_of_numbers(x):
    with pytest.raises(fzgm.Error, match=r"\w+ .*;|cannot be converted") as caught:
        fzgm.compress(x, error_bound=1e-3)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"error_bound": "a"}, {"error_bound": None}, {"error_bound": float("nan")}, {"error_bound": -1}, {"error_bound": 0},
        {"error_bound": 10**400}, {"error_bound": [1]}, {"error_bound": 1, "mode": "no"}, {"error_bound": 1, "mode": 3},
        {"error_bound": 1, "preset": "no"}, {"error_bound": 1, "preset": 3}, {"error_bound": 1, "fill_value": 0},
        {"error_bound": 1, "fill_value": "a"}, {"error_bound": 1, "threads": -1}, {"error_bound": 1, "threads": 1.5},
        {"error_bound": 1, "threads": 10**6}, {"error_bound": 1, "container": "zip"}, {"preset": "bits", "error_bound": 1},
        {"pipeline": "fast"}, {"pipeline": fzgm.Pipeline.from_preset("fast", "f32"), "mode": "abs"},
        {"pipeline": fzgm.Pipeline.from_preset("pfpl", "f64")}, {"error_bound": 1, "mode": "rel"},
        {"error_bound": 1, "container": None}, {"error_bound": 1, "container": 5}, {"error_bound": 1, "container": np.array(["fzm", "fzm"])},
        {"error_bound": 1, "checksum": "no"}, {"error_bound": 1, "checksum": None}, {"error_bound": 1, "checksum": 1},
        {"error_bound": 1, "checksum": X}, {"error_bound": 1, "threads": 10**5000}, {"error_bound": 10**5000},
        {"error_bound": 1, "fill_value": 10**5000}, {"error_bound": X},
        *({"error_bound": 1, name: "\ud800"} for name in ("mode", "preset", "fill_value", "container", "checksum", "threads", "device")),
        {"error_bound": 1, "device": 2**64}, {"error_bound": 1, "device": -1},
    ],
    ids=shown,
)
def test_wrong_arguments(arguments):
    for call in (lambda **a: fzgm.compress(X, **a), lambda **a: fzgm.Encoder(X.shape, X.dtype, **a)):
        with pytest.raises(fzgm.Error, match=r"\w{3,} "):
            call(**arguments)


def test_integers_need_a_lossless_preset():
    with pytest.raises(fzgm.PipelineError, match="bits"):
        fzgm.compress(np.arange(5), error_bound=1e-3)


@pytest.mark.parametrize(
    "shape",
    [
        (60, 2), -1, (-3, -20), "abc", (2.5,), object(), (1.9, 31.6), (60.0,), (float("inf"), 60), float("inf"), float("nan"), (60, *[1] * 64),
        (60, 10**5000), (0, 2**70), [[60]], {"a": 1}, np.float64(60), "\ud800",
    ],
    ids=shown,
)
def test_wrong_shapes(shape):
    with pytest.raises(fzgm.CallError, match="^shape (is|has 65 dimensions)"):
        fzgm.decompress(CONTAINER, shape=shape)


@pytest.mark.parametrize("shape", [None, (3, "a"), (-1,), (2.0,), (2**50, 2**50), (0, 2**57), (2**56,) * 9, (1,) * 65, 10**5000], ids=shown)
def test_wrong_shapes_of_encoders(shape):
    with pytest.raises(fzgm.Error, match="^(shape|dims) (is|has)"):
        fzgm.Encoder(shape, "f4", error_bound=1)


@pytest.mark.parametrize("dtype", [None, "f2", "nonsense", "\ud800", [("a",)], {"names": 1}, ",,", object(), 5, "M8[s]", "f4,f4"], ids=str)
def test_wrong_types_of_encoders(dtype):
    with pytest.raises(fzgm.PipelineError, match="^(dtype is|the element type is) .*; "):
        fzgm.Encoder((3,), dtype, error_bound=1)


def test_a_fill_value_that_no_element_can_be():
    integers = np.arange(5)
    with pytest.raises(fzgm.CallError, match="^fill_value is 1e.30, which int64 cannot represent"):
        fzgm.compare(integers, integers, fill_value=1e30)


def test_flags():
    for call in (lambda flag: fzgm.presets(all=flag), lambda flag: fzgm.compare(X, X, details=flag)):
        for wrong in (X, "no", None, 1):
            with pytest.raises(fzgm.CallError, match="expected True or False"):
                call(wrong)


@pytest.mark.parametrize("buffer", ["text", 5, None, object(), [1, 2]], ids=lambda b: type(b).__name__)
def test_what_is_no_buffer(buffer):
    calls = (fzgm.decompress, fzgm.info, lambda b: fzgm.decompress_region(b, 0))
    # A text is the path of a file to calls that read parts.
    for call in calls[:1] if isinstance(buffer, str) else calls:
        with pytest.raises(fzgm.CallError, match="expected bytes"):
            call(buffer)


def closed_map(path):
    path.write_bytes(CONTAINER)
    with open(path, "rb") as file:
        made = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    made.close()
    return made


def test_buffers_that_cannot_be_read(tmp_path):
    released = memoryview(CONTAINER)
    released.release()
    encoder = fzgm.Encoder(X.shape, X.dtype, error_bound=1)
    for buffer in (released, closed_map(tmp_path / "x"), np.zeros(9, "M8[s]"), np.zeros(9, "m8[s]")):
        for call in (fzgm.decompress, fzgm.info, lambda b: fzgm.preview(b, 2), lambda b: fzgm.decompress_region(b, 0), encoder.decoder().decompress):
            with pytest.raises(fzgm.CallError, match="^the container of type .* cannot be read as a buffer: .*; expected"):
                call(buffer)
        with pytest.raises(fzgm.Error, match="; "):
            fzgm.compress(buffer, error_bound=1)


def test_buffers_of_any_element_type():
    for dtype in (">f4", "f2", "c8", [("a", "u1"), ("b", ">u2")], "U1", "?"):
        made = (fzgm.compress(np.arange(n), preset="bits", container="compact") for n in range(50))
        whole = next(c for c in made if len(c) % np.dtype(dtype).itemsize == 0)
        assert fzgm.info(np.frombuffer(whole, dtype)) == fzgm.info(whole)


def test_files_are_no_containers(tmp_path):
    (tmp_path / "x.fzm").write_bytes(CONTAINER)
    with open(tmp_path / "x.fzm", "rb") as file:
        for _ in range(2):
            for call in (fzgm.decompress, fzgm.info, lambda f: fzgm.preview(f, 2), lambda f: fzgm.decompress_region(f, 0)):
                with pytest.raises(fzgm.CallError, match=r"^the container is of type BufferedReader; expected bytes .*pass file.read\(\)"):
                    call(file)
            with pytest.raises(fzgm.Error, match="; "):
                fzgm.compress(file, error_bound=1)
            file.close()
    closed = io.BytesIO(CONTAINER)
    closed.close()
    with pytest.raises(fzgm.CallError, match="expected bytes"):
        fzgm.info(closed)


def test_decompress_accepts_no_path():
    for path in ("x.fzm", Path("x.fzm")):
        with pytest.raises(fzgm.CallError, match=r"^the container is a path.*expected bytes.*read_bytes\(\); info, preview, and decompress_region accept paths"):
            fzgm.decompress(path)


class Named:
    """A path that is no text."""

    def __init__(self, name):
        self.name = name

    def __fspath__(self):
        return self.name


@pytest.mark.parametrize("path", ["\ud800", Path("\ud800"), Named("\ud800"), Named(5)], ids=lambda path: type(path).__name__)
def test_names_that_no_file_has(path):
    for call in (fzgm.info, lambda p: fzgm.preview(p, 2), lambda p: fzgm.decompress_region(p, 0)):
        with pytest.raises(fzgm.CallError, match="^the path is .*; expected the path of a file"):
            call(path)


def test_names_of_files_in_other_encodings(tmp_path):
    name = os.path.join(os.fsencode(tmp_path), b"\xff.fzm")
    with open(name, "wb") as file:
        file.write(CONTAINER)
    assert fzgm.info(os.fsdecode(name)) == fzgm.info(Named(name)) == fzgm.info(CONTAINER)


@pytest.mark.parametrize("region", [np.s_[::0], np.s_[::2], np.s_[::-1], ..., None, np.s_[0, ...], np.s_["\ud800":], 10**5000, np.s_[:: 10**5000], [0], X], ids=shown)
def test_wrong_regions(region):
    with pytest.raises(fzgm.CallError, match=r"^region\[\d\] "):
        fzgm.decompress_region(CONTAINER, region)


def fzm_with_shape(dims):
    """An FZM file of no elements with other dimensions, the fastest first; checksums are right."""
    made = bytearray(fzgm.compress(np.zeros((1, 1, 0), "f4"), error_bound=1, mode="abs"))
    at = made.index(b"FZX1") + 20
    struct.pack_into("<3Q", made, at, *dims)
    length = int.from_bytes(made[24:32], "little")
    struct.pack_into("<I", made, 76, zlib.crc32(made[:76] + bytes(4) + made[80:length]))
    return bytes(made)


def test_heads_with_no_elements_and_long_dimensions():
    """A length of 0 counts as 1 in the limit of 2^56 bytes, in every number of dimensions."""
    for dims in ((0, 2**53, 2), (2**54, 0, 1)):
        made = fzm_with_shape(dims)
        assert fzgm.info(made).shape == dims[::-1]
        assert fzgm.decompress(made).shape == dims[::-1]
    for dims in ((0, 2**54, 2), (0, 2**63, 2**63), (2**64 - 1, 2**64 - 1, 0), (2**55, 0, 1)):
        for call in (fzgm.info, fzgm.decompress, lambda c: fzgm.preview(c, 2), lambda c: fzgm.decompress_region(c, 0)):
            with pytest.raises(fzgm.ContainerError, match="at most 2.56 bytes"):
                call(fzm_with_shape(dims))


def test_results_that_no_memory_holds(monkeypatch):
    """Without a system that has no memory: numpy as it fails on one."""
    def empty(shape, dtype):
        raise MemoryError
    encoder = fzgm.Encoder(X.shape, X.dtype, error_bound=1)
    monkeypatch.setattr(np, "empty", empty)
    calls = (fzgm.decompress, lambda c: fzgm.preview(c, 2), lambda c: fzgm.decompress_region(c, 0), encoder.decoder().decompress)
    for call in calls:
        with pytest.raises(fzgm.RoomError, match="^the system has no memory for an array of float32 and shape .*; ") as caught:
            call(CONTAINER)
        assert caught.value.status == 43 and isinstance(caught.value, MemoryError)


def test_the_memory_limit_comes_before_the_result(monkeypatch):
    packed = fzgm.compress(np.zeros(100_000, "f4"), error_bound=1, mode="abs", preset="high")
    monkeypatch.setattr(np, "empty", None)
    with pytest.raises(fzgm.RoomError, match="limit") as caught:
        fzgm.decompress(packed, max_memory_bytes=1)
    assert caught.value.status == 42


@pytest.mark.parametrize("buffer", [b"", b"x", b"garbage" * 100, bytes(5000), memoryview(CONTAINER)[::2]], ids=len)
def test_garbage(buffer):
    for call in (fzgm.decompress, fzgm.info):
        with pytest.raises(fzgm.Error, match="container"):
            call(buffer)


def test_damage():
    source = random.Random(7)
    for preset in ("fast", "high", "pfpl", "lc_cr"):
        container = fzgm.compress(X, error_bound=1e-3, preset=preset)
        for cut in range(0, len(container), 37):
            with pytest.raises(fzgm.Error):
                fzgm.decompress(container[:cut])
        for _ in range(300):
            damaged = bytearray(container)
            damaged[source.randrange(len(damaged))] ^= 1 << source.randrange(8)
            try:
                fzgm.decompress(damaged)
            except fzgm.Error as error:
                assert str(error)


def test_statuses():
    with pytest.raises(fzgm.ContainerError) as caught:
        fzgm.decompress(b"garbage" * 100)
    assert caught.value.status == 32
    with pytest.raises(fzgm.RoomError) as caught:
        fzgm.decompress(fzgm.compress(np.zeros(100_000, "f4"), error_bound=1, mode="abs", preset="high"), max_memory_bytes=1)
    assert caught.value.status == 42


@pytest.mark.parametrize(
    "call",
    [
        lambda: fzgm.Pipeline.from_text("nonsense"), lambda: fzgm.Pipeline.from_toml("a = ["),
        lambda: fzgm.Pipeline.from_preset("fast", "f16"), lambda: fzgm.Pipeline.from_preset("fast", "f32", color=1),
        lambda: fzgm.Pipeline.from_preset("fast", "f32", mode="x"), lambda: fzgm.Pipeline.from_preset("fast", "u8"),
        lambda: fzgm.Encoder((3, "a"), "f4", error_bound=1), lambda: fzgm.Encoder((3,), "f2", error_bound=1),
        lambda: fzgm.Encoder((3,), "nonsense", error_bound=1), lambda: fzgm.Encoder((2**50, 2**50), "f4", error_bound=1),
        lambda: fzgm.Decoder(None),
    ],
)
def test_wrong_objects(call):
    with pytest.raises(fzgm.Error, match=r"\w{3,} "):
        call()


def test_wrong_types_for_pipelines():
    pipeline = fzgm.Pipeline.from_preset("pfpl", "f32")
    for call in (
        lambda: fzgm.Pipeline.from_text(5), lambda: fzgm.Pipeline.from_toml(None), lambda: fzgm.Pipeline.from_preset("fast", None),
        lambda: pipeline.set(error_bound=[1]), lambda: pipeline.set(error_bound=None), lambda: pipeline.set(error_bound=np.zeros(2)),
        lambda: pipeline.set(5), lambda: fzgm.Pipeline(),
    ):
        with pytest.raises(TypeError, match=r"\w{3,} "):
            call()


def test_numbers_that_no_parameter_has():
    pipeline = fzgm.Pipeline.from_preset("pfpl", "f32")
    for parameters in ({"quant_radius": 2**70}, {"chunk_size": 10**30}, {"chunk_size": -(10**5000)}, {"error_bound": Fraction(10**400)}):
        with pytest.raises(fzgm.CallError, match="^parameter .*; expected a number that fits into 64 bits"):
            pipeline.set(**parameters)


def test_text_that_is_no_unicode():
    pipeline = fzgm.Pipeline.from_preset("pfpl", "f32")
    for call in (
        fzgm.Pipeline.from_text, fzgm.Pipeline.from_toml, lambda text: fzgm.Pipeline.from_preset(text, "f32"),
        lambda text: fzgm.Pipeline.from_preset("fast", text), lambda text: pipeline.set(mode=text), lambda text: pipeline.set(**{text: 1}),
        lambda text: fzgm.compare(X, X, error_bound=1, mode=text),
    ):
        with pytest.raises(fzgm.CallError, match="character 3 is a lone surrogate; expected"):
            call("abc\ud800")
