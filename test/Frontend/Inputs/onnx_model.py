#!/usr/bin/python3
"""Writes one small ONNX model for a lit test: the node's op and attributes, inputs, initialisers.

Usage: onnx_model.py OUT [--opset N] [--domain D] --input x=f32[2,n] ... --init to=i64[2]:3,-1 ...
                     --output y ... OP in,in,... out,out,... [attribute=value ...]
An initialiser of i4 is given by its bytes, two elements in each. Outputs are declared f32 without a shape; --output y=i64[2] declares another type, y=? none.
--node "OP in,in out,out attribute=value" adds nodes after the first, called node_1, node_2, ...
--import DOMAIN:VERSION, instead of --opset, lists opsets ("none" lists none); --ir N is the IR version.
Device configurations (IR version 11, which this onnx package does not know) are written as raw fields:
--configuration NAME=GPU:0,GPU:1 of the model, --on NAME, NAME@STAGE or NAME%TENSOR (sharded) of the node.
A value of an attribute is an integer, a float (with a point), a list of those ([1,2]) or a string.
"""

import argparse
import ast
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "i64": TensorProto.INT64, "i32": TensorProto.INT32,
         "u8": TensorProto.UINT8, "i8": TensorProto.INT8, "i1": TensorProto.BOOL, "string": TensorProto.STRING,
         "i4": 22}  # which this onnx package does not know


def typed(text):
    """(name, element, dims) of "x=f32[2,n]"."""
    name, element, dims = re.fullmatch(r"(\w+)=(\w+)\[(.*)\]", text).groups()
    return name, TYPES[element], [int(d) if d.isdigit() else d for d in dims.split(",") if d]


def field(number, payload):
    """A field of a protocol-buffer message: bytes, or a small number."""
    if isinstance(payload, int):
        return bytes([number << 3, payload])
    key = number << 3 | 2
    return (bytes([key]) if key < 128 else bytes([key & 127 | 128, key >> 7])) + bytes([len(payload)]) + payload


def node_configuration(text):
    """Field 10 of a node."""
    name, stage, tensor = re.fullmatch(r"([^@%]*)(?:@(\d+))?(?:%(.*))?", text).groups()
    parts = field(1, name.encode())
    if tensor:
        parts += field(2, field(1, tensor.encode()))
    if stage:
        parts += field(3, int(stage))
    return field(10, parts)


def model_configuration(text):
    """Field 26 of a model."""
    name, devices = text.split("=")
    devices = [d for d in devices.split(",") if d]
    return field(26, field(1, name.encode()) + field(2, len(devices)) + b"".join(field(3, d.encode()) for d in devices))


def value(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def value_info(text):
    """The declaration of an output."""
    name, _, kind = text.partition("=")
    if kind == "?":
        return onnx.ValueInfoProto(name=name)
    return helper.make_tensor_value_info(*typed(text)) if kind else helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def make_node(op, operands, results, attributes, name, domain=""):
    pairs = {k: value(v) for k, v in (text.split("=", 1) for text in attributes)}
    return helper.make_node(op, operands.split(","), results.split(","), name=name, domain=domain, **pairs)


def opset_imports(a):
    if a.imports is None:
        return [helper.make_opsetid(a.domain, 1)] * bool(a.domain) + [helper.make_opsetid("", a.opset)]
    pairs = [text.rsplit(":", 1) for text in a.imports if text != "none"]
    return [helper.make_opsetid(domain, int(version)) for domain, version in pairs]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--domain", default="")
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--init", action="append", default=[])
    parser.add_argument("--output", action="append", default=[])
    parser.add_argument("--node", action="append", default=[])
    parser.add_argument("--import", action="append", dest="imports")
    parser.add_argument("--ir", type=int, default=8)
    parser.add_argument("--external", help="file beside OUT for the initialisers")
    parser.add_argument("--configuration", action="append", default=[])
    parser.add_argument("--on", action="append", default=[])
    parser.add_argument("op")
    parser.add_argument("operands")
    parser.add_argument("results")
    parser.add_argument("attributes", nargs="*")
    a = parser.parse_intermixed_args()
    node = make_node(a.op, a.operands, a.results, a.attributes, "the_node", a.domain)
    node.MergeFromString(b"".join(node_configuration(text) for text in a.on))
    inputs = [helper.make_tensor_value_info(*typed(text)) for text in a.input]
    initializers = []
    for text in a.init:
        kind, numbers = text.split(":")
        name, element, dims = typed(kind)
        if element == TYPES["i4"]:
            packed = bytes(int(x) for x in numbers.split(","))
            initializers.append(onnx.TensorProto(name=name, dims=dims, data_type=element, raw_data=packed))
            continue
        data = np.array([float(x) for x in numbers.split(",") if x], helper.mapping.TENSOR_TYPE_TO_NP_TYPE[element])
        # One number stands for all.
        values = np.full(dims, data[0]) if data.size == 1 else data.reshape(dims)
        initializers.append(numpy_helper.from_array(values, name))
    outputs = [value_info(text) for text in a.output or a.results.split(",") if text]
    more = []
    for i, text in enumerate(a.node):
        op, operands, results, *attributes = text.split()
        more.append(make_node(op, operands, results, attributes, f"node_{i + 1}"))
    graph = helper.make_graph([node, *more], "graph", inputs, outputs, initializers)
    model = helper.make_model(graph, producer_name="test", ir_version=a.ir)
    del model.opset_import[:]
    model.opset_import.extend(opset_imports(a))
    model.MergeFromString(b"".join(model_configuration(text) for text in a.configuration))
    if a.external:
        onnx.save_model(model, a.out, save_as_external_data=True, location=a.external, size_threshold=0)
    else:
        onnx.save(model, a.out)


if __name__ == "__main__":
    main()
