"""Previews, and containers in files."""

from pathlib import Path

import fzgm
import numpy as np
import pytest


def field(shape=(21, 40, 50), dtype="f4"):
    return np.random.default_rng(2).normal(size=shape).cumsum(-1).astype(dtype)


@pytest.mark.parametrize("preset", ["fast", "high", "pfpl"])
@pytest.mark.parametrize("shape", [(1000,), (33, 50), (21, 40, 50)], ids=len)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_previews(tmp_path, preset, shape, dtype):
    container = fzgm.compress(field(shape, dtype), error_bound=1e-3, preset=preset)
    (tmp_path / "x.fzm").write_bytes(container)
    whole = fzgm.decompress(container)
    for step in (1, 2, 8, 1024):
        expected = np.ascontiguousarray(whole[(slice(None, None, step),) * len(shape)])
        for source in (container, tmp_path / "x.fzm", str(tmp_path / "x.fzm")):
            got = fzgm.preview(source, step)
            assert got.dtype == expected.dtype and got.shape == expected.shape and got.tobytes() == expected.tobytes()


def test_the_front_of_a_container_is_enough(tmp_path):
    container = fzgm.compress(field((64, 64, 64)), error_bound=1e-3, preset="high")
    small, front = fzgm.preview(container, 8), container[: len(container) // 4]
    (tmp_path / "front.fzm").write_bytes(front)
    for source in (front, tmp_path / "front.fzm"):
        assert fzgm.preview(source, 8).tobytes() == small.tobytes()
        with pytest.raises(fzgm.ContainerError, match="bytes"):
            fzgm.preview(source, 1)
    assert fzgm.info(tmp_path / "front.fzm").container_bytes == len(container)
    with pytest.raises(fzgm.ContainerError):
        fzgm.decompress_region(tmp_path / "front.fzm", np.s_[0])


def test_files(tmp_path):
    for preset in ("fast", "high"):
        container = fzgm.compress(field(), error_bound=1e-3, preset=preset)
        (tmp_path / "x.fzm").write_bytes(container)
        assert fzgm.info(tmp_path / "x.fzm") == fzgm.info(container)
        for region in (np.s_[2:5, 3, -7:], np.s_[4], np.s_[3:3]):
            expected = fzgm.decompress_region(container, region)
            assert fzgm.decompress_region(tmp_path / "x.fzm", region).tobytes() == expected.tobytes()


@pytest.mark.parametrize("step", [0, 3, -1, 2.0, "a", None, 2**70], ids=str)
def test_wrong_steps(step):
    with pytest.raises(fzgm.CallError, match="^step is"):
        fzgm.preview(fzgm.compress(field(), error_bound=1e-3), step)


def test_wrong_files(tmp_path):
    (tmp_path / "garbage").write_bytes(b"garbage" * 100)
    (tmp_path / "empty").write_bytes(b"")
    calls = [lambda path: fzgm.preview(path, 2), fzgm.info, lambda path: fzgm.decompress_region(path, 0)]
    for call in calls:
        for path in (tmp_path / "none.fzm", tmp_path, Path("/dev/null"), "none.fzm", "with\0zero"):
            with pytest.raises((fzgm.FileError, ValueError)) as caught:
                call(path)
            assert str(caught.value)
        for path in ("garbage", "empty"):
            with pytest.raises(fzgm.ContainerError, match="container"):
                call(tmp_path / path)
    for wrong in (5, None, object()):
        with pytest.raises(fzgm.CallError, match="expected bytes"):
            fzgm.preview(wrong, 2)
