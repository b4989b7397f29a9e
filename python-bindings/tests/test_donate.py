"""Arrays that are given away: what lies in them, what is said of them afterwards, and what memory it takes."""

import ctypes
import gc
import random
import tempfile
import unittest

import numpy as np

import gantry as gt
from gantry import _c, _library, _runtime
from tests.support import BUILD, HAS_COMPILER, LONG, NEEDS_COMPILER, run

W = np.arange(64, dtype=np.float32).reshape(8, 8)


def _data(array):
    """Where the array's memory is."""
    info = _library.sized(_c.gantry_array_info_t)
    _library.check(_library.runtime().gantry_array_info(array._handle, ctypes.byref(info)))
    return info.data


def step(w, g):
    return w - g * 0.5


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Functions(unittest.TestCase):
    def test_the_result_lies_in_it(self):
        for device in ("CPU:0", "GPU:0"):
            with self.subTest(device), gt.device(device):
                donating, keeping = gt.function(step, donate="w"), gt.function(step)
                w, g = gt.array(W), gt.ones(8, 8)
                expected, place = keeping(w, g).numpy(), _data(w)
                result = donating(w, g)
                self.assertEqual((_data(result), result.device, w.is_deleted, g.is_deleted), (place, device, True, False))
                np.testing.assert_array_equal(result.numpy(), expected)
                np.testing.assert_array_equal(expected, W - 0.5)

    def test_positions_and_trees(self):
        @gt.function(donate=(0, "moments"))
        def adam(weights, grads, moments):
            moments = [m * 0.9 + g * 0.1 for m, g in zip(moments, grads)]
            return [w - m for w, m in zip(weights, moments)], moments
        make = lambda value: [gt.full((4,), value, device="GPU:0"), gt.full((2, 2), value, device="GPU:0")]
        weights, grads, moments = make(1.0), make(2.0), make(0.0)
        before = [_data(each) for each in weights + moments]
        new_weights, new_moments = adam(weights, grads, moments)
        self.assertEqual([_data(each) for each in new_weights + new_moments], before)
        self.assertEqual([each.is_deleted for each in weights + grads + moments], [True, True, False, False, True, True])
        np.testing.assert_allclose(new_weights[0].numpy(), 0.8, rtol=1e-6)
        np.testing.assert_allclose(new_moments[1].numpy(), 0.2, rtol=1e-6)

    def test_more_arguments_than_names(self):
        @gt.function(donate=("w", "last"))
        def add(w, *others, last):
            for each in others:
                w = w + each
            return w, last * 2.0
        arrays = [gt.ones(4, device="GPU:0") for _ in range(4)]
        last = gt.ones(2, device="GPU:0")
        places = [_data(arrays[0]), _data(last)]
        self.assertEqual([_data(each) for each in add(*arrays, last=last)], places)
        self.assertEqual([each.is_deleted for each in [*arrays, last]], [True, False, False, False, True])

    def test_what_is_said_of_it(self):
        w = gt.array(W, device="GPU:1")
        gt.function(step, donate=0)(w, gt.ones(8, 8, device="GPU:1"))
        for use in (w.numpy, w.clone, lambda: w + 1.0, lambda: w.to("CPU:0"), lambda: gt.function(step)(w, w),
                    lambda: np.from_dlpack(w)):
            with self.assertRaises(gt.FailedPreconditionError) as caught:
                use()
            self.assertEqual(str(caught.exception), "this array, float32[8, 8] on GPU:1, was given away to argument 'w' of "
                             "function 'step'; use what came of it, or a clone() made before")
        self.assertIsInstance(caught.exception, RuntimeError)
        self.assertEqual(repr(w), "Array(given away to argument 'w' of function 'step', dtype=float32, device=GPU:1)")
        self.assertEqual((w.shape, w.to("GPU:1") is w), ((8, 8), True))

    def test_what_others_see_is_left_alone(self):
        donating = gt.function(step, donate="w")
        g = gt.ones(8, 8)
        # Memory of NumPy's, a view that another library has, the array of a binding, one array twice, another device.
        values = W.copy()
        donating(gt.from_dlpack(values), g)
        np.testing.assert_array_equal(values, W)
        w = gt.array(W, device="CPU:0")
        view = np.from_dlpack(w)
        donating(w, g)
        np.testing.assert_array_equal(view, W)
        self.assertTrue(w.is_deleted)
        w = gt.array(W)
        bound = gt.function(lambda x: x + 1.0).plan(w).session().bind(input0=w)
        donating(w, g)
        bound.run()
        np.testing.assert_array_equal(bound.outputs["output0"].numpy(), W + 1)
        w = gt.array(W)
        np.testing.assert_array_equal(donating(w, w).numpy(), W * 0.5)
        w = gt.array(W, device="GPU:1")
        with gt.device("GPU:0"):
            np.testing.assert_array_equal(donating(w, g).numpy(), W - 0.5)
        self.assertTrue(w.is_deleted)
        self.assertFalse(donating(W, g).is_deleted)

    def test_where_nothing_can_lie_in_it_a_remark_says_why(self):
        total = gt.function(lambda w: gt.sum(w), donate="w")
        w = gt.ones(1 << 18, device="GPU:0")
        used = gt.memory("GPU:0").used
        self.assertEqual(total(w).item(), 1 << 18)
        self.assertTrue(w.is_deleted)
        self.assertLess(gt.memory("GPU:0").used, used - (1 << 19))  # the array's megabyte is free, the plan's memory came
        said = [each[5] for each in total.plan(gt.ones(4, 4, device="GPU:0")).diagnostics]
        self.assertEqual(said, ["the array of 'input0' is given away, and no output can lie in it: no output of its type is "
                                "computed on its device"])

    def test_of_other_shapes_and_without_elements(self):
        flat = gt.function(lambda w: gt.reshape(w * 2.0, (-1,)), donate="w")
        np.testing.assert_array_equal(flat(gt.array(W, device="GPU:0")).numpy(), W.reshape(-1) * 2)
        none = gt.zeros(0, 3, device="GPU:0")
        self.assertEqual(gt.function(lambda w: w + 1.0, donate="w")(none).shape, (0, 3))
        self.assertTrue(none.is_deleted)

    def test_wrong_calls(self):
        with self.assertRaises(ValueError) as caught:
            gt.function(step, donate="v")
        self.assertEqual(str(caught.exception), "donate: 'v' is no parameter of 'step' that is an array; its parameters are "
                         "'w', 'g'")
        with self.assertRaises(ValueError):
            gt.function(step, donate=2)
        with self.assertRaises(ValueError):
            gt.function(step, donate=0, static=(0,))
        with self.assertRaises(ValueError) as caught:
            gt.donate(W)
        self.assertEqual(str(caught.exception), "only an Array can be given away, not ndarray")

    def test_after_too_little_memory_it_is_there(self):
        self.assertEqual(run("""
            import gantry as gt
            gt.config(memory={"GPU:0": "limit:2MiB"})
            grow = gt.function(lambda w: (w + 1.0, gt.concat([w, w])), donate="w")
            w = gt.zeros(65536, device="GPU:0")
            plan = grow.plan(w)
            session = plan.session()
            fill = gt.zeros(65536 * 5, device="GPU:0")
            try: session.run(input0=gt.donate(w))
            except gt.OutOfMemoryError: print("no memory", w.is_deleted, w.numpy().sum())
            del fill
            print(session.run(input0=gt.donate(w))["output1"].shape, w.is_deleted)
            """), "no memory False 0.0\n(131072,) True\n")


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Plans(unittest.TestCase):
    def test_of_a_graph_and_of_a_file(self):
        make = lambda: gt.array(W, device="GPU:0")
        graph = gt.function(step).lower(make(), make())
        with tempfile.NamedTemporaryFile(suffix=".mlir") as file:
            graph.save(file.name)
            for source in (graph, file.name):
                plan = gt.compile(source, donate=["input0"])
                self.assertEqual(plan.function().over, {0: 0})
                w, session = make(), plan.session()
                place, g = _data(w), make()
                kept = session.run(w, g)["output0"]
                self.assertNotEqual(_data(kept), place)
                self.assertFalse(w.is_deleted)
                result = session.run(gt.donate(w), g)["output0"]
                self.assertEqual((_data(result), w.is_deleted), (place, True))
                np.testing.assert_array_equal(result.numpy(), kept.numpy())
                with self.assertRaisesRegex(gt.FailedPreconditionError, "given away to input 'input0' of function 'main'"):
                    session.run(w, g)
        with self.assertRaises(ValueError) as caught:
            gt.compile(graph, donate="w")
        self.assertEqual(str(caught.exception).rsplit(": ", 1)[-1],
                         "--donate w names no input; the inputs are 'input0', 'input1'")

    def test_saved_and_loaded(self):
        w, g = gt.array(W, device="GPU:0"), gt.ones(8, 8, device="GPU:0")
        plan = gt.load(gt.compile(gt.function(step).lower(w, g), donate="input0").to_bytes())
        self.assertEqual(plan.description["functions"][0]["outputs"][0]["over"], 0)
        place = _data(w)
        self.assertEqual(_data(plan.run(gt.donate(w), g)["output0"]), place)

    def test_bound_to_both(self):
        for device in ("CPU:0", "GPU:0"):
            with gt.device(device):
                w, g = gt.array(W), gt.ones(8, 8)
                plan = gt.compile(gt.function(step).lower(w, g), donate="input0")
                bound = plan.session().bind(input0=gt.donate(w), input1=g)
                used = gt.memory(device).used
                for _ in range(10):
                    bound.run()
                self.assertEqual(gt.memory(device).used, used)
                np.testing.assert_array_equal(bound.outputs["output0"].numpy(), W - 5)
                self.assertTrue(w.is_deleted)
        plan = gt.compile(gt.function(step).lower(gt.array(W), gt.array(W)))
        with self.assertRaises(ValueError) as caught:
            plan.session().bind(input0=gt.donate(gt.array(W)), input1=W)
        self.assertEqual(str(caught.exception), "input 'input0' of function 'main' cannot be given away: no output lies in it; "
                         "compile with donate, and look for remarks in plan.diagnostics")


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Training(unittest.TestCase):
    SIZE = 1 << 18  # elements: 1 MiB

    def loop(self, donate, device):
        """Memory at its most and between steps, above what w and g take, and where w was, in many steps."""
        @gt.function(donate=donate)
        def update(w, g):
            with gt.device(device):
                return w - 0.001 * g
        w, g = gt.ones(self.SIZE, device=device), gt.ones(self.SIZE, device=device)
        w = update(w, g)
        gc.collect()  # what other tests left in cycles would go during the loop
        held = gt.memory(device).used
        self.reset_peak(device)
        between, places = set(), set()
        steps = 1000 if LONG else 200
        for _ in range(steps):
            w = update(w, g)
            between.add(gt.memory(device).used - held)
            places.add(_data(w))
        np.testing.assert_allclose(w.numpy()[:4], 1 - 0.001 * (steps + 1), atol=1e-5)
        return gt.memory(device).peak - held, between, len(places)

    def reset_peak(self, device):
        _library.check(_library.runtime().gantry_runtime_reset_peak(_runtime.current().handle, device.encode()))

    def test_many_steps_in_flat_memory_without_a_second_array(self):
        for device in ("CPU:0", "GPU:0"):
            with self.subTest(device):
                self.assertEqual(self.loop("w", device), (0, {0}, 1))
        # Without, a second one is there in each step.
        peak, _, _ = self.loop((), "GPU:0")
        self.assertEqual(peak, 4 * self.SIZE)

    def test_the_bits_are_the_same(self):
        def train(donate):
            @gt.function(donate=donate)
            def update(w, m, x):
                y = gt.sum((x @ w) * x, axis=0)
                m = m * 0.9 + gt.reshape(y, (1, -1)) * 0.1
                return gt.softmax(w - m), m
            w, m, x = gt.array(W / 64, device="GPU:0"), gt.zeros(1, 8, device="GPU:0"), gt.array(W.T / 64, device="GPU:0")
            for _ in range(20):
                w, m = update(w, m, x)
            return w.numpy().tobytes() + m.numpy().tobytes()
        self.assertEqual(train(("w", "m")), train(()))


