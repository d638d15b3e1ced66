"""Round trips of arrays: shapes, types, orders, destinations."""

import importlib.metadata
import pickle
import warnings
from fractions import Fraction

import fzgm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

ALL = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"]
FLOATS = ["f4", "f8"]
BOUNDED = [p.name for p in fzgm.presets() if not p.lossless]


def field(shape=(6, 7, 8), dtype="f4", seed=1):
    steps = np.random.default_rng(seed).normal(size=shape)
    return steps.cumsum(axis=-1).astype(dtype)


def same_bits(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def assert_bound(x, y, bound, mode, fill=None):
    """The bound in exact arithmetic; all values without one bit for bit."""
    assert x.dtype == y.dtype and x.shape == y.shape
    threshold = abs(float(x.dtype.type(fill))) if fill is not None else float("inf")
    bounded = np.isfinite(x) & (np.abs(x) < threshold)
    assert x[~bounded].tobytes() == y[~bounded].tobytes()
    values = [Fraction(float(v)) for v in x[bounded].ravel()]
    if not values:
        return
    scale = {"abs": 1, "noa": max(values) - min(values), "prel": max(map(abs, values))}
    for a, b in zip(values, y[bounded].ravel()):
        allowed = Fraction(bound) * (abs(a) if mode == "rel" else scale[mode])
        assert abs(a - Fraction(float(b))) <= allowed


@pytest.mark.parametrize("dtype", ALL)
def test_bits_loses_nothing(dtype):
    x = (field() * 10).astype(dtype)
    assert same_bits(fzgm.decompress(fzgm.compress(x, preset="bits")), x)


@pytest.mark.parametrize("preset", BOUNDED)
@pytest.mark.parametrize("dtype", FLOATS)
def test_presets_keep_the_bound(preset, dtype):
    x = field(dtype=dtype)
    x[0, 0, 0], x[1, 1, 1], x[2, 2, 2] = np.nan, -np.inf, 1e20
    y = fzgm.decompress(fzgm.compress(x, error_bound=1e-3, preset=preset, fill_value=1e20))
    assert_bound(x, y, 1e-3, "noa", fill=1e20)


@settings(max_examples=150, deadline=None)
@given(
    x=st.sampled_from(FLOATS).flatmap(
        lambda t: hnp.arrays(t, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=9))
    ),
    bound=st.sampled_from([1e-1, 1e-3, 1e-6]),
    mode=st.sampled_from(["abs", "noa", "prel"]),
    preset=st.sampled_from(BOUNDED),
    fill=st.sampled_from([None, 1e20, -9999.0]),
)
def test_any_floats(x, bound, mode, preset, fill):
    container = fzgm.compress(x, error_bound=bound, mode=mode, preset=preset, fill_value=fill)
    y = fzgm.decompress(container, shape=x.shape)
    assert_bound(x, y, bound, mode, fill)
    assert fzgm.compare(x, y, error_bound=bound, mode=mode, fill_value=fill).kept


@settings(max_examples=60, deadline=None)
@given(x=st.sampled_from(ALL).flatmap(lambda t: hnp.arrays(t, hnp.array_shapes(max_dims=5, min_side=0, max_side=6))))
def test_any_array_without_loss(x):
    assert same_bits(fzgm.decompress(fzgm.compress(x, preset="bits"), shape=x.shape), x)


def test_the_version_is_that_of_the_package():
    assert fzgm.__version__ == importlib.metadata.version("fzgm")


def test_the_last_dimension_is_the_fastest():
    info = fzgm.info(fzgm.compress(field((3, 4, 5)), error_bound=1e-3))
    assert info.shape == (3, 4, 5)
    parameters = dict(info.stages)["fast"]
    assert [parameters[d] for d in ("dim_x", "dim_y", "dim_z")] == ["5", "4", "3"]


