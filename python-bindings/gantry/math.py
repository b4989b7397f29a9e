"""Ops under the names and with the defaults that NumPy's users expect; gantry.ops has all ops as they are."""

import builtins
import operator

import numpy as np

from . import ops
from .array import Array, Reads, array, fit_number
from .dtypes import as_dtype
from .errors import InvalidArgumentError
from .graph import Value, tracing


def tensor(values):
    """Values as something that has a shape: arrays and values of graphs as they are."""
    if isinstance(values, (Array, Value)):
        return values
    if isinstance(values, Reads):
        return values.read()
    graph = tracing()
    return graph.constant(values) if graph is not None else array(values)


def constant_like(like, value):
    """A number in the element type, and on the device, of an array."""
    if isinstance(like, Reads):
        like = like.read()
    if isinstance(like, Array):
        return array(fit_number(value, like.dtype), dtype=like.dtype, device=like.device)
    return like.graph.value(value, like.dtype)


def _axes(x, axes):
    """Axes as the ops want them: counted from the front; all when none are given."""
    if axes is None:
        return tuple(range(len(x.shape)))
    listed = (axes,) if isinstance(axes, int) else tuple(axes)
    for axis in listed:
        if not -len(x.shape) <= axis < len(x.shape):
            raise InvalidArgumentError(f"axis {axis} of an array with {len(x.shape)} dimensions")
    return tuple(sorted(axis % len(x.shape) for axis in listed))


def _numpy_names(axes, keep_dims, axis=None, keepdims=None, out=None, dtype=None):
    """Axes and keep_dims, which NumPy calls axis and keepdims. np.sum(x) and others ask for the rest."""
    if out is not None or dtype is not None:
        raise TypeError("a reduction gives a new array of a type of its own: `out` and `dtype` cannot be given")
    return axes if axis is None else axis, keep_dims if keepdims is None else bool(keepdims)


def _as_sum(x):
    """What is added up or multiplied, as the array API has it: bools and integers in the default integer at least, of
    their sign."""
    if x.dtype.is_floating or x.dtype.itemsize >= 4:
        return x
    return ops.cast(x, "uint32" if x.dtype.name.startswith("uint") else "int32")


def _some_along(x, axes):
    """Refuses what has no largest and no smallest element, as NumPy does."""
    for axis in _axes(x, axes):
        if not x.shape[axis]:
            raise InvalidArgumentError(f"{x.dtype}{list(x.shape)} has no elements along axis {axis}, of which one would be "
                                       "the largest or the smallest")
    return x


def _reduction(op, before=lambda x: x, after=lambda x: x, check=lambda x, axes: x):
    def reduce(x, axes=None, keep_dims=False, **numpy):
        axes, keep_dims = _numpy_names(axes, keep_dims, **numpy)
        x = before(check(tensor(x), axes))
        return after(getattr(ops, op)(x, _axes(x, axes), keep_dims=keep_dims))
    reduce.__doc__ = f"`{op}` over some dimensions, or over all. `axis` and `keepdims`, as NumPy has them, mean the same."
    return reduce


def _as_floats(x):
    return x if x.dtype.is_floating else ops.cast(x, "float32")


def _as_truth(x):
    return ops.cast(x if x.dtype == "bool" else ops.cast(x, "bool"), "uint8")


def _to_bool(x):
    return ops.cast(x, "bool")


sum, prod = _reduction("reduce_sum", _as_sum), _reduction("reduce_prod", _as_sum)
mean = _reduction("reduce_mean", _as_floats)
max, min = _reduction("reduce_max", check=_some_along), _reduction("reduce_min", check=_some_along)
sum.__doc__ = prod.__doc__ = "The sum, or the product, over some dimensions or over all; of bools and narrow integers as int32 or uint32."
max.__doc__ = min.__doc__ = "The largest, or the smallest, element over some dimensions or over all, of which there is one."
all, any = _reduction("reduce_min", _as_truth, _to_bool), _reduction("reduce_max", _as_truth, _to_bool)
mean.__doc__ = "`reduce_mean` over some dimensions, or over all; of integers as float32."
all.__doc__ = "Whether all elements are true (not 0), over some dimensions or over all."
any.__doc__ = "Whether some element is true (not 0), over some dimensions or over all."


def _search(op):
    def search(x, axis=None, keep_dims=False, *, last=False, device=None, name=None, **numpy):
        axis, keep_dims = _numpy_names(axis, keep_dims, **numpy)
        x = tensor(x)
        if axis is None:
            x, axis = reshape(x, -1), 0
        return getattr(ops, op)(x, _axes(x, axis)[0], keep_dims=keep_dims, last=last, device=device, name=name)
    search.__doc__ = f"`{op}` along an axis; along none: of all elements in a row."
    return search


argmax, argmin = _search("argmax"), _search("argmin")


def cumsum(x, axis=None, *, exclusive=False, reverse=False, device=None, name=None):
    """Sums up to each element along an axis; along none: of all elements in a row. Of bools and narrow integers as int32
    or uint32."""
    x = _as_sum(tensor(x))
    if axis is None:
        x, axis = reshape(x, -1), 0
    return ops.cumsum(x, _axes(x, axis)[0], exclusive=exclusive, reverse=reverse, device=device, name=name)


