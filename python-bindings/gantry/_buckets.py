"""Gradients that are added up over devices together: several small exchanges take longer than one of them all."""

import math

from . import ops


def buckets(leaves, most):
    """Lists of places: those of one type, one after the other, that have at most so many bytes together, or one that has more. From the
    last parameter to the first, which is the order in which the way back makes gradients."""
    groups, size = [], 0
    for i in reversed(range(len(leaves))):
        own = _bytes(leaves[i])
        if groups and leaves[groups[-1][0]].dtype == leaves[i].dtype and size + own <= most:
            groups[-1].append(i)
            size += own
        else:
            groups.append([i])
            size = own
    return groups


def _bytes(leaf):
    return math.prod(leaf.shape) * leaf.dtype.itemsize


def join(leaves, places):
    """One value of several."""
    if len(places) == 1:
        return leaves[places[0]]
    return ops.concat([ops.reshape(leaves[i], (math.prod(leaves[i].shape),)) for i in places], 0)


def cut(value, shapes, places):
    """Pairs of place and value: what was joined."""
    begin = 0
    for i in places:
        size = math.prod(shapes[i])
        yield i, value if len(places) == 1 else ops.reshape(ops.slice(value, (begin,), (size,), (1,)), shapes[i])
        begin += size
