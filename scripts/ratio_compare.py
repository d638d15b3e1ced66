#!/usr/bin/env python3
"""Compares ratios of presets with those of SZ3, SPERR, and ZFP of the package hdf5plugin. Appends rows to docs/measurements/ratios.csv.

    scripts/ratio_compare.py [--machine TEXT] [--commit HASH] [--presets fast,high] [--bounds 1e-2,1e-3] [FILE.f32:128x128x128 …]

Requires the command line (`cargo build --release -p fzgm-cli`), and installs packages into build/hdf5-venv if Python does not have them.
All programs receive the same absolute bound, a fraction of the value range. fzgm writes compact frames without checksums. The others write
one HDF5 chunk or, for a volume, also a chunk for each plane. The higher ratio counts, and the file's metadata does not.
The factor is a ratio of fzgm over the highest ratio of the others. The error of every value is compared with the bound.
"""

import argparse
import datetime
import math
import os
import platform
import subprocess
import sys
import tempfile

import hdf5_others
import h5py
import numpy as np

import figures

OTHERS = ("SZ3", "SPERR", "ZFP")
# The ratio of a result counts if rounding to f32 can explain its largest error, in bounds.
TOLERATED = 1.01
COLUMNS = [*figures.PROVENANCE, "compressor", "package", "field", "dtype", "dims", "mode", "bound", "chunks", "ratio", "factor", "largest_error_in_bounds"]
FIELDS = ("turb", "density", "cloud", "wave", "particles")


class Field:
    """A file with its name, type, and dims. The first of `dims` is the fastest, as in the command line."""

    def __init__(self, text):
        self.file, _, dims = text.rpartition(":")
        self.name, ending = os.path.splitext(os.path.basename(self.file))
        self.dtype = ending[1:]
        if self.dtype not in ("f32", "f64"):
            raise argparse.ArgumentTypeError(f"{text!r} must be FILE.f32:X, FILE.f32:XxY, or FILE.f32:XxYxZ, or one of f64")
        dims = [int(n) if n.isdecimal() else 0 for n in dims.split("x")]
        # Trailing dimensions of 1 do not count.
        while len(dims) > 1 and dims[-1] == 1:
            dims.pop()
        self.dims = "x".join(map(str, dims))
        try:
            self.array = np.fromfile(self.file, "<" + self.dtype.replace("f32", "f4").replace("f64", "f8")).reshape(dims[::-1])
        except (OSError, ValueError) as error:
            raise argparse.ArgumentTypeError(f"{text}: {error}") from None
        finite = self.array[np.isfinite(self.array)]
        self.range = float(finite.max()) - float(finite.min()) if finite.size else 0.0
        if not 0 < self.range < math.inf:
            raise argparse.ArgumentTypeError(f"{text}: the value range is {self.range}; it must be finite and greater than 0")


def ours(program, preset, field, eb, folder):
    """Bytes and largest error of fzgm."""
    packed, restored = os.path.join(folder, "t.fzc"), os.path.join(folder, "t.raw")
    form = ["--dtype", field.dtype, "--dims", field.dims, "--preset", preset, "--mode", "abs", "--eb", repr(eb)]
    calls = (
        [program, "compress", field.file, "-o", packed, "--force", *form, "--container", "compact", "--no-checksum"],
        [program, "decompress", packed, "-o", restored, "--force"],
    )
    for call in calls:
        done = subprocess.run(call, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(call)}: {done.stderr.strip()}")
    b = np.fromfile(restored, field.array.dtype)
    b = b.reshape(field.array.shape) if b.size == field.array.size else b
    return os.path.getsize(packed), hdf5_others.worst(field.array, b, eb)


def theirs(name, field, chunks, eb, folder):
    """Bytes and largest error of another compressor, with chunks of this shape."""
    path = os.path.join(folder, "t.h5")
    with h5py.File(path, "w") as f:
        f.create_dataset("d", data=field.array, chunks=chunks, **hdf5_others.FILTERS[name](eb))
    with h5py.File(path) as f:
        d = f["d"].id
        # Filters are optional: HDF5 stores the raw chunk if a filter fails.
        if any(d.get_chunk_info(i).filter_mask for i in range(d.get_num_chunks())):
            raise RuntimeError(f"{name} rejects the array")
        return d.get_storage_size(), hdf5_others.worst(field.array, f["d"][()], eb)


def best_layout(name, field, eb, folder):
    """Chunks, bytes, and largest error of another compressor, or None if it rejects the array."""
    # SPERR requires 2 or 3 dimensions, and its filter crashes with 1.
    layouts = {} if name == "SPERR" and field.array.ndim == 1 else {"whole": field.array.shape}
    if field.array.ndim == 3:
        layouts["planes"] = (1, *field.array.shape[1:])
    results = []
    for chunks, shape in layouts.items():
        try:
            results.append((chunks, *theirs(name, field, shape, eb, folder)))
        except (OSError, RuntimeError, ValueError) as error:
            print(f"{field.name}, {name}, chunks {chunks}: {error}", file=sys.stderr)
    # A layout with a tolerated error precedes a smaller one without.
    return min(results, key=lambda result: (result[2] > TOLERATED, result[1]), default=None)


