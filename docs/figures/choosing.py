#!/usr/bin/env python3
"""Pictures of docs/choosing.md: what error bounds do to fields.

    cargo build --release --locked -p fzgm-cli
    python3 -m venv build/figures && build/figures/bin/pip install numpy matplotlib
    build/figures/bin/python docs/figures/choosing.py [--fzgm target/release/fzgm] [--only bounds,spectrum,...]

The fields are examples/data/egm96.f32 and fields of scripts/fields.py, which are computed here. Pictures are PNG files of 128 colors
beside this script.
"""

import argparse
import functools
import os
import subprocess
import sys
import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import matplotlib.ticker as ticker
import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fields

BOUNDS = (1e-2, 1e-3, 1e-4)
# Colors of Okabe and Ito, which remain distinct in most kinds of color blindness.
BLUE, ORANGE, GREEN, PURPLE, GRAY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555"
SHADES = (ORANGE, GREEN, PURPLE)
# Indonesia and New Guinea, where the geoid has steep slopes: rows and columns of the array.
PART = np.s_[280:430, 1120:1345]
SPACING = 0.25  # degrees between elements of egm96

plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 100})


def power(value):
    return f"1e{round(np.log10(value))}"


class Fields:
    """Fields by name, each read or computed once."""

    @functools.cache
    def egm96(self):
        return np.fromfile(os.path.join(ROOT, "examples", "data", "egm96.f32"), "<f4").reshape(721, 1440)

    @functools.cache
    def turb(self):
        return fields.turb(128).astype("f4")

    @functools.cache
    def density(self):
        return np.exp(2.3 * fields.grf((128, 128, 128), -2.6, 1)).astype("f4")

    @functools.cache
    def climate(self):
        rows, columns = 256, 512
        latitude = np.linspace(-1, 1, rows).reshape(-1, 1)
        field = 288 - 40 * latitude**2 + 6 * fields.grf((rows, columns), -3.0, 3)
        field[fields.grf((rows, columns), -3.6, 4) > 0.55] = 1e20
        return field.astype("f4")


def round_trip(program, x, preset, mode, bound, *more):
    """The restored array, and the ratio of array bytes to container bytes."""
    with tempfile.TemporaryDirectory() as folder:
        source, container, back = (os.path.join(folder, name) for name in ("x.f32", "x.fzm", "y.f32"))
        x.tofile(source)
        shape = "x".join(map(str, x.shape[::-1]))
        command = [program, "compress", source, "-o", container, "--dtype", "f32", "--dims", shape, "--preset", preset, *more]
        command += [] if mode is None else ["--mode", mode, "--eb", repr(bound)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([program, "decompress", container, "-o", back], check=True, stdout=subprocess.DEVNULL)
        return np.fromfile(back, "<f4").reshape(x.shape), x.nbytes / os.path.getsize(container)


def save(figure, name):
    path = os.path.join(HERE, name + ".png")
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)
    # A palette makes the file a third as large.
    Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{name}.png {os.path.getsize(path)} bytes")


def image(axes, values, **options):
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    return axes.imshow(values, origin="lower", interpolation="nearest", **options)


def slope(x):
    return np.hypot(*np.gradient(x.astype("f8"), SPACING))


def bounds(program, data):
    """Field, error map, and slope under three bounds."""
    x = data.egm96()
    unit = float(x.max() - x.min())
    figure, axes = plt.subplots(3, 4, figsize=(10.5, 6), constrained_layout=True)
    low, high = x[PART].min(), x[PART].max()
    steep = np.quantile(slope(x)[PART], 0.995)
    columns = [(None, x, None)] + [(bound, *round_trip(program, x, "high", "noa", bound)) for bound in BOUNDS]
    for k, (bound, y, ratio) in enumerate(columns):
        field = image(axes[0, k], y[PART], vmin=low, vmax=high, cmap="viridis")
        steepness = image(axes[2, k], slope(y)[PART], vmin=0, vmax=steep, cmap="magma")
        if bound is None:
            axes[0, k].set_title("original")
            axes[1, k].axis("off")
            continue
        axes[0, k].set_title(f"noa {power(bound)}: {bound * unit:.2g} m, ratio {ratio:.0f}")
        error = image(axes[1, k], (y - x)[PART] / (bound * unit), vmin=-1, vmax=1, cmap="RdBu")
    axes[0, 0].set_ylabel("geoid")
    axes[1, 0].text(0.5, 0.5, "error, in units\nof the bound", ha="center", va="center", transform=axes[1, 0].transAxes)
    axes[2, 0].set_ylabel("slope")
    for row, (shown, label) in enumerate(((field, "m"), (error, "bounds"), (steepness, "m per degree"))):
        figure.colorbar(shown, ax=axes[row, :], label=label, shrink=0.9)
    save(figure, "bounds")


