"""Wrong calls end with an exception and a sentence."""

import random

import fzgm
import numpy as np
import pytest

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
    ],
    ids=str,
)
def test_wrong_arguments(arguments):
    with pytest.raises(fzgm.Error, match=r"\w{3,} "):
        fzgm.compress(X, **arguments)


def test_integers_need_a_lossless_preset():
    with pytest.raises(fzgm.PipelineError, match="bits"):
        fzgm.compress(np.arange(5), error_bound=1e-3)


@pytest.mark.parametrize("shape", [(60, 2), -1, (-3, -20), "abc", (2.5,), None and 1, object()], ids=str)
def test_wrong_shapes(shape):
    if shape is None:
        return
    with pytest.raises(fzgm.CallError, match="^shape is"):
        fzgm.decompress(CONTAINER, shape=shape)


@pytest.mark.parametrize("buffer", ["text", 5, None, object(), [1, 2]], ids=lambda b: type(b).__name__)
def test_what_is_no_buffer(buffer):
    calls = (fzgm.decompress, fzgm.info, lambda b: fzgm.decompress_region(b, 0))
    # A text is the path of a file to calls that read parts.
    for call in calls[:1] if isinstance(buffer, str) else calls:
        with pytest.raises(fzgm.CallError, match="expected bytes"):
            call(buffer)


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
        lambda: fzgm.Pipeline.from_preset("fast", "f16"), lambda: fzgm.Pipeline.from_preset("fast", "f32", colour=1),
        lambda: fzgm.Pipeline.from_preset("fast", "f32", mode="x"), lambda: fzgm.Pipeline.from_preset("fast", "u8"),
        lambda: fzgm.Encoder((3, "a"), "f4", error_bound=1), lambda: fzgm.Encoder((3,), "f2", error_bound=1),
        lambda: fzgm.Encoder((3,), "nonsense", error_bound=1), lambda: fzgm.Encoder((2**50, 2**50), "f4", error_bound=1),
        lambda: fzgm.Decoder(None),
    ],
)
def test_wrong_objects(call):
    with pytest.raises(fzgm.Error, match=r"\w{3,} "):
        call()


def test_wrong_types_for_the_extension():
    for call in (
        lambda: fzgm.Pipeline.from_text(5), lambda: fzgm.Pipeline.from_preset("fast", "f32", error_bound=[1]),
        lambda: fzgm.Pipeline.from_preset("pfpl", "f32", quant_radius=2**70), lambda: fzgm.Pipeline(),
    ):
        with pytest.raises((TypeError, OverflowError)):
            call()
