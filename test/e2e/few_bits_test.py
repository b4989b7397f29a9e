#!/usr/bin/python3
"""Products with weights of 2, 4 and 8 bits that stay in these bits: every sum is one chain of fused multiply-adds of
the weights as the graph's ops make them, bit for bit.

The graphs are those that importers write for MatMulNBits and DequantizeLinear: blocks of 16 to 256 terms or a scale for
each column, with zero points of each block, of all, or none; sums whose terms end within a block or a word; one row, few
and many; columns that fill panels and that do not, one column; a bias and an activation behind. On one thread and on
two, with and without fusion. Expected is what a scalar loop of fmaf gives.

Usage: few_bits_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import sys

import numpy as np

import groups
from product_bits_test import chain
from products_test import Draw, pack, tensor

ROWS = (0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 9, 10, 33, 300)
COLUMNS = (1, 2, 3, 7, 8, 13, 16, 24, 31, 32, 47, 48, 63, 64, 64, 65, 97, 128, 129, 193)
TERMS = (1, 3, 8, 15, 16, 17, 32, 33, 41, 64, 100, 127, 128, 256, 257, 300, 513, 1025)
BLOCKS = (16, 16, 32, 32, 64, 128, 256)
CASES_OF_A_FILE = 6


def constant(draw, values, element):
    name, shape = f"%v{len(draw.lines)}", tensor(values.shape, element)
    content = f"0x{values.tobytes().hex()}"
    # Bytes that are all alike would be read as one.
    text = f'"{content}"' if values.size > 1 else str(values.reshape(-1)[0].item())
    if element == "f32" and values.size == 1:
        text = f"0x{values.view(np.uint32).reshape(-1)[0]:08X}"
    draw.lines.append(f"{name} = gantry.constant dense<{text}> : {shape}")
    return name, shape


def packed_in_bytes(q, bits):
    """Numbers along the last dimension, the lowest bits first."""
    each = 8 // bits
    parts = q.reshape(*q.shape[:-1], -1, each).astype(np.uint8)
    return sum(parts[..., i] << (i * bits) for i in range(each)).astype(np.uint8)


def numbers_of_bits(draw, values, bits):
    """The graph that takes numbers of ui8 [.., n] out of a constant of bytes."""
    if bits == 8:
        return constant(draw, values, "ui8")
    padded = np.concatenate([values, np.zeros((*values.shape[:-1], -values.shape[-1] % (8 // bits)), np.uint8)], -1)
    stored = packed_in_bytes(padded, bits)
    given = constant(draw, stored[..., None], "ui8")
    shifts = constant(draw, np.arange(0, 8, bits, dtype=np.uint8), "ui8")
    mask = constant(draw, np.array((1 << bits) - 1, np.uint8), "ui8")
    parts = tensor((*stored.shape, 8 // bits), "ui8")
    moved = draw.op("shift_right", [given, shifts], "", parts)
    kept = draw.op("bitwise_and", [(moved, parts), mask], "", parts)
    whole = tensor(padded.shape, "ui8")
    flat = draw.op("reshape", [(kept, parts)], "", whole)
    if padded.shape == values.shape:
        return flat, whole
    starts, sizes = ", ".join("0" * values.ndim), ", ".join(map(str, values.shape))
    ones = ", ".join("1" * values.ndim)
    result = tensor(values.shape, "ui8")
    return draw.op("slice", [(flat, whole)],
                   f" {{starts = array<i64: {starts}>, sizes = array<i64: {sizes}>, steps = array<i64: {ones}>}}", result), result


def as_packed(draw, columns, terms, bits, block, scale_of):
    """As MatMulNBits has them: [columns, terms], and their name."""
    blocks = -(-terms // block)
    q = draw.random.integers(0, 1 << bits, (columns, blocks, block)).astype(np.uint8)
    scale = scale_of((columns, blocks, 1))
    shape = tensor(q.shape, "f32")
    number = draw.op("cast", [numbers_of_bits(draw, q, bits)], "", shape)
    kind = draw.one(("all", "each", "float"))
    if kind == "all":
        zero = np.float32(draw.one((0, 1, (1 << bits) - 1, 1 << (bits - 1))))
        middle = constant(draw, np.array(zero), "f32")
    elif kind == "each":
        zero = draw.random.integers(0, 1 << bits, (columns, blocks)).astype(np.uint8)
        found = numbers_of_bits(draw, zero, bits)
        wide = tensor(zero.shape, "f32")
        middle = draw.op("cast", [found], "", wide)
        zero = zero[..., None].astype(np.float32)
        middle = draw.op("reshape", [(middle, wide)], "", tensor(zero.shape, "f32")), tensor(zero.shape, "f32")
    else:
        zero = draw.random.normal(3, 2, (columns, blocks, 1)).astype(np.float32)
        middle = constant(draw, zero, "f32")
    centred = draw.op("sub", [(number, shape), middle], "", shape)
    scaled = draw.op("mul", [(centred, shape), constant(draw, scale, "f32")], "", shape)
    weights = ((q.astype(np.float32) - zero) * scale).reshape(columns, -1)
    whole, result = tensor(weights.shape, "f32"), tensor((columns, terms), "f32")
    name = draw.op("reshape", [(scaled, shape)], "", whole)
    if terms != weights.shape[1]:
        name = draw.op("slice", [(name, whole)], f" {{starts = array<i64: 0, 0>, sizes = array<i64: {columns}, {terms}>, "
                       "steps = array<i64: 1, 1>}", result)
    return name, np.ascontiguousarray(weights[:, :terms]), True


def as_bytes(draw, columns, terms, bits, block, scale_of):
    """As DequantizeLinear has them: a matrix of bytes, whose blocks are along either dimension."""
    term_dim, signed, per_column = draw.one((0, 1)), draw.chance(0.5), draw.chance(0.3)
    block = terms if per_column else block
    blocks, element = -(-terms // block), "i8" if signed else "ui8"
    low = -(1 << (bits - 1)) if signed else 0
    number = lambda shape: draw.random.integers(low, low + (1 << bits), shape).astype(np.int8 if signed else np.uint8)
    shape_of = lambda n: (n, columns) if term_dim == 0 else (columns, n)
    q, scale = number(shape_of(terms)), scale_of(shape_of(blocks))

    def spread(values, kind):
        """A number for each block, as the graph repeats it, and as an array."""
        wide = np.repeat(values, block, term_dim).take(range(terms), term_dim)
        if blocks == 1:
            return constant(draw, values, kind), wide
        one = np.expand_dims(values, term_dim + 1)
        many = list(one.shape)
        many[term_dim + 1] = block
        flat = list(values.shape)
        flat[term_dim] *= block
        name = draw.op("broadcast", [constant(draw, one, kind)], "", tensor(many, kind))
        name = draw.op("reshape", [(name, tensor(many, kind))], "", tensor(flat, kind))
        if flat[term_dim] != terms:
            sizes = ", ".join(map(str, wide.shape))
            name = draw.op("slice", [(name, tensor(flat, kind))], f" {{starts = array<i64: 0, 0>, sizes = array<i64: {sizes}>, "
                           "steps = array<i64: 1, 1>}", tensor(wide.shape, kind))
        return (name, tensor(wide.shape, kind)), wide

    wide, shape = tensor(q.shape, "i32"), tensor(q.shape, "f32")
    steps = draw.op("cast", [constant(draw, q, element)], "", wide)
    exact = q.astype(np.int32)
    if draw.chance(0.6):
        zero, zeros = spread(number(shape_of(blocks)).astype(np.int32), "i32")
        steps, exact = draw.op("sub", [(steps, wide), zero], "", wide), exact - zeros
    steps = draw.op("cast", [(steps, wide)], "", shape)
    scale, scales = spread(scale, "f32")
    name = draw.op("mul", [(steps, shape), scale], "", shape)
    weights = exact.astype(np.float32) * scales
    transposed = term_dim == 1
    if draw.chance(0.3):
        weights = weights.T
        name = draw.op("transpose", [(name, shape)], " {permutation = array<i64: 1, 0>}", tensor(weights.shape, "f32"))
        transposed = not transposed
    return name, np.ascontiguousarray(weights), transposed


def make_case(seed, number):
    draw = Draw((seed, number))
    rows, columns, terms, block = draw.one(ROWS), draw.one(COLUMNS), draw.one(TERMS), draw.one(BLOCKS)
    bits, batch = draw.one((2, 4, 4, 4, 8)), draw.one(((), (), (2,)))
    while rows * columns * terms > 2_000_000 or columns * terms > 60_000:
        columns, rows = max(columns // 2, 1), max(rows // 2, 1)
    sign = draw.one((1, 1, -1))
    scale_of = lambda shape: (sign * draw.random.uniform(0.001, 0.1, shape)).astype(np.float32)
    weights, y, transposed = draw.one((as_packed, as_bytes))(draw, columns, terms, bits, block, scale_of)
    x = draw.random.normal(size=(*batch, rows, terms)).astype(np.float32)
    draw.inputs.append(("%x", x, tensor(x.shape, "f32")))
    result = chain(x, y.T if transposed else y)
    type = tensor(result.shape, "f32")
    name = draw.op("matmul", [("%x", tensor(x.shape, "f32")), (weights, tensor(y.shape, "f32"))],
                   " {transpose_b}" * transposed, type)
    if draw.chance(0.4):
        bias = draw.random.normal(size=columns).astype(np.float32)
        draw.inputs.append(("%bias", bias, tensor(bias.shape, "f32")))
        name = draw.op("add", [(name, type), ("%bias", tensor(bias.shape, "f32"))], "", type)
        name = draw.op("relu", [(name, type)], "", type)
        result = np.maximum(result + bias, 0)
    text = f"case {number}: {batch}{rows} x {columns}, {terms} terms, {bits} bits, blocks of {block}"
    return groups.Case(text, (draw.inputs, draw.lines, name, type), [values for _, values, _ in draw.inputs], [result])


if __name__ == "__main__":
    sys.exit(groups.run_drawn("few-bits", __doc__, make_case, pack, CASES_OF_A_FILE, count=120))
