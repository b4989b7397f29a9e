"""Ops under the names and with the defaults that NumPy's users expect; gantry.ops has all ops as they are."""

import numpy as np

from . import ops
from .array import Array, array
from .errors import InvalidArgumentError
from .graph import tracing


def tensor(values):
    """Values as something that has a shape: arrays and values of graphs as they are."""
    if hasattr(values, "dtype") and hasattr(values, "shape") and not isinstance(values, np.ndarray):
        return values
    graph = tracing()
    return graph.constant(values) if graph is not None else array(values)


def constant_like(like, value):
    """A number in the element type, and on the device, of an array."""
    if isinstance(like, Array):
        return array(value, dtype=like.dtype, device=like.device)
    return like.graph.constant(value, like.dtype)


def _axes(x, axes):
    """Axes as the ops want them: counted from the front; all when none are given."""
    if axes is None:
        return tuple(range(len(x.shape)))
    listed = (axes,) if isinstance(axes, int) else tuple(axes)
    for axis in listed:
        if not -len(x.shape) <= axis < len(x.shape):
            raise InvalidArgumentError(f"axis {axis} of an array with {len(x.shape)} dimensions")
    return tuple(sorted(axis % len(x.shape) for axis in listed))


def _reduction(op):
    def reduce(x, axes=None, keep_dims=False):
        x = tensor(x)
        return getattr(ops, op)(x, _axes(x, axes), keep_dims=keep_dims)
    reduce.__doc__ = f"`{op}` over some dimensions, or over all."
    return reduce


sum, mean, prod = _reduction("reduce_sum"), _reduction("reduce_mean"), _reduction("reduce_prod")
max, min = _reduction("reduce_max"), _reduction("reduce_min")


def reshape(x, shape):
    """The same elements in another shape; one size may be -1: whatever is left."""
    x, shape = tensor(x), [shape] if isinstance(shape, int) else list(shape)
    count = int(np.prod(x.shape, dtype=np.int64))
    if -1 in shape:
        rest = int(np.prod([size for size in shape if size != -1], dtype=np.int64))
        if shape.count(-1) > 1 or not rest or count % rest:
            raise InvalidArgumentError(f"{x.dtype}{list(x.shape)} cannot be reshaped to {shape}")
        shape[shape.index(-1)] = count // rest
    return ops.reshape(x, tuple(shape))


def softmax(x, axis=-1):
    """e^x over its sum along an axis."""
    x = tensor(x)
    return ops.softmax(x, _axes(x, axis)[0])


def concat(inputs, axis=0):
    """Joins arrays along an axis."""
    inputs = [tensor(x) for x in inputs]
    return ops.concat(inputs, _axes(inputs[0], axis)[0])


def stack(inputs, axis=0):
    """Joins arrays along a new axis."""
    inputs = [tensor(x) for x in inputs]
    axis %= len(inputs[0].shape) + 1
    shaped = [ops.reshape(x, x.shape[:axis] + (1,) + x.shape[axis:]) for x in inputs]
    return ops.concat(shaped, axis)
