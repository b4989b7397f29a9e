#!/usr/bin/python3
"""Convolutions of f32, transposed ones as well, on CPUs against a chain of fused multiply-adds in the order of window and channels: bit for bit,
in networks that the compiler turns and as ops alone, fused or not, by one and several threads, and on simulated GPUs,
which keep the form with the channels first. Behind some, truth values choose, or are the result. Every fifth case has sums
that underflow to zeros, whose signs count, too: there also the code of emulated GPUs runs.

Usage: convolutions_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import itertools
import json
import pathlib
import sys
import tempfile

import numpy as np

import gantry_api
import groups

SECONDS_PER_CASE = 120
CHANNELS = (1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 17, 24, 32, 33, 48, 64, 67, 80, 96, 130)


def fma(a, b, c):
    """a * b + c in f32, rounded once: in f64 with the last bit made odd where something was lost."""
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    part = total - product
    lost = (product - (total - part)) + (addend - part)
    even = (total.view(np.int64) & 1) == 0
    toward = np.where(lost > 0, np.inf, -np.inf)
    with np.errstate(over="ignore"):
        odd = np.where((lost != 0) & even & np.isfinite(total), np.nextafter(total, toward), total)
        return odd.astype(np.float32)


def convolve(x, w, strides, low, high, dilations, groups):
    """[n, c, y, x] by [o, c / groups, y, x], each element one chain."""
    batch, channels = x.shape[:2]
    outputs, inner = w.shape[:2]
    x = np.pad(x, [(0, 0), (0, 0), *zip(low, high)])
    window, spatial = w.shape[2:], x.shape[2:]
    out = [(s - d * (k - 1) - 1) // stride + 1 for s, k, stride, d in zip(spatial, window, strides, dilations)]
    total = np.zeros((batch, outputs, *out), np.float32)
    group = np.arange(outputs) // (outputs // groups)
    for tap in itertools.product(*(range(k) for k in window)):
        at = tuple(slice(t * d, t * d + (size - 1) * stride + 1, stride)
                   for t, d, size, stride in zip(tap, dilations, out, strides))
        for channel in range(inner):
            read = x[(slice(None), slice(None), *at)][:, group * inner + channel]
            factor = w[(slice(None), channel, *tap)].reshape((1, outputs) + (1,) * len(out))
            total = fma(read, np.broadcast_to(factor, read.shape), total)
    return total


class Graph:
    """Text of a chain of convolutions with what follows them, and its results."""

    LEAST_BORDER = 0
    convolve = staticmethod(convolve)  # also for transposed ones that the compiler makes convolutions

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.inputs, self.constants, self.lines = {}, [], []
        rank = self.pick((1, 2, 2, 2, 2, 3))
        # Of large images of few channels most blocks touch no border, and those have loops of their own.
        large = rank == 2 and self.random.random() < 0.3
        sizes = (int(self.random.integers(*((16, 28) if large else (3, 12) if rank < 3 else (3, 6)))) for _ in range(rank))
        self.value = self.draw((self.pick((1, 1, 2)), self.pick((1, 2, 3, 8) if large else CHANNELS), *sizes))
        self.name = "%x"
        self.inputs["x"] = self.value

    def pick(self, choices):
        return choices[self.random.integers(len(choices))]

    def draw(self, shape):
        return self.random.standard_normal(shape).astype(np.float32)

    @staticmethod
    def type(array):
        return "tensor<" + "".join(f"{size}x" for size in array.shape) + ("i1>" if array.dtype == bool else "f32>")

    def operand(self, array):
        name = f"c{len(self.inputs)}"
        self.inputs[name] = array
        return "%" + name

    def constant(self, array):
        """In the text, so that it is packed when compiling."""
        name = f"%k{len(self.constants)}"
        bits = "".join(f"{word:08X}" for word in array.astype("<f4").view(np.uint32).byteswap().ravel())
        self.constants.append(f'{name} = gantry.constant dense<"0x{bits}"> : {self.type(array)}' if array.size > 1 else
                              f"{name} = gantry.constant dense<{float(array.ravel()[0])!r}> : {self.type(array)}")
        return name

    def add(self, text, operands, result):
        name = f"%v{len(self.lines)}"
        types = ", ".join(self.type(array) for _, array in operands)
        self.lines.append(f"{name} = gantry.{text.format(', '.join(name for name, _ in operands))} : "
                          f"({types}) -> {self.type(result)}")
        self.name, self.value = name, result

    def convolution(self):
        x, spatial = self.value, self.value.shape[2:]
        depthwise = x.shape[1] > 1 and self.random.random() < 0.3
        groups = x.shape[1] if depthwise else self.pick([g for g in (1, 1, 1, 2, 4) if x.shape[1] % g == 0])
        outputs = x.shape[1] if depthwise else groups * max(1, self.pick(CHANNELS) // groups)
        single = self.random.random() < 0.3
        window = [1 if single else int(self.random.integers(1, min(4, s) + 1)) for s in spatial]
        strides = [self.pick((1, 1, 2)) for _ in spatial]
        dilations = [self.pick((1, 1, 1, 2)) for _ in spatial]
        low = [self.pick((0, 1, k - 1)) for k in window]
        low[0] = max(low[0], self.LEAST_BORDER)
        high = [max(self.pick((0, 1, k - 1)), d * (k - 1) + 1 - s - l) for s, k, d, l in
                zip(spatial, window, dilations, low)]
        self.convolve_by(outputs, window, strides, low, high, dilations, groups)

    def convolve_by(self, outputs, window, strides, low, high, dilations, groups):
        x = self.value
        w = self.draw((outputs, x.shape[1] // groups, *window))
        if self.random.random() < 0.1:
            w.ravel()[0] = np.inf
        make = self.operand if self.random.random() < 0.3 or w.size == 1 else self.constant
        array = lambda values: "array<i64: " + ", ".join(map(str, values)) + ">"
        attributes = (f"{{{{strides = {array(strides)}, pads_low = {array(low)}, pads_high = {array(high)}, "
                      f"dilations = {array(dilations)}, groups = {groups} : i64}}}}")
        # With a border no sum is -0.
        plus = np.float32(0 if any(low) or any(high) else -0.0)
        self.add("conv {} " + attributes, [(self.name, x), (make(w), w)],
                 self.convolve(x, w, strides, low, high, dilations, groups) + plus)

    def block(self):
        """Of each channel by itself, between convolutions of pixels: what CPUs compute row by row."""
        self.inputs.clear()
        wide = self.random.random() < 0.2  # more than the stack has room for
        rows, columns = (int(self.random.integers(*sizes)) for sizes in (((3, 9), (60, 70)) if wide else ((1, 15), (1, 15))))
        self.value = self.draw((self.pick((1, 1, 2, 3)), self.pick(CHANNELS), rows, columns))
        self.inputs["x"], self.name = self.value, "%x"
        first, (expands, projects) = self.value, self.pick(((True, True), (True, True), (False, True), (True, False)))
        ones, zeros = (1, 1), (0, 0)
        if expands or first.shape[1] == 1:
            self.convolve_by(130 if wide else self.pick(CHANNELS[1:]), ones, ones, zeros, zeros, ones, 1)
            self.activate()
        channels, spatial = self.value.shape[1], self.value.shape[2:]
        window = [self.pick((1, 3, 3, 5)) for _ in spatial]
        dilations = [self.pick((1, 1, 1, 2)) for _ in spatial]
        low = [self.pick((0, k // 2, k - 1)) for k in window]
        high = [max(self.pick((0, k // 2, k - 1)), d * (k - 1) + 1 - s - l) for s, k, d, l in
                zip(spatial, window, dilations, low)]
        self.convolve_by(channels, window, [self.pick((1, 1, 2, 3)) for _ in spatial], low, high, dilations, channels)
        self.activate()
        if projects:
            outputs = first.shape[1] if self.value.shape[2:] == first.shape[2:] else self.pick(CHANNELS)
            self.convolve_by(outputs, ones, ones, zeros, zeros, ones, 1)
            self.activate()
        if self.value.shape == first.shape:
            self.add("add {}", [(self.name, self.value), ("%x", first)], self.value + first)

    def activate(self):
        """A bias, and what reads its result more than once."""
        self.follow(whole=False)
        if self.random.random() < 0.3:
            name, value = self.name, self.value
            self.add("relu {}", [(name, value)], np.maximum(value, np.float32(0)))
            self.add("mul {}", [(name, value), (self.name, self.value)], value * self.value)

    def transposed(self):
        """As a convolution of the image with zeros between its pixels."""
        x, spatial = self.value, self.value.shape[2:]
        strides = [self.pick((1, 2, 2, 3)) if size < 12 else 1 for size in spatial]
        window = [max(1, stride * self.pick((1, 1, 2)) + self.pick((0, 0, -1, 1))) for stride in strides]
        low, high = ([self.pick((0, 0, k - 1)) if size > 2 else 0 for k, size in zip(window, spatial)] for _ in "lh")
        more = [self.pick((0, 0, stride - 1)) for stride in strides]
        w = self.draw((x.shape[1], min(self.pick(CHANNELS), 48), *window))
        make = self.operand if self.random.random() < 0.3 or w.size == 1 else self.constant
        array = lambda values: "array<i64: " + ", ".join(map(str, values)) + ">"
        attributes = (f"{{{{strides = {array(strides)}, pads_low = {array(low)}, pads_high = {array(high)}, dilations = "
                      f"{array([1] * len(window))}, output_pads = {array(more)}, groups = 1 : i64}}}}")
        spread = np.zeros((*x.shape[:2], *(stride * (size - 1) + 1 for stride, size in zip(strides, spatial))), np.float32)
        spread[(..., *(slice(None, None, stride) for stride in strides))] = x
        turned = np.flip(w.swapaxes(0, 1), range(2, w.ndim))
        ones = [1] * len(window)
        suits = any(s > 1 for s in strides) and not any(k % s or m > h for k, s, m, h in zip(window, strides, more, high))
        compute = self.convolve if suits else convolve
        self.add("conv_transpose {} " + attributes, [(self.name, x), (make(w), w)],
                 compute(spread, turned, ones, [k - 1 - l for k, l in zip(window, low)],
                         [k - 1 - h + m for k, h, m in zip(window, high, more)], ones, 1))

    def follow(self, whole=True):
        if self.random.random() < 0.7:
            bias = self.draw((1, self.value.shape[1]) + (1,) * (self.value.ndim - 2))
            self.add("add {}", [(self.name, self.value), (self.constant(bias), bias)], self.value + bias)
        if whole and self.random.random() < 0.3:
            other = self.draw(self.value.shape)
            self.add("add {}", [(self.name, self.value), (self.operand(other), other)], self.value + other)
        if self.random.random() < 0.5:
            self.add("relu {}", [(self.name, self.value)], np.maximum(self.value, np.float32(0)))

    def choose(self):
        """By truth values that are given, each a byte of memory."""
        chosen, other = self.random.random(self.value.shape) < 0.5, self.draw(self.value.shape)
        self.add("select {}", [(self.operand(chosen), chosen), (self.name, self.value), (self.operand(other), other)],
                 np.where(chosen, self.value, other))

    def decide(self):
        """Truth values as results."""
        least = np.array(0.25, np.float32)
        self.add("compare gt, {}", [(self.name, self.value), (self.constant(least), least)], self.value > least)

    def text(self):
        arguments = ", ".join(f'%{name}: {self.type(array)} {{gantry.name = "{name}"}}'
                              for name, array in self.inputs.items())
        body = "\n    ".join(self.constants + self.lines)
        return (f'func.func @main({arguments}) -> ({self.type(self.value)} {{gantry.name = "y"}}) {{\n'
                f"    {body}\n    return {self.name} : {self.type(self.value)}\n}}\n")


class Underflow(Graph):
    """Products are too small for numbers, and a sum is the zero of the last one's sign, but for the border's +0."""

    LEAST_BORDER = 1

    def draw(self, shape):
        sign = np.where(self.random.random(shape) < 0.5, -1, 1)
        return (sign * self.random.choice((2.0**-80, 2.0**-130), shape)).astype(np.float32)

    def follow(self):
        if self.random.random() < 0.5:
            zeros = np.where(self.random.random((1, self.value.shape[1]) + (1,) * (self.value.ndim - 2)) < 0.5,
                             np.float32(0), np.float32(-0.0))
            self.add("add {}", [(self.name, self.value), (self.constant(zeros), zeros)], self.value + zeros)


def same(actual, expected):
    """Of two NaNs either may be there, and of two zeros behind a maximum."""
    return actual.shape == expected.shape and bool(
        np.all((actual == expected) | (np.isnan(actual) & np.isnan(expected))))


# With CPUs at so little arithmetic every convolution is worth its reorders, else few of these are.
SLOW = "topology"
FORMS = (((), 2), ((SLOW,), 1), ((SLOW, "target-cpu=x86-64-v3"), 3), ((SLOW, "no-fuse"), 2), ((SLOW, "place=op:Relu=CPU:1"), 2),
         (("devices=CPU:0,GPU:0", "simulate", "place=op:Conv2D=GPU:0"), 2))

SIGNED_FORMS = [((), 2), ((SLOW,), 1), ((SLOW, "no-fuse"), 2)]
if not gantry_api.AARCH64:
    SIGNED_FORMS.append((("devices=CPU:0,GPU:0", "place=op:Conv2D=GPU:0"), 1))


def slow_topology(folder):
    """Two CPUs of the host, as a file."""
    name = "/job:localhost/replica:0/task:0/{}:CPU:{}"
    physical = [{"name": name.format("physical_device", i), "driver": "host", "bandwidth": 1e12,
                 "peak_flops": {"f32": 1e3}} for i in range(2)]
    logical = [{"name": name.format("device", i), "physical": cpu["name"]} for i, cpu in enumerate(physical)]
    file = folder / "slow.json"
    file.write_text(json.dumps({"physical": physical, "logical": logical, "links": []}))
    return file


# Chains are rarely worth it for small images, but for their memory.
CHAINED = (((SLOW, "chains=memory"), 1), ((SLOW, "chains=memory"), 2), ((SLOW, "chains=memory"), 8),
           ((SLOW, "chains=memory", "target-cpu=x86-64-v3"), 3), ((SLOW, "chains=none"), 2), ((SLOW, "chains=memory", "no-fuse"), 2))


def check(seed):
    number = seed[-1] if isinstance(seed, tuple) else seed
    if number % 5 == 4:
        graph = Underflow(seed)
        graph.convolution()
        graph.follow()
        return compare(graph, SIGNED_FORMS, groups.same_bits)
    graph = Graph(seed)
    if number % 3 == 0:
        graph.block()
        return compare(graph, CHAINED, same)
    return check_forms(graph, FORMS)


def check_forms(graph, forms):
    for _ in range(int(graph.random.integers(1, 4))):
        graph.transposed() if graph.random.random() < 0.25 else graph.convolution()
        graph.follow()
        if graph.random.random() < 0.15:
            graph.choose()
    if graph.random.random() < 0.15:
        graph.decide()
    return compare(graph, forms, same)


def compare(graph, forms, are_same):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "graph.mlir"
        file.write_text(graph.text())
        slow = slow_topology(pathlib.Path(folder))
        for flags, threads in forms:
            given = [f"{SLOW}={slow}" if flag == SLOW else flag for flag in flags]
            try:
                plan = gantry_api.Plan(gantry_api.compile_model(file, given, {}), threads)
                actual = plan.run({name: graph.inputs[name] for name in plan.inputs})["y"]
            except (gantry_api.Refused, gantry_api.ApiError) as error:
                return f"{flags}: {error}"
            if not are_same(actual, graph.value):
                wrong = np.argwhere((actual != graph.value) & ~(np.isnan(actual) & np.isnan(graph.value)) |
                                    (np.signbit(actual) != np.signbit(graph.value)))
                where = tuple(int(i) for i in wrong[0])
                return (f"{flags}, {threads} threads: {len(wrong)} of {actual.size} elements differ, first at {where}: "
                        f"{actual[where]!r}, expected {graph.value[where]!r}")
    return None


def main():
    np.seterr(invalid="ignore")  # some weights are infinite
    gantry_api.EMULATE = 2  # plans that have code of GPUs
    options, count, failures = groups.drawn_checks(__doc__, check, 40, SECONDS_PER_CASE)
    return groups.report("convolutions", count, failures, options.json)


if __name__ == "__main__":
    sys.exit(main())
