"""The stubs: strict type checkers accept programs that use them, and find a mistake in one."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def check(file):
    """What mypy says of a program; None where mypy is not installed."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, file],
                              env={**os.environ, "MYPYPATH": str(HERE.parent)}, capture_output=True, text=True)
    return None if "No module named mypy" in done.stderr else done.stdout


class Types(unittest.TestCase):
    def test_programs(self):
        for program in (HERE / "typed_program.py", *sorted((HERE.parents[1] / "examples").glob("*.py"))):
            said = check(program)
            if said is None:
                self.skipTest("mypy is not installed")
            self.assertEqual(said, "Success: no issues found in 1 source file\n", program)

    def test_a_mistake(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("import gantry as gt\nx: int = gt.relu(gt.ones(2))\ngt.matmul(gt.ones(1))\n")
            file.flush()
            said = check(file.name)
        if said is None:
            self.skipTest("mypy is not installed")
        self.assertIn("Incompatible types in assignment", said)
        self.assertIn('Missing positional argument "rhs" in call to "matmul"', said)
