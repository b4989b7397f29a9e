#!/usr/bin/python3
"""Random graphs on a simulated GPU that has no room for them, repaired with --over-limit=fix.

Each file is compiled without a limit, and for parts of what it needs, now with a second GPU that has room, now
without, and now on a CPU that has no room. What can be repaired has to give the bits of the plan without a limit, in a
session whose memory is full of the NaNs of a run before; the rest has to be refused as a plan that does not fit. A suite in which a kind of repair never came up fails.

  over_limit_test.py --build-dir build/release --seed 1 --case 12
  over_limit_test.py --build-dir build/release --count 2000

Usage: over_limit_test.py --build-dir BUILD [--seed N] [--count N] [--case N] [--jobs N] [--flag FLAG] [--json FILE]
"""

import collections
import pathlib
import re
import sys
import tempfile

import numpy as np

import gantry_api
import groups
import memory_test
from random_ops import graphs, onnx_file
from random_ops.draw import Draw

DEVICES = (("devices=CPU:0,GPU:0@{}", "simulate"), ("devices=CPU:0,GPU:0@{},GPU:1", "simulate"), ("devices=CPU:0@{}",))
SHARES = (0.9, 0.7, 0.5, 0.3)
# As plans name what was done.
STEPS = {"weights from the host": b"copied to the device in each run", "the batch in pieces": b"the batch runs in",
         "values computed again": b"again for ", "values that wait on the host": b"on the host for ",
         "ops on another device": b"there, since there is room"}


class Wide(graphs.Builder):
    """What is between narrow inputs and outputs is what takes the room."""

    def add_input(self, name, shape, constant=False):
        if constant:
            return super().add_input(name, shape, constant)
        narrow = super().add_input(name, (self.rows, 4))
        del self.values[name]
        return self.multiply(name, narrow, self.columns)

    def multiply(self, name, value, columns):
        matrix = f"c{len(self.constants)}"
        self.constants[matrix] = self.draw.array((value.shape[1], columns), np.float32, -1, 1) / np.float32(value.shape[1])
        return self.values[self.emit("MatMul", [name, matrix], value @ self.constants[matrix].astype(np.float64))]

    def add_all(self):
        """One number made of all elements, which rows go through on their own as far as they can."""
        name = self.pick()
        array = np.abs(self.values[name])
        name = self.emit("Abs", [name], array)
        op, function = self.draw.one((("ReduceSum", np.sum), ("ReduceMean", np.mean), ("ReduceMax", np.max)))
        return self.values[self.emit(op, [name], np.asarray(function(array)), keepdims=0)]


class Training(graphs.Builder):
    """A way there, and a way back that reads what was made on the way there, in the contrary order. No op goes row by
    row, and there are few weights."""

    def pass_through(self, layers):
        value, held = self.pick(), []
        for _ in range(layers):
            kind = self.draw.integer(0, 2)
            op, function = self.draw.one(graphs.UNARY)
            value = self.emit(op, [value], function(self.values[value]))
            if kind:
                value = self.turn_over(value)
            held.append(value)
            if kind == 2:
                op, function = self.draw.one(graphs.UNARY)
                value = self.emit(op, [value], function(self.values[value]))
                held.append(value)
        for other in reversed(held):
            value = self.turn_over(value)
            product = self.values[value] * self.values[other]
            value = self.emit("Mul", [value, other], product)
            value = self.emit("Tanh", [value], np.tanh(product))

    def turn_over(self, value):
        """Means of columns are taken off, which depends on all rows."""
        array = self.values[value]
        mean = f"v{len(self.steps)}"
        self.steps.append(("ReduceMean", [value], [mean], {"axes": [0]}))
        return self.emit("Sub", [value, mean], array - array.mean(axis=0, keepdims=True))


