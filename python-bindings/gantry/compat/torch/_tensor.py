"""What PyTorch's tensors have besides: gradients that are asked for afterwards, and its names for methods.

A tensor that requires gradients is a variable, so that it can be changed in place. Ops are remembered from where a network with
parameters is called, or such a tensor is made, to backward(); see gantry.compat._autograd.
"""

import threading

import gantry as gt
from gantry._operators import Operators
from gantry._turns import kept
from gantry.graph import tracing

from .. import _autograd


class _Mode(threading.local):
    enabled = True  # whether gradients are wanted
    opened, stays = False, False  # whether it was a network that had ops remembered, and whether they are so beyond backward()


mode = kept(_Mode())


def begin(stays=False):
    """Ops are remembered from here on, where gradients are wanted."""
    if mode.enabled and tracing() is None:
        mode.opened, mode.stays = True, mode.stays or stays
        _autograd.record(True)


class no_grad:
    """`with torch.no_grad():`, also as a decorator: nothing is remembered."""

    _on = False

    def __enter__(self):
        self._before = mode.enabled, _autograd.record(_autograd.is_recording() and self._on)
        mode.enabled = self._on

    def __exit__(self, *_):
        mode.enabled = self._before[0]
        _autograd.record(self._before[1])

    def __call__(self, function):
        def called(*args, **kwargs):
            with type(self)():
                return function(*args, **kwargs)
        return called


class enable_grad(no_grad):
    _on = True


class Parameter(gt.Variable):
    """A variable with its gradient, which backward() adds to."""

    grad = None

    def __init__(self, data, name=None, trainable=True, device=None, requires_grad=True):
        super().__init__(data, name or "parameter", trainable and requires_grad, device)

    def take_gradient(self, found):
        self.grad = found if self.grad is None else self.grad + found

    @property
    def data(self):
        """The value, of which nothing is remembered."""
        return self._read()

    @data.setter
    def data(self, value):
        with no_grad():
            self.assign(value)

    @property
    def requires_grad(self):
        return self.trainable

    @requires_grad.setter
    def requires_grad(self, on):
        self.trainable = on

    def requires_grad_(self, requires_grad=True):
        self.trainable = requires_grad
        return self

    def detach(self):
        return self._read()

    def __iadd__(self, other):
        return self._in_place(other, 1)

    def __isub__(self, other):
        return self._in_place(other, -1)

    def _in_place(self, other, sign):
        if mode.enabled:
            raise gt.FailedPreconditionError(f"'{self.name}' requires gradients and is changed in place; do so with torch.no_grad()")
        return self.assign_add(other) if sign > 0 else self.assign_sub(other)


def _after():
    if mode.opened and not mode.stays:
        _autograd.record(False)


_autograd.after.append(_after)


def _detach(self):
    with _autograd.Recording(False):
        return self.clone()


_METHODS = {
    "view": lambda self, *shape: self.reshape(*shape), "dim": lambda self: len(self.shape),
    "unsqueeze": lambda self, dim: gt.expand_dims(self, dim), "permute": lambda self, *axes: self.transpose(*axes),
    "type_as": lambda self, other: self.astype(other.dtype), "float": lambda self: self.astype("float32"),
    "double": lambda self: self.astype("float64"), "half": lambda self: self.astype("float16"),
    "long": lambda self: self.astype("int64"), "int": lambda self: self.astype("int32")}
for _name, _method in _METHODS.items():
    setattr(Operators, _name, _method)
for _name, _method in (("detach", _detach), ("requires_grad", False),
                       ("requires_grad_", lambda self, requires_grad=True: wanted(self) if requires_grad else self)):
    setattr(gt.Array, _name, _method)


def wanted(values):
    """A tensor that requires gradients."""
    begin(stays=True)
    return Parameter(values)
