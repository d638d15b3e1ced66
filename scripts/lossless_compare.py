#!/usr/bin/env python3
"""Compares lossless ratios of fzgm with those of zstd behind a shuffle and of pcodec. Prints a table.

    scripts/lossless_compare.py [--program PATH] [--integers] FILE.f32:128x128x128 FILE.i64:524288 ...

Requires the command line (`cargo build --release -p fzgm-cli`), numpy, numcodecs, and pcodec. fzgm writes compact frames without checksums:
preset bits, the choices of `--lossless` for the goals balanced and ratio, and stage exact. zstd has level 9 and the smaller result of a shuffle of bytes
and one of bits; pcodec has level 8. Every container of fzgm is restored and compared. With --integers the table also has eight arrays of
524,176 or 524,288 integers, which the script makes.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
from numcodecs import Blosc
from pcodec import ChunkConfig, standalone


def ours(program, path, dtype, dims, arguments, folder):
    """Bytes of a container of fzgm."""
    packed, restored = os.path.join(folder, "t.fzc"), os.path.join(folder, "t.raw")
    calls = (
        [program, "compress", path, "-o", packed, "--force", "--dtype", dtype, "--dims", dims, "--container", "compact", "--no-checksum", *arguments],
        [program, "decompress", packed, "-o", restored, "--force"],
    )
    for call in calls:
        done = subprocess.run(call, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(call)}: {done.stderr.strip()}")
    with open(path, "rb") as a, open(restored, "rb") as b:
        if a.read() != b.read():
            raise SystemExit(f"{path}: {' '.join(arguments)} restores other bytes")
    return os.path.getsize(packed)


def row(program, text, folder):
    """The ratios of a field, by column."""
    path, _, dims = text.rpartition(":")
    dtype = path.rpartition(".")[2]
    shape = [int(n) for n in dims.split("x")][::-1]
    array = np.fromfile(path, f"<{dtype[0]}{int(dtype[1:]) // 8}").reshape(shape)
    sizes = [
        ours(program, path, dtype, dims, arguments, folder)
        for arguments in (["--preset", "bits"], ["--lossless"], ["--lossless", "--preset", "auto:ratio"], ["--pipeline", "exact"])
    ]
    sizes.append(min(len(Blosc("zstd", 9, shuffle).encode(array)) for shuffle in (Blosc.SHUFFLE, Blosc.BITSHUFFLE)))
    sizes.append(len(standalone.simple_compress(array.ravel(), ChunkConfig(compression_level=8))))
    return [array.nbytes / size for size in sizes]


def segments(rng, length):
    """Numbers of the nearest of 120 places, in an image."""
    y, x = np.arange(length)[:, None, None], np.arange(length)[:, None]
    places = rng.random((2, 120)) * length
    return np.argmin((x - places[0]) ** 2 + (y - places[1]) ** 2, axis=2)


def integers(folder):
    """Writes arrays of integers; returns their paths with dimensions."""
    rng, n = np.random.default_rng(7), 1 << 19
    share = rng.exponential(size=59)
    zipf = np.minimum(rng.zipf(1.5, n), 1000)
    arrays = {
        "timestamps.i64": 1_700_000_000_000 + np.cumsum(1000 + rng.integers(-200, 200, n)),
        "sorted.i64": np.sort(rng.integers(0, 1 << 40, n)),
        "prices.i64": 1_000_000 + np.cumsum(np.rint(rng.normal(0, 40, n))),
        "zipf.i32": zipf,
        "zipf_shuffled.i32": rng.permutation(1001)[zipf],
        "categories.i32": rng.choice(59, n, p=share / share.sum()),
        "labels.i32": np.repeat(rng.integers(0, 500, 4000), rng.geometric(1 / 400, 4000))[:n],
        "segments.i32": segments(rng, 724),
    }
    for name, array in arrays.items():
        path, dims = os.path.join(folder, name), "x".join(map(str, array.shape[::-1]))
        array.astype(f"<i{int(name[-2:]) // 8}").tofile(path)
        yield f"{path}:{dims}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fields", nargs="*", metavar="FILE:DIMS")
    parser.add_argument("--integers", action="store_true", help="also arrays of integers, which the script makes")
    parser.add_argument("--program", default="target/release/fzgm")
    arguments = parser.parse_args()
    print("| field | bits | balanced | ratio | exact | zstd | pcodec |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for text in [*arguments.fields, *(integers(folder) if arguments.integers else [])]:
            name = os.path.basename(text.rpartition(":")[0]).partition(".")[0]
            print(f"| {name} | {' | '.join(f'{ratio:.2f}' for ratio in row(arguments.program, text, folder))} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
