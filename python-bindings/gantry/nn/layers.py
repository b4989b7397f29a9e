"""Layers. Images and sequences have their channels last, [n, height, width, c] and [n, length, c], unless a layer is told
"first"; parameters are float32 unless a layer is told another `dtype`."""

import math

import numpy as np

from .. import math as gm, ops, random
from ..array import array
from ..errors import InvalidArgumentError
from . import init
from .module import Module, is_training

_ACTIVATIONS = ("relu", "sigmoid", "tanh", "softplus", "softsign", "silu", "mish", "exp", "abs")


def _activation(given):
    """A function of one array by name; None: the identity."""
    if given is None or given == "linear":
        return lambda x: x
    if callable(given):
        return given
    if given == "softmax":
        return lambda x: ops.softmax(x, len(x.shape) - 1)
    if given == "log_softmax":
        return lambda x: ops.log_softmax(x, len(x.shape) - 1)
    if given == "gelu":
        return ops.gelu
    if given == "elu":
        return lambda x: ops.elu(x, 1.0)
    if given == "leaky_relu":
        return lambda x: ops.leaky_relu(x, 0.01)
    if given in _ACTIVATIONS:
        return getattr(ops, given)
    known = ", ".join((*_ACTIVATIONS, "softmax", "log_softmax", "gelu", "elu", "leaky_relu", "linear"))
    raise InvalidArgumentError(f"there is no activation '{given}'; there are {known}")


def _needs_rank(layer, shape, least, what):
    if len(shape) < least:
        raise InvalidArgumentError(f"{layer._own_name()} takes {what}, got {list(shape)}")


class Activation(Module):
    """A function by name, as a layer."""

    def __init__(self, function, name=None):
        super().__init__(name)
        self._call = _activation(function)

    def forward(self, x):
        return self._call(x)


class Dense(Module):
    """x weight + bias over the last dimension: [..., k] gives [..., units]. `weight` is [k, units]."""

    def __init__(self, units, activation=None, bias=True, initial="glorot_uniform", dtype="float32", name=None, initial_bias="zeros"):
        super().__init__(name)
        self.units, self._call, self._has_bias, self._initial, self._dtype = units, _activation(activation), bias, initial, dtype
        self._initial_bias = initial_bias

    def build(self, shape):
        _needs_rank(self, shape, 2, "rows, [..., k]")
        self.weight = self.variable("weight", (shape[-1], self.units), self._initial, shape[-1], self.units, self._dtype)
        self._add_bias(self.units, shape[-1])

    def _add_bias(self, units, fan_in):
        self.bias = self.variable("bias", (units,), self._initial_bias, fan_in, units, self._dtype) if self._has_bias else None

    def forward(self, x):
        if x.shape[-1] != self.weight.shape[0]:
            raise InvalidArgumentError(f"{self._own_name()} was made for rows of {self.weight.shape[0]}, got {list(x.shape)}")
        y = ops.matmul(x, self.weight)
        return self._call(y if self.bias is None else y + self.bias)


class Embedding(Module):
    """Rows of a table at ids: [...] of integers gives [..., size]. `weight` is [rows, size]. Ids outside of the table are
    clamped to it; Trainer refuses them.

    padding  an id whose row is zeros at first and is not trained, as PyTorch's padding_idx; from the end where it is below 0
    """

    def __init__(self, rows, size, padding=None, initial="uniform", dtype="float32", name=None):
        super().__init__(name)
        if padding is not None and not -rows <= padding < rows:
            raise InvalidArgumentError(f"{self._own_name()} has {rows} rows, and row {padding} is to be the padding's")
        self.rows, self.size, self._initial, self._dtype = rows, size, initial, dtype
        self.padding = None if padding is None else padding % rows

    def build(self, shape):
        self.weight = self.variable("weight", (self.rows, self.size), self._first, self.rows, self.size, self._dtype)

    def _first(self, shape, fan_in, fan_out, dtype):
        made = init.named(self._initial)(shape, fan_in, fan_out, dtype)
        if self.padding is None:
            return made
        return gm.where(array(np.arange(shape[0])[:, None] == self.padding, device=made.device), 0, made)

    def forward(self, ids):
        ids = gm.tensor(ids)
        if ids.dtype.is_floating or ids.dtype == "bool":
            raise InvalidArgumentError(f"{self._own_name()} takes ids, which are integers, got {ids.dtype}{list(ids.shape)}")
        ids = ids if ids.dtype in ("int32", "int64") else ops.cast(ids, "int32")
        made = ops.gather(self.weight, ids, 0)
        if self.padding is None:
            return made
        return gm.where(ops.reshape(ids == self.padding, (*ids.shape, 1)), ops.stop_gradient(made), made)


