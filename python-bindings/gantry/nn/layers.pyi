from typing import Any, Callable, Optional, Sequence, Union

from ..array import DTypeLike
from ..variable import Variable
from .init import Initial
from .module import Module

Function = Optional[Union[str, Callable[[Any], Any]]]
Sizes = Union[int, Sequence[int]]
Padding = Union[str, int, Sequence[int]]

class Activation(Module):
    def __init__(self, function: Function, name: Optional[str] = None) -> None: ...
class Dense(Module):
    weight: Variable
    bias: Optional[Variable]
    def __init__(self, units: int, activation: Function = None, bias: bool = True, initial: Union[str, Initial] = "glorot_uniform",
                 dtype: DTypeLike = "float32", name: Optional[str] = None) -> None: ...
class Embedding(Module):
    weight: Variable
    rows: int
    size: int
    def __init__(self, rows: int, size: int, initial: Union[str, Initial] = "uniform", dtype: DTypeLike = "float32",
                 name: Optional[str] = None) -> None: ...
class _Conv(Module):
    weight: Variable
    bias: Optional[Variable]
    def __init__(self, filters: int, window: Sizes, activation: Function = None, strides: Sizes = 1, padding: Padding = "valid",
                 dilations: Sizes = 1, groups: int = 1, bias: bool = True, channels: str = "last",
                 initial: Union[str, Initial] = "glorot_uniform", dtype: DTypeLike = "float32", name: Optional[str] = None) -> None: ...
class Conv1D(_Conv): ...
class Conv2D(_Conv): ...
class _Pool(Module):
    def __init__(self, window: Sizes, strides: Optional[Sizes] = None, padding: Padding = "valid", channels: str = "last",
                 name: Optional[str] = None) -> None: ...
class MaxPool(_Pool): ...
class AvgPool(_Pool): ...
class _Global(Module):
    def __init__(self, channels: str = "last", name: Optional[str] = None) -> None: ...
class GlobalMaxPool(_Global): ...
class GlobalAvgPool(_Global): ...
class Flatten(Module): ...
class Reshape(Module):
    def __init__(self, *shape: Sizes, name: Optional[str] = None) -> None: ...
class Dropout(Module):
    ratio: float
    def __init__(self, ratio: float, name: Optional[str] = None) -> None: ...
class BatchNorm(Module):
    scale: Variable
    bias: Variable
    mean: Variable
    variance: Variable
    def __init__(self, momentum: float = 0.9, epsilon: float = 1e-5, unbiased: bool = False, channels: str = "last",
                 dtype: DTypeLike = "float32", name: Optional[str] = None) -> None: ...
class LayerNorm(Module):
    scale: Variable
    bias: Variable
    def __init__(self, epsilon: float = 1e-5, dtype: DTypeLike = "float32", name: Optional[str] = None) -> None: ...
