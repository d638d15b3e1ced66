"""fzgm for HDF5 from Python: arguments of create_dataset, descriptions of datasets, and the location of the plugin.

    import h5py, fzgm_hdf5
    fzgm_hdf5.load()                      # or HDF5_PLUGIN_PATH in the environment
    file.create_dataset("t", data=t, chunks=(64, 64), **fzgm_hdf5.filter(abs=1e-3))
    print(fzgm_hdf5.describe(file["t"]))

docs/hdf5-format.md specifies the cd_values. Reading requires only the plugin. The package fzgm contains this module as fzgm.hdf5.

    python3 -m fzgm_hdf5 words abs 1e-3 [PRESET]      the arguments of h5repack and nccopy
    python3 -m fzgm_hdf5 describe FILE.h5 [NAME…]     bound, preset, and ratio of datasets
"""

from __future__ import annotations

import glob
import math
import os
import struct
import sys
import warnings
from fractions import Fraction
from typing import Any, Callable, NoReturn

FILTER_ID = 32770  # H5Z_FILTER_FZGM of fzgm_hdf5.h

# Numbers of the filter. Their meaning never changes.
MODES = {"lossless": 0, "abs": 1, "rel": 2}
PRESETS = {"default": 0, "pfpl": 1, "fz": 2, "fast": 3, "high": 4, "exact": 5, "cusz": 6, "cusz_ans": 7, "lc_cr": 8, "high_once": 9}
# The default preset of a mode, and all presets that it supports.
_USUAL = {"lossless": "default", "abs": "fast", "rel": "pfpl"}
_PRESETS_OF = {"lossless": ("default", "exact"), "abs": tuple(name for name in PRESETS if name != "exact"), "rel": ("default", "pfpl")}
_REL = (2.0**-17, 0.25)
# The upper half of word 4 of a dataset. The lower half is the version of the words.
_MAGIC = 0x465A
_FILL_VERSION = 2

# Class of exceptions for invalid arguments; fzgm.hdf5 replaces it.
Error: type[Exception] = ValueError


def words(mode: str = "lossless", bound: float = 0.0, preset: str | None = None) -> tuple[int, ...]:
    """Returns the cd_values of a mode and a bound, also for ``h5repack``, ``nccopy``, and ``H5Pset_filter``.

    The default preset is ``"fast"`` in mode abs and ``"pfpl"`` in mode rel.
    """
    if isinstance(mode, str) and mode == "noa":
        raise Error("mode is 'noa', but each chunk has a range of its own; expected 'abs' with bound * (max - min) of the whole dataset")
    if not isinstance(mode, str) or mode not in MODES:
        raise Error(f"mode is {shown(mode)}; expected one of {', '.join(MODES)}")
    if preset is not None and (not isinstance(preset, str) or preset not in _PRESETS_OF[mode]):
        name = preset if isinstance(preset, str) else ""
        why = f", which mode {mode} does not support" if name in PRESETS else ""
        if name.startswith("auto"):
            why = ", which requires the values of an array: fzgm.choose(x, ...) returns preset and bound for them"
        raise Error(f"preset is {shown(preset)}{why}; expected one of {', '.join(_PRESETS_OF[mode])}")
    bound = _real("bound", bound)
    if mode == "lossless":
        return (0, 0, 0, PRESETS["exact"]) if preset == "exact" else (0,)
    if not (math.isfinite(bound) and bound > 0):
        raise Error(f"bound is {bound}; expected a finite number above 0")
    if mode == "rel" and not _REL[0] <= bound <= _REL[1]:
        raise Error(f"bound is {bound}; expected 2^-17 = 7.63e-6 to 0.25 in mode rel; for smaller bounds use mode abs or lossless")
    return (MODES[mode], *struct.unpack("<II", struct.pack("<d", bound)), PRESETS[preset or _USUAL[mode]])


