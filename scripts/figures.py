#!/usr/bin/env python3
"""Tables and picture of docs/measurements.md, from the rows in docs/measurements/*.csv. Needs only Python.

    scripts/figures.py write        writes the tables and the picture
    scripts/figures.py check        fails if the page or the picture differs from the rows
    scripts/figures.py add FILE.csv --command TEXT [--machine TEXT] [--date DATE] [--commit HASH] REPORT.json…
                                    appends the rows of reports of `fzgm bench --json`
"""

import argparse
import collections
import csv
import datetime
import io
import json
import os
import re
import sys

import figures_svg

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs")
PROVENANCE = ("date", "machine", "commit", "command")
OURS = "fzgm"
# A number has its unit in the name of its column; with `max` it is the highest of several runs, and the column without is the lowest.
NUMBER = re.compile(r"(ratio|factor|\w+_(gb_per_s|mb_per_s|us|in_bounds))$")
SPEEDS = ("compress_gb_per_s", "decompress_gb_per_s")
MICROSECONDS = ("compress_us", "decompress_us")

# Lines are named by `lines`, a heading and its text from the columns of a row. With `across`, each value of that column has a column of the table, whose
# cells have all `cells`; without, each of `cells` has a column. `where`: the values of columns that take part.
Table = collections.namedtuple("Table", "file where lines across cells")

PROGRAM = {"program": "{program}", "preset": "{preset}"}
BOUND = {"type": "{dtype}", "error bound": "{mode} {bound}"}
LIST = {"compress, GB/s": SPEEDS[0], "decompress, GB/s": SPEEDS[1]}
OTHERS = ("FSZ 1.0", "cuSZp 3", "PFPL", "FZGPUModules")
TABLES = {
    "h200-given": Table("h200", {"program": (OURS,), "value_range": ("given", "")}, {"preset": "{preset}", **BOUND}, "field", SPEEDS),
    "h200-scanned": Table("h200", {"program": (OURS,), "value_range": ("scanned",)}, {"preset": "{preset}", **BOUND}, "field", SPEEDS[:1]),
    "h200-others": Table("h200", {"program": OTHERS}, {**PROGRAM, "error bound": BOUND["error bound"]}, "field", SPEEDS),
    "h200-ratio": Table("h200", {"dtype": ("f32",), "mode": ("noa",)}, {**PROGRAM, "error bound": BOUND["error bound"]}, "field", ("ratio",)),
    "h100": Table("h100", {}, {"preset": "{preset}", **BOUND, "value range": "{value_range}"}, "field", SPEEDS),
    "small": Table("small", {}, {"preset": "{preset}"}, None, {"compress, µs": MICROSECONDS[0], "decompress, µs": MICROSECONDS[1]}),
    "cpu-fields": Table("cpu", {"preset": ("fast",)}, {"machine": "{machine}", "error bound": BOUND["error bound"], "threads": "{threads}"}, "field", SPEEDS),
    "cpu-presets": Table("cpu", {"field": ("turb",), "mode": ("noa",), "bound": ("1e-3",)},
                         {"machine": "{machine}", **PROGRAM, "dims": "{dims}", "threads": "{threads}"}, None, {**LIST, "ratio": "ratio"}),
    "cpu-bounds": Table("cpu", {"mode": ("rel", "lossless")},
                        {"preset": "{preset}", "field": "{field}", "error bound": BOUND["error bound"], "threads": "{threads}"}, None, {**LIST, "ratio": "ratio"}),
    "cpu-peers": Table("cpu_peers", {}, {"compressor": "{compressor}", "field": "{field}, {dims}", "error bound": "{bound}", "ratio": "{ratio}"}, "threads", SPEEDS),
    "hdf5-speed": Table("hdf5", {}, {"field": "{field}, {shape}", "filter": "{filter}", "preset": "{preset}"}, None,
                        {"ratio": "ratio", "write, MB/s": "write_mb_per_s", "read, MB/s": "read_mb_per_s", "largest error, in bounds": "largest_error_in_bounds"}),
    "ratios": Table("ratios", {}, {"field": "{field}, {dtype}, {dims}", "error bound": BOUND["error bound"]}, "compressor", ("ratio",)),
    "ratios-factor": Table("ratios", {"compressor": ("fzgm high",)}, {"field": "{field}, {dims}"}, "bound", ("factor",)),
    "hdf5-bounds": Table("hdf5_bounds", {}, {"data": "{data}"}, "filter", ("largest_error_in_bounds",)),
}
# Columns of the rows of the picture.
DRAWN = {"dtype": ("f32",), "mode": ("noa",), "bound": ("1e-3",), "field": ("turb", "density", "cloud", "wave", "particles")}


