"""The table of the seeds' rows is whole, and names tests that exist."""

import importlib
import unittest

from tests.seed_rows import DISTRIBUTION, ROWS, TRAINING


class Rows(unittest.TestCase):
    def test_every_row_has_a_test_or_an_issue(self):
        self.assertEqual(sorted(ROWS), list(range(1, 68)))
        for row, where in ROWS.items():
            if where not in (TRAINING, DISTRIBUTION):
                module, case, name = where.split(".")
                found = getattr(importlib.import_module(f"tests.{module}"), case, None)
                self.assertTrue(hasattr(found, name), f"row {row}: there is no test {where}")
