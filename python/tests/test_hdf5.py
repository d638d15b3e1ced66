"""The filter in h5py and netCDF4, with the plugin of the wheel."""

import os
import subprocess
import sys
import sysconfig
import warnings
from fractions import Fraction

import fzgm
import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
import fzgm.hdf5  # noqa: E402
from fzgm import _fzgm, _hdf5_filter  # noqa: E402


def field(dtype="f4"):
    x = np.random.default_rng(5).normal(size=(20, 40, 50)).cumsum(2).astype(dtype)
    x[0, 0, 0], x[1, 1, 1], x[2, 2, 2] = np.nan, 1e20, np.inf
    return x


def python(code, *arguments, **environment):
    """A fresh interpreter."""
    set_ = {k: v for k, v in os.environ.items() if k != "HDF5_PLUGIN_PATH"} | environment
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], env=set_, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("preset", [None, "fz", "high", "high_once"])
def test_round_trip(tmp_path, preset):
    x = field()
    arguments = fzgm.hdf5.filter(noa=1e-3, data=x, fill_value=1e20, preset=preset)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("t", data=x, chunks=(10, 40, 50), fillvalue=1e20, **arguments)
    with h5py.File(tmp_path / "x.h5") as file:
        y = file["t"][:]
        assert file["t"].id.get_storage_size() < x.nbytes
    bounded = np.isfinite(x) & (x < 1e20)
    assert x[~bounded].tobytes() == y[~bounded].tobytes()
    values = [Fraction(float(v)) for v in x[bounded]]
    allowed = Fraction(1e-3) * (max(values) - min(values))
    assert all(abs(a - Fraction(float(b))) <= allowed for a, b in zip(values, y[bounded]))


def test_bounds():
    filter, words = fzgm.hdf5.filter, fzgm.hdf5.words
    assert filter(abs=1e-3) == {"compression": 32770, "compression_opts": (1, 3539053052, 1062232653, 3)}
    assert filter(noa=0.5, range=(1, 3)) == filter(abs=1.0)
    assert filter(rel=0.01)["compression_opts"] == words("rel", 0.01)
    assert filter()["compression_opts"][0] == 0
    assert filter(abs=1, preset="high")["compression_opts"][3] == 4
    assert filter(noa=0.5, data=[1.0, 3.0, -9999.0], fill_value=-9999.0) == filter(abs=1.0)
    low, high = 0.1, 0.30000000000000004
    bound = np.frombuffer(np.array(filter(noa=0.1, range=(low, high))["compression_opts"][1:3], "u4").tobytes(), "f8")[0]
    assert Fraction(float(bound)) <= Fraction(0.1) * (Fraction(high) - Fraction(low))


@pytest.mark.parametrize(
    "arguments",
    [
        {"abs": 1, "rel": 1}, {"noa": 1}, {"range": (0, 1)}, {"abs": 1, "range": (0, 1)}, {"noa": 1, "range": (1, 0)}, {"noa": 1, "range": 5},
        {"noa": 1, "range": (0, np.inf)}, {"noa": np.nan, "range": (0, 1)}, {"noa": 1, "range": (0, 1), "data": [1.0]}, {"abs": 0},
        {"abs": -1}, {"abs": "a"}, {"abs": 1, "preset": "no"}, {"rel": 0.1, "preset": "high"}, {"abs": 1, "preset": ["fast"]}, {"noa": 1, "data": [np.nan]}, {"noa": 1, "data": ["a"]}, {"noa": 1, "range": (1, 1)},
    ],
    ids=str,
)
def test_wrong_bounds(arguments):
    with pytest.raises(fzgm.Error, match=r"expected|requires|both|give the bound"):
        fzgm.hdf5.filter(**arguments)


def test_a_fill_value_without_data_is_rejected():
    for bound in ({"abs": 0.01}, {"rel": 0.01}, {"noa": 1e-3, "range": (0, 1)}, {}):
        with pytest.raises(fzgm.CallError, match="^fill_value is 1e\\+20, but data is not given.*fillvalue"):
            fzgm.hdf5.filter(**bound, fill_value=1e20)


