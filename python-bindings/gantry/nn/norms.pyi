from typing import Optional

from ..array import DTypeLike
from ..variable import Variable
from .module import Module

class BatchNorm(Module):
    scale: Variable
    bias: Variable
    mean: Variable
    variance: Variable
    def __init__(self, momentum: float = 0.9, epsilon: float = 1e-5, unbiased: bool = False, channels: str = "last",
                 dtype: DTypeLike = "float32", name: Optional[str] = None, sync: bool = False) -> None: ...
class LayerNorm(Module):
    scale: Variable
    bias: Variable
    def __init__(self, epsilon: float = 1e-5, dims: int = 1, dtype: DTypeLike = "float32", name: Optional[str] = None) -> None: ...
class RMSNorm(Module):
    scale: Variable
    def __init__(self, epsilon: float = 1e-6, dtype: DTypeLike = "float32", name: Optional[str] = None) -> None: ...
class GroupNorm(Module):
    scale: Variable
    bias: Variable
    def __init__(self, groups: int, epsilon: float = 1e-5, channels: str = "last", dtype: DTypeLike = "float32",
                 name: Optional[str] = None) -> None: ...
