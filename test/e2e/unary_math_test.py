#!/usr/bin/python3
"""Every op of one operand at the places where functions break, against NumPy: infinities, NaN, zeros of
both signs, subnormals, the ends of the range, where results overflow and where they become subnormal, and
some thousand numbers of all sizes, in f32 and f64.

A result may be off by a few units in the last place of the right one; whether it is NaN, infinite or
zero, and the sign of zero, has to be exact.

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
UNITS = 4  # in the last place: polynomials of degree 5 to 9 and a few roundings


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
    return np.array([*points, *(-p for p in points)], dtype)


def expected(op, x):
    """In f64 where there is something wider than the element type, rounded once."""
    if x.dtype == np.float64:
        return FUNCTIONS[op](x)
    if op == "sigmoid":
        return (1 / (1 + np.exp(-x).astype(np.float64))).astype(x.dtype)
    return FUNCTIONS[op](x.astype(np.float64)).astype(x.dtype)


def wrong_places(op, x, actual):
    """Mask of the results that are not right."""
    right = expected(op, x)
    special = ~np.isfinite(right) | (right == 0)
    exact = (actual == right) & (np.signbit(actual) == np.signbit(right)) | np.isnan(actual) & np.isnan(right)
    unit = np.spacing(np.abs(right)).astype(np.float64)
    close = np.abs(actual.astype(np.float64) - right.astype(np.float64)) <= UNITS * unit
    # The last step before infinity may be rounded to it, and the first one after zero to zero.
    edge = (np.abs(right) >= np.finfo(x.dtype).max * (1 - 1e-6)) | (np.abs(right) <= 4 * np.finfo(x.dtype).smallest_subnormal)
    return ~(exact | close & (~special | edge) & (np.signbit(actual) == np.signbit(right)))


def check(element, dtype):
    """{op: what is wrong}, all of them as one graph."""
    x, ops = places(dtype), list(FUNCTIONS)
    type = f"tensor<{x.size}x{element}>"
    lines = [f"%{i} = gantry.{op} %x : ({type}) -> {type}" for i, op in enumerate(ops)]
    results = ", ".join(f"%{i}" for i in range(len(ops))), ", ".join([type] * len(ops))
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "functions.mlir"
        file.write_text(f"func.func @main(%x: {type}) -> ({results[1]}) {{\n  " + "\n  ".join(lines) +
                        f"\n  return {results[0]} : {results[1]}\n}}\n")
        outputs = gantry_api.compile_for(file, {}).run({"input0": x})
    failures = {}
    with np.errstate(all="ignore"):
        for i, op in enumerate(ops):
            actual = outputs[f"output{i}"]
            wrong = wrong_places(op, x, actual)
            if wrong.any():
                first = np.argmax(wrong)
                failures[f"{op} of {element}"] = (f"{wrong.sum()} of {x.size} are wrong: {op}({x[first]!r}) gives "
                                                  f"{actual[first]!r}, expected {expected(op, x)[first]!r}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", help="accepted, not used")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    gantry_api.load(arguments.build_dir)
    failures = {**check("f32", np.float32), **check("f64", np.float64)}
    return groups.report("unary functions", 2 * len(FUNCTIONS), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
