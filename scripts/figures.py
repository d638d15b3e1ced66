#!/usr/bin/env python3
"""The tables and the picture of src/stages/fast.md, out of docs/figures/h200.csv. Takes nothing but Python.

    scripts/figures.py table                        prints the tables of the page
    scripts/figures.py picture                      writes docs/figures/fast.svg, and fast.svg.txt for rustdoc
    scripts/figures.py table --measured F.json…     with the rows of `fzgm bench --json --device cuda --value-base` in place of ours
    scripts/figures.py picture --measured F.json… -o FILE.svg
"""

import argparse
import collections
import csv
import json
import os
import sys
import urllib.parse

import figures_svg

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "figures")
RECORDED = os.path.join(FOLDER, "h200.csv")
MACHINE = "one NVIDIA H200"
OURS = "fzgm"
NUMBERS = ("ratio", "compress_gb_per_s", "decompress_gb_per_s")
COLUMNS = ("program", "preset", "field", "bound", *NUMBERS, "timed_by")
# The bound of the picture.
DRAWN = 1e-3

# Numbers are texts, as they are to be shown; "" is one that is not recorded.
Row = collections.namedtuple("Row", COLUMNS)


class Damaged(Exception):
    """What is wrong with a file, and where."""


def name(row):
    return f"{row.program}, {row.preset}" if row.preset else row.program


def unique(values):
    return list(dict.fromkeys(values))


def number(value, where):
    """The number in a cell, or in a value of JSON. Nothing that is measured here is beyond the limits, and axes can be drawn within them."""
    try:
        x = float("" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        x = 0.0
    if not 1e-30 <= x <= 1e30:
        raise Damaged(f"{where} is {value!r}: a number from 1e-30 to 1e30 belongs there")
    return x


def recorded(path):
    """The rows of a table like docs/figures/h200.csv."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Damaged(f"{path}: {error}") from None
    if not lines or tuple(lines[0]) != COLUMNS:
        raise Damaged(f"{path}, line 1: the columns are not {','.join(COLUMNS)}")
    rows = []
    for at, cells in enumerate(lines[1:], 2):
        where = f"{path}, line {at}"
        if len(cells) != len(COLUMNS):
            raise Damaged(f"{where}: {len(cells)} cells where {len(COLUMNS)} belong")
        row = Row(*cells)
        for key, cell in row._asdict().items():
            if not cell.isprintable() or not cell and key in ("program", "field", "bound"):
                raise Damaged(f"{where}: {key} is {cell!r}: a text belongs there")
            if cell and key in ("bound", *NUMBERS):
                number(cell, f"{where}: {key}")
        rows.append(row)
    return rows


def measured(path):
    """The rows of a report of `fzgm bench`: those whose value range was given, as it was for ours. Who timed them is the device."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except OSError as error:
        raise Damaged(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path}: no JSON: {error}") from None
    lines = report.get("rows") if isinstance(report, dict) and report.get("command") == "bench" else None
    if not isinstance(lines, list) or not isinstance(report.get("input"), str):
        raise Damaged(f"{path}: not what `fzgm bench --json` prints")
    device = report.get("device_name")
    if not isinstance(device, str):
        raise Damaged(f"{path}: measured on {report.get('device')!r}, and the other rows on a GPU: bench with --device cuda")
    field = printable(os.path.splitext(os.path.basename(report["input"]))[0])
    rows = []
    for at, line in enumerate(lines):
        where = f"{path}, rows[{at}]"
        if not isinstance(line, dict):
            raise Damaged(f"{where} is {line!r}: an object belongs there")
        if line.get("value_base") is None:
            continue
        if line.get("kept") is not True:
            raise Damaged(f"{where}: the bound was not kept")
        bound = number(line.get("eb"), f"{where}: eb")
        ratio, *speeds = (number(line.get(key), f"{where}: {key}") for key in NUMBERS)
        preset = printable(str(line.get("preset") or line.get("pipeline")))
        rows.append(Row(OURS, preset, field, repr(bound), f"{ratio:.4g}", *(f"{x:.4g}" if x < 1000 else f"{x:.0f}" for x in speeds), printable(device)))
    if not rows:
        raise Damaged(f"{path}: no row has its value range given: bench with --value-base, and with --mode noa if with any")
    return rows


def printable(text):
    return "".join(c if c.isprintable() else "?" for c in text)


def chosen(path, reports):
    """The rows to be shown, and what they were measured on: all that are recorded; or those of the reports, and of the same fields those of others."""
    rows, machine = recorded(path), MACHINE
    if reports:
        own = [row for report in reports for row in measured(report)]
        fields = {row.field for row in own}
        rows = own + [row for row in rows if row.program != OURS and row.field in fields]
        machine = f"{OURS} on {' and '.join(unique(row.timed_by for row in own))}, others on {MACHINE}"
    seen = set()
    for row in rows:
        key = (name(row), row.field, float(row.bound))
        if key in seen:
            raise Damaged(f"{' and '.join(reports) or path}: {name(row)}, {row.field}, {row.bound} is there twice")
        seen.add(key)
    return rows, machine


def short(bound):
    """1e-3 for 0.001."""
    digits, exponent = f"{bound:e}".split("e")
    return f"{float(digits):g}e{int(exponent)}"


def tables(rows):
    """A table in Markdown for each bound of ours, the loosest first."""
    texts = []
    for bound in sorted({float(row.bound) for row in rows if row.program == OURS}, reverse=True):
        here = [row for row in rows if float(row.bound) == bound]
        fields = unique(row.field for row in here)
        cells = {(name(row), row.field): " / ".join(getattr(row, key) or "–" for key in NUMBERS) for row in here}
        lines = [[f"noa {short(bound)}", *fields]]
        for label in unique(name(row) for row in here):
            lines.append([label, *(cells.get((label, field), "–") for field in fields)])
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines]
        lines.insert(1, "|" + "---|" * (1 + len(fields)) + "\n")
        texts.append("".join(lines))
    return "\n".join(texts)


