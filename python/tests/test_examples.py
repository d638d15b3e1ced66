"""The examples of the repository."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"
NEEDS = {"arrays": [], "gpu_torch": ["torch"], "hdf5_file": ["h5py"], "zarr_store": ["zarr"], "xarray_dataset": ["xarray", "dask", "h5netcdf", "zarr"]}


def test_every_example_is_run():
    assert {p.stem for p in EXAMPLES.glob("*.py")} == set(NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_example(name, tmp_path):
    for module in NEEDS[name]:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if name.startswith("gpu_") and not __import__("torch").cuda.is_available():
        pytest.skip("torch sees no GPU")
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_notebook(tmp_path, monkeypatch):
    """Every cell of the notebook, which is stored as it was executed."""
    for module in ("matplotlib", "xarray", "zarr", "h5netcdf"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    cells = [cell for cell in json.loads((EXAMPLES / "climate.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    assert sum("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"]) == 2
    assert not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])
    code = tmp_path / "climate.py"
    code.write_text("\n\n".join("".join(cell["source"]) for cell in cells))
    done = subprocess.run([sys.executable, code], cwd=tmp_path, env=os.environ | {"MPLBACKEND": "Agg"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("bound kept: True") == 4 and "(3, 45, 90) True" in done.stdout
