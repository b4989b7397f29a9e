"""Devices by name, scopes, and what the machine has.

>>> gt.device("/gpu:1") == gt.device("cuda:1") == "GPU:1"
>>> with gt.device("CPU:0"): ...          # what is made inside asks for that device
"""

import collections
import contextlib
import contextvars
import ctypes
import inspect
import sys

from . import _c, _library, _runtime
from ._turns import caller
from .errors import InvalidArgumentError

_SOFT = {None: 0, "strict": 1, "prefer": 2, "any": 3}


class Device:
    """A device's name, of which parts may be open: `repr` is short, `str` is the full name.

    As a context manager it is a scope: what is made inside asks for the device.
    """

    __slots__ = ("given", "name", "short_name", "type", "id", "soft", "encoded", "_whole")

    def __init__(self, name, soft=None):
        if soft not in _SOFT:
            raise InvalidArgumentError(f"soft is {soft!r}; it can be 'strict', 'prefer', 'any' or None")
        parts = _parse(name)
        for slot, value in zip(self.__slots__, (*parts, soft, parts[0].encode(), _whole(parts[1]))):
            object.__setattr__(self, slot, value)

    def __setattr__(self, name, value):
        raise AttributeError("a device does not change; gantry.device(...) gives another one")

    def __reduce__(self):
        return Device, (self.given, self.soft)

    def __call__(self):
        """The device itself: JAX's arrays are asked for theirs by a call."""
        return self

    def __repr__(self):
        return self.short_name

    def __str__(self):
        return self.name

    def __eq__(self, other):
        if isinstance(other, Device):
            return self._whole == other._whole
        if isinstance(other, str):
            try:
                return self._whole == Device(other)._whole
            except InvalidArgumentError:
                return False
        return NotImplemented

    def __hash__(self):
        return hash(self._whole)

    def __enter__(self):
        _enter(self)
        return self

    def __exit__(self, *_):
        _leave(self)


class _Anywhere:
    """The scope of device(None): inside it nothing is asked for."""

    given, soft = None, None

    def __repr__(self):
        return "device(None)"

    __enter__, __exit__ = Device.__enter__, Device.__exit__


def _whole(name):
    """A task has one CPU, all of its cores, so a name that leaves its number open means that one."""
    return name + ":0" if name.endswith("CPU") else name[:-1] + "0" if name.endswith("CPU:*") else name


_parsed, _made = {}, {}


def _parse(text):
    """The parts of a name: as given, full, short, type, id; by the one parser."""
    if text not in _parsed:
        library, handle = _library.runtime(), ctypes.c_void_p()
        _library.check(library.gantry_device_name_parse(text.encode(), ctypes.byref(handle)))
        try:
            as_given, full, short = (library.gantry_device_name_print(handle, form).decode() for form in range(3))
            parts = _library.sized(_c.gantry_device_name_parts_t)
            _library.check(library.gantry_device_name_parts(handle, ctypes.byref(parts)))
            _parsed[text] = (as_given, full, short, parts.type.decode() if parts.type else None,
                             parts.id if parts.id >= 0 else None)
        finally:
            library.gantry_device_name_destroy(handle)
    return _parsed[text]


def device(name, soft=None):
    """The device of that name, to be given or used as a scope; `device(None)` is a scope that clears.

    `soft`: what becomes of the request when it cannot be met: "strict" (an error), "prefer" (another id, then
    another type), "any" (it only breaks ties); None: as config says.
    """
    if name is None:
        return _Anywhere()
    if isinstance(name, Device):
        return name if soft is None else Device(name.given, soft)
    if not isinstance(name, str):
        raise TypeError(f"a device is a name or a Device, not {type(name).__name__}")
    known = _made.get((name, soft))
    if known is None:
        known = _made[name, soft] = Device(name, soft)
    return known


# ---- scopes ----

# A scope that was entered: its device, the frame that did, and whether that is a generator's.
_Scope = collections.namedtuple("_Scope", "device frame is_generator")
# Of this thread and this task of asyncio.
_entered = contextvars.ContextVar("gantry's device scopes", default=())
_GENERATOR = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
_CONTEXTLIB = contextlib.contextmanager.__code__.co_filename


