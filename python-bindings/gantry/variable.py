"""Variables: values that functions read, and give others.

>>> w = gt.Variable(np.zeros((4, 2), np.float32), name="w")
>>> @gt.function
... def step(x):
...     w.assign_add(x)
...     return w + 0
>>> step(x); w.numpy()

Outside of functions a variable lies in the state of the process, `variables()`. A function that reads one or assigns it
works on that; what it reads is what the variable holds at that point of the program.
"""

import collections
import ctypes
import threading

import numpy as np

from . import _apply, _c, _library, _runtime
from ._operators import Operators, Shaped, fixed
from ._tensors import Stored, as_values
from .array import Array, Reads, array, as_numpy, fit_number, zeros
from .errors import InvalidArgumentError
from .graph import Value, suspended, tracing
from .plan import State

_lock = threading.Lock()
_state = None
_taken = set()  # names
_slots = collections.defaultdict(list)  # by variable, names of what optimizers keep for it
_mirrors = collections.defaultdict(set)  # by variable, names of those that replicas have of it
_dead = collections.deque()  # names of variables that nobody has any more


def variables():
    """The State with all variables of the process, and with what optimizers keep for them: to look at, to save and to
    load; and for sessions of plans that functions have made."""
    global _state
    if _state is None:
        with _lock:
            if _state is None:
                _state = _Shared()
    return _state


def _bury():
    """Takes variables out that nobody has; the lock is held."""
    library = _library.runtime()
    while _dead:
        name = _dead.popleft()
        for each in [name, *_slots.get(name, ())]:
            _mirrors.pop(each, None)
        for each in [name, *_slots.pop(name, ())]:
            library.gantry_state_remove(_state._handle, each.encode())
            _taken.discard(each)


def extended(plan, used):
    """The state of the process, with those variables of a plan that its graph has added to the ones it uses."""
    state = variables()
    with _lock:
        _bury()
        state.extend(plan)
        for each in plan.description.get("variables", ()):
            if each.get("mirror_of"):
                _mirrors[each["mirror_of"]].add(each["name"])
        for name in (each["name"] for each in plan.description.get("variables", ()) if each["name"] not in used):
            owner = max((each for each in used if name.startswith(each + "/")), key=len, default=None)
            if owner is not None and name not in _slots[owner]:
                _slots[owner].append(name)
                _taken.add(name)
    return state


def renew(assigned, own):
    """Gives mirrors what a plan has assigned to their variables: those that it does not have itself, which are not in `own`."""
    if not _mirrors:
        return
    with _lock:
        late = {each for name in assigned for each in [name, *_slots.get(name, ())] if each in _mirrors and each not in own}
    for name in late:
        write(name, value_of(name))


def unique(name):
    """The name, with a number behind it where it is taken; it is taken from then on. The lock is held."""
    made, count = name, 0
    while made in _taken:
        count += 1
        made = f"{name}_{count}"
    _taken.add(made)
    return made


class _Shared(State):
    """The state of the process, in which variables come and go while others look."""

    @property
    def variables(self):
        with _lock:
            return super().variables

    def __getitem__(self, name):
        with _lock:
            return super().__getitem__(name)

    def _write(self, found):
        with _lock:
            super()._write(found)

    def _add(self, name, made):
        with _lock:
            super()._add(name, made)

    def _save(self, path, metadata):
        with _lock:
            super()._save(path, metadata)


def values_of(named):
    """Stored values of pairs of name and Variable, all of one moment, with no run in between, under these names."""
    state = variables()
    made = {each.name: Stored(np.empty(each.shape, each.dtype.numpy), each.dtype) for _, each in named}
    given = as_values(made)
    with _lock:
        _library.check(state._library.gantry_state_read_values(state._handle, given, len(given)))
    return {name: made[each.name] for name, each in named}


def give(named, found):
    """Gives pairs of name and Variable the Stored values of their names, all of them or none, with no run in between."""
    given = [(variable, found[name]) for name, variable in named if name in found]
    if tracing() is not None:
        raise InvalidArgumentError("variables are loaded while a function is traced, which would not load them when it runs; "
                                   "load them before")
    for variable, _ in given:
        variable._check_free()
    for variable, _ in given:
        for tape in _apply.tapes():
            tape.forget(variable)
    variables()._write({variable.name: stored for variable, stored in given})


def _traced_anew(name, what):
    """An attribute that functions are traced anew for."""
    def give(self, value):
        if getattr(self, name) != value:
            setattr(self, name, value)
            _runtime.version += 1
    return property(lambda self: getattr(self, name), give, doc=what)


