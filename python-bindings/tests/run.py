#!/usr/bin/python3
"""Runs the package's tests on two simulated GPUs with the libraries of a build, a process a file.

Usage: run.py --build-dir BUILD [--json FILE] [--jobs N] [--filter TEXT ...] [--python PROGRAM ...] [--others] [--slowest N] [-v]
--filter takes names or parts of names, of files as test_seed_training or of tests as test_training.Fit.test_it_learns.
--python runs them with other interpreters than this one; --others some of them, with each from 3.9 on that is on the path and
has NumPy, and names those that have not. --slowest prints the tests that took most seconds of processors.
Exit status 0 when nothing failed; --json writes passed, failures and skips for tools/dev/run_tests.py.
"""

import argparse
import collections
import heapq
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# What depends on the interpreter: ctypes, buffers, traces, threads, signals, fork and exit.
OTHERS = ("test_arrays", "test_data", "test_devices", "test_disk", "test_donate", "test_functions", "test_life", "test_like_numpy",
          "test_plans", "test_scan", "test_threads", "test_types")


def seconds_of_processors():
    """Of this process and of its children that have ended."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


class Counter(unittest.TextTestResult):
    """Counts what passed, too, and seconds of processors by test."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.passed = 0
        self.seconds = {}

    def startTest(self, test):
        super().startTest(test)
        self.began = seconds_of_processors()

    def stopTest(self, test):
        self.seconds[test.id()] = seconds_of_processors() - self.began
        super().stopTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def chosen(suite, module, texts):
    """A file's tests whose names have one of the texts; all, where there are none, or where one is the file's."""
    if not texts or any(text in module for text in texts):
        return suite
    tests = [test for test in flat(suite) if any(text in test.id() for text in texts)]
    return unittest.TestSuite(tests)


def flat(suite):
    for each in suite:
        yield from flat(each) if isinstance(each, unittest.TestSuite) else [each]


def run_here(module, texts):
    """Runs one file's tests in this process; prints its result as the last line."""
    suite = chosen(unittest.defaultTestLoader.loadTestsFromName(f"tests.{module}"), module, texts)
    result = unittest.TextTestRunner(resultclass=Counter, stream=sys.stderr, verbosity=1).run(suite)
    failures = [str(test) for test, _ in result.failures + result.errors] + [str(t) for t in result.unexpectedSuccesses]
    skips = collections.Counter(reason for _, reason in result.skipped)
    print(json.dumps({"passed": result.passed, "failures": failures, "skips": skips, "seconds": result.seconds}))
    sys.stdout.flush()


def environment(build):
    names = {name: value for name, value in os.environ.items() if name != "GANTRY_CACHE_DIR"}
    return {**names, "GANTRY_LIBRARY_PATH": str(build / "lib"), "GANTRY_TEST_BUILD": str(build),
            "PYTHONPATH": str(HERE.parent), "PYTHONDONTWRITEBYTECODE": "1", "GANTRY_CACHE_SIZE": "0",
            "GANTRY_DEVICES": "GPU:0,GPU:1", "GANTRY_SIMULATE": "1"}


def run_module(python, module, texts, build, verbose):
    asked = ["--filter", *texts] if texts else []
    done = subprocess.run([python, __file__, "--build-dir", build, "--here", module, *asked], text=True, timeout=1200,
                          env=environment(build), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        result = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        result = {"passed": 0, "failures": [f"{module}: no result, exit status {done.returncode}"], "skips": {}, "seconds": {}}
    if done.returncode and not result["failures"]:
        result["failures"].append(f"{module}: exit status {done.returncode}")
    if verbose or result["failures"]:
        sys.stderr.write(done.stderr)
    return result


def say(python, program):
    """What a program prints in an interpreter; None when it fails."""
    done = subprocess.run([python, "-c", program], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def others():
    """Other interpreters that can run the tests, by their names on the path."""
    found, own = [], sys.version_info[:2]
    for minor in range(9, 20):
        for name in (f"python3.{minor}", f"python3.{minor}t"):
            python = shutil.which(name)
            version = python and say(python, "import sys; print(sys.version.split()[0])")
            if not version or (3, minor) == own and not name.endswith("t"):
                continue
            numpy = say(python, "import numpy; print(numpy.__version__)")
            print(f"Python {version} ({python}): " + (f"NumPy {numpy}" if numpy else "not run, it has no NumPy"))
            found += [python] if numpy else []
    return found


def files(texts):
    """Names of files that may hold tests of such names: those that texts name, or all when one names none."""
    names = [file.stem for file in sorted(HERE.glob("test_*.py"))]
    named = [[name for name in names if text in name or f"{name}." in text] for text in texts]
    return [name for name in names if any(name in each for each in named)] if texts and all(named) else names


def run_all(python, texts, arguments, total):
    for name in files(texts):
        result = run_module(python, name, texts, arguments.build_dir.resolve(), arguments.verbose)
        total["passed"] += result["passed"]
        total["failures"] += result["failures"]
        total["skips"].update(result["skips"])
        total["seconds"].update(result["seconds"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--jobs")
    parser.add_argument("--filter", nargs="+", default=[])
    parser.add_argument("--python", nargs="+", default=[])
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--slowest", type=int, default=0)
    parser.add_argument("--here")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    if arguments.here:
        return run_here(arguments.here, arguments.filter)
    total = {"passed": 0, "failures": [], "skips": collections.Counter(), "seconds": {}}
    pythons = others() if arguments.others else arguments.python or [sys.executable]
    for python in pythons:
        run_all(python, arguments.filter or (OTHERS if arguments.others else ()), arguments, total)
    if arguments.filter and not total["passed"] and not total["failures"] and not total["skips"]:
        print(f"no test has a name with {' or '.join(arguments.filter)}")
    seconds = total.pop("seconds")
    for test in heapq.nlargest(arguments.slowest, seconds, key=seconds.get):
        print(f"{seconds[test]:6.2f} s  {test}")
    print(f"{total['passed']} passed, {len(total['failures'])} failed, {sum(total['skips'].values())} skipped")
    if arguments.json:
        arguments.json.write_text(json.dumps(total), encoding="utf-8")
    return 1 if total["failures"] or (pythons and not total["passed"]) else 0


if __name__ == "__main__":
    sys.exit(main())