def _owner(frame):
    """The frame that a scope is entered for, and whether that is a generator's: a context manager that is made of a
    generator enters it for its user."""
    while frame is not None:
        code, outer = frame.f_code, frame.f_back
        if code.co_filename != _CONTEXTLIB:
            if not code.co_flags & _GENERATOR:
                return frame, False
            if outer is None or outer.f_code.co_filename != _CONTEXTLIB:
                return frame, True
        frame = outer
    return None, False


def _enter(device):
    _entered.set((*_entered.get(), _Scope(device, *_owner(sys._getframe(2)))))


def _leave(device):
    """Leaves the scope of the device that was entered last, of several frames' that of the one that leaves."""
    entered, (frame, _) = _entered.get(), _owner(sys._getframe(2))
    if entered and entered[-1].device is device and entered[-1].frame is frame:
        _entered.set(entered[:-1])
        return
    mine = [i for i, scope in enumerate(entered) if scope.device is device]
    if mine:
        last = max(mine, key=lambda i: (entered[i].frame is frame, i))
        _entered.set(entered[:last] + entered[last + 1:])


def _scopes():
    """The devices of the scopes that hold here, from the outermost. What a generator entered holds while it runs, inside of
    what its callers have, and not for whoever it yields to."""
    entered = _entered.get()
    if not entered:
        return ()
    if any([scope.is_generator for scope in entered]):
        depths = {}
        for frame in (sys._getframe(1), caller()):
            while frame is not None:
                depths[frame] = -len(depths)
                frame = frame.f_back
        running = [scope for scope in entered if not scope.is_generator or scope.frame in depths]
        entered = sorted(running, key=lambda scope: depths.get(scope.frame, -len(depths)))
    return tuple([scope.device for scope in entered])


def asked(explicit=None):
    """What is asked for here and how, as caches keep it."""
    if explicit is not None:
        explicit = (explicit.given, explicit.soft) if isinstance(explicit, Device) else explicit
    return explicit, tuple([(device.given, device.soft) for device in _scopes()])


def scopes():
    """The scopes that hold here, from the outermost that nothing clears."""
    given = _scopes()
    for i in range(len(given) - 1, -1, -1):
        if given[i].given is None:
            return given[i + 1:]
    return given


def request(explicit=None):
    """What is asked for here: `explicit`, merged into the scopes; None when nothing is."""
    wanted = list(scopes())
    if explicit is not None:
        wanted.append(device(explicit))
    if not wanted:
        return None
    merged = wanted[0]
    for inner in wanted[1:]:
        merged = Device(_merge(merged.given, inner.given), inner.soft or merged.soft)
    return merged


def _merge(outer, inner):
    library = _library.runtime()
    handles = [ctypes.c_void_p() for _ in range(3)]
    try:
        for text, handle in zip((outer, inner), handles):
            _library.check(library.gantry_device_name_parse(text.encode(), ctypes.byref(handle)))
        _library.check(library.gantry_device_name_merge(*handles[:2], ctypes.byref(handles[2])))
        return library.gantry_device_name_print(handles[2], _c.DEVICE_NAME_AS_GIVEN).decode()
    finally:
        for handle in handles:
            library.gantry_device_name_destroy(handle)


# ---- what there is ----

def _all(topology):
    """Devices that placement sees, in the order of their names."""
    if topology.logical is None:
        library, found = topology.library, []
        for index in range(library.gantry_topology_num_logical(topology.handle, None)):
            logical = _library.sized(_c.gantry_logical_device_t)
            _library.check(library.gantry_topology_logical(topology.handle, None, index, ctypes.byref(logical)))
            found.append(Device(logical.name.decode()))
        topology.logical = found
    return topology.logical


