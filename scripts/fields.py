#!/usr/bin/env python3
"""Make reproducible scientific-like test fields (raw little-endian floats, x fastest).

usage: scripts/fields.py OUTDIR [--n 512] [--only turb,density,...] [--f64]

Each field imitates one class of the SDRBench collection; nothing is copied from it.
  turb       3-D incompressible Navier-Stokes velocity (pseudo-spectral, decaying)   ~ JHTDB / Miranda
  density    3-D log-normal random field, 8 decades of range                          ~ Nyx baryon density
  cloud      3-D clipped random field, >85 % exact zeros                              ~ Hurricane QCLOUD
  wave       3-D acoustic wavefield from a Ricker source, quiet outside the front     ~ RTM
  climate    2-D multi-scale field with a land mask of fill values 1e20               ~ CESM-ATM / ocean models
  particles  1-D particle coordinates grouped by cell                                 ~ HACC / MD
Uses torch on a GPU where there is one, numpy otherwise. Writes NAME.f32, or with --f64 NAME.f64, and their dims x, y, z
into fields.json, beside those of earlier calls.
"""
import argparse, json, os
import numpy as np

try:
    import torch
    GPU = torch.cuda.is_available()
except ImportError:
    torch, GPU = None, False


def grf(shape, slope, seed):
    """Gaussian random field with power spectrum k**slope, zero mean, unit variance."""
    rng = np.random.default_rng(seed)
    if GPU:
        g = torch.Generator(device="cuda").manual_seed(seed)
        f = torch.fft.rfftn(torch.randn(shape, generator=g, device="cuda"))
        ks = [torch.fft.fftfreq(n, device="cuda") for n in shape[:-1]] + [torch.fft.rfftfreq(shape[-1], device="cuda")]
        k2 = sum(k.reshape([-1 if i == j else 1 for j in range(len(shape))]) ** 2 for i, k in enumerate(ks))
        k2.reshape(-1)[0] = 1.0
        out = torch.fft.irfftn(f * k2 ** (slope / 4), s=shape)
        return ((out - out.mean()) / out.std()).cpu().numpy()
    f = np.fft.rfftn(rng.standard_normal(shape))
    ks = [np.fft.fftfreq(n) for n in shape[:-1]] + [np.fft.rfftfreq(shape[-1])]
    k2 = sum(k.reshape([-1 if i == j else 1 for j in range(len(shape))]) ** 2 for i, k in enumerate(ks))
    k2.reshape(-1)[0] = 1.0
    out = np.fft.irfftn(f * k2 ** (slope / 4), s=shape, axes=range(len(shape)))
    return (out - out.mean()) / out.std()


def turb(n, steps=60, nu=None):
    """Decaying turbulence: x velocity after `steps` RK2 steps on an n^3 periodic box."""
    nu = nu or 0.4 / n
    if GPU:
        fft, ifft = torch.fft.rfftn, torch.fft.irfftn
        k1 = torch.fft.fftfreq(n, 1 / n, device="cuda"); kr = torch.fft.rfftfreq(n, 1 / n, device="cuda")
        to = lambda a: torch.from_numpy(a.astype(np.float32)).cuda()
    else:
        fft, ifft = np.fft.rfftn, lambda a, s: np.fft.irfftn(a, s=s, axes=(0, 1, 2))
        k1 = np.fft.fftfreq(n, 1 / n); kr = np.fft.rfftfreq(n, 1 / n)
        to = lambda a: a
    kz, ky, kx = k1.reshape(-1, 1, 1), k1.reshape(1, -1, 1), kr.reshape(1, 1, -1)
    k2 = kx ** 2 + ky ** 2 + kz ** 2
    k2z = k2.clone() if GPU else k2.copy()
    k2z.reshape(-1)[0] = 1.0
    mask = (abs(kx) < n / 3) * (abs(ky) < n / 3) * (abs(kz) < n / 3)
    sp = (n, n, n)
    U = [fft(to(grf(sp, -11 / 3, 10 + i))) for i in range(3)]
    K = (kx, ky, kz)

    def project(W):
        d = (K[0] * W[0] + K[1] * W[1] + K[2] * W[2]) / k2z
        return [W[i] - K[i] * d for i in range(3)]

    def rhs(W):
        u = [ifft(w, s=sp) for w in W]
        w = [ifft(1j * (K[(i + 1) % 3] * W[(i + 2) % 3] - K[(i + 2) % 3] * W[(i + 1) % 3]), s=sp) for i in range(3)]
        c = [fft(u[(i + 1) % 3] * w[(i + 2) % 3] - u[(i + 2) % 3] * w[(i + 1) % 3]) * mask for i in range(3)]
        return [p - nu * k2 * q for p, q in zip(project(c), W)]

    U = project(U)
    dt = 0.3 / n
    for _ in range(steps):
        a = rhs(U)
        b = rhs([u + dt / 2 * x for u, x in zip(U, a)])
        U = [u + dt * x for u, x in zip(U, b)]
    out = ifft(U[0], s=sp)
    return out.cpu().numpy() if GPU else out


