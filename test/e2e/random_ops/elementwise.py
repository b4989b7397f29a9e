"""Ops that make one element of one element of each operand, over all types and with the ends of them."""

import math

import numpy as np

from .draw import ELEMENT_TYPES, FLOATS, INTS, Constant, Node, exactly

erf = np.vectorize(math.erf, otypes=[np.float64])


def softplus(x):
    return np.logaddexp(0, x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def below(x, then, otherwise):
    """`then` where x is below 0."""
    return np.where(x < 0, then, otherwise)


UNARY = {"Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt, "Reciprocal": lambda x: 1 / x, "Floor": np.floor,
         "Ceil": np.ceil, "Round": np.rint, "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Asin": np.arcsin,
         "Acos": np.arccos, "Atan": np.arctan, "Sinh": np.sinh, "Cosh": np.cosh, "Tanh": np.tanh,
         "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh, "Erf": erf, "Sigmoid": sigmoid,
         "Softplus": softplus, "Softsign": lambda x: x / (1 + np.abs(x)),
         "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1)}
# With attributes: defaults, then the function.
CURVES = {
    "Elu": ({"alpha": 1.0}, lambda x, alpha: below(x, alpha * np.expm1(x), x)),
    "Celu": ({"alpha": 1.0}, lambda x, alpha: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))),
    "Selu": ({"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875},
             lambda x, alpha, gamma: gamma * below(x, alpha * np.expm1(x), x)),
    "LeakyRelu": ({"alpha": 0.01}, lambda x, alpha: below(x, alpha * x, x)),
    "ThresholdedRelu": ({"alpha": 1.0}, lambda x, alpha: np.where(x > alpha, x, 0)),
    "HardSigmoid": ({"alpha": 0.2, "beta": 0.5}, lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1)),
    "Shrink": ({"bias": 0.0, "lambd": 0.5},
               lambda x, bias, lambd: np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0)))}
COMPARISONS = {"Equal": np.equal, "Greater": np.greater, "Less": np.less, "GreaterOrEqual": np.greater_equal,
               "LessOrEqual": np.less_equal}
LOGIC = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}


def unary(draw):
    op = draw.one(sorted(UNARY))
    x = draw.array(draw.shape(), draw.one(FLOATS), -draw.one((1, 4, 30, 90)), draw.one((1, 4, 30, 90)), 0.1)
    # What is near a multiple of pi has few digits left, and the ends of f16 and f32 are such.
    if op in ("Sin", "Cos", "Tan"):
        x = np.where(np.abs(x) < 100, x, draw.one((np.nan, 0.5))).astype(x.dtype)
    return Node(op, [x], exactly(UNARY[op], x))


def curve(draw):
    op = draw.one(sorted(CURVES))
    defaults, function = CURVES[op]
    x = draw.array(draw.shape(), draw.one(FLOATS), -6, 6, 0.1)
    if op == "Celu":
        x = x.astype(np.float32)
    attributes = {} if draw.chance(0.4) else {k: draw.one((0.25, 0.5, 1.5, 2.0)) for k in defaults}
    # Attributes are f32 in the file, whatever the element type.
    values = {name: float(np.float32(value)) for name, value in {**defaults, **attributes}.items()}
    return Node(op, [x], exactly(lambda v: function(v, **values), x), attributes)


def signed(draw):
    """Abs, Neg, Sign, Relu: of integers too, which wrap."""
    op, function = draw.one([("Abs", np.abs), ("Neg", np.negative), ("Sign", np.sign), ("Relu", lambda x: np.maximum(x, 0))])
    types = {"Abs": FLOATS + INTS, "Sign": FLOATS + INTS, "Relu": FLOATS + (np.int8, np.int32, np.int64),
             "Neg": FLOATS + (np.int8, np.int16, np.int32, np.int64)}
    x = draw.array(draw.shape(), draw.one(types[op]), -50, 50, 0.1)
    return Node(op, [x], np.asarray(function(x)).astype(x.dtype))


def operands(draw, dtypes, count=2, special=0.05, low=-9, high=9):
    dtype = draw.one(dtypes)
    shape = draw.shape()
    return [draw.array(draw.broadcast_from(shape) if i or draw.chance(0.3) else shape, dtype, low, high, special)
            for i in range(count)]


