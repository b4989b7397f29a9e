"""ONNX's light networks with weights that differ. As ONNX has them every weight of a network is one number, so that all sums are
equal and its softmax gives 1/1000 a thousand times, whatever happened before. Here weights are drawn, the softmax at the
end is left out, and NumPy computes in f64, node by node, what comes out.
"""

import math

import numpy as np
import onnx
from onnx import numpy_helper

from random_ops.windows import convolve, taps


def fan_in(node, shape):
    return math.prod(shape[1:]) / 2 if node.op_type == "Conv" else shape[1]


def weight(numbers, node, place, shape):
    """An operand of a node, so that values stay around 1."""
    if node.op_type in ("Conv", "Gemm") and place == 1:
        return numbers.standard_normal(shape) / math.sqrt(fan_in(node, shape))
    # Scale and variance of a normalisation are around 1; its bias and mean, and other biases, around 0.
    return 0.1 * numbers.standard_normal(shape) + (1 if node.op_type == "BatchNormalization" and place in (1, 4) else 0)


def by_channel(vector):
    return vector.reshape(1, -1, 1, 1)


def pooled(x, a, border):
    """The elements of each window, and where they lie."""
    size, pads = a["kernel_shape"], a.get("pads", [0] * 4)
    windows, places = taps(x, x.shape[2:], size, a.get("strides", [1, 1]), (1, 1), list(zip(pads[:2], pads[2:])), border)
    return (each.reshape(*windows.shape[:4], -1) for each in (windows, places))


def max_pool(a, x):
    return next(pooled(x, a, -np.inf)).max(-1)


def average_pool(a, x):
    """Of what lies in the image."""
    windows, places = pooled(x, a, 0)
    return windows.sum(-1) / (places == 0).sum(-1)


def convolution(a, x, w, b=None):
    pads = a.get("pads", [0] * 4)
    return convolve(x, w, b, a.get("group", 1), x.shape[2:], a.get("strides", [1, 1]), (1, 1), list(zip(pads[:2], pads[2:])))


def local_response(a, x):
    low = (a["size"] - 1) // 2
    squares = np.pad(x * x, ((0, 0), (low, a["size"] - 1 - low), (0, 0), (0, 0)))
    sums = sum(squares[:, i:i + x.shape[1]] for i in range(a["size"]))
    return x / (a.get("bias", 1) + a["alpha"] / a["size"] * sums) ** a["beta"]


OPS = {
    "Conv": convolution,
    "Relu": lambda a, x: np.maximum(x, 0),
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdims=True),
    "Concat": lambda a, *parts: np.concatenate(parts, a["axis"]),
    "Dropout": lambda a, x: x,
    "Sum": lambda a, *terms: sum(terms),
    "BatchNormalization": lambda a, x, scale, bias, mean, variance:
        by_channel(scale) * (x - by_channel(mean)) / np.sqrt(by_channel(variance) + a["epsilon"]) + by_channel(bias),
    "LRN": local_response,
    "Reshape": lambda a, x, shape: x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape)]),
    "Gemm": lambda a, x, w, b: x @ (w.T if a.get("transB") else w) + b,
}


def draw_weights(model):
    """Initializers in the place of nodes that fill weights with one number."""
    numbers, graph = np.random.default_rng(0), model.graph
    shapes = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    fills = {node.output[0]: node for node in graph.node if node.op_type == "ConstantOfShape"}
    for node in list(graph.node):
        for place, name in enumerate(node.input):
            if name in fills:
                fill = fills.pop(name)
                drawn = weight(numbers, node, place, [int(size) for size in shapes[fill.input[0]]]).astype(np.float32)
                graph.initializer.append(numpy_helper.from_array(drawn, name))
                graph.node.remove(fill)
    assert not fills, f"constants that nobody uses: {list(fills)}"


def with_weights(file):
    """(model, its inputs by name, the name of its output, what NumPy makes of it)."""
    model = onnx.load(str(file))
    draw_weights(model)
    graph = model.graph
    last = graph.node[-1]
    assert last.op_type == "Softmax", last.op_type
    graph.output[0].CopyFrom(onnx.ValueInfoProto(name=last.input[0]))
    graph.node.remove(last)
    values = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    inputs = {each.name: np.random.default_rng(1).random([dim.dim_value or 1 for dim in each.type.tensor_type.shape.dim],
                                                         np.float32)
              for each in graph.input if each.name not in values}
    values = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in (values | inputs).items()}
    for node in list(graph.node):
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        values[node.output[0]] = OPS[node.op_type](attributes, *(values[name] for name in node.input))
    output = graph.output[0].name
    return model, inputs, output, values[output].astype(np.float32)
