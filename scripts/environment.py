"""Shared by the scripts that need packages of the package index."""

import importlib.util
import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def ensure(name, packages):
    """Continues in the environment build/NAME, which contains the packages, if this Python does not."""
    if all(importlib.util.find_spec(package) for package in packages):
        return
    folder = os.path.join(ROOT, "build", name)
    python = os.path.join(folder, "bin", "python")
    if os.path.abspath(sys.prefix) == os.path.abspath(folder):
        sys.exit(f"{os.path.basename(sys.argv[0])}: {python} has no {' or '.join(packages)}: remove {folder}")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    os.execv(python, [python, *sys.argv])