def filter(
    *wrong: Any,
    abs: float | None = None,
    rel: float | None = None,
    noa: float | None = None,
    range: tuple[float, float] | None = None,
    data: Any = None,
    fill_value: float | None = None,
    preset: str | None = None,
    **unknown: NoReturn,  # type checkers reject unknown names before the program runs
) -> dict[str, Any]:
    """Returns keyword arguments for ``create_dataset`` of h5py, which are also an encoding of xarray with engine h5netcdf.

    At most one bound may be given; without a bound, compression is lossless.

    abs     \\|x - x'\\| <= abs
    rel     \\|x - x'\\| <= rel * \\|x\\|; rel is 2^-17 to 0.25
    noa     \\|x - x'\\| <= noa * (max - min) of the whole dataset, stored as abs
    range   (min, max) of the whole dataset, for noa
    data    for noa, instead of range: the array to take the range from
    fill_value  for data: values equal to it are excluded from the range. To store a fill value exactly, pass it to ``create_dataset`` as fillvalue
    preset  None: ``"fast"`` with abs and noa, ``"pfpl"`` with rel. With abs and noa also ``"high"`` for a higher ratio, ``"high_once"`` for the
            highest if every chunk is written whole and once, ``"pfpl"``, ``"fz"``, ``"cusz"``, ``"cusz_ans"``, ``"lc_cr"``. ``"default"`` is number 0.
            Without a bound also ``"exact"`` for a higher ratio

    Element types other than float32 and float64 are lossless in every mode.
    """
    if wrong:
        raise Error(f"{shown(wrong[0])} is given without a name; expected abs={shown(wrong[0])}, rel=… or noa=…")
    if unknown:
        raise Error(
            f"{next(iter(unknown))} is not an argument of filter; expected abs, rel, or noa for the bound, and preset. "
            "Pass the fill value to create_dataset as fillvalue, or to xarray as _FillValue"
        )
    given = [name for name, bound in (("abs", abs), ("rel", rel), ("noa", noa)) if bound is not None]
    if len(given) > 1:
        raise Error(f"{' and '.join(given)} are given; expected one of them")
    if noa is None and (range is not None or data is not None):
        raise Error("range or data is given without noa; remove it, or give the bound as noa")
    if fill_value is not None and data is None:
        raise Error(
            f"fill_value is {shown(fill_value)}, but data is not given; it excludes values of data from the range of noa. "
            "To store a fill value exactly, pass it to create_dataset as fillvalue, or to xarray as _FillValue"
        )
    if noa is not None:
        if (range is None) == (data is None):
            raise Error("noa requires either range=(min, max) of the whole dataset or data, the array to take the range from")
        low, high = range_of(data, fill_value) if range is None else _pair(range)
        abs = _product_down(_real("noa", noa), low, high)
    if abs is not None:
        options = words("abs", _positive("abs" if noa is None else "noa times the range", abs), preset)
    elif rel is not None:
        options = words("rel", _positive("rel", rel), preset)
    else:
        options = words("lossless", 0.0, preset)
    return {"compression": FILTER_ID, "compression_opts": options}


fzgm = filter


# Common fill values of the rule in docs/fill-values.md.
_COMMON_FILLS = (
    *(99, 99.9, 99.99, 999, 999.9, 999.99, 9999, 9999.9, 9999.99, 99999, 999999, 9999999, 99999999, 32767, 32768, 65535, 2147483647, 2147483648),
    *(1e10, 1e12, 1e15, 1e16, 1e20, 9.99e20, 9.999e20, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 9.96921e36, 9.969209968386869e36, 1e36, 1e37, 1e38),
    *(float.fromhex("0x1.fffffep127"), sys.float_info.max),
)


