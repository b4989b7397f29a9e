#!/usr/bin/python3
"""Random ONNX nodes and graphs against NumPy, with fusion and without, on one thread and on two.

Every case is a function of the seed and its number alone; what fails prints how to repeat it:

  random_ops_test.py --build-dir build/release --seed 1 --case 1234 [--keep FOLDER]

Usage: random_ops_test.py --build-dir BUILD [--seed N] [--count N] [--case N] [--keep FOLDER] [--jobs N]
                          [--filter TEXT] [--json FILE]
"""

import argparse
import pathlib
import sys
import warnings

import numpy as np

import gantry_api
import groups
from random_ops import (contractions, elementwise, graphs, indexing, movement, normalisations, onnx_file, other_opsets,
                        recurrent, reductions, windows)
from random_ops.draw import Draw

FAMILIES = [elementwise, elementwise, reductions, movement, indexing, windows, contractions, normalisations, other_opsets,
            graphs, graphs]


def make_case(seed, number):
    draw = Draw(seed * 1_000_003 + number)
    with np.errstate(all="ignore"):
        # Recurrent nodes take long to compile.
        source = draw.one(recurrent.FAMILY if draw.chance(0.005) else draw.one(FAMILIES).FAMILY)(draw)
    what = source.op if hasattr(source, "op") else f"graph of {len(source.steps)}"
    return groups.Case(f"--seed {seed} --case {number} ({what})", source, [], source.expected, source.tolerance, source.opset)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the model of --case and its inputs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--filter", default="", help="only cases with this in their names: an op")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    gantry_api.load(arguments.build_dir)
    warnings.simplefilter("ignore")  # NumPy's, of the ends of types and of nothing
    numbers = range(arguments.count) if arguments.case is None else [arguments.case]
    cases = [case for number in numbers if arguments.filter in (case := groups.drawn(make_case, arguments.seed, number)).name]
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        _, arrays, _ = onnx_file.pack(cases, arguments.keep)
        np.savez(arguments.keep / "inputs.npz", **arrays)
    failures = groups.Suite(cases, onnx_file.pack).run(16, arguments.jobs)
    return groups.report("random ops", len(cases), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
