"""Nodes of opsets before and after 17: the forms that attributes and operands had, and newer ops."""

import numpy as np

from .draw import FLOATS, INTS, Constant, Node, exactly
from .elementwise import erf, softplus, wrapped
from .movement import ints
from .reductions import REDUCTIONS


def old_reduction(draw):
    """Axes as an attribute, also of ReduceSum."""
    op = draw.one(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"))
    x = draw.array(draw.shape(draw.integer(1, 4), least=1), np.float32)
    axes, keep = draw.axes(x.ndim, 1), draw.integer(0, 1)
    axis = tuple(a % x.ndim for a in axes)
    return Node(op, [x], exactly(lambda v: REDUCTIONS[op](v, axis, bool(keep)), x), {"axes": axes, "keepdims": keep}, 11)


def new_reduction(draw):
    """Axes as an operand, of all of them."""
    op = draw.one(sorted(REDUCTIONS))
    x = draw.array(draw.shape(draw.integer(1, 4)), np.float32, 0.1, 1.5)
    axes, keep = draw.axes(x.ndim), draw.integer(0, 1)
    axis = tuple(a % x.ndim for a in axes) if axes else tuple(range(x.ndim))
    if not axes and draw.chance(0.5):
        # With nothing to reduce over, ops that square or take logarithms were left open until opset 24.
        return Node("ReduceSum", [x, ints([])], x, {"keepdims": keep, "noop_with_empty_axes": 1}, 18)
    return Node(op, [x, ints(axes)], exactly(lambda v: REDUCTIONS[op](v, axis, bool(keep)), x), {"keepdims": keep}, 18)


def old_shape(draw):
    """Axes, bounds and sizes as attributes."""
    x = draw.array(draw.shape(draw.integer(1, 4)), draw.one(FLOATS), -90, 90)
    kind = draw.integer(0, 3)
    if kind == 0:
        axis = draw.integer(0, x.ndim)
        return Node("Unsqueeze", [x], np.expand_dims(x, axis), {"axes": [axis]}, 11)
    if kind == 1:
        full = np.expand_dims(x, 0)
        return Node("Squeeze", [full], x, {"axes": [0]}, 11)
    axis = draw.integer(0, x.ndim - 1)
    if kind == 2:
        start, end = draw.integer(-x.shape[axis], x.shape[axis]), draw.integer(-x.shape[axis], x.shape[axis])
        index = tuple(slice(start, end) if a == axis else slice(None) for a in range(x.ndim))
        return Node("Slice", [x], x[index], {"axes": [axis], "starts": [start], "ends": [end]}, 9)
    cut = draw.integer(0, x.shape[axis])
    return Node("Split", [x], np.split(x, [cut], axis), {"axis": axis, "split": [cut, x.shape[axis] - cut]}, 11)


def old_elementwise(draw):
    x = draw.array(draw.shape(draw.integer(1, 3)), np.float32, -9, 9)
    kind = draw.integer(0, 2)
    if kind == 0:
        return Node("Clip", [x], np.clip(x, -2, 5), {"min": -2.0, "max": 5.0}, 10)
    if kind == 1:
        return Node("Dropout", [x], x, {"ratio": 0.3}, 10)
    count = draw.integer(0, min(x.shape[-1], 4))
    order = np.argsort(-x, -1, kind="stable")[..., :count]
    return Node("TopK", [x, ints([count])], [np.take_along_axis(x, order, -1), order], {"axis": -1}, 10)


def new_elementwise(draw):
    kind = draw.integer(0, 3)
    x = draw.array(draw.shape(), draw.one((np.float32, np.float64, np.float16)), -6, 6)
    if kind == 0:
        return Node("Mish", [x], exactly(lambda v: v * np.tanh(softplus(v)), x), opset=18)
    if kind == 1:
        tanh = draw.chance(0.5)
        def gelu(v):
            inner = np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v ** 3)) if tanh else erf(v / np.sqrt(2))
            return 0.5 * v * (1 + inner)
        return Node("Gelu", [x], exactly(gelu, x), {"approximate": "tanh" if tanh else "none"}, 20)
    dtype = draw.one(INTS)
    shape = draw.shape()
    a, b = draw.array(shape, dtype, -99, 99, 0.1), draw.array(draw.broadcast_from(shape), dtype, -99, 99, 0.1)
    if kind == 2:
        return Node("BitwiseNot", [a], ~a, opset=18)
    op, function = draw.one([("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)])
    return Node(op, [a, b], function(a, b), opset=18)


def new_movement(draw):
    x = draw.array(draw.shape(draw.integer(1, 4), elements=600), draw.one(FLOATS + INTS), -9, 9)
    kind = draw.integer(0, 2)
    axis = draw.axis(x.ndim)
    if kind == 0:
        count = draw.integer(1, max(1, min(4, x.shape[axis])))
        size = -(-x.shape[axis] // count)
        cuts = [min(size * i, x.shape[axis]) for i in range(1, count)]
        pieces = np.split(x, cuts, axis)
        if any(p.shape[axis] == 0 for p in pieces):  # more pieces than there are rows is left open
            return Node("Identity", [x], x)
        return Node("Split", [x], pieces, {"axis": axis, "num_outputs": count}, 18)
    low, high = draw.integer(0, 3), draw.integer(0, 3)
    if kind == 1:
        widths = [(low, high) if a == axis % x.ndim else (0, 0) for a in range(x.ndim)]
        return Node("Pad", [x, ints([low, high]), None, ints([axis])], np.pad(x, widths), {}, 18)
    size = x.shape[axis]
    low, high = min(low, size), min(high, size)
    widths = [(low, high) if a == axis % x.ndim else (0, 0) for a in range(x.ndim)]
    expected = np.pad(x, widths, mode="wrap") if size else x
    return Node("Pad", [x, ints([low, high]), None, ints([axis])], expected, {"mode": "wrap"}, 19)


def meeting(draw):
    """ScatterElements and ScatterND by maximum or minimum."""
    x = draw.array(draw.shape(draw.integer(1, 2), least=1, elements=200), draw.one((np.float32, np.int32)), -9, 9)
    op, function = draw.one((("max", np.maximum), ("min", np.minimum)))
    places = draw.numbers.integers(-x.shape[0], x.shape[0], (draw.one((0, 1, 4)), 1))
    updates = draw.array((len(places), *x.shape[1:]), x.dtype, -9, 9)
    result = x.copy()
    for place, update in zip(places[:, 0], updates):
        result[place] = function(result[place], update)
    return Node("ScatterND", [x, places, updates], result, {"reduction": op}, 18)


def groups_of_channels(draw):
    groups, per = draw.one((1, 2, 3)), draw.one((1, 2, 4))
    x = draw.array((draw.one((1, 2)), groups * per, *draw.shape(draw.integer(1, 2), least=1, elements=100)), np.float32)
    scale, bias = (draw.array((groups * per,), np.float32) for _ in range(2))
    def compute(x, s, b):
        split = x.reshape(x.shape[0], groups, -1)
        centred = split - split.mean(2, keepdims=True)
        y = (centred / np.sqrt((centred ** 2).mean(2, keepdims=True) + 1e-5)).reshape(x.shape)
        return y * s.reshape(1, -1, *[1] * (x.ndim - 2)) + b.reshape(1, -1, *[1] * (x.ndim - 2))
    return Node("GroupNormalization", [x, scale, bias], exactly(compute, x, scale, bias), {"num_groups": groups}, 21)


def filled(draw):
    shape = draw.shape(elements=500)
    return Node("Expand", [Constant(np.array(3, np.int32)), ints(shape)], np.full(shape, 3, np.int32)) if shape else \
        Node("Identity", [np.float32([1])], np.float32([1]))


def quantised_product(draw):
    """Both operands and the result are numbers of 8 bits, each with a scale and a zero."""
    m, k, n = (draw.one((0, 1, 3, 8, 17)) for _ in range(3))
    kind = draw.one((np.uint8, np.int8))
    a, b = draw.array((m, k), kind, -50, 90), draw.array((k, n), kind, -50, 90)
    scales = [np.array(s, np.float32) for s in (0.05, 0.02, 0.11)]
    zeros = [np.array(draw.integer(0, 9), kind) for _ in range(3)]
    total = (a.astype(np.int64) - int(zeros[0])) @ (b.astype(np.int64) - int(zeros[1]))
    info = np.iinfo(kind)
    exact = total * (float(scales[0]) * float(scales[1]) / float(scales[2]))
    # A tie may fall to either side, by how the scales are multiplied.
    expected = np.clip(np.rint(exact) + int(zeros[2]), info.min, info.max).astype(kind)
    return Node("QLinearMatMul", [a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2]], expected, tolerance=(0, 1))


def integer_negation(draw):
    x = draw.array(draw.shape(), draw.one((np.int8, np.int16, np.int32, np.int64)), -9, 9, 0.3)
    return Node("Neg", [x], wrapped(-x.astype(object), x.dtype), opset=13)


FAMILY = [old_reduction, new_reduction, new_reduction, old_shape, old_elementwise, new_elementwise, new_movement, meeting,
          groups_of_channels, filled, quantised_product, integer_negation]
