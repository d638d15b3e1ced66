"""The blocks of Python in the documentation are run, each in a fresh folder and namespace that has the arrays and files which they name."""

import importlib.util
import re
from pathlib import Path

import fzgm
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/python.md", "docs/series.md"]
BLOCKS = [
    pytest.param(page, text, id=f"{page}-{k}")
    for page in PAGES
    for k, text in enumerate(re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M))
]


def test_every_page_has_blocks():
    assert {block.values[0] for block in BLOCKS} == set(PAGES) and len(BLOCKS) >= 8


def test_no_block_hides():
    """Whatever imports something is a block of Python."""
    for page in PAGES:
        hidden = re.findall(r"^```(?!python)\w*\n(?:import|from) .*", (ROOT / page).read_text(), re.M)
        assert not hidden, page


@pytest.mark.parametrize("page, text", BLOCKS)
def test_block(page, text, tmp_path, monkeypatch):
    for module in set(re.findall(r"\b(h5py|torch|xarray|zarr)\b", text)):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if "torch" in text and not __import__("torch").cuda.is_available():
        pytest.skip("torch sees no GPU")
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(1).normal(size=(32, 64, 128)).cumsum(-1).astype("f4")
    Path("pipeline.toml").write_text(fzgm.Pipeline.from_preset("pfpl", "f32").to_toml())
    names = {"x": x, "t": x[0], "y": np.empty_like(x), "container": fzgm.compress(x, error_bound=1e-3)}
    exec(compile(text, f"{page}: {tmp_path.name}", "exec"), names)
    if "container" in text and "torch" not in text:
        assert isinstance(names["container"], bytes)
    if "y = fzgm.decompress" in text and "torch" not in text:
        assert fzgm.compare(x, names["y"], error_bound=1e-3).kept
