#!/usr/bin/python3
"""The suites' own judges: references that zeros would satisfy are refused, and drawn again.

Usage: references_test.py
"""

import itertools
import unittest

import numpy as np

import groups
import models_test
import references
import steps_test


def of(*values, dtype=np.float32):
    return np.array(values, dtype)


class References(unittest.TestCase):
    def test_a_network_has_to_give_something(self):
        x = [of(-2, 4)]
        for expected, inputs in ((of(1, 2), x), (of(0.004, -0.004), x), (of(3), x), (of(1, 5), []), (of(7, 7, dtype=np.int64), x),
                                 (of(), x), (of(np.nan), x), (of(np.inf, 1, 2), x)):
            self.assertIsNone(references.weakness(expected, inputs), expected)
        for expected, inputs, why in (
                (of(0, 0), x, "its largest value is 0, that of its inputs 4"),
                (of(2e-9, -2e-9), x, "its largest value is 2e-09, that of its inputs 4"),
                (of(0.003, 0), x, "its largest value is 0.003, that of its inputs 4"),
                (of(1e-4, 0), [of(5, dtype=np.int64)], "its largest value is 0.0001, that of its inputs 1"),
                (of(*[0.001] * 9), [of(0.5)], "its 9 values are all 0.001, as far as 0"),
                (of(5, 5.0001), x, "its 2 values are all 5, as far as 0.0001")):
            self.assertEqual(references.weakness(expected, inputs), f"the reference says nothing: {why}")

    def test_zeros_within_a_tolerance(self):
        for expected, tolerance, accepts in (
                ([of(0, 0)], (1e-3, 1e-3), True), ([of(5e-4)], (1e-3, 1e-3), True), ([of(5e-4)], (1e-3, 1e-7), False),
                ([of(0), of(1)], (1e-3, 1e-3), False), ([of(0), None, of()], (1e-3, 1e-3), True), ([of(0)], (0, 0), False),
                ([of()], (1e-3, 1e-3), False), ([of(0, dtype=np.int32)], (1e-3, 1e-3), False), ([of(np.nan)], (1e-3, 0), False)):
            self.assertEqual(references.accepts_zeros(expected, *tolerance), accepts, (expected, tolerance))


class Judges(unittest.TestCase):
    WEAK = groups.Case("weak", None, [], [of(1e-4, -1e-4)], (1e-3, 1e-3))

    def test_groups_refuse(self):
        judge = groups.Suite([], None).judge
        self.assertEqual(judge(self.WEAK, [of(1e-4, -1e-4)]), "the reference says nothing: zeros are within its tolerance")
        self.WEAK.zeros = "that is the point"
        self.assertIsNone(judge(self.WEAK, [of(1e-4, -1e-4)]))
        self.WEAK.zeros = ""
        self.assertIsNone(judge(groups.Case("", None, [], [of(1, 0)], (1e-3, 1e-3)), [of(1, 0)]))
        self.assertIsNone(judge(groups.Case("", None, [], None, (1e-3, 1e-3)), [of()]))

    def test_groups_draw_again(self):
        asked = []

        def make_case(seed, number):
            asked.append((seed, number))
            return groups.Case(f"--seed {seed}", None, [], [of(0 if seed < 2_000_000 else 1)], (1e-3, 1e-3))

        self.assertEqual(groups.drawn(make_case, 7, 3).name, "--seed 2000007")
        self.assertEqual(asked, list(zip((7, 1_000_007, 2_000_007), itertools.repeat(3))))

    def test_models_refuse(self):
        zeros = of(0, 0)
        with self.assertRaisesRegex(AssertionError, "output: the reference says nothing"):
            models_test.expect_close(zeros, zeros, "output", [of(1)])

    def test_steps_refuse(self):
        with self.assertRaisesRegex(AssertionError, "the reference says nothing"):
            steps_test.StepsTest().expect_close(of(0, 0), of(0, 0))


if __name__ == "__main__":
    unittest.main()
