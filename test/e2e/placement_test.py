#!/usr/bin/python3
"""Placement and copies as a user sees them, on simulated devices: what the tool prints, line by line.

The classes follow section 9 of the specification, the cases of TensorFlow's and PyTorch's guides;
then models, whose numbers on several devices must be those of one CPU, bit for bit.

Usage: placement_test.py BUILD [unittest arguments]; exit status 77 when a Python module is missing.
Models are found by GANTRY_MODELS_DIR (../shared/models) and GANTRY_MADE_MODELS_DIR, where its
make_models.py wrote (default: ../models). With GANTRY_TEST_EMULATE=all the plans are those for NVIDIA GPUs,
whose kernels are interpreted and checked.
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
    import own_models
except ImportError as missing:
    print(f"skipped: {missing} (tools/dev/install_deps.sh references)")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("GANTRY_CACHE_SIZE", "0")  # what is tested is the compiler
MODELS = pathlib.Path(os.environ.get("GANTRY_MODELS_DIR", ROOT / "../shared/models")).resolve()
MADE = pathlib.Path(os.environ.get("GANTRY_MADE_MODELS_DIR", ROOT / "../models")).resolve()

EMULATE = os.environ.get("GANTRY_TEST_EMULATE")

TWO_GPUS = ["--devices=CPU:0,GPU:0,GPU:1", "--simulate"]
CPU0, GPU0, GPU1, GPU2 = (f"/job:localhost/replica:0/task:0/device:{d}" for d in ("CPU:0", "GPU:0", "GPU:1", "GPU:2"))

# Ramps of 2x3 and 3x2 and their product, as TensorFlow's guide to GPUs has them.
RAMPS = """
    %a = gantry.constant {gantry.name = "a"%A%} dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %b = gantry.constant {gantry.name = "b"%B%} dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
"""
PRODUCT = "gantry.matmul %a, %b {gantry.name = \"c\"%} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>"


def request(device):
    return f', gantry.device = #gantry.device<"{device}">' if device else ""


def ramps(device=None):
    return RAMPS.replace("%A%", request(device)).replace("%B%", request(device))


def product(device=None):
    return PRODUCT.replace("%}", request(device) + "}")


def graph(body, result="tensor<2x2xf32>", arguments=""):
    return f"func.func @main({arguments}) -> {result} {{{body}}}\n"


def product_graph(constants=None, matmul=None):
    """The product of the ramps, with requests for the constants and for the product."""
    return graph(f"{ramps(constants)}    %c = {product(matmul)}\n    return %c : tensor<2x2xf32>\n")


class PlacementTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def gantry(self, *arguments):
        if EMULATE and ("--simulate" in arguments or "g.gantry" in arguments):
            # Plans are not made for it; runs are.
            emulated = ["--emulate", f"--emulate-checks={EMULATE}"] if arguments[0] == "run" else []
            arguments = [a for a in arguments if a != "--simulate"] + emulated
        return subprocess.run([str(BUILD / "bin/gantry"), *map(str, arguments)], cwd=self.folder, text=True,
                              capture_output=True, timeout=120, check=False)

    def succeed(self, *arguments):
        result = self.gantry(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        return result

    def write(self, text, name="g.mlir"):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def run_logged(self, text, *flags, devices=TWO_GPUS):
        """Runs a graph and gives (output text, lines of the placement log). That the runtime counted
        the copies that the plan's ledger has is checked by the tool itself with -v."""
        result = self.succeed("run", self.write(text), *devices, "--log-device-placement", *flags)
        counted = self.succeed("run", "g.mlir", *devices, "-v", *flags)
        self.assertIn("copies counted as planned", counted.stderr)
        return result.stdout, result.stderr.splitlines()

    def refuse(self, text, *flags, status=1, devices=TWO_GPUS):
        result = self.gantry("run", self.write(text), *devices, *flags)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stderr


def executing(op, device):
    return f"Executing op {op} in device {device}"


def copying(size, source, target, once=False):
    return f"Copying {size} bytes from {source} to {target}" + (" (once, at load)" if once else "")


RAMPS_PRODUCT = "output0: f32[2,2] on CPU:0\n[[22. 28.]\n [49. 64.]]\n"


