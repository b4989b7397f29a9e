"""The harness has to survive what it is there to catch."""

import os
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import workers


def work(case):
    if case == "crash":
        os.write(2, b"about to fall\n")
        os.kill(os.getpid(), signal.SIGSEGV)
    if case == "exit":
        os._exit(3)
    if case == "hang":
        time.sleep(60)
    return case * 2


class WorkersTest(unittest.TestCase):
    def run_all(self, cases, **options):
        return dict(workers.run_all(work, cases, 2, 1.0, lambda why: f"crash: {why}",
                                    lambda: "timeout", **options))

    def test_every_case_has_a_result(self):
        cases = ["a", "crash", "b", "hang", "exit", *(f"c{i}" for i in range(20))]
        results = self.run_all(cases)
        self.assertEqual(set(results), set(cases))
        self.assertEqual(results["crash"], "crash: SIGSEGV; about to fall")
        self.assertEqual(results["exit"], "crash: exit status 3")
        self.assertEqual(results["hang"], "timeout")
        self.assertEqual(results["c7"], "c7c7")

    def test_workers_are_renewed(self):
        self.assertEqual(len(self.run_all([f"{i}" for i in range(10)], fresh_after=2)), 10)

    def test_no_cases(self):
        self.assertEqual(self.run_all([]), {})


if __name__ == "__main__":
    unittest.main()
