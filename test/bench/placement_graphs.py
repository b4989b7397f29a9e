"""Graphs that bench_placement.py wants and nobody else has: YOLOX-Nano as it was published (Ge, Liu, Wang, Li, Sun:
YOLOX: Exceeding YOLO Series in 2021; depth 0.33, width 0.25, depthwise, 416x416, norms folded), with random weights, and
random layered graphs."""

import random
import re

import numpy as np


class Network:
    """Nodes of an ONNX graph in the making; values by name, with their channels."""

    def __init__(self, seed):
        self.numbers, self.nodes, self.weights, self.channels = np.random.default_rng(seed), [], [], {}

    def add(self, op, inputs, channels, **attributes):
        from onnx import helper
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        self.channels[name] = channels
        return name

    def constant(self, array):
        from onnx import numpy_helper
        name = f"constant{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def conv(self, x, channels, size=1, stride=1, group=1, act=True):
        depth = self.channels[x] // group
        weight = self.numbers.standard_normal((channels, depth, size, size)) / (depth * size * size) ** 0.5
        names = [self.constant(a.astype(np.float32)) for a in (weight, self.numbers.standard_normal(channels) / 10)]
        y = self.add("Conv", [x, *names], channels, kernel_shape=[size] * 2, strides=[stride] * 2, group=group,
                     pads=[size // 2] * 4)
        return self.add("Mul", [y, self.add("Sigmoid", [y], channels)], channels) if act else y

    def separable(self, x, channels, stride=1):
        return self.conv(self.conv(x, self.channels[x], 3, stride, self.channels[x]), channels)

    def concat(self, *xs):
        return self.add("Concat", list(xs), sum(self.channels[x] for x in xs), axis=1)

    def stage(self, x, channels, count, skips=True):
        """A cross-stage partial layer: half of the channels go through `count` bottlenecks."""
        half = channels // 2
        y, aside = self.conv(x, half), self.conv(x, half)
        for _ in range(count):
            z = self.separable(self.conv(y, half), half)
            y = self.add("Add", [z, y], half) if skips else z
        return self.conv(self.concat(y, aside), channels)

    def pool(self, x, size):
        return self.add("MaxPool", [x], self.channels[x], kernel_shape=[size] * 2, strides=[1, 1], pads=[size // 2] * 4)

    def upsample(self, x):
        scales = self.constant(np.array([1, 1, 2, 2], np.float32))
        return self.add("Resize", [x, "", scales], self.channels[x], mode="nearest", nearest_mode="floor",
                        coordinate_transformation_mode="asymmetric")

    def focus(self, x):
        """Every second pixel, four times, side by side."""
        parts = []
        for row, column in ((0, 0), (1, 0), (0, 1), (1, 1)):
            bounds = [self.constant(np.array(v, np.int64)) for v in ((row, column), (416, 416), (2, 3), (2, 2))]
            parts.append(self.add("Slice", [x, *bounds], self.channels[x]))
        return self.concat(*parts)


def yolox_nano(path):
    """Writes the ONNX file: a pyramid of three levels, a head each."""
    import onnx
    from onnx import TensorProto, helper
    net = Network(0)
    net.channels["images"] = 3
    x = net.conv(net.focus("images"), 16, 3)
    levels = []
    for channels, count in ((32, 1), (64, 3), (128, 3)):
        x = net.stage(net.separable(x, channels, 2), channels, count)
        levels.append(x)
    x = net.separable(x, 256, 2)
    x = net.conv(x, 128)
    x = net.conv(net.concat(x, *(net.pool(x, size) for size in (5, 9, 13))), 256)
    third, second, first = net.stage(x, 256, 1, skips=False), levels[2], levels[1]
    down5 = net.conv(third, 128)
    middle = net.stage(net.concat(net.upsample(down5), second), 128, 1, skips=False)
    down4 = net.conv(middle, 64)
    outer = net.stage(net.concat(net.upsample(down4), first), 64, 1, skips=False)
    inner = net.stage(net.concat(net.separable(outer, 64, 2), down4), 128, 1, skips=False)
    last = net.stage(net.concat(net.separable(inner, 128, 2), down5), 256, 1, skips=False)
    rows = []
    for feature in (outer, inner, last):
        stem = net.conv(feature, 64)
        kinds, boxes = stem, stem
        for _ in range(2):
            kinds, boxes = net.separable(kinds, 64), net.separable(boxes, 64)
        parts = [net.conv(boxes, 4, act=False)]
        for features, channels in ((boxes, 1), (kinds, 80)):
            parts.append(net.add("Sigmoid", [net.conv(features, channels, act=False)], channels))
        shape = net.constant(np.array([1, 85, -1], np.int64))
        rows.append(net.add("Reshape", [net.concat(*parts), shape], 85))
    joined = net.add("Concat", rows, 85, axis=2)
    net.nodes.append(helper.make_node("Transpose", [joined], ["output"], perm=[0, 2, 1]))
    graph = helper.make_graph(
        net.nodes, "yolox_nano", [helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, 416, 416])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 3549, 85])], net.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def layered(path, seed):
    """Writes MLIR text: layers of one to eight products, sums and activations over 128x512, each of values of the layers
    right before it; 250 to 2500 ops. Weights of a quarter of a MiB to four, a few of them read twice."""
    draw = random.Random(seed)
    size = int(250 * 10 ** draw.random())
    widths = (128, 512, 1024)
    lines, weights, count = [], [], 0
    layers = [[("%x", 512)]]
    number = 0
    while number < size:
        layer = []
        for _ in range(draw.randint(1, 8)):
            source, width = draw.choice(layers[-1] if draw.random() < 0.8 else layers[draw.randrange(max(0, len(layers) - 4), len(layers))])
            kind = draw.random()
            if kind < 0.45:
                to = draw.choice(widths)
                known = [w for w in weights if w[1:] == (width, to)]
                if known and draw.random() < 0.1:
                    weight = draw.choice(known)[0]
                else:
                    weight = f"%w{count}"
                    count += 1
                    weights.append((weight, width, to))
                    lines.append(f"  {weight} = gantry.constant dense<{1 / (1000 + count):.9f}> : tensor<{width}x{to}xf32>")
                lines.append(f"  %v{number} = gantry.matmul {source}, {weight} : (tensor<128x{width}xf32>, tensor<{width}x{to}xf32>)"
                             f" -> tensor<128x{to}xf32>")
                layer.append((f"%v{number}", to))
            else:
                tensor = f"tensor<128x{width}xf32>"
                same = [v for below in layers[-3:] for v, w in below if w == width and v != source]
                if same and kind < 0.75:
                    lines.append(f"  %v{number} = gantry.add {source}, {draw.choice(same)} : ({tensor}, {tensor}) -> {tensor}")
                else:
                    lines.append(f"  %v{number} = gantry.{draw.choice(['tanh', 'sigmoid', 'relu'])} {source} : ({tensor}) -> {tensor}")
                layer.append((f"%v{number}", width))
            number += 1
        layers.append(layer)
    # All that nothing reads is summed up, so that nothing is dead.
    read = {name for line in lines for name in re.findall(r"%v\d+", line.split("=", 1)[1])}
    loose = [(v, w) for layer in layers[1:] for v, w in layer if v not in read]
    total = None
    for value, width in loose:
        if width != 128:
            lines.append(f"  %c{number} = gantry.constant dense<{1 / (5000 + number):.9f}> : tensor<{width}x128xf32>")
            lines.append(f"  %v{number} = gantry.matmul {value}, %c{number} : (tensor<128x{width}xf32>, tensor<{width}x128xf32>)"
                         f" -> tensor<128x128xf32>")
            value = f"%v{number}"
            number += 1
        if total:
            lines.append(f"  %v{number} = gantry.add {total}, {value} : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>")
            value = f"%v{number}"
            number += 1
        total = value
    text = ["func.func @main(%x: tensor<128x512xf32>) -> tensor<128x128xf32> {", *lines, f"  return {total} : tensor<128x128xf32>", "}"]
    path.write_text("\n".join(text) + "\n")
