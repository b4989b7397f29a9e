"""Ops on arrays, computed at once: a plan of one op, made at the first use of its types and devices and kept.

What a use costs afterwards is a look-up, a call of the session and a handle. Plans are found by op, attributes,
types and devices of the operands, and what is asked for.
"""

import threading

import numpy as np

from . import _disk, _runtime
from ._compile import compile_source
from .array import Array, Reads, array, borrow, fit_number
from .device import asked, request, resolve
from .dtypes import as_dtype
from .graph import Graph
from .errors import InvalidArgumentError
from .plan import kept

_cache = {}  # read without the lock
_lock = threading.Lock()
_MOST = 4096  # plans in it
# Made of attributes and a key, which lies on the host as small inputs do.
_RANDOM = ("random_uniform", "random_normal")
_SMALL = 1 << 14  # elements of operands and results up to which no op takes long


class _Op:
    """An op for some types on some devices, ready to run."""

    def __init__(self, plan):
        self.session, self.function = plan.session(), plan.function()
        self.is_single = len(self.function.outputs) == 1
        plan.has_loops = False
        ports = self.function.inputs + self.function.outputs
        if sum(port.size for port in ports) <= _SMALL:
            self.session.is_short(self.function)

    def __call__(self, operands):
        results = self.session.call(self.function, operands)
        return results[0] if self.is_single else tuple(results)


def run(name, operands, attributes, device, label, result):
    """An op as the functions of gantry.ops ask for it."""
    for operand in operands:
        if operand.__class__ is not Array:
            break
    else:
        key = (name, attributes, result, asked(device), _runtime.version,
               *[operand._type for operand in operands])
        try:
            found = _cache.get(key)
        except TypeError:  # a list among the attributes
            return run(name, operands, *_hashable(attributes, device, label, result))
        if found is None:
            _runtime.current()
            found = _make(name, operands, attributes, request(device), label, result)
            _keep(key, found)
        return found(operands)
    return _run_with_values(name, operands, attributes, device, label, result)


def _keep(key, found):
    """Keeps an op; a program with ever new shapes lets go of the oldest. Of threads that make one at once the last one's
    stays."""
    with _lock:
        if len(_cache) >= _MOST:
            del _cache[next(iter(_cache))]
        _cache[key] = found


def _hashable(attributes, device, label, result):
    """The same with tuples in the place of lists."""
    flat = lambda value: tuple(int(each) if isinstance(each, np.integer) else each for each in value) \
        if isinstance(value, (list, tuple, np.ndarray)) else value
    attributes = tuple((name, kind, flat(value)) for name, kind, value in attributes)
    result = result and (flat(result[0]), result[1])
    try:
        hash((attributes, result, device))
    except TypeError:
        given = ", ".join(f"{name}={value!r}" for name, _, value in attributes)
        raise InvalidArgumentError(f"attributes are numbers, texts and flat lists of them, got {given}") from None
    return attributes, device, label, result


def _seed_as_key(name, attributes):
    """Of an op that may have no operands those, and its attributes: a seed changes at every use, so it becomes a key."""
    seeds = [value for what, _, value in attributes if what == "seed" and value is not None]
    if name not in _RANDOM or not seeds or not isinstance(seeds[0], (int, np.integer)):
        return (), attributes
    return ((borrow(np.array(seeds[0] & 2**64 - 1, np.uint64).view(np.int64)),),
            tuple((what, kind, None if what == "seed" else value) for what, kind, value in attributes))


def _run_with_values(name, operands, attributes, device, label, result):
    """Numbers, lists and NumPy arrays among the operands are made where the op runs, numbers in the type of the
    arrays."""
    operands = [operand.read() if isinstance(operand, Reads) else operand for operand in operands if operand is not None]
    if not operands:
        return run(name, *_seed_as_key(name, attributes), device, label, result)
    arrays = [operand for operand in operands if isinstance(operand, Array)]
    first = arrays[0].dtype if arrays else None
    if first is None:
        operands[0] = array(operands[0], device=None)
        return run(name, operands, attributes, device, label, result)
    target = resolve(request(device), name, arrays)
    operands = [operand.item() if isinstance(operand, np.generic) else operand for operand in operands]
    made = [operand if isinstance(operand, Array) else
            array(operand, device=target) if hasattr(operand, "dtype") else
            array(fit_number(operand, first), dtype=first, device=target) for operand in operands]
    return run(name, made, attributes, device, label, result)


def _make(name, operands, attributes, wanted, label, result):
    """Compiles the op for these operands."""
    if result is not None:
        dtype = as_dtype(result[1]) if result[1] is not None else operands[0].dtype
        result = (dtype, tuple(result[0]) if result[0] is not None else operands[0].shape)
    target = resolve(wanted, name, operands)
    flags = ["copies=explicit"] if _runtime.settings.copies == "explicit" else []
    what = (name, attributes, result and (result[0].name, result[1]), label, target.name, flags,
            [operand._type for operand in operands])
    request = _disk.request_for(what, _runtime.current().json)
    return _Op(kept(request, lambda: _compile(name, operands, attributes, label, result, target, flags)))


def _compile(name, operands, attributes, label, result, target, flags):
    """What the compiler makes of one op, which leaves its results where it runs."""
    graph = Graph(name)
    graph.locate()
    graph.begin()
    # A key on the host has no place, so that it is copied also where copies are explicit.
    homes = [None if name in _RANDOM and operand.device.type == "CPU" else operand.device for operand in operands]
    values = [graph.argument(f"input{i}", operand.dtype, operand.shape, home)
              for i, (operand, home) in enumerate(zip(operands, homes))]
    with graph.scope(target):
        results = graph.op(name, values, attributes, result, label, target)
    graph.end([(f"output{i}", value) for i, value in enumerate(results)])
    return compile_source(graph._handle, flags, is_short=True)


def clear():
    """Forgets all plans; their memory goes with them."""
    with _lock:
        _cache.clear()