@pytest.mark.parametrize("preset", ["fast", "high", "pfpl"])
def test_more_than_three_dimensions_are_kept(preset):
    x = field((2, 3, 4, 1, 5))
    for container in ("fzm", "compact"):
        packed = fzgm.compress(x, error_bound=1e-3, preset=preset, container=container)
        y = fzgm.decompress(packed)
        assert fzgm.info(packed).shape == x.shape
        assert_bound(x, y, 1e-3, "noa")
        assert same_bits(fzgm.decompress(packed, shape=(6, 4, 5)), y.reshape(6, 4, 5))
        assert same_bits(fzgm.preview(packed, 2), np.ascontiguousarray(y[::2, ::2, ::2, ::2, ::2]))
        if preset != "pfpl":
            for region in (np.s_[1, :, 1:3], np.s_[:, 2, :, 0, 4], np.s_[:, 1:2, ::1]):
                expected = np.ascontiguousarray(y[region]).reshape(y[region].shape)
                assert same_bits(fzgm.decompress_region(packed, region), expected)
    encoder = fzgm.Encoder(x.shape, x.dtype, error_bound=1e-3, preset=preset)
    assert encoder.decoder().decompress(encoder.compress(x)).shape == x.shape


def test_more_than_eight_dimensions_are_joined():
    x = field((2, 3, 1, 1, 2, 1, 2, 1, 4))
    container = fzgm.compress(x, error_bound=1e-3)
    assert fzgm.decompress(container).shape == (6, 1, 1, 2, 1, 2, 1, 4)
    assert_bound(x, fzgm.decompress(container, shape=x.shape), 1e-3, "noa")


@pytest.mark.parametrize(
    "change",
    [np.asfortranarray, lambda x: x[::2, ::-1], lambda x: x.T, lambda x: x.astype(x.dtype.newbyteorder())],
    ids=["fortran", "strides", "transposed", "big-endian"],
)
def test_any_layout(change):
    x = change(field())
    y = fzgm.decompress(fzgm.compress(x, error_bound=1e-3, mode="abs"))
    assert y.dtype.isnative
    assert_bound(x.astype(y.dtype), y, 1e-3, "abs")
    plain = np.ascontiguousarray(x, dtype=y.dtype)
    assert fzgm.compress(x, error_bound=1e-3) == fzgm.compress(plain, error_bound=1e-3)


def test_read_only_arrays_and_buffers():
    x = field()
    x.setflags(write=False)
    container = fzgm.compress(x, error_bound=1e-3)
    y = fzgm.decompress(container)
    for buffer in (bytearray(container), memoryview(container), np.frombuffer(container, np.uint8)):
        assert same_bits(fzgm.decompress(buffer), y)


def test_scalars_and_lists():
    packed = fzgm.compress(np.float32(2.5), error_bound=1e-3)
    assert fzgm.decompress(packed).shape == (1,) and fzgm.decompress(packed, shape=()).shape == ()
    assert fzgm.compare(np.float32(2.5), fzgm.decompress(packed), error_bound=1e-3, details=True).kept
    assert fzgm.decompress(fzgm.compress([[1, 2], [3, 4]], preset="bits")).tolist() == [[1, 2], [3, 4]]


def test_out():
    x = field()
    container = fzgm.compress(x, error_bound=1e-3)
    out = np.empty_like(x)
    assert fzgm.decompress(container, out=out) is out
    assert same_bits(out, fzgm.decompress(container))
    wrong = [out.astype("f8"), out[:-1], out.tolist(), out.astype(">f4")]
    read_only = out.copy()
    read_only.setflags(write=False)
    for other in (*wrong, read_only):
        with pytest.raises(fzgm.CallError, match="^out "):
            fzgm.decompress(container, out=other)
    with pytest.raises(fzgm.CallError, match="shape and out"):
        fzgm.decompress(container, out=out, shape=x.shape)


