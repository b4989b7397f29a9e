#!/usr/bin/python3
"""Gradients of whole networks by directional derivatives, in f64.

A network of make_models.py is widened to f64. Each of its float weights w becomes w + t * d with a direction d of sines, and its
outputs are added up, weighted by sines as well: a scalar function of t. ONNX's Gradient op gives its slope at 0, which goes
through the way back of every op and every weight; central differences of the same plan say what it has to be. Of differences
with steps h and h / 2 the error in h^2 is taken out (Richardson). A network has to be smooth between -h and h: where a ReLU or a
window of a max-pool changes sides, the steps are made smaller.

Usage: gradient_networks_test.py --build-dir BUILD [--models NAME,...] [--json FILE]
make_models.py wants PyTorch, or its files are in the folder that GANTRY_MADE_MODELS names; `digits` is the project's own.
The long form: --models digits,resnet50,mobilenet_v2,vit_b_16,bert_base,gpt2_small
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
NETWORKS = ("digits", "mobilenet_v2")
STEPS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
WITHIN = 1e-6  # of the slope
PREVIEW = "ai.onnx.preview.training"


class Maker:
    """What cases.made asks of its caller."""

    def __init__(self, folder):
        self.made = folder


def widen(model):
    """All f32 of a model becomes f64: weights, constants, casts and the types of values."""
    def wide(tensor):
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))

    graph = model.graph
    for tensor in graph.initializer:
        wide(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                wide(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del graph.value_info[:]


def along_a_direction(model):
    """The network as a function of t: outputs `value`, a scalar, and `slope`, its derivative."""
    graph, nodes = model.graph, []
    constants = {}

    def number(value):
        name = f"number{value}"
        constants[name] = numpy_helper.from_array(np.float64(value), name)
        return name

    def made(kind, inputs, name):
        nodes.append(helper.make_node(kind, inputs, [name], name=name))
        return name

    moved = {}
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.DOUBLE:
            turned = made("Mul", [tensor.name, number(997)], f"{tensor.name}/turned")
            direction = made("Mul", [made("Sin", [turned], f"{tensor.name}/sine"), number(0.01)], f"{tensor.name}/direction")
            moved[tensor.name] = made("Add", [tensor.name, made("Mul", ["t", direction], f"{tensor.name}/step")], f"{tensor.name}/moved")
    for node in graph.node:
        for position, name in enumerate(node.input):
            node.input[position] = moved.get(name, name)
    outputs = []
    for output in graph.output:
        sine = made_later(graph, "Sin", [made_later(graph, "Mul", [output.name, number(3)], f"{output.name}/tripled")], f"{output.name}/sines")
        outputs.append(made_later(graph, "ReduceSum", [sine], f"{output.name}/sum", keepdims=0))
    value = made_later(graph, "Sum", outputs, "value")
    graph.node.append(helper.make_node("Gradient", ["t"], ["slope"], domain=PREVIEW, xs=["t"], y=value))
    behind = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *behind])
    graph.initializer.extend(constants.values())
    graph.input.append(helper.make_tensor_value_info("t", TensorProto.DOUBLE, []))
    del graph.output[:]
    graph.output.extend(helper.make_tensor_value_info(name, TensorProto.DOUBLE, []) for name in ("value", "slope"))
    model.opset_import.append(helper.make_opsetid(PREVIEW, 1))
    return len(moved)


def made_later(graph, kind, inputs, name, **attributes):
    graph.node.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
    return name


def sample(value, seed=5):
    """An input: numbers of a normal distribution, or ids below 1000."""
    shape = [axis.dim_value or 1 for axis in value.type.tensor_type.shape.dim]
    numbers = np.random.default_rng(seed)
    return numbers.standard_normal(shape) if value.type.tensor_type.elem_type == TensorProto.DOUBLE else numbers.integers(0, 1000, shape)


class Network:
    """A compiled network and what it says at t."""

    def __init__(self, tool, file, folder):
        self.tool, self.folder = tool, folder
        model = onnx.load(file)
        widen(model)
        self.inputs = {value.name: sample(value) for value in model.graph.input if value.name not in {i.name for i in model.graph.initializer}}
        self.weights = along_a_direction(model)
        onnx.save(model, folder / "network.onnx")
        del model
        for name, array in self.inputs.items():
            np.save(folder / f"{name}.npy", array)
        self.call("compile", folder / "network.onnx", "-o", folder / "network.gantry")
        (folder / "network.onnx").unlink()

    def call(self, *arguments):
        done = subprocess.run([self.tool, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"gantry {arguments[0]}: status {done.returncode}, {done.stderr[-300:].strip()}")

    def at(self, t):
        np.save(self.folder / "t.npy", np.float64(t))
        given = [part for name in (*self.inputs, "t") for part in ("--input", f"{name}={self.folder / name}.npy")]
        told = [part for name in ("value", "slope") for part in ("--output", f"{name}={self.folder / name}.out.npy")]
        self.call("run", self.folder / "network.gantry", *given, *told)
        return tuple(float(np.load(self.folder / f"{name}.out.npy")) for name in ("value", "slope"))

    def error(self):
        """(slope, least relative error of it against differences, the step of that)"""
        slope = self.at(0)[1]
        best = (np.inf, 0)
        for step in STEPS:
            wide, narrow = ((self.at(h)[0] - self.at(-h)[0]) / (2 * h) for h in (step, step / 2))
            for said in (narrow, (4 * narrow - wide) / 3):
                best = min(best, (abs(said - slope) / abs(slope), step))
            if best[0] <= WITHIN:
                break
        return slope, *best


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--models", default=",".join(NETWORKS))
    parser.add_argument("--jobs", type=int, help="for run_tests.py: one network is differentiated at a time")
    parser.add_argument("--json", type=pathlib.Path, help="for run_tests.py")
    options = parser.parse_args()
    failures, skips, passed = {}, {}, 0
    for name in options.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            try:
                file = ROOT / "examples/digits/digits.onnx" if name == "digits" else cases.made(Maker(folder), name, "GANTRY_MADE_MODELS")
                network = Network(options.build_dir.resolve() / "bin/gantry", file, pathlib.Path(folder))
                slope, error, step = network.error()
            except cases.Skip as why:
                skips[name] = str(why)
                print(f"  {name}: skipped: {why}", flush=True)
                continue
            except RuntimeError as why:
                failures[name] = str(why)
                print(f"  {name}: {why}", flush=True)
                continue
            if not slope or not error <= WITHIN:
                failures[name] = f"the slope is {slope}, off by {error:.1e} of it"
            passed += name not in failures
            print(f"  {name}: {network.weights} weights, slope {slope:.12g}, off by {error:.1e} (steps of {step:g})", flush=True)
    print(f"gradient networks: {passed} passed, {len(failures)} failed, {len(skips)} skipped")
    if options.json:
        options.json.write_text(json.dumps({"passed": passed, "skips": dict(collections.Counter(skips.values())), "failures": [f"{n}: {w}" for n, w in failures.items()]}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
