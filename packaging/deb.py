#!/usr/bin/env python3
"""Makes .deb packages of a tree that CMake has installed into, by the lists in packaging/debian.

    SOURCE_DATE_EPOCH=… packaging/deb.py STAGE LICENSES.txt OUT

STAGE contains usr, installed with CMAKE_INSTALL_PREFIX=/usr and CMAKE_INSTALL_LIBDIR=lib/<multiarch>. Uses dpkg-deb: cargo-deb packages what
cargo builds, and most files here come from CMake. A file of STAGE that no list contains is an error.
"""

import fnmatch
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()


def owner():
    return dict(re.findall(r'^(\w+) = "(.*)"$', read(HERE, "owner.toml"), re.M))


def stanzas():
    """Returns the packages of packaging/debian/control, as dictionaries."""
    return [dict(re.findall(r"^([A-Z][\w-]*): (.*(?:\n .*)*)", block, re.M)) for block in read(HERE, "debian", "control").split("\n\n")]


def assign(files, lists):
    """Returns the files of each package; "-" has those that no package contains. Raises ValueError if a file or a pattern is left."""
    found, used = {}, set()
    rules = [line.split() for line in lists.splitlines() if line and not line.startswith(("#", "link "))]
    for file in files:
        rule = next(((words[0], pattern) for words in rules for pattern in words[1:] if fnmatch.fnmatch(file, pattern)), None)
        if rule is None:
            raise ValueError(f"{file} is installed by CMake, but packaging/debian/files has no line for it")
        used.add(rule)
        found.setdefault(rule[0], []).append(file)
    unused = [pattern for words in rules for pattern in words[1:] if (words[0], pattern) not in used]
    if unused:
        raise ValueError(f"packaging/debian/files has patterns that no file matches: {', '.join(unused)}")
    return found


def is_elf(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(paths):
    """The dependencies of shared libraries and programs: libc6 in the newest version whose symbols they use, and libgcc-s1."""
    versions, libraries = [(2, 17)], set()
    for path in paths:
        table = run("readelf", "-W", "--version-info", "--dynamic", path)
        versions += [tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_([0-9.]+)", table)]
        libraries.update(re.findall(r"\(NEEDED\).*\[(.*)\]", table))
    known = {"libgcc_s.so.1": "libgcc-s1 (>= 4.2)"}
    of_glibc = re.compile(r"(libc|libm|libdl|libpthread|librt|libutil|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+")
    foreign = [name for name in sorted(libraries) if not of_glibc.fullmatch(name)]
    unknown = [name for name in foreign if name not in known]
    if unknown:
        raise ValueError(f"{', '.join(paths)}: there is no package for {', '.join(unknown)}")
    newest = ".".join(map(str, max(versions)))
    return [f"libc6 (>= {newest})", *(known[name] for name in foreign)] if paths else []


def compressed(path, text):
    """A document, compressed with no name and no time, as packages require."""
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as out:
        out.write(text.encode())


def documents(folder, licenses, epoch):
    os.makedirs(folder)
    person = owner()
    text = "".join(f" {line}\n" if line else " .\n" for line in read(ROOT, "LICENSE").strip().splitlines())
    legal = read(HERE, "debian", "copyright").replace("${homepage}", person["homepage"]).replace("${license}\n", text)
    with open(os.path.join(folder, "copyright"), "w", encoding="utf-8") as file:
        file.write(legal)
    at = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch))
    compressed(os.path.join(folder, "changelog.Debian.gz"), read(HERE, "debian", "changelog") + f"\n -- {person['name']} <{person['email']}>  {at}\n")
    compressed(os.path.join(folder, "changelog.gz"), read(ROOT, "CHANGELOG.md"))
    compressed(os.path.join(folder, "LICENSES.txt.gz"), read(licenses))
    compressed(os.path.join(folder, "THIRD_PARTY.md.gz"), read(ROOT, "THIRD_PARTY.md"))


