"""Matrix products of all forms, sums of products over named indices, and their quantised kin."""

import numpy as np

from .draw import FLOATS, Constant, Node, exactly

NUMBERS = FLOATS + (np.int32, np.int64, np.uint32)


def matrices(draw, dtype, low=-1, high=1):
    """Two operands as NumPy's matmul takes them."""
    m, k, n = (draw.one((0, 1, 2, 3, 5, 16, 17, 33)) if draw.chance(0.3) else draw.one((1, 2, 3, 8, 17, 64)) for _ in range(3))
    batch = draw.shape(draw.integer(0, 2), elements=6)
    a, b = [*draw.broadcast_from(batch), m, k], [*draw.broadcast_from(batch), k, n]
    if draw.chance(0.1):
        a = [k]
    if draw.chance(0.1):
        b = [k]
    return draw.array(a, dtype, low, high), draw.array(b, dtype, low, high)


def product(draw):
    a, b = matrices(draw, draw.one(NUMBERS), -5 if draw.chance(0.2) else -1, 5)
    return Node("MatMul", [a, Constant(b) if draw.chance(0.4) else b], np.asarray(exactly(np.matmul, a, b)))


def gemm(draw):
    dtype = draw.one(FLOATS)
    m, k, n = (draw.one((0, 1, 3, 17, 64)) if draw.chance(0.4) else draw.one((1, 2, 5, 33)) for _ in range(3))
    ta, tb = draw.integer(0, 1), draw.integer(0, 1)
    a, b = draw.array((k, m) if ta else (m, k), dtype, -1, 1), draw.array((n, k) if tb else (k, n), dtype, -1, 1)
    alpha, beta = draw.one((1.0, 0.5, 2.0)), draw.one((1.0, 0.25, -1.0))
    c = draw.array(draw.broadcast_from((m, n)), dtype) if draw.chance(0.6) else None
    def compute(a, b, *c):
        result = alpha * ((a.T if ta else a) @ (b.T if tb else b))
        return result + beta * c[0] if c else result
    operands = [a, Constant(b) if draw.chance(0.5) else b] + ([c] if c is not None else [])
    arrays = [a, b] + ([c] if c is not None else [])
    attributes = {"transA": (ta, 0), "transB": (tb, 0), "alpha": (alpha, 1.0), "beta": (beta, 1.0)}
    attributes = {name: value for name, (value, default) in attributes.items() if value != default or draw.chance(0.5)}
    return Node("Gemm", operands, exactly(compute, *arrays), attributes)


EQUATIONS = ("ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "ij->ji", "ij->i", "ij,ij->", "i,j->ij", "bhtd,bhsd->bhts", "ii->i",
             "...i,ij->...j", "ij,jk,kl->il", "ijk->kj")


def einsum(draw):
    equation = draw.one(EQUATIONS)
    sizes = {letter: draw.one((0, 1, 2, 3, 5)) if draw.chance(0.15) else draw.one((1, 2, 3, 5)) for letter in "bdhijklst"}
    dtype = draw.one((np.float32, np.float64, np.int32))
    operands = []
    for term in equation.split("->", maxsplit=1)[0].split(","):
        shape = (2, 3) * ("..." in term) + tuple(sizes[letter] for letter in term if letter.isalpha())
        operands.append(draw.array(shape, dtype, -2, 2))
    return Node("Einsum", operands, np.asarray(exactly(lambda *v: np.einsum(equation, *v), *operands)), {"equation": equation})


def of_integers(draw):
    m, k, n = (draw.one((0, 1, 3, 8, 17, 33)) for _ in range(3))
    a, b = (draw.array(shape, draw.one((np.uint8, np.int8)), -9, 99) for shape in ((m, k), (k, n)))
    zeros = [np.array(draw.integer(0, 5), v.dtype) for v in (a, b)]
    expected = (a.astype(np.int32) - zeros[0]) @ (b.astype(np.int32) - zeros[1])
    return Node("MatMulInteger", [a, b, *zeros], expected.astype(np.int32))


def quantise(draw):
    x = draw.array(draw.shape(elements=800), np.float32, -9, 9)
    scale, zero = np.float32(draw.one((0.1, 0.5, 1.0))), draw.one((np.uint8, np.int8))(draw.integer(0, 9))
    info = np.iinfo(zero.dtype)
    if draw.chance(0.5):
        q = np.clip(np.rint(x / scale) + zero.astype(np.float32), info.min, info.max).astype(zero.dtype)
        return Node("QuantizeLinear", [x, np.array(scale), np.array(zero)], q)
    q = draw.array(x.shape, zero.dtype, -99, 99)
    expected = (q.astype(np.int32) - zero.astype(np.int32)).astype(np.float32) * scale
    return Node("DequantizeLinear", [q, np.array(scale), np.array(zero)], expected)


def measured(draw):
    """DynamicQuantizeLinear: scale and zero from the range of the values and 0."""
    x = draw.array(draw.shape(least=1, elements=800), np.float32, -draw.one((0, 1, 9)), draw.one((1, 9)))
    low, high = np.float32(min(x.min(), 0)), np.float32(max(x.max(), 0))
    scale = np.float32((high - low) / np.float32(255))
    zero = np.clip(np.rint(-low / scale), 0, 255).astype(np.uint8)
    y = np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8)
    return Node("DynamicQuantizeLinear", [x], [y, scale, zero], tolerance=(1e-6, 1))  # ties


def loss(draw):
    n, c, d = draw.one((1, 3, 8)), draw.one((1, 2, 5)), draw.one((1, 2, 6))
    x = draw.array((n, c, d), np.float32)
    target = draw.numbers.integers(0, c, (n, d)).astype(np.int64)
    reduction = draw.one(("none", "mean", "sum"))
    logarithms = x - np.log(np.exp(x).sum(1, keepdims=True)) if draw.chance(0.5) else None
    weights = draw.array((c,), np.float32, 0.5, 2) if draw.chance(0.5) else None
    scores = x if logarithms is None else logarithms
    own = np.ones(target.shape) if weights is None else weights[target]
    values = -np.take_along_axis(scores, target[:, None], 1)[:, 0] * own
    result = {"none": values, "sum": values.sum(), "mean": values.sum() / own.sum()}[reduction]
    op = "NegativeLogLikelihoodLoss" if logarithms is None else "SoftmaxCrossEntropyLoss"
    return Node(op, [x, target] + ([weights] if weights is not None else []), np.asarray(result).astype(np.float32),
                {"reduction": reduction}, 13)


FAMILY = [product, product, gemm, gemm, einsum, of_integers, quantise, measured, loss]
