"""Functions: traced, specialised, with control flow; their text; what they leave where."""

import subprocess
import tempfile
import unittest

import numpy as np

import gantry as gt
from tests.support import BUILD, HAS_COMPILER, NEEDS_COMPILER, run

TASK = "/job:localhost/replica:0/task:0/"


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Functions(unittest.TestCase):
    def test_a_trace_for_each_shape_and_device(self):
        traced = []

        @gt.function
        def double(x):
            traced.append((x.shape, x.dtype.name))
            return x + x

        for _ in range(3):
            self.assertEqual(double(gt.ones(2)).tolist(), [2, 2])
        self.assertEqual(double(gt.ones(3, dtype="int32")).tolist(), [2, 2, 2])
        self.assertEqual(double(gt.ones(2, device="GPU:1")).tolist(), [2, 2])
        self.assertEqual(traced, [((2,), "float32"), ((3,), "int32"), ((2,), "float32")])

    def test_nested_arguments_and_results(self):
        @gt.function
        def swap(pair, named):
            return {"b": pair[0], "a": (pair[1] + named["x"], None)}
        result = swap((gt.ones(2), gt.zeros(2)), named={"x": np.float32(3)})
        self.assertEqual((result["b"].tolist(), result["a"][0].tolist(), result["a"][1]), ([1, 1], [3, 3], None))

    def test_static_arguments(self):
        @gt.function(static=(1, "how"))
        def power(x, count, how="up"):
            for _ in range(count):
                x = x * 2.0 if how == "up" else x / 2.0
            return x
        x = gt.ones(1)
        self.assertEqual([power(x, 2).item(), power(x, 3).item(), power(x, 2, how="down").item()], [4, 8, 0.25])

    def test_what_it_refers_to_is_constant(self):
        weights = gt.array([1.0, 2.0], device="GPU:1")
        self.assertEqual(gt.function(lambda x: x * weights)(gt.ones(2)).tolist(), [1, 2])

    def test_functions_in_functions(self):
        inner = gt.function(lambda x: x + 1.0)
        self.assertEqual(gt.function(lambda x: inner(inner(x)))(gt.zeros(1)).tolist(), [2])

    def test_results_stay_where_they_are_made(self):
        @gt.function
        def both(x):
            with gt.device("GPU:1"):
                a = x * 2.0
            with gt.device("CPU:0"):
                return a, x * 3.0
        a, b = both(gt.ones(2, device="GPU:0"))
        self.assertEqual((a.device, b.device, a.tolist(), b.tolist()), ("GPU:1", "CPU:0", [2, 2], [3, 3]))

    def test_cond(self):
        choose = gt.function(lambda x: gt.cond(gt.sum(x) > 0.0, lambda: x * 2.0, lambda: -x))
        self.assertEqual([choose(gt.array([1.0])).item(), choose(gt.array([-3.0])).item()], [2, 3])
        self.assertEqual(gt.cond(gt.array(True), lambda: "eager", lambda: None), "eager")

    def test_while(self):
        def collatz(start):
            return gt.while_loop(lambda s: s[0] > 1, lambda s: (gt.ops.select(s[0] % 2 == 0, s[0] // 2, s[0] * 3 + 1),
                                                                 s[1] + 1), (start, gt.array(0)))[1]
        self.assertEqual(gt.function(collatz)(gt.array(27)).item(), 111)
        self.assertEqual(collatz(gt.array(6)).item(), 8)

    def test_after_an_error_it_can_be_called_again(self):
        fail = [True]

        @gt.function
        def sometimes(x):
            return gt.cond(gt.sum(x) > 0.0, lambda: x @ x if fail[0] else x, lambda: x)
        with self.assertRaises(ValueError):
            sometimes(gt.ones(2, 3))
        fail[0] = False
        self.assertEqual(sometimes(gt.ones(2, 3)).shape, (2, 3))

    def test_the_text_is_a_file_for_the_tool(self):
        graph = gt.function(lambda x, w: gt.relu(x @ w)).lower(gt.ones(2, 3), gt.ones(3, 2))
        self.assertIn("gantry.matmul", graph.text)
        with tempfile.NamedTemporaryFile(suffix=".mlir") as file:
            graph.save(file.name)
            out = subprocess.run([BUILD / "bin/gantry", "run", file.name, "--fill", "ones", "--devices=GPU:0",
                                  "--simulate"], check=True, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL).stdout
        self.assertEqual(out, "output0: f32[2,2] on GPU:0\n[[3. 3.]\n [3. 3.]]\n")

    def test_places_are_lines_of_the_script(self):
        plan = gt.function(lambda x: gt.relu(x)).plan(gt.ones(2))
        line = self.test_places_are_lines_of_the_script.__func__.__code__.co_firstlineno + 1
        self.assertEqual(plan.ops[0]["location"], f"test_functions.py:{line}:1")

    def test_log(self):
        out = run("""
            import gantry as gt
            @gt.function
            def f(x):
                with gt.device("GPU:1"): return gt.relu(x)
            x = gt.ones(2)
            gt.config(log_placement=True)
            f(x)
            """)
        self.assertEqual(out, f"Copying 8 bytes from {TASK}device:CPU:0 to {TASK}device:GPU:1\n"
                         f"Executing op Relu in device {TASK}device:GPU:1\n")


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Random(unittest.TestCase):
    def test_a_seed_begins_the_same_sequence(self):
        gt.random.seed(3)
        first = [gt.random.uniform((4,)).tolist() for _ in range(2)]
        gt.random.seed(3)
        self.assertEqual([gt.random.uniform((4,)).tolist() for _ in range(2)], first)
        self.assertNotEqual(*first)

    def test_keys(self):
        one, two = gt.random.Key(7).split(2)
        a = gt.random.normal((1000,), key=one)
        self.assertEqual(a.tolist(), gt.random.normal((1000,), key=gt.random.Key(7).split(2)[0], device="GPU:1").tolist())
        self.assertNotEqual(a.tolist(), gt.random.normal((1000,), key=two).tolist())
        self.assertLess(abs(a.numpy().mean()), 0.1)
