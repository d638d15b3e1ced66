#!/usr/bin/env python3
"""Compares the speed of presets on the CPU with SZ3, ZFP, Blosc2, and LZ4, in memory and in turns. Appends rows to
docs/measurements/cpu_peers.csv. PFPL has no package. Installs packages into build/cpu-venv if Python does not have them.

    scripts/cpu_compare.py --machine TEXT [--commit HASH] [--fzgm PROGRAM] [--rounds N] [--threads 1,2] FILE.f32:XxYxZ
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import subprocess
import sys
import time

from environment import ROOT, ensure

PACKAGES = ("numpy", "pysz", "zfpy", "blosc2", "lz4")
BOUND = 1e-3
PRESETS = ("fast", "pfpl", "fz", "cusz")

ensure("cpu-venv", PACKAGES)

import blosc2  # noqa: E402
import lz4.frame  # noqa: E402
import numpy as np  # noqa: E402
import pysz  # noqa: E402
import zfpy  # noqa: E402

import figures  # noqa: E402


def sz3(a, eb, threads):
    config = pysz.szConfig(a.shape)
    config.errorBoundMode, config.absErrorBound, config.openmp = pysz.szErrorBoundMode.ABS, eb, threads > 1
    return lambda: pysz.sz.compress(a, config)[0], lambda c: pysz.sz.decompress(c, a.dtype, a.shape)[0]


def zfp(a, eb, threads):
    return lambda: zfpy.compress_numpy(a, tolerance=eb), zfpy.decompress_numpy


def blosc(codec):
    def make(a, eb, threads):
        one = {"codec": codec, "clevel": 5, "filters": [blosc2.Filter.BITSHUFFLE], "filters_meta": [0], "typesize": 4, "nthreads": threads}
        return lambda: blosc2.compress2(a, **one), lambda c: np.frombuffer(blosc2.decompress2(c, nthreads=threads), a.dtype).reshape(a.shape)

    return make


def lz4_frame(a, eb, threads):
    return lambda: lz4.frame.compress(a), lambda c: np.frombuffer(lz4.frame.decompress(c), a.dtype).reshape(a.shape)


# Functions that compress and decompress an array, numbers of threads, and whether the compressor has a bound.
OTHERS = {
    "SZ3 (pysz)": (sz3, (1, 2), True),
    "ZFP (zfpy)": (zfp, (1,), True),
    "Blosc2, bitshuffle and LZ4": (blosc(blosc2.Codec.LZ4), (1, 2), False),
    "Blosc2, bitshuffle and Zstd": (blosc(blosc2.Codec.ZSTD), (1, 2), False),
    "LZ4 (frame)": (lz4_frame, (1,), False),
}


def timed(run, *args):
    start = time.perf_counter()
    made = run(*args)
    return made, time.perf_counter() - start


def ours(program, file, dims, threads):
    """Rows of a short run of `fzgm bench`."""
    presets = [word for preset in PRESETS for word in ("--preset", preset)]
    command = [program, "bench", file, "--dtype", "f32", "--dims", dims, *presets, "--eb", str(BOUND), "--device", "cpu", "--threads", ",".join(map(str, threads)), "--runs", "5", "--json"]
    for row in json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["rows"]:
        yield f"fzgm {row['preset']}", row["threads"], "noa 1e-3", row["ratio"], row["compress_gb_per_s"], row["decompress_gb_per_s"]


def others(a, eb, allowed):
    gb = a.nbytes / 1e9
    for name, (make, counts, bounded) in OTHERS.items():
        for threads in (n for n in counts if n in allowed):
            compress, decompress = make(a, eb, threads)
            stored, there = timed(compress)
            b, back = timed(decompress, stored)
            off = np.max(np.abs(b.astype("f8") - a)) if bounded else 0.0 if np.array_equal(a.view("u4"), b.view("u4")) else np.inf
            if off > eb * (1 + 1e-6):
                sys.exit(f"{name} does not keep the bound: the largest error is {off}, for {eb}")
            yield name, threads, "noa 1e-3" if bounded else "lossless", a.nbytes / len(stored), gb / there, gb / back


def main():
    parser = argparse.ArgumentParser(description="Compares the speed of presets on the CPU with other compressors")
    parser.add_argument("field", metavar="FILE.f32:XxYxZ")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--commit", default="", help="commit of the program")
    parser.add_argument("--fzgm", default=os.path.join(ROOT, "target", "release", "fzgm"), help="the program [default: that of target/release]")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each compressor; the best one counts [default: 5]")
    parser.add_argument("--threads", default="1,2", help="numbers of threads [default: 1,2]")
    args = parser.parse_args()
    counts = [int(n) for n in args.threads.split(",")]
    file, dims = args.field.rsplit(":", 1)
    a = np.fromfile(file, "<f4").reshape([int(n) for n in reversed(dims.split("x"))])
    eb = BOUND * float(a.max() - a.min())
    best = {}
    for _ in range(args.rounds):
        for name, threads, bound, ratio, there, back in (*ours(args.fzgm, file, dims, counts), *others(a, eb, counts)):
            key = name, threads, bound, f"{ratio:.3g}"
            best[key] = [max(pair) for pair in zip(best.get(key, (0.0, 0.0)), (there, back))]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES[1:])
    said = {"date": datetime.date.today().isoformat(), "machine": args.machine, "commit": args.commit, "command": f"scripts/cpu_compare.py ({versions})"}
    rows = []
    for (name, threads, bound, ratio), (there, back) in best.items():
        row = {"compressor": name, "field": os.path.basename(file).split(".")[0], "dims": dims, "bound": bound, "threads": f"{threads} thread{'s' * (threads > 1)}", "ratio": ratio}
        rows.append({**said, **row, "compress_gb_per_s": f"{there:.3g}", "decompress_gb_per_s": f"{back:.3g}"})
    figures.append(os.path.join(figures.DOCS, "measurements", "cpu_peers.csv"), rows)


if __name__ == "__main__":
    main()
