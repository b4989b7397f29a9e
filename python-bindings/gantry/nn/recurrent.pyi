from typing import Any, Optional, Union

from ..array import DTypeLike
from ..variable import Variable
from .init import Initial
from .layers import Function
from .module import Module

class _Recurrent(Module):
    weight: Variable
    recurrent: Variable
    bias: Optional[Variable]
    units: int
    def turned(self) -> _Recurrent: ...
class SimpleRNN(_Recurrent):
    def __init__(self, units: int, activation: Function = "tanh", bias: bool = True, sequences: bool = False, state: bool = False,
                 backwards: bool = False, dropout: float = 0.0, recurrent_dropout: float = 0.0,
                 initial: Union[str, Initial] = "glorot_uniform", recurrent_initial: Union[str, Initial] = "orthogonal",
                 dtype: DTypeLike = "float32", name: Optional[str] = None) -> None: ...
class LSTM(_Recurrent):
    def __init__(self, units: int, activation: Function = "tanh", recurrent_activation: Function = "sigmoid", bias: bool = True,
                 unit_forget: bool = True, **options: Any) -> None: ...
class GRU(_Recurrent):
    def __init__(self, units: int, activation: Function = "tanh", recurrent_activation: Function = "sigmoid", bias: bool = True,
                 reset_after: bool = True, **options: Any) -> None: ...
class Bidirectional(Module):
    layer: _Recurrent
    backward: _Recurrent
    def __init__(self, layer: _Recurrent, merge: Optional[str] = "concat", name: Optional[str] = None) -> None: ...
