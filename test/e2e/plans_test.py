#!/usr/bin/python3
"""Plans whose metadata was changed and whose checksums are right (test/mutate): opened, told of, and run where they
still can be. None ends the process by a signal, nor takes over 20 s. Plans are of small networks, control flow, several
devices, replicas, variables, quantised numbers, what is computed at load, and emulated GPUs; what is changed is a
function of plan, seed and number. The last line says what became of all mutations.

Usage: plans_test.py --build-dir BUILD [--count N] [--seed N] [--filter TEXT] [--jobs N] [--keep FOLDER] [--json FILE]
The long form: --count 100000
"""

import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx

import own_models
import quantize

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = ROOT / "test/conformance/Inputs"
TWO, THREE = (["--devices=CPU:0," + ",".join(f"GPU:{i}" for i in range(count)), "--simulate"] for count in (2, 3))
COUNTED = re.compile(r"^(\d+) mutations of .*: (\d+) refused when opened, (\d+) when loaded, (\d+) ended in a run, "
                     r"(\d+) ran; (\d+) by a signal, (\d+) over 20 s$", re.M)

# Counts up, on what it has read and written: variables, a loop of unknown length, a branch, indices that come with a run.
STEPS = """
gantry.variable @w = dense<0.5> : tensor<6x4xf32>
gantry.variable @step = dense<0> : tensor<i64>
func.func @train(%x: tensor<6x4xf32>, %ids: tensor<3xi64>, %c: tensor<i1>) -> (tensor<3x4xf32>, tensor<6x4xf32>) {
  %old = gantry.read @w : tensor<6x4xf32>
  %d = gantry.sub %old, %x : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  gantry.assign @w, %d : tensor<6x4xf32>
  %one = gantry.constant dense<1> : tensor<i64>
  gantry.if %c {
    gantry.assign_add @step, %one : tensor<i64>
    gantry.yield
  } else {
    gantry.yield
  } : tensor<i1>
  %row = gantry.gather %d, %ids {axis = 0 : i64} : (tensor<6x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %row, %d : tensor<3x4xf32>, tensor<6x4xf32>
}
func.func @predict(%n: tensor<i64>) -> tensor<6x4xf32> {
  %w = gantry.read @w : tensor<6x4xf32>
  %one = gantry.constant dense<1> : tensor<i64>
  %most = gantry.constant dense<9> : tensor<i64>
  %last = gantry.minimum %n, %most : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %zero = gantry.constant dense<0> : tensor<i64>
  %i, %y = gantry.while (%zero, %w) : (tensor<i64>, tensor<6x4xf32>) -> (tensor<i64>, tensor<6x4xf32>) {
  ^bb0(%a: tensor<i64>, %v: tensor<6x4xf32>):
    %go = gantry.compare lt, %a, %last : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %go : tensor<i1>
  } do {
  ^bb0(%a: tensor<i64>, %v: tensor<6x4xf32>):
    %next = gantry.add %a, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %p = gantry.softmax %v {axis = 1 : i64} : (tensor<6x4xf32>) -> tensor<6x4xf32>
    gantry.yield %next, %p : tensor<i64>, tensor<6x4xf32>
  }
  return %y : tensor<6x4xf32>
}
"""
# A constant that is computed at load, and every order of values: what is sorted, scattered and picked by other values.
PICKED = """
func.func @main(%x: tensor<4x33xf32>, %ids: tensor<4x5xi64>) -> (tensor<4x7xf32>, tensor<4x7xi64>, tensor<4x33xf32>) {
  %k = gantry.constant dense<0.25> : tensor<33x33xf32>
  %e = gantry.exp %k : (tensor<33x33xf32>) -> tensor<33x33xf32>
  %m = gantry.matmul %x, %e : (tensor<4x33xf32>, tensor<33x33xf32>) -> tensor<4x33xf32>
  %v, %i = gantry.top_k %m {axis = 1 : i64, k = 7 : i64} : (tensor<4x33xf32>) -> (tensor<4x7xf32>, tensor<4x7xi64>)
  %p = gantry.gather_elements %x, %ids {axis = 1 : i64} : (tensor<4x33xf32>, tensor<4x5xi64>) -> tensor<4x5xf32>
  %s = gantry.scatter_elements %m, %ids, %p {axis = 1 : i64, reduction = #gantry<reduction add>} : (tensor<4x33xf32>, tensor<4x5xi64>, tensor<4x5xf32>) -> tensor<4x33xf32>
  return %v, %i, %s : tensor<4x7xf32>, tensor<4x7xi64>, tensor<4x33xf32>
}
"""
# One device's work, split among two that add up what they have.
REPLICATED = """
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x5xf32> {
  %w = gantry.constant dense<0.5> : tensor<8x5xf32>
  %y = gantry.matmul %x, %w : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  %z = gantry.softmax %y {axis = 1 : i64} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return %z : tensor<4x5xf32>
}
"""
EMULATED = ["--devices=CPU:0,GPU:0", "--gpu-arch=sm_75", "--cubins=off"]


