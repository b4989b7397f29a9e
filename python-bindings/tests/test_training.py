"""Variables, gradients, layers, losses, metrics, optimizers and fit: against NumPy's and PyTorch's arithmetic."""

import contextlib
import gc
import io
import re
import traceback
import unittest
import warnings

import numpy as np

import gantry as gt
from gantry import losses, metrics, nn, optim
from tests.support import HAS_COMPILER, LONG, NEEDS_COMPILER, run
from tests.training import normals

try:
    import torch
except ImportError:
    torch = None
try:
    import sklearn.linear_model
    import sklearn.metrics
    import sklearn.neural_network
    import sklearn.preprocessing
except ImportError:
    sklearn = None

RANDOM = np.random.default_rng(7)
rand = normals(RANDOM)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Variables(unittest.TestCase):
    def test_at_once_and_in_functions(self):
        w = gt.Variable(np.arange(3, dtype=np.float32), name="w3")
        self.assertEqual((w.shape, w.dtype, w.nbytes, len(w)), ((3,), "float32", 12, 3))
        np.testing.assert_array_equal((1 + w * 2).numpy(), [1, 3, 5])
        np.testing.assert_array_equal(w[1:].numpy(), [1, 2])
        np.testing.assert_array_equal((w @ w).numpy(), 5)

        @gt.function
        def step(x):
            before = w + 0
            w.assign_add(x)
            after = w * 1
            w.assign(after * 2)
            return before, after, w

        before, after, last = step(gt.ones(3))
        np.testing.assert_array_equal(before.numpy(), [0, 1, 2])
        np.testing.assert_array_equal(after.numpy(), [1, 2, 3])
        np.testing.assert_array_equal(last.numpy(), [2, 4, 6])
        np.testing.assert_array_equal(w.numpy(), [2, 4, 6])
        w.assign(0)
        w.assign_add([1, 2, 3])
        np.testing.assert_array_equal(step(gt.ones(3))[0].numpy(), [1, 2, 3])

    def test_branches_and_loops(self):
        n = gt.Variable(np.int64(0), name="count")

        @gt.function
        def count(x):
            gt.cond(gt.sum(x) > 0, lambda: (n.assign_add(1), x)[1], lambda: x)
            return gt.while_loop(lambda i: i < 3, lambda i: (n.assign_add(10), i + 1)[1], gt.sum(x).astype("int32") * 0)

        count(gt.ones(2))
        self.assertEqual(int(n), 31)
        count(-gt.ones(2))
        self.assertEqual(int(n), 61)

    def test_names_are_unique_and_free_again(self):
        a, b = gt.Variable(1.0, name="same"), gt.Variable(2.0, name="same")
        self.assertEqual((a.name, b.name), ("same", "same_1"))
        self.assertEqual(float(gt.variables()["same_1"]), 2.0)
        del a
        gc.collect()
        self.assertNotIn("same", gt.variables())
        self.assertEqual(gt.Variable(3.0, name="same").name, "same")

    def test_a_function_keeps_what_it_uses(self):
        def make():
            w = gt.Variable(5.0, name="kept")
            return gt.function(lambda x: w * x)
        f = make()
        f(gt.array(1.0))
        gc.collect()
        other = gt.Variable(np.zeros(1000), name="other")
        self.assertEqual(float(f(gt.array(2.0))), 10.0)
        self.assertEqual(other.name, "other")

    def test_a_state_of_other_devices(self):
        """A plan that was compiled for a variable on one device does not take it from another: it says so, with the line."""
        w = gt.Variable(np.ones(3, np.float32), name="travels", device="CPU:0")
        step = gt.function(lambda x: (w.assign_add(x), w * 2)[1])
        old = step.plan(np.ones(3, np.float32))
        w._move("GPU:1")
        with self.assertRaisesRegex(gt.GantryError, r"test_training.py:\d+:1\): variable 'travels' .*is f32\[3\] on '.*CPU:0', in this state it is "
                                                    r"f32\[3\] on '.*GPU:1'"):
            old.session(state=gt.variables())
        np.testing.assert_array_equal(step(np.ones(3, np.float32)).numpy(), [4, 4, 4])  # the function is traced anew
        self.assertEqual(w.device, gt.gpu(1))

    def test_moves_with_what_optimizers_keep(self):
        layer = nn.Dense(2)
        x, y = gt.ones(4, 3), gt.zeros(4, 2)
        step = gt.value_and_grad(lambda x, y: losses.mse(y, layer(x)), wrt=layer)
        adam = optim.Adam(0.1)
        adam.apply(layer, step(x, y)[1])
        slot = gt.variables()[layer.weight.name + "/" + adam.name + "/m"].numpy()
        layer.to("GPU:1")
        self.assertEqual((layer.weight.device, layer.bias.device), (gt.gpu(1), gt.gpu(1)))
        moved = gt.variables()[layer.weight.name + "/" + adam.name + "/m"]
        self.assertEqual(moved.device, gt.gpu(1))
        np.testing.assert_array_equal(moved.numpy(), slot)
        before = layer.weight.numpy()
        adam.apply(layer, step(x, y)[1])
        self.assertTrue((layer.weight.numpy() != before).all())


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Gradients(unittest.TestCase):
    def test_arguments_by_place_and_name(self):
        x, y = rand(3), rand(3)
        f = lambda x, y: gt.sum(x * x * y)
        value, slope = gt.value_and_grad(f)(x, y)
        np.testing.assert_allclose(value.numpy(), (x * x * y).sum(), rtol=1e-14)
        np.testing.assert_allclose(slope.numpy(), 2 * x * y, rtol=1e-14)
        for wrt in ((0, "y"), ("x", -1), (0, 1)):
            a, b = gt.grad(f, wrt=wrt)(x, y)
            np.testing.assert_allclose(a.numpy(), 2 * x * y, rtol=1e-14)
            np.testing.assert_allclose(b.numpy(), x * x, rtol=1e-14)
        np.testing.assert_allclose(gt.grad(f, wrt="y")(x, y=y).numpy(), x * x, rtol=1e-14)

    def test_structures_and_aux(self):
        given = {"a": rand(2), "b": [rand(2), rand(2)]}
        f = lambda tree, n: (gt.sum(tree["a"] * tree["b"][0]) + gt.sum(tree["b"][1]), (n + 1, tree["a"] * 2))
        (loss, (n, twice)), slopes = gt.value_and_grad(f, has_aux=True)(given, 3)
        self.assertEqual((int(n), set(slopes)), (4, {"a", "b"}))
        np.testing.assert_array_equal(twice.numpy(), given["a"] * 2)
        np.testing.assert_array_equal(slopes["a"].numpy(), given["b"][0])
        np.testing.assert_array_equal(slopes["b"][1].numpy(), [1, 1])
        self.assertAlmostEqual(float(loss), float((given["a"] * given["b"][0]).sum() + given["b"][1].sum()), 12)

    def test_variables_twice_and_assigned_inside(self):
        w = gt.Variable(np.float64(3), name="twice")

        def f(x):
            first = w * w * x
            w.assign(w * 2)          # on a way: what is read after it depends on the old value
            return first + w * x

        value, slope = gt.value_and_grad(f, wrt=w)(np.float64(5))
        self.assertEqual((float(value), float(slope), float(w)), (45 + 30, 2 * 3 * 5 + 2 * 5, 6))

    def test_second_derivatives_and_stop(self):
        x = rand(4)
        self.assertEqual(gt.grad(lambda x: gt.sum(gt.stop_gradient(x) * x))(x).numpy().tolist(), x.tolist())
        slope = lambda x: gt.sum(gt.grad(lambda x: gt.sum(gt.sin(x) * x))(x))
        np.testing.assert_allclose(gt.grad(slope)(x).numpy(), 2 * np.cos(x) - x * np.sin(x), rtol=1e-12)

    def test_vjp(self):
        a, x, d = rand(3, 4), rand(4), rand(3)
        value, pull = gt.vjp(lambda a, x: gt.matmul(a, x), a, x)
        np.testing.assert_allclose(value.numpy(), a @ x, rtol=1e-12)
        left, right = pull(gt.array(d))
        np.testing.assert_allclose(left.numpy(), np.outer(d, x), rtol=1e-12)
        np.testing.assert_allclose(right.numpy(), a.T @ d, rtol=1e-12)
        inside = gt.function(lambda a, x, d: gt.vjp(lambda a, x: gt.matmul(a, x), a, x)[1](d))
        np.testing.assert_array_equal(inside(a, x, d)[1].numpy(), right.numpy())

    def test_jvp_and_hvp(self):
        a, x, da, dx = rand(3, 4), rand(4), rand(3, 4), rand(4)
        f = lambda a, x: gt.tanh(gt.matmul(a, x))
        y = np.tanh(a @ x)
        push = lambda primals, tangents: gt.jvp(f, primals, tangents)
        for call in (push, gt.function(push)):
            value, moved = call((a, x), (da, dx))
            np.testing.assert_allclose(value.numpy(), y, rtol=1e-12)
            np.testing.assert_allclose(moved.numpy(), (1 - y * y) * (da @ x + a @ dx), rtol=1e-12)
        _, both = gt.jvp(lambda x: {"s": gt.sin(x), "n": gt.sum(x * x)}, (x,), (dx,))
        np.testing.assert_allclose(both["s"].numpy(), np.cos(x) * dx, rtol=1e-12)
        np.testing.assert_allclose(both["n"].numpy(), 2 * x @ dx, rtol=1e-12)
        left, right = gt.hvp(lambda x, y: gt.sum(x * x * x * y), (x, a[0]), (dx, da[0]))
        np.testing.assert_allclose(left.numpy(), 6 * x * a[0] * dx + 3 * x * x * da[0], rtol=1e-12)
        np.testing.assert_allclose(right.numpy(), 3 * x * x * dx, rtol=1e-12)
        with self.assertRaisesRegex(gt.GantryError, "jvp takes arguments and as many directions"):
            gt.jvp(f, (a, x), (da,))

    def test_unused_is_zero_when_asked(self):
        a, b = gt.grad(lambda x, y: gt.sum(x), wrt=(0, 1), allow_unused=True)(rand(2), rand(3))
        self.assertEqual((a.numpy().tolist(), b.numpy().tolist()), ([1, 1], [0, 0, 0]))

    def test_frozen_and_tied(self):
        tied = nn.Embedding(5, 3, dtype="float64")
        first, middle = nn.Dense(4, dtype="float64"), nn.Dense(3, dtype="float64")

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.tied, self.first, self.middle = tied, first, middle

            def forward(self, ids):
                return gt.matmul(self.middle(self.first(self.tied(ids))), gt.transpose(self.tied.weight, (1, 0)))

        net, ids = Net(), np.array([0, 3, 3], np.int32)
        net(ids)
        middle.weight.trainable = middle.bias.trainable = False
        _, slopes = gt.value_and_grad(lambda ids: gt.sum(net(ids) * net(ids)), wrt=net)(ids)
        self.assertEqual(set(slopes), {"tied.weight", "first.weight", "first.bias"})
        table, h = tied.weight.numpy(), 1e-6
        value = lambda: float(gt.sum(net(ids) * net(ids)))
        for at in ((0, 0), (3, 1), (1, 2)):
            moved = table.copy()
            moved[at] += h
            tied.weight.assign(moved)
            above = value()
            moved[at] -= 2 * h
            tied.weight.assign(moved)
            self.assertAlmostEqual((above - value()) / (2 * h), slopes["tied.weight"].numpy()[at], 6)
            tied.weight.assign(table)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Tapes(unittest.TestCase):
    def test_at_once(self):
        w, x = gt.Variable(rand(3), name="taped"), gt.array(rand(3))
        with gt.GradientTape() as tape:
            y = w * x
            loss = gt.sum(gt.sin(y) * w)
        before = w.numpy()
        w.assign(0)  # what it was when it was read stays
        slope, dx, dy = tape.gradient(loss, [w, x, y])
        a, b = before, x.numpy()
        np.testing.assert_allclose(slope.numpy(), np.sin(a * b) + a * b * np.cos(a * b), rtol=1e-12)
        np.testing.assert_allclose(dx.numpy(), a * a * np.cos(a * b), rtol=1e-12)
        np.testing.assert_allclose(dy.numpy(), a * np.cos(a * b), rtol=1e-12)

    def test_read_between_assignments(self):
        w = gt.Variable(np.float64(3))
        with gt.GradientTape() as tape:
            first = w * w
            w.assign(5)
            loss = first + w * 7
        self.assertEqual(float(tape.gradient(loss, w)), 2 * 3 + 7)

    def test_in_a_function_and_with_networks(self):
        net, x = nn.Sequential(nn.Dense(4, "tanh", dtype="float64"), nn.Dense(1, dtype="float64")), rand(5, 3)
        net(x)
        _, expected = gt.value_and_grad(lambda x: gt.sum(net(x)), wrt=net)(x)

        def taped(x):
            with gt.GradientTape() as tape:
                loss = gt.sum(net(x))
            return tape.gradient(loss, net.parameters())
        for call in (taped, gt.function(taped)):
            for slope, known in zip(call(gt.array(x)), expected.values()):
                np.testing.assert_allclose(slope.numpy(), known.numpy(), rtol=1e-12)

    def test_ever_new_arrays_are_one_function(self):
        from gantry import tape as module
        before = len(module._functions)
        for _ in range(3):
            x = gt.array(rand(4))
            with gt.GradientTape() as tape:
                loss = gt.sum(x * x * 3.5)
            np.testing.assert_allclose(tape.gradient(loss, x).numpy(), 7 * x.numpy(), rtol=1e-12)
        self.assertEqual(len(module._functions), before + 1)

    def test_what_it_costs_is_told_once(self):
        said = run("""
            import numpy as np, gantry as gt
            w = gt.Variable(np.float32(3))
            for _ in range(2):
                with gt.GradientTape() as tape:
                    loss = w * w
                tape.gradient(loss, w)
            """)
        self.assertRegex(said, r"^<string>:7: remark: a tape outside of functions computes what it recorded a second time for the gradients; .*\n$")

    def test_a_program_that_changes_at_every_step(self):
        """Each is a function of its own; so many are kept, and one that was forgotten is made again."""
        from gantry import tape as module
        w, most, before = gt.Variable(np.float64(1.5)), module._MOST, len(module._functions)
        module._MOST = before + 3
        try:
            for power in (*range(1, 8), 1):
                with gt.GradientTape() as tape:
                    y = w * 1.0
                    for _ in range(power - 1):
                        y = y * w
                self.assertAlmostEqual(float(tape.gradient(y, w)), power * 1.5 ** (power - 1), 10)
                self.assertLessEqual(len(module._functions), before + 3)
        finally:
            module._MOST = most

    def test_refused(self):
        x = gt.array(rand(2))
        with gt.GradientTape() as outer, gt.GradientTape() as tape:
            loss = gt.sum(x * x)
            with self.assertRaisesRegex(gt.GantryError, "a tape cannot record the gradients of another one"):
                tape.gradient(loss, x)
        with self.assertRaisesRegex(gt.GantryError, "the tape has not recorded how"):
            outer.gradient(gt.sum(x), x)
        with self.assertRaisesRegex(gt.GantryError, "the loss does not depend on"):
            outer.gradient(loss, gt.array(rand(2)))

        def loop(x):
            with gt.GradientTape():
                return gt.while_loop(lambda s: s < 9.0, lambda s: s * 2, x)
        with self.assertRaisesRegex(gt.GantryError, "a tape cannot record gantry.while_loop in a function"):
            gt.function(loop)(np.float32(1))


