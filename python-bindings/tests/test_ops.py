"""Every op: computed at once, in a function and by the tool from the function's text, bit for bit the same; and as
NumPy has it."""

import os
import subprocess
import tempfile
import unittest

import numpy as np

import gantry as gt
from tests.op_cases import CASES
from tests.support import BUILD, HAS_COMPILER, NEEDS_COMPILER


def generated():
    """The names of the functions of gantry.ops."""
    return {name for name in vars(gt.ops) if not name.startswith("_")}


def compute(name, operands):
    """The results of a case on its operands."""
    results = getattr(gt.ops, name)(*operands, **CASES[name][1])
    return results if isinstance(results, tuple) else (results,)


def flat(operands):
    return [leaf for operand in operands for leaf in (operand if isinstance(operand, list) else [operand])]


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class EveryOp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.eager = {}
        for name, (operands, _, _) in CASES.items():
            given = [[gt.array(x) for x in operand] if isinstance(operand, list) else gt.array(operand)
                     for operand in operands]
            cls.eager[name] = [result.numpy() for result in compute(name, given)]

    def test_there_is_a_case_for_each(self):
        self.assertEqual(set(CASES), generated())

    def test_as_numpy_has_it(self):
        for name, (operands, attributes, reference) in CASES.items():
            if reference is None:
                continue
            with self.subTest(name):
                expected = reference(*operands, **attributes)
                for got, wanted in zip(self.eager[name], expected if isinstance(expected, tuple) else (expected,)):
                    self.assertEqual(got.shape, np.shape(wanted))
                    # NumPy rounds in another order, or computes in f64.
                    np.testing.assert_allclose(got, np.asarray(wanted, got.dtype), rtol=1e-6, atol=1e-6)

    def test_function_and_tool_give_the_same_bits(self):
        names = sorted(CASES)
        leaves = [leaf for name in names for leaf in flat(CASES[name][0])]

        @gt.function
        def everything(*values):
            values, results = iter(values), []
            for name in names:
                given = [[next(values) for _ in operand] if isinstance(operand, list) else next(values)
                         for operand in CASES[name][0]]
                results += compute(name, given)
            return results

        expected = [(name, result) for name in names for result in self.eager[name]]
        for (name, wanted), got in zip(expected, everything(*leaves)):
            self.same(f"{name} in a function", got.numpy(), wanted)
        with tempfile.TemporaryDirectory() as folder:
            everything.lower(*leaves).save(f"{folder}/ops.mlir")
            np.savez(f"{folder}/in.npz", **{f"input{i}": leaf for i, leaf in enumerate(leaves)})
            subprocess.run([BUILD / "bin/gantry", "run", f"{folder}/ops.mlir", "--input", f"{folder}/in.npz", "--output",
                            f"{folder}/out.npz", "--devices=GPU:0,GPU:1", "--simulate"], check=True, env=os.environ,
                           stdout=subprocess.DEVNULL)
            with np.load(f"{folder}/out.npz") as out:
                for i, (name, wanted) in enumerate(expected):
                    self.same(f"{name} by the tool", out[f"output{i}"], wanted)

    def same(self, what, got, wanted):
        with self.subTest(what):
            self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape))
            self.assertEqual(got.tobytes(), wanted.tobytes())
