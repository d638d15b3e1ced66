#!/usr/bin/env python3
"""Checks the English of pages, comments, and test names: old habits, spelling, line length, and links.

    scripts/style.py                  all files of the repository
    scripts/style.py --report         prints the findings of files that are not yet clean too
    scripts/style.py PATH...          these files, those that are not yet clean too
    scripts/style.py --no-spelling    without the program typos

Rules and exceptions are in scripts/style.toml. An exception for one line is a comment at its end or in the line before it:
`style: reason` in `//` or `#`, `<!-- style: reason -->` in Markdown. The exit code is 1 if there are findings.
"""

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import unicodedata

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SLASHES = (".rs", ".c", ".h", ".hpp", ".cpp", ".cu", ".cuh")
HASHES = (".py", ".sh", ".toml", ".cmake")
NO_FILE, NO_HEADING = "there is no such file", "the page has no such heading"
WAIVER = re.compile(r"\bstyle: \w")
# Inline code, link targets, URLs, and HTML comments are not prose. A word takes the place of code, so that the sentence keeps its form.
CODE = re.compile(r"``.*?``|`[^`\n]*`|\]\([^)\s]*\)|^\[[^]]*\]: .*$|https?://\S+|<!--.*?-->", re.M | re.S)


class Finding:
    def __init__(self, path, line, text, advice):
        self.path, self.line, self.text, self.advice = path, line, text, advice

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}: {self.advice}"


class Block:
    """Lines of prose that belong together: a paragraph, a cell, or consecutive comment lines."""

    def __init__(self, numbers, lines):
        self.lines = list(zip(numbers, lines))
        self.starts, text = [], ""
        for number, line in self.lines:
            self.starts.append((len(text), number))
            text += line + "\n"
        self.text = CODE.sub(lambda m: "§" + "\n" * m[0].count("\n") + " " * (len(m[0]) - 1 - m[0].count("\n")), text)

    def line(self, offset):
        return max((start, number) for start, number in self.starts if start <= offset)[1]


def blocks_of(lines, prose_of):
    """Blocks of consecutive lines for which `prose_of` returns text; it returns None between blocks, and (text, True) starts one."""
    numbers, texts, found = [], [], []
    for number, line in enumerate(lines, 1):
        prose = prose_of(line)
        text, first = prose if isinstance(prose, tuple) else (prose, False)
        if (text is None or first) and numbers:
            found.append(Block(numbers, texts))
            numbers, texts = [], []
        if text is not None:
            numbers.append(number)
            texts.append(text)
    if numbers:
        found.append(Block(numbers, texts))
    return found


def markdown(marker=""):
    """A function that returns the prose of a line of Markdown after `marker`, and skips fenced blocks."""
    fenced = [False]

    def prose_of(line):
        stripped = line.strip()
        if not stripped.startswith(marker):
            fenced[0] = False
            return None
        stripped = stripped[len(marker):].strip()
        if stripped.startswith("```"):
            fenced[0] = not fenced[0]
            return None
        if fenced[0] or not stripped:
            return None
        if stripped[0] in "#|":
            return stripped.strip("#| "), True
        item = re.match(r"([*-]|\d+\.) ", stripped)
        return (stripped[item.end():], True) if item else stripped

    return prose_of


