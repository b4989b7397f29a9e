"""The report has to say on every line what was used, and a stage that failed or never ran must show."""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/dev/gpu_check"))
import cublaslt
import pictures
import report
import stage_programs
import stage_sanitize

FAKE = {"real": False, "what": "fake: rehearsal", "date": "2026-01-01"}
REAL = {"real": True, "what": "Some GPU, driver 1.2, 2026-01-01", "date": "2026-01-01"}
BITS = {"stage": "bits", "seen": FAKE, "seconds": 1.5, "notes": ["1 cases failed"], "rows": [
    {"element": "f32", "cases": 4, "same_bits": 4, "verdict": "passed"},
    {"element": "f16", "cases": 4, "same_bits": 3, "verdict": "failed"}]}
BENCH = {"stage": "bench", "seen": REAL, "seconds": 2, "notes": [], "rows": [
    {"what": "matmul-f32-64", "median_ms": 0.5}, {"what": "odd | name", "median_ms": 1}, {"what": "copy", "gb_per_s": 9}]}


def lines_of_figures(text):
    """Lines of tables but for heads and rules."""
    lines = text.splitlines()
    return [line for before, line in zip(["", *lines], lines) if line.startswith("| ") and not line.endswith("| seen on |")]


class ReportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def page(self, *results):
        for result in results:
            (self.folder / f"{result['stage']}.json").write_text(json.dumps(result))
        return report.page(report.read(self.folder))

    def test_every_line_says_what_it_was_seen_on(self):
        for line in lines_of_figures(self.page(BITS)):
            self.assertTrue(line.endswith("| fake: rehearsal |"), line)
        self.assertEqual(len(lines_of_figures(self.page(BITS))), 2)

    def test_a_rehearsal_is_no_gpu(self):
        self.assertIn("**no GPU was used.**", self.page(BITS))

    def test_a_real_gpu_is_named_and_a_rehearsed_stage_beside_it_stays_marked(self):
        text = self.page(BITS, BENCH)
        self.assertNotIn("**no GPU was used.**", text)
        self.assertIn("| matmul-f32-64 | 0.5 | Some GPU, driver 1.2, 2026-01-01 |", text)
        self.assertIn("| f32 | 4 | 4 | passed | fake: rehearsal |", text)

    def test_a_failure_is_counted_and_its_note_kept(self):
        text = self.page(BITS)
        self.assertIn("1 passed, 1 failed, 0 left out", text)
        self.assertIn("- fake: rehearsal: 1 cases failed", text)

    def test_a_stage_that_has_not_run_says_so(self):
        self.assertEqual(self.page(BITS).count("no GPU was used: this stage has not run."), 5)

    def test_columns_of_another_kind_are_a_table_of_their_own_and_bars_do_no_harm(self):
        text = self.page(BENCH)
        self.assertEqual(text.count("| seen on |"), 2)
        self.assertIn("odd \\| name", text)

    def test_a_broken_file_is_an_error_that_names_it(self):
        (self.folder / "bits.json").write_text('{"stage": "bits"}')
        with self.assertRaisesRegex(SystemExit, "bits.json: KeyError"):
            report.read(self.folder)


class PicturesTest(unittest.TestCase):
    def test_a_chart_says_what_it_was_seen_on_and_is_as_long_as_its_figures(self):
        rows = [{"what": "a<b", "tflops": 4.0, "median_ms": 1.0}, {"what": "c", "tflops": 2.0, "median_ms": 1.0}]
        text = pictures.page({"bench": {**BENCH, "rows": rows}})
        self.assertIn("Seen on: Some GPU, driver 1.2, 2026-01-01", text)
        self.assertIn("a&lt;b", text)
        lengths = [float(part.split('"')[0]) for part in text.split("<figure>")[1].split(' width="')[2:]]
        self.assertEqual(lengths[0], 2 * lengths[1])

    def test_words_in_the_place_of_figures_are_left_out(self):
        rows = [{"network": "mlp", "gantry_ms": 3, "eager": "not in a rehearsal"}]
        text = pictures.page({"peers": {**BENCH, "stage": "peers", "seen": FAKE, "rows": rows}})
        self.assertEqual(text.count("<rect"), 1)
        self.assertIn("no GPU was used.", text)
        self.assertIn("Seen on: fake: rehearsal", text)


