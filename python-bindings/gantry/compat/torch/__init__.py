"""PyTorch's names for what Gantry has: `from gantry.compat import torch`. Arrays start on the host, as there."""

import numpy as np

import gantry as gt

from .._names import Namespace, missing
from ._tensor import Parameter, enable_grad, no_grad, wanted as _wanted  # noqa: F401

float16, bfloat16, float32, float64 = gt.float16, gt.bfloat16, gt.float32, gt.float64
int8, int16, int32, int64, uint8 = gt.int8, gt.int16, gt.int32, gt.int64, gt.uint8
half, float, double, short, int, long, bool = float16, float32, float64, int16, int32, int64, gt.bool_
matmul, mm, relu, sigmoid, tanh, exp, log, sqrt, abs = (gt.matmul, gt.matmul, gt.relu, gt.sigmoid, gt.tanh, gt.exp, gt.log,
                                                        gt.sqrt, gt.abs)
add, sub, mul, div, where, stack, maximum, minimum = (gt.add, gt.sub, gt.mul, gt.true_divide, gt.where, gt.stack, gt.maximum,
                                                      gt.minimum)
cat, from_dlpack, manual_seed = gt.concat, gt.from_dlpack, gt.random.seed
rand = gt.rand


def device(type, index=None):
    """torch.device("cuda:1"), torch.device("cuda", 1), torch.device("cpu")."""
    return gt.cpu() if type == "cpu" and index is None else gt.device(type if index is None else f"{type}:{index}")


def tensor(data, dtype=None, device=None, requires_grad=False):
    """A new array of values: whole numbers are int64, as there; of an array on its device."""
    if dtype is None and not hasattr(data, "dtype") and np.asarray(data).dtype.kind in "iu":
        dtype = int64
    return _made(gt.tensor(data, dtype, device), requires_grad)


def _made(values, requires_grad):
    return _wanted(values) if requires_grad else values


def _filled(make):
    def filled(*size, dtype=None, device=None, requires_grad=False):
        return _made(make(*size, dtype=dtype or float32, device=device), requires_grad)
    filled.__name__ = make.__name__
    return filled


ones, zeros = _filled(gt.ones), _filled(gt.zeros)


def full(size, fill_value, dtype=None, device=None):
    return gt.full(size, fill_value, dtype, device)


def arange(start, end=None, step=1, dtype=None, device=None):
    """From `start` up to `end`, which is left out; whole numbers are int64, as there."""
    is_whole = all(number is None or number == number // 1 for number in (start, end, step))
    return gt.arange(start, end, step, dtype or (int64 if is_whole else float32), device)


def randn(*size, dtype=None, device=None, requires_grad=False):
    size = size[0] if len(size) == 1 else size
    return _made(gt.random.normal(size, dtype=dtype or float32, device=device), requires_grad)


def normal(mean, std, size, requires_grad=False, dtype=None, device=None):
    return _made(gt.random.normal(size, mean, std, dtype=dtype or float32, device=device), requires_grad)


def softmax(input, dim):
    return gt.softmax(input, dim)


def _reduced(reduce):
    """A reduction over a dimension, or over all."""
    return lambda input, dim=None, keepdim=False: reduce(input, dim, keepdim)


def _memory(part):
    return lambda device=None: getattr(gt.memory(_gpu(device)), part)


def _gpu(device):
    return gt.gpu() if device is None else gt.gpu(device) if not hasattr(device, "name") and not isinstance(device, str) \
        else gt.device(device)


cuda = Namespace(
    "torch.cuda", device_count=gt.num_gpus, is_available=lambda: gt.num_gpus() > 0, current_device=lambda: 0,
    synchronize=lambda device=None: None,  # whoever reads values waits for them
    empty_cache=lambda: None,  # what is not used is not held
    memory_allocated=_memory("used"), max_memory_allocated=_memory("peak"),
    reset_peak_memory_stats=lambda device=None: gt.memory(_gpu(device)).reset_peak())


Tensor = gt.Array
sum, mean, argmax = _reduced(gt.sum), _reduced(gt.mean), _reduced(gt.argmax)

from . import nn, optim, utils  # noqa: E402,F401


def __getattr__(name):
    return missing(f"torch.{name}")
