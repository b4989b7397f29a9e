"""Layers that are more than an op, against PyTorch in f64; frozen ones, and what optimizers do variable by variable."""

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

rand = normals(np.random.default_rng(11))
WIDE = {"dtype": "float64"}


def dense(own, theirs):
    own.weight.assign(theirs.weight.detach().numpy().T.copy())
    own.bias.assign(theirs.bias.detach().numpy())


def attention(own, theirs):
    """Parameters of PyTorch's attention, which has three projections in one."""
    weights, biases = theirs.in_proj_weight.detach().numpy(), theirs.in_proj_bias.detach().numpy()
    size = len(biases) // 3
    for i, part in enumerate((own.query, own.key, own.value)):
        part.weight.assign(weights[size * i:size * (i + 1)].T.copy())
        part.bias.assign(biases[size * i:size * (i + 1)])
    dense(own.out, theirs.out_proj)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
@unittest.skipIf(torch is None, "PyTorch is not installed")
class AgainstPyTorch(unittest.TestCase):
    def both(self, own, theirs, x, turn=lambda a: a, wrt=None):
        """Values, and gradients of the sum of their sines: of x and, by name, of parameters that have the same shape in both."""
        def f(x):
            y = own(x)
            return gt.sum(gt.sin(y)), y
        (_, y), (dx, slopes) = gt.value_and_grad(f, wrt=(0, wrt or own), has_aux=True)(x)
        tensor = torch.tensor(np.moveaxis(x, -1, 1).copy() if turn is not_last else x, requires_grad=True)
        expected = theirs(tensor)
        torch.sin(expected).sum().backward()
        close(y.numpy(), turn(expected.detach().numpy()))
        close(dx.numpy(), turn(tensor.grad.numpy()))
        return slopes

    def test_convolutions(self):
        for own, theirs, x in (
                (nn.Conv3D(6, 3, strides=2, padding=1, **WIDE), torch.nn.Conv3d(4, 6, 3, 2, 1), rand(2, 5, 4, 6, 4)),
                (nn.ConvTranspose1D(6, 3, strides=3, padding=1, output_padding=2, **WIDE), torch.nn.ConvTranspose1d(4, 6, 3, 3, 1, 2), rand(2, 7, 4)),
                (nn.ConvTranspose2D(6, 3, strides=(2, 1), dilations=2, groups=2, **WIDE),
                 torch.nn.ConvTranspose2d(4, 6, 3, (2, 1), dilation=2, groups=2), rand(2, 5, 6, 4)),
                (nn.ConvTranspose3D(6, 3, strides=2, **WIDE), torch.nn.ConvTranspose3d(4, 6, 3, 2), rand(1, 3, 4, 3, 4))):
            with self.subTest(type(own).__name__):
                theirs = theirs.double()
                own(x)
                own.weight.assign(theirs.weight.detach().numpy())
                own.bias.assign(theirs.bias.detach().numpy())
                slopes = self.both(own, theirs, x, not_last)
                close(slopes["weight"].numpy(), theirs.weight.grad.numpy())
                close(slopes["bias"].numpy(), theirs.bias.grad.numpy())

    def test_norms(self):
        x = rand(3, 4, 5, 6)
        for own, theirs, turn in ((nn.GroupNorm(3, **WIDE), torch.nn.GroupNorm(3, 6), not_last),
                                  (nn.LayerNorm(dims=2, **WIDE), torch.nn.LayerNorm((5, 6)), lambda a: a)):
            theirs = theirs.double()
            own(x)
            scale, bias = rand(*own.scale.shape), rand(*own.bias.shape)
            for variable, parameter, value in ((own.scale, theirs.weight, scale), (own.bias, theirs.bias, bias)):
                variable.assign(value)
                parameter.data = torch.tensor(value)
            slopes = self.both(own, theirs, x, turn)
            close(slopes["scale"].numpy(), theirs.weight.grad.numpy())
            close(slopes["bias"].numpy(), theirs.bias.grad.numpy())
        close(nn.GroupNorm(2, **WIDE)(x[:, 0, 0]).numpy(), torch.nn.GroupNorm(2, 6).double()(torch.tensor(x[:, 0, 0])).detach().numpy())
        close(nn.RMSNorm(**WIDE)(x).numpy(), x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6))

    def test_embedding_with_a_padding_row(self):
        own, theirs = nn.Embedding(5, 3, padding=-5, **WIDE), torch.nn.Embedding(5, 3, padding_idx=0).double()
        ids = np.array([[0, 1, 1, 4], [0, 0, 2, 1]])
        own(ids)
        self.assertEqual(own.weight.numpy()[0].tolist(), [0, 0, 0])
        self.assertTrue(own.weight.numpy()[1:].all())
        own.weight.assign(theirs.weight.detach().numpy())
        slopes = gt.grad(lambda ids: gt.sum(gt.sin(own(ids))), wrt=own)(ids)
        torch.sin(theirs(torch.tensor(ids))).sum().backward()
        close(slopes["weight"].numpy(), theirs.weight.grad.numpy())
        adam = optim.Adam(0.1)
        adam.apply(own, slopes)
        self.assertEqual(own.weight.numpy()[0].tolist(), [0, 0, 0])

    def test_attention(self):
        x, memory = rand(3, 5, 6), rand(3, 4, 6)
        for causal in (False, True):
            own, theirs = nn.MultiHeadAttention(2, causal=causal, **WIDE), torch.nn.MultiheadAttention(6, 2, batch_first=True).double()
            theirs.in_proj_bias.data = torch.tensor(rand(18))
            own(x)
            attention(own, theirs)
            hidden = torch.ones(5, 5, dtype=torch.bool).triu(1) if causal else None
            slopes = self.both(own, lambda x: theirs(x, x, x, attn_mask=hidden, need_weights=False)[0], x)
            close(slopes["query.weight"].numpy(), theirs.in_proj_weight.grad.numpy()[:6].T)
            close(slopes["out.bias"].numpy(), theirs.out_proj.bias.grad.numpy())
        own, theirs = nn.MultiHeadAttention(3, **WIDE), torch.nn.MultiheadAttention(6, 3, batch_first=True).double()
        own(x, memory)
        attention(own, theirs)
        seen, away = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]], bool), rand(5, 4)
        t = torch.tensor
        for mask, given in ((nn.padding_mask(gt.array(seen.astype(np.int32))), {"key_padding_mask": t(~seen)}), (away, {"attn_mask": t(away)})):
            known = theirs(t(x), t(memory), t(memory), need_weights=False, **given)[0]
            close(own(x, memory, mask=mask).numpy(), known.detach().numpy())

    def test_transformers(self):
        x, memory = rand(3, 5, 6), rand(3, 4, 6)
        for first in (False, True):
            own, theirs = nn.TransformerEncoderLayer(2, 10, "gelu", 0.0, first, **WIDE), torch.nn.TransformerEncoderLayer(
                6, 2, 10, 0.0, "gelu", batch_first=True, norm_first=first).double()
            own(x)
            attention(own.attention, theirs.self_attn)
            dense(own.grow, theirs.linear1)
            dense(own.shrink, theirs.linear2)
            slopes = self.both(own, theirs, x)
            close(slopes["norm1.scale"].numpy(), theirs.norm1.weight.grad.numpy())
            close(slopes["grow.weight"].numpy(), theirs.linear1.weight.grad.numpy().T)
            own, theirs = nn.TransformerDecoderLayer(2, 10, dropout=0.0, norm_first=first, **WIDE), torch.nn.TransformerDecoderLayer(
                6, 2, 10, 0.0, batch_first=True, norm_first=first).double()
            own(x, memory)
            attention(own.attention, theirs.self_attn)
            attention(own.cross, theirs.multihead_attn)
            dense(own.grow, theirs.linear1)
            dense(own.shrink, theirs.linear2)
            hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
            slopes = self.both(lambda x: own(x, memory), lambda x: theirs(x, torch.tensor(memory), tgt_mask=hidden), x, wrt=own)
            close(slopes["norm3.scale"].numpy(), theirs.norm3.weight.grad.numpy())


