#!/usr/bin/env python3
"""Compares this filter with ZFP, SZ3 and SZ of the package hdf5plugin. Appends rows to docs/measurements/hdf5.csv and hdf5_bounds.csv.
Installs packages into build/hdf5-venv if Python does not have them.

    HDF5_PLUGIN_PATH=<folder of the plugin> PYTHONPATH=hdf5-filter/python scripts/hdf5_compare.py --machine TEXT [--commit HASH] [name=file.f32:ROWSxCOLUMNS …]
"""

import argparse
import datetime
import os
import tempfile
import time

import hdf5_others
import h5py
import numpy as np

import figures
from fzgm_hdf5 import fzgm

# Name and preset of the filter, and its options for a bound.
FILTERS = {
    ("fzgm", ""): lambda eb: fzgm(abs=eb, preset="default"),
    ("fzgm", "fz"): lambda eb: fzgm(abs=eb, preset="fz"),
    **{(name, ""): hdf5_others.FILTERS[name] for name in ("ZFP", "SZ3", "SZ")},
}
path = os.path.join(tempfile.mkdtemp(), "t.h5")


def off(a, b):
    """The largest error, whatever is in b."""
    d = np.abs(a.astype("f8") - b.astype("f8"))
    return float(np.max(np.where(np.isfinite(d), d, np.inf)))


def through(a, chunks, opts, **more):
    with h5py.File(path, "w") as f:
        f.create_dataset("d", data=a, chunks=chunks, **opts, **more)
    with h5py.File(path) as f:
        return f["d"][()]


def case(run):
    try:
        with np.errstate(all="ignore"):
            x = run() / 1e-3
        return hdf5_others.in_bounds(x)
    except Exception:
        return "rejected"


def bounds():
    a = np.sin(np.arange(4096) / 9.0).reshape(64, 64)
    rng = np.random.default_rng(0)
    b = (np.sin(np.arange(1024 * 512) / 900.0).reshape(1024, 512) + rng.normal(0, 0.01, (1024, 512))).astype("f4")

    def parts(opts):
        with h5py.File(path, "w", rdcc_nbytes=1 << 20) as f:
            d = f.create_dataset("d", b.shape, "f4", chunks=b.shape, **opts)
            for i in range(0, 1024, 64):
                d[i : i + 64] = b[i : i + 64]
        with h5py.File(path) as f:
            return off(b, f["d"][()])

    cases = {
        "f64": lambda o: off(a, through(a, (32, 64), o)),
        "f64, big-endian": lambda o: off(a, through(a.astype(">f8"), (32, 64), o)),
        "f64, shuffle before": lambda o: off(a, through(a, (32, 64), o, shuffle=True)),
        "f32, a chunk larger than the cache in 16 parts": parts,
    }
    for name, run in cases.items():
        for (label, preset), make in FILTERS.items():
            label = f"{label}, preset {preset}" if preset else label
            yield {"filter": label, "data": name, "error_bound": "1e-3", "largest_error_in_bounds": case(lambda: run(make(1e-3)))}


def speeds(fields):
    for name, (file, shape) in fields.items():
        a = np.fromfile(file, "<f4").reshape(shape)
        eb = 1e-3 * float(a.max() - a.min())
        for (label, preset), make in FILTERS.items():
            write = read = np.inf
            for _ in range(5):
                start = time.perf_counter()
                with h5py.File(path, "w") as f:
                    f.create_dataset("d", data=a, chunks=a.shape, **make(eb))
                write = min(write, time.perf_counter() - start)
                start = time.perf_counter()
                with h5py.File(path) as f:
                    stored, b = f["d"].id.get_storage_size(), f["d"][()]
                read = min(read, time.perf_counter() - start)
            mb = a.nbytes / 1e6
            yield {
                "filter": label,
                "preset": preset,
                "field": name,
                "shape": "x".join(map(str, shape)),
                "error_bound_over_range": "1e-3",
                "ratio": f"{a.nbytes / stored:.1f}",
                "write_mb_per_s": f"{mb / write:.0f}",
                "read_mb_per_s": f"{mb / read:.0f}",
                "largest_error_in_bounds": hdf5_others.in_bounds(hdf5_others.worst(a, b, eb)),
            }


def main():
    parser = argparse.ArgumentParser(description="Compares this filter with ZFP, SZ3 and SZ of the package hdf5plugin")
    parser.add_argument("fields", metavar="name=file.f32:ROWSxCOLUMNS", nargs="*")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--commit", default="", help="commit of the plugin")
    args = parser.parse_args()
    fields = {"egm96": (os.path.join(figures.DOCS, "..", "examples", "data", "egm96.f32"), (721, 1440))}
    for field in args.fields:
        name, rest = field.split("=")
        file, shape = rest.rsplit(":", 1)
        fields[name] = (file, tuple(int(n) for n in shape.split("x")))
    said = {"date": datetime.date.today().isoformat(), "machine": args.machine, "commit": args.commit, "command": "scripts/hdf5_compare.py"}
    for file, rows in (("hdf5_bounds", bounds()), ("hdf5", speeds(fields))):
        figures.append(os.path.join(figures.DOCS, "measurements", file + ".csv"), [{**said, **row} for row in rows])


if __name__ == "__main__":
    main()