class GuideTest(PlacementTest):
    """Section 9: what the guides to GPUs show, with two GPUs unless said."""

    def test_p6_product_without_a_request(self):
        out, log = self.run_logged(product_graph())
        self.assertEqual(out, RAMPS_PRODUCT)
        self.assertEqual(log, [
            executing("MatMul", GPU0),
            copying(16, GPU0, CPU0),
            "placed 1 op: GPU:0 1; 0 fall-backs; 1 copy per run, 16 bytes (d2h 1); 0 at load"])

    def test_p6_without_gpus(self):
        out, log = self.run_logged(product_graph(), devices=["--devices=CPU:0"])
        self.assertEqual(out, RAMPS_PRODUCT)
        self.assertEqual(log, [
            executing("MatMul", CPU0),
            "placed 1 op: CPU:0 1; 0 fall-backs; 0 copies per run, 0 bytes; 0 at load"])

    def test_x2_constants_of_the_cpu_are_copied_at_load(self):
        out, log = self.run_logged(product_graph(constants="/CPU:0"))
        self.assertEqual(out, RAMPS_PRODUCT)
        self.assertEqual(log, [
            copying(24, CPU0, GPU0, once=True),
            copying(24, CPU0, GPU0, once=True),
            executing("MatMul", GPU0),
            copying(16, GPU0, CPU0),
            "placed 1 op: GPU:0 1; 0 fall-backs; 1 copy per run, 16 bytes (d2h 1); 2 at load"])

    def test_p16_inputs_are_copied_in_every_run(self):
        arguments = '%a: tensor<2x3xf32> {gantry.name = "a"}, %b: tensor<3x2xf32> {gantry.name = "b"}'
        np.save(self.folder / "a.npy", np.arange(1, 7, dtype=np.float32).reshape(2, 3))
        np.save(self.folder / "b.npy", np.arange(1, 7, dtype=np.float32).reshape(3, 2))
        text = graph(f"    %c = {product()}\n    return %c : tensor<2x2xf32>\n", arguments=arguments)
        out, log = self.run_logged(text, "--input", "a=a.npy", "--input", "b=b.npy", "--repeat", "3")
        self.assertEqual(out, RAMPS_PRODUCT)
        self.assertEqual(log, [
            copying(24, CPU0, GPU0),
            copying(24, CPU0, GPU0),
            executing("MatMul", GPU0),
            copying(16, GPU0, CPU0),
            "placed 1 op: GPU:0 1; 0 fall-backs; 3 copies per run in 2 transfers, 64 bytes (h2d 2, d2h 1); 0 at load"])

    def test_d8_visible_devices(self):
        shown = self.succeed("devices", *TWO_GPUS, "--visible", "0").stdout
        self.assertEqual(shown.splitlines()[-1], "GPUs: 2 physical, 1 logical")
        error = self.refuse(product_graph(matmul="GPU:1"), "--visible", "0")
        self.assertIn(f"'MatMul' is placed on '{GPU1}': unknown device; the devices are {CPU0}, {GPU0}\n", error)

    def test_d4_split_devices(self):
        split = ["--split", "GPU:0=1GiB,1GiB"]
        shown = self.succeed("devices", *TWO_GPUS, *split).stdout
        self.assertEqual(shown.splitlines()[-1], "GPUs: 2 physical, 3 logical")
        out, log = self.run_logged(product_graph(matmul="GPU:2"), *split)
        self.assertEqual(out, RAMPS_PRODUCT)
        self.assertEqual(log[0], executing("MatMul", GPU2))

    def test_p4_unknown_device(self):
        self.assertEqual(self.refuse(product_graph(matmul="/device:GPU:2")),
                         f"gantry: error: g.mlir:4:10: 'MatMul' is placed on '{GPU2}': unknown device; "
                         f"the devices are {CPU0}, {GPU0}, {GPU1}\n")

    def test_p5_unknown_device_softly(self):
        for flags, log in {("--devices=CPU:0,GPU:0,GPU:1", "--simulate"): (GPU0, "GPU:0"),
                           ("--devices=CPU:0",): (CPU0, "CPU:0")}.items():
            with self.subTest(flags):
                full, short = log
                result = self.succeed("run", self.write(product_graph(matmul="/device:GPU:2")), *flags,
                                      "--soft-placement", "--log-device-placement")
                lines = result.stderr.splitlines()
                self.assertEqual(result.stdout, RAMPS_PRODUCT)
                self.assertEqual(lines[0], f"gantry: remark: g.mlir:4:10: 'MatMul' falls back from '{GPU2}' to "
                                           f"'{full}': unknown device")
                self.assertEqual(lines[1], executing("MatMul", full))
                self.assertTrue(lines[-1].startswith(f"placed 1 op: {short} 1; 1 fall-back; "), lines[-1])

    def test_p13_a_lock_under_soft_placement(self):
        """It keeps what a request fell back to, and is never the reason to."""
        soft = ["--soft-placement", "--placement-lock=a.lock"]
        self.succeed("compile", self.write(product_graph(matmul="GPU:7")), *TWO_GPUS, "--soft-placement",
                     "--write-placement-lock=a.lock", "-o", "a.gantry")
        self.succeed("compile", "g.mlir", *TWO_GPUS, *soft, "--write-placement-lock=b.lock", "-o", "b.gantry")
        lock = (self.folder / "a.lock").read_text()
        self.assertEqual(lock, f"# gantry placement lock 1\nmain c {GPU0}\n")
        self.assertEqual((self.folder / "b.lock").read_text(), lock)
        self.succeed("diff", "a.gantry", "b.gantry")
        error = (f"gantry: error: g.mlir:4:10: a.lock:2: the lock is stale: it has 'MatMul' ('c') on '{GPU0}', against "
                 f"the request for '{GPU1}'; write a new one with --write-placement-lock\n"
                 f"gantry: note: g.mlir:4:10: 'MatMul' ('c') is requested on '{GPU1}'\n")
        moved = product_graph(matmul="GPU:1")
        for flags in (soft, soft[1:], [*soft, "--placement=auto"]):
            self.assertEqual(self.refuse(moved, *flags), error)
        why = self.succeed("explain", "g.mlir", *TWO_GPUS, *soft, "--why-not", "c", "GPU:1").stdout
        self.assertEqual(why.partition("then it compiles")[0], "'MatMul' ('c') has no device; for GPU:1:\n- remove "
                         "'MatMul' ('c') from the lock (locked by a.lock:2)\n")

    def test_p5_soft_without_any_request(self):
        _, log = self.run_logged(product_graph(), "--soft-placement")
        self.assertEqual(log, [
            executing("MatMul", GPU0),
            copying(16, GPU0, CPU0),
            "placed 1 op: GPU:0 1; 0 fall-backs; 1 copy per run, 16 bytes (d2h 1); 0 at load"])

    def test_p2_a_product_on_each_gpu_added_on_the_cpu(self):
        scope = """
    %{name} = gantry.on "/device:{device}" -> (tensor<2x2xf32>) {{
      %0 = {op}
      gantry.yield %0 : tensor<2x2xf32>
    }}
"""
        total = "gantry.add %p, %q : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>"
        body = (ramps() + scope.format(name="p", device="GPU:0", op=product()) +
                scope.format(name="q", device="GPU:1", op=product()) +
                scope.format(name="s", device="CPU:0", op=total) + "    return %s : tensor<2x2xf32>\n")
        out, log = self.run_logged(graph(body))
        self.assertEqual(out, "output0: f32[2,2] on CPU:0\n[[ 44.  56.]\n [ 98. 128.]]\n")
        self.assertEqual(log, [
            executing("MatMul", GPU0),
            executing("MatMul", GPU1),
            copying(16, GPU0, CPU0),
            copying(16, GPU1, CPU0),
            executing("AddV2", CPU0),
            "placed 3 ops: GPU:0 1, GPU:1 1, CPU:0 1; 0 fall-backs; 2 copies per run, 32 bytes (d2h 2); 0 at load"])


