#!/usr/bin/python3
"""Fits the polynomials of lib/Arithmetic and prints their coefficients with the error of each.

Remez' exchange on a fine grid of Chebyshev points, with mpmath at 60 digits. Coefficients are rounded to
their format one after the other from the lowest, and what is left is fitted anew, so that rounding one is
made up for by the others. The error is the largest one of the function over the interval, relative to the
function's value, as a power of two; half a unit in the last place is 2^-25 in f32 and 2^-54 in f64.

Usage: fit_arithmetic.py [NAME ...]      needs mpmath; all take two minutes
"""

import struct
import sys

from mpmath import (asin, atan, atanh, cos, erf, erfc, exp, expm1, fabs, log, log1p, lu_solve, matrix, mp,
                    mpf, pi, sin, sinh, sqrt)

mp.dps = 60


def rounded(value, width):
    """The number of the format nearest to it."""
    value = float(value)
    return value if width == 64 else struct.unpack("f", struct.pack("f", value))[0]


def horner(coefficients, x):
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def remez(points, values, weights, powers):
    """Coefficients for the powers that make the largest weighted error on the points least."""
    n, size = len(powers), len(points)
    chosen = [round(i * (size - 1) / n) for i in range(n + 1)]
    for _ in range(30):
        system = matrix(n + 1, n + 1)
        right = matrix(n + 1, 1)
        for row, at in enumerate(chosen):
            for column, power in enumerate(powers):
                system[row, column] = points[at] ** power
            system[row, n] = (-1) ** row / weights[at]
            right[row] = values[at]
        solution = lu_solve(system, right)
        coefficients, level = list(solution[:n]), fabs(solution[n])
        errors = [(sum(c * x ** p for c, p in zip(coefficients, powers)) - v) * w
                  for x, v, w in zip(points, values, weights)]
        # The largest error of each run of one sign.
        extremes = []
        for i, e in enumerate(errors):
            if extremes and (errors[extremes[-1]] > 0) == (e > 0):
                if fabs(e) > fabs(errors[extremes[-1]]):
                    extremes[-1] = i
            else:
                extremes.append(i)
        while len(extremes) > n + 1:
            extremes.pop(0 if fabs(errors[extremes[0]]) < fabs(errors[extremes[-1]]) else -1)
        largest = max(fabs(e) for e in errors)
        if len(extremes) < n + 1 or largest < level * mpf("1.001"):
            break
        chosen = extremes
    return coefficients, largest


def fit(function, weight, low, high, count, width):
    """`count` coefficients of the format, lowest first, and the largest weighted error."""
    size = 24 * (count + 2)
    points = [(low + high) / 2 - (high - low) / 2 * cos(pi * (i + mpf(1) / 2) / size) for i in range(size)]
    values, weights = [function(x) for x in points], [weight(x) for x in points]
    fixed, rest = [], list(values)
    for power in range(count):
        coefficients, _ = remez(points, rest, weights, range(power, count))
        fixed.append(mpf(rounded(coefficients[0], width)))
        rest = [v - fixed[-1] * x ** power for v, x in zip(rest, points)]
    return fixed, max(fabs(v * w) for v, w in zip(rest, weights))


half_ln2 = log(2) / 2 * mpf("1.0001")
low_f, high_f = sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1
top_s = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2 * mpf("1.001")
tiny = mpf(10) ** -12


def odd(function, lead=1):
    """(g, weight) with function(x) = lead x + x^3 g(x^2), relative to the function."""
    def g(z):
        x = sqrt(z)
        return (function(x) - lead * x) / x ** 3
    return g, lambda z: sqrt(z) ** 3 / function(sqrt(z))


def table():
    exp_q = (lambda r: (expm1(r) - r) / r ** 2 if r else mpf(1) / 2, lambda r: fabs(r ** 2 / expm1(r)))
    yield "exp: 1 + r + r^2 Q(r)", *exp_q, -half_ln2, half_ln2, {32: 6, 64: 11}
    yield ("exp_short: 1 + r + r^2 Q(r)", exp_q[0], lambda r: r ** 2 / exp(r), -half_ln2, half_ln2, {32: 4})
    yield ("log: f - f^2/2 + f^3 P(f)", lambda f: (log1p(f) - f + f * f / 2) / f ** 3,
           lambda f: fabs(f ** 3 / log1p(f)), low_f, high_f, {32: 9})
    yield ("log_s: 2 atanh(s) = 2s + s^3 R(s^2)", *odd(lambda s: 2 * atanh(s), 2), tiny, top_s, {64: 7})
    yield ("log_dw: 2 atanh(s) = 2s + 2/3 s^3 + s^5 L(s^2)",
           lambda z: (2 * atanh(sqrt(z)) - 2 * sqrt(z) - 2 * sqrt(z) ** 3 / 3) / sqrt(z) ** 5,
           lambda z: sqrt(z) ** 5 / (2 * atanh(sqrt(z))), tiny, top_s, {32: 3, 64: 9})
    quarter = (pi / 4 * mpf("1.001")) ** 2
    yield "sin: r + r^3 S(r^2)", *odd(sin), tiny, quarter, {32: 4, 64: 6}
    yield ("cos: 1 - z/2 + z^2 C(z)", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z ** 2, lambda z: z ** 2 / cos(sqrt(z)),
           tiny, quarter, {32: 3, 64: 6})
    yield "asin: x + x^3 R(x^2)", *odd(asin), tiny, mpf(1) / 4, {32: 6, 64: 13}
    yield "atan: y + y^3 A(y^2)", *odd(atan), tiny, high_f ** 2 * mpf("1.0001"), {32: 4, 64: 12}
    yield "sinh: x + x^3 H(x^2)", *odd(sinh), tiny, mpf(1), {32: 4, 64: 7}
    yield ("erf_small: x + x E(x^2)", lambda z: erf(sqrt(z)) / sqrt(z) - 1, lambda z: sqrt(z) / erf(sqrt(z)),
           tiny, mpf(1), {32: 7, 64: 14})
    yield ("erf_big32: log(erfc(x)) = -x B(x)", lambda x: -log(erfc(x)) / x, lambda x: x * erfc(x) / erf(x), mpf(1),
           mpf("4.0"), {32: 6})
    yield ("erf_big64: log(erfc(x)) = -x B(x)", lambda x: -log(erfc(x)) / x, lambda x: x * erfc(x) / erf(x), mpf(1),
           mpf("6.0"), {64: 20})


def main():
    for name, function, weight, low, high, counts in table():
        if len(sys.argv) > 1 and not any(name.startswith(a) for a in sys.argv[1:]):
            continue
        for width, count in counts.items():
            coefficients, error = fit(function, weight, low, high, count, width)
            print(f"{name} in f{width}, {count} coefficients, highest first; error 2^{float(log(error, 2)):.1f}")
            digits = 17 if width == 64 else 9
            print("  " + ", ".join(f"{float(c):.{digits}g}" for c in reversed(coefficients)), flush=True)


if __name__ == "__main__":
    main()
