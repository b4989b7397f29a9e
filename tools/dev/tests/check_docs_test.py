"""Tests of check_docs.py: what a recipe has to say, and what is found where it does not."""

import importlib.util
import pathlib
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "check_docs.py"
spec = importlib.util.spec_from_file_location("check_docs", SCRIPT)
check_docs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_docs)

RECIPE = """# Recipes

## An op

Example: `mish`, `MishOp`. It is complete: nothing else names it.

| | file | what |
|---|---|---|
| 1 | `lib/Ops.td` | the op; errors in `lib/Errors.cpp` |
| 2 | `lib/Table.def`, `lib/Types.cpp` | its rows |
| if | `lib/Costs.cpp` | its cost |
"""
FILES = {"lib/Ops.td": 'Op<"mish">', "lib/Errors.cpp": "", "lib/Table.def": "KERNEL(mish)", "lib/Types.cpp": "INFER(MishOp)",
         "lib/Costs.cpp": "", "test/ops.mlir": "gantry.mish", "lib/Other.cpp": "mishap, hard-mish"}


class RecipesTest(unittest.TestCase):
    def offences(self, recipe=RECIPE, **changed):
        files = FILES | {name.replace("__", "/").replace("_dot_", "."): text for name, text in changed.items()}
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                if text is not None:
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text(text, encoding="utf-8")
            present = [name for name, text in files.items() if text is not None]
            return list(check_docs.recipe_offences(recipe, root, present))

    def test_a_recipe_that_leads_to_the_end(self):
        self.assertEqual(self.offences(), [])

    def test_a_file_that_is_gone(self):
        self.assertIn("'lib/Table.def' does not exist", self.offences(lib__Table_dot_def=None)[0])

    def test_a_file_that_prose_names_and_is_gone(self):
        self.assertIn("'lib/Errors.cpp' does not exist", self.offences(lib__Errors_dot_cpp=None)[0])

    def test_a_numbered_file_that_does_not_name_the_example(self):
        self.assertEqual(self.offences(lib__Types_dot_cpp="INFER(MishMashOp)"),
                         ["docs/Recipes.md: error: 'An op': lib/Types.cpp does not name mish, MishOp"])

    def test_a_file_that_the_recipe_forgets(self):
        self.assertEqual(self.offences(lib__Other_dot_cpp="isa<MishOp>"),
                         ["docs/Recipes.md: error: 'An op' does not list lib/Other.cpp, which names mish, MishOp"])

    def test_tests_may_name_it_anywhere(self):
        self.assertEqual(self.offences(test__more_dot_mlir="gantry.mish"), [])

    def test_a_recipe_without_an_example(self):
        self.assertIn("has no example", self.offences(RECIPE.replace("Example", "Such as"))[0])


if __name__ == "__main__":
    unittest.main()
