#!/usr/bin/python3
"""Writes one small ONNX model for a lit test: the node's op and attributes, inputs, initialisers.

Usage: onnx_model.py OUT [--opset N] [--domain D] --input x=f32[2,n] ... --init to=i64[2]:3,-1 ...
                     --output y ... OP in,in,... out,out,... [attribute=value ...]
A value of an attribute is an integer, a float (with a point), a list of those ([1,2]) or a string.
"""

import argparse
import ast
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "i64": TensorProto.INT64, "i32": TensorProto.INT32,
         "u8": TensorProto.UINT8, "i8": TensorProto.INT8, "i1": TensorProto.BOOL, "string": TensorProto.STRING}


def typed(text):
    """(name, element, dims) of "x=f32[2,n]"."""
    name, element, dims = re.fullmatch(r"(\w+)=(\w+)\[(.*)\]", text).groups()
    return name, TYPES[element], [int(d) if d.isdigit() else d for d in dims.split(",") if d]


def value(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--domain", default="")
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--init", action="append", default=[])
    parser.add_argument("--output", action="append", default=[])
    parser.add_argument("op")
    parser.add_argument("operands")
    parser.add_argument("results")
    parser.add_argument("attributes", nargs="*")
    a = parser.parse_intermixed_args()
    attributes = {k: value(v) for k, v in (text.split("=", 1) for text in a.attributes)}
    node = helper.make_node(a.op, a.operands.split(","), a.results.split(","), name="the_node", domain=a.domain, **attributes)
    inputs = [helper.make_tensor_value_info(*typed(text)) for text in a.input]
    initializers = []
    for text in a.init:
        kind, numbers = text.split(":")
        name, element, dims = typed(kind)
        data = np.array([float(x) for x in numbers.split(",") if x], helper.mapping.TENSOR_TYPE_TO_NP_TYPE[element])
        initializers.append(numpy_helper.from_array(data.reshape(dims), name))
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in a.output or a.results.split(",") if name]
    graph = helper.make_graph([node], "graph", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(a.domain, 1)] * bool(a.domain) +
                              [helper.make_opsetid("", a.opset)], producer_name="test")
    onnx.save(model, a.out)


if __name__ == "__main__":
    main()
