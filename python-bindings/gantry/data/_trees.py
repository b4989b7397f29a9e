"""Elements: trees of tuples and dicts whose leaves are arrays, numbers or texts; and batches of them."""

import numpy as np

from ..errors import InvalidArgumentError


def map_tree(f, tree):
    """The same tree with f(leaf) in the place of each leaf."""
    if isinstance(tree, tuple):
        parts = [map_tree(f, each) for each in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    return {key: map_tree(f, each) for key, each in tree.items()} if isinstance(tree, dict) else f(tree)


def leaves_of(tree):
    """The leaves in order."""
    if isinstance(tree, (tuple, dict)):
        return [leaf for each in (tree.values() if isinstance(tree, dict) else tree) for leaf in leaves_of(each)]
    return [tree]


def as_array(values):
    """A leaf as a NumPy array. InvalidArgumentError for what has no rectangular shape."""
    if isinstance(values, np.ndarray):
        return values
    try:
        made = np.asarray(values.numpy() if hasattr(values, "numpy") else values)
    except ValueError:  # NumPy's word for lists of several lengths, from 1.24 on
        made = None
    if made is None or made.dtype == object:
        raise InvalidArgumentError(f"data are arrays, numbers and texts, got {type(values).__name__} of no one shape; "
                                   "gantry.data.pad_sequences makes rows of one length")
    return made


def stack(elements, join=np.stack):
    """A batch of elements, which have one structure: `join` makes an array of a list of them."""
    first = elements[0]
    if isinstance(first, (tuple, dict)):
        if any(type(each) is not type(first) or len(each) != len(first) for each in elements):
            raise InvalidArgumentError("elements of a batch have several structures")
        if isinstance(first, dict):
            return {key: stack([_at(each, key) for each in elements], join) for key in first}
        parts = [stack([each[i] for each in elements], join) for i in range(len(first))]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    if any(isinstance(each, (tuple, dict)) for each in elements):
        raise InvalidArgumentError("elements of a batch have several structures")
    return join([as_array(each) for each in elements])


def _at(element, key):
    if key not in element:
        raise InvalidArgumentError(f"elements of a batch have several structures: one has no {key!r}")
    return element[key]


def equal(arrays):
    """np.stack of arrays of one shape."""
    shapes = sorted({array.shape for array in arrays})
    if len(shapes) > 1:
        raise InvalidArgumentError(f"elements of a batch have one shape, got {list(shapes[0])} and {list(shapes[1])}; padded_batch "
                                   "makes them equal, gantry.data.pad_sequences does so before")
    return np.stack(arrays)