def test_containers_in_memory_of_the_caller():
    x = field()
    encoder = fzgm.Encoder(x.shape, x.dtype, error_bound=1e-3)
    room, packed = np.full(encoder.max_compressed_bytes, 7, "u1"), fzgm.compress(x, error_bound=1e-3)
    for call in (encoder.compress, lambda x, out: fzgm.compress(x, error_bound=1e-3, out=out)):
        room[:] = 7
        part = call(x, out=room)
        assert part.base is room and part.tobytes() == packed and (room[len(packed) :] == 7).all()
        assert same_bits(fzgm.decompress(part), fzgm.decompress(packed))
        for wrong in (room.tolist(), room.view("i1"), room[::2], np.frombuffer(packed, "u1"), x.view("u1").reshape(-1)):
            with pytest.raises(fzgm.CallError, match="^out "):
                call(x, out=wrong)
        with pytest.raises(fzgm.RoomError):
            call(x, out=room[: len(packed) - 1])


def test_encoder_and_decoder():
    encoder = fzgm.Encoder((6, 7, 8), "f4", error_bound=1e-3, preset="high", threads=2)
    decoder = encoder.decoder()
    for seed in range(4):
        x = field(seed=seed)
        container = encoder.compress(x)
        assert len(container) <= encoder.max_compressed_bytes
        assert container == fzgm.compress(x, error_bound=1e-3, preset="high")
        assert same_bits(decoder.decompress(container), fzgm.decompress(container))
    out = np.empty_like(x)
    assert decoder.decompress(container, out=out) is out
    for wrong in (x[:-1], x.astype("f8")):
        with pytest.raises(fzgm.CallError, match="the encoder is for"):
            encoder.compress(wrong)
    with pytest.raises(fzgm.CallError, match="plan"):
        decoder.decompress(fzgm.compress(x[:-1], error_bound=1e-3, preset="high"))


def test_encoders_of_no_dimension():
    for dtype, arguments in (("f4", {"error_bound": 1e-3}), ("i2", {"preset": "bits"})):
        for container in ("fzm", "compact"):
            encoder = fzgm.Encoder((), dtype, container=container, **arguments)
            for x in (np.dtype(dtype).type(7), np.array(7, dtype)):
                packed = encoder.compress(x)
                assert packed == fzgm.compress(x, container=container, **arguments)
                y = encoder.decoder().decompress(packed)
                assert same_bits(y, np.array(7, dtype))
                out = np.zeros((), dtype)
                assert encoder.decoder().decompress(packed, out=out) is out and out == 7
            with pytest.raises(fzgm.CallError, match="the encoder is for"):
                encoder.compress(np.zeros(1, dtype))


def test_a_fill_value_of_nan_is_none():
    x = field()
    x[0, 0, 0] = np.nan
    assert fzgm.compress(x, error_bound=1e-3, fill_value=np.nan) == fzgm.compress(x, error_bound=1e-3)
    assert fzgm.compare(x, x, error_bound=1e-3, fill_value=float("nan")).kept


def test_regions():
    x = field((9, 40, 50))
    container = fzgm.compress(x, error_bound=1e-3)
    y = fzgm.decompress(container)
    others = [fzgm.compress(x, error_bound=1e-3, preset=preset) for preset in ("high", "pfpl")]
    for region in (np.s_[2:5, 3, -7:], np.s_[4], np.s_[-1, -1, -1], np.s_[3:3], np.s_[:, 10:20]):
        for c, whole in ((container, y), *((c, fzgm.decompress(c)) for c in others)):
            expected = np.ascontiguousarray(whole[region]).reshape(whole[region].shape)
            assert same_bits(fzgm.decompress_region(c, region), expected)
    for region in (np.s_[::2], np.s_[9], np.s_[0, 0, 0, 0], "x", np.s_[1.5], np.s_["a":]):
        with pytest.raises(fzgm.CallError, match="^region"):
            fzgm.decompress_region(container, region)


def test_threads_write_the_same_bytes():
    x = field((40, 50, 60))
    containers = {fzgm.compress(x, error_bound=1e-3, threads=n) for n in (0, 1, 2, 3)}
    assert len(containers) == 1
    assert same_bits(fzgm.decompress(containers.pop(), threads=2), fzgm.decompress(fzgm.compress(x, error_bound=1e-3)))


