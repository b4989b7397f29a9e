from typing import Any, Optional, Tuple

from ._operators import Operators
from .device import Device
from .dtypes import DType
from .plan import Path, Plan

class Value(Operators):
    shape: Tuple[int, ...]
    dtype: DType
    device: Optional[Device]
    @property
    def ndim(self) -> int: ...

class Graph:
    name: str
    @property
    def text(self) -> str: ...
    def save(self, path: Path) -> None: ...
    def plan(self, **options: Any) -> Plan: ...
