#!/usr/bin/env python3
"""Compares the pipelines that fz_pipeline_choose() returns with the presets. Prints a table, and the share of good choices.

    scripts/choice_compare.py [--library PATH] [--goal balanced] [--bounds 1e-2,1e-3] [--runs 5] FILE.f32:128x128x128 ...

Requires the C library (`cargo build --release -p libfzgm`) and numpy. Bounds are fractions of the value range; `lossless` is one of them.
Each row contains the ratio of the choice, the highest ratio of the presets of the goal, the quotient of both ratios, the time of the choice,
and the time of a blocking compression with the chosen pipeline, which includes its plan and workspace. Times are the least CPU seconds of the runs, on
one thread. Containers are compact frames without checksums.
"""

import argparse
import ctypes
import os
import sys
import time

import numpy as np

GOALS = {"balanced": 0, "speed": 1, "ratio": 2}
LOSSLESS, NOA = -1, 2
EVERY_STAGE = ctypes.c_uint32(0xFFFFFFFF)
COMPACT = 1
DTYPES = {"f32": (8, "<f4"), "f64": (9, "<f8"), "i8": (4, "<i1"), "i16": (5, "<i2"), "i32": (6, "<i4"), "i64": (7, "<i8"), "u8": (0, "<u1"), "u16": (1, "<u2"), "u32": (2, "<u4"), "u64": (3, "<u8")}
# Smallest ratio of a good choice, as a fraction of that of the best preset.
GOOD = 0.97


class Wish(ctypes.Structure):
    _fields_ = [("struct_bytes", ctypes.c_uint32), ("goal", ctypes.c_int32), ("mode", ctypes.c_int32), ("reserved", ctypes.c_int32)] + [
        (name, ctypes.c_double) for name in ("bound", "target_ratio", "target_psnr", "outlier_threshold")
    ]


class Choice(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", ctypes.c_uint32),
        ("mode", ctypes.c_int32),
        ("bound", ctypes.c_double),
        ("expected_ratio", ctypes.c_double),
        ("preset", ctypes.c_char * 32),
        ("lattice", ctypes.c_char * 160),
    ]


class Options(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("struct_bytes", "strict", "generation", "container", "checksum")]
    _fields_ += [("threads", ctypes.c_uint32), ("device", ctypes.c_int32), ("previous_base", ctypes.c_int32), ("max_memory_bytes", ctypes.c_uint64)]


