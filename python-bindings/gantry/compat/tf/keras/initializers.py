"""tf.keras.initializers: what parameters are at first, as gantry.nn takes it."""

import gantry as _gt
from gantry.nn import init as _init

from ..._names import missing as _missing

__path__ = []  # so that a name that is missing is told on import, too


def RandomNormal(mean=0.0, stddev=0.05, seed=None):
    return lambda shape, fan_in, fan_out, dtype: _gt.random.normal(shape, mean, stddev, dtype=dtype, key=_key(seed))


def RandomUniform(minval=-0.05, maxval=0.05, seed=None):
    return lambda shape, fan_in, fan_out, dtype: _gt.random.uniform(shape, minval, maxval, dtype=dtype, key=_key(seed))


def Constant(value=0.0):
    return lambda shape, fan_in, fan_out, dtype: _gt.full(shape, value, dtype=dtype)


def _key(seed):
    return None if seed is None else _gt.random.Key(seed)


def _named(function):
    return lambda seed=None: function


Zeros, Ones = _named(_init.zeros), _named(_init.ones)
GlorotUniform, GlorotNormal, HeUniform, HeNormal, LecunNormal = map(_named, (
    _init.glorot_uniform, _init.glorot_normal, _init.he_uniform, _init.he_normal, _init.lecun_normal))
_NAMES = {"random_normal": RandomNormal(), "random_uniform": RandomUniform()}


def get(given):
    """The function of a name, or what was given."""
    return _NAMES.get(given, given) if isinstance(given, str) else given


def __getattr__(name):
    return _missing(f"tf.keras.initializers.{name}")
