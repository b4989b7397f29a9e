from typing import Any, Tuple

import numpy as np

class DType:
    @property
    def name(self) -> str: ...
    @property
    def graph_name(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def numpy(self) -> "np.dtype[Any]": ...
    @property
    def itemsize(self) -> int: ...
    @property
    def is_floating(self) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

BY_NUMBER: Tuple[DType, ...]
float32: DType
float64: DType
float16: DType
bfloat16: DType
int8: DType
uint8: DType
int16: DType
uint16: DType
int32: DType
uint32: DType
int64: DType
uint64: DType
bool_: DType

def as_dtype(given: Any) -> DType: ...
