"""Tests of check_docs.py: what a recipe has to say, and what is found where it does not."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import check_docs

RECIPE = """# Recipes

## An op

Example: `swoosh`, `SwooshOp`. It is complete: nothing else names it.

| | file | what |
|---|---|---|
| 1 | `lib/Ops.td` | the op; errors in `lib/Errors.cpp` |
| 2 | `lib/Table.def`, `lib/Types.cpp` | its rows |
| if | `lib/Costs.cpp` | its cost |
| 3 | `build/release/docs/Passes.md` | made by the build |
"""
FILES = {"lib/Ops.td": 'Op<"swoosh">', "lib/Errors.cpp": "", "lib/Table.def": "KERNEL(swoosh)", "lib/Types.cpp": "INFER(SwooshOp)",
         "lib/Costs.cpp": "", "test/ops.mlir": "gantry.swoosh", "lib/Other.cpp": "swooshes, hard-swoosh"}


class RecipesTest(unittest.TestCase):
    def offences(self, recipe=RECIPE, built="### `gantry.swoosh`", **changed):
        files = FILES | {name.replace("__", "/").replace("_dot_", "."): text for name, text in changed.items()}
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                if text is not None:
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text(text, encoding="utf-8")
            present = [name for name, text in files.items() if text is not None]
            return list(check_docs.recipe_offences(recipe, root, present, {"Passes.md": built}))

    def test_a_recipe_that_leads_to_the_end(self):
        self.assertEqual(self.offences(), [])

    def test_a_file_that_is_gone(self):
        self.assertIn("lib/Table.def does not exist", self.offences(lib__Table_dot_def=None)[0])

    def test_a_numbered_file_that_does_not_name_the_example(self):
        self.assertEqual(self.offences(lib__Types_dot_cpp="INFER(SwooshMashOp)"),
                         ["docs/Recipes.md: error: 'An op': lib/Types.cpp does not name swoosh, SwooshOp"])

    def test_a_file_that_the_recipe_forgets(self):
        self.assertEqual(self.offences(lib__Other_dot_cpp="isa<SwooshOp>"),
                         ["docs/Recipes.md: error: 'An op' does not list lib/Other.cpp, which names swoosh, SwooshOp"])

    def test_pages_of_the_build_are_asked_where_there_is_one(self):
        self.assertEqual(self.offences(built=None), [])
        self.assertEqual(self.offences(built="### `gantry.swish`"),
                         ["docs/Recipes.md: error: 'An op': build/release/docs/Passes.md does not name swoosh, SwooshOp"])
        self.assertEqual(self.offences(RECIPE.replace("Passes", "Passages")),
                         ["docs/Recipes.md: error: 'An op': build/release/docs/Passes.md does not exist".replace("Passes", "Passages")])

    def test_tests_may_name_it_anywhere(self):
        self.assertEqual(self.offences(test__more_dot_mlir="gantry.swoosh"), [])

    def test_a_recipe_without_an_example(self):
        self.assertIn("has no example", self.offences(RECIPE.replace("Example", "Such as"))[0])


class PagesTest(unittest.TestCase):
    def test_maps_name_files_that_exist(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "lib").mkdir()
            (root / "lib/Here.cpp").write_text("")
            text = "`lib/Here.cpp`, `lib/There.cpp`, `libfoo`, `lib/Gone`."
            self.assertEqual(list(check_docs.map_offences("docs/CPU.md", text, root)),
                             ["docs/CPU.md: error: 'lib/Gone' does not exist", "docs/CPU.md: error: 'lib/There.cpp' does not exist"])

    def test_headings_that_links_may_name(self):
        text = "# On GPUs: ops\n\n```sh\n# a comment\n```\n## `gantry-ptx` run, again\n<a id=\"own\"></a>\n"
        self.assertEqual(check_docs.anchors_of(text), {"on-gpus-ops", "gantry-ptx-run-again", "own"})

    def test_words_of_the_glossary_are_in_their_files(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "lib").mkdir()
            (root / "lib/Tile.h").write_text("struct Tile")
            row = "| `{}` | microkernel | a tile | `{}` |\n"
            self.assertEqual(list(check_docs.glossary_offences(row.format("tile", "lib/Tile.h"), root)), [])
            self.assertIn("'Strip' is not in", list(check_docs.glossary_offences(row.format("Strip", "lib/Tile.h"), root))[0])
            self.assertIn("does not exist", list(check_docs.glossary_offences(row.format("tile", "lib/T.h"), root))[0])
            self.assertIn("no row", list(check_docs.glossary_offences("# Glossary", root))[0])

    def test_pages_of_the_build(self):
        page = "# Ops\n\n## add\n\nAs [sub](#sub), [flags](CLI.md).\n\n## sub\n"
        offences = lambda text: list(check_docs.page_offences("Ops.md", text, ("/here/build",)))
        self.assertEqual(offences(page), [])
        self.assertEqual(offences(""), ["Ops.md: error: it has no title, or no heading"])
        self.assertEqual(offences("# Ops\n\nNone.\n"), ["Ops.md: error: it has no title, or no heading"])
        self.assertEqual(offences(page + "/here/build/bin/gantry"), ["Ops.md: error: names a path of one machine: '/here/build'"])
        self.assertEqual(offences(page.replace("#sub", "#mul")), ["Ops.md: error: link to '#mul', a heading that does not exist"])
        self.assertEqual(offences(page.replace("CLI.md", "Errors.md")), ["Ops.md: error: link to 'Errors.md', which is not made beside it"])

    def test_pages_that_are_named_exist(self):
        built = {"Passes.md": "# Passes\n\n## Place\n", "CLI.md": None}
        offences = lambda text: list(check_docs.mention_offences("a.cpp", text, {"Errors.md"}, built))
        said = "see docs/Errors.md, docs/designs/memory.md, docs/CLI.md" + "#run, build/release/docs/Passes.md" + "#place"
        self.assertEqual(offences(said), [])
        self.assertEqual(offences(said.replace("Passes", "Passages")),
                         ["a.cpp: error: names Passages.md of docs, which is neither written nor made by the build"])
        self.assertEqual(offences(said.replace("#place", "#fuse")),
                         ["a.cpp: error: names Passes.md#fuse of docs, a heading that does not exist"])


if __name__ == "__main__":
    unittest.main()
