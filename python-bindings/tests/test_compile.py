"""Compiling files and bytes: options, errors with their places, interruption."""

import os
import pathlib
import tempfile
import threading
import unittest

import numpy as np

import gantry as gt
from tests.support import HAS_COMPILER, NEEDS_COMPILER

TASK = "/job:localhost/replica:0/task:0/"
MATMUL = b"""
func.func @main(%x: tensor<2x3xf32> {gantry.name = "x"}, %w: tensor<3x2xf32> {gantry.name = "w"})
    -> (tensor<2x2xf32> {gantry.name = "y"}) {
  %y = gantry.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
"""
VARIABLE = b"""
module {
  gantry.variable @w = dense<0.5> : tensor<4xf32>
  func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
    %w = gantry.read @w : tensor<4xf32>
    %y = gantry.add %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.assign @w, %y : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
"""


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Sources(unittest.TestCase):
    def test_bytes_and_files(self):
        x = np.arange(6, dtype=np.float32)
        with tempfile.NamedTemporaryFile(suffix=".mlir") as file:
            file.write(MATMUL)
            file.flush()
            for source in (MATMUL, file.name):
                result = gt.compile(source).run(x.reshape(2, 3), x.reshape(3, 2))
                np.testing.assert_array_equal(list(result.values())[0], x.reshape(2, 3) @ x.reshape(3, 2))

    def test_the_plan_says_where_ops_are(self):
        plan = gt.compile(MATMUL)
        self.assertEqual([op["log_name"] for op in plan.ops], ["MatMul"])
        host, gpu = f"{TASK}device:CPU:0", f"{TASK}device:GPU:0"
        self.assertEqual(plan.log(), [f"Copying 24 bytes from {host} to {gpu}", f"Copying 24 bytes from {host} to {gpu}",
                                      f"Executing op MatMul in device {gpu}", f"Copying 16 bytes from {gpu} to {host}"])

    def test_ends_at_other_values(self):
        x, w = np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)
        text = MATMUL.replace(b"%y", b"%sum").replace(
            b"return %sum", b"%z = gantry.exp %sum : (tensor<2x2xf32>) -> tensor<2x2xf32>\n  return %z")
        for outputs in ("%sum", ["%sum"]):
            plan = gt.compile(text, outputs=outputs)
            self.assertEqual([op["log_name"] for op in plan.ops], ["MatMul"])
            np.testing.assert_array_equal(plan.run(x, w)["sum"], x @ w)
        with self.assertRaisesRegex(gt.InvalidArgumentError, "no value 'sun'; did you mean 'sum'"):
            gt.compile(text, outputs=["sun"])

    def test_copies_memory_and_differences(self):
        plan, other = gt.compile(MATMUL), gt.compile(MATMUL, rules=["MatMul=GPU:1"])
        self.assertEqual([copy["bytes"] for copy in plan.copies()], [24, 24, 16])
        self.assertIn("GPU:0", plan.memory)
        self.assertIs(plan.diff(plan)["same"], True)
        self.assertIs(plan.diff(other)["same"], False)

    def test_a_module_of_pytorch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).eval()
        x = torch.rand(4, 8)
        result = list(gt.from_torch(net, x).run(x.numpy()).values())[0]
        np.testing.assert_allclose(result, net(x).detach().numpy(), rtol=1e-5, atol=1e-6)

    def test_wrong_sources(self):
        for source, error, text in (
                ("missing.onnx", gt.InvalidArgumentError, "there is no file 'missing.onnx'"),
                ("/", gt.InvalidArgumentError, "'/' is a folder, expected a graph"),
                (3, TypeError, "a source is a path, bytes or a Graph, not int"),
                (MATMUL.replace(b"3x2xf32", b"4x2xf32"), gt.InvalidArgumentError, None)):
            with self.assertRaises(error) as caught:
                gt.compile(source)
            if text:
                self.assertEqual(str(caught.exception), text)

    def test_what_is_not_read(self):
        for source, text in ((b"ML\xefR" + bytes(60), "this is MLIR bytecode, whose reader does not check what it reads"),
                             ("/dev/zero", "cannot read '/dev/zero': it is a device, expected a file or a pipe")):
            with self.subTest(source), self.assertRaises(gt.InvalidArgumentError) as caught:
                gt.compile(source)
            self.assertIn(text, str(caught.exception))

    def test_a_pipe_is_read_once(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            writer = threading.Thread(target=lambda: pathlib.Path(pipe).write_bytes(MATMUL))
            writer.start()
            self.assertEqual([op["log_name"] for op in gt.compile(pipe).ops], ["MatMul"])
            writer.join()

    def test_diagnostics_have_a_place(self):
        with self.assertRaises(gt.InvalidArgumentError) as caught:
            gt.compile(b"func.func @main() {\n  gantry.nonsense\n}\n")
        severity, file, line, column, _, text = caught.exception.diagnostics[0]
        self.assertEqual((severity, file, line), ("error", "<memory>", 2))
        self.assertIn("nonsense", text)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Options(unittest.TestCase):
    def test_rules(self):
        plan = gt.compile(MATMUL, rules=["MatMul=GPU:1"])
        self.assertIn("GPU:1", str(plan.description["functions"][0]))
        self.assertEqual(plan.run(np.ones((2, 3), "f"), np.ones((3, 2), "f"))[plan.outputs[0].name].tolist(), [[3, 3]] * 2)

    def test_rules_place_variables(self):
        state = gt.compile(VARIABLE, rules=["kind:variable=CPU:0"]).session().state
        self.assertEqual((state["w"].device, state["w"].tolist()), ("CPU:0", [0.5] * 4))
        self.assertEqual(gt.compile(VARIABLE).session().state["w"].device, "GPU:0")

    def test_weighted_replicas(self):
        plan = gt.compile(b"""
            func.func @main(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
              %y = gantry.relu %x : (tensor<?x2xf32>) -> tensor<?x2xf32>
              return %y : tensor<?x2xf32>
            }""", replicate="GPU:0=2,GPU:1=1", dims={"input0:0": 6})
        self.assertEqual(list(plan.run(-np.ones((6, 2), "f")).values())[0].tolist(), [[0, 0]] * 6)

    def test_what_does_not_fit(self):
        with self.assertRaises(MemoryError) as caught:
            gt.compile(MATMUL.replace(b"2x3", b"2000x3000").replace(b"3x2", b"3000x2000").replace(b"2x2", b"2000x2000"),
                       devices="CPU:0,GPU:0@1MiB")
        self.assertIn("GPU:0", str(caught.exception))
        self.assertIsInstance(caught.exception, RuntimeError)

    def test_copies_budget(self):
        with self.assertRaises(gt.InvalidArgumentError) as caught:
            gt.compile(MATMUL, rules=["MatMul=GPU:1"], max_copy={"h2d": 0})
        self.assertIn("h2d", str(caught.exception))
