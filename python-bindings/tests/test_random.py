"""Random numbers: keys, what functions draw, and that nothing is compiled anew."""

import copy
import pickle
import unittest
import unittest.mock

import numpy as np

import gantry as gt
from gantry import _eager, graph
from tests.support import HAS_COMPILER, NEEDS_COMPILER, run

_made = []


def counted(module):
    """Counts what a module compiles from here on."""
    original = module.compile_source
    return unittest.mock.patch.object(module, "compile_source", lambda *a, **k: _made.append(1) or original(*a, **k))


def compiled(call):
    """What a call gives, and how many plans were compiled for it."""
    before = len(_made)
    with counted(_eager), counted(graph):
        return call(), len(_made) - before


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Eager(unittest.TestCase):
    def test_every_draw_is_another_and_compiles_nothing(self):
        gt.random.uniform((7, 3), 1, 2)
        draws, count = compiled(lambda: [gt.random.uniform((7, 3), 1, 2).tolist() for _ in range(20)])
        self.assertEqual(count, 0)
        self.assertEqual(len({str(draw) for draw in draws}), 20)

    def test_a_seed_as_an_attribute_compiles_nothing_either(self):
        draw = lambda seed: gt.ops.random_normal((5,), 0.0, 1.0, seed=seed).tolist()
        draw(1)
        draws, count = compiled(lambda: [draw(seed) for seed in (1, 2, 1, -1, 2**64 - 1, 2**63)])
        self.assertEqual(count, 0)
        self.assertEqual(draws[0], draws[2])
        self.assertEqual(draws[3], draws[4])  # the same 64 bits
        self.assertEqual(len({str(draw) for draw in draws}), 4)

    def test_a_key_gives_what_its_number_gives_as_a_seed(self):
        for number in (0, 7, 2**32 + 5, 2**63 - 1):
            in_graph = gt.function(lambda: gt.ops.random_uniform((9,), 0.0, 1.0, seed=number))()
            self.assertEqual(gt.random.uniform(9, key=gt.random.Key(number)).tolist(), in_graph.tolist())

    def test_the_same_bits_everywhere(self):
        for dtype in ("float32", "float64", "float16"):
            for draw in (gt.random.uniform, gt.random.normal):
                there = [draw((3, 50), dtype=dtype, device=device, key=gt.random.Key(9)).numpy().tobytes()
                         for device in ("CPU:0", "GPU:0", "GPU:1")]
                self.assertEqual(len(set(there)), 1)

    def test_seed_begins_anew(self):
        gt.random.seed(3)
        first = [gt.random.uniform(4).tolist() for _ in range(3)]
        gt.random.seed(3)
        self.assertEqual([gt.random.uniform(4).tolist() for _ in range(3)], first)
        self.assertEqual(gt.rand(2, 3).shape, (2, 3))
        self.assertEqual(gt.rand(4, key=gt.random.Key(1)).tolist(), gt.random.uniform(4, key=gt.random.Key(1)).tolist())

    def test_where_copies_are_explicit(self):
        self.assertEqual(run("""
            import gantry as gt
            gt.config(copies="explicit")
            f = gt.function(lambda x, key: x + gt.random.uniform(2) + gt.random.uniform(2, key=key))
            print(repr(gt.random.uniform(2).device), repr(f(gt.ones(2, device="GPU:0"), gt.random.Key(1)).device))
            """), "GPU:0 GPU:0\n")

    def test_wrong(self):
        for call, text in ((lambda: gt.ops.random_uniform((2,), 0.0, 1.0), "has neither a seed nor a key; give one of them"),
                           (lambda: gt.ops.random_uniform((2,), 0.0, 1.0, seed=1, key=gt.array(np.int64(1))), "has a seed and a key"),
                           (lambda: gt.ops.random_uniform((2,), 0.0, 1.0, key=gt.array([1, 2])), "its elements may be i64"),
                           (lambda: gt.ops.random_uniform((2,), 0.0, 1.0, seed="x"), "attribute 'seed' is an int, got 'x'"),
                           (lambda: gt.ops.random_uniform((2,), 0.0, 1.0, seed=1, stream=2**32), r"outside \[0, 4294967296\)"),
                           (lambda: gt.random.Key(gt.ones(2)), r"a key is made of a number or of int64\[\], got float32\[2\]")):
            with self.assertRaisesRegex(gt.InvalidArgumentError, text):
                call()


