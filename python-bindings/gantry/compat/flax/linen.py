"""flax.linen: networks without variables of their own: `params = net.init(key, x)`, `net.apply(params, x)`. They are gantry.nn's, whose
variables are given values when they are applied."""

import gantry as _gt
from gantry import nn as _nn
from gantry.function import Function as _Function
from gantry.graph import tracing as _tracing

from .._names import missing as _missing

__path__ = []  # so that a name that is missing is told on import, too

relu, sigmoid, tanh, silu, softplus, gelu, softmax = _gt.relu, _gt.sigmoid, _gt.tanh, _gt.silu, _gt.softplus, _gt.gelu, _gt.softmax


class FrozenDict(dict):
    """A dict that does not change."""

    def __init__(self, values=()):
        super().__init__({key: FrozenDict(each) if isinstance(each, dict) else each for key, each in dict(values).items()})

    def _refuse(self, *_, **__):
        raise ValueError("FrozenDict is immutable.")

    __setitem__ = __delitem__ = pop = update = clear = setdefault = popitem = _refuse

    def unfreeze(self):
        return {key: each.unfreeze() if isinstance(each, FrozenDict) else each for key, each in self.items()}

    def __repr__(self):
        return f"FrozenDict({_text(self, 0)})"


def _text(tree, depth):
    """Lines of a dict, as Flax prints it."""
    if not isinstance(tree, dict):
        return repr(tree)
    pad = "    " * (depth + 1)
    return "{\n" + "".join(f"{pad}{key}: {_text(tree[key], depth + 1)},\n" for key in sorted(tree)) + "    " * depth + "}"


_FLAX = {"weight": "kernel"}


class Module:
    """A network that is made when it is initialised."""

    def __init__(self, make):
        self._make, self._own = make, None
        self._function = _Function(self._call)

    def init(self, rngs, *inputs):
        """The parameters for such inputs, a FrozenDict: numbers that the key decides."""
        key = rngs["params"] if isinstance(rngs, dict) else rngs
        self._own = self._make()
        before = _gt.random.where()
        _gt.random.seed(key.seed)
        try:
            self._own.lower(*map(_rows, inputs))
        finally:
            _gt.random.go_to(before)
        tree = {}
        for path, variable in self._named():
            *groups, name = path
            place = tree
            for group in groups:
                place = place.setdefault(group, {})
            place[name] = variable.read()
        return FrozenDict({"params": tree})

    def _named(self):
        """Pairs of Flax's path and variable."""
        for path, variable in self._own.named_parameters():
            *groups, name = path.replace("layers.", "layers_").split(".")
            yield (*groups, _FLAX.get(name, name)), variable

    def apply(self, variables, *inputs):
        """What it gives of inputs with these parameters."""
        if self._own is None:
            self.init(_gt.random.Key(0), *inputs)
        plain = variables.unfreeze() if isinstance(variables, FrozenDict) else variables
        return (self._call if _tracing() is not None else self._function)(plain, *inputs)

    def _call(self, variables, *inputs):
        held = {}
        for path, variable in self._named():
            value = variables["params"]
            for part in path:
                value = value[part]
            held[variable] = _tracing().value(value)
        with _tracing().bound(held):
            made = self._own(*map(_rows, inputs))
        return _gt.reshape(made, made.shape[1:]) if len(inputs[0].shape) == 1 else made


def _rows(x):
    """One row as a batch of one."""
    return _gt.reshape(x, (1, *x.shape)) if len(x.shape) == 1 else x


def Dense(features, use_bias=True, kernel_init="lecun_normal", bias_init="zeros"):
    """x kernel + bias over the last dimension."""
    return Module(lambda: _nn.Dense(features, bias=use_bias, initial=kernel_init, initial_bias=bias_init))


def Conv(features, kernel_size, strides=1, padding="SAME", use_bias=True, kernel_init="lecun_normal"):
    """A convolution of images or sequences with channels last. Its kernel lies as gantry.nn has it."""
    size = (kernel_size,) if isinstance(kernel_size, int) else tuple(kernel_size)
    layer = (_nn.Conv1D, _nn.Conv2D, _nn.Conv3D)[len(size) - 1]
    return Module(lambda: layer(features, size, strides=strides, padding=padding.lower(), bias=use_bias, initial=kernel_init))


def Embed(num_embeddings, features):
    """Rows of a table at ids."""
    return Module(lambda: _nn.Embedding(num_embeddings, features, initial="normal"))


def Sequential(layers):
    """Layers one after the other: those of this module, and functions."""
    return Module(lambda: _nn.Sequential([each._make() if isinstance(each, Module) else each for each in layers]))


def __getattr__(name):
    return _missing(f"flax.linen.{name}")
