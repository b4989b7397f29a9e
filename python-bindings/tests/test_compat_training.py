"""Training by other libraries' names: PyTorch's programs against PyTorch, Keras's and MXNet's numbers against their formulas."""

import contextlib
import gc
import io
import unittest

import numpy as np

import gantry as gt
from gantry.compat import _autograd, flax, jax, mx, tf, torch as own_torch
from gantry.compat.tf import keras, v1
from tests.support import HAS_COMPILER, NEEDS_COMPILER
from tests.training import mirrored

try:
    import torch
except ImportError:
    torch = None

RANDOM = np.random.default_rng(5)


def quietly(call):
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(said):
        made = call()
    return made, said.getvalue()


# The same lines for both: `torch` is PyTorch or gantry.compat.torch, `T` makes a tensor, `load` gives a network the values it begins with.
PROGRAM = """
nn, F = torch.nn, torch.nn.functional
class Reader(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.words, self.layers = nn.Embedding(9, 3), kind(3, 5, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(10, 3)
    def forward(self, ids):
        y, state = self.layers(self.words(ids))
        return self.out(y[:, -1])
net = NETWORK
load(net)
opt = torch.optim.OPTIMIZER
scheduler = torch.optim.lr_scheduler.StepLR(opt, 2, 0.5)
loss_fn = LOSS
net.train()
losses = []
for epoch in range(2):
    for i in range(3):
        opt.zero_grad()
        loss = loss_fn(net(T(X[i * 6:i * 6 + 6])), T(Y[i * 6:i * 6 + 6]))
        loss.backward()
        opt.step()
        scheduler.step()
        losses.append(loss.item())
net.eval()
with torch.no_grad():
    outputs = net(T(X[:5])).numpy()
state = {name: values for name, values in net.state_dict().items() if not name.endswith('num_batches_tracked')}
"""
DENSE = "nn.Sequential(nn.Linear(4, 7), nn.Tanh(), nn.Linear(7, 3))"
IMAGES = ("nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), "
          "nn.Linear(16, 3), nn.LayerNorm(3))")
