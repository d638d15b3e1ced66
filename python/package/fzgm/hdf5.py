"""The filter for HDF5: importing this module makes every HDF5 of the process find the plugin of the package.

    import h5py, fzgm.hdf5
    file.create_dataset("t", data=t, **fzgm.hdf5.filter(noa=1e-3, data=t))

Import it before threads use HDF5. An HDF5 library that is loaded later finds the plugin through HDF5_PLUGIN_PATH, which the import sets for
this process and its children. Programs outside of Python need ``export HDF5_PLUGIN_PATH=...``, which the command ``fzgm-hdf5-path`` prints.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import shlex
import struct
import sys
from fractions import Fraction
from typing import Any

import numpy as np

from . import _arrays
from ._codec import _real, threshold_of
from ._errors import CallError, FileError, InternalError

FILTER_ID = 32770

_MODES = {"lossless": 0, "abs": 1, "rel": 2}
_PRESETS = {None: 0, "pfpl": 1, "fz": 2, "fast": 3}
# The folder that HDF5 searches if HDF5_PLUGIN_PATH is not set.
_DEFAULT_FOLDER = "/usr/local/hdf5/lib/plugin"
_told: set[str] = set()


def plugin_path() -> str:
    """The folder of the plugin, for HDF5_PLUGIN_PATH."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugin")
    if not os.path.exists(os.path.join(folder, "libh5fzgm.so")):
        raise FileError(f"there is no libh5fzgm.so in {folder}; install a wheel that scripts/wheel.sh built")
    return folder


def register() -> list[str]:
    """Makes all HDF5 libraries of the process find the plugin and returns those that were told, by their files.

    The import of this module calls it. A second call serves libraries that were loaded since; further calls change nothing.
    """
    folder = plugin_path()
    paths = os.environ.get("HDF5_PLUGIN_PATH", _DEFAULT_FOLDER).split(os.pathsep)
    if folder not in paths:
        os.environ["HDF5_PLUGIN_PATH"] = os.pathsep.join([folder, *paths])
    told = []
    for library in _loaded_libraries():
        if library not in _told:
            _prepend(library, folder)
            _told.add(library)
            told.append(library)
    return told


def _loaded_libraries() -> list[str]:
    """The files of all HDF5 libraries in this process."""
    found: dict[str, None] = {}
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")
                file = path[1] + path[2]
                # The libraries over HDF5, such as libhdf5_hl, have no plugins of their own.
                if re.fullmatch(r"libhdf5(?!_(hl|cpp|fortran|tools|f90cstub|java))[^/]*\.so[.0-9]*", os.path.basename(file)):
                    found[file] = None
    except OSError as error:
        raise FileError(f"/proc/self/maps cannot be read: {error}; set HDF5_PLUGIN_PATH={plugin_path()}") from error
    return list(found)


