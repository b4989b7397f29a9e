"""From a source and what is said about it to the bytes of a plan."""

import ctypes
import os
import re
import threading

from . import _c, _disk, _library, _runtime
from ._wait import interruptible
from .array import as_numpy, dims_of
from .errors import InvalidArgumentError

_SEVERITIES = ("note", "remark", "warning", "error", "progress")
_lock = threading.Lock()
_compiler = None


def compiler():
    """The compiler that all compilations share."""
    global _compiler
    with _lock:
        if _compiler is None:
            library, handle = _library.compiler(), ctypes.c_void_p()
            _library.check_compiler(library.gantry_compiler_create(None, ctypes.byref(handle)))
            _compiler = handle
        return _compiler


class Artifact:
    """What a compilation made; its bytes live until it is dropped or given away."""

    def __init__(self, handle):
        self.handle, size = handle, ctypes.c_size_t()
        self.address = _library.compiler().gantry_artifact_data(handle, ctypes.byref(size))
        self.size = size.value

    def bytes(self):
        return ctypes.string_at(self.address, self.size)

    def files(self):
        """What the compiler read besides the graph."""
        library = _library.compiler()
        count = library.gantry_artifact_num_files(self.handle)
        return [library.gantry_artifact_file(self.handle, index).decode() for index in range(count)]

    def give_away(self):
        """Handle and the function that gives it back, for whoever takes the bytes over."""
        handle, self.handle = self.handle, None
        destroy = ctypes.cast(_library.compiler().gantry_artifact_destroy, _c.gantry_release_t)
        return handle, destroy

    def __del__(self, _may_release=_runtime.may_release):
        if self.handle is not None and _may_release():
            _library.compiler().gantry_artifact_destroy(self.handle)


class Listener:
    """Collects what the compiler says, as tuples (severity, file, line, column, op, text)."""

    def __init__(self):
        self.heard = []
        self.callback = _c.gantry_diagnostic_callback_t(self._hear)

    def _hear(self, _, diagnostic):
        self._add(diagnostic[0])

    def _add(self, said):
        self.heard.append((_SEVERITIES[said.severity], said.file.decode(), said.line, said.column,
                           said.op.decode() or said.node.decode(), said.text.decode("utf-8", "replace")))
        notes = ctypes.cast(said.notes, ctypes.POINTER(_c.gantry_diagnostic_t))
        for index in range(said.num_notes):
            self._add(notes[index])


def value_list(values):
    """Named values as C takes them, and what must live as long."""
    made, kept = (_c.gantry_value_t * max(1, len(values)))(), []
    for slot, (name, given) in zip(made, values.items()):
        array, kind = as_numpy(given)
        dims = dims_of(array.shape)
        kept.append((array, dims))
        slot.name, slot.element, slot.rank = name.encode(), kind.number, array.ndim
        slot.dims, slot.data = ctypes.addressof(dims), array.ctypes.data
    return made, kept


_OPTIONS = ("dims", "devices", "placement", "rules", "lock", "max_copy", "copies", "soft", "donate", "replicate",
            "limit", "flags")


def check_options(options, caller):
    """Options by names that there are."""
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"{caller} has no option '{name}'; the options are {', '.join(_OPTIONS)}")


def flags_of(*, dims=None, devices=None, placement=None, rules=(), lock=None, max_copy=None, copies=None, soft=None,
             donate=(), replicate=None, outputs=(), flags=()):
    """The compile flags of the tool for what is said by name."""
    settings, made = _runtime.settings, []
    for name, sizes in (dims or {}).items():
        sizes = sizes if isinstance(sizes, (list, tuple)) else [sizes]
        made.append(f"dim={name}={','.join(str(size) for size in sizes)}")
    made += [f"outputs={name}" for name in ([outputs] if isinstance(outputs, str) else outputs)]
    if devices is not None:
        made.append("devices=" + (devices if isinstance(devices, str) else ",".join(map(repr, devices))))
        if settings.simulate and re.search("gpu|cuda", made[-1], re.IGNORECASE):  # else there is nothing to simulate
            made.append("simulate")
    placement = placement or settings.placement
    if placement != "default":
        made.append(f"placement={placement}")
    made += [f"place={rule}" for rule in ([rules] if isinstance(rules, str) else rules)]
    if lock is not None:
        made.append(f"placement-lock={os.fspath(lock)}")
    if max_copy is not None:
        budget = max_copy if isinstance(max_copy, str) else ",".join(f"{way}:{size}" for way, size in max_copy.items())
        made.append(f"max-copy={budget}")
    copies = copies or settings.copies
    if copies != "auto":
        made.append(f"copies={copies}")
    if settings.soft if soft is None else soft:
        made.append("soft-placement")
    made += [f"donate={name}" for name in ([donate] if isinstance(donate, str) else donate)]
    if replicate is not None:
        made.append("replicate=" + (replicate if isinstance(replicate, str) else ",".join(map(repr, replicate))))
    return made + list(flags)


