"""Recurrent layers: a loop over the steps of sequences [n, t, k], with one product of all inputs in front of it.

Gates lie side by side in the weights, [k, gates * units] and [units, gates * units], in Keras's order. A step that a mask, truth
values [n, t], hides leaves the state as it was.
"""

import copy

import numpy as np

from .. import math as gm, ops, random
from ..array import array
from ..errors import InvalidArgumentError
from ..function import scan
from . import init
from .layers import _activation, _needs_rank
from .module import Module, is_training


class _Recurrent(Module):
    gates, states = 1, 1

    def __init__(self, units, activation="tanh", bias=True, sequences=False, state=False, backwards=False, dropout=0.0, recurrent_dropout=0.0,
                 initial="glorot_uniform", recurrent_initial="orthogonal", dtype="float32", name=None):
        super().__init__(name)
        for ratio in (dropout, recurrent_dropout):
            if not 0 <= ratio < 1:
                raise InvalidArgumentError(f"a dropout's ratio is at least 0 and below 1, got {ratio}")
        self.units, self._call, self._has_bias, self._dtype = units, _activation(activation), bias, dtype
        self._sequences, self._state, self._backwards = sequences, state, backwards
        self._dropout, self._recurrent_dropout, self._initials = dropout, recurrent_dropout, (initial, recurrent_initial)

    def build(self, shape):
        _needs_rank(self, shape, 3, "sequences, [n, t, k]")
        width = self.gates * self.units
        self.weight = self.variable("weight", (shape[-1], width), self._initials[0], shape[-1], width, self._dtype)
        self.recurrent = self.variable("recurrent", (self.units, width), self._initials[1], self.units, width, self._dtype)
        self.bias = self.variable("bias", self._bias_shape(), self._first_bias, dtype=self._dtype) if self._has_bias else None

    @property
    def results(self):
        """How many values it gives."""
        return 1 + self.states if self._state else 1

    def _bias_shape(self):
        return (self.gates * self.units,)

    def _first_bias(self, shape, fan_in, fan_out, dtype):
        return init.zeros(shape, fan_in, fan_out, dtype)

    def forward(self, x, state=None, mask=None):
        if x.shape[-1] != self.weight.shape[0]:
            raise InvalidArgumentError(f"{self._own_name()} was made for steps of {self.weight.shape[0]}, got {list(x.shape)}")
        (n, t, _), weights = x.shape, self._of_steps()
        # One mask for all steps, drawn in front of them, as Keras does.
        seen, kept = self._keeps((n, 1, x.shape[2]), self._dropout, "inputs"), self._keeps((n, self.units), self._recurrent_dropout, "state")
        x = ops.transpose(x if seen is None else ops.mul(x, seen), (1, 0, 2))
        projected = self._project(ops.matmul(x, self.weight))
        shown = None if mask is None else self._shown(gm.tensor(mask), (n, t))

        def step(carry, given):
            made = self._step(given[0], carry if kept is None else (ops.mul(carry[0], kept), *carry[1:]), *weights)
            if shown is not None:
                made = tuple(gm.where(given[1], new, old) for new, old in zip(made, carry))
            return made, made[0] if self._sequences else None

        begin = self._begin(state, n, projected)
        last, all_steps = scan(step, begin, (projected,) if shown is None else (projected, shown), reverse=self._backwards)
        y = ops.transpose(all_steps, (1, 0, 2)) if self._sequences else last[0]
        return (y, *last) if self._state else y

    def _project(self, x):
        return x if self.bias is None else x + self.bias

    def _of_steps(self):
        """What all steps read, made in front of them."""
        return (gm.tensor(self.recurrent),)

    def _begin(self, state, n, like):
        if state is None:
            zeros = ops.broadcast(gm.constant_like(like, 0), (n, self.units))
            return (zeros,) * self.states
        given = tuple(map(gm.tensor, state)) if isinstance(state, (tuple, list)) else (gm.tensor(state),)
        shapes = [tuple(each.shape) for each in given]
        if shapes != [(n, self.units)] * self.states:
            raise InvalidArgumentError(f"{self._own_name()} begins with {self.states} arrays {[n, self.units]}, got "
                                       f"{', '.join(str(list(shape)) for shape in shapes)}")
        return given

    def _shown(self, mask, steps):
        if mask.dtype != "bool" or tuple(mask.shape) != tuple(steps):
            raise InvalidArgumentError(f"{self._own_name()} takes a mask of truth values {list(steps)}, got {mask.dtype}{list(mask.shape)}")
        return ops.reshape(ops.transpose(mask, (1, 0)), (steps[1], steps[0], 1))

    def _keeps(self, shape, ratio, what):
        """What is multiplied with while training: 0, or 1 / (1 - ratio)."""
        if not is_training() or not ratio:
            return None
        keeps = random.of_layer(f"{self.path()}/{what}", shape) >= ratio
        return ops.cast(ops.cast(keeps, "float32") * (1 / (1 - ratio)), self._dtype)

    def turned(self):
        """The same layer, which has no variables yet, over the steps from the last to the first."""
        if vars(self).get("_built"):
            raise InvalidArgumentError(f"{self._own_name()} has variables already; its counterpart is made before that")
        made = copy.copy(self)
        vars(made).pop("_functions", None)
        made.name, made._backwards = f"{self._own_name()}_back", not self._backwards
        return made


def _cut(x, count):
    """The gates of [n, count * units]."""
    units = x.shape[-1] // count
    return [ops.slice(x, (0, i * units), (x.shape[0], units), (1, 1)) for i in range(count)]


