#!/usr/bin/python3
"""Attention, and norms along rows on the CPU, written as chains of ops are one kernel, and give the bits of their ops
one by one.

Sizes nobody chose, around tiles and panels; operands as they are, as slices of heads that lie side by side, as a
part of more heads, and transposed; scales, masks and caps between the products; one matrix of them and many, so that items are cut. Expected is
what NumPy gives, nearly; without fusion and on two threads the same bytes. With GANTRY_TEST_EMULATE=all the kernels of
GPUs run, each access checked.

Usage: attention_bits_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import sys

import numpy as np

import groups
from products_test import Draw, pack, round_to_bf16, tensor

QUERIES = (3, 16, 17, 31, 33, 64, 65, 127, 129, 150, 197)
KEYS = (5, 16, 17, 31, 48, 49, 64, 65, 100, 128, 129, 197, 300, 520, 900)
DEPTHS = (1, 3, 8, 16, 24, 32, 33, 64, 72, 100)
ROWS = ((), (1,), (7,), (1, 64), (2, 16), (197,), (3, 50))
LENGTHS = (16, 64, 96, 128, 192, 320, 576, 768, 1000, 1024, 4096, 4097)
CASES_OF_A_FILE = 6


ROUNDED = {"f32": lambda x: x, "f16": lambda x: x.astype(np.float16).astype(np.float32), "bf16": round_to_bf16}
# Scores and weights are rounded to the type, too.
OFF = {"f32": (1e-3, 1e-4), "f16": (1e-2, 1e-2), "bf16": (8e-2, 8e-2)}


def given(draw, shape, element="f32", size=1.0):
    """An input of f32, and what it is in the type."""
    values = ROUNDED[element](np.asarray(draw.random.normal(size=shape) * size, np.float32))
    name = f"%a{len(draw.inputs)}"
    draw.inputs.append((name, values, tensor(shape, "f32")))
    if element != "f32":
        name = draw.op("cast", [(name, tensor(shape, "f32"))], "", tensor(shape, element))
    return name, values


def operand(draw, element, batch, rows, columns, side_by_side, order):
    """[batch..., rows, columns] or, with order (1, 0), its transpose; side by side the last of the batch lies behind rows."""
    size = {"rows": rows, "columns": columns}
    result = [size[("rows", "columns")[i]] for i in order]
    # Of narrow types scores are small, or their rounding would decide which key counts.
    least = 1.0 if element == "f32" else columns ** -0.25
    if not side_by_side:
        if order == (0, 1):
            return given(draw, (*batch, rows, columns), element, least)
        name, values = given(draw, (*batch, rows, columns), element, least)
        permutation = (*range(len(batch)), len(batch) + 1, len(batch))
    else:
        *outer, heads = batch
        n, begin, end = len(outer), draw.one((0, 0, 1, heads)), draw.one((0, 0, 2, heads))
        name, values = given(draw, (*outer, rows, begin + heads + end, columns), element, least)
        if begin or end:  # a part of what is computed together
            whole, values = values, values[..., begin:begin + heads, :]
            lists = {"starts": [0] * (n + 1) + [begin, 0], "sizes": values.shape, "steps": [1] * (n + 3)}
            said = ", ".join(f"{key} = array<i64: {', '.join(map(str, each))}>" for key, each in lists.items())
            name = draw.op("slice", [(name, tensor(whole.shape, element))], f" {{{said}}}", tensor(values.shape, element))
        permutation = (*range(n), n + 1, *(n + 2 * i for i in order))
    type = tensor((*batch, *result), element)
    name = draw.op("transpose", [(name, tensor(values.shape, element))],
                   f" {{permutation = array<i64: {', '.join(map(str, permutation))}>}}", type)
    return name, values.transpose(permutation)


def between(draw, element, name, scores):
    """What stands between the product and the softmax."""
    type = tensor(scores.shape, element)

    def step(op, other=None, shape=()):
        operands = [(name, type)] + ([(other, tensor(shape, element))] if other else [])
        return draw.op(op, operands, "", type)

    for kind in draw.one(((), ("scale",), ("scale", "mask"), ("mask",), ("scale", "cap"), ("scale", "heads"))):
        if kind == "scale":
            other, values = given(draw, (), element)
            name, scores = step("mul", other), scores * values
        elif kind == "cap":
            name, scores = step("tanh"), np.tanh(scores)
        else:
            shape = scores.shape[-2:] if kind == "mask" else scores.shape
            other, values = given(draw, shape, element)
            name, scores = step("add", other, shape), scores + values
    return name, scores


def make_chain(draw, number):
    """A layer norm, an RMS norm or a softmax, one op after the other."""
    shape = (*draw.one(ROWS), draw.one(LENGTHS))
    whole, of_rows = tensor(shape, "f32"), tensor((*shape[:-1], 1), "f32")
    rows = lambda op, name: draw.op(op, [(name, whole)], f" {{axes = array<i64: {len(shape) - 1}>, keep_dims}}", of_rows)
    both = lambda op, left, right, type: draw.op(op, [(left, whole), (right, type)], "", whole)
    name, x = given(draw, shape)
    if draw.chance(0.5):
        other, added = given(draw, draw.one((shape, shape[-1:])))
        name, x = both("add", name, other, tensor(added.shape, "f32")), x + added
    x = x.astype(np.float64)
    kind = draw.one(("layer norm", "rms norm", "softmax"))
    if kind == "softmax":
        name = draw.op("exp", [(both("sub", name, rows("reduce_max", name), of_rows), whole)], "", whole)
        result = np.exp(x - x.max(-1, keepdims=True))
        name, result = both("div", name, rows("reduce_sum", name), of_rows), result / result.sum(-1, keepdims=True)
    else:
        if kind == "layer norm":
            name, x = both("sub", name, rows("reduce_mean", name), of_rows), x - x.mean(-1, keepdims=True)
        squares = both("mul", name, name, whole)
        other, least = given(draw, ())
        least = np.abs(least, out=draw.inputs[-1][1])
        spread = draw.op("add", [(rows("reduce_mean", squares), of_rows), (other, "tensor<f32>")], "", of_rows)
        name = both("div", name, draw.op("sqrt", [(spread, of_rows)], "", of_rows), of_rows)
        result = x / np.sqrt((x * x).mean(-1, keepdims=True) + least)
    if draw.chance(0.7):
        other, factor = given(draw, shape[-1:])
        name, result = both("mul", name, other, tensor(factor.shape, "f32")), result * factor
    return groups.Case(f"case {number}: {kind} of {shape}", (draw.inputs, draw.lines, name, whole),
                       [values for _, values, _ in draw.inputs], [result.astype(np.float32)], (1e-3, 1e-4))


def make_case(seed, number, elements=("f32", "f32", "f16", "bf16"), rounded=lambda x: x, off=OFF):
    """`rounded` is what becomes of the factors of both products; `off` how far results may be off, by element."""
    draw = Draw((seed, number))
    if number % 4 == 3:
        return make_chain(draw, number)
    m, n, d, e = draw.one(QUERIES), draw.one(KEYS), draw.one(DEPTHS), draw.one(DEPTHS)
    batch = tuple(draw.one(((2,), (3,), (1, 2), (2, 5), (1, 9))))
    element = draw.one(elements)
    side_by_side, turned = draw.chance(0.6), draw.chance(0.5)
    q, x = operand(draw, element, batch, m, d, side_by_side, (0, 1))
    k, y = operand(draw, element, batch, n, d, side_by_side, (1, 0) if turned else (0, 1))
    v, z = operand(draw, element, batch, n, e, side_by_side, (0, 1))
    types = [tensor(value.shape, element) for value in (x, y, z)]
    scaled = draw.chance(0.2)
    if scaled:
        other, factor = given(draw, (), element)
        q, x = draw.op("mul", [(q, types[0]), (other, f"tensor<{element}>")], "", types[0]), x * factor
    left, right = rounded(x).astype(np.float64), rounded(y)
    scores = np.matmul(left, right if turned else right.swapaxes(-1, -2))
    type = tensor(scores.shape, element)
    name = draw.op("matmul", [(q, types[0]), (k, types[1])], "" if turned else " {transpose_b}", type)
    name, scores = between(draw, element, name, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    name = draw.op("softmax", [(name, type)], f" {{axis = {len(scores.shape) - 1} : i64}}", type)
    result = np.matmul(rounded(weights), rounded(z))
    final = tensor(result.shape, element)
    name = draw.op("matmul", [(name, type), (v, types[2])], "", final)
    if draw.chance(0.5):
        rank = len(result.shape)
        permutation = (*range(rank - 3), rank - 2, rank - 3, rank - 1)
        result = result.transpose(permutation)
        turned_type = tensor(result.shape, element)
        name = draw.op("transpose", [(name, final)],
                       f" {{permutation = array<i64: {', '.join(map(str, permutation))}>}}", turned_type)
        final = turned_type
    if element != "f32":
        wide = tensor(result.shape, "f32")
        name, final = draw.op("cast", [(name, final)], "", wide), wide
    text = f"case {number}: {element} {batch} {m}x{n}x{d}x{e}{' side by side' * side_by_side}{' transposed' * turned}{' scaled' * scaled}"
    return groups.Case(text, (draw.inputs, draw.lines, name, final), [values for _, values, _ in draw.inputs],
                       [result.astype(np.float32)], off[element])


if __name__ == "__main__":
    sys.exit(groups.run_drawn("attention-bits", __doc__, make_case, pack, CASES_OF_A_FILE, count=120))
