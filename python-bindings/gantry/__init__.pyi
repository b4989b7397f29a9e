from typing import Any, Mapping, Optional, Sequence

from . import (callbacks as callbacks, data as data, distribute as distribute, errors as errors, losses as losses, math as math,
               metrics as metrics, nn as nn, ops as ops, optim as optim, random as random)
from .array import (Array as Array, arange as arange, array as array, from_dlpack as from_dlpack, full as full,
                    ones as ones, tensor as tensor, zeros as zeros)
from .autodiff import (checkpoint as checkpoint, custom_gradient as custom_gradient, grad as grad, hvp as hvp, jvp as jvp,
                       value_and_grad as value_and_grad, vjp as vjp)
from ._donate import donate as donate
from ._tensors import load_safetensors as load_safetensors, save_safetensors as save_safetensors
from .device import (Device as Device, cpu as cpu, device as device, devices as devices, gpu as gpu, gpus as gpus,
                     memory as memory, num_gpus as num_gpus, try_all_gpus as try_all_gpus, try_gpu as try_gpu)
from .dtypes import (DType as DType, bfloat16 as bfloat16, bool_ as bool_, float16 as float16, float32 as float32,
                     float64 as float64, int8 as int8, int16 as int16, int32 as int32, int64 as int64, uint8 as uint8,
                     uint16 as uint16, uint32 as uint32, uint64 as uint64)
from .errors import (CancelledError as CancelledError, CorruptPlanError as CorruptPlanError,
                     FailedPreconditionError as FailedPreconditionError, GantryError as GantryError,
                     InternalError as InternalError, InvalidArgumentError as InvalidArgumentError,
                     NotFoundError as NotFoundError, OutOfMemoryError as OutOfMemoryError,
                     UnavailableError as UnavailableError, UnsupportedError as UnsupportedError)
from .function import cond as cond, function as function, scan as scan, while_loop as while_loop
from .graph import Graph as Graph, Value as Value
from .ops import *
from .math import (  # type: ignore[assignment]
                   all as all, any as any, argmax as argmax, argmin as argmin, concat as concat, cumsum as cumsum, expand_dims as
                   expand_dims, floor_divide as floor_divide, full_like as full_like, matmul as matmul, max as max,
                   mean as mean, min as min, ones_like as ones_like, pow as pow, prod as prod, reshape as reshape, softmax as
                   softmax, squeeze as squeeze, stack as stack, sum as sum, true_divide as true_divide, where as
                   where, zeros_like as zeros_like)
from .plan import (Plan as Plan, Pool as Pool, Session as Session, State as State, compile as compile,
                   from_torch as from_torch, load as load)
from .random import rand as rand
from .distribute import Mirrored as Mirrored, Towers as Towers
from .train import Trainer as Trainer
from .tape import GradientTape as GradientTape
from .variable import Variable as Variable, variables as variables

__version__: str

def config(*, devices: Optional[str] = ..., visible: Optional[Sequence[int]] = ...,
           split: Mapping[int, Sequence[str]] = ..., memory: Mapping[str, str] = ..., simulate: bool = ...,
           placement: str = ..., soft: bool = ..., copies: str = ..., log_placement: bool = ..., threads: int = ...,
           sim_order: Optional[str] = ..., default_device: Optional[Any] = ...) -> None: ...
