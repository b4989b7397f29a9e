"""What is read of a trace of allocations; the peer itself is not needed."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

DEV = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(DEV))
import bench_memory


class BenchMemoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self, trace, outputs=()):
        path = self.folder / "trace.txt"
        path.write_text("\n".join(trace))
        return bench_memory.read_trace(path, outputs)

    def test_what_is_before_and_after_the_marks_is_left_out(self):
        self.assertEqual(self.read(["a 0x1 9000", "begin", "a 0x2 5000", "f 0x1 0", "a 0x3 2000", "f 0x3 0", "a 0x4 3000", "end",
                                    "a 0x5 9000"]), (5000, 8000))

    def test_outputs_are_the_callers(self):
        self.assertEqual(self.read(["begin", "a 0x1 4064", "a 0x2 4064", "end"], [4000]), (4064, 4064))

    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
    def test_the_library_writes_down_what_a_process_allocates(self):
        library, path = self.folder / "trace.so", self.folder / "trace.txt"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, DEV / "peers/trace_memory.c"], check=True)
        program = "import ctypes; c = ctypes.CDLL(None); p = c.malloc; p.restype = ctypes.c_void_p; d = p(1234567); " \
                  "c.free(ctypes.c_void_p(d)); print(hex(d))"
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                             env={"LD_PRELOAD": str(library), "TRACE_FILE": str(path)})
        lines = path.read_text().splitlines()
        made = lines.index(f"a {run.stdout.strip()} 1234567")
        self.assertIn(f"f {run.stdout.strip()} 0", lines[made:])


if __name__ == "__main__":
    unittest.main()