def picture(rows, machine):
    """Ratio against speed of compression at one bound, a panel for each field."""
    rows = [row for row in rows if float(row.bound) == DRAWN and row.ratio and row.compress_gb_per_s]
    if not any(row.program == OURS for row in rows):
        raise Damaged(f"no row of {OURS} has ratio and speed at {short(DRAWN)}, which is what is drawn: bench with --eb {short(DRAWN)}")
    presets = {program: {row.preset for row in rows if row.program == program} for program in unique(row.program for row in rows)}
    panels = {}
    for row in rows:
        # Ours are known by their colour; of others the preset is said where there are several.
        label = row.preset if row.program == OURS else row.program if len(presets[row.program]) == 1 else f"{row.program} {row.preset}"
        panels.setdefault(row.field, []).append(figures_svg.Point(float(row.compress_gb_per_s), float(row.ratio), label, row.program))
    return figures_svg.draw(panels, list(presets), f"noa {short(DRAWN)}", machine)


def definition(svg):
    """The picture as what `[picture]` stands for in Markdown."""
    return "[picture]: data:image/svg+xml," + urllib.parse.quote(svg, safe="=,") + "\n"


def write(path, text):
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise Damaged(f"{path}: {error}") from None


def main(argv=None):
    parser = argparse.ArgumentParser(prog="figures.py", description="The tables and the picture of src/stages/fast.md")
    parser.add_argument("what", choices=("table", "picture"))
    parser.add_argument("--measured", metavar="FILE.json", nargs="+", default=[], help="what fzgm bench --json --device cuda --value-base printed, in place of our rows")
    parser.add_argument("--recorded", metavar="FILE.csv", default=RECORDED, help="the figures that are recorded [default: docs/figures/h200.csv]")
    parser.add_argument("-o", dest="out", metavar="FILE.svg", help="where the picture goes [default: docs/figures/fast.svg]")
    args = parser.parse_args(argv)
    if args.what == "picture" and not args.out and (args.measured or args.recorded != RECORDED):
        parser.error("a picture of other figures is not that of the page: say with -o where it goes")
    try:
        rows, machine = chosen(args.recorded, args.measured)
        if args.what == "table":
            sys.stdout.write(tables(rows))
            if args.measured:
                sys.stdout.write(f"\n{machine}\n")
            return
        svg = picture(rows, machine)
        write(args.out or os.path.join(FOLDER, "fast.svg"), svg)
        if not args.out:
            write(os.path.join(FOLDER, "fast.svg.txt"), definition(svg))
    except Damaged as error:
        print(f"figures.py: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