class Damaged(Exception):
    """The defect of a file, and its place."""


def read(path):
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Damaged(f"{path}: {error}") from None


def number(value, where, limit=1e30):
    """The number in a cell, or in a value of JSON."""
    try:
        x = float("" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        x = 0.0
    if not 1e-30 <= x <= limit:
        raise Damaged(f"{where} is {value!r}: it must be a number from 1e-30 to {limit:g}")
    return x


def load(path):
    """The rows of a file as dictionaries."""
    try:
        lines = list(csv.reader(io.StringIO(read(path), newline=""), strict=True))
    except csv.Error as error:
        raise Damaged(f"{path}: {error}") from None
    columns = lines[0] if lines else []
    if tuple(columns[:4]) != PROVENANCE or len(set(columns)) != len(columns):
        raise Damaged(f"{path}, line 1: the columns must be {','.join(PROVENANCE)} and others, each once")
    rows = []
    for at, cells in enumerate(lines[1:], 2):
        where = f"{path}, line {at}"
        if len(cells) != len(columns):
            raise Damaged(f"{where}: {len(cells)} cells; {len(columns)} are required")
        row = dict(zip(columns, cells))
        for key, cell in row.items():
            if not cell.isprintable() or "|" in cell or not cell and key in ("machine", "command"):
                raise Damaged(f"{where}: {key} is {cell!r}; it must be printable text without |")
            # An error has no limit and may be 0, and a filter may reject its data.
            errors = key.endswith("_in_bounds")
            if cell and NUMBER.match(key) and not (errors and cell in ("rejected", "0")):
                number(cell, f"{where}: {key}", float("inf") if errors else 1e30)
            low = row.get(key.replace("_max_", "_"))
            if cell and "_max_" in key and not (low and float(low) <= float(cell)):
                raise Damaged(f"{where}: {key} is {cell!r}; it must not be less than the figure without max, {low!r}")
        if not re.fullmatch(r"([0-9a-f]{7,40})?", row["commit"]):
            raise Damaged(f"{where}: commit is {row['commit']!r}; it must be empty or 7 to 40 hexadecimal digits")
        try:
            datetime.date.fromisoformat(row["date"])
        except ValueError:
            raise Damaged(f"{where}: date is {row['date']!r}; it must be YYYY-MM-DD") from None
        rows.append(row)
    return rows


def chosen(rows, where):
    return [row for row in rows if all(row[key] in values for key, values in where.items())]


def newest(rows, key, columns):
    """For each key and column the row with the newest figure; of the same date, the last one."""
    found = {}
    for row in sorted(rows, key=lambda row: row["date"]):
        for column in columns:
            if row[column]:
                found[key(row), column] = row
    return found


def shown(row, column):
    """A figure as it is recorded; two if it is a range; in bold if it breaks a bound or belongs to a result that does."""
    low, high = row[column], row.get(column.replace("compress_", "compress_max_"), "")
    error = row.get("largest_error_in_bounds", "") if column == "ratio" else low if column.endswith("_in_bounds") else ""
    if error not in ("", "rejected") and float(error) > 1:
        return f"**{low}**"
    return f"{low}–{high}" if high and high != low else low


def unique(values):
    return list(dict.fromkeys(values))


def markdown(lines):
    lines = ["| " + " | ".join(cell or "–" for cell in line) + " |" for line in lines]
    lines.insert(1, "|" + "---|" * (lines[0].count("|") - 1))
    return "\n".join(lines) + "\n"


def provenance(file, rows):
    """Where the figures of a table come from."""
    commands = {}
    for row in sorted(rows, key=lambda row: row["date"], reverse=True):
        command = f"`{row['command']}`" if row.get("program", OURS) == OURS else row["command"]
        commands.setdefault(command, []).append(row["date"])
    dated = [f"{command} ({' and '.join(sorted(set(dates)))})" for command, dates in commands.items()]
    text = f"Machine: {'; '.join(unique(row['machine'] for row in rows))}. Rows: [{file}.csv](measurements/{file}.csv). "
    return text + (f"Command: {dated[0]}.\n" if len(dated) == 1 else "Commands:\n\n" + "".join(f"* {line}\n" for line in dated))


def table(spec, rows):
    """A table in Markdown, and the lines with the sources of its figures."""
    rows = chosen(rows, spec.where)
    columns = list(spec.cells.values()) if isinstance(spec.cells, dict) else list(spec.cells)
    name = lambda row: tuple(text.format_map(row).strip(", ") for text in spec.lines.values())
    value = lambda row: row[spec.across] if spec.across else ""
    found = newest(rows, lambda row: (name(row), value(row)), columns)
    keys = {key for key, _ in found}
    order = [(name(row), value(row)) for row in rows]
    names, values = unique(n for n, v in order if (n, v) in keys), unique(v for n, v in order if (n, v) in keys)
    cell = lambda n, v, column: shown(found[(n, v), column], column) if ((n, v), column) in found else ""
    if spec.across:
        lines = [[*spec.lines, *values]]
        for n in names:
            pairs = ([cell(n, v, column) for column in columns] for v in values)
            lines.append([*n, *(" / ".join(x or "–" for x in pair) if any(pair) else "" for pair in pairs)])
    else:
        lines = [[*spec.lines, *spec.cells], *([*n, *(cell(n, "", column) for column in columns)] for n in names)]
    # A column of names without a name in it is none.
    empty = [i for i in range(len(spec.lines)) if not any(line[i] for line in lines[1:])]
    lines = [[c for i, c in enumerate(line) if i not in empty] for line in lines]
    used = [row for row in rows if any(row is other for other in found.values())]
    return markdown(lines) + "\n" + provenance(spec.file, used)


def page(text, folder):
    """The page with the tables of the rows between their marks."""
    rows = {file: load(os.path.join(folder, file + ".csv")) for file in unique(spec.file for spec in TABLES.values())}
    names = re.findall(r"^<!-- table (\S+) -->$", text, re.MULTILINE)
    if sorted(names) != sorted(TABLES):
        raise Damaged(f"docs/measurements.md has marks of the tables {', '.join(sorted(names))}; each of {', '.join(sorted(TABLES))} is required once")
    for name, spec in TABLES.items():
        marked = re.compile(rf"^<!-- table {name} -->\n.*?^<!-- end -->$", re.MULTILINE | re.DOTALL)
        if not marked.search(text):
            raise Damaged(f"docs/measurements.md: the table {name} has no line <!-- end -->")
        try:
            made = f"<!-- table {name} -->\n\n{table(spec, rows[spec.file])}\n<!-- end -->"
        except KeyError as column:
            raise Damaged(f"{spec.file}.csv has no column {column}; the table {name} requires it") from None
        text = marked.sub(lambda _: made, text)
    return text


def drawn(rows):
    """The rows of the picture. Pipelines that are no presets are left out."""
    return [row for row in chosen(rows, DRAWN) if "(" not in row["preset"]]


def picture(rows):
    """Ratio against speed of compression at one bound, a panel for each field."""
    rows = [row for row in drawn(rows) if row["program"] != OURS or row["value_range"] == "given" or not row[SPEEDS[0]]]
    found = newest(rows, lambda row: (row["program"], row["preset"], row["field"]), ("ratio", SPEEDS[0]))
    keys = [key for key in unique(key for key, _ in found) if (key, "ratio") in found and (key, SPEEDS[0]) in found]
    programs = unique(program for program, _, _ in keys)
    presets = {program: {key[1] for key in keys if key[0] == program} for program in programs}
    panels = {}
    for key in keys:
        program, preset, field = key
        # Ours are known by their color; the preset of others is named where there are several.
        label = preset if program == OURS else program if len(presets[program]) == 1 else f"{program} {preset}"
        x, y = (float(found[key, column][column]) for column in (SPEEDS[0], "ratio"))
        panels.setdefault(field, []).append(figures_svg.Point(x, y, label, program))
    machines = unique(found[key, SPEEDS[0]]["machine"] for key in keys)
    return figures_svg.draw(panels, programs, "noa 1e-3", "; ".join(machines))


def made(docs):
    """Paths and texts of what is made from the rows."""
    folder, target = os.path.join(docs, "measurements"), os.path.join(docs, "measurements.md")
    return {target: page(read(target), folder), os.path.join(folder, "h200.svg"): picture(load(os.path.join(folder, "h200.csv")))}


def short(bound):
    """1e-3 for 0.001."""
    digits, exponent = f"{bound:e}".split("e")
    return f"{float(digits):g}e{int(exponent)}"


def printable(text):
    return "".join(c if c.isprintable() and c != "|" else "?" for c in text)


def measured(path, columns, said):
    """The rows of a report of `fzgm bench`, for a file with these columns."""
    try:
        report = json.loads(read(path))
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path}: no JSON: {error}") from None
    lines = report.get("rows") if isinstance(report, dict) and report.get("command") == "bench" else None
    if not isinstance(lines, list) or not lines or not isinstance(report.get("input"), str) or not isinstance(report.get("dims"), list):
        raise Damaged(f"{path}: not a report of `fzgm bench --json` with rows")
    machine = said["machine"] or report.get("device_name")
    if not isinstance(machine, str):
        raise Damaged(f"{path}: measured on {report.get('device')!r}: name the machine with --machine")
    field = os.path.splitext(os.path.basename(report["input"]))[0]
    common = {**said, "machine": machine, "program": OURS, "field": field, "dtype": str(report.get("dtype")), "dims": "x".join(map(str, report["dims"]))}
    rows = []
    for at, line in enumerate(lines):
        where = f"{path}, rows[{at}]"
        if not isinstance(line, dict):
            raise Damaged(f"{where} is {line!r}; it must be an object")
        if line.get("kept") is not True:
            raise Damaged(f"{where}: the bound was not kept")
        row = {**common, "preset": str(line.get("preset") or line.get("pipeline")), "mode": str(line.get("mode"))}
        if row["mode"] != "lossless":
            row["bound"] = short(number(line.get("eb"), f"{where}: eb"))
        if row["mode"] in ("noa", "prel"):
            row["value_range"] = "previous" if line.get("previous_base") else "scanned" if line.get("value_base") is None else "given"
        if "threads" in line:
            row["threads"] = str(line["threads"] or "all")
        # A time is that of the call as a graph.
        for key in ("ratio", *SPEEDS, *MICROSECONDS):
            if key in columns:
                source = key.replace("_us", "_graph_us")
                x = number(line.get(source), f"{where}: {source}")
                row[key] = f"{x:.4g}" if x < 1000 else f"{x:.0f}"
        rows.append({key: printable(row.get(key, "")) for key in columns})
    return rows