class Keys(unittest.TestCase):
    def test_fold_and_split(self):
        key = gt.random.Key(7)
        self.assertEqual(key.fold(3).seed, gt.random.Key(7).fold(np.int32(3)).seed)
        self.assertEqual([each.seed for each in key.split(3)], [key.fold(i).seed for i in range(3)])
        seeds = {key.fold(n).seed for n in range(2000)} | {gt.random.Key(n).fold(7).seed for n in range(2000)}
        self.assertGreater(len(seeds), 3998)
        self.assertTrue(all(0 <= seed < 2**63 for seed in seeds))
        self.assertNotEqual(key.fold("layer/1").seed, key.fold("layer/2").seed)

    def test_keys_do_not_change_and_can_be_copied(self):
        key = gt.random.Key(7)
        with self.assertRaisesRegex(AttributeError, "a key does not change; fold and split give others"):
            key.seed = 8
        for other in (copy.deepcopy(key), pickle.loads(pickle.dumps(key))):
            self.assertEqual(other.seed, 7)
        self.assertEqual((gt.random.Key(-1).seed, gt.random.Key(2**63 + 5).seed), (2**63 - 1, 5))


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Functions(unittest.TestCase):
    def test_fresh_numbers_in_each_call(self):
        f = gt.function(lambda x: (x + gt.random.uniform(4), gt.random.normal((2, 2))))
        x = gt.zeros(4)
        f(x)
        calls, count = compiled(lambda: [[part.tolist() for part in f(x)] for _ in range(10)])
        self.assertEqual(count, 0)
        self.assertEqual(len({str(call[0]) for call in calls} | {str(call[1]) for call in calls}), 20)

    def test_draws_of_a_call_differ(self):
        a, b = gt.function(lambda: (gt.random.uniform(5), gt.random.uniform(5)))()
        self.assertNotEqual(a.tolist(), b.tolist())

    def test_a_seed_decides_all_calls(self):
        f = gt.function(lambda: gt.random.uniform(3))
        runs = []
        for _ in range(2):
            gt.random.seed(11)
            runs.append([f().tolist(), gt.random.uniform(3).tolist(), f().tolist()])
        self.assertEqual(*runs)

    def test_one_draw_of_a_function_is_that_of_its_line(self):
        f = gt.function(lambda: gt.random.uniform(3))
        gt.random.seed(5)
        drawn = f().tolist()
        gt.random.seed(5)
        self.assertEqual(gt.random.uniform(3).tolist(), drawn)

    def test_a_seed_inside(self):
        """Each call begins anew, as the lines do without a function."""
        def lines():
            gt.random.seed(4)
            return gt.random.uniform(3), gt.random.uniform(3)

        wanted = [part.tolist() for part in lines()]
        f = gt.function(lines)
        self.assertEqual([part.tolist() for part in f()], wanted)
        self.assertEqual([part.tolist() for part in f()], wanted)

    def test_keys_are_arguments_and_results(self):
        def step(key, x):
            mine, rest = key.split()
            return rest, x + gt.random.uniform(3, key=mine), {"at": key.fold(5)}

        f, key, x = gt.function(step), gt.random.Key(3), gt.zeros(3)
        f(key, x)
        (rest, y, more), count = compiled(lambda: f(key, x))
        again, z, _ = f(rest, x)
        self.assertEqual(count, 0)
        wanted_rest, wanted_y, wanted_more = step(gt.random.Key(3), gt.zeros(3))
        self.assertEqual((rest.seed, y.tolist(), more["at"].seed), (wanted_rest.seed, wanted_y.tolist(), wanted_more["at"].seed))
        self.assertEqual(z.tolist(), step(wanted_rest, gt.zeros(3))[1].tolist())
        self.assertIsInstance(again, gt.random.Key)

    def test_fold_with_numbers_that_are_not_known(self):
        key, f = gt.random.Key(3), gt.function(lambda n: gt.random.Key(3).fold(n))
        for number in (0, 5, -1, 2**31 - 1):
            self.assertEqual(f(gt.array(number)).seed, key.fold(number).seed)
        g = gt.function(lambda key, n: key.fold(n))
        for number in (2**40, -2**62):
            self.assertEqual(g(key, gt.array(np.int64(number))).seed, key.fold(number).seed)

    def test_each_round_of_a_loop_draws_anew(self):
        def rounds(n):
            draw = lambda state: (state[0] + 1, gt.ops.set_slice(state[1], gt.random.uniform(2), state[0], 0))
            return gt.while_loop(lambda state: state[0] < n, draw, (gt.array(0), gt.zeros(4, 2)))[1]

        f = gt.function(lambda: rounds(4))
        first, second = f().numpy(), f().numpy()
        self.assertEqual(len({row.tobytes() for row in (*first, *second)}), 8)

    def test_loops_in_loops_and_branches(self):
        def inner(i):
            return gt.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + gt.random.uniform(())), (gt.array(0), gt.array(0.0)))[1]

        def f():
            outer = gt.scan(lambda carry, x: (carry, inner(x)), gt.array(0.0), gt.arange(3))[1]
            branch = gt.cond(gt.sum(outer) > -1.0, lambda: gt.random.uniform(3), lambda: gt.zeros(3))
            return outer, branch

        f = gt.function(f)
        values = [float(x) for _ in range(2) for part in f() for x in part.numpy()]
        self.assertEqual(len(set(values)), 12)

    def test_a_scan_stacks_draws_of_its_steps(self):
        f = gt.function(lambda: gt.scan(lambda c, _: (c, gt.random.uniform(2)), gt.array(0.0), length=5)[1])
        self.assertEqual(len({row.tobytes() for row in f().numpy()}), 5)

    def test_a_loop_that_draws_nothing_has_no_counter(self):
        f = gt.function(lambda x: gt.while_loop(lambda v: gt.sum(v) > 1.0, lambda v: v * 0.5, x))
        self.assertNotIn("tensor<i64>", f.lower(gt.array([8.0])).text)

    def test_the_graph_takes_a_key(self):
        f = gt.function(lambda x: x + gt.random.uniform(2))
        x = gt.zeros(2)
        plan = gt.compile(f.lower(x))
        self.assertEqual([port.name for port in plan.inputs], ["input0", "key"])
        one, same, other = (plan.run(x, key=np.int64(key))["output0"].tolist() for key in (1, 1, 2))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)
        self.assertEqual(one, gt.random.uniform(2, key=gt.random.Key(1)).tolist())
        with self.assertRaisesRegex(gt.NotFoundError, "needs the input 'key'"):
            plan.run(x)
        self.assertEqual(len(gt.function(lambda x: x + 1.0).lower(x).plan().inputs), 1)

    def test_functions_in_functions(self):
        inner = gt.function(lambda: gt.random.uniform(3))
        a, b = gt.function(lambda: (inner(), inner()))()
        self.assertNotEqual(a.tolist(), b.tolist())

    def test_on_each_device(self):
        def f():
            with gt.device("GPU:1"):
                a = gt.random.uniform(3)
            with gt.device("CPU:0"):
                return a, gt.random.uniform(3)

        a, b = gt.function(f)()
        self.assertEqual((a.device, len({str(a.tolist()), str(b.tolist())})), ("GPU:1", 2))

    def test_in_every_process_the_same(self):
        program = """
            import gantry as gt
            gt.random.seed(8)
            f = gt.function(lambda: gt.random.normal(2))
            print(gt.random.uniform(2).tolist(), f().tolist(), f().tolist(), gt.random.Key(3).fold(4))
            """
        self.assertEqual(len({run(program, devices=devices) for devices in ("GPU:0,GPU:1", "GPU:0", "CPU:0")}), 1)
