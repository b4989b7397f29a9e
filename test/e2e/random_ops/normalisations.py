"""Ops that divide by a measure of what is around an element."""

import numpy as np

from .draw import FLOATS, Node, exactly

EPSILON = float(np.float32(1e-5))  # attributes are f32, defaults too


def layer(draw):
    x = draw.array(draw.shape(draw.integer(1, 4)), draw.one((np.float32, np.float64)))
    axis = draw.axis(x.ndim)
    first = axis % x.ndim
    scale, bias = (draw.array(x.shape[first:], x.dtype) for _ in range(2))
    over = tuple(range(first, x.ndim))
    def compute(v, s, *b):
        centred = v - v.mean(over, keepdims=True)
        y = centred / np.sqrt((centred ** 2).mean(over, keepdims=True) + EPSILON) * s
        return y + b[0] if b else y
    operands = [x, scale, bias] if draw.chance(0.6) else [x, scale]
    return Node("LayerNormalization", operands, exactly(compute, *operands), {"axis": axis})


def batch(draw):
    x = draw.array(draw.shape(draw.integer(2, 4)), draw.one(FLOATS))
    c = x.shape[1]
    scale, bias, mean = (draw.array((c,), x.dtype) for _ in range(3))
    variance = draw.array((c,), x.dtype, 0.1, 3)
    by = lambda v: v.reshape(1, -1, *[1] * (x.ndim - 2))
    compute = lambda x, s, b, m, v: (x - by(m)) / np.sqrt(by(v) + float(np.float32(1e-3))) * by(s) + by(b)
    return Node("BatchNormalization", [x, scale, bias, mean, variance], exactly(compute, x, scale, bias, mean, variance),
                {"epsilon": 1e-3}, 15)


def instance(draw):
    x = draw.array((*draw.shape(2, elements=20), *draw.shape(draw.integer(1, 3), elements=300)), draw.one((np.float32, np.float64)))
    scale, bias = (draw.array((x.shape[1],), x.dtype) for _ in range(2))
    over = tuple(range(2, x.ndim))
    by = lambda v: v.reshape(1, -1, *[1] * (x.ndim - 2))
    def compute(x, s, b):
        centred = x - x.mean(over, keepdims=True)
        return centred / np.sqrt((centred ** 2).mean(over, keepdims=True) + EPSILON) * by(s) + by(b)
    return Node("InstanceNormalization", [x, scale, bias], exactly(compute, x, scale, bias))


def unit(draw):
    """Divides by a norm; of zeros that is 0 again."""
    x = draw.array(draw.shape(draw.integer(1, 4)), draw.one(FLOATS))
    if draw.chance(0.3):
        x = np.where(draw.numbers.uniform(size=x.shape) < 0.8, 0, x).astype(x.dtype)
    axis, p = draw.axis(x.ndim), draw.one((1, 2))
    def compute(v):
        norm = (np.abs(v) ** p).sum(axis, keepdims=True) ** (1 / p)
        return np.where(norm == 0, 0, v / norm)
    return Node("LpNormalization", [x], exactly(compute, x), {"axis": axis, "p": p})


def around(draw):
    x = draw.array((*draw.shape(2, elements=40), *draw.shape(draw.integer(1, 2), elements=40)), draw.one(FLOATS))
    size, alpha, beta, bias = draw.one((1, 2, 3, 5)), draw.one((1e-4, 0.5)), draw.one((0.75, 1.0)), draw.one((1.0, 2.0))
    def compute(v):
        squares = np.zeros(v.shape)
        c = v.shape[1]
        for i in range(c):
            squares[:, i] = (v[:, max(0, i - (size - 1) // 2):min(c, i + -(-(size - 1) // 2) + 1)] ** 2).sum(1)
        return v / (bias + alpha / size * squares) ** beta
    return Node("LRN", [x], exactly(compute, x), {"size": size, "alpha": alpha, "beta": beta, "bias": bias})


def mean_variance(draw):
    x = draw.array(draw.shape(4, least=1), np.float32)
    axes = sorted(draw.random.sample(range(4), draw.integer(1, 4)))
    over = tuple(axes)
    def compute(v):
        deviation = np.sqrt((v ** 2).mean(over, keepdims=True) - v.mean(over, keepdims=True) ** 2)
        return (v - v.mean(over, keepdims=True)) / (deviation + 1e-9)
    # Of one element both are 0, but for rounding.
    if all(x.shape[a] > 1 for a in axes):
        return Node("MeanVarianceNormalization", [x], exactly(compute, x), {"axes": axes}, tolerance=(2e-3, 2e-3))
    return Node("Identity", [x], x)


FAMILY = [layer, batch, instance, unit, around, mean_variance]
