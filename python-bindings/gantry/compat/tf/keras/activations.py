"""tf.keras.activations: functions of one array."""

import gantry as _gt
from gantry.nn.layers import _activation

from ..._names import missing as _missing

__path__ = []  # so that a name that is missing is told on import, too

relu, sigmoid, tanh, softplus, softsign, exponential = _gt.relu, _gt.sigmoid, _gt.tanh, _gt.softplus, _gt.softsign, _gt.exp


def softmax(x, axis=-1):
    """e^x over its sum along an axis; what it was made of is kept for losses, as Keras does."""
    made = _gt.softmax(x, axis)
    if isinstance(made, _gt.Value) and axis in (-1, len(made.shape) - 1):
        made.logits = x
    return made


def linear(x):
    return x


def swish(x):
    return _gt.silu(x)


def gelu(x, approximate=False):
    return _gt.ops.gelu(x, approximate=approximate)


def elu(x, alpha=1.0):
    return _gt.elu(x, alpha)


def get(given):
    """The function of a name, a function itself, or none."""
    return globals()[given] if given in ("softmax", "swish", "gelu", "elu", "exponential") else _activation(given)


def __getattr__(name):
    return _missing(f"tf.keras.activations.{name}")
