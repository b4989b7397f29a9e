"""Compiles kernels of gantry ops by upstream passes and runs them on NumPy arrays.

A Suite collects cases: an op with %0, %1, ... for its operands, the input arrays and the expected
outputs. All cases become one module and one shared object, which takes seconds for hundreds.
"""

import ctypes
import pathlib
import subprocess

import numpy as np

ELEMENT = {"float16": "f16", "float32": "f32", "float64": "f64", "bool": "i1",
           **{f"int{w}": f"i{w}" for w in (8, 16, 32, 64)},
           **{f"uint{w}": f"ui{w}" for w in (8, 16, 32, 64)}}

PIPELINE = "builtin.module(" + ",".join([
    "gantry-lower-kernels-to-linalg", "canonicalize", "linalg-fuse-elementwise-ops", "canonicalize",
    "cse", "eliminate-empty-tensors", "empty-tensor-to-alloc-tensor",
    "one-shot-bufferize{bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops=1}",
    "buffer-results-to-out-params{hoist-static-allocs=1}", "canonicalize",
    "convert-linalg-to-loops", "fold-memref-alias-ops", "lower-affine", "convert-scf-to-cf",
    "expand-strided-metadata", "lower-affine", "arith-expand{include-bf16=1}",
    "convert-math-to-llvm", "convert-math-to-libm", "finalize-memref-to-llvm",
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}", "convert-arith-to-llvm",
    "convert-cf-to-llvm", "convert-index-to-llvm", "convert-ub-to-llvm", "canonicalize",
    "reconcile-unrealized-casts"]) + ")"


def tensor_type(array):
    return "tensor<" + "".join(f"{d}x" for d in array.shape) + ELEMENT[array.dtype.name] + ">"


class Suite:
    def __init__(self):
        self.cases = []

    def add(self, op, inputs, outputs, tolerance=0.0):
        """`tolerance` is relative and absolute; 0 wants equal values, NaN equal to NaN."""
        outputs = outputs if isinstance(outputs, list) else [outputs]
        self.cases.append((op, [np.ascontiguousarray(x).reshape(np.shape(x)) for x in inputs],
                           [np.asarray(x) for x in outputs], tolerance))

    def text(self):
        return "".join(self._kernel(*case) for case in enumerate(self.cases))

    @staticmethod
    def _kernel(number, case):
        op, inputs, outputs, _ = case
        arguments = ", ".join(f"%{i}: {tensor_type(x)}" for i, x in enumerate(inputs))
        names = ", ".join(f"%r{i}" for i in range(len(outputs)))
        types = ", ".join(map(tensor_type, outputs))
        block = f"^bb0({arguments}):\n" if inputs else ""
        return (f"gantry.kernel @k{number} {{\n{block}  {names} = {op} : "
                f"({', '.join(map(tensor_type, inputs))}) -> ({types})\n"
                f"  gantry.yield {names} : {types}\n}}\n")

    def compile(self, folder):
        """Gives the loaded library; `folder` keeps what it was made from."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernels.mlir").write_text(self.text())
        subprocess.run(["gantry-opt", folder / "kernels.mlir", "--pass-pipeline=" + PIPELINE,
                        "-o", folder / "llvm.mlir"], check=True)
        subprocess.run(["mlir-translate", "--mlir-to-llvmir", folder / "llvm.mlir",
                        "-o", folder / "kernels.ll"], check=True)
        runner = subprocess.run(["llvm-config", "--libdir"], check=True, capture_output=True,
                                text=True).stdout.strip()
        subprocess.run(["clang", "-O1", "-march=native", "-fPIC", "-shared",
                        "-Wno-override-module", folder / "kernels.ll",
                        "-o", folder / "kernels.so", f"-L{runner}", "-lmlir_c_runner_utils",
                        f"-Wl,-rpath,{runner}", "-lm"], check=True)
        return ctypes.CDLL(str(folder / "kernels.so"))

    def run(self, folder):
        """Prints the cases whose outputs differ, and gives their number."""
        library = self.compile(folder)
        wrong = 0
        for number, (op, inputs, outputs, tolerance) in enumerate(self.cases):
            # Outputs start as something else, or a kernel that writes nothing could pass.
            got = [np.full(x.shape, 77).astype(x.dtype) for x in outputs]
            kernel = getattr(library, f"k{number}")
            kernel.restype = None
            copies = [x.copy() for x in inputs]
            kernel(*[ctypes.c_void_p(x.ctypes.data) for x in copies + got])
            for actual, expected in zip(got, outputs):
                wrong += not self._agree(op, inputs, actual, expected, tolerance)
        print(f"{len(self.cases)} cases, {wrong} wrong")
        return wrong

    @staticmethod
    def _agree(op, inputs, actual, expected, tolerance):
        if expected.dtype.kind == "f":
            same = np.isclose(actual.astype("f8"), expected.astype("f8"), rtol=tolerance,
                              atol=tolerance, equal_nan=True)
        else:
            same = actual == expected
        if same.all():
            return True
        first = tuple(np.argwhere(~np.atleast_1d(same))[0])
        actual, expected = np.atleast_1d(actual), np.atleast_1d(expected)
        print(f"{op} on {', '.join(map(tensor_type, inputs))}: at {list(map(int, first))} got "
              f"{actual[first]}, expected {expected[first]}; {np.sum(~same)} of {same.size} differ")
        return False
