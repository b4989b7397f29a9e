#!/usr/bin/python3
"""--check-indices: every op that reads indices, with each kind of index that it may meet.

Indices in range, negative ones too, give what NumPy computes; one that is out of range ends the run
with an error that names op, index, place and range, and the session goes on. On the host, on simulated
GPUs, on replicas, in branches and loops.

Usage: check_indices_test.py BUILD [unittest arguments]; exit status 77 when a Python module is missing.
"""

import pathlib
import sys
import tempfile
import unittest

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing} (tools/dev/install_deps.sh references)")
    sys.exit(77)

import gantry_api

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
GPUS = ["devices=CPU:0,GPU:0,GPU:1", "simulate"]
NO_REDUCTION = "reduction = #gantry<reduction none>"


def numbers(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)


def tuples_of(i):
    return tuple(np.moveaxis(i, -1, 0))


def scattered(x, place, updates):
    x = x.copy()
    x[place] = updates
    return x


def one_hot(i, depth):
    return (i[..., None] % depth == np.arange(depth)).astype("f4")


class Op:
    """An op `name` on arrays, then indices; `sizes` as in the error, `reference` of arrays and indices."""

    def __init__(self, name, log_name, arrays, indices, sizes, result, attributes, reference, order="{arrays}, {i}"):
        self.name, self.log_name, self.arrays, self.indices = name, log_name, arrays, np.array(indices)
        self.sizes, self.result, self.attributes, self.reference, self.order = sizes, result, attributes, reference, order

    def text(self, element):
        """The op in a function of %a0, %a1, ... and %i."""
        types = {f"%a{n}": type_of(array.shape, "f32") for n, array in enumerate(self.arrays)}
        index_type = type_of(self.indices.shape, element)
        operands = self.order.format(arrays=", ".join(types), i="%i").split(", ")
        signature = ", ".join(index_type if name == "%i" else types[name] for name in operands)
        arguments = [f'{name}: {type} {{gantry.name = "{name[1:]}"}}' for name, type in {**types, "%i": index_type}.items()]
        result = type_of(self.result, "f32")
        return (f"func.func @main({', '.join(arguments)}) -> {result} {{\n"
                f"  %y = gantry.{self.name} {', '.join(operands)} {{{self.attributes}, gantry.name = \"op\"}} : "
                f"({signature}) -> {result}\n"
                f"  return %y : {result}\n}}\n")

    def size_at(self, position):
        return self.sizes[position % len(self.sizes)]


def type_of(shape, element):
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


OPS = [
    Op("gather", "GatherV2", [numbers(5, 3)], [[4, -5], [-1, 0]], [5], (2, 2, 3), "axis = 0 : i64",
       lambda x, i: x[i]),
    Op("gather", "GatherV2", [numbers(5, 3)], -3, [3], (5,), "axis = 1 : i64", lambda x, i: x[:, i]),
    Op("gather_elements", "GatherElements", [numbers(2, 5)], [[4, -5, 0], [-1, 2, 3]], [5], (2, 3), "axis = 1 : i64",
       lambda x, i: np.take_along_axis(x, i, 1)),
    Op("gather_nd", "GatherNd", [numbers(4, 5, 6)], [[3, -5], [-4, 4], [0, 0]], [4, 5], (3, 6), "batch_dims = 0 : i64",
       lambda x, i: x[tuples_of(i)]),
    Op("gather_nd", "GatherNd", [numbers(2, 5)], [[4], [-5]], [5], (2,), "batch_dims = 1 : i64",
       lambda x, i: np.take_along_axis(x, i, 1)[:, 0]),
    Op("scatter_elements", "ScatterElements", [numbers(8), -1 - numbers(3)], [7, -8, 3], [8], (8,),
       f"axis = 0 : i64, {NO_REDUCTION}", lambda x, u, i: scattered(x, i, u), "%a0, %i, %a1"),
    Op("scatter_nd", "ScatterNd", [numbers(4, 5), -1 - numbers(2)], [[3, -5], [-4, 4]], [4, 5], (4, 5), NO_REDUCTION,
       lambda x, u, i: scattered(x, tuples_of(i), u), "%a0, %i, %a1"),
    Op("set_slice", "DynamicUpdateSlice", [numbers(5, 3), -1 - numbers(3)], -5, [5], (5, 3), "axis = 0 : i64",
       lambda x, u, i: scattered(x, int(i), u)),
    Op("one_hot", "OneHot", [np.float32(0), np.float32(1)], [5, -6, 0], [6], (3, 6), "axis = 1 : i64, depth = 6 : i64",
       lambda off, on, i: one_hot(i, 6), "%i, %a0, %a1"),
]


