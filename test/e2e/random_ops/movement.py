"""Ops that move elements, of any type: every value arrives unchanged."""

import numpy as np

from .draw import ELEMENT_TYPES, FLOATS, INTS, Constant, Node

ANY = FLOATS + INTS + (np.bool_,)


def array(draw, rank=None, elements=3000):
    return draw.array(draw.shape(rank, elements=elements), draw.one(ANY), -90, 90)


def ints(values):
    return Constant(np.array(values, np.int64))


def reshape(draw):
    x = array(draw)
    sizes = [d for d in x.shape]
    draw.random.shuffle(sizes)
    if len(sizes) > 1 and draw.chance(0.5):
        sizes[:2] = [sizes[0] * sizes[1]]
    if draw.chance(0.3):
        sizes.insert(draw.integer(0, len(sizes)), 1)
    shape = list(sizes)
    if shape and x.size and draw.chance(0.4):
        shape[draw.integer(0, len(shape) - 1)] = -1
    return Node("Reshape", [x, ints(shape)], x.reshape(sizes), {} if x.size else {"allowzero": 1})


def transpose(draw):
    x = array(draw)
    order = list(range(x.ndim))
    draw.random.shuffle(order)
    if draw.chance(0.2):
        return Node("Transpose", [x], np.transpose(x))
    return Node("Transpose", [x], np.transpose(x, order), {"perm": order}) if x.ndim else Node("Identity", [x], x)


def flatten(draw):
    x = array(draw, draw.integer(1, 4))
    axis = draw.integer(-x.ndim, x.ndim)
    rows = int(np.prod(x.shape[:axis if axis >= 0 else x.ndim + axis]))
    columns = int(np.prod(x.shape[axis if axis >= 0 else x.ndim + axis:]))
    return Node("Flatten", [x], x.reshape(rows, columns), {"axis": axis})


def squeeze(draw):
    x = array(draw)
    shape = list(x.shape)
    for _ in range(draw.integer(1, 2)):
        shape.insert(draw.integer(0, len(shape)), 1)
    axes = [a - len(shape) if draw.chance(0.3) else a for a, d in enumerate(shape) if d == 1]
    full = x.reshape(shape)
    if draw.chance(0.5):
        return Node("Squeeze", [full, ints(axes)], full.reshape([d for d in shape if d != 1]))
    small = full.reshape([d for d in shape if d != 1])
    return Node("Unsqueeze", [small, ints(axes)], full)


def concat(draw):
    shape = draw.shape(draw.integer(1, 4), elements=800)
    dtype, axis = draw.one(ANY), draw.axis(len(shape))
    pieces = []
    for _ in range(draw.integer(1, 5)):
        own = list(shape)
        own[axis] = draw.one((0, 1, 2, 3, 5, shape[axis]))
        pieces.append(draw.array(own, dtype, -90, 90))
    return Node("Concat", pieces, np.concatenate(pieces, axis), {"axis": axis})


def slice_(draw):
    x = array(draw, draw.integer(1, 4))
    axes = draw.axes(x.ndim, 1)
    starts, ends, steps, index = [], [], [], [slice(None)] * x.ndim
    for axis in axes:
        size = x.shape[axis]
        start, end = draw.integer(-size - 2, size + 2), draw.integer(-size - 2, size + 2)
        step = draw.one((1, 1, 2, 3, -1, -2))
        if draw.chance(0.2):
            end = 2 ** 63 - 1 if step > 0 else -(2 ** 63)
        starts, ends, steps = [*starts, start], [*ends, end], [*steps, step]
        # ONNX clamps where Python would take a negative end once more from the end.
        low, high = (0, size) if step > 0 else (0, size - 1)
        begin = min(max(start + size if start < 0 else start, low), high)
        low, high = (0, size) if step > 0 else (-1, size - 1)
        stop = min(max(end + size if end < 0 else end, low), high)
        index[axis] = list(range(begin, stop, step)) if size else []
    result = x
    for axis, picked in enumerate(index):
        if not isinstance(picked, slice):
            result = np.take(result, np.array(picked, int), axis)
    return Node("Slice", [x, ints(starts), ints(ends), ints(axes), ints(steps)], result)


def split(draw):
    x = array(draw, draw.integer(1, 4))
    axis = draw.axis(x.ndim)
    cuts = sorted(draw.integer(0, x.shape[axis]) for _ in range(draw.integer(0, 3)))
    pieces = np.split(x, cuts, axis)
    return Node("Split", [x, ints([p.shape[axis] for p in pieces])], pieces, {"axis": axis})


