"""Steps that are skipped where a gradient is not finite: with a loss scale, and as errors."""

import contextlib
import io
import tempfile
import unittest

import numpy as np

import gantry as gt
from gantry import callbacks, nn, optim
from tests.support import HAS_COMPILER, NEEDS_COMPILER
from tests.training import mirrored

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((64, 4)).astype(np.float32)
Y = X[:, :3].argmax(1).astype(np.int32)
BAD = X.copy()
BAD[19, 2] = np.inf  # of the second batch of 16


def trainer(optimizer=None, **options):
    gt.random.seed(0)
    return gt.Trainer(nn.Sequential(nn.Dense(8, "relu"), nn.Dense(3, "softmax")), optimizer=optimizer or optim.Adam(0.01), **options)


def fitted(made, x=X, **options):
    """What it says on stderr, and its bytes afterwards."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        made.fit(x, Y[:len(x)], batch=16, shuffle=False, progress=False, **options)
    return said.getvalue(), bytes_of(made)


def bytes_of(made):
    return [w.numpy().tobytes() for w in made.net.variables()], int(made.optimizer.step)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Skipped(unittest.TestCase):
    def test_a_scale_of_two_changes_no_bit(self):
        scaled = trainer(loss_scale=optim.LossScale(initial=1024.0, every=3))
        self.assertEqual(fitted(scaled, epochs=2), fitted(trainer(), epochs=2))
        self.assertEqual((float(scaled._guard.scale.value), scaled.skipped), (4096.0, 0))  # 8 steps: doubled twice

    def test_a_step_is_skipped_and_told(self):
        """As if its batch had not been there, but for the scale; on one device and on several."""
        kept = np.concatenate([X[:16], X[32:]]), np.concatenate([Y[:16], Y[32:]])
        known = trainer()
        known.fit(*kept, batch=16, shuffle=False, progress=False)
        for strategy in (None, mirrored(), gt.Towers(gt.gpus(), variables="CPU:0")):
            made = trainer(loss_scale=optim.LossScale(initial=8.0), strategy=strategy)
            said, (weights, step) = fitted(made, BAD)
            self.assertEqual(said, "gantry: warning: 1 step was skipped, whose gradients were not finite; the loss scale is 4 now\n")
            self.assertEqual((made.skipped, step, float(made._guard.scale.value)), (1, 3, 4.0))
            for mine, theirs in zip(made.net.variables(), known.net.variables()):
                np.testing.assert_allclose(mine.numpy(), theirs.numpy(), atol=1e-6)
            if strategy is None:
                self.assertEqual(weights, bytes_of(known)[0])

    def test_f16_has_a_scale(self):
        made = trainer(math="f16")
        fitted(made, epochs=2)
        self.assertEqual((float(made._guard.scale.value), made.skipped), (2.0**15, 0))
        self.assertLess(made.history["loss"][1], made.history["loss"][0])
        self.assertIsNone(trainer(math="f16", loss_scale=False)._guard)
        self.assertIsNone(trainer(math="bf16")._guard)

    def test_small_gradients_of_f16(self):
        """A gradient that is 0 in float16 without a scale: the factors of the way back are rounded."""
        moved = []
        for scale in (False, optim.LossScale(initial=2.0**20)):
            gt.random.seed(1)
            net = nn.Sequential(nn.Dense(4), nn.Dense(4))
            made = gt.Trainer(net, lambda y, p: gt.mean(p) * 1e-7, optim.SGD(1e6), math="f16", loss_scale=scale)
            net(X[:1])
            before = net[0].weight.numpy()
            made.fit(X[:16], Y[:16], progress=False)
            moved.append(float(abs(net[0].weight.numpy() - before).max()))
        self.assertEqual(moved[0], 0)
        self.assertGreater(moved[1], 0)

    def test_ten_in_a_row(self):
        made = trainer(loss_scale=optim.LossScale(initial=2.0))
        before = bytes_of(made)[1]
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaisesRegex(
                gt.GantryError, "10 steps in a row were skipped, since their gradients were not finite: nothing is learnt any more; a lower rate"):
            made.fit(np.full((40, 4), np.nan, np.float32), Y[:40], batch=4, progress=False, log_every=10)
        self.assertEqual((made.skipped, bytes_of(made)[1] - before), (10, 0))

    def test_a_checkpoint_has_the_scale(self):
        with tempfile.TemporaryDirectory() as folder:
            whole = trainer(loss_scale=optim.LossScale(initial=8.0, every=3))
            fitted(whole, BAD, epochs=3)
            broken = trainer(loss_scale=optim.LossScale(initial=8.0, every=3))
            fitted(broken, BAD, epochs=1, callbacks=[callbacks.Checkpoint(folder)])
            again = trainer(loss_scale=optim.LossScale(initial=8.0, every=3))
            fitted(again, BAD, epochs=1, resume=folder)
            fitted(again, BAD, epochs=2)
            self.assertEqual(bytes_of(again), bytes_of(whole))
            self.assertEqual(([float(v) for v in again._guard.variables()]), [float(v) for v in whole._guard.variables()])
            with self.assertRaisesRegex(gt.GantryError, "the checkpoint has 'guard/0', and this trainer has not"):
                fitted(trainer(), BAD, resume=folder)

    def test_wrong_scales(self):
        for given in ({"initial": 0.5}, {"factor": 1.0}, {"every": 0}, {"initial": 2.0**30}):
            with self.assertRaisesRegex(gt.GantryError, "LossScale: 0 < least <= initial <= most, factor above 1"):
                optim.LossScale(**given)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class CheckFinite(unittest.TestCase):
    def test_before_a_variable_has_changed(self):
        """The network is that of the step before, which a fit of that batch alone gives."""
        for strategy in (None, mirrored()):
            known = trainer(strategy=strategy)
            known.fit(X[:16], Y[:16], batch=16, shuffle=False, progress=False)
            made = trainer(strategy=strategy, check_finite=True)
            with self.assertRaisesRegex(gt.GantryError, "^step 2: the loss, or the gradient of 'layers.0.weight', is not finite; the network and the "
                                                        "optimizer are those of the step before$"):
                fitted(made, BAD)
            self.assertEqual(bytes_of(made)[1], 1)
            for mine, theirs in zip(made.net.variables(), known.net.variables()):
                np.testing.assert_allclose(mine.numpy(), theirs.numpy(), atol=1e-7)
            fitted(made)  # and goes on with better data
            self.assertEqual(bytes_of(made)[1], 5)

    def test_a_loss_alone(self):
        made = gt.Trainer(nn.Dense(1), lambda y, p: gt.mean(p) + float("inf"), check_finite=True)
        with self.assertRaisesRegex(gt.GantryError, "step 1: the loss, or the gradient of 'weight', is not finite"):
            made.fit(X, Y, progress=False)

    def test_a_later_gradient_is_named(self):
        def loss(y, p):
            return gt.mean(p) + gt.mean(gt.sqrt(net[1].bias * 0.0))  # the root's slope at 0
        net = nn.Sequential(nn.Dense(2), nn.Dense(1))
        made = gt.Trainer(net, loss, check_finite=True)
        with self.assertRaisesRegex(gt.GantryError, "step 1: the loss, or the gradient of 'layers.1.bias', is not finite"):
            made.fit(X, Y, progress=False)