class Library:
    """The C library."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __call__(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            self.library.fz_last_error.restype = ctypes.c_char_p
            raise SystemExit(f"{name}: {self.library.fz_last_error().decode()}")


class Array:
    """A file as an array with its number of the type and its dimensions."""

    def __init__(self, text):
        path, _, dims = text.rpartition(":")
        self.name, ending = os.path.splitext(os.path.basename(path))
        self.number, kind = DTYPES[ending[1:]]
        self.dims = [int(n) for n in dims.split("x")]
        self.values = np.fromfile(path, kind)
        self.of_type = (self.number, (ctypes.c_uint64 * len(self.dims))(*self.dims), len(self.dims))
        self.source = (self.values.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(self.values.nbytes))


def chosen(library, array, goal, bound):
    """A pipeline with its description."""
    wish = Wish(ctypes.sizeof(Wish), GOALS[goal], NOA if bound else LOSSLESS, 0, bound)
    pipeline, choice = ctypes.c_void_p(), Choice(ctypes.sizeof(Choice))
    library("fz_pipeline_choose", ctypes.byref(wish), *array.of_type, *array.source, ctypes.byref(pipeline), ctypes.byref(choice))
    return pipeline, choice


def compressed(library, array, pipeline):
    """Bytes of the container, with the time of the call."""
    options, plan, workspace = Options(), ctypes.c_void_p(), ctypes.c_void_p()
    library.library.fz_options_init(ctypes.byref(options))
    options.container, options.checksum = COMPACT, 0
    capacity, length = ctypes.c_uint64(), ctypes.c_uint64()
    start = time.process_time()
    library("fz_pipeline_finalize", pipeline, *array.of_type, ctypes.byref(options), ctypes.byref(plan))
    library("fz_workspace_new", plan, ctypes.byref(workspace))
    library("fz_max_compressed_bytes", plan, ctypes.byref(capacity))
    out = np.empty(capacity.value, "u1")
    library("fz_compress", plan, workspace, *array.source, out.ctypes.data_as(ctypes.c_void_p), capacity, ctypes.byref(length))
    seconds = time.process_time() - start
    library.library.fz_workspace_free(workspace)
    library.library.fz_plan_free(plan)
    return length.value, seconds


def preset(library, array, name, bound):
    """A pipeline of a preset."""
    pipeline = ctypes.c_void_p()
    library("fz_pipeline_from_preset", name.encode(), array.number, ctypes.byref(pipeline))
    if bound and name != "exact":
        library("fz_pipeline_set_string", pipeline, EVERY_STAGE, b"mode", b"noa")
        library("fz_pipeline_set_double", pipeline, EVERY_STAGE, b"error_bound", ctypes.c_double(bound))
    return pipeline


def candidates(goal, bound, rank):
    """Presets of a goal, with their number of axes; 0 is the default."""
    names = ["exact"] if bound else ["bits", "exact"]
    if bound and goal == "ratio":
        names.append("high")
    listed = [(name, 0) for name in names]
    if bound and goal == "balanced":
        listed += [("fast", 0)] + [(name, axes) for name in ("fz", "cusz") for axes in range(1, rank + 1)]
    return listed


def row(library, array, goal, bound, runs):
    """The cells of a row, and the quotients that are counted."""
    best, name_of_best = 0, ""
    for name, axes in candidates(goal, bound, sum(n > 1 for n in array.dims)):
        pipeline = preset(library, array, name, bound)
        if axes:
            library("fz_pipeline_set_int", pipeline, EVERY_STAGE, b"axes", ctypes.c_int64(axes))
        ratio = array.values.nbytes / compressed(library, array, pipeline)[0]
        library.library.fz_pipeline_free(pipeline)
        if ratio > best:
            best, name_of_best = ratio, name
    choosing = compressing = float("inf")
    for _ in range(runs):
        start = time.process_time()
        pipeline, choice = chosen(library, array, goal, bound)
        choosing = min(choosing, time.process_time() - start)
        size, seconds = compressed(library, array, pipeline)
        compressing = min(compressing, seconds)
        library.library.fz_pipeline_free(pipeline)
    ratio = array.values.nbytes / size
    name = choice.preset.decode() + ("*" if choice.lattice else "")
    cells = [array.name, f"{bound:g}" if bound else "lossless", name, f"{ratio:.4g}", f"{choice.expected_ratio:.4g}", name_of_best, f"{best:.4g}"]
    cells += [f"{ratio / best:.3f}", f"{1e3 * choosing:.2f}", f"{1e3 * compressing:.2f}", f"{100 * choosing / compressing:.0f} %"]
    return cells, ratio / best, choosing / compressing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fields", nargs="+", metavar="FILE:DIMS", type=Array)
    parser.add_argument("--library", default="target/release/libfzgm.so")
    parser.add_argument("--goal", choices=GOALS, default="balanced")
    parser.add_argument("--bounds", default="1e-2,1e-3,1e-4,1e-5")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    library = Library(arguments.library)
    print("| field | noa | choice | ratio | expected | best preset | ratio | quotient | choice, ms | call, ms | share |\n|" + "---|" * 11)
    rows = []
    for array in arguments.fields:
        for text in arguments.bounds.split(","):
            bound = 0.0 if text == "lossless" else float(text)
            if bound and array.values.dtype.kind != "f":
                continue
            cells, *numbers = row(library, array, arguments.goal, bound, arguments.runs)
            rows.append(numbers)
            print(f"| {' | '.join(cells)} |")
            sys.stdout.flush()
    good, shares = sum(quotient >= GOOD for quotient, _ in rows), sorted(share for _, share in rows)
    print(f"\n{good} of {len(rows)} choices have {GOOD} of the best ratio. * on a lattice. Median share {100 * shares[len(shares) // 2]:.0f} %")


if __name__ == "__main__":
    main()