def make_training(draw, name):
    builder = Training(draw, draw.one((64, 150, 300)), draw.one((96, 197, 768)))
    builder.pass_through(draw.integer(3, 10))
    output = list(builder.values)[-1]
    expected = [builder.values[output].astype(np.float32)]
    graph = graphs.Graph(builder.inputs, builder.constants, builder.steps, [output], expected)
    return groups.Case(name, graph, [], graph.expected, (1e-2, 1e-2), graph.opset)


def make_case(seed, number):
    if number % 2:
        return memory_test.make_case(seed, number)
    draw = Draw(seed * 1_000_003 + number)
    if number % 8 == 2:
        return make_training(draw, f"--seed {seed} --case {number}")
    if number % 8 == 4:
        builder = Wide(draw, draw.one((64, 150)), draw.one((768, 1000)))
        for _ in range(draw.integer(0, 3)):
            builder.unary()
        result = builder.add_all().astype(np.float32)
    else:
        builder = Wide(draw, draw.one((8, 64, 150)), draw.one((96, 197, 768)))
        for _ in range(draw.integer(2, 12)):
            builder.step()
        name = builder.pick()
        result = builder.multiply(name, builder.values[name], 4).astype(np.float32)
    graph = graphs.Graph(builder.inputs, builder.constants, builder.steps, [list(builder.values)[-1]], [result])
    return groups.Case(f"--seed {seed} --case {number}", graph, [], graph.expected, (1e-2, 1e-2), graph.opset)


class OverLimit(memory_test.Poisoned):
    def __init__(self, cases, repaired, flags):
        super().__init__(cases, onnx_file.pack, flags)
        self.repaired = repaired  # a line for each step of each plan

    def compare(self, cases, file, inputs, outputs):
        free = self.outcome(gantry_api.compile_model(file, ("devices=CPU:0,GPU:0", "simulate", *self.flags), inputs), inputs)
        found = [self.judge(case, [free[name] for name in names]) for case, names in zip(cases, outputs)]
        needed = [self.bytes_needed(file, inputs, devices) for devices in DEVICES]
        for i, share in enumerate(SHARES):
            which = (i + len(cases[0].source.steps)) % len(DEVICES)
            limit = int(needed[which] * share)
            devices = [flag.format(limit) for flag in DEVICES[which]]
            try:
                content = gantry_api.compile_model(file, (*devices, "over-limit=fix", *self.flags), inputs)
            except gantry_api.Refused as refusal:
                if refusal.code_name != "DOES_NOT_FIT":
                    raise
                continue
            limited = self.outcome(content, inputs)
            with self.repaired.open("a") as file_of_all:
                file_of_all.writelines(f"{step}\n" for step, words in STEPS.items() if words in content)
            for i, names in enumerate(outputs):
                if not all(groups.same_bits(free[name], limited[name]) for name in names):
                    found[i] = found[i] or f"other bits with {' '.join(devices)} of {needed[which]} bytes"
        return found

    def outcome(self, content, inputs):
        """The limits of simulated devices are those of the first plan of a runtime, so each has its own."""
        gantry_api.forget_runtimes()
        plan = gantry_api.Plan(content, 2)
        return self.run_plan(plan, {name: inputs[name] for name in plan.inputs})

    def bytes_needed(self, file, inputs, devices):
        try:
            gantry_api.compile_model(file, (*(flag.format(64) for flag in devices), *self.flags), inputs)
        except gantry_api.Refused as refusal:
            if match := re.search(r"raise the limit to at least (\d+) bytes", str(refusal)):
                return int(match[1])
            raise
        return 0


def main():
    arguments, cases = groups.drawn_cases(__doc__, make_case, 24)
    with tempfile.TemporaryDirectory() as folder:
        repaired = pathlib.Path(folder) / "repaired"
        repaired.touch()
        failures = OverLimit(cases, repaired, arguments.flag).run(2, arguments.jobs)
        done = collections.Counter(repaired.read_text().splitlines())
        for step in STEPS:
            print(f"{done[step]} plans with {step}")
            if arguments.case is None and done[step] == 0:
                failures[step] = "no plan was repaired so"
    return groups.report("over the limit", len(cases), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