def test_the_module_describes_files(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("group/t", data=np.arange(1000.0), **fzgm.hdf5.filter(abs=0.25, preset="high"))
    run = [sys.executable, "-m", "fzgm.hdf5"]
    said = subprocess.run([*run, "describe", tmp_path / "x.h5"], check=True, capture_output=True, text=True).stdout
    assert said.startswith("group/t: abs 0.25, preset high; ratio ")
    said = subprocess.run([*run, "words", "abs", "1e-3"], check=True, capture_output=True, text=True).stdout
    assert said.startswith("h5repack -f UD=32770,0,4,1,3539053052,1062232653,3\n")
    for file, name in ((tmp_path / "no.h5", "group/t"), (tmp_path / "x.h5", "no")):
        wrong = subprocess.run([*run, "describe", file, name], capture_output=True, text=True)
        assert wrong.returncode == 1 and wrong.stderr.startswith(f"fzgm.hdf5: {file}: ") and wrong.stderr.count("\n") == 1
    wrong = subprocess.run(run, capture_output=True, text=True)
    assert wrong.returncode == 1 and wrong.stderr.startswith("usage: fzgm.hdf5 ")


def test_unknown_arguments_of_filter():
    for unknown in ({"eb": 0.1}, {"abs": 0.1, "fillvalue": -999}):
        with pytest.raises(fzgm.CallError, match="is not an argument of filter; expected abs, rel, or noa.*create_dataset as fillvalue"):
            fzgm.hdf5.filter(**unknown)


def test_description(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        stored = file.create_dataset("t", data=np.arange(1000.0), **fzgm.hdf5.filter(abs=0.25, preset="high"))
        assert fzgm.hdf5.describe(stored).startswith("abs 0.25, preset high; ratio ")
        with pytest.raises(fzgm.CallError, match="expected a dataset"):
            fzgm.hdf5.describe(file)
    assert fzgm.hdf5.describe_words(fzgm.hdf5.words("rel", 0.01)) == "rel 0.01, preset pfpl"


@pytest.mark.parametrize("order", ["import h5py, fzgm.hdf5", "import fzgm.hdf5, h5py"])
def test_either_order_of_imports(tmp_path, order):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("t", data=np.arange(1000.0), **fzgm.hdf5.filter(abs=0.25))
    code = f"import sys; {order}; print(abs(h5py.File(sys.argv[1])['t'][:] - range(1000)).max() <= 0.25)"
    assert python(code, tmp_path / "x.h5") == "True\n"
    # Not without the package: the plugin is found through it alone.
    code = "import sys, h5py; h5py.File(sys.argv[1])['t'][:]"
    with pytest.raises(subprocess.CalledProcessError):
        python(code, tmp_path / "x.h5")


@pytest.mark.parametrize("order", ["import netCDF4, h5py, fzgm.hdf5", "import fzgm.hdf5, netCDF4, h5py", "import h5py, fzgm.hdf5, netCDF4"])
def test_netcdf4_reads_what_h5py_writes(tmp_path, order):
    pytest.importorskip("netCDF4")
    code = f"""
import sys
import numpy as np
{order}
x = np.arange(1000.0)
with h5py.File(sys.argv[1], "w") as file:
    file.create_dataset("t", data=x, **fzgm.hdf5.filter(abs=0.25))
with netCDF4.Dataset(sys.argv[1]) as file:
    print(abs(file["t"][:] - x).max() <= 0.25)
"""
    assert python(code, tmp_path / "x.h5") == "True\n"


def test_the_command_prints_the_line_for_the_shell(tmp_path):
    command = os.path.join(sysconfig.get_path("scripts"), "fzgm-hdf5-path")
    code = f'unset HDF5_PLUGIN_PATH; eval "$({command})"; echo $HDF5_PLUGIN_PATH; eval "$({command})"; echo $HDF5_PLUGIN_PATH'
    folder = fzgm.hdf5.plugin_path()
    out = subprocess.run(["sh", "-c", code], check=True, capture_output=True, text=True).stdout
    assert out == f"{folder}\n{folder}:{folder}\n"
    assert folder in os.environ["HDF5_PLUGIN_PATH"].split(":")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("t", data=np.arange(1000.0), **fzgm.hdf5.filter(abs=0.25))
    code = "import sys, h5py; print(h5py.File(sys.argv[1])['t'][1])"
    assert python(code, tmp_path / "x.h5", HDF5_PLUGIN_PATH=folder)


def test_registration_is_done_once():
    fzgm.hdf5.register()
    assert fzgm.hdf5.register() == []
    assert os.environ["HDF5_PLUGIN_PATH"].split(":").count(fzgm.hdf5.plugin_path()) == 1


def test_closed_files(tmp_path):
    x = np.arange(1000.0)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        stored = file.create_dataset("t", data=x, **fzgm.hdf5.filter(abs=0.25))
        assert fzgm.compress(stored, preset="bits") == fzgm.compress(stored[:], preset="bits")
    calls = [
        lambda d: fzgm.compress(d, preset="bits"), lambda d: fzgm.compare(x, d), lambda d: fzgm.Encoder(x.shape, "f8", preset="bits").compress(d),
        fzgm.hdf5.describe, fzgm.hdf5.range_of, lambda d: fzgm.hdf5.filter(noa=1e-3, data=d),
    ]
    for call in calls:
        for closed in (stored, file):
            with pytest.raises(fzgm.Error, match="expected") as caught:
                call(closed)
            assert isinstance(caught.value, ValueError)
    for call in (fzgm.info, fzgm.decompress, lambda d: fzgm.preview(d, 2), lambda d: fzgm.decompress_region(d, 0)):
        for closed in (stored, file):
            with pytest.raises(fzgm.CallError, match="^the container is of type .*; expected"):
                call(closed)


def test_chunks_of_another_type_or_shape(tmp_path):
    x = np.arange(600, dtype="f4").reshape(20, 30)
    chunk = fzgm.compress(x, preset="bits", container="compact")
    for shape, dtype in (((30, 20), "f4"), ((20, 30), "i4")):
        with h5py.File(tmp_path / "x.h5", "w") as file:
            written = file.create_dataset("t", shape, dtype, chunks=shape, **fzgm.hdf5.filter())
            written.id.write_direct_chunk((0, 0), chunk)
        with h5py.File(tmp_path / "x.h5") as file, pytest.raises(OSError, match=rf"600 elements of type f32 in the shape \[20, 30\].* in the shape \[{shape[0]}, {shape[1]}\]"):
            file["t"][:]


def test_arguments_that_are_no_numbers():
    for arguments in ({"abs": 10**5000}, {"abs": np.zeros(2)}, {"abs": 1, "preset": np.zeros(2)}, {"noa": 1, "data": np.arange(3), "fill_value": 1e30}):
        with pytest.raises(fzgm.CallError, match=" is .*; expected|remove it"):
            fzgm.hdf5.filter(**arguments)
    for mode in (np.zeros(2), None, "\ud800"):
        with pytest.raises(fzgm.CallError, match="^mode is .*; expected one of"):
            fzgm.hdf5.words(mode)
    for words in (None, ["a"], [1, 2.5, float("inf")], [0.1], 5):
        with pytest.raises(fzgm.CallError, match="^the cd_values are .*; expected"):
            fzgm.hdf5.describe_words(words)


def test_the_rule_in_python_is_that_of_the_library():
    rng = np.random.default_rng(7)
    fills = [-1.0, 99.9, -999.0, 9999.99, 8191.0, 8192.0, -32768.0, 65535.0, 1e10, 1e15, 9.96921e36, 1e20, 3e38, 12345.0, 1e5, 0.0, 1e-40]
    found = {None: 0, True: 0}
    for k in range(4000):
        dtype = ("f4", "f8", ">f4", ">f8")[k % 4]
        n = int(rng.integers(1, 200))
        x = rng.normal(size=n) * 10.0 ** rng.integers(-30, 8) + rng.choice([0, 0, 1, 280, -1e4])
        x[rng.random(n) < rng.choice([0, 0.5])] = rng.choice([0.0, np.nan, np.inf])
        for _ in range(int(rng.integers(0, 3))):
            x[rng.random(n) < rng.choice([0.01, 0.1, 0.5])] = rng.choice(fills) * rng.choice([1, -1, 2])
        with np.errstate(over="ignore"):
            x = x.astype(dtype)
        wanted = _fzgm.suspected_fill(dtype[-2:].replace("4", "32").replace("8", "64"), np.frombuffer(x.astype(dtype[-2:]).tobytes(), "u1"))
        assert _hdf5_filter.suspected_fill(x) == wanted, (dtype, x.tolist())
        found[wanted and True] += 1
    assert min(found.values()) > 400, found


def test_an_undeclared_fill_value_in_the_range_gives_a_warning():
    plain = np.sin(np.arange(5000.0)).astype(np.float32)
    filled = np.where(np.arange(5000) % 7 == 0, np.float32(1e20), plain)
    with pytest.warns(fzgm.FillValueWarning, match="715 elements are 1e\\+20") as seen:
        fzgm.hdf5.filter(noa=1e-3, data=filled)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fzgm.hdf5.filter(noa=1e-3, data=filled, fill_value=1e20)
        fzgm.hdf5.filter(noa=1e-3, data=filled, fill_value=float("nan"))
        fzgm.hdf5.filter(noa=1e-3, data=plain)
        fzgm.hdf5.filter(abs=1e-3)