# ---- arithmetic ----

def _pair(lhs, rhs):
    """Both with a type; a number takes the other's."""
    if not hasattr(lhs, "dtype"):
        return constant_like(rhs, lhs), rhs
    return lhs, rhs if hasattr(rhs, "dtype") else constant_like(lhs, rhs)


def true_divide(lhs, rhs):
    """lhs / rhs; of integers as float32, like PyTorch and JAX. gantry.ops.div keeps them integers."""
    like = lhs if hasattr(lhs, "dtype") else rhs
    if as_dtype(like.dtype).is_floating:
        return ops.div(lhs, rhs)
    return ops.div(*(ops.cast(tensor(x), "float32") if hasattr(x, "dtype") else x for x in (lhs, rhs)))


def floor_divide(lhs, rhs):
    """The largest integer not above lhs / rhs, so that it agrees with the remainder; of integers by 0: 0."""
    lhs, rhs = (tensor(x) for x in _pair(lhs, rhs))
    if not lhs.dtype.is_floating:
        return ops.div(ops.sub(lhs, ops.mod(lhs, rhs)), rhs)
    left, zero = ops.rem(lhs, rhs), constant_like(rhs, 0)
    below = ops.logical_and(ops.compare(left, zero, "ne"),
                            ops.logical_xor(ops.compare(left, zero, "lt"), ops.compare(rhs, zero, "lt")))
    whole, ratio = ops.sub(ops.div(ops.sub(lhs, left), rhs), ops.cast(below, lhs.dtype)), ops.div(lhs, rhs)
    # Rounded to nearest, since a quotient of numbers without a remainder may still be off by its last bit; below 1 the
    # sign of a zero, and of what 0 divides all, are the ratio's.
    is_small = ops.logical_or(ops.compare(whole, zero, "eq"), ops.compare(rhs, zero, "eq"))
    return ops.select(is_small, ops.mul(ratio, ops.cast(ops.compare(rhs, zero, "eq"), lhs.dtype)), ops.round(whole))


def pow(lhs, rhs):
    """lhs to the power rhs. Integers have none below 0, which is refused where the exponents are known."""
    kind = as_dtype((lhs if hasattr(lhs, "dtype") else rhs).dtype)
    if kind.name.startswith("int") and not isinstance(rhs, Value):
        known = rhs.numpy() if isinstance(rhs, Array) else np.asarray(rhs)
        if known.size and known.dtype.kind in "fiu" and known.min() < 0:
            raise InvalidArgumentError("integers have no powers with exponents below 0; x.astype('float32') has")
    return ops.pow(lhs, rhs)


def matmul(lhs, rhs, **options):
    """`gantry.ops.matmul`, for vectors as well: a row on the left, a column on the right."""
    lhs, rhs = (x if hasattr(x, "shape") else tensor(x) for x in (lhs, rhs))
    if len(lhs.shape) > 1 and len(rhs.shape) > 1 or not lhs.shape or not rhs.shape:
        return ops.matmul(lhs, rhs, **options)
    lhs, rhs = tensor(lhs), tensor(rhs)
    is_row, is_column = len(lhs.shape) == 1, len(rhs.shape) == 1
    made = ops.matmul(ops.reshape(lhs, (1, *lhs.shape)) if is_row else lhs,
                      ops.reshape(rhs, (*rhs.shape, 1)) if is_column else rhs, **options)
    shape = made.shape[:-1] if is_column else made.shape
    return ops.reshape(made, shape[:-1] + shape[len(shape):] if is_row and is_column else
                       shape[:-2] + shape[-1:] if is_row else shape)


def where(condition, x, y):
    """Elements of x where the condition holds, else of y; one of them may be a number."""
    if not hasattr(x, "dtype") and not hasattr(y, "dtype"):
        x = tensor(x)
    x, y = _pair(x, y)
    return ops.select(tensor(condition), tensor(x), tensor(y))


# ---- shapes ----

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


def squeeze(x, axis=None):
    """Without dimensions of size 1, all of them or those given."""
    x = tensor(x)
    gone = [i for i, size in enumerate(x.shape) if size == 1] if axis is None else _axes(x, axis)
    if builtins.any(x.shape[i] != 1 for i in gone):
        raise InvalidArgumentError(f"{x.dtype}{list(x.shape)} has more than one element along axis {axis}")
    return ops.reshape(x, tuple(size for i, size in enumerate(x.shape) if i not in gone))


def expand_dims(x, axis):
    """With one more dimension of size 1, which becomes number `axis`."""
    x = tensor(x)
    if not -len(x.shape) - 1 <= axis <= len(x.shape):
        raise InvalidArgumentError(f"axis {axis} of an array with {len(x.shape) + 1} dimensions")
    axis %= len(x.shape) + 1
    return ops.reshape(x, x.shape[:axis] + (1,) + x.shape[axis:])


_INDICES = "an index is an integer, a slice, ..., None, or integers in an array or a list"


