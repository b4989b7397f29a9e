#!/usr/bin/python3
"""Random graphs whose values share memory, against NumPy and against plans in which none do.

Every graph is compiled as it is, without fusion (so that more values end in the place of others), with bytes of
its own for each value, and with both and nothing computed at load; for the host and for a simulated GPU. All have
to give the same bits, on one thread and on two, in a session whose memory is full of the NaNs of a run before.

  memory_test.py --build-dir build/release --seed 1 --case 12

Usage: memory_test.py --build-dir BUILD [--seed N] [--count N] [--case N] [--jobs N] [--json FILE]
"""

import sys

import numpy as np

import groups
from random_ops import graphs, onnx_file
from random_ops.draw import Draw

VARIANTS = ((), ("no-fuse",), ("no-reuse",), ("no-fuse", "no-reuse", "once=run"))
SIMULATED = ("devices=CPU:0,GPU:0", "simulate")


class Poisoned(groups.Suite):
    def run_plan(self, plan, inputs):
        def spoil(array):
            return np.full_like(array, np.nan) if array.dtype.kind == "f" else array

        return plan.run_series([{name: spoil(array) for name, array in inputs.items()}, inputs])[1]


def make_case(seed, number):
    draw = Draw(seed * 1_000_003 + number)
    # Large enough for several work items, now and then.
    builder = graphs.Builder(draw, draw.one((3, 64, 197, 300)), draw.one((16, 33, 197, 768)))
    for _ in range(draw.integer(4, 24)):
        builder.step()
    graph = graphs.finish(draw, builder, 1)
    # Sums of hundreds of numbers, two dozen steps deep.
    return groups.Case(f"--seed {seed} --case {number}", graph, [], graph.expected, (1e-2, 1e-2), graph.opset)


def main():
    arguments, cases = groups.drawn_cases(__doc__, make_case, 50)
    failures = {}
    for where, flags in (("", ()), (", simulated", SIMULATED)):
        found = Poisoned(cases, onnx_file.pack, (*flags, *arguments.flag), VARIANTS).run(8, arguments.jobs)
        failures.update({name + where: what for name, what in found.items()})
    return groups.report("shared memory", 2 * len(cases), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
