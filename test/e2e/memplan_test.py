#!/usr/bin/python3
"""gantry-memplan from end to end: every plan is checked here, apart from the planners and their judge;
errors with their full texts.

Usage: memplan_test.py BUILD [unittest arguments]
"""

import csv
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
INSTANCES = pathlib.Path(__file__).resolve().parents[3] / "shared/data/minimalloc"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/dev"))
from bench_packing import check_plan, write_instance  # pylint: disable=wrong-import-position


class MemplanTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_tool(self, *arguments):
        return subprocess.run([str(BUILD / "bin/gantry-memplan"), *map(str, arguments)], cwd=self.folder,
                              capture_output=True, text=True, timeout=300)

    def plan(self, text, *arguments):
        (self.folder / "in.csv").write_text(text)
        return self.run_tool("--input=in.csv", *arguments)

    def fails(self, text, error, *arguments, status=1):
        done = self.plan(text, "--quiet", *arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (status, "", error + "\n"))

    def test_the_example_fits_in_eight_bytes(self):
        done = self.plan("id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\n", "--capacity=8", "--output=out.csv",
                         "--svg=out.svg", "--quiet")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(check_plan(self.folder / "in.csv", self.folder / "out.csv"), 8)
        svg = (self.folder / "out.svg").read_text()
        self.assertEqual(svg.count("<title>"), 3)
        self.assertIn("<title>b1: 4 bytes at ", svg)

    def test_the_gap_is_printed(self):
        done = self.plan("id,lower,upper,size\na,0,2,64\nb,1,3,64\n")
        self.assertRegex(done.stderr, r"^2 buffers: peak 128 bytes, lower bound 128 bytes, gap 0\.0000 %, "
                                      r"planned in \d+\.\d{3} s \(\d+\.\d{3} s of all threads\)\n$")

    def test_columns_in_any_order_fixed_offsets_and_alignments(self):
        text = "size,id,offset,upper,lower,alignment\n10,a,7,5,0,\n3,b,,9,0,8\n0,c,,4,2,\n5,d,,3,3,1\n"
        done = self.plan(text, "--output=out.csv", "--quiet")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        check_plan(self.folder / "in.csv", self.folder / "out.csv")
        with open(self.folder / "out.csv", newline="") as file:
            offsets = {row["id"]: int(row["offset"]) for row in csv.DictReader(file)}
        self.assertEqual(offsets["a"], 7)
        self.assertEqual(offsets["b"] % 8, 0)

    def test_sizes_of_zero_primes_and_nearly_everything(self):
        drawn = random.Random(1)
        sizes = [0, 1, 2, 3, 5, 7, 1009, 65537, 2147483647, (1 << 61) - 1]
        for count in range(1, 12):
            lines = ["id,lower,upper,size"]
            for i in range(count):
                lower = drawn.randrange(10)
                lines.append(f"{i},{lower},{lower + drawn.randrange(6)},{sizes[drawn.randrange(9)] if i else sizes[9]}")
            for planner in "portfolio time-order largest-first skyline ejection annealing exact".split():
                done = self.plan("\n".join(lines) + "\n", f"--planner={planner}", "--output=out.csv", "--quiet")
                self.assertEqual((done.returncode, done.stderr), (0, ""), f"{planner}\n" + "\n".join(lines))
                check_plan(self.folder / "in.csv", self.folder / "out.csv")

    def test_no_buffers_and_lines_of_windows(self):
        self.assertEqual(self.plan("id,lower,upper,size\n", "--quiet").stdout, "id,lower,upper,size,offset\n")
        self.assertEqual(self.plan("id,lower,upper,size\r\na,0,1,4\r\n\r\n", "--quiet").stdout,
                         "id,lower,upper,size,offset\na,0,1,4,0\n")

    def test_the_plan_is_the_same_for_any_number_of_threads(self):
        write_instance(self.folder / "in.csv", 400, 60, 1, 0)
        plans = {self.run_tool("--input=in.csv", f"--threads={n}", "--rounds=1", "--quiet").stdout for n in (1, 2, 5)}
        self.assertEqual(len(plans), 1)

    def test_errors_of_the_file(self):
        head = "id,lower,upper,size\n"
        self.fails("", "in.csv:1: error: there is no line; the first must name the columns: id,lower,upper,size")
        self.fails("id,lower,size\n", "in.csv:1: error: there is no column 'upper'; the first line must name the "
                                      "columns: id,lower,upper,size")
        self.fails("id,lower,upper,bytes\n", "in.csv:1: error: unknown column 'bytes'; the columns are id, lower, "
                                             "upper, size, and perhaps offset and alignment")
        self.fails("id,lower,upper,size,size\n", "in.csv:1: error: the column 'size' is there twice; remove one")
        self.fails(head + "a,0,1\n", "in.csv:2: error: the line has 3 fields, the first line 4; write one for each "
                                     "column")
        self.fails(head + "a,0,1,4\n\na,0,1,4\n", "in.csv:4: error: the id 'a' is that of line 2, too; give each "
                                                  "buffer its own")
        self.fails(head + "a,0,1,4KiB\n", "in.csv:2: error: 'size' is '4KiB'; write a number of digits only")
        self.fails(head + "a,0,,4\n", "in.csv:2: error: 'upper' is ''; write a number of digits only")
        self.fails(head + "a,-1,1,4\n", "in.csv:2: error: 'lower' is '-1'; write a number of digits only")
        self.fails(head + "a,0,5000000000,4\n", "in.csv:2: error: 'upper' is '5000000000'; the largest is 4294967295: "
                                                "number the steps from 0, without gaps")
        self.fails(head + "a,0,1,99999999999999999999\n", "in.csv:2: error: 'size' is '99999999999999999999'; the "
                                                          "largest is 18446744073709551615")
        self.fails(head + "a,5,4,1\n", "in.csv:2: error: 'a' is live from 5 to before 4; correct the line")
        self.fails(head + f"a,0,1,{1 << 62}\n", "in.csv:2: error: 'a': the buffers have over 2^62 bytes together; "
                                                "correct the line")
        self.fails(head[:-1] + ",alignment\na,0,1,4,3\n", "in.csv:2: error: 'a' has an alignment of 3, which is not a "
                                                          "power of two up to 2^32; correct the line")
        self.fails(head[:-1] + ",offset\na,0,1,4,3\n", "in.csv:2: error: 'a' is fixed at 3, not a multiple of its "
                                                       "alignment 8; correct the line", "--alignment=8")
        self.fails(head + f"a,0,1,{1 << 61}\nb,2,3,{1 << 61}\n",
                   "gantry-memplan: error: buffer 1: the buffers have over 2^62 bytes together")
        self.fails(head[:-1] + ",offset\na,0,2,4,3\nb,1,3,4,5\n",
                   "gantry-memplan: error: among the buffers of fixed offset, memory plan: buffer 0 and buffer 1 are "
                   "live together and overlap")
        self.fails(head[:-1] + ",offset\na,0,2,4,3\n",
                   "gantry-memplan: error: this planner takes no fixed offsets; the portfolio, largest-first and "
                   "ejection do", "--planner=exact")

    def test_what_does_not_fit(self):
        text = "id,lower,upper,size\na,0,2,4\nb,1,3,4\n"
        self.fails(text, "gantry-memplan: error: the best plan has 8 bytes and the capacity is 7: 8 bytes are live "
                         "together, so no plan fits", "--capacity=7", status=3)

    def test_wrong_usage(self):
        for arguments, error in [
                ([], "--input is missing"),
                (["--inptu=x"], "unknown flag '--inptu'; did you mean '--input'?"),
                (["x.csv", "y.csv"], "'y.csv' is one file too many"),
                (["x.csv", "--capacity=many"], "--capacity does not take 'many'"),
                (["x.csv", "--alignment=3"], "--alignment does not take '3'"),
                (["x.csv", "--planner=best"], "--planner does not take 'best'"),
                (["x.csv", "--rounds=9"], "--rounds does not take '9'"),
                (["x.csv", "--threads=0"], "--threads does not take '0'"),
                (["x.csv", "--threads=-1"], "--threads does not take '-1'"),
                (["x.csv", "--quiet=yes"], "--quiet takes no value")]:
            done = self.run_tool(*arguments)
            self.assertEqual((done.returncode, done.stderr),
                             (2, f"gantry-memplan: error: {error}; see gantry-memplan --help\n"))

    @unittest.skipUnless(INSTANCES.is_dir(), f"no instances at {INSTANCES}")
    def test_the_instances_of_minimalloc_fit_into_their_capacity(self):
        for path in sorted(INSTANCES.glob("[A-K].*.csv")):
            done = self.run_tool(f"--input={path}", "--capacity=1048576", "--threads=1", "--output=out.csv", "--quiet")
            self.assertEqual((done.returncode, done.stderr), (0, ""), path.name)
            self.assertLessEqual(check_plan(path, self.folder / "out.csv"), 1048576, path.name)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
