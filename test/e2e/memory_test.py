#!/usr/bin/python3
"""Random graphs whose values share memory, against NumPy and against plans in which none do.

Many cut rows and join them again. Every graph is compiled as it is, without fusion (so that more values end in the place of others), with bytes of
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

PLANS = ((), ("no-fuse",), ("no-reuse",), ("no-fuse", "no-reuse", "once=run"))
SIMULATED = ("devices=CPU:0,GPU:0", "simulate")
# In one process, which makes machine code that they have in common once.
VARIANTS = (*PLANS, *((*SIMULATED, *flags) for flags in PLANS))


class Builder(graphs.Builder):
    """With rows that are cut and joined: what Memory places so that nothing is moved."""

    def step(self):
        if self.draw.integer(0, 2):
            super().step()
        else:
            self.rejoin()

    def number(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array([value], np.int64)
        return name

    def name(self):
        return f"v{len(self.steps)}"

    def cut(self, x, bounds):
        """Rows of x between the bounds, by slices or all at once; some go through an op before they are joined."""
        lengths = np.diff(bounds)
        pieces = [self.values[x][low:high] for low, high in zip(bounds, bounds[1:])]
        if self.draw.integer(0, 1) and all(lengths):
            sizes = f"c{len(self.constants)}"
            self.constants[sizes] = np.array(lengths, np.int64)
            names = [f"{self.name()}p{i}" for i in range(len(pieces))]
            self.steps.append(("Split", [x, sizes], list(names), {"axis": 0}))
        else:
            names = []
            for low, high in zip(bounds, bounds[1:]):
                names.append(self.name())
                self.steps.append(("Slice", [x, self.number(low), self.number(high), self.number(0)], [names[-1]], {}))
        for i, piece in enumerate(pieces):
            kind = self.draw.integer(0, 4)
            if kind == 0:
                op, function = self.draw.one(graphs.UNARY)
                result = function(piece)
            elif kind == 1 and piece.size:
                op, result = "Softmax", graphs.softmax(piece)
            else:
                continue
            after = self.name()
            self.steps.append((op, [names[i]], [after], {}))
            names[i], pieces[i] = after, result
        return list(zip(names, pieces))

    def concat(self, pieces):
        name = self.name()
        self.steps.append(("Concat", [piece[0] for piece in pieces], [name], {"axis": 0}))
        return name, np.concatenate([piece[1] for piece in pieces])

    def rejoin(self):
        """Of the pieces of two values one or the other each, now and then one twice, in any order; some are joined
        before the others come to them."""
        count = self.draw.integer(2, 4)
        unit = self.draw.one((1, 1, 16))
        bounds = sorted(min(self.rows, unit * self.draw.integer(0, max(1, self.rows // unit))) for _ in range(count - 1))
        bounds = [0, *bounds, self.rows]
        x, y = self.pick(), self.pick()
        pieces = [self.draw.one(pair) for pair in zip(self.cut(x, bounds), self.cut(y, bounds))]
        if self.rows % 2 == 0 and not self.draw.integer(0, 3):
            pieces = [self.cut(x, [0, self.rows // 2, self.rows])[0]] * 2
        self.draw.random.shuffle(pieces)
        if len(pieces) > 2 and self.draw.integer(0, 1):
            pieces = [self.concat(pieces[:2]), *pieces[2:]]
        name, array = self.concat(pieces)
        self.values[name] = array


class Poisoned(groups.Suite):
    def run_plan(self, plan, inputs):
        def spoil(array):
            return np.full_like(array, np.nan) if array.dtype.kind == "f" else array

        return plan.run_series([{name: spoil(array) for name, array in inputs.items()}, inputs])[1]


def make_case(seed, number):
    draw = Draw(seed * 1_000_003 + number)
    # Large enough for several work items, now and then.
    builder = Builder(draw, draw.one((3, 64, 197, 300)), draw.one((16, 33, 197, 768)))
    for _ in range(draw.integer(4, 24)):
        builder.step()
    graph = graphs.finish(draw, builder, 1)
    # Sums of hundreds of numbers, two dozen steps deep.
    return groups.Case(f"--seed {seed} --case {number}", graph, [], graph.expected, (1e-2, 1e-2), graph.opset)


def main():
    arguments, cases = groups.drawn_cases(__doc__, make_case, 40)
    failures = Poisoned(cases, onnx_file.pack, arguments.flag, VARIANTS).run(8, arguments.jobs)
    return groups.report("shared memory", len(cases), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
