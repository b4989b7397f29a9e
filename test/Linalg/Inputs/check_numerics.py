"""Numeric cases of the lowering to linalg; exit status 1 when one is wrong. Argument: a folder."""

import itertools
import math
import sys

import numpy as np

from kernels import Suite

rng = np.random.default_rng(0)
np.seterr(all="ignore")
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
# Without -0, whose sign fast math may lose.
SPECIAL = [0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-4, 20, -20, 100, -100, np.inf, -np.inf,
           np.nan]


def array(values):
    return "array<i64" + (": " + ", ".join(map(str, values)) if len(values) else "") + ">"


def wrap(values, dtype):
    """Python integers into `dtype`, dropping upper bits."""
    low, span = int(np.iinfo(dtype).min), 1 << np.iinfo(dtype).bits
    return np.array([(v - low) % span + low for v in values], dtype=dtype)


def truncated_quotient(a, b):
    if b == 0:
        return 0
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def integer_power(a, b, bits):
    if b >= 0:
        return pow(a, b, 1 << bits)
    return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)


def add_integers(suite):
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        ends = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1]
        ends += [-1, -2, -7] if info.min else []
        a, b = (np.array(x, dtype) for x in zip(*itertools.product(ends, ends)))
        pairs = list(zip(map(int, a), map(int, b)))
        formulas = {
            "div": truncated_quotient,
            "rem": lambda p, q: p - q * truncated_quotient(p, q) if q else 0,
            "mod": lambda p, q: p % q if q else 0,
            "pow": lambda p, q: integer_power(p, q, info.bits),
            "shift_left": lambda p, q: p << q if 0 <= q < info.bits else 0,
            "shift_right": lambda p, q: p >> q if 0 <= q < info.bits else 0,
            "maximum": max, "minimum": min, "add": lambda p, q: p + q,
            "mul": lambda p, q: p * q}
        for name, formula in formulas.items():
            expected = wrap([formula(p, q) for p, q in pairs], dtype)
            suite.add(f"gantry.{name} %0, %1", [a, b], expected)
        suite.add("gantry.compare lt, %0, %1", [a, b], a < b)
        suite.add("gantry.abs %0", [a], np.abs(a))
        suite.add("gantry.sign %0", [a], np.sign(a))
        m = rng.integers(info.min, info.max, (3, 4), dtype=dtype, endpoint=True)
        wide = m.astype("i4") if m.itemsize == 1 else m
        suite.add("gantry.matmul %0, %1 {transpose_b}", [m, m], wide @ wide.T)
        suite.add("gantry.reduce_max %0 {axes = array<i64: 1>}", [m], m.max(1))


def add_casts(suite):
    for source, dtype in itertools.product(["f2", "f4", "f8"], INTEGERS):
        info = np.iinfo(dtype)
        ends = [float(info.min), float(info.max), info.max * 1.01, info.min * 1.01 - 1, 127.5, -0.7]
        x = np.array(SPECIAL + ends, "f8").astype(source)
        expected = [0 if np.isnan(v) else info.max if v == np.inf else info.min if v == -np.inf
                    else min(max(int(v), info.min), info.max) for v in x.astype("f8")]
        suite.add("gantry.cast %0", [x], np.array(expected, dtype))
    for source, target in itertools.product(INTEGERS, INTEGERS + ["f4", "f8", "?"]):
        info = np.iinfo(source)
        x = rng.integers(info.min, info.max, 20, dtype=source, endpoint=True)
        suite.add("gantry.cast %0", [x], x.astype(target))


def add_floats(suite):
    erf = np.vectorize(math.erf)
    softplus = lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    unary = {"relu": lambda x: np.where(x < 0, 0, x), "sign": np.sign, "round": np.rint,
             "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "softplus": softplus,
             "mish": lambda x: x * np.tanh(softplus(x)),
             "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2,
             "hard_swish": lambda x: x * np.clip(x / 6 + .5, 0, 1), "rsqrt": lambda x: 1 / np.sqrt(x)}
    binary = {"maximum": np.maximum, "minimum": np.minimum, "rem": np.fmod, "div": np.divide,
              "pow": np.power}
    # Rounding of results: half of the last place of f16, a few places of f32 and f64.
    for dtype, tolerance in (("f2", 1e-3), ("f4", 2e-6), ("f8", 1e-13)):
        x = np.array(SPECIAL, dtype)
        for name, formula in unary.items():
            expected = formula(x.astype("f8")).astype(dtype)
            suite.add(f"gantry.{name} %0", [x], expected, tolerance)
        a, b = (np.array(v, dtype) for v in zip(*itertools.product(SPECIAL, SPECIAL)))
        for name, formula in binary.items():
            expected = formula(a.astype("f8"), b.astype("f8")).astype(dtype)
            suite.add(f"gantry.{name} %0, %1", [a, b], expected, tolerance)
        suite.add("gantry.compare ne, %0, %1", [a, b], a != b)
        suite.add("gantry.compare le, %0, %1", [a, b], a <= b)


