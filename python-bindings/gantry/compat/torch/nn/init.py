"""torch.nn.init: parameters get other values, and are given back."""

import math as _math

import gantry as _gt
from gantry.nn import init as _init

from ..._names import missing as _missing

__path__ = []  # so that a name that is missing is told on import, too


def _fans(tensor):
    """[out, in, ...]: how many values go into and out of an element."""
    window = _math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _set(tensor, values):
    tensor.data = values
    return tensor


def normal_(tensor, mean=0.0, std=1.0):
    return _set(tensor, _gt.random.normal(tensor.shape, mean, std, dtype=tensor.dtype))


def uniform_(tensor, a=0.0, b=1.0):
    return _set(tensor, _gt.random.uniform(tensor.shape, a, b, dtype=tensor.dtype))


def constant_(tensor, val):
    return _set(tensor, _gt.full(tensor.shape, val, dtype=tensor.dtype))


def zeros_(tensor):
    return constant_(tensor, 0)


def ones_(tensor):
    return constant_(tensor, 1)


def xavier_uniform_(tensor):
    return _set(tensor, _init.glorot_uniform(tensor.shape, *_fans(tensor), tensor.dtype))


def xavier_normal_(tensor):
    return _set(tensor, _init.glorot_normal(tensor.shape, *_fans(tensor), tensor.dtype))


def kaiming_uniform_(tensor, nonlinearity="relu"):
    return _set(tensor, _init.he_uniform(tensor.shape, *_fans(tensor), tensor.dtype))


def kaiming_normal_(tensor, nonlinearity="relu"):
    return _set(tensor, _init.he_normal(tensor.shape, *_fans(tensor), tensor.dtype))


def __getattr__(name):
    return _missing(f"torch.nn.init.{name}")