ON_GPU0 = '#gantry.device<"GPU:0">'
ON_GPU1 = '#gantry.device<"GPU:1">'
VECTOR = "tensor<2x3xf32>"


class CopyTest(PlacementTest):
    """Section 9: X, Y and Z of the chapter on GPUs of the book on deep learning."""

    ARGUMENT = f'%x: {VECTOR} {{gantry.name = "x", gantry.device = {ON_GPU0}}}'
    ENDS = f"({VECTOR} {{gantry.device = {ON_GPU1}}})"

    def setUp(self):
        super().setUp()
        self.x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.save(self.folder / "x.npy", self.x)

    def run_x(self, body, *flags):
        return self.run_logged(graph(body, self.ENDS, self.ARGUMENT), "--input", "x=x.npy", "--output", "output0=y.npy",
                               *flags)

    def test_x1_copy_to_where_it_is(self):
        """Z = X on GPU:1; Z.copyto(GPU:1) is Z, and no byte moves for it."""
        body = f"""
    %z = gantry.copy %x to "GPU:1" : {VECTOR}
    %same = gantry.copy %z to "GPU:1" : {VECTOR}
    %y = gantry.neg %same {{gantry.device = {ON_GPU1}}} : ({VECTOR}) -> {VECTOR}
    return %y : {VECTOR}
"""
        _, log = self.run_x(body, "--copies=explicit")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), -self.x)
        self.assertEqual(log, [
            copying(24, GPU0, GPU1),
            executing("Neg", GPU1),
            "placed 1 op: GPU:1 1; 0 fall-backs; 1 copy per run, 24 bytes (d2d 1); 0 at load"])

    def test_x1_forced_copy_is_a_buffer_of_its_own(self):
        def peak(force):
            body = f"""
    %y = gantry.neg %x {{gantry.device = {ON_GPU0}}} : ({VECTOR}) -> {VECTOR}
    %own = gantry.copy %y to "GPU:0" {force} : {VECTOR}
    %s = gantry.add %own, %y {{gantry.device = {ON_GPU0}}} : ({VECTOR}, {VECTOR}) -> {VECTOR}
    return %s : {VECTOR}
"""
            self.write(graph(body, f"({VECTOR} {{gantry.device = {ON_GPU0}}})", self.ARGUMENT))
            self.succeed("compile", "g.mlir", *TWO_GPUS, "--no-fuse", "-o", "g.gantry")
            self.succeed("run", "g.gantry", "--input", "x=x.npy", "--output", "output0=y.npy")
            np.testing.assert_array_equal(np.load(self.folder / "y.npy"), -2 * self.x)
            plan = json.loads(self.succeed("explain", "g.gantry", "--json").stdout)
            return {arena["device"]: arena["transient"] for arena in plan["memory"]}[GPU0]
        self.assertEqual(peak("force"), peak("") + 64)

    def test_p14_x_and_y_on_different_gpus(self):
        constants = graph(f"""
    %x = gantry.constant {{gantry.device = {ON_GPU0}, gantry.name = "X"}} dense<1.0> : {VECTOR}
    %y = gantry.constant {{gantry.device = {ON_GPU1}, gantry.name = "Y"}} dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : {VECTOR}
    %s = gantry.add %x, %y : ({VECTOR}, {VECTOR}) -> {VECTOR}
    return %s : {VECTOR}
""", VECTOR)
        out, log = self.run_logged(constants)
        self.assertEqual(out, "output0: f32[2,3] on CPU:0\n[[1. 2. 3.]\n [4. 5. 6.]]\n")
        self.assertEqual(log, [
            copying(24, GPU1, GPU0, once=True),
            executing("AddV2", GPU0),
            copying(24, GPU0, CPU0),
            "placed 1 op: GPU:0 1; 0 fall-backs; 1 copy per run, 24 bytes (d2h 1); 1 at load"])
        self.assertEqual(self.refuse(constants, "--copies=explicit"), (
            f"gantry: error: g.mlir:4:10: 'AddV2' runs on '{GPU0}', and copies are explicit: operand 1 (the constant "
            f"'Y') is on '{GPU1}'; bring it there with gantry.copy, place both on one device, or compile with "
            "--copies=auto\ngantry: note: g.mlir:3:10: the constant 'Y' is made here\n"))

    def test_p16_arguments_on_different_gpus(self):
        """Two arrays that are on two devices, as callers hand them over."""
        def two(device):
            return (f'%x: {VECTOR} {{gantry.name = "x", gantry.device = {ON_GPU0}}}, '
                    f'%y: {VECTOR} {{gantry.name = "y"{device}}}')
        body = f"""
    %s = gantry.add %x, %y : ({VECTOR}, {VECTOR}) -> {VECTOR}
    return %s : {VECTOR}
"""
        text = graph(body, VECTOR, two(f", gantry.device = {ON_GPU1}"))
        column = text.index("%y") + 1
        self.assertEqual(self.refuse(text, "--copies=explicit"), (
            f"gantry: error: g.mlir:2:10: 'AddV2' runs on '{GPU0}', and copies are explicit: operand 1 ('y') is on "
            f"'{GPU1}'; bring it there with gantry.copy, place both on one device, or compile with --copies=auto\n"
            f"gantry: note: g.mlir:1:{column}: 'y' is made here\n"))
        # An end that names no device is the host's to hand over.
        self.write(graph(body, VECTOR, two("")))
        self.succeed("compile", "g.mlir", *TWO_GPUS, "--copies=explicit", "-o", "g.gantry")

    def test_p14_computed_on_different_gpus(self):
        body = f"""
    %there = gantry.copy %x to "GPU:1" : {VECTOR}
    %a = gantry.exp %x {{gantry.device = {ON_GPU0}, gantry.name = "A"}} : ({VECTOR}) -> {VECTOR}
    %b = gantry.neg %there {{gantry.device = {ON_GPU1}, gantry.name = "B"}} : ({VECTOR}) -> {VECTOR}
    %s = gantry.add %a, %b {{gantry.device = {ON_GPU1}}} : ({VECTOR}, {VECTOR}) -> {VECTOR}
    return %s : {VECTOR}
"""
        _, log = self.run_x(body)
        np.testing.assert_allclose(np.load(self.folder / "y.npy"), np.exp(self.x) - self.x, rtol=1e-6)
        self.assertEqual(sorted(log[:-1]), sorted([
            copying(24, GPU0, GPU1), executing("Neg", GPU1), executing("Exp", GPU0),
            copying(24, GPU0, GPU1), executing("AddV2", GPU1)]))
        self.assertEqual(log[-1], "placed 3 ops: GPU:0 1, GPU:1 2; 0 fall-backs; 2 copies per run, 48 bytes (d2d 2); "
                                  "0 at load")
        text = graph(body, self.ENDS, self.ARGUMENT)
        self.assertEqual(self.refuse(text, "--copies=explicit"), (
            f"gantry: error: g.mlir:5:10: 'AddV2' runs on '{GPU1}', and copies are explicit: operand 0 (the result of "
            f"Exp 'A') is on '{GPU0}'; bring it there with gantry.copy, place both on one device, or compile with "
            "--copies=auto\ngantry: note: g.mlir:3:10: the result of Exp 'A' is made here\n"))

    def test_p11_a_graph_with_copies_of_its_own(self):
        """The search takes them as they stand, with part of a name as well."""
        body = f"""
    %a = gantry.exp %x : ({VECTOR}) -> {VECTOR}
    %b = gantry.copy %a to "{{}}" : {VECTOR}
    %y = gantry.neg %b : ({VECTOR}) -> {VECTOR}
    return %y : {VECTOR}
"""
        for device in ("GPU", "gpu:1", "/task:0/device:CPU:0"):
            with self.subTest(device):
                self.run_x(body.format(device), "--placement=auto")
                np.testing.assert_allclose(np.load(self.folder / "y.npy"), -np.exp(self.x), rtol=1e-6)

    def test_x4_budget(self):
        text = graph(f"    %y = gantry.neg %x {{gantry.device = {ON_GPU1}}} : ({VECTOR}) -> {VECTOR}\n"
                     f"    return %y : {VECTOR}\n", VECTOR, self.ARGUMENT)
        self.succeed("run", self.write(text), *TWO_GPUS, "--max-copy=h2d:0,d2d:24,d2h:1KiB")
        self.assertEqual(self.refuse(text, "--max-copy=d2d:24,d2h:23"), (
            "gantry: error: g.mlir:1:1: '@main' copies 24 bytes per run d2h, the budget is 23 bytes; place their ends on "
            "one device, or raise --max-copy\n"
            "gantry: note: g.mlir:2:5: 24 bytes from GPU:1 to CPU:0: the result of Neg 'Neg/output0', for result 0 of "
            "'@main'\n"))
        self.assertEqual(self.refuse(text, "--max-copy=d2d:24,up:23", status=2), (
            "gantry: error: copy budget 'd2d:24,up:23', column 8: 'up:23' is not DIRECTION:BYTES; the directions are "
            "h2d, d2h, d2d\n"))


