#!/usr/bin/env python3
"""Prints the tables of docs/hdf5-comparison.md: this filter beside ZFP, SZ3 and SZ of the package hdf5plugin.

    HDF5_PLUGIN_PATH=<folder of the plugin> PYTHONPATH=hdf5-filter/python scripts/hdf5_compare.py [name=file.f32:ROWSxCOLUMNS …]
"""

import os
import sys
import tempfile
import time

import h5py
import hdf5plugin
import numpy as np

from fzgm_hdf5 import fzgm

FILTERS = {
    "fzgm": lambda eb: fzgm(abs=eb),
    "fzgm, preset fz": lambda eb: fzgm(abs=eb, preset="fz"),
    "ZFP": lambda eb: hdf5plugin.Zfp(accuracy=eb),
    "SZ3": lambda eb: hdf5plugin.SZ3(absolute=eb),
    "SZ": lambda eb: hdf5plugin.SZ(absolute=eb),
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
        return f"{x:.2f}" if x <= 1 else f"**{x:.4g}**"
    except Exception:
        return "refused"


def bounds():
    print("| largest error, in bounds of 1e-3 |", " | ".join(FILTERS), "|\n|---|" + "---|" * len(FILTERS))
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
        print(f"| {name} |", " | ".join(case(lambda: run(make(1e-3))) for make in FILTERS.values()), "|")


def speeds(fields):
    print("\n| field | filter | ratio | write, MB/s | read, MB/s | largest error, in bounds |\n|---|---|---|---|---|---|")
    for name, (file, shape) in fields.items():
        a = np.fromfile(file, "<f4").reshape(shape)
        eb = 1e-3 * float(a.max() - a.min())
        for label, make in FILTERS.items():
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
            print(f"| {name} | {label} | {a.nbytes / stored:.1f} | {mb / write:.0f} | {mb / read:.0f} | {off(a, b) / eb:.2f} |")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    fields = {"egm96, 721 x 1440": (os.path.join(here, "..", "examples", "data", "egm96.f32"), (721, 1440))}
    for arg in sys.argv[1:]:
        name, rest = arg.split("=")
        file, shape = rest.rsplit(":", 1)
        fields[name] = (file, tuple(int(n) for n in shape.split("x")))
    bounds()
    speeds(fields)


if __name__ == "__main__":
    main()