def not_last(a):
    """PyTorch's channels, which come second, at the end."""
    return np.moveaxis(a, 1, -1)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Attention(unittest.TestCase):
    def test_a_row_that_is_masked_whole(self):
        """It is a mean of all values, forward and back, in every type; in f16, whose lowest number does not swallow scores, by them."""
        x = rand(2, 4, 6) * 30
        for dtype in ("float64", "float32", "float16", "bfloat16"):
            layer, given = nn.MultiHeadAttention(2, dtype=dtype), gt.array(x, dtype=dtype)
            nobody = gt.array(np.zeros((4, 4), bool))

            def f(x):
                y = layer(x, mask=nobody)
                return gt.sum(gt.tanh(y)), y
            (_, y), slope = gt.value_and_grad(f, has_aux=True)(given)
            y, slope = y.astype("float64").numpy(), slope.astype("float64").numpy()
            self.assertTrue(np.isfinite(y).all() and np.isfinite(slope).all(), dtype)
            if dtype == "float16":
                continue
            mean = layer.out(gt.mean(layer.value(given), 1, keepdims=True)).astype("float64").numpy()
            close(y, np.broadcast_to(mean, y.shape), {"float64": 1e-12, "float32": 1e-5, "bfloat16": 8e-2}[dtype])

    def test_dropout_of_weights(self):
        layer, x = nn.MultiHeadAttention(2, causal=True, dropout=0.5), rand(2, 5, 6).astype(np.float32)
        still = layer(x).numpy()
        with nn.training():
            a, b = layer(x).numpy(), layer(x).numpy()
        self.assertTrue((a != b).any())
        self.assertEqual(a.shape, still.shape)
        self.assertFalse(layer.is_open)

    def test_heads_that_do_not_divide(self):
        with self.assertRaisesRegex(gt.GantryError, "heads has 4 heads, which do not divide its 6 channels; give a size"):
            nn.MultiHeadAttention(4, name="heads")(rand(1, 2, 6))


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Sizes(unittest.TestCase):
    def test_of_spread_windows(self):
        x = np.ones((1, 5, 4, 3), np.float32)
        self.assertEqual(nn.ConvTranspose2D(2, 3, strides=2, padding="same")(x).shape, (1, 10, 8, 2))
        self.assertEqual(nn.ConvTranspose2D(2, 2, strides=3, padding="same")(x).shape, (1, 15, 12, 2))
        with self.assertRaisesRegex(gt.GantryError, r"narrow takes borders of \[9\] and \[9\] off windows of \[3\], and \[1, 5, 4\] leaves nothing"):
            nn.ConvTranspose1D(2, 3, padding=9, name="narrow")(np.ones((1, 5, 4), np.float32))

    def test_rows_and_groups(self):
        for make, text in ((lambda: nn.Embedding(3, 2, padding=3, name="words"), "words has 3 rows, and row 3 is to be the padding's"),
                           (lambda: nn.GroupNorm(4, name="groups")(np.ones((2, 6), np.float32)), "groups has 4 groups, which do not divide its 6 channels")):
            with self.assertRaisesRegex(gt.GantryError, text):
                make()


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Models(unittest.TestCase):
    def test_a_way_around(self):
        """A layer that is used twice, and ways that meet: what is computed by hand."""
        x, twice = nn.Input(), nn.Dense(4, "tanh", **WIDE)
        h = twice(twice(x))
        net = nn.Model(x, nn.Dense(2, **WIDE)(nn.Concat()(nn.Add()(h, x), x)))
        given = rand(5, 4)
        net(given)
        w, b, last, c = (each.numpy() for each in net.parameters())
        inner = lambda x: np.tanh(x @ w + b)
        known = np.concatenate([inner(inner(given)) + given, given], 1) @ last + c
        close(net(given).numpy(), known)
        self.assertEqual([type(each).__name__ for each in net.layers], ["Dense", "Add", "Concat", "Dense"])
        trainer = gt.Trainer(net, "mse", optim.Adam(0.01))
        history = trainer.fit(given, rand(5, 2), epochs=20, progress=False)
        self.assertLess(history["loss"][-1], history["loss"][0])

    def test_several_inputs_and_outputs(self):
        a, b = nn.Input("left"), nn.Input("right")
        attend = nn.MultiHeadAttention(2, **WIDE)
        net = nn.Model([a, b], [attend(a, b), nn.GlobalAvgPool()(a)])
        x, y = rand(2, 3, 4), rand(2, 5, 4)
        first, second = net(x, y)
        close(first.numpy(), attend(x, y).numpy())
        close(second.numpy(), x.mean(1))
        for wrong, said in ((lambda: nn.Model(a, attend(a, b)), r"the outputs need Input\('right'\), which is not among the Model's inputs"),
                            (lambda: net(x), "takes 2 arrays, got 1"), (lambda: nn.Model(x, a), "a Model goes from Inputs to what layers give of them")):
            with self.assertRaisesRegex(gt.GantryError, said):
                wrong()


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Frozen(unittest.TestCase):
    def setUp(self):
        self.net = nn.Sequential(nn.Dense(4, "relu"), nn.BatchNorm(), nn.Dense(4), nn.Dense(2))
        self.x = rand(16, 3).astype(np.float32)
        self.y = (self.x[:, 0] > 0).astype(np.int32)
        self.trainer = gt.Trainer(self.net, lambda y, p: losses.scce(y, p, from_logits=True), optim.Adam(0.1))
        self.trainer.fit(self.x, self.y, progress=False)

    def moved(self):
        """Which variables a fit changes."""
        before = [w.numpy() for w in self.net.variables()]
        self.trainer.fit(self.x, self.y, epochs=2, progress=False)
        return [bool((a != w.numpy()).any()) for a, w in zip(before, self.net.variables())]

    def test_layers_in_the_middle(self):
        """Also behind a step that trained them: it is traced anew."""
        self.net[1].freeze()
        self.net[2].freeze()
        self.assertEqual(self.moved(), [True, True, False, False, False, False, False, False, True, True])
        step = self.trainer._step_function.lower(self.x, self.y).text
        self.assertNotIn(self.net[2].weight.name, step)
        self.net.unfreeze()
        self.assertEqual(self.moved(), [True] * 10)

    def test_variables_that_are_not_trainable(self):
        self.net[2].weight.trainable = False
        self.assertEqual(self.moved(), [True] * 6 + [False] + [True] * 3)
        self.net[2].weight.trainable = True
        self.assertEqual(self.moved(), [True] * 10)

    def test_weights_are_constants(self):
        before = self.net(self.x).numpy()
        self.assertIs(self.net.freeze(), self.net)
        text = self.net.lower(self.x).text
        self.assertNotIn("gantry.variable", text)
        np.testing.assert_allclose(self.net(self.x).numpy(), before, rtol=1e-5, atol=1e-6)
        for wrong, said in ((lambda: self.net[0].weight.assign(0), r"variable '.*/weight' is frozen: functions hold its value as a constant; unfreeze it"),
                            (lambda: self.net[0].weight.assign_add(1), "is frozen"),
                            (lambda: optim.SGD().apply(self.net[0].bias, gt.zeros(4)), "is frozen"),
                            (lambda: self.trainer.fit(self.x, self.y, progress=False), "has no parameters that are trainable")):
            with self.assertRaisesRegex(gt.GantryError, said):
                wrong()

    def test_before_there_are_variables(self):
        layer = nn.Dense(3).freeze()
        layer(self.x)
        self.assertTrue(layer.weight.frozen)
        self.assertEqual(layer.parameters(), [])
        slope = gt.grad(lambda x: gt.sum(layer(x) * layer(x)))(self.x)
        close(slope.numpy(), 2 * (self.x @ layer.weight.numpy()) @ layer.weight.numpy().T, 1e-5)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class ByVariable(unittest.TestCase):
    def test_rates_and_decay(self):
        w, v = gt.Variable(np.ones(2)), gt.Variable(np.ones(2))
        v.rate_scale, v.decay = 0.5, 0.0
        sgd, one = optim.SGD(0.1, decay=0.5), gt.array(np.ones(2))
        sgd.apply([w, v], [one, one])
        close(w.numpy(), [1 - 0.05 - 0.1] * 2)
        close(v.numpy(), [1 - 0.05] * 2)
        v.rate_scale = 0.25  # what has been traced is traced anew
        sgd.apply([w, v], [one, one])
        close(v.numpy(), [0.95 - 0.025] * 2)

    def test_narrow_weights_have_a_wide_copy(self):
        """1000 steps of which each is less than half of the last digit, and what is assigned in between counts."""
        for dtype, digit in (("bfloat16", 2.0 ** -8), ("float16", 2.0 ** -11)):
            w, sgd = gt.Variable(gt.array(np.ones(3, np.float32), dtype=dtype)), optim.SGD(1e-4)
            for _ in range(1000):
                sgd.apply(w, gt.array(np.ones(3, np.float32), dtype=dtype))
            close(w.read().astype("float64").numpy(), [0.9] * 3, digit)
            w.assign(gt.array(np.full(3, 3.0, np.float32), dtype=dtype))
            sgd.apply(w, gt.array(np.zeros(3, np.float32), dtype=dtype))
            self.assertEqual(w.read().astype("float64").numpy().tolist(), [3, 3, 3])
            self.assertIn(f"{w.name}/{sgd.name}/master", gt.variables())
