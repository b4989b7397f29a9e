"""Small networks of the project's own, for machines that have no others: the kinds that suites want (convolutions with
skips, branches that join, attention, products in a row), with fixed random weights, and what NumPy makes of them in f64.

A network is a Graph (random_ops/graphs.py) with the names that people give: one output, "output". Weights are drawn
so that values stay around 1. `write` makes the ONNX file, which takes some milliseconds; PyTorch is not needed.
"""

import math

import numpy as np
import onnx
from onnx import helper, numpy_helper

from random_ops.draw import ELEMENT_TYPES
from random_ops.graphs import Graph, norm, softmax
from random_ops.windows import convolve, taps


class Net:
    """Layers one after the other: each adds its nodes, and computes. Values are named; `of` has them as f64."""

    def __init__(self, seed, **inputs):
        self.numbers = np.random.default_rng(seed)
        self.inputs, self.constants, self.steps = inputs, {}, []
        self.of = {name: array.astype(np.float64) if array.dtype == np.float32 else array
                   for name, array in inputs.items()}

    def add(self, op, names, value, **attributes):
        name = f"{op.lower()}{len(self.steps)}"
        self.steps.append((op, names, [name], attributes))
        self.of[name] = value
        return name

    def weight(self, *shape, fan_in):
        name = f"weight{len(self.constants)}"
        drawn = self.numbers.standard_normal(shape) / math.sqrt(fan_in)
        self.constants[name] = drawn.astype(np.float32)
        return name, self.constants[name].astype(np.float64)

    def integers(self, *values):
        name = f"integers{len(self.constants)}"
        self.constants[name] = np.array(values, np.int64)
        return name

    def relu(self, x):
        return self.add("Relu", [x], np.maximum(self.of[x], 0))

    def sum(self, x, y):
        return self.add("Add", [x, y], self.of[x] + self.of[y])

    def conv(self, x, channels, size=3, stride=1):
        depth, pad = self.of[x].shape[1], size // 2
        (w, values), (b, bias) = (self.weight(channels, depth, size, size, fan_in=depth * size * size / 2),
                                  self.weight(channels, fan_in=100))
        result = convolve(self.of[x], values, bias, 1, self.of[x].shape[2:], (stride,) * 2, (1, 1), ((pad, pad),) * 2)
        return self.add("Conv", [x, w, b], result, strides=[stride] * 2, pads=[pad] * 4)

    def max_pool(self, x, size=3, stride=1):
        pad = (size - 1) // 2
        windows, _ = taps(self.of[x], self.of[x].shape[2:], (size,) * 2, (stride,) * 2, (1, 1), ((pad, pad),) * 2, -np.inf)
        return self.add("MaxPool", [x], windows.max((-1, -2)), kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def dense(self, x, width):
        depth = self.of[x].shape[-1]
        (w, values), (b, bias) = self.weight(depth, width, fan_in=depth), self.weight(width, fan_in=100)
        return self.add("Add", [self.add("MatMul", [x, w], self.of[x] @ values), b], self.of[x] @ values + bias)

    def head(self, x, classes):
        """Scores from the means of all channels."""
        means = self.add("GlobalAveragePool", [x], self.of[x].mean((2, 3), keepdims=True))
        return self.dense(self.add("Flatten", [means], self.of[means].reshape(len(self.of[means]), -1)), classes)

    def norm(self, x):
        """Over rows, with an epsilon of 1e-2 as that of the drawn graphs."""
        shape = self.of[x].shape
        (scale, by), (shift, plus) = self.weight(shape[-1], fan_in=1), self.weight(shape[-1], fan_in=100)
        rows = norm(self.of[x].reshape(-1, shape[-1])).reshape(shape)
        return self.add("LayerNormalization", [x, scale, shift], rows * by + plus, axis=-1, epsilon=1e-2)

    def heads(self, x, count, perm):
        """[batch, length, width] as [batch, head, length, part], or another order of these."""
        batch, length, width = self.of[x].shape
        split = self.of[x].reshape(batch, length, count, width // count)
        apart = self.add("Reshape", [x, self.integers(0, length, count, width // count)], split)
        return self.add("Transpose", [apart], split.transpose(perm), perm=list(perm))

    def attention(self, x, count):
        batch, length, width = self.of[x].shape
        q, k, v = (self.heads(self.dense(x, width), count, perm) for perm in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)))
        self.constants["scale"] = np.float32(1 / math.sqrt(width // count))
        scores = self.add("MatMul", [q, k], self.of[q] @ self.of[k])
        scores = self.add("Mul", [scores, "scale"], self.of[scores] * float(self.constants["scale"]))
        flat = softmax(self.of[scores].reshape(-1, length)).reshape(self.of[scores].shape)
        weights = self.add("Softmax", [scores], flat, axis=-1)
        mixed = self.add("MatMul", [weights, v], self.of[weights] @ self.of[v])
        back = self.of[mixed].transpose(0, 2, 1, 3)
        back = self.add("Transpose", [mixed], back, perm=[0, 2, 1, 3])
        joined = self.of[back].reshape(batch, length, width)
        return self.dense(self.add("Reshape", [back, self.integers(0, length, width)], joined), width)

    def finish(self, x):
        op, names, _, attributes = self.steps[-1]
        self.steps[-1] = (op, names, ["output"], attributes)
        return Graph(self.inputs, self.constants, self.steps, ["output"], [self.of[x].astype(np.float32)])


def image(seed, size):
    return np.random.default_rng(seed).standard_normal((1, 3, size, size)).astype(np.float32)


def residual():
    """Pairs of convolutions around which values are carried, in the manner of ResNet."""
    net = Net(1, input=image(1, 32))
    x = net.relu(net.conv("input", 16))
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        y = net.conv(net.relu(net.conv(x, channels, stride=stride)), channels)
        x = net.relu(net.sum(y, x if stride == 1 else net.conv(x, channels, size=1, stride=stride)))
    return net.finish(net.head(x, 10))


def branches():
    """Convolutions of several sizes beside each other, joined, in the manner of Inception."""
    net = Net(2, input=image(2, 56))
    x = net.relu(net.conv("input", 64, stride=2))
    for _ in range(3):
        ways = [net.conv(x, 64, size=1), net.conv(net.relu(net.conv(x, 32, size=1)), 64),
                net.conv(net.relu(net.conv(x, 32, size=1)), 64, size=5), net.conv(net.max_pool(x), 64, size=1)]
        ways = [net.relu(way) for way in ways]
        x = net.add("Concat", ways, np.concatenate([net.of[way] for way in ways], 1), axis=1)
    return net.finish(net.head(x, 10))


def encoder():
    """Two layers of a transformer over tokens."""
    net, length, width = Net(3, input=np.random.default_rng(3).integers(0, 500, (1, 24))), 24, 64
    table, rows = net.weight(500, width, fan_in=1)
    x = net.add("Gather", [table, "input"], rows[net.of["input"]])
    places, added = net.weight(length, width, fan_in=1)
    x = net.add("Add", [x, places], net.of[x] + added)
    for _ in range(2):
        x = net.norm(net.sum(x, net.attention(x, 4)))
        up = net.dense(x, 4 * width)
        x = net.norm(net.sum(x, net.dense(net.add("Tanh", [up], np.tanh(net.of[up])), width)))
    return net.finish(x)


def perceptron():
    """Products in a row, most of whose bytes are weights; the first axis can be any."""
    net = Net(4, input=np.random.default_rng(4).standard_normal((8, 96)).astype(np.float32))
    x = "input"
    for width in (256, 384, 256):
        x = net.relu(net.dense(x, width))
    return net.finish(net.dense(x, 10))


NETWORKS = {network.__name__: network for network in (residual, branches, encoder, perceptron)}


def write(name, folder, dynamic=False):
    """The ONNX file of a network in the folder; `dynamic` leaves the first axis of inputs and outputs open, as "batch"."""
    graph = NETWORKS[name]()
    file = folder / f"{name}{'-dynamic' if dynamic else ''}.onnx"
    described = lambda label, array: helper.make_tensor_value_info(
        label, ELEMENT_TYPES[array.dtype], ["batch" if dynamic else len(array), *array.shape[1:]])
    model = helper.make_model(helper.make_graph(
        [helper.make_node(op, names, results, name=results[0], **attributes) for op, names, results, attributes in graph.steps],
        name, [described(*each) for each in graph.inputs.items()], [described("output", graph.expected[0])],
        [numpy_helper.from_array(np.asarray(array), label) for label, array in graph.constants.items()]),
        opset_imports=[helper.make_opsetid("", graph.opset)], ir_version=8)
    onnx.checker.check_model(model)
    file.write_bytes(model.SerializeToString())
    return file
