import os
from typing import Any, Dict, List, Literal, NamedTuple, Optional, Tuple, Union, overload

from .device import Device
from .graph import Graph

Path = Union[str, "os.PathLike[str]"]

class Replica(NamedTuple):
    number: int
    device: Device
    seconds: float
    end: float

class Text(str): ...

class Difference(Dict[str, Any]):
    text: str

class Timeline(List[Dict[str, Any]]):
    text: str

class Held(Dict[str, Any]):
    constants: int
    variables: int
    transient: int
    bound: int
    peak: int
    limit: int

class Shown:
    @overload
    def log(self, function: Optional[str] = None, json: Literal[False] = False) -> List[str]: ...
    @overload
    def log(self, function: Optional[str] = None, *, json: Literal[True]) -> List[Dict[str, Any]]: ...
    def copies(self, function: Optional[str] = None) -> List[Dict[str, Any]]: ...
    @property
    def memory(self) -> Dict[str, Held]: ...
    @overload
    def explain(self, op: Optional[str] = None, *, function: Optional[str] = None, memory: bool = False,
                all: bool = False, timeline: bool = False, json: Literal[False] = False,
                width: Optional[int] = None) -> Text: ...
    @overload
    def explain(self, op: Optional[str] = None, *, function: Optional[str] = None, memory: bool = False,
                all: bool = False, timeline: bool = False, json: Literal[True],
                width: Optional[int] = None) -> Dict[str, Any]: ...
    def timeline(self, function: Optional[str] = None, width: Optional[int] = None) -> Timeline: ...
    @property
    def replicas(self) -> Tuple[Replica, ...]: ...
    def report(self, path: Path, function: Optional[str] = None, other: Optional[Shown] = None) -> None: ...
    def diff(self, other: Shown, all: bool = False, width: Optional[int] = None) -> Difference: ...
    def why_not(self, op: str, device: Union[str, Device], source: Union[None, Path, bytes, Graph] = None) -> Text: ...
