"""The guides' Python blocks run, in order, each guide as one program."""

import pathlib
import re
import unittest

from tests.support import HAS_COMPILER, NEEDS_COMPILER, missing, run

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks_of(name):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Guide(unittest.TestCase):
    def test_blocks(self):
        blocks = blocks_of("Python.md")
        self.assertGreater(len(blocks), 4)
        out = run("\n".join(blocks))
        self.assertIn("device=GPU:0)", out)
        self.assertIn("gantry.matmul", out)

    @unittest.skipIf(missing("sklearn", "onnx"), "scikit-learn or onnx is not installed")
    def test_training(self):
        blocks = blocks_of("Training.md")
        self.assertGreater(len(blocks), 9)
        out = run(f"import os\nos.chdir({str(ROOT)!r})\n" + "\n".join(blocks), timeout=600)
        self.assertRegex(out, r"Epoch 6/6\n24/24 \[={30}\] - \d+s \d+[mu]?s/step - loss: ")
        self.assertIn("step 1: the loss, or the gradient of 'weight', is not finite", out)
        self.assertIn("Using MirroredStrategy with devices ('GPU:0', 'GPU:1')\n", out)
