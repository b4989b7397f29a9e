#!/usr/bin/python3
"""Writes the generated file of the Python package: gantry/_c.py from the headers of the C API.

Usage: generate_python.py [--check]
--check compares instead of writing and exits with 1 and a list of what is out of date.
"""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from python_bindings import declarations  # noqa: E402


def pages():
    """Path and text of each file."""
    package = ROOT / "python-bindings/gantry"
    yield package / "_c.py", declarations.module(ROOT / "include/gantry-c")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    stale = []
    for path, text in pages():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(str(path.relative_to(ROOT)))
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
    if arguments.check and stale:
        print("out of date (run `make docs`): " + ", ".join(stale))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
