"""Layers. Images and sequences have their channels last, [n, height, width, c] and [n, length, c], unless a layer is told
"first"; parameters are float32 unless a layer is told another `dtype`."""

import math

from .. import math as gm, ops, random
from ..errors import InvalidArgumentError
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

    def __init__(self, units, activation=None, bias=True, initial="glorot_uniform", dtype="float32", name=None):
        super().__init__(name)
        self.units, self._call, self._has_bias, self._initial, self._dtype = units, _activation(activation), bias, initial, dtype

    def build(self, shape):
        _needs_rank(self, shape, 2, "rows, [..., k]")
        self.weight = self.variable("weight", (shape[-1], self.units), self._initial, shape[-1], self.units, self._dtype)
        self.bias = self.variable("bias", (self.units,), dtype=self._dtype) if self._has_bias else None

    def forward(self, x):
        if x.shape[-1] != self.weight.shape[0]:
            raise InvalidArgumentError(f"{self._own_name()} was made for rows of {self.weight.shape[0]}, got {list(x.shape)}")
        y = ops.matmul(x, self.weight)
        return self._call(y if self.bias is None else y + self.bias)


class Embedding(Module):
    """Rows of a table at ids: [...] of integers gives [..., size]. `weight` is [rows, size]. Ids outside of the table are
    clamped to it; Trainer refuses them."""

    def __init__(self, rows, size, initial="uniform", dtype="float32", name=None):
        super().__init__(name)
        self.rows, self.size, self._initial, self._dtype = rows, size, initial, dtype

    def build(self, shape):
        self.weight = self.variable("weight", (self.rows, self.size), self._initial, self.rows, self.size, self._dtype)

    def forward(self, ids):
        if ids.dtype.is_floating or ids.dtype == "bool":
            raise InvalidArgumentError(f"{self._own_name()} takes ids, which are integers, got {ids.dtype}{list(ids.shape)}")
        return ops.gather(self.weight, ids if ids.dtype in ("int32", "int64") else ops.cast(ids, "int32"), 0)


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
                 channels="last", initial="glorot_uniform", dtype="float32", name=None):
        super().__init__(channels, name)
        count = self.spatial
        self.filters, self.window = filters, _each(window, count)
        self._strides, self._dilations, self._padding = _each(strides, count), _each(dilations, count), padding
        self._groups, self._call, self._has_bias, self._initial, self._dtype = groups, _activation(activation), bias, initial, dtype

    def build(self, shape):
        if len(shape) != self.spatial + 2:
            order = "[n, spatial, c]" if self._last else "[n, c, spatial]"
            raise InvalidArgumentError(f"{self._own_name()} takes {order} with {self.spatial} spatial dimensions, got {list(shape)}")
        inside = shape[-1] if self._last else shape[1]
        if inside % self._groups or self.filters % self._groups:
            raise InvalidArgumentError(f"{self._own_name()} has {self._groups} groups, which do not divide its {inside} channels and "
                                       f"{self.filters} filters")
        size = math.prod(self.window)
        self.weight = self.variable("weight", (self.filters, inside // self._groups, *self.window), self._initial,
                                    inside // self._groups * size, self.filters // self._groups * size, self._dtype)
        self.bias = self.variable("bias", (self.filters,), dtype=self._dtype) if self._has_bias else None

    def forward(self, x):
        sizes = x.shape[1:-1] if self._last else x.shape[2:]
        low, high = _pads(self._padding, sizes, self.window, self._strides, self._dilations)
        spans = [d * (w - 1) + 1 for d, w in zip(self._dilations, self.window)]
        if any(size + a + b < span for size, a, b, span in zip(sizes, low, high, spans)):
            raise InvalidArgumentError(f"{self._own_name()} has windows of {spans}, and {list(x.shape)} has none of these")
        y = self._around(x, lambda x: ops.conv(x, self.weight, self._strides, low, high, self._dilations, self._groups))
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


# ---- dropout and norms ----

class Dropout(Module):
    """While training each element is 0 with the probability `ratio`, and the others are divided by 1 - ratio: Srivastava et
    al., Dropout, 2014. Elsewhere the identity."""

    def __init__(self, ratio, name=None):
        super().__init__(name)
        if not 0 <= ratio < 1:
            raise InvalidArgumentError(f"a dropout's ratio is at least 0 and below 1, got {ratio}")
        self.ratio = ratio

    def forward(self, x):
        if not is_training() or not self.ratio:
            return x
        keeps = random.uniform(x.shape) >= self.ratio
        return gm.where(keeps, x * (1 / (1 - self.ratio)), 0)


class BatchNorm(Module):
    """Each channel with the mean 0 and the deviation 1, times `scale` plus `bias`: Ioffe and Szegedy, Batch normalization,
    2015. While training by the batch's statistics, elsewhere by their moving averages `mean` and `variance`.

    momentum   what remains of an average at a step: 0.9 as PyTorch's 0.1, 0.99 as Keras
    unbiased   the variance enters its average times n / (n - 1), as PyTorch has it; not where n is 1
    """

    def __init__(self, momentum=0.9, epsilon=1e-5, unbiased=False, channels="last", dtype="float32", name=None):
        super().__init__(name)
        self._momentum, self._epsilon, self._unbiased = momentum, epsilon, unbiased
        self._last, self._dtype = channels == "last", dtype

    def build(self, shape):
        _needs_rank(self, shape, 2, "a batch, [n, ..., c]")
        size = (shape[-1] if self._last else shape[1],)
        self.scale = self.variable("scale", size, "ones", dtype=self._dtype)
        self.bias = self.variable("bias", size, dtype=self._dtype)
        self.mean = self.variable("mean", size, dtype=self._dtype, trainable=False)
        self.variance = self.variable("variance", size, "ones", dtype=self._dtype, trainable=False)

    def forward(self, x):
        rank = len(x.shape)
        axes = tuple(range(rank - 1)) if self._last else (0, *range(2, rank))
        like = (1,) * (rank - 1) + self.scale.shape if self._last else (1, *self.scale.shape) + (1,) * (rank - 2)
        of = lambda each: ops.reshape(each, like)
        if not is_training():
            return (x - of(self.mean)) * ops.rsqrt(of(self.variance) + self._epsilon) * of(self.scale) + of(self.bias)
        mean = ops.reduce_mean(x, axes, keep_dims=True)
        centred = x - mean
        variance = ops.reduce_mean(centred * centred, axes, keep_dims=True)
        count = math.prod(x.shape[axis] for axis in axes)
        self._move(self.mean, mean)
        self._move(self.variance, variance * (count / (count - 1) if self._unbiased and count > 1 else 1.0))
        return centred * ops.rsqrt(variance + self._epsilon) * of(self.scale) + of(self.bias)

    def _move(self, average, value):
        value = ops.stop_gradient(ops.reshape(value, average.shape))
        average.assign(average * self._momentum + value * (1 - self._momentum))


class LayerNorm(Module):
    """Each row over its last dimension with the mean 0 and the deviation 1, times `scale` plus `bias`: Ba, Kiros and Hinton,
    Layer normalization, 2016."""

    def __init__(self, epsilon=1e-5, dtype="float32", name=None):
        super().__init__(name)
        self._epsilon, self._dtype = epsilon, dtype

    def build(self, shape):
        _needs_rank(self, shape, 1, "rows")
        self.scale = self.variable("scale", (shape[-1],), "ones", dtype=self._dtype)
        self.bias = self.variable("bias", (shape[-1],), dtype=self._dtype)

    def forward(self, x):
        return ops.layer_norm(x, self.scale, self.bias, axis=len(x.shape) - 1, epsilon=self._epsilon)
