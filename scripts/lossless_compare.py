#!/usr/bin/env python3
"""Compares lossless ratios of fzgm with those of zstd behind a shuffle and of pcodec. Prints a table.

    scripts/lossless_compare.py [--program PATH] FILE.f32:128x128x128 FILE.i64:524288 ...

Requires the command line (`cargo build --release -p fzgm-cli`), numpy, numcodecs, and pcodec. fzgm writes compact frames without checksums:
preset bits, the choices of `--lossless` for the goals balanced and ratio, and stage exact. zstd has level 9 and the smaller result of a shuffle of bytes
and one of bits; pcodec has level 8. Every container of fzgm is restored and compared.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fields", nargs="+", metavar="FILE:DIMS")
    parser.add_argument("--program", default="target/release/fzgm")
    arguments = parser.parse_args()
    print("| field | bits | balanced | ratio | exact | zstd | pcodec |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for text in arguments.fields:
            name = os.path.basename(text.rpartition(":")[0]).partition(".")[0]
            print(f"| {name} | {' | '.join(f'{ratio:.2f}' for ratio in row(arguments.program, text, folder))} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