def rust_or_c(lines, rust):
    """Comments of Rust, C, and CUDA, the names of tests, and the texts of listings."""
    found = []
    for marker in ("//!", "///", "//"):
        prose = markdown(marker)

        def only(line, prose=prose, marker=marker):
            stripped = line.strip()
            other = next((m for m in ("//!", "///", "//") if stripped.startswith(m)), None)
            return prose(line if other == marker and not stripped.startswith("// seed:") else "")

        found += blocks_of(lines, only)
    trailing = ((n, re.search(r'[;{},)]\s+//(?!/) ?(.*)$', line)) for n, line in enumerate(lines, 1))
    found += [Block([n], [m[1]]) for n, m in trailing if m and not lines[n - 1].strip().startswith("//") and m[1].split(":")[0] != "seed"]
    inside = [False]

    def starred(line):
        stripped, was = line.strip(), inside[0]
        opens = None if rust else re.search(r"/\*+<?", line)
        if not was and not opens:
            return None
        inside[0] = "*/" not in line[opens.end() if opens else 0:]
        text = line[opens.end():] if opens and not was else re.sub(r"^\*+", "", stripped)
        text = text.split("*/")[0].strip()
        return (text or None) if was else ((text, True) if text else None)

    found += blocks_of(lines, starred)
    for n, line in enumerate(lines, 1):
        name = re.match(r"\s*fn (\w+)\(\) \{", line)
        if name and any("#[test]" in before for before in lines[max(0, n - 4):n - 1]):
            found.append(Block([n], [name[1].replace("_", " ")]))
        listed = re.match(r'\s*(?:about|doc): "(.*)"', line)
        if listed:
            found.append(Block([n], [listed[1]]))
    return found


def hashes(lines):
    quoted = [False]

    def prose_of(line):
        stripped = line.strip()
        if '"""' in stripped:
            one = stripped.count('"""') == 2
            was, quoted[0] = quoted[0], not quoted[0] and not one
            return stripped.strip('"') or None, not was
        if quoted[0]:
            return stripped or None
        return stripped.lstrip("# ") or None if stripped.startswith("#") and not stripped.startswith("#!") else None

    return blocks_of(lines, prose_of)


def blocks(path, text):
    lines = text.split("\n")
    if path.endswith(".md"):
        return blocks_of(lines, markdown())
    if path.endswith(SLASHES):
        return rust_or_c(lines, path.endswith(".rs"))
    if path.endswith(".f90"):
        return blocks_of(lines, lambda line: line.strip().lstrip("!<> ") or None if line.strip().startswith("!") else None)
    return hashes(lines)


def waived(config, path, lines, number):
    """True if the line, or a comment before it, gives a reason for an exception, or the list of exceptions contains it."""
    here, before = lines[number - 1], lines[number - 2] if number > 1 else ""
    if WAIVER.search(here) or (WAIVER.search(before) and before.strip()[:2] in ("//", "# ", "<!")):
        return True
    return any(fnmatch.fnmatch(path, e["file"]) and e["text"] in here for e in config.get("except", []))


def habits(config, path, text):
    lines, found = text.split("\n"), []
    rules = [r for r in config["rule"] if "files" not in r or matches(path, r["files"])]
    for block in blocks(path, text):
        for rule in rules:
            for match in re.finditer(rule["pattern"], block.text):
                number = block.line(match.start())
                if not waived(config, path, lines, number):
                    words = " ".join(match[0].split())
                    found.append(Finding(path, number, f"`{words}`", rule["advice"]))
    return found


def lengths(config, path, text):
    limit = next((l["columns"] for l in config["length"] if any(fnmatch.fnmatch(path, p) for p in l["files"])), None)
    lines, found, fenced = text.split("\n"), [], False
    for number, line in enumerate(lines, 1) if limit else []:
        if path.endswith(".md"):
            fenced ^= line.strip().startswith("```")
            exempt = fenced or line.lstrip().startswith(("|", "[", "```"))
        else:
            exempt = not line.strip().startswith("//" if path.endswith(SLASHES) else ("#", "!"))
        # A line that cannot be broken is no finding: a link or a path.
        if len(line) > limit and not exempt and " " in line.strip()[:limit].lstrip("/!#* ") and not waived(config, path, lines, number):
            found.append(Finding(path, number, f"{len(line)} columns", f"the limit is {limit}"))
    return found


