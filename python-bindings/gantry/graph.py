"""Graphs, made call by call: the compiler's own builder infers types and verifies, so that a mistake is an error
at the line that makes it. A graph's text is a file that `gantry run` takes."""

import contextlib
import ctypes
import operator
import os
import sys
import threading

import numpy as np

from . import _c, _disk, _library, _runtime
from ._compile import Listener, compile_source, compiler, flags_of, request_of
from ._show import Outline
from ._operators import Operators, fixed
from ._turns import caller, kept as kept_in_calls
from .array import Array, Reads, as_numpy, dims_of, fit_number
from .device import request as device_request, resolve
from .dtypes import BY_NUMBER, as_dtype
from .errors import InvalidArgumentError

_SOFT = {None: _c.SOFT_UNSET, "strict": _c.SOFT_STRICT, "prefer": _c.SOFT_PREFER, "any": _c.SOFT_ANY}
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MOST_RESULTS = 65536  # of an op with regions, as a gradient for many parameters on many devices
_local = kept_in_calls(threading.local())


def tracing():
    """The graph that ops go into on this thread; None where they are computed at once."""
    return getattr(_local, "graph", None)


@contextlib.contextmanager
def suspended():
    """Inside, ops are computed at once, also while a function is traced."""
    before, _local.graph = tracing(), None
    try:
        yield
    finally:
        _local.graph = before


class Value(Operators):
    """A value of a graph: known by type alone until the graph runs."""

    __slots__ = ("graph", "number", "made_by", "logits", "mask", "_shape", "_dtype", "_device")
    shape, dtype, device = fixed("shape", "reshape"), fixed("dtype", "astype"), fixed("device", "a scope")

    def __init__(self, graph, number, device=None, made_by=None):
        self.graph, self.number, self.made_by, self._device = graph, number, made_by, device
        # What a softmax was made of, and which steps of a sequence count, where somebody keeps that: gantry.compat.tf.
        self.logits, self.mask = None, None
        info = _c.gantry_tensor_type_t()
        graph._check(graph._library.gantry_graph_value_type(graph._handle, number, ctypes.byref(info)))
        self._dtype = BY_NUMBER[info.element]
        dims = ctypes.cast(info.dims, ctypes.POINTER(ctypes.c_int64))
        self._shape = tuple(dims[:info.rank])

    @property
    def ndim(self):
        return len(self.shape)

    def __repr__(self):
        return f"Value({self.dtype}{list(self.shape)})"

    def _unknown(self, what):
        raise InvalidArgumentError(f"{what} wants the value of {self!r}, which is not known while a function is "
                                   "traced; use gantry.cond, gantry.while_loop or ops, or return it")

    def __bool__(self):
        self._unknown("a condition")

    def __float__(self):
        self._unknown("float()")

    def __int__(self):
        self._unknown("int()")

    def numpy(self):
        self._unknown("numpy()")

    def __array__(self, *_, **__):
        self._unknown("NumPy")


def user_frame():
    """File and line of the innermost frame outside of this package."""
    for frame in (sys._getframe(1), caller()):
        while frame is not None and frame.f_code.co_filename.startswith(_HERE):
            frame = frame.f_back
        if frame is not None:
            break
    return (frame.f_code.co_filename, frame.f_lineno) if frame else (None, 0)


def _type(dtype, shape):
    """A tensor's type for C, and what must live as long."""
    if any(size < 0 for size in shape):
        raise InvalidArgumentError(f"the shape {list(shape)} has a size below 0")
    if any(size >= 2**63 for size in shape):
        raise InvalidArgumentError(f"the shape {list(shape)} has a size that has more than 63 bits")
    dims = dims_of(shape)
    return _c.gantry_tensor_type_t(element=dtype.number, rank=len(shape), dims=ctypes.addressof(dims)), dims


def _int64(name, value):
    number = operator.index(value)
    if not -2**63 <= number < 2**63:
        raise InvalidArgumentError(f"attribute '{name}' is {number}, which has more than 64 bits")
    return number


