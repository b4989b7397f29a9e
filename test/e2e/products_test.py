#!/usr/bin/python3
"""Matrix products, convolutions and attention of many sizes, element types and forms, against NumPy.

Operands of products are small whole numbers, so that every sum is exact in whatever order it is added up: results have
to be exact, too, and a wrong index shows. Sizes are drawn around those at which tiles begin and end. With
GANTRY_TEST_EMULATE=all the kernels of GPUs run, each access checked.

Usage: products_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import sys

import numpy as np

import groups

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": None, "i32": np.int32, "i64": np.int64,
         "ui8": np.uint8, "i16": np.int16}
SIZES = (1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 197, 256, 300)
CASES_OF_A_FILE = 8


def tensor(shape, element):
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


def round_to_bf16(values):
    """To the nearest, ties to even, as f32."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    bits = bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000
    return bits.astype(np.uint32).view(np.float32).reshape(values.shape)


# To 11 bits, in front of products; f16 has no fewer. Those that are drawn for products and convolutions have no more.
ROUNDS_F32 = any(f"--flag=math={kind}" in sys.argv for kind in ("tf32", "f16"))


class Draw:
    """Random sizes, and a graph that grows op by op."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.inputs, self.lines = [], []

    def one(self, choices):
        return choices[self.random.integers(len(choices))]

    def size(self, most=300):
        return int(min(self.one(SIZES), most))

    def chance(self, p):
        return self.random.random() < p

    def operand(self, shape, element, low=-2, high=3):
        """A new input: its name in the text, and its values. bf16 comes as f32 and is cast."""
        dtype = TYPES[element]
        if element.startswith("ui"):
            low = 0
        values = self.random.integers(low, high, shape).astype(dtype or np.float32)
        name = f"%a{len(self.inputs)}"
        self.inputs.append((name, values, tensor(shape, element if dtype else "f32")))
        if dtype:
            return name, values
        return self.op("cast", [(name, tensor(shape, "f32"))], "", tensor(shape, element)), values

    def op(self, op, operands, attributes, result):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = gantry.{op} {', '.join(name for name, _ in operands)}{attributes} : "
                          f"({', '.join(type for _, type in operands)}) -> {result}")
        return name


def exact(function, *operands):
    """With 64 bits; whole numbers stay whole."""
    wide = np.int64 if operands[0].dtype.kind in "iu" else np.float64
    return function(*(operand.astype(wide) for operand in operands))


def finish(draw, value, element, epilogue):
    """What the result is as a NumPy array; bf16 is cast to f32, rounded as bf16 is."""
    name, values = value
    shape = values.shape
    dtype = TYPES[element]
    if epilogue == "bias":
        axis = shape[-1:] if draw.chance(0.5) else shape
        bias, added = draw.operand(axis, element)
        name = draw.op("add", [(name, tensor(shape, element)), (bias, tensor(axis, element))], "", tensor(shape, element))
        values = values + added.astype(values.dtype)
    if epilogue in ("relu", "bias"):
        name = draw.op("relu", [(name, tensor(shape, element))], "", tensor(shape, element))
        values = np.maximum(values, 0)
    if epilogue == "reshape":
        flat = (values.size,)
        name = draw.op("reshape", [(name, tensor(shape, element))], "", tensor(flat, element))
        name = draw.op("neg", [(name, tensor(flat, element))], "", tensor(flat, element))
        values, shape = -values.reshape(flat), flat
    if dtype is None:
        name = draw.op("cast", [(name, tensor(shape, element))], "", tensor(shape, "f32"))
        return name, round_to_bf16(values).reshape(shape), tensor(shape, "f32")
    return name, values.astype(dtype), tensor(shape, element)


def matmul(draw):
    element = draw.one(list(TYPES))
    m, n, k = draw.size(), draw.size(), draw.size()
    if draw.chance(0.1):
        k = draw.one((500, 1000, 2048))
        m, n = min(m, 64), min(n, 64)
    batch = tuple(draw.one(((), (), (), (2,), (3,), (2, 3))))
    if batch:
        m, n, k = min(m, 65), min(n, 65), min(k, 129)
    batch_a = batch if draw.chance(0.7) else (1,) * len(batch)
    ta, tb = draw.chance(0.5), draw.chance(0.5)
    shape_a = batch_a + ((k, m) if ta else (m, k))
    shape_b = batch + ((n, k) if tb else (k, n))
    a, x = draw.operand(shape_a, element)
    b, y = draw.operand(shape_b, element)
    flags = ", ".join(["transpose_a"] * ta + ["transpose_b"] * tb)
    result = exact(np.matmul, x.swapaxes(-1, -2) if ta else x, y.swapaxes(-1, -2) if tb else y)
    sums = "i32" if element == "ui8" else element
    name = draw.op("matmul", [(a, tensor(shape_a, element)), (b, tensor(shape_b, element))],
                   f" {{{flags}}}" if flags else "", tensor(result.shape, sums))
    text = f"matmul {element} {shape_a}{'T' * ta} x {shape_b}{'T' * tb}"
    return text, (name, result), sums


def convolve(x, w, strides, dilations, low, high, groups_):
    """The definition: a sum over the positions of the window."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *zip(low, high)])
    window = w.shape[2:]
    out = [(x.shape[i + 2] - dilations[i] * (window[i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
    n, c, o = x.shape[0], x.shape[1] // groups_, w.shape[0] // groups_
    result = np.zeros((n, groups_, o, *out), x.dtype)
    for tap in np.ndindex(*window):
        part = x[(slice(None), slice(None), *(slice(tap[i] * dilations[i], tap[i] * dilations[i] + (out[i] - 1) * strides[i] + 1,
                                                    strides[i]) for i in range(rank)))]
        part = part.reshape(n, groups_, c, -1)
        weights = w[(slice(None), slice(None), *tap)].reshape(groups_, o, c)
        result += np.einsum("ngcp,goc->ngop", part, weights).reshape(result.shape)
    return result.reshape(n, groups_ * o, *out)


def conv(draw):
    element = draw.one(("f32", "f32", "f16", "bf16", "f64", "i32"))
    rank = draw.one((1, 2, 2, 2, 3))
    groups_ = draw.one((1, 1, 1, 2, 4))
    c, o = draw.one((1, 2, 3, 8, 16, 33)), draw.one((1, 2, 5, 16, 32, 65))
    n = draw.one((1, 1, 2, 3))
    window = [draw.one((1, 2, 3, 3, 5)) for _ in range(rank)]
    dilations = [draw.one((1, 1, 2)) for _ in range(rank)]
    strides = [draw.one((1, 1, 2)) for _ in range(rank)]
    low, high = ([draw.one((0, 1, 2)) for _ in range(rank)] for _ in range(2))
    most = {1: 197, 2: 33, 3: 9}[rank]
    spatial = [max(draw.size(most), dilations[i] * (window[i] - 1) + 1) for i in range(rank)]
    if groups_ > 1 and draw.chance(0.4):
        c, o = 1, 1
    shape_x, shape_w = (n, c * groups_, *spatial), (o * groups_, c, *window)
    a, x = draw.operand(shape_x, element)
    b, w = draw.operand(shape_w, element)
    result = exact(lambda x, w: convolve(x, w, strides, dilations, low, high, groups_), x, w)
    lists = "".join(f"{name} = array<i64: {', '.join(map(str, values))}>, " for name, values in (
        ("strides", strides), ("pads_low", low), ("pads_high", high), ("dilations", dilations)))
    name = draw.op("conv", [(a, tensor(shape_x, element)), (b, tensor(shape_w, element))],
                   f" {{{lists}groups = {groups_} : i64}}", tensor(result.shape, element))
    text = f"conv {element} {shape_x} * {shape_w} strides {strides} dilations {dilations} pads {low}{high} groups {groups_}"
    return text, (name, result), element


def attention(draw):
    """Numbers of all sizes: weights are no whole ones. Hidden queries have no answer, so none is."""
    element = draw.one(("f32", "f32", "f16", "bf16", "f64"))
    batch = tuple(draw.one(((), (2,), (2, 3))))
    t, s = draw.size(130), draw.size(130)
    d, e = (draw.one((1, 3, 8, 16, 33, 36, 64, 100, 128, 130, 256, 260)) for _ in range(2))
    rounded = (lambda x: x.astype(TYPES[element])) if element != "bf16" else round_to_bf16
    q, k, v = (rounded(draw.random.normal(size=(*batch, *shape))) for shape in ((t, d), (s, d), (s, e)))
    mask, scale = None, 1 / np.sqrt(d)
    arrays = [q, k, v]
    if draw.chance(0.5):
        shape = draw.one(((t, s), (1, s), (*batch, t, s)))
        mask = draw.random.normal(size=shape)
        mask[draw.random.random(shape) < 0.2] = -np.inf
        mask[..., 0] = 0
        arrays.append(rounded(mask))
    operands = []
    for array in arrays:
        name, type = f"%a{len(draw.inputs)}", tensor(array.shape, element)
        draw.inputs.append((name, array, tensor(array.shape, element if TYPES[element] else "f32")))
        if not TYPES[element]:
            name = draw.op("cast", [(name, draw.inputs[-1][2])], "", type)
        operands.append((name, type))
    causal = draw.chance(0.4)
    q, k, v, *mask = (array.astype(np.float64) for array in arrays)
    scores = q @ k.swapaxes(-1, -2) * scale + (mask[0] if mask else 0)
    if causal:
        scores = np.where(np.arange(s) > np.arange(t)[:, None], -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    result = weights / weights.sum(-1, keepdims=True) @ v
    name = draw.op("attention", operands, f" {{{'causal, ' * causal}scale = {scale!r} : f64}}", tensor(result.shape, element))
    text = f"attention {element} {[a.shape for a in arrays]}{' causal' * causal}"
    return text, (name, result), element


def make_case(seed, number):
    draw = Draw((seed, number))
    text, value, element = draw.one((matmul, matmul, matmul, conv, conv, attention))(draw)
    epilogue = draw.one(("", "bias", "relu", "reshape"))
    if epilogue in ("relu", "bias", "reshape") and element.startswith("ui"):
        epilogue = ""
    name, expected, type = finish(draw, value, element, epilogue)
    source = (draw.inputs, draw.lines, name, type)
    # What exp and the sums of a row may be off, the rounding of weights, and the result's own.
    offs = {"f16": 2e-3, "bf16": 8e-3, "f32": 2e-3 if ROUNDS_F32 else 1e-5, "f64": 1e-12}
    off = offs.get(element, 0) if text.startswith("attention") else 0
    return groups.Case(f"case {number}: {text} {epilogue}".strip(), source, [values for _, values, _ in draw.inputs],
                       [expected], (off, off))


def pack(cases, folder):
    """One function of all cases; their values get a prefix each."""
    arguments, lines, results, inputs, outputs = [], [], [], {}, []
    for i, case in enumerate(cases):
        operands, own, result, type = case.source
        mine = lambda text: text.replace("%", f"%c{i}_")
        for name, values, input_type in operands:
            inputs[f"input{len(arguments)}"] = values
            arguments.append(f"{mine(name)}: {input_type}")
        lines += map(mine, own)
        results.append((mine(result), type))
        outputs.append([f"output{i}"])
    types = ", ".join(type for _, type in results)
    file = folder / "products.mlir"
    file.write_text(f"func.func @main({', '.join(arguments)}) -> ({types}) {{\n  " + "\n  ".join(lines) +
                    f"\n  return {', '.join(name for name, _ in results)} : {types}\n}}\n")
    return file, inputs, outputs


if __name__ == "__main__":
    sys.exit(groups.run_drawn("products", __doc__, make_case, pack, CASES_OF_A_FILE, count=400))