def clamped(index, size):
    return np.clip(np.where(index < 0, index + size, index), 0, size - 1)


def add_indices(suite):
    x = rng.random((3, 4, 5)).astype("f4")
    for axis in range(3):
        i = rng.integers(-9, 9, (2, 3))
        suite.add(f"gantry.gather %0, %1 {{axis = {axis} : i64}}", [x, i],
                  np.take(x, clamped(i, x.shape[axis]), axis))
    for at, axis in itertools.product([0, 1, -1, 3, 99, -99], [0, 1]):
        u = rng.random(np.delete(x.shape, axis)).astype("f4")
        expected = x.copy()
        expected[(slice(None),) * axis + (int(clamped(np.array(at), x.shape[axis])),)] = u
        suite.add(f"gantry.set_slice %0, %1, %2 {{axis = {axis} : i64}}", [x, u, np.array(at)], expected)
    i = rng.integers(-9, 9, (6, 2))
    at = clamped(i[:, 0], 3), clamped(i[:, 1], 4)
    suite.add("gantry.gather_nd %0, %1 {batch_dims = 0 : i64}", [x, i], x[at])
    u = rng.random((6, 5)).astype("f4")
    for reduction, ufunc in (("add", np.add), ("max", np.maximum), ("mul", np.multiply)):
        expected = x.copy()
        ufunc.at(expected, at, u)
        suite.add(f"gantry.scatter_nd %0, %1, %2 {{reduction = #gantry<reduction {reduction}>}}",
                  [x, i, u], expected, 1e-6)
    ties = np.array([3, 1, np.nan, 3, -np.inf, np.nan, 2], "f4")
    for flag, order in (("", [2, 5, 0, 3]), (", smallest", [4, 1, 6, 0])):
        suite.add(f"gantry.top_k %0 {{axis = 0 : i64, k = 4 : i64{flag}}}", [ties],
                  [ties[order], np.array(order)])
    suite.add("gantry.argmax %0 {axis = 0 : i64}", [ties], np.array(2))
    suite.add("gantry.argmax %0 {axis = 0 : i64, last}", [ties], np.array(5))


def add_windows(suite):
    x = np.ones((1, 1, 9), "f4")
    for low, high, stride, window, dilation, ceil in itertools.product(
            (0, 1), (0, 1), (1, 2, 3), (2, 3), (1, 2), (False, True)):
        span = 9 + low + high - dilation * (window - 1) - 1
        outputs = (-(-span // stride) if ceil else span // stride) + 1
        outputs -= ceil and (outputs - 1) * stride >= 9 + low
        # The mean of ones is what lies inside the input over what counts.
        inside = np.array([sum(0 <= o * stride + w * dilation - low < 9 for w in range(window))
                           for o in range(outputs)])
        counted = np.array([sum(0 <= o * stride + w * dilation < 9 + low + high
                                for w in range(window)) for o in range(outputs)])
        attributes = (f"window = {array([window])}, strides = {array([stride])}, "
                      f"pads_low = {array([low])}, pads_high = {array([high])}, "
                      f"dilations = {array([dilation])}" + (", ceil_mode" if ceil else ""))
        suite.add(f"gantry.avg_pool %0 {{{attributes}}}", [x],
                  np.ones((1, 1, outputs), "f4"), 1e-6)
        suite.add(f"gantry.avg_pool %0 {{{attributes}, count_include_pad}}", [x],
                  (inside / counted).astype("f4")[None, None], 1e-6)


def philox(index, seed):
    """First word of Philox4x32-10."""
    mask = 0xffffffff
    c, k0, k1 = [index & mask, index >> 32, 0, 0], seed & mask, seed >> 32
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & mask, (a >> 32) ^ c[3] ^ k1, a & mask]
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return c[0]


def add_random(suite):
    # The known answer of the generator's authors for key and counter 0.
    assert philox(0, 0) == 0x6627e8d5
    seed = 123456789012345
    expected = [(philox(i, seed) >> 8) / 2.0 ** 24 * 5 - 2 for i in range(60)]
    suite.add(f"gantry.random_uniform {{seed = {seed} : i64, low = -2.0 : f64, high = 3.0 : f64}}",
              [], np.array(expected, "f4").reshape(3, 4, 5), 1e-6)


def main():
    suite = Suite()
    for add in (add_integers, add_casts, add_floats, add_indices, add_windows, add_random):
        add(suite)
    return 1 if suite.run(sys.argv[1]) else 0


if __name__ == "__main__":
    sys.exit(main())
