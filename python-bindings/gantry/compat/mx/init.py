"""mxnet.init: what parameters are at first, as gantry.nn takes it."""

import gantry as _gt
from gantry.nn import init as _init

from .._names import missing as _missing

__path__ = []  # so that a name that is missing is told on import, too


def Uniform(scale=0.07):
    return lambda shape, fan_in, fan_out, dtype: _gt.random.uniform(shape, -scale, scale, dtype=dtype)


def Normal(sigma=0.01):
    return lambda shape, fan_in, fan_out, dtype: _gt.random.normal(shape, 0.0, sigma, dtype=dtype)


def Constant(value):
    return lambda shape, fan_in, fan_out, dtype: _gt.full(shape, value, dtype=dtype)


def Xavier():
    """Uniform within sqrt(3 / mean of in and out), which is Glorot's."""
    return _init.glorot_uniform


def Zero():
    return _init.zeros


def One():
    return _init.ones


def __getattr__(name):
    return _missing(f"mx.init.{name}")
