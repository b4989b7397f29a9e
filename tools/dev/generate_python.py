#!/usr/bin/python3
"""Writes the generated files of the Python package: gantry/_c.py from the headers of the C API,
gantry/ops.py and ops.pyi from the table of ops that the compiler library tells.

Usage: generate_python.py [--build-dir BUILD] [--check]
--check compares instead of writing and exits with 1 and a list of what is out of date. The ops need
a build with the compiler; without one they are left alone, and that is said.
"""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from python_bindings import declarations, op_functions  # noqa: E402


def pages(build):
    """Path and text of each file; what cannot be made here is told on stderr."""
    package = ROOT / "python-bindings/gantry"
    yield package / "_c.py", declarations.module(ROOT / "include/gantry-c")
    table = op_functions.read_table(build) if build else None
    if table is None:
        print("generate_python: no build with the compiler, so ops.py is left alone", file=sys.stderr)
        return
    yield package / "ops.py", op_functions.module(table)
    yield package / "ops.pyi", op_functions.stubs(table)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    stale = []
    for path, text in pages(arguments.build_dir):
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
