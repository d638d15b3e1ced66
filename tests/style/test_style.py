"""The checks of scripts/style.py: each finds its defect, accepts plain text, and accepts an exception with a reason.

    python3 -m unittest discover -s tests/style -t tests/style
"""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
sys.dont_write_bytecode = True
import style  # noqa: E402

CONFIG = {
    "rule": [
        {"pattern": r"\banew\b", "advice": "again"},
        {"pattern": r"(?:\A|[.:;]\s+)\s*What\b(?![^.]*\?)", "advice": "a noun"},
        {"pattern": r"\bso\s+many\b", "advice": "the number"},
    ],
    "length": [{"files": ["*.rs"], "columns": 60}],
    "except": [{"file": "docs/*.md", "text": "anew, the album", "reason": "a title"}],
    "files": ["*"],
    "exclude": [],
    "not_yet_clean": ["old/*"],
}


def found(path, text):
    return [(f.line, f.text) for f in style.habits(CONFIG, path, text)]


class Habits(unittest.TestCase):
    def test_pages_without_their_code(self):
        page = "# A\n\nIt runs anew.\n\n```sh\nanew\n```\n\n`anew` [x](anew.md) <!-- anew -->\n| a | anew |\n"
        self.assertEqual(found("a.md", page), [(3, "`anew`"), (10, "`anew`")])

    def test_a_sentence_over_two_lines(self):
        self.assertEqual(found("a.md", "There are so\nmany of them.\n"), [(1, "`so many`")])
        self.assertEqual(found("a.rs", "// There are so\n// many of them.\n"), [(1, "`so many`")])
        self.assertEqual(found("a.rs", "// There are so\nfn many() {}\n// many.\n"), [])

    def test_the_beginning_of_a_sentence(self):
        self.assertEqual(found("a.md", "A sentence. What is left is zero.\n"), [(1, "`. What`")])
        self.assertEqual(found("a.md", "- What is left is zero.\n"), [(1, "`What`")])
        self.assertEqual(found("a.md", "What is left? This shows what is left.\n"), [])

    def test_comments_of_every_language(self):
        for path, text in [
            ("a.rs", "/// runs anew\nfn f() {} // anew\n//! anew\n"),
            ("a.cuh", "/* runs anew */\nint x; // anew\n// anew\n"),
            ("a.py", '"""anew\nanew"""\nanew = 1\n# anew\n'),
            ("a.f90", "!> anew\nanew = 1\n! anew\n!! anew\n"),
        ]:
            self.assertEqual(len(found(path, text)), 3, path)
        self.assertEqual(found("a.c", "/**\n * runs\n * anew */\nanew();\n"), [(3, "`anew`")])
        self.assertEqual(found("a.rs", 'let anew = "anew"; // again\n'), [])

    def test_code_in_comments_of_rust(self):
        self.assertEqual(found("a.rs", "/// Text.\n/// ```\n/// anew();\n/// ```\n/// anew\n"), [(5, "`anew`")])

    def test_names_of_tests(self):
        self.assertEqual(found("a.rs", "#[test]\nfn it_runs_anew() {\n"), [(2, "`anew`")])
        self.assertEqual(found("a.rs", "fn it_runs_anew() {\n"), [])

    def test_texts_of_listings(self):
        self.assertEqual(found("a.rs", '    doc: "Starts anew.",\n'), [(1, "`anew`")])

    def test_exceptions(self):
        self.assertEqual(found("a.rs", "// anew  style: a quotation\n"), [])
        self.assertEqual(found("a.md", "<!-- style: a quotation -->\nanew\n"), [])
        self.assertEqual(found("a.rs", "// anew  style:\n"), [(1, "`anew`")])
        self.assertEqual(found("docs/a.md", "anew, the album\n"), [])
        self.assertEqual(found("a.md", "anew, the album\n"), [(1, "`anew`")])

    def test_every_exception_has_a_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "style.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write('[[except]]\nfile = "a.md"\ntext = "b"\n')
            with self.assertRaises(SystemExit):
                style.load(path)


class Lengths(unittest.TestCase):
    def test_comments_alone(self):
        def lengths(path, text):
            return [f.line for f in style.lengths(CONFIG, path, text)]

        self.assertEqual(lengths("a.rs", "// " + "word " * 20 + "\n"), [1])
        self.assertEqual(lengths("a.rs", "let a = " + "word + " * 20 + "\n// " + "x" * 80 + "\n"), [])
        self.assertEqual(lengths("a.md", "word " * 20), [])


class Links(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.mkdir(os.path.join(self.root, "docs"))
        with open(os.path.join(self.root, "docs", "a.md"), "w", encoding="utf-8") as file:
            file.write("# One `word` & two\n\n```sh\n# no heading\n```\n\n## Same\n\n## Same\n")

    def links(self, text, path="docs/b.md"):
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
            file.write(text)
        return [f.text for f in style.links(self.root, path, text)]

    def test_files_and_headings(self):
        good = "[a](a.md) [b](a.md#one-word--two) [c](a.md#same) [d](a.md#same-1) [e](#own)\n# Own\n[f]: ../docs/a.md\n"
        self.assertEqual(self.links(good), [])
        bad = "[a](none.md)\n[b](a.md#no-heading) [c](#none)\n[d]: none.md\n"
        self.assertEqual(self.links(bad), ["none.md", "a.md#no-heading", "#none", "none.md"])

    def test_links_that_are_for_others(self):
        self.assertEqual(self.links("[a](https://x.org/none) [b](crate::none) `[c](none)`\n```sh\n[d](none)\n```\n"), [])


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for name, text in {
            "scripts/style.toml": 'files = ["*.md"]\nexclude = []\nnot_yet_clean = ["old/*"]\nlength = []\n'
            '[[rule]]\npattern = "anew"\nadvice = "again"\n',
            "old/a.md": "anew\n",
            "new/a.md": "again\n",
        }.items():
            os.makedirs(os.path.dirname(os.path.join(self.root, name)), exist_ok=True)
            with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def run_style(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = style.main(["--root", self.root, "--no-spelling", *arguments])
        return code, out.getvalue()

    def test_exit_codes(self):
        self.assertEqual(self.run_style()[0], 0)
        code, text = self.run_style("--report")
        self.assertEqual(code, 0)
        self.assertIn("old/a.md:1: `anew`: again", text)
        self.assertEqual(self.run_style("old/a.md")[0], 1)
        with open(os.path.join(self.root, "new/a.md"), "w", encoding="utf-8") as file:
            file.write("anew\n")
        self.assertEqual(self.run_style()[0], 1)

    def test_dead_links_fail_everywhere(self):
        with open(os.path.join(self.root, "old/a.md"), "w", encoding="utf-8") as file:
            file.write("[a](none.md)\n")
        self.assertEqual(self.run_style()[0], 1)
        with open(os.path.join(self.root, "old/a.md"), "w", encoding="utf-8") as file:
            file.write("[a](../new/a.md#none)\n")
        self.assertEqual(self.run_style()[0], 1)


if __name__ == "__main__":
    unittest.main()
