"""The sum is only worth something when a lost result counts as a failure."""

import collections
import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

DEV = pathlib.Path(__file__).parents[1].resolve()
sys.path.insert(0, str(DEV))
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
            result, = run_tests.run([("x", [sys.executable, "-c", code], read)], 1, self.folder)
            return result

    def test_junit(self):
        file = self.folder / "junit.xml"
        file.write_text(JUNIT)
        result = run_tests.read_junit(file, lambda message: message.startswith("SKIP_"))
        self.assertEqual((result.passed, result.failures), (1, ["a.two", "a.four"]))
        self.assertEqual(dict(result.skips), {"no PyTorch": 1})

    def test_what_a_failing_test_said_is_told(self):
        said = [f"line {i}" for i in range(61)]
        file = self.folder / "junit.xml"
        file.write_text('<testsuite><testcase classname="a" name="one"><system-out>fine</system-out></testcase>'
                        '<testcase classname="a" name="ctest"><failure message="Failed"/><system-out>'
                        + "\n".join(said) + '</system-out></testcase>'
                        '<testcase classname="a" name="lit"><failure><![CDATA[expected < got]]></failure></testcase>'
                        '</testsuite>')
        with contextlib.redirect_stdout(io.StringIO()) as told:
            list(run_tests.run([("x", ["true"], lambda: run_tests.read_junit(file))], 1, self.folder))
        lines = told.getvalue().splitlines()
        at = lines.index("  FAILED x: a.ctest")
        expected = [f"    | {line}" for line in said[:20] + ["... 1 lines ..."] + said[21:]]
        self.assertEqual(lines[at + 1:at + 62], expected)
        self.assertEqual(lines[at + 62:], ["  FAILED x: a.lit", "    | expected < got"])
        self.assertNotIn("fine", told.getvalue())

    def test_skips_of_both_kinds_of_files_are_counted(self):
        file = self.folder / "runner.json"
        file.write_text('{"passed": 2, "failures": ["a: no"], "skips": {"no models": 16, "no PyTorch": 2}}')
        result = run_tests.read_json(file)
        self.assertEqual((result.passed, result.failures, result.skipped), (2, ["a: no"], 18))
        self.assertEqual(dict(result.skips), {"no models": 16, "no PyTorch": 2})
        with contextlib.redirect_stdout(io.StringIO()) as told:
            list(run_tests.run([("x", ["true"], lambda: run_tests.read_json(file))], 1, self.folder))
        self.assertRegex(told.getvalue(), r"(?m)^x +2 passed +1 failed +18 skipped ")
        self.assertIn("\n  skipped 16: no models\n  skipped 2: no PyTorch\n", told.getvalue())

    def test_missing_result_file_is_a_failure(self):
        result = self.run_suite("", lambda: run_tests.read_json(self.folder / "none.json"))
        self.assertEqual(len(result.failures), 1)

    def test_silent_bad_exit_is_a_failure(self):
        result = self.run_suite("raise SystemExit(3)", lambda: run_tests.Result(passed=5))
        self.assertEqual(result.failures, ["exit status 3"])

    def test_empty_suite_is_a_failure(self):
        result = self.run_suite("", lambda: run_tests.Result())
        self.assertEqual(result.failures, ["no test was found"])

    def test_a_suite_that_skips_everything_is_a_failure_but_where_it_is_for_other_builds(self):
        skips = lambda: run_tests.Result(skips=collections.Counter({"no models": 3}))
        self.assertEqual(self.run_suite("", skips).failures, ["every test was skipped"])
        left_out = self.run_suite("raise SystemExit(77)", skips)
        self.assertEqual((left_out.failures, left_out.skipped), ([], 3))
        self.assertEqual(self.run_suite("raise SystemExit(77)", run_tests.Result).failures, ["exit status 77"])

    def test_stale_result_is_not_read(self):
        stale = self.folder / "x.json"
        stale.write_text('{"passed": 9, "failures": [], "skips": {}}')
        result = self.run_suite("", lambda: run_tests.read_json(stale))
        self.assertEqual(len(result.failures), 1)

    def test_two_run_at_once_and_their_words_stay_together(self):
        code = ("import pathlib, sys, time; mine, other = map(pathlib.Path, sys.argv[1:])\n"
                "print(mine.name, 'begins', flush=True); mine.touch()\n"
                "while not other.exists(): time.sleep(0.01)\n"
                "print(mine.name, 'ends')")
        files = {name: str(self.folder / f"saw.{name}") for name in "ab"}
        waiting = [(name, [sys.executable, "-c", code, files[name], files[other]], lambda: run_tests.Result(passed=1))
                   for name, other in ("ab", "ba")]
        with contextlib.redirect_stdout(io.StringIO()) as told:
            self.assertEqual([result.passed for result in run_tests.run(waiting, 2, self.folder)], [1, 1])
        lines = [line.split() for line in told.getvalue().splitlines()]
        first, second = (name for name, word, *_ in lines if word == "begins")
        self.assertEqual([line[:2] for line in lines], [
            [first, "begins"], [first, "ends"], [first.removeprefix("saw."), "1"],
            [second, "begins"], [second, "ends"], [second.removeprefix("saw."), "1"]])

    def test_a_signal_stops_all_processes(self):
        alive = self.folder / "alive"  # a pipe that the suite's child holds open
        os.mkfifo(alive)
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            code = (f"import sys; sys.path.insert(0, {str(DEV)!r}); import run_tests\n"
                    f"run_tests.suites = lambda *_: [('x', ['sh', '-c', 'sleep 60 >{alive} & wait'], None)]\n"
                    f"sys.argv = ['run_tests', '--build-dir', {str(self.folder)!r}]; sys.exit(run_tests.main())")
            with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE,
                                  preexec_fn=lambda: signal.signal(kind, signal.SIG_DFL)) as process, open(alive) as pipe:
                process.send_signal(kind)
                self.assertEqual(pipe.read(), "")
                self.assertEqual(process.wait(), 130)
                self.assertEqual(process.stderr.read(), b"stopped by a signal\n")


if __name__ == "__main__":
    unittest.main()
