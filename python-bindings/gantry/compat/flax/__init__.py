"""Flax's names: `from gantry.compat.flax import linen as nn`."""

from .._names import Namespace as _Namespace, missing as _missing
from . import linen
from .linen import FrozenDict

core = _Namespace("flax.core", FrozenDict=FrozenDict, freeze=FrozenDict)


def __getattr__(name):
    return _missing(f"flax.{name}")
