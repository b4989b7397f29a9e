"""The wheel: works where nothing points to a build, and brings the tool."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy

from tests.support import BUILD, HAS_COMPILER, NEEDS_COMPILER

ROOT = pathlib.Path(__file__).resolve().parents[2]


@unittest.skipUnless(HAS_COMPILER and (BUILD / "bin/gantry").exists(), NEEDS_COMPILER)
class Wheel(unittest.TestCase):
    def test_in_an_empty_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([sys.executable, ROOT / "tools/dev/make_wheel.py", "--build-dir", BUILD, "--out", folder,
                                   "--without-llvm"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
            self.assertRegex(made, r"/gantry-[\d.]+-py3-none-linux_\w+\.whl$")
            site = pathlib.Path(folder) / "site"
            subprocess.run([sys.executable, "-m", "zipfile", "-e", made, site], check=True)
            with zipfile.ZipFile(made) as wheel:
                for info in wheel.infolist():  # zipfile -e forgets what can be executed
                    (site / info.filename).chmod(info.external_attr >> 16 or 0o644)
            names = {name: value for name, value in os.environ.items() if not name.startswith(("GANTRY_", "PYTHON"))}
            numpy_home = pathlib.Path(numpy.__file__).parents[1]
            names.update(PYTHONPATH=f"{site}{os.pathsep}{numpy_home}", PYTHONDONTWRITEBYTECODE="1", GANTRY_CACHE_SIZE="0")
            run = lambda *call: subprocess.run([sys.executable, *call], env=names, cwd=folder, check=True, text=True,
                                               stdout=subprocess.PIPE).stdout
            self.assertEqual(run("-c", "import gantry as gt; print(gt.matmul([[1.0, 2.0]], [[3.0], [4.0]]).tolist())"),
                             "[[11.0]]\n")
            self.assertIn("placed 1 op", run("-c", "import gantry as gt; f = gt.function(lambda x: x + x); "
                                                   "print(f.lower(gt.ones(2)).plan().explain())"))
            self.assertIn("gantry 0.", run("-m", "gantry", "--version"))
