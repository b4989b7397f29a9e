"""Plans: compiled graphs, loaded; sessions that run them; the variables that sessions share.

>>> plan = gt.compile("model.onnx", dims={"batch": 8})
>>> outputs = plan.session().run(x=values)          # a dict of Arrays by name
"""

import collections
import concurrent.futures
import ctypes
import json
import math
import os
import sys
import threading
import time

import numpy as np

from . import _c, _disk, _library, _notebook, _runtime
from ._compile import check_options, check_source, compile_source, flags_of, request_of
from ._donate import Donated, Gift, take
from ._files import content_of, whole_file
from ._show import Shown, timeline_of
from ._tensors import File, Stored, as_values, is_safetensors, match, texts
from ._wait import interruptible, raise_kept
from .array import Array, GivenTo, _known, array as make_array, as_numpy, borrow, type_of
from .dtypes import BY_NUMBER, bfloat16, uint16
from .errors import GantryError, InvalidArgumentError, NotFoundError


class Port(collections.namedtuple("Port", "name dtype shape device")):
    """An input, output or variable."""

    __slots__ = ()

    @property
    def size(self):
        """How many elements it has."""
        return math.prod(self.shape)


# A run without loops that took less is made on the calling thread from then on, where Ctrl-C waits for its end.
_SHORT = 0.02


def compile(source, *, dims=None, values=None, outputs=(), devices=None, limit=None, **options):
    """Compiles a graph, a path to an .onnx or .mlir file or its bytes, and loads the plan.

    dims       sizes of dimensions that the file leaves open: {"batch": 8}, or several: {"batch": [1, 8]}
    values     inputs that decide shapes, by name
    outputs    values to end the graph at, instead of its own outputs: ["features"]
    devices    to compile for, instead of those of this process: "CPU:0,GPU:0"
    placement  "default", "follow", "auto";   rules  ["MatMul=GPU:1"];   lock  a file of placements
    copies     "auto", "explicit";   max_copy  bytes a run: {"d2h": 0};   soft  True: requests may soften
    donate     inputs whose arrays calls may give away: ["w"], see gantry.donate
    replicate  devices among which the batch is split;   flags  any of the tool's, "math=tf32"
    limit      bytes that a device has for the plan, of those of this process: {"GPU:0": "1GiB"}

    Errors are the compiler's, with the place in the file; `diagnostics` of the exception has all of them.
    """
    check_options(options, "compile")
    flags = flags_of(dims=dims, outputs=outputs, devices=devices, **options)
    if hasattr(source, "_compile"):
        return source._compile(flags, values, limit)
    check_source(source)
    is_file = isinstance(source, (str, os.PathLike))  # bytes may be large, and would be kept with the plan
    is_known = is_file or isinstance(source, (bytes, bytearray, memoryview))  # else the error says what it is
    plan = kept(request_of(source, flags, values, limit) if is_known else None,
                lambda: compile_source(source, flags, values, own_devices=devices is not None, limit=limit)).hold()
    plan._asked = source if is_file else None, flags, values, devices is not None
    return plan


def kept(request, make):
    """The plan of a request from the disk, else of the artifact that `make` compiles, which is kept there."""
    path, said = _disk.find(request) if request else (None, None)
    if path is not None:
        try:
            plan = load(path)
            plan.diagnostics = [tuple(each) for each in said]
            return plan
        except GantryError:
            _disk.forget(path)
    artifact, heard = make()
    if request:
        _disk.keep(request, artifact.bytes(), artifact.files(), heard)
    return Plan._from_artifact(artifact, heard)


def from_torch(module, *example, **options):
    """Compiles a PyTorch module, exported as ONNX for arguments like `example`; inputs are input0, input1, ... Options
    are compile's."""
    import io
    import torch
    file = io.BytesIO()
    torch.onnx.export(module, example, file, input_names=[f"input{i}" for i in range(len(example))])
    return compile(file.getvalue(), **options)


