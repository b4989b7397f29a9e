"""Random graphs of ops on matrices: values with several uses, reductions that broadcast back, products,
pieces and joins, so that kernels are formed in many ways. Values stay around 1, so that errors do not grow."""

import dataclasses

import numpy as np


@dataclasses.dataclass
class Graph:
    """Steps (op, names of inputs, names of outputs, attributes) over named arrays."""
    inputs: dict
    constants: dict
    steps: list
    outputs: list
    expected: list
    opset: int = 17
    tolerance: tuple = (1e-3, 1e-3)


def softmax(x):
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def norm(x):
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(1, keepdims=True) + 1e-2)


UNARY = [("Tanh", np.tanh), ("Sigmoid", lambda v: 1 / (1 + np.exp(-v))), ("Relu", lambda v: np.maximum(v, 0)),
         ("Neg", np.negative), ("Abs", np.abs), ("Sin", np.sin), ("Softplus", lambda v: np.logaddexp(0, v)),
         ("Softsign", lambda v: v / (1 + np.abs(v)))]
BINARY = [("Add", np.add), ("Sub", np.subtract), ("Max", np.maximum), ("Min", np.minimum), ("Mul", np.multiply)]
# Methods of Builder.
KINDS = ("unary", "unary", "binary", "binary", "row", "softmax", "reduce", "product", "join", "turn", "norm", "where", "scan",
         "reorder")


