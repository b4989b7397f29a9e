#!/usr/bin/python3
"""Products whose factors --math rounds, bit for bit: the sums that AVX512-BF16 and fused multiply-adds give.

The cases of product_bits_test.py. With --math=bf16 a sum goes on by pairs of terms, the odd one first; where the
processor has AVX512-BF16, subnormal factors and sums count as zeros, so code for it and code for x86-64-v3 are compared
with a scalar loop each. With --math=f16 the terms follow each other. Some cases have factors so small that products
and sums are subnormal.

Usage: product_math_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import functools
import pathlib
import sys

import numpy as np

import groups
from product_bits_test import CASES_OF_A_FILE, make_case, multiply_add
from products_test import pack, round_to_bf16

LEAST = np.float32(2.0**-126)  # of the normal numbers


def flush(x):
    """Subnormal numbers as zeros of their sign."""
    return np.where(np.abs(x) < LEAST, np.copysign(np.float32(0), x), x)


def sums(x, y, order, after=lambda x: x):
    """Of [..., m, k] by [..., k, n]: one term after the other, in this order."""
    total = np.zeros((*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]), np.float32)
    for k in order:
        total = after(multiply_add(x[..., :, k, None], y[..., None, k, :], total))
    return total


def bf16(x, y, flushes):
    x, y, terms = round_to_bf16(x), round_to_bf16(y), x.shape[-1]
    order = [k for pair in range(0, terms, 2) for k in (pair + 1, pair) if k < terms]
    return sums(flush(x), flush(y), order, flush) if flushes else sums(x, y, order)


def f16(x, y):
    with np.errstate(over="ignore"):
        return sums(x.astype(np.float16).astype(np.float32), y.astype(np.float16).astype(np.float32), range(x.shape[-1]))


def has_dot_product():
    return " avx512_bf16" in pathlib.Path("/proc/cpuinfo").read_text()


def cpu_of_vectors():
    """This processor, but for its matrices: amx_test.py has those."""
    return "x86-64-v4+avx512_bf16" if has_dot_product() else "native"


def main():
    draw = functools.partial
    kinds = (("math=bf16", f"target-cpu={cpu_of_vectors()}", draw(bf16, flushes=has_dot_product())),
             ("math=bf16", "target-cpu=x86-64-v3", draw(bf16, flushes=False)),
             ("math=f16", "target-cpu=native", f16))

    def of(kind):
        # Every eighth case has numbers whose products are subnormal.
        return lambda seed, number: make_case(seed, number, kinds[kind][2], 1e-19 if number % 8 == 7 else 1)

    arguments, cases = groups.drawn_cases(__doc__, lambda seed, number: (number, of(number % 3)(seed, number)), count=90)
    outcomes = {}
    for kind, (math, cpu, _) in enumerate(kinds):
        own = [case for number, case in cases if number % 3 == kind]
        if own:
            outcomes.update(groups.Suite(own, pack, (math, cpu, *arguments.flag)).run(CASES_OF_A_FILE, arguments.jobs))
    return groups.report("product-math", len(cases), outcomes, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