def pad(draw):
    x = array(draw, draw.integer(1, 4), 500)
    mode = draw.one(("constant", "constant", "reflect", "edge"))
    low, high = [], []
    for size in x.shape:
        most = 3 if mode in ("constant", "edge") else max(0, min(size - 1, 3))
        low.append(draw.integer(0, most))
        high.append(draw.integer(0, most))
    # What is cut away is not there to be reflected, and ONNX does not say which comes first.
    if mode == "constant" and draw.chance(0.4):
        for i, size in enumerate(x.shape):
            if size > 2 and draw.chance(0.5):
                low[i], high[i] = -draw.integer(0, 1), -draw.integer(0, 1)
    value = draw.array((), x.dtype, -9, 9) if mode == "constant" and draw.chance(0.6) else None
    operands = [x, ints(low + high)] + ([Constant(value)] if value is not None else [])
    attributes = {"mode": mode} if mode != "constant" or draw.chance(0.5) else {}
    cut = x[tuple(slice(max(0, -l), s - max(0, -h)) for l, h, s in zip(low, high, x.shape))]
    widths = [(max(0, l), max(0, h)) for l, h in zip(low, high)]
    if mode == "constant":
        return Node("Pad", operands, np.pad(cut, widths, constant_values=value if value is not None else 0), attributes)
    if mode == "edge" and any(s == 0 and (l or h) for s, (l, h) in zip(x.shape, widths)):
        return Node("Pad", operands, None, attributes)
    return Node("Pad", operands, np.pad(x, widths, mode=mode), attributes)


def tile(draw):
    x = array(draw, elements=300)
    repeats = [draw.one((0, 1, 1, 2, 3)) for _ in x.shape]
    return Node("Tile", [x, ints(repeats)], np.tile(x, repeats)) if x.ndim else Node("Identity", [x], x)


def expand(draw):
    shape = draw.shape()
    x = draw.array(draw.broadcast_from(shape), draw.one(ANY), -90, 90)
    asked = [1 if d == s and draw.chance(0.3) else s for d, s in zip((1,) * (len(shape) - x.ndim) + x.shape, shape)]
    if len(asked) < x.ndim or not asked:
        return Node("Identity", [x], x)
    return Node("Expand", [x, ints(asked)], np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(asked))))


def blocks(draw):
    size = draw.one((1, 2, 3))
    n, c, h, w = (draw.one((0, 1, 2, 3)) if draw.chance(0.1) else draw.one((1, 2, 3)) for _ in range(4))
    dtype = draw.one(FLOATS)
    if draw.chance(0.5):
        x = draw.array((n, c, h * size, w * size), dtype)
        moved = x.reshape(n, c, h, size, w, size).transpose(0, 3, 5, 1, 2, 4)
        return Node("SpaceToDepth", [x], moved.reshape(n, c * size * size, h, w), {"blocksize": size})
    x = draw.array((n, c * size * size, h, w), dtype)
    mode = draw.one(("DCR", "CRD"))
    if mode == "DCR":
        moved = x.reshape(n, size, size, c, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        moved = x.reshape(n, c, size, size, h, w).transpose(0, 1, 4, 2, 5, 3)
    return Node("DepthToSpace", [x], moved.reshape(n, c, h * size, w * size), {"blocksize": size, "mode": mode})


def triangle(draw):
    x = array(draw, draw.integer(2, 4))
    upper, k = draw.integer(0, 1), draw.integer(-3, 3)
    function = np.triu if upper else np.tril
    operands = [x] if k == 0 and draw.chance(0.5) else [x, Constant(np.array(k, np.int64))]
    return Node("Trilu", operands, function(x, k), {"upper": upper})


def reverse(draw):
    x = array(draw, draw.integer(2, 4), 600)
    batch, time = draw.one(((0, 1), (1, 0)))
    if x.shape[time] == 0:
        return Node("Identity", [x], x)
    lengths = np.array([draw.integer(1, x.shape[time]) for _ in range(x.shape[batch])], np.int64)
    moved = np.moveaxis(x, (batch, time), (0, 1)).copy()
    for row, length in zip(moved, lengths):
        row[:length] = row[:length][::-1].copy()
    return Node("ReverseSequence", [x, lengths], np.moveaxis(moved, (0, 1), (batch, time)),
                {"batch_axis": batch, "time_axis": time})


def made(draw):
    """Ops without data: EyeLike, Range, Shape, Size."""
    kind = draw.integer(0, 3)
    x = array(draw, 2)
    if kind == 0:
        k = draw.integer(-3, 3)
        return Node("EyeLike", [x], np.eye(*x.shape, k).astype(np.float32), {"dtype": ELEMENT_TYPES[np.dtype(np.float32)], "k": k})
    if kind == 1:
        start, limit, step = draw.integer(-9, 9), draw.integer(-9, 9), draw.one((-3, -1, 1, 2))
        expected = np.arange(start, limit, step, dtype=np.int64)
        return Node("Range", [Constant(np.array(v, np.int64)) for v in (start, limit, step)], expected)
    if kind == 2:
        start, end = draw.integer(-3, 2), draw.integer(-3, 3)
        return Node("Shape", [x], np.array(x.shape, np.int64)[start:end], {"start": start, "end": end})
    return Node("Size", [x], np.array(x.size, np.int64))


FAMILY = [reshape, transpose, flatten, squeeze, concat, slice_, split, pad, tile, expand, blocks, triangle, reverse, made]
