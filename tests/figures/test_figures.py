"""Tables and picture of docs/measurements.md: that they agree with the rows, and that scripts/figures.py survives damaged files.

    python3 -m unittest discover -s tests/figures -t tests/figures
"""

import contextlib
import csv
import io
import json
import os
import random
import re
import shutil
import sys
import tempfile
import unittest
from xml.etree import ElementTree

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
sys.dont_write_bytecode = True
import figures  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
COLUMNS = "date,machine,commit,command,program,preset,field,dtype,dims,mode,bound,value_range,threads,ratio,compress_gb_per_s,decompress_gb_per_s"
# The file that the tests damage and extend.
FILE = "h200"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def run(*args):
    """Exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            figures.main(list(args))
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()


def line(preset, bound, ratio, compress, decompress, **more):
    """A row of a report, with the keys that count and some that do not."""
    numbers = {"ratio": ratio, "compress_gb_per_s": compress, "decompress_gb_per_s": decompress, "compress_call_gb_per_s": 1.0}
    return {"preset": preset, "pipeline": None, "mode": "noa", "eb": bound, "value_base": 2.5, "kept": True, **numbers, **more}


def report(*rows, **more):
    about = {"command": "bench", "input": "data/turb.f32", "dtype": "f32", "dims": [64, 32], "device": "cuda:0", "device_name": "Some GPU"}
    return {**about, "rows": list(rows), **more}


class Copy(unittest.TestCase):
    """Tests with a copy of the page and its rows."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.page = os.path.join(self.folder, "measurements.md")
        self.rows = os.path.join(self.folder, "measurements", FILE + ".csv")
        shutil.copytree(os.path.join(ROOT, "docs", "measurements"), os.path.join(self.folder, "measurements"))
        shutil.copy(os.path.join(ROOT, "docs", "measurements.md"), self.page)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def report(self, *rows, name="turb.json", **more):
        return self.file(name, json.dumps(report(*rows, **more)))

    def here(self, what):
        return run("--docs", self.folder, what)

    def refused(self, args, *words):
        code, out, err = run(*args)
        self.assertEqual((code, out), (2, ""), args)
        self.assertRegex(err, r"\Afigures\.py: [^\n]*\n\Z")
        for word in words:
            self.assertIn(word, err)

    def append(self, *cells):
        """Appends a row to the file of the H200: the row of `fast` for turb with these cells changed."""
        with open(self.rows, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        row = {**rows[0], **dict(cells)}
        figures.append(self.rows, [row])


class Page(Copy):
    def test_agrees_with_the_rows(self):
        self.assertEqual(run("check"), (0, "", ""))

    def test_every_file_has_a_table(self):
        files = {name for name in os.listdir(os.path.join(ROOT, "docs", "measurements")) if name.endswith(".csv")}
        self.assertEqual(files, {spec.file + ".csv" for spec in figures.TABLES.values()})

    def test_every_table_names_machine_date_and_command(self):
        page = read(os.path.join(ROOT, "docs", "measurements.md"))
        tables = re.findall(r"^<!-- table .*?^<!-- end -->$", page, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(tables), len(figures.TABLES))
        for table in tables:
            self.assertRegex(table, r"\n\nMachine: .+\. Rows: \[\w+\.csv\]\(measurements/\w+\.csv\)\. Commands?:")
            self.assertRegex(table, r"\(20\d\d-\d\d-\d\d")

    def test_picture_reads_well(self):
        marks = self.look(read(os.path.join(ROOT, "docs", "measurements", "h200.svg")))
        rows = figures.drawn(figures.load(self.rows))
        drawn = {(row["program"], row["preset"], row["field"]) for row in rows if row["ratio"] and row["compress_gb_per_s"]}
        # Ratios of cusz and cusz_ans have rows of their own.
        split = {(row["program"], row["preset"], row["field"]) for row in rows if row["ratio"] and not row["compress_gb_per_s"]}
        self.assertEqual(marks, len(drawn | split) + len({program for program, _, _ in drawn}))

    def test_picture_of_any_speed_reads_well(self):
        for speed, ratio in (("0.001", "1.01"), ("480", "7.5")):
            self.append(("compress_gb_per_s", speed), ("ratio", ratio), ("date", "2100-01-01"), ("machine", "A device with a name that goes on and on"))
            self.assertEqual(self.here("write"), (0, "", ""))
            self.look(read(os.path.join(self.folder, "measurements", "h200.svg")))

    def look(self, source):
        """All texts are inside of the picture and apart from each other and from the marks; how many marks there are."""
        svg = ElementTree.fromstring(source)
        width, height = float(svg.get("width")), float(svg.get("height"))
        self.assertEqual(svg.get("viewBox"), f"0 0 {width:.0f} {height:.0f}")
        boxes = []
        for text in svg.iter(SVG + "text"):
            size = float(text.get("font-size", svg.get("font-size")))
            # The width of a letter in common fonts, on average.
            long = 0.55 * size * len(text.text)
            x, y = float(text.get("x")), float(text.get("y"))
            left = x - long * {"middle": 0.5, "end": 1}.get(text.get("text-anchor"), 0)
            box = (left, y - 0.75 * size, left + long, y + 0.2 * size)
            if text.get("transform"):  # upright
                box = (x - 0.75 * size, y - long / 2, x + 0.2 * size, y + long / 2)
            boxes.append((text.text, box))
        for circle in svg.iter(SVG + "circle"):
            x, y, r = (float(circle.get(key)) for key in ("cx", "cy", "r"))
            boxes.append(("a mark", (x - r, y - r, x + r, y + r)))
        for polygon in svg.iter(SVG + "polygon"):
            xs, ys = zip(*(map(float, corner.split(",")) for corner in polygon.get("points").split()))
            boxes.append(("a mark", (min(xs), min(ys), max(xs), max(ys))))
        for i, (name, a) in enumerate(boxes):
            self.assertTrue(a[0] >= 0 and a[1] >= 0 and a[2] <= width and a[3] <= height, f"{name} is cut")
            for other, b in boxes[:i]:
                apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
                self.assertTrue(apart or name == other == "a mark", f"{name} {a} is over {other} {b}")
        return sum(name == "a mark" for name, _ in boxes)


class Rows(Copy):
    def cell(self, table, name, column):
        """A cell of a table of the page."""
        page = figures.page(read(self.page), os.path.dirname(self.rows))
        text = re.search(rf"^<!-- table {table} -->\n\n(.*?)\n\n", page, re.MULTILINE | re.DOTALL).group(1)
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
        return next(line for line in lines[2:] if tuple(line[: len(name)]) == name)[lines[0].index(column)]

    def test_the_newest_figure_is_shown(self):
        name = ("fast", "f32", "noa 1e-3")
        self.append(("date", "2000-01-01"), ("compress_gb_per_s", "1"))
        self.assertNotIn("1 / ", self.cell("h200-given", name, "turb")[:4])
        self.append(("date", "2100-01-01"), ("compress_gb_per_s", "1234"), ("decompress_gb_per_s", "5"))
        self.assertEqual(self.cell("h200-given", name, "turb"), "1234 / 5")
        # Of one date the last row; what a row does not have comes from older ones.
        self.append(("date", "2100-01-01"), ("compress_gb_per_s", "777"), ("compress_max_gb_per_s", "888"), ("decompress_gb_per_s", ""), ("ratio", ""))
        self.assertEqual(self.cell("h200-given", name, "turb"), "777–888 / 5")
        self.assertEqual(self.cell("h200-ratio", ("fzgm", "fast", "noa 1e-3"), "turb"), "7.506")

    def test_lines_and_columns_come_with_their_rows(self):
        self.append(("preset", "new"), ("field", "mine"), ("compress_gb_per_s", "3"), ("decompress_gb_per_s", ""))
        self.assertEqual(self.cell("h200-given", ("new", "f32", "noa 1e-3"), "mine"), "3 / –")
        self.assertEqual(self.cell("h200-given", ("new", "f32", "noa 1e-3"), "turb"), "–")

    def test_a_broken_bound_is_bold(self):
        path = os.path.join(self.folder, "measurements", "hdf5_bounds.csv")
        row = {**figures.load(path)[0], "date": "2100-01-01", "largest_error_in_bounds": "1.01"}
        figures.append(path, [row])
        self.assertEqual(self.cell("hdf5-bounds", ("f64",), "fzgm"), "**1.01**")

    def test_check_notices(self):
        self.assertEqual(self.here("check"), (0, "", ""))
        self.append(("date", "2100-01-01"), ("compress_gb_per_s", "1"))
        self.refused(["--docs", self.folder, "check"], "measurements.md differs", "scripts/figures.py write")
        self.assertEqual(self.here("write"), (0, "", ""))
        self.assertEqual(self.here("check"), (0, "", ""))
        self.file("measurements/h200.svg", "<svg/>")
        self.refused(["--docs", self.folder, "check"], "h200.svg differs")

    def test_marks_of_tables(self):
        text = read(self.page)
        for damaged in (text.replace("<!-- table small -->", ""), text + "\n<!-- table small -->\n", text.replace("<!-- end -->", "", 1).replace("<!-- end -->", "")):
            self.file("measurements.md", damaged)
            self.refused(["--docs", self.folder, "write"], "docs/measurements.md")


class Added(Copy):
    def add(self, *reports, columns=COLUMNS, **said):
        path = self.file("rows.csv", columns + "\n" + self.first(columns))
        options = [word for key, text in {"command": "fzgm bench", "date": "2026-01-02", **said}.items() for word in (f"--{key}", text)]
        result = run("add", path, *reports, *options)
        with open(path, encoding="utf-8", newline="") as file:
            return result, list(csv.DictReader(file))[1:]

    def first(self, columns):
        row = {"date": "2026-01-01", "machine": "m", "command": "c"}
        return ",".join(row.get(key, "") for key in columns.split(",")) + "\n"

    def test_rows_of_a_report(self):
        path = self.report(
            line("fast", 1e-3, 9.0, 1.0, 1.0, value_base=None),
            line("fast", 1e-3, 7.50649, 1234.5, 99.949),
            line(None, 1e-4, 1234.56, 0.12345, 1e4, pipeline="lorenzo_quant(eb=1e-3) > rze"),
            line("bits", 0.0, 1.25, 1.0, 1.0, mode="lossless", value_base=None),
        )
        result, rows = self.add(path, commit="0123abc")
        self.assertEqual(result, (0, "", ""))
        keys = COLUMNS.split(",")
        common = ["2026-01-02", "Some GPU", "0123abc", "fzgm bench", "fzgm"]
        want = [
            [*common, "fast", "turb", "f32", "64x32", "noa", "1e-3", "scanned", "", "9", "1", "1"],
            [*common, "fast", "turb", "f32", "64x32", "noa", "1e-3", "given", "", "7.506", "1234", "99.95"],
            [*common, "lorenzo_quant(eb=1e-3) > rze", "turb", "f32", "64x32", "noa", "1e-4", "given", "", "1235", "0.1235", "10000"],
            [*common, "bits", "turb", "f32", "64x32", "lossless", "", "", "", "1.25", "1", "1"],
        ]
        self.assertEqual([[row[key] for key in keys] for row in rows], want)

    def test_reports_of_a_cpu(self):
        path = self.report(line("fast", 1e-3, 7, 1, 2, threads=0), line("fast", 1e-3, 7, 1, 2, threads=2), device="cpu", device_name=None)
        self.assertIn("--machine", self.add(path)[0][2])
        result, rows = self.add(path, machine="Some CPU, 2 cores")
        self.assertEqual(result, (0, "", ""))
        self.assertEqual([(row["machine"], row["threads"]) for row in rows], [("Some CPU, 2 cores", "all"), ("Some CPU, 2 cores", "2")])

    def test_times_are_those_of_graphs(self):
        columns = COLUMNS.replace("_gb_per_s", "_us")
        path = self.report(line("fast", 1e-3, 7, 1, 2, compress_us=99.0, compress_graph_us=13.81, decompress_graph_us=12.0))
        result, rows = self.add(path, columns=columns)
        self.assertEqual(result, (0, "", ""))
        self.assertEqual([(row["compress_us"], row["decompress_us"]) for row in rows], [("13.81", "12")])
        result, _ = self.add(self.report(line("fast", 1e-3, 7, 1, 2)), columns=columns)
        self.assertIn("compress_graph_us is None", result[2])

    def test_every_file_for_benchmarks(self):
        reports = self.report(line("fast", 1e-3, 7, 1, 2, compress_graph_us=13.8, decompress_graph_us=12.0))
        for file in ("h200", "h100", "small", "cpu"):
            path = os.path.join(self.folder, "measurements", file + ".csv")
            self.assertEqual(run("add", path, reports, "--command", "fzgm bench"), (0, "", ""))
        self.assertEqual(self.here("write"), (0, "", ""))
        self.refused(["add", os.path.join(self.folder, "measurements", "hdf5_bounds.csv"), reports, "--command", "c"], "no file for reports")

    def test_a_damaged_row_is_not_added(self):
        before = read(self.rows)
        reports = self.report(line("fast", 1e-3, 7, 1, 2))
        for option, text in (("--date", "yesterday"), ("--commit", "xyz")):
            self.refused(["add", self.rows, reports, "--command", "fzgm bench", option, text], option[2:])
            self.assertEqual(read(self.rows), before)


class Damage(Copy):
    def test_of_rows(self):
        provenance = "2026-01-01,m,,c,"
        cases = {
            "": ["line 1", "date,machine,commit,command"],
            "date,machine,command,commit\n": ["line 1"],
            COLUMNS + ",ratio\n": ["line 1"],
            f"{COLUMNS}\nfzgm,fast,turb\n": ["line 2", "3 cells; 16"],
            f"{COLUMNS}\n{provenance}fzgm,fast,turb,f32,1,noa,1e-3,given,,x,1,1\n": ["line 2", "ratio is 'x'"],
            f"{COLUMNS}\n{provenance}fzgm,fast,turb,f32,1,noa,1e-3,given,,1,-1,1\n": ["line 2", "compress_gb_per_s is '-1'"],
            f"{COLUMNS}\n{provenance}fzgm,fast,turb,f32,1,noa,1e-3,given,,1,1,nan\n": ["line 2", "decompress_gb_per_s is 'nan'"],
            f"{COLUMNS}\n{provenance}fzgm,fast,turb,f32,1,noa,1e-3,given,,1,1,1e31\n": ["line 2", "decompress_gb_per_s is '1e31'"],
            f"{COLUMNS}\n{provenance}fzgm,fa\x07st,turb,f32,1,noa,1e-3,given,,1,1,1\n": ["line 2", "preset is"],
            f"{COLUMNS}\n2026-13-01,m,,c,fzgm,fast,turb,f32,1,noa,1e-3,given,,1,1,1\n": ["line 2", "date is '2026-13-01'"],
            f"{COLUMNS}\n2026-01-01,,,c,fzgm,fast,turb,f32,1,noa,1e-3,given,,1,1,1\n": ["line 2", "machine is ''"],
            f"{COLUMNS}\n2026-01-01,m,main,c,fzgm,fast,turb,f32,1,noa,1e-3,given,,1,1,1\n": ["line 2", "commit is 'main'"],
            f"date,machine,commit,command,compress_us,compress_max_us\n{provenance}2,1\n": ["line 2", "compress_max_us is '1'"],
            f'{COLUMNS}\n"fzgm': ["unexpected end"],
            b"\xff\xfe": ["decode"],
        }
        reports = self.report(line("fast", 1e-3, 7, 1, 2))
        for text, words in cases.items():
            path = self.file("bad.csv", text)
            self.refused(["add", path, reports, "--command", "c"], path, *words)
        self.refused(["add", os.path.join(self.folder, "none.csv"), reports, "--command", "c"], "none.csv", "No such file")
        self.refused(["--docs", os.path.join(self.folder, "none"), "write"], "measurements.md", "No such file")
        self.file("measurements/h200.csv", read(self.rows).replace("value_range", "value.range", 1))
        self.refused(["--docs", self.folder, "write"], "h200.csv", "no column 'value_range'", "h200-given")

    def test_of_reports(self):
        good = line("fast", 1e-3, 7, 1000, 2000)
        cases = {
            "": ["no JSON"],
            "[": ["no JSON"],
            "[" * 100_000: ["no JSON"],
            b"\xff": ["decode"],
            "[]": ["not a report of `fzgm bench --json`"],
            json.dumps({"command": "info", "rows": []}): ["not a report"],
            json.dumps(report(good, rows=7)): ["not a report"],
            json.dumps(report(good, input=None)): ["not a report"],
            json.dumps(report(good, dims=None)): ["not a report"],
            json.dumps(report()): ["not a report"],
            json.dumps(report(good, 3)): ["rows[1] is 3"],
            json.dumps(report({**good, "kept": False})): ["rows[0]", "not kept"],
            json.dumps(report({**good, "eb": None})): ["rows[0]: eb is None"],
            json.dumps(report({**good, "ratio": "inf"})): ["rows[0]: ratio is 'inf'"],
            json.dumps(report({**good, "ratio": True})): ["rows[0]: ratio is True"],
            json.dumps(report({**good, "compress_gb_per_s": []})): ["rows[0]: compress_gb_per_s is []"],
            json.dumps(report({**good, "decompress_gb_per_s": 0})): ["rows[0]: decompress_gb_per_s is 0"],
            json.dumps(report(good)).replace("1000", "1" + 400 * "0"): ["rows[0]: compress_gb_per_s is 1000"],
        }
        before = read(self.rows)
        for text, words in cases.items():
            path = self.file("bad.json", text)
            self.refused(["add", self.rows, path, "--command", "c"], path, *words)
        self.refused(["add", self.rows, os.path.join(self.folder, "none.json"), "--command", "c"], "none.json", "No such file")
        self.assertEqual(read(self.rows), before)

    def test_at_random(self):
        """Damaged rows give a page and a picture in XML, or one line that names the defect."""
        chance = random.Random(0)
        with open(self.rows, "rb") as file:
            recorded = file.read()
        results = 0
        for _ in range(24):
            data = bytearray(recorded)
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(1, 4)] = [b"", bytes([chance.randrange(256)]), data[chance.randrange(len(data)) :][:4]][chance.randrange(3)]
            self.file("measurements/h200.csv", bytes(data))
            if self.here("write")[0] == 0:
                ElementTree.parse(os.path.join(self.folder, "measurements", "h200.svg"))
                results += 1
            else:
                self.refused(["--docs", self.folder, "write"])
        self.assertTrue(2 < results < 22, results)


if __name__ == "__main__":
    unittest.main()
