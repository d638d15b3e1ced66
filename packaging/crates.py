#!/usr/bin/env python3
"""The crates that are linked into the artifacts of a release: their license texts, and a software bill of materials (CycloneDX 1.5, JSON).

    packaging/crates.py licenses OUT.txt    license texts of all linked crates and of Rust's standard library
    packaging/crates.py sbom OUT.json       names, versions, licenses, checksums, and dependencies

Both describe what `cargo metadata` resolves for this platform: normal dependencies of the library, the command line, the HDF5 filter, and the
Python package, without tests, build scripts, and procedural macros, whose code is not linked.
"""

import glob
import html
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import uuid

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
WORKSPACES = ("Cargo.toml", "python/Cargo.toml")
LICENSE_FILE = re.compile(r"(UN)?LICEN[SC]E|COPYING|NOTICE|COPYRIGHT", re.I)


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout.decode()


def metadata(manifest):
    host = re.search(r"^host: (.*)$", run("rustc", "-vV"), re.M).group(1)
    features = [] if manifest.startswith("python") else ["--features", "libfzgm/cuda,fzgm-hdf5/cuda"]
    return json.loads(
        run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host, "--manifest-path", manifest, *features)
    )


def linked():
    """Returns the linked packages by id, and the ids of their linked dependencies, own packages included."""
    packages, edges = {}, {}
    for manifest in WORKSPACES:
        data = metadata(manifest)
        by_id = {package["id"]: package for package in data["packages"]}
        nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
        queue = list(data["workspace_members"])
        while queue:
            key = queue.pop()
            if key in packages:
                continue
            packages[key] = by_id[key]
            edges[key] = sorted(
                dep["pkg"]
                for dep in nodes[key]["deps"]
                if any(kind["kind"] is None for kind in dep["dep_kinds"]) and not is_macro(by_id[dep["pkg"]])
            )
            queue += edges[key]
    return packages, edges


def is_macro(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])


def by_name(packages):
    return sorted(packages.values(), key=lambda p: (p["name"], p["version"]))


def texts(package):
    """Returns name and text of each license file of a crate."""
    folder = os.path.dirname(package["manifest_path"])
    names = sorted(name for name in os.listdir(folder) if LICENSE_FILE.match(name) and os.path.isfile(os.path.join(folder, name)))
    found = [(name, pathlib.Path(folder, name).read_text("utf-8").strip()) for name in names]
    if not found:
        sys.exit(f"crates.py: {package['name']} {package['version']} has no license file, so the packages would lack its text; use another version of the crate")
    return found


def standard_library():
    """The notices of Rust's standard library, which rustup installs as a page."""
    pages = glob.glob(os.path.join(run("rustc", "--print", "sysroot").strip(), "share/doc/rust/COPYRIGHT-library.html"))
    if not pages:
        return "This installation of Rust has no notices of its standard library. It is licensed under MIT or Apache-2.0, at your option;\nsee https://www.rust-lang.org/policies/licenses.\n"
    page = re.sub(r"<(style|head).*?</\1>", "", pathlib.Path(pages[0]).read_text("utf-8"), flags=re.S)
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    return re.sub(r"\n\s*\n+", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip() + "\n"


def licenses(out):
    packages, _ = linked()
    foreign = [package for package in by_name(packages) if package["source"]]
    known = {}
    with open(out, "w", encoding="utf-8") as file:
        file.write("License texts of the crates that are linked into fzgm, and of Rust's standard library.\nA text that several crates share is printed once.\n\n")
        for package in foreign:
            file.write(f"{package['name']} {package['version']}: {package['license']}\n")
        for package in foreign:
            for name, text in texts(package):
                title = f"{package['name']} {package['version']}, {name}"
                first = known.setdefault(" ".join(text.split()), title)
                file.write(f"\n{'=' * 80}\n{title}\n{'=' * 80}\n" + (f"{text}\n" if first == title else f"The same text as {first}.\n"))
        file.write(f"\n{'=' * 80}\nRust's standard library\n{'=' * 80}\n{standard_library()}")
    print(f"{out}: {len(foreign)} crates")


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def checksums():
    """SHA-256 of the archives of crates, from the lock files."""
    found = {}
    for manifest in WORKSPACES:
        with open(os.path.join(ROOT, os.path.dirname(manifest), "Cargo.lock"), encoding="utf-8") as file:
            for name, version, digest in re.findall(r'name = "(.*)"\nversion = "(.*)"\nsource = .*\nchecksum = "(.*)"', file.read()):
                found[f"pkg:cargo/{name}@{version}"] = digest
    return found


def sbom(out):
    packages, edges = linked()
    digests = checksums()
    version = next(package["version"] for package in packages.values() if package["name"] == "fzgm")
    components = []
    for package in by_name(packages):
        component = {
            "type": "library",
            "bom-ref": purl(package),
            "name": package["name"],
            "version": package["version"],
            "licenses": [{"expression": package["license"].replace("/", " OR ")}],
            "purl": purl(package),
        }
        if package["source"]:
            component["hashes"] = [{"alg": "SHA-256", "content": digests[purl(package)]}]
        components.append(component)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    compiler = run("rustc", "--version").split()[1]
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, f"pkg:generic/fzgm@{version}?at={at}")),
        "version": 1,
        "metadata": {
            "timestamp": at,
            "component": {"type": "application", "bom-ref": "release", "name": "fzgm", "version": version},
            "properties": [{"name": "rustc", "value": compiler}],
        },
        "components": components,
        "dependencies": [
            {"ref": purl(packages[key]), "dependsOn": sorted(purl(packages[dep]) for dep in edges[key])}
            for key in sorted(packages, key=lambda key: purl(packages[key]))
        ],
    }
    with open(out, "w", encoding="utf-8") as file:
        json.dump(bom, file, indent=1)
        file.write("\n")
    print(f"{out}: {len(components)} components")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("licenses", "sbom"):
        sys.exit(__doc__)
    {"licenses": licenses, "sbom": sbom}[sys.argv[1]](sys.argv[2])
