"""Python's operators as ops, for arrays and for values of graphs.

They mean what they mean for NumPy's arrays, but that types are never mixed: a number takes the array's type, and is
refused where that cannot hold it.
"""

import functools
import math
import numbers
import operator

import numpy as np


@functools.lru_cache(maxsize=None)
def _ops():
    from . import ops
    return ops


@functools.lru_cache(maxsize=None)
def _math():
    from . import math
    return math


def _is_operand(other):
    """What an op can be asked to take: numbers, arrays of whatever library, lists of these."""
    return isinstance(other, (numbers.Number, list, tuple)) or hasattr(other, "dtype")


def _binary(make):
    def forward(self, other):
        if other.__class__ is self.__class__:
            return make(self, other)
        return make(self, _plain(other)) if _is_operand(other) else NotImplemented

    def reflected(self, other):
        return make(_like(self, _plain(other)), self) if _is_operand(other) else NotImplemented
    return forward, reflected


def _plain(other):
    """NumPy's numbers count as Python's: they take the type of what they meet."""
    return other.item() if isinstance(other, np.generic) else other


def _like(self, other):
    """A number on the left takes this one's type."""
    return other if hasattr(other, "dtype") else _math().constant_like(self, other)


def _named(op):
    return _binary(lambda lhs, rhs: getattr(_ops(), op)(lhs, rhs))


def _compare(direction):
    return _binary(lambda lhs, rhs: _ops().compare(lhs, rhs, direction))[0]


def _bits(op):
    """Of bools the logical op, of integers the one of their bits."""
    def make(lhs, rhs):
        is_bool = (lhs if hasattr(lhs, "dtype") else rhs).dtype == "bool"
        return getattr(_ops(), ("logical_" if is_bool else "bitwise_") + op)(lhs, rhs)
    return _binary(make)


def fixed(name, instead):
    """An attribute of an array that is told, and does not change; `instead` gives another array."""
    def refuse(self, _):
        raise AttributeError(f"the {name} of an array does not change; {instead} gives another array")

    def delete(self):
        refuse(self, None)
    return property(operator.attrgetter(f"_{name}"), refuse, delete)


class Shaped:
    """What `shape` and `dtype` say of an array or a variable."""

    __slots__ = ()

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self):
        return self.dtype.itemsize

    def __len__(self):
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]


class Operators:
    """What an array can do with operators and methods: each is an op, or some."""

    __slots__ = ()

    __add__, __radd__ = _named("add")
    __sub__, __rsub__ = _named("sub")
    __mul__, __rmul__ = _named("mul")
    __truediv__, __rtruediv__ = _binary(lambda lhs, rhs: _math().true_divide(lhs, rhs))
    __floordiv__, __rfloordiv__ = _binary(lambda lhs, rhs: _math().floor_divide(lhs, rhs))
    __mod__, __rmod__ = _named("mod")
    __divmod__, __rdivmod__ = _binary(lambda lhs, rhs: (_math().floor_divide(lhs, rhs), _ops().mod(lhs, rhs)))
    __pow__, __rpow__ = _binary(lambda lhs, rhs: _math().pow(lhs, rhs))
    __matmul__, __rmatmul__ = _binary(lambda lhs, rhs: _math().matmul(lhs, rhs))
    __and__, __rand__ = _bits("and")
    __or__, __ror__ = _bits("or")
    __xor__, __rxor__ = _bits("xor")
    __lshift__, __rlshift__ = _named("shift_left")
    __rshift__, __rrshift__ = _named("shift_right")
    __lt__, __le__ = _compare("lt"), _compare("le")
    __gt__, __ge__ = _compare("gt"), _compare("ge")
    __eq__, __ne__ = _compare("eq"), _compare("ne")
    __hash__ = object.__hash__

    def __neg__(self):
        return _ops().neg(self)

    def __pos__(self):
        return self

    def __abs__(self):
        return _ops().abs(self)

    def __invert__(self):
        return _ops().logical_not(self) if self.dtype == "bool" else _ops().bitwise_not(self)

    def __getitem__(self, where):
        return _math().index(self, where)

    def __setitem__(self, where, value):
        raise TypeError("the elements of an array do not change; gantry.ops.set_slice and scatter_nd give a new one")

    def __delitem__(self, where):
        raise TypeError("the elements of an array do not change")

    def __iter__(self):
        if not self.shape:
            raise TypeError("a scalar has no elements to go through")
        return (self[i] for i in range(self.shape[0]))

    def reshape(self, *shape):
        return _math().reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def flatten(self):
        return _math().reshape(self, -1)

    ravel = flatten

    def squeeze(self, axis=None):
        return _math().squeeze(self, axis)

    def transpose(self, *axes):
        """The dimensions in another order; the other way round when none is given."""
        if len(axes) == 1 and (axes[0] is None or not isinstance(axes[0], int)):
            axes = axes[0] or ()
        rank = len(self.shape)
        return _ops().transpose(self, tuple(axis % rank for axis in axes) if axes else tuple(reversed(range(rank))))

    def astype(self, dtype):
        return self if dtype == self.dtype else _ops().cast(self, dtype)

    def clip(self, low, high):
        return _ops().clamp(self, low, high)

    @property
    def T(self):
        return self.transpose()


def _method(name):
    def reduce(self, axes=None, keep_dims=False, **numpy):
        return getattr(_math(), name)(self, axes, keep_dims, **numpy)
    reduce.__name__ = name
    return reduce


def _search(name):
    def search(self, axis=None, keep_dims=False, **numpy):
        return getattr(_math(), name)(self, axis, keep_dims, **numpy)
    search.__name__ = name
    return search


for _name in ("sum", "mean", "prod", "max", "min", "all", "any"):
    setattr(Operators, _name, _method(_name))
for _name in ("argmax", "argmin"):
    setattr(Operators, _name, _search(_name))