def _prepend(library: str, folder: str) -> None:
    # PyDLL keeps the GIL, so that no other thread enters this HDF5 through h5py in the meantime.
    try:
        hdf5 = ctypes.PyDLL(library, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        hdf5.H5PLprepend.argtypes = [ctypes.c_char_p]
        failed = hdf5.H5open() < 0 or hdf5.H5PLprepend(os.fsencode(folder)) < 0
    except (OSError, AttributeError) as error:
        raise InternalError(f"{library} does not take plugins: {error}; fzgm needs HDF5 1.10 or later") from error
    if failed:
        raise InternalError(f"{library} refuses the plugin folder {folder}; set HDF5_PLUGIN_PATH={folder} before the process starts")


def words(mode: str = "lossless", bound: float = 0.0, preset: str | None = None) -> tuple[int, ...]:
    """The cd_values of a mode and a bound, for ``h5repack``, ``nccopy``, and ``H5Pset_filter`` too."""
    if mode not in list(_MODES):
        raise CallError(f"mode is {mode!r}; expected one of {', '.join(_MODES)}")
    if preset not in list(_PRESETS):
        raise CallError(f"preset is {preset!r}; expected one of {', '.join(map(str, _PRESETS))}")
    low, high = struct.unpack("<II", struct.pack("<d", _real("bound", bound)))
    return (_MODES[mode], low, high) + ((_PRESETS[preset],) if preset else ())


def filter(
    *,
    abs: float | None = None,
    rel: float | None = None,
    noa: float | None = None,
    range: tuple[float, float] | None = None,
    data: Any = None,
    fill_value: float | None = None,
    preset: str | None = None,
) -> dict[str, Any]:
    """Keyword arguments of ``create_dataset`` of h5py, and encoding of xarray with engine h5netcdf. At most one bound; without one nothing is lost.

    abs     \\|x - x'\\| <= abs
    rel     \\|x - x'\\| <= rel * \\|x\\|; rel is 2^-17 to 0.25
    noa     \\|x - x'\\| <= noa * (max - min) of the whole dataset, stored as abs
    range   (min, max) of the whole dataset, for noa
    data    in place of range: the array to take it from; values of the magnitude of ``fill_value`` and above do not count
    preset  None, the default of the mode; ``"pfpl"`` with abs and rel; ``"fz"`` or ``"fast"`` with abs and noa

    Integers lose nothing in any mode.
    """
    given = [name for name, bound in (("abs", abs), ("rel", rel), ("noa", noa)) if bound is not None]
    if len(given) > 1:
        raise CallError(f"{' and '.join(given)} are given; expected one of them")
    if noa is None and (range is not None or data is not None):
        raise CallError("range or data is given without noa; both are for noa alone")
    if noa is not None:
        if (range is None) == (data is None):
            raise CallError("noa needs either range=(min, max) of the whole dataset or data, the array to take it from")
        low, high = range_of(data, fill_value) if range is None else _pair(range)
        abs = _product_down(_real("noa", noa), low, high)
    if abs is not None:
        options = words("abs", _positive("abs" if noa is None else "noa times the range", abs), preset)
    elif rel is not None:
        options = words("rel", _positive("rel", rel), preset)
    else:
        options = words("lossless", 0.0, preset)
    return {"compression": FILTER_ID, "compression_opts": options}


def range_of(data: Any, fill_value: float | None = None) -> tuple[float, float]:
    """Smallest and largest value of an array that is finite and below the magnitude of the fill value."""
    array = _arrays.as_array(data, "data")
    threshold = threshold_of(fill_value, _arrays.DTYPES[array.dtype])
    bounded = array[np.isfinite(array) & (np.abs(array) < threshold)]
    if bounded.size == 0:
        raise CallError("data has no finite value below the fill value; give a bound as abs")
    return float(bounded.min()), float(bounded.max())


def _pair(range: Any) -> tuple[float, float]:
    try:
        low, high = range
    except (TypeError, ValueError) as error:
        raise CallError(f"range is {range!r}; expected (min, max)") from error
    low, high = _real("range[0]", low), _real("range[1]", high)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise CallError(f"range is ({low}, {high}); expected finite numbers, the smaller one first")
    return low, high


def _product_down(factor: float, low: float, high: float) -> float:
    """``factor * (high - low)``, never above the exact product."""
    if not math.isfinite(factor):
        raise CallError(f"noa is {factor}; expected a finite number above 0")
    exact = Fraction(factor) * (Fraction(high) - Fraction(low))
    try:
        near = float(exact)
    except OverflowError:
        return sys.float_info.max
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)


def _positive(what: str, bound: Any) -> float:
    bound = _real(what, bound)
    if not (math.isfinite(bound) and bound > 0):
        raise CallError(f"{what} is {bound}; expected a finite number above 0")
    return bound


def _print_export() -> None:
    """The command ``fzgm-hdf5-path``."""
    print(f"export HDF5_PLUGIN_PATH={shlex.quote(plugin_path())}${{HDF5_PLUGIN_PATH:+:$HDF5_PLUGIN_PATH}}")


register()