def _attribute(name, kind, value, kept):
    """An attribute for C; `kept` gets what must live as long."""
    made = _c.gantry_attribute_t(name=name.encode(), kind=kind)
    try:
        if kind in (_c.ATTRIBUTE_UNIT, _c.ATTRIBUTE_INT):
            made.value.integer = _int64(name, value)
        elif kind == _c.ATTRIBUTE_FLOAT:
            made.value.number = float(value)
        elif kind in (_c.ATTRIBUTE_INTS, _c.ATTRIBUTE_FLOATS):
            values = [_int64(name, each) for each in value] if kind == _c.ATTRIBUTE_INTS else list(value)
            array = ((ctypes.c_int64 if kind == _c.ATTRIBUTE_INTS else ctypes.c_double) * max(1, len(values)))(*values)
            kept.append(array)
            made.count = len(values)
            made.value.integers = ctypes.addressof(array)
        else:
            kept.append(value.encode())
            made.value.text = kept[-1]
    except (TypeError, AttributeError, ValueError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        wanted = ("a bool", "an int", "a float", "a text", "a list of ints", "a list of floats")
        what = wanted[kind] if kind < len(wanted) else "a text"
        raise InvalidArgumentError(f"attribute '{name}' is {what}, got {value!r}") from None
    return made


class Graph:
    """Functions of ops. `text` is MLIR that `gantry run` takes; compile(graph) makes a Plan."""

    def __init__(self, name="graph"):
        self._library, self._listener, handle = _library.compiler(), Listener(), ctypes.c_void_p()
        options = _library.sized(_c.gantry_graph_options_t, name=name.encode(), diagnose=self._listener.callback)
        self._handle = None
        made = self._library.gantry_graph_create(compiler(), ctypes.byref(options), ctypes.byref(handle))
        _library.check_compiler(made)
        self._handle, self.name, self._place, self._draws = handle, name, None, None
        self.variables, self._bound, self._depth = {}, {}, 0  # by name; arguments that stand for variables; regions
        self.assigned = set()  # names of variables
        self.replica, self.shared_by = None, ()  # what is traced for some rows of a batch, and devices that have rows: distribute.py

    def __del__(self, _may_release=_runtime.may_release):
        if getattr(self, "_handle", None) is not None and _may_release():
            self._library.gantry_graph_destroy(self._handle)

    def _check(self, status):
        heard, self._listener.heard = self._listener.heard, []
        _library.check_compiler(status, heard)

    def locate(self):
        """What is made next comes from the user's line."""
        place = user_frame()
        if place != self._place:
            self._place = place
            file = os.path.basename(place[0]).encode() if place[0] else None
            self._check(self._library.gantry_graph_location(self._handle, file, place[1], 1))

    @property
    def draws(self):
        """Where the random numbers come from that it draws: see random.py."""
        if self._draws is None:
            from .random import Draws
            self._draws = Draws(self)
        return self._draws

    # ---- making ----

    def begin(self, name="main"):
        self._check(self._library.gantry_graph_function(self._handle, name.encode()))

    def argument(self, name, dtype, shape, device=None):
        kind, _kept = _type(as_dtype(dtype), shape)
        given = _library.sized(_c.gantry_graph_argument_t, name=name.encode(), type=kind,
                               device=device.name.encode() if device is not None else None)
        number = ctypes.c_uint32()
        self._check(self._library.gantry_graph_argument(self._handle, ctypes.byref(given), ctypes.byref(number)))
        return Value(self, number.value, device)

    def constant(self, values, dtype=None, device=None):
        """A value that is known now; an Array's asks for the array's device."""
        if isinstance(values, Array) and device is None:
            device = values.device
        made, kind = as_numpy(values, dtype)
        wanted, _kept = _type(kind, made.shape)
        given = _library.sized(_c.gantry_graph_constant_t, type=wanted, data=made.ctypes.data)
        number = ctypes.c_uint32()
        with self.scope(device if device is not None and device.type == "GPU" else None):
            self._check(self._library.gantry_graph_constant(self._handle, ctypes.byref(given), ctypes.byref(number)))
        return Value(self, number.value)

    @contextlib.contextmanager
    def scope(self, device):
        """Ops that are made inside ask for the device; none: nothing changes."""
        if device is None:
            yield
            return
        self._check(self._library.gantry_graph_push_device(self._handle, device.given.encode(), _SOFT[device.soft]))
        try:
            yield
        finally:
            self._check(self._library.gantry_graph_pop_device(self._handle))

    def value(self, operand, like=None):
        """An operand as a value of this graph: numbers take the element type of `like`."""
        if isinstance(operand, Value):
            if operand.graph is not self:
                raise InvalidArgumentError(f"{operand!r} is of another function, which has been traced already; "
                                           "return it from there")
            return operand
        if isinstance(operand, Reads):
            return self.read(operand)
        if isinstance(operand, np.generic):
            operand = operand.item()
        if like is None or hasattr(operand, "dtype"):
            return self.constant(operand)
        return self.constant(fit_number(operand, like), like)

    def _request(self, name, operands, attributes, results, label, kept):
        given = [_attribute(*attribute, kept) for attribute in attributes
                 if attribute[2] is not None and not (attribute[1] == 0 and not attribute[2])]
        listed = (_c.gantry_attribute_t * max(1, len(given)))(*given)
        numbers = (ctypes.c_uint32 * max(1, len(operands)))(*[value.number for value in operands])
        kept += [listed, numbers]
        request = _library.sized(_c.gantry_graph_op_t, name=name.encode(), operands=ctypes.addressof(numbers),
                                 num_operands=len(operands), attributes=listed, num_attributes=len(given),
                                 label=label.encode() if label else None)
        if results:
            made = [_type(*result) for result in results]
            types = (_c.gantry_tensor_type_t * len(made))(*[kind for kind, _ in made])
            kept += [made, types]
            request.result_types, request.num_result_types = types, len(made)
        return request

    def op(self, name, operands, attributes=(), result=None, label=None, device=None):
        """Makes an op; gives its results."""
        kept, results, count = [], (ctypes.c_uint32 * 64)(), ctypes.c_size_t()
        request = self._request(name, operands, attributes, [result] if result is not None else (), label, kept)
        self._check(self._library.gantry_graph_op(self._handle, ctypes.byref(request), results, 64,
                                                  ctypes.byref(count)))
        return [Value(self, results[i], device, name) for i in range(count.value)]

    def apply(self, name, operands, attributes, device, label, result):
        """An op as the functions of gantry.ops ask for it, while a function is traced."""
        if name == "share" and self.replica is not None:
            return self.constant(self.replica.shard.share, "float32")
        like = next((operand.dtype for operand in operands if hasattr(operand, "dtype")), None)
        self.locate()
        values = [self.value(operand, like) for operand in operands if operand is not None]
        if result is not None:
            dtype = as_dtype(result[1]) if result[1] is not None else values[0].dtype
            shape = tuple(result[0]) if result[0] is not None else values[0].shape
            result = (dtype, shape)
        wanted = device_request(device)
        with self.scope(wanted):
            made = self.op(name, values, attributes, result, label, resolve(wanted, name))
        return made[0] if len(made) == 1 else tuple(made)

    # ---- variables ----

    def _declare(self, variable):
        """The attribute that names a variable, which the graph has from then on. Its value is the state's."""
        if variable.name not in self.variables:
            kind, _kept = _type(variable.dtype, variable.shape)
            initial = _library.sized(_c.gantry_graph_constant_t, type=kind, name=variable.name.encode())
            given = _library.sized(_c.gantry_graph_variable_t, initial=ctypes.pointer(initial),
                                   device=variable.device.name.encode(), soft=_c.SOFT_STRICT)
            self._check(self._library.gantry_graph_variable(self._handle, ctypes.byref(given)))
            self.variables[variable.name] = variable
        return "variable", _c.ATTRIBUTE_SYMBOL, variable.name

    def read(self, variable):
        """What a variable holds at this point of the program."""
        if variable in self._bound:
            return self._bound[variable][0]
        if variable.frozen:
            with suspended():
                value = variable._read()
            return self.constant(value)
        self.locate()
        return self.op("read", (), (self._declare(variable),), device=variable.device)[0]

    def assign(self, variable, value, add=False):
        """Gives a variable another value from here on, or adds one."""
        if self.replica is not None:
            return self.replica.assign(variable, value, add)
        self.locate()
        if self._bound.get(variable, (None, self._depth))[1] != self._depth:
            raise InvalidArgumentError(f"variable '{variable.name}' is assigned in a branch or loop of what is differentiated with "
                                       "respect to it; assign it there in front of the branch or loop, or behind it")
        made = self.value(value, variable.dtype)
        if not hasattr(value, "dtype") and not made.shape and variable.shape:
            made = self.op("broadcast", [made], result=(variable.dtype, variable.shape))[0]
        variable._check(made.dtype, made.shape)
        name = self._declare(variable)
        self.assigned.add(variable.name)
        if add and variable in self._bound:  # what is added to is the argument, so that it has a gradient
            made, add = self.op("add", [self.read(variable), made])[0], False
        self.op("assign_add" if add else "assign", [made], (name,))
        self._bound.pop(variable, None)

    def exchange(self, state):
        """Goes on with what another trace had of its own, one that takes turns with this one; gives what there was."""
        before = self._bound, self.replica, self.draws.mark()
        self._bound, self.replica = dict(state[0]), state[1]
        self.draws.back(state[2])
        return before

    @contextlib.contextmanager
    def bound(self, values):
        """Inside, variables are values, until they are assigned."""
        before = dict(self._bound)
        self._bound.update({variable: (value, self._depth) for variable, value in values.items()})
        try:
            yield
        finally:
            self._bound = before

    # ---- regions ----

    def begin_op(self, name, operands, attributes=(), results=()):
        """Begins an op with regions; without types of `results` they are what its last region yields."""
        kept = []
        self._check(self._library.gantry_graph_begin_op(
            self._handle, ctypes.byref(self._request(name, operands, attributes, results, None, kept))))

    def region(self, types, body):
        """The next region of the op that was begun: `body` gets its arguments and gives what it yields."""
        made = [_type(dtype, shape) for dtype, shape in types]
        listed = (_c.gantry_tensor_type_t * max(1, len(made)))(*[kind for kind, _ in made])
        numbers = (ctypes.c_uint32 * max(1, len(made)))()
        self._check(self._library.gantry_graph_begin_region(self._handle, listed, len(made), numbers))
        self._depth += 1
        try:
            yielded = body([Value(self, numbers[i]) for i in range(len(made))])
        finally:
            self._depth -= 1
        given = (ctypes.c_uint32 * max(1, len(yielded)))(*[value.number for value in yielded])
        self._check(self._library.gantry_graph_end_region(self._handle, given, len(yielded)))

    def end_op(self):
        results, count = (ctypes.c_uint32 * _MOST_RESULTS)(), ctypes.c_size_t()
        self._check(self._library.gantry_graph_end_op(self._handle, results, _MOST_RESULTS, ctypes.byref(count)))
        return [Value(self, results[i]) for i in range(count.value)]

    def outline(self, body):
        """What `body` gives; the ops that it makes are gone afterwards."""
        self.locate()
        self.begin_op("while", ())
        drawn, bound = self.draws.mark(), dict(self._bound)
        try:
            self._check(self._library.gantry_graph_begin_region(self._handle, None, 0, None))
            return body()
        finally:
            self.abandon_op()
            self.draws.back(drawn)
            self._bound = bound

    def abandon_op(self):
        self._check(self._library.gantry_graph_abandon_op(self._handle))

    def end(self, outputs):
        """Ends the function: pairs of name and value, each left where it was made."""
        listed = (_c.gantry_graph_output_t * max(1, len(outputs)))()
        for slot, (name, value) in zip(listed, outputs):
            slot.value, slot.name = value.number, name.encode()
            if value.device is not None and value.device.type != "CPU":
                slot.device = value.device.name.encode()
        self._check(self._library.gantry_graph_return(self._handle, listed, len(outputs)))

    @contextlib.contextmanager
    def traced(self):
        """Ops of this thread go into the graph."""
        before, _local.graph = tracing(), self
        try:
            yield self
        finally:
            _local.graph = before

    # ---- using ----

    @property
    def text(self):
        """The graph as MLIR."""
        return self._print(0)

    def _print(self, what):
        text = ctypes.c_char_p()
        self._check(self._library.gantry_graph_print(self._handle, what, ctypes.byref(text)))
        return text.value.decode()

    def save(self, path):
        """Writes the text, with the places that ops come from."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._print(_c.PRINT_LOCATIONS))

    def _compile(self, flags, values=None, limit=None):
        from .plan import kept
        # Places are in the plan, so they decide it as well.
        text = self._print(_c.PRINT_LOCATIONS).encode() if _disk.folder() else b""
        plan = kept(request_of(text, flags, values, limit),
                    lambda: compile_source(self._handle, flags, values, limit=limit)).hold()
        plan._asked, plan._shared_by = (self, flags, values, False), self.shared_by
        return plan

    def outlined(self, limit=None, **options):
        """What the plan would say of itself, in a fraction of the time; it cannot run."""
        made = Outline(compile_source(self._handle, flags_of(**options), limit=limit, outline=True)[0])
        made._shared_by = self.shared_by
        return made

    def plan(self, limit=None, **options):
        """The plan of the graph: options as gantry.compile has them."""
        return self._compile(flags_of(**options), limit=limit)
