"""Tables and picture of the page of stage fast: those of scripts/figures.py, which takes reports of `fzgm bench` and survives damaged ones.

    python3 -m unittest discover -s tests/figures
"""

import contextlib
import io
import json
import os
import random
import re
import sys
import tempfile
import unittest
from xml.etree import ElementTree

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
sys.dont_write_bytecode = True
import figures  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
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


@contextlib.contextmanager
def inside(folder):
    """contextlib.chdir, for Python before 3.11."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def line(preset, bound, ratio, compress, decompress, **more):
    """A row of a report, with the keys that count and some that do not."""
    numbers = {"ratio": ratio, "compress_gb_per_s": compress, "decompress_gb_per_s": decompress, "compress_call_gb_per_s": 1.0}
    return {"preset": preset, "pipeline": None, "mode": "noa", "eb": bound, "value_base": 2.5, "kept": True, **numbers, **more}


def report(*rows, **more):
    return {"command": "bench", "input": "data/turb.f32", "dtype": "f32", "device": "cuda:0", "device_name": "Some GPU", "rows": list(rows), **more}


class Folder(unittest.TestCase):
    """Tests with a folder of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def report(self, *rows, name="turb.json", **more):
        return self.file(name, json.dumps(report(*rows, **more)))


class Page(Folder):
    def test_has_the_tables(self):
        code, tables, _ = run("table")
        self.assertEqual(code, 0)
        # In the page they are followed by the picture; a line too many in either is noticed.
        self.assertIn(f"\n\n{tables}\n![", read("src/stages/fast.md"), "scripts/figures.py table prints other tables than the page has")

    def test_has_the_picture(self):
        svg = read("docs/figures/fast.svg")
        out = os.path.join(self.folder, "fast.svg")
        self.assertEqual(run("picture", "-o", out), (0, "", ""))
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), svg, "call scripts/figures.py picture")
        self.assertEqual(read("docs/figures/fast.svg.txt"), figures.definition(svg))
        self.assertIn("][picture]\n\n[picture]: ../../docs/figures/fast.svg\n", read("src/stages/fast.md"))

    def test_picture_reads_well(self):
        drawn = [row for row in figures.recorded(figures.RECORDED) if row.bound == "1e-3" and row.ratio and row.compress_gb_per_s]
        marks = self.look(read("docs/figures/fast.svg"))
        self.assertEqual(marks, len(drawn) + len({row.program for row in drawn}))

    def test_picture_of_any_speed_reads_well(self):
        for speed, ratio in ((1e-3, 1.01), (480, 7.5)):
            path = self.report(line("fast", 1e-3, ratio, speed, 1), device_name="A device with a name that goes on and on and on")
            out = os.path.join(self.folder, "out.svg")
            self.assertEqual(run("picture", "--measured", path, "-o", out), (0, "", ""))
            with open(out, encoding="utf-8") as file:
                self.look(file.read())

    def look(self, source):
        """All texts are inside of the picture and apart from each other and from the marks; how many marks there are."""
        svg = ElementTree.fromstring(source)
        width, height = float(svg.get("width")), float(svg.get("height"))
        self.assertEqual(svg.get("viewBox"), f"0 0 {width:.0f} {height:.0f}")
        boxes = []
        for text in svg.iter(SVG + "text"):
            size = float(text.get("font-size", svg.get("font-size")))
            # What common fonts take for a letter, on average.
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

    def test_commands_are_those_of_the_script(self):
        commands = [text.split() for text in re.findall(r"^scripts/figures\.py (.*)$", read("src/stages/fast.md"), re.MULTILINE)]
        self.assertEqual(len(commands), 3)
        self.report(line("fast", 1e-3, 7, 2000, 3000))
        with inside(self.folder):
            for command in commands:
                code, _, err = run(*command)
                self.assertEqual((code, err), (0, ""), command)
            ElementTree.parse("turb.svg")


