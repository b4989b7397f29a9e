"""Convolutions and pools, computed window by window from their definitions; and Resize."""

import itertools

import numpy as np

from .draw import FLOATS, Constant, Node


def geometry(draw, kinds=("NOTSET", "NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"), transposed=False):
    """Spatial sizes, window, strides, dilations, pads (None where auto_pad tells) and the mode."""
    rank = draw.one((1, 2, 2, 2, 3))
    mode = draw.one(kinds)
    window = [draw.integer(1, 3) for _ in range(rank)]
    strides = [draw.integer(1, 3) for _ in range(rank)]
    dilations = [draw.one((1, 1, 2)) for _ in range(rank)] if mode != "SAME_LOWER" else [1] * rank
    sizes = [draw.one((1, 3, 5, 8, 17)) if rank < 3 else draw.one((1, 3, 5)) for _ in range(rank)]
    if draw.chance(0.05):
        sizes[0] = 0
    pads = [draw.integer(0, (w - 1) * d) for w, d in zip(window * 2, dilations * 2)]
    if mode != "NOTSET":
        pads = None
    return sizes, window, strides, dilations, pads, mode


def resolve_pads(sizes, window, strides, dilations, pads, mode):
    """[(low, high)] for each dimension."""
    rank = len(sizes)
    if mode == "NOTSET":
        return list(zip(pads[:rank], pads[rank:]))
    if mode == "VALID":
        return [(0, 0)] * rank
    result = []
    for size, w, s, d in zip(sizes, window, strides, dilations):
        out = -(-size // s)
        need = max(0, (out - 1) * s + (w - 1) * d + 1 - size)
        result.append((need // 2, need - need // 2) if mode == "SAME_UPPER" else (need - need // 2, need // 2))
    return result


def attributes_of(draw, window, strides, dilations, pads, mode, names=("kernel_shape", "strides", "dilations", "pads", "auto_pad")):
    attributes = {"kernel_shape": window}
    if any(s != 1 for s in strides) or draw.chance(0.5):
        attributes["strides"] = strides
    if any(d != 1 for d in dilations) or draw.chance(0.5):
        attributes["dilations"] = dilations
    if mode != "NOTSET":
        attributes["auto_pad"] = mode
    elif any(pads) or draw.chance(0.5):
        attributes["pads"] = pads
    return {k: v for k, v in attributes.items() if k in names}


def taps(x, sizes, window, strides, dilations, borders, value, ceil=False):
    """(windows as [n, c, out..., window...], places as the same of 0, 1 or -1: input, declared border,
    beyond it); or None where no window fits."""
    rank = len(sizes)
    out, widths = [], [(0, 0), (0, 0)]
    for size, w, s, d, (low, high) in zip(sizes, window, strides, dilations, borders):
        span = size + low + high - (w - 1) * d - 1
        if span < 0:
            return None
        count = (-(-span // s) if ceil else span // s) + 1
        if ceil and (count - 1) * s >= size + low:
            count -= 1
        out.append(count)
        widths.append((low, max(high, (count - 1) * s + (w - 1) * d + 1 - size - low)))
    padded = np.pad(x, widths, constant_values=value)
    inside = np.pad(np.zeros(x.shape, np.int8), widths, constant_values=-1)
    declared = tuple([slice(None)] * 2 + [slice(0, low + s + high) for s, (low, high) in zip(sizes, borders)])
    inside[declared] = np.where(inside[declared] == -1, 1, inside[declared])
    def cut(array):
        result = np.zeros((*x.shape[:2], *out, *window), array.dtype)
        for at in itertools.product(*map(range, window)):
            part = tuple(slice(a * d, a * d + (o - 1) * s + 1, s) for a, d, o, s in zip(at, dilations, out, strides))
            result[(..., *at)] = array[(slice(None), slice(None), *part)]
        return result
    assert rank == len(out)
    return cut(padded), cut(inside)


def convolve(x, w, bias, groups, sizes, strides, dilations, borders):
    found = taps(x, sizes, w.shape[2:], strides, dilations, borders, 0)
    if found is None:
        return None
    windows, rank = found[0], len(sizes)
    per, results = x.shape[1] // groups, []
    for g in range(groups):
        part = windows[:, g * per:(g + 1) * per]
        own = w[g * (w.shape[0] // groups):(g + 1) * (w.shape[0] // groups)]
        axes = [1] + list(range(2 + rank, 2 + 2 * rank))
        product = np.tensordot(part, own, (axes, [1] + list(range(2, 2 + rank))))
        results.append(np.moveaxis(product, -1, 1))
    result = np.concatenate(results, 1)
    return result if bias is None else result + bias.reshape(1, -1, *[1] * rank)


def channels(draw):
    """(batch, input channels of a group, output channels of a group, groups)."""
    return (draw.one((1, 1, 2)), draw.one((1, 2, 3, 5)) if draw.chance(0.95) else 0, draw.one((1, 2, 4, 7)),
            draw.one((1, 1, 1, 2, 3)))


def convolution(draw):
    sizes, window, strides, dilations, pads, mode = geometry(draw)
    n, inner, outer, groups = channels(draw)
    dtype = draw.one(FLOATS)
    x, w = draw.array((n, inner * groups, *sizes), dtype, -1, 1), draw.array((outer * groups, inner, *window), dtype, -1, 1)
    bias = draw.array((outer * groups,), dtype) if draw.chance(0.5) else None
    borders = resolve_pads(sizes, window, strides, dilations, pads, mode)
    wide = [a if a is None else a.astype(np.float64) for a in (x, w, bias)]
    expected = convolve(*wide, groups, sizes, strides, dilations, borders)
    attributes = attributes_of(draw, window, strides, dilations, pads, mode) | ({"group": groups} if groups > 1 else {})
    filters = Constant(w) if draw.chance(0.5) else w
    return Node("Conv", [x, filters] + ([bias] if bias is not None else []),
                None if expected is None else expected.astype(dtype), attributes)


def transposed(draw):
    sizes, window, strides, dilations, pads, _ = geometry(draw, ("NOTSET",))
    sizes = [s or 1 for s in sizes]
    n, inner, outer, groups = channels(draw)
    dtype, rank = draw.one((np.float32, np.float64)), len(sizes)
    x, w = draw.array((n, inner * groups, *sizes), dtype, -1, 1), draw.array((inner * groups, outer, *window), dtype, -1, 1)
    more = [draw.integer(0, s - 1) if draw.chance(0.3) else 0 for s in strides]
    full = [s * (i - 1) + d * (k - 1) + 1 + o for s, i, d, k, o in zip(strides, sizes, dilations, window, more)]
    kept = [(lo, f - hi) for lo, hi, f in zip(pads[:rank], pads[rank:], full)]
    attributes = attributes_of(draw, window, strides, dilations, pads, "NOTSET")
    attributes |= ({"output_padding": more} if any(more) else {}) | ({"group": groups} if groups > 1 else {})
    if any(hi < lo for lo, hi in kept):
        return Node("ConvTranspose", [x, w], None, attributes)
    result = np.zeros((n, outer * groups, *full))
    for g in range(groups):
        part = x[:, g * inner:(g + 1) * inner].astype(np.float64)
        for at in itertools.product(*map(range, window)):
            weights = w[(slice(g * inner, (g + 1) * inner), slice(None), *at)].astype(np.float64)
            to = tuple(slice(a * d, a * d + (i - 1) * s + 1, s) for a, d, i, s in zip(at, dilations, sizes, strides))
            result[(slice(None), slice(g * outer, (g + 1) * outer), *to)] += np.einsum("nc...,co->no...", part, weights)
    result = result[(..., *(slice(lo, hi) for lo, hi in kept))]
    return Node("ConvTranspose", [x, w], result.astype(dtype), attributes)


def pool(draw):
    op = draw.one(("MaxPool", "AveragePool", "LpPool"))
    sizes, window, strides, dilations, pads, mode = geometry(draw)
    if op != "MaxPool":
        dilations = [1] * len(sizes)
    if pads:  # smaller than the window
        pads = [min(p, w - 1) for p, w in zip(pads, window * 2)]
    ceil = draw.integer(0, 1) if op != "LpPool" and mode == "NOTSET" else 0
    dtype = draw.one(FLOATS)
    x = draw.array((draw.one((1, 2)), draw.one((1, 3)), *sizes), dtype, -2, 2)
    borders = resolve_pads(sizes, window, strides, dilations, pads, mode)
    found = taps(x.astype(np.float64), sizes, window, strides, dilations, borders, -np.inf if op == "MaxPool" else 0, ceil)
    names = ("kernel_shape", "strides", "pads", "auto_pad") + (("dilations",) if op == "MaxPool" else ())
    attributes = attributes_of(draw, window, strides, dilations, pads, mode, names) | ({"ceil_mode": 1} if ceil else {})
    if op == "LpPool":
        p = draw.one((1, 2, 3, 4))
        attributes |= {"p": p} if p != 2 or draw.chance(0.5) else {}
    if op == "AveragePool" and draw.chance(0.5):
        attributes["count_include_pad"] = 1
    if found is None:
        return Node(op, [x], None, attributes)
    windows, inside = found
    over = tuple(range(2 + len(sizes), 2 + 2 * len(sizes)))
    if op == "MaxPool":
        expected = windows.max(over)
    elif op == "LpPool":
        expected = (np.abs(windows) ** p).sum(over) ** (1 / p)
    else:
        counted = (inside >= 0) if attributes.get("count_include_pad") else inside == 0
        expected = windows.sum(over) / np.maximum(counted.sum(over), 1)
    return Node(op, [x], expected.astype(dtype), attributes)


def everywhere(draw):
    op = draw.one(("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"))
    x = draw.array((*draw.shape(2, elements=12), *draw.shape(draw.integer(1, 3), elements=200)), draw.one(FLOATS))
    over = tuple(range(2, x.ndim))
    if op == "GlobalMaxPool":
        return Node(op, [x], x.max(over, keepdims=True, initial=-np.inf))
    wide = x.astype(np.float64)
    if op == "GlobalAveragePool":
        return Node(op, [x], wide.mean(over, keepdims=True).astype(x.dtype))
    p = draw.one((1, 2, 3))
    expected = (np.abs(wide) ** p).sum(over, keepdims=True) ** (1 / p)
    return Node(op, [x], expected.astype(x.dtype), {"p": p})


def sample(x, axis, scale, length, mode, coordinates, nearest):
    """One dimension of Resize."""
    size, full = x.shape[axis], scale * x.shape[axis]  # what ONNX's align_corners takes, not rounded
    i = np.arange(length)
    if coordinates == "half_pixel":
        at = (i + 0.5) / scale - 0.5
    elif coordinates == "pytorch_half_pixel":
        at = (i + 0.5) / scale - 0.5 if length > 1 else np.zeros(length)
    elif coordinates == "align_corners":
        at = i * (size - 1) / (full - 1) if full > 1 else np.zeros(length)
    else:
        at = i / scale
    if mode == "nearest":
        rounded = {"floor": np.floor, "ceil": np.ceil, "round_prefer_floor": lambda v: np.ceil(v - 0.5),
                   "round_prefer_ceil": lambda v: np.floor(v + 0.5)}[nearest](at)
        return np.take(x, np.clip(rounded, 0, size - 1).astype(int), axis)
    at = np.clip(at, 0, size - 1)
    low = np.floor(at).astype(int)
    part = (at - low).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return np.take(x, low, axis) * (1 - part) + np.take(x, np.minimum(low + 1, size - 1), axis) * part


def resize(draw):
    """Scales by powers of two, so that no rounding of a coordinate decides; or by sizes."""
    rank = draw.integer(1, 4)
    shape = [draw.one((1, 2, 3, 5, 8)) for _ in range(rank)]
    x = draw.array(shape, draw.one((np.float32, np.float32, np.float64)), -9, 9)
    mode = draw.one(("nearest", "linear"))
    if draw.chance(0.25):
        # Opset 10 has one way: asymmetric; nearest rounds down, or up where the image shrinks, by ONNX's
        # own test (its scales of 0.6 give pixels 1 and 3 of a row of 4).
        scales = [draw.one((1.0, 2.0, 0.5, 0.6, 1.5, 3.0)) for _ in shape]
        lengths = [int(np.floor(np.float32(s) * d)) for s, d in zip(scales, shape)]
        if 0 in lengths:
            return Node("Identity", [x], x)
        result = x.astype(np.float64)
        for axis, (scale, length) in enumerate(zip(scales, lengths)):
            if scale != 1:
                nearest = "ceil" if scale < 1 else "floor"
                result = sample(result, axis, float(np.float32(scale)), length, mode, "asymmetric", nearest)
        return Node("Resize", [x, Constant(np.array(scales, np.float32))], result.astype(x.dtype), {"mode": mode}, 10)
    coordinates = draw.one(("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"))
    nearest = draw.one(("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"))
    scales = [draw.one((1.0, 2.0, 4.0, 0.5)) for _ in shape]
    lengths = [int(np.floor(s * d)) for s, d in zip(scales, shape)]
    if 0 in lengths:
        return Node("Identity", [x], x)
    result = x.astype(np.float64)
    for axis, (scale, length) in enumerate(zip(scales, lengths)):
        if scale != 1:
            result = sample(result, axis, scale, length, mode, coordinates, nearest)
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        attributes["nearest_mode"] = nearest
    return Node("Resize", [x, None, Constant(np.array(scales, np.float32))], result.astype(x.dtype), attributes)


def of_integers(draw):
    """ConvInteger: a zero for each operand, sums in i32."""
    sizes, window, strides, dilations, pads, mode = geometry(draw, ("NOTSET",))
    n, inner, outer, groups = channels(draw)
    x = draw.array((n, inner * groups, *sizes), draw.one((np.uint8, np.int8)), 0, 99)
    w = draw.array((outer * groups, inner, *window), draw.one((np.uint8, np.int8)), -9, 99)
    zeros = [np.array(draw.integer(0, 9), v.dtype) for v in (x, w)]
    borders = resolve_pads(sizes, window, strides, dilations, pads, mode)
    wide = [v.astype(np.int64) - int(zero) for v, zero in zip((x, w), zeros)]
    expected = convolve(*wide, None, groups, sizes, strides, dilations, borders)
    attributes = attributes_of(draw, window, strides, dilations, pads, mode) | ({"group": groups} if groups > 1 else {})
    return Node("ConvInteger", [x, w, *zeros], None if expected is None else expected.astype(np.int32), attributes)


def sampled(draw):
    """GridSample of [n, c, h, w] at places in [-1.3, 1.3], a little outside too."""
    n, c, h, w, high, wide = draw.one((1, 2)), draw.one((1, 3)), *(draw.one((1, 2, 3, 5, 8)) for _ in range(4))
    x = draw.array((n, c, h, w), np.float32)
    grid = draw.array((n, high, wide, 2), np.float32, -1.3, 1.3)
    mode, padding = draw.one(("bilinear", "nearest")), draw.one(("zeros", "border", "reflection"))
    corners = draw.integer(0, 1)
    def place(at, size):
        """In pixels, then brought back inside as the padding says."""
        pixel = (at + 1) / 2 * (size - 1) if corners else ((at + 1) * size - 1) / 2
        if padding == "border":
            return np.clip(pixel, 0, size - 1)
        if padding == "reflection":
            low, high_ = (0, size - 1) if corners else (-0.5, size - 0.5)
            span = high_ - low
            if span == 0:
                return np.zeros_like(pixel)
            folded = np.abs(pixel - low) % (2 * span)
            return np.clip(np.where(folded > span, 2 * span - folded, folded) + low, 0, size - 1)
        return pixel
    across, down = place(grid[..., 0].astype(np.float64), w), place(grid[..., 1].astype(np.float64), h)
    def read(i, j):
        inside = (i >= 0) & (i < h) & (j >= 0) & (j < w)
        rows = x.astype(np.float64)[np.arange(n)[:, None, None], :, np.clip(i, 0, h - 1), np.clip(j, 0, w - 1)]
        return np.where(inside[..., None], rows, 0)
    if mode == "nearest":
        # Near a half, rounding in f32 decides.
        if np.any(np.abs(across % 1 - 0.5) < 1e-3) or np.any(np.abs(down % 1 - 0.5) < 1e-3):
            return Node("Identity", [x], x)
        result = read(np.rint(down).astype(int), np.rint(across).astype(int))
    else:
        i, j = np.floor(down).astype(int), np.floor(across).astype(int)
        di, dj = (down - i)[..., None], (across - j)[..., None]
        result = (read(i, j) * (1 - di) * (1 - dj) + read(i, j + 1) * (1 - di) * dj + read(i + 1, j) * di * (1 - dj) +
                  read(i + 1, j + 1) * di * dj)
    return Node("GridSample", [x, grid], np.moveaxis(result, -1, 1).astype(np.float32),
                {"mode": mode, "padding_mode": padding, "align_corners": corners}, 16, tolerance=(1e-3, 1e-3))


FAMILY = [convolution, convolution, transposed, pool, pool, everywhere, resize, of_integers, sampled]
