"""The codecs, which zarr and numcodecs find by their names."""

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
