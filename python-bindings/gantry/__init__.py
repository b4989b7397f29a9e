"""Gantry: tensors on devices that you choose, compiled graphs, and functions in between.

>>> import gantry as gt
>>> x = gt.ones(2, 3, device=gt.try_gpu())
>>> plan = gt.compile("model.onnx", dims={"batch": 8})
"""

from .compat import _names
from . import _runtime, device as _device, errors, math, ops, random
from ._runtime import config
from .autodiff import checkpoint, custom_gradient, grad, hvp, jvp, value_and_grad, vjp
from .array import Array, arange, array, from_dlpack, full, ones, tensor, zeros
from ._donate import donate
from ._tensors import load_safetensors, save_safetensors
from .device import (Device, cpu, device, devices, gpu, gpus, memory, num_gpus, try_all_gpus, try_gpu)
from .distribute import Mirrored, Towers
from .dtypes import (DType, bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, uint8, uint16,
                     uint32, uint64)
from .errors import (CancelledError, CorruptPlanError, FailedPreconditionError, GantryError, InternalError,
                     InvalidArgumentError, NotFoundError, OutOfMemoryError, UnavailableError, UnsupportedError)
from .function import cond, function, scan, while_loop
from .graph import Graph, Value
from .ops import *  # noqa: F401,F403
from .math import (all, any, argmax, argmin, concat, cumsum, expand_dims, floor_divide, full_like, matmul,  # noqa: F811
                   max, mean, min, ones_like, pow, prod, reshape, softmax, squeeze, stack, sum, true_divide, where,
                   zeros_like)  # with defaults
from . import callbacks, data, losses, metrics, nn, optim
from .plan import Plan, Pool, Session, State, compile, from_torch, load
from .random import rand
from .train import Trainer
from .tape import GradientTape
from .variable import Variable, variables

__version__ = "0.1.0"


def __getattr__(name):
    raise AttributeError(_names.own_sentence(name))