def load(source):
    """Loads a plan from a file or from bytes. Needs no compiler."""
    runtime, handle = _runtime.current(), ctypes.c_void_p()
    if isinstance(source, (bytes, bytearray, memoryview)):
        source = bytes(source)
        status = runtime.library.gantry_plan_load_memory(runtime.handle, ctypes.cast(source, ctypes.c_void_p),
                                                         len(source), _c.gantry_release_t(), None, ctypes.byref(handle))
        _library.check(status)
        return Plan(handle, data=source)
    _library.check(runtime.library.gantry_plan_load(runtime.handle, os.fspath(source).encode(), ctypes.byref(handle)))
    return Plan(handle, path=os.fspath(source))


class Function:
    """A function of a plan: what goes in and what comes out, in order."""

    def __init__(self, plan, index):
        library, handle = plan._library, plan._handle
        self.index = index
        self.name = library.gantry_plan_function_name(handle, index).decode()
        self.inputs = self._ports(library.gantry_plan_input, handle, library.gantry_plan_num_inputs(handle, index))
        self.outputs = self._ports(library.gantry_plan_output, handle, library.gantry_plan_num_outputs(handle, index))
        self.positions = {port.name: i for i, port in enumerate(self.inputs)}
        self.types = [type_of(port.dtype, port.shape, port.device) for port in self.outputs]
        over = (library.gantry_plan_output_over(handle, index, output) for output in range(len(self.outputs)))
        self.over = {under: output for output, under in enumerate(over) if under >= 0}  # outputs by the input below

    def _ports(self, describe, handle, count):
        ports, info = [], _c.gantry_tensor_info_t()
        for i in range(count):
            _library.check(describe(handle, self.index, i, ctypes.byref(info)))
            dims = ctypes.cast(info.dims, ctypes.POINTER(ctypes.c_int64))
            ports.append(Port(info.name.decode(), BY_NUMBER[info.element], tuple(dims[:info.rank]), _known(info.device)))
        return tuple(ports)

    def arrange(self, given):
        """Values by name in the order of the inputs."""
        if len(given) == len(self.inputs):
            try:
                return [given[port.name] for port in self.inputs]
            except KeyError:
                pass
        missing = [port.name for port in self.inputs if port.name not in given]
        unknown = [name for name in given if name not in self.positions]
        what = f"has no input '{unknown[0]}'" if unknown else f"needs the input '{missing[0]}'"
        listed = ", ".join(f"'{port.name}' {port.dtype}{list(port.shape)}" for port in self.inputs) or "none"
        raise NotFoundError(f"function '{self.name}' {what}; its inputs are {listed}")


