"""The table is only worth something when a spill and an error end it with a failure."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import ptxas_table

GOOD = """ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem
"""
SPILL = GOOD.replace("'a'", "'b'").replace("0 bytes spill loads", "8 bytes spill loads").replace("40", "255")


class PtxasTableTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bin").mkdir()
        self.make("bin/gantry", """for word; do case $was in -o) printf '.visible .entry a(\\n' >$word ;; esac; was=$word; done""")
        self.make("bin/gantry-ptx", "")

    def make(self, name, script):
        (self.folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.folder / name).chmod(0o700)

    def run_with(self, ptxas):
        """Exit status and text with a ptxas that is this script."""
        self.make("ptxas", ptxas)
        arguments = ["ptxas_table.py", "--build-dir", str(self.folder), "--archs=sm_90", "some/model.onnx"]
        text = io.StringIO()
        with mock.patch.dict(os.environ, GANTRY_PTXAS=str(self.folder / "ptxas")), \
                mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(text):
            return ptxas_table.main(), text.getvalue()

    def test_reads_what_ptxas_says(self):
        self.assertEqual(ptxas_table.summarise(GOOD), (1, 40, 1024, 0))
        self.assertEqual(ptxas_table.summarise(GOOD + SPILL), (2, 255, 1024, 1))

    def test_a_row_for_kernels_that_are_well(self):
        status, text = self.run_with(f"cat <<E\n{GOOD}E")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"model +sm_90 +1 +40 +1024 +0")

    def test_spills_errors_and_lost_kernels_fail(self):
        for script, message in ((f"cat <<E\n{SPILL}E", "1 kernels spill"), ("echo no such thing; exit 255", "no such thing"),
                                ("", "tells of 0 kernels, the text has 1")):
            status, text = self.run_with(script)
            self.assertEqual(status, 1, text)
            self.assertIn(message, text)

    def test_findings_fail(self):
        self.make("bin/gantry-ptx", "echo k.ptx:3: approx; exit 1")
        status, text = self.run_with(f"cat <<E\n{GOOD}E")
        self.assertEqual(status, 1)
        self.assertIn("k.ptx:3: approx", text)


if __name__ == "__main__":
    unittest.main()
