#!/usr/bin/python3
"""Every example of every --help and of the documents runs, as it stands there.

An example is a line that calls one of the tools: below "Examples:" of a command's help, or in a code
block of a document. What stands behind " # ", or two blanks, is its comment; an exit status is 0, or
the one that the comment says. Each runs in a folder of its own, which has a small model under every
name that the examples use. Those that measure do so for a twentieth of a second, not for one.

Usage: examples_test.py BUILD [unittest arguments]; exit status 77 when a Python module is missing.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing} (tools/dev/install_deps.sh references)")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
CALL = re.compile(r"(?:[A-Z_]+=\S+ |cat \S+ \| )?gantry(?:-\w+)? ")
ENVIRONMENT = {**os.environ, "GANTRY_CACHE_SIZE": "0", "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}
TRAIN = """
gantry.variable @steps = dense<0.0> : tensor<4xf32>
func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %one = gantry.constant dense<1.0> : tensor<4xf32>
  gantry.assign_add @steps, %one : tensor<4xf32>
  %y = gantry.relu %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
"""
SCALE = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .f32 a, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<5>; .reg .f32 %f<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x];
  ld.param.f32 %f1, [a];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r4, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r4, %r1;
  @%p1 ret;
  mad.wide.u32 %rd2, %r4, 4, %rd1;
  ld.global.f32 %f2, [%rd2];
  mul.f32 %f3, %f2, %f1;
  st.global.f32 [%rd2], %f3;
  ret;
}
"""


def shell(command, folder):
    return subprocess.run(["bash", "-c", command], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True,
                          errors="replace")


class Example:
    def __init__(self, home, line):
        line = line.strip().removeprefix("$ ")
        parts = re.split(r"\s+#\s+|\s{2,}", line, maxsplit=1)
        self.home, self.command, comment = home, parts[0], "".join(parts[1:])
        said = re.search(r"exit status (\d)", comment)
        self.status = int(said[1]) if said else 0

    def soon(self):
        """The command, with less to measure where it does not say how much."""
        return self.command.replace("gantry bench", "gantry bench --min-time=0.05")


def ptx_help_examples():
    for line in shell("gantry-ptx --help", ROOT).stdout.partition("Examples:\n")[2].splitlines():
        if CALL.match(line.strip()):
            yield Example("gantry-ptx --help", line)


def memplan_help_examples():
    for line in shell("gantry-memplan --help", ROOT).stdout.partition("Examples:\n")[2].splitlines():
        if CALL.match(line.strip()):
            yield Example("gantry-memplan --help", line)


def help_examples():
    commands = re.findall(r"^  ([a-z-]+) ", shell("gantry --help", ROOT).stdout.split("SUBCOMMANDS:")[-1]
                          .split("Subcommands:")[-1], re.MULTILINE)
    for command in commands:
        examples = shell(f"gantry {command} --help", ROOT).stdout.partition("Examples:\n")[2]
        for line in examples.splitlines():
            if CALL.match(line.strip()):
                yield Example(f"gantry {command} --help", line)


