"""Gradients through branches and loops, regions with ways back of their own, recurrent layers and the loss of sequences without
places, against PyTorch in f64."""

import re
import unittest

import numpy as np

import gantry as gt
from gantry import losses, nn, optim
from tests.support import HAS_COMPILER, NEEDS_COMPILER
from tests.training import close, normals

try:
    import torch
except ImportError:
    torch = None

RANDOM = np.random.default_rng(13)
rand = normals(RANDOM)
WIDE = {"dtype": "float64"}


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class ControlFlow(unittest.TestCase):
    def halved(self, at_most=None):
        """x halved until its largest element is below 1, and how often that was."""
        def f(x):
            count, y = gt.while_loop(lambda s: gt.max(gt.ops.abs(s[1])) >= 1.0, lambda s: (s[0] + 1, gt.sin(s[1]) * s[1] * 0.25), (gt.array(0), x),
                                     at_most=at_most)
            return gt.sum(y * y), count
        return f

    def by_hand(self, x):
        slope, count = np.ones_like(x), 0
        while np.abs(x).max() >= 1:
            slope, x, count = slope * 0.25 * (np.cos(x) * x + np.sin(x)), np.sin(x) * x * 0.25, count + 1
        return (x * x).sum(), 2 * x * slope, count

    def test_loops_with_at_most(self):
        """Of as many rounds as the values ask for: none, one, several, all that there may be."""
        seen = set()
        f = gt.value_and_grad(self.halved(9), has_aux=True)
        for largest in (0.5, 1.5, 4.2, 30.0, 200.0):
            x = rand(5)
            x *= largest / np.abs(x).max()
            value, slope, rounds = self.by_hand(x)
            (own, count), own_slope = f(x)
            self.assertEqual(int(count), rounds)
            close(own.numpy(), value)
            close(own_slope.numpy(), slope)
            close(gt.function(lambda x: f(x)[1])(x).numpy(), slope)
            seen.add(rounds)
        self.assertLessEqual({0, 1}, seen)
        self.assertGreaterEqual(max(seen), 3)
        x = np.full(5, 4.2)
        exact = gt.value_and_grad(self.halved(self.by_hand(x)[2]), has_aux=True)
        close(exact(x)[1].numpy(), self.by_hand(x)[1])

    def test_a_round_beyond_changes_nothing(self):
        n = gt.Variable(np.float64(0), name="beyond")

        @gt.function
        def step(x):
            n.assign_add(1)
            return gt.while_loop(lambda v: gt.sum(v) < 8.0, lambda v: v * 2, x, at_most=3)
        np.testing.assert_array_equal(step(np.ones(1)).numpy(), [8])
        np.testing.assert_array_equal(step(np.full(1, 9.0)).numpy(), [9])
        self.assertEqual(float(n), 2)
        text = r"goes on after the 3 rounds that it has at most; a larger at_most gives it more"
        with self.assertRaisesRegex(gt.InvalidArgumentError, text):
            step(np.full(1, 0.5))
        self.assertEqual(float(n), 2)
        np.testing.assert_array_equal(step(np.ones(1)).numpy(), [8])
        with self.assertRaisesRegex(gt.InvalidArgumentError, "the loop " + text):
            gt.while_loop(lambda v: v < 8.0, lambda v: v * 2, gt.array(0.5), at_most=3)
        for value in (0, 1):
            never = gt.function(lambda x: gt.while_loop(lambda v: v < 1, lambda v: v + 1, x, at_most=0))
            if value:
                self.assertEqual(int(never(np.int64(1))), 1)
            else:
                with self.assertRaisesRegex(gt.InvalidArgumentError, "goes on after the 0 rounds"):
                    never(np.int64(0))

    def test_a_counter_beside_other_conditions_bounds_a_loop(self):
        def f(x):
            return gt.while_loop(lambda s: gt.ops.logical_and(s[0] < 10, s[1] < 100.0), lambda s: (s[0] + 1, s[1] * s[1]), (gt.array(0), x))[1]
        for x, power in ((1.5, 16), (200.0, 1), (1.0, 1024)):
            close(gt.grad(f)(x).numpy(), power * x ** (power - 1))

    def test_nested(self):
        """A bounded loop and a branch, in a scan."""
        def f(x, w):
            def step(carry, row):
                inner = gt.while_loop(lambda v: gt.sum(v * v) > 1.0, lambda v: v * gt.ops.sigmoid(w), carry + row, at_most=40)
                made = gt.cond(gt.sum(inner) > 0, lambda: inner * w, lambda: gt.sin(inner))
                return made, made
            return gt.sum(gt.scan(step, x[0], x)[1])

        def theirs(x, w):
            carry, total = x[0], 0
            for row in x:
                carry = carry + row
                while float((carry * carry).sum()) > 1:
                    carry = carry * torch.sigmoid(w)
                carry = carry * w if float(carry.sum()) > 0 else torch.sin(carry)
                total = total + carry.sum()
            return total
        if torch is None:
            self.skipTest("PyTorch is not installed")
        for seed in range(5):
            x, w = rand(6, 3), rand(3)
            tensors = [torch.tensor(each, requires_grad=True) for each in (x, w)]
            theirs(*tensors).backward()
            for own, tensor in zip(gt.grad(f, wrt=(0, 1))(x, w), tensors):
                close(own.numpy(), tensor.grad.numpy())
            direction = (rand(6, 3), rand(3))
            value, moved = gt.jvp(f, (x, w), direction)
            close(moved.numpy(), sum((tensor.grad.numpy() * each).sum() for tensor, each in zip(tensors, direction)))
            again = torch.autograd.functional.hvp(theirs, tuple(map(torch.tensor, (x, w))), tuple(map(torch.tensor, direction)))[1]
            for own, tensor in zip(gt.hvp(f, (x, w), direction), again):
                close(own.numpy(), tensor.numpy())

    def test_sums_of_weights_are_one_product(self):
        """Bit for bit that of all rows, those of the last round first; rows of rounds that there were not change nothing."""
        t, n, k, m = 5, 2, 12, 8
        x, d = (rand(t, n, width).astype(np.float32) for width in (k, m))
        rows = lambda a: np.concatenate(a[::-1])
        expected = gt.matmul(gt.array(rows(x)), gt.array(rows(d)), transpose_a=True).numpy()

        def scanned(w, x, d):
            return gt.scan(lambda total, row: (total + gt.sum(gt.matmul(row[0], w) * row[1]), None), gt.array(np.float32(0)), (x, d))[0]

        def bounded(w, x, d, count):
            body = lambda s: (s[0] + 1, s[1] + gt.sum(gt.matmul(gt.ops.gather(x, s[0], 0), w) * gt.ops.gather(d, s[0], 0)))
            return gt.while_loop(lambda s: s[0] < count, body, (gt.array(0), gt.array(np.float32(0))), at_most=9)[1]
        w = rand(k, m).astype(np.float32)
        np.testing.assert_array_equal(gt.grad(scanned)(w, x, d).numpy(), expected)
        np.testing.assert_array_equal(gt.grad(bounded)(w, x, d, np.int32(t)).numpy(), expected)
        added = sum((row.T.astype(np.float64) @ other for row, other in zip(x, d)))
        close(expected, added, 1e-6)
        plan = gt.grad(scanned).lower(w, x, d).plan().description["functions"][0]
        outside, inside = ([name for i, block in enumerate(plan["blocks"]) if (i == 0) == first for command in block["commands"]
                            for name in command.get("log_names", ())] for first in (True, False))
        self.assertEqual((outside.count("MatMul"), inside.count("MatMul")), (1, 0))

    def test_scans_backwards(self):
        x = rand(4, 3)
        f = lambda x: gt.scan(lambda carry, row: (carry * 0.5 + row, carry + row), gt.array(np.zeros(3)), x, reverse=True)
        carry, ys = np.zeros(3), np.zeros_like(x)
        for i in reversed(range(4)):
            ys[i], carry = carry + x[i], carry * 0.5 + x[i]
        for call in (f, gt.function(f)):
            last, stacked = call(x)
            close(last.numpy(), carry)
            close(stacked.numpy(), ys)
        weight = rand(4, 3)
        slope = gt.grad(lambda x: gt.sum(f(x)[1] * weight))(x).numpy()
        close(slope, [weight[j] + sum(weight[i] * 0.5 ** (j - i - 1) for i in range(j)) for j in range(4)])

    def test_branches_that_are_never_taken(self):
        """Their gradients are zeros, and what they would compute, NaN here, reaches nothing."""
        f = lambda x, y: gt.sum(gt.cond(gt.sum(x) > 0, lambda: x * 2, lambda: gt.ops.log(y)))
        left, right = gt.grad(f, wrt=(0, 1))(np.ones(3), np.full(3, -1.0))
        np.testing.assert_array_equal(left.numpy(), [2, 2, 2])
        np.testing.assert_array_equal(right.numpy(), [0, 0, 0])


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class WaysBack(unittest.TestCase):
    def test_checkpoint(self):
        x, w = rand(64, 64), rand(64, 64)
        part = lambda x: gt.tanh(gt.sin(x @ w) @ w)

        def loss(part):
            return gt.value_and_grad(lambda x: gt.sum(part(part(part(part(x)))) ** 2))
        plain, again = loss(part), loss(gt.checkpoint(part))
        for a, b in zip(plain(x), again(x)):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
        transient = [sum(arena["size"] for arena in each.lower(x).plan().description["arenas"] if arena["kind"] == "transient")
                     for each in (plain, again)]
        self.assertLess(transient[1], transient[0])
        # Trees go in and come out.
        f = gt.checkpoint(lambda a, scale: {"y": gt.sin(a["x"]) * scale, "n": None})
        slope = gt.grad(lambda x: gt.sum(f({"x": x}, scale=3.0)["y"]))(x)
        close(slope.numpy(), 3 * np.cos(x))
        close(f({"x": gt.array(x)}, 2.0)["y"].numpy(), 2 * np.sin(x))
        with gt.GradientTape() as tape:
            a = gt.array(x)
            loss = gt.sum(gt.checkpoint(gt.sin)(a))
        close(tape.gradient(loss, a).numpy(), np.cos(x))

    def test_checkpoint_of_layers(self):
        """Variables are made inside of it, and a dropout draws the same again."""
        net, x = nn.Sequential(nn.Dense(5, "tanh", **WIDE), nn.Dropout(0.5), nn.Dense(2, **WIDE)), rand(8, 3)

        @gt.function
        def step(x):
            gt.random.seed(3)
            with nn.training():
                return gt.value_and_grad(lambda x: gt.sum(gt.checkpoint(net)(x) ** 2), wrt=net)(x)

        @gt.function
        def plain(x):
            gt.random.seed(3)
            with nn.training():
                return gt.value_and_grad(lambda x: gt.sum(net(x) ** 2), wrt=net)(x)
        (value, slopes), (expected, others) = step(x), plain(x)
        self.assertEqual(float(value), float(expected))
        self.assertEqual(set(slopes), {"layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"})
        for name, slope in slopes.items():
            np.testing.assert_array_equal(slope.numpy(), others[name].numpy())

    def test_custom_gradient(self):
        @gt.custom_gradient
        def straight(x):
            return gt.ops.round(x), lambda d: d

        x = rand(5) * 3
        np.testing.assert_array_equal(straight(gt.array(x)).numpy(), np.round(x))
        value, slope = gt.value_and_grad(lambda x: gt.sum(straight(x) * x))(x)
        close(value.numpy(), (np.round(x) * x).sum())
        close(slope.numpy(), x + np.round(x))

        @gt.custom_gradient
        def product(a, b, n):
            y = {"y": a * b, "n": n + 1}

            def back(d):
                self.assertIsNone(d["n"])
                return d["y"] * y["y"], None, None
            return y, back
        left, right = gt.grad(lambda a, b: gt.sum(product(a, b, gt.array(1))["y"]), wrt=(0, 1))(x, x + 1)
        close(left.numpy(), x * (x + 1))
        np.testing.assert_array_equal(right.numpy(), np.zeros(5))

    def test_wrong_ones(self):
        x = np.ones(3)
        wrong = [
            (lambda x: x, "custom_gradient: 'f' gives its value and a function of the value's cotangents, as a pair; got Value(float64[3])"),
            (lambda x: (x, lambda d: (d, d)), "custom_gradient: argument 0 of 'f' is 1 arrays, and its gradient 2"),
            (lambda x: (x, lambda d: gt.sum(d)), "custom_gradient: argument 0 of 'f' is float64[3], and its gradient float64[]"),
            (lambda x: (x, lambda d: d.astype("float32")), "custom_gradient: argument 0 of 'f' is float64[3], and its gradient float32[3]"),
        ]
        for f, text in wrong:
            f.__name__ = "f"
            with self.assertRaisesRegex(gt.InvalidArgumentError, re.escape(text)):
                gt.grad(lambda x, f=f: gt.sum(gt.custom_gradient(f)(x)))(x)
        two = lambda a, b: (a + b, lambda d: d)
        two.__name__ = "two"
        with self.assertRaisesRegex(gt.InvalidArgumentError, "custom_gradient: 'two' has 2 arguments, and its function of cotangents gives one gradient"):
            gt.grad(lambda x: gt.sum(gt.custom_gradient(two)(x, x)))(x)
        with gt.GradientTape(), self.assertRaisesRegex(gt.InvalidArgumentError, "a tape cannot record gantry.custom_gradient"):
            gt.custom_gradient(lambda x: (x, lambda d: d))(gt.array(x))
        with self.assertRaisesRegex(gt.InvalidArgumentError, "at_most is a number of rounds, got -1"):
            gt.while_loop(lambda v: v < 1, lambda v: v, gt.array(0), at_most=-1)