class Builder:
    def __init__(self, draw, rows, columns):
        self.draw, self.rows, self.columns = draw, rows, columns
        self.inputs, self.constants, self.steps = {}, {}, []
        self.values = {}  # name: array in f64
        for i in range(draw.integer(1, 3)):
            self.add_input(f"x{i}", (self.rows, self.columns))

    def add_input(self, name, shape, constant=False):
        array = self.draw.array(shape, np.float32, -1.5, 1.5)
        (self.constants if constant else self.inputs)[name] = array
        if not constant:
            self.values[name] = array.astype(np.float64)
        return array.astype(np.float64)

    def emit(self, op, names, array, **attributes):
        name = f"v{len(self.steps)}"
        self.steps.append((op, names, [name], attributes))
        self.values[name] = array
        return name

    def pick(self):
        """Recent values first, older ones now and then."""
        names = list(self.values)
        return names[-1 - min(int(self.draw.random.expovariate(0.4)), len(names) - 1)]

    def step(self):
        getattr(self, self.draw.one(KINDS))()

    def unary(self):
        x = self.pick()
        op, function = self.draw.one(UNARY)
        self.emit(op, [x], function(self.values[x]))

    def binary(self):
        x, y = self.pick(), self.pick()
        op, function = self.draw.one(BINARY)
        result = function(self.values[x], self.values[y])
        name = self.emit(op, [x, y], result)
        if np.abs(result).max(initial=0) > 4:
            self.emit("Tanh", [name], np.tanh(result))

    def row(self):
        """With a vector of the model's own, along rows or columns."""
        x = self.pick()
        name = f"c{len(self.constants)}"
        shape = self.draw.one(((self.columns,), (1, self.columns), (self.rows, 1), ()))
        vector = self.add_input(name, shape, constant=True)
        op, function = self.draw.one([("Add", np.add), ("Mul", np.multiply)])
        result = function(self.values[x], vector)
        name = self.emit(op, [x, name], result)
        if np.abs(result).max(initial=0) > 4:
            self.emit("Tanh", [name], np.tanh(result))

    def softmax(self):
        x = self.pick()
        self.emit("Softmax", [x], softmax(self.values[x]), axis=1)

    def norm(self):
        x = self.pick()
        names = []
        for fill in (1.0, 0.0):
            names.append(f"c{len(self.constants)}")
            self.constants[names[-1]] = np.full(self.columns, fill, np.float32)
        self.emit("LayerNormalization", [x, *names], norm(self.values[x]), axis=-1, epsilon=1e-2)

    def reduce(self):
        """And back, by broadcasting."""
        x = self.pick()
        axis = self.draw.integer(0, 1)
        op, function = self.draw.one([("ReduceMean", np.mean), ("ReduceMax", np.max), ("ReduceMin", np.min)])
        small = function(self.values[x], axis=axis, keepdims=True)
        name = f"v{len(self.steps)}"
        self.steps.append((op, [x], [name], {"axes": [axis]}))
        y = self.pick()
        self.emit("Sub", [y, name], self.values[y] - small)

    def product(self):
        x = self.pick()
        name = f"c{len(self.constants)}"
        matrix = self.add_input(name, (self.columns, self.columns), constant=True) / self.columns
        self.constants[name] = (self.constants[name] / self.columns).astype(np.float32)
        self.emit("MatMul", [x, name], self.values[x] @ matrix)

    def join(self):
        x, y = self.pick(), self.pick()
        cut = self.draw.integer(0, self.columns)
        parts = []
        for name, low, high in ((x, 0, cut), (y, cut, self.columns)):
            bounds = []
            for value in (low, high):
                bounds.append(f"c{len(self.constants)}")
                self.constants[bounds[-1]] = np.array([value], np.int64)
            axes = f"c{len(self.constants)}"
            self.constants[axes] = np.array([1], np.int64)
            parts.append(f"v{len(self.steps)}")
            self.steps.append(("Slice", [name, *bounds, axes], [parts[-1]], {}))
        self.emit("Concat", parts, np.concatenate([self.values[x][:, :cut], self.values[y][:, cut:]], 1), axis=1)

    def turn(self):
        """There and back, with something between."""
        x = self.pick()
        turned = f"v{len(self.steps)}"
        self.steps.append(("Transpose", [x], [turned], {"perm": [1, 0]}))
        between = f"v{len(self.steps)}"
        self.steps.append(("Neg", [turned], [between], {}))
        self.emit("Transpose", [between], -self.values[x], perm=[1, 0])

    def scan(self):
        x = self.pick()
        name, axis = f"c{len(self.constants)}", self.draw.integer(0, 1)
        self.constants[name] = np.array(axis, np.int64)
        attributes = {"exclusive": self.draw.integer(0, 1), "reverse": self.draw.integer(0, 1)}
        ordered = np.flip(self.values[x], axis) if attributes["reverse"] else self.values[x]
        sums = np.cumsum(ordered, axis) - (ordered if attributes["exclusive"] else 0)
        sums = np.flip(sums, axis) if attributes["reverse"] else sums
        name = self.emit("CumSum", [x, name], sums, **attributes)
        self.emit("Tanh", [name], np.tanh(sums))

    def reorder(self):
        """In another order, some of them several times."""
        x = self.pick()
        name = f"c{len(self.constants)}"
        self.constants[name] = self.draw.numbers.integers(-self.rows, self.rows, self.rows)
        self.emit("Gather", [x, name], self.values[x][self.constants[name]], axis=0)

    def where(self):
        x, y = self.pick(), self.pick()
        name = f"c{len(self.constants)}"
        mask = self.draw.array((self.rows, self.columns), np.bool_)
        self.constants[name] = mask
        self.emit("Where", [name, x, y], np.where(mask, self.values[x], self.values[y]))


def finish(draw, builder, most):
    """The graph with the last value and up to `most` others as outputs."""
    made = [name for name in builder.values if name not in builder.inputs]
    outputs = sorted({made[-1], *draw.random.sample(made, min(len(made), draw.integer(1, most)))}) if made else []
    return Graph(builder.inputs, builder.constants, builder.steps, outputs,
                 [builder.values[name].astype(np.float32) for name in outputs])


def graph(draw):
    builder = Builder(draw, draw.one((1, 2, 3, 8, 17, 33)), draw.one((1, 3, 8, 16, 17, 64, 197)))
    for _ in range(draw.integer(2, 14)):
        builder.step()
    return finish(draw, builder, 3)


FAMILY = [graph]