class Variable(Reads, Shaped, Operators):
    """A typed value that outlives runs: `shape`, `dtype`, `device`, `name`, `trainable`, `frozen`, `rate_scale`, `decay`.

    value      what it holds at first: an Array, NumPy array, number or nested list; its type and shape stay
    name       in logs and files; "w_1" where "w" is taken
    trainable  whether networks count it among what an optimizer changes
    device     where it lives; else where the value is, or where new arrays are made

    frozen: functions hold its value as a constant, which can be packed for products; it cannot be assigned, nor is it
    trained. rate_scale is a factor of what optimizers have as their rate, 1 at first; decay takes the place of theirs, where
    it is a number. Functions that use the variable are traced anew when one of these changes.

    In operators and ops it stands for its value. InvalidArgumentError for a value that is known only when a function
    runs.
    """

    __slots__ = ("name", "_trainable", "_frozen", "_rate_scale", "_decay", "_shape", "_dtype", "_device", "__weakref__")
    __array_priority__ = 100
    shape, dtype, device = fixed("shape", "another variable"), fixed("dtype", "another variable"), fixed("device", "to")
    frozen = _traced_anew("_frozen", "Whether functions hold its value as a constant.")
    rate_scale = _traced_anew("_rate_scale", "A factor of its optimizers' rates.")
    decay = _traced_anew("_decay", "Its own weight decay, in the place of its optimizers'; None: theirs.")

    def __init__(self, value, name=None, trainable=True, device=None):
        self.name = None  # nothing to give back yet
        if isinstance(value, Value):
            raise InvalidArgumentError(f"a variable starts with {value!r}, which is not known while a function is traced; "
                                       "make it with a value that is known, and assign this one")
        with suspended():
            made = value.read() if isinstance(value, Reads) else value
            made = made.to(device) if isinstance(made, Array) and device is not None else \
                made if isinstance(made, Array) else array(made, device=device)
        self._trainable, self._frozen, self._rate_scale, self._decay = bool(trainable), False, 1.0, None
        self._shape, self._dtype, self._device = made.shape, made.dtype, made.device
        state = variables()
        with _lock:
            _bury()
            name = unique(name or "variable")
            try:
                _library.check(state._library.gantry_state_add(state._handle, name.encode(), made._handle))
            except BaseException:
                _taken.discard(name)
                raise
        self.name = name

    def __del__(self, _may_release=_runtime.may_release):
        if getattr(self, "name", None) is None or not _may_release():
            return
        _dead.append(self.name)
        if _lock.acquire(blocking=False):
            try:
                _bury()
            finally:
                _lock.release()

    def __repr__(self):
        return f"Variable({self.name!r}, {self._dtype}{list(self._shape)}, device={self._device!r})"

    @property
    def trainable(self):
        """Whether networks count it among what an optimizer changes: not while it is frozen."""
        return self._trainable and not self._frozen

    @trainable.setter
    def trainable(self, value):
        if self._trainable != bool(value):
            self._trainable = bool(value)
            _runtime.version += 1

    # ---- reading and assigning ----

    def read(self):
        """What it holds now: in a function a value of its graph, else an Array of its own."""
        if _apply.tapes():
            return _heard(self)
        return self._read()

    def _read(self):
        graph = tracing()
        if graph is not None:
            return graph.read(self)
        state, handle = variables(), ctypes.c_void_p()
        with _lock:
            _library.check(state._library.gantry_state_array(state._handle, self.name.encode(), ctypes.byref(handle)))
        return Array._wrap(handle.value, self._shape, self._dtype, self._device)

    value = property(read)

    def assign(self, value):
        """Gives it another value, of its type and shape; a number fills it. InvalidArgumentError for one that is frozen."""
        self._check_free()
        for tape in _apply.tapes():
            tape.hear_assign(self, value, False)
        graph = tracing()
        if graph is not None:
            graph.assign(self, value)
            return self
        if isinstance(value, Value):
            raise InvalidArgumentError(f"{value!r} is of a function that has been traced; return it from there")
        values, kind = as_numpy(value, None if hasattr(value, "dtype") else self._dtype)
        if values.shape != self._shape and not hasattr(value, "dtype") and not values.shape:
            values, kind = as_numpy(_filled(self, value))
        self._check(kind, values.shape)
        state = variables()
        with _lock:
            _library.check(state._library.gantry_state_write(state._handle, self.name.encode(), values.ctypes.data,
                                                             values.nbytes))
        return self

    def assign_add(self, value):
        """Adds a value of its type and shape, or a number."""
        self._check_free()
        for tape in _apply.tapes():
            tape.hear_assign(self, value, True)
        graph = tracing()
        if graph is not None:
            graph.assign(self, value, add=True)
            return self
        return self.assign(self.read() + value)

    def assign_sub(self, value):
        """Takes off a value of its type and shape, or a number."""
        return self.assign(self.read() - value)

    def _check_free(self):
        if self._frozen:
            raise InvalidArgumentError(f"variable '{self.name}' is frozen: functions hold its value as a constant; unfreeze it to change it")

    def _check(self, dtype, shape):
        if (dtype, tuple(shape)) != (self._dtype, self._shape):
            raise InvalidArgumentError(f"variable '{self.name}' is {self._dtype}{list(self._shape)}, and is assigned "
                                       f"{dtype}{list(shape)}")

    # ---- as a value ----

    def numpy(self):
        """The value as a NumPy array of its own."""
        return self.read().numpy()

    def __array__(self, dtype=None, copy=None):
        return self.read().__array__(dtype, copy)

    def item(self):
        return self.read().item()

    def tolist(self):
        return self.read().tolist()

    def to(self, device):
        """The value on a device, as an Array; a network's variables move by `net.to`."""
        return self.read().to(device)

    def _move(self, device):
        """Moves it, with what optimizers keep for it, to a device. Functions that use it are traced anew."""
        state = variables()
        own = [self.name, *_slots.get(self.name, ())]
        mirrors = {mirror for name in own for mirror in _mirrors.get(name, ())}
        moved = [(name, state[name].to(device)) for name in own if name not in mirrors]
        if moved[0][1].device == self._device:
            return
        with _lock:
            for name in mirrors:  # whoever wants them makes them anew
                _library.check(state._library.gantry_state_remove(state._handle, name.encode()))
                _slots[self.name].remove(name)
                _taken.discard(name)
            for name in own:
                _mirrors.pop(name, None)
            for name, value in moved:
                _library.check(state._library.gantry_state_remove(state._handle, name.encode()))
                _library.check(state._library.gantry_state_add(state._handle, name.encode(), value._handle))
        self._device = moved[0][1].device
        _runtime.version += 1

    def __float__(self):
        return float(self.read())

    def __int__(self):
        return int(self.read())

    def __bool__(self):
        return bool(self.read())


