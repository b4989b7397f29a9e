"""The examples in Python run, and say what they should."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import gantry as gt
from tests.support import HAS_COMPILER, NEEDS_COMPILER, missing

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def run(name, *arguments, **devices):
    """What an example prints; its devices are its own, or those given as the environment has them."""
    names = {key: value for key, value in os.environ.items() if key not in ("GANTRY_DEVICES", "GANTRY_SIMULATE")}
    return subprocess.run([sys.executable, EXAMPLES / name, *arguments], env={**names, **devices}, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Examples(unittest.TestCase):
    def test_where_ops_run(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "report.html"
            said = run("where_ops_run.py", page)
            self.assertIn("MatMul/output0.0", page.read_text(encoding="utf-8"))
        for part in ("Softmax  on GPU:0, by default: GPUs before CPUs, then the lowest id\n", "\n1 op moved\n",
                     "GPU:1 copies in", "- ask for CPU:0: ", "it fits the limits\n", f"wrote {page}; open it in a browser\n"):
            self.assertIn(part, said)

    @unittest.skipIf(missing("sklearn", "onnx"), "scikit-learn or onnx is not installed")
    def test_digits(self):
        """The file that it writes gives what the network has learned, of the images beside it."""
        with tempfile.TemporaryDirectory() as folder:
            said = run("digits/train.py", folder, "--epochs", "8", GANTRY_DEVICES="CPU:0")
            folder = pathlib.Path(folder)
            plan = gt.compile(folder / "digits.onnx")
            names = "zero one two three four five six seven eight nine".split()
            found = [plan.run(image=np.load(folder / f"{name}.npy"))["probabilities"].numpy() for name in names]
            for name in names:
                self.assertEqual((folder / f"{name}.npy").read_bytes(), (EXAMPLES / f"digits/{name}.npy").read_bytes())
        self.assertGreater(float(re.search(r"held-out accuracy: \d+ of 359, (\S+) %", said)[1]), 90)
        self.assertGreaterEqual(sum(each.argmax() == digit for digit, each in enumerate(found)), 8)
        np.testing.assert_allclose([each.sum() for each in found], 1, rtol=1e-5)

    def test_all_are_tested(self):
        self.assertEqual(sorted(file.name for file in EXAMPLES.glob("*.py")), ["where_ops_run.py"])

    def test_reuters(self):
        random = np.random.default_rng(0)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "texts.npz"
            texts = {f"x_{part}": random.integers(0, 10000, (40, 300)).astype(np.int32) for part in ("train", "test")}
            labels = {f"y_{part}": random.integers(0, 46, 40).astype(np.int32) for part in ("train", "test")}
            np.savez(file, **texts, **labels)
            once = ["training/reuters.py", "--data", file, "--batch", "20"]  # all batches alike: one plan; test_distribute has others
            said = run(*once, "--epochs", "1")
            replicas = [run(*once, "--epochs", "1", "--strategy", strategy, GANTRY_SIMULATE="1",
                            GANTRY_DEVICES="GPU:0,GPU:1,GPU:2") for strategy in ("split", "weights:2,1", "towers:CPU:0")]
            steps = ["--parts", "4", "--dropout", "0.5", "--batch-norm", "--accumulate", "2", "--clip-norm", "1", "--steps", "3", "--hash"]
            parts = run(*once, *steps, "--devices", "1,3,0")
            orders = run(*once, *steps, "--devices", "3", "--sim-orders", "2")
            wrong = subprocess.run([sys.executable, EXAMPLES / "training/reuters.py", "--data", file, "--strategy", "mirrored"],
                                   stderr=subprocess.PIPE, text=True)
        self.assertRegex(said, r"Epoch 1/1\n2/2 \[=+\] - \d+s \d+[mu]?s/step - loss: 3\.\d+ - accuracy: [\d.]+ - top_5: [\d.]+ - val_loss: 3")
        self.assertIn("185,982 parameters, 0 of them not trainable, 743,928 bytes", said)
        # Of float32, and after two steps.
        loss = lambda text: [float(number) for number in re.findall(r"(?:loss|accuracy|top_5): ([\d.]+)", text)]
        for each in replicas:
            np.testing.assert_allclose(loss(each), loss(said), atol=2e-4)
        hashes = re.findall(r"^hash (\w{16}) after 3 steps$", parts + orders, re.MULTILINE)
        self.assertEqual((len(hashes), len(set(hashes))), (5, 1), parts + orders)
        self.assertIn("-- 3 devices order 2\n", orders)
        self.assertIn("--strategy mirrored is none of one, split, mirrored:N, weights:2,1,... and towers:DEVICE", wrong.stderr)

    def test_cifar_towers(self):
        """Two towers learn what one does that has all rows."""
        steps = ["--max-steps", "3", "--batch-size"]
        with tempfile.TemporaryDirectory() as folder:
            two = run("training/cifar_towers.py", "--num-gpus", "2", *steps, "4", "--train-dir", folder, GANTRY_SIMULATE="1", GANTRY_DEVICES="GPU:0,GPU:1")
            with open(pathlib.Path(folder) / "model.safetensors", "rb") as file:
                self.assertIn(b"conv1/weights", file.read(4096))
        one = run("training/cifar_towers.py", "--num-gpus", "1", *steps, "8", GANTRY_SIMULATE="1", GANTRY_DEVICES="GPU:0")
        self.assertIn("10 variables, conv1/weights to softmax_linear/biases, on /job:localhost/replica:0/task:0/device:CPU:0\n", two)
        losses = [[float(number) for number in re.findall(r"loss of the first and the last ten steps: ([\d.]+)", said)] for said in (one, two)]
        np.testing.assert_allclose(*losses, atol=0.011)  # as they are printed
        self.assertGreater(losses[0][0], 4)

    def test_language_model(self):
        """It gets less and less sure that anything may follow, and goes on from a checkpoint."""
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder) / "text"
            text.write_text("the cat sat on the mat and the dog sat on the log; " * 60)
            given = ["--text", text, "--width", "32", "--length", "16", "--layers", "1", "--begin", "the ", "--resume", pathlib.Path(folder) / "run"]
            said = run("training/language_model.py", *given, "--epochs", "3", "--write", "6", GANTRY_DEVICES="CPU:0")
            again = run("training/language_model.py", *given, "--epochs", "3", "--write", "0", GANTRY_DEVICES="CPU:0")
        seen = [float(number) for number in re.findall(r"val_perplexity: ([\d.]+)", said)]
        self.assertEqual((len(seen), seen), (3, sorted(seen, reverse=True)))
        self.assertLess(seen[-1], 8)
        self.assertRegex(said, r"3060 letters, 14 of them different; 343 windows to train on, 19 to test\nEpoch 1/3\n")
        self.assertEqual(len(re.findall(r"^    the .{6}$", said, re.MULTILINE)), 3)
        self.assertIn(f"perplexity of what was held out: {seen[-1]:.2f}\n", again)  # every epoch is over, so it is what it was
