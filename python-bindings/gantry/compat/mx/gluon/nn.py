"""mxnet.gluon.nn: gantry.nn's layers with MXNet's arguments, initial values and order of axes: channels come first."""

import gantry as _gt
from gantry import nn as _nn

from ... import _layers
from ..._names import missing as _missing
from .. import init as _own_init
from .parameter import Parameter, ParameterDict

__path__ = []  # so that a name that is missing is told on import, too


class Block(_nn.Module):
    """A part of a network; see gantry.nn.Module."""

    holder = Parameter

    def initialize(self, init=None, ctx=None, force_reinit=False):
        """Where its parameters are, the host unless that is said, and what they are at first, where they are not made yet or
        force_reinit is true."""
        self.to(ctx or _gt.cpu())
        for module in self.modules():
            if "_initial" not in vars(module):
                continue
            module._initial = init or module._initial
            if force_reinit and vars(module).get("_built"):
                module._build(vars(module)["_shape"])

    init_params = initialize

    def _build(self, shape):
        self._shape = shape
        super()._build(shape)

    def collect_params(self, select=None):
        return ParameterDict(self)

    def hybridize(self, active=True, **_):
        """Networks are plans already."""

    def cast(self, dtype):
        raise _gt.UnsupportedError("parameters have the type that layers are given: Dense(..., dtype=)")


HybridBlock = Block


class Sequential(Block, _nn.Sequential):
    def __init__(self):
        _nn.Sequential.__init__(self)

    def add(self, *blocks):
        for each in blocks:
            _nn.Sequential.add(self, each)


HybridSequential = Sequential


class Dense(Block, _layers.Linear):
    """x weight^T + bias, of rows that are flattened; `weight` is [units, in]."""

    def __init__(self, units, activation=None, use_bias=True, flatten=True, dtype="float32", weight_initializer=None,
                 bias_initializer="zeros", in_units=0):
        _layers.Linear.__init__(self, units, activation, use_bias, weight_initializer or _own_init.Uniform(), dtype,
                                initial_bias=bias_initializer)
        self._flatten = flatten

    def __call__(self, x):
        return super().__call__(_gt.reshape(x, (x.shape[0], -1)) if self._flatten and len(getattr(x, "shape", ())) > 2 else x)


def _conv(base, spatial):
    def __init__(self, channels, kernel_size, strides=1, padding=0, dilation=1, groups=1, use_bias=True, activation=None, in_channels=0):
        base.__init__(self, channels, kernel_size, activation, strides, padding, dilations=dilation, groups=groups, bias=use_bias,
                      channels="first", initial=_own_init.Uniform())
    return type(f"Conv{spatial}D", (Block, base), {"__init__": __init__, "__module__": __name__, "__doc__": base.__doc__})


Conv1D, Conv2D, Conv3D = (_conv(base, i) for i, base in enumerate((_nn.Conv1D, _nn.Conv2D, _nn.Conv3D), 1))


def _pool(base, name):
    def __init__(self, pool_size=2, strides=None, padding=0):
        base.__init__(self, pool_size, strides, padding or "valid", "first")
    return type(name, (Block, base), {"__init__": __init__, "__module__": __name__, "__doc__": base.__doc__})


MaxPool1D, MaxPool2D = (_pool(_nn.MaxPool, f"MaxPool{i}D") for i in (1, 2))
AvgPool1D, AvgPool2D = (_pool(_nn.AvgPool, f"AvgPool{i}D") for i in (1, 2))


class GlobalAvgPool2D(Block, _nn.GlobalAvgPool):
    def __init__(self):
        _nn.GlobalAvgPool.__init__(self, "first")


class Flatten(Block, _nn.Flatten):
    def __init__(self):
        _nn.Flatten.__init__(self)


class Dropout(Block, _nn.Dropout):
    def __init__(self, rate):
        _nn.Dropout.__init__(self, rate)


class Activation(Block, _nn.Activation):
    def __init__(self, activation):
        _nn.Activation.__init__(self, activation)


class Embedding(Block, _nn.Embedding):
    def __init__(self, input_dim, output_dim, dtype="float32", weight_initializer=None):
        _nn.Embedding.__init__(self, input_dim, output_dim, initial=weight_initializer or _own_init.Uniform(), dtype=dtype)


class BatchNorm(Block, _nn.BatchNorm):
    def __init__(self, axis=1, momentum=0.9, epsilon=1e-5):
        _nn.BatchNorm.__init__(self, momentum, epsilon, channels="first" if axis == 1 else "last")


class LayerNorm(Block, _nn.LayerNorm):
    def __init__(self, epsilon=1e-5):
        _nn.LayerNorm.__init__(self, epsilon)


def __getattr__(name):
    return _missing(f"mx.gluon.nn.{name}")
