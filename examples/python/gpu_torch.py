"""Compresses a tensor of torch on a GPU, checks the bound there, and times the calls with CUDA events.

python3 gpu_torch.py [--n 512] [--preset fast] [--error-bound 1e-3] [--runs 20] [--fzgm PATH]

--fzgm names the command line; its `bench` then measures the same field on the same GPU, and the script prints the quotients. It exits with 1 if a bound is
broken, or if a call takes over 3 % and 5 us more than bench.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fzgm
import numpy as np
import torch

options = argparse.ArgumentParser()
options.add_argument("--n", type=int, default=512)
options.add_argument("--preset", default="fast")
options.add_argument("--error-bound", type=float, default=1e-3)
options.add_argument("--runs", type=int, default=20)
options.add_argument("--fzgm")
options = options.parse_args()

n, bound, failures = options.n, options.error_bound, []
axes = torch.meshgrid(*(torch.linspace(0, 6, n, device="cuda"),) * 3, indexing="ij")
x = (torch.sin(3 * axes[0] + axes[1]) * torch.cos(axes[1] * axes[2]) + torch.sin(40 * axes[2]) / 50).contiguous()
x += 1e-3 * torch.randn(x.shape, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
del axes
allowed = bound * (x.max().double() - x.min().double())


def check(what, y):
    worst = max((a.double() - b.double()).abs().max().item() for a, b in zip(x, y))  # slice by slice: doubles of all take much memory
    print(f"{what}: largest error {worst:.6g} of {allowed.item():.6g}")
    if not worst <= allowed.item():
        failures.append(what)


# One call each way. The results are arrays of fzgm; torch views them without a copy.
container = fzgm.compress(x, error_bound=bound, preset=options.preset)
print(f"{x.nbytes / container.nbytes:.2f} times smaller, {container}")
check("compress and decompress", torch.from_dlpack(fzgm.decompress(container)))
small = x[: min(n, 64), :64, :64].contiguous()
if np.asarray(fzgm.compress(small, error_bound=bound)).tobytes() != fzgm.compress(small.cpu().numpy(), error_bound=bound):
    failures.append("the bytes of GPU and CPU differ")

# Another stream: the call waits for what torch has queued.
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    torch.cuda._sleep(100_000_000)
    late = small * 2
    packed = fzgm.compress(late, error_bound=bound)
if np.asarray(packed).tobytes() != fzgm.compress(2 * small.cpu().numpy(), error_bound=bound):
    failures.append("a call did not wait for the stream of its array")

# Asynchronous calls into tensors, on the current stream.
encoder = fzgm.Encoder(x.shape, "f4", error_bound=bound, preset=options.preset, device="cuda:0")
decoder = encoder.decoder()
room = torch.empty(encoder.max_compressed_bytes, dtype=torch.uint8, device="cuda")
y = torch.zeros_like(x)
stream = torch.cuda.Stream()
encoder.preload(stream)
decoder.preload(stream)
calls = {
    "compress": lambda: encoder.compress_async(x, out=room, stream=stream),
    "decompress": lambda: decoder.decompress_async(room, out=y, stream=stream),
}


def microseconds(call):
    """Median of the times between events around a call. The GPU is busy until everything is queued, so that Python takes no part in them."""
    for _ in range(3):
        call()
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(options.runs)]
    for begin, end in pairs:
        torch.cuda._sleep(1_000_000)
        begin.record(stream)
        call()
        end.record(stream)
        stream.synchronize()
    return sorted(1000 * begin.elapsed_time(end) for begin, end in pairs)[len(pairs) // 2]


times = {}
with torch.cuda.stream(stream):
    for name, call in calls.items():
        times[name] = microseconds(call)
        started = time.perf_counter()
        for _ in range(options.runs):
            call().result()
        whole = 1e6 * (time.perf_counter() - started) / options.runs
        print(f"{name}_async: {times[name]:.1f} us, {x.nbytes / times[name] / 1000:.1f} GB/s; from Python with result(): {whole:.1f} us")
    calls["compress"]().result()
    calls["decompress"]().result()
check("asynchronous calls", y)

# The same as a graph of torch.
y.zero_()
graph = torch.cuda.CUDAGraph()
torch.cuda.synchronize()
with torch.cuda.graph(graph, stream=stream):
    kept = [call() for call in calls.values()]
graph.replay()
torch.cuda.synchronize()
check("a graph", y)

for name, view in {"cupy": lambda m, a: m.asarray(a), "jax": lambda m, a: m.numpy.from_dlpack(a)}.items():
    if importlib.util.find_spec(name) is None:
        continue
    module = __import__(name)
    other = view(module, small)
    same = np.asarray(fzgm.compress(other, error_bound=bound)).tobytes() == np.asarray(fzgm.compress(small, error_bound=bound)).tobytes()
    back = view(module, fzgm.decompress(fzgm.compress(other, error_bound=bound)))
    print(f"{name}: {type(other).__name__}, the same bytes: {same}, restored as {type(back).__name__} of shape {back.shape}")
    if not same:
        failures.append(name)

if options.fzgm:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "field.f32")
        x.cpu().numpy().tofile(file)
        command = f"{options.fzgm} bench {file} --dtype f32 --dims {n}x{n}x{n} --preset {options.preset} --eb {bound} --device cuda --runs {options.runs} --json"
        report = json.loads(subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout)
    for name, took in times.items():
        bench = report["rows"][0][f"{name}_us"]
        print(f"{name}: {took:.1f} us, fzgm bench {bench:.1f} us, quotient {took / bench:.3f}")
        if took > 1.03 * bench + 5:
            failures.append(f"{name} is slower than fzgm bench")

sys.exit(f"FAILED: {', '.join(failures)}" if failures else 0)
