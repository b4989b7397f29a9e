"""Shares of a batch by what devices are predicted to take: weights="auto", and the time of each replica."""

import contextlib
import io
import unittest

import numpy as np

import gantry as gt
from gantry import _balance, nn
from tests.support import HAS_COMPILER, NEEDS_COMPILER
from tests.training import mirrored, scce

RANDOM = np.random.default_rng(3)
X, Y = RANDOM.standard_normal((64, 256)).astype(np.float32), RANDOM.integers(0, 3, 64)


def trainer(strategy):
    gt.random.seed(0)
    net = nn.Sequential(nn.Dense(512, "tanh"), nn.Dense(512, "tanh"), nn.Dense(3))
    return gt.Trainer(net, loss=scce, optimizer="adam", strategy=strategy)


class Shares(unittest.TestCase):
    def test_the_last_one_ends_early(self):
        """Against all ways of sharing out."""
        for _ in range(40):
            costs, rows = [(RANDOM.uniform(0, 5), RANDOM.uniform(0.1, 2)) for _ in range(3)], int(RANDOM.integers(1, 13))
            last = lambda counts: max(map(_balance.end, costs, counts))
            best = min(last((i, j, rows - i - j)) for i in range(rows + 1) for j in range(rows + 1 - i))
            found = _balance.shares(rows, costs)
            self.assertEqual(sum(found), rows)
            self.assertLessEqual(last(found), best + 1e-12)

    def test_as_equal_as_they_can_be(self):
        self.assertEqual(_balance.shares(32, _balance.alike([(56.7, 0.02), (53.7, 0.02)])), (16, 16))
        self.assertEqual(_balance.shares(32, _balance.alike([(56.7, 0.02), (43.7, 0.02)])), (0, 32))
        self.assertEqual(_balance.shares(9, [(1.0, 1.0)] * 4), (3, 2, 2, 2))
        self.assertEqual(_balance.shares(30, [(0.0, 1.0), (0.0, 2.0)]), (20, 10))
        self.assertEqual(_balance.shares(8, [(0.0, 1.0), (100.0, 1.0)]), (8, 0))

    def test_cost(self):
        """What two shares take; one that is predicted to take less for more rows still takes something for each."""
        fixed, slope = _balance.cost(4, 14.0, 8, 18.0)
        self.assertEqual((fixed, slope), (10.0, 1.0))
        self.assertGreater(_balance.cost(4, 18.0, 8, 14.0)[1], 0)
        self.assertEqual(_balance.cost(1, 0.0, 2, 0.0)[0], 0.0)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Auto(unittest.TestCase):
    def told(self, call):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            made = call()
        return made, [line.partition(": remark: ")[2] for line in said.getvalue().splitlines() if "weights=" in line]

    def test_equal_devices(self):
        strategy = mirrored(weights="auto")
        self.assertEqual(repr(strategy), "Mirrored(['GPU:0', 'GPU:1'], weights=\"auto\")")
        made = trainer(strategy)
        _, said = self.told(lambda: made.fit(X, Y, epochs=1, batch=24, progress=False))
        self.assertEqual(strategy.weights, (12, 12))
        self.assertRegex("\n".join(said), r'^weights="auto": of 24 rows GPU:0 gets 12, GPU:1 gets 12; the last replica is predicted to take '
                         r"(\S+ us), with equal shares \1 \(GPU:0 \S+ us and \S+ ns a row, GPU:1 \S+ us and \S+ ns a row\)$")

    def test_a_slow_device(self):
        """It has no rows, and what is learned is what one device learns; all looks at a strategy find the same."""
        learned = []
        for look in (lambda made: made.fit(X, Y, epochs=1, batch=32, progress=False, steps_per_run=2),
                     lambda made: made.plan(X[:32], Y[:32]), lambda made: made.evaluate(X[:32], Y[:32]),
                     lambda made: made.lower(X[:32], Y[:32])):
            strategy = gt.Towers(["GPU:0", "CPU:0"], weights="auto", parts=8)
            made = trainer(strategy)
            _, said = self.told(lambda: look(made))
            self.assertEqual((strategy.weights, len(said)), ((32, 0), 1))
            learned.append(made)
        one = trainer(None)
        one.fit(X, Y, epochs=1, batch=32, progress=False)
        np.testing.assert_allclose(learned[0].net[0].weight.numpy(), one.net[0].weight.numpy(), rtol=0, atol=1e-5)

    def test_one_device(self):
        _, said = self.told(lambda: trainer(mirrored(["GPU:1"], weights="auto")).fit(X, Y, epochs=1, progress=False))
        self.assertEqual(said, [])

    def test_steps_of_ones_own(self):
        strategy = mirrored(weights="auto")
        with self.assertRaises(gt.InvalidArgumentError) as caught:
            gt.function(lambda x: strategy.each(lambda x: x, x)).lower(X)
        self.assertEqual(str(caught.exception),
                         "weights=\"auto\" are found by a Trainer, in front of its first step; a step of one's own takes numbers")

    def test_time_of_each_replica(self):
        plan = trainer(mirrored(weights=[3, 1])).plan(X[:64], Y[:64])
        told = plan.explain(json=True)["functions"][0]
        seconds = {each["device"].rpartition("device:")[2]: each["predicted_compute_seconds"] for each in told["devices"]}
        self.assertEqual([(each.number, repr(each.device)) for each in plan.replicas], [(0, "GPU:0"), (1, "GPU:1")])
        for each in plan.replicas:
            self.assertEqual(each.seconds, seconds[repr(each.device)])
            self.assertTrue(0 < each.seconds < each.end <= told["predicted_seconds"] * 1.000001)
        self.assertEqual(trainer(None).plan(X, Y).replicas, ())


if __name__ == "__main__":
    unittest.main()
