"""The steps of training that benchmarks use compile, and train."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import gantry as gt
from tests.support import HAS_COMPILER, NEEDS_COMPILER

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "test/bench/training/make_steps.py"


def make(*arguments):
    """What the script says; its devices are its own."""
    names = {key: value for key, value in os.environ.items() if key not in ("GANTRY_DEVICES", "GANTRY_SIMULATE")}
    return subprocess.run([sys.executable, SCRIPT, *arguments], env=names, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Steps(unittest.TestCase):
    def test_they_train(self):
        """All classes are equally likely at first, since units start alike; the second step has learned which there are."""
        random = np.random.default_rng(0)
        rows = {"mlp": (random.standard_normal((64, 784), np.float32), 10, 64),
                "reuters": (random.integers(0, 10000, (32, 300)).astype(np.int32), 46, 32)}
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(make("--state", folder, *rows).returncode, 0)
            for name, (x, classes, batch) in rows.items():
                file = pathlib.Path(folder) / f"{name}.mlir"
                text = file.read_text(encoding="utf-8")
                self.assertNotIn("gantry.device", text)
                self.assertIn(f"// gantry run {name}.mlir --fill input0=", text)
                session, y = gt.compile(file).session(), np.zeros(batch, np.int32)
                totals = [self.total(session, x, y) for _ in range(2)]
                np.testing.assert_allclose(totals[0], batch * np.log(classes), rtol=1e-5)
                self.assertLess(totals[1], 1.9999 * totals[0])
                with np.load(file.with_suffix(".npz")) as drawn:
                    self.assertLessEqual(set(drawn), set(session.state))
                    self.assertGreater(drawn["dense/weight"].std(), 0)

    def total(self, session, x, y):
        session.run(x, y)
        return float(session.state["loss/total"].numpy())

    def test_names(self):
        said = make("nowhere", "mlp", "vgg")
        self.assertEqual(said.returncode, 2)
        self.assertIn("there is no step 'vgg'; there are ffn12, mlp, reuters, lstm, resnet18, resnet50, bert_base, gpt2_small", said.stdout)
