#!/usr/bin/python3
"""Quantises an ONNX model of f32 to 8 bits as quantisers of the field write it: around each op a DequantizeLinear in
front and a QuantizeLinear behind (QDQ). Weights are i8, symmetric, with a scale for each output channel; values are of
8 bits with one scale, from the least to the largest number seen in runs of the f32 model; biases are i32.

Usage: quantize.py MODEL.onnx RESULT.onnx --gantry BUILD/bin/gantry [--runs N] [--signed] [--per-tensor]
"""

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEIGHTED = ("Conv", "Gemm", "MatMul")
# Ops whose operands and results are of 8 bits; what is between others stays f32.
QUANTISED = WEIGHTED + ("Add", "Relu", "Clip", "MaxPool", "GlobalAveragePool", "AveragePool", "Concat", "Flatten", "Reshape")


def skip_identities(graph):
    """Initializers that several names stand for get all of these names."""
    initial = {t.name: t for t in graph.initializer}
    for node in [n for n in graph.node if n.op_type == "Identity" and n.input[0] in initial]:
        copy = TensorProto()
        copy.CopyFrom(initial[node.input[0]])
        copy.name = node.output[0]
        graph.initializer.append(copy)
        initial[copy.name] = copy
        graph.node.remove(node)


def values_to_quantise(graph, constants):
    """Names of the values that are stored in 8 bits, in the order in which they are made."""
    users = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    # What an activation alone reads is one op with it.
    inner = {node.output[0] for node in graph.node if node.op_type in WEIGHTED + ("Add",) and
             [user.op_type for user in users.get(node.output[0], [])] in (["Relu"], ["Clip"])}
    names = []
    for node in graph.node:
        if node.op_type not in QUANTISED:
            continue
        operands = node.input[:1] if node.op_type in WEIGHTED + ("Clip", "Reshape") else node.input
        names += [name for name in [*operands, node.output[0]]
                  if name and name not in constants and name not in inner and name not in names]
    return names