class InFolder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)


class DialectTest(InFolder):
    def compile(self, text, *flags):
        file = self.folder / "m.mlir"
        file.write_text(text)
        return gantry_api.Plan(gantry_api.compile_model(file, ["check-indices", *flags], {}))

    def expect_error(self, outcome, text):
        """The whole text behind the place in the file."""
        self.assertIsInstance(outcome, gantry_api.ApiError)
        self.assertRegex(str(outcome), r"^INVALID_ARGUMENT: '[^']*' \(\w+, m\.(mlir:\d+:\d+|onnx)\): ")
        self.assertEqual(str(outcome).split("): ", 1)[1], text)

    def check_op(self, op, element, *flags):
        plan = self.compile(op.text(element), *flags)
        dtype = np.dtype(f"i{int(element[1:]) // 8}")
        arrays = {f"a{n}": array for n, array in enumerate(op.arrays)}
        good = op.indices.astype(dtype)
        bad = []  # (indices, position, value)
        for position in range(good.size):
            size = op.size_at(position)
            for value in (size, -size - 1, np.iinfo(dtype).max, np.iinfo(dtype).min):
                indices = good.copy().reshape(-1)
                indices[position] = value
                bad.append((indices.reshape(good.shape), position, value))
        series = [good]
        for indices, *_ in bad:
            series += [indices, good]  # what failed leaves nothing behind
        outcomes = plan.run_series([{**arrays, "i": indices} for indices in series])
        for outcome in outcomes[::2]:
            self.assertNotIsInstance(outcome, gantry_api.ApiError)
            (result,) = outcome.values()
            np.testing.assert_array_equal(result, op.reference(*op.arrays, good.astype("i8")))
        for outcome, (_, position, value) in zip(outcomes[1::2], bad):
            size = op.size_at(position)
            place = f" at [{', '.join(map(str, np.unravel_index(position, good.shape)))}]" if good.shape else ""
            self.expect_error(outcome, f"reads index {value}{place} of operand 'i', which must be in [-{size}, {size})")
            self.assertIn(f": 'op' ({op.log_name}, m.mlir:2:", str(outcome))

    def test_every_op(self):
        for op in OPS:
            for element in ("i32", "i64"):
                with self.subTest(op=op.name, shape=op.indices.shape, element=element):
                    self.check_op(op, element)

    def test_every_op_on_two_gpus(self):
        for op in OPS:
            with self.subTest(op=op.name, shape=op.indices.shape):
                self.check_op(op, "i64", *GPUS)

    def test_no_index_is_none_too_many(self):
        plan = self.compile("""
            func.func @main(%x: tensor<5x3xf32> {gantry.name = "x"}, %i: tensor<0xi64> {gantry.name = "i"}) -> tensor<0x3xf32> {
              %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<5x3xf32>, tensor<0xi64>) -> tensor<0x3xf32>
              return %y : tensor<0x3xf32>
            }""")
        (result,) = plan.run({"x": numbers(5, 3), "i": np.zeros(0, "i8")}).values()
        self.assertEqual(result.shape, (0, 3))

    def test_what_a_gpu_makes(self):
        """Indices that the graph computes, checked where that is, from the first bad one on."""
        text = """
            func.func @main(%x: tensor<5xf32> {gantry.name = "x"}, %i: tensor<4xi64> {gantry.name = "i"}) -> tensor<4xf32> {
              %s = gantry.add %i, %i {gantry.name = "sum"} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
              %y = gantry.gather %x, %s {axis = 0 : i64, gantry.name = "op"} : (tensor<5xf32>, tensor<4xi64>) -> tensor<4xf32>
              return %y : tensor<4xf32>
            }"""
        x = numbers(5)
        for flags in ([], GPUS, [*GPUS, "copies=explicit", "placement=follow"]):
            with self.subTest(flags=flags):
                bad, good = self.compile(text, *flags).run_series(
                    [{"x": x, "i": np.array(i)} for i in ([0, -1, 3, 4], [0, 1, 2, -2])])
                self.expect_error(bad, "reads index 6 at [2] of operand 'sum', which must be in [-5, 5)")
                np.testing.assert_array_equal(*good.values(), x[[0, 2, 4, -4]])

    BRANCH = """
        func.func @main(%c: tensor<i1> {gantry.name = "c"}, %x: tensor<5xf32> {gantry.name = "x"},
                        %i: tensor<2xi64> {gantry.name = "i"}) -> tensor<2xf32> {
          %y = gantry.if %c -> (tensor<2xf32>) {
            %0 = gantry.gather %x, %i {axis = 0 : i64, gantry.name = "op"} : (tensor<5xf32>, tensor<2xi64>) -> tensor<2xf32>
            gantry.yield %0 : tensor<2xf32>
          } else {
            %0 = gantry.constant dense<7.0> : tensor<2xf32>
            gantry.yield %0 : tensor<2xf32>
          } : tensor<i1>
          return %y : tensor<2xf32>
        }"""

    def test_a_branch_checks_when_it_is_taken(self):
        x, bad, good = numbers(5), np.array([1, 5]), np.array([1, -5])
        for flags in ([], GPUS):
            with self.subTest(flags=flags):
                outcomes = self.compile(self.BRANCH, *flags).run_series(
                    [{"c": np.array(taken), "x": x, "i": i} for taken, i in ((False, bad), (True, bad), (True, good))])
                np.testing.assert_array_equal(*outcomes[0].values(), [7, 7])
                self.expect_error(outcomes[1], "reads index 5 at [1] of operand 'i', which must be in [-5, 5)")
                np.testing.assert_array_equal(*outcomes[2].values(), x[good])

    LOOP = """
        func.func @main(%x: tensor<5xf32> {gantry.name = "x"}, %n: tensor<i64> {gantry.name = "n"}) -> tensor<f32> {
          %zero = gantry.constant dense<0> : tensor<i64>
          %one = gantry.constant dense<1> : tensor<i64>
          %start = gantry.constant dense<0.0> : tensor<f32>
          %r:2 = gantry.while (%zero, %start) : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>) {
          ^bb0(%i: tensor<i64>, %a: tensor<f32>):
            %m = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
            gantry.yield %m : tensor<i1>
          } do {
          ^bb0(%i: tensor<i64>, %a: tensor<f32>):
            %v = gantry.gather %x, %i {axis = 0 : i64, gantry.name = "op"} : (tensor<5xf32>, tensor<i64>) -> tensor<f32>
            %s = gantry.add %a, %v : (tensor<f32>, tensor<f32>) -> tensor<f32>
            %next = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
            gantry.yield %next, %s : tensor<i64>, tensor<f32>
          }
          return %r#1 : tensor<f32>
        }"""

    def test_a_loop_checks_each_step(self):
        x = numbers(5)
        for flags in ([], GPUS):
            with self.subTest(flags=flags):
                outcomes = self.compile(self.LOOP, *flags).run_series([{"x": x, "n": np.array(n)} for n in (6, 5, 0)])
                self.expect_error(outcomes[0], "reads index 5 of operand 'argument 0', which must be in [-5, 5)")
                np.testing.assert_array_equal(*outcomes[1].values(), x.sum())
                np.testing.assert_array_equal(*outcomes[2].values(), 0)

    def test_a_function_that_is_called(self):
        plan = self.compile("""
            func.func @main(%x: tensor<5xf32> {gantry.name = "x"}, %i: tensor<2xi64> {gantry.name = "i"}) -> tensor<2xf32> {
              %y = func.call @pick(%x, %i) : (tensor<5xf32>, tensor<2xi64>) -> tensor<2xf32>
              return %y : tensor<2xf32>
            }
            func.func private @pick(%t: tensor<5xf32>, %j: tensor<2xi64>) -> tensor<2xf32> {
              %y = gantry.gather %t, %j {axis = 0 : i64, gantry.name = "op"} : (tensor<5xf32>, tensor<2xi64>) -> tensor<2xf32>
              return %y : tensor<2xf32>
            }""")
        (outcome,) = plan.run_series([{"x": numbers(5), "i": np.array([0, -6])}])
        self.expect_error(outcome, "reads index -6 at [1] of operand 'i', which must be in [-5, 5)")

    def test_replicas_check_their_own(self):
        plan = self.compile("""
            func.func @main(%x: tensor<5xf32> {gantry.name = "x"}, %i: tensor<6xi64> {gantry.name = "i"}) -> tensor<6xf32> {
              %y = gantry.replicate (%x, %i) on ["GPU:0", "GPU:1"] takes [broadcast, split 0] gives [gather 0]
                  : (tensor<5xf32>, tensor<6xi64>) -> (tensor<6xf32>) {
              ^bb0(%t: tensor<5xf32>, %j: tensor<?xi64>):
                %0 = gantry.gather %t, %j {axis = 0 : i64, gantry.name = "op"} : (tensor<5xf32>, tensor<?xi64>) -> tensor<?xf32>
                gantry.yield %0 : tensor<?xf32>
              }
              return %y : tensor<6xf32>
            }""", *GPUS)
        x, good = numbers(5), np.array([0, 1, 2, 3, 4, -5])
        for position, replica in ((1, 0), (4, 1)):
            bad = good.copy()
            bad[position] = 5
            outcomes = plan.run_series([{"x": x, "i": i} for i in (bad, good)])
            self.assertIn(f"'op/replica_{replica}' (GatherV2, m.mlir:", str(outcomes[0]))
            self.assertIn(f"reads index 5 at [{position % 3}] of operand '", str(outcomes[0]))
            np.testing.assert_array_equal(*outcomes[1].values(), x[good])

    VARIABLE = """
        gantry.variable @v = dense<0.0> : tensor<4xf32>
        func.func @main(%i: tensor<2x1xi64> {gantry.name = "i"}, %u: tensor<2xf32> {gantry.name = "u"}) -> tensor<4xf32> {
          %old = gantry.read @v : tensor<4xf32>
          %first = gantry.neg %old : (tensor<4xf32>) -> tensor<4xf32>
          %new = gantry.scatter_nd %old, %i, %u {reduction = #gantry<reduction add>, gantry.name = "op"}
              : (tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<4xf32>
          gantry.assign @v, %new : tensor<4xf32>
          return %first : tensor<4xf32>
        }"""

    def test_a_run_that_fails_changes_no_variable(self):
        for flags in ([], GPUS, [*GPUS, "place=kind:variable=GPU:1"]):
            with self.subTest(flags=flags):
                u = np.array([1, 2], "f4")
                outcomes = self.compile(self.VARIABLE, *flags).run_series(
                    [{"i": np.array([[a], [b]]), "u": u} for a, b in ((0, 4), (0, 3), (-5, 0), (1, -4))])
                self.expect_error(outcomes[0], "reads index 4 at [1, 0] of operand 'i', which must be in [-4, 4)")
                np.testing.assert_array_equal(*outcomes[1].values(), [0, 0, 0, 0])
                self.expect_error(outcomes[2], "reads index -5 at [0, 0] of operand 'i', which must be in [-4, 4)")
                np.testing.assert_array_equal(*outcomes[3].values(), [-1, 0, 0, -2])


