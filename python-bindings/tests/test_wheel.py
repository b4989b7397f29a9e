"""The wheel: works where nothing points to a build, with the compiler inside, and brings the tool."""

import json
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
# What a wheel may take: the compiler has LLVM inside, and compresses to a third.
MOST = 60 << 20


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


@unittest.skipUnless(HAS_COMPILER and (BUILD / "bin/gantry").exists(), NEEDS_COMPILER)
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.made = pathlib.Path(run(sys.executable, ROOT / "tools/dev/make_wheel.py", "--build-dir", BUILD, "--out",
                                    cls.folder).splitlines()[-1])
        cls.names = {name: value for name, value in os.environ.items() if not name.startswith(("GANTRY_", "PYTHON"))}
        cls.names.update(PYTHONDONTWRITEBYTECODE="1", GANTRY_CACHE_SIZE="0")

    def check(self, program, home, names):
        """What is in the folder `home` is all that is used."""
        # What is packed finds its libraries in absolute folders, or beside itself.
        run(sys.executable, ROOT / "tools/dev/check_elf.py", home)
        python = lambda *call: run(program, *call, env=names, cwd=self.folder)
        self.assertEqual(python("-c", "import gantry as gt; print(gt.matmul([[1.0, 2.0]], [[3.0], [4.0]]).tolist())"),
                         "[[11.0]]\n")
        self.assertIn("placed 1 op", python("-c", "import gantry as gt; f = gt.function(lambda x: x + x); "
                                                  "print(f.lower(gt.ones(2)).plan().explain())"))
        self.assertIn("gantry 0.", python("-m", "gantry", "--version"))
        where = "import gantry, json; from gantry import _library as l; l.compiler(); l.runtime(); " \
                "print(json.dumps([gantry.__file__] + [each._name for each in l._opened.values()]))"
        for file in json.loads(python("-c", where)):
            self.assertTrue(file.startswith(str(home)), file)

    def test_unpacked(self):
        self.assertRegex(self.made.name, r"^gantry-[\d.]+-py3-none-linux_\w+\.whl$")
        self.assertLess(self.made.stat().st_size, MOST)
        home = self.folder / "unpacked"
        with zipfile.ZipFile(self.made) as wheel:
            wheel.extractall(home)
        (home / "gantry/bin/gantry").chmod(0o755)
        numpys = pathlib.Path(numpy.__file__).parents[1]  # which may be that of an environment
        self.check(sys.executable, home, {**self.names, "PYTHONPATH": os.pathsep.join((str(home), str(numpys)))})

    def test_in_an_empty_environment(self):
        try:
            import venv  # noqa: F401
            import ensurepip  # noqa: F401
        except ImportError as missing:
            self.skipTest(f"{missing} (python3-venv)")
        home = self.folder / "environment"
        names = dict(self.names)
        # NumPy is the system's; nothing is fetched.
        if sys.prefix != sys.base_prefix:  # an environment itself, of which another one knows nothing
            names["PYTHONPATH"] = str(pathlib.Path(numpy.__file__).parents[1])
        run(sys.executable, "-m", "venv", "--system-site-packages", home, env=names)
        run(home / "bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", self.made, env=names)
        self.check(home / "bin/python", home, names)
        self.assertIn("gantry 0.", run(home / "bin/gantry", "--version", env=names, cwd=self.folder))
