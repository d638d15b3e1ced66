"""The recipes of packaging/, run as far as that goes without Spack and conda: a stand-in for the words of Spack, and the recipe of conda as its
engine of templates renders it.

    python3 -m unittest discover -s tests/packaging
"""

import contextlib
import os
import re
import sys
import types
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Spec(dict):
    """A spec with these variants."""

    def __contains__(self, condition):
        return self[condition[1:]].value is (condition[0] == "+")

    variants = property(lambda self: self)


class Variant:
    def __init__(self, value):
        self.value = value


def spack():
    """The module spack.package, with what a recipe of CMake may use; and what the recipe declared."""
    declared = {"version": [], "variant": {}, "depends_on": [], "conflicts": [], "license": []}

    class CMakePackage:
        def __init__(self, **variants):
            defaults = {name: kwargs["default"] for name, kwargs in declared["variant"].items()}
            self.spec = Spec({name: Variant(value) for name, value in {**defaults, "cuda_arch": ("none",), **variants}.items()})
            self.stage = types.SimpleNamespace(path="stage")

        def define(self, name, value):
            return "-D%s=%s" % (name, {True: "ON", False: "OFF"}.get(value, value))

        def define_from_variant(self, name, variant):
            assert variant in declared["variant"], variant
            return self.define(name, self.spec[variant].value)

    def note(word):
        return lambda *args, **kwargs: declared[word].append((args, kwargs))

    module = types.ModuleType("spack.package")
    words = {word: note(word) for word in ("version", "depends_on", "conflicts", "license")}
    words["variant"] = lambda name, **kwargs: declared["variant"].update({name: kwargs})
    words.update(CMakePackage=CMakePackage, CudaPackage=type("CudaPackage", (), {}), join_path=os.path.join)
    words["which"] = lambda name: types.SimpleNamespace(path="/bin/" + name)
    vars(module).update(words, __all__=list(words))
    return module, declared


class Environment(dict):
    def set(self, name, value):
        self[name] = value


class Recipes(unittest.TestCase):
    def test_spack(self):
        module, declared = spack()
        with contextlib.ExitStack() as stack:
            sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": module})
            stack.callback(lambda: [sys.modules.pop(name) for name in ("spack", "spack.package")])
            names = {}
            exec(compile(read("packaging/spack/package.py"), "package.py", "exec"), names)
        recipe = names["Fzgm"]
        self.assertEqual(sorted(declared["variant"]), ["cuda", "shared", "static", "tools"])
        self.assertTrue(all(v["description"] for v in declared["variant"].values()))
        for args, kwargs in declared["depends_on"]:
            condition = kwargs.get("when", "+shared")
            self.assertIn(condition.lstrip("+~"), declared["variant"], args)
        options = set(re.findall(r"^ *(?:option|set)\((FZGM_\w+)|find_program\((FZGM_\w+)", read("CMakeLists.txt"), re.M))
        options = {a or b for a, b in options}
        for variants, want, cuda, archs in [
            ({}, "ON", "off", None),
            ({"shared": False, "tools": False}, "OFF", "off", None),
            ({"cuda": True, "cuda_arch": ("80", "90")}, "ON", "require", "80,90"),
        ]:
            package, env = recipe(**variants), Environment()
            arguments = package.cmake_args()
            self.assertIn("-DFZGM_BUILD_SHARED=" + want, arguments)
            self.assertEqual([a for a in arguments if a[2:].split("=")[0] not in options], [])
            package.setup_build_environment(env)
            self.assertEqual((env["FZGM_CUDA"], env.get("FZGM_CUDA_ARCHS")), (cuda, archs))

    def test_conda(self):
        try:
            import jinja2
            import yaml
        except ImportError as missing:
            self.skipTest("SKIPPED: %s" % missing)
        # A selector is a comment; a line that its condition leaves out goes before the template is read.
        for cuda in ("None", "13.0"):
            lines = []
            for line in read("packaging/conda/meta.yaml").splitlines():
                selector = re.search(r"# \[(.*)\]$", line)
                if selector is None or eval(selector.group(1), {"linux": True, "cuda_compiler_version": cuda}):
                    lines.append(line)
            words = {"compiler": lambda name: name + "_compiler", "pin_subpackage": lambda name, max_pin: name + " pinned " + max_pin}
            engine = jinja2.Environment(undefined=jinja2.StrictUndefined)
            recipe = yaml.safe_load(engine.from_string("\n".join(lines)).render(words))
            self.assertEqual(set(recipe), {"package", "source", "build", "requirements", "test", "about"})
            self.assertNotIn("skip", recipe["build"])
            self.assertEqual("cuda_compiler" in recipe["requirements"]["build"], cuda != "None")
            self.assertIn("rust_compiler", recipe["requirements"]["build"])
            home = os.path.join(ROOT, "packaging/conda", recipe["source"]["path"])
            for name in recipe["test"]["files"] + recipe["about"]["license_file"]:
                self.assertTrue(os.path.isfile(os.path.join(home, name)), name)

    def test_owner(self):
        owner = dict(re.findall(r'^(\w+) = "(.*)"$', read("packaging/owner.toml"), re.M))
        self.assertEqual(set(owner), {"name", "email", "homepage"})
        version = re.search(r'^version = "(.*)"$', read("Cargo.toml"), re.M).group(1)
        self.assertIn('url = "%s/fzgm-%s.tar.gz"' % (owner["homepage"], version), read("packaging/spack/package.py"))
        self.assertIn("\nversion: %s\n" % version, read("CITATION.cff"))
        self.assertIn("\n  - name: %s\n" % owner["name"], read("CITATION.cff").replace("The fzgm", "the fzgm"))
        self.assertIn("(packaging/owner.toml)", read("SECURITY.md"))
        names = ("CMakeLists.txt", "SECURITY.md", "python/pyproject.toml", "packaging/conda/meta.yaml")
        for name in names:
            self.assertNotIn(owner["email"], read(name), "the address belongs to packaging/owner.toml alone")


if __name__ == "__main__":
    unittest.main()
