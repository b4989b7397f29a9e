"""The checker of homes has to refuse what it is there for: uses too many, tables too generous."""

import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import check_homes


class CheckHomesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def write(self, path, *lines):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines))

    def offences(self, allowed):
        rule = check_homes.Rule("a parse", "do not", re.compile(r"\bX::parse\("), ("lib",), allowed)
        return list(check_homes.offences_of(rule, self.root))

    def test_uses_are_counted_without_comments(self):
        self.write("lib/A/A.cpp", "X::parse(1); X::parse(2);", "// X::parse(3)", "y(); // X::parse(4)")
        self.assertEqual(self.offences({"lib/A/A.cpp": 2}), [])
        self.assertIn("A.cpp:1, 1: error: a parse: 2 uses, allowed are 1; do not",
                      self.offences({"lib/A/A.cpp": 1})[0])
        self.assertIn("allowed are 0", self.offences({})[0])

    def test_the_table_says_no_more_than_there_is(self):
        self.write("lib/A/A.cpp", "X::parse(1);")
        self.assertIn("1 uses, the table of check_homes.py says 2; lower it",
                      self.offences({"lib/A/A.cpp": 2})[0])
        self.assertIn("B.cpp: error: a parse: 0 uses",
                      self.offences({"lib/A/A.cpp": 1, "lib/B/B.cpp": 1})[0])

    def test_control_flow_of_the_graph_not_of_the_plan(self):
        pattern = re.compile(check_homes.CONTROL_FLOW)
        for text in ("isa<IfOp>(op)", "dyn_cast<WhileOp>(op)", "isa<IfOp, WhileOp>(op)",
                     "op->getParentOfType<WhileOp>()", "isa<CopyOp, gantry::IfOp>(op)"):
            self.assertTrue(pattern.search(text), text)
        for text in ("isa<commands::WhileOp>(op)", "IfOp::create(b)", "isa<ElseIfOp>(op)"):
            self.assertFalse(pattern.search(text), text)

    def test_attribute_names_are_spelled_once(self):
        self.write("lib/A/A.cpp", 'op->setAttr("gantry.items", x);', 'op->getAttr("gantry.items");')
        self.assertEqual(list(check_homes.spelled_twice(self.root)), [])
        self.write("lib/B/B.cpp", 'op->hasAttr("gantry.items");')
        self.assertIn("'gantry.items' is spelled in lib/A/A.cpp, lib/B/B.cpp",
                      list(check_homes.spelled_twice(self.root))[0])


if __name__ == "__main__":
    unittest.main()