class Measured(Folder):
    def test_rows_stand_in_place_of_ours(self):
        path = self.report(
            line("fast", 1e-3, 9.0, 1.0, 1.0, value_base=None),
            line("fast", 1e-3, 7.50649, 1234.5, 99.949),
            line(None, 1e-3, 1234.56, 0.12345, 1e4, pipeline="lorenzo_quant(eb=1e-3) > rze|x"),
            line("bits", 0.0, 1.25, 1.0, 1.0, mode="lossless", value_base=None),
            line("fast", 5e-2, 50.0, 3000.0, 4000.0),
        )
        code, out, err = run("table", "--measured", path)
        self.assertEqual((code, err), (0, ""))
        want = [
            "| noa 5e-2 | turb |",
            "|---|---|",
            "| fzgm, fast | 50 / 3000 / 4000 |",
            "",
            "| noa 1e-3 | turb |",
            "|---|---|",
            "| fzgm, fast | 7.506 / 1234 / 99.95 |",
            "| fzgm, lorenzo_quant(eb=1e-3) > rze\\|x | 1235 / 0.1235 / 10000 |",
            "| FSZ 1.0 | 6.05 / 671 / 871 |",
            "| cuSZp 3, outlier, 3-D | 5.92 / 446 / 361 |",
            "| PFPL | 6.04 / 280 / 263 |",
            "| FZGPUModules, cusz | 8.35 / 63 / 167 |",
            "| FZGPUModules, pfpl | 3.29 / 26 / 26 |",
            "| FZGPUModules, fz | 7.57 / 58 / 54 |",
            "",
            "fzgm on Some GPU, others on one NVIDIA H200",
        ]
        self.assertEqual(out.splitlines(), want)

    def test_fields_of_several_reports(self):
        turb = self.report(line("fast", 1e-3, 7, 1000, 2000))
        mine = self.report(line("fast", 1e-3, 8, 1000, 2000), name="mine.json", input="m.f64", device_name="Another")
        code, out, _ = run("table", "--measured", turb, mine)
        self.assertEqual(code, 0)
        self.assertIn("| noa 1e-3 | turb | m |\n", out)
        self.assertIn("| fzgm, fast | 7 / 1000 / 2000 | 8 / 1000 / 2000 |\n", out)
        self.assertIn("| FSZ 1.0 | 6.05 / 671 / 871 | – |\n", out)
        self.assertIn("fzgm on Some GPU and Another, others", out)

    def test_picture_goes_where_it_is_said(self):
        path = self.report(line("fast", 1e-3, 7, 1000, 2000), device_name="<&\ud800>")
        code, _, err = run("picture", "--measured", path)
        self.assertEqual(code, 2)
        self.assertIn("say with -o", err)
        out = os.path.join(self.folder, "out.svg")
        self.assertEqual(run("picture", "--measured", path, "-o", out), (0, "", ""))
        self.assertIn("fzgm on <&?>, others", "".join(ElementTree.parse(out).getroot().itertext()))