def control(stanza, version, architecture, root, elf):
    """Writes DEBIAN/control and the checksums of the files."""
    person = owner()
    depends = needed(elf) + ([stanza["Depends"].replace("${version}", version)] if "Depends" in stanza else [])
    files = sorted(os.path.join(at, name) for at, _, names in os.walk(root) for name in names)
    plain = [path for path in files if not os.path.islink(path)]
    fields = {
        "Package": stanza["Package"], "Source": "fzgm", "Version": version, "Architecture": architecture,
        "Maintainer": f"{person['name']} <{person['email']}>", "Installed-Size": str(sum(-(-os.lstat(path).st_size // 1024) for path in files)),
        "Depends": ", ".join(depends), "Suggests": stanza.get("Suggests", ""), "Enhances": stanza.get("Enhances", ""),
        "Section": stanza["Section"], "Priority": "optional", "Multi-Arch": "same" if stanza["Package"] == "libfzgm0" else "",
        "Homepage": person["homepage"], "Description": stanza["Description"],
    }  # fmt: skip
    debian = os.path.join(root, "DEBIAN")
    os.mkdir(debian)
    with open(os.path.join(debian, "control"), "w", encoding="utf-8") as file:
        file.writelines(f"{name}: {value}\n" for name, value in fields.items() if value)
    with open(os.path.join(debian, "md5sums"), "w", encoding="utf-8") as file:
        for path in plain:
            file.write(f"{hashlib.md5(pathlib.Path(path).read_bytes()).hexdigest()}  {os.path.relpath(path, root)}\n")
    if stanza["Package"] == "libfzgm0":
        with open(os.path.join(debian, "triggers"), "w", encoding="utf-8") as file:
            file.write("activate-noawait ldconfig\n")
        with open(os.path.join(debian, "shlibs"), "w", encoding="utf-8") as file:
            file.write(f"libfzgm 0 libfzgm0 (>= {version.split('-')[0]})\n")


def package(stanza, files, links, stage, licenses, out, epoch):
    name = stanza["Package"]
    version = re.match(r"fzgm \((.*)\)", read(HERE, "debian", "changelog")).group(1)
    architecture = run("dpkg", "--print-architecture").strip()
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        for file in files:
            target = os.path.join(root, "usr", file)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(os.path.join(stage, "usr", file), target, follow_symlinks=False)
        for place, target in links:
            os.makedirs(os.path.dirname(os.path.join(root, "usr", place)), exist_ok=True)
            os.symlink(target, os.path.join(root, "usr", place))
        for file in files:
            # Manual pages are compressed in packages.
            if file.startswith("share/man/"):
                page = os.path.join(root, "usr", file)
                compressed(page + ".gz", read(page))
                os.remove(page)
        documents(os.path.join(root, "usr/share/doc", name), licenses, epoch)
        elf = [os.path.join(root, "usr", file) for file in files if is_elf(os.path.join(root, "usr", file))]
        programs = {path for path in elf if os.sep + "bin" + os.sep in path}
        for at, folders, names in os.walk(root):
            for path in (os.path.join(at, entry) for entry in names if not os.path.islink(os.path.join(at, entry))):
                os.chmod(path, 0o755 if path in programs else 0o644)
            for path in folders:
                os.chmod(os.path.join(at, path), 0o755)
        control(stanza, version, architecture, root, elf)
        file = os.path.join(out, f"{name}_{version}_{architecture}.deb")
        run("dpkg-deb", "--build", "--root-owner-group", "-Zxz", "--threads-max=1", root, file)
        print(f"{os.path.basename(file)}: {os.path.getsize(file)} bytes; {', '.join(needed(elf)) or 'no library'}")


def main(stage, licenses, out):
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    multiarch = run("gcc", "-print-multiarch").strip()
    usr = os.path.join(stage, "usr")
    files = sorted(os.path.relpath(os.path.join(at, name), usr) for at, _, names in os.walk(usr) for name in names)
    lists = read(HERE, "debian", "files")
    of_package = assign(files, lists)
    for stanza in stanzas():
        name = stanza["Package"]
        links = [line.replace("$multiarch", multiarch).split()[2:] for line in lists.splitlines() if line.startswith(f"link {name} ")]
        package(stanza, of_package.get(name, []), links, stage, licenses, out, epoch)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except ValueError as error:
        sys.exit(f"deb.py: {error}")
