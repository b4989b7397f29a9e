"""The checker of homes has to refuse what it is there for: uses too many, tables too generous."""

import dataclasses
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
        for text in ("isa<plan::ir::WhileOp>(op)", "IfOp::create(b)", "isa<ElseIfOp>(op)"):
            self.assertFalse(pattern.search(text), text)

    def offences_of(self, what):
        rule = next(rule for rule in check_homes.RULES if rule.what == what)
        rule = dataclasses.replace(rule, allowed={})
        return list(check_homes.offences_of(rule, self.root))

    def test_passes_take_no_targets_as_options(self):
        what = "an option of a pass that says what a module is compiled for"
        self.write("include/gantry/Passes.td", 'Option<"all", "all", "bool", "false", "also">')
        self.assertEqual(self.offences_of(what), [])
        self.write("include/gantry/Passes.td", 'ListOption<"also", "also", "std::string", "">', 'Option<"math", "math", "int", "">')
        self.assertIn("Passes.td:1, 2: error", self.offences_of(what)[0])

    def test_precisions_are_no_text(self):
        what = "a comparison with the text of a precision"
        self.write("lib/Target/A.cpp", 'return "bf16";', "if (math == Math::bf16)")
        self.assertEqual(self.offences_of(what), [])
        for text in ('if (math == "tf32")', 'if ("f16" != type)', '.Case("bf16", x)', '.Cases("x", "f32", y)'):
            self.write("lib/Target/A.cpp", text)
            self.assertEqual(len(self.offences_of(what)), 1, text)

    def test_discardable_attributes_are_in_the_table(self):
        what = "a discardable attribute outside of the table"
        self.write("lib/Target/A.cpp", 'op->setAttr(kNameAttr, x);', 'emitError() << "gantry.matmul is not";', 'op->getAttr("index")')
        self.assertEqual(self.offences_of(what), [])
        for text in ('constexpr llvm::StringLiteral kMineAttr = "mine";', 'return "gantry.mine";', 'op->setAttr("mine", x);'):
            self.write("lib/Target/A.cpp", text)
            self.assertEqual(len(self.offences_of(what)), 1, text)

    def test_python_has_no_table_of_kernels(self):
        what = "a table of kernels, or the rule where ops go, in Python"
        self.write("python-bindings/gantry/a.py", 'KINDS = {"ints": "Sequence[int]", "floats": 1}', 'known = devices("GPU") or devices("CPU")')
        self.assertEqual(self.offences_of(what), [])
        for text in ('    "add": ("numbers", "numbers"),', "if not has_kernel(op, kind, dtype):", 'for kind in ("GPU", "CPU"):'):
            self.write("python-bindings/gantry/a.py", text)
            self.assertEqual(len(self.offences_of(what)), 1, text)

    def test_attention_is_looked_for_at_its_places(self):
        what = "a search for attention among the ops of a graph"
        self.write("lib/Target/A.cpp", ".Case<SoftmaxOp, LayerNormOp>(", "addLowering<SoftmaxOp, lower>(patterns);")
        self.assertEqual(self.offences_of(what), [])
        for text in ("weights.getDefiningOp<SoftmaxOp>()", "if (isa<SoftmaxOp>(op))", "dyn_cast_or_null<SoftmaxOp>(op)"):
            self.write("lib/Target/A.cpp", text)
            self.assertEqual(len(self.offences_of(what)), 1, text)

    def test_attribute_names_are_spelled_once(self):
        self.write("lib/A/A.cpp", 'op->setAttr("gantry.items", x);', 'op->getAttr("gantry.items");')
        self.assertEqual(list(check_homes.spelled_twice(self.root)), [])
        self.write("lib/B/B.cpp", 'op->hasAttr("gantry.items");')
        self.assertIn("'gantry.items' is spelled in lib/A/A.cpp, lib/B/B.cpp",
                      list(check_homes.spelled_twice(self.root))[0])


if __name__ == "__main__":
    unittest.main()