OPS = (lambda a, b: a + b, lambda a, b: a * b - a, lambda a, b: gt.softmax(a - b), lambda a, b: gt.matmul(a, b) / 64.0,
       lambda a, b: gt.ops.transpose(a, (1, 0)) + b, lambda a, b: gt.relu(a), lambda a, b: gt.sum(a, axis=0, keepdims=True) + b,
       lambda a, b: gt.concat([a[4:], b[:4]]), lambda a, b: gt.cond(gt.sum(a) > 0.0, lambda: a, lambda: b * 2.0),
       lambda a, b: gt.while_loop(lambda v: gt.sum(v) < 100.0, lambda v: v * v + 1.0, a))
DRAWN = random.Random()


def drawn_program(seed):
    """A function of three arrays of one type, of ops on two devices, whose results are some of what it computes and of what
    it was given."""
    def program(x, y, z):
        DRAWN.seed(seed)
        values = [x, y, z]
        for _ in range(DRAWN.randrange(2, 8)):
            with gt.device(DRAWN.choice(["GPU:0", "GPU:0", "GPU:1"])):
                values.append(DRAWN.choice(OPS)(DRAWN.choice(values), DRAWN.choice(values[-3:])))
        return [DRAWN.choice(values) for _ in range(DRAWN.randrange(1, 4))]
    return program


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Drawn(unittest.TestCase):
    COUNT = 12

    def test_given_away_or_not_the_bytes_are_the_same(self):
        lying = 0
        for seed in range(self.COUNT):
            with self.subTest(seed):
                rows = np.random.default_rng(seed).normal(size=(3, 8, 8)).astype(np.float32)
                make = lambda: [gt.array(each, device="GPU:0") for each in rows]
                graph = gt.function(drawn_program(seed)).lower(*make())
                expected = [each.numpy().tobytes() for each in gt.compile(graph).run(*make()).values()]
                plan = gt.compile(graph, donate=["input0", "input1", "input2"])
                lying += len(plan.function().over)
                given = make()
                results = plan.run(*given).values()
                self.assertEqual([each.numpy().tobytes() for each in results], expected)
                self.assertEqual([each.tolist() for each in given], rows.tolist())
                results = plan.run(*map(gt.donate, given)).values()
                self.assertEqual([each.numpy().tobytes() for each in results], expected)
                self.assertEqual([each.is_deleted for each in given], [True] * 3)
        self.assertGreater(lying, self.COUNT // 2)


@unittest.skipUnless(HAS_COMPILER and (BUILD / "lib/libfake-cuda.so").exists(), "the build has no compiler or no fake CUDA")
class FakeCUDA(unittest.TestCase):
    """On the driver of GPUs, whose commands are captured as graphs with their addresses: given away or not, in turns."""

    def test_steps(self):
        self.assertEqual(run("""
            import numpy as np
            import gantry as gt

            def step(w, g):
                return gt.softmax(w - g * 0.5)
            W = np.arange(64, dtype=np.float32).reshape(8, 8) / 64
            w, g = gt.array(W, device="GPU:0"), gt.ones(8, 8, device="GPU:0")
            assert gt.devices("GPU")[0] == "GPU:0"
            session = gt.compile(gt.function(step).lower(w, g), donate="input0").session()
            keeping = gt.function(step)
            expected, w = w, w.clone()
            peaks = []
            for i in range(12):
                expected = keeping(expected, g)
                if i % 3 == 0:
                    before = w.numpy()
                    kept, w = w, session.run(w, g)["output0"]
                    assert (kept.numpy() == before).all()
                    del kept
                else:
                    used = gt.memory("GPU:0").used
                    w = session.run(gt.donate(w), g)["output0"]
                    assert gt.memory("GPU:0").used == used
                assert (w.numpy() == expected.numpy()).all(), i
            print(repr(w.device), w.shape)
            """, devices="", GANTRY_SIMULATE="", LD_LIBRARY_PATH=str(BUILD / "test/unit/Tool/nvml"),
            GANTRY_CUDA_LIB=str(BUILD / "lib/libfake-cuda.so"), FAKE_CUDA_DEVICES="2", FAKE_CUDA_ORDER="2"),
            "GPU:0 (8, 8)\n")
