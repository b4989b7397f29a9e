"""Reductions, searches, softmax and running sums; over axes from either end, also empty ones."""

import numpy as np

from .draw import FLOATS, Constant, Node, exactly

REDUCIBLE = FLOATS + (np.int32, np.int64)


def largest(x, axis, keepdims):
    return np.max(x, axis=axis, keepdims=keepdims, initial=-np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min)


def smallest(x, axis, keepdims):
    return np.min(x, axis=axis, keepdims=keepdims, initial=np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max)


def total(x, axis, keepdims):
    return np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def log_sum_exp(x, axis, keepdims):
    top = largest(x, axis, True)
    top = np.where(np.isfinite(top), top, 0)
    result = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return result if keepdims else np.squeeze(result, axis=axis if axis is None else tuple(axis))


REDUCTIONS = {
    "ReduceSum": total, "ReduceMax": largest, "ReduceMin": smallest,
    "ReduceProd": lambda x, axis, keepdims: np.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype),
    "ReduceMean": lambda x, axis, keepdims: np.mean(x, axis=axis, keepdims=keepdims),
    "ReduceL1": lambda x, axis, keepdims: total(np.abs(x), axis, keepdims),
    "ReduceL2": lambda x, axis, keepdims: np.sqrt(total(x * x, axis, keepdims)),
    "ReduceSumSquare": lambda x, axis, keepdims: total(x * x, axis, keepdims),
    "ReduceLogSum": lambda x, axis, keepdims: np.log(total(x, axis, keepdims)),
    "ReduceLogSumExp": log_sum_exp}
FLOAT_ONLY = ("ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp")


def reduction(draw):
    op = draw.one(sorted(REDUCTIONS))
    dtype = draw.one(FLOATS if op in FLOAT_ONLY else REDUCIBLE)
    infinite = op in ("ReduceMax", "ReduceMin", "ReduceLogSumExp", "ReduceMean", "ReduceSum") and draw.chance(0.3)
    low = 0.1 if op == "ReduceLogSum" else -1.5
    x = draw.array(draw.shape(), dtype, low, 1.5)
    if infinite and x.dtype.kind == "f":
        x = np.where(draw.numbers.uniform(size=x.shape) < 0.2, draw.one((np.inf, -np.inf, np.nan)), x).astype(dtype)
    axes = draw.axes(x.ndim)
    keep = draw.integer(0, 1)
    attributes = {} if keep and draw.chance(0.5) else {"keepdims": keep}
    nothing = not axes
    if nothing and op == "ReduceSum" and draw.chance(0.5):
        return Node(op, [x], x, {**attributes, "noop_with_empty_axes": 1})
    operands = [x]
    if op == "ReduceSum" and not (nothing and draw.chance(0.5)):
        operands.append(Constant(np.array(axes, np.int64)))
    elif not nothing:
        attributes["axes"] = axes
    axis = tuple(a % x.ndim for a in axes) if axes else tuple(range(x.ndim))
    # f16 sums of hundreds of elements end where f16 does.
    return Node(op, operands, exactly(lambda v: REDUCTIONS[op](v, axis, bool(keep)), x), attributes)


def search(draw):
    op = draw.one(("ArgMax", "ArgMin"))
    x = draw.array(draw.shape(draw.integer(1, 4)), draw.one(REDUCIBLE), -3, 3)
    if draw.chance(0.5):
        x = np.round(x).astype(x.dtype)  # equal elements
    axis, keep, last = draw.axis(x.ndim), draw.integer(0, 1), draw.integer(0, 1)
    attributes = {"axis": axis, "keepdims": keep, "select_last_index": last}
    if x.shape[axis] == 0:
        return Node(op, [x], None, attributes)
    function = np.argmax if op == "ArgMax" else np.argmin
    found = function(np.flip(x, axis) if last else x, axis=axis)
    found = np.expand_dims(x.shape[axis] - 1 - found if last else found, axis)
    return Node(op, [x], np.asarray(found if keep else np.squeeze(found, axis)).astype(np.int64), attributes)


def softmax(draw):
    op = draw.one(("Softmax", "LogSoftmax", "Hardmax"))
    x = draw.array(draw.shape(draw.integer(1, 4)), draw.one(FLOATS), -9, 9)
    opset = draw.one((11, 13, 17))
    axis = draw.axis(x.ndim)
    attributes = {"axis": axis}
    def compute(v):
        rows = v if opset >= 13 else v.reshape(int(np.prod(v.shape[:axis % v.ndim])), -1) if v.size else v
        along = axis if opset >= 13 else -1
        if op == "Hardmax":
            result = np.zeros_like(rows)
            if rows.size:
                np.put_along_axis(result, np.expand_dims(np.argmax(rows, along), along), 1, along)
            return result.reshape(v.shape)
        shifted = rows - largest(rows, along, True)
        powers = np.exp(shifted)
        total_ = powers.sum(along, keepdims=True)
        return (powers / total_ if op == "Softmax" else shifted - np.log(total_)).reshape(v.shape)
    return Node(op, [x], exactly(compute, x), attributes, opset)


def running_sum(draw):
    x = draw.array(draw.shape(draw.integer(1, 4)), draw.one((np.float32, np.float64, np.int32, np.int64)), -3, 3)
    axis, exclusive, reverse = draw.axis(x.ndim), draw.integer(0, 1), draw.integer(0, 1)
    def compute(v):
        v = np.flip(v, axis) if reverse else v
        sums = np.cumsum(v, axis=axis, dtype=v.dtype)
        sums = sums - v if exclusive else sums
        return np.flip(sums, axis) if reverse else sums
    return Node("CumSum", [x, Constant(np.array(axis, np.int64))], exactly(compute, x),
                {"exclusive": exclusive, "reverse": reverse})


def best(draw):
    x = draw.array(draw.shape(draw.integer(1, 3), elements=600), draw.one(REDUCIBLE), -9, 9)
    axis, greatest = draw.axis(x.ndim), draw.integer(0, 1)
    count = draw.integer(0, min(x.shape[axis], 5))
    order = np.argsort(-x if greatest else x, axis=axis, kind="stable").take(range(count), axis)
    return Node("TopK", [x, Constant(np.array([count], np.int64))],
                [np.take_along_axis(x, order, axis), order.astype(np.int64)], {"axis": axis, "largest": greatest})


FAMILY = [reduction, reduction, reduction, search, softmax, running_sum, best]