def compile_source(source, flags, values=None, name=None, own_devices=False, why_not=None, is_short=False, limit=None,
                   outline=False):
    """Compiles a path, bytes or a graph's handle, within limits for devices. Gives the artifact and what was said. With `why_not`, an op and a
    device, the artifact is the text of what would have to change; an `outline` is a plan to be told of alone. What `is_short` is made on the calling thread, whose
    memory is at hand, and Ctrl-C waits for it."""
    library, listener = _library.compiler(), Listener()
    texts, count = _library.texts(flags)
    listed, kept = value_list(values or {})
    request = _library.sized(_c.gantry_compile_request_t, flags=texts, num_flags=count, values=listed,
                             num_values=len(values or {}), diagnose=listener.callback,
                             name=name.encode() if name else None, outline=int(outline))
    if not own_devices:
        request.topology = _runtime.limited(limit)
    if isinstance(source, ctypes.c_void_p):
        request.graph = source
    elif isinstance(source, (bytes, bytearray, memoryview)):
        source = bytes(source)
        request.data, request.data_size = ctypes.cast(source, ctypes.c_void_p), len(source)
    elif isinstance(source, (str, os.PathLike)):
        request.file = os.fspath(source).encode()
    else:
        raise TypeError(f"a source is a path, bytes or a Graph, not {type(source).__name__}")
    if request.graph is None:
        request.compiler = compiler()

    def call(cancel):
        request.cancel, handle = cancel, ctypes.c_void_p()
        if why_not:
            status = library.gantry_why_not(ctypes.byref(request), *(text.encode() for text in why_not), ctypes.byref(handle))
        else:
            status = library.gantry_compile(ctypes.byref(request), ctypes.byref(handle))
        _library.check_compiler(status, listener.heard)
        return Artifact(handle)

    artifact = call(None) if is_short else interruptible(call, library)
    del kept
    return artifact, listener.heard


# Flags whose effect is not in the plan alone, or that name programs which are not among the files read.
_NOT_KEPT = ("write-placement-lock", "stop-after", "print-ir-after-all", "verify-each", "gpu-arch", "cubins")


def request_of(source, flags, values, limit=None):
    """What decides a plan, for _disk; None when it is not to be kept. `source` is a path, bytes or a graph's text."""
    if any(flag.startswith(_NOT_KEPT) for flag in flags):
        return None
    where = None
    if isinstance(source, (str, os.PathLike)):
        path = os.path.abspath(os.fspath(source))
        if not os.path.isfile(path):
            return None  # a pipe can be read once, and some devices never end
        with open(path, "rb") as file:
            source, where = file.read(), path
    given = [(name, str(kind), array.shape, _disk.digest(array.tobytes()))
             for name, (array, kind) in ((name, as_numpy(value)) for name, value in sorted((values or {}).items()))]
    what = ("compile", where, len(source), _disk.digest(source), list(flags), given)
    return _disk.request_for(what, _runtime.limited(limit))


def check_source(source):
    """Why a source is no graph, before anything is opened."""
    if isinstance(source, (str, os.PathLike)) and not os.path.exists(source):
        raise InvalidArgumentError(f"there is no file '{os.fspath(source)}'")
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        raise InvalidArgumentError(f"'{os.fspath(source)}' is a folder, expected a graph")
