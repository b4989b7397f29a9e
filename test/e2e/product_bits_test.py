#!/usr/bin/python3
"""Every sum of a product of f32 is one chain of fused multiply-adds in the order of its terms, bit for bit.

Sizes nobody chose: primes, 0, 1, those around tiles and panels, long sums that come in blocks; batches, transposed
operands, constant second operands and matrices of a column (packed when compiling) and given ones (packed by the
kernel, or once for several products), first operands that are looked up in the second; a bias, a residual and an activation behind the sum. Expected is what a scalar loop of fmaf gives.

Usage: product_bits_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import sys

import numpy as np

import groups
from products_test import Draw, pack, tensor

SIZES = (1, 1, 2, 3, 5, 7, 8, 9, 10, 11, 13, 15, 16, 17, 18, 19, 23, 29, 31, 32, 33, 37, 47, 48, 49, 53, 63, 64, 65, 71, 96, 97,
         101, 127, 128, 129, 144, 197, 257, 300)
TERMS = SIZES + (0, 256, 257, 500, 769, 1024, 1025, 1543, 2048)
CASES_OF_A_FILE = 6


def multiply_add(x, y, z):
    """fmaf: the product is exact in 64 bits, and the sum, rounded to odd there, rounds right to 32."""
    product, z = x.astype(np.float64) * y.astype(np.float64), z.astype(np.float64)
    total = product + z
    part = total - product
    lost = (product - (total - part)) + (z - part)
    bits = np.atleast_1d(total).view(np.int64).copy()
    move = (np.atleast_1d(lost) != 0) & (bits & 1 == 0)
    bits[move] += np.where((np.atleast_1d(lost) > 0) == (np.atleast_1d(total) > 0), 1, -1)[move]
    return bits.view(np.float64).reshape(total.shape).astype(np.float32)


def chain(x, y):
    """The product of [..., m, k] and [..., k, n]."""
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    total = np.zeros((*batch, x.shape[-2], y.shape[-1]), np.float32)
    for k in range(x.shape[-1]):
        total = multiply_add(x[..., :, k, None], y[..., None, k, :], total)
    return total


def value(draw, shape, is_constant):
    values = (draw.random.normal(size=shape) * draw.scale).astype(np.float32)
    if not is_constant or values.size == 0:
        name = f"%a{len(draw.inputs)}"
        draw.inputs.append((name, values, tensor(shape, "f32")))
        return name, values
    name = f"%v{len(draw.lines)}"
    draw.lines.append(f'{name} = gantry.constant dense<"0x{values.tobytes().hex()}"> : {tensor(shape, "f32")}')
    return name, values


def looked_up(draw, name, y, transposed, rows):
    """Rows of the second operand as the first one, as in a model with a tied embedding: the weight is there once, in
    panels. Its value, and whether that lies transposed."""
    axis = 0 if transposed else 1
    indices = draw.random.integers(-y.shape[axis], y.shape[axis], rows)
    draw.inputs.append((f"%a{len(draw.inputs)}", indices, tensor(indices.shape, "i64")))
    x = y.take(indices, axis)
    found = draw.op("gather", [(name, tensor(y.shape, "f32")), (draw.inputs[-1][0], tensor(indices.shape, "i64"))],
                    f" {{axis = {axis} : i64}}", tensor(x.shape, "f32"))
    return found, x, not transposed


def make_case(seed, number, chain=chain, scale=1):
    draw = Draw((seed, number))
    draw.scale = scale
    m, n, k = draw.one(SIZES), draw.one(SIZES), draw.one(TERMS)
    if draw.chance(0.03):
        m, n = draw.one(((0, n), (m, 0)))
    batch = tuple(draw.one(((), (), (), (2,), (5,), (2, 3))))
    while m * n * k * int(np.prod(batch)) > 3_000_000:
        m, n, k = max(m // 2, 1), max(n // 2, 1), max(k - k // 3, 1)
    batch_x, batch_y = draw.one(((batch, batch), (batch, ()), ((), batch), (batch, (1,) * len(batch))))
    ta, tb, constant = draw.chance(0.3), draw.chance(0.4), draw.chance(0.5)
    shape_x, shape_y = batch_x + ((k, m) if ta else (m, k)), batch_y + ((n, k) if tb else (k, n))
    constant = constant and n * k <= 40_000
    b, y = value(draw, shape_y, constant)
    tied = constant and y.ndim == 2 and y.size > 0 and m > 0 and draw.chance(0.3)
    if tied:
        a, x, ta = looked_up(draw, b, y, tb, m)
        shape_x = x.shape
    else:
        # A constant matrix times a column is packed, too.
        a, x = value(draw, shape_x, n == 1 and m * k <= 40_000 and draw.chance(0.7))
    result = chain(x.swapaxes(-1, -2) if ta else x, y.swapaxes(-1, -2) if tb else y)
    flags = ", ".join(["transpose_a"] * ta + ["transpose_b"] * tb)
    type = tensor(result.shape, "f32")
    name = draw.op("matmul", [(a, tensor(shape_x, "f32")), (b, tensor(shape_y, "f32"))], f" {{{flags}}}" if flags else "", type)
    more = draw.one((1, 2, 3)) if not constant and draw.chance(0.3) else 0
    for _ in range(more):
        a, x = value(draw, shape_x, False)
        summand = draw.op("matmul", [(a, tensor(shape_x, "f32")), (b, tensor(shape_y, "f32"))], f" {{{flags}}}" if flags else "", type)
        name = draw.op("add", [(name, type), (summand, type)], "", type)
        result = result + chain(x.swapaxes(-1, -2) if ta else x, y.swapaxes(-1, -2) if tb else y)
    behind = draw.one(((), (), ("bias",), ("bias", "relu"), ("residual",), ("bias", "residual", "relu")))
    for step in behind:
        if step == "relu":
            name, result = draw.op("relu", [(name, type)], "", type), np.maximum(result, 0)
            continue
        shape = result.shape if step == "residual" else result.shape[-1:]
        other, added = value(draw, shape, False)
        name, result = draw.op("add", [(name, type), (other, tensor(shape, "f32"))], "", type), result + added
    text = f"case {number}: {'looked up ' * tied}{shape_x}{'T' * ta} x {'constant ' * constant}{shape_y}{'T' * tb} and {more} more {' '.join(behind)}".strip()
    return groups.Case(text, (draw.inputs, draw.lines, name, type), [values for _, values, _ in draw.inputs], [result])


if __name__ == "__main__":
    sys.exit(groups.run_drawn("product-bits", __doc__, make_case, pack, CASES_OF_A_FILE, count=200))
