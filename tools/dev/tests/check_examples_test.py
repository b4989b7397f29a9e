"""How examples become modules; whether they parse is gantry-opt's part."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import check_examples


class CheckExamplesTest(unittest.TestCase):
    def test_operands_become_arguments(self):
        module = check_examples.as_module(
            "%c = gantry.add %a, %b {x = array<i64: 1, 2>} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>")
        self.assertIn("func.func @example(%a: tensor<2xf32>, %b: tensor<f32>) {", module)

    def test_one_type_stands_for_one_operand(self):
        self.assertIn("@example(%x: tensor<4xf32>)",
                      check_examples.as_module('%y = gantry.copy %x to "GPU:1" : tensor<4xf32>'))

    def test_whole_functions_stay(self):
        self.assertEqual(check_examples.as_module("func.func @f() {\n}"), "func.func @f() {\n}")

    def test_types_with_commas(self):
        self.assertEqual(check_examples.split_types("tensor<2xf32, #a<1, 2>>, (i1, i2) -> i3, i4"),
                         ["tensor<2xf32, #a<1, 2>>", "(i1, i2) -> i3", "i4"])


if __name__ == "__main__":
    unittest.main()
