#!/usr/bin/python3
"""Products of bytes against NumPy's integers, byte for byte: MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv, and
what quantisers write around Conv, MatMul and Add (DequantizeLinear in front, QuantizeLinear behind), of sizes from 0 on,
with zero points at the ends of their types, scales for each channel, constant weights and weights that are inputs, batches
of matrices on both sides and attention ("pair", "attention"); by one
to eight threads, fused or not, and on simulated GPUs. A network made by quantize.py keeps its predictions.

Usage: quantized_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import itertools
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

import gantry_api
import groups
import quantize

SECONDS_PER_CASE = 120
KINDS = ("MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv", "conv", "matmul", "block", "dynamicMatMul", "dynamicConv",
         "pair", "pair", "attention")
SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 29, 31, 64, 67)
MANY = 2053  # outputs that no panel divides
FORMS = (((), 1), ((), 2), ((), 8), (("no-fuse",), 3), (("target-cpu=x86-64-v3",), 2), (("target-cpu=x86-64-v2",), 1),
         (("devices=CPU:0,GPU:0", "simulate", "place=op:Conv2D=GPU:0", "place=op:MatMul=GPU:0"), 2))


def convolve(x, w, strides, low, high, dilations):
    """Integers [n, c, ...] by [o, c / groups, ...]; the groups follow from the shapes."""
    outputs, inner = w.shape[:2]
    groups = x.shape[1] // inner
    x = np.pad(x, [(0, 0), (0, 0), *zip(low, high)])
    window, spatial = w.shape[2:], x.shape[2:]
    out = [(s - d * (k - 1) - 1) // stride + 1 for s, k, stride, d in zip(spatial, window, strides, dilations)]
    total = np.zeros((x.shape[0], groups, outputs // groups, *out), np.int64)
    for tap in itertools.product(*(range(k) for k in window)):
        at = tuple(slice(t * d, t * d + (size - 1) * stride + 1, stride)
                   for t, d, size, stride in zip(tap, dilations, out, strides))
        read = x[(slice(None), slice(None), *at)].reshape(x.shape[0], groups, inner, *out)
        factors = w[(slice(None), slice(None), *tap)].reshape(groups, outputs // groups, inner)
        total += np.einsum("ngc...,goc->ngo...", read, factors)
    return total.reshape(x.shape[0], outputs, *out)


def saturate(units, zero):
    """Numbers of f32 in units of the result's scale, rounded half to even."""
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(units) + np.float32(zero), limits.min, limits.max).astype(zero.dtype)


