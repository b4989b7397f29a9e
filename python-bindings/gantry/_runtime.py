"""The one runtime of the process: what `config` says, until the first use makes it.

The topology is made of the machine's, GANTRY_DEVICES, GANTRY_SIMULATE and `config`, and is given to
runtime and compiler alike. A forked child may not use what its parent made: it gets an error in
words, and gives nothing back that is the parent's.
"""

import atexit
import ctypes
import json
import os
import re
import sys
import threading

from . import _c, _library
from .errors import FailedPreconditionError, InvalidArgumentError

_lock = threading.RLock()


class Settings:
    """What config may say; the defaults."""

    def __init__(self):
        self.devices = os.environ.get("GANTRY_DEVICES")
        self.visible = None
        self.split = {}
        self.memory = {}
        self.simulate = os.environ.get("GANTRY_SIMULATE", "") not in ("", "0")
        self.placement = "default"
        self.soft = False
        self.copies = "auto"
        self.log_placement = False
        self.threads = 0
        self.sim_order = None
        self.default_device = None


settings = Settings()
# These decide what the runtime is, so they cannot change once it is there.
_STRUCTURAL = ("devices", "visible", "split", "memory", "simulate", "threads", "sim_order")
_PLACING = ("placement", "soft", "copies")
_COPIES = ("auto", "explicit")
_PLACEMENTS = ("default", "follow", "auto")

_runtime = None  # the Runtime in use
_topology = None  # of the settings as they are
_is_child = False  # forked from a process that had one
_is_over = False  # the interpreter goes away
version = 0  # of the settings that decide how ops are placed: caches ask


class Topology:
    """The devices that there are, as the settings have them. Listing them takes none of them."""

    def __init__(self):
        self.library, self.handle = _library.runtime(), None
        self.handle = _make_topology(self.library)
        self.json = self.library.gantry_topology_to_json(self.handle)
        self.logical = None  # the list that device.py makes of it

    def __del__(self):
        if may_release():  # of null nothing is left to give back
            self.library.gantry_topology_destroy(self.handle)


class Runtime:
    """The handle of the runtime library's runtime, with its topology."""

    def __init__(self):
        self.library = _library.runtime()
        self.topology = topology()
        self.json = self.topology.json
        self._log = _c.gantry_log_callback_t(_tell)
        self.handle = _create(self.library, settings.memory, threads=settings.threads, log=self._log, topology=self.json,
                              sim_order=settings.sim_order.encode() if settings.sim_order else None)


def _create(library, memory, **fields):
    """The handle of a new runtime of the library with these memory settings."""
    texts, count = _library.texts([f"{device}={text}" for device, text in memory.items()])
    options = _library.sized(_c.gantry_runtime_options_t, memory=texts, num_memory=count, **fields)
    handle = ctypes.c_void_p()
    _library.check(library.gantry_runtime_create(ctypes.byref(options), ctypes.byref(handle)))
    return handle


_SEVERITIES = ("note", "remark", "warning", "error")


def _tell(_, severity, text):
    """Lines of the runtime's log; from any thread."""
    if severity >= _c.SEVERITY_WARNING and not _is_over:
        print(f"gantry: {_SEVERITIES[severity]}: {text.decode('utf-8', 'replace')}", file=sys.stderr)


def current():
    """The runtime, made at the first call."""
    if _runtime is not None and not _is_child:
        return _runtime
    return _make()


def _make():
    global _runtime
    if _is_child:
        raise FailedPreconditionError(
            "this process was forked from one that uses Gantry, whose threads and devices are in the parent "
            "only; start it with multiprocessing's 'spawn', or fork before Gantry is first used")
    with _lock:
        if _runtime is None:
            _runtime = Runtime()
        return _runtime


def topology():
    """The devices of the runtime, or those that it would have if it were made now."""
    global _topology
    with _lock:
        if _topology is None:
            _topology = Topology()
        return _topology


def may_release():
    """Whether handles can still be given back: not in a child, nor while the interpreter goes away."""
    return not _is_child and not sys.is_finalizing()


def _after_fork():
    global _is_child
    _is_child = _is_child or _runtime is not None


os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _silence():
    """Nothing is told from here on."""
    global _is_over
    _is_over = True