class Damage(Folder):
    def refused(self, args, *words):
        code, out, err = run(*args)
        self.assertEqual((code, out), (2, ""), args)
        self.assertRegex(err, r"\Afigures\.py: [^\n]*\n\Z")
        for word in words:
            self.assertIn(word, err)

    def test_of_recorded_figures(self):
        head = ",".join(figures.COLUMNS)
        cases = {
            "": ["line 1", "program,preset"],
            "program,preset\n": ["line 1"],
            f"{head}\nfzgm,fast,turb\n": ["line 2", "3 cells where 8"],
            f"{head}\nfzgm,fast,turb,1e-3,1,1,1,x\n\n": ["line 3", "0 cells"],
            f"{head}\nfzgm,fast,turb,1e-3,x,1,1,x\n": ["line 2", "ratio is 'x'"],
            f"{head}\nfzgm,fast,turb,1e-3,1,-1,1,x\n": ["line 2", "compress_gb_per_s is '-1'"],
            f"{head}\nfzgm,fast,turb,1e-3,1,1,nan,x\n": ["line 2", "decompress_gb_per_s is 'nan'"],
            f"{head}\nfzgm,fast,turb,1e-3,1,1,1e31,x\n": ["line 2", "decompress_gb_per_s is '1e31'"],
            f"{head}\nfzgm,fast,turb,,1,1,1,x\n": ["line 2", "bound is ''"],
            f"{head}\n,fast,turb,1,1,1,1,x\n": ["line 2", "program is ''"],
            f"{head}\nfzgm,fast,,1,1,1,1,x\n": ["line 2", "field is ''"],
            f"{head}\nfzgm,fa\x07st,turb,1,1,1,1,x\n": ["line 2", "preset is"],
            f"{head}\nfzgm,fast,turb,1e-3,1,1,1,x\nfzgm,fast,turb,0.001,1,1,1,x\n": ["fzgm, fast, turb, 0.001", "twice"],
            f'{head}\n"fzgm': ["unexpected end"],
            b"\xff\xfe": ["decode"],
        }
        for text, words in cases.items():
            path = self.file("bad.csv", text)
            self.refused(["table", "--recorded", path], path, *words)
        self.refused(["table", "--recorded", os.path.join(self.folder, "none.csv")], "none.csv", "No such file")
        only_peers = self.file("peers.csv", f"{head}\nPFPL,,turb,1e-3,1,1,1,x\n")
        self.refused(["picture", "--recorded", only_peers, "-o", os.path.join(self.folder, "x.svg")], "no row of fzgm", "1e-3")
        self.refused(["picture", "-o", os.path.join(self.folder, "none", "x.svg")], "x.svg", "No such file")

    def test_of_reports(self):
        good = line("fast", 1e-3, 7, 1000, 2000)
        huge = json.dumps(report(good)).replace("1000", "1" + 400 * "0")
        cases = {
            "": ["no JSON"],
            "[": ["no JSON"],
            "[" * 100_000: ["no JSON"],
            b"\xff": ["no JSON"],
            "[]": ["not what `fzgm bench --json` prints"],
            json.dumps({"command": "info", "rows": []}): ["not what"],
            json.dumps(report(good, rows=7)): ["not what"],
            json.dumps(report(good, input=None)): ["not what"],
            json.dumps({**report(good), "device": "cpu", "device_name": None}): ["'cpu'", "--device cuda"],
            json.dumps(report()): ["--value-base"],
            json.dumps(report({**good, "value_base": None})): ["--value-base"],
            json.dumps(report(good, 3)): ["rows[1] is 3"],
            json.dumps(report({**good, "kept": False})): ["rows[0]", "not kept"],
            json.dumps(report({**good, "eb": None})): ["rows[0]: eb is None"],
            json.dumps(report({**good, "ratio": "inf"})): ["rows[0]: ratio is 'inf'"],
            json.dumps(report({**good, "ratio": True})): ["rows[0]: ratio is True"],
            json.dumps(report({**good, "compress_gb_per_s": []})): ["rows[0]: compress_gb_per_s is []"],
            json.dumps(report({**good, "decompress_gb_per_s": 0})): ["rows[0]: decompress_gb_per_s is 0"],
            json.dumps(report(good, good)): ["fzgm, fast, turb, 0.001", "twice"],
            huge: ["rows[0]: compress_gb_per_s is 1000"],
        }
        for text, words in cases.items():
            path = self.file("bad.json", text)
            self.refused(["table", "--measured", path], path, *words)
        code, _, err = run("table", "--measured", os.path.join(self.folder, "none.json"))
        self.assertEqual(code, 2)
        self.assertIn("none.json: No such file", err)
        self.assertNotIn("no JSON", err)

    def test_at_random(self):
        """Whatever became of the bytes, there is a result or a line that says what is wrong, and the picture of a result is XML."""
        chance = random.Random(0)
        with open(figures.RECORDED, "rb") as file:
            recorded = file.read()
        rows = [line(preset, 1e-3, 7.5, 1000.0, 2000.0) for preset in ("fast", "fz")]
        files = [("bad.csv", "--recorded", recorded), ("bad.json", "--measured", json.dumps(report(*rows)).encode())]
        results = 0
        for turn in range(100):
            name, option, data = files[turn % 2]
            data = bytearray(data)
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(1, 4)] = [b"", bytes([chance.randrange(256)]), data[chance.randrange(len(data)) :][:4]][chance.randrange(3)]
            path, out = self.file(name, bytes(data)), os.path.join(self.folder, "x.svg")
            if run("table", option, path)[0] == 0 and run("picture", option, path, "-o", out)[0] == 0:
                ElementTree.parse(out)
                results += 1
            else:
                self.refused(["picture", option, path, "-o", out])
        self.assertTrue(10 < results < 90, results)


if __name__ == "__main__":
    unittest.main()
