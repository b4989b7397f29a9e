"""The guide's Python blocks run, in order, as one program."""

import pathlib
import re
import unittest

from tests.support import HAS_COMPILER, NEEDS_COMPILER, run

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs/Python.md"


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Guide(unittest.TestCase):
    def test_blocks(self):
        blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 4)
        out = run("\n".join(blocks))
        self.assertIn("device=GPU:0)", out)
        self.assertIn("gantry.matmul", out)
