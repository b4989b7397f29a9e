"""The sum is only worth something when a lost result counts as a failure."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import run_tests

JUNIT = """<testsuite>
<testcase classname="a" name="one"/>
<testcase classname="a" name="two"><failure message="Failed"/></testcase>
<testcase classname="a" name="three" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>x: skipped: no PyTorch</system-out></testcase>
<testcase classname="a" name="four" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""


class RunTestsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_suite(self, code, read):
        with contextlib.redirect_stdout(io.StringIO()):
            return run_tests.run("x", [sys.executable, "-c", code], read, self.folder)

    def test_junit(self):
        file = self.folder / "junit.xml"
        file.write_text(JUNIT)
        result = run_tests.read_junit(file, lambda message: message.startswith("SKIP_"))
        self.assertEqual((result.passed, result.failures), (1, ["a.two", "a.four"]))
        self.assertEqual(dict(result.skips), {"no PyTorch": 1})

    def test_missing_result_file_is_a_failure(self):
        result = self.run_suite("", lambda: run_tests.read_json(self.folder / "none.json"))
        self.assertEqual(len(result.failures), 1)

    def test_silent_bad_exit_is_a_failure(self):
        result = self.run_suite("raise SystemExit(3)", lambda: run_tests.Result(passed=5))
        self.assertEqual(result.failures, ["exit status 3"])

    def test_empty_suite_is_a_failure(self):
        result = self.run_suite("", lambda: run_tests.Result())
        self.assertEqual(result.failures, ["no test was found"])

    def test_stale_result_is_not_read(self):
        stale = self.folder / "x.json"
        stale.write_text('{"passed": 9, "failures": [], "skips": {}}')
        result = self.run_suite("", lambda: run_tests.read_json(stale))
        self.assertEqual(len(result.failures), 1)


if __name__ == "__main__":
    unittest.main()