# ---- windows ----

def _each(value, count):
    """One number for all spatial dimensions, or one for each."""
    made = (value,) * count if isinstance(value, int) else tuple(value)
    if len(made) != count:
        raise InvalidArgumentError(f"{value!r} is for {len(made)} dimensions, and there are {count}")
    return made


def _pads(padding, sizes, window, strides, dilations):
    """Border in front and behind: "valid" has none, "same" as much as makes ceil(size / stride) of each size, the larger half
    behind, as Keras; else numbers."""
    if padding == "valid":
        return (0,) * len(sizes), (0,) * len(sizes)
    if padding != "same":
        pads = _each(padding, len(sizes))
        return pads, pads
    whole = [max(0, (math.ceil(size / stride) - 1) * stride + dilation * (width - 1) + 1 - size)
             for size, width, stride, dilation in zip(sizes, window, strides, dilations)]
    return tuple(pad // 2 for pad in whole), tuple(pad - pad // 2 for pad in whole)


class _Windows(Module):
    """A layer over windows of the spatial dimensions."""

    def __init__(self, channels, name):
        super().__init__(name)
        if channels not in ("last", "first"):
            raise InvalidArgumentError(f"channels are \"last\" or \"first\", got {channels!r}")
        self._last = channels == "last"

    def _around(self, x, of):
        """What `of` gives of channels first, as they are here."""
        if not self._last:
            return of(x)
        rank = len(x.shape)
        made = of(ops.transpose(x, (0, rank - 1, *range(1, rank - 1))))
        return ops.transpose(made, (0, *range(2, rank), 1))


class _Conv(_Windows):
    spatial = 0

    def __init__(self, filters, window, activation=None, strides=1, padding="valid", dilations=1, groups=1, bias=True,
                 channels="last", initial="glorot_uniform", dtype="float32", name=None, initial_bias="zeros"):
        super().__init__(channels, name)
        count, self._initial_bias = self.spatial, initial_bias
        self.filters, self.window = filters, _each(window, count)
        self._strides, self._dilations, self._padding = _each(strides, count), _each(dilations, count), padding
        self._groups, self._call, self._has_bias, self._initial, self._dtype = groups, _activation(activation), bias, initial, dtype

    def _channels_of(self, shape):
        """How many channels there are of [n, spatial, c] or [n, c, spatial]."""
        if len(shape) != self.spatial + 2:
            order = "[n, spatial, c]" if self._last else "[n, c, spatial]"
            raise InvalidArgumentError(f"{self._own_name()} takes {order} with {self.spatial} spatial dimensions, got {list(shape)}")
        inside = shape[-1] if self._last else shape[1]
        if inside % self._groups or self.filters % self._groups:
            raise InvalidArgumentError(f"{self._own_name()} has {self._groups} groups, which do not divide its {inside} channels and "
                                       f"{self.filters} filters")
        return inside

    def build(self, shape):
        inside = self._channels_of(shape)
        size = math.prod(self.window)
        self.weight = self.variable("weight", (self.filters, inside // self._groups, *self.window), self._initial,
                                    inside // self._groups * size, self.filters // self._groups * size, self._dtype)
        self._add_bias(self.filters, inside // self._groups * size)

    _add_bias = Dense._add_bias

    def forward(self, x):
        sizes = x.shape[1:-1] if self._last else x.shape[2:]
        low, high = _pads(self._padding, sizes, self.window, self._strides, self._dilations)
        spans = [d * (w - 1) + 1 for d, w in zip(self._dilations, self.window)]
        if any(size + a + b < span for size, a, b, span in zip(sizes, low, high, spans)):
            raise InvalidArgumentError(f"{self._own_name()} has windows of {spans}, and {list(x.shape)} has none of these")
        return self._finish(self._around(x, lambda x: ops.conv(x, self.weight, self._strides, low, high, self._dilations, self._groups)))

    def _finish(self, y):
        if self.bias is not None:
            y = y + (self.bias if self._last else ops.reshape(self.bias, (1, self.filters) + (1,) * self.spatial))
        return self._call(y)


class Conv1D(_Conv):
    """A convolution over [n, length, c], which gives [n, length', filters]. `weight` is [filters, c / groups, window].

    padding: "valid", "same", or how much border there is on both sides."""
    spatial = 1


class Conv2D(_Conv):
    """A convolution over [n, height, width, c], which gives [n, height', width', filters]. `weight` is [filters, c / groups,
    height, width] of the window.

    padding: "valid", "same", or how much border there is on both sides."""
    spatial = 2


class Conv3D(_Conv):
    """A convolution over [n, depth, height, width, c], which gives [n, depth', height', width', filters]. `weight` is
    [filters, c / groups, depth, height, width] of the window.

    padding: "valid", "same", or how much border there is on both sides."""
    spatial = 3


class _ConvTranspose(_Conv):
    """Each pixel spread over a window: what gives a convolution's input its gradient."""

    def __init__(self, filters, window, activation=None, strides=1, padding="valid", output_padding=0, dilations=1, groups=1, bias=True,
                 channels="last", initial="glorot_uniform", dtype="float32", name=None, initial_bias="zeros"):
        super().__init__(filters, window, activation, strides, padding, dilations, groups, bias, channels, initial, dtype, name, initial_bias)
        self._output_padding = _each(output_padding, self.spatial)

    def build(self, shape):
        inside = self._channels_of(shape)
        size = math.prod(self.window)
        self.weight = self.variable("weight", (inside, self.filters // self._groups, *self.window), self._initial,
                                    inside // self._groups * size, self.filters // self._groups * size, self._dtype)
        self._add_bias(self.filters, self.filters // self._groups * size)

    def forward(self, x):
        spans = [d * (w - 1) + 1 for d, w in zip(self._dilations, self.window)]
        if self._padding == "same":  # sizes are those of the input times the strides, as Keras has it
            whole = [max(0, span - stride) for span, stride in zip(spans, self._strides)]
            low, high = tuple(pad // 2 for pad in whole), tuple(pad - pad // 2 for pad in whole)
            more = tuple(max(0, stride - span) for span, stride in zip(spans, self._strides))
        else:
            low, high = _pads(self._padding, spans, self.window, self._strides, self._dilations)
            more = self._output_padding
        sizes = x.shape[1:-1] if self._last else x.shape[2:]
        if any(t * (s - 1) + span - a - b + p < 0 for s, t, span, a, b, p in zip(sizes, self._strides, spans, low, high, more)):
            raise InvalidArgumentError(f"{self._own_name()} takes borders of {list(low)} and {list(high)} off windows of {spans}, and "
                                       f"{list(x.shape)} leaves nothing")
        return self._finish(self._around(x, lambda x: ops.conv_transpose(x, self.weight, self._strides, low, high, self._dilations, more,
                                                                         self._groups)))


class ConvTranspose1D(_ConvTranspose):
    """Each of [n, length, c] spread over a window, which gives [n, strides (length - 1) + dilations (window - 1) + 1 - borders +
    output_padding, filters]. `weight` is [c, filters / groups, window].

    padding: "valid", "same" (strides times the length), or what is taken off on both sides."""
    spatial = 1


class ConvTranspose2D(_ConvTranspose):
    """Each of [n, height, width, c] spread over a window; sizes as those of ConvTranspose1D, which gives [n, height', width',
    filters]. `weight` is [c, filters / groups, height, width] of the window."""
    spatial = 2


class ConvTranspose3D(_ConvTranspose):
    """Each of [n, depth, height, width, c] spread over a window; sizes as those of ConvTranspose1D, which gives [n, depth',
    height', width', filters]. `weight` is [c, filters / groups, depth, height, width] of the window."""
    spatial = 3


class _Pool(_Windows):
    def __init__(self, window, strides=None, padding="valid", channels="last", name=None):
        super().__init__(channels, name)
        self._window, self._strides, self._padding = window, window if strides is None else strides, padding

    def forward(self, x):
        _needs_rank(self, x.shape, 3, "images or sequences")
        count = len(x.shape) - 2
        window, strides = _each(self._window, count), _each(self._strides, count)
        sizes = x.shape[1:-1] if self._last else x.shape[2:]
        low, high = _pads(self._padding, sizes, window, strides, (1,) * count)
        if any(size + a + b < width for size, a, b, width in zip(sizes, low, high, window)):
            raise InvalidArgumentError(f"{self._own_name()} has windows of {list(window)}, and {list(x.shape)} has none of these")
        return self._around(x, lambda x: self._pool(x, window, strides, low, high, (1,) * count))


class MaxPool(_Pool):
    """The largest element of each window of the spatial dimensions; of equal ones the first has the gradient."""

    def _pool(self, *given):
        return ops.max_pool(*given)


class AvgPool(_Pool):
    """The mean of each window of the spatial dimensions; the border does not take part."""

    def _pool(self, *given):
        return ops.avg_pool(*given)


class _Global(_Windows):
    def __init__(self, channels="last", name=None):
        super().__init__(channels, name)

    def _axes(self, x):
        _needs_rank(self, x.shape, 3, "images or sequences")
        return tuple(range(1, len(x.shape) - 1)) if self._last else tuple(range(2, len(x.shape)))


class GlobalMaxPool(_Global):
    """The largest element of each channel: [n, spatial, c] gives [n, c]. Equal ones share the gradient."""

    def forward(self, x):
        return ops.reduce_max(x, self._axes(x))


class GlobalAvgPool(_Global):
    """The mean of each channel: [n, spatial, c] gives [n, c]."""

    def forward(self, x):
        return ops.reduce_mean(x, self._axes(x))


# ---- shapes ----

class Flatten(Module):
    """[n, ...] as [n, k]."""

    def forward(self, x):
        return ops.reshape(x, (x.shape[0], math.prod(x.shape[1:])))


class Reshape(Module):
    """[n, ...] as [n, *shape]; one size may be -1."""

    def __init__(self, *shape, name=None):
        super().__init__(name)
        self._shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape

    def forward(self, x):
        return gm.reshape(x, (x.shape[0], *self._shape))


# ---- dropout ----

class Dropout(Module):
    """While training each element is 0 with the probability `ratio`, and the others are divided by 1 - ratio: Srivastava et
    al., Dropout, 2014. Elsewhere the identity. In a network the mask depends on the seed, the step and the layer's path, not on
    what else is drawn."""

    def __init__(self, ratio, name=None):
        super().__init__(name)
        if not 0 <= ratio < 1:
            raise InvalidArgumentError(f"a dropout's ratio is at least 0 and below 1, got {ratio}")
        self.ratio, self._built = ratio, True

    def forward(self, x):
        if not is_training() or not self.ratio:
            return x
        keeps = random.of_layer(self.path(), x.shape) >= self.ratio
        return gm.where(keeps, x * (1 / (1 - self.ratio)), 0)