# ---- optimizers: the formulas once more, in NumPy ----

def sgd(w, g, t, s, rate, momentum=0, nesterov=False, dampening=0):
    s["b"] = momentum * s.get("b", 0) + (1 - dampening) * g
    return w - rate * (g + momentum * s["b"] if nesterov else s["b"])


def keras_sgd(w, g, t, s, rate, momentum=0, nesterov=False):
    s["b"] = momentum * s.get("b", 0) - rate * g
    return w + (momentum * s["b"] - rate * g if nesterov else s["b"])


def adam(w, g, t, s, rate, epsilon=1e-8, epsilon_hat=0, amsgrad=False, decay=0, l2=0):
    g = g + l2 * w
    w = w * (1 - rate * decay)
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + (1 - 0.999) * g * g
    s["x"] = np.maximum(s.get("x", 0), s["v"]) if amsgrad else s["v"]
    if epsilon_hat:  # as Keras writes it
        return w - rate * np.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t) * s["m"] / (np.sqrt(s["x"]) + epsilon_hat)
    return w - rate * (s["m"] / (1 - 0.9 ** t)) / (np.sqrt(s["x"] / (1 - 0.999 ** t)) + epsilon)


def nadam(w, g, t, s, rate):
    u, u1 = 0.9 * (1 - 0.5 * 0.96 ** t), 0.9 * (1 - 0.5 * 0.96 ** (t + 1))
    s["p"] = s.get("p", 1) * u
    s["m"] = s.get("m", 0) + (g - s.get("m", 0)) * 0.1
    s["v"] = s.get("v", 0) + (g * g - s.get("v", 0)) * (1 - 0.999)
    m = u1 * s["m"] / (1 - s["p"] * u1) + (1 - u) * g / (1 - s["p"])
    return w - m * rate / (np.sqrt(s["v"] / (1 - 0.999 ** t)) + 1e-7)


def adamax(w, g, t, s, rate, keras=False):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["u"] = np.maximum(0.999 * s.get("u", 0), np.abs(g) + (0 if keras else 1e-8))
    return w - rate * s["m"] / ((1 - 0.9 ** t) * (s["u"] + (1e-7 if keras else 0)))


def rmsprop(w, g, t, s, rate, momentum=0, centered=False, keras=False):
    rho = 0.9 if keras else 0.99
    s["v"] = rho * s.get("v", 0) + (1 - rho) * g * g
    s["a"] = rho * s.get("a", 0) + (1 - rho) * g
    under = s["v"] - (s["a"] ** 2 if centered else 0)
    step = g / np.sqrt(under + 1e-7) if keras else g / (np.sqrt(under) + 1e-8)
    s["b"] = momentum * s.get("b", 0) + step
    return w - rate * s["b"]


def adagrad(w, g, t, s, rate, keras=False, rate_decay=0):
    s["a"] = s.get("a", 0.1 if keras else 0) + g * g
    if keras:
        return w - rate * g / np.sqrt(s["a"] + 1e-7)
    return w - rate / (1 + (t - 1) * rate_decay) * g / (np.sqrt(s["a"]) + 1e-10)


def adadelta(w, g, t, s, rate):
    s["a"] = 0.9 * s.get("a", 0) + 0.1 * g * g
    step = np.sqrt(s.get("d", 0) + 1e-6) / np.sqrt(s["a"] + 1e-6) * g
    s["d"] = 0.9 * s.get("d", 0) + 0.1 * step * step
    return w - rate * step


def lion(w, g, t, s, rate, decay=0):
    m = s.get("m", 0)
    s["m"] = 0.99 * m + 0.01 * g
    return w - rate * (np.sign(0.9 * m + 0.1 * g) + decay * w)


def lamb(w, g, t, s, rate, pull=0):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + (1 - 0.999) * g * g
    u = s["m"] / (1 - 0.9 ** t) / (np.sqrt(s["v"] / (1 - 0.999 ** t)) + 1e-6) + pull * w
    return w - rate * np.linalg.norm(w) / np.linalg.norm(u) * u


def lars(w, g, t, s, rate, pull=0):
    share = 0.001 * np.linalg.norm(w) / (np.linalg.norm(g) + pull * np.linalg.norm(w))
    s["b"] = 0.9 * s.get("b", 0) + rate * share * (g + pull * w)
    return w - s["b"]


def ftrl(w, g, t, s, rate, beta=0, lambda1=0, lambda2=0):
    n = s.get("n", 0.1)
    s["n"] = n + g * g
    s["z"] = s.get("z", 0) + g - (np.sqrt(s["n"]) - np.sqrt(n)) / rate * w
    return np.where(np.abs(s["z"]) <= lambda1, 0,
                    -(s["z"] - np.sign(s["z"]) * lambda1) / ((beta + np.sqrt(s["n"])) / rate + lambda2))