def suspected_fill(array: Any) -> tuple[float, int] | None:
    """Returns the suspected fill value of largest magnitude in an array of floats (docs/fill-values.md), and the count of its magnitude."""
    import numpy as np

    x = array[np.isfinite(array)].astype(array.dtype.newbyteorder("="), copy=False)
    high, low = (float(x.max()), float(x.min())) if x.size else (0.0, 0.0)
    most = max(high, -low)
    value, count = (most if high == most else -most), int(np.count_nonzero(np.abs(x) == most))
    below = x[np.abs(x) < math.ldexp(0.5, math.frexp(most)[1])]  # values of smaller binades
    with np.errstate(over="ignore"):
        common = value == -1 or any(most == float(np.float32(fill)) or x.dtype.itemsize == 8 and most == fill for fill in _COMMON_FILLS)
    if common and 2 <= count == x.size - below.size and below.size:
        if 0 < float(below.max()) - float(below.min()) <= high / 4 - low / 4:
            return value, count

    def is_apart() -> bool:
        above = x.size - below.size
        return most >= 1e15 or 2 * count >= above or 50 * above <= below.size

    if most < 8192 or not is_apart():
        return None
    bits, mantissa = (np.uint32, 23) if x.dtype.itemsize == 4 else (np.uint64, 52)
    binades = np.zeros(1 << 11, bool)
    for first in range(0, x.size, 1 << 16):
        binades[np.abs(x[first : first + (1 << 16)]).view(bits) >> bits(mantissa)] = True
    used = np.flatnonzero(binades)
    gaps = np.flatnonzero(np.diff(used) > 16)
    if gaps.size == 0:
        return None
    below = x[np.abs(x) < np.array(int(used[gaps[-1] + 1]) << mantissa, bits).view(x.dtype)]
    return (value, count) if is_apart() and below.min() < below.max() else None


def fill_warning(value: str, count: int) -> str:
    """The text of a warning about a suspected fill value."""
    elements = "1 element is" if count == 1 else f"{count} elements are"
    return (
        f"{elements} {value} and far from the others, as fill values are; the error bound is relative to a range that includes them. "
        f"Pass fill_value={value}, or fill_value=float('nan') if the array has no fill values"
    )


def _warn_of_fills(array: Any) -> None:
    if array.dtype.kind == "f" and array.dtype.itemsize in (4, 8):
        found = suspected_fill(array)
        if found:
            warnings.warn(fill_warning(str(array.dtype.type(found[0])), found[1]), stacklevel=4)


# Warns of undeclared fill values in an array. The package fzgm replaces this function by a faster one with its own class of warnings.
look_for_fills: Callable[[Any], None] = _warn_of_fills


def range_of(data: Any, fill_value: float | None = None) -> tuple[float, float]:
    """Returns the smallest and the largest value of an array, without NaN, infinities, and the fill value."""
    import numpy as np

    if isinstance(data, np.ma.MaskedArray):
        raise Error("data is a masked array; pass data.filled(value) and fill_value=value")
    try:
        array = np.asarray(data)
    except Exception as error:  # of any library: those of closed files have no common class
        raise Error(f"data of type {type(data).__name__} cannot be converted to a numpy array: {error}; expected an array of numbers") from error
    if array.dtype.kind not in "iuf":
        raise Error(f"data has element type {array.dtype}; expected numbers")
    counts = np.isfinite(array)
    if fill_value is not None:
        with np.errstate(over="ignore"):
            counts &= array != _as_element(array.dtype, _real("fill_value", fill_value))
    bounded = array[counts]
    if bounded.size == 0:
        raise Error("data has no finite value other than the fill value; give the bound as abs")
    if fill_value is None:
        look_for_fills(array)
    return float(bounded.min()), float(bounded.max())


def _as_element(dtype: Any, fill_value: float) -> Any:
    """The fill value as an element of an array."""
    try:
        return dtype.type(fill_value)
    except (OverflowError, ValueError) as error:
        raise Error(f"fill_value is {fill_value}, which the element type {dtype} cannot represent; remove it") from error


def shown(value: Any) -> str:
    """A wrong argument in a message: its value if that is short, else its type."""
    try:
        text = repr(value)
    except Exception:  # an integer of too many digits, or an object of any library
        text = ""
    return text if 0 < len(text) <= 80 and "\n" not in text else f"of type {type(value).__name__}"


