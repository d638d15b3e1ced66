"""Runs the recipe for conda on a source archive, by rattler-build itself: builds all packages in the environments of conda and runs their tests.

    conda.py <source archive> <folder> <cargo folder> <folder of the environment with numpy, h5py, and maturin> <folder of ADIOS2>

The channel is a folder: instead of the packages of conda-forge it has packages of equal names, whose programs start those of this machine.
Prints the seconds of each package. The packages are in <folder>/channel.
"""

import asyncio
import os
import pathlib
import shutil
import sys
import time

import rattler.index
from rattler_build import EnvironmentIsolation, Package, Stage0Recipe, ToolConfiguration, VariantConfig, assemble_package

# One file of each package.
CONTENTS = {
    "libfzgm": "lib/cmake/fzgm/fzgm-config.cmake",
    "fzgm-hdf5": "lib/fzgm/hdf5/libh5fzgm.so",
    "fzgm-adios2": "lib/fzgm/adios2/libfzgm_adios2.so",
    "fzgm": "lib/python%d.%d/site-packages/fzgm/__init__.py" % sys.version_info[:2],
}
HERE = pathlib.Path(__file__).resolve().parent
PLATFORM = "linux-64"


def program(folder, name, lines):
    path = folder / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n%s\n" % lines, encoding="utf-8")
    path.chmod(0o755)


def activation(folder, name, lines):
    path = folder / "etc/conda/activate.d" / (name + ".sh")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines + "\n", encoding="utf-8")


def which(name):
    path = shutil.which(name)
    assert path, "no program %s" % name
    return path


def stand_ins(folder, cargo_folder, environment, adios2):
    """The packages that the recipe requires: name, version, and the function that writes the files."""
    python = pathlib.Path(environment, "bin/python")
    site = "lib/python%d.%d/site-packages" % sys.version_info[:2]

    def of_python(folder):
        for name in ("python", "python3"):
            program(folder, name, 'PYTHONPATH=$(dirname "$0")/../%s:$PYTHONPATH exec %s "$@"' % (site, python))

    # CMake compiles into the folder cargo of its build tree; a link there shares the compiled crates between the packages.
    share = "mkdir -p build && ln -sfn %s build/cargo\nexport CARGO_TARGET_DIR=%s/python PATH=%s:$PATH" % (cargo_folder, cargo_folder, os.path.dirname(which("cargo")))
    return [
        ("gcc_linux-64", "14.0", lambda folder: activation(folder, "gcc", "export CC=" + which("gcc"))),
        ("gxx_linux-64", "14.0", lambda folder: activation(folder, "gxx", "export CXX=" + which("g++"))),
        ("rust_linux-64", "1.90", lambda folder: activation(folder, "rust", share)),
        ("cmake", "3.31", lambda folder: program(folder, "cmake", 'exec %s "$@"' % which("cmake"))),
        ("make", "4.4", lambda folder: program(folder, "make", 'exec %s "$@"' % which("make"))),
        ("pkg-config", "0.29", lambda folder: program(folder, "pkg-config", 'PKG_CONFIG_PATH=$(dirname "$0")/../lib/pkgconfig exec %s "$@"' % which("pkg-config"))),
        ("python", "%d.%d.%d" % sys.version_info[:3], of_python),
        ("adios2", "2.12.0", lambda folder: activation(folder, "adios2", "export ADIOS2_DIR=" + adios2)),
        *((name, version, None) for name, version in (("pip", "24.0"), ("maturin", "1.8"), ("numpy", "2.0"), ("h5py", "3.12"), ("hdf5", "1.14"))),
    ]


def channel(folder, packages):
    (folder / PLATFORM).mkdir(parents=True)
    for name, version, write in packages:
        files = folder.parent / "files" / name
        files.mkdir(parents=True)
        if write:
            write(files)
        else:
            program(files, "stand-in-" + name, "exit 1")
        assemble_package(name, version, PLATFORM, "0", folder / PLATFORM, files_dir=files)
    asyncio.run(rattler.index.index_fs(folder))


def main(archive, folder, cargo_folder, environment, adios2):
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    channel(folder / "channel", stand_ins(folder, cargo_folder, environment, adios2))
    os.environ["FZGM_ARCHIVE"] = pathlib.Path(archive).resolve().as_uri()
    # Every setting of the test reaches the builds: optimizations are off.
    options = {"channels": [(folder / "channel").as_uri()], "output_dir": folder / "channel", "env_isolation": EnvironmentIsolation.NONE}
    recipe = Stage0Recipe.from_file(HERE.parent.parent / "packaging/conda/recipe.yaml")
    for cuda in ("None", "13.0"):
        variants = recipe.render(VariantConfig({"cuda_compiler_version": [cuda]}))
        names = sorted(variant.recipe.package.name for variant in variants)
        assert names == ["fzgm", "fzgm-adios2", "fzgm-hdf5", "libfzgm"], names
        needs = {str(need) for variant in variants for need in variant.recipe.requirements.build}
        assert any(need.startswith("cuda_") for need in needs) == (cuda != "None"), needs
    for variant in recipe.render(VariantConfig({"cuda_compiler_version": ["None"]})):
        started = time.monotonic()
        result = variant.run_build(tool_config=ToolConfiguration(test_strategy="native", keep_build=True), **options)
        size, package = sum(package.stat().st_size for package in result.packages), Package.from_file(result.packages[0])
        assert CONTENTS[result.name] in package.files, package.files
        print("ok  conda package %s, built and tested in %d s, %d KiB" % (result.name, time.monotonic() - started, size // 1024), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