RULES = [
    ("sgd", lambda: optim.SGD(0.01), sgd, {}),
    ("momentum", lambda: optim.SGD(0.01, 0.9), sgd, {"momentum": 0.9}),
    ("dampened", lambda: optim.SGD(0.01, 0.9, dampening=0.5), sgd, {"momentum": 0.9, "dampening": 0.5}),
    ("nesterov", lambda: optim.SGD(0.01, 0.9, nesterov=True), sgd, {"momentum": 0.9, "nesterov": True}),
    ("keras momentum", lambda: optim.KerasSGD(0.01, 0.9), keras_sgd, {"momentum": 0.9}),
    ("keras nesterov", lambda: optim.KerasSGD(0.01, 0.9, nesterov=True), keras_sgd, {"momentum": 0.9, "nesterov": True}),
    ("adam", lambda: optim.Adam(0.01), adam, {}),
    ("keras adam", lambda: optim.Adam(0.01, epsilon=0.0, epsilon_hat=1e-7), adam, {"epsilon_hat": 1e-7}),
    ("amsgrad", lambda: optim.Adam(0.01, amsgrad=True), adam, {"amsgrad": True}),
    ("adam l2", lambda: optim.Adam(0.01, l2=0.1), adam, {"l2": 0.1}),
    ("adamw", lambda: optim.AdamW(0.01), adam, {"decay": 0.01}),
    ("nadam", lambda: optim.Nadam(0.01), nadam, {}),
    ("adamax", lambda: optim.Adamax(0.01), adamax, {}),
    ("keras adamax", lambda: optim.Adamax(0.01, epsilon=1e-7, epsilon_inside=0.0), adamax, {"keras": True}),
    ("rmsprop", lambda: optim.RMSprop(0.01), rmsprop, {}),
    ("rmsprop centered", lambda: optim.RMSprop(0.01, momentum=0.5, centered=True), rmsprop, {"momentum": 0.5, "centered": True}),
    ("keras rmsprop", lambda: optim.RMSprop(0.01, 0.9, 0.5, epsilon=0.0, epsilon_inside=1e-7), rmsprop, {"momentum": 0.5, "keras": True}),
    ("adagrad", lambda: optim.Adagrad(0.01, rate_decay=0.1), adagrad, {"rate_decay": 0.1}),
    ("keras adagrad", lambda: optim.Adagrad(0.01, 0.0, 1e-7, initial=0.1), adagrad, {"keras": True}),
    ("adadelta", lambda: optim.Adadelta(1.0), adadelta, {}),
    ("lion", lambda: optim.Lion(0.01), lion, {}),
    ("lion decay", lambda: optim.Lion(0.01, decay=0.1), lion, {"decay": 0.1}),
    ("lamb", lambda: optim.Lamb(0.01), lamb, {}),
    ("lamb pull", lambda: optim.Lamb(0.01, pull=0.1), lamb, {"pull": 0.1}),
    ("lars", lambda: optim.Lars(0.01), lars, {}),
    ("lars pull", lambda: optim.Lars(0.01, pull=0.1), lars, {"pull": 0.1}),
    ("ftrl", lambda: optim.Ftrl(0.01), ftrl, {}),
    ("ftrl sparse", lambda: optim.Ftrl(0.01, 1.0, 2.0, 0.5), ftrl, {"beta": 1.0, "lambda1": 2.0, "lambda2": 0.5}),
]


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Optimizers(unittest.TestCase):
    def test_many_steps(self):
        """Each rule in f64, fed with gradients of many sizes, zeros among them."""
        steps = 1000 if LONG else 200
        gradients = rand(steps, 7) * np.exp(rand(steps, 1))
        gradients[:, 6] = 0
        start = rand(7)
        for name, make, formula, options in RULES:
            with self.subTest(name), gt.device("CPU:0"):
                w, optimizer = gt.Variable(start, name="rule"), make()
                expected, slots, worst = start.copy(), {}, 0.0
                rate = 1.0 if name == "adadelta" else 0.01
                for t, g in enumerate(gradients, 1):
                    optimizer.apply(w, gt.array(g))
                    expected = formula(expected, g, t, slots, rate, **options)
                    if t in (1, 2, 10, 100, steps):
                        worst = np.maximum(worst, np.abs(w.numpy() - expected).max() / max(np.abs(expected).max(), 1e-300))
                self.assertLess(worst, 1e-12)

    def test_only_what_is_needed_is_kept(self):
        w = gt.Variable(rand(3), name="lean")
        for make, count in ((lambda: optim.SGD(0.1), 0), (lambda: optim.SGD(0.1, 0.9), 1), (lambda: optim.Adam(), 2),
                            (lambda: optim.Adam(amsgrad=True), 3), (lambda: optim.RMSprop(), 1), (lambda: optim.Nadam(), 3)):
            optimizer = make()
            optimizer.apply(w, gt.array(rand(3)))
            kept = [name for name in gt.variables() if name.startswith(f"{w.name}/{optimizer.name}/")]
            self.assertEqual(len(kept), count, kept)

    def test_norms_of_nothing(self):
        """Where a norm is 0 the rate is what it is."""
        for make, g, expected in ((lambda: optim.Lamb(0.5), 4.0, -0.5), (lambda: optim.Lars(0.5), 4.0, -2.0), (lambda: optim.Lars(0.5), 0.0, 0.0)):
            w = gt.Variable(np.zeros(3))
            make().apply(w, gt.array(np.full(3, g)))
            np.testing.assert_allclose(w.numpy(), expected, rtol=1e-6)

    def test_narrow_weights(self):
        for dtype in ("float16", "bfloat16", "float32"):
            start = rand(5, dtype=np.float32)
            w = gt.Variable(gt.array(start, dtype=dtype), name="narrow")
            first = w.read()._shown().astype(np.float64)
            adam_ = optim.Adam(0.125)
            adam_.apply(w, gt.array(np.ones(5, np.float32), dtype=dtype))
            self.assertEqual(w.dtype, dtype)
            np.testing.assert_allclose(w.read()._shown().astype(np.float64), first - 0.125, rtol=1e-2 if dtype != "float32" else 1e-6)
            self.assertEqual(gt.variables()[f"{w.name}/{adam_.name}/m"].dtype, "float32")

    def test_schedules(self):
        at = lambda schedule, *steps: [float(gt.function(lambda t: schedule(t))(np.float64(step))) for step in steps]
        np.testing.assert_allclose(at(optim.piecewise([2, 5], [1.0, 0.5, 0.1]), 0, 2, 3, 5, 6), [1, 1, 0.5, 0.5, 0.1])
        np.testing.assert_allclose(at(optim.polynomial(1.0, 10, 0.2, 2.0), 0, 5, 10, 20), [1, 0.4, 0.2, 0.2])
        np.testing.assert_allclose(at(optim.exponential(1.0, 10, 0.5), 0, 5, 20), [1, 0.5 ** 0.5, 0.25])
        np.testing.assert_allclose(at(optim.exponential(1.0, 10, 0.5, True), 9, 10, 25), [1, 0.5, 0.25])
        np.testing.assert_allclose(at(optim.cosine(1.0, 10), 0, 5, 10, 11), [1, 0.5, 0, 0], atol=1e-15)
        np.testing.assert_allclose(at(optim.warm_up(4, optim.constant(2.0)), 0, 1, 4, 9), [0, 0.5, 2, 2])
        np.testing.assert_allclose(at(optim.one_cycle(1.0, 100), 0, 30, 100), [0.04, 1, 4e-6], atol=1e-12)
        w, sgd_ = gt.Variable(np.float64(0)), optim.SGD(optim.exponential(1.0, 1, 0.5))
        for _ in range(3):
            sgd_.apply(w, gt.array(np.float64(1)))
        self.assertAlmostEqual(float(w), -1.75, 12)

    def test_moving_averages(self):
        layer, start = nn.Dense(2), np.ones((3, 4), np.float32)
        layer(start)
        average, first = optim.MovingAverage(layer, 0.9), layer.weight.numpy()
        layer.weight.assign(first + 1)
        average.update()
        np.testing.assert_allclose(average.variables()[0].numpy() - first, 0.1, rtol=1e-5)
        step = gt.function(lambda x: (layer.weight.assign_add(x), average.update())[0])
        step(gt.ones(4, 2))
        np.testing.assert_allclose(average.variables()[0].numpy() - first, 0.9 * 0.1 + 0.1 * 2, rtol=1e-5)
        average.swap()
        np.testing.assert_allclose(layer.weight.numpy() - first, 0.29, rtol=1e-5)
        average.swap()
        np.testing.assert_allclose(layer.weight.numpy() - first, 2, rtol=1e-5)

    def test_clipping(self):
        g, h = np.array([3.0, -4.0]), np.array([12.0])
        for options, a, b in (({"clip_value": 2.0}, [2, -2], [2]), ({"clip_norm": 1.0}, [0.6, -0.8], [1]), ({"clip_norm": 100.0}, g, h),
                              ({"clip_global_norm": 6.5}, g / 2, h / 2)):
            v, w = gt.Variable(np.zeros(2)), gt.Variable(np.zeros(1))
            optim.SGD(1.0, **options).apply([v, w], [gt.array(g), gt.array(h)])
            np.testing.assert_allclose(-v.numpy(), a, rtol=1e-6)
            np.testing.assert_allclose(-w.numpy(), b, rtol=1e-6)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
