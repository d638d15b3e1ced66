"""Pipelines that are chosen by the values of an array."""

import dataclasses
import warnings

import fzgm
import numpy as np
import pytest
from fzgm._arrays import shown
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

GOALS = ["balanced", "speed", "ratio"]
FLOATS = ["f4", "f8"]


def field(dtype="f4", shape=(20, 60, 80)):
    z, y, x = np.meshgrid(*map(np.arange, shape), indexing="ij")
    return (np.sin(0.11 * x) * np.cos(0.07 * y + 0.3 * z)).astype(dtype)


def noisy(dtype="f4"):
    x = field(dtype)
    return x + (0.01 * np.random.default_rng(1).normal(size=x.shape)).astype(dtype)


def unpacked(dtype="f4"):
    """16-bit integers, unpacked by the formula of xarray: times a factor, plus an offset, in the type of the result."""
    packed = np.round(field() * 3000).astype("i2")
    values = packed.astype(dtype)
    values *= np.asarray(0.0123, dtype)
    values += np.asarray(273.15, dtype)
    return values


def restored(x, pipeline):
    return fzgm.decompress(fzgm.compress(x, pipeline=pipeline), shape=x.shape)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("mode, bound", [(None, 1e-3), ("noa", 1e-2), ("abs", 1e-4), ("prel", 1e-3), ("rel", 1e-2)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_bound_is_kept(dtype, mode, bound, goal):
    x = noisy(dtype)
    choice = fzgm.choose(x, error_bound=bound, mode=mode, goal=goal)
    assert choice.mode == (mode or "noa") and choice.error_bound == bound and choice.lattice is None
    assert fzgm.compare(x, restored(x, choice.pipeline), error_bound=bound, mode=mode).kept
    # The choice for one array keeps the bound for all others.
    y = x[:, ::-1] * 7
    assert fzgm.compare(y, restored(y, choice.pipeline), error_bound=bound, mode=mode).kept
    info = fzgm.info(fzgm.compress(x, pipeline=choice.pipeline))
    assert info.mode == choice.mode and info.error_bound == bound


def test_goals():
    x = noisy()
    fast, balanced, ratio = (fzgm.choose(x, error_bound=1e-3, goal=goal) for goal in ("speed", "balanced", "ratio"))
    assert fast.preset == "fast" and fast.expected_ratio == 0 and ratio.preset == "high"
    assert fzgm.choose(x, error_bound=1e-3) == balanced and balanced.expected_ratio > 1
    lengths = [len(fzgm.compress(x, pipeline=choice.pipeline, container="compact")) for choice in (ratio, balanced, fast)]
    assert lengths == sorted(lengths)
    assert x.nbytes / lengths[1] == pytest.approx(balanced.expected_ratio, rel=0.2)


@pytest.mark.filterwarnings("ignore::fzgm.FillValueWarning")
@settings(max_examples=60, deadline=None)
@given(
    x=st.sampled_from(FLOATS).flatmap(lambda t: hnp.arrays(t, hnp.array_shapes(min_dims=0, max_dims=9, min_side=0, max_side=4))),
    goal=st.sampled_from(GOALS),
    aim=st.sampled_from([{"error_bound": 1e-2}, {"error_bound": 1e-3, "mode": "abs"}, {"lossless": True}, {"target_ratio": 4}, {"target_psnr": 60}]),
)
def test_any_floats(x, goal, aim):
    choice = fzgm.choose(x, goal=goal, **aim)
    y = restored(x, choice.pipeline)
    if choice.mode == "lossless":
        assert x.tobytes() == y.tobytes()
    else:
        assert fzgm.compare(x, y, error_bound=choice.error_bound, mode=choice.mode).kept


@pytest.mark.parametrize("goal", ["balanced", "ratio"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_unpacked_integers_are_on_a_lattice(dtype, goal):
    x = unpacked(dtype)
    choice = fzgm.choose(x, lossless=True, goal=goal)
    assert choice.mode == "lossless" and choice.error_bound == 0 and choice.lattice
    assert restored(x, choice.pipeline).tobytes() == x.tobytes()
    container = fzgm.compress(x, pipeline=choice.pipeline)
    assert len(container) < 0.7 * len(fzgm.compress(x, preset="bits"))
    # A bound far below the step is no saving.
    assert fzgm.choose(x, error_bound=1e-9, goal=goal).mode == "lossless"
    assert fzgm.choose(noisy(dtype), lossless=True, goal=goal).lattice is None


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"])
def test_integers_are_lossless(dtype):
    x = np.arange(5000).reshape(50, 100).astype(dtype)
    for goal in GOALS:
        assert restored(x, fzgm.choose(x, lossless=True, goal=goal).pipeline).tobytes() == x.tobytes()
        with pytest.raises(fzgm.PipelineError, match="only floats"):
            fzgm.choose(x, error_bound=1, mode="abs", goal=goal)


@pytest.mark.parametrize("goal", ["balanced", "ratio"])
def test_targets(goal):
    x = noisy()
    for target in (6, 12):
        choice = fzgm.choose(x, target_ratio=target, goal=goal)
        container = fzgm.compress(x, pipeline=choice.pipeline, container="compact")
        assert choice.mode == "noa" and x.nbytes / len(container) == pytest.approx(target, rel=0.06)
    for target in (50, 80):
        choice = fzgm.choose(x, target_psnr=target, goal=goal)
        assert fzgm.compare(x, restored(x, choice.pipeline)).psnr == pytest.approx(target, abs=1)


def test_fill_values():
    x = noisy()
    x[::3, ::5] = 1e20
    choice = fzgm.choose(x, error_bound=1e-3, fill_value=1e20)
    y = restored(x, choice.pipeline)
    assert fzgm.compare(x, y, error_bound=1e-3, fill_value=1e20).kept
    assert fzgm.info(fzgm.compress(x, pipeline=choice.pipeline)).outlier_threshold == float(np.float32(1e20))


def test_layouts_and_lists():
    x = noisy()
    choice = fzgm.choose(x, error_bound=1e-3)
    assert choice == fzgm.choose(np.asfortranarray(x), error_bound=1e-3) == fzgm.choose(x.astype(">f4"), error_bound=1e-3)
    assert fzgm.choose([1.0, 2.0, 4.0], error_bound=1e-3) == fzgm.choose(np.array([1.0, 2.0, 4.0]), error_bound=1e-3)


def test_a_choice_is_immutable():
    choice = fzgm.choose(noisy(), error_bound=1e-3)
    assert isinstance(choice.pipeline, fzgm.Pipeline) and hash(choice) == hash(fzgm.choose(noisy(), error_bound=1e-3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        choice.preset = "fast"


@pytest.mark.parametrize("preset, goal", [("auto", "balanced"), ("auto:balanced", "balanced"), ("auto:speed", "speed"), ("auto:ratio", "ratio")])
def test_compress_chooses(preset, goal):
    x = noisy()
    for arguments in ({"error_bound": 1e-3}, {"error_bound": 1e-2, "mode": "abs"}, {"error_bound": 1e-2, "mode": "rel"}):
        want = fzgm.compress(x, pipeline=fzgm.choose(x, goal=goal, **arguments).pipeline)
        assert fzgm.compress(x, preset=preset, **arguments) == want
        room = np.zeros(2 * x.nbytes, "u1")
        assert fzgm.compress(x, preset=preset, out=room, **arguments).tobytes() == want
    assert fzgm.compress(x, error_bound=1e-3) == fzgm.compress(x, error_bound=1e-3, preset="fast")


def test_compress_chooses_with_fill_values():
    x = noisy()
    x[0, 0, :9] = 1e20
    choice = fzgm.choose(x, error_bound=1e-3, fill_value=1e20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        want = fzgm.compress(x, pipeline=choice.pipeline)
        for out in (None, np.zeros(2 * x.nbytes, "u1")):
            assert bytes(fzgm.compress(x, preset="auto", error_bound=1e-3, fill_value=1e20, out=out)) == want
            fzgm.compress(x, preset="auto:speed", error_bound=1e-3, fill_value=float("nan"), out=out)
    for out in (None, np.zeros(2 * x.nbytes, "u1")):
        with pytest.warns(fzgm.FillValueWarning, match="1e.20") as caught:
            fzgm.compress(x, preset="auto:speed", error_bound=1e-3, out=out)
        assert caught[0].filename == __file__


X = np.linspace(0, 1, 60, dtype="f4").reshape(3, 4, 5)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({}, "^none of them given; expected exactly one of error_bound, lossless=True, target_ratio, and target_psnr"),
        ({"lossless": False}, "^none of them given"),
        ({"error_bound": 1, "lossless": True}, "^error_bound and lossless given"),
        ({"error_bound": 1, "target_ratio": 4}, "^error_bound and target_ratio given"),
        ({"target_psnr": 60, "target_ratio": 4}, "^target_ratio and target_psnr given"),
        ({"lossless": True, "mode": "abs"}, "^mode is given without error_bound"),
        ({"target_ratio": 4, "mode": "noa"}, "^mode is given without error_bound"),
        ({"lossless": 1}, "^lossless is 1; expected True or False"),
        ({"error_bound": 1, "goal": "size"}, "goal `size`.*speed, balanced, ratio"),
        ({"error_bound": 1, "goal": 5}, "^goal is of type int"),
        ({"error_bound": 1, "goal": "\ud800"}, "lone surrogate"),
        ({"error_bound": 1, "mode": 5}, "^mode is of type int"),
        ({"error_bound": 1, "mode": "lossless"}, "lossless"),
        ({"error_bound": 1, "mode": "target_ratio"}, "target_ratio"),
        ({"error_bound": "a"}, "^error_bound is 'a'; expected a number"),
        ({"error_bound": float("nan")}, "error_bound"),
        ({"error_bound": 0}, "error_bound"),
        ({"error_bound": 10**400}, "error_bound"),
        ({"target_ratio": 0.5}, "target_ratio"),
        ({"target_ratio": "a"}, "^target_ratio is 'a'; expected a number"),
        ({"target_psnr": -1}, "target_psnr"),
        ({"target_psnr": float("inf")}, "target_psnr"),
        ({"error_bound": 1, "fill_value": 0}, "^fill_value is 0"),
    ],
    ids=shown,
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(fzgm.Error, match=message) as caught:
        fzgm.choose(X, **arguments)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("x", ["text", None, np.zeros(3, "f2"), np.ma.masked_array([1.0], [True])], ids=shown)
def test_what_is_no_array_of_numbers(x):
    with pytest.raises(fzgm.Error):
        fzgm.choose(x, error_bound=1)


def test_automatic_presets_need_values_and_a_bound():
    for preset in ("auto", "auto:speed", "auto:ratio"):
        with pytest.raises(fzgm.CallError, match=rf"^error_bound is missing, but preset {preset} requires it; .*fzgm\.choose\(x, lossless=True\)"):
            fzgm.compress(X, preset=preset)
        with pytest.raises(fzgm.CallError, match=rf"^preset is {preset}, .*fzgm\.choose\(x, \.\.\.\)"):
            fzgm.Encoder(X.shape, X.dtype, preset=preset, error_bound=1e-3)
    with pytest.raises(fzgm.CallError, match="^pipeline and preset are both given"):
        fzgm.compress(X, preset="auto", pipeline=fzgm.Pipeline.from_preset("fast", "f32"))
    with pytest.raises(fzgm.PipelineError, match="auto:size"):
        fzgm.compress(X, preset="auto:size", error_bound=1e-3)


def test_the_filter_and_the_codec_reject_automatic_presets():
    hdf5 = pytest.importorskip("fzgm.hdf5")
    with pytest.raises(fzgm.CallError, match=r"^preset is 'auto'.*fzgm\.choose\(x, \.\.\.\)"):
        hdf5.filter(abs=1e-3, preset="auto")
    zarr = pytest.importorskip("zarr")
    from fzgm.zarr import FzgmCodec

    with pytest.raises(fzgm.CallError, match=r"fzgm\.choose\(x, \.\.\.\)"):
        zarr.create_array({}, data=X, serializer=FzgmCodec(error_bound=1e-3, preset="auto"), compressors=None)
    chosen = fzgm.choose(X, error_bound=1e-3).pipeline
    codec = FzgmCodec(pipeline=chosen.to_toml())
    assert fzgm.compare(X, zarr.create_array({}, data=X, serializer=codec, compressors=None)[:], error_bound=1e-3).kept
