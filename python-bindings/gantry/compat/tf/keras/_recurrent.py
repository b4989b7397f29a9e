"""Layers over the steps of sequences, [n, t, k], with Keras's arguments. Which steps count travels with the values of a function: see
Layer._keeps_mask; a loss counts all of them."""

import gantry as _gt
from gantry import nn as _nn
from gantry.graph import Value as _Value

from . import activations as _activations, initializers as _initializers
from .layers import Layer


class _Recurrent(Layer):
    """What gantry.nn's recurrent layers have by Keras's names."""

    _is_turned = False  # the second one of a Bidirectional, which wants steps where their inputs are

    def _options(self, options, **given):
        """Arguments of gantry.nn, of Keras's."""
        get = options.pop
        if get("stateful", False):
            raise _gt.InvalidArgumentError(f"{type(self).__name__} has no stateful=True here: return_state=True gives the state, and "
                                           "initial_state= takes it")
        get("unroll", False), get("time_major", False), get("implementation", 2)  # which change no result
        made = {"bias": get("use_bias", True), "sequences": get("return_sequences", False), "state": get("return_state", False),
                "backwards": get("go_backwards", False), "dropout": get("dropout", 0.0), "recurrent_dropout": get("recurrent_dropout", 0.0),
                "initial": _initializers.get(get("kernel_initializer", "glorot_uniform")),
                "recurrent_initial": _initializers.get(get("recurrent_initializer", "orthogonal")),
                "dtype": get("dtype", "float32"), "name": get("name", None), **given}
        self._bias = _initializers.get(get("bias_initializer", "zeros"))
        self._take(options)
        return made

    def _first_bias(self, shape, fan_in, fan_out, dtype):
        made = self._bias if callable(self._bias) else getattr(_nn.init, self._bias)
        return super()._first_bias(shape, fan_in, fan_out, dtype) if self._bias == "zeros" else made(shape, fan_in, fan_out, dtype)

    def forward(self, x, initial_state=None, mask=None, training=None):
        mask = getattr(x, "mask", None) if mask is None else mask
        made = super().forward(x, initial_state, mask)
        if not self._sequences:
            return made
        y = made[0] if self._state else made
        if self._backwards and not self._is_turned:
            y = y[:, ::-1]  # in the order in which they were made, as Keras has them
            mask = None if mask is None else mask[:, ::-1]
        if isinstance(y, _Value):
            y.mask = mask
        return (y, *made[1:]) if self._state else y

    def turned(self):
        made = super().turned()
        made._is_turned = True
        return made

    recurrent_kernel = property(lambda self: self.recurrent)
    return_sequences, return_state = property(lambda self: self._sequences), property(lambda self: self._state)
    go_backwards = property(lambda self: self._backwards)


class SimpleRNN(_Recurrent, _nn.SimpleRNN):
    __doc__ = _nn.SimpleRNN.__doc__

    def __init__(self, units, activation="tanh", **options):
        _nn.SimpleRNN.__init__(self, units, **self._options(options, activation=_activations.get(activation)))


class LSTM(_Recurrent, _nn.LSTM):
    __doc__ = _nn.LSTM.__doc__

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", unit_forget_bias=True, **options):
        _nn.LSTM.__init__(self, units, recurrent_activation=_activations.get(recurrent_activation), unit_forget=unit_forget_bias,
                          **self._options(options, activation=_activations.get(activation)))


class GRU(_Recurrent, _nn.GRU):
    __doc__ = _nn.GRU.__doc__

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", reset_after=True, **options):
        _nn.GRU.__init__(self, units, recurrent_activation=_activations.get(recurrent_activation), reset_after=reset_after,
                         **self._options(options, activation=_activations.get(activation)))


class Bidirectional(Layer, _nn.Bidirectional):
    """A recurrent layer and its counterpart from the last step to the first; `merge_mode` as gantry.nn.Bidirectional's merge, and "ave"."""

    def __init__(self, layer, merge_mode="concat", name=None, **options):
        _nn.Bidirectional.__init__(self, layer, {"ave": "mean"}.get(merge_mode, merge_mode), name)
        self._take(options)

    def forward(self, x, initial_state=None, mask=None, training=None):
        mask = getattr(x, "mask", None) if mask is None else mask
        made = super().forward(x, initial_state, mask)
        for each in made if isinstance(made, tuple) else (made,):
            if self.layer._sequences and isinstance(each, _Value) and len(each.shape) == 3:
                each.mask = mask
        return made

    forward_layer, backward_layer = property(lambda self: self.layer), property(lambda self: self.backward)


class Masking(Layer, _nn.Module):
    """Steps all of whose values are `mask_value` do not count for what comes behind, and are zeros."""

    def __init__(self, mask_value=0.0, name=None, **options):
        _nn.Module.__init__(self, name)
        self.mask_value = mask_value
        self._take(options)

    def forward(self, x):
        mask = self.compute_mask(x)
        made = _gt.where(_gt.ops.reshape(mask, (*mask.shape, 1)), x, 0)
        if isinstance(made, _Value):
            made.mask = mask
        return made

    def compute_mask(self, x, mask=None):
        return _gt.max(_gt.cast(_gt.math.tensor(x) != self.mask_value, "int32"), -1) > 0


class GlobalAveragePooling1D(Layer, _nn.GlobalAvgPool):
    """The mean of each channel over the steps, or over those that count."""

    def __init__(self, name=None, **options):
        _nn.GlobalAvgPool.__init__(self, name=name)
        self._take(options)

    def forward(self, x, mask=None):
        mask = getattr(x, "mask", None) if mask is None else mask
        if mask is None:
            return super().forward(x)
        counts = _gt.cast(_gt.ops.reshape(_gt.math.tensor(mask), (*mask.shape, 1)), x.dtype)
        return _gt.sum(x * counts, 1) / _gt.sum(counts, 1)


class TimeDistributed(Layer, _nn.Module):
    """A layer at each step by itself."""

    def __init__(self, layer, name=None, **options):
        _nn.Module.__init__(self, name)
        self.layer, self._keeps_mask = layer, True
        self._take(options)

    def forward(self, x):
        n, t = x.shape[:2]
        made = self.layer(_gt.reshape(x, (n * t, *x.shape[2:])))
        return _gt.reshape(made, (n, t, *made.shape[1:]))


class RepeatVector(Layer, _nn.Module):
    """[n, k] at each of so many steps."""

    def __init__(self, n, name=None, **options):
        _nn.Module.__init__(self, name)
        self.n = n
        self._take(options)

    def forward(self, x):
        return _gt.ops.broadcast(_gt.reshape(x, (x.shape[0], 1, x.shape[1])), (x.shape[0], self.n, x.shape[1]))