def config(**changes):
    """Says how Gantry is to be used; before it is, where it is about devices.

    devices         "CPU:0,GPU:0,GPU:1@16GiB" in the place of the machine's (GANTRY_DEVICES)
    visible         physical GPUs that may be used: [0, 2]; [] for none
    split           logical GPUs of a physical one: {0: ["1GiB", "1GiB"]}
    memory          what may be taken of physical devices: {"GPU:0": "limit:1GiB", "GPU:*": "fraction:0.5,growth"};
                    counts more than GANTRY_MEMORY and TF_FORCE_GPU_ALLOW_GROWTH
    simulate        True: GPUs are simulated on the host (GANTRY_SIMULATE)
    placement       "default", "follow" or "auto", for functions and compiled graphs
    soft            True: a device that is not there is replaced instead of refused
    copies          "auto", or "explicit": operands on other devices are an error
    log_placement   True: a line for each op and copy, on stderr
    threads         for kernels of the host; 0: all available
    sim_order       "random:SEED": commands of simulated devices run in an order that is drawn, of those that queues allow
    default_device  where arrays are made that no device is asked for

    FailedPreconditionError for what is about devices once they are in use.
    """
    global version, _topology
    for name in changes:
        if not hasattr(settings, name):
            known = ", ".join(sorted(vars(settings)))
            raise TypeError(f"config has no setting '{name}'; the settings are {known}")
    if not isinstance(changes.get("devices"), (str, type(None))):
        raise InvalidArgumentError(f"devices are one text, as \"CPU:0,GPU:0@16GiB\", got {changes['devices']!r}")
    late = [name for name in changes if name in _STRUCTURAL]
    if late and _runtime is not None:
        raise FailedPreconditionError(
            f"'{late[0]}' cannot be configured any more: devices are in use; call config before the first "
            "array is made or plan is loaded")
    _check_choice("copies", changes, _COPIES)
    _check_choice("placement", changes, _PLACEMENTS)
    if changes.get("memory"):
        # A runtime that nothing uses, for the sake of what it says of settings that are wrong.
        library = _library.runtime()
        library.gantry_runtime_destroy(_create(library, changes["memory"], threads=1))
    with _lock:
        vars(settings).update(changes)
        version += any(name in _PLACING for name in changes)
        if late:
            _topology = None


def _check_choice(name, changes, choices):
    if name in changes and changes[name] not in choices:
        raise InvalidArgumentError(f"{name} is '{changes[name]}'; it can be " +
                                   " or ".join(f"'{choice}'" for choice in choices))


# ---- topology ----

def _make_topology(library):
    base, made = ctypes.c_void_p(), ctypes.c_void_p()
    _library.check(library.gantry_topology_of_machine(ctypes.byref(base)))
    splits, count = _library.texts([f"GPU:{gpu}={','.join(sizes)}" for gpu, sizes in (settings.split or {}).items()])
    visible = None
    if settings.visible is not None:
        visible = (",".join(str(gpu) for gpu in settings.visible) or "none").encode()
    flags = _library.sized(_c.gantry_topology_flags_t,
                           devices=settings.devices.encode() if settings.devices else None,
                           visible=visible, splits=splits, num_splits=count)
    try:
        _library.check(library.gantry_topology_parse(ctypes.byref(flags), base, ctypes.byref(made)))
        # Without GPUs there is nothing to simulate, which a script that runs anywhere need not mind.
        if settings.simulate and library.gantry_topology_num_logical(made, b"GPU"):
            flags.simulate = 1
            library.gantry_topology_destroy(made)
            _library.check(library.gantry_topology_parse(ctypes.byref(flags), base, ctypes.byref(made)))
    finally:
        library.gantry_topology_destroy(base)
    return _with_limits(library, made) if settings.memory else made


_LIMIT = re.compile(r"limit:(\d+)\s*(B|KiB|MiB|GiB|TiB)?$")


def _with_limits(library, topology):
    """The same, where limits of settings.memory are known to the compiler, too: a graph that does not fit is then
    told with what would. It is the runtime that keeps all of them."""
    found = json.loads(library.gantry_topology_to_json(topology))
    parts = [logical["physical"] for logical in found["logical"]]
    physical = {each["name"]: each["name"].replace("physical_device", "device") for each in found["physical"]}
    for device, text in settings.memory.items():
        meant = {own for own, name in physical.items() if _matches(library, device, name)}
        if not meant and device[-1:].isdigit():  # "GPU:*" is all that there are, none as well
            raise InvalidArgumentError(f"memory of '{device}': unknown device; the devices are " +
                                       ", ".join(physical.values()))
        limit = _LIMIT.match(text)
        for logical in found["logical"]:
            if limit and logical["physical"] in meant and parts.count(logical["physical"]) == 1:
                logical["limit"] = int(limit[1]) << 10 * ("B", "KiB", "MiB", "GiB", "TiB").index(limit[2] or "B")
    library.gantry_topology_destroy(topology)
    made = ctypes.c_void_p()
    _library.check(library.gantry_topology_from_json(json.dumps(found).encode(), ctypes.byref(made)))
    return made


_BYTES = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB|TiB)?$")


def limited(limits):
    """The topology in use as JSON, with limits for a plan: {"GPU:*": "1GiB"}."""
    current_one = current()
    if not limits:
        return current_one.json
    found = json.loads(current_one.json)
    for device, text in limits.items():
        size = _BYTES.match(text) if isinstance(text, str) else None
        meant = [logical for logical in found["logical"] if _matches(current_one.library, device, logical["name"])]
        if size is None or not meant:
            raise InvalidArgumentError(f"limit of '{device}': {text!r} is no number of bytes, as \"1GiB\"" if meant else
                                       f"limit of '{device}': unknown device; the devices are " +
                                       ", ".join(logical["name"] for logical in found["logical"]))
        for logical in meant:
            logical["limit"] = int(size[1]) << 10 * ("B", "KiB", "MiB", "GiB", "TiB").index(size[2] or "B")
    return json.dumps(found).encode()


def _matches(library, pattern, name):
    handles = [ctypes.c_void_p(), ctypes.c_void_p()]
    try:
        for text, handle in zip((pattern, name), handles):
            _library.check(library.gantry_device_name_parse(text.encode(), ctypes.byref(handle)))
        return bool(library.gantry_device_name_matches(*handles))
    finally:
        for handle in handles:
            library.gantry_device_name_destroy(handle)
