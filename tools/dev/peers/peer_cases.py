"""Single products and convolutions that peers are measured on: those of models, and any."""

import dataclasses
import math
import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference


@dataclasses.dataclass(frozen=True)
class Product:
    rows: int
    terms: int
    columns: int

    def flops(self):
        return 2 * self.rows * self.terms * self.columns

    def weights(self):
        return self.terms * self.columns

    def line(self):
        return f"product {self.rows} {self.terms} {self.columns}"

    def __str__(self):
        return f"{self.rows}x{self.terms} * {self.terms}x{self.columns}"

    def onnx(self, copies, channels_last=False):
        return graph("MatMul", (self.rows, self.terms), (self.terms, self.columns), (self.rows, self.columns), copies)


@dataclasses.dataclass(frozen=True)
class Convolution:
    images: int
    channels: int
    height: int
    width: int
    filters: int
    window: int
    stride: int
    pad: int
    groups: int

    def result(self):
        size = lambda extent: (extent + 2 * self.pad - self.window) // self.stride + 1
        return self.images, self.filters, size(self.height), size(self.width)

    def flops(self):
        return 2 * math.prod(self.result()) * self.window**2 * self.channels // self.groups

    def weights(self):
        return self.filters * self.channels // self.groups * self.window**2

    def line(self):
        return "conv " + " ".join(str(number) for number in dataclasses.astuple(self))

    def __str__(self):
        kind = "depthwise " if self.groups == self.channels > 1 else f"{self.groups} groups " if self.groups > 1 else ""
        return (f"{kind}{self.images}x{self.channels}x{self.height}x{self.width} to {self.filters}, "
                f"{self.window}x{self.window}" + (f" / {self.stride}" if self.stride > 1 else "") +
                (f" pad {self.pad}" if self.pad else ""))

    def onnx(self, copies, channels_last=False):
        kernel = self.filters, self.channels // self.groups, self.window, self.window
        return graph("Conv", (self.images, self.channels, self.height, self.width), kernel, self.result(), copies,
                     channels_last, group=self.groups, strides=[self.stride] * 2, pads=[self.pad] * 4,
                     kernel_shape=[self.window] * 2)


def graph(op, source, weights, result, copies, channels_last=False, **attributes):
    """A model of so many ops on one input, each with weights and an output of its own; images come and go with
    their channels last where asked for."""
    rng = np.random.default_rng(0)
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    numbers = range(copies)
    kept = [numpy_helper.from_array(rng.standard_normal(weights, np.float32), f"w{i}") for i in numbers]
    nodes = [helper.make_node(op, ["x", f"w{i}"], [f"y{i}"], name=f"op{i}", **attributes) for i in numbers]
    if channels_last:
        turn = lambda name, to, order: helper.make_node("Transpose", [name], [to], perm=order)
        for i, node in enumerate(nodes):
            node.input[0], node.output[0] = "first", f"first{i}"
        nodes = [turn("x", "first", [0, 3, 1, 2]), *nodes, *(turn(f"first{i}", f"y{i}", [0, 2, 3, 1]) for i in numbers)]
        source, result = ([shape[0], *shape[2:], shape[1]] for shape in (source, result))
    made = helper.make_graph(nodes, "op", [info("x", source)], [info(f"y{i}", result) for i in numbers], kept)
    return helper.make_model(made, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def of_model(path, share=0.97):
    """The products with weights and the convolutions that do `share` of the model's arithmetic."""
    model = shape_inference.infer_shapes(onnx.load(path))
    shapes = {t.name: tuple(t.dims) for t in model.graph.initializer}
    constants = set(shapes)
    for value in [*model.graph.input, *model.graph.value_info, *model.graph.output]:
        dims = value.type.tensor_type.shape.dim
        shapes.setdefault(value.name, tuple(dim.dim_value or 1 for dim in dims))
    for node in model.graph.node:
        if node.op_type == "Constant":
            constants.add(node.output[0])
    found = {}
    for node in model.graph.node:
        case = case_of(node, shapes, constants)
        if case:
            found[case] = found.get(case, 0) + case.flops()
    left, total = sum(found.values()), sum(found.values())
    for case, flops in sorted(found.items(), key=lambda item: -item[1]):
        if left < (1 - share) * total:
            break
        left -= flops
        yield case


def case_of(node, shapes, constants):
    sizes = [shapes.get(name) for name in node.input[:2]]
    if node.op_type not in ("MatMul", "Gemm", "Conv") or node.input[1] not in constants or not all(sizes):
        return None
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    source, weights = sizes
    if node.op_type == "Conv":
        if len(weights) != 4 or weights[2] != weights[3] or len(set(given.get("pads", [0]))) > 1:
            return None
        return Convolution(*source, weights[0], weights[2], given.get("strides", [1])[0], given.get("pads", [0])[0],
                           given.get("group", 1))
    terms, columns = reversed(weights) if given.get("transB") else weights
    return Product(math.prod(source) // terms, terms, columns)


def drawn(count, seed):
    """Sizes that nobody chose."""
    rng = random.Random(seed)
    size = lambda least, most: round(math.exp(rng.uniform(math.log(least), math.log(most))))
    for number in range(count):
        if number % 2:
            yield Product(size(1, 512), size(16, 3000), size(16, 3000))
            continue
        window, extent = rng.choice([1, 1, 3, 3, 5, 7]), size(7, 80)
        channels, filters, groups = size(3, 320), size(8, 320), 1
        if rng.random() < 0.2:
            filters = groups = channels
        yield Convolution(rng.choice([1, 1, 2]), channels, extent, max(window, extent + rng.randint(-5, 5)), filters,
                          window, rng.choice([1, 1, 2]), window // 2 * rng.randint(0, 1), groups)