class Plan(Shown):
    """A compiled graph: immutable, shared freely among threads."""

    def __init__(self, handle, data=None, path=None, artifact=None, diagnostics=()):
        self._library, self._handle = _library.runtime(), handle
        self._data, self._path, self._bytes_at, self._file = data, path, artifact, None
        self._lock, self._session, self._described = threading.Lock(), None, None
        self.diagnostics = list(diagnostics)
        self.functions = {}
        for index in range(self._library.gantry_plan_num_functions(handle)):
            function = Function(self, index)
            self.functions[function.name] = function

    @classmethod
    def _from_artifact(cls, artifact, diagnostics=()):
        """Loads a fresh plan from where the compiler left it."""
        runtime, handle = _runtime.current(), ctypes.c_void_p()
        place = (artifact.address, artifact.size)
        given, destroy = artifact.give_away()
        _library.check(runtime.library.gantry_plan_load_memory(runtime.handle, *place, destroy, given,
                                                               ctypes.byref(handle)))
        return cls(handle, artifact=place, diagnostics=diagnostics)

    def __del__(self, _may_release=_runtime.may_release):
        if getattr(self, "_handle", None) is not None and _may_release():
            self._library.gantry_plan_destroy(self._handle)
            if self._file is not None:
                self._file.close()

    # ---- looking ----

    def function(self, name=None):
        """The function of that name, or the plan's only one, or "main"."""
        if name is None:
            name = next(iter(self.functions)) if len(self.functions) == 1 else "main"
        if name not in self.functions:
            listed = ", ".join(f"'{known}'" for known in self.functions)
            raise NotFoundError(f"the plan has no function '{name}'; its functions are {listed}")
        return self.functions[name]

    @property
    def inputs(self):
        return self.function().inputs

    @property
    def outputs(self):
        return self.function().outputs

    @property
    def description(self):
        """Everything that the plan says about itself, as nested dicts; keys as in docs/PlanFormat.md, which the build makes."""
        if self._described is None:
            text = ctypes.c_char_p()
            _library.check(self._library.gantry_plan_describe_json(self._handle, ctypes.byref(text)))
            self._described = json.loads(text.value)
        return self._described

    @property
    def ops(self):
        """The placed ops of all functions: dicts with name, log_name, device."""
        return [op for function in self.description["functions"] for op in function.get("placed_ops", ())]

    has_loops = None  # whether any function has, where that is known

    def has_loop(self, function):
        """Whether how long a run takes depends on values."""
        if self.has_loops is not None:
            return self.has_loops
        blocks = self.description["functions"][function.index].get("blocks", ())
        return any(command["opcode"] == "loop" for block in blocks for command in block.get("commands", ()))

    def hold(self):
        """Keeps its file open, if it has one: other processes may remove what is kept on the disk."""
        if self._path is not None:
            self._file = open(self._path, "rb")
        return self

    def to_bytes(self):
        """The plan file."""
        if self._file is not None:
            return content_of(self._file)
        if self._data is not None:
            return self._data
        if self._bytes_at is not None:
            return ctypes.string_at(*self._bytes_at)
        with open(self._path, "rb") as file:
            return file.read()

    def save(self, path):
        """Writes the plan file, whole or not at all."""
        with whole_file(path) as file:
            file.write(self.to_bytes())

    # ---- running ----

    def session(self, state=None):
        """Memory to run the plan in; `state`: variables to share."""
        return Session(self, state)

    def pool(self, sessions=2, state=None):
        """Several sessions, so that runs can go on at once."""
        return Pool(self, sessions, state)

    def run(self, *args, **arrays):
        """Runs in a session that the plan keeps: see Session.run."""
        with self._lock:
            if self._session is None:
                self._session = Session(self)
        return self._session.run(*args, **arrays)


