"""fzgm for h5py: the arguments of create_dataset, and where the plugin is.

    import h5py, fzgm_hdf5
    fzgm_hdf5.load()                      # or HDF5_PLUGIN_PATH in the environment
    file.create_dataset("t", data=t, chunks=(64, 64), **fzgm_hdf5.fzgm(abs=1e-3))

The cd_values are in docs/hdf5.md. Reading takes the plugin and nothing of this module.
"""

import glob
import os
import struct

FILTER_ID = 32770  # H5Z_FILTER_FZGM of fzgm_hdf5.h

_MODES = {"lossless": 0, "abs": 1, "rel": 2}
_PRESETS = {None: 0, "pfpl": 1, "fz": 2, "fast": 3}


def words(mode="lossless", bound=0.0, preset=None):
    """The cd_values of a mode and a bound: for h5repack, nccopy and H5Pset_filter too."""
    if mode not in _MODES or preset not in _PRESETS:
        raise ValueError(f"mode {mode!r}, preset {preset!r}: known are {list(_MODES)} and {list(_PRESETS)}")
    low, high = struct.unpack("<II", struct.pack("<d", float(bound)))
    return (_MODES[mode], low, high) + ((_PRESETS[preset],) if preset else ())


def fzgm(*, abs=None, rel=None, noa=None, range=None, preset=None):
    """Keyword arguments of create_dataset. At most one of

    abs  |x - x'| <= abs
    rel  |x - x'| <= rel * |x|, 2^-17 to 0.25
    noa  |x - x'| <= noa * (max - min), with the range (min, max) of the whole dataset; stored as abs

    and without any of them nothing is lost. Integers and all that is no float lose nothing in any mode. preset: None, the default of
    the mode; "pfpl", with abs and rel; "fz" or "fast", with abs and noa.
    """
    given = [name for name, bound in (("abs", abs), ("rel", rel), ("noa", noa)) if bound is not None]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} exclude each other")
    if (noa is None) != (range is None):
        raise ValueError("noa needs the range (min, max) of the whole dataset, and range is for noa")
    if noa is not None:
        low, high = range
        abs = noa * (float(high) - float(low))
    if abs is not None:
        opts = words("abs", abs, preset)
    elif rel is not None:
        opts = words("rel", rel, preset)
    else:
        opts = words("lossless", 0.0, preset)
    return {"compression": FILTER_ID, "compression_opts": opts}


def plugin_folder():
    """Where the plugin is: in FZGM_HDF5_PLUGIN, beside this file, or where it was installed with it."""
    here = os.path.dirname(os.path.abspath(__file__))
    prefix = os.path.join(here, "..", "..", "..")
    folders = [here, *glob.glob(os.path.join(prefix, "lib*", "fzgm", "hdf5")), *glob.glob(os.path.join(prefix, "lib", "*", "fzgm", "hdf5"))]
    if "FZGM_HDF5_PLUGIN" in os.environ:
        folders = [os.environ["FZGM_HDF5_PLUGIN"]]
    for folder in folders:
        if os.path.exists(os.path.join(folder, "libh5fzgm.so")):
            return os.path.normpath(folder)
    raise FileNotFoundError(f"there is no libh5fzgm.so in {', '.join(folders)}; name its folder in FZGM_HDF5_PLUGIN")


def load():
    """Tells the HDF5 of h5py where the plugin is, before the first dataset that needs it."""
    import h5py

    h5py.h5pl.append(os.fsencode(plugin_folder()))
