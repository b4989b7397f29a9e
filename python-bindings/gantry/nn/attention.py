"""Attention, and the layers of transformers: Vaswani et al., Attention is all you need, 2017.

A mask of truth values is true where a query looks at a key. To what is hidden the lowest finite number is added, so that a row
that sees nothing is a mean of all values, and no NaN.
"""

import math

from .. import math as gm, ops
from ..errors import InvalidArgumentError
from .layers import Dense, Dropout, _activation, _needs_rank
from .module import Module, is_training
from .norms import LayerNorm

_LOWEST = {"float16": -65504.0, "bfloat16": -3.3895313892515355e38, "float32": -3.4028234663852886e38, "float64": -1.7976931348623157e308}


def padding_mask(ids, padding=0):
    """True where ids [n, s] are not those of the padding, for MultiHeadAttention: [n, 1, 1, s]."""
    return ops.reshape(gm.tensor(ids) != padding, (ids.shape[0], 1, 1, ids.shape[1]))


class MultiHeadAttention(Module):
    """Of queries [n, t, c], and keys and values [n, s, k], the queries themselves where none are given: [n, t, c]. Each of `heads`
    projects all three to `size` numbers, attends with the scale 1 / sqrt(size), and what they give, side by side, is projected to c.

    size     of a head; c / heads where none is given
    causal   key j is hidden from query i where j > i
    dropout  the share of weights that is 0 while training

    `layer(x)`, `layer(x, memory)`, `layer(query, key, value)`, with mask=: truth values, or floats that are added to the scores, of
    [t, s], [n, t, s] or what broadcasts to [n, heads, t, s].
    """

    def __init__(self, heads, size=None, causal=False, dropout=0.0, bias=True, dtype="float32", name=None):
        super().__init__(name)
        self.heads, self._size, self._causal, self._has_bias, self._dtype = heads, size, causal, bias, dtype
        self.drop = Dropout(dropout)

    def build(self, shape):
        _needs_rank(self, shape, 3, "queries, [n, t, c]")
        if self._size is None and shape[-1] % self.heads:
            raise InvalidArgumentError(f"{self._own_name()} has {self.heads} heads, which do not divide its {shape[-1]} channels; give a size")
        size = self.heads * (self._size or shape[-1] // self.heads)
        made = lambda units, part: Dense(units, bias=self._has_bias, dtype=self._dtype, name=f"{self._own_name()}/{part}")
        self.query, self.key, self.value, self.out = made(size, "query"), made(size, "key"), made(size, "value"), made(shape[-1], "out")
        for part in (self.query, self.key, self.value, self.out):
            part._device, part._frozen = vars(self).get("_device"), vars(self).get("_frozen", False)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = self._split(self.query(query)), self._split(self.key(key)), self._split(self.value(value))
        scale, mask = 1 / math.sqrt(q.shape[-1]), self._added(mask, q.dtype)
        if is_training() and self.drop.ratio:
            y = ops.matmul(self.drop(ops.softmax(self._scores(q, k, mask, scale), 3)), v)
        else:
            y = ops.attention(q, k, v, mask, scale=scale, causal=self._causal)
        y = ops.transpose(y, (0, 2, 1, 3))
        return self.out(ops.reshape(y, (*y.shape[:2], y.shape[2] * y.shape[3])))

    def _split(self, x):
        """[n, t, heads size] as [n, heads, t, size]."""
        return ops.transpose(ops.reshape(x, (*x.shape[:2], self.heads, x.shape[2] // self.heads)), (0, 2, 1, 3))

    def _scores(self, q, k, mask, scale):
        scores = ops.matmul(q, k, transpose_b=True) * scale
        if self._causal:
            t, s = scores.shape[2:]
            seen = ops.iota((t, s), 0, dtype="int32") >= ops.iota((t, s), 1, dtype="int32")
            scores = gm.where(seen, scores, _LOWEST[str(q.dtype)])
        return scores if mask is None else scores + mask

    def _added(self, mask, dtype):
        """What is added to scores, [n, heads, t, s] or what broadcasts to it."""
        if mask is None:
            return None
        mask = gm.tensor(mask)
        if len(mask.shape) == 3:
            mask = ops.reshape(mask, (mask.shape[0], 1, *mask.shape[1:]))
        if mask.dtype == "bool":
            return gm.where(mask, gm.full_like(ops.cast(mask, dtype), 0), gm.full_like(ops.cast(mask, dtype), _LOWEST[str(dtype)]))
        return mask if mask.dtype == dtype else ops.cast(mask, dtype)


class _Block(Module):
    """Parts around which the input goes on: behind each its sum is normalised, or with norm_first in front of each its input."""

    def __init__(self, dropout, norm_first, epsilon, dtype, name):
        super().__init__(name)
        self._first, self.drop = norm_first, Dropout(dropout)
        self._norm = lambda: LayerNorm(epsilon, dtype=dtype)

    def _inner(self, inner, activation, dropout, dtype):
        self.grow, self._call, self.drop_inner, self._dtype = Dense(inner, dtype=dtype), _activation(activation), Dropout(dropout), dtype

    def build(self, shape):
        _needs_rank(self, shape, 3, "sequences, [n, t, c]")
        self.shrink = Dense(shape[-1], dtype=self._dtype)
        self.shrink._device, self.shrink._frozen = vars(self).get("_device"), vars(self).get("_frozen", False)

    def _around(self, x, norm, part):
        return x + self.drop(part(norm(x))) if self._first else norm(x + self.drop(part(x)))

    def _feed(self, x):
        return self.shrink(self.drop_inner(self._call(self.grow(x))))


class TransformerEncoderLayer(_Block):
    """Attention of [n, t, c] to itself, then two dense layers with `inner` between them, each with a way around it, a dropout and a
    layer norm: as PyTorch's, batch first. `layer(x, mask=)` as MultiHeadAttention has it."""

    def __init__(self, heads, inner=2048, activation="relu", dropout=0.1, norm_first=False, causal=False, epsilon=1e-5, dtype="float32", name=None):
        super().__init__(dropout, norm_first, epsilon, dtype, name)
        self.attention = MultiHeadAttention(heads, causal=causal, dropout=dropout, dtype=dtype)
        self._inner(inner, activation, dropout, dtype)
        self.norm1, self.norm2 = self._norm(), self._norm()

    def forward(self, x, mask=None):
        x = self._around(x, self.norm1, lambda x: self.attention(x, mask=mask))
        return self._around(x, self.norm2, self._feed)


class TransformerDecoderLayer(_Block):
    """Causal attention of [n, t, c] to itself, attention to `memory`, [n, s, k], then two dense layers: as PyTorch's, batch first.
    `layer(x, memory, mask=, memory_mask=)` as MultiHeadAttention has it."""

    def __init__(self, heads, inner=2048, activation="relu", dropout=0.1, norm_first=False, causal=True, epsilon=1e-5, dtype="float32", name=None):
        super().__init__(dropout, norm_first, epsilon, dtype, name)
        self.attention = MultiHeadAttention(heads, causal=causal, dropout=dropout, dtype=dtype)
        self.cross = MultiHeadAttention(heads, dropout=dropout, dtype=dtype)
        self._inner(inner, activation, dropout, dtype)
        self.norm1, self.norm2, self.norm3 = self._norm(), self._norm(), self._norm()

    def forward(self, x, memory, mask=None, memory_mask=None):
        x = self._around(x, self.norm1, lambda x: self.attention(x, mask=mask))
        x = self._around(x, self.norm2, lambda x: self.cross(x, memory, mask=memory_mask))
        return self._around(x, self.norm3, self._feed)
