#!/usr/bin/python3
"""Recurrent ops, Scan and Loop over many steps, and ops of many operands, against NumPy.

Steps whose number is known are one loop in the plan; a few of them are one body after the other. So
numbers of steps on both sides of that are run, and what both give for the same steps is compared bit
for bit.

Usage: steps_test.py BUILD [unittest arguments]; exit status 77 when a Python module is missing.
"""

import itertools
import os
import pathlib
import sys
import tempfile
import unittest

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from onnx.mapping import NP_TYPE_TO_TENSOR_TYPE
except ImportError as missing:
    print(f"skipped: {missing} (tools/dev/install_deps.sh references)")
    sys.exit(77)

import gantry_api
import references

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
COUNTS = [1, 2, 4, 5, 7, 97]
FEW_COUNTS = COUNTS if "GANTRY_TEST_LONG" in os.environ else [1, 4, 97]  # the last that is unrolled, and a loop
# Sums of f32 in another order, carried along by weights that do not amplify.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}


def info(name, array):
    return helper.make_tensor_value_info(name, NP_TYPE_TO_TENSOR_TYPE[array.dtype], array.shape)


def output(name, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, None)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4") * np.float32(0.5)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class StepsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def compile(self, nodes, inputs, outputs, *flags, initializers=(), opset=15):
        """Bytes of the plan of nodes that take `inputs`, arrays by name."""
        graph = helper.make_graph(nodes, "g", [info(*item) for item in inputs.items()], outputs,
                                  [numpy_helper.from_array(v, name) for name, v in dict(initializers).items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        (self.folder / "m.onnx").write_bytes(model.SerializeToString())
        return gantry_api.compile_model(self.folder / "m.onnx", list(flags), {})

    def run_model(self, nodes, inputs, outputs, *flags, **more):
        return gantry_api.Plan(self.compile(nodes, inputs, outputs, *flags, **more)).run(inputs)

    def expect_close(self, actual, expected):
        self.assertEqual(actual.shape, expected.shape)
        zeros = references.accepts_zeros([expected], TOLERANCE["rtol"], TOLERANCE["atol"])
        self.assertFalse(zeros, "the reference says nothing: zeros are within its tolerance")
        np.testing.assert_allclose(actual, expected, **TOLERANCE)


class RecurrentTest(StepsTest):
    """Formulas of the ONNX operator specification, in f64."""

    BATCH, WIDTH, HIDDEN = 2, 3, 5

    def operands(self, op, steps, directions, lengths=False):
        gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
        h, b = self.HIDDEN, self.BATCH
        values = {"x": numbers(steps, b, self.WIDTH, seed=1), "w": numbers(directions, gates * h, self.WIDTH, seed=2),
                  "r": numbers(directions, gates * h, h, seed=3) / 2, "b": numbers(directions, 2 * gates * h, seed=4)}
        if lengths:
            values["lengths"] = np.array([max(steps - 3, 1), steps], "i4")[:b]
        values["h0"] = numbers(directions, b, h, seed=5)
        if op == "LSTM":
            values["c0"], values["p"] = numbers(directions, b, h, seed=6), numbers(directions, 3 * h, seed=7)
        return values

    def reference(self, op, direction, values, before_reset=0, coupled=0, clip=np.inf):
        v = {name: value.astype("f8") for name, value in values.items()}
        steps, batch, _ = v["x"].shape
        hidden = self.HIDDEN
        lengths = values.get("lengths", np.full(batch, steps))
        ys, hs, cs = [], [], []
        for d, backward in enumerate({"forward": [0], "reverse": [1], "bidirectional": [0, 1]}[direction]):
            w, r, bias = v["w"][d], v["r"][d], v["b"][d]
            wb, rb = np.split(bias, 2)
            h, c = v["h0"][d], v["c0"][d] if op == "LSTM" else None
            y = np.zeros((steps, batch, hidden))
            for t in reversed(range(steps)) if backward else range(steps):
                x = v["x"][t] @ w.T + wb
                if op == "RNN":
                    new_h, new_c = np.tanh(x + h @ r.T + rb), None
                elif op == "GRU":
                    (xz, xr, xh), (rz, rr, rh) = np.split(x, 3, 1), np.split(r, 3)
                    bz, br, bh = np.split(rb, 3)
                    z, reset = sigmoid(xz + h @ rz.T + bz), sigmoid(xr + h @ rr.T + br)
                    fresh = reset * (h @ rh.T + bh) if before_reset else (reset * h) @ rh.T + bh
                    new_h, new_c = (1 - z) * np.tanh(xh + fresh) + z * h, None
                else:
                    i, o, f, g = np.split(x + h @ r.T + rb, 4, 1)
                    pi, po, pf = np.split(v["p"][d], 3)
                    take, keep = (sigmoid(np.clip(gate, -clip, clip)) for gate in (i + pi * c, f + pf * c))
                    if coupled:
                        keep = 1 - take
                    new_c = keep * c + take * np.tanh(np.clip(g, -clip, clip))
                    new_h = sigmoid(np.clip(o + po * new_c, -clip, clip)) * np.tanh(new_c)
                inside = (t < lengths)[:, None]
                y[t] = np.where(inside, new_h, 0)
                h = np.where(inside, new_h, h)
                c = np.where(inside, new_c, c) if op == "LSTM" else None
            ys.append(y), hs.append(h), cs.append(c)
        return [np.stack(ys, 1), np.stack(hs)] + ([np.stack(cs)] if op == "LSTM" else [])

    def run_op(self, op, values, direction, *flags, **attributes):
        names = ["x", "w", "r", "b", "lengths" if "lengths" in values else "", "h0"]
        names += ["c0", "p"] if op == "LSTM" else []
        outputs = ["y", "h", "c"][:3 if op == "LSTM" else 2]
        node = helper.make_node(op, names, outputs, direction=direction, hidden_size=self.HIDDEN, **attributes)
        got = self.run_model([node], values, [output(name) for name in outputs], *flags)
        return [got[name] for name in outputs]

    def check(self, op, steps, direction, *flags, lengths=False, **attributes):
        values = self.operands(op, steps, 2 if direction == "bidirectional" else 1, lengths)
        got = self.run_op(op, values, direction, *flags, **attributes)
        expected = self.reference(op, direction, values, attributes.get("linear_before_reset", 0),
                                  attributes.get("input_forget", 0), attributes.get("clip", np.inf))
        for actual, wanted in zip(got, expected):
            self.expect_close(actual, wanted)
        return got

    def test_all_directions_and_lengths(self):
        for op, direction, lengths in itertools.product(
                ["RNN", "GRU", "LSTM"], ["forward", "reverse", "bidirectional"], [False, True]):
            for steps in COUNTS if direction == "forward" and not lengths else FEW_COUNTS:
                with self.subTest(op=op, direction=direction, lengths=lengths, steps=steps):
                    self.check(op, steps, direction, lengths=lengths)

    def test_linear_before_reset(self):
        for steps in COUNTS:
            self.check("GRU", steps, "forward", linear_before_reset=1)

    def test_input_forget(self):
        """A gate that forgets what the other one takes in; a clip that cuts off sums of the gates."""
        for direction, clip in itertools.product(["forward", "reverse", "bidirectional"], [{}, {"clip": 0.3}]):
            for steps in [0, *FEW_COUNTS]:
                with self.subTest(direction=direction, steps=steps, **clip):
                    self.check("LSTM", steps, direction, lengths=steps > 0, input_forget=1, **clip)

    def test_1000_steps(self):
        for op in ["RNN", "GRU", "LSTM"]:
            with self.subTest(op):
                self.check(op, 1000, "bidirectional", lengths=True)

    def test_more_steps_than_are_ever_unrolled(self):
        self.check("RNN", 5003, "forward")

    def test_no_steps(self):
        for op, direction in itertools.product(["RNN", "GRU", "LSTM"], ["forward", "bidirectional"]):
            with self.subTest(op=op, direction=direction):
                self.check(op, 0, direction)

    def test_both_forms_give_the_same_bits(self):
        for op in ["RNN", "GRU", "LSTM"]:
            with self.subTest(op):
                values = self.operands(op, 60, 1)
                looped = self.run_op(op, values, "forward")[0]
                for steps in (1, 4):
                    few = self.run_op(op, {**values, "x": values["x"][:steps]}, "forward")[0]
                    np.testing.assert_array_equal(few, looped[:steps])

    def test_batch_first(self):
        values = self.operands("LSTM", 31, 1)
        swapped = {name: np.ascontiguousarray(np.swapaxes(v, 0, 1)) if name in ("x", "h0", "c0") else v
                   for name, v in values.items()}
        y, h, c = self.run_op("LSTM", swapped, "forward", layout=1)
        wanted = self.reference("LSTM", "forward", values)
        self.expect_close(y, wanted[0].transpose(2, 0, 1, 3))
        self.expect_close(h, np.swapaxes(wanted[1], 0, 1))
        self.expect_close(c, np.swapaxes(wanted[2], 0, 1))

    def test_the_plan_does_not_grow_with_the_steps(self):
        sizes = []
        for steps in (100, 1000):
            values = self.operands("LSTM", steps, 1)
            names = ["x", "w", "r", "b", "", "h0", "c0", "p"]
            node = helper.make_node("LSTM", names, ["y", "h", "c"], hidden_size=self.HIDDEN)
            sizes.append(len(self.compile([node], values, [output(name) for name in "yhc"])))
        # Numbers have more digits, that is all.
        self.assertLess(abs(sizes[0] - sizes[1]), 4096)

    def test_on_a_gpu_without_copies_in_the_loop(self):
        """Copies in a loop would exceed any budget of their direction."""
        gpu = ["devices=CPU:0,GPU:0", "simulate"]
        for op in ["RNN", "GRU", "LSTM"]:
            with self.subTest(op):
                values = self.operands(op, 41, 2, lengths=True)
                here = self.run_op(op, values, "bidirectional")
                there = self.run_op(op, values, "bidirectional", *gpu, "max-copy=h2d:1GiB,d2h:1GiB")
                for one, other in zip(here, there):
                    np.testing.assert_array_equal(one, other)


class ScanTest(StepsTest):
    def scan(self, steps, inputs, *flags, **attributes):
        """Carries the sum; gives the sum and the doubled value of each step."""
        element = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("s", "v")]
        body = helper.make_graph(
            [helper.make_node("Add", ["s", "v"], ["t"]), helper.make_node("Identity", ["t"], ["shown"]),
             helper.make_node("Add", ["v", "v"], ["twice"])], "body", element,
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("t", "shown", "twice")])
        node = helper.make_node("Scan", ["s0", "xs"], ["s", "sums", "doubles"], num_scan_inputs=1, body=body,
                                **attributes)
        return self.run_model([node], inputs, [output(name) for name in ("s", "sums", "doubles")], *flags)

    def test_axes_and_directions(self):
        for steps, forward_in, axis in itertools.product(COUNTS + [1000], [True, False], [0, 1]):
            with self.subTest(steps=steps, forward_in=forward_in, axis=axis):
                s0, xs = numbers(3), numbers(steps, 3, seed=1)
                got = self.scan(steps, {"s0": s0, "xs": xs if axis == 0 else np.ascontiguousarray(xs.T)},
                                scan_input_axes=[axis], scan_input_directions=[0 if forward_in else 1],
                                scan_output_axes=[-1, 0], scan_output_directions=[1, 0])
                order = xs if forward_in else xs[::-1]
                sums = s0.copy()
                rows = []
                for x in order:
                    sums = sums + x
                    rows.append(sums)
                np.testing.assert_array_equal(got["s"], sums)
                np.testing.assert_array_equal(got["sums"], np.stack(rows[::-1], -1))
                np.testing.assert_array_equal(got["doubles"], 2 * order)

    def test_no_steps(self):
        s0 = numbers(3)
        got = self.scan(0, {"s0": s0, "xs": np.zeros((0, 3), "f4")}, scan_output_axes=[1, 0])
        np.testing.assert_array_equal(got["s"], s0)
        self.assertEqual((got["sums"].shape, got["doubles"].shape), ((3, 0), (0, 3)))

    def test_a_body_that_reads_what_is_around_it(self):
        weight = numbers(3, 3, seed=9)
        body = helper.make_graph(
            [helper.make_node("Transpose", ["weight"], ["turned"], perm=[1, 0]),
             helper.make_node("MatMul", ["v", "turned"], ["moved"]), helper.make_node("Add", ["s", "moved"], ["t"])],
            "body", [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("s", "v")],
            [helper.make_tensor_value_info("t", TensorProto.FLOAT, [3])])
        node = helper.make_node("Scan", ["s0", "xs"], ["s"], num_scan_inputs=1, body=body)
        inputs = {"s0": numbers(3), "xs": numbers(200, 3, seed=1), "weight": weight}
        got = self.run_model([node], inputs, [output("s")])
        np.testing.assert_allclose(got["s"], inputs["s0"] + (inputs["xs"] @ weight.T).sum(0), rtol=1e-4, atol=1e-5)

    def test_state_that_two_next_values_need(self):
        """Fibonacci: each next value is made of both old ones."""
        body = helper.make_graph(
            [helper.make_node("Identity", ["b"], ["next_a"]), helper.make_node("Add", ["a", "b"], ["next_b"]),
             helper.make_node("Add", ["a", "v"], ["row"])], "body",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("a", "b", "v")],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("next_a", "next_b", "row")])
        node = helper.make_node("Scan", ["a0", "b0", "xs"], ["a", "b", "rows"], num_scan_inputs=1, body=body)
        inputs = {"a0": np.zeros(2, "f4"), "b0": np.ones(2, "f4"), "xs": np.zeros((30, 2), "f4")}
        got = self.run_model([node], inputs, [output(name) for name in ("a", "b", "rows")])
        a, b, rows = 0, 1, []
        for _ in range(30):
            rows.append([a, a])
            a, b = b, a + b
        np.testing.assert_array_equal(got["rows"], np.array(rows, "f4"))
        np.testing.assert_array_equal((got["a"], got["b"]), np.array([[a, a], [b, b]], "f4"))

    def test_on_a_gpu(self):
        inputs = {"s0": numbers(3), "xs": numbers(50, 3, seed=1)}
        here = self.scan(50, inputs)
        there = self.scan(50, inputs, "devices=CPU:0,GPU:0", "simulate", "max-copy=h2d:1GiB,d2h:1GiB")
        for name in here:
            np.testing.assert_array_equal(here[name], there[name])


