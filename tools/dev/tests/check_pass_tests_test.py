"""The pass checker has to notice an untested, an undescribed and a half-described pass."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import check_pass_tests

GOOD = '''
def FuseGroupsPass : Pass<"gantry-fuse-groups", "func::FuncOp"> {
  let summary = "Fuse elementwise ops";
  let description = [{ Groups ops that share a loop nest; leaves matmul alone. }];
  let options = [Option<"limit", "limit", "unsigned", "8", "largest number of ops in a group">];
}
'''
RUN = "// RUN: gantry-opt %s --gantry-fuse-groups | FileCheck %s\n"


def check(tablegen, test):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "include").mkdir()
        (root / "test").mkdir()
        (root / "include/Passes.td").write_text(tablegen)
        (root / "test/fuse-groups.mlir").write_text(test)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = check_pass_tests.main([folder])
        return status, output.getvalue()


class CheckPassTestsTest(unittest.TestCase):
    def test_good_pass(self):
        self.assertEqual(check(GOOD, RUN), (0, "check_pass_tests: 1 passes\n"))

    def test_pass_pipeline_counts_as_use(self):
        run = "// RUN: gantry-opt --pass-pipeline='builtin.module(func.func(gantry-fuse-groups))' %s\n"
        self.assertEqual(check(GOOD, run)[0], 0)

    def test_longer_flag_is_no_use(self):
        status, output = check(GOOD, RUN.replace("groups", "groups-more"))
        self.assertEqual(status, 1)
        self.assertIn("no RUN line under test/ names 'gantry-fuse-groups'", output)

    def test_missing_description(self):
        text = GOOD.replace("let description", "let other")
        self.assertIn("a summary and a description", check(text, RUN)[1])

    def test_repeated_summary(self):
        text = GOOD.replace("Groups ops that share a loop nest; leaves matmul alone.",
                            "Fuse elementwise ops.")
        self.assertIn("only repeats", check(text, RUN)[1])

    def test_option_without_sentence(self):
        text = GOOD.replace("largest number of ops in a group", "limit")
        self.assertIn("option 'limit'", check(text, RUN)[1])

    def test_statistics(self):
        text = GOOD.replace("  let options", '  let statistics = [Statistic<"numFused", "fused", "ops that were fused">];\n  let options')
        status, output = check(text, RUN)
        self.assertEqual(status, 1)
        self.assertIn("FuseGroupsPass: has statistics, which count nothing", output)


if __name__ == "__main__":
    unittest.main()