class SimpleRNN(_Recurrent):
    """h = activation(x weight + h recurrent + bias) at each step of [n, t, k]: Elman, Finding structure in time, 1990.

    sequences  gives all h, [n, t, units], at the places of their inputs; else the last one, [n, units]
    state      gives the last state, too: (y, h)
    backwards  goes from the last step to the first
    dropout    the share of inputs that is 0 while training, the same ones at all steps; recurrent_dropout that of h

    `layer(x)`, `layer(x, state, mask)`: the state that it begins with, zeros else, and truth values [n, t], false at steps that are
    passed over. `weight` is [k, units], `recurrent` [units, units].
    """

    def _step(self, x, carry, recurrent):
        return (self._call(x + ops.matmul(carry[0], recurrent)),)


class LSTM(_Recurrent):
    """Long short-term memory: Hochreiter and Schmidhuber, 1997, with the forget gate of Gers et al., 2000. Of i, f, g and o, which
    are x weight + h recurrent + bias: c = sigmoid(f) c + sigmoid(i) activation(g), h = sigmoid(o) activation(c). `weight` is
    [k, 4 units], with the gates in the order i, f, g, o, as Keras and PyTorch have them; the bias of f is 1 at first, with
    unit_forget=False 0. The state is (h, c). All else as SimpleRNN has it."""
    gates, states = 4, 2

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", bias=True, unit_forget=True, **options):
        super().__init__(units, activation, bias, **options)
        self._gate, self._unit_forget = _activation(recurrent_activation), unit_forget

    def _first_bias(self, shape, fan_in, fan_out, dtype):
        made = np.zeros(shape, np.float32)
        if self._unit_forget:
            made[self.units:2 * self.units] = 1
        return ops.cast(array(made), dtype)

    def _step(self, x, carry, recurrent):
        h, c = carry
        i, f, g, o = _cut(x + ops.matmul(h, recurrent), 4)
        c = self._gate(f) * c + self._gate(i) * self._call(g)
        return self._gate(o) * self._call(c), c


class GRU(_Recurrent):
    """Gated recurrent units: Cho et al., Learning phrase representations using RNN encoder-decoder, 2014. Of z, r and g, which are
    x weight + bias, and their counterparts of h recurrent: h = z h + (1 - z) activation(g + r (h recurrent)), with sigmoids of z
    and r; with reset_after=False (r h) recurrent, as in the first version of the paper. `weight` is [k, 3 units], with the gates
    in Keras's order z, r, g; `bias` [2, 3 units], of the inputs and of h, with reset_after=False [3 units]. All else as SimpleRNN
    has it."""
    gates = 3

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", bias=True, reset_after=True, **options):
        super().__init__(units, activation, bias, **options)
        self._gate, self._reset_after = _activation(recurrent_activation), reset_after

    def _bias_shape(self):
        return (2, 3 * self.units) if self._reset_after else (3 * self.units,)

    def _project(self, x):
        if self.bias is None or not self._reset_after:
            return super()._project(x)
        return x + ops.slice(gm.tensor(self.bias), (0, 0), (1, 3 * self.units), (1, 1))

    def _of_steps(self):
        recurrent, units = gm.tensor(self.recurrent), self.units
        if not self._reset_after:
            return ops.split(recurrent, 1, (2 * units, units))
        return recurrent, None if self.bias is None else ops.slice(gm.tensor(self.bias), (1, 0), (1, 3 * units), (1, 1))

    def _step(self, x, carry, weight, other):
        h, (xz, xr, xg) = carry[0], _cut(x, 3)
        if self._reset_after:
            inner = ops.matmul(h, weight)
            hz, hr, hg = _cut(inner if other is None else inner + other, 3)
            z, r = self._gate(xz + hz), self._gate(xr + hr)
            g = self._call(xg + r * hg)
        else:
            hz, hr = _cut(ops.matmul(h, weight), 2)
            z, r = self._gate(xz + hz), self._gate(xr + hr)
            g = self._call(xg + ops.matmul(r * h, other))
        return (z * h + (1 - z) * g,)


_MERGES = {"concat": lambda a, b: ops.concat([a, b], len(a.shape) - 1), "sum": lambda a, b: a + b, "mul": lambda a, b: a * b,
           "mean": lambda a, b: (a + b) * 0.5, None: lambda a, b: (a, b)}


class Bidirectional(Module):
    """A recurrent layer and its counterpart, which goes over the steps the other way: Schuster and Paliwal, 1997. What both give is
    joined by `merge`: "concat" side by side, "sum", "mul", "mean", or None for a pair.

    layer  has no variables yet; its `backward` is made of it
    """

    def __init__(self, layer, merge="concat", name=None):
        super().__init__(name)
        if not isinstance(layer, _Recurrent):
            raise InvalidArgumentError(f"Bidirectional takes a recurrent layer, got {layer!r}")
        if merge not in _MERGES:
            raise InvalidArgumentError(f"merge is {merge!r}; it can be {', '.join(map(repr, _MERGES))}")
        self._merge, self.layer, self.backward = merge, layer, layer.turned()

    @property
    def results(self):
        return (2 if self._merge is None else 1) + 2 * (self.layer.results - 1)

    def forward(self, x, state=None, mask=None):
        count = self.layer.states
        if state is not None and (not isinstance(state, (tuple, list)) or len(state) != 2 * count):
            raise InvalidArgumentError(f"{self._own_name()} begins with {2 * count} arrays, {count} of each direction")
        ahead = self.layer(x, None if state is None else state[:count], mask)
        back = self.backward(x, None if state is None else state[count:], mask)
        if not self.layer._state:
            return _MERGES[self._merge](ahead, back)
        y = _MERGES[self._merge](ahead[0], back[0])
        return (*(y if self._merge is None else (y,)), *ahead[1:], *back[1:])