class NestedTest(StepsTest):
    """A recurrent node in a body, which belongs to no op yet while it is read, is the same as outside."""

    STEPS = 7

    def setUp(self):
        super().setUp()
        self.values = {"x": numbers(self.STEPS, 1, 3, seed=1), "w": numbers(1, 6, 3, seed=2), "r": numbers(1, 6, 2, seed=3)}
        self.gru = helper.make_node("GRU", ["x", "w", "r"], ["", "h"], hidden_size=2)
        self.expected = self.run_model([self.gru], self.values, [output("h")])["h"]

    def test_in_a_branch(self):
        branches = {name: helper.make_graph([node], name, [], [output("h")]) for name, node in (
            ("then_branch", self.gru), ("else_branch", helper.make_node("Slice", ["w", "from", "to"], ["h"])))}
        ends = {"from": np.array([0, 0, 0], "i8"), "to": np.array([1, 1, 2], "i8")}
        for chosen in (True, False):
            got = self.run_model([helper.make_node("If", ["c"], ["y"], **branches)],
                                 {**self.values, "c": np.array(chosen)}, [output("y")], initializers=ends)["y"]
            np.testing.assert_array_equal(got, self.expected if chosen else self.values["w"][:, :1, :2])

    def test_in_a_loop(self):
        body = helper.make_graph(
            [helper.make_node("Identity", ["going"], ["goes_on"]),
             helper.make_node("GRU", ["x", "w", "r", "", "", "s"], ["", "next"], hidden_size=2)], "body",
            [helper.make_tensor_value_info("i", TensorProto.INT64, []),
             helper.make_tensor_value_info("going", TensorProto.BOOL, []), info("s", self.expected)],
            [helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []), output("next")])
        expected = self.run_model(
            [self.gru, helper.make_node("GRU", ["x", "w", "r", "", "", "h"], ["", "h2"], hidden_size=2)], self.values,
            [output("h2")])["h2"]
        zero = np.zeros_like(self.expected)
        for trips in (1, 2, 9):
            got = self.run_model([helper.make_node("Loop", ["trips", "", "zero"], ["h"], body=body)], self.values,
                                 [output("h")], initializers={"trips": np.array(trips), "zero": zero})["h"]
            if trips <= 2:
                np.testing.assert_array_equal(got, self.expected if trips == 1 else expected)
            self.assertTrue(np.isfinite(got).all())


