#!/usr/bin/python3
"""Products that go to a library by default (docs/designs/libraries.md), from the graph to the numbers, on the fake libcuda and its
cuBLASLt: which kernels run where, what the log says, what is planned, and that the choice is the same whatever is around
a product.

Products are as small as the estimate lets them be: long sums, for GPUs without tensor cores of ours.

Usage: products_by_library_test.py BUILD [unittest arguments]; exit status 77 when a Python module is missing.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} (tools/dev/install_deps.sh references)")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
FAKE = str(BUILD / "lib/libfake-cuda.so")
ROWS, TERMS, COLUMNS = 128, 4096, 64
WORKSPACE = 16 * 4 * ROWS * COLUMNS + 256
BY_LIBRARY = re.compile(r"by the library cublasLt")


def tensor(element, *shape):
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


def graph(element="f16", device=None, also_output=False):
    """y = relu(x w + b), and x w itself, too, if that is wanted; on a device if one is named."""
    x, w, b, y = (tensor(element, *shape) for shape in ((ROWS, TERMS), (TERMS, COLUMNS), (COLUMNS,), (ROWS, COLUMNS)))
    on = f' {{gantry.device = #gantry.device<"{device}">}}' if device else ""
    results = [("%2", "y"), *([("%0", "p")] if also_output else [])]
    return f"""func.func @main(%x: {x} {{gantry.name = "x"}}, %w: {w} {{gantry.name = "w"}}, %b: {b} {{gantry.name = "b"}})
    -> ({', '.join(f'{y} {{gantry.name = "{name}"}}' for _, name in results)}) {{
  %0 = gantry.matmul %x, %w{on} : ({x}, {w}) -> {y}
  %1 = gantry.add %0, %b{on} : ({y}, {b}) -> {y}
  %2 = gantry.relu %1{on} : ({y}) -> {y}
  return {', '.join(value for value, _ in results)} : {', '.join(y for _ in results)}
}}
"""


class ProductsByLibrary(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        random = np.random.default_rng(3)
        self.arrays = {"x": random.uniform(-1, 1, (ROWS, TERMS)), "w": random.uniform(-1, 1, (TERMS, COLUMNS)),
                       "b": random.uniform(-1, 1, (COLUMNS,))}

    def gantry(self, *arguments, library=FAKE, cuda=FAKE, status=0):
        known = {"GANTRY_CUDA_LIB": cuda, "GANTRY_CUBLASLT_LIB": library}
        environment = {name: value for name, value in os.environ.items() if name not in known}
        environment |= {name: value for name, value in known.items() if value}
        environment |= {"GANTRY_CACHE_SIZE": "0", "FAKE_CUDA_DEVICES": "2", "FAKE_CUDA_ORDER": "2"}
        done = subprocess.run([BUILD / "bin/gantry", *arguments], cwd=self.folder, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def result(self, text, *flags, element=np.float16, output="y", **where):
        """(result, what the tool said) of a graph that is compiled with the flags, then run."""
        (self.folder / "graph.mlir").write_text(text)
        for name, array in self.arrays.items():
            np.save(self.folder / f"{name}.npy", array.astype(element))
        devices = () if any(flag.startswith("--devices") for flag in flags) else ("--devices=CPU:0,GPU:0",)
        self.gantry("compile", "graph.mlir", "-o", "plan.gantry", "--cubins=off", *devices, *flags)
        run = self.gantry("run", "plan.gantry", *(f"--input={name}={name}.npy" for name in self.arrays),
                          f"--output={output}={output}.npy", "-v", *(() if where.get("cuda", FAKE) else ("--emulate",)), **where)
        return np.load(self.folder / f"{output}.npy"), run.stderr

    def expected(self, element=np.float16):
        x, w, b = (self.arrays[name].astype(element).astype(np.float64) for name in "xwb")
        return np.maximum((x @ w).astype(element).astype(np.float64) + b, 0)

    def near(self, found, expected, element=np.float16):
        """Sums of 4096 terms below 1 in f32, then two roundings to the type."""
        tolerance = {np.float16: 2 ** -9, np.float32: 2 ** -16}[element]
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance, atol=tolerance * 64)

    def test_the_library_runs_by_default(self):
        found, said = self.result(graph())
        self.assertRegex(said, r"kernel 'matmul_0' runs on '\S*GPU:0' by the library cublasLt")
        self.near(found, self.expected())
        quiet = self.gantry("run", "plan.gantry", *(f"--input={name}={name}.npy" for name in self.arrays))
        self.assertNotRegex(quiet.stderr, BY_LIBRARY)

    def test_without_it_our_kernel_runs_and_the_log_says_why(self):
        ours, said = self.result(graph(), "--libraries=none")
        self.assertNotRegex(said, "cublasLt")
        for library, why in ((None, "GANTRY_CUBLASLT_LIB no cuBLASLt that works with it"), ("/nowhere/libcublasLt.so", "cannot be opened")):
            with self.subTest(library):
                found, said = self.result(graph(), library=library)
                self.assertRegex(said, rf"kernel 'matmul_0' runs on '\S*GPU:0' as PTX for sm_75; what comes before it in the plan "
                                       rf"cannot run here: cublasLt 12.0 \(.*{why}")
                np.testing.assert_array_equal(found.view(np.uint16), ours.view(np.uint16))

    def test_an_emulated_gpu_has_the_bits_of_none(self):
        ours, _ = self.result(graph(), "--libraries=none", cuda=None, library=None)
        found, said = self.result(graph(), cuda=None, library=None)
        self.assertRegex(said, "an emulated GPU has no library 'cublasLt'")
        np.testing.assert_array_equal(found.view(np.uint16), ours.view(np.uint16))

    def test_a_simulated_gpu_has_none(self):
        (self.folder / "graph.mlir").write_text(graph())
        self.gantry("compile", "graph.mlir", "-o", "plan.gantry", "--devices=CPU:0,GPU:0", "--simulate")
        self.assertNotIn("cublasLt", self.gantry("plan-text", "plan.gantry").stdout)

    def test_what_is_around_a_product_does_not_matter(self):
        """Its bits are the library's, which adds in another order than we do."""
        fused, _ = self.result(graph())
        alone, said = self.result(graph(), "--no-fuse")
        self.assertRegex(said, BY_LIBRARY)
        kept, said = self.result(graph(also_output=True))
        self.assertRegex(said, BY_LIBRARY)
        for other in (alone, kept):
            np.testing.assert_array_equal(fused.view(np.uint16), other.view(np.uint16))

    def test_on_several_gpus(self):
        devices = "--devices=CPU:0,GPU:0,GPU:1"
        first, said = self.result(graph(device="GPU:0"), devices)
        self.assertRegex(said, r"on '\S*GPU:0' by the library")
        second, said = self.result(graph(device="GPU:1"), devices)
        self.assertRegex(said, r"on '\S*GPU:1' by the library")
        np.testing.assert_array_equal(first.view(np.uint16), second.view(np.uint16))
        both, said = self.result(graph(), devices, "--replicate=GPU:0,GPU:1")
        self.near(both, self.expected())

    def test_rounded_factors(self):
        """Of f32, whose sums stay f32."""
        found, said = self.result(graph("f32"), "--math=f16", element=np.float32)
        self.assertRegex(said, BY_LIBRARY)
        self.assertIn("matmul f16 to f32 in f32", self.gantry("plan-text", "plan.gantry").stdout)
        x, w = (self.arrays[name].astype(np.float32).astype(np.float16).astype(np.float64) for name in "xw")
        self.near(found, np.maximum(x @ w + self.arrays["b"], 0), np.float32)
        _, said = self.result(graph("f32"), element=np.float32)
        self.assertNotRegex(said, "cublasLt")

    def test_the_workspace_is_planned(self):
        (self.folder / "graph.mlir").write_text(graph())
        planned = []
        for which in ("auto", "none"):
            told = json.loads(self.gantry("explain", "graph.mlir", "--devices=CPU:0,GPU:0", f"--libraries={which}", "--json").stdout)
            planned.append(told["memory"][1]["transient"])
        self.assertEqual(planned[0] - planned[1], WORKSPACE)

    def test_what_tells_of_a_plan_says_so(self):
        (self.folder / "graph.mlir").write_text(graph())
        flags = ("graph.mlir", "--devices=CPU:0,GPU:0")
        told = json.loads(self.gantry("explain", *flags, "--json").stdout)
        self.assertEqual([(kernel["symbol"], kernel["library"]) for kernel in told["functions"][0]["kernels"]],
                         [("matmul_0", "cublasLt"), ("add_relu_0", "")])
        for more in ((), ("--all",), ("--op=MatMul",)):
            self.assertRegex(self.gantry("explain", *flags, *more).stdout, "cublasLt, else matmul_0")
        self.assertNotIn("cublasLt", self.gantry("explain", *flags, "--all", "--libraries=none").stdout)
        self.gantry("report", *flags, "-o", "report.html")
        self.assertRegex((self.folder / "report.html").read_text(), '"library": ?"cublasLt"')

    def test_plans_are_the_same_wherever_they_are_made(self):
        """What is there, and what the cache holds of other flags, decides nothing."""
        (self.folder / "graph.mlir").write_text(graph())
        plans = set()
        for library, cuda in ((FAKE, FAKE), (None, FAKE), (None, None)):
            self.gantry("compile", "graph.mlir", "-o", "plan.gantry", "--devices=CPU:0,GPU:0", library=library, cuda=cuda)
            plans.add((self.folder / "plan.gantry").read_bytes())
        self.assertEqual(len(plans), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