def _check_indices(values, size):
    if values.dtype.kind in "iu" and values.size and not (-size <= values.min() and values.max() < size):
        raise IndexError(f"indices from {values.min()} to {values.max()} of an axis that has {size}")


def _indices(each, size):
    """An index that is several: as something that gather takes; None for the others."""
    if isinstance(each, (list, np.ndarray)) or (hasattr(each, "dtype") and (each.shape or isinstance(each, Value))):
        if isinstance(each, (list, np.ndarray)):
            _check_indices(np.asarray(each), size)
        each = tensor(each)
        if each.dtype.is_floating or each.dtype == "bool":
            mask = ". How many elements a mask takes is known only when it runs: gantry.where keeps the shape"
            raise InvalidArgumentError(f"{_INDICES}; not {each.dtype}{mask if each.dtype == 'bool' else ''}")
        return each
    return None


def _number(each):
    if isinstance(each, (bool, np.bool_)):
        raise InvalidArgumentError(f"{_INDICES}; not bool")
    try:
        return operator.index(each)
    except TypeError:
        raise InvalidArgumentError(f"{_INDICES}; not {type(each).__name__}") from None


def _spread(where, rank):
    """The parts of an index, `...` replaced by what it stands for; as many as there are dimensions, beside None."""
    where = list(where) if isinstance(where, tuple) else [where]
    many = [i for i, each in enumerate(where) if each is Ellipsis]
    if len(many) > 1:
        raise IndexError("an index has one ... at most")
    used = builtins.sum(each is not None and each is not Ellipsis for each in where)
    if used > rank:
        raise IndexError(f"{used} indices for an array with {rank} dimensions")
    at = many[0] if many else len(where)
    where[at:at + 1] = [slice(None)] * (rank - used)
    return where


def _is_one(each):
    return hasattr(each, "__index__") and not getattr(each, "shape", ())


def index(x, where):
    """x[where] for integers, slices, `...`, None, and arrays or lists of integers."""
    starts, sizes, steps, shape, gathered = [], [], [], [], []
    where = _spread(where, len(x.shape))
    for each in where:
        if each is None:
            shape.append(1)
            continue
        size = x.shape[len(starts)]
        many = _indices(each, size)
        if isinstance(each, slice):
            start, stop, step = each.indices(size)
            taken = range(start, stop, step)
            if step < 0:  # no op goes backwards
                gathered.append((len(starts), len(shape), np.array(taken, np.int64)))
                taken = range(size)
            shape.append(len(taken))
            part = (taken.start, len(taken), taken.step)
        elif many is not None:
            gathered.append((len(starts), len(shape), many))
            shape.append(size)
            part = (0, size, 1)
        else:
            number = _number(each)
            if not -size <= number < size:
                raise IndexError(f"index {number} of axis {len(starts)}, which has {size}")
            part = (number % size, 1, 1)
        for values, value in zip((starts, sizes, steps), part):
            values.append(value)
    arrays = builtins.sum(not isinstance(many, np.ndarray) for _, _, many in gathered)
    if arrays > 1 or arrays and len(gathered) + builtins.sum(map(_is_one, where)) > 1:
        raise InvalidArgumentError("one index may be an array or a list, beside slices that count up; "
                                   "gantry.ops.gather_nd takes tuples of indices")
    if tuple(sizes) != x.shape or builtins.any(step != 1 for step in steps) or not gathered and shape == list(x.shape):
        x = ops.slice(x, tuple(starts), tuple(sizes), tuple(steps))
    if shape != list(x.shape):
        x = ops.reshape(x, tuple(shape))
    for _, axis, many in reversed(gathered):
        x = ops.gather(x, many if hasattr(many, "device") else _beside(x, many), axis)
    return x


def _beside(x, values):
    """Indices as a constant of the graph that x is of, or on x's device."""
    if isinstance(x, Array):
        return array(values, device=x.device)
    return x.graph.constant(values)


def softmax(x, axis=-1):
    """e^x over its sum along an axis."""
    x = tensor(x)
    return ops.softmax(x, _axes(x, axis)[0])


def _some(inputs, what):
    if not len(inputs):
        raise InvalidArgumentError(f"{what} wants at least one array")
    return [tensor(x) for x in inputs]


def concat(inputs, axis=0):
    """Joins arrays along an axis."""
    inputs = _some(inputs, "concat")
    return ops.concat(inputs, _axes(inputs[0], axis)[0])


def stack(inputs, axis=0):
    """Joins arrays along a new axis."""
    inputs = _some(inputs, "stack")
    return ops.concat([expand_dims(x, axis) for x in inputs], axis % (len(inputs[0].shape) + 1))


# ---- making ----

def full_like(x, value, dtype=None):
    """An array of x's shape, type and device that holds one value everywhere."""
    x, kind = tensor(x), as_dtype(dtype) if dtype is not None else x.dtype
    one = array(fit_number(value, kind), dtype=kind, device=x.device) if isinstance(x, Array) else x.graph.value(value, kind)
    return ops.broadcast(one, x.shape)


def zeros_like(x, dtype=None):
    return full_like(x, 0, dtype)


def ones_like(x, dtype=None):
    return full_like(x, 1, dtype)
