"""The table of the seeds' rows is whole, and names tests that exist; every program of the seeds' lines has its row."""

import importlib
import unittest

from tests.seed_lines import ALONE, SHARED
from tests.seed_rows import DISTRIBUTION, ROWS


def tests_of(row):
    listed = ROWS[row] if isinstance(ROWS[row], tuple) else (ROWS[row],)
    return [where for where in listed if where != DISTRIBUTION]


class Rows(unittest.TestCase):
    def test_every_row_has_a_test(self):
        self.assertEqual(sorted(ROWS), list(range(1, 68)))
        self.assertEqual([row for row in ROWS if not tests_of(row)], [32])  # several machines
        for row in ROWS:
            for where in tests_of(row):
                module, case, name = where.split(".")
                found = getattr(importlib.import_module(f"tests.{module}"), case, None)
                self.assertTrue(hasattr(found, name), f"row {row}: there is no test {where}")

    def test_every_program_has_a_row(self):
        listed = {where.rpartition("test_")[2] for row in ROWS for where in tests_of(row) if where.startswith("test_seed_lines")}
        self.assertEqual({name.replace(" ", "_") for name in (*SHARED, *ALONE)}, listed)