class Plans:
    """Graphs and the flags to compile them with, by name; and the flags of MutatePlans."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        own = lambda name: own_models.write(name, folder)
        self.all = {
            "digits": (lambda: ROOT / "examples/digits/digits.onnx", ["--target-cpu=native,x86-64-v3"], []),
            "residual": (lambda: own("residual"), [], []),
            "encoder": (lambda: own("encoder"), ["--check-indices"], []),
            "perceptron-two": (lambda: own("perceptron"), [*TWO, "--place", "MatMul=GPU:1"], []),
            "branches-two": (lambda: own("branches"), [*TWO, "--place", "Conv=GPU:0", "--place", "Relu=GPU:1"], []),
            "quantised": (self.quantised, [], []),
            "branch": (lambda: INPUTS / "branch.mlir", TWO, []),
            "loop": (lambda: INPUTS / "loop.mlir", TWO, []),
            "all-reduce": (lambda: INPUTS / "all-reduce.mlir", TWO, []),
            "pipeline": (lambda: INPUTS / "pipeline.mlir", THREE, []),
            "steps": (lambda: self.text("steps", STEPS), ["--check-indices"], []),
            "steps-gpu": (lambda: self.text("steps", STEPS), [*TWO, "--check-indices", "--soft-placement"], []),
            "donated": (lambda: self.text("steps", STEPS), ["--entry=train", "--donate=input0"], []),
            "picked": (lambda: self.text("picked", PICKED), [], []),
            "replicated": (lambda: self.text("replicated", REPLICATED), [*TWO, "--replicate=GPU:0,GPU:1"], []),
            "perceptron-emulated": (lambda: self.text("replicated", REPLICATED), EMULATED, ["--emulate"]),
            "picked-emulated": (lambda: self.text("picked", PICKED), [*EMULATED, "--also=sim"], ["--emulate"]),
        }

    def text(self, name, graph):
        file = self.folder / f"{name}.mlir"
        file.write_text(graph)
        return file

    def quantised(self):
        file = self.folder / "quantised.onnx"
        made = quantize.quantise(onnx.load(own_models.write("residual", self.folder)), str(self.build / "bin/gantry"), runs=1)
        onnx.save(made, file)
        return file

    def compile(self, name):
        graph, flags, _ = self.all[name]
        plan = self.folder / f"{name}.gantry"
        done = subprocess.run([self.build / "bin/gantry", "compile", graph(), "-o", plan, *flags], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name} was not compiled: {done.stderr}")
        return plan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=5000, help="mutations of all plans together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--filter", default="", help="only plans whose names have this in them")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path, help="keep the plans in this folder")
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    build = given.build_dir.resolve()
    reader = [f"--compiler={build / 'lib/libgantry-compiler.so'}"]
    passed, failures, sums = 0, [], [0] * 7
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or pathlib.Path(scratch)
        folder.mkdir(exist_ok=True)
        plans = Plans(build, folder.resolve())
        names = [name for name in plans.all if given.filter in name]
        for name in names:
            plan = plans.compile(name)
            done = subprocess.run([build / "bin/MutatePlans", plan, f"--count={max(2, math.ceil(given.count / len(names)))}",
                                   f"--seed={given.seed}", f"--jobs={given.jobs}", *reader, *plans.all[name][2]],
                                  capture_output=True, text=True)
            print(done.stdout.strip() or done.stderr.strip(), flush=True)
            counts = COUNTED.search(done.stdout)
            if counts:
                sums = [have + int(more) for have, more in zip(sums, counts.groups())]
            if done.returncode or not counts or int(counts[5]) == 0:
                failures.append(name)
            else:
                passed += 1
    opened, loaded, ended, ran, signals, hangs = sums[1:]
    print(f"{sums[0]} mutations of {len(names)} plans: {opened} refused when opened, {loaded} when loaded, {ended} ended in a "
          f"run, {ran} ran; {signals} by a signal, {hangs} over 20 s")
    print(f"{passed} passed, {len(failures)} failed, 0 skipped")
    if given.json:
        given.json.write_text(json.dumps({"passed": passed, "failures": failures, "skips": {}}))
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