def divided(a, b):
    """Toward zero; what Gantry gives for b = 0, which ONNX leaves open, is 0. Integers come out as Python's."""
    if a.dtype.kind == "f":
        return a / b
    top, bottom = a.astype(object), np.where(b == 0, 1, b).astype(object)
    quotient = np.asarray(abs(top) // abs(bottom), dtype=object)
    return np.where(b == 0, 0, np.where((a < 0) != (b < 0), -quotient, quotient))


def wrapped(values, dtype):
    """Python integers as the element type holds them."""
    bits = 8 * np.dtype(dtype).itemsize
    values = np.asarray(values, dtype=object)
    return np.array([v % 2 ** bits for v in values.ravel()], np.uint64).astype(dtype).reshape(values.shape)


def arithmetic(draw):
    op, function = draw.one([("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", divided)])
    a, b = operands(draw, FLOATS + INTS)
    if op == "Div" and a.dtype.kind != "f":
        return Node(op, [a, b], wrapped(divided(a, b), a.dtype))
    return Node(op, [a, b], exactly(function, a, b))


def several(draw):
    op = draw.one(("Max", "Min", "Sum", "Mean"))
    values = operands(draw, FLOATS if op in ("Sum", "Mean") else FLOATS + INTS, draw.integer(1, 4))
    function = {"Max": np.maximum, "Min": np.minimum}.get(op, np.add)
    def compute(*arrays):
        result = arrays[0]
        for array in arrays[1:]:
            result = function(result, array)
        return result / len(arrays) if op == "Mean" else result
    # Partial sums of f16 are rounded too, and what is left may be small.
    tolerance = (4e-3, 3e-2) if values[0].dtype == np.float16 and op in ("Sum", "Mean") else None
    return Node(op, values, exactly(compute, *values), tolerance=tolerance)


def modulo(draw):
    floats = draw.chance(0.4)
    a, b = operands(draw, FLOATS if floats else INTS, special=0.0)
    if not floats:
        b = np.where(b == 0, 3, b).astype(b.dtype)
        fmod = draw.chance(0.3)
        return Node("Mod", [a, b], np.fmod(a, b) if fmod else np.mod(a, b), {"fmod": 1} if fmod else {})
    b = np.where(np.abs(b) < 0.5, 1.5, b).astype(b.dtype)
    return Node("Mod", [a, b], np.fmod(a, b), {"fmod": 1})


def power(draw):
    dtype = draw.one(FLOATS)
    shape = draw.shape()
    base = draw.array(shape, dtype, 0, 4, 0.05)
    exponent = draw.array(draw.broadcast_from(shape), dtype, -3, 3)
    if draw.chance(0.5):
        exponent = Constant(np.array(draw.one((-1, 0, 0.5, 1, 2, 3, -2, 1.5)), dtype))
        base = draw.array(shape, dtype, -4, 4, 0.05)
    value = exponent.array if isinstance(exponent, Constant) else exponent
    return Node("Pow", [base, exponent], exactly(np.power, base, value))


def comparison(draw):
    op = draw.one(sorted(COMPARISONS))
    a, b = operands(draw, FLOATS + (np.int32, np.int64), special=0.2, low=-2, high=2)
    return Node(op, [a, b], COMPARISONS[op](a, b))


def logic(draw):
    op = draw.one(sorted(LOGIC))
    a, b = operands(draw, (np.bool_,))
    return Node(op, [a, b], LOGIC[op](a, b)) if draw.chance(0.8) else Node("Not", [a], ~a)


def shift(draw):
    dtype = draw.one((np.uint8, np.uint16, np.uint32, np.uint64))
    a, b = operands(draw, (dtype,), low=0, high=200)
    b = (b % (8 * b.dtype.itemsize)).astype(dtype)
    left = draw.chance(0.5)
    return Node("BitShift", [a, b], (np.left_shift if left else np.right_shift)(a, b),
                {"direction": "LEFT" if left else "RIGHT"})


def where(draw):
    shape = draw.shape()
    a, b = (draw.array(draw.broadcast_from(shape), d, -9, 9, 0.1) for d in [draw.one(FLOATS + INTS + (np.bool_,))] * 2)
    condition = draw.array(draw.broadcast_from(shape), np.bool_)
    return Node("Where", [condition, a, b], np.where(condition, a, b), tolerance=(0, 0))


def clip(draw):
    x = draw.array(draw.shape(), draw.one(FLOATS + INTS), -9, 9, 0.1)
    low, high = (np.array(v, x.dtype) if draw.chance(0.75) else None for v in (2, 5))
    # The lowest and the largest number stand for bounds that are missing.
    ends = np.iinfo(x.dtype) if x.dtype.kind in "iu" else np.finfo(x.dtype)
    least, most = ends.min if low is None else low, ends.max if high is None else high
    result = np.where(x < least, least, x)
    result = np.where(result > most, most, result)
    wrap = lambda v: v if v is None or draw.chance(0.5) else Constant(v)
    return Node("Clip", [x, wrap(low), wrap(high)], np.asarray(result).astype(x.dtype), tolerance=(0, 0))


def slope(draw):
    shape = draw.shape()
    dtype = draw.one(FLOATS)
    x, s = draw.array(shape, dtype, -4, 4, 0.1), draw.array(draw.broadcast_from(shape), dtype)
    return Node("PRelu", [x, s], exactly(lambda v, k: np.where(v < 0, v * k, v), x, s))


def question(draw):
    x = draw.array(draw.shape(), draw.one((np.float32, np.float64)), special=0.5)
    if draw.chance(0.4):
        return Node("IsNaN", [x], np.isnan(x))
    positive, negative = draw.integer(0, 1), draw.integer(0, 1)
    expected = (np.isposinf(x) & bool(positive)) | (np.isneginf(x) & bool(negative))
    return Node("IsInf", [x], expected, {"detect_positive": positive, "detect_negative": negative})


def cast(draw):
    """Numbers that fit, since C leaves open what others become."""
    types = list(set(FLOATS)) + list(INTS) + [np.bool_]
    types.sort(key=lambda t: np.dtype(t).name)
    start, end = draw.one(types), draw.one(types)
    x = draw.array(draw.shape(), start, 0 if np.dtype(end).kind == "u" else -90, 90)
    expected = x.astype(end)
    # f64 goes to f16 by way of f32.
    tolerance = (1e-3, 1e-6) if (start, end) == (np.float64, np.float16) else (0, 0)
    return Node("Cast", [x], expected, {"to": ELEMENT_TYPES[np.dtype(end)]}, tolerance=tolerance)


FAMILY = [unary, unary, unary, curve, curve, signed, arithmetic, arithmetic, several, modulo, power, comparison, logic,
          shift, where, clip, slope, question, cast]
