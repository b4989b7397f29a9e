#!/usr/bin/python3
"""What the tool loads: no library of the current folder, and none that the environment of other users names.

The loader itself tells each file that it tries (LD_DEBUG). Planted are files under the name of all that is linked or
opened, in the current folder, in its `lib`, and beside a copy of the tool that runs with another user's rights.

Usage: libraries_test.py BUILD [unittest arguments]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
TOOL = BUILD / "bin/gantry"
# What is opened by name, or by a path that is made of one.
OPENED = ("libgantry-compiler.so", "libgantry-emulator.so", "libcuda.so.1", "libnvidia-ml.so.1", "libcublasLt.so.13",
          "libcublasLt.so.12", "libnccl.so.2", "libcudnn.so.9", "libdnnl.so.3", "libdnnl.so.2", "libzip.so.4", "ptxas")
GRAPH = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
NAMING = ("GANTRY_COMPILER", "GANTRY_EMULATOR", "GANTRY_CUDA_LIB", "GANTRY_PTXAS", "LD_LIBRARY_PATH")
CLEAN = {name: value for name, value in os.environ.items() if name not in NAMING} | {"GANTRY_CACHE_SIZE": "0"}


def linked(file):
    """Names of all libraries that the loader wants for a file."""
    told = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^\s*(\S+) =>", told, re.MULTILINE)


class LibrariesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.folder.chmod(0o755)
        self.here = self.folder / "here"
        for folder in (self.here, self.here / "lib"):
            folder.mkdir()
            for name in {*OPENED, *linked(TOOL), *linked(BUILD / "lib/libgantry-compiler.so")}:
                (folder / name).write_bytes(b"")  # "file too short"
                (folder / name).chmod(0o755)
        (self.here / "graph.mlir").write_text(GRAPH)

    def gantry(self, *arguments, tool=TOOL, environment=(), **options):
        return subprocess.run([tool, *arguments], cwd=self.here, capture_output=True, text=True,
                              env={**CLEAN, **dict(environment)}, **options)

    def files_tried(self, *arguments):
        """All that the loader looked for while the tool did something."""
        told = self.folder / "told"
        done = self.gantry(*arguments, environment={"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(told)})
        self.assertEqual(done.returncode, 0, done.stderr)
        text = "".join(file.read_text() for file in self.folder.glob("told.*"))
        for file in self.folder.glob("told.*"):
            file.unlink()
        return re.findall(r"trying file=(.*)|calling init: (.*)", text)

    def test_nothing_of_the_current_folder(self):
        for arguments in (("--version",), ("devices",), ("run", "graph.mlir", "--fill=ramp"),
                          ("run", "graph.mlir", "--fill=ramp", "--devices=CPU:0,GPU:0", "--emulate"),
                          ("compile", "graph.mlir", "--devices=CPU:0,GPU:0", "-o", "graph.gantry")):
            with self.subTest(arguments):
                tried = [left or right for left, right in self.files_tried(*arguments)]
                self.assertTrue(any("libc.so" in file for file in tried), tried)
                for file in tried:
                    self.assertTrue(file.startswith("/"), file)
                    self.assertFalse(file.startswith(str(self.here)), file)

    def test_nothing_of_the_current_folder_where_the_tool_does_not_know_where_it_is(self):
        """Without /proc it knows no folder of its own, and `lib` is then that of the current folder."""
        hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*hide, "true"], capture_output=True).returncode:
            self.skipTest("/proc cannot be hidden here (unshare --mount)")
        self.gantry("compile", "graph.mlir", "--devices=GPU:0", "-o", "graph.gantry", check=True)
        for arguments, library in ((("check", "graph.mlir"), "libgantry-compiler.so"),
                                   (("run", "graph.gantry", "--fill=ramp", "--emulate"), "libgantry-emulator.so")):
            done = subprocess.run([*hide, TOOL, *arguments], cwd=self.here, capture_output=True, text=True, env=CLEAN)
            self.assertNotIn("file too short", done.stderr)
            if done.returncode:  # else it is installed where the loader looks
                self.assertRegex(done.stderr, f"'{library}', which cannot be opened: .*cannot open shared object file")

    def test_the_environment_names_none_for_another_user(self):
        """A program of another user (setuid) would run what whoever starts it has named."""
        if os.geteuid():
            self.skipTest("only root can give a program to another user")
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest(f"{self.folder} is mounted nosuid")
        tool = self.folder / "bin/gantry"
        tool.parent.mkdir()
        shutil.copy(TOOL, tool)
        os.chown(tool, 65534, 65534)
        tool.chmod(0o6755)
        own = self.folder / "lib/libgantry-compiler.so"
        own.parent.mkdir()
        own.write_bytes(b"")
        mine = {"GANTRY_COMPILER": str(self.here / "libgantry-compiler.so")}
        for who, expected in (({}, mine["GANTRY_COMPILER"]), ({"user": 12345, "group": 12345}, str(own))):
            with self.subTest(expected):
                tool.chmod(0o6755 if who else 0o755)
                done = self.gantry("check", "graph.mlir", tool=tool, environment=mine, **who)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"needs the compiler library '{expected}'", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
