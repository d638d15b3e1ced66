"""The parts of scripts/release.sh that take seconds: versions, the lists of the Debian packages, license texts, and the bill of materials.

    python3 -m unittest discover -s tests/packaging

`scripts/release.sh --test` installs the files of a release; tests/it/releases.rs fails after a new version without its containers.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
EPOCH = "1700000000"
# What CMake installs below /usr, one file for each pattern of packaging/debian/files.
INSTALLED = """
lib/MULTIARCH/libfzgm.so.0.1.0 lib/MULTIARCH/libfzgm.so.0 lib/MULTIARCH/libfzgm.so lib/MULTIARCH/libfzgm.a lib/MULTIARCH/cmake/fzgm/fzgm-config.cmake
lib/MULTIARCH/pkgconfig/fzgm.pc lib/MULTIARCH/fzgm/hdf5/libh5fzgm.so include/fzgm.h include/fzgm_hdf5.h share/fzgm/python/fzgm_hdf5.py
share/fzgm/presets/fast.toml share/man/man1/fzgm.1 share/bash-completion/completions/fzgm share/zsh/site-functions/_fzgm
share/fish/vendor_completions.d/fzgm.fish share/doc/fzgm/LICENSE bin/fzgm
""".split()


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def load(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(ROOT, "packaging", name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def version():
    return re.search(r'^version = "(.*)"$', read("Cargo.toml"), re.M).group(1)


class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_versions(self):
        self.assertTrue(read("packaging/debian/changelog").startswith("fzgm (%s-1) " % version()))
        self.assertEqual(read("packaging/tag.txt").split("\n")[0], "fzgm " + version())
        self.assertIn("\n## [%s] - " % version(), read("CHANGELOG.md"))
        self.assertTrue(os.path.isdir(os.path.join(ROOT, "tests/golden/releases", version())))
        for manifest in ("cli", "hdf5-filter", "libfzgm", "python"):
            self.assertIn('\nversion = "%s"\n' % version(), read(manifest + "/Cargo.toml"), manifest)
        for manifest in ("cli", "hdf5-filter"):
            self.assertIn('fzgm = { version = "%s", path = ".."' % version(), read(manifest + "/Cargo.toml"), manifest)

    def test_pages_of_a_version_with_a_date(self):
        date = re.search(r"^## \[%s\] - (.*)$" % re.escape(version()), read("CHANGELOG.md"), re.M).group(1)
        waiting = [page for page in ("SECURITY.md", "docs/files.md", "docs/stability.md") if "not released yet" in read(page)]
        if date == "unreleased":
            self.assertEqual(len(waiting), 3, "a page does not have the words that docs/releasing.md names")
        else:
            self.assertRegex(date, r"^\d{4}-\d\d-\d\d$")
            self.assertEqual(waiting, [], "these pages say that the version is not released")

    def test_scripts_parse(self):
        for name in ("scripts/release.sh", "tests/packaging/release.sh", "tests/packaging/recipes.sh", "packaging/conda/build.sh"):
            subprocess.run(["bash", "-n", os.path.join(ROOT, name)], check=True)

    def test_lists(self):
        deb, lists = load("deb"), read("packaging/debian/files")
        found = deb.assign(INSTALLED, lists)
        self.assertEqual(set(found) - {"-"}, {stanza["Package"] for stanza in deb.stanzas()})
        self.assertEqual(sum(map(len, found.values())), len(INSTALLED))
        with self.assertRaisesRegex(ValueError, "bin/other is installed by CMake"):
            deb.assign([*INSTALLED, "bin/other"], lists)
        with self.assertRaisesRegex(ValueError, r"patterns that no file matches: bin/fzgm"):
            deb.assign([file for file in INSTALLED if file != "bin/fzgm"], lists)

    def test_packages(self):
        if any(shutil.which(tool) is None for tool in ("dpkg-deb", "gcc", "readelf")):
            self.skipTest("SKIPPED: no dpkg-deb, gcc, or readelf")
        multiarch = subprocess.run(["gcc", "-print-multiarch"], check=True, stdout=subprocess.PIPE).stdout.decode().strip()
        usr = os.path.join(self.folder, "stage", "usr")
        for name in INSTALLED:
            path = os.path.join(usr, name.replace("MULTIARCH", multiarch))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write("text\n")
        source = os.path.join(self.folder, "a.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stdlib.h>\nint f(const char *s) { return atoi(s); }\n")
        library = os.path.join(usr, "lib", multiarch, "libfzgm.so." + version())
        subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True)
        packages = []
        for out in ("one", "two"):
            out = os.path.join(self.folder, out)
            os.mkdir(out)
            arguments = ["python3", os.path.join(ROOT, "packaging/deb.py"), os.path.join(self.folder, "stage"), source, out]
            subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
            packages.append({name: pathlib.Path(out, name).read_bytes() for name in sorted(os.listdir(out))})
        self.assertEqual(packages[0], packages[1], "equal files make different packages")
        self.assertEqual([name.split("_")[0] for name in packages[0]], ["fzgm", "hdf5-fzgm", "libfzgm-dev", "libfzgm0"])
        runtime = next(name for name in packages[0] if name.startswith("libfzgm0_"))
        fields = subprocess.run(["dpkg-deb", "-f", os.path.join(out, runtime)], check=True, stdout=subprocess.PIPE).stdout.decode()
        self.assertRegex(fields, r"(?m)^Depends: libc6 \(>= 2\.\d+\)$")
        contents = subprocess.run(["dpkg-deb", "-c", os.path.join(out, runtime)], check=True, stdout=subprocess.PIPE).stdout.decode()
        for name in ("copyright", "changelog.gz", "changelog.Debian.gz", "LICENSES.txt.gz"):
            self.assertIn("./usr/share/doc/libfzgm0/%s\n" % name, contents)

    def test_crates(self):
        if shutil.which("cargo") is None:
            self.skipTest("SKIPPED: no cargo")
        crates = load("crates")
        texts, bom = os.path.join(self.folder, "texts"), os.path.join(self.folder, "bom")
        crates.licenses(texts)
        crates.sbom(bom)
        with open(bom, encoding="utf-8") as file:
            components = {component["name"]: component for component in json.load(file)["components"]}
        for name in ("fzgm", "fzgm-cli", "fzgm-hdf5", "fzgm-python", "libfzgm", "crc32fast", "pyo3"):
            self.assertIn(name, components)
        # Crates of tests alone.
        self.assertEqual([name for name in ("proptest", "num-bigint", "cbindgen") if name in components], [])
        with open(texts, encoding="utf-8") as file:
            text = file.read()
        for component in components.values():
            if "hashes" in component:
                self.assertRegex(text, r"(?m)^=+\n%s %s, " % (re.escape(component["name"]), re.escape(component["version"])))

    def test_crates_have_no_files_of_builds(self):
        if shutil.which("cargo") is None or shutil.which("git") is None or not os.path.exists(os.path.join(ROOT, ".git")):
            self.skipTest("SKIPPED: no cargo, no git, or no repository")
        # A source archive has no repository, which would tell cargo the files of a crate.
        names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
        for name in filter(lambda name: name and not name.startswith(("tests/", "docs/")), names):
            os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), os.path.join(self.folder, name), follow_symlinks=False)
        left = ["build/wheel-target/x", "dist/x", "target/x", ".nvcc/lib/x", "python/target/x", "python/package/fzgm/LICENSES.txt"]
        left += ["python/package/fzgm/plugin/libh5fzgm.so", "python/package/fzgm/_fzgm.abi3.so", "python/package/fzgm/__pycache__/x.pyc"]
        for name in left:
            os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
            pathlib.Path(self.folder, name).write_text("left by a build\n", encoding="utf-8")
        for manifest in ("Cargo.toml", "cli/Cargo.toml", "hdf5-filter/Cargo.toml", "libfzgm/Cargo.toml", "python/Cargo.toml"):
            command = ["cargo", "package", "--list", "--allow-dirty", "--offline", "--manifest-path", os.path.join(self.folder, manifest)]
            listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode().split()
            self.assertIn("Cargo.toml", listed, manifest)
            folder = os.path.dirname(manifest)
            self.assertEqual([name for name in listed if os.path.join(folder, name) in left], [], manifest)


if __name__ == "__main__":
    unittest.main()
