"""The recipes of packaging/, run as far as that goes without Spack, conda, and vcpkg: a stand-in for the words of Spack, the structure of the
recipe of rattler-build, and the options of the port of vcpkg. tests/packaging/recipes.sh runs their commands.

    python3 -m unittest discover -s tests/packaging
"""

import contextlib
import json
import os
import re
import sys
import types
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r'^version = "(.*)"$', read("Cargo.toml"), re.M).group(1)


def cmake_options():
    return {a or b for a, b in re.findall(r"^ *(?:option|set)\((FZGM_\w+)|find_program\((FZGM_\w+)", read("CMakeLists.txt"), re.M)}


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
    declared = {"version": [], "variant": {}, "depends_on": [], "conflicts": [], "license": [], "extends": [], "after": []}

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
    words = {word: note(word) for word in ("version", "depends_on", "conflicts", "license", "extends")}
    words["variant"] = lambda name, **kwargs: declared["variant"].update({name: kwargs})
    words.update(CMakePackage=CMakePackage, join_path=os.path.join, os=os)
    words.update({name: type(name, (), {}) for name in ("CudaPackage", "PythonExtension")})
    words["run_after"] = lambda phase: lambda method: declared["after"].append((phase, method)) or method
    words["find"] = lambda prefix, name: [os.path.join(prefix, "lib", "fzgm", name)] if prefix == name else []
    words["working_dir"] = contextlib.nullcontext
    words["which"] = lambda name: types.SimpleNamespace(path="/bin/" + name)
    vars(module).update(words, __all__=list(words))
    return module, declared


def run_spack_recipe():
    module, declared = spack()
    with contextlib.ExitStack() as stack:
        sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": module})
        stack.callback(lambda: [sys.modules.pop(name) for name in ("spack", "spack.package")])
        names = {}
        exec(compile(read("packaging/spack/package.py"), "package.py", "exec"), names)
    return names, declared


def fzgm_of_spack():
    """The class of the recipe, for tests/packaging/recipes.sh."""
    return run_spack_recipe()[0]["Fzgm"]


class Environment(dict):
    def set(self, name, value):
        self[name] = value

    prepend_path = set


class Recipes(unittest.TestCase):
    def test_spack(self):
        names, declared = run_spack_recipe()
        recipe = names["Fzgm"]
        self.assertEqual(sorted(declared["variant"]), ["adios2", "cuda", "hdf5", "python", "shared", "static", "tools"])
        self.assertTrue(all(v["description"] for v in declared["variant"].values()))
        for args, kwargs in declared["depends_on"] + declared["extends"]:
            condition = kwargs.get("when", "+shared")
            self.assertIn(condition.lstrip("+~"), declared["variant"], args)
        options = cmake_options()
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
        for library, variable in [("libh5fzgm.so", "HDF5_PLUGIN_PATH"), ("libfzgm_adios2.so", "ADIOS2_PLUGIN_PATH")]:
            package, env = recipe(), Environment()
            package.prefix = library
            package.setup_run_environment(env)
            self.assertEqual(env, {variable: library + "/lib/fzgm"})
        (phase, install), commands = declared["after"][0], []
        names["which"] = lambda name: lambda *arguments: commands.append((name, arguments))
        for variants, count in [({}, 0), ({"python": True}, 1)]:
            package = recipe(**variants)
            package.prefix, package.stage.source_path = "prefix", "source"
            install(package)
            self.assertEqual((phase, len(commands)), ("install", count))
        self.assertEqual(commands[0][1][-3:], ("--prefix", "prefix", "."))

    def test_conda(self):
        try:
            import yaml
        except ImportError as missing:
            self.skipTest("SKIPPED: %s" % missing)
        recipe = yaml.safe_load(read("packaging/conda/recipe.yaml"))
        self.assertEqual(recipe["context"]["version"], version())
        self.assertIn("fzgm-%s.tar.gz" % version(), recipe["context"]["archive"])
        script = read("packaging/conda/build.sh")
        options = set(re.findall(r"-D(FZGM_\w+)", script))
        self.assertLess(options, cmake_options())
        for output in recipe["outputs"]:
            # A script is a command: rattler-build neither searches for a file nor adds the folder of the recipe to PATH.
            shell, name, part = output["build"]["script"].split()
            self.assertEqual((shell, name), ("bash", "$RECIPE_DIR/build.sh"))
            self.assertTrue(os.path.isfile(os.path.join(ROOT, "packaging/conda/build.sh")))
            self.assertIn("\n  %s) " % part, script)
            for test in output.get("tests", []):
                for file in test.get("files", {}).get("source", []):
                    self.assertTrue(os.path.isfile(os.path.join(ROOT, file)), file)
        self.assertIn("licenses LICENSES.txt", script)

    def test_vcpkg(self):
        port, recipe = json.loads(read("packaging/vcpkg/vcpkg.json")), read("packaging/vcpkg/portfile.cmake")
        self.assertEqual(port["version"], version())
        features = dict(re.findall(r"^    (\w+) (FZGM_\w+)\)?$", recipe, re.M))
        self.assertEqual(set(features), set(port["features"]))
        self.assertLess(set(features.values()) | set(re.findall(r"-D(FZGM_\w+)", recipe)), cmake_options())

    def test_owner(self):
        owner = dict(re.findall(r'^(\w+) = "(.*)"$', read("packaging/owner.toml"), re.M))
        self.assertEqual(set(owner), {"name", "email", "homepage"})
        archive = "%s/fzgm-%s.tar.gz" % (owner["homepage"], version())
        self.assertIn('url = "%s"' % archive, read("packaging/spack/package.py"))
        self.assertIn('default="%s"' % archive, read("packaging/conda/recipe.yaml"))
        self.assertIn(archive.replace(version(), "${VERSION}"), read("packaging/vcpkg/portfile.cmake"))
        self.assertEqual(json.loads(read("packaging/vcpkg/vcpkg.json"))["homepage"], owner["homepage"])
        self.assertIn("\nversion: %s\n" % version(), read("CITATION.cff"))
        self.assertIn("\n  - name: %s\n" % owner["name"], read("CITATION.cff").replace("The fzgm", "the fzgm"))
        self.assertIn("(packaging/owner.toml)", read("SECURITY.md"))
        names = ("CMakeLists.txt", "SECURITY.md", "python/pyproject.toml", "packaging/conda/recipe.yaml", "packaging/debian/control", "packaging/debian/copyright")
        for name in names:
            self.assertNotIn(owner["email"], read(name), "the address belongs to packaging/owner.toml alone")


if __name__ == "__main__":
    unittest.main()
