"""ONNX's .pb files as NumPy arrays, in the form in which Gantry takes and gives them."""

import onnx
from onnx import numpy_helper


class Unreadable(Exception):
    """The file holds a sequence, an optional, a map or strings: nothing that is an array."""


def to_array(tensor):
    """Array of a TensorProto; bfloat16 as float32, which holds every one of its values."""
    if tensor.data_type in (onnx.TensorProto.STRING, onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128):
        raise Unreadable(onnx.TensorProto.DataType.Name(tensor.data_type))
    return numpy_helper.to_array(tensor)


def load_tensor(file):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(file.read_bytes())
    return to_array(tensor)


def load_arrays(folder, kind, values):
    """Arrays of folder/{kind}_0.pb ..., described by `values` of the model's graph."""
    arrays = []
    for index in range(len(list(folder.glob(f"{kind}_*.pb")))):
        if index < len(values) and not values[index].type.HasField("tensor_type"):
            raise Unreadable(values[index].type.WhichOneof("value"))
        arrays.append(load_tensor(folder / f"{kind}_{index}.pb"))
    return arrays