class OnnxTest(InFolder):
    """Errors in the words of the model."""

    def save(self, *nodes, indices=None):
        inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT32, [2, 3])]
        table = numpy_helper.from_array(numbers(9, 4), "table")
        more = [] if indices is None else [numpy_helper.from_array(np.array(indices), "ids")]
        graph = helper.make_graph(nodes, "g", inputs if indices is None else [],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [table, *more])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8),
                  self.folder / "m.onnx")
        return self.folder / "m.onnx"

    def test_an_embedding(self):
        file = self.save(helper.make_node("Cast", ["input_ids"], ["wide"], to=TensorProto.INT64),
                         helper.make_node("Gather", ["table", "wide"], ["y"], name="embedding/Gather"))
        plan = gantry_api.Plan(gantry_api.compile_model(file, ["check-indices"], {}))
        ids = np.array([[0, 8, -9], [1, 2, 3]], "i4")
        bad = ids.copy()
        bad[0, 2] = 9
        refused, good = plan.run_series([{"input_ids": bad}, {"input_ids": ids}])
        self.assertEqual(str(refused), "INVALID_ARGUMENT: 'embedding/Gather' (Gather, node 'embedding/Gather' of m.onnx): "
                                       "reads index 9 at [0, 2] of operand 'input_ids', which must be in [-9, 9)")
        np.testing.assert_array_equal(*good.values(), numbers(9, 4)[ids])

    def refuse(self, file, *flags):
        with self.assertRaises(gantry_api.Refused) as refused:
            gantry_api.compile_model(file, [*flags], {})
        return refused.exception.lines[0]

    def test_a_constant_is_refused_when_compiling_g2(self):
        for indices, told in (([0, 9], "9 at [1]"), ([-10], "-10 at [0]"), (2 ** 63 - 1, "9223372036854775807"),
                              (-2 ** 63, "-9223372036854775808")):
            file = self.save(helper.make_node("Gather", ["table", "ids"], ["y"], name="pick"), indices=indices)
            for flags in ((), ("check-indices",)):
                with self.subTest(indices=indices, flags=flags):
                    self.assertIn(f"'pick' (Gather) reads index {told} of operand 'ids', which must be in [-9, 9)",
                                  self.refuse(file, *flags))
        for indices in ([-9, 8], np.zeros([0], "i8"), [[0], [-1]]):
            file = self.save(helper.make_node("Gather", ["table", "ids"], ["y"], name="pick"), indices=indices)
            (result,) = gantry_api.Plan(gantry_api.compile_model(file, [], {})).run({}).values()
            np.testing.assert_array_equal(result, numbers(9, 4)[np.array(indices)])

    def test_one_that_decides_a_shape_is_refused_there_g2(self):
        file = self.save(helper.make_node("Shape", ["table"], ["shape"], name="sizes"),
                         helper.make_node("Gather", ["shape", "ids"], ["one"], name="pick"),
                         helper.make_node("Reshape", ["table", "one"], ["y"], name="flat"), indices=[2])
        self.assertIn("'pick' (Gather of ai.onnx, opset 15): reads index 2 at [0] of operand 'indices', which must be in [-2, 2)",
                      self.refuse(file))

    def test_one_hot_marks_nothing_g2(self):
        nodes = [helper.make_node("Constant", [], ["depth"], value_int=3),
                 helper.make_node("Constant", [], ["values"], value_floats=[0.0, 1.0]),
                 helper.make_node("OneHot", ["ids", "depth", "values"], ["y"], name="hot")]
        file = self.save(*nodes, indices=[1, 3])
        (result,) = gantry_api.Plan(gantry_api.compile_model(file, [], {})).run({}).values()
        np.testing.assert_array_equal(result, [[0, 1, 0], [0, 0, 0]])
        self.assertIn("reads index 3 at [1] of operand 'ids'", self.refuse(file, "check-indices"))

    def save_branch(self, taken):
        """Row 9 of the table, if its first size is more than `taken`; else row 0: exporters write such ifs."""
        def branch(name, row):
            return helper.make_graph(
                [helper.make_node("Constant", [], [name + "_row"], value_int=row),
                 helper.make_node("Gather", ["table", name + "_row"], [name], name="pick_" + name)], name, [],
                [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])

        return self.save(
            helper.make_node("Shape", ["table"], ["shape"]),
            helper.make_node("Constant", [], ["zero"], value_int=0),
            helper.make_node("Constant", [], ["least"], value_int=taken),
            helper.make_node("Gather", ["shape", "zero"], ["rows"]),
            helper.make_node("Greater", ["rows", "least"], ["has_it"]),
            helper.make_node("If", ["has_it"], ["y"], then_branch=branch("then", 9), else_branch=branch("else", 0)),
            indices=[0])

    def test_a_branch_that_constants_rule_out_is_not_refused_g2(self):
        plan = gantry_api.Plan(gantry_api.compile_model(self.save_branch(9), [], {}))
        np.testing.assert_array_equal(*plan.run({}).values(), numbers(9, 4)[0])
        self.assertIn("'pick_then' (Gather) reads index 9 of operand", self.refuse(self.save_branch(8)))

    def test_a_loop_that_never_begins_is_not_refused_g2(self):
        def loop(trips, begins):
            body = helper.make_graph(
                [helper.make_node("Constant", [], ["nine"], value_int=9),
                 helper.make_node("Gather", ["table", "nine"], ["row_out"], name="pick"),
                 helper.make_node("Identity", ["going"], ["going_out"])], "body",
                [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                 helper.make_tensor_value_info("going", TensorProto.BOOL, []),
                 helper.make_tensor_value_info("row", TensorProto.FLOAT, [4])],
                [helper.make_tensor_value_info("going_out", TensorProto.BOOL, []),
                 helper.make_tensor_value_info("row_out", TensorProto.FLOAT, [4])])
            return self.save(
                helper.make_node("Constant", [], ["trips"], value_int=trips),
                helper.make_node("Constant", [], ["begins"], value=numpy_helper.from_array(np.array(begins))),
                helper.make_node("Constant", [], ["start"], value_floats=[1.0, 2, 3, 4]),
                helper.make_node("Loop", ["trips", "begins", "start"], ["y"], body=body), indices=[0])

        for trips, begins in ((0, True), (5, False)):
            with self.subTest(trips=trips, begins=begins):
                plan = gantry_api.Plan(gantry_api.compile_model(loop(trips, begins), [], {}))
                np.testing.assert_array_equal(*plan.run({}).values(), [1, 2, 3, 4])
        self.assertIn("'pick' (Gather) reads index 9 of operand", self.refuse(loop(1, True)))


if __name__ == "__main__":
    gantry_api.load(BUILD)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