@unittest.skipIf(torch is None, "PyTorch is not installed")
class AgainstPyTorch(unittest.TestCase):
    """Values and gradients in f64."""

    def check(self, ours, theirs, *arrays, rtol=1e-10):
        tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
        expected = theirs(*tensors)
        expected.backward()
        value, slopes = gt.value_and_grad(ours, wrt=tuple(range(len(arrays))))(*arrays)
        np.testing.assert_allclose(value.numpy(), expected.detach().numpy(), rtol=rtol)
        for slope, tensor in zip(slopes, tensors):
            np.testing.assert_allclose(slope.numpy(), tensor.grad.numpy(), rtol=rtol, atol=rtol * float(tensor.grad.abs().max()))

    def test_losses(self):
        F = torch.nn.functional
        x, y, ids = rand(17, 5), rand(17, 5), RANDOM.integers(0, 5, 17)
        p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
        q = np.exp(y) / np.exp(y).sum(1, keepdims=True)
        bits, t = (y > 0).astype(np.float64), torch.tensor
        self.check(lambda x: losses.mse(y, x), lambda x: F.mse_loss(x, t(y)), x)
        self.check(lambda x: losses.mae(y, x), lambda x: F.l1_loss(x, t(y)), x)
        self.check(lambda x: losses.huber(y, x, 0.7), lambda x: F.huber_loss(x, t(y), delta=0.7), x)
        self.check(lambda x: losses.log_cosh(y, x), lambda x: torch.log(torch.cosh(x - t(y))).mean(), x)
        self.check(lambda x: losses.bce(bits, x, from_logits=True), lambda x: F.binary_cross_entropy_with_logits(x, t(bits)), x)
        self.check(lambda p: losses.bce(bits, p), lambda p: F.binary_cross_entropy(p, t(bits)), p)
        self.check(lambda x: losses.scce(ids, x, from_logits=True), lambda x: F.cross_entropy(x, t(ids)), x)
        self.check(lambda x: losses.scce(ids, x, from_logits=True, smoothing=0.1), lambda x: F.cross_entropy(x, t(ids), label_smoothing=0.1), x)
        self.check(lambda x: losses.scce(ids, x, from_logits=True, ignored=2), lambda x: F.cross_entropy(x, t(ids), ignore_index=2), x)
        self.check(lambda p: losses.scce(ids, p), lambda p: F.nll_loss(torch.log(p), t(ids)), p)
        self.check(lambda x: losses.cce(q, x, from_logits=True), lambda x: F.cross_entropy(x, t(q)), x)
        self.check(lambda x: losses.nll(ids, x), lambda x: F.nll_loss(x, t(ids)), x)
        self.check(lambda p: losses.kl(q, p), lambda p: F.kl_div(torch.log(p), t(q), reduction="batchmean"), p)
        self.check(lambda x: losses.hinge(np.sign(y), x), lambda x: F.relu(1 - t(np.sign(y)) * x).mean(), x)
        self.check(lambda x: losses.cosine(y, x), lambda x: -F.cosine_similarity(x, t(y)).mean(), x)

    def test_losses_by_weight(self):
        F, t = torch.nn.functional, torch.tensor
        x, ids, of_class = rand(17, 5), RANDOM.integers(0, 5, 17), RANDOM.random(5)
        own = {"weights": of_class[ids], "by_weight": True}
        self.check(lambda x: losses.scce(ids, x, from_logits=True, **own), lambda x: F.cross_entropy(x, t(ids), t(of_class)), x)
        self.check(lambda x: losses.scce(ids, x, from_logits=True, ignored=1, **own),
                   lambda x: F.cross_entropy(x, t(ids), t(of_class), ignore_index=1), x)
        self.check(lambda x: losses.nll(ids, x, **own), lambda x: F.nll_loss(x, t(ids), t(of_class)), x)
        self.assertEqual(float(losses.mse(x, x + 1, weights=np.zeros(17), by_weight=True)), 0)
        a, b, c = rand(9, 4), rand(9, 4), rand(9, 4)
        self.check(lambda a, b, c: losses.triplet(a, b, c, 0.5), lambda a, b, c: F.triplet_margin_loss(a, b, c, 0.5), a, b, c)

    def test_losses_of_narrow_outputs(self):
        """In f16 1 - 1e-7 is 1, whose complement has no logarithm, and what many rows give has not enough digits."""
        right, wrong = gt.array(np.array([[1.0, 0]]), dtype="float16"), gt.array(np.array([[0.0, 1]]), dtype="float16")
        self.assertAlmostEqual(float(losses.bce(np.array([[1.0, 0]]), right)), 0, 5)
        self.assertAlmostEqual(float(losses.bce(np.array([[1.0, 0]]), wrong)), 16.1, 0)
        for dtype in ("float16", "bfloat16"):
            ones = gt.array(np.ones((70000, 1), np.float32), dtype=dtype)
            value, slope = gt.value_and_grad(lambda p: losses.mse(np.zeros((70000, 1)), p) * 70000.0)(ones)
            self.assertEqual((value.dtype, slope.dtype, float(value)), ("float32", dtype, 70000))
            self.assertEqual(set(slope.astype("float32").numpy().ravel()), {2})

    def test_kerass_names(self):
        self.assertIs(losses.named("sparse_categorical_crossentropy"), losses.scce)
        self.assertIs(losses.mean_squared_error, losses.mse)

    def test_extremes_of_logits(self):
        x = np.array([[1000.0, -1000.0], [-1000.0, 1000.0]])
        self.assertEqual(float(losses.scce(np.array([0, 1]), x, from_logits=True)), 0)
        self.assertEqual(float(losses.scce(np.array([1, 0]), x, from_logits=True)), 2000)
        self.assertEqual(float(losses.bce(np.array([[1.0, 0], [0, 1]]), x, from_logits=True)), 0)

    def layer(self, layer, theirs, x, rename=lambda name, w: w, training=False, rtol=1e-10):
        """A layer and PyTorch's with the same parameters: outputs, and gradients of a weighted sum of them."""
        with nn.training(training):
            layer(x)
            for name, parameter in theirs.named_parameters():
                own = getattr(layer, {"weight": "scale" if hasattr(layer, "scale") else "weight"}.get(name, name))
                own.assign(rename(name, parameter.detach().numpy()))
            for name in ("mean", "variance"):
                if hasattr(layer, name):
                    getattr(layer, name).assign(0 if name == "mean" else 1)
            theirs.train(training)
            first = lambda a: np.moveaxis(a, -1, 1) if a.ndim > 2 else a
            tensor = torch.tensor(first(x).copy(), requires_grad=True)
            expected = theirs(tensor)
            weights = rand(*expected.shape)
            (expected * torch.tensor(weights)).sum().backward()
            last = lambda a: np.moveaxis(a, 1, -1) if a.ndim > 2 else a

            def f(x):
                y = layer(x)
                return gt.sum(y * last(weights)), y
            (_, y), (dx, own) = gt.value_and_grad(f, wrt=(0, layer), has_aux=True)(x)
        close = lambda a, b: np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max())
        close(y.numpy(), last(expected.detach().numpy()))
        close(dx.numpy(), last(tensor.grad.numpy()))
        for name, parameter in theirs.named_parameters():
            key = {"weight": "scale" if hasattr(layer, "scale") else "weight"}.get(name, name)
            close(own[key].numpy(), rename(name, parameter.grad.numpy()))

    def test_layers(self):
        wide = {"dtype": "float64"}
        turn = lambda name, w: w.T if name == "weight" else w
        self.layer(nn.Dense(4, **wide), torch.nn.Linear(3, 4).double(), rand(5, 3), turn)
        self.layer(nn.Conv1D(6, 3, **wide), torch.nn.Conv1d(4, 6, 3).double(), rand(2, 11, 4))
        self.layer(nn.Conv1D(6, 5, strides=2, padding=2, **wide), torch.nn.Conv1d(4, 6, 5, 2, 2).double(), rand(2, 11, 4))
        self.layer(nn.Conv2D(6, (3, 2), strides=(2, 1), dilations=(1, 2), groups=2, **wide),
                   torch.nn.Conv2d(4, 6, (3, 2), (2, 1), 0, (1, 2), 2).double(), rand(2, 9, 8, 4))

    def test_pools(self):
        x1, x2 = rand(2, 9, 3), rand(2, 9, 8, 3)
        for pool, theirs, x in ((nn.MaxPool(2), torch.nn.MaxPool1d(2), x1), (nn.MaxPool(3, 2), torch.nn.MaxPool2d(3, 2), x2),
                                (nn.AvgPool(2), torch.nn.AvgPool1d(2), x1), (nn.AvgPool((3, 2), 1), torch.nn.AvgPool2d((3, 2), 1), x2)):
            made = gt.value_and_grad(lambda x: gt.sum(gt.sin(pool(x))))(x)
            t = torch.tensor(np.moveaxis(x, -1, 1).copy(), requires_grad=True)
            value = torch.sin(theirs(t)).sum()
            value.backward()
            np.testing.assert_allclose(made[0].numpy(), value.detach().numpy(), rtol=1e-12)
            np.testing.assert_allclose(made[1].numpy(), np.moveaxis(t.grad.numpy(), 1, -1), rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(nn.GlobalMaxPool()(x2).numpy(), x2.max((1, 2)))
        np.testing.assert_allclose(nn.GlobalAvgPool()(x1).numpy(), x1.mean(1), rtol=1e-12)

    def test_norms(self):
        wide = {"dtype": "float64"}
        for training in (True, False):
            self.layer(nn.BatchNorm(unbiased=True, **wide), torch.nn.BatchNorm1d(3).double(), rand(8, 3), training=training)
            self.layer(nn.BatchNorm(unbiased=True, **wide), torch.nn.BatchNorm2d(3).double(), rand(4, 5, 6, 3), training=training)
        x = rand(6, 10)
        layer, theirs = nn.LayerNorm(**wide), torch.nn.LayerNorm(10).double()
        np.testing.assert_allclose(layer(x).numpy(), theirs(torch.tensor(x)).detach().numpy(), rtol=1e-10, atol=1e-12)

    def test_moving_averages(self):
        layer, theirs = nn.BatchNorm(unbiased=True, dtype="float64"), torch.nn.BatchNorm1d(3).double()
        step = gt.function(lambda x: layer(x))
        for _ in range(3):
            x = rand(8, 3) * 2 + 1
            theirs(torch.tensor(x))
            with nn.training():
                step(x)
        np.testing.assert_allclose(layer.mean.numpy(), theirs.running_mean.numpy(), rtol=1e-12)
        np.testing.assert_allclose(layer.variance.numpy(), theirs.running_var.numpy(), rtol=1e-12)

    def test_batch_norm_of_one_row(self):
        layer = nn.BatchNorm(unbiased=True)
        with nn.training():
            y = layer(np.ones((1, 3), np.float32))
        self.assertEqual(y.numpy().tolist(), [[0, 0, 0]])
        np.testing.assert_allclose(layer.variance.numpy(), [0.9] * 3, rtol=1e-6)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Layers(unittest.TestCase):
    def test_same_borders_are_kerass(self):
        for size, window, stride in ((9, 3, 1), (9, 3, 2), (10, 3, 2), (10, 2, 3), (4, 5, 1)):
            y = nn.Conv1D(2, window, strides=stride, padding="same")(np.ones((1, size, 3), np.float32))
            self.assertEqual(y.shape, (1, -(-size // stride), 2))

    def test_images_in_f32_are_those_in_f64(self):
        """Ways back that f32 has forms of its own for: strides, borders, dilations, windows that overlap, ties."""
        cases = (
                ("rows", rand(4, 300, 7), lambda o: nn.Conv1D(64, 5, "relu", **o), lambda o: nn.MaxPool1D(2), lambda o: nn.Conv1D(32, 3, **o)),
                ("strides", rand(3, 131, 24), lambda o: nn.Conv1D(40, 4, "relu", strides=3, **o), lambda o: nn.MaxPool1D(3, 2),
                 lambda o: nn.Conv1D(16, 3, strides=2, padding=1, **o)),
                ("images", rand(2, 27, 30, 16), lambda o: nn.Conv2D(32, 3, "relu", padding=1, **o), lambda o: nn.MaxPool2D(3, 2, padding="same"),
                 lambda o: nn.Conv2D(48, (3, 2), strides=(2, 1), dilations=(1, 2), padding=(2, 1), **o)),
                ("one row", rand(1, 40, 8, 3), lambda o: nn.Conv2D(16, 3, "relu", **o), lambda o: nn.MaxPool2D(2), lambda o: nn.Conv2D(16, 1, **o)))
        with gt.device("CPU:0"):
            for name, x, *layers in cases:
                x[:, :x.shape[1] // 2] = 0.0

                def slopes(dtype):
                    net = nn.Sequential(*(make({"dtype": dtype}) if i != 1 else make({}) for i, make in enumerate(layers)))
                    net(x.astype(dtype))
                    return net, gt.value_and_grad(lambda x: gt.mean(net(x) * net(x)), wrt=(0, net))
                (wide, in_f64), (net, in_f32) = slopes("float64"), slopes("float32")
                for w, v in zip(wide.parameters(), net.parameters()):
                    v.assign(rand(*v.shape, dtype=np.float32))
                    w.assign(v.numpy().astype(np.float64))
                x = x.astype(np.float32)
                (value, (dx, own)), (known, (dx64, exact)) = in_f32(x), in_f64(x.astype(np.float64))
                with self.subTest(name):
                    self.assertAlmostEqual(float(value) / float(known), 1, 5)
                    for slope, right in zip((dx, *own.values()), (dx64, *exact.values())):
                        right = right.numpy()
                        np.testing.assert_allclose(slope.numpy(), right, rtol=0, atol=2e-5 * np.abs(right).max())

    def test_embedding_gradient_of_a_row_hit_often(self):
        layer, ids = nn.Embedding(3, 4), np.array([1] * 10000 + [2], np.int32)
        _, slopes = gt.value_and_grad(lambda ids: gt.sum(layer(ids)), wrt=layer)(ids)
        self.assertEqual(slopes["weight"].numpy().tolist(), [[0] * 4, [10000] * 4, [1] * 4])

    def test_dropout(self):
        layer, x = nn.Dropout(0.25), np.ones((100, 100), np.float32)
        np.testing.assert_array_equal(layer(x).numpy(), x)

        @gt.function
        def learn(x):
            with nn.training():
                return gt.value_and_grad(lambda x: (gt.sum(layer(x)), layer(x)), has_aux=True)(x)
        (_, y), slope = learn(x)
        self.assertAlmostEqual(float((y.numpy() == 0).mean()), 0.25, 1)
        self.assertEqual(set(np.unique(slope.numpy())), {np.float32(0), np.float32(1 / 0.75)})
        self.assertFalse((learn(x)[1].numpy() == slope.numpy()).all())

    def test_dropout_goes_by_the_path(self):
        """A mask depends on the seed, the step and the layer's path: not on names, on other layers, or on what else is drawn."""
        x = np.ones((8, 16), np.float32)

        def mask(*layers, drawn=0):
            net = nn.Sequential(*layers)

            def f(x):
                gt.random.seed(5)
                for _ in range(drawn):
                    x = x + 0 * gt.random.uniform(x.shape)
                with nn.training():
                    return net(x)
            return gt.function(f)(x).numpy()
        same, other = nn.Activation("linear"), nn.Dropout(0.5)
        known = mask(same, nn.Dropout(0.5))
        np.testing.assert_array_equal(mask(same, nn.Dropout(0.5, name="another")), known)
        np.testing.assert_array_equal(mask(same, nn.Dropout(0.5), drawn=2), known)
        both = mask(nn.Dropout(0.5), nn.Dropout(0.5))
        np.testing.assert_array_equal(both > 0, (known > 0) & (mask(nn.Dropout(0.5)) > 0))
        self.assertTrue((mask(nn.Dropout(0.5)) != known).any())
        self.assertLess((mask(other, other) > 0).mean(), 0.4)  # a layer that is used twice draws twice

    def test_shapes_come_with_the_first_use(self):
        net = nn.Sequential(nn.Conv2D(4, 3, "relu"), nn.MaxPool(2), nn.Flatten(), nn.Dropout(0.5), nn.Dense(3))
        self.assertTrue(net.is_open)
        self.assertEqual(net(np.zeros((2, 8, 8, 1), np.float32)).shape, (2, 3))
        self.assertEqual([w.shape for w in net.parameters()], [(4, 1, 3, 3), (4,), (36, 3), (3,)])
        self.assertEqual([name for name, _ in net.named_parameters()], ["layers.0.weight", "layers.0.bias", "layers.4.weight", "layers.4.bias"])
        with contextlib.redirect_stdout(io.StringIO()) as out:
            net.summary()
        self.assertIn("(Conv2D)", out.getvalue())
        self.assertIn("[2, 6, 6, 4]", out.getvalue())
        self.assertIn("151 parameters, 0 of them not trainable, 604 bytes", out.getvalue())

    def test_seeds_decide_what_parameters_are(self):
        def first():
            gt.random.seed(3)
            layer = nn.Dense(4)
            layer(np.zeros((1, 5), np.float32))
            return layer.weight.numpy()
        a = first()
        np.testing.assert_array_equal(a, first())
        self.assertLess(np.abs(a).max(), (6 / 9) ** 0.5)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Metrics(unittest.TestCase):
    def test_against_numpy(self):
        outputs, labels = rand(50, 7, dtype=np.float32), RANDOM.integers(0, 7, 50).astype(np.int32)
        ranks = (outputs > outputs[np.arange(50), labels][:, None]).sum(1)
        accuracy, top, confusion = metrics.Accuracy(), metrics.TopK(3), metrics.ConfusionMatrix(7)
        for rows in (slice(0, 20), slice(20, 50)):
            for each in (accuracy, top, confusion):
                each.update(labels[rows], outputs[rows])
        self.assertAlmostEqual(float(accuracy.result()), (ranks == 0).mean(), 6)
        self.assertAlmostEqual(float(top.result()), (ranks < 3).mean(), 6)
        counts = np.zeros((7, 7))
        np.add.at(counts, (labels, outputs.argmax(1)), 1)
        np.testing.assert_array_equal(confusion.result().numpy(), counts)
        accuracy.reset()
        self.assertEqual(float(accuracy.result()), 0)

    def test_binary(self):
        p, y = RANDOM.random(40).astype(np.float32), RANDOM.integers(0, 2, 40).astype(np.int32)
        said, hits = p > 0.5, ((p > 0.5) & (y == 1)).sum()
        for metric, value in ((metrics.Precision(), hits / said.sum()), (metrics.Recall(), hits / y.sum()),
                              (metrics.F1(), 2 * hits / (said.sum() + y.sum())), (metrics.Accuracy(), (said == y).mean())):
            metric.update(y, p)
            self.assertAlmostEqual(float(metric.result()), value, 6)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
@unittest.skipIf(sklearn is None, "scikit-learn is not installed")
class AgainstScikitLearn(unittest.TestCase):
    def test_metrics(self):
        scores, labels = rand(60, 7, dtype=np.float32), RANDOM.integers(0, 7, 60).astype(np.int32)
        p, bits = RANDOM.random(60).astype(np.float32), RANDOM.integers(0, 2, 60).astype(np.int32)
        known, said = sklearn.metrics, (p > 0.4).astype(int)
        for metric, own, theirs in (
                (metrics.Accuracy(), (labels, scores), known.accuracy_score(labels, scores.argmax(1))),
                (metrics.TopK(3), (labels, scores), known.top_k_accuracy_score(labels, scores, k=3, labels=range(7))),
                (metrics.ConfusionMatrix(7), (labels, scores), known.confusion_matrix(labels, scores.argmax(1), labels=range(7))),
                (metrics.Precision(0.4), (bits, p), known.precision_score(bits, said)),
                (metrics.Recall(0.4), (bits, p), known.recall_score(bits, said)),
                (metrics.F1(0.4), (bits, p), known.f1_score(bits, said)),
                (metrics.MeanAbsolute(), (scores[:, 1], scores[:, 0]), known.mean_absolute_error(scores[:, 1], scores[:, 0]))):
            with self.subTest(metric.name):
                for rows in (slice(0, 25), slice(25, 60)):
                    metric.update(own[0][rows], own[1][rows])
                np.testing.assert_allclose(metric.result().numpy(), theirs, rtol=1e-6)

    def test_areas(self):
        bits = RANDOM.integers(0, 2, 300).astype(np.int32)
        p = (0.3 * bits + 0.7 * RANDOM.random(300)).astype(np.float32)
        steps = ((np.floor(p * 200) + 0.5) / 200).astype(np.float32)  # what has one value in a step
        for metric, outputs, within in ((metrics.AUC(), steps, 1e-6), (metrics.AUC(), p, 2e-3), (metrics.AUC(from_logits=True), np.log(steps / (1 - steps)), 1e-6),
                                        (metrics.AUC(bins=10 ** 4), p, 1e-4)):
            metric.update(bits[:100], outputs[:100])
            metric.update(bits[100:], outputs[100:])
            self.assertLess(abs(float(metric.result()) - sklearn.metrics.roc_auc_score(bits, outputs)), within)
        for labels in (np.ones(3, np.int32), np.zeros(3, np.int32)):
            alone = metrics.AUC()
            alone.update(labels, p[:3])
            self.assertEqual(float(alone.result()), 0)
        binary = metrics.Binary(0.4)
        binary.update(bits, p)
        self.assertAlmostEqual(float(binary.result()), sklearn.metrics.accuracy_score(bits, p > 0.4), 6)

    def test_perplexity(self):
        scores, labels = rand(40, 7, dtype=np.float32), RANDOM.integers(0, 7, 40).astype(np.int32)
        p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        known = lambda rows: np.exp(sklearn.metrics.log_loss(labels[rows], p[rows], labels=range(7)))
        for metric, outputs, rows in ((metrics.Perplexity(), p, slice(None)), (metrics.Perplexity(from_logits=True), scores, slice(None)),
                                      (metrics.Perplexity(from_logits=True, ignored=2), scores, labels != 2)):
            metric.update(labels[:15], outputs[:15])
            metric.update(labels[15:], outputs[15:])
            np.testing.assert_allclose(float(metric.result()), known(rows), rtol=1e-5)

    def test_nobody_is_there(self):
        """What scikit-learn warns of is 0 there, too."""
        none = np.zeros(4, np.int32)
        for metric, theirs in ((metrics.Precision(), sklearn.metrics.precision_score), (metrics.Recall(), sklearn.metrics.recall_score),
                               (metrics.F1(), sklearn.metrics.f1_score)):
            metric.update(none, none.astype(np.float32))
            self.assertEqual(float(metric.result()), theirs(none, none, zero_division=0))

    def test_losses(self):
        x, y, ids = rand(17, 5), rand(17, 5), RANDOM.integers(0, 5, 17)
        p, weights = np.exp(x) / np.exp(x).sum(1, keepdims=True), RANDOM.random(17)
        bits, q, known = RANDOM.integers(0, 2, 17).astype(np.float64), RANDOM.random(17), sklearn.metrics
        signs = np.where(bits > 0, 1.0, -1.0)
        for name, own, theirs in (
                ("mse", losses.mse(y, x), known.mean_squared_error(y, x)),
                ("mae", losses.mae(y, x), known.mean_absolute_error(y, x)),
                ("scce", losses.scce(ids, p), known.log_loss(ids, p, labels=range(5))),
                ("scce of logits", losses.scce(ids, x, from_logits=True), known.log_loss(ids, p, labels=range(5))),
                ("cce", losses.cce(np.eye(5)[ids], p), known.log_loss(ids, p, labels=range(5))),
                ("nll", losses.nll(ids, np.log(p)), known.log_loss(ids, p, labels=range(5))),
                ("bce", losses.bce(bits, q), known.log_loss(bits, q)),
                ("hinge", losses.hinge(signs, x[:, 0]), known.hinge_loss(signs, x[:, 0])),
                ("weights", losses.mae(y[:, 0], x[:, 0], weights / weights.sum() * 17), known.mean_absolute_error(y[:, 0], x[:, 0],
                                                                                                           sample_weight=weights))):
            with self.subTest(name):
                np.testing.assert_allclose(float(own), theirs, rtol=1e-12)

    def test_layers(self):
        """A perceptron that scikit-learn has trained, and its scaling of columns as a batch norm."""
        x, y = rand(80, 4), RANDOM.integers(0, 3, 80)
        theirs = sklearn.neural_network.MLPClassifier((6, 5), activation="tanh", max_iter=20, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs.fit(x, y)
        net = nn.Sequential(nn.Dense(6, "tanh", dtype="float64"), nn.Dense(5, "tanh", dtype="float64"), nn.Dense(3, "softmax", dtype="float64"))
        net(x)
        for layer, matrix, bias in zip((net[0], net[1], net[2]), theirs.coefs_, theirs.intercepts_):
            layer.weight.assign(matrix)
            layer.bias.assign(bias)
        np.testing.assert_allclose(net(x).numpy(), theirs.predict_proba(x), rtol=1e-10)
        norm = nn.BatchNorm(epsilon=0.0, dtype="float64")
        with nn.training():
            np.testing.assert_allclose(norm(x).numpy(), sklearn.preprocessing.scale(x), rtol=1e-9, atol=1e-12)

    def test_a_fit_finds_what_the_solver_finds(self):
        """Ridge regression: where steps end is what scikit-learn computes at once."""
        x = rand(40, 3)
        y = x @ [1.0, -2.0, 0.5] + 0.3 + 0.1 * rand(40)
        known = sklearn.linear_model.Ridge(alpha=4.0).fit(x, y)
        layer = nn.Dense(1, dtype="float64")
        layer(x)
        sgd_ = optim.SGD(0.1)
        step = gt.value_and_grad(lambda x, y: losses.mse(y, layer(x)) + 0.1 * gt.sum(layer.weight * layer.weight), wrt=layer)
        learn = gt.function(lambda x, y: sgd_.apply(layer, step(x, y)[1]))
        for _ in range(400):
            learn(x, y[:, None])
        np.testing.assert_allclose(layer.weight.numpy()[:, 0], known.coef_, rtol=1e-9)
        np.testing.assert_allclose(layer.bias.numpy()[0], known.intercept_, rtol=1e-9)


def problem(rows=200):
    """Points of three classes that a small network can tell apart."""
    y = RANDOM.integers(0, 3, rows).astype(np.int32)
    return (rand(rows, 4) * 0.3 + np.eye(3, 4)[y] * 2).astype(np.float32), y


def small(softmax=False):
    return nn.Sequential(nn.Dense(16, "relu"), nn.Dense(3, "softmax" if softmax else None))


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Fit(unittest.TestCase):
    def test_it_learns(self):
        x, y = problem()
        trainer = gt.Trainer(small(True), loss="scce", optimizer=optim.Adam(0.05), metrics=["accuracy"])
        with contextlib.redirect_stdout(io.StringIO()) as out:
            history = trainer.fit(x, y, validation=(x, y), epochs=4)
        self.assertGreater(history["val_accuracy"][-1], 0.97)
        self.assertLess(history["loss"][-1], history["loss"][0])
        self.assertEqual(len(history["loss"]), 4)
        self.assertRegex(out.getvalue(), r"Epoch 1/4\n7/7 \[=+\] - \d+s \d+[mu]?s/step - loss: [\d.]+ - accuracy: [\d.]+ - val_loss: ")
        logs = trainer.evaluate(x, y, batch=64)
        self.assertAlmostEqual(logs["loss"], history["val_loss"][-1], 5)
        self.assertEqual(trainer.predict(x, batch=33).argmax(1).tolist(), trainer.net(x).numpy().argmax(1).tolist())

    def test_the_same_seed_gives_the_same_bytes(self):
        x, y = problem()

        def bytes_of(seed):
            gt.random.seed(1)
            net = nn.Sequential(nn.Dense(8, "relu"), nn.Dropout(0.5), nn.Dense(3))
            trainer = gt.Trainer(net, lambda y, p: losses.scce(y, p, from_logits=True), "nadam", seed=seed)
            trainer.fit(x, y, epochs=2, progress=False)
            return [w.numpy().tobytes() for w in net.parameters()]
        self.assertEqual(bytes_of(5), bytes_of(5))
        self.assertNotEqual(bytes_of(5), bytes_of(6))

    def test_several_steps_a_run(self):
        """A loop on the device: the bytes of one step after the other, with dropout, moving averages and a last batch of fewer rows."""
        x, y = problem(4 * 11 + 3)

        def fitted(steps):
            gt.random.seed(1)
            net = nn.Sequential(nn.Dense(8, "relu"), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(3))
            trainer = gt.Trainer(net, lambda y, p: losses.scce(y, p, from_logits=True), "nadam", metrics=["accuracy"])
            with contextlib.redirect_stdout(io.StringIO()) as out:
                history = trainer.fit(x, y, epochs=2, batch=4, steps_per_run=steps)
            self.assertIn("12/12 [", out.getvalue())
            return [w.numpy().tobytes() for w in net.variables()], history.history, int(trainer.optimizer.step)
        one = fitted(1)
        self.assertEqual(one[2], 24)
        for steps in (4, 11, 100):
            self.assertEqual(fitted(steps), one)
        with self.assertRaisesRegex(gt.GantryError, "a run has at least one step, got 0"):
            gt.Trainer(small(True)).fit(x, y, steps_per_run=0)

    def test_nothing_is_copied_to_the_host(self):
        net = small(True)
        trainer = gt.Trainer(net.to("GPU:0"), metrics=["accuracy"], max_copy={"d2h": 0})
        x, y = problem(64)
        trainer.fit(x, y, epochs=1, progress=False)
        self.assertEqual(net[0].weight.device, gt.gpu(0))

    def test_rows_and_batches(self):
        x, y = problem(33)
        trainer = gt.Trainer(small(True))
        trainer.fit(x, y, batch=32, progress=False)          # a last batch of one row
        trainer.fit(x[:5], y[:5], batch=32, progress=False)  # fewer than a batch
        self.assertEqual(int(trainer.optimizer.step), 3)

    def test_a_last_batch_of_one_row(self):
        """Steps are those of each batch by itself, with layers that look at the whole batch and windows among them."""
        x, y = rand(9, 6, 2, dtype=np.float32), RANDOM.integers(0, 3, 9).astype(np.int32)

        def made():
            gt.random.seed(2)
            net = nn.Sequential(nn.Conv1D(4, 3, "relu"), nn.BatchNorm(), nn.MaxPool1D(2), nn.Flatten(), nn.Dense(3))
            net(x[:1])
            return net
        scce = lambda y, p: losses.scce(y, p, from_logits=True)
        net, other = made(), made()
        gt.Trainer(net, scce, optim.SGD(0.1)).fit(x, y, batch=4, shuffle=False, progress=False)
        by_hand = gt.Trainer(other, scce, optim.SGD(0.1))
        for rows in (slice(0, 4), slice(4, 8), slice(8, 9)):
            by_hand.fit(x[rows], y[rows], batch=4, shuffle=False, progress=False)
        for w, known in zip(net.variables(), other.variables()):
            self.assertTrue(np.isfinite(w.numpy()).all())
            np.testing.assert_array_equal(w.numpy(), known.numpy())
        self.assertEqual(gt.Trainer(net, scce).predict(x, batch=4).shape, (9, 3))

    def test_the_epochs_loss_is_the_mean_of_rows(self):
        x, y = problem(10)
        trainer = gt.Trainer(small(True), optimizer=optim.SGD(0.0))
        trainer.fit(x, y, batch=4, progress=False)
        self.assertAlmostEqual(trainer.history["loss"][0], float(losses.scce(y, trainer.net(x))), 5)

    def test_narrow_networks(self):
        """Rows of f32 train a network of f16 or bf16 as they are; the loss is f32, and what is predicted NumPy knows."""
        x = rand(256, 8, dtype=np.float32)
        y = (x[:, 0] > 0).astype(np.int32)
        for dtype, given in (("float16", "float16"), ("bfloat16", "float32")):
            net = nn.Sequential(nn.Dense(64, "relu", dtype=dtype), nn.Dense(2, "softmax", dtype=dtype))
            trainer = gt.Trainer(net, optimizer=optim.Adam(0.01), metrics=["accuracy"])
            history = trainer.fit(x, y, epochs=8, progress=False)
            self.assertGreater(history["accuracy"][-1], 0.97)
            self.assertLess(history["loss"][-1], 0.1)
            self.assertEqual(trainer.predict(x[:3]).dtype, np.dtype(given))
            self.assertEqual(net[0].weight.dtype, dtype)

    def test_tied_embeddings(self):
        """A table that is read at ids and multiplied by, with a padding row, learns what follows what."""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.table, self.middle = nn.Embedding(6, 16, initial="normal"), nn.Dense(16)

            def forward(self, ids):
                return gt.matmul(self.middle(self.table(ids)), gt.transpose(self.table.weight, (1, 0)))
        ids = np.arange(60, dtype=np.int32) % 6
        gt.random.seed(0)
        net = Net()
        trainer = gt.Trainer(net, lambda y, p: losses.scce(y, p, from_logits=True), optim.Adam(0.02), metrics=["accuracy"])
        history = trainer.fit(ids, (ids * 5 + 1) % 6, epochs=30, progress=False)
        self.assertEqual(history["accuracy"][-1], 1)
        self.assertEqual([name for name, _ in net.named_parameters()], ["table.weight", "middle.weight", "middle.bias"])

    def test_two_losses(self):
        """Two gradients of one network in one step, an update between them, and what is read behind it."""
        x, y = rand(4, 5), rand(4, 3)
        layer = nn.Dense(3, dtype="float64")
        layer(x)
        w, b = layer.weight.numpy(), layer.bias.numpy()
        first, second = optim.SGD(0.1), optim.SGD(0.01)

        @gt.function
        def step(x, y):
            one, slopes = gt.value_and_grad(lambda x: losses.mse(y, layer(x)), wrt=layer)(x)
            two, others = gt.value_and_grad(lambda x: losses.mae(y, layer(x)), wrt=layer)(x)
            first.apply(layer, slopes)
            between = losses.mse(y, layer(x))
            second.apply(layer, others)
            return one, two, between
        made = [float(each) for each in step(x, y)]
        error = x @ w + b - y
        d, s = 2 * error / 12, np.sign(error) / 12
        w1, b1 = w - 0.1 * x.T @ d, b - 0.1 * d.sum(0)
        np.testing.assert_allclose(made, [(error ** 2).mean(), np.abs(error).mean(), ((x @ w1 + b1 - y) ** 2).mean()], rtol=1e-12)
        np.testing.assert_allclose(layer.weight.numpy(), w1 - 0.01 * x.T @ s, rtol=1e-12)
        np.testing.assert_allclose(layer.bias.numpy(), b1 - 0.01 * s.sum(0), rtol=1e-12)

    def test_limits_that_are_exact(self):
        """Below constants and variables, and below what they and clipping's gradients take: refused before the first step with the
        least that would do, which does, and a byte less does not."""
        x, y = rand(32, 64, dtype=np.float32), np.zeros(32, np.int32)
        least = {}
        for name, clip in (("plain", {}), ("clipped", {"clip_global_norm": 1.0})):
            def fit(limit, clip=clip):
                with gt.device("CPU:0"):
                    net = nn.Sequential(nn.Dense(256, "relu"), nn.Dense(256, "relu"), nn.Dense(10, "softmax")).to("CPU:0")
                    trainer = gt.Trainer(net, optimizer=optim.Adam(1e-3, **clip), limit={"CPU:0": limit})
                    trainer.fit(x, y, progress=False)
            with self.assertRaises(gt.OutOfMemoryError) as caught:
                fit("100KiB")
            self.assertRegex(str(caught.exception), r"the limit is 100 KiB: constants [\d.]+ (?:KiB|bytes), variables 99\d\.\d+ KiB")
            least[name] = int(re.search(r"at least (\d+) bytes", str(caught.exception))[1])
            fit(str(least[name]))
            with self.assertRaises(gt.OutOfMemoryError):
                fit(str(least[name] - 1))
        self.assertGreater(least["clipped"], least["plain"])  # all gradients wait for their norm

    def test_two_trainers_over_one_network(self):
        x, y = problem()
        net = small(True)
        a, b = gt.Trainer(net, optimizer="adam"), gt.Trainer(net, optimizer="adam")
        a.fit(x, y, progress=False)
        before = net[0].weight.numpy()
        b.fit(x, y, progress=False)
        self.assertTrue((net[0].weight.numpy() != before).any())
        self.assertEqual((int(a.optimizer.step), int(b.optimizer.step)), (7, 7))

    def test_two_trainers_take_turns(self):
        """Each with moments of its own: as two optimizers by hand do."""
        x, y = problem(8)
        gt.random.seed(4)
        net = small(True)
        net(x)
        start = {name: w.numpy() for name, w in net.named_parameters()}
        a, b = gt.Trainer(net, optimizer=optim.Adam(0.01)), gt.Trainer(net, optimizer=optim.SGD(0.1, 0.9))
        for _ in range(3):
            a.fit(x, y, progress=False, shuffle=False)
            b.fit(x, y, progress=False, shuffle=False)
        fitted = [w.numpy() for w in net.parameters()]
        for name, w in net.named_parameters():
            w.assign(start[name])
        step = gt.value_and_grad(lambda x, y: losses.scce(y, net(x)), wrt=net)
        adam_, sgd_ = optim.Adam(0.01), optim.SGD(0.1, 0.9)
        for _ in range(3):
            for optimizer in (adam_, sgd_):
                optimizer.apply(net, step(x, y)[1])
        for w, known in zip(net.parameters(), fitted):
            np.testing.assert_allclose(w.numpy(), known, rtol=1e-5, atol=1e-7)

    def test_a_plan_before_anything_runs(self):
        x, y = problem(32)
        trainer = gt.Trainer(small(True))
        plan = trainer.plan(x, y)
        page = str(plan.explain())
        self.assertIn("CPU:0", page)
        for part in ("forward", "backward", "update"):  # with ops, launches, time and bytes
            self.assertRegex(page, rf"\n  {part} +\d+ +\d+ .* % +[\d.]+ (bytes|KiB|MiB)\n")
        self.assertEqual(trainer.lower(x, y).text.count("gantry.optimizer_step"), 4)
        self.assertEqual(int(trainer.optimizer.step), 0)

    def test_two_softmaxes(self):
        x, y = problem(8)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            gt.Trainer(small(True), lambda y, p: losses.scce(y, p, from_logits=True)).fit(x, y, progress=False)
        self.assertIn(f"it stays above {np.log(np.e + 2) - 1:.5g}", said.getvalue())


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class LongRuns(unittest.TestCase):
    PROGRAM = """
        import os, resource, signal, threading
        import numpy as np
        import gantry as gt
        from gantry import nn
        x, y = np.ones((64, 4), np.float32), np.zeros(64, np.int32)
        trainer = gt.Trainer(nn.Sequential(nn.Dense(8, "relu"), nn.Dropout(0.5), nn.Dense(3, "softmax")))
        trainer.fit(x, y, epochs=20, batch=8, progress=False)
    """

    def test_memory_is_flat(self):
        said = run(self.PROGRAM + """
        used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before, names = used(), len(gt.variables())
        trainer.fit(x, y, epochs=100, batch=8, progress=False)
        print(used() - before < 4096, len(gt.variables()) == names, int(trainer.optimizer.step))
        """, devices="")
        self.assertEqual(said, "True True 960\n")

    def test_ctrl_c(self):
        said = run(self.PROGRAM + """
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            trainer.fit(x, y, epochs=10 ** 6, batch=8, progress=False)
        except KeyboardInterrupt:
            steps = int(trainer.optimizer.step)
            trainer.fit(x, y, epochs=1, batch=8, progress=False)
            print("went on", int(trainer.optimizer.step) - steps, np.isfinite(trainer.net[0].weight.numpy()).all())
        """, devices="")
        self.assertEqual(said, "went on 8 True\n")

    def test_ctrl_c_while_an_array_goes(self):
        """Python drops what is raised in a __del__; training ends all the same."""
        said = run(self.PROGRAM + """
        from gantry import _runtime
        waits = [True]
        def may_release(before=_runtime.may_release):
            if waits:
                waits.clear()
                os.kill(os.getpid(), signal.SIGINT)
            return before()
        gt.Array.__del__.__defaults__ = (may_release, *gt.Array.__del__.__defaults__[1:])
        try:
            trainer.fit(x, y, epochs=10 ** 6, batch=8, progress=False)
        except KeyboardInterrupt:
            print("ended", trainer.fit(x, y, epochs=1, batch=8, progress=False) is trainer.history)
        """, devices="")
        self.assertEqual(said, "ended True\n")


W = lambda: gt.Variable(np.ones(3, np.float32), name="wrong")
X = np.ones((4, 3), np.float32)
# Wrong programs, each with all that is said of it; LINE is where the program is, `\d+` and `\w+` stand for numbers and names of the plan.
WRONG = [
    ("integer loss", lambda: gt.grad(lambda x: gt.sum(x.astype("int32")))(X),
     "'<lambda>' gives the loss int32[]; a loss is a scalar of floats: take the mean or the sum"),
    ("loss is no scalar", lambda: gt.grad(lambda x: x * 2)(X),
     "'<lambda>' gives the loss float32[4, 3]; a loss is a scalar of floats: take the mean or the sum"),
    ("several values", lambda: gt.grad(lambda x: (gt.sum(x), x))(X),
     "'<lambda>' gives 2 values; what is differentiated is one loss, and with has_aux=True a loss and something else"),
    ("aux is missing", lambda: gt.grad(lambda x: gt.sum(x), has_aux=True)(X),
     "has_aux: '<lambda>' gives a loss and something else, as a pair; got Value(float32[])"),
    ("integer argument", lambda: gt.grad(lambda n: gt.sum(n.astype("float32")))(np.ones(3, np.int32)),
     "'<lambda>' is differentiated with respect to int32[3]; only floats have gradients"),
    ("no such argument", lambda: gt.grad(lambda x: gt.sum(x), wrt="y")(X),
     "wrt: 'y' is no argument that '<lambda>' was given, no Variable and no Module; its parameters are 'x'"),
    ("unused argument", lambda: gt.grad(lambda x, y: gt.sum(x), wrt=(0, 1))(X, X),
     "LINE: 'gantry.gradient' op differentiates with respect to operand 1 'input1', which the loss does not depend on; leave it out, or have zeros "
     "with allow_unused"),
    ("unused parameter", lambda: (lambda w: gt.grad(lambda x: gt.sum(x), wrt=w)(X))(W()),
     "LINE: 'gantry.gradient' op differentiates with respect to operand 0 'wrong', which the loss does not depend on; leave it out, or have zeros with "
     "allow_unused"),
    ("behind a comparison", lambda: gt.grad(lambda x: gt.sum((x > 0).astype("float32")))(X),
     "LINE: 'gantry.gradient' op differentiates with respect to operand 0 'input0', which the loss depends on by gantry.compare alone, which has no "
     "gradient; leave it out, or have zeros with allow_unused"),
    ("op without a rule", lambda: gt.grad(lambda x: gt.sum(gt.ops.scatter_elements(x, np.zeros((1, 3), np.int32), x[:1] * 2, axis=0, reduction="mul")))(X),
     "LINE: 'gantry.scatter_elements' op with the reduction 'mul' has no gradient; only 'none' and 'add' have one"),
    ("loop without a bound", lambda: gt.grad(lambda x: gt.while_loop(lambda s: s < 100.0, lambda s: s * 2, gt.sum(x)))(X),
     "LINE: 'gantry.while' op has no gradient: nothing bounds how often it goes round; count its rounds from one constant to another, or give it at_most"),
    ("round beyond at_most", lambda: gt.function(lambda x: gt.while_loop(lambda v: gt.sum(v) < 1000.0, lambda v: v * 2, x, at_most=2))(X),
     "'loop' (While, LINE): goes on after the 2 rounds that it has at most; a larger at_most gives it more"),
    ("at_most below the rounds", lambda: gt.grad(lambda x: gt.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2), (0, gt.sum(x)), at_most=3)[1])(X),
     "LINE: 'gantry.while' op goes round 5 times and has at_most = 3"),
    ("at once beyond at_most", lambda: gt.while_loop(lambda v: v < 9.0, lambda v: v * 2, gt.array(1.0), at_most=2),
     "the loop goes on after the 2 rounds that it has at most; a larger at_most gives it more"),
    ("op without a rule in a checkpoint",
     lambda: gt.grad(lambda x: gt.sum(gt.checkpoint(lambda x: gt.ops.scatter_elements(x, np.zeros((1, 3), np.int32), x[:1], axis=0, reduction="max"))(x)))(X),
     "LINE: 'gantry.scatter_elements' op with the reduction 'max' has no gradient; only 'none' and 'add' have one"),
    ("another type than the argument's", lambda: gt.grad(lambda x: gt.sum(gt.custom_gradient(lambda x: (x, lambda d: d[:1]))(x)))(X),
     "custom_gradient: argument 0 of '<lambda>' is float32[4, 3], and its gradient float32[1, 3]"),
    ("no way back", lambda: gt.grad(lambda x: gt.sum(gt.custom_gradient(lambda x: x)(x)))(X),
     "custom_gradient: '<lambda>' gives its value and a function of the value's cotangents, as a pair; got Value(float32[4, 3])"),
    ("a state that does not fit", lambda: nn.LSTM(3, name="cells")(X[None], np.ones((1, 3), np.float32)),
     "cells begins with 2 arrays [1, 3], got [1, 3]"),
    ("a mask of another shape", lambda: nn.GRU(3, name="gated")(X[None], None, np.ones((4, 1), bool)),
     "gated takes a mask of truth values [1, 4], got bool_[4, 1]"),
    ("steps that are none", lambda: nn.SimpleRNN(3, name="elman")(X), "elman takes sequences, [n, t, k], got [4, 3]"),
    ("labels of sequences", lambda: losses.ctc(np.ones((4, 2), int), X), "ctc takes labels [n, s] for outputs [n, t, k] of floats, got [4, 2] for float32[4, 3]"),
    ("shape of a variable", lambda: W().assign(np.ones(4, np.float32)), "variable 'wrong' is float32[3], and is assigned float32[4]"),
    ("type of a variable", lambda: gt.function(lambda x: W().assign(x))(np.ones(3)), "variable 'wrong' is float32[3], and is assigned float64[3]"),
    ("a variable of a trace", lambda: gt.function(lambda x: gt.Variable(x))(X),
     "a variable starts with Value(float32[4, 3]), which is not known while a function is traced; make it with a value that is known, and assign this one"),
    ("labels of floats", lambda: losses.scce(X[:, 0], X),
     "scce takes labels of integers, got float32[4]; cce takes those of the outputs' shape"),
    ("shape of labels", lambda: losses.mse(X[:2], X), "mse takes labels of the outputs' shape [4, 3], got [2, 3]"),
    ("label out of range", lambda: gt.Trainer(small(True)).fit(np.ones((4, 4), np.float32), np.array([0, 1, 2, 3])),
     "the network gives 3 classes, and labels go from 0 to 3"),
    ("id out of range", lambda: gt.Trainer(nn.Sequential(nn.Embedding(3, 2, name="words"), nn.Flatten(), nn.Dense(2))).fit(np.array([[0, 3]]), np.array([0])),
     "words has 3 rows, and ids go from 0 to 3"),
    ("rows and labels", lambda: gt.Trainer(small(True)).fit(X, np.zeros(3, np.int32)), "there are 4 rows and 3 labels"),
    ("layer of another width", lambda: (lambda d: (d(X), d(X[:, :2])))(nn.Dense(2, name="wide")), "wide was made for rows of 3, got [4, 2]"),
    ("window too large", lambda: nn.Conv1D(2, 5, name="far")(np.ones((1, 4, 3), np.float32)), "far has windows of [5], and [1, 4, 3] has none of these"),
    ("optimizer by a wrong name", lambda: gt.Trainer(small(), optimizer="adams"),
     "there is no optimizer 'adams'; there are sgd, adam, adamw, nadam, adamax, rmsprop, adagrad, adadelta, lion, lamb, lars, ftrl"),
    ("number of an optimizer", lambda: optim.Adam(float("nan")), "Adam: rate is a finite number, got nan"),
    ("gradients of another network", lambda: (lambda d: (d(X), optim.SGD().apply(d, {})))(nn.Dense(2, name="own")),
     "gradients of Dense('own') are a dict by the names of its parameters, as value_and_grad(..., wrt=net) gives them"),
    ("no network", lambda: gt.Trainer("net"),
     "a Trainer trains a Module, got 'net'; a class of your own keeps its variables as attributes"),
    ("cotangents of another shape", lambda: gt.vjp(lambda x: x * 2, gt.array(X))[1](gt.ones(3)),
     "'<lambda>' gives float32[4, 3], and its cotangents are float32[3]; they have the same types"),
    ("too few cotangents", lambda: gt.vjp(lambda x: (x * 2, x), gt.array(X))[1](gt.array(X)),
     "'<lambda>' gives float32[4, 3], float32[4, 3], and its cotangents are float32[4, 3]; they have the same types"),
    ("branches that differ", lambda: gt.grad(lambda x: gt.sum(gt.cond(gt.sum(x) > 0, lambda: (x, x), lambda: (x, x[:1]))[0]))(X),
     "on_false gives (float32[4, 3], float32[1, 3]), and on_true (float32[4, 3], float32[4, 3]); these have to be the same"),
    ("a loop that changes a type", lambda: gt.grad(lambda x: gt.while_loop(lambda s: s["n"] < 3, lambda s: {"n": s["n"] + 1, "y": s["y"][:2]},
                                                                           {"n": 0, "y": x}, at_most=3)["y"])(X),
     "the body of a loop gives {'n': int32[], 'y': float32[2, 3]}, and what goes into it is {'n': int32[], 'y': float32[4, 3]}; these have to be the same"),
    ("a branch on rows", lambda: gt.function(lambda x: gt.cond(x > 0, lambda: x, lambda: -x))(X),
     "the condition of a branch is one truth value, got bool_[4, 3]"),
    ("a loss that is nothing", lambda: gt.Trainer(small(True), lambda y, p: None).fit(np.ones((4, 4), np.float32), np.zeros(4, np.int32)),
     "'loss' gives the loss nothing; a loss is a scalar of floats: take the mean or the sum"),
    ("a strategy by name", lambda: gt.Trainer(small(), strategy="mirrored"), "a strategy is a gantry.Mirrored or gantry.Towers, got 'mirrored'"),
    ("how many devices", lambda: gt.Mirrored(2), "Mirrored takes a list of devices, as gantry.gpus(2) or [\"GPU:0\", \"GPU:1\"], got 2"),
    ("one weight", lambda: gt.Mirrored(["GPU:0", "GPU:1"], weights=2),
     "weights are whole numbers, one for each of 2 devices, not all of them 0, or \"auto\"; got 2"),
    ("no rows to split", lambda: gt.function(lambda x: gt.Towers().each(lambda: x))(X), "`each` splits the rows of arrays, and is given none"),
    ("validation without labels", lambda: gt.Trainer(small(True)).fit(np.ones((4, 4), np.float32), np.zeros(4, np.int32), validation=X),
     "validation is a pair (x, y) or a Dataset, got an array of shape [4, 3]"),
    ("a callback without a list", lambda: gt.Trainer(small(True)).fit(X, X[:, 0], callbacks=gt.callbacks.Callback()),
     "callbacks are a list, got <gantry.callbacks.Callback object at \\w+>"),
    ("half an epoch", lambda: gt.Trainer(small(True)).fit(X, X[:, 0], epochs=0.5), "epochs are counted, got 0.5"),
    ("logs at no step", lambda: gt.Trainer(small(True)).fit(X, X[:, 0], log_every=0),
     "logs are looked at every so many steps, at least one, got log_every=0"),
    ("resumed from a number", lambda: gt.Trainer(small(True)).fit(X, X[:, 0], resume=3), "a fit resumes from a folder or a file, got 3"),
    ("a seed of letters", lambda: gt.Trainer(small(True), seed="x"), "a seed is a whole number, got 'x'"),
    ("half a unit", lambda: nn.Dense(2.5, name="half")(X), "half has 'weight' of shape [3, 2.5], whose sizes are no whole numbers"),
    ("limit below the least", lambda: gt.Trainer(nn.Dense(2).to("CPU:0"), "mse", limit={"CPU:0": "100B"}).fit(X, X[:, :2], progress=False),
     "LINE: the plan needs \\d+ \\w+ on '/job:localhost/replica:0/task:0/device:CPU:0', the limit is 100 bytes: constants \\d+ \\w+, variables \\d+ \\w+, "
     "inputs and outputs \\d+ \\w+, transient \\d+ \\w+ (most while '\\w+' runs in 'main'); raise the limit to at least \\d+ bytes, put less "
     "on this device, make the batch smaller (--largest-batch=DIM finds the largest that fits), or have a plan made that fits but may take longer "
     "(--over-limit=fix)"),
]


def lines_of(code):
    """What lines of its file a function has, those of functions inside of it among them."""
    inside = {number for each in code.co_consts if hasattr(each, "co_lines") for number in lines_of(each)}
    return inside | {number for *_, number in code.co_lines() if number}


def refused(program):
    """What a program is refused with, and the innermost line of this file that was on the way."""
    try:
        program()
    except gt.GantryError as error:
        own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
        return str(error), own[-1]
    return "nothing", 0


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class WrongPrograms(unittest.TestCase):
    def test_each_with_its_text(self):
        """All of the text, and that it is raised at a line of the program, and names it where a plan is refused."""
        self.assertGreaterEqual(len(WRONG), 20)
        meanings = {re.escape("LINE"): r"test_training\.py:(\d+):1", re.escape(r"\d+"): r"[\d.]+", re.escape(r"\w+"): r"[\w./]+"}
        for name, program, text in WRONG:
            with self.subTest(name):
                gc.collect()  # what was there before has no claim to names
                said, line = refused(program)
                pattern = re.escape(text)
                for short, meaning in meanings.items():
                    pattern = pattern.replace(short, meaning)
                found = re.fullmatch(pattern, said)
                self.assertTrue(found, said)
                for number in (line, *map(int, found.groups())):
                    self.assertIn(number, lines_of(program.__code__))

    def test_at_the_users_line(self):
        """Of a program of several lines: the op's."""
        def program():
            x = X * 2
            gt.grad(lambda x: gt.while_loop(lambda s: s < 100.0,
                                            lambda s: s * 2, gt.sum(x)))(x)
        self.assertIn(f"test_training.py:{program.__code__.co_firstlineno + 2}:", refused(program)[0])