def ranges(model, names, gantry, runs):
    """{name: (least, largest)} over runs with normal inputs."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    inputs = {i.name for i in model.graph.input}
    del probe.graph.output[:]
    probe.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in inputs)
    inferred = {v.name: v for v in onnx.shape_inference.infer_shapes(model).graph.value_info}
    known = {**inferred, **{o.name: o for o in model.graph.output}}
    for output in probe.graph.output:
        output.CopyFrom(known[output.name])
    seen = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        onnx.save(probe, str(folder / "probe.onnx"))
        subprocess.run([gantry, "compile", folder / "probe.onnx", "-o", folder / "probe.gantry"], check=True)
        for run in range(runs):
            given = {i.name: np.random.default_rng(run).standard_normal(
                [d.dim_value for d in i.type.tensor_type.shape.dim]).astype(np.float32) for i in model.graph.input}
            np.savez(folder / "in.npz", **given)
            subprocess.run([gantry, "run", folder / "probe.gantry", "--input", folder / "in.npz",
                            "--output", folder / "out.npz"], check=True, stdout=subprocess.DEVNULL)
            for name, value in [*given.items(), *np.load(folder / "out.npz").items()]:
                low, high = seen.get(name, (0.0, 0.0))
                seen[name] = (min(low, float(value.min())), max(high, float(value.max())))
    return seen


class Quantiser:
    """Makes the graph anew, node by node."""

    def __init__(self, model, seen, signed, per_tensor):
        self.model, self.seen, self.signed, self.per_tensor = model, seen, signed, per_tensor
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.nodes, self.initial, self.current = [], {}, {}

    def constant(self, name, value):
        self.initial[name] = np.asarray(value)
        return name

    def parameters(self, name):
        low, high = self.seen[name]
        scale = np.float32((high - low) / 255 or 1)
        zero = int(np.clip(np.round(-low / scale), 0, 255))
        kind = np.int8 if self.signed else np.uint8
        return scale, np.array(zero - 128 if self.signed else zero, kind)

    def round_trip(self, name):
        """Quantised and back; users read that."""
        scale, zero = self.parameters(name)
        operands = [self.constant(name + "_scale", scale), self.constant(name + "_zero", zero)]
        self.nodes.append(helper.make_node("QuantizeLinear", [name, *operands], [name + "_q"], name + "_Q"))
        self.nodes.append(helper.make_node("DequantizeLinear", [name + "_q", *operands], [name + "_dq"], name + "_DQ"))
        self.current[name] = name + "_dq"

    def weights(self, node, name):
        """The dequantised weights' name and their scales."""
        w = self.constants[name]
        transposed = any(a.name == "transB" and a.i for a in node.attribute)
        axis = 0 if node.op_type == "Conv" or transposed else w.ndim - 1
        others = tuple(d for d in range(w.ndim) if d != axis)
        most = np.abs(w).max() if self.per_tensor else np.abs(w).max(axis=others)
        scale = np.where(most > 0, most / 127, 1).astype(np.float32)
        shape = [-1 if d == axis else 1 for d in range(w.ndim)]
        q = np.clip(np.round(w / scale.reshape(() if self.per_tensor else shape)), -127, 127).astype(np.int8)
        operands = [self.constant(name + "_q", q), self.constant(name + "_scale", scale),
                    self.constant(name + "_zero", np.zeros(scale.shape, np.int8))]
        attributes = {} if self.per_tensor else {"axis": axis}
        self.nodes.append(helper.make_node("DequantizeLinear", operands, [name + "_dq"], name + "_DQ", **attributes))
        return name + "_dq", scale

    def bias(self, name, scale):
        q = np.round(self.constants[name] / scale).astype(np.int32)
        scales = np.broadcast_to(scale, q.shape).astype(np.float32)
        operands = [self.constant(name + "_q", q), self.constant(name + "_scale", scales)]
        self.nodes.append(helper.make_node("DequantizeLinear", operands, [name + "_dq"], name + "_DQ", axis=0))
        return name + "_dq"

    def add(self, node):
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for i, name in enumerate(node.input):
            copy.input[i] = self.current.get(name, name)
        if node.op_type in WEIGHTED and node.input[1] in self.constants and node.input[0] in self.current:
            copy.input[1], scale = self.weights(node, node.input[1])
            if len(node.input) > 2 and node.input[2]:
                copy.input[2] = self.bias(node.input[2], np.float32(self.parameters(node.input[0])[0] * scale))
        for name in copy.input:
            if name in self.constants:
                self.initial[name] = self.constants[name]
        self.nodes.append(copy)

    def run(self, names):
        graph = self.model.graph
        for i in graph.input:
            if i.name in names:
                self.round_trip(i.name)
        for node in graph.node:
            self.add(node)
            for name in node.output:
                if name in names:
                    self.round_trip(name)
        for output in graph.output:
            self.nodes.append(helper.make_node("Identity", [self.current.get(output.name, output.name)],
                                               [output.name + "_out"]))
            output.name += "_out"
        initial = [numpy_helper.from_array(v, k) for k, v in self.initial.items()]
        made = helper.make_graph(self.nodes, graph.name, graph.input, graph.output, initial)
        return helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)


def quantise(model, gantry, runs=4, signed=False, per_tensor=False):
    """The model with 8 bits; `model` loses its Identity nodes of constants."""
    skip_identities(model.graph)
    constants = {t.name for t in model.graph.initializer}
    names = values_to_quantise(model.graph, constants)
    return Quantiser(model, ranges(model, names, gantry, runs), signed, per_tensor).run(names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("result")
    parser.add_argument("--gantry", required=True)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--signed", action="store_true")
    parser.add_argument("--per-tensor", action="store_true")
    given = parser.parse_args()
    made = quantise(onnx.load(given.model), given.gantry, given.runs, given.signed, given.per_tensor)
    onnx.save(made, given.result)


if __name__ == "__main__":
    main()