class Session:
    """One execution context. From any thread; runs of one session wait for one another."""

    def __init__(self, plan, state=None):
        self.plan, self._library, self._handle = plan, plan._library, ctypes.c_void_p()
        _runtime.current()
        _library.check(self._library.gantry_session_create(plan._handle, state._handle if state is not None else None,
                                                           ctypes.byref(self._handle)))
        self._state, self._is_short, self._executor, self._lock = state, {}, None, threading.Lock()

    def __del__(self, _may_release=_runtime.may_release):
        if getattr(self, "_handle", None) and _may_release():
            self._library.gantry_session_destroy(self._handle)

    @property
    def state(self):
        """The variables that the session uses; None when the plan has none."""
        if self._state is None:
            handle = ctypes.c_void_p()
            _library.check(self._library.gantry_session_state(self._handle, ctypes.byref(handle)))
            self._state = State(handle) if handle else None
        return self._state

    def run(self, *args, function=None, **arrays):
        """Runs a function once. Inputs by position or name: Arrays, NumPy arrays, numbers, `donate`d Arrays. Gives a
        dict of Arrays by output, where the plan leaves them."""
        chosen = self.plan.function(function)
        if args:
            arrays.update(zip((port.name for port in chosen.inputs), args))
            if len(args) > len(chosen.inputs):
                raise InvalidArgumentError(f"function '{chosen.name}' has {len(chosen.inputs)} inputs, got {len(args)}")
        inputs, given = [], {}
        for value, port in zip(chosen.arrange(arrays), chosen.inputs):
            if isinstance(value, Donated):
                given[len(inputs)] = GivenTo(f"input '{port.name}' of function '{chosen.name}'")
                value = value.array
            inputs.append(fit(value, port))
        outputs = self.call(chosen, inputs, given)
        return {port.name: output for port, output in zip(chosen.outputs, outputs)}

    def is_short(self, function):
        """Runs of the function are so short that Ctrl-C may wait for their end."""
        self._is_short[function.index] = True

    def call(self, function, inputs, given=None):
        """The same for Arrays in order, without looking at them; `given`: to whom those go that are given away, by
        position."""
        if _runtime.settings.log_placement:
            print("\n".join(self.plan.log(function.name)), file=sys.stderr)
        if self._is_short.get(function.index):
            raise_kept()
            return self._call(function, inputs, None, given)
        started = time.perf_counter()
        outputs = interruptible(lambda cancel: self._call(function, inputs, cancel, given))
        took = time.perf_counter() - started
        self._is_short[function.index] = took < _SHORT and not self.plan.has_loop(function)
        return outputs

    def _call(self, function, inputs, cancel, given=None):
        count = len(function.outputs)
        handles = (ctypes.c_void_p * len(inputs))(*[value._handle for value in inputs])
        made = (ctypes.c_void_p * count)()
        gifts = take(function, inputs, given) if given else ()
        for gift in gifts:
            if gift.output is not None:
                made[gift.output] = gift.handle
        status = self._library.gantry_session_call(self._handle, function.index, handles, len(inputs), made, count, cancel)
        for gift in gifts:
            if status == _c.DOES_NOT_FIT:  # nothing was run
                gift.give_back()
            elif status or gift.output is None:
                gift.drop()
        if status:
            _runtime.current()
            _library.check(status)
        return [Array._wrap(handle, port.shape, port.dtype, port.device, None, kind)
                for handle, port, kind in zip(made, function.outputs, function.types)]

    def submit(self, *args, **arrays):
        """The same as a concurrent.futures.Future; runs of one session go one after the other."""
        with self._lock:
            if self._executor is None:
                self._executor = concurrent.futures.ThreadPoolExecutor(1, "gantry-session")
        return self._executor.submit(self.run, *args, **arrays)

    def timeline(self, width=None):
        """What the last run did when, on simulated devices, as Plan.timeline has it of a predicted one."""
        return timeline_of(self, width)

    def bind(self, function=None, **arrays):
        """Inputs bound once for many runs: see Bound. An output lies in what is `donate`d, so that each run goes on
        from what the one before has left."""
        return Bound(self, self.plan.function(function), arrays)


class Bound:
    """Inputs and outputs that stay where they are from run to run: the fastest way to run the same again. NumPy
    arrays that are contiguous and of the right type are read in place at each run; for one thread."""

    def __init__(self, session, function, arrays):
        self._session, self._library, self._handle = session, session._library, ctypes.c_void_p()
        self._function, self._kept = function, []
        _library.check(self._library.gantry_bindings_create(session.plan._handle, function.index,
                                                            ctypes.byref(self._handle)))
        for index, (value, port) in enumerate(zip(function.arrange(arrays), function.inputs)):
            is_given = isinstance(value, Donated)
            value = self._own(value.array, index, port) if is_given else fit(value, port)
            self._kept.append(value)
            _library.check(self._library.gantry_bindings_set_input_array_at(self._handle, index, value._handle))
            if is_given:
                _library.check(self._library.gantry_bindings_set_output_array_at(self._handle, function.over[index],
                                                                                 value._handle))
        self._run, self._address = self._library.gantry_session_run, session._handle

    def __del__(self, _may_release=_runtime.may_release):
        if getattr(self, "_handle", None) and _may_release():
            self._library.gantry_bindings_destroy(self._handle)

    def _own(self, array, index, port):
        """The array that is given away as one that only the input and the output over it are."""
        if index not in self._function.over:
            raise InvalidArgumentError(f"input '{port.name}' of function '{self._function.name}' cannot be given away: no "
                                       "output lies in it; compile with donate, and look for remarks in plan.diagnostics")
        if array.dtype is not port.dtype or array.shape != port.shape:
            raise _misfit(array.dtype, array.shape, port)
        gift = Gift(array, GivenTo(f"input '{port.name}' of function '{self._function.name}'"))
        held = Array._wrap(gift.handle, array.shape, array.dtype, array.device, gift.kept)
        return held if held.device == port.device and gift.is_alone() else held.copy_to(port.device)

    def run(self):
        """One run to its end, on this thread."""
        status = self._run(self._address, self._handle)
        if status:
            _library.check(status)

    @property
    def outputs(self):
        """Arrays over the outputs, by name: each run writes them again."""
        found = {}
        for index, port in enumerate(self._function.outputs):
            handle = ctypes.c_void_p()
            _library.check(self._library.gantry_bindings_output_array_at(self._handle, index, ctypes.byref(handle)))
            found[port.name] = Array._wrap(handle.value, port.shape, port.dtype, port.device, self)
        return found


