#!/usr/bin/python3
"""Every op of one operand at the places where functions break, against NumPy: infinities, NaN, zeros of
both signs, subnormals, the ends of the range, where results overflow and where they become subnormal, angles
of all sizes, and some thousand numbers of all sizes, in f32 and f64. pow and the remainder likewise, on all
pairs of such places.

A result may be off by what docs/Arithmetic.md promises for the function, against NumPy's of twice the
precision; whether it is NaN, infinite or zero, and the sign of zero, has to be exact. Code for another CPU
gives the same bits.

Usage: unary_math_test.py --build-dir BUILD [--json FILE]
"""

import argparse
import math
import pathlib
import sys
import tempfile

import numpy as np

import gantry_api
import groups

# In f64 only, which is the precision that it is compared in: a unit more for f64.
erf = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS = {
    "abs": np.abs, "neg": np.negative, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x, "exp": np.exp, "expm1": np.expm1,
    "log": np.log, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": erf, "softplus": lambda x: np.logaddexp(0, x),
    "relu": lambda x: np.where(x < 0, 0, x),
    "softsign": lambda x: x / (1 + np.abs(x)),
    # 0 where e^-x is infinite in the element type: then the formula divides by infinity.
    "sigmoid": lambda x: 1 / (1 + np.exp(-x))}
# In the last place of the exact result: what one rounding gives, what docs/Arithmetic.md promises, and for
# formulas of several functions the sum of their errors.
EXACT = ("abs", "neg", "floor", "ceil", "round", "trunc", "sqrt", "reciprocal", "relu")
UNITS = {**dict.fromkeys(FUNCTIONS, 1.5), **dict.fromkeys(EXACT, 0.5),
         **dict.fromkeys(("tan", "atan", "sinh", "tanh", "asinh", "acosh", "atanh"), 2.5), "softplus": 4, "softsign": 1.5, "sigmoid": 3}
# Narrow vectors, and a multiply-add in software: the bits are the same.
OTHER_CPU = "x86-64-v2"
PAIRS = {"pow": (np.power, 1), "rem": (np.fmod, 0)}


def places(dtype):
    """Where functions break, then numbers of all sizes."""
    info, draw = np.finfo(dtype), np.random.default_rng(0)
    points = [0.0, np.inf, np.nan, info.tiny, info.smallest_subnormal, info.tiny / 2, info.max, info.eps, 1, 1 + info.eps,
              1 - info.eps, 0.5, 2, math.pi, math.pi / 2, 2.414213562373095, 0.4142135623730950]
    overflow, subnormal = info.maxexp * math.log(2), -info.minexp * math.log(2)
    points += [overflow + d for d in (-2, -0.1, -0.01, 0.01, 1)]
    points += [subnormal + d for d in (-1, -0.1, 0.1, 5, 10, 15, 17, 30, 36, 40)]
    points += list(draw.normal(size=300) * 3) + list(10 ** draw.uniform(-12, 5, 300)) + \
        list(2.0 ** draw.uniform(info.minexp - info.nmant, info.maxexp - 1, 400))
    # Multiples of pi/2, next to which little of an angle is left.
    points += list(np.arange(1, 100) * (np.longdouble(math.pi) / 2)) + [2.0**76 * 1.4170791, 2.0**127, 1e22]
    return np.array([*points, *(-p for p in points)], dtype)


def pairs(dtype):
    """Every one of some numbers with every one of some, then pairs whose powers are of all sizes."""
    info, draw = np.finfo(dtype), np.random.default_rng(1)
    few = [0, np.inf, np.nan, 1, 2, 3, 0.5, 1.5, 7, 1 + info.eps, 1 - info.eps, info.tiny, info.smallest_subnormal, info.max,
           2.0 ** info.nmant - 0.5, 2.0 ** info.nmant + 1, 2.0 ** (info.nmant + 1), 1e30, -info.minexp, info.maxexp]
    few = np.array([*few, *(-f for f in few)], dtype)
    x = (2.0 ** draw.uniform(info.minexp, info.maxexp, 1000)).astype(dtype)
    y = (draw.uniform(info.minexp, info.maxexp, 1000) / np.log2(x)).astype(dtype)
    return np.concatenate([np.repeat(few, few.size), x]), np.concatenate([np.tile(few, few.size), y])