def anchors(text):
    """Anchors of the headings of a page, as forges make them."""
    found, fenced = set(), False
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        heading = None if fenced else re.match(r"#+ +(.*?)\s*#*$", line)
        if heading:
            words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            kept = "".join(c for c in words if c in " -_" or unicodedata.category(c)[0] in "LN")
            anchor = base = kept.replace(" ", "-")
            count = 0
            while anchor in found:
                count += 1
                anchor = f"{base}-{count}"
            found.add(anchor)
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def links(root, path, text):
    """Links to files of the repository and to headings. A link with `::` names an item of Rust and is for rustdoc."""
    found, fenced = [], False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.strip().startswith("```")
        if fenced:
            continue
        prose = re.sub(r"`[^`]*`(?!\])", "", line)
        targets = re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r"^\[[^]]+\]: (\S+)", prose) + re.findall(r'(?:src|href)="([^"]+)"', prose)
        for link in targets:
            if "::" in link or "://" in link or link.startswith("mailto:"):
                continue
            name, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(root, os.path.dirname(path), name)) if name else os.path.join(root, path)
            if not os.path.exists(target):
                found.append(Finding(path, number, link, NO_FILE))
            elif anchor and target.endswith(".md"):
                with open(target, encoding="utf-8") as file:
                    if anchor not in anchors(file.read()):
                        found.append(Finding(path, number, link, NO_HEADING))
    return found


def spelling(root, paths, config):
    """Findings of the program typos, in American spelling, by the words of scripts/style.toml."""
    program = shutil.which("typos", path=os.pathsep.join([os.path.join(root, "build/style-venv/bin"), os.environ.get("PATH", "")]))
    if program is None:
        raise SystemExit("style.py: typos is missing; install it (pip install typos) or pass --no-spelling")
    words = config["spelling"]
    settings = {"default": {"locale": "en-us", "extend-words": {w: w for w in words["words"]}, "extend-ignore-re": words["ignore"]}}
    os.makedirs(os.path.join(root, "build"), exist_ok=True)
    name = os.path.join(root, "build", "typos.toml")
    with open(name, "w", encoding="utf-8") as file:
        for table, entries in (("default", settings["default"]), ("default.extend-words", settings["default"]["extend-words"])):
            file.write(f"[{table}]\n")
            for key, value in entries.items():
                if not isinstance(value, dict):
                    file.write(f"{json.dumps(key)} = {json.dumps(value)}\n")
    result = subprocess.run([program, "--config", name, "--format", "json", *paths], cwd=root, capture_output=True, text=True, check=False)
    if result.returncode not in (0, 2):
        raise SystemExit(f"style.py: typos fails: {result.stderr}")
    for line in result.stdout.splitlines():
        entry = json.loads(line)
        if entry.get("type") == "typo":
            better = ", ".join(entry["corrections"]) or "unknown"
            yield Finding(entry.get("path", "").removeprefix("./"), entry.get("line_num", 1), f"`{entry['typo']}`", f"spelling: {better}")


def matches(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def tracked(root, config):
    """Files of the repository that are checked, tracked or new."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    return [n for n in names if matches(n, config["files"]) and not matches(n, config["exclude"]) and os.path.isfile(os.path.join(root, n))]


def check(root, config, paths, with_spelling=True):
    found = []
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        found += habits(config, path, text) + lengths(config, path, text)
        if path.endswith(".md"):
            found += links(root, path, text)
    if with_spelling:
        found += spelling(root, paths, config)
    return found


def load(path):
    with open(path, "rb") as file:
        config = tomllib.load(file)
    for entry in config.get("except", []):
        if not entry.get("reason"):
            raise SystemExit(f"style.py: {path}: the exception for {entry['file']} has no reason")
    return config


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", help="files, relative to the repository")
    parser.add_argument("--report", action="store_true", help="print the findings of files that are not yet clean too")
    parser.add_argument("--no-spelling", action="store_true", help="without the program typos")
    parser.add_argument("--root", default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    root = os.path.abspath(options.root)
    config = load(os.path.join(root, "scripts", "style.toml"))
    found = check(root, config, options.paths or tracked(root, config), not options.no_spelling)
    # Dead links fail everywhere.
    pending = [] if options.paths else [f for f in found if matches(f.path, config["not_yet_clean"]) and f.advice not in (NO_FILE, NO_HEADING)]
    failures = [f for f in found if f not in pending]
    for finding in failures + (pending if options.report else []):
        print(finding)
    print(f"{len(failures)} findings; {len(pending)} more in {len({f.path for f in pending})} files that are not yet clean")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