def test_pipelines():
    p = fzgm.Pipeline.from_preset("pfpl", "float32", error_bound=1e-2, mode="abs")
    assert p == pickle.loads(pickle.dumps(p)) == fzgm.Pipeline.from_toml(p.to_toml()) == fzgm.Pipeline.from_text(str(p))
    assert eval(repr(p)) == p and hash(eval(repr(p))) == hash(p)
    other = p.set(error_bound=1e-3)
    assert other != p and dict(other.stages[0][1])["error_bound"] == 1e-3 and dict(p.stages[0][1])["error_bound"] == 1e-2
    x = field()
    assert fzgm.compress(x, pipeline=other) == fzgm.compress(x, error_bound=1e-3, mode="abs", preset="pfpl")
    graph = fzgm.Pipeline.from_preset("lc_cr", "f32")
    assert eval(repr(graph)) == graph == pickle.loads(pickle.dumps(graph))
    assert fzgm.decompress(fzgm.compress(x, pipeline=graph)).shape == x.shape
    assert p != "pfpl"


def test_info_of_both_containers():
    x = field()
    for container in ("fzm", "compact"):
        compressed = fzgm.compress(x, error_bound=1e-3, mode="abs", fill_value=1e20, container=container)
        info = fzgm.info(compressed)
        assert (info.container, info.container_bytes, info.shape, info.dtype) == (container, len(compressed), x.shape, x.dtype)
        assert (info.mode, info.error_bound, info.outlier_threshold) == ("abs", 1e-3, float(np.float32(1e20)))
        assert_bound(x, fzgm.decompress(compressed), 1e-3, "abs")


def test_compare():
    x, y = np.array([0, 4, 5, 10], "f4"), np.array([0, 5, 5, 8], "f4")
    m = fzgm.compare(x, y, error_bound=0.25)
    assert (m.max_abs_error, m.allowed, m.worst, m.violations, m.kept) == (2, 2.5, 0.8, 0, True)
    assert not fzgm.compare(x, y, error_bound=1, mode="abs").kept
    assert fzgm.compare(x, x).psnr == float("inf")
    with pytest.raises(fzgm.CallError, match="expected the same type and shape"):
        fzgm.compare(x, y.astype("f8"))
    with pytest.raises(fzgm.CallError, match="without error_bound"):
        fzgm.compare(x, y, mode="abs")


PLAIN = np.sin(np.arange(20_000.0)).astype(np.float32)
FILLED = np.where(np.arange(20_000) % 7 == 0, np.float32(1e20), PLAIN)


@pytest.mark.parametrize("mode", ["noa", "prel"])
@pytest.mark.parametrize("preset", ["fast", "high", "pfpl"])
def test_an_undeclared_fill_value_gives_a_warning(mode, preset):
    bound = dict(error_bound=1e-3, mode=mode, preset=preset)
    with pytest.warns(fzgm.FillValueWarning, match=r"2858 elements are 1e\+20 .*fill_value=1e\+20") as seen:
        fzgm.compress(FILLED, **bound)
    assert seen[0].filename == __file__
    with pytest.warns(fzgm.FillValueWarning) as seen:
        fzgm.compress(FILLED, out=np.empty(100_000, np.uint8), **bound)
    assert seen[0].filename == __file__
    encoder = fzgm.Encoder(FILLED.shape, np.float32, **bound)
    with pytest.warns(fzgm.FillValueWarning) as seen:
        encoder.compress(FILLED)
    assert seen[0].filename == __file__


def test_no_warning_without_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fzgm.compress(PLAIN, error_bound=1e-3)
        fzgm.compress(FILLED, error_bound=1e-3, fill_value=1e20)
        fzgm.compress(FILLED, error_bound=1e-3, fill_value=float("nan"))
        fzgm.compress(FILLED, error_bound=1e-3, mode="abs")
        fzgm.compress(FILLED, preset="bits")
        fzgm.compress(FILLED.view(np.int32), preset="bits")
        fzgm.compress(FILLED.astype(np.float64)[:0], error_bound=1e-3)