def assign_gates(own, theirs, order, suffix=""):
    """PyTorch's weights, whose gates are rows and come in another order."""
    pick = lambda name: np.concatenate([np.split(getattr(theirs, f"{name}_l0{suffix}").detach().numpy(), len(order))[i] for i in order])
    own.weight.assign(pick("weight_ih").T.copy())
    own.recurrent.assign(pick("weight_hh").T.copy())
    inputs, states = pick("bias_ih"), pick("bias_hh")
    own.bias.assign(np.stack([inputs, states]) if len(own.bias.shape) == 2 else inputs + states)
    return pick


KINDS = {"SimpleRNN": ("RNN", (0,)), "LSTM": ("LSTM", (0, 1, 2, 3)), "GRU": ("GRU", (1, 0, 2))}


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
@unittest.skipIf(torch is None, "PyTorch is not installed")
class AgainstPyTorch(unittest.TestCase):
    def differentiate(self, own, x, expected, tensor):
        """Values, and gradients of the sum of sines of all that is given."""
        def f(x):
            made = own(x)
            made = made if isinstance(made, tuple) else (made,)
            return sum(gt.sum(gt.sin(each)) for each in made), made
        (_, made), (dx, slopes) = gt.value_and_grad(f, wrt=(0, own), has_aux=True)(x)
        for each, theirs in zip(made, expected, strict=True):
            close(each.numpy(), theirs.detach().numpy())
        sum(torch.sin(each).sum() for each in expected).backward()
        close(dx.numpy(), tensor.grad.numpy())
        return slopes

    def test_layers(self):
        for kind, (name, order) in KINDS.items():
            for n, t in ((3, 1), (2, 7), (1, 20)):
                with self.subTest(kind, n=n, t=t):
                    theirs, x = getattr(torch.nn, name)(4, 5, batch_first=True).double(), rand(n, t, 4)
                    own = getattr(nn, kind)(5, sequences=True, state=True, **WIDE)
                    own(x)
                    pick = assign_gates(own, theirs, order)
                    tensor = torch.tensor(x, requires_grad=True)
                    y, state = theirs(tensor)
                    expected = (y, *(each[0] for each in (state if isinstance(state, tuple) else (state,))))
                    slopes = self.differentiate(own, x, expected, tensor)
                    grads = {each: np.concatenate([np.split(getattr(theirs, f"{each}_l0").grad.numpy(), len(order))[i] for i in order])
                             for each in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
                    close(slopes["weight"].numpy(), grads["weight_ih"].T)
                    close(slopes["recurrent"].numpy(), grads["weight_hh"].T)
                    bias = slopes["bias"].numpy()
                    close(bias, np.stack([grads["bias_ih"], grads["bias_hh"]]) if bias.ndim == 2 else grads["bias_ih"])
                    self.assertEqual(pick("weight_ih").shape, (len(order) * 5, 4))

    def test_from_a_state(self):
        theirs, x, h, c = torch.nn.LSTM(4, 5, batch_first=True).double(), rand(2, 3, 4), rand(2, 5), rand(2, 5)
        own = nn.LSTM(5, **WIDE)
        own(x)
        assign_gates(own, theirs, (0, 1, 2, 3))
        expected = theirs(torch.tensor(x), (torch.tensor(h[None]), torch.tensor(c[None])))[0][:, -1]
        close(own(x, (h, c)).numpy(), expected.detach().numpy())
        with self.assertRaisesRegex(gt.InvalidArgumentError, r"begins with 2 arrays \[2, 5\], got \[2, 5\]"):
            own(x, h)

    def test_bidirectional(self):
        for kind, (name, order) in KINDS.items():
            with self.subTest(kind):
                theirs, x = getattr(torch.nn, name)(4, 5, batch_first=True, bidirectional=True).double(), rand(2, 6, 4)
                own = nn.Bidirectional(getattr(nn, kind)(5, sequences=True, **WIDE))
                own(x)
                assign_gates(own.layer, theirs, order)
                assign_gates(own.backward, theirs, order, "_reverse")
                tensor = torch.tensor(x, requires_grad=True)
                slopes = self.differentiate(own, x, (theirs(tensor)[0],), tensor)
                self.assertEqual(len(slopes), 6)
        a, b = (each.numpy() for each in nn.Bidirectional(nn.GRU(3), None)(x.astype(np.float32)))
        self.assertEqual((a.shape, b.shape), ((2, 3), (2, 3)))

    def test_gru_that_resets_before(self):
        """As the first version of the paper has it, by its formulas."""
        own, x = nn.GRU(5, reset_after=False, **WIDE), rand(3, 4, 4)
        own(x)
        own.bias.assign(rand(15))
        tensor = torch.tensor(x, requires_grad=True)
        w, u, b = (torch.tensor(each.numpy(), requires_grad=True) for each in (own.weight, own.recurrent, own.bias))
        h = torch.zeros(3, 5, dtype=torch.float64)
        for step in range(4):
            xz, xr, xg = (tensor[:, step] @ w + b).chunk(3, 1)
            z, r = torch.sigmoid(xz + h @ u[:, :5]), torch.sigmoid(xr + h @ u[:, 5:10])
            h = z * h + (1 - z) * torch.tanh(xg + (r * h) @ u[:, 10:])
        slopes = self.differentiate(own, x, (h,), tensor)
        for name, parameter in (("weight", w), ("recurrent", u), ("bias", b)):
            close(slopes[name].numpy(), parameter.grad.numpy())

    def test_masks(self):
        """A row with a mask is the shorter row."""
        for kind in KINDS:
            layer = getattr(nn, kind)(3, sequences=True, state=True, **WIDE)
            x, lengths = rand(3, 5, 2), (5, 2, 0)
            mask = np.arange(5)[None] < np.array(lengths)[:, None]
            y, h, *_ = (each.numpy() for each in layer(x, None, mask))
            for row, length in enumerate(lengths):
                if length:
                    alone, last, *_ = (each.numpy() for each in layer(x[row:row + 1, :length]))
                    close(y[row, :length], alone[0])
                    close(h[row], last[0])
                else:
                    close(h[row], np.zeros(3))
            with self.assertRaisesRegex(gt.InvalidArgumentError, r"takes a mask of truth values \[3, 5\], got bool_\[3, 4\]"):
                layer(x, None, mask[:, :4])

    def test_ctc(self):
        for t, s, k in ((1, 1, 3), (6, 3, 4), (12, 5, 6), (9, 0, 4)):
            with self.subTest(t=t, s=s):
                n = 4
                x, labels = rand(n, t, k), RANDOM.integers(1, k, (n, s))
                sizes, steps = RANDOM.integers(min(s, 1), min(s, (t + 1) // 2) + 1, n), RANDOM.integers(max(1, t - 2), t + 1, n)
                tensor = torch.tensor(x, requires_grad=True)
                rows = torch.nn.functional.ctc_loss(torch.log_softmax(tensor, 2).transpose(0, 1), torch.tensor(labels), torch.tensor(steps),
                                                    torch.tensor(sizes), reduction="none")
                possible = torch.isfinite(rows)
                rows[possible].sum().backward()
                weights = possible.numpy().astype(np.float64)
                f = lambda x: losses.ctc(labels, x, sizes, steps, from_logits=True, weights=weights) * n
                if weights.all():
                    value, slope = gt.value_and_grad(f)(x)
                    close(value.numpy(), rows.sum().detach().numpy())
                    close(slope.numpy(), tensor.grad.numpy())
                again = losses.ctc(labels, np.exp(x) / np.exp(x).sum(2, keepdims=True), sizes, steps).numpy()
                close(again, rows.mean().detach().numpy())
        # Where nothing is said of sizes, labels end at the first blank; of another one, too.
        labels = np.array([[1, 2, 0], [3, 0, 0]])
        x = rand(2, 7, 4)
        close(losses.ctc(labels, x, from_logits=True).numpy(), losses.ctc(labels, x, [2, 1], from_logits=True).numpy())
        turned, moved = np.roll(x, -1, 2), np.where(labels == 0, 3, labels - 1)
        close(losses.ctc(moved, turned, from_logits=True, blank=-1).numpy(), losses.ctc(labels, x, from_logits=True).numpy())

    def test_ctc_of_what_cannot_be(self):
        """Three labels in two steps: infinite, as PyTorch has it, and nothing is learned from it."""
        x = rand(1, 2, 4)
        value, slope = gt.value_and_grad(lambda x: losses.ctc(np.array([[1, 2, 3]]), x, from_logits=True))(x)
        self.assertEqual(float(value), np.inf)
        np.testing.assert_array_equal(slope.numpy(), np.zeros((1, 2, 4)))
        for labels, outputs, text in ((np.ones((1, 2)), x, "ctc takes labels of integers, got float64[1, 2]"),
                                      (np.ones((2, 2), int), x, "ctc takes labels [n, s] for outputs [n, t, k] of floats, got [2, 2] for float64[1, 2, 4]")):
            with self.assertRaisesRegex(gt.InvalidArgumentError, re.escape(text)):
                losses.ctc(labels, outputs)
        with self.assertRaisesRegex(gt.InvalidArgumentError, r"ctc takes sizes of integers \[1\], got int32\[2\]"):
            losses.ctc(np.ones((1, 2), int), x, [1, 2])


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Layers(unittest.TestCase):
    def test_first_values(self):
        layer, x = nn.LSTM(6), np.ones((2, 3, 4), np.float32)
        layer(x)
        u = layer.recurrent.numpy().astype(np.float64)
        close(u @ u.T, np.eye(6), 1e-6)
        np.testing.assert_array_equal(layer.bias.numpy(), np.repeat([0, 1, 0, 0], 6))
        self.assertEqual((layer.weight.shape, layer.recurrent.shape), ((4, 24), (6, 24)))
        plain = nn.LSTM(6, unit_forget=False)
        plain(x)
        np.testing.assert_array_equal(plain.bias.numpy(), np.zeros(24))
        self.assertEqual(nn.init.orthogonal((6, 2), 1, 1, "float32").shape, (6, 2))

    def test_dropout_is_one_mask_for_all_steps(self):
        layer = nn.SimpleRNN(4, "linear", dropout=0.5, recurrent_dropout=0.5, sequences=True, **WIDE)
        x = np.ones((1, 5, 64))
        layer(x)
        layer.weight.assign(np.eye(64)[:, :4])
        layer.recurrent.assign(np.eye(4))
        with nn.training():
            y = layer(x).numpy()[0]
        self.assertLessEqual(set(np.unique(y[0])), {0.0, 2.0})
        for own, first in zip(y.T, y[0]):  # each step adds the same, and keeps what it has, doubled, or loses it
            kept = own[1] - first if first else 0
            expected = [first]
            for _ in range(4):
                expected.append(first + expected[-1] * (2 if kept else 0))
            np.testing.assert_allclose(own, expected)
        close(layer(x).numpy()[0], np.arange(1, 6)[:, None] * np.ones(4))

    def test_it_learns(self):
        """Which of the first and the last token is larger: what is forgotten is not learned."""
        ids = RANDOM.integers(0, 8, (512, 10)).astype(np.int32)
        labels = (ids[:, 0] > ids[:, -1]).astype(np.int32)
        gt.random.seed(1)
        net = nn.Sequential(nn.Embedding(8, 8), nn.LSTM(16), nn.Dense(2))
        trainer = gt.Trainer(net, lambda y, z: losses.scce(y, z, from_logits=True), optim.Adam(0.02), metrics=["accuracy"])
        history = trainer.fit(ids, labels, epochs=12, batch=64, progress=False)
        self.assertGreater(history["accuracy"][-1], 0.9)

    def test_wrong_ones(self):
        x = np.ones((2, 3, 4), np.float32)
        layer = nn.GRU(3, name="gru_of_4")
        layer(x)
        wrong = [
            (lambda: layer(x[:, :, :2]), "gru_of_4 was made for steps of 4, got [2, 3, 2]"),
            (lambda: nn.LSTM(3, name="flat")(x[0]), "flat takes sequences, [n, t, k], got [3, 4]"),
            (lambda: nn.LSTM(3, dropout=1.0), "a dropout's ratio is at least 0 and below 1, got 1.0"),
            (lambda: nn.Bidirectional(nn.Dense(3, name="dense_of_3")), "Bidirectional takes a recurrent layer, got Dense('dense_of_3')"),
            (lambda: nn.Bidirectional(layer), "gru_of_4 has variables already; its counterpart is made before that"),
            (lambda: nn.Bidirectional(nn.GRU(3), "both"), "merge is 'both'; it can be 'concat', 'sum', 'mul', 'mean', None"),
        ]
        for call, text in wrong:
            with self.assertRaisesRegex(gt.InvalidArgumentError, re.escape(text)):
                call()
