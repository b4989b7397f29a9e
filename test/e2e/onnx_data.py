"""ONNX's .pb files as NumPy arrays, in the form in which Gantry takes and gives them."""

import numpy as np
import onnx
from onnx import numpy_helper


class Unreadable(Exception):
    """The file holds a sequence, an optional, a map or strings: nothing that is an array."""


def to_array(tensor):
    """Array of a TensorProto; bfloat16 as float32, which holds every one of its values."""
    if tensor.data_type in (onnx.TensorProto.STRING, onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128):
        raise Unreadable(onnx.TensorProto.DataType.Name(tensor.data_type))
    return numpy_helper.to_array(tensor)


def load_tensor(file, declared=None):
    """Array in a file; `declared` is the element type that the model gives the value.

    Some of ONNX's files hold the bits of bfloat16 as uint16, where the model says bfloat16.
    """
    tensor = onnx.TensorProto()
    tensor.ParseFromString(file.read_bytes())
    array = to_array(tensor)
    if declared == onnx.TensorProto.BFLOAT16 and tensor.data_type == onnx.TensorProto.UINT16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def load_arrays(folder, kind, values):
    """Arrays of folder/{kind}_0.pb ..., described by `values` of the model's graph."""
    arrays = []
    for index in range(len(list(folder.glob(f"{kind}_*.pb")))):
        if not values[index].type.HasField("tensor_type"):
            raise Unreadable(values[index].type.WhichOneof("value"))
        arrays.append(load_tensor(folder / f"{kind}_{index}.pb", values[index].type.tensor_type.elem_type))
    return arrays