def expected(op, x):
    """With more precision than the element type's."""
    wide = np.float64 if x[0].dtype == np.float32 or op == "erf" else np.longdouble
    if op == "sigmoid":
        return 1 / (1 + np.exp(-x[0].astype(wide)).astype(x[0].dtype).astype(wide))
    function = FUNCTIONS[op] if op in FUNCTIONS else PAIRS[op][0]
    return function(*(operand.astype(wide) for operand in x))


def wrong_places(op, x, actual):
    """Mask of the results that are not right."""
    dtype, info = actual.dtype, np.finfo(actual.dtype)
    exact = expected(op, x)
    right = exact.astype(dtype)
    units = UNITS[op] if op in UNITS else PAIRS[op][1]
    if op == "erf" and dtype == np.float64:
        units += 1
    same = (actual == right) & (np.signbit(actual) == np.signbit(right)) | np.isnan(actual) & np.isnan(right)
    # The unit of results that round up to a power of two is that below it.
    unit = np.spacing(np.nextafter(np.abs(right), dtype.type(0))).astype(exact.dtype)
    close = np.abs(actual.astype(exact.dtype) - exact) <= units * unit
    special = ~np.isfinite(right) | (right == 0)
    # The last step before infinity may be rounded to it, and the first one after zero to zero.
    large = info.max * (1 - 4 * info.eps)
    edge = np.isfinite(exact) & (np.abs(exact) >= large) & (np.abs(actual) >= large)
    small = (np.abs(exact) <= 2 * info.smallest_subnormal) & (np.abs(actual) <= 2 * info.smallest_subnormal)
    return ~(same | (close & ~special | edge | small) & (np.signbit(actual) == np.signbit(right)))


def check(element, dtype, ops, x):
    """{op: what is wrong}, all of them as one graph of the operands x."""
    type = f"tensor<{x[0].size}x{element}>"
    names = ["%x", "%y"][:len(x)]
    operands, types = ", ".join(names), ", ".join([type] * len(x))
    lines = [f"%{i} = gantry.{op} {operands} : ({types}) -> {type}" for i, op in enumerate(ops)]
    results = ", ".join(f"%{i}" for i in range(len(ops))), ", ".join([type] * len(ops))
    arguments = ", ".join(f"{name}: {type}" for name in names)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "functions.mlir"
        file.write_text(f"func.func @main({arguments}) -> ({results[1]}) {{\n  " + "\n  ".join(lines) +
                        f"\n  return {results[0]} : {results[1]}\n}}\n")
        inputs = {f"input{i}": operand for i, operand in enumerate(x)}
        outputs = gantry_api.compile_for(file, {}).run(inputs)
        others = gantry_api.Plan(gantry_api.compile_model(file, [f"target-cpu={OTHER_CPU}"], {})).run(inputs)
    failures = {}
    with np.errstate(all="ignore"):
        for i, op in enumerate(ops):
            actual = outputs[f"output{i}"]
            other = others[f"output{i}"]
            same = (actual == other) & (np.signbit(actual) == np.signbit(other)) | np.isnan(actual) & np.isnan(other)
            wrong = wrong_places(op, x, actual)
            if not same.all():
                first = np.argmin(same)
                failures[f"{op} of {element}"] = (
                    f"{op}({', '.join(repr(o[first]) for o in x)}) gives {actual[first]!r}, for {OTHER_CPU} "
                    f"{other[first]!r}")
            if wrong.any():
                first = np.argmax(wrong)
                failures[f"{op} of {element}"] = (
                    f"{wrong.sum()} of {x[0].size} are wrong: {op}({', '.join(repr(o[first]) for o in x)}) gives "
                    f"{actual[first]!r}, expected {expected(op, x)[first]!r}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", help="accepted, not used")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    gantry_api.load(arguments.build_dir)
    failures = {}
    with np.errstate(all="ignore"):
        for element, dtype in (("f32", np.float32), ("f64", np.float64)):
            failures |= check(element, dtype, list(FUNCTIONS), [places(dtype)])
            failures |= check(element, dtype, list(PAIRS), pairs(dtype))
    return groups.report("functions of numbers", 2 * (len(FUNCTIONS) + len(PAIRS)), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
