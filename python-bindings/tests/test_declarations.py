"""The generated files are those of the headers, the kernel table and, where there is a compiler, its ops."""

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
