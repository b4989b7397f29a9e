"""Python's operators as ops, for arrays and for values of graphs."""


def _ops():
    from . import ops
    return ops


def _binary(name):
    def forward(self, other):
        return getattr(_ops(), name)(self, other)

    def reflected(self, other):
        return getattr(_ops(), name)(_like(self, other), self)
    return forward, reflected


def _like(self, other):
    """A number on the left takes this one's type."""
    from . import math
    return other if hasattr(other, "dtype") else math.constant_like(self, other)


def _compare(direction):
    return lambda self, other: _ops().compare(self, other, direction)


class Operators:
    """What an array can do with operators: each is an op."""

    __slots__ = ()

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("sub")
    __mul__, __rmul__ = _binary("mul")
    __truediv__, __rtruediv__ = _binary("div")
    __mod__, __rmod__ = _binary("mod")
    __pow__, __rpow__ = _binary("pow")
    __matmul__, __rmatmul__ = _binary("matmul")
    __lt__, __le__ = _compare("lt"), _compare("le")
    __gt__, __ge__ = _compare("gt"), _compare("ge")
    __eq__, __ne__ = _compare("eq"), _compare("ne")
    __hash__ = object.__hash__

    def __neg__(self):
        return _ops().neg(self)

    def __abs__(self):
        return _ops().abs(self)

    def __getitem__(self, where):
        from . import math
        return math.index(self, where)

    def reshape(self, *shape):
        from . import math
        return math.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def astype(self, dtype):
        return self if dtype == self.dtype else _ops().cast(self, dtype)

    @property
    def T(self):
        return _ops().transpose(self, tuple(reversed(range(len(self.shape)))))

    def sum(self, axes=None, keep_dims=False):
        from . import math
        return math.sum(self, axes, keep_dims)

    def mean(self, axes=None, keep_dims=False):
        from . import math
        return math.mean(self, axes, keep_dims)

    def max(self, axes=None, keep_dims=False):
        from . import math
        return math.max(self, axes, keep_dims)

    def min(self, axes=None, keep_dims=False):
        from . import math
        return math.min(self, axes, keep_dims)
