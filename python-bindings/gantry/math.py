"""Ops under the names and with the defaults that NumPy's users expect; gantry.ops has all ops as they are."""

import operator

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


def index(x, where):
    """x[where] for integers, slices with positive steps, and `...`."""
    where = list(where) if isinstance(where, tuple) else [where]
    if any(each is Ellipsis for each in where):
        at = next(i for i, each in enumerate(where) if each is Ellipsis)
        where[at:at + 1] = [slice(None)] * (len(x.shape) - len(where) + 1)
    if len(where) > len(x.shape):
        raise IndexError(f"{len(where)} indices for an array with {len(x.shape)} dimensions")
    starts, sizes, steps, kept = [], [], [], []
    for axis, size in enumerate(x.shape):
        each = where[axis] if axis < len(where) else slice(None)
        if isinstance(each, slice):
            start, stop, step = each.indices(size)
            if step < 1:
                raise InvalidArgumentError(f"a slice with step {step}; steps count up")
            kept.append(len(range(start, stop, step)))
            starts, sizes, steps = starts + [start], sizes + [kept[-1]], steps + [step]
            continue
        try:
            number = operator.index(each)
        except TypeError:
            raise InvalidArgumentError(f"an index is an integer, a slice or ..., not {type(each).__name__}; "
                                       "gantry.gather takes arrays") from None
        if not -size <= number < size:
            raise IndexError(f"index {number} of axis {axis}, which has {size}")
        starts, sizes, steps = starts + [number % size], sizes + [1], steps + [1]
    part = ops.slice(x, tuple(starts), tuple(sizes), tuple(steps))
    return part if len(kept) == len(x.shape) else ops.reshape(part, tuple(kept))


def softmax(x, axis=-1):
    """e^x over its sum along an axis."""
    x = tensor(x)
    return ops.softmax(x, _axes(x, axis)[0])


def _some(inputs, what):
    if not inputs:
        raise InvalidArgumentError(f"{what} wants at least one array")
    return [tensor(x) for x in inputs]


def concat(inputs, axis=0):
    """Joins arrays along an axis."""
    inputs = _some(inputs, "concat")
    return ops.concat(inputs, _axes(inputs[0], axis)[0])


def stack(inputs, axis=0):
    """Joins arrays along a new axis."""
    inputs = _some(inputs, "stack")
    axis %= len(inputs[0].shape) + 1
    shaped = [ops.reshape(x, x.shape[:axis] + (1,) + x.shape[axis:]) for x in inputs]
    return ops.concat(shaped, axis)