def write(path, text, mode="w"):
    try:
        with open(path, mode, encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise Damaged(f"{path}: {error}") from None


def append(path, rows):
    """Appends rows to a file, which is damaged neither before nor after."""
    text = read(path)
    load(path)
    out = io.StringIO()
    columns = next(csv.reader([text.split("\n")[0]]))
    csv.DictWriter(out, columns, lineterminator="\n").writerows(rows)
    write(path, ("" if text.endswith("\n") else "\n") + out.getvalue(), "a")
    try:
        load(path)
    except Damaged:
        write(path, text)
        raise


def main(argv=None):
    parser = argparse.ArgumentParser(prog="figures.py", description="Tables and picture of docs/measurements.md, from the rows in docs/measurements/*.csv")
    parser.add_argument("--docs", metavar="FOLDER", default=DOCS, help="folder with measurements.md [default: docs]")
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("write", help="write the tables and the picture")
    what.add_parser("check", help="fail if the page or the picture differs from the rows")
    add = what.add_parser("add", help="append the rows of reports of `fzgm bench --json`")
    add.add_argument("file", metavar="FILE.csv")
    add.add_argument("reports", metavar="REPORT.json", nargs="+")
    add.add_argument("--command", required=True, help="the command that was measured, as the page shall show it")
    add.add_argument("--machine", default="", help="the machine [default: the name of the GPU in the report]")
    add.add_argument("--date", default=datetime.date.today().isoformat(), help="day of the run [default: today]")
    add.add_argument("--commit", default="", help="commit of the program that was measured")
    args = parser.parse_args(argv)
    try:
        if args.what == "add":
            rows = load(args.file)
            if not rows or "preset" not in rows[0]:
                raise Damaged(f"{args.file}: no file for reports of fzgm bench")
            said = {key: getattr(args, key) for key in PROVENANCE}
            append(args.file, [row for path in args.reports for row in measured(path, list(rows[0]), said)])
            return
        for path, text in made(args.docs).items():
            if args.what == "write":
                write(path, text)
            elif read(path) != text:
                raise Damaged(f"{path} differs from the rows: run scripts/figures.py write")
    except Damaged as error:
        print(f"figures.py: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
