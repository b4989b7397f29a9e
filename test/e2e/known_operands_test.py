#!/usr/bin/python3
"""Ops of known operands where a shape, an axis, a number of steps or a branch wants what they give.

A form is a node whose operands are all constants; what it gives becomes the shape of a tensor, which must have the
shape that NumPy computes. Wants are the places that a known value may be wanted in. Limits are what is
refused all the same, with the words for it.

Usage: known_operands_test.py --build-dir BUILD [--filter TEXT] [--json FILE] [-v]
"""

import argparse
import json
import math
import pathlib
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import gantry_api

FORMS, WANTS, LIMITS = [], [], []
MICROSOFT = "com.microsoft"

X = np.array([[0.3, 1.2, -0.7], [2.1, -1.6, 0.45]], np.float32)
N = np.array([[3, 1, 2], [5, 4, 6]], np.int64)
B = np.array([[True, False, True], [False, True, True]])
V = np.array([0.3, 1.2, 0.7], np.float32)
SCALARS = {"f32": np.float32, "i64": np.int64}


def form(name, op, operands, expected, opset=18, domain="", output=0, **attributes):
    """`expected` is the node's output with that number."""
    FORMS.append((name, op, operands, expected, opset, domain, output, attributes))


def i64(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)


def erf(x):
    return np.vectorize(math.erf)(x)


# ---------------------------------------------------------------------------------------------------------
# Elementwise
# ---------------------------------------------------------------------------------------------------------

for element, x in (("f32", X), ("f64", X.astype(np.float64)), ("f16", X.astype(np.float16)), ("i64", N), ("i32", N.astype(np.int32))):
    form(f"Abs {element}", "Abs", [x], np.abs(x))
    form(f"Neg {element}", "Neg", [x], -x)
    form(f"Sign {element}", "Sign", [x], np.sign(x))
    form(f"Add {element}", "Add", [x, x[:1]], x + x[:1])
    form(f"Sub {element}", "Sub", [x, x[:1]], x - x[:1])
    form(f"Mul {element}", "Mul", [x, x[:1]], x * x[:1])
    form(f"Max {element}", "Max", [x, x[:, ::-1].copy()], np.maximum(x, x[:, ::-1]))
    form(f"Min {element}", "Min", [x, x[:, ::-1].copy()], np.minimum(x, x[:, ::-1]))
    form(f"Where {element}", "Where", [B, x, x[:, ::-1].copy()], np.where(B, x, x[:, ::-1]))
    form(f"Pow {element}", "Pow", [np.abs(x), np.array(2, x.dtype)], np.abs(x) ** np.array(2, x.dtype))
    form(f"Clip {element}", "Clip", [x, np.array(1, x.dtype), np.array(2, x.dtype)], np.clip(x, 1, 2))
    form(f"Sum {element}", "Sum", [x, x, x] if x.dtype.kind == "f" else [x.astype(np.float32)] * 3, 3 * x)
