"""The classes of "Dive into Deep Learning", for each of its tabs: `from gantry.compat.d2l import torch as d2l`."""

from .._names import missing


def __getattr__(name):
    return missing(f"d2l.{name}")
