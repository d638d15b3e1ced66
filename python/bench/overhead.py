"""The cost of calls from Python compared with those from C, in one process and on the same array.

python3 overhead.py LIBRARY [--mib 4 512] [--threads 1 2] [--runs 20] [--preset fast]

LIBRARY is a libfzgm.so of the same source, built by `cargo build --release -p libfzgm`. Times are the medians of all runs, in which Python and C take turns, with the shortest in brackets. "kept" keeps plan and
workspace between calls (Encoder and Decoder), and the memory of the result, "once" does not (compress and decompress). Run it on an idle machine.
"""

import argparse
import ctypes
import statistics
import time

import fzgm
import numpy as np

options = argparse.ArgumentParser()
options.add_argument("library")
options.add_argument("--mib", type=int, nargs="+", default=[4, 512])
options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
options.add_argument("--runs", type=int, default=20)
options.add_argument("--preset", default="fast")
options = options.parse_args()

c = ctypes.CDLL(options.library)
c.fz_last_error.restype = ctypes.c_char_p
BOUND, F32, EVERY_STAGE = 1e-3, 8, ctypes.c_uint32(0xFFFFFFFF)


def ok(status):
    if status != 0:
        raise SystemExit(c.fz_last_error().decode())


class Options(ctypes.Structure):
    """fz_options."""

    _fields_ = [("struct_bytes", ctypes.c_uint32)]
    _fields_ += [(name, ctypes.c_int32) for name in ("strict", "generation", "container", "checksum", "threads", "device")]
    _fields_ += [("max_memory_bytes", ctypes.c_uint64)]


def plan_of(x, threads):
    """A plan of C. `compress` of Python makes one for each call."""
    pipeline, plan, chosen = ctypes.c_void_p(), ctypes.c_void_p(), Options()
    ok(c.fz_pipeline_from_preset(options.preset.encode(), F32, ctypes.byref(pipeline)))
    ok(c.fz_pipeline_set_string(pipeline, EVERY_STAGE, b"mode", b"noa"))
    ok(c.fz_pipeline_set_double(pipeline, EVERY_STAGE, b"error_bound", ctypes.c_double(BOUND)))
    ok(c.fz_options_init(ctypes.byref(chosen)))
    chosen.threads = threads
    dims = (ctypes.c_uint64 * 3)(*reversed(x.shape))
    ok(c.fz_pipeline_finalize(pipeline, F32, dims, 3, ctypes.byref(chosen), ctypes.byref(plan)))
    c.fz_pipeline_free(pipeline)
    return plan


def workspace_of(plan):
    workspace = ctypes.c_void_p()
    ok(c.fz_workspace_new(plan, ctypes.byref(workspace)))
    return workspace


def call(function, plan, workspace, src, dst):
    length = ctypes.c_uint64()
    ok(function(plan, workspace, src, ctypes.c_uint64(src.nbytes), dst, ctypes.c_uint64(dst.nbytes), ctypes.byref(length)))
    return length.value


def microseconds(calls):
    """The median and the shortest time of each call; they take turns."""
    times = {name: [] for name in calls}
    for _ in range(options.runs + 2):
        for name, run in calls.items():
            started = time.perf_counter()
            run()
            times[name].append(1e6 * (time.perf_counter() - started))
    return {name: (statistics.median(of[2:]), min(of[2:])) for name, of in times.items()}


def measure(mib, threads):
    x = np.random.default_rng(0).normal(size=(mib, 512, 512)).astype("f4").cumsum(-1, dtype="f4")
    y = np.empty_like(x)
    plan = plan_of(x, threads)
    decoder = ctypes.c_void_p()
    ok(c.fz_plan_decoder(plan, ctypes.byref(decoder)))
    packing, unpacking = workspace_of(plan), workspace_of(decoder)
    encoder = fzgm.Encoder(x.shape, x.dtype, error_bound=BOUND, preset=options.preset, threads=threads)
    reader = encoder.decoder()
    most = ctypes.c_uint64()
    ok(c.fz_max_compressed_bytes(plan, ctypes.byref(most)))
    room, own = np.empty(most.value, "u1"), np.empty(most.value, "u1")
    length = call(c.fz_compress, plan, packing, Place(x), Place(room))
    container = room[:length].tobytes()
    assert container == encoder.compress(x) == fzgm.compress(x, error_bound=BOUND, preset=options.preset), "the bytes are not those of C"
    source = np.frombuffer(container, "u1")

    def compress_once():
        plan = plan_of(x, threads)
        fresh = np.empty(most.value, "u1")
        call(c.fz_compress, plan, None, Place(x), Place(fresh))
        c.fz_plan_free(plan)

    times = microseconds({
        ("compress", "kept", "C"): lambda: call(c.fz_compress, plan, packing, Place(x), Place(room)),
        ("compress", "kept", "Python"): lambda: encoder.compress(x, out=own),
        ("compress", "once", "C"): compress_once,
        ("compress", "once", "Python"): lambda: fzgm.compress(x, error_bound=BOUND, preset=options.preset, threads=threads),
        ("decompress", "kept", "C"): lambda: call(c.fz_decompress, decoder, unpacking, Place(source), Place(y)),
        ("decompress", "kept", "Python"): lambda: reader.decompress(container, out=y),
        ("decompress", "once", "C"): lambda: call(c.fz_decompress, None, None, Place(source), Place(y)),
        ("decompress", "once", "Python"): lambda: fzgm.decompress(container, out=y, threads=1),
    })
    for way in ("compress", "decompress"):
        for kind in ("kept", "once"):
            line = f"{mib:5} MiB {threads} threads {way:10} {kind}:"
            for in_c, in_python, ends in zip(times[way, kind, "C"], times[way, kind, "Python"], ("{}", "({})")):
                difference = f"{in_python - in_c:+9.1f} us, {in_c / in_python:.3f} of the speed"
                line += " " + ends.format(f"C {in_c:10.1f} us, Python {in_python:10.1f} us, {difference}")
            print(line, flush=True)


class Place:
    """Memory of an array as an argument of C."""

    def __init__(self, array):
        self.nbytes, self._as_parameter_ = array.nbytes, ctypes.c_void_p(array.ctypes.data)


if __name__ == "__main__":
    for mib in options.mib:
        for threads in options.threads:
            measure(mib, threads)