class Case:
    """A model of ONNX, its inputs and its result."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.inputs, self.initial = [], {}, {}
        self.kind = self.pick(KINDS)

    def pick(self, choices):
        return choices[int(self.random.integers(len(choices)))]

    def bytes(self, shape, kind):
        limits = np.iinfo(kind)
        return self.random.integers(limits.min, limits.max + 1, shape).astype(kind)

    def zero(self, kind, count=None):
        """Often at an end of the type; with `count`, one for each."""
        limits = np.iinfo(kind)
        one = lambda: self.pick((0, limits.min, limits.max, int(self.random.integers(limits.min, limits.max + 1))))
        return np.array([one() for _ in range(count)] if count else one(), kind)

    def scale(self, count=None):
        return self.random.uniform(0.001, 0.1, count).astype(np.float32) if count else np.float32(
            self.random.uniform(0.001, 0.1))

    def kind_of_bytes(self):
        return self.pick((np.uint8, np.int8))

    def constant(self, name, value):
        self.initial[name] = np.asarray(value)
        return name

    def input(self, name, value):
        self.inputs[name] = np.asarray(value)
        return name

    def weights(self, value):
        return self.input("w", value) if self.random.random() < 0.2 else self.constant("w", value)

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    # Shapes

    def window(self):
        rank = self.pick((1, 2, 2, 3))
        spatial = [int(self.random.integers(1, 9 if rank < 3 else 5)) for _ in range(rank)]
        channels = self.pick(SIZES)
        depthwise = channels > 1 and self.random.random() < 0.2
        groups = channels if depthwise else self.pick([g for g in (1, 1, 1, 2, 4) if channels % g == 0])
        outputs = channels if depthwise else groups * max(1, self.pick(SIZES) // groups)
        kernel = [int(self.random.integers(1, min(4, s) + 1)) for s in spatial]
        low = [self.pick((0, 1)) for _ in spatial]
        high = [self.pick((0, 1)) for _ in spatial]
        strides, dilations = [self.pick((1, 1, 2)) for _ in spatial], [1] * rank
        attributes = dict(strides=strides, pads=low + high, dilations=dilations, group=groups)
        batch = self.pick((0, 1, 1, 1, 2))
        return (batch, channels, *spatial), (outputs, channels // groups, *kernel), (strides, low, high, dilations), attributes

    def matrices(self):
        m, k, n = self.pick((0,) + SIZES), self.pick(SIZES + (0,)), self.pick(SIZES + (MANY,))
        batch = self.pick(((), (), (2,), (2, 3)))
        return (*batch, m, k), (k, n)

    # Kinds

    def make(self):
        if self.kind.startswith("dynamic"):
            return self.dynamic()
        if self.kind in ("pair", "attention"):
            return self.pair() if self.kind == "pair" else self.attention()
        integer = self.kind.endswith("Integer")
        is_conv = "onv" in self.kind or self.kind == "block"
        if is_conv:
            shape, filter_shape, window, attributes = self.window()
        else:
            (shape, filter_shape), attributes = self.matrices(), {}
        x_kind, w_kind = self.kind_of_bytes(), self.kind_of_bytes()
        x, w = self.bytes(shape, x_kind), self.bytes(filter_shape, w_kind)
        outputs = filter_shape[0] if is_conv else filter_shape[1]
        each = not integer and self.random.random() < 0.5
        if each:
            w_kind, w = np.int8, self.bytes(filter_shape, np.int8)
        x_zero, w_zero = self.zero(x_kind), self.zero(w_kind)
        if each:
            w_zero = np.zeros(outputs, np.int8)
        elif w_kind == np.int8 or self.random.random() < 0.3:
            w_zero = np.array(0 if w_kind == np.int8 else 128, w_kind)
        along = lambda v: np.reshape(v, (-1,) + (1,) * (len(shape) - 2)) if is_conv and np.ndim(v) else v
        centred = w.astype(np.int64) - np.reshape(w_zero, (-1,) + (1,) * (len(filter_shape) - 1) if is_conv and each else (-1,) if each else ())
        left = x.astype(np.int64) - int(x_zero)
        sums = convolve(left, centred, *window) if is_conv else left @ centred
        x_scale, w_scale, y_scale = self.scale(), self.scale(outputs if each else None), np.float32(self.scale() * 100)
        y_zero = self.zero(self.kind_of_bytes() if self.kind in ("conv", "matmul", "block") else x_kind)
        if integer:
            self.node(self.kind, [self.input("x", x), self.weights(w), self.constant("xz", x_zero), self.constant("wz", w_zero)], **attributes)
            return sums.astype(np.int32)
        scales = np.float32(x_scale * w_scale)
        if self.kind.startswith("QLinear"):
            operands = [self.input("x", x), self.constant("xs", x_scale), self.constant("xz", x_zero), self.weights(w),
                        self.constant("ws", w_scale), self.constant("wz", w_zero), self.constant("ys", y_scale),
                        self.constant("yz", y_zero)]
            if is_conv and self.random.random() < 0.5:
                bias = self.random.integers(-20000, 20000, outputs).astype(np.int32)
                operands.append(self.constant("bias", bias))
                sums = sums + along(bias)
            self.node(self.kind, operands, **attributes)
            return saturate(sums.astype(np.float32) * along(np.float32(scales / y_scale)), y_zero)
        return self.surrounded(is_conv, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, each, sums, scales,
                               attributes, along, outputs)

    def dynamic(self):
        """Values whose zero point is known when the model runs."""
        is_conv = self.kind.endswith("Conv")
        shape, filter_shape, window, attributes = self.window() if is_conv else (*self.matrices(), None, {})
        shape = tuple(max(1, size) for size in shape)  # of nothing there is no largest number
        filter_shape = tuple(max(1, size) for size in filter_shape)
        if not is_conv:
            filter_shape = (shape[-1], filter_shape[1])
        kind = self.kind_of_bytes()
        x, w = self.random.standard_normal(shape).astype(np.float32), self.bytes(filter_shape, kind)
        w_zero = self.zero(kind)
        low, high = min(np.float32(0), x.min()), max(np.float32(0), x.max())
        scale = np.float32((high - low) / np.float32(255))
        zero = np.clip(np.rint(-low / scale), 0, 255).astype(np.uint8)
        steps = np.clip(np.rint(x / scale) + np.float32(zero), 0, 255).astype(np.int64) - int(zero)
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [self.input("x", x)], ["q", "s", "z"]))
        self.node("ConvInteger" if is_conv else "MatMulInteger", ["q", self.constant("w", w), "z", self.constant("wz", w_zero)],
                  **attributes)
        wide = w.astype(np.int64) - int(w_zero)
        return (convolve(steps, wide, *window) if is_conv else steps @ wide).astype(np.int32)

    def dequantised(self, name, value, scale, zero):
        return self.node("DequantizeLinear", [value, self.constant(name + "s", scale), self.constant(name + "z", zero)])

    def quantised(self, name, value, scale, zero):
        return self.node("QuantizeLinear", [value, self.constant(name + "s", scale), self.constant(name + "z", zero)])

    def pair(self):
        """Products of two values that are both computed, in batches that may be broadcast."""
        m, k, n = self.pick((0,) + SIZES), self.pick(SIZES + (0, 200)), self.pick(SIZES + (0, 131))
        left, right = self.pick((((), ()), ((2,), (2,)), ((3, 1), (2,)), ((2, 3), (2, 3)), ((), (2, 2))))
        a_kind, b_kind = self.kind_of_bytes(), self.kind_of_bytes()
        turned = self.random.random() < 0.5
        a, b = self.bytes((*left, m, k), a_kind), self.bytes((*right, k, n), b_kind)
        a_zero, b_zero = self.zero(a_kind), self.zero(b_kind)
        sums = (a.astype(np.int64) - int(a_zero)) @ (b.astype(np.int64) - int(b_zero))
        x = self.input("x", a)
        w = self.input("w", np.swapaxes(b, -1, -2).copy() if turned else b)
        form = self.pick(("MatMulInteger", "QLinearMatMul", "matmul"))
        turn = lambda value: self.node("Transpose", [value], perm=[*range(b.ndim - 2), b.ndim - 1, b.ndim - 2]) if turned else value
        if form == "MatMulInteger":
            keep = [self.pick((self.constant, self.input)) for _ in range(2)]  # zero points that are computed, too
            self.node(form, [x, turn(w), keep[0]("xz", a_zero), keep[1]("wz", b_zero)])
            return sums.astype(np.int32)
        a_scale, b_scale, y_scale, y_zero = self.scale(), self.scale(), np.float32(self.scale() * 100), self.zero(a_kind)
        if form == "QLinearMatMul":
            self.node(form, [x, self.constant("xs", a_scale), self.constant("xz", a_zero), turn(w), self.constant("ws", b_scale),
                             self.constant("wz", b_zero), self.constant("ys", y_scale), self.constant("yz", y_zero)])
        else:
            product = self.node("MatMul", [self.dequantised("x", x, a_scale, a_zero), turn(self.dequantised("w", w, b_scale, b_zero))])
            self.quantised("y", product, y_scale, y_zero)
        return saturate(sums.astype(np.float32) * np.float32(np.float32(a_scale * b_scale) / y_scale), y_zero)

    def attention(self):
        """Its products, with the middle stored in bytes; moves and the same bytes again in between change nothing."""
        queries, keys, depth, heads = self.pick(SIZES), self.pick(SIZES), self.pick(SIZES), self.pick((1, 2, 5))
        kinds = [self.kind_of_bytes() for _ in range(4)]
        parts = [self.bytes((2, rows, heads, depth), kind) for rows, kind in zip((queries, keys, keys), kinds)]
        zeros, scales = [self.zero(kind) for kind in kinds], [self.scale() for _ in range(4)]
        scales[3] = np.float32(scales[3] * 20)
        moved = []
        for name, part, scale, zero, perm in zip("qkv", parts, scales, zeros, ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3))):
            value = self.dequantised(name, self.input(name, part), scale, zero)
            again = self.node("Transpose", [value], perm=list(perm))
            moved.append(self.dequantised(name, self.quantised(name, again, scale, zero), scale, zero))
        scores = self.quantised("s", self.node("MatMul", moved[:2]), scales[3], zeros[3])
        y_scale, y_zero = np.float32(self.scale() * 100), self.zero(np.uint8)
        self.quantised("y", self.node("MatMul", [self.dequantised("s", scores, scales[3], zeros[3]), moved[2]]), y_scale, y_zero)
        steps = lambda values, zero: values.astype(np.int64) - int(zero)
        q, k, v = (np.transpose(steps(part, zero), (0, 2, 1, 3)) for part, zero in zip(parts, zeros))
        units = (q @ np.swapaxes(k, -1, -2)).astype(np.float32) * np.float32(np.float32(scales[0] * scales[1]) / scales[3])
        weights = steps(saturate(units, zeros[3]), zeros[3])
        return saturate((weights @ v).astype(np.float32) * np.float32(np.float32(scales[3] * scales[2]) / y_scale), y_zero)

    def surrounded(self, is_conv, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, each, sums, scales, attributes,
                   along, outputs):
        """An op of f32 between DequantizeLinear and QuantizeLinear; of a block with a bias, a sum and relu."""
        image = self.node("DequantizeLinear", [self.input("x", x), self.constant("xs", x_scale), self.constant("xz", x_zero)])
        turned = not is_conv and self.random.random() < 0.4
        axis = {"axis": 0 if is_conv or turned else 1} if each else {}
        weights = self.node("DequantizeLinear", [self.constant("w", w.T.copy() if turned else w),
                                                 self.constant("ws", w_scale), self.constant("wz", w_zero)], **axis)
        if turned:
            weights = self.node("Transpose", [weights], perm=[1, 0])
        operands = [image, weights]
        added = self.pick(("i32", "i32", "f32", None)) if is_conv else None
        if added == "f32":
            offset = self.random.standard_normal(outputs).astype(np.float32)
            operands.append(self.constant("bias", offset))
        if added == "i32":
            bias = self.random.integers(-20000, 20000, outputs).astype(np.int32)
            sums = sums + along(bias)
            of_bias = np.broadcast_to(scales, outputs).astype(np.float32)
            operands.append(self.node("DequantizeLinear", [self.constant("bias", bias), self.constant("bs", of_bias)], axis=0))
        value = self.node("Conv" if is_conv else "MatMul", operands, **attributes)
        units = sums.astype(np.float32) * along(np.float32(scales / y_scale))
        if added == "f32":
            units = units + along(np.float32(offset / y_scale))
        if self.kind == "block":
            other = self.bytes(sums.shape, np.uint8)
            r_scale, r_zero = self.scale(), self.zero(np.uint8)
            residual = self.node("DequantizeLinear", [self.input("r", other), self.constant("rs", r_scale), self.constant("rz", r_zero)])
            value = self.node("Relu", [self.node("Add", [value, residual])])
            units = units + (other.astype(np.int32) - int(r_zero)).astype(np.float32) * np.float32(r_scale / y_scale)
            units = np.maximum(units, np.float32(0))
        self.node("QuantizeLinear", [value, self.constant("ys", y_scale), self.constant("yz", y_zero)])
        return saturate(units, y_zero)

    def model(self, result):
        info = lambda name, array: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype) if hasattr(
            helper, "np_dtype_to_tensor_dtype") else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype], array.shape)
        graph = helper.make_graph(self.nodes, "g", [info(k, v) for k, v in self.inputs.items()],
                                  [info(self.nodes[-1].output[0], result)],
                                  [numpy_helper.from_array(v, k) for k, v in self.initial.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)


def check(seed, forms=FORMS):
    case = Case(seed)
    expected = case.make()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.onnx"
        onnx.save(case.model(expected), str(file))
        for flags, threads in forms:
            try:
                plan = gantry_api.Plan(gantry_api.compile_model(file, flags, {}), threads)
                (actual,) = plan.run({name: case.inputs[name] for name in plan.inputs}).values()
            except (gantry_api.Refused, gantry_api.ApiError) as error:
                return f"{case.kind}, {flags}: {error}"
            if actual.dtype != expected.dtype or actual.shape != expected.shape:
                return f"{case.kind}, {flags}: {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}"
            if not np.array_equal(actual, expected):
                wrong = np.argwhere(actual != expected)
                where = tuple(int(i) for i in wrong[0])
                return (f"{case.kind}, {flags}, {threads} threads: {len(wrong)} of {actual.size} elements differ, first at "
                        f"{where}: {actual[where]}, expected {expected[where]}")
    return None


def network():
    """Convolutions of all kinds, a sum, pools and a product: (model, its inputs)."""
    random = np.random.default_rng(3)
    draw = lambda *shape: (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32)
    constants = {"w0": draw(16, 3, 3, 3), "b0": draw(16), "w1": draw(16, 16, 1, 1), "w2": draw(16, 1, 3, 3),
                 "b2": draw(16), "w3": draw(24, 16, 3, 3), "b3": draw(24), "w4": draw(10, 24), "b4": draw(10)}
    node, same = helper.make_node, {"pads": [1, 1, 1, 1]}
    nodes = [node("Conv", ["x", "w0", "b0"], ["c0"], strides=[2, 2], **same), node("Relu", ["c0"], ["r0"]),
             node("MaxPool", ["r0"], ["p0"], kernel_shape=[2, 2], strides=[2, 2]),
             node("Conv", ["p0", "w1"], ["c1"]), node("Relu", ["c1"], ["r1"]),
             node("Conv", ["r1", "w2", "b2"], ["c2"], group=16, **same), node("Add", ["c2", "p0"], ["a2"]),
             node("Relu", ["a2"], ["r2"]), node("Conv", ["r2", "w3", "b3"], ["c3"], **same), node("Relu", ["c3"], ["r3"]),
             node("GlobalAveragePool", ["r3"], ["m"]), node("Flatten", ["m"], ["f"]),
             node("Gemm", ["f", "w4", "b4"], ["y"], transB=1)]
    value = lambda name, shape: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "net", [value("x", (2, 3, 30, 26))], [value("y", (2, 10))],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    return model, {"x": np.random.default_rng(0).standard_normal((2, 3, 30, 26)).astype(np.float32)}


def check_network(build, signed, per_tensor):
    """Quantised it is a quarter as large, and as near as quantising leaves it."""
    model, inputs = network()
    with tempfile.TemporaryDirectory() as folder:
        plans, results = [], []
        for name in ("f32", "i8"):
            if name == "i8":
                model = quantize.quantise(model, build / "bin" / "gantry", 1, signed, per_tensor)
            file = pathlib.Path(folder) / f"{name}.onnx"
            onnx.save(model, str(file))
            plans.append(gantry_api.compile_model(file, (), {}))
            of_threads = [next(iter(gantry_api.Plan(plans[-1], threads).run(inputs).values())) for threads in (1, 2, 8)]
            if any(one.tobytes() != of_threads[0].tobytes() for one in of_threads):
                return f"{name}: results depend on the number of threads"
            results.append(of_threads[0])
    error = np.abs(results[1] - results[0]).max() / np.ptp(results[0])
    # A step is 1/255 of the range, and there are six layers.
    return None if error < 6 / 255 else f"error of {error:.4f} of the range"


def main():
    options, count, failures = groups.drawn_checks(__doc__, check, 42, SECONDS_PER_CASE)
    forms = list(itertools.product((False, True), repeat=2)) if options.case is None else []
    for signed, per_tensor in forms:
        what = check_network(options.build_dir, signed, per_tensor)
        if what:
            failures[f"network, signed={signed}, per_tensor={per_tensor}"] = what
    return groups.report("quantized", count + len(forms), failures, options.json)


if __name__ == "__main__":
    sys.exit(main())
