#!/usr/bin/python3
"""Convolutions whose factors --math=bf16 rounds, bit for bit: the cases of convolutions_test.py against sums that go on
by pairs of channels, the odd one first.

Images and filters are rounded to the nearest; of an odd number of channels zeros are the last ones' partners. What
stays f32 is the chain of f32: convolutions of one channel a group, or of an odd number in each of several groups, and
transposed ones whose window is no multiple of their strides. Where the processor has AVX512-BF16, subnormal factors and
sums count as zeros, so code for it and code for x86-64-v3 are compared with a loop each. With --math=f16 all is f32.

Usage: convolution_math_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import functools
import itertools
import pathlib
import sys

import numpy as np

import convolutions_test
import groups
from convolutions_test import SLOW, fma
from product_math_test import flush, has_dot_product, round_to_bf16


def convolve_pairs(x, w, strides, low, high, dilations, groups, flushes):
    """As convolutions_test.convolve, of pairs of channels."""
    inner = w.shape[1]
    if inner == 1 or (groups > 1 and inner % 2):
        return convolutions_test.convolve(x, w, strides, low, high, dilations, groups)
    after = flush if flushes else lambda values: values
    x, w = after(round_to_bf16(x)), after(round_to_bf16(w))
    if inner % 2:
        x, w = (np.pad(values, [(0, 0), (0, 1)] + [(0, 0)] * (values.ndim - 2)) for values in (x, w))
        inner += 1
    x = np.pad(x, [(0, 0), (0, 0), *zip(low, high)])
    outputs, window, spatial = w.shape[0], w.shape[2:], x.shape[2:]
    out = [(s - d * (k - 1) - 1) // stride + 1 for s, k, stride, d in zip(spatial, window, strides, dilations)]
    total = np.zeros((x.shape[0], outputs, *out), np.float32)
    group = np.arange(outputs) // (outputs // groups)
    for tap in itertools.product(*(range(k) for k in window)):
        at = tuple(slice(t * d, t * d + (size - 1) * stride + 1, stride)
                   for t, d, size, stride in zip(tap, dilations, out, strides))
        for pair in range(0, inner, 2):
            for channel in (pair + 1, pair):
                read = x[(slice(None), slice(None), *at)][:, group * inner + channel]
                factor = w[(slice(None), channel, *tap)].reshape((1, outputs) + (1,) * len(out))
                total = after(fma(read, np.broadcast_to(factor, read.shape), total))
    return total


# Code for a processor with AVX512-BF16, if this one has it; code without it; and what rounds nothing.
NATIVE = ((("math=bf16",), 2), (("math=bf16", SLOW), 1), (("math=bf16", "no-fuse"), 3),
          (("math=bf16", SLOW, "place=op:Relu=CPU:1"), 2))
# Of what this machine runs.
WIDE = "x86-64-v4" if " avx512bw" in pathlib.Path("/proc/cpuinfo").read_text() else "x86-64-v3"
PLAIN = ((("math=bf16", SLOW, "target-cpu=x86-64-v3"), 2), (("math=bf16", "no-fuse", f"target-cpu={WIDE}"), 1))
EXACT = ((("math=f16",), 2),)


def check(seed):
    kind = seed[-1] % 4 if isinstance(seed, tuple) else seed % 4
    graph = convolutions_test.Graph(seed)
    if kind < 3:
        graph.convolve = functools.partial(convolve_pairs, flushes=kind < 2 and has_dot_product())
    return convolutions_test.check_forms(graph, (NATIVE, NATIVE, PLAIN, EXACT)[kind])


def main():
    np.seterr(invalid="ignore")  # some weights are infinite
    options, count, failures = groups.drawn_checks(__doc__, check, 40, convolutions_test.SECONDS_PER_CASE)
    return groups.report("convolution-math", count, failures, options.json)


if __name__ == "__main__":
    sys.exit(main())
