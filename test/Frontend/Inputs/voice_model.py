#!/usr/bin/python3
"""Writes a model that has two networks, one for each of two sample rates, as voice models do.

Usage: voice_model.py OUT
"""

import sys

from onnx import TensorProto, helper, save


def network(name, window):
    """Frames of `window` samples, and the loudest sample of each; behind a node of its own that the branch uses."""
    nodes = [
        helper.make_node("Constant", [], [f"{name}_to"], value_ints=[1, -1, window]),
        helper.make_node("Reshape", ["padded", f"{name}_to"], [f"{name}_frames"], name=f"{name}/frames"),
        helper.make_node("ReduceMax", [f"{name}_frames"], [f"{name}_y"], name=f"{name}/loudest", axes=[2], keepdims=0),
    ]
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)])


nodes = [
    helper.make_node("Abs", ["x"], ["padded"], name="abs"),
    helper.make_node("Constant", [], ["high"], value_int=16000),
    helper.make_node("Equal", ["sr", "high"], ["is_high"], name="equal"),
    helper.make_node("If", ["is_high"], ["y"], name="rate", then_branch=network("wide", 512), else_branch=network("narrow", 200)),
    helper.make_node("Neg", ["y"], ["z"], name="neg"),
]
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "samples"]),
          helper.make_tensor_value_info("sr", TensorProto.INT64, [])]
outputs = [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)]
save(helper.make_model(helper.make_graph(nodes, "voice", inputs, outputs), ir_version=8,
                       opset_imports=[helper.make_opsetid("", 16)]), sys.argv[1])
