"""Layers that other libraries have otherwise than Gantry."""

import gantry as gt
from gantry import nn


class Linear(nn.Dense):
    """x weight^T + bias over the last dimension of rows, or of one row; `weight` is [out, in], as PyTorch's and MXNet's."""

    def build(self, shape):
        nn.layers._needs_rank(self, shape, 1, "rows, [..., k]")
        self.weight = self.variable("weight", (self.units, shape[-1]), self._initial, shape[-1], self.units, self._dtype)
        self._add_bias(self.units, shape[-1])

    def forward(self, x):
        if x.shape[-1] != self.weight.shape[1]:
            raise gt.InvalidArgumentError(f"{self._own_name()} was made for rows of {self.weight.shape[1]}, got {list(x.shape)}")
        row = gt.reshape(x, (1, -1)) if len(x.shape) == 1 else x
        y = gt.matmul(row, self.weight, transpose_b=True)
        y = self._call(y if self.bias is None else y + self.bias)
        return gt.reshape(y, (self.units,)) if len(x.shape) == 1 else y
