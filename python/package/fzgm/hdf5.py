"""The HDF5 filter. The import registers the plugin of the package with every HDF5 library of the process.

    import h5py, fzgm.hdf5
    file.create_dataset("t", data=t, **fzgm.hdf5.filter(noa=1e-3, data=t))
    print(fzgm.hdf5.describe(file["t"]))

Import the module before threads use HDF5. HDF5 libraries that are loaded later find the plugin through HDF5_PLUGIN_PATH, which the import sets
for this process and its children. Programs outside of Python require ``export HDF5_PLUGIN_PATH=...``, which the command ``fzgm-hdf5-path`` prints.

    python3 -m fzgm.hdf5 words abs 1e-3 [PRESET]      the arguments of h5repack and nccopy
    python3 -m fzgm.hdf5 describe FILE.h5 [NAME…]     bound, preset, and ratio of datasets
"""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import sys

from . import _fills, _hdf5_filter
from ._errors import CallError, FileError, InternalError

# This module also works without the package; here, its exceptions for invalid arguments are CallError.
from ._hdf5_filter import FILTER_ID, MODES, PRESETS, describe, describe_words, filter, range_of, words

__all__ = [
    "FILTER_ID", "MODES", "PRESETS", "describe", "describe_words", "filter", "plugin_path", "range_of", "register", "words",
]

_hdf5_filter.Error = CallError
_hdf5_filter.look_for_fills = _fills.warn_of_range
# Directory that HDF5 searches if HDF5_PLUGIN_PATH is not set.
_DEFAULT_FOLDER = "/usr/local/hdf5/lib/plugin"
_told: set[str] = set()


def plugin_path() -> str:
    """Returns the directory of the plugin, for HDF5_PLUGIN_PATH."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugin")
    if not os.path.exists(os.path.join(folder, "libh5fzgm.so")):
        raise FileError(f"there is no libh5fzgm.so in {folder}; install a wheel that scripts/wheel.sh built")
    return folder


def register() -> list[str]:
    """Registers the plugin with all HDF5 libraries of the process; returns the files of the libraries that were not registered before.

    The import of this module calls this function. Call it again after other HDF5 libraries have been loaded.
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
    """Returns the files of all HDF5 libraries in this process."""
    found: dict[str, None] = {}
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")
                file = path[1] + path[2]
                # Libraries on top of HDF5, such as libhdf5_hl, have no plugins of their own.
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
        raise InternalError(f"{library} does not support plugins: {error}; fzgm requires HDF5 1.10 or later") from error
    if failed:
        raise InternalError(f"{library} rejects the plugin directory {folder}; set HDF5_PLUGIN_PATH={folder} before the process starts")


def _print_export() -> None:
    """The command ``fzgm-hdf5-path``."""
    print(f"export HDF5_PLUGIN_PATH={shlex.quote(plugin_path())}${{HDF5_PLUGIN_PATH:+:$HDF5_PLUGIN_PATH}}")


register()

if __name__ == "__main__":
    _hdf5_filter._main(sys.argv[1:], "fzgm.hdf5")
