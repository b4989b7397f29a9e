"""Small cases that are compiled several at a time, each compared with arrays made elsewhere.

Compiling one op takes 25 ms, most of it not for the op; so a group of cases becomes one file, which is
compiled with fusion and without. Results must be what is expected, and the same bits with fusion as
without and on one thread as on two. A group that is refused, or dies, is run again case by case, so
that what is reported is a case and not its neighbours.
"""

import argparse
import collections
import dataclasses
import itertools
import json
import pathlib
import re
import tempfile

import numpy as np

import gantry_api
import references
import workers

SECONDS_PER_GROUP = 60


@dataclasses.dataclass
class Case:
    name: str  # says how to repeat it
    source: object  # what the packer makes a part of a file
    inputs: list
    expected: list  # arrays, or None where what to compute has no answer and must be refused
    tolerance: tuple = (0, 0)  # relative, absolute
    key: object = None  # cases of one file have it in common
    zeros: str = ""  # why the right answer may be one that its tolerance takes for zeros; else that is refused

    def says_nothing(self):
        return not self.zeros and self.expected is not None and references.accepts_zeros(self.expected, *self.tolerance)


def difference(actual, expected, tolerance):
    """What is different between two arrays, or None; element type and shape count as well."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}"
    with np.errstate(all="ignore"):
        equal = np.isclose(actual, expected, *tolerance, equal_nan=actual.dtype.kind == "f")
    if equal.all():
        return None
    where = tuple(np.argwhere(~equal)[0])
    return (f"{np.count_nonzero(~equal)} of {equal.size} values differ, first at {[int(i) for i in where]}: "
            f"{actual[where]!r}, expected {expected[where]!r}")


def same_bits(a, b):
    """NaN is NaN, whatever its bits are."""
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    nan = np.isnan(a) if a.dtype.kind == "f" else np.zeros(a.shape, bool)
    return np.array_equal(nan, b != b) and a[~nan].tobytes() == b[~nan].tobytes()


class Suite:
    """`pack(cases, folder)` writes a file of the cases and gives its path, the inputs by name and, for
    each case, the names of its outputs. `flags` are given to every compilation; each
    of `variants`, flags more, has to give the bits of the first."""

    def __init__(self, cases, pack, flags=(), variants=((), ("no-fuse",))):
        self.cases, self.pack, self.flags, self.variants = cases, pack, flags, variants

    def check(self, indices):
        """Runs in a worker: {index: what is wrong}, or None when the cases have to go one by one."""
        cases = [self.cases[i] for i in indices]
        try:
            with tempfile.TemporaryDirectory() as folder:
                found = self.compare(cases, *self.pack(cases, pathlib.Path(folder)))
        except gantry_api.Refused as refusal:
            if len(cases) > 1:
                return None
            text = "; ".join(refusal.lines)
            if not refusal.is_clear() or "internal error" in text:
                found = [f"{refusal.code_name}: {text}"]
            else:
                found = [None if cases[0].expected is None else f"refused: {text}"]
        except gantry_api.ApiError as error:
            if len(cases) > 1:
                return None
            found = [str(error)]
        return {index: what for index, what in zip(indices, found) if what}

    def compare(self, cases, file, inputs, outputs):
        runs = {}
        for flags in self.variants:
            content = gantry_api.compile_model(file, (*self.flags, *flags), inputs)
            for threads in (2, 1):
                plan = gantry_api.Plan(content, threads)
                runs[flags, threads] = self.run_plan(plan, {name: inputs[name] for name in plan.inputs})
        self.first = first = runs.pop((self.variants[0], 2))
        found = []
        for case, names in zip(cases, outputs):
            found.append(self.judge(case, [first[name] for name in names]) or next(
                (f"other bits with {' '.join(flags) or 'no flags'} on {threads} threads"
                 for (flags, threads), run in runs.items()
                 if not all(same_bits(first[name], run[name]) for name in names)), None))
        return found

    def run_plan(self, plan, inputs):
        return plan.run(inputs)

    def judge(self, case, actual):
        if case.expected is None:
            # What has no elements may as well be made.
            return None if not any(array.size for array in actual) else "compiled, although there is no answer"
        if case.says_nothing():
            return "the reference says nothing: zeros are within its tolerance"
        for number, (array, expected) in enumerate(zip(actual, case.expected, strict=True)):
            if found := difference(array, expected, case.tolerance):
                return f"output {number}: {found}"
        return None

    def run(self, size, jobs):
        """{name of a case: what is wrong}; `size` cases to a group."""
        # What must be refused would take its group along.
        alone = [(i,) for i, case in enumerate(self.cases) if case.expected is None]
        together = collections.defaultdict(list)
        for i, case in enumerate(self.cases):
            if case.expected is not None:
                together[case.key].append(i)
        waiting = alone + [tuple(some[i:i + size]) for some in together.values() for i in range(0, len(some), size)]
        failures = {}
        while waiting:
            groups, waiting = waiting, []
            for group, found in workers.run_all(self.check, groups, jobs, SECONDS_PER_GROUP,
                                                on_crash=lambda why: f"crash: {why}",
                                                on_timeout=lambda: f"more than {SECONDS_PER_GROUP} s"):
                if len(group) > 1 and (found is None or isinstance(found, str)):
                    waiting += [(index,) for index in group]
                elif isinstance(found, str):
                    failures[self.cases[group[0]].name] = found
                else:
                    failures.update((self.cases[index].name, what) for index, what in found.items())
        return failures


def drawn(make_case, seed, number):
    """The case make_case(seed, number), or that of a later seed, which its name tells, where this one says nothing."""
    return next(case for each in itertools.count(seed, 1_000_000)
                if not (isinstance(case := make_case(each, number), Case) and case.says_nothing()))


def drawn_options(about, count):
    """The command line of a suite whose cases are drawn by number, as a parser."""
    parser = argparse.ArgumentParser(description=about.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--json", type=pathlib.Path, help="for run_tests.py")
    return parser


def drawn_numbers(arguments):
    gantry_api.load(arguments.build_dir)
    return range(arguments.count) if arguments.case is None else [arguments.case]


def drawn_cases(about, make_case, count):
    """(arguments, cases) of the command line of a suite whose cases are made by make_case(seed, number)."""
    parser = drawn_options(about, count)
    parser.add_argument("--flag", action="append", default=[], help="of the compiler, for example gpu-arch=sm_80")
    arguments = parser.parse_args()
    return arguments, [drawn(make_case, arguments.seed, number) for number in drawn_numbers(arguments)]


def drawn_checks(about, check, count, seconds):
    """(arguments, number of cases, failures) of a suite whose cases are checked by check((seed, number)) alone, each in
    no more than so many seconds."""
    arguments = drawn_options(about, count).parse_args()
    cases = [(arguments.seed, number) for number in drawn_numbers(arguments)]
    outcomes = workers.run_all(check, cases, arguments.jobs, seconds, on_crash=lambda why: f"crash: {why}",
                               on_timeout=lambda: f"more than {seconds} s")
    return arguments, len(cases), {f"case {number}": what for (_, number), what in outcomes if what}


def run_drawn(suite, about, make_case, pack, cases_of_a_file, count):
    """All of such a suite. The exit status."""
    arguments, cases = drawn_cases(about, make_case, count)
    outcomes = Suite(cases, pack, arguments.flag).run(cases_of_a_file, arguments.jobs)
    return report(suite, len(cases), outcomes, arguments.json)


def report(suite, count, failures, file):
    """Prints what failed and a last line; writes it for run_tests.py too. The exit status."""
    for name, what in sorted(failures.items()) if not file else ():
        print(f"  {name}: {re.sub(chr(10), ' ', what)[:600]}")
    print(f"{suite}: {count - len(failures)} of {count} cases are right")
    if file:
        file.write_text(json.dumps({"passed": count - len(failures), "skips": {},
                                    "failures": [f"{name}: {what}" for name, what in sorted(failures.items())]}))
    return 1 if failures else 0