def _heard(variable):
    """The value that all tapes of this thread know for the variable's."""
    tapes = _apply.tapes()
    known = [tape._now[variable] for tape in tapes if variable in tape._now]
    value = known[-1] if known else variable._read()
    for tape in tapes:
        if variable not in tape._now:
            tape._read(variable, value)
    return value


def _filled(variable, number):
    from .math import full_like
    return full_like(variable.read(), fit_number(number, variable.dtype))


def _as_value(name):
    def method(self, *args, **kwargs):
        return getattr(self.read(), name)(*args, **kwargs)
    method.__name__ = name
    return method


# What an array can do, a variable can with its value.
for _name in vars(Operators):
    if _name not in ("__slots__", "__module__", "__doc__", "__hash__", "__setitem__", "__delitem__", "T") and \
            callable(getattr(Operators, _name)):
        setattr(Variable, _name, _as_value(_name))
Variable.__hash__ = object.__hash__
Variable.T = property(lambda self: self.read().T)


# ---- bytes, for checkpoints ----

def value_of(variable):
    """The bytes that a variable, or what an optimizer keeps under a name, holds: a NumPy array of its own."""
    return (variables()[variable] if isinstance(variable, str) else variable._read()).numpy()


def write(variable, values):
    """Gives a variable, or what is kept under a name, a NumPy array of its type and shape, also a frozen one."""
    state, name = variables(), variable if isinstance(variable, str) else variable.name
    values = np.ascontiguousarray(values)
    with _lock:
        _library.check(state._library.gantry_state_write(state._handle, name.encode(), values.ctypes.data, values.nbytes))
    if not isinstance(variable, str) and variable.frozen:
        _runtime.version += 1


def slots_of(variable):
    """Names of what optimizers keep for a variable, without the mirrors, which get what that gets."""
    with _lock:
        own = _slots.get(variable.name, ())
        mirrors = {mirror for name in [variable.name, *own] for mirror in _mirrors.get(name, ())}
        return [name for name in own if name not in mirrors]


def add_slot(variable, name, dtype, values):
    """What an optimizer keeps for a variable, beside it: written where it is there, else added."""
    with _lock:
        is_there = name in _slots[variable.name]
    if not is_there:
        made, state = zeros(values.shape, dtype=dtype, device=variable.device), variables()
        with _lock:
            _library.check(state._library.gantry_state_add(state._handle, name.encode(), made._handle))
            _slots[variable.name].append(name)
            _taken.add(name)
    write(name, values)
