#!/usr/bin/python3
"""Sums and means of f32 with elementwise ops in front of them and behind, several over the same elements, against NumPy in 64 bits.

With fusion they are one kernel where that keeps their bits, without it a kernel for each op: both have to give the same bits.
Drawn are shapes, the dimensions that are added up, columns that fill vectors and such that do not, what is multiplied or
subtracted in front, with rows, columns and numbers stretched, means that the next sum reads, and what follows.

Usage: sum_bits_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import re
import sys

import numpy as np

import groups
from products_test import Draw, tensor

COLUMNS = (1, 3, 5, 16, 17, 32, 48, 64, 64, 67, 96, 100, 128, 192, 320, 768)
ROWS = (1, 2, 3, 7, 8, 31, 64, 257, 300, 1030)
OTHERS = (1, 2, 3, 5, 14)
MOST_ELEMENTS = 400_000
CASES_OF_A_FILE = 6


class Graph(Draw):
    """Values are (name, array in 64 bits), or of f32 where they are inputs."""

    def given(self, shape):
        values = self.random.uniform(0.5, 1.5, shape).astype(np.float32)
        self.inputs.append((f"%a{len(self.inputs)}", values, tensor(shape, "f32")))
        return self.inputs[-1][0], values.astype(np.float64)

    def made(self, op, operands, result, attributes=""):
        of = lambda array: tensor(array.shape, "f32")
        return self.op(op, [(name, of(array)) for name, array in operands], attributes, of(result)), result

    def binary(self, op, a, b):
        compute = {"mul": np.multiply, "sub": np.subtract, "add": np.add, "maximum": np.maximum}[op]
        return self.made(op, [a, b], compute(a[1], b[1]))

    def reduced(self, op, x, axes, keep):
        compute = {"reduce_sum": np.sum, "reduce_mean": np.mean}[op]
        return self.made(op, [x], compute(x[1], axis=axes, keepdims=keep),
                         f" {{axes = array<i64: {', '.join(map(str, axes))}>{', keep_dims' * keep}}}")

    def stretched(self, shape, axes):
        """An operand that lies along some of the dimensions: of all, of those that stay, of those that go, of one, of none."""
        kind = self.one(("all", "stays", "goes", "one", "last", "number"))
        if kind == "all":
            return self.given(shape)
        if kind == "number":
            return self.given(())
        if kind == "last":
            return self.given(shape[-1:])
        alone = int(self.random.integers(len(shape)))
        lies = {"stays": lambda i: i not in axes, "goes": lambda i: i in axes, "one": lambda i: i == alone}[kind]
        return self.given(tuple(size if lies(i) else 1 for i, size in enumerate(shape)))


def draw_shape(draw):
    rank = draw.one((1, 2, 2, 3, 4))
    shape = [draw.one(OTHERS) for _ in range(rank - 1)] + [draw.one(COLUMNS)]
    if rank > 1:
        shape[draw.random.integers(rank - 1)] = draw.one(ROWS)
    while np.prod(shape) > MOST_ELEMENTS:
        shape[int(np.argmax(shape))] //= 2
    return tuple(map(int, shape))


def draw_axes(draw, rank):
    kind = draw.one(("rows", "rows", "along", "all", "some"))
    if kind == "along" or rank == 1:
        return (rank - 1,)
    if kind == "rows":
        return tuple(range(rank - 1))
    return tuple(range(rank)) if kind == "all" else (int(draw.random.integers(rank)),)


def make_case(seed, number):
    g = Graph((seed, number))
    shape = draw_shape(g)
    axes = draw_axes(g, len(shape))
    x, keep, outputs = g.given(shape), g.chance(0.5), []
    if g.chance(0.4):  # the deviation from a mean
        mean = g.reduced("reduce_mean", x, axes, True)
        x = g.binary("sub", x, mean)
        outputs += [mean] * g.chance(0.5)
    for _ in range(g.one((1, 1, 2, 3))):
        term = x
        for _ in range(g.one((0, 1, 1, 2, 3))):
            term = g.binary(g.one(("mul", "mul", "add", "maximum")), term,
                            term if g.chance(0.3) else g.stretched(shape, axes))
        # A product of two tensors, each as it is or computed from it alone, is what a matrix product is made of.
        left = right = term
        if g.chance(0.4):
            left, right = g.given(shape), g.stretched(shape, axes)
            left = g.binary("mul", left, left) if g.chance(0.5) else left
        added = g.binary("mul", left, right)
        if g.chance(0.2):
            added = g.made("neg", [added], -added[1])
        total = g.reduced(g.one(("reduce_sum", "reduce_mean")), added, axes, keep)
        for _ in range(g.one((0, 0, 1, 2))):
            total = g.binary("mul", total, g.given(total[1].shape if g.chance(0.6) else ()))
        outputs.append(total)
        outputs += [term] * g.chance(0.1)
    # Thirty roundings of a term, one for each part of a sum, and what squares and products make of those.
    text = f"case {number}: {shape} over {axes}, {len(outputs)} results"
    outputs = [(name, array.astype(np.float32)) for name, array in outputs]
    return groups.Case(text, (g.inputs, g.lines, outputs), [values for _, values, _ in g.inputs],
                       [array for _, array in outputs], (2e-5, 2e-6), zeros="a deviation from its own mean may be zero")


def pack(cases, folder):
    arguments, lines, returned, types, inputs, names = [], [], [], [], {}, []
    for number, case in enumerate(cases):
        given, made, outputs = case.source
        own = lambda text, number=number: re.sub(r"%([av])(\d+)", rf"%c{number}\1\2", text)
        for name, values, type in given:
            inputs[f"input{len(arguments)}"] = values
            arguments.append(f"{own(name)}: {type}")
        lines += [f"  {own(line)}" for line in made]
        names.append([f"output{len(types) + i}" for i in range(len(outputs))])
        returned += [own(name) for name, _ in outputs]
        types += [tensor(array.shape, "f32") for _, array in outputs]
    file = folder / "graph.mlir"
    file.write_text(f"func.func @main({', '.join(arguments)}) -> ({', '.join(types)}) {{\n" + "\n".join(lines) +
                    f"\n  return {', '.join(returned)} : {', '.join(types)}\n}}\n", encoding="utf-8")
    return file, inputs, names


if __name__ == "__main__":
    sys.exit(groups.run_drawn("sum-bits", __doc__, make_case, pack, CASES_OF_A_FILE, count=300))
