"""Loops that stack what their steps leave behind: op by op, as functions, and by the tool, bit for bit."""

import os
import subprocess
import tempfile
import unittest

import numpy as np

import gantry as gt
from tests.support import BUILD, HAS_COMPILER, NEEDS_COMPILER


def recurrent(x, w, h):
    """Steps of a recurrent cell: the last state, and every state."""
    def step(state, row):
        state = gt.tanh(row + state @ w)
        return state, {"state": state, "sum": gt.sum(state)}
    return gt.scan(step, h, x)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Scan(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(7)
        self.x, self.w, self.h = (random.standard_normal(shape).astype(np.float32)
                                  for shape in ((6, 1, 5), (5, 5), (1, 5)))

    def test_a_recurrent_cell_three_ways(self):
        given = [gt.array(values) for values in (self.x, self.w, self.h)]
        last, states = recurrent(*given)
        traced = gt.function(recurrent)
        again, stacked = traced(*given)
        outputs = [last.numpy(), states["state"].numpy(), states["sum"].numpy()]
        self.assertEqual([values.shape for values in outputs], [(1, 5), (6, 1, 5), (6,)])
        for ours, theirs in zip(outputs, (again, stacked["state"], stacked["sum"])):
            self.assertEqual(ours.tobytes(), theirs.numpy().tobytes())
        with tempfile.TemporaryDirectory() as folder:
            inputs = []
            for i, values in enumerate((self.x, self.w, self.h)):
                np.save(f"{folder}/{i}.npy", values)
                inputs.append(f"--input=input{i}={folder}/{i}.npy")
            traced.lower(*given).save(f"{folder}/scan.mlir")
            subprocess.run([BUILD / "bin/gantry", "run", f"{folder}/scan.mlir", *inputs, "--devices=GPU:0,GPU:1",
                            "--simulate", f"--output={folder}/out.npz"], check=True, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, env={**os.environ, "GANTRY_CACHE_SIZE": "0"})
            with np.load(f"{folder}/out.npz") as made:
                for i, ours in enumerate(outputs):
                    self.assertEqual(made[f"output{i}"].tobytes(), ours.tobytes())

    def test_against_numpy(self):
        state, expected = self.h.astype(np.float64), []
        for row in self.x:
            state = np.tanh(row + state @ self.w)
            expected.append(state)
        _, states = recurrent(*(gt.array(values) for values in (self.x, self.w, self.h)))
        np.testing.assert_allclose(states["state"].numpy(), expected, atol=1e-5)

    def test_without_xs(self):
        def powers(x):
            return gt.scan(lambda carry, _: (carry * 2, carry), x, length=5)
        for run in (powers, gt.function(powers)):
            last, all_of_them = run(gt.array(3))
            self.assertEqual((last.item(), all_of_them.tolist()), (96, [3, 6, 12, 24, 48]))

    def test_nothing_is_stacked(self):
        def total(x):
            return gt.scan(lambda carry, row: (carry + row, None), gt.array(0.0), x)
        for run in (total, gt.function(total)):
            last, nothing = run(gt.array([1.0, 2.0, 4.0]))
            self.assertEqual((last.item(), nothing), (7.0, None))

    def test_in_each_other(self):
        def table(x):
            return gt.scan(lambda carry, a: (carry, gt.scan(lambda inner, b: (inner, a * b), carry, x)[1]), gt.array(0), x)
        for run in (table, gt.function(table)):
            self.assertEqual(run(gt.array([1, 2, 3]))[1].tolist(), [[1, 2, 3], [2, 4, 6], [3, 6, 9]])

    def test_the_body_is_traced_once_in_the_graph(self):
        text = gt.function(recurrent).lower(*(gt.array(values) for values in (self.x, self.w, self.h))).text
        self.assertEqual((text.count("gantry.tanh"), text.count("gantry.while")), (1, 1))

    def test_wrong_calls(self):
        x = gt.ones(3)
        pair = lambda carry, row: (carry, row)
        for call, text in ((lambda: gt.scan(pair, x, (x, gt.ones(4))), "a scan has one length; given are 3, 4"),
                           (lambda: gt.scan(pair, x, x, length=2), "a scan has one length; given are 2, 3"),
                           (lambda: gt.scan(pair, x), "a scan without xs needs a length"),
                           (lambda: gt.scan(pair, x, length=0), "a scan has at least one step"),
                           (lambda: gt.scan(pair, x, gt.array(1.0)),
                            "a scan goes along the first dimension, and a scalar has none"),
                           (lambda: gt.scan(lambda carry, row: row, x, x),
                            "the body of a scan gives a carry and what is stacked, as a pair; got ")):
            for run in (call, lambda: gt.function(call)()):
                with self.assertRaises(gt.InvalidArgumentError) as caught:
                    run()
                self.assertIn(text, str(caught.exception))
