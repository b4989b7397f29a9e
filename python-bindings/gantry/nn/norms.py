"""Layers that give what goes through them a mean and a deviation. Channels come last, [n, ..., c], unless a layer is told "first"."""

import math

from .. import ops
from ..errors import InvalidArgumentError
from ..graph import tracing
from .layers import _needs_rank
from .module import Module, is_training


class BatchNorm(Module):
    """Each channel with the mean 0 and the deviation 1, times `scale` plus `bias`: Ioffe and Szegedy, Batch normalization,
    2015. While training by the batch's statistics, elsewhere, and when it is frozen, by their moving averages `mean` and `variance`.

    momentum   what remains of an average at a step: 0.9 as PyTorch's 0.1, 0.99 as Keras
    unbiased   the variance enters its average times n / (n - 1), as PyTorch has it; not where n is 1
    sync       on several devices, in parts or micro-batches the statistics are those of the whole batch, as on one device; else
               each replica, part or micro-batch has its own. The averages are of the whole batch either way
    """

    def __init__(self, momentum=0.9, epsilon=1e-5, unbiased=False, channels="last", dtype="float32", name=None, sync=False):
        super().__init__(name)
        self._momentum, self._epsilon, self._unbiased, self._sync = momentum, epsilon, unbiased, sync
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
        if not is_training() or self.mean.frozen:
            return (x - of(self.mean)) * ops.rsqrt(of(self.variance) + self._epsilon) * of(self.scale) + of(self.bias)
        count = math.prod(x.shape[axis] for axis in axes)
        replica = tracing().replica if tracing() is not None else None
        whole = (lambda own: replica.mean(own, count)) if self._sync and replica is not None else lambda own: own
        mean = whole(ops.reduce_mean(x, axes, keep_dims=True))
        centred = x - mean
        variance = whole(ops.reduce_mean(centred * centred, axes, keep_dims=True))
        moments = [ops.stop_gradient(ops.reshape(each, self.mean.shape)) for each in (mean, variance)]
        if replica is not None:
            replica.keep(self, moments, count)
        else:
            self._learn(*moments, count)
        return centred * ops.rsqrt(variance + self._epsilon) * of(self.scale) + of(self.bias)

    def combine(self, moments, shares, count, add):
        """The averages take the moments of the whole batch, of those of its parts, which `add` adds up: Chan, Golub and LeVeque, Updating formulae and a
        pairwise algorithm for computing sample variances, 1979."""
        if self._sync:  # all have those of the whole batch
            self._learn(*moments[0], count)
            return
        mean = add([own * share for (own, _), share in zip(moments, shares)])
        self._learn(mean, add([(variance + (own - mean) * (own - mean)) * share
                               for (own, variance), share in zip(moments, shares)]), count)

    def _learn(self, mean, variance, count):
        variance = variance * (count / (count - 1)) if self._unbiased and count > 1 else variance
        for average, value in ((self.mean, mean), (self.variance, variance)):
            average.assign(average * self._momentum + value * (1 - self._momentum))


class LayerNorm(Module):
    """Each row over its last dimension, or its last `dims`, with the mean 0 and the deviation 1, times `scale` plus `bias`, which
    are of these dimensions: Ba, Kiros and Hinton, Layer normalization, 2016."""

    def __init__(self, epsilon=1e-5, dims=1, dtype="float32", name=None):
        super().__init__(name)
        self._epsilon, self._dims, self._dtype = epsilon, dims, dtype

    def build(self, shape):
        _needs_rank(self, shape, self._dims, "rows")
        self.scale = self.variable("scale", shape[-self._dims:], "ones", dtype=self._dtype)
        self.bias = self.variable("bias", shape[-self._dims:], dtype=self._dtype)

    def forward(self, x):
        return ops.layer_norm(x, self.scale, self.bias, axis=len(x.shape) - self._dims, epsilon=self._epsilon)


class RMSNorm(Module):
    """Each row over its last dimension divided by the root of the mean of its squares, times `scale`: Zhang and Sennrich, Root
    mean square layer normalization, 2019."""

    def __init__(self, epsilon=1e-6, dtype="float32", name=None):
        super().__init__(name)
        self._epsilon, self._dtype = epsilon, dtype

    def build(self, shape):
        _needs_rank(self, shape, 1, "rows")
        self.scale = self.variable("scale", (shape[-1],), "ones", dtype=self._dtype)

    def forward(self, x):
        return ops.rms_norm(x, self.scale, axis=len(x.shape) - 1, epsilon=self._epsilon)


class GroupNorm(Module):
    """Of each sample the channels of a group, over all spatial dimensions, with the mean 0 and the deviation 1, times `scale`
    plus `bias`, which are [c]: Wu and He, Group normalization, 2018. As many groups as channels: instance normalisation."""

    def __init__(self, groups, epsilon=1e-5, channels="last", dtype="float32", name=None):
        super().__init__(name)
        self._groups, self._epsilon, self._last, self._dtype = groups, epsilon, channels == "last", dtype

    def build(self, shape):
        _needs_rank(self, shape, 2, "a batch, [n, ..., c]")
        size = shape[-1] if self._last else shape[1]
        if self._groups < 1 or size % self._groups:
            raise InvalidArgumentError(f"{self._own_name()} has {self._groups} groups, which do not divide its {size} channels")
        self.scale = self.variable("scale", (size,), "ones", dtype=self._dtype)
        self.bias = self.variable("bias", (size,), dtype=self._dtype)

    def forward(self, x):
        rank, turned = len(x.shape), self._last and len(x.shape) > 2
        if turned:
            x = ops.transpose(x, (0, rank - 1, *range(1, rank - 1)))
        y = ops.group_norm(x, self.scale, self.bias, self._groups, self._epsilon)
        return ops.transpose(y, (0, *range(2, rank), 1)) if turned else y