def spectrum_of(x):
    """Mean power of the rows for each wave number, without the mean."""
    rows = x.astype("f8").reshape(-1, x.shape[-1])
    return (np.abs(np.fft.rfft(rows, axis=1)) ** 2).mean(0)[1:] / x.shape[-1]


def spectrum(program, data):
    """Spectra of two fields and of the errors."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), constrained_layout=True)
    for panel, name in zip(axes, ("egm96", "turb")):
        x = getattr(data, name)()
        waves = np.arange(1, x.shape[-1] // 2 + 1)
        panel.loglog(waves, spectrum_of(x), color=BLUE, lw=2, label="field")
        for bound, color in zip(BOUNDS, SHADES):
            y, _ = round_trip(program, x, "high", "noa", bound)
            errors = spectrum_of(y.astype("f8") - x)
            panel.loglog(waves, errors, color=color, lw=1.3, label=f"error, noa {power(bound)}")
        panel.set_ylim(bottom=errors.min() / 10)
        panel.set_title(name)
        panel.set_xlabel(f"waves per row of {x.shape[-1]} elements")
        panel.set_ylabel("power")
    axes[0].legend(frameon=False, fontsize=8, loc="lower left")
    save(figure, "spectrum")


def modes(program, data):
    """Relative error against magnitude for two modes."""
    x = data.density()
    unit = float(x.max() - x.min())
    chosen = np.random.default_rng(1).choice(x.size, 6000, replace=False)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, constrained_layout=True)
    for panel, (mode, preset) in zip(axes, (("noa", "fast"), ("rel", "pfpl"))):
        y, ratio = round_trip(program, x, preset, mode, 1e-3)
        values = x.ravel()[chosen]
        relative = np.abs(y.ravel()[chosen].astype("f8") - values) / values
        panel.loglog(values, np.maximum(relative, 1e-9), ".", ms=1.5, color=BLUE, rasterized=True)
        across = np.array([values.min(), values.max()])
        panel.loglog(across, 1e-3 * unit / across if mode == "noa" else [1e-3, 1e-3], color=ORANGE, lw=1.5)
        panel.set_title(f"{mode} 1e-3, preset {preset}, ratio {ratio:.1f}")
        panel.set_xlabel("value")
    axes[0].set_ylabel("error / value")
    axes[0].set_ylim(1e-8, 1e3)
    save(figure, "modes")


def ratios(program, data):
    """Ratio against bound for presets on three fields."""
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), constrained_layout=True)
    steps = 10.0 ** np.arange(-6, -1.4, 0.5)
    for panel, name in zip(axes, ("egm96", "turb", "density")):
        x = getattr(data, name)()
        for preset, color in (("high", ORANGE), ("fast", BLUE), ("pfpl", GREEN)):
            panel.loglog(steps, [round_trip(program, x, preset, "noa", float(f"{b:.3g}"))[1] for b in steps], "-o", ms=3, color=color, label=preset)
        lossless = round_trip(program, x, "bits", None, None)[1]
        panel.axhline(lossless, color=GRAY, ls="--", lw=1, label="bits, without loss")
        panel.set_title(name)
        panel.set_xlabel("error bound, fraction of the value range")
        panel.invert_xaxis()
        panel.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes[0].set_ylabel("ratio")
    axes[0].legend(frameon=False, fontsize=8)
    save(figure, "ratios")


def fill(program, data):
    """A field with fill values, which are declared or not."""
    x = data.climate()
    mask = x > 1e19
    low, high = x[~mask].min(), x[~mask].max()
    undeclared, _ = round_trip(program, x, "fast", "noa", 1e-3, "--fill-value", "none")
    declared, _ = round_trip(program, x, "fast", "noa", 1e-3, "--fill-value", "1e20")
    figure, axes = plt.subplots(1, 3, figsize=(10, 2.1), constrained_layout=True)
    for panel, (title, y) in zip(axes, (("original", x), ("noa 1e-3, fill value declared", declared), ("noa 1e-3, fill value not declared", undeclared))):
        shown = image(panel, np.where(mask, np.nan, y), vmin=low, vmax=high, cmap="viridis")
        panel.set_facecolor("#bbbbbb")
        panel.set_title(title)
    figure.colorbar(shown, ax=axes, label="K")
    save(figure, "fill")


PICTURES = {"bounds": bounds, "spectrum": spectrum, "modes": modes, "ratios": ratios, "fill": fill}


def main():
    parser = argparse.ArgumentParser(description="Makes the pictures of docs/choosing.md.")
    parser.add_argument("--fzgm", default=os.path.join(ROOT, "target", "release", "fzgm"), help="the command line (target/release/fzgm)")
    parser.add_argument("--only", default=",".join(PICTURES), help=f"some of {', '.join(PICTURES)}, with commas")
    arguments = parser.parse_args()
    data = Fields()
    for name in arguments.only.split(","):
        PICTURES[name](arguments.fzgm, data)


if __name__ == "__main__":
    main()