class LoopTest(StepsTest):
    def loop(self, trips, nodes, inputs, outputs, carried=("s",), rows=("row",), initializers=(), condition="", counter=()):
        """A Loop whose body has `nodes`; it takes i, going and the carried values by name. Rows are of the first
        one's type. `trips` is an initializer, or None: an input. `counter` is the shape of i and going."""
        element = {name: inputs[name + "0"] for name in carried}
        row_type = NP_TYPE_TO_TENSOR_TYPE[element[carried[0]].dtype]
        body = helper.make_graph(
            nodes, "body", [helper.make_tensor_value_info("i", TensorProto.INT64, counter),
                            helper.make_tensor_value_info("going", TensorProto.BOOL, counter),
                            *(info(name, value) for name, value in element.items())],
            [helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
             *(info(f"next_{name}", value) for name, value in element.items()),
             *(output(row, row_type) for row in rows)])
        node = helper.make_node("Loop", ["trips", condition, *(f"{name}0" for name in carried)],
                                [*carried, *(f"{row}s" for row in rows)], body=body)
        known = {} if trips is None else {"trips": np.array(trips)}
        return self.run_model([node], inputs, outputs, initializers={**known, **dict(initializers)})

    GOES_ON = helper.make_node("Identity", ["going"], ["goes_on"])

    def test_rows(self):
        nodes = [self.GOES_ON, helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
                 helper.make_node("Add", ["s", "f"], ["next_s"]), helper.make_node("Mul", ["s", "f"], ["row"])]
        for trips in [0, *COUNTS, 1000]:
            with self.subTest(trips):
                s0 = np.array([1, 2], "f4")
                got = self.loop(trips, nodes, {"s0": s0}, [output("s"), output("rows")])
                s, rows = s0, np.zeros((trips, 2), "f4")
                for i in range(trips):
                    s, rows[i] = s + np.float32(i), s * np.float32(i)
                np.testing.assert_array_equal(got["s"], s)
                np.testing.assert_array_equal(got["rows"], rows)

    def test_a_body_that_needs_to_know_the_step(self):
        """A slice whose bounds are the step's number: one body after the other."""
        nodes = [self.GOES_ON, helper.make_node("Unsqueeze", ["i", "zero"], ["from"]),
                 helper.make_node("Add", ["from", "one"], ["to"]),
                 helper.make_node("Slice", ["s", "from", "to"], ["row"]),
                 helper.make_node("Identity", ["s"], ["next_s"])]
        s0 = numbers(20)
        got = self.loop(12, nodes, {"s0": s0}, [output("rows")],
                        initializers={"zero": np.array([0]), "one": np.array([1])})
        np.testing.assert_array_equal(got["rows"], s0[:12, None])

    def test_a_list_of_one_element_counts(self):
        """Where the body declares its counter and condition so, they are lists of one element, too."""
        ones = {"zero": np.array([0]), "one": np.array([1])}
        x = numbers(7, 3)
        sliced = [self.GOES_ON, helper.make_node("Add", ["i", "one"], ["to"]), helper.make_node("Slice", ["x", "i", "to"], ["row"]),
                  helper.make_node("Add", ["s", "row"], ["next_s"])]
        taken = [self.GOES_ON, helper.make_node("Gather", ["x", "i"], ["row"]), helper.make_node("Add", ["s", "row"], ["next_s"])]
        s0 = np.zeros((1, 3), "f4")
        for trips, nodes, rows in itertools.product([0, 1, 4, 7, None], [sliced, taken], [(), ("row",)]):
            if trips is None and rows:
                continue
            with self.subTest(trips=trips, rows=rows, op=nodes[-2].op_type):
                inputs = {"s0": s0, "x": x} | ({"trips": np.array([5])} if trips is None else {})
                count = 5 if trips is None else trips
                got = self.loop(trips if trips is None else [trips], nodes, inputs,
                                [output("s")] + [output("rows")] * len(rows), rows=rows, initializers=ones, counter=[1])
                np.testing.assert_array_equal(got["s"], np.add.accumulate(np.concatenate((s0, x[:count])))[-1:])
                if rows:
                    np.testing.assert_array_equal(got["rows"], x[:count, None])

    def test_slices_at_a_counter(self):
        """x[i : i + 1] and its like, without rows that are stacked; the number of steps is known or data."""
        ones = {"zero": np.array([0]), "one": np.array([1]), "two": np.array([2]), "minus": np.array([-1]), "both": np.array([0, 1])}
        x = numbers(9, 11)
        unsqueezed = helper.make_node("Unsqueeze", ["i", "zero"], ["at"])
        forms = {
            "one": ([helper.make_node("Add", ["at", "one"], ["to"]), helper.make_node("Slice", ["x", "at", "to", "zero"], ["part"])],
                    lambda i: x[i:i + 1]),
            "added_before": ([helper.make_node("Add", ["i", "step"], ["next"]), helper.make_node("Unsqueeze", ["next", "zero"], ["to"]),
                              helper.make_node("Slice", ["x", "at", "to", "one"], ["part"])], lambda i: x[:, i:i + 1]),
            "two": ([helper.make_node("Add", ["two", "at"], ["to"]), helper.make_node("Slice", ["x", "at", "to", "zero"], ["part"])],
                    lambda i: x[i:i + 2]),
            "before": ([helper.make_node("Add", ["at", "two"], ["to"]), helper.make_node("Sub", ["to", "one"], ["from"]),
                        helper.make_node("Slice", ["x", "from", "to", "zero"], ["part"])], lambda i: x[i + 1:i + 2]),
            "computed": ([helper.make_node("Mul", ["at", "two"], ["from"]), helper.make_node("Mul", ["at", "two"], ["again"]),
                          helper.make_node("Add", ["again", "two"], ["to"]),
                          helper.make_node("Slice", ["x", "from", "to", "zero"], ["part"])], lambda i: x[2 * i:2 * i + 2]),
            "stepping": ([helper.make_node("Add", ["at", "two"], ["to"]),
                          helper.make_node("Slice", ["x", "at", "to", "zero", "two"], ["part"])], lambda i: x[i:i + 2:2]),
            "beside": ([helper.make_node("Concat", ["at", "two"], ["from"], axis=0), helper.make_node("Add", ["at", "one"], ["end"]),
                        helper.make_node("Concat", ["end", "minus"], ["to"], axis=0),
                        helper.make_node("Slice", ["x", "from", "to", "both"], ["part"])], lambda i: x[i:i + 1, 2:-1]),
        }
        for (name, (nodes, expected)), trips in itertools.product(forms.items(), [1, 4, None]):
            with self.subTest(name, trips=trips):
                s0 = np.zeros_like(expected(0))
                inputs = {"s0": s0, "x": x} | ({"trips": np.array(3)} if trips is None else {})
                got = self.loop(trips, [self.GOES_ON, unsqueezed, *nodes, helper.make_node("Add", ["s", "part"], ["next_s"])],
                                inputs, [output("s")], rows=(), initializers={**ones, "step": np.array(1)})
                s = s0
                for i in range(3 if trips is None else trips):
                    s = s + expected(i)
                np.testing.assert_array_equal(got["s"], s)

    def test_slices_that_leave_the_operand(self):
        """Rows of two elements, the last of one: with as many steps as there are it is written step by step, and refused
        since rows differ; nothing is taken twice."""
        nodes = [self.GOES_ON, helper.make_node("Unsqueeze", ["i", "zero"], ["at"]), helper.make_node("Add", ["at", "two"], ["to"]),
                 helper.make_node("Slice", ["x", "at", "to"], ["row"]), helper.make_node("Identity", ["s"], ["next_s"])]
        inputs = {"s0": np.zeros(1, "f4"), "x": numbers(9)}
        known = {"zero": np.array([0]), "two": np.array([2])}
        got = self.loop(8, nodes, inputs, [output("rows")], initializers=known)
        np.testing.assert_array_equal(got["rows"], np.stack([inputs["x"][i:i + 2] for i in range(8)]))
        with self.assertRaises(gantry_api.Refused):
            self.loop(9, nodes, inputs, [output("rows")], initializers=known)

    def test_a_loop_that_ends_by_itself(self):
        nodes = [helper.make_node("Less", ["i", "six"], ["goes_on"]), helper.make_node("Identity", ["s"], ["row"]),
                 helper.make_node("Add", ["s", "s"], ["next_s"])]
        s0 = np.array([1, 3], "f4")
        got = self.loop(100, nodes, {"s0": s0}, [output("rows")], initializers={"six": np.array(6)})
        np.testing.assert_array_equal(got["rows"], s0 * 2.0 ** np.arange(7)[:, None])

    def test_a_loop_that_never_begins(self):
        """Neither when the condition is false from the start, nor when the body could end it."""
        ends = helper.make_node("Less", ["i", "six"], ["goes_on"])
        step = [helper.make_node("Identity", ["s"], ["row"]), helper.make_node("Add", ["s", "s"], ["next_s"])]
        for trips, begins, first, element in itertools.product(
                [0, 5], [False, True], [self.GOES_ON, ends], ["f4", "i8"]):
            if trips and begins:
                continue
            with self.subTest(trips=trips, begins=begins, first=first.op_type, element=element):
                s0 = np.array([1, 3], element)
                rows = output("rows", NP_TYPE_TO_TENSOR_TYPE[s0.dtype])
                got = self.loop(trips, [first, *step], {"s0": s0}, [info("s", s0), rows],
                                initializers={"six": np.array(6), "begins": np.array(begins)}, condition="begins")
                np.testing.assert_array_equal(got["s"], s0)
                self.assertEqual((got["rows"].shape, got["rows"].dtype), ((0, 2), s0.dtype))

    def test_rows_that_decide_a_shape(self):
        """Integers made in a loop are the target of a reshape."""
        body = helper.make_graph(
            [helper.make_node("Identity", ["going"], ["goes_on"]), helper.make_node("Add", ["n", "n"], ["next_n"]),
             helper.make_node("Identity", ["n"], ["row"])], "body",
            [helper.make_tensor_value_info("i", TensorProto.INT64, []),
             helper.make_tensor_value_info("going", TensorProto.BOOL, []),
             helper.make_tensor_value_info("n", TensorProto.INT64, [])],
            [helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
             helper.make_tensor_value_info("next_n", TensorProto.INT64, []),
             helper.make_tensor_value_info("row", TensorProto.INT64, [])])
        nodes = [helper.make_node("Loop", ["trips", "", "one"], ["n", "shape"], body=body),
                 helper.make_node("Reshape", ["x", "shape"], ["y"])]
        x = numbers(1 * 2 * 4 * 8 * 16 * 32)
        got = self.run_model(nodes, {"x": x}, [output("y")],
                             initializers={"trips": np.array(6), "one": np.array(1)})
        np.testing.assert_array_equal(got["y"], x.reshape(1, 2, 4, 8, 16, 32))


