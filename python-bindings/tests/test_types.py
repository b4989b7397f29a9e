"""The stubs: strict type checkers accept programs that use them, and find a mistake in one."""

import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


class Types(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # What mypy knows of the stubs and of NumPy, from one program to the next.
        known = tempfile.TemporaryDirectory()
        cls.addClassCleanup(known.cleanup)
        cls.known = known.name

    def check(self, *files):
        """What mypy says of programs; None where mypy is not installed."""
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", self.known, *files],
                              env={**os.environ, "MYPYPATH": str(HERE.parent)}, capture_output=True, text=True)
        return None if "No module named mypy" in done.stderr else done.stdout

    def test_programs(self):
        for program in (HERE / "typed_program.py", *sorted((HERE.parents[1] / "examples").glob("*.py"))):
            said = self.check(program)
            if said is None:
                self.skipTest("mypy is not installed")
            self.assertEqual(said, "Success: no issues found in 1 source file\n", program)

    def test_the_guide(self):
        """Its blocks as one program, whose traced functions have no annotations."""
        guide = (HERE.parents[1] / "docs/Python.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 4)
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("# mypy: allow-untyped-defs, allow-untyped-calls\n" + "\n".join(blocks))
            file.flush()
            said = self.check(file.name)
        if said is None:
            self.skipTest("mypy is not installed")
        self.assertEqual(said, "Success: no issues found in 1 source file\n")

    def test_the_stubs_themselves(self):
        said = self.check(*sorted((HERE.parent / "gantry").rglob("*.pyi")))
        if said is None:
            self.skipTest("mypy is not installed")
        self.assertRegex(said, r"^Success: no issues found in \d+ source files\n$")

    def test_a_mistake(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("import gantry as gt\nx: int = gt.relu(gt.ones(2))\ngt.matmul(gt.ones(1))\n")
            file.flush()
            said = self.check(file.name)
        if said is None:
            self.skipTest("mypy is not installed")
        self.assertIn("Incompatible types in assignment", said)
        self.assertIn('Missing positional argument "rhs" in call to "matmul"', said)


class Syntax(unittest.TestCase):
    """Every file is Python 3.9; interpreters that are there compile it, without NumPy they cannot run it."""

    FILES = sorted(file for file in HERE.parent.rglob("*.py*") if file.suffix in (".py", ".pyi"))

    def test_of_the_oldest_python(self):
        for file in self.FILES:
            ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=(3, 9))

    def test_by_other_interpreters(self):
        program = "import pathlib, sys; [compile(pathlib.Path(f).read_text(\"utf-8\"), f, \"exec\") for f in sys.argv[1:]]"
        found = [path for minor in range(9, 20) if (path := shutil.which(f"python3.{minor}"))
                 and subprocess.run([path, "--version"], capture_output=True).returncode == 0]
        for interpreter in found:
            subprocess.run([interpreter, "-W", "error", "-c", program, *map(str, self.FILES)], check=True)
