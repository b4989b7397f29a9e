#!/usr/bin/python3
"""Automatic placement of small problems against their optimum.

Random problems of up to 20 tasks on 2 to 4 devices, three of four with limits. The optimum is known from a branch and
bound over all orders and devices, where that comes to its end, else from below by a mixed-integer program
(placement_oracle.py), which both have to agree with. Of each hundred, 95 have to be within 2 % of that, all within 10 %.
The program wants SciPy. 40 problems are the default, --all adds 560.

Usage: placement_oracle_test.py --build-dir BUILD [--all] [--filter TEXT] [-v]
"""

import json
import subprocess
import sys

import cases

NEAR, FAR, ENOUGH = 1.02, 1.10, 0.95
SECONDS = 20  # of the program, for each problem
SAME = 1 + 1e-6


class Oracle(cases.Runner):
    def __init__(self, build, scratch):
        super().__init__(build, scratch)
        self.printer = build / "bin/PrintPlacementProblems"

    def problems(self, count, seed, least, most):
        done = subprocess.run([self.printer, *map(str, (count, seed, least, most))], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]


def program_bound(problem):
    try:
        import placement_oracle
    except ImportError as error:
        raise cases.Skip(f"{error.name} is not there") from None
    return placement_oracle.lower_bound(problem, seconds=SECONDS)[0]


def least_seconds(problem):
    """Seconds that no placement is faster than."""
    return problem["exact"] if problem["complete"] else max(program_bound(problem), problem["bound"])


def near_optimum(runner, count, seed):
    problems = runner.problems(count, seed, 2, 20)
    assert len(problems) == count, len(problems)
    refused = [number for number, problem in enumerate(problems) if not problem["fits"]]
    assert not refused, f"nothing was found for {refused}"
    ratios = [problem["seconds"] / least_seconds(problem) for problem in problems]
    within = sum(ratio <= NEAR for ratio in ratios)
    text = f"{within} of {count} within 2 % of the optimum, the worst {max(ratios):.3f} times it"
    assert within >= ENOUGH * count and max(ratios) <= FAR, f"{text}; {[(i, r) for i, r in enumerate(ratios) if r > NEAR]}"
    return text


def oracles_agree(runner):
    """Where the optimum is known, neither bound is above it."""
    for number, problem in enumerate(runner.problems(40 if cases.LONG else 25, 7, 2, 9)):
        if problem["fits"] and problem["complete"]:
            for name, bound in (("program", program_bound(problem)), ("search", problem["bound"])):
                assert bound <= problem["exact"] * SAME, (number, name, bound, problem["exact"])


CASES = {"agree": oracles_agree, "40": lambda runner: near_optimum(runner, 40, 1)}
MORE = {"60": lambda runner: near_optimum(runner, 60, 99)} | {
    f"500/{part}": (lambda runner, part=part: near_optimum(runner, 100, 100 + part)) for part in range(5)}


if __name__ == "__main__":
    sys.exit(cases.main("placement-oracle", CASES, __doc__, Oracle, more=MORE))
