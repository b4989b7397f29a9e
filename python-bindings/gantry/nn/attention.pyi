from typing import Any, Optional

from ..array import DTypeLike
from .layers import Dense, Function
from .module import Module

def padding_mask(ids: Any, padding: int = 0) -> Any: ...

class MultiHeadAttention(Module):
    heads: int
    query: Dense
    key: Dense
    value: Dense
    out: Dense
    def __init__(self, heads: int, size: Optional[int] = None, causal: bool = False, dropout: float = 0.0, bias: bool = True,
                 dtype: DTypeLike = "float32", name: Optional[str] = None) -> None: ...
class _Block(Module):
    grow: Dense
    shrink: Dense
    attention: MultiHeadAttention
class TransformerEncoderLayer(_Block):
    def __init__(self, heads: int, inner: int = 2048, activation: Function = "relu", dropout: float = 0.1, norm_first: bool = False,
                 causal: bool = False, epsilon: float = 1e-5, dtype: DTypeLike = "float32", name: Optional[str] = None) -> None: ...
class TransformerDecoderLayer(_Block):
    cross: MultiHeadAttention
    def __init__(self, heads: int, inner: int = 2048, activation: Function = "relu", dropout: float = 0.1, norm_first: bool = False,
                 causal: bool = True, epsilon: float = 1e-5, dtype: DTypeLike = "float32", name: Optional[str] = None) -> None: ...