form("Div f32", "Div", [X, V], X / V)
form("Div i64", "Div", [N, i64(2, 1, 3)], N // i64(2, 1, 3))
form("Mod", "Mod", [N, i64(2, 3, 4)], N % i64(2, 3, 4))
form("Mod fmod", "Mod", [X, V], np.fmod(X, V), fmod=1)
form("Mean of operands", "Mean", [X, X + 1], X + 0.5)
for op, f in (("Exp", np.exp), ("Sin", np.sin), ("Cos", np.cos), ("Tan", np.tan), ("Sinh", np.sinh), ("Cosh", np.cosh),
              ("Tanh", np.tanh), ("Atan", np.arctan), ("Asinh", np.arcsinh), ("Erf", erf), ("Ceil", np.ceil),
              ("Floor", np.floor), ("Round", np.round), ("Sigmoid", lambda x: 1 / (1 + np.exp(-x))),
              ("Softplus", lambda x: np.log1p(np.exp(x))), ("Softsign", lambda x: x / (1 + np.abs(x))),
              ("Relu", lambda x: np.maximum(x, 0)), ("LeakyRelu", lambda x: np.where(x < 0, 0.01 * x, x)),
              ("Elu", lambda x: np.where(x < 0, np.expm1(x), x)), ("HardSigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
              ("Reciprocal", lambda x: 1 / x), ("Mish", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
              ("HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)), ("ThresholdedRelu", lambda x: np.where(x > 1, x, 0)),
              ("Celu", lambda x: np.maximum(x, 0) + np.minimum(0, np.expm1(x)))):
    form(op, op, [X], f(X.astype(np.float64)))
for op, f in (("Sqrt", np.sqrt), ("Log", np.log), ("Asin", np.arcsin), ("Acos", np.arccos), ("Atanh", np.arctanh)):
    form(op, op, [V * 0.5], f(V.astype(np.float64) * 0.5))
form("Acosh", "Acosh", [V + 1], np.arccosh(V.astype(np.float64) + 1))
form("Gelu", "Gelu", [X], X * 0.5 * (1 + erf(X / np.sqrt(2))), opset=20)
form("PRelu", "PRelu", [X, V], np.where(X < 0, X * V, X))
form("IsNaN", "IsNaN", [f32(1, np.nan, 2)], [False, True, False])
form("IsInf", "IsInf", [f32(1, np.inf, -np.inf)], [False, True, True])
for op, f in (("Equal", np.equal), ("Less", np.less), ("Greater", np.greater), ("LessOrEqual", np.less_equal),
              ("GreaterOrEqual", np.greater_equal)):
    form(f"{op} f32", op, [X, V], f(X, V))
    form(f"{op} i64", op, [N, i64(3, 3, 3)], f(N, 3))
for op, f in (("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)):
    form(op, op, [B, ~B[:, ::-1]], f(B, ~B[:, ::-1]))
form("Not", "Not", [B], ~B)
for op, f in (("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)):
    form(op, op, [N, i64(6, 5, 3)], f(N, i64(6, 5, 3)))
form("BitwiseNot", "BitwiseNot", [N], ~N)
form("BitShift", "BitShift", [N.astype(np.uint32), np.ones((2, 3), np.uint32)], N << 1, direction="LEFT")
for element, code in (("i64", TensorProto.INT64), ("i32", TensorProto.INT32), ("u8", TensorProto.UINT8), ("f64", TensorProto.DOUBLE)):
    form(f"Cast f32 to {element}", "Cast", [np.abs(X) * 3], (np.abs(X) * 3).astype(helper.mapping.TENSOR_TYPE_TO_NP_TYPE[code]), to=code)
form("CastLike", "CastLike", [np.abs(X) * 3, i64(0)], (np.abs(X) * 3).astype(np.int64))
form("Identity", "Identity", [X], X)

# ---------------------------------------------------------------------------------------------------------
# Reductions and searches
# ---------------------------------------------------------------------------------------------------------

for op, f in (("ReduceSum", np.sum), ("ReduceProd", np.prod), ("ReduceMax", np.max), ("ReduceMin", np.min), ("ReduceMean", np.mean)):
    for element, x in (("f32", X), ("f64", X.astype(np.float64)), ("f16", X.astype(np.float16)), ("i64", N), ("i32", N.astype(np.int32))):
        reference = f(x.astype(np.float64), axis=1)
        form(f"{op} {element}", op, [x, i64(1)], np.trunc(reference) if x.dtype.kind == "i" else reference, keepdims=0)
for op, f in (("ReduceL1", lambda x: np.abs(x).sum(1)), ("ReduceL2", lambda x: np.sqrt((x * x).sum(1))),
              ("ReduceSumSquare", lambda x: (x * x).sum(1)), ("ReduceLogSumExp", lambda x: np.log(np.exp(x).sum(1))),
              ("ReduceLogSum", lambda x: np.log(x.sum(1)))):
    form(op, op, [X, i64(1)], f(X.astype(np.float64)), keepdims=0)
form("ArgMax", "ArgMax", [X], X.argmax(1), axis=1, keepdims=0)
form("ArgMin", "ArgMin", [X], X.argmin(1), axis=1, keepdims=0)
form("CumSum f32", "CumSum", [X, i64(1)], X.cumsum(1))
form("CumSum i64", "CumSum", [N, i64(0)], N.cumsum(0))
form("TopK values", "TopK", [X, i64(2)], -np.sort(-X, axis=1)[:, :2])
form("TopK indices", "TopK", [X, i64(2)], np.argsort(-X, axis=1)[:, :2], output=1)
form("TopK i64", "TopK", [N, i64(2)], np.sort(N, axis=0), axis=0, largest=0)
form("Softmax", "Softmax", [X], np.exp(X) / np.exp(X).sum(1, keepdims=True))
form("LogSoftmax", "LogSoftmax", [X], np.log(np.exp(X) / np.exp(X).sum(1, keepdims=True)))
form("Hardmax", "Hardmax", [X], [[0, 1, 0], [1, 0, 0]])
form("MatMul", "MatMul", [X, X.T.copy()], X @ X.T)
form("MatMul i64", "MatMul", [N.astype(np.int32), N.T.astype(np.int32)], N @ N.T)
form("MatMulInteger", "MatMulInteger", [N.astype(np.uint8), N.T.astype(np.uint8)], N @ N.T)
form("Gemm", "Gemm", [X, X.T.copy(), V[:2]], X @ X.T + V[:2])
form("Einsum", "Einsum", [X, X], np.einsum("ij,ij->i", X, X), equation="ij,ij->i")
form("Conv", "Conv", [X.reshape(1, 1, 2, 3), np.ones((1, 1, 2, 2), np.float32)], [X[:, :2].sum(), X[:, 1:].sum()])
form("MaxPool", "MaxPool", [X.reshape(1, 1, 2, 3)], [X[:, :2].max(), X[:, 1:].max()], kernel_shape=[2, 2])
form("AveragePool", "AveragePool", [X.reshape(1, 1, 2, 3)], [X[:, :2].mean(), X[:, 1:].mean()], kernel_shape=[2, 2])
form("GlobalMaxPool", "GlobalMaxPool", [X.reshape(1, 1, 2, 3)], X.max())
form("LayerNormalization", "LayerNormalization", [X, np.ones(3, np.float32)], (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True))
form("DequantizeLinear", "DequantizeLinear", [N.astype(np.uint8), np.float32(0.5), np.uint8(1)], (N - 1) * 0.5)
form("QuantizeLinear", "QuantizeLinear", [np.abs(X), np.float32(0.25), np.uint8(1)], np.round(np.abs(X) * 4) + 1)

# ---------------------------------------------------------------------------------------------------------
# Movement and indexing
# ---------------------------------------------------------------------------------------------------------

for element, x in (("f32", X), ("i64", N), ("bool", B)):
    form(f"Reshape {element}", "Reshape", [x, i64(3, 2)], x.reshape(3, 2))
    form(f"Transpose {element}", "Transpose", [x], x.T)
    form(f"Concat {element}", "Concat", [x, x[:1]], np.concatenate([x, x[:1]]), axis=0)
    form(f"Slice {element}", "Slice", [x, i64(2), i64(-9), i64(1), i64(-1)], x[:, ::-1])
    form(f"Gather {element}", "Gather", [x, i64(2, 0)], x[:, [2, 0]], axis=1)
    form(f"GatherElements {element}", "GatherElements", [x, i64(1, 0, 1).reshape(1, 3)], x[[1, 0, 1], [0, 1, 2]], axis=0)
    form(f"GatherND {element}", "GatherND", [x, i64(1, 2, 0, 1).reshape(2, 2)], x[[1, 0], [2, 1]])
    form(f"Pad {element}", "Pad", [x, i64(0, 1, 0, 1)], np.pad(x, ((0, 0), (1, 1))))
    form(f"Expand {element}", "Expand", [x[:1], i64(2, 3)], np.repeat(x[:1], 2, 0))
    form(f"Tile {element}", "Tile", [x, i64(2, 1)], np.tile(x, (2, 1)))
    form(f"Split {element}", "Split", [x, i64(2)], x)
    form(f"Squeeze {element}", "Squeeze", [x[:1], i64(0)], x[0])
    form(f"Unsqueeze {element}", "Unsqueeze", [x, i64(0)], x[None])
    form(f"Flatten {element}", "Flatten", [x], x)
    form(f"Trilu {element}", "Trilu", [x], np.triu(x))
scattered = X.copy()
scattered[[1, 0, 1], [0, 1, 2]] = V
form("ScatterElements", "ScatterElements", [X, i64(1, 0, 1).reshape(1, 3), V.reshape(1, 3)], scattered, axis=0)
form("Scatter", "Scatter", [X, i64(1, 0, 1).reshape(1, 3), V.reshape(1, 3)], scattered, opset=10, axis=0)
form("ScatterND", "ScatterND", [X, i64(1, 0, 0, 1, 1, 2).reshape(3, 2), V], scattered)
added = N.copy()
added[1] += i64(1, 2, 3)
form("ScatterND add", "ScatterND", [N, i64(1).reshape(1, 1), i64(1, 2, 3).reshape(1, 3)], added, reduction="add")
form("OneHot", "OneHot", [i64(1, 0), i64(3), i64(4, 5)], [[4, 5, 4], [5, 4, 4]])
form("Range f32", "Range", [np.float32(1), np.float32(3), np.float32(0.5)], np.arange(1, 3, 0.5))
form("Range i64", "Range", [np.int64(1), np.int64(9), np.int64(2)], np.arange(1, 9, 2))
form("EyeLike", "EyeLike", [X], np.eye(2, 3))
form("ReverseSequence", "ReverseSequence", [X, i64(2, 1, 2)], np.stack([X[::-1, 0], X[:, 1], X[::-1, 2]], 1))
form("Resize", "Resize", [X.reshape(1, 1, 2, 3), f32(), f32(1, 1, 2, 1)], np.repeat(X, 2, 0), mode="nearest",
     coordinate_transformation_mode="asymmetric", nearest_mode="floor")
form("Shape", "Shape", [X], [2, 3])
form("Size", "Size", [X], 6)
form("ConstantOfShape", "ConstantOfShape", [i64(2, 3)], np.zeros((2, 3)))

# ---------------------------------------------------------------------------------------------------------
# As many elements as data say
# ---------------------------------------------------------------------------------------------------------

E = np.array([[2, 1, 2], [0, 3, 1]], np.int64)
for element, x in (("f32", E.astype(np.float32)), ("i64", E), ("bool", E > 1)):
    form(f"NonZero {element}", "NonZero", [x], np.stack(np.nonzero(x)))
form("NonZero of a computed mask", "NonZero", [np.isnan(f32(1, np.nan, 3, np.nan))], [[1, 3]])
form("NonZero of nothing", "NonZero", [np.zeros((2, 0), np.float32)], np.zeros((2, 0)))
form("NonZero of zeros", "NonZero", [np.zeros((2, 3), np.float32)], np.zeros((2, 0)))
form("NonZero of a scalar", "NonZero", [np.float32(3)], np.zeros((0, 1)))
form("Compress", "Compress", [E, np.array([True, False, True])], E[:, [0, 2]], axis=1)
form("Compress negative axis", "Compress", [E, np.array([False, True])], E[1:], axis=-2)
form("Compress flat", "Compress", [E, np.array([False, True, True, True])], E.reshape(-1)[1:4])
form("Compress of none", "Compress", [E, np.array([False, False])], np.zeros((0, 3)), axis=0)
for element, x in (("f32", E.astype(np.float32)), ("i64", E), ("u64", E.astype(np.uint64) + np.uint64(1 << 63)), ("i8", E.astype(np.int8) - 1)):
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    values = values - np.uint64(1 << 63) if element == "u64" else values
    for output, expected in enumerate((first, inverse.reshape(-1), counts), 1):
        form(f"Unique {element} output {output}", "Unique", [x], expected, output=output)
    if element != "u64":
        form(f"Unique {element}", "Unique", [x], values)
rows = np.array([[1, 0, 2], [1, 0, 2], [0, 4, 2]], np.float32)
for axis in (0, 1, -1):
    values, first, inverse, counts = np.unique(rows, axis=axis, return_index=True, return_inverse=True, return_counts=True)
    for output, expected in enumerate((values, first, inverse.reshape(-1), counts)):
        form(f"Unique along {axis} output {output}", "Unique", [rows], expected, output=output, axis=axis)
for output, expected in enumerate(([2, 1, 0, 3], [0, 1, 3, 4], [0, 1, 0, 2, 3, 1], [2, 2, 1, 1])):
    form(f"Unique unsorted output {output}", "Unique", [E], expected, output=output, sorted=0)
form("Unique with NaN", "Unique", [f32(np.nan, 1, np.nan)], [1, 2], output=3)
for output, expected in enumerate(([2, 1, 0, 3], [0, 1, 0, 2, 3, 1], [2, 2, 1, 1])):
    form(f"Unique of ONNX Runtime output {output}", "Unique", [E.reshape(-1).astype(np.float32)], expected, output=output, opset=17, domain=MICROSOFT)


# ---------------------------------------------------------------------------------------------------------
# Where values are wanted
# ---------------------------------------------------------------------------------------------------------


def want(name, op, operands, known, expected, opset=18, **attributes):
    """Operand `known` of the node is given by f32 ReduceMax over its value and zeros, cast back; the first operand may
    be "data", an input of the run: [[0, 1, 2], [3, 4, 5]]."""
    WANTS.append((name, op, operands, known, expected, opset, attributes))


DATA = np.arange(6, dtype=np.float32).reshape(2, 3)
want("Reshape shape", "Reshape", ["data", i64(3, 2)], 1, DATA.reshape(3, 2))
want("Expand shape", "Expand", ["data", i64(2, 2, 3)], 1, np.stack([DATA, DATA]))
want("Tile repeats", "Tile", ["data", i64(2, 1)], 1, np.tile(DATA, (2, 1)))
want("Slice starts", "Slice", ["data", i64(1), i64(2)], 1, DATA[1:2])
want("Slice ends", "Slice", ["data", i64(0), i64(1)], 2, DATA[:1])
want("Slice axes", "Slice", ["data", i64(0), i64(1), i64(1)], 3, DATA[:, :1])
want("Slice steps", "Slice", ["data", i64(0), i64(3), i64(1), i64(2)], 4, DATA[:, ::2])
want("Pad pads", "Pad", ["data", i64(0, 1, 0, 2)], 1, np.pad(DATA, ((0, 0), (1, 2))))
want("TopK k", "TopK", ["data", i64(2)], 1, DATA[:, :0:-1])
want("ReduceSum axes", "ReduceSum", ["data", i64(1)], 1, DATA.sum(1, keepdims=True))
want("Unsqueeze axes", "Unsqueeze", ["data", i64(1)], 1, DATA[:, None])
want("Split sizes", "Split", ["data", i64(2)], 1, DATA)
want("CumSum axis", "CumSum", ["data", np.int64(1)], 1, DATA.cumsum(1))
want("Range limit", "Range", [np.int64(0), np.int64(4), np.int64(1)], 1, np.arange(4))
want("OneHot depth", "OneHot", [i64(1), i64(2), f32(0, 1)], 1, [[0, 1]])
want("ConstantOfShape", "ConstantOfShape", [i64(2, 2)], 0, np.zeros((2, 2)))
want("CenterCropPad shape", "CenterCropPad", ["data", i64(2, 1)], 1, DATA[:, 1:2])
want("HannWindow size", "HannWindow", [np.int64(4)], 0, 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(4) / 4))
want("Compress condition", "Compress", ["data", np.array([True, False, True])], 1, DATA[:, [0, 2]], axis=1)
want("Resize scales", "Resize", ["data", f32(), f32(1, 2)], 2, np.repeat(DATA, 2, 1), mode="nearest",
     coordinate_transformation_mode="asymmetric", nearest_mode="floor")
want("If condition", "If", [np.array(True)], 0, [1], then_branch=[1], else_branch=[1, 2])
want("Loop trips", "Loop", [np.int64(3)], 0, [0, 1, 2], body="count")


# ---------------------------------------------------------------------------------------------------------
# Models
# ---------------------------------------------------------------------------------------------------------


def save(graph_nodes, initializers, inputs, outputs, opset, file):
    graph = helper.make_graph(graph_nodes, "known", inputs, outputs, initializers)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=imports), str(file))


def constant(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def shape_of(values):
    """What the nodes of run_form make of an output: up to four sizes below 8."""
    values = np.asarray(values)
    scaled = np.abs(values.astype(np.float64)) * (4 if values.dtype.kind == "f" else 1)
    return tuple(int(v) for v in np.floor(np.minimum(scaled + 0.1, 7.1)).reshape(-1)[:4])


def run_form(scratch, op, operands, expected, opset, domain, output, attributes):
    """What is wrong, or None."""
    constants = [constant(f"c{i}", value) for i, value in enumerate(operands)]
    outputs = [f"r{i}" if i == output else f"unused{i}" for i in range(output + 1)]
    scale = 4.0 if np.asarray(expected).dtype.kind == "f" else 1.0
    constants += [constant("scale", scale), constant("tenth", 0.1), constant("most", 7.1), constant("flat", i64(-1)),
                  constant("start", i64(0)), constant("end", i64(4)), constant("zero", i64(0))]
    nodes = [helper.make_node(op, [c.name for c in constants[:len(operands)]], outputs, domain=domain, **attributes),
             helper.make_node("Cast", [outputs[-1]], ["wide"], to=TensorProto.DOUBLE),
             helper.make_node("Abs", ["wide"], ["size"]), helper.make_node("Mul", ["size", "scale"], ["scaled"]),
             helper.make_node("Add", ["scaled", "tenth"], ["above"]), helper.make_node("Min", ["above", "most"], ["bounded"]),
             helper.make_node("Cast", ["bounded"], ["whole"], to=TensorProto.INT64),
             helper.make_node("Reshape", ["whole", "flat"], ["row"]),
             helper.make_node("Slice", ["row", "start", "end", "zero"], ["shape"]),
             helper.make_node("Expand", ["x", "shape"], ["y"])]
    file = scratch / "form.onnx"
    save(nodes, constants, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [])],
         [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], opset, file)
    actual = gantry_api.compile_for(file, {}).run({"x": np.float32(2)})["y"]
    wanted = shape_of(expected)
    if actual.shape != wanted:
        return f"shape {actual.shape}, expected {wanted}"
    return None if (actual == 2).all() else "the tensor holds something else"


def body_of(kind):
    """A branch that gives the values, or the body of a loop that stacks its steps."""
    if kind != "count":
        return helper.make_graph([helper.make_node("Constant", [], ["value"], value=constant("", f32(*kind)))], "branch", [],
                                 [helper.make_tensor_value_info("value", TensorProto.FLOAT, [len(kind)])])
    step, going = (helper.make_tensor_value_info(name, element, []) for name, element in (("step", TensorProto.INT64), ("going", TensorProto.BOOL)))
    nodes = [helper.make_node("Identity", ["going"], ["goes"]), helper.make_node("Identity", ["step"], ["row"])]
    return helper.make_graph(nodes, "body", [step, going], [helper.make_tensor_value_info("goes", TensorProto.BOOL, []),
                                                            helper.make_tensor_value_info("row", TensorProto.INT64, [])])


def run_want(scratch, op, operands, known, expected, opset, attributes):
    """What is wrong, or None."""
    constants = [constant("zero", f32(0)), constant("axes", i64(0))]
    nodes, names = [], []
    for i, value in enumerate(operands):
        if isinstance(value, str):
            names.append(value)
            continue
        value = np.asarray(value)
        names.append(f"c{i}")
        if i != known:
            constants.append(constant(f"c{i}", value))
            continue
        both = np.stack([value.astype(np.float32), np.full(value.shape, -1, np.float32)])
        constants.append(constant("both", both))
        nodes += [helper.make_node("ReduceMax", ["both", "axes"], ["most"], keepdims=0),
                  helper.make_node("Cast", ["most"], [f"c{i}"], to=helper.mapping.NP_TYPE_TO_TENSOR_TYPE[value.dtype])]
    graphs = {key: body_of(value) for key, value in attributes.items() if key in ("then_branch", "else_branch", "body")}
    if op == "Loop":
        names.append("")
    nodes.append(helper.make_node(op, names, ["y"], **{**attributes, **graphs}))
    file = scratch / "want.onnx"
    inputs = [helper.make_tensor_value_info("data", TensorProto.FLOAT, DATA.shape)] if "data" in names else []
    save(nodes, constants, inputs, [onnx.ValueInfoProto(name="y")], opset, file)
    actual = gantry_api.compile_for(file, {}).run({"data": DATA} if inputs else {})["y"]
    if actual.shape != np.shape(expected):
        return f"shape {actual.shape}, expected {np.shape(expected)}"
    return None if np.allclose(actual, expected, atol=1e-6) else f"{actual}, expected {expected}"


# ---------------------------------------------------------------------------------------------------------
# What is refused, and with which words
# ---------------------------------------------------------------------------------------------------------


def largest(count):
    """A shape from the largest of `count` copies of 2, made by an Expand."""
    return [helper.make_node("Expand", ["two", "count"], ["many"]), helper.make_node("ReduceMax", ["many"], ["most"], keepdims=1),
            helper.make_node("Cast", ["most"], ["shape"], to=TensorProto.INT64), helper.make_node("Expand", ["x", "shape"], ["y"])], \
        [constant("two", f32(2)), constant("count", i64(count))]


def loop_of_constants(trips):
    """A shape that a loop makes of 1: the root of its exponential, as often as it goes round."""
    def scalar(name, element, *dims):
        return helper.make_tensor_value_info(name, element, dims)
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["goes"]), helper.make_node("Exp", ["state"], ["e"]), helper.make_node("Sqrt", ["e"], ["next"])],
        "body", [scalar("step", TensorProto.INT64), scalar("going", TensorProto.BOOL), scalar("state", TensorProto.FLOAT, 1)],
        [scalar("goes", TensorProto.BOOL), scalar("next", TensorProto.FLOAT, 1)])
    return [helper.make_node("Loop", ["trips", "", "one"], ["last"], body=body), helper.make_node("Cast", ["last"], ["shape"], to=TensorProto.INT64),
            helper.make_node("Expand", ["x", "shape"], ["y"])], [constant("trips", np.int64(trips)), constant("one", f32(1))]


MEBIBYTES_64 = 1 << 24  # of f32
LIMITS = [
    ("64 MiB", largest(MEBIBYTES_64), None),
    ("64 MiB and an element", largest(MEBIBYTES_64 + 1),
     "constants decide it, but 'many' (Expand) has a result of 67108868 bytes, and at most 64 MiB of an op are evaluated when compiling"),
    ("an input", ([helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Cast", ["e"], ["shape"], to=TensorProto.INT64),
                   helper.make_node("Reshape", ["x", "shape"], ["y"])], []), "it comes from input 'x', give that with --value x=VALUE"),
    ("as many elements as an input says", ([helper.make_node("Exp", ["x"], ["e"]), helper.make_node("NonZero", ["e"], ["y"])], []),
     "the shape of its output depends on data, and shapes are fixed when compiling; --outputs=e ends the graph before it"),
    ("a loop of constants", loop_of_constants(2), None),
    ("a loop without an end", loop_of_constants(1 << 62), "constants decide it, but it takes more operations than are done when compiling"),
]


def run_limit(scratch, what, words):
    """What is wrong, or None."""
    nodes, constants = what
    file = scratch / "limit.onnx"
    save(nodes, constants, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])], [onnx.ValueInfoProto(name="y")], 18, file)
    try:
        actual = gantry_api.compile_for(file, {}).run({"x": f32(5)})["y"]
    except gantry_api.Refused as refusal:
        return None if words and words in str(refusal) else f"refused: {refusal}"
    return f"it was compiled, {actual.shape}" if words or actual.shape != (2,) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", help="accepted, not used: one case at a time")
    parser.add_argument("--filter", default="")
    parser.add_argument("--json", type=pathlib.Path, help="write the result there (run_tests.py reads it)")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each case")
    arguments = parser.parse_args()
    gantry_api.load(arguments.build_dir)
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for kind, run, cases in (("form", run_form, FORMS), ("want", run_want, WANTS), ("limit", run_limit, LIMITS)):
            for name, *what in cases:
                label = f"{kind} {name}"
                if arguments.filter not in label:
                    continue
                try:
                    wrong = run(scratch, *what)
                except gantry_api.Refused as refusal:
                    wrong = f"refused: {refusal.reason(scratch)}"
                except gantry_api.ApiError as error:
                    wrong = str(error)
                passed += not wrong
                if wrong:
                    failures.append(f"{label}: {wrong}")
                if arguments.verbose:
                    print(f"{label}: {wrong or 'passed'}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"passed": passed, "failures": failures, "skips": {}}))
    for failure in failures if not (arguments.json or arguments.verbose) else ():
        print(f"  {failure}")
    print(f"known-operands: {passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
