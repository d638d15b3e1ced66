"""Arrays with gaps as sources and as destinations."""

import fzgm
import numpy as np
import pytest

VIEWS = {
    "ghost cells": lambda grid: grid[2:-2, 3:-3],
    "transposed": lambda grid: grid.T,
    "back to front": lambda grid: grid[::-1, ::-1],
    "every second": lambda grid: grid[1::2, ::3],
    "one column": lambda grid: grid[:, 4:5],
    "no elements": lambda grid: grid[:0, ::2],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i2"])
def test_only_the_elements_are_read_and_written(view, dtype):
    grid = (np.sin(np.arange(600.0) * 0.1) * 100).astype(dtype).reshape(20, 30)
    part = view(grid)
    container = fzgm.compress(part, preset="bits")
    assert container == fzgm.compress(part.copy(), preset="bits")
    same = np.full_like(grid, 7)
    expected = same.copy()
    view(expected)[...] = part
    out = view(same)
    assert fzgm.decompress(container, out=out) is out and np.array_equal(same, expected)
    same[...] = 7
    decoder = fzgm.Encoder(part.shape, part.dtype, preset="bits").decoder()
    assert decoder.decompress(container, out=out) is out and np.array_equal(same, expected)


def test_elements_that_share_memory_are_not_written():
    container = fzgm.compress(np.arange(12, dtype=np.int32).reshape(3, 4), preset="bits")
    memory = np.zeros(12, np.int32)
    for strides in ((0, 4), (4, 4), (8, 4)):
        shared = np.lib.stride_tricks.as_strided(memory, (3, 4), strides)
        with pytest.raises(fzgm.CallError, match="share memory"):
            fzgm.decompress(container, out=shared)
    locked = np.zeros((3, 8), np.int32)[:, ::2]
    locked.flags.writeable = False
    with pytest.raises(fzgm.CallError, match="read-only"):
        fzgm.decompress(container, out=locked)
    assert not memory.any() and not locked.any()


def test_a_series_restores_into_gaps(tmp_path):
    with fzgm.SeriesWriter(tmp_path / "run.fzs") as writer:
        writer.append(np.arange(12.0).reshape(3, 4), preset="bits")
    grid = np.full((7, 8), -1.0)
    fzgm.Series(tmp_path / "run.fzs").read(0, out=grid[2:-2, 2:-2])
    assert np.array_equal(grid[2:-2, 2:-2], np.arange(12.0).reshape(3, 4)) and (grid == -1).sum() == 44