class JudgeTest(unittest.TestCase):
    """Who is as near to float64 as PyTorch is right, whatever the weights do."""

    def verdict(self, found, peer, dtype="f32"):
        exact = np.array([1.0, -2.0])
        return stage_programs.judged(exact * (1 + found), exact, exact * (1 + peer), dtype)[0]

    def test_small_differences_pass(self):
        self.assertEqual(self.verdict(5e-4, 0), "passed")
        self.assertEqual(self.verdict(5e-3, 0, "bf16"), "passed")

    def test_large_ones_fail(self):
        self.assertEqual(self.verdict(5e-3, 1e-4), "failed")
        self.assertEqual(self.verdict(8e-2, 1e-3, "bf16"), "failed")

    def test_they_pass_where_pytorch_is_as_far_off(self):
        self.assertEqual(self.verdict(5e-3, 4e-3), "passed")
        self.assertEqual(self.verdict(5e-3, 1e-3), "failed")


class CublasLtTest(unittest.TestCase):
    def test_a_library_that_is_not_there_is_none(self):
        with unittest.mock.patch.dict(os.environ, GANTRY_CUBLASLT_LIB="/nowhere.so"):
            self.assertIsNone(cublaslt.find())

    def test_the_result_of_the_heuristic_is_as_large_as_the_library_writes(self):
        self.assertEqual(ctypes.sizeof(cublaslt.HeuristicResult), 96)


class ParsersTest(unittest.TestCase):
    def test_outcomes_of_googletest(self):
        passed, failed = stage_programs.outcomes(
            "[ RUN      ] a/S.one/0\n[       OK ] a/S.one/0 (0 ms)\n[ RUN      ] a/S.two/0\n"
            "[  FAILED  ] a/S.two/0, where GetParam() = 96-byte object <10> (1 ms)\n[  PASSED  ] 1 test.\n"
            "[  FAILED  ] 1 test, listed below:\n[  FAILED  ] a/S.two/0, where GetParam() = 96-byte object <10>\n")
        self.assertEqual((passed, failed), (["a/S.one/0"], ["a/S.two/0"]))

    def test_sums_of_the_sanitizer(self):
        self.assertEqual(stage_sanitize.errors_in("========= ERROR SUMMARY: 0 errors"), 0)
        self.assertEqual(stage_sanitize.errors_in("ran x\n========= ERROR SUMMARY: 12 errors"), 12)
        self.assertEqual(stage_sanitize.errors_in(
            "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)"), 2)
        self.assertIsNone(stage_sanitize.errors_in("Device not supported"))


class StagesTest(unittest.TestCase):
    def run_script(self, *arguments, **environment):
        return subprocess.run([str(ROOT / "tools/dev/gpu_check.sh"), *arguments], capture_output=True, text=True,
                              env={**os.environ, "PYTHON": sys.executable, **environment})

    def test_an_unknown_stage_is_wrong_usage(self):
        done = self.run_script("--stage=bits_and_pieces")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no stage 'bits_and_pieces'", done.stderr)

    def test_without_a_flag_the_usage_is_shown(self):
        done = self.run_script()
        self.assertEqual(done.returncode, 2)
        self.assertIn("gpu_check.sh --bundle", done.stderr)

    def test_without_a_bundle_a_stage_says_how_to_make_one(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_script("--stage=bits", GPU_CHECK_BUNDLE=folder, OUT=folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("gpu_check.sh --bundle", done.stderr)


if __name__ == "__main__":
    unittest.main()
