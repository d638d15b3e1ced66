"""The same bytes as the command line, whose program FZGM_CLI names."""

import os
import subprocess

import fzgm
import numpy as np
import pytest

cli = os.environ.get("FZGM_CLI")


@pytest.mark.skipif(not cli, reason="FZGM_CLI does not name the program")
@pytest.mark.parametrize("preset", [p.name for p in fzgm.presets() if not p.lossless])
def test_bytes(tmp_path, preset):
    x = np.random.default_rng(3).normal(size=(5, 60, 70)).cumsum(2).astype("f4")
    x.tofile(tmp_path / "x.f32")
    command = f"{cli} compress x.f32 -o x.fzm --dtype f32 --dims 70x60x5 --mode abs --eb 1e-2 --preset {preset}"
    subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    written = (tmp_path / "x.fzm").read_bytes()
    assert fzgm.compress(x, error_bound=1e-2, mode="abs", preset=preset) == written
    assert fzgm.compare(x, fzgm.decompress(written), error_bound=1e-2, mode="abs").kept