def cell(args, field, bound, folder):
    """The rows of a field at a bound: presets, then the others."""
    eb = bound * field.range
    results = {}
    for preset in args.presets:
        results[f"{figures.OURS} {preset}"] = ("", *ours(args.fzgm, preset, field, eb, folder))
    for name in OTHERS:
        if result := best_layout(name, field, eb, folder):
            results[name] = result
    ratio = {name: field.array.nbytes / size for name, (_, size, _) in results.items()}
    best = max((ratio[name] for name in OTHERS if name in results and results[name][2] <= TOLERATED), default=None)
    for name, (chunks, _, error) in results.items():
        yield {
            "compressor": name,
            "package": hdf5_others.VERSION if name in OTHERS else "",
            "field": field.name,
            "dtype": field.dtype,
            "dims": field.dims,
            "mode": "noa",
            "bound": figures.short(bound),
            "chunks": chunks,
            "ratio": f"{ratio[name]:.4g}" if ratio[name] < 1000 else f"{ratio[name]:.0f}",
            "factor": f"{ratio[name] / best:.3f}" if best and name not in OTHERS else "",
            "largest_error_in_bounds": hdf5_others.in_bounds(error),
        }


def told(rows):
    """Prints a table, lowest factor of the last preset first, its means, and the results that exceed their bound, which have a star."""
    names = figures.unique(row["compressor"] for row in rows)
    presets = [name for name in names if name not in OTHERS]
    cells = {}
    for row in rows:
        cells.setdefault((row["field"], row["bound"]), {})[row["compressor"]] = row
    factor = lambda found, name: float(found[name]["factor"] or "inf")
    lines = [["field", "noa", *names, *(f"factor {name.split()[1]}" for name in presets)]]
    for (field, bound), found in sorted(cells.items(), key=lambda item: factor(item[1], presets[-1])):
        star = lambda row: row["ratio"] + "*" * (float(row["largest_error_in_bounds"]) > 1)
        lines.append([field, bound, *(star(found[name]) if name in found else "-" for name in names), *(found[name]["factor"] or "-" for name in presets)])
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(text.ljust(width) if i < 2 else text.rjust(width) for i, (text, width) in enumerate(zip(line, widths))))
    for name in presets:
        factors = [factor(found, name) for found in cells.values() if found[name]["factor"]]
        if factors:
            mean = math.exp(sum(map(math.log, factors)) / len(factors))
            print(f"{name}: geometric mean {mean:.3f} of {len(factors)} factors, {sum(x < 1 for x in factors)} below 1")
    for row in rows:
        if float(row["largest_error_in_bounds"]) > 1:
            print(f"* {row['compressor']} exceeds the bound in {row['field']} at {row['bound']}: largest error {row['largest_error_in_bounds']} bounds")


def generated(folder):
    """The fields of fields.py, made once."""
    names = {name: "1048576" if name == "particles" else "128x128x128" for name in FIELDS}
    missing = [name for name in names if not os.path.exists(os.path.join(folder, name + ".f32"))]
    if missing:
        script = os.path.join(hdf5_others.ROOT, "scripts", "fields.py")
        subprocess.run([sys.executable, script, folder, "--n", "128", "--only", ",".join(missing)], check=True, stdout=sys.stderr)
    return [Field(f"{os.path.join(folder, name)}.f32:{dims}") for name, dims in names.items()]


def main():
    at = lambda *path: os.path.relpath(os.path.join(hdf5_others.ROOT, *path))
    listed = lambda text: text.split(",")
    bounds = lambda text: [figures.number(bound, "--bounds") for bound in listed(text)]
    parser = argparse.ArgumentParser(description="Compares ratios of presets with those of SZ3, SPERR, and ZFP; the top of this file says how.")
    parser.add_argument("fields", metavar="FILE.f32:XxYxZ", nargs="*", type=Field, help=f"fields, f32 or f64, fastest dimension first [default: {', '.join(FIELDS)} of 128^3 by scripts/fields.py]")
    parser.add_argument("--presets", type=listed, default=["fast", "high"], help="[default: fast,high]")
    parser.add_argument("--bounds", type=bounds, default=[1e-2, 1e-3, 1e-4, 1e-5], help="fractions of the value range [default: 1e-2,1e-3,1e-4,1e-5]")
    parser.add_argument("--fzgm", default=at("target", "release", "fzgm"), help="the command line [default: %(default)s]")
    parser.add_argument("--csv", default=at("docs", "measurements", "ratios.csv"), help="the file to append the rows to [default: %(default)s]")
    parser.add_argument("--machine", default=f"{platform.machine()}, {os.cpu_count()} cores", help="[default: %(default)s]")
    parser.add_argument("--commit", default="", help="commit of the command line")
    args = parser.parse_args()
    if not os.path.exists(args.fzgm):
        parser.error(f"there is no {args.fzgm}: run `cargo build --release -p fzgm-cli`, or name the program with --fzgm")
    fields = args.fields or generated(at("build", "ratio-fields"))
    command = "scripts/ratio_compare.py" + (" F.T:D" if args.fields else "")
    said = {"date": datetime.date.today().isoformat(), "machine": args.machine, "commit": args.commit, "command": command}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for field in fields:
            for bound in args.bounds:
                print(f"{field.name} {bound:g}", file=sys.stderr)
                rows += ({**said, **row} for row in cell(args, field, bound, folder))
    if not os.path.exists(args.csv):
        figures.write(args.csv, ",".join(COLUMNS) + "\n")
    figures.append(args.csv, rows)
    told(rows)


if __name__ == "__main__":
    try:
        main()
    except (figures.Damaged, RuntimeError) as error:
        sys.exit(f"ratio_compare.py: {error}")
