#!/usr/bin/python3
"""Writes one small ONNX model for a lit test: the node's op and attributes, inputs, initialisers.

Usage: onnx_model.py OUT [--opset N] [--domain D] --input x=f32[2,n] ... --init to=i64[2]:3,-1 ...
                     --output y ... OP in,in,... out,out,... [attribute=value ...]
An initialiser of i4 is given by its bytes, two elements in each. Outputs are declared f32 without a shape; --output y=i64[2] declares another type, y=? none.
--node "OP in,in out,out attribute=value" adds nodes after the first, called node_1, node_2, ...
--import DOMAIN:VERSION, instead of --opset, lists opsets ("none" lists none); --ir N is the IR version.
Device configurations (IR version 11, which this onnx package does not know) are written as raw fields:
--configuration NAME=GPU:0,GPU:1 of the model, --on NAME, NAME@STAGE or NAME%TENSOR (sharded) of the node.
A value of an attribute is an integer, a float (with a point), a list of those ([1,2]), a tensor (f32[2]:1,2) or a string.

The bytes are those that the onnx package would write, without its import, which takes ten times as long as the rest.
"""

import argparse
import ast
import math
import pathlib
import re
import struct

# Numbers of TensorProto.DataType, and how struct writes an element.
TYPES = {"f32": (1, "f"), "f16": (10, "e"), "i64": (7, "q"), "i32": (6, "i"), "u8": (2, "B"), "i8": (3, "b"),
         "i1": (9, "?"), "string": (8, None), "i4": (22, None)}
# AttributeProto: how a value is told, the number of its field and of its type, the latter for lists, too.
VALUES = {float: (2, 1, 7, 6), int: (3, 2, 8, 7), str: (4, 3, 9, 8)}


def typed(text):
    """(name, element, dims) of "x=f32[2,n]"; x=f32[...] has none."""
    name, element, dims = re.fullmatch(r"(\w+)=(\w+)\[(.*)\]", text).groups()
    if dims == "...":
        return name, element, None
    return name, element, [int(d) if d.isdigit() else d for d in dims.split(",") if d]


def varint(value):
    value &= (1 << 64) - 1
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])


def field(number, payload):
    """A field of a protocol-buffer message: bytes, a string, an integer or a float."""
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    if isinstance(payload, float):
        return varint(number << 3 | 5) + struct.pack("<f", payload)
    if isinstance(payload, str):
        payload = payload.encode()
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def fields(number, payloads):
    return b"".join(field(number, payload) for payload in payloads)


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


def attribute(name, given):
    if isinstance(given, str) and re.fullmatch(r"\w+\[[\d,]*\]:.*", given):
        kind, numbers = given.split(":")
        _, element, dims = typed(f"{name}={kind}")
        tensor = fields(1, dims) + field(2, TYPES[element][0]) + field(9, elements(numbers, element, dims))
        return field(1, name) + field(5, tensor) + field(20, 4)
    first = given[0] if isinstance(given, list) else given
    kind = float if isinstance(given, list) and any(isinstance(each, float) for each in given) else type(first)
    one, type_of_one, several, type_of_several = VALUES[kind]
    if isinstance(given, list):
        return field(1, name) + fields(several, map(kind, given)) + field(20, type_of_several)
    return field(1, name) + field(one, given) + field(20, type_of_one)


def declaration(name, element, dims=None):
    """A ValueInfoProto; without dimensions its shape is not told."""
    tensor = field(1, TYPES[element][0])
    if dims is not None:
        tensor += field(2, fields(1, (field(1 if isinstance(dim, int) else 2, dim) for dim in dims)))
    return field(1, name) + field(2, field(1, tensor))


def output(text):
    """The declaration of an output."""
    name, _, kind = text.partition("=")
    if kind == "?":
        return field(1, name)
    return declaration(*typed(text)) if kind else declaration(name, "f32")


def make_node(op, operands, results, attributes, name, domain=""):
    pairs = sorted((text.split("=", 1) for text in attributes), key=lambda pair: pair[0])
    return (fields(1, operands.split(",")) + fields(2, results.split(",")) + field(3, name) + field(4, op) +
            fields(5, (attribute(key, value(text)) for key, text in pairs)) + field(7, domain))


def elements(text, element, dims):
    """Bytes of an initialiser; one number stands for all."""
    numbers = [float(x) for x in text.split(",") if x]
    count = math.prod(dims)
    if len(numbers) == 1:
        numbers *= count
    assert len(numbers) == count, f"{len(numbers)} numbers for {dims}"
    form = TYPES[element][1]
    return struct.pack(f"<{count}{form}", *(x if form in "fe" else int(x) for x in numbers))


def initializers(texts, external):
    """TensorProtos, and the bytes of the external file."""
    tensors, outside = [], b""
    for text in texts:
        kind, numbers = text.split(":")
        name, element, dims = typed(kind)
        data = bytes(int(x) for x in numbers.split(",")) if element == "i4" else elements(numbers, element, dims)
        tensor = fields(1, dims) + field(2, TYPES[element][0]) + field(8, name)
        if external:
            place = {"location": external, "offset": str(len(outside)), "length": str(len(data))}
            tensor += fields(13, (field(1, key) + field(2, told) for key, told in place.items())) + field(14, 1)
            outside += data
        else:
            tensor += field(9, data)
        tensors.append(tensor)
    return tensors, outside


def opset_imports(a):
    if a.imports is None:
        pairs = [(a.domain, 1)] * bool(a.domain) + [("", a.opset)]
    else:
        pairs = [text.rsplit(":", 1) for text in a.imports if text != "none"]
    return [field(1, domain) + field(2, int(version)) for domain, version in pairs]


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
    parser.add_argument("--graph", default="graph", help="name of the graph")
    parser.add_argument("--external", help="file beside OUT for the initialisers")
    parser.add_argument("--configuration", action="append", default=[])
    parser.add_argument("--on", action="append", default=[])
    parser.add_argument("op")
    parser.add_argument("operands")
    parser.add_argument("results")
    parser.add_argument("attributes", nargs="*")
    a = parser.parse_intermixed_args()
    nodes = [make_node(a.op, a.operands, a.results, a.attributes, "the_node", a.domain) +
             b"".join(node_configuration(text) for text in a.on)]
    for i, text in enumerate(a.node):
        op, operands, results, *attributes = text.split()
        nodes.append(make_node(op, operands, results, attributes, f"node_{i + 1}"))
    tensors, outside = initializers(a.init, a.external)
    outputs = [output(text) for text in a.output or a.results.split(",") if text]
    graph = (fields(1, nodes) + field(2, a.graph) + fields(5, tensors) +
             fields(11, (declaration(*typed(text)) for text in a.input)) + fields(12, outputs))
    model = (field(1, a.ir) + field(2, "test") + field(7, graph) + fields(8, opset_imports(a)) +
             b"".join(model_configuration(text) for text in a.configuration))
    pathlib.Path(a.out).write_bytes(model)
    if a.external:
        pathlib.Path(a.out).with_name(a.external).write_bytes(outside)


if __name__ == "__main__":
    main()
