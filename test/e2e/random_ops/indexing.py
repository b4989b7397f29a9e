"""Gathers and scatters with indices from either end."""

import numpy as np

from .draw import FLOATS, INTS, Constant, Node

ANY = FLOATS + INTS + (np.bool_,)
MEETINGS = {"none": lambda old, new: new, "add": np.add, "mul": np.multiply}


def data(draw, rank=None, dtypes=ANY, elements=1500):
    return draw.array(draw.shape(rank or draw.integer(1, 4), elements=elements), draw.one(dtypes), -9, 9)


def indices(draw, shape, size, dtype=np.int64):
    """Both ends of an axis of that size; there are none of an empty one."""
    return draw.numbers.integers(-size, size, shape).astype(dtype) if size else np.zeros(shape, dtype)


def gather(draw):
    x = data(draw)
    axis = draw.axis(x.ndim)
    places = indices(draw, draw.shape(draw.integer(0, 2), elements=40), x.shape[axis], draw.one((np.int32, np.int64)))
    places_ = Constant(places) if draw.chance(0.3) else places
    empty = x.shape[axis] == 0 and places.size
    shape = (*x.shape[:axis % x.ndim], *places.shape, *x.shape[axis % x.ndim + 1:])
    if empty:
        return Node("Gather", [x, places_], None if 0 not in shape else np.zeros(shape, x.dtype), {"axis": axis})
    return Node("Gather", [x, places_], np.take(x, places, axis).reshape(shape), {"axis": axis})


def gather_elements(draw):
    x = data(draw)
    axis = draw.axis(x.ndim)
    shape = [draw.integer(0 if d == 0 else 1, d) for d in x.shape]
    shape[axis] = draw.one((0, 1, 2, 5)) if x.shape[axis] else 0
    places = indices(draw, shape, x.shape[axis])
    part = x[tuple(slice(None) if i == axis % x.ndim else slice(d) for i, d in enumerate(shape))]
    return Node("GatherElements", [x, places], np.take_along_axis(part, places, axis), {"axis": axis})


def tuples(draw, x, batch, depth, shape):
    columns = [indices(draw, shape, x.shape[batch + i]) for i in range(depth)]
    return np.stack(columns, -1) if columns else np.zeros((*shape, 0), np.int64)


def gather_nd(draw):
    x = data(draw)
    if 0 in x.shape:
        x = np.ones([d or 2 for d in x.shape], x.dtype)
    batch = draw.integer(0, min(1, x.ndim - 1))
    depth = draw.integer(1, x.ndim - batch)
    shape = (*x.shape[:batch], *(draw.one((0, 1, 2, 4)) for _ in range(draw.integer(0 if batch else 1, 2))))
    places = tuples(draw, x, batch, depth, shape)
    if batch:
        rows = [x[b][tuple(np.moveaxis(places[b], -1, 0))] for b in range(x.shape[0])]
        expected = np.stack(rows)
    else:
        expected = x[tuple(np.moveaxis(places, -1, 0))]
    return Node("GatherND", [x, places], np.asarray(expected), {"batch_dims": batch})


def scatter_elements(draw):
    x = data(draw, dtypes=(np.float32, np.float64, np.int32, np.int64, np.uint8), elements=400)
    axis = draw.axis(x.ndim)
    reduction = draw.one(("none", "add", "mul"))
    shape = [draw.integer(0 if d == 0 else 1, d) for d in x.shape]
    shape[axis] = draw.integer(0, x.shape[axis])
    places = np.zeros(shape, np.int64)
    if places.size:
        # Without doubles, where the order would count.
        order = np.argsort(draw.numbers.uniform(size=x.shape), axis)
        places = order[tuple(slice(d) for d in shape)] if reduction == "none" else indices(draw, shape, x.shape[axis])
        if reduction == "none":
            part = [slice(d) for d in shape]
            part[axis] = slice(None)
            places = np.argsort(draw.numbers.uniform(size=x[tuple(part)].shape), axis).take(range(shape[axis]), axis)
            places = np.where(draw.numbers.uniform(size=places.shape) < 0.3, places - x.shape[axis], places)
    updates = draw.array(shape, x.dtype, -3, 3)
    result = x.copy()
    for at in np.ndindex(*shape):
        to = list(at)
        to[axis] = places[at]
        result[tuple(to)] = MEETINGS[reduction](result[tuple(to)], updates[at])
    return Node("ScatterElements", [x, places, updates], result, {"axis": axis, "reduction": reduction}, 16)


def scatter_nd(draw):
    x = data(draw, dtypes=(np.float32, np.float64, np.int32, np.int64), elements=400)
    if 0 in x.shape:
        x = np.ones([d or 2 for d in x.shape], x.dtype)
    depth = draw.integer(1, x.ndim)
    reduction = draw.one(("none", "add", "mul"))
    count = draw.one((0, 1, 2, 4))
    places = tuples(draw, x, 0, depth, (count,))
    if reduction == "none":
        different = np.unique(np.where(places < 0, places + np.array(x.shape[:depth]), places), axis=0)
        places = different if count else places
    updates = draw.array((*places.shape[:-1], *x.shape[depth:]), x.dtype, -3, 3)
    result = x.copy()
    for row, update in zip(places, updates):
        result[tuple(row)] = MEETINGS[reduction](result[tuple(row)], update)
    return Node("ScatterND", [x, places, updates], result, {"reduction": reduction}, 16)


def one_hot(draw):
    depth = draw.one((0, 1, 3, 17))
    places = draw.numbers.integers(-depth - 1, depth + 2, draw.shape(elements=200)).astype(draw.one((np.int32, np.int64)))
    dtype = draw.one((np.float32, np.int32, np.float64))
    off, on = draw.array((2,), dtype)
    axis = draw.integer(-places.ndim - 1, places.ndim)
    at = np.expand_dims(np.where(places < 0, places + depth, places), axis)
    steps = np.arange(depth).reshape([-1 if i == axis % (places.ndim + 1) else 1 for i in range(places.ndim + 1)])
    return Node("OneHot", [places, Constant(np.array(depth, np.int64)), Constant(np.array([off, on], dtype))],
                np.where(at == steps, on, off).astype(dtype), {"axis": axis})


FAMILY = [gather, gather_elements, gather_nd, scatter_elements, scatter_nd, one_hot]