class Pool:
    """Sessions of one plan, each run on one that is free."""

    def __init__(self, plan, sessions, state=None):
        self._executor = concurrent.futures.ThreadPoolExecutor(sessions, "gantry-pool")
        self._free = [Session(plan, state) for _ in range(sessions)]

    def submit(self, *args, **arrays):
        return self._executor.submit(self._run, args, arrays)

    def _run(self, args, arrays):
        session = self._free.pop()
        try:
            return session.run(*args, **arrays)
        finally:
            self._free.append(session)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._executor.shutdown()


class State:
    """Variables by name: a mapping whose values are Arrays on their devices. Reading gives a copy."""

    def __init__(self, handle=None):
        self._library = _library.runtime()
        if handle is None:
            runtime, handle = _runtime.current(), ctypes.c_void_p()
            _library.check(self._library.gantry_state_create_empty(runtime.handle, ctypes.byref(handle)))
        self._handle = handle

    def __del__(self, _may_release=_runtime.may_release):
        if getattr(self, "_handle", None) and _may_release():
            self._library.gantry_state_destroy(self._handle)

    @property
    def variables(self):
        """Name, type and device of each, without the mirrors."""
        found, info = [], _c.gantry_tensor_info_t()
        for index in range(self._library.gantry_state_num_variables(self._handle)):
            if self._library.gantry_state_mirror_of(self._handle, index):
                continue
            _library.check(self._library.gantry_state_variable(self._handle, index, ctypes.byref(info)))
            dims = ctypes.cast(info.dims, ctypes.POINTER(ctypes.c_int64))
            found.append(Port(info.name.decode(), BY_NUMBER[info.element], tuple(dims[:info.rank]), _known(info.device)))
        return found

    @property
    def names(self):
        return [variable.name for variable in self.variables]

    def __len__(self):
        return len(self.names)

    def __iter__(self):
        return iter(self.names)

    def __contains__(self, name):
        return name in self.names

    def _repr_html_(self):
        return _notebook.state(self)

    def __getitem__(self, name):
        handle = ctypes.c_void_p()
        _library.check(self._library.gantry_state_array(self._handle, name.encode(), ctypes.byref(handle)))
        return Array._adopt(handle.value)

    def __setitem__(self, name, value):
        """Writes a variable, and adds one that is not there."""
        known = {variable.name: variable for variable in self.variables}
        if name not in known:
            self._add(name, value if isinstance(value, Array) else make_array(value))
            return
        port = known[name]
        values, kind = as_numpy(value, None if hasattr(value, "dtype") else port.dtype)
        if (kind, values.shape) != (port.dtype, port.shape):
            raise InvalidArgumentError(f"variable '{name}': expected {port.dtype}{list(port.shape)}, got "
                                       f"{kind}{list(values.shape)}")
        _library.check(self._library.gantry_state_write(self._handle, name.encode(), values.ctypes.data, values.nbytes))

    def extend(self, plan):
        """Adds those variables of a plan that are not there, with the plan's values."""
        _library.check(self._library.gantry_state_extend(self._handle, plan._handle))

    def load(self, mapping, map=None, strict=False):
        """Writes variables, all or none, from a mapping, or from a .safetensors or .npz file; gives (missing, unknown), names of
        variables that it lacks and of values that were no variable's, which are added.

        map     other names: a dict of the file's names, or a function of them; what it gives is a variable's name, or
                (name, axes) where that one's axes are in another order, or None to pass a value over
        strict  True: NotFoundError for missing and for unknown ones
        """
        if not isinstance(mapping, (str, bytes, os.PathLike)):
            return self._load({name: Stored(*as_numpy(value)) if hasattr(value, "dtype") else value
                               for name, value in mapping.items()}, "the mapping", map, strict)
        path = os.fsdecode(mapping)
        if is_safetensors(path):
            with File(path) as file:
                return self._load(file.tensors, f"'{path}'", map, strict)
        with np.load(path) as file:
            return self._load({name: Stored(*as_numpy(value)) for name, value in file.items()}, f"'{path}'", map, strict)

    def _load(self, values, where, map, strict):
        known = {port.name: port for port in self.variables}
        for name, value in values.items():
            port = known.get(name)
            if not isinstance(value, Stored):  # plain numbers take the variable's type
                value = values[name] = Stored(*as_numpy(value, port and port.dtype))
            if map is None and port and (value.dtype, value.values.shape) != (port.dtype, port.shape):
                if (value.dtype, port.dtype) != (uint16, bfloat16) or value.values.shape != port.shape:
                    raise InvalidArgumentError(f"variable '{name}': expected {port.dtype}{list(port.shape)}, got "
                                               f"{value.dtype}{list(value.values.shape)}")
                values[name] = Stored(value.values, bfloat16)  # as NumPy has it, which lacks bfloat16
        found, names = match(values, {name: (port.dtype, port.shape) for name, port in known.items()}, where, map, strict)
        self._write(found)
        for name in names.unknown:
            kept = values[name]
            self._add(name, make_array(kept.values, dtype=kept.dtype))
        return names

    def _write(self, found):
        given = as_values(found)
        _library.check(self._library.gantry_state_write_values(self._handle, given, len(given)))

    def _add(self, name, made):
        _library.check(self._library.gantry_state_add(self._handle, name.encode(), made._handle))

    def _save(self, path, metadata):
        _library.check(self._library.gantry_state_save(self._handle, os.fsencode(path), metadata))

    def save(self, path, metadata=None):
        """Writes all variables, whole or not at all: to a .safetensors file, with texts by name, which is on the disk then; else to
        an .npz file."""
        if is_safetensors(path):
            self._save(path, texts(metadata))
            return
        if metadata:
            raise InvalidArgumentError("an .npz file has no metadata; a file that ends in .safetensors has")
        with whole_file(path) as file:
            np.savez(file, **{name: self[name].numpy() for name in self})


def fit(value, port):
    """A value as an input takes it: an Array of its type that the session can read."""
    if isinstance(value, Array):
        if value.dtype is not port.dtype or value.shape != port.shape:
            raise _misfit(value.dtype, value.shape, port)
        return value if value.device == port.device or value.device.type == "CPU" else value.to(port.device)
    plain = not hasattr(value, "dtype")
    values, kind = as_numpy(value, port.dtype if plain else None)
    if kind is not port.dtype or values.shape != port.shape:
        raise _misfit(kind, values.shape, port)
    return borrow(values)


def _misfit(dtype, shape, port):
    return InvalidArgumentError(f"input '{port.name}': expected {port.dtype}{list(port.shape)}, got "
                                f"{dtype}{list(shape)}")