def devices(kind=None, physical=False):
    """The devices that there are, of a type ("GPU") or all; `physical`: what the machine has, else what
    placement sees of it. Takes no device memory."""
    topology = _runtime.topology()
    if not physical:
        return [found for found in _all(topology) if kind in (None, found.type)]
    library, encoded, found = topology.library, kind.encode() if kind else None, []
    for index in range(library.gantry_topology_num_physical(topology.handle, encoded)):
        info = _library.sized(_c.gantry_physical_device_t)
        _library.check(library.gantry_topology_physical(topology.handle, encoded, index, ctypes.byref(info)))
        found.append(Device(info.name.decode()))
    return found


def resolve(wanted, what=None, operands=()):
    """The device that a request means; where nothing is asked for (None), the one that an op of those operands goes to,
    by the rules of the runtime library (gantry_topology_place). An error names `what` was to be placed."""
    topology, index, held = _runtime.topology(), ctypes.c_size_t(), None
    known = _all(topology)
    if operands:
        held = dict.fromkeys([device.name for device in known], 0)
        for operand in operands:
            held[operand.device.name] += operand.nbytes
        held = (ctypes.c_uint64 * len(known))(*held.values())
    status = topology.library.gantry_topology_place(topology.handle, wanted and wanted.encoded, _is_soft(wanted), held,
                                                    ctypes.byref(index))
    if status == _c.NOT_FOUND:
        text = topology.library.gantry_last_error().decode()
        raise InvalidArgumentError(f"'{what}' is placed on {text}" if what else text)
    _library.check(status)
    return known[index.value]


def listed(text, what=None):
    """The devices that an entry of a list means: of "GPU:{0..3}" each of the range, of "GPU:*" all that match. An error
    names `what` was to be placed."""
    topology, count = _runtime.topology(), ctypes.c_size_t()
    known = _all(topology)
    numbers = (ctypes.c_size_t * 65536)()
    status = topology.library.gantry_topology_list(topology.handle, text.encode(), numbers, len(numbers), ctypes.byref(count))
    if status == _c.NOT_FOUND:
        text = topology.library.gantry_last_error().decode()
        raise InvalidArgumentError(f"'{what}' is placed on {text}" if what else text)
    _library.check(status)
    return [known[number] for number in numbers[:count.value]]


def _is_soft(wanted):
    return wanted is not None and (wanted.soft in ("prefer", "any") or (wanted.soft is None and _runtime.settings.soft))


def cpu():
    """All cores of the host."""
    return Device("CPU:0")


def gpu(index=0):
    """GPU number `index`, whether it is there or not: try_gpu asks."""
    return Device(f"GPU:{index}")


def gpus(at_most=None):
    """The GPUs that there are, or the first of them."""
    return devices("GPU")[:at_most]


def num_gpus():
    return len(devices("GPU"))


def try_gpu(index=0):
    """GPU number `index` if it is there, else the host."""
    return gpu(index) if index < num_gpus() else cpu()


def try_all_gpus():
    """All GPUs, or [cpu()] when there is none."""
    return gpus() or [cpu()]


class Memory:
    """Bytes of a device: used by Gantry now and at most, its limit (None: none), all, free now, and taken ahead of use
    (the setting "reserve")."""

    __slots__ = ("used", "peak", "limit", "total", "free", "reserved", "_device")

    def __init__(self, name, info):
        self._device = name
        self.used, self.peak, self.limit = info.bytes_in_use, info.peak_bytes, info.limit_bytes or None
        self.total, self.free = info.total_bytes or None, info.free_bytes or None
        self.reserved = info.reserved_bytes

    def reset_peak(self):
        """The peak counts from now on."""
        runtime = _runtime.current()
        _library.check(runtime.library.gantry_runtime_reset_peak(runtime.handle, self._device))

    def __repr__(self):
        return f"Memory(used={self.used}, peak={self.peak}, limit={self.limit}, total={self.total}, free={self.free})"


def memory(name=None):
    """What is taken of a device's memory; of one that nothing uses yet, what is known without opening it."""
    runtime, info = _runtime.current(), _library.sized(_c.gantry_memory_info_t)
    encoded = device(name or "CPU:0").encoded
    _library.check(runtime.library.gantry_runtime_memory(runtime.handle, encoded, ctypes.byref(info)))
    return Memory(encoded, info)