CROSS, SQUARES = "nn.CrossEntropyLoss()", "nn.MSELoss()"
X, IDS = RANDOM.standard_normal((18, 4)).astype(np.float32), RANDOM.integers(0, 9, (18, 5))
PICTURES = RANDOM.standard_normal((18, 2, 4, 4)).astype(np.float32)
CLASSES = RANDOM.integers(0, 3, 18)
IGNORED = np.where(np.arange(18) % 4 == 1, -100, CLASSES)
REAL = RANDOM.standard_normal((18, 3)).astype(np.float32)
PROGRAMS = {
    "sgd": (DENSE, "SGD(net.parameters(), lr=0.1)", CROSS, X, CLASSES),
    "momentum": (DENSE, "SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)", SQUARES, X, REAL),
    "absolute": (DENSE, "SGD(net.parameters(), lr=0.1, momentum=0.9)", "nn.L1Loss()", X, REAL),
    "adam": (DENSE, "Adam(net.parameters(), lr=0.01, betas=(0.8, 0.99), weight_decay=0.1)", "nn.CrossEntropyLoss(label_smoothing=0.1)", X, CLASSES),
    "adamw": (DENSE, "AdamW(net.parameters(), lr=0.01, amsgrad=True)", CROSS, X, IGNORED),
    "adamax": (DENSE, "Adamax(net.parameters(), lr=0.01)", "nn.SmoothL1Loss()", X, REAL),
    "rmsprop": (DENSE, "RMSprop(net.parameters(), lr=0.01, momentum=0.5, centered=True)", "nn.CrossEntropyLoss(reduction='sum')", X, CLASSES),
    "adagrad": (DENSE, "Adagrad(net.parameters(), lr=0.05, lr_decay=0.1, initial_accumulator_value=0.2)", SQUARES, X, REAL),
    "adadelta": (DENSE, "Adadelta(net.parameters())", "nn.MSELoss(reduction='sum')", X, REAL),
    "images": (IMAGES, "SGD(net.parameters(), lr=0.05, momentum=0.9)", CROSS, PICTURES, CLASSES),
    "words": ("nn.Sequential(nn.Embedding(9, 3, padding_idx=0), nn.Flatten(), nn.Linear(15, 3), nn.GELU())",
              "Adam(net.parameters(), lr=0.01)", CROSS, IDS, CLASSES),
    "lstm": ("Reader(nn.LSTM)", "Adam(net.parameters(), lr=0.01)", CROSS, IDS, CLASSES),
    "gru": ("Reader(nn.GRU)", "SGD(net.parameters(), lr=0.1, momentum=0.9)", CROSS, IDS, CLASSES),
    "functions": (DENSE, "Adam(net.parameters())", "lambda p, y: F.cross_entropy(p, y) + 0.1 * F.softmax(p, 1).mean()", X, CLASSES)}


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Torch(unittest.TestCase):
    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_programs(self):
        """Losses, what networks give, and all parameters, the same lines in both."""
        for name, (network, optimizer, loss, x, y) in PROGRAMS.items():
            with self.subTest(name):
                lines = PROGRAM.replace("NETWORK", network).replace("OPTIMIZER", optimizer).replace("LOSS", loss)
                torch.manual_seed(1)
                begin = {}
                theirs = {"torch": torch, "T": torch.tensor, "X": x, "Y": y,
                          "load": lambda net: begin.update({key: each.clone() for key, each in net.state_dict().items()})}
                exec(lines, theirs)
                mine = {"torch": own_torch, "T": own_torch.tensor, "X": x, "Y": y, "load": lambda net: net.load_state_dict(begin)}
                quietly(lambda: exec(lines, mine))
                np.testing.assert_allclose(mine["losses"], theirs["losses"], rtol=2e-5, atol=1e-6)
                np.testing.assert_allclose(mine["outputs"], theirs["outputs"], rtol=2e-4, atol=2e-5)
                self.assertEqual(list(mine["state"]), list(theirs["state"]))
                for key, value in theirs["state"].items():
                    np.testing.assert_allclose(mine["state"][key].numpy(), value.numpy(), rtol=2e-4, atol=2e-5, err_msg=key)
                np.testing.assert_allclose(mine["scheduler"].get_last_lr(), theirs["scheduler"].get_last_lr())

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_recurrent_layers(self):
        """What they give, their last states and their gradients, in float64; begun with a state and without one."""
        for name, options in (("RNN", {}), ("RNN", {"nonlinearity": "relu", "bias": False}), ("LSTM", {}),
                              ("LSTM", {"num_layers": 2, "bidirectional": True, "batch_first": True}), ("GRU", {"num_layers": 3}),
                              ("GRU", {"bidirectional": True, "bias": False})):
            with self.subTest(name, **options):
                theirs = getattr(torch.nn, name)(3, 4, **options).double()
                mine = getattr(own_torch.nn, name)(3, 4, dtype="float64", **options)
                self.assertEqual(list(mine.state_dict()), list(theirs.state_dict()))
                mine.load_state_dict(theirs.state_dict())
                x, rows = RANDOM.standard_normal((5, 2, 3)), 5 if options.get("batch_first") else 2
                first = RANDOM.standard_normal((len(mine._halves), rows, 4))
                for begin in (None, first if name != "LSTM" else (first, first * 2)):
                    own = lambda make: begin if begin is None else tuple(map(make, begin)) if name == "LSTM" else make(begin)
                    y, state = theirs(torch.tensor(x), own(torch.tensor))
                    z, last = mine(own_torch.tensor(x), own(own_torch.tensor))
                    pairs = [(y, z), *zip(state if name == "LSTM" else [state], last if name == "LSTM" else [last])]
                    for a, b in pairs:
                        np.testing.assert_allclose(b.numpy(), a.detach().numpy(), rtol=0, atol=1e-12)
                theirs.zero_grad(), mine.zero_grad()
                (y * y).sum().backward(), quietly(lambda: (z * z).sum().backward())
                for a, b in zip(theirs.parameters(), mine.parameters()):
                    np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), rtol=0, atol=1e-11)

    def test_wrong_sequences(self):
        layer = own_torch.nn.LSTM(3, 4)
        for text, call in (("LSTM takes sequences [t, n, k] with k = 3, got [5, 2, 4]", lambda: layer(own_torch.zeros(5, 2, 4))),
                           ("LSTM begins with h and c [1, 2, 4], got [1, 1, 4], [1, 1, 4]",
                            lambda: layer(own_torch.zeros(5, 2, 3), (own_torch.zeros(1, 1, 4),) * 2)),
                           ("GRU has at least one layer, got num_layers=0", lambda: own_torch.nn.GRU(3, 4, num_layers=0))):
            with self.assertRaises(gt.InvalidArgumentError) as caught, own_torch.no_grad():
                call()
            self.assertEqual(str(caught.exception), text)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_initial_values(self):
        """Of the same layers: between the same ends, and as far apart."""
        for lines in ("nn.Linear(40, 300)", "nn.Conv2d(4, 64, 3)", "nn.Embedding(100, 50)"):
            for mine, theirs in zip(eval(lines, {"nn": own_torch.nn}).parameters(), eval(lines, {"nn": torch.nn}).parameters()):
                mine, theirs = mine.numpy(), theirs.detach().numpy()
                self.assertEqual(mine.shape, theirs.shape)
                np.testing.assert_allclose(mine.std(), theirs.std(), rtol=0.25)
                if "Embedding" not in lines:
                    np.testing.assert_allclose(abs(mine).max(), abs(theirs).max(), rtol=0.25)

    def test_tensors_that_require_gradients(self):
        def program():
            w = own_torch.tensor([1.0, 2.0], requires_grad=True)
            for _ in range(3):
                (w * w).sum().backward()
                with own_torch.no_grad():
                    w -= 0.1 * w.grad
                w.grad = None
            return w
        w, _ = quietly(program)
        np.testing.assert_allclose(w.data.numpy(), np.array([1.0, 2.0]) * 0.8 ** 3, rtol=1e-6)
        with self.assertRaisesRegex(gt.FailedPreconditionError, "requires gradients and is changed in place; do so with torch.no_grad"):
            w += 1.0
        self.assertIsNone(w.grad)
        quietly(lambda: (w * 3.0).backward(own_torch.tensor([1.0, 2.0])))  # adds to what is there
        quietly(lambda: (w * 3.0).sum().backward())
        self.assertEqual(w.grad.tolist(), [6.0, 9.0])
        with own_torch.no_grad():
            dead = (w * w).sum()
        with self.assertRaisesRegex(gt.GantryError, "nothing on the way to it wants gradients, or it was computed where none are remembered"):
            dead.backward()

    def test_what_is_dropped_is_forgotten(self):
        net = own_torch.nn.Linear(4, 4)
        x, known = gt.ones(2, 4), _autograd.recorder()

        def look():
            gc.collect()
            return len(known._made), len(known._reads)
        net(x)
        before = look()
        for _ in range(50):
            y = net(x)
        del y
        self.assertLessEqual(look()[0], before[0] + 4)
        self.assertTrue(_autograd.is_recording())
        quietly(lambda: net(x).sum().backward())
        # Functions are plans meanwhile, and see what variables are.
        double = gt.function(lambda: net.weight * 2)
        with own_torch.no_grad():
            net.weight.assign(gt.ones(4, 4))
        net(x)
        self.assertEqual(double().numpy()[0, 0], 2)
        gt.Trainer(gt.nn.Dense(1), "mse").fit(np.ones((4, 2), np.float32), np.ones((4, 1), np.float32), progress=False)

    def test_data(self):
        rows = own_torch.utils.data.TensorDataset(own_torch.tensor(X), own_torch.tensor(CLASSES))
        loader = own_torch.utils.data.DataLoader(rows, batch_size=5, shuffle=True)
        first, second = ([y.tolist() for _, y in loader] for _ in range(2))
        self.assertEqual(([len(each) for each in first], len(loader)), ([5, 5, 5, 3], 4))
        self.assertEqual(sorted(sum(first, [])), sorted(CLASSES.tolist()))
        self.assertNotEqual(first, second)
        loader = own_torch.utils.data.DataLoader([(np.float32(i), i) for i in range(4)], batch_size=3, drop_last=True)
        self.assertEqual([[part.tolist() for part in each] for each in loader], [[[0, 1, 2], [0, 1, 2]]])


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Keras(unittest.TestCase):
    def steps(self, optimizer, gradients):
        """What a variable is after each of some gradients, which are given as they are."""
        w, made = gt.Variable(np.array([1.0, -2.0]), name="w"), []
        for gradient in gradients:
            optimizer.apply_gradients([(gt.array(np.array(gradient)), w)])
            made.append(w.numpy())
        return made

    GRADIENTS = [[1e-7, 0.5], [2e-7, -1.0], [1e-7, 0.25]]

    def by_formula(self, rule):
        w, made, slots = np.array([1.0, -2.0]), [], {}
        for t, gradient in enumerate(self.GRADIENTS, 1):
            w = rule(w, np.array(gradient), t, slots)
            made.append(w)
        return made

    def test_optimizers(self):
        """keras.io's formulas: epsilon behind the correction of Adam, inside of the root, the rate inside of the momentum."""
        def momentum(w, g, t, s):
            s["m"] = 0.9 * s.get("m", 0) - (0.1 if t < 3 else 0.01) * g
            return w + 0.9 * s["m"] - (0.1 if t < 3 else 0.01) * g  # nesterov

        def adam(w, g, t, s):
            s["m"], s["v"] = 0.9 * s.get("m", 0) + 0.1 * g, 0.999 * s.get("v", 0) + 0.001 * g * g
            return w - 0.1 * np.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t) * s["m"] / (np.sqrt(s["v"]) + 1e-7)

        def rmsprop(w, g, t, s):
            s["v"] = 0.9 * s.get("v", 0) + 0.1 * g * g
            return w - 0.1 * g / np.sqrt(s["v"] + 1e-7)

        def adagrad(w, g, t, s):
            s["v"] = s.get("v", 0.1) + g * g
            return w - 0.1 * g / np.sqrt(s["v"] + 1e-7)
        falling = keras.optimizers.schedules.PiecewiseConstantDecay([1], [0.1, 0.01])
        for made, rule in ((keras.optimizers.SGD(falling, 0.9, nesterov=True), momentum), (keras.optimizers.Adam(0.1), adam),
                           (keras.optimizers.RMSprop(0.1), rmsprop), (keras.optimizers.Adagrad(0.1), adagrad)):
            with self.subTest(type(made).__name__):
                np.testing.assert_allclose(self.steps(made, self.GRADIENTS), self.by_formula(rule), rtol=1e-9)

    def test_batch_norm(self):
        """An average keeps 0.99; variances of images enter it times n / (n - 1), others as they are."""
        for shape, unbiased in (((6, 3), False), ((2, 3, 3, 3), True)):
            x = RANDOM.standard_normal(shape).astype(np.float32)
            layer = keras.layers.BatchNormalization()
            with gt.nn.training():
                layer(gt.array(x))
            variance = x.var(tuple(range(x.ndim - 1)), ddof=int(unbiased))
            np.testing.assert_allclose(layer.moving_variance.numpy(), 0.99 + 0.01 * variance, rtol=1e-5)
            self.assertEqual([each.shape for each in layer.get_weights()], [(3,)] * 4)

    def test_synchronised_batch_norms(self):
        """By the rows of two devices, as the layer that is not synchronised does on one."""
        x = RANDOM.standard_normal((6, 3)).astype(np.float32)
        nn = own_torch.nn
        pairs = ((keras.layers.BatchNormalization(), keras.layers.BatchNormalization(synchronized=True)),
                 (nn.BatchNorm1d(3), nn.SyncBatchNorm(3)),
                 (nn.BatchNorm1d(3), nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(3)))))
        for one, synchronised in pairs:
            strategy = mirrored()
            strategy.adopt(synchronised)

            @gt.function
            def made(x):
                with gt.nn.training():
                    return gt.concat(strategy.each(synchronised, x), 0)
            with gt.nn.training(), own_torch.no_grad():
                np.testing.assert_allclose(made(x).numpy(), one(gt.array(x)).numpy(), rtol=1e-5, atol=1e-6)
            for own, other in zip(synchronised.variables(), one.variables()):
                np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)

    def test_recurrent_layers(self):
        """Their arguments are gantry.nn's by other names; their kernels and gates are Keras's as they are."""
        layers, x = keras.layers, RANDOM.standard_normal((2, 5, 3)).astype(np.float32)
        for name, gates in (("SimpleRNN", 1), ("LSTM", 4), ("GRU", 3)):
            with self.subTest(name):
                layer = getattr(layers, name)(4, return_sequences=True, return_state=True, bias_initializer="zeros")
                y, *state = layer(x)
                shapes = [(3, 4 * gates), (4, 4 * gates), (2, 12) if name == "GRU" else (4 * gates,)]
                self.assertEqual([each.shape for each in layer.get_weights()], shapes)
                np.testing.assert_array_equal(y.numpy()[:, -1], state[0].numpy())
                back = getattr(layers, name)(4, return_sequences=True, go_backwards=True)
                back(x)
                back.set_weights(layer.get_weights())
                np.testing.assert_allclose(back(x[:, ::-1].copy()).numpy(), y.numpy(), rtol=1e-6)  # in the order that they were made in
                both = layers.Bidirectional(getattr(layers, name)(4, return_sequences=True))
                both(x)
                both.set_weights(layer.get_weights() * 2)
                np.testing.assert_allclose(both(x).numpy()[..., :4], y.numpy(), rtol=1e-6)
                np.testing.assert_allclose(both(x).numpy()[..., 4:], back(x).numpy()[:, ::-1], rtol=1e-6)
        ahead, average = layers.LSTM(4), layers.Bidirectional(layers.LSTM(4), merge_mode="ave")
        ahead(x), average(x)
        average.set_weights(ahead.get_weights() * 2)
        np.testing.assert_allclose(average(x).numpy(), (ahead(x).numpy() + ahead(x[:, ::-1].copy()).numpy()) / 2, rtol=1e-5)
        with self.assertRaisesRegex(gt.InvalidArgumentError, "LSTM has no stateful=True here: return_state=True gives the state, and initial_state="):
            layers.LSTM(4, stateful=True)

    def test_masks(self):
        """Steps of the id 0 change nothing: a padded row gives what it gives alone, and learns what it learns alone."""
        layers, ids, labels = keras.layers, RANDOM.integers(1, 9, (3, 7)), np.array([0, 1, 0])
        behind = {"last": lambda: [layers.LSTM(5)], "between": lambda: [layers.Dropout(0.0), layers.Dense(4, "tanh"), layers.GRU(5)],
                  "all": lambda: [layers.GRU(5, return_sequences=True), layers.LayerNormalization(), layers.SimpleRNN(4)],
                  "both": lambda: [layers.Bidirectional(layers.LSTM(3, return_sequences=True)), layers.Bidirectional(layers.GRU(2))],
                  "mean": lambda: [layers.TimeDistributed(layers.Dense(4)), layers.GlobalAveragePooling1D()]}
        for name, make in behind.items():
            with self.subTest(name):
                gt.random.seed(2)
                net = keras.Sequential([layers.Embedding(9, 3, mask_zero=True), *make(), layers.Dense(2, "softmax")])
                padded = np.concatenate([ids, np.zeros((3, 4), ids.dtype)], 1)
                np.testing.assert_allclose(net(padded).numpy(), net(ids).numpy(), rtol=1e-5, atol=1e-6)
                weights, learned = net.get_weights(), []
                for given in (ids, padded):
                    net.set_weights(weights)
                    net.compile("sgd", "sparse_categorical_crossentropy")
                    net.fit(given, labels, epochs=2, verbose=0)
                    learned.append([each.copy() for each in net.get_weights()])
                for a, b in zip(*learned):
                    np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)
        x = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
        x[0, 1:] = -1
        masked = keras.Sequential([layers.Masking(-1.0), layers.LSTM(3)])
        np.testing.assert_allclose(masked(x).numpy()[:1], masked(x[:1, :1]).numpy(), rtol=1e-5)
        repeated = keras.Sequential([layers.RepeatVector(3)])(x[:, 0]).numpy()
        np.testing.assert_array_equal(repeated, np.stack([x[:, 0]] * 3, 1))

    def test_states_between_layers(self):
        """An encoder whose last state a decoder begins with, as a Model of Keras's, which learns."""
        layers = keras.layers
        source, target = layers.Input(shape=(5, 3)), layers.Input(shape=(4, 2))
        encoder, decoder, out = layers.LSTM(6, return_state=True), layers.LSTM(6, return_sequences=True, return_state=True), layers.Dense(2)
        y, h, c = encoder(source)
        steps, *last = decoder(target, initial_state=[h, c])
        model = keras.models.Model(inputs=[source, target], outputs=[out(steps), last[0]])
        self.assertEqual([type(each).__name__ for each in model.layers], ["LSTM", "LSTM", "Dense"])
        a, b = RANDOM.standard_normal((2, 5, 3)).astype(np.float32), RANDOM.standard_normal((2, 4, 2)).astype(np.float32)
        made = model(a, b)
        _, h, c = encoder(a)
        steps, h, c = decoder(b, initial_state=[h, c])
        np.testing.assert_allclose(made[0].numpy(), out(steps).numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(made[1].numpy(), h.numpy(), rtol=1e-5, atol=1e-6)
        both = layers.Bidirectional(layers.GRU(3, return_state=True))
        y, ahead, back = both(layers.Input(shape=(5, 3)))
        with self.assertRaisesRegex(gt.InvalidArgumentError, r"what dense\S* gives is one value; a recurrent layer gives its state, too, with "):
            y, h = layers.Dense(2)(source)
        one = keras.models.Model(inputs=source, outputs=layers.Dense(1)(layers.LSTM(4, return_state=True)(source)[1]))
        one.compile("adam", "mse")
        one.fit(a, a[:, 0, :1], epochs=1, verbose=0)

    def test_losses_by_row_and_mean(self):
        x, y = RANDOM.standard_normal((5, 3)).astype(np.float32), np.array([0, 2, 1, 1, 0])
        rows = -np.log((np.exp(x) / np.exp(x).sum(1, keepdims=True))[np.arange(5), y])
        np.testing.assert_allclose(keras.losses.sparse_categorical_crossentropy(y, x, from_logits=True).numpy(), rows, rtol=1e-5)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        np.testing.assert_allclose(loss(y[:, None], x).item(), rows.mean(), rtol=1e-5)
        weights = np.arange(5, dtype=np.float32)
        np.testing.assert_allclose(loss(y, x, sample_weight=weights).item(), (rows * weights).mean(), rtol=1e-5)
        with self.assertRaisesRegex(gt.GantryError, "SparseCategoricalCrossentropy gives the mean over all rows; reduction='none' is not there"):
            keras.losses.SparseCategoricalCrossentropy(reduction="none")

    def test_the_softmax_in_front(self):
        """The logits count whatever is said of them, as with Keras; outputs that no softmax gave are what they are."""
        x, y = RANDOM.standard_normal((6, 4)).astype(np.float32), np.arange(6) % 3
        losses = {}
        for said in (True, False):
            for activation in ("softmax", None):
                gt.random.seed(1)
                model = keras.Sequential([keras.layers.Dense(3, activation=activation)])
                model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=said))
                losses[said, activation], text = quietly(lambda: model.evaluate(x, y))
                self.assertEqual("takes what went into the softmax" in text, said and activation == "softmax")
        self.assertEqual(losses[True, "softmax"], losses[False, "softmax"])
        np.testing.assert_allclose(losses[True, "softmax"], losses[True, None], rtol=1e-6)
        self.assertNotAlmostEqual(losses[False, None], losses[True, None], places=2)

    def test_models(self):
        class Wide(keras.Model):
            def __init__(self):
                super().__init__()
                self.one, self.two, self.drop = keras.layers.Dense(8, "relu"), keras.layers.Dense(1), keras.layers.Dropout(0.5)

            def call(self, x, training=False):
                x = self.one(x)
                return self.two(self.drop(x) if training else x)
        x = RANDOM.standard_normal((40, 3)).astype(np.float32)
        y = x.sum(1)  # [n], where outputs are [n, 1]
        model = Wide()
        model.compile(keras.optimizers.Adam(0.02), "mse", ["mae"])
        history = model.fit(x, y, epochs=3, batch_size=10, verbose=0, validation_split=0.25)
        self.assertEqual((list(history.history), history.epoch), (["loss", "mae", "val_loss", "val_mae"], [0, 1, 2]))
        self.assertLess(history.history["loss"][-1], history.history["loss"][0])
        self.assertEqual(list(model.fit(x, y, epochs=1, verbose=0).history), ["loss", "mae"])
        again, inputs = Wide(), keras.Input(shape=(3,))
        again(x[:1])
        again.set_weights(model.get_weights())
        np.testing.assert_array_equal(again.predict(x), model.predict(x))
        joined = keras.layers.Concatenate()([keras.layers.Dense(2)(inputs), inputs])
        both = keras.Model(inputs, keras.layers.Add()([joined, joined]))
        self.assertEqual((both.predict(x).shape, both.count_params(), both.name[:5]), ((40, 5), 8, "model"))
        both.trainable = False
        self.assertEqual((len(both.trainable_weights), len(both.non_trainable_weights)), (0, 2))
        with self.assertRaisesRegex(gt.GantryError, r"model\w* is not compiled yet: model.compile\(optimizer=, loss=\)"):
            both.fit(x, y)
        with self.assertRaisesRegex(gt.GantryError, "Dense has no argument 'kernel_regularizer' here; penalties on weights are l2="):
            keras.layers.Dense(1, kernel_regularizer="l2")

    def test_tapes(self):
        layer, x = keras.layers.Dense(1), gt.ones(4, 2)
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean(tf.square(layer(x) - 3.0))
        (slope, bias), said = quietly(lambda: tape.gradient(loss, layer.trainable_variables))
        keras.optimizers.SGD(0.1).apply_gradients(zip([slope, bias], layer.trainable_variables))
        self.assertEqual((slope.shape, bias.shape), ((2, 1), (1,)))
        v = tf.Variable([1.0, 2.0], dtype=tf.float64)
        v.assign_add(tf.constant([1.0, 1.0], dtype=tf.float64))
        self.assertEqual((v.numpy().tolist(), v.dtype), ([2.0, 3.0], "float64"))

    def test_data(self):
        rows = tf.data.Dataset.range(10).map(lambda x: tf.cast(x, tf.float32) * 2.0, num_parallel_calls=tf.data.AUTOTUNE)
        rows = rows.shuffle(10).batch(4, drop_remainder=True).repeat(2).prefetch(tf.data.AUTOTUNE)
        made = list(rows)
        self.assertEqual(([each.shape for each in made], rows.cardinality(), repr(made[0].device)), ([(4,)] * 4, 4, "GPU:0"))
        with self.assertRaisesRegex(gt.GantryError, "each epoch has another order here"):
            rows.shuffle(3, reshuffle_each_iteration=False)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Graphs(unittest.TestCase):
    """TensorFlow 1's graph."""

    def setUp(self):
        self.addCleanup(v1.reset_default_graph)

    def test_a_run_does_what_its_fetches_need(self):
        x = v1.placeholder(v1.float32, [2], name="x")
        w = v1.get_variable("w", [2], initializer=v1.constant_initializer(3.0))
        twice, taken = w * x * 2.0, v1.assign_add(w, x)
        with v1.control_dependencies([taken]):
            behind = w + 0.0
        sess = v1.Session()
        sess.run(v1.global_variables_initializer())
        feed = {x: np.array([1.0, 2.0])}
        self.assertEqual(sess.run(twice, feed).tolist(), [6.0, 12.0])
        self.assertEqual(sess.run(w).tolist(), [3.0, 3.0])  # nothing has reached the assignment
        self.assertEqual(sess.run([taken, behind], feed)[1].tolist(), [4.0, 5.0])
        self.assertEqual(sess.run((w, {"a": twice}), feed)[1]["a"].tolist(), [8.0, 20.0])
        self.assertEqual(sess.run(v1.global_variables_initializer()), None)
        self.assertEqual(sess.run(w).tolist(), [3.0, 3.0])
        with self.assertRaisesRegex(gt.GantryError, r"a run needs a value for the placeholder 'x': feed_dict=\{x: ...\}"):
            sess.run(twice)
        with self.assertRaisesRegex(gt.GantryError, r"a graph is of one shape: it was made for \[2\], and is given \[3\]"):
            sess.run(twice, {x: np.ones(3)})

    def test_scopes(self):
        with v1.variable_scope("a"):
            one = v1.get_variable("w", [2])
            with v1.variable_scope("b"):
                two = v1.get_variable("w", [2])
        with v1.variable_scope("a", reuse=True):
            self.assertIs(v1.get_variable("w", [2]), one)
            with self.assertRaisesRegex(gt.NotFoundError, "there is no variable 'a/v' to be reused; there are a/w, a/b/w"):
                v1.get_variable("v", [2])
        self.assertIsNot(one, two)
        with v1.variable_scope("a"), self.assertRaisesRegex(gt.GantryError, "variable 'a/w' is there already; a scope with reuse=True"):
            v1.get_variable("w", [2])
        with v1.variable_scope("a", reuse=v1.AUTO_REUSE):
            self.assertIs(v1.get_variable("w", [2]), one)
        with v1.name_scope("tower_0") as scope:
            v1.add_to_collection("losses", one * 2.0)
        self.assertEqual((scope, len(v1.get_collection("losses", scope)), v1.get_collection("losses", "tower_1")), ("tower_0/", 1, []))

    def test_gradients(self):
        x = v1.placeholder(v1.float32, [3])
        w, unused = v1.get_variable("w", [3], initializer=v1.ones_initializer()), v1.get_variable("unused", [1])
        y = w * x
        loss = v1.reduce_sum(y * y) + v1.reduce_sum(w)
        of_w, of_y, of_unused = v1.gradients(loss, [w, y, unused])
        self.assertIsNone(of_unused)
        made = v1.Session().run([of_w, of_y], {x: np.array([1.0, 2.0, 3.0])})
        np.testing.assert_allclose(made, [[3, 9, 19], [2, 4, 6]])

    def test_random_numbers_and_averages(self):
        drawn = v1.random.uniform((4,))
        w = v1.get_variable("w", [4], initializer=v1.zeros_initializer())
        noise = v1.random.uniform((4,)) + w * 0.0
        step = v1.train.get_or_create_global_step()
        average = v1.train.ExponentialMovingAverage(0.9)
        train = v1.train.MomentumOptimizer(0.5, 0.9).minimize(v1.reduce_sum((w - 1.0) * (w - 1.0)), global_step=step)
        with v1.control_dependencies([train]):
            both = v1.group(average.apply([w]))
        sess, values, mean = v1.Session(), [], np.zeros(4)
        self.assertNotEqual(sess.run(noise).tolist(), sess.run(noise).tolist())  # in each run others
        self.assertEqual(np.shape(sess.run(drawn)), (4,))
        for _ in range(3):
            sess.run(both)
            values.append(sess.run(w))
            mean = 0.9 * mean + 0.1 * values[-1]
        np.testing.assert_allclose(sess.run(average.average(w)), mean, rtol=1e-6)
        self.assertEqual(int(sess.run(step)), 3)
        buffer, known = 0.0, 0.0
        for value in values:
            buffer = 0.9 * buffer + 2 * (known - 1)
            known -= 0.5 * buffer
            np.testing.assert_allclose(value, [known] * 4, rtol=1e-5)

    def test_an_iterator_ends(self):
        rows = v1.data.Dataset.from_tensor_slices(np.arange(4, dtype=np.float32)).batch(2)
        value, sess = v1.data.make_one_shot_iterator(rows).get_next() * 2.0, v1.Session()
        self.assertEqual([sess.run(value).tolist() for _ in range(2)], [[0, 2], [4, 6]])
        with self.assertRaisesRegex(v1.errors.OutOfRangeError, "the iterator has no more elements"):
            sess.run(value)

    def test_a_graph_of_its_own(self):
        with v1.Graph().as_default() as graph:
            w = v1.get_variable("w", [1], initializer=v1.ones_initializer())
            y = w + 1.0
            self.assertEqual(v1.Session(graph=graph).run(y).tolist(), [2.0])
        self.assertEqual((gt.ones(2) + 1.0).tolist(), [2.0, 2.0])  # at once again
        with self.assertRaisesRegex(gt.GantryError, "TensorFlow 1's graph cannot be made while a gantry.function is traced"):
            gt.function(lambda x: v1.get_variable("w", [1]) + x)(gt.ones(1))


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Others(unittest.TestCase):
    def test_gluon(self):
        """A sum over a batch, which a step divides: against NumPy."""
        net = mx.gluon.nn.Sequential()
        net.add(mx.gluon.nn.Dense(1))
        net.initialize(mx.init.Constant(0.5))
        x, y = X[:6], X[:6].sum(1)
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        loss, w, b, buffer = mx.gluon.loss.L2Loss(), np.full(4, 0.5), 0.0, np.zeros(5)
        for _ in range(3):
            with mx.autograd.record():
                made = loss(net(mx.np.array(x)), mx.np.array(y))
            self.assertEqual((made.shape, mx.autograd.is_recording()), ((6,), False))
            quietly(made.backward)
            trainer.step(6)
            error = x @ w + b - y
            np.testing.assert_allclose(made.numpy(), error * error / 2, rtol=1e-4, atol=1e-6)
            buffer = 0.9 * buffer - 0.1 * np.concatenate([x.T @ error, [error.sum()]]) / 6
            w, b = w + buffer[:4], b + buffer[4]
        np.testing.assert_allclose(net[0].weight.data().numpy()[0], w, rtol=1e-4)
        net.initialize(mx.init.Constant(0.25), force_reinit=True)
        self.assertEqual(set(net[0].weight.data().numpy().ravel().tolist()), {0.25})
        with self.assertRaisesRegex(gt.FailedPreconditionError, "no parameter has a gradient"):
            mx.gluon.Trainer(net.collect_params(), "sgd").step(1)

    def test_arrays_with_gradients(self):
        x = mx.np.array([0.0, 1.0, 2.0])
        x.attach_grad()
        self.assertEqual(x.grad.tolist(), [0, 0, 0])
        with mx.autograd.record():
            y = x * x * 2
            with mx.autograd.pause():
                z = y * 3
        quietly(y.backward)
        self.assertEqual((x.grad.tolist(), mx.np.array([1.0]).grad), ([0, 4, 8], None))
        with self.assertRaisesRegex(gt.GantryError, "nothing on the way to it wants gradients"):
            z.backward()

    def test_linen(self):
        net = flax.linen.Sequential([flax.linen.Dense(4), flax.linen.relu, flax.linen.Dense(2)])
        key = jax.random.PRNGKey(3)
        one, two = net.init(key, X[:2]), net.init(key, X[:2])
        self.assertEqual(list(one["params"]), ["layers_0", "layers_2"])
        for mine, theirs in zip(jax.tree_util.tree_leaves(one), jax.tree_util.tree_leaves(two)):
            np.testing.assert_array_equal(mine.numpy(), theirs.numpy())  # the key decides
        with self.assertRaisesRegex(ValueError, "FrozenDict is immutable"):
            one["params"] = {}
        w0, w2 = (one["params"][name]["kernel"].numpy() for name in ("layers_0", "layers_2"))
        np.testing.assert_allclose(net.apply(one, gt.array(X)).numpy(), np.maximum(X @ w0, 0) @ w2, rtol=1e-5, atol=1e-6)
        loss = lambda params, x: gt.sum(net.apply(params, x))
        value, slopes = jax.jit(jax.value_and_grad(loss))(one.unfreeze(), gt.array(X))
        np.testing.assert_allclose(slopes["params"]["layers_2"]["bias"].numpy(), [18, 18])
        stepped = jax.tree_util.tree_map(lambda w, g: w - 0.1 * g, one.unfreeze(), slopes)
        self.assertLess(float(loss(stepped, gt.array(X))), float(value))