def _real(what: str, value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise Error(f"{what} is {shown(value)}; expected a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise Error(f"{what} is {shown(value)}; expected a number") from error


def _pair(range: Any) -> tuple[float, float]:
    try:
        low, high = range
    except (TypeError, ValueError) as error:
        raise Error(f"range is {shown(range)}; expected (min, max)") from error
    low, high = _real("range[0]", low), _real("range[1]", high)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise Error(f"range is ({low}, {high}); expected finite numbers, the smaller one first")
    return low, high


def _product_down(factor: float, low: float, high: float) -> float:
    """``factor * (high - low)``, never above the exact product."""
    if not math.isfinite(factor):
        raise Error(f"noa is {factor}; expected a finite number above 0")
    exact = Fraction(factor) * (Fraction(high) - Fraction(low))
    try:
        near = float(exact)
    except OverflowError:
        return sys.float_info.max
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)


def _positive(what: str, bound: Any) -> float:
    bound = _real(what, bound)
    if not (math.isfinite(bound) and bound > 0):
        raise Error(f"{what} is {bound}; expected a finite number above 0")
    return bound


def describe_words(cd: Any) -> str:
    """Describes cd_values of a user or of a dataset as text."""
    try:
        cd = list(cd)
        if any(isinstance(word, float) and not word.is_integer() for word in cd):
            raise ValueError
        cd = [int(word) & 0xFFFFFFFF for word in cd]  # h5dump prints signed numbers
    except (TypeError, ValueError, OverflowError) as error:
        raise Error(f"the cd_values are {shown(cd)}; expected integers") from error
    if cd in ([], [0]):
        return "lossless"
    if len(cd) < 3:
        raise Error(f"{len(cd)} cd_values are given; expected none, or mode, the two words of the bound, and more")
    mode = next((name for name, number in MODES.items() if number == cd[0]), f"unknown mode {cd[0]}")
    number = cd[3] if len(cd) > 3 else 0
    preset = next((name for name, known in PRESETS.items() if known == number), f"number {number}, which needs a newer plugin")
    if mode == "lossless":
        return f"{mode}, preset {preset}" if number else mode
    text = f"{mode} {_double(cd, 1):g}, preset {preset}"
    if len(cd) < 12 or cd[4] >> 16 != _MAGIC:
        return text
    bound, value = _double(cd, 7), _double(cd, 9)
    if bound == 0:
        return f"lossless, because only float32 and float64 have error bounds (requested: {text})"
    if cd[4] & 0xFFFF == _FILL_VERSION:
        return text if math.isnan(value) else f"{text}; the fill value {value:g} is exact"
    return text if math.isinf(value) else f"{text}; values of magnitude {value:g} and above are exact"


def describe(dataset: Any) -> str:
    """Describes bound, preset, and ratio of an h5py dataset as text, from its cd_values and its size in the file."""
    try:
        is_dataset = all(hasattr(dataset, name) for name in ("id", "shape", "dtype"))
        create = dataset.id.get_create_plist() if is_dataset else None
    except Exception as error:  # of h5py, whose closed datasets raise several
        raise Error(f"dataset cannot be read: {error}; expected a dataset of a file that is open") from error
    if create is None:
        raise Error(f"dataset is of type {type(dataset).__name__}; expected a dataset of h5py")
    found = [create.get_filter(k) for k in range(create.get_nfilters())]
    own = [cd for number, _, cd, _ in found if number == FILTER_ID]
    if not own:
        others = ", ".join(f"{name.decode(errors='replace')} ({number})" for number, _, _, name in found)
        return f"not compressed by fzgm; {'its filters are ' + others if found else 'it has no filters'}"
    text = describe_words(own[0])
    if "; the fill value" not in text and _has_exact_fill(dataset, create, own[0]):
        text += f"; the fill value {dataset.fillvalue:g} is exact"
    stored, full = dataset.id.get_storage_size(), math.prod(dataset.shape) * dataset.dtype.itemsize
    ratio = f"ratio {full / stored:.2f} ({full} bytes in {stored})" if stored else "no chunk is written"
    raw = sum(1 for k in range(dataset.id.get_num_chunks()) if dataset.id.get_chunk_info(k).filter_mask) if stored else 0
    return f"{text}; {ratio}" + (f"; {raw} chunks are stored without the filter" if raw else "")


def _has_exact_fill(dataset: Any, create: Any, cd: Any) -> bool:
    """True if the user has set a fill value, and the cd_values of a dataset with a bound show that it is restored bit for bit."""
    import h5py

    cd = list(cd)
    if len(cd) < 12 or cd[4] >> 16 != _MAGIC or create.fill_value_defined() != h5py.h5d.FILL_VALUE_USER_DEFINED:
        return False
    bound, threshold = _double(cd, 7), _double(cd, 9)
    if bound == 0:
        return False
    fill = float(dataset.fillvalue)
    if cd[4] & 0xFFFF == _FILL_VERSION or not math.isfinite(fill) or abs(fill) >= threshold:
        return True
    # Without a threshold, exact values are multiples of the step, and values above the largest multiple that has a code.
    if fill == 0 or cd[0] != MODES["abs"]:
        return fill == 0 and (cd[0] == MODES["rel"] or math.copysign(1, fill) > 0)
    steps = abs(fill) / (2 * bound)
    return steps >= 2**21 or bool(dataset.dtype.type(round(steps) * 2 * bound) == abs(fill))


def _double(cd: list[int], at: int) -> float:
    return struct.unpack("<d", struct.pack("<II", *cd[at : at + 2]))[0]


def plugin_folder() -> str:
    """Returns the directory of the plugin: FZGM_HDF5_PLUGIN, or the first of these that contains the plugin: the directory of this file, the plugin
    directory of the same installation, and the directories in HDF5_PLUGIN_PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    prefix = os.path.join(here, "..", "..", "..")
    folders = [here, *glob.glob(os.path.join(prefix, "lib*", "fzgm", "hdf5")), *glob.glob(os.path.join(prefix, "lib", "*", "fzgm", "hdf5"))]
    folders += [folder for folder in os.environ.get("HDF5_PLUGIN_PATH", "").split(os.pathsep) if folder]
    remedy = "set FZGM_HDF5_PLUGIN to its directory, or add its directory to HDF5_PLUGIN_PATH"
    if "FZGM_HDF5_PLUGIN" in os.environ:
        folders, remedy = [os.environ["FZGM_HDF5_PLUGIN"]], "set FZGM_HDF5_PLUGIN to its directory, or unset FZGM_HDF5_PLUGIN"
    for folder in folders:
        if os.path.exists(os.path.join(folder, "libh5fzgm.so")):
            return os.path.normpath(folder)
    raise FileNotFoundError(f"there is no libh5fzgm.so in {', '.join(folders)}; {remedy}")


def load() -> None:
    """Adds the plugin to the HDF5 library of h5py. Call it before the first dataset that requires the plugin."""
    import h5py

    h5py.h5pl.append(os.fsencode(plugin_folder()))


def _describe_file(path: str, names: list[str]) -> None:
    import h5py

    with h5py.File(path) as file:
        if not names:
            file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        for name in names:
            if not isinstance(file.get(name), h5py.Dataset):
                raise Error(f"{shown(name)} is not a dataset of this file; omit the name to describe all datasets")
            print(f"{name}: {describe(file[name])}")


def _main(arguments: list[str], program: str = "fzgm_hdf5") -> None:
    command, *rest = arguments or [""]
    if command == "words" and 1 <= len(rest) <= 3:
        try:
            cd = words(rest[0], float(rest[1]) if len(rest) > 1 else 0.0, *rest[2:])
        except ValueError as error:
            sys.exit(f"{program}: {error}")
        print(f"h5repack -f UD={FILTER_ID},0,{len(cd)},{','.join(map(str, cd))}")
        print(f'nccopy -F "VARIABLE,{FILTER_ID},{",".join(map(str, cd))}"')
    elif command == "describe" and rest:
        try:
            _describe_file(rest[0], rest[1:])
        except (OSError, RuntimeError, ValueError) as error:
            sys.exit(f"{program}: {rest[0]}: {' '.join(str(error).split())}")  # texts of HDF5 can contain line breaks
    else:
        sys.exit(f"usage: {program} words MODE [BOUND [PRESET]] | {program} describe FILE.h5 [NAME…]")


if __name__ == "__main__":
    _main(sys.argv[1:])