class ManyOperandsTest(StepsTest):
    def test_concat(self):
        for count, axis in itertools.product([1, 63, 64, 65, 129, 1000], [0, 1]):
            with self.subTest(count=count, axis=axis):
                draw = np.random.default_rng(count)
                pieces = {f"x{i}": numbers(*((2, int(size)) if axis else (int(size), 2)), seed=i)
                          for i, size in enumerate(draw.choice([0, 1, 3, 17], count))}
                node = helper.make_node("Concat", list(pieces), ["y"], axis=axis)
                got = self.run_model([node], pieces, [output("y")])
                np.testing.assert_array_equal(got["y"], np.concatenate(list(pieces.values()), axis))

    def test_concat_of_nothing(self):
        pieces = {f"x{i}": np.zeros((0, 3), "f4") for i in range(100)}
        got = self.run_model([helper.make_node("Concat", list(pieces), ["y"], axis=0)], pieces, [output("y")])
        self.assertEqual(got["y"].shape, (0, 3))

    def test_tables_of_the_whole_model(self):
        # Each matrix alone is small enough; together, as in each step of an unrolled loop, they are not.
        sizes = np.full(3, 4095, "i8")
        resize = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear", antialias=1)
        x = np.broadcast_to(np.zeros(1, "f4"), (4096, 4096, 4096))
        with self.assertRaises(gantry_api.Refused) as refused:
            self.compile([resize], {"x": x}, [output("y")], initializers={"sizes": sizes}, opset=18)
        self.assertIn("windows, transforms and filters of the model have more than 33554432 elements",
                      str(refused.exception))


if __name__ == "__main__":
    gantry_api.load(BUILD)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