def document_examples():
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    for name in names or [str(path.relative_to(ROOT)) for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")]]:
        inside = False
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            if line.startswith("```"):
                inside = not inside
            elif inside and CALL.match(line.removeprefix("$ ")):
                yield Example(name, line)


def save_model(path, scale, batch=None):
    """Convolutions conv1 and Conv_3, and a matrix product head.fc; or, with a batch that is open, one
    that looks up ids."""
    draw = np.random.default_rng(3)
    weight = lambda name, *shape: numpy_helper.from_array(
        (scale * draw.standard_normal(shape)).astype(np.float32), name)
    if batch:
        nodes = [helper.make_node("Gather", ["table", "ids"], ["y"])]
        inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, [batch, 4])]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 4, 8])]
        weights = [weight("table", 1000, 8)]
    else:
        nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], name="conv1"),
                 helper.make_node("Conv", ["a", "w2"], ["b"], name="Conv_3"),
                 helper.make_node("Flatten", ["b"], ["c"]),
                 helper.make_node("MatMul", ["c", "w3"], ["y"], name="head.fc")]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])]
        weights = [weight("w1", 4, 3, 3, 3), weight("w2", 4, 4, 3, 3), weight("w3", 64, 10)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def save_trainable(path):
    """A network that computes its loss, and a batch for it."""
    draw = np.random.default_rng(4)
    weight = lambda name, *shape: numpy_helper.from_array((0.3 * draw.standard_normal(shape)).astype(np.float32), name)
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], name="fc1"), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Gemm", ["r", "w2", "b2"], ["logits"], name="fc2"),
             helper.make_node("SoftmaxCrossEntropyLoss", ["logits", "labels"], ["loss"])]
    graph = helper.make_graph(nodes, "mlp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [16, 8]),
                                             helper.make_tensor_value_info("labels", TensorProto.INT64, [16])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, []),
                               helper.make_tensor_value_info("logits", TensorProto.FLOAT, [16, 4])],
                              [weight("w1", 8, 32), weight("b1", 32), weight("w2", 32, 4), weight("b2", 4)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    np.savez(path.parent / "batch.npz", x=draw.standard_normal((16, 8)).astype(np.float32),
             labels=draw.integers(0, 4, 16))


class ExamplesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.given = folder = pathlib.Path(scratch.name) / "given"
        folder.mkdir()
        save_model(folder / "model.onnx", 0.1)
        shutil.copy(folder / "model.onnx", folder / "old.onnx")
        save_model(folder / "new.onnx", 0.2)
        save_model(folder / "bert.onnx", 1.0, "batch")
        save_trainable(folder / "mlp.onnx")
        (folder / "train.mlir").write_text(TRAIN)
        shutil.copy(ROOT / "examples/workers/step.mlir", folder / "step.mlir")
        shutil.copy(ROOT / "examples/workers/64x8.json", folder / "cluster.json")
        (folder / "kernel.ptx").write_text(SCALE)
        (folder / "buffers.csv").write_text("id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\n")
        graph = (ROOT / "README.md").read_text(encoding="utf-8").partition("```mlir\n")[2].partition("```")[0]
        (folder / "sum.mlir").write_text(graph)
        x = np.random.default_rng(1).random((1, 3, 8, 8), dtype=np.float32)
        np.save(folder / "x.npy", x)
        np.savez(folder / "in.npz", x=x)
        two = "--devices=CPU:0,GPU:0,GPU:1 --simulate"
        for command in ("gantry compile model.onnx -o model.gantry",
                        "gantry run model.gantry --input x=x.npy --output y=ref.npy",
                        "cp model.gantry before.gantry; cp model.gantry old.gantry",
                        f"gantry compile model.onnx {two} -o after.gantry; cp after.gantry new.gantry",
                        "gantry compile mlp.onnx --train=loss --optimizer=adamw,rate=1e-3 -o step.gantry",
                        "gantry run step.gantry --function=step --input batch.npz --save-state w.safetensors",
                        f"gantry devices {two} --json > machine.json",
                        f"gantry compile model.onnx {two} --write-placement-lock model.lock -o /dev/null",
                        f"gantry compile model.onnx {two} --stop-after=simplify -o before.mlir"):
            made = shell("set -e; " + command, folder)
            if made.returncode:
                raise RuntimeError(f"{command}: {made.stderr}")

    def check(self, examples, least):
        examples = list(examples)
        self.assertGreaterEqual(len(examples), least, "examples are not found any more")
        for example in examples:
            with self.subTest(f"{example.home}: {example.command}"), tempfile.TemporaryDirectory() as folder:
                shutil.copytree(self.given, folder, dirs_exist_ok=True)
                run = shell("set -o pipefail; " + example.soon(), folder)
                self.assertEqual(run.returncode, example.status, (run.stdout[-300:] + run.stderr[-900:]))

    def test_examples_of_every_help(self):
        self.check(help_examples(), 30)

    def test_examples_of_the_help_of_gantry_ptx(self):
        self.check(ptx_help_examples(), 3)

    def test_examples_of_the_help_of_gantry_memplan(self):
        self.check(memplan_help_examples(), 5)

    def test_examples_of_the_documents(self):
        self.check(document_examples(), 25)

    def test_phases_are_listed_as_the_compiler_has_them(self):
        flags = (ROOT / "include/gantry/Support/CompileFlags.def").read_text(encoding="utf-8")
        phases = re.search(r'VALUES\("stop-after", "([^"]*)"\)', flags)[1].split(", ")
        listed = re.search(r"^Phases in order: (.*)\.$", (ROOT / "docs/Debugging.md").read_text(encoding="utf-8"),
                           re.MULTILINE)[1]
        self.assertEqual(re.findall(r"`(\w+)`", listed), phases)
        explained = re.search(r'FLAG_READ\("stop-after".*: (.*)", readPhase', flags)[1]
        self.assertEqual(re.split(r", | or ", explained), phases)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
