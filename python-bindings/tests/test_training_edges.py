"""Where training has its corners: shards and batches of one row or none, variables that are assigned on the way, data that end early, two
trainers at once, memory over many steps."""

import threading
import unittest

import numpy as np

import gantry as gt
from gantry import nn, optim
from gantry.data import Dataset
from tests.support import HAS_COMPILER, LONG, NEEDS_COMPILER, run
from tests.training import mirrored, scce

RANDOM = np.random.default_rng(2)
X = RANDOM.standard_normal((19, 4)).astype(np.float32)
Y = X[:, :3].argmax(1).astype(np.int32)


def fitted(layers, strategy=None, rows=19, batch=9, epochs=2, optimizer=None, **options):
    """The trainer after some epochs, all in float64; `optimizer` and other options are functions that make them."""
    gt.random.seed(0)
    options = {name: make() for name, make in options.items()}
    made = gt.Trainer(nn.Sequential(*layers()), scce, (optimizer or (lambda: optim.Adam(0.05)))(), metrics=["accuracy"], strategy=strategy, **options)
    made.fit(X[:rows].astype(np.float64), Y[:rows], epochs=epochs, batch=batch, progress=False, validation=(X[:1].astype(np.float64), Y[:1]))
    return made


def wide(units, *arguments):
    return nn.Dense(units, *arguments, dtype="float64")


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Rows(unittest.TestCase):
    """19 rows in batches of 9: the last is of one row, of which one replica has it, and so is the validation."""

    def same(self, layers, tolerance=1e-12, strategies=None, **options):
        one = fitted(layers, **options)
        for strategy in strategies or (mirrored(), mirrored(weights={"GPU:0": 0, "GPU:1": 1}), gt.Towers(gt.gpus(), variables="CPU:0")):
            with self.subTest(str(strategy)):
                many = fitted(layers, strategy, **options)
                for mine, theirs in zip(many.net.variables(), one.net.variables()):
                    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=0, atol=tolerance)
                for name, values in one.history.history.items():
                    np.testing.assert_allclose(many.history[name], values, atol=2e-6)
        return one

    def test_empty_shards(self):
        self.same(lambda: [wide(6, "tanh"), wide(3)])

    def test_empty_shards_with_a_scale_and_clipping(self):
        one = self.same(lambda: [wide(6, "tanh"), wide(3)], optimizer=lambda: optim.Adam(0.05, clip_global_norm=0.5),
                        loss_scale=lambda: optim.LossScale(initial=64.0, every=2))
        self.assertEqual(one.skipped, 0)

    def test_a_batch_of_one_row_is_its_own_plan(self):
        made = fitted(lambda: [wide(6, "tanh"), wide(3)])
        self.assertEqual(int(made.optimizer.step), 6)
        self.assertEqual(len(made._step_function._made), 2)

    def test_dropout_behind_a_transpose(self):
        """Rows come second where it draws: [6, n]."""
        turned = lambda x: gt.transpose(x, (1, 0))
        self.same(lambda: [wide(6), turned, nn.Dropout(0.5), turned, wide(3)])

    def test_a_batch_norm_of_one_row(self):
        """Centred, it is its bias; a replica that has no row changes no average."""
        layers = lambda: [nn.BatchNorm(dtype="float64"), wide(3)]
        one = fitted(layers, rows=1, batch=1, epochs=3)
        many = fitted(layers, mirrored(), rows=1, batch=1, epochs=3)
        for mine, theirs in zip(many.net.variables(), one.net.variables()):
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=0, atol=1e-12)
        np.testing.assert_allclose(one.net[0].variance.numpy(), [0.9 ** 3] * 4, rtol=1e-12)
        np.testing.assert_allclose(one.net[0].mean.numpy(), X[0].astype(np.float64) * (1 - 0.9 ** 3), rtol=1e-12)
        # Three rows on two devices: two and one.
        three = fitted(layers, mirrored(), rows=3, batch=3, epochs=1)
        np.testing.assert_allclose(three.net[0].mean.numpy(), 0.1 * X[:3].astype(np.float64).mean(0), rtol=1e-12)
        np.testing.assert_allclose(three.net[0].variance.numpy(), 0.9 + 0.1 * X[:3].astype(np.float64).var(0), rtol=1e-12)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Assigned(unittest.TestCase):
    """Variables that change on the way to a loss."""

    def setUp(self):
        self.w, self.seen = gt.Variable(np.float64(3.0), name="factor"), gt.Variable(np.float64(0.0), name="seen")

    def test_inside_of_the_loss(self):
        """What is assigned counts from there on, in the gradient too."""
        w, seen = self.w, self.seen

        def loss(x):
            first = w * x
            seen.assign(first)
            w.assign(w * 2.0)
            return first + w * w  # 3 x + (2 w)^2
        value, slope = gt.value_and_grad(loss, wrt=w)(gt.array(np.float64(5.0)))
        self.assertEqual((float(value), float(slope), float(w), float(seen)), (15 + 36, 5 + 8 * 3, 6.0, 15.0))

    def test_in_a_loop(self):
        w, seen = self.w, self.seen

        @gt.function
        def rounds(count):
            def body(i):
                seen.assign_add(w * 1.0)
                w.assign(w * 0.5)
                return i + 1
            return gt.while_loop(lambda i: i < count, body, gt.array(0))
        self.assertEqual(int(rounds(gt.array(3))), 3)
        self.assertEqual((float(w), float(seen)), (0.375, 3 + 1.5 + 0.75))
        self.assertEqual(int(rounds(gt.array(0))), 0)  # no round at all
        self.assertEqual((float(w), float(seen)), (0.375, 5.25))

    def test_in_a_branch_that_is_never_taken(self):
        w = self.w

        @gt.function
        def maybe(x):
            gt.cond(x > 0.0, lambda: (w.assign(x), ())[1], lambda: ())
            return w * 1.0
        self.assertEqual(float(maybe(gt.array(np.float64(-1.0)))), 3.0)
        self.assertEqual(float(maybe(gt.array(np.float64(8.0)))), 8.0)

    def test_in_the_loop_of_a_loss(self):
        """What is differentiated cannot be assigned in there; others can."""
        w, seen = self.w, self.seen

        def loss(x, own):
            def body(state):
                i, y = state
                own.assign_add(y)
                return i + 1, y * w
            return gt.while_loop(lambda state: state[0] < 3, body, (gt.array(0), x))[1]
        x = gt.array(np.float64(2.0))
        self.assertEqual(float(gt.grad(lambda x: loss(x, seen), wrt=w)(x)), 2 * 3 * 9)
        self.assertEqual(float(seen), 2 + 6 + 18)
        with self.assertRaisesRegex(gt.GantryError, r"variable 'factor\w*' is assigned in a branch or loop of what is differentiated with respect to it"):
            gt.grad(lambda x: loss(x, w), wrt=w)(x)

    def test_in_a_replica(self):
        """What replicas add is added up; assigning is refused, also by a layer in a fit."""
        class Counts(nn.Module):
            def __init__(self, add):
                super().__init__()
                self.out, self.rows, self._add = wide(3), gt.Variable(np.float64(0.0), name="rows", trainable=False), add

            def forward(self, x):
                (self.rows.assign_add if self._add else self.rows.assign)(gt.sum(x * 0.0) + float(x.shape[0]))
                return self.out(x)
        for add, text in ((True, r"variable 'rows\w*' is added to in a branch or loop, or in what is differentiated, of a replica"),
                          (False, r"variable 'rows\w*' is assigned in a replica, which has only some of the batch's rows")):
            net = Counts(add)
            made = gt.Trainer(net, scce, strategy=mirrored())
            with self.assertRaisesRegex(gt.GantryError, text):
                made.fit(X.astype(np.float64), Y, progress=False)
            self.assertEqual(int(made.optimizer.step), 0)
        gt.Trainer(Counts(False), scce).fit(X.astype(np.float64), Y, batch=9, progress=False)  # on one device it is what it says


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Data(unittest.TestCase):
    def made(self):
        gt.random.seed(0)
        return gt.Trainer(nn.Dense(3, "softmax"), metrics=["accuracy"])

    def test_shorter_than_a_batch(self):
        """One batch of what there is; with drop_remainder there is none, which is told."""
        rows = Dataset.from_slices((X[:3], Y[:3]))
        known = self.made()
        known.fit(X[:3], Y[:3], batch=3, progress=False)
        for data, options in (((X[:3], Y[:3]), {"batch": 32}), ((rows.batch(32),), {}), ((rows,), {"batch": 8}), ((rows.batch(8),), {"steps_per_run": 4})):
            made = self.made()
            history = made.fit(*data, validation=rows.batch(64), shuffle=False, progress=False, **options)
            self.assertEqual(int(made.optimizer.step), 1)
            self.assertEqual(made.net.weight.numpy().tobytes(), known.net.weight.numpy().tobytes())
            self.assertEqual(set(history.history), {"loss", "accuracy", "val_loss", "val_accuracy"})
        made = self.made()
        for data, text in ((rows.batch(8, drop_remainder=True), "gives no batch; drop_remainder leaves out one that is not full"),
                           (Dataset.from_slices((X[:0], Y[:0])).batch(4), "gives no batch"), (Dataset.from_generator(lambda: iter(())).batch(4), "gives no batch")):
            with self.assertRaisesRegex(gt.GantryError, text):
                made.fit(data, progress=False)
        with self.assertRaisesRegex(gt.GantryError, r"training takes rows, got an array of shape \[0, 4\]"):
            made.fit(X[:0], Y[:0], progress=False)
        self.assertEqual(int(made.optimizer.step), 0)

    def test_a_generator(self):
        def pairs():
            yield from zip(X, Y)
        known, made = self.made(), self.made()
        known.fit(X, Y, batch=4, epochs=2, shuffle=False, progress=False)
        made = self.made()
        made.fit(Dataset.from_generator(pairs), batch=4, epochs=2, progress=False)
        self.assertEqual(made.net.weight.numpy().tobytes(), known.net.weight.numpy().tobytes())
        with self.assertRaisesRegex(gt.GantryError, r"of a function that makes a generator of \(x, y\), gantry.data.Dataset.from_generator"):
            made.fit(pairs(), progress=False)

        def fails():
            yield from zip(X[:8], Y[:8])
            raise ValueError("the source ends here")
        steps = int(made.optimizer.step)
        with self.assertRaisesRegex(ValueError, "the source ends here"):
            made.fit(Dataset.from_generator(fails).prefetch(1), batch=4, progress=False)
        self.assertEqual(int(made.optimizer.step) - steps, 2)
        made.fit(Dataset.from_generator(pairs), batch=4, progress=False)  # and goes on

    def test_labels_that_are_none(self):
        made = self.made()
        rows = Dataset.from_generator(lambda: iter([(X[i], Y[i] + 5 * (i == 9)) for i in range(19)]))
        with self.assertRaisesRegex(gt.GantryError, "the network gives 3 classes, and labels go from 0 to"):
            made.fit(rows, batch=4, progress=False)
        self.assertEqual(int(made.optimizer.step), 2)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class AtOnce(unittest.TestCase):
    def test_two_trainers_in_two_threads(self):
        """Each ends as it does alone, whoever comes first."""
        def fit(made, device):
            with gt.device(device):
                made.fit(X, Y, batch=4, epochs=8, progress=False)

        def make(device):
            gt.random.seed(4)
            made = gt.Trainer(nn.Sequential(nn.Dense(8, "relu"), nn.Dropout(0.3), nn.Dense(3, "softmax")).to(device), optimizer=optim.Adam(0.02))
            made.predict(X[:1])  # so that it has its variables
            return made
        devices = ("GPU:0", "GPU:1")
        alone = [make(device) for device in devices]
        for made, device in zip(alone, devices):
            fit(made, device)
        both = [make(device) for device in devices]
        threads = [threading.Thread(target=fit, args=given) for given in zip(both, devices)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for mine, known in zip(both, alone):
            for w, same in zip(mine.net.variables(), known.net.variables()):
                self.assertEqual(w.numpy().tobytes(), same.numpy().tobytes())
            self.assertEqual(mine.history["loss"], known.history["loss"])


# What is resident before and behind many steps, in KiB, and how many variables there are.
FLAT = """
import gc, tempfile
import numpy as np
import gantry as gt
from gantry import callbacks, nn, optim
from gantry.data import Dataset
random = np.random.default_rng(0)
x, y = random.standard_normal((64, 4)).astype(np.float32), random.integers(0, 3, 64).astype(np.int32)
def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4, len(gt.variables())
def flat(some, many, most):
    some()
    some()
    before = resident()
    many()
    after = resident()
    print(after[0] - before[0] < most or after[0] - before[0], after[1] == before[1])
"""


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Flat(unittest.TestCase):
    """Steps leave nothing behind: 100,000 of them where runs may be long."""

    STEPS = 100_000 if LONG else 5_000

    def check(self, program, devices="", lines=1):
        self.assertEqual(run(FLAT + program.replace("STEPS", str(self.STEPS)), devices=devices, timeout=3600), "True True\n" * lines)

    def test_fit(self):
        """With data from a thread, metrics, a schedule, clipping, validation and checkpoints."""
        self.check("""
with tempfile.TemporaryDirectory() as folder:
    trainer = gt.Trainer(nn.Sequential(nn.Dense(8, "relu"), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(3, "softmax")), metrics=["accuracy", "top_5"],
                         optimizer=optim.Adam(optim.cosine(1e-3, 10 ** 6), clip_global_norm=1.0))
    rows = Dataset.from_slices((x, y)).shuffle(16).batch(8).prefetch(2)
    def fit(steps):
        trainer.fit(rows.repeat(steps // 8), epochs=1, validation=rows, progress=False, callbacks=[callbacks.Checkpoint(folder, every_steps=500, keep=2)])
    flat(lambda: fit(1000), lambda: fit(STEPS), 4096)
""")

    def test_on_a_device_with_a_scale(self):
        self.check("""
trainer = gt.Trainer(nn.Dense(3, "softmax"), math="f16", loss_scale=optim.LossScale(initial=8.0, every=100, most=64.0))
rows = Dataset.from_slices((x, y)).batch(8).prefetch(2, device="GPU:0")
fit = lambda steps: trainer.fit(rows.repeat(steps // 8), progress=False)
flat(lambda: fit(400), lambda: fit(STEPS // 2), 4096)
""", devices="GPU:0")

    def test_steps_by_other_names(self):
        """PyTorch's loop, and TensorFlow 1's runs."""
        self.check("""
import contextlib, io
from gantry.compat import torch
from gantry.compat.tf import v1
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
optimizer, loss = torch.optim.Adam(net.parameters()), torch.nn.CrossEntropyLoss()
a, b = torch.tensor(x[:8]), torch.tensor(y[:8].astype(np.int64))
def steps(count):
    for _ in range(count):
        optimizer.zero_grad()
        loss(net(a), b).backward()
        optimizer.step()
with contextlib.redirect_stderr(io.StringIO()):
    flat(lambda: steps(100), lambda: steps(STEPS // 5), 4096)
held = v1.placeholder(v1.float32, [8, 4])
w = v1.get_variable("w", [4, 3])
train = v1.train.AdamOptimizer().minimize(v1.reduce_mean(v1.matmul(held, w) * v1.matmul(held, w)))
sess = v1.Session()
def runs(count):
    for _ in range(count):
        sess.run(train, {held: x[:8]})
flat(lambda: runs(100), lambda: runs(STEPS // 5), 4096)
""", devices="CPU:0", lines=2)
