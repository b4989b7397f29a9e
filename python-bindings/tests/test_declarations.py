"""The generated files are those of the headers, the kernel table and, where there is a compiler, its ops; files define a name once."""

import ast
import pathlib
import subprocess
import sys
import unittest

from tests.support import BUILD

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Declarations(unittest.TestCase):
    def test_generated_files_are_up_to_date(self):
        done = subprocess.run([sys.executable, ROOT / "tools/dev/generate_python.py", "--check", "--build-dir", BUILD],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_name_is_defined_once(self):
        """A second function of a name takes the place of the first without a word."""
        kinds = (ast.FunctionDef, ast.ClassDef)
        twice = []
        for file in sorted((ROOT / "python-bindings").rglob("*.py")):
            for scope in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(scope, (ast.Module, ast.ClassDef)):
                    names = [each.name for each in scope.body if isinstance(each, kinds) and not each.decorator_list]
                    twice += [f"{file.relative_to(ROOT)}: {name}" for name in sorted(set(names)) if names.count(name) > 1]
        self.assertEqual(twice, [])
