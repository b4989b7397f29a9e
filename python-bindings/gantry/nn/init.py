"""What parameters are at first: functions of a shape and of how many values go into and out of an element.

`gantry.random.seed` decides what they draw.
"""

import math

import numpy as np

from .. import ops, random
from .._named import look_up
from ..array import array, full


def zeros(shape, fan_in, fan_out, dtype):
    """Zeros."""
    return full(shape, 0, dtype=dtype)


def ones(shape, fan_in, fan_out, dtype):
    """Ones."""
    return full(shape, 1, dtype=dtype)


def _uniform(limit, shape, dtype):
    return random.uniform(shape, -limit, limit, dtype=dtype)


def glorot_uniform(shape, fan_in, fan_out, dtype):
    """Uniform within sqrt(6 / (in + out)): Glorot and Bengio, Understanding the difficulty of training deep feedforward
    neural networks, 2010."""
    return _uniform(math.sqrt(6 / max(1, fan_in + fan_out)), shape, dtype)


def glorot_normal(shape, fan_in, fan_out, dtype):
    """Normal with the deviation sqrt(2 / (in + out)); the same source."""
    return random.normal(shape, 0, math.sqrt(2 / max(1, fan_in + fan_out)), dtype=dtype)


def he_uniform(shape, fan_in, fan_out, dtype):
    """Uniform within sqrt(6 / in): He et al., Delving deep into rectifiers, 2015."""
    return _uniform(math.sqrt(6 / max(1, fan_in)), shape, dtype)


def he_normal(shape, fan_in, fan_out, dtype):
    """Normal with the deviation sqrt(2 / in); the same source."""
    return random.normal(shape, 0, math.sqrt(2 / max(1, fan_in)), dtype=dtype)


def lecun_normal(shape, fan_in, fan_out, dtype):
    """Normal with the deviation sqrt(1 / in): LeCun et al., Efficient backprop, 1998."""
    return random.normal(shape, 0, math.sqrt(1 / max(1, fan_in)), dtype=dtype)


def fan_in_uniform(shape, fan_in, fan_out, dtype):
    """Uniform within 1 / sqrt(in), as PyTorch's linear layers and convolutions have it."""
    return _uniform(1 / math.sqrt(max(1, fan_in)), shape, dtype)


def orthogonal(shape, fan_in, fan_out, dtype):
    """Columns, or rows where these are fewer, of length 1 that are orthogonal to each other: Saxe et al., Exact solutions to the
    nonlinear dynamics of learning in deep linear neural networks, 2014. Drawn, then by NumPy's QR."""
    rows, columns = math.prod(shape[:-1]), shape[-1]
    drawn = random.normal((max(rows, columns), min(rows, columns)), dtype="float64").numpy()
    q, r = np.linalg.qr(drawn)
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    return ops.cast(array((q if rows >= columns else q.T).reshape(shape)), dtype)


def uniform(shape, fan_in, fan_out, dtype):
    """Uniform within 0.05, as Keras's embeddings have it."""
    return _uniform(0.05, shape, dtype)


def normal(shape, fan_in, fan_out, dtype):
    """Normal with the deviation 1, as PyTorch's embeddings have it."""
    return random.normal(shape, dtype=dtype)


_NAMED = {each.__name__: each for each in (zeros, ones, glorot_uniform, glorot_normal, he_uniform, he_normal, lecun_normal,
                                           fan_in_uniform, orthogonal, uniform, normal)}


def named(given):
    """The function of a name, or what was given if it is one."""
    return given if callable(given) else look_up(_NAMED, given, "initial value")
