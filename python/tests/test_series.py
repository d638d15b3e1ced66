"""Series of steps."""

import threading
from pathlib import Path

import fzgm
import numpy as np
import pytest


def field(step: int, shape=(20, 30), dtype=np.float32):
    return np.sin(np.arange(np.prod(shape), dtype=np.float64) * 0.01 + step).astype(dtype).reshape(shape)


def test_steps_are_arrays(tmp_path):
    path = tmp_path / "run.fzs"
    with fzgm.SeriesWriter(path) as writer:
        assert writer.append(field(0), name="start", preset="bits") == 0
        assert writer.append(field(1)[::2, ::-1], error_bound=1e-3, mode="abs") == 1
        encoder = fzgm.Encoder((7,), np.int16, preset="bits")
        assert writer.append_container(encoder.compress(np.arange(7, dtype=np.int16)), name="täglich") == 2
        assert len(writer) == 3
    with fzgm.Series(path) as series:
        assert len(series) == 3 and series.indexed and series.lost_bytes == 0
        assert [s.name for s in series.steps] == ["start", "", "täglich"]
        assert series.steps[0].nbytes == 2400 and series.steps[2].dtype == np.int16 and series.steps[1].shape == (10, 30)
        assert series.steps[0].slabs == 1 and 0 < series.steps[0].stored_bytes < path.stat().st_size
        assert np.array_equal(series["start"], field(0)) and np.array_equal(series[0], series[-3])
        assert np.abs(series[1] - field(1)[::2, ::-1]).max() <= 1e-3
        assert [a.dtype for a in series] == [np.float32, np.float32, np.int16]
        assert "start" in series and "end" not in series and "" not in series and 0 not in series
        out = np.empty((20, 30), np.float32)
        assert series.read("start", out=out, threads=2) is out and np.array_equal(out, field(0))
        assert np.array_equal(series.read_region("start", np.s_[3:7, -1]), field(0)[3:7, -1])
        assert series.info("start").mode == "lossless" and series.info(1).error_bound == pytest.approx(1e-3)
    with fzgm.SeriesWriter(path, sync=False) as writer:
        assert writer.append(field(3), preset="bits") == 3
    assert np.array_equal(fzgm.Series(path)[3], field(3))


def test_a_file_that_was_cut_has_its_complete_steps(tmp_path):
    path = tmp_path / "run.fzs"
    with fzgm.SeriesWriter(path) as writer:
        for step in range(3):
            writer.append(field(step), preset="bits")
    whole = path.read_bytes()
    path.write_bytes(whole[:-200])
    series = fzgm.Series(path)
    assert not series.indexed and series.lost_bytes > 0 and len(series) in (2, 3)
    assert all(np.array_equal(array, field(step)) for step, array in enumerate(series))
    kept = len(series)
    with fzgm.SeriesWriter(path) as writer:
        assert len(writer) == kept
        for step in range(kept, 3):
            writer.append(field(step), preset="bits")
    assert path.read_bytes() == whole


def test_readers_beside_a_writer(tmp_path):
    path = tmp_path / "run.fzs"
    writer = fzgm.SeriesWriter(path, sync=False)
    done = threading.Event()
    found = []

    def read():
        while not done.is_set():
            series = fzgm.Series(path)
            assert all(np.array_equal(array, field(step)) for step, array in enumerate(series))
            found.append(len(series))

    reader = threading.Thread(target=read)
    reader.start()
    for step in range(20):
        writer.append(field(step), preset="bits")
    done.set()
    reader.join()
    assert found == sorted(found)
    writer.close()
    assert len(fzgm.Series(path)) == 20


@pytest.mark.parametrize("step", [3, -4, 2**70, 1.5, None, b"start", "end"])
def test_wrong_steps(tmp_path, step):
    path = tmp_path / "run.fzs"
    with fzgm.SeriesWriter(path) as writer:
        for number in range(3):
            writer.append(field(number), preset="bits")
    with pytest.raises(fzgm.Error, match="step"):
        fzgm.Series(path)[step]


def test_wrong_calls(tmp_path):
    path = tmp_path / "run.fzs"
    writer = fzgm.SeriesWriter(path)
    with pytest.raises(fzgm.FileError, match="another writer"):
        fzgm.SeriesWriter(path)
    writer.append(field(0), name="start", preset="bits")
    for name in ("start", "12", "a\n", "n" * 256):
        with pytest.raises(fzgm.CallError, match="name of a step"):
            writer.append(field(0), name=name, preset="bits")
    with pytest.raises(fzgm.CallError, match="name is 3"):
        writer.append(field(0), name=3, preset="bits")
    with pytest.raises(fzgm.CallError, match="out is given"):
        writer.append(field(0), out=np.empty(9999, np.uint8), preset="bits")
    with pytest.raises(fzgm.ContainerError):
        writer.append_container(b"not a container")
    writer.close()
    writer.close()
    with pytest.raises(fzgm.CallError, match="closed"):
        writer.append(field(0), preset="bits")
    series = fzgm.Series(path)
    with pytest.raises(fzgm.CallError, match="out has 3 elements"):
        series.read(0, out=np.empty(3, np.float32))
    with pytest.raises(fzgm.RoomError):
        series.read(0, max_memory_bytes=10)
    series.close()
    assert len(series.steps) == 1
    with pytest.raises(fzgm.CallError, match="closed"):
        series.read(0)
    for wrong in (b"run.fzs", 3, None):
        for opened in (fzgm.Series, fzgm.SeriesWriter):
            with pytest.raises(fzgm.CallError, match="path"):
                opened(wrong)
    (tmp_path / "other").write_bytes(b"something else")
    for opened in (fzgm.Series, fzgm.SeriesWriter):
        with pytest.raises(fzgm.ContainerError):
            opened(tmp_path / "other")
    assert Path(tmp_path / "other").read_bytes() == b"something else"
    with pytest.raises(fzgm.FileError):
        fzgm.Series(tmp_path / "none")
