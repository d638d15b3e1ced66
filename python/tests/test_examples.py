"""The examples of the repository."""

import importlib.util
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