@unittest.skipIf(EMULATE, "sums on a GPU have an order of their own")
class ModelsTest(PlacementTest):
    """Real models on several simulated devices: the bytes of one CPU, and copies counted as planned."""

    def check(self, model, *placements, compiled=()):
        """`compiled` are flags for both compilations."""
        if not model.exists():
            self.skipTest(f"{model.name} is not at {model.parent}")
        self.succeed("run", model, *compiled, "--seed", "7", "--devices=CPU:0", "--output", "one.npz")
        one = np.load(self.folder / "one.npz")
        for placement in placements:
            with self.subTest(f"{model.name} {' '.join(placement)}"):
                self.succeed("compile", model, *compiled, *TWO_GPUS, *placement, "-o", "several.gantry")
                run = self.succeed("run", "several.gantry", "--seed", "7", "--output", "several.npz", "--repeat", "2",
                                   "-v", "--log-device-placement")
                several = np.load(self.folder / "several.npz")
                self.assertEqual(sorted(one.files), sorted(several.files))
                for name in one.files:
                    self.assertEqual(one[name].tobytes(), several[name].tobytes(), name)
                self.compare_ledger(run.stderr)

    def compare_ledger(self, log):
        """The log's lines, the summary's counts and what the runtime counted are one account."""
        lines = [line for line in log.splitlines() if line.startswith("Copying ")]
        per_run = [int(line.split()[1]) for line in lines if not line.endswith("(once, at load)")]
        summary = re.search(r"; (\d+) cop(?:y|ies) per run(?: in \d+ transfers)?, .*; (\d+) at load", log)
        counted = re.search(r"copies counted as planned: (\d+) per run(?: in \d+ transfers)?, .*; (\d+) at load", log)
        self.assertEqual(summary.groups(), (str(len(per_run)), str(len(lines) - len(per_run))))
        self.assertEqual(counted.groups(), summary.groups())
        self.assertGreater(len(per_run), 0)

    def test_networks_of_our_own(self):
        for name, *placements in (("residual", ["--place", "op:Conv=GPU:1"], ["--place", "op:*=GPU:1"]),
                                  ("encoder", ["--place", "op:MatMul=GPU:1"], ["--place", "op:Softmax=CPU:0"])):
            self.check(own_models.write(name, self.folder), *placements)
        # Apart from its bias and activation a convolution is another kernel, which rounds otherwise.
        self.check(own_models.write("residual", self.folder), ["--place", "op:Conv=GPU:1", "--place", "op:*=GPU:0"],
                   compiled=["--no-fuse"])

    def test_mnist(self):
        self.check(MODELS / "mnist/mnist.onnx", ["--place", "op:MatMul=GPU:1"],
                   ["--place", "op:Conv=GPU:1", "--place", "op:*=CPU:0"])

    @unittest.skipUnless("GANTRY_TEST_LONG" in os.environ, "GANTRY_TEST_LONG=1 asks for it")
    def test_ultraface(self):
        model = MODELS / "ultraface/ultraface.onnx"
        self.check(model, ["--place", "op:*=GPU:1"])
        self.check(model, ["--place", "op:Conv=GPU:1", "--place", "op:*=GPU:0"], compiled=["--no-fuse"])

    def test_bert_base(self):
        self.check(MADE / "bert_base.onnx", ["--place", "op:MatMul=GPU:1"])

    def test_resnet50(self):
        self.check(MADE / "resnet50.onnx", ["--place", "op:Conv=GPU:1", "--place", "op:MatMul=CPU:0"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
