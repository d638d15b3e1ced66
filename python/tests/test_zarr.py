"""The codecs, which zarr and numcodecs find by their names."""

import json
import subprocess
import sys

import fzgm
import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
numcodecs = pytest.importorskip("numcodecs")


def field(shape=(20, 30, 40), dtype="f4"):
    return np.random.default_rng(5).normal(size=shape).cumsum(-1).astype(dtype)


@pytest.mark.parametrize("shape", [(1000,), (20, 30, 40), (3, 4, 20, 30)], ids=len)
@pytest.mark.parametrize("dtype", ["f4", "f8", ">f4"])
def test_round_trip(tmp_path, shape, dtype):
    from fzgm.zarr import FzgmCodec

    x = field(shape, dtype)
    chunks = tuple(max(1, n // 2) + 1 for n in shape)
    codec = FzgmCodec(error_bound=1e-3, mode="abs")
    zarr.create_array(tmp_path / "x.zarr", data=x, chunks=chunks, serializer=codec, compressors=None)
    y = zarr.open_array(tmp_path / "x.zarr")[:]
    native = x.dtype.newbyteorder("=")
    assert fzgm.compare(x, y.astype(native), error_bound=1e-3, mode="abs").kept
    stored = sum(f.stat().st_size for f in (tmp_path / "x.zarr").rglob("*") if f.is_file())
    assert stored < 0.8 * x.nbytes


def test_another_process_reads_it_by_the_name_alone(tmp_path):
    from fzgm.zarr import FzgmCodec

    x = field()
    zarr.create_array(tmp_path / "x.zarr", data=x, serializer=FzgmCodec(error_bound=1e-2), compressors=None)
    code = "import sys, zarr; print(zarr.open_array(sys.argv[1])[:].sum())"
    out = subprocess.run([sys.executable, "-c", code, str(tmp_path / "x.zarr")], check=True, capture_output=True, text=True).stdout
    assert float(out) == pytest.approx(float(zarr.open_array(tmp_path / "x.zarr")[:].sum()), rel=1e-6)


def test_integers_and_pipelines():
    from fzgm.zarr import FzgmCodec

    store = zarr.storage.MemoryStore()
    x = np.arange(1000).reshape(10, 100)
    zarr.create_array(store, name="i", data=x, serializer=FzgmCodec(preset="bits"), compressors=None)
    assert np.array_equal(zarr.open_array(store, path="i")[:], x)
    pipeline = fzgm.Pipeline.from_preset("lc_cr", "f32", error_bound=1e-2, mode="abs")
    codec = FzgmCodec(pipeline=pipeline.to_toml())
    assert FzgmCodec.from_dict(codec.to_dict()) == codec
    zarr.create_array(store, name="p", data=field(), serializer=codec, compressors=None)
    assert fzgm.compare(field(), zarr.open_array(store, path="p")[:], error_bound=1e-2, mode="abs").kept


def test_what_cannot_be_written_is_refused_when_the_array_is_created():
    from fzgm.zarr import FzgmCodec

    for codec, dtype in ((FzgmCodec(), "f4"), (FzgmCodec(error_bound=1e-3), "i4"), (FzgmCodec(preset="bits"), "c8")):
        with pytest.raises(fzgm.Error):
            zarr.create_array(zarr.storage.MemoryStore(), shape=(10,), dtype=dtype, serializer=codec, compressors=None)


def test_numcodecs():
    codec = numcodecs.get_codec({"id": "fzgm", "error_bound": 1e-3, "mode": "abs"})
    x = field()
    encoded = codec.encode(x)
    y = codec.decode(encoded)
    assert fzgm.compare(x, y, error_bound=1e-3, mode="abs").kept
    out = np.empty_like(x)
    codec.decode(encoded, out=out)
    assert np.array_equal(out, y)
    assert numcodecs.get_codec(codec.get_config()) == codec
    room = bytearray(x.nbytes)
    assert codec.decode(encoded, out=room) is room and room == y.tobytes()


@pytest.mark.parametrize(
    "out",
    [
        np.empty((20, 30, 40), "i4"), np.empty((30, 20, 40), "f4"), np.empty((20, 30, 40), ">f4"), np.empty(24000, "f4"), bytearray(10),
        np.empty((20, 30, 40), "M8[s]"), "text", 5,
    ],
    ids=lambda out: f"{type(out).__name__}-{getattr(out, 'dtype', '')}",
)
def test_numcodecs_destinations_of_another_type_or_shape(out):
    codec = numcodecs.get_codec({"id": "fzgm", "error_bound": 1e-3})
    encoded = codec.encode(field())
    with pytest.raises(fzgm.CallError, match=r"^out .*float32.* shape \(20, 30, 40\)"):
        codec.decode(encoded, out=out)


def test_numcodecs_destinations_that_are_no_place():
    codec = numcodecs.get_codec({"id": "fzgm", "error_bound": 1e-3})
    encoded = codec.encode(field())
    with pytest.raises(fzgm.CallError, match="^out "):
        codec.decode(encoded, out=bytes(96000))


def test_numcodecs_destinations_with_gaps():
    codec = numcodecs.get_codec({"id": "fzgm", "error_bound": 1e-3})
    encoded, room = codec.encode(field()), np.full((20, 30, 80), -7, "f4")
    codec.decode(encoded, out=room[:, :, ::2])
    assert np.array_equal(room[:, :, ::2], fzgm.decompress(encoded))
    assert (room[:, :, 1::2] == -7).all()


@pytest.mark.parametrize("key, changed", [("data_type", "int32"), ("data_type", "float64"), ("shape", [20, 60, 20]), ("shape", [20, 30, 41])], ids=str)
def test_chunks_of_another_type_or_shape_than_the_metadata(tmp_path, key, changed):
    """The metadata of an array is changed behind its chunks."""
    from fzgm.zarr import FzgmCodec

    zarr.create_array(tmp_path / "x.zarr", data=field((20, 40, 30)), chunks=(20, 40, 30), serializer=FzgmCodec(preset="bits"), compressors=None)
    path = tmp_path / "x.zarr" / "zarr.json"
    metadata = json.loads(path.read_text())
    metadata[key] = changed
    if key == "shape":
        metadata["chunk_grid"]["configuration"]["chunk_shape"] = changed
    path.write_text(json.dumps(metadata))
    array = zarr.open_array(tmp_path / "x.zarr")
    with pytest.raises(fzgm.CallError, match=rf"^the chunk contains float32 of shape \(20, 40, 30\), but the metadata of its array has {array.dtype} of shape \({str(list(array.shape))[1:-1]}\)"):
        array[:]


def test_chunks_of_any_number_of_dimensions():
    from fzgm.zarr import FzgmCodec

    for shape in ((), (2, 1, 2, 1, 3, 1, 2, 1, 4)):
        store = zarr.storage.MemoryStore()
        zarr.create_array(store, data=field((*shape, 1))[..., 0], serializer=FzgmCodec(preset="bits"), compressors=None)
        assert np.array_equal(zarr.open_array(store)[...], field((*shape, 1))[..., 0])


def test_fill_values_that_are_none(tmp_path):
    from fzgm.zarr import FzgmCodec

    for nothing in (float("nan"), float("inf")):
        codec = FzgmCodec(error_bound=1e-3, fill_value=nothing)
        assert codec == FzgmCodec(error_bound=1e-3)
        assert numcodecs.get_codec({"id": "fzgm", "error_bound": 1e-3, "fill_value": nothing}).get_config()["fill_value"] is None
    zarr.create_array(tmp_path / "x.zarr", data=field(), serializer=codec, compressors=None)
    assert "NaN" not in json.dumps(json.loads((tmp_path / "x.zarr" / "zarr.json").read_text())["codecs"])


def test_pipelines_are_text():
    from fzgm.zarr import FzgmCodec

    for wrong in (fzgm.Pipeline.from_preset("fast", "f32"), 5):
        with pytest.raises(fzgm.CallError, match="^pipeline is of type .*; expected text or TOML"):
            zarr.create_array(zarr.storage.MemoryStore(), shape=(10,), dtype="f4", serializer=FzgmCodec(pipeline=wrong), compressors=None)


def test_arrays_of_closed_stores(tmp_path):
    """zarr opens a closed store again, if it can."""
    x = field()
    with zarr.storage.ZipStore(tmp_path / "x.zip", mode="w") as store:
        zarr.create_array(store, data=x)
    store = zarr.storage.ZipStore(tmp_path / "x.zip", mode="r")
    array = zarr.open_array(store)
    store.close()
    assert fzgm.compress(array, preset="bits") == fzgm.compress(x, preset="bits")
    store.close()
    (tmp_path / "x.zip").unlink()
    encoder = fzgm.Encoder(x.shape, "f4", preset="bits")
    for call in (lambda a: fzgm.compress(a, preset="bits"), lambda a: fzgm.compare(x, a), encoder.compress):
        with pytest.raises(fzgm.CallError, match="of type Array cannot be converted to a numpy array: .*; expected"):
            call(array)
    for call in (fzgm.info, fzgm.decompress):
        with pytest.raises(fzgm.CallError, match="^the container .*; expected"):
            call(store)


def test_arrays_with_damaged_chunks_raise_the_exception_of_the_chunk(tmp_path):
    from fzgm.zarr import FzgmCodec

    array = zarr.create_array(tmp_path / "x.zarr", data=field(), serializer=FzgmCodec(error_bound=1e-2), compressors=None)
    chunk = next(path for path in (tmp_path / "x.zarr" / "c").rglob("*") if path.is_file())
    chunk.write_bytes(b"garbage" * 100)
    with pytest.raises(fzgm.ContainerError):
        fzgm.compress(array, preset="bits")