def wave(n, steps=None):
    """3-D scalar wave equation, layered speed, Ricker source near the top; front reaches ~70 % of the box."""
    steps = steps or int(1.0 * n)
    z = np.arange(n)
    c = (0.25 + 0.15 * (z > n * 0.35) + 0.1 * (z > n * 0.6)).astype(np.float32)
    if GPU:
        p = torch.zeros((n, n, n), device="cuda"); q = torch.zeros_like(p); c2 = torch.from_numpy(c ** 2).cuda().reshape(-1, 1, 1)
        roll = lambda a, s, d: torch.roll(a, s, d)
    else:
        p = np.zeros((n, n, n), np.float32); q = np.zeros_like(p); c2 = (c ** 2).reshape(-1, 1, 1)
        roll = lambda a, s, d: np.roll(a, s, d)
    for t in range(steps):
        lap = -6 * p
        for d in range(3):
            lap = lap + roll(p, 1, d) + roll(p, -1, d)
        nxt = 2 * p - q + c2 * lap
        tau = (t - 30) / 10.0
        nxt[n // 5, n // 2, n // 2] += float((1 - 2 * tau * tau) * np.exp(-tau * tau))
        q, p = p, nxt
    return p.cpu().numpy() if GPU else p


def main():
    names = "turb,density,cloud,wave,climate,particles"
    ap = argparse.ArgumentParser(description="Makes test fields; the top of this file says which.")
    ap.add_argument("out", metavar="OUTDIR")
    ap.add_argument("--n", type=int, default=512, help="length of a volume in each dimension (512); climate is 16 n x 8 n, particles are n^3 / 2")
    ap.add_argument("--only", default=names, help=f"some of {names}, with commas")
    ap.add_argument("--f64", action="store_true", help="doubles in place of floats")
    a = ap.parse_args()
    only = a.only.split(",")
    unknown = [name for name in only if name not in names.split(",")]
    if unknown:
        ap.error(f"there is no field {unknown[0]}; give some of {names}")
    os.makedirs(a.out, exist_ok=True)
    n, listed = a.n, os.path.join(a.out, "fields.json")
    meta = {}
    if os.path.exists(listed):
        with open(listed) as f:
            meta = json.load(f)

    def put(name, arr, dims):
        t, ext = (np.float64, "f64") if a.f64 else (np.float32, "f32")
        np.ascontiguousarray(arr, dtype=t).tofile(os.path.join(a.out, f"{name}.{ext}"))
        meta[name] = dims
        print(name, dims, "min", float(arr.min()), "max", float(arr.max()), flush=True)

    if "turb" in only: put("turb", turb(n), [n, n, n])
    if "density" in only: put("density", np.exp(2.3 * grf((n, n, n), -2.6, 1)), [n, n, n])
    if "cloud" in only: put("cloud", np.maximum(grf((n, n, n), -3.2, 2) - 1.1, 0) * 1e-3, [n, n, n])
    if "wave" in only: put("wave", wave(n), [n, n, n])
    if "climate" in only:
        ny, nx = n * 8, n * 16
        lat = np.linspace(-1, 1, ny).reshape(-1, 1)
        f = 288 - 40 * lat ** 2 + 6 * grf((ny, nx), -3.0, 3)
        f[grf((ny, nx), -3.6, 4) > 0.55] = 1e20
        put("climate", f, [nx, ny, 1])
    if "particles" in only:
        m = n ** 3 // 2
        rng = np.random.default_rng(5)
        cell = np.sort(rng.integers(0, 4096, m))
        put("particles", (cell + rng.random(m)) * (256 / 4096), [m, 1, 1])
    with open(listed, "w") as f:
        json.dump(meta, f)


if __name__ == "__main__":
    main()
