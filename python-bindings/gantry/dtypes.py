"""Element types: Gantry's thirteen, with their names here, in graphs and in NumPy.

>>> float32 == "f32" == np.float32
"""

import numpy as np

try:  # NumPy has no bfloat16 of its own
    import ml_dtypes
    _BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    _BFLOAT16 = None


class DType:
    """An element type; equal to its names and to NumPy's type."""

    __slots__ = ("number", "name", "graph_name", "numpy", "itemsize")

    def __init__(self, number, name, graph_name, numpy_type):
        for slot, value in zip(self.__slots__, (number, name, graph_name, numpy_type, numpy_type.itemsize)):
            object.__setattr__(self, slot, value)

    def __eq__(self, other):
        if isinstance(other, DType):
            return self is other
        try:
            return as_dtype(other) is self
        except TypeError:
            return NotImplemented

    def __hash__(self):
        return self.number

    def __setattr__(self, name, value):
        raise AttributeError("an element type does not change")

    def __reduce__(self):  # there is one object for each type: copies and what was pickled are that one
        return self.name

    def __repr__(self):
        return f"gantry.{self.name}"

    __str__ = lambda self: self.name

    @property
    def is_floating(self):
        return self.number < 4


def _all():
    rows = (("float32", "f32", np.float32), ("float64", "f64", np.float64), ("float16", "f16", np.float16),
            ("bfloat16", "bf16", None), ("int8", "i8", np.int8), ("uint8", "u8", np.uint8),
            ("int16", "i16", np.int16), ("uint16", "u16", np.uint16), ("int32", "i32", np.int32),
            ("uint32", "u32", np.uint32), ("int64", "i64", np.int64), ("uint64", "u64", np.uint64),
            ("bool_", "i1", np.bool_))
    for number, (name, graph_name, numpy_type) in enumerate(rows):
        # Without ml_dtypes the bits of bfloat16 are told as uint16.
        kind = np.dtype(numpy_type) if numpy_type else _BFLOAT16 or np.dtype(np.uint16)
        yield DType(number, name, graph_name, kind)


BY_NUMBER = tuple(_all())
(float32, float64, float16, bfloat16, int8, uint8, int16, uint16, int32, uint32, int64, uint64,
 bool_) = BY_NUMBER

_BY_NAME = {name: kind for kind in BY_NUMBER for name in (kind.name, kind.graph_name)}
_BY_NAME["bool"] = bool_
_BY_NUMPY = {kind.numpy: kind for kind in BY_NUMBER if kind is not bfloat16}
if _BFLOAT16 is not None:
    _BY_NUMPY[_BFLOAT16] = bfloat16
_BUILTIN = {float: float32, int: int32, bool: bool_}


def as_dtype(given):
    """The element type that a DType, a name, a NumPy type or float, int, bool means. TypeError."""
    if isinstance(given, DType):
        return given
    if isinstance(given, str) and given in _BY_NAME:
        return _BY_NAME[given]
    if isinstance(given, type) and given in _BUILTIN:
        return _BUILTIN[given]
    try:
        return _BY_NUMPY[np.dtype(given)]
    except (TypeError, KeyError):
        names = ", ".join(kind.name for kind in BY_NUMBER)
        raise TypeError(f"{given!r} is no element type; the types are {names}") from None
