import os
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .array import Array, DeviceLike

Path = Union[str, bytes, "os.PathLike[str]"]
Name = Union[str, Tuple[str, Sequence[int]], None]
Names = Union[Mapping[str, Any], Callable[[str], Name]]

class Loaded(NamedTuple):
    missing: List[str]
    unknown: List[str]

class Tensors(Dict[str, Array]):
    metadata: Dict[str, str]

def load_safetensors(path: Path, device: Optional[DeviceLike] = None) -> Tensors: ...
def save_safetensors(path: Path, arrays: Mapping[str, Any], metadata: Optional[Mapping[str, str]] = None) -> None: ...
