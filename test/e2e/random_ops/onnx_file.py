"""Several drawn nodes and graphs as one ONNX model, side by side."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .draw import ELEMENT_TYPES, Constant
from .graphs import Graph


def as_graph(node):
    """A node is a graph of one step."""
    inputs, constants, names = {}, {}, []
    for i, operand in enumerate(node.operands):
        names.append("" if operand is None else f"i{i}")
        if isinstance(operand, Constant):
            constants[names[-1]] = operand.array
        elif operand is not None:
            inputs[names[-1]] = operand
    while names and not names[-1]:
        names.pop()
    outputs = [f"o{i}" for i in range(node.outputs)]
    return Graph(inputs, constants, [(node.op, names, outputs, node.attributes)], outputs, node.expected)


def pack(cases, folder):
    nodes, given, initializers, returned, arrays, outputs = [], [], [], [], {}, []
    for number, case in enumerate(cases):
        graph = case.source if isinstance(case.source, Graph) else as_graph(case.source)
        own = lambda name, number=number: name and f"n{number}_{name}"
        for name, array in graph.inputs.items():
            arrays[own(name)] = array
            given.append(helper.make_tensor_value_info(own(name), ELEMENT_TYPES[array.dtype], array.shape))
        initializers += [numpy_helper.from_array(np.asarray(array), own(name)) for name, array in graph.constants.items()]
        for op, inputs, results, attributes in graph.steps:
            nodes.append(helper.make_node(op, [own(i) for i in inputs], [own(r) for r in results], **attributes))
        outputs.append([own(name) for name in graph.outputs])
        for name, expected in zip(graph.outputs, graph.expected or [None] * len(graph.outputs)):
            # Of what has no answer neither type nor shape is known.
            returned.append(onnx.ValueInfoProto(name=own(name)) if expected is None else
                            helper.make_tensor_value_info(own(name), ELEMENT_TYPES[expected.dtype], expected.shape))
    model = helper.make_model(helper.make_graph(nodes, "drawn", given, returned, initializers),
                              opset_imports=[helper.make_opsetid("", cases[0].key)], ir_version=8)
    file = folder / "model.onnx"
    file.write_bytes(model.SerializeToString())
    return file, arrays, outputs
