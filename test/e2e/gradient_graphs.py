"""Random graphs for the test of gradients: elementwise ops, products, rows, reductions and movement over values of a few
shapes, of which each may be read many times; branches, loops and checkpoints around parts of them."""

import numpy as np

from gradient_forms import Form, text_of, torch

SHAPES = [(3, 4), (4, 3), (4,), (3, 1), (1, 4), (3, 3)]
UNARY = [("tanh", "tanh"), ("sin", "sin"), ("sigmoid", "sigmoid"), ("neg", "neg"), ("atan", "atan"), ("erf", "erf"), ("cos", "cos")]
ROUNDS = (0, 1, 3)  # what operands 6 to 8 hold
BINARY = [("add", "add"), ("sub", "sub"), ("mul", "mul")]


class Graph:
    """Lines and, beside them, what PyTorch makes of them: functions of the values so far."""

    def __init__(self, seed):
        self.draw = np.random.default_rng(seed)
        self.values = [("%x0", (3, 4)), ("%x1", (4, 3)), ("%x2", (4,))]
        self.lines, self.steps, self.count = [], [], 0
        for _ in range(int(self.draw.integers(3, 14))):
            self.draw.choice([self.unary, self.unary, self.binary, self.binary, self.binary, self.product, self.row, self.reduce, self.move,
                              self.checkpoint, self.branch, self.loop, self.bounded])()
        self.finish()

    def pick(self, fits=lambda shape: True):
        fitting = [i for i, (_, shape) in enumerate(self.values) if fits(shape)]
        return int(self.draw.choice(fitting)) if fitting else None

    def name(self):
        self.count += 1
        return f"%t{self.count}"

    def add(self, op, operands, shape, function, attributes="", into=None):
        """A line of an op of values by their numbers; `function` of their tensors."""
        name, lines = self.name(), self.lines if into is None else into
        kinds = ", ".join(text_of("f64", self.values[i][1]) for i in operands)
        lines.append(f"{name} = gantry.{op} {', '.join(self.values[i][0] for i in operands)} {{{attributes}}} : ({kinds}) -> {text_of('f64', shape)}")
        self.keep(name, shape, lambda v: function(*(v[i] for i in operands)))

    def keep(self, name, shape, function):
        self.values.append((name, tuple(shape)))
        self.steps.append(function)

    def unary(self):
        op, function = UNARY[int(self.draw.integers(len(UNARY)))]
        i = self.pick()
        self.add(op, [i], self.values[i][1], getattr(torch, function))

    def binary(self):
        op, function = BINARY[int(self.draw.integers(len(BINARY)))]
        i = self.pick()
        shape = self.values[i][1]

        def fits(other):
            try:
                np.broadcast_shapes(shape, other)
            except ValueError:
                return False
            return True
        j = self.pick(fits)
        self.add(op, [i, j], np.broadcast_shapes(shape, self.values[j][1]), getattr(torch, function))

    def product(self):
        i = self.pick(lambda shape: len(shape) == 2)
        j = self.pick(lambda shape: len(shape) == 2 and shape[0] == self.values[i][1][1])
        if j is not None:
            self.add("matmul", [i, j], (self.values[i][1][0], self.values[j][1][1]), lambda a, b: 0 + a @ b)

    def row(self):
        i = self.pick(lambda shape: len(shape) == 2)
        axis = int(self.draw.integers(2))
        self.add("softmax", [i], self.values[i][1], lambda x: torch.softmax(x, axis), f"axis = {axis} : i64")

    def reduce(self):
        i = self.pick(lambda shape: len(shape) == 2)
        axis = int(self.draw.integers(2))
        shape = [1 if d == axis else s for d, s in enumerate(self.values[i][1])]
        self.add("reduce_mean", [i], shape, lambda x: x.mean(axis, keepdim=True), f"axes = array<i64: {axis}>, keep_dims")

    def move(self):
        i = self.pick(lambda shape: len(shape) == 2)
        self.add("transpose", [i], self.values[i][1][::-1], lambda x: x.T, "permutation = array<i64: 1, 0>")

    def checkpoint(self):
        i = self.pick()
        name, kind = self.name(), text_of("f64", self.values[i][1])
        self.lines += [f"{name} = gantry.checkpoint -> ({kind}) {{", f"  {name}_1 = gantry.sin {self.values[i][0]} : ({kind}) -> {kind}",
                       f"  {name}_2 = gantry.mul {name}_1, {self.values[i][0]} : ({kind}, {kind}) -> {kind}", f"  gantry.yield {name}_2 : {kind}", "}"]
        self.keep(name, self.values[i][1], lambda v: torch.sin(v[i]) * v[i])

    def branch(self):
        i, j = self.pick(), None
        j = self.pick(lambda shape: shape == self.values[i][1])
        name, kind, takes = self.name(), text_of("f64", self.values[i][1]), bool(self.draw.integers(2))
        a, b = self.values[i][0], self.values[j][0]
        self.lines += [f"{name} = gantry.if %x{4 if takes else 5} -> ({kind}) {{", f"  {name}_1 = gantry.mul {a}, {b} : ({kind}, {kind}) -> {kind}",
                       f"  {name}_2 = gantry.tanh {name}_1 : ({kind}) -> {kind}", f"  gantry.yield {name}_2 : {kind}", "} else {",
                       f"  {name}_3 = gantry.sin {b} : ({kind}) -> {kind}", f"  gantry.yield {name}_3 : {kind}", "} : tensor<i1>"]
        self.keep(name, self.values[i][1], lambda v: torch.tanh(v[i] * v[j]) if takes else torch.sin(v[j]))

    def loop(self):
        i = self.pick()
        j = self.pick(lambda shape: shape == self.values[i][1])
        name, kind, rounds = self.name(), text_of("f64", self.values[i][1]), int(self.draw.integers(1, 4))
        a, b = self.values[i][0], self.values[j][0]
        self.lines += [f"{name}_z = gantry.constant dense<0> : tensor<i64>", f"{name}_o = gantry.constant dense<1> : tensor<i64>",
                       f"{name}_m = gantry.constant dense<{rounds}> : tensor<i64>",
                       f"{name}_n, {name} = gantry.while ({name}_z, {a}) : (tensor<i64>, {kind}) -> (tensor<i64>, {kind}) {{",
                       f"^bb0({name}_i: tensor<i64>, {name}_v: {kind}):",
                       f"  {name}_c = gantry.compare lt, {name}_i, {name}_m : (tensor<i64>, tensor<i64>) -> tensor<i1>", f"  gantry.yield {name}_c : tensor<i1>",
                       "} do {", f"^bb0({name}_j: tensor<i64>, {name}_w: {kind}):",
                       f"  {name}_1 = gantry.mul {name}_w, {b} : ({kind}, {kind}) -> {kind}", f"  {name}_2 = gantry.sin {name}_1 : ({kind}) -> {kind}",
                       f"  {name}_3 = gantry.add {name}_j, {name}_o : (tensor<i64>, tensor<i64>) -> tensor<i64>",
                       f"  gantry.yield {name}_3, {name}_2 : tensor<i64>, {kind}", "}"]

        def run(v):
            x = v[i]
            for _ in range(rounds):
                x = torch.sin(x * v[j])
            return x
        self.keep(name, self.values[i][1], run)

    def bounded(self):
        """A loop whose rounds come with the input, with a branch on the number of the round."""
        i = self.pick()
        j = self.pick(lambda shape: shape == self.values[i][1])
        name, kind, given = self.name(), text_of("f64", self.values[i][1]), int(self.draw.integers(len(ROUNDS)))
        a, b = self.values[i][0], self.values[j][0]
        most = ROUNDS[given] + int(self.draw.integers(0, 3))
        self.lines += [f"{name}_z = gantry.constant dense<0> : tensor<i64>", f"{name}_o = gantry.constant dense<1> : tensor<i64>",
                       f"{name}_n, {name} = gantry.while ({name}_z, {a}) at_most {most} : (tensor<i64>, {kind}) -> (tensor<i64>, {kind}) {{",
                       f"^bb0({name}_i: tensor<i64>, {name}_v: {kind}):",
                       f"  {name}_c = gantry.compare lt, {name}_i, %x{6 + given} : (tensor<i64>, tensor<i64>) -> tensor<i1>",
                       f"  gantry.yield {name}_c : tensor<i1>", "} do {", f"^bb0({name}_j: tensor<i64>, {name}_w: {kind}):",
                       f"  {name}_f = gantry.compare lt, {name}_j, {name}_o : (tensor<i64>, tensor<i64>) -> tensor<i1>",
                       f"  {name}_1 = gantry.if {name}_f -> ({kind}) {{", f"    {name}_2 = gantry.mul {name}_w, {b} : ({kind}, {kind}) -> {kind}",
                       f"    {name}_3 = gantry.sin {name}_2 : ({kind}) -> {kind}", f"    gantry.yield {name}_3 : {kind}", "  } else {",
                       f"    {name}_4 = gantry.tanh {name}_w : ({kind}) -> {kind}", f"    {name}_5 = gantry.mul {name}_4, {b} : ({kind}, {kind}) -> {kind}",
                       f"    gantry.yield {name}_5 : {kind}", "  } : tensor<i1>",
                       f"  {name}_6 = gantry.add {name}_j, {name}_o : (tensor<i64>, tensor<i64>) -> tensor<i64>",
                       f"  gantry.yield {name}_6, {name}_1 : tensor<i64>, {kind}", "}"]

        def run(v):
            x = v[i]
            for n in range(ROUNDS[given]):
                x = torch.tanh(x) * v[j] if n else torch.sin(x * v[j])
            return x
        self.keep(name, self.values[i][1], run)

    def finish(self):
        """The last value is the result; what nobody read so far is a part of it, too."""
        read = " ".join(self.lines)
        last = [len(self.values) - 1, *(i for i, (name, _) in enumerate(self.values[:-1]) if f"{name} " not in read and f"{name}," not in read)]
        for i in last:
            if self.values[i][1]:
                axes = range(len(self.values[i][1]))
                self.add("reduce_sum", [i], (), lambda x: x.sum(), f"axes = array<i64: {', '.join(map(str, axes))}>")
        scalars = [i for i, (_, shape) in enumerate(self.values) if not shape]
        total = scalars[0]
        for i in scalars[1:]:
            self.add("add", [total, i], (), torch.add)
            total = len(self.values) - 1
        self.lines.append(f"%r0 = gantry.mul {self.values[total][0]}, {self.values[total][0]} : (tensor<f64>, tensor<f64>) -> tensor<f64>")
        self.steps.append(lambda v: v[total] * v[total])

    def compute(self, *operands):
        values = list(operands[:3])
        for step in self.steps:
            values.append(step(values))
        return values[-1]


def always(value):
    return lambda numbers, shape: np.array(value)


def graph(seed):
    made = Graph(seed)
    # x3 is not read: a gradient of zeros.
    return Form(f"graph {seed}", "f64:3 4, f64:4 3, f64:4, f64:2, i1:, i1:, i64:, i64:, i64:", "f64:", made.compute, body="\n".join(made.lines),
                draws={4: always(True), 5: always(False), **{6 + i: always(rounds) for i, rounds in enumerate(ROUNDS)}}, sizes=(1,))
