"""Functions that are traced once for each shape and then run as one plan.

>>> @gt.function
... def step(x, w):
...     return gt.relu(x @ w)
>>> step(x, w)                       # an Array
>>> print(step.lower(x, w).text)     # a file that `gantry run` takes
"""

import functools
import inspect
import threading

from ._apply import left, tapes
from ._compile import check_options
from .array import Array, GivenTo, Kept, Reads, array
from .device import asked
from .errors import InvalidArgumentError
from .graph import Graph, Value, tracing
from .random import Key, next_key
from .variable import extended, renew
from . import _c, _runtime, ops


class Same:
    """Something that is equal to itself alone, as a part of a structure."""

    __slots__ = ("held",)

    def __init__(self, held):
        self.held = held

    def __eq__(self, other):
        return isinstance(other, Same) and other.held is self.held

    def __hash__(self):
        return id(self.held)


def flatten(tree):
    """The leaves of nested tuples, lists and dicts, and what makes the same of other leaves; a key has one, variables and
    networks are none."""
    if isinstance(tree, Kept):
        return [], Same(tree)
    if isinstance(tree, Key):
        return [tree.operand()], (Key, ("leaf",))
    if isinstance(tree, (tuple, list)):
        parts = [flatten(branch) for branch in tree]
        return [leaf for leaves, _ in parts for leaf in leaves], (type(tree), tuple(shape for _, shape in parts))
    if isinstance(tree, dict):
        parts = [flatten(branch) for branch in tree.values()]
        return [leaf for leaves, _ in parts for leaf in leaves], (dict, tuple(tree), tuple(shape for _, shape in parts))
    if tree is None:
        return [], None
    return [tree], "leaf"


def read_all(tree):
    """The same with the values of variables in their place."""
    if isinstance(tree, Reads):
        return tree.read()
    if isinstance(tree, (tuple, list)):
        parts = [read_all(branch) for branch in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return {key: read_all(branch) for key, branch in tree.items()} if isinstance(tree, dict) else tree


def unflatten(shape, leaves):
    """The inverse; `leaves` is an iterator."""
    if shape == "leaf":
        return next(leaves)
    if shape is None:
        return None
    if isinstance(shape, Same):
        return shape.held
    if shape[0] is dict:
        return {key: unflatten(part, leaves) for key, part in zip(shape[1], shape[2])}
    made = [unflatten(part, leaves) for part in shape[1]]
    return shape[0](*made) if shape[0] is Key or hasattr(shape[0], "_fields") else shape[0](made)


def _are_keys(shape, is_key=False):
    """Of the leaves, which are those of keys."""
    if shape is None or isinstance(shape, Same):
        return []
    if shape == "leaf":
        return [is_key]
    return [each for part in shape[-1] for each in _are_keys(part, shape[0] is Key)]


class Specialisation:
    """The plan for some shapes, with what the function's result looks like."""

    def __init__(self, graph, shape, options, given):
        self.shape, self.given, self._draws = shape, given, graph.draws.key is not None
        self.plan = graph.plan(**options)
        self._variables = graph.variables  # which live as long
        state = extended(self.plan, graph.variables) if graph.variables else None
        self.session, self.function = self.plan.session(state), self.plan.function()
        self._assigned = graph.assigned
        self._mirrored = {each["mirror_of"] for each in self.plan.description.get("variables", ()) if each.get("mirror_of")}

    def __call__(self, arrays):
        if self._draws:
            arrays = [*arrays, next_key().operand()]
        made = unflatten(self.shape, iter(self.session.call(self.function, arrays, self.given)))
        if self._assigned:
            renew(self._assigned, self._mirrored)
        return made


class Function:
    """A Python function that runs as a plan: traced at the first call with each shape."""

    def __init__(self, python, static=(), donate=(), **options):
        functools.update_wrapper(self, python, updated=())
        self.__name__ = getattr(python, "__name__", type(python).__name__)
        self._python, self._options = python, options
        self._static = (static,) if isinstance(static, (int, str)) else tuple(static)
        self._donate = self._named((donate,) if isinstance(donate, (int, str)) else tuple(donate))
        self._made, self._lock = {}, threading.Lock()

    def __call__(self, *args, **kwargs):
        if tracing() is not None:
            return self._python(*args, **kwargs)
        if tapes():
            if any(tape.takes_functions for tape in tapes()):
                return self._python(*args, **kwargs)
            with left():
                return self(*args, **kwargs)
        leaves, key = self._look(args, kwargs)
        made = self._made.get(key)
        if made is None:
            with self._lock:  # threads that come at once share one trace
                made = self._made.get(key)
                if made is None:
                    given = self._given(args, kwargs)
                    made = self._made[key] = Specialisation(*self._trace(args, kwargs, leaves), self._all_options(given),
                                                            given)
        return made(leaves)

    def _parameters(self):
        return list(inspect.signature(self._python).parameters.values())

    def _named(self, wanted):
        """The names of parameters whose arrays are given away, by name or position."""
        if not wanted:
            return frozenset()
        names = [each.name for each in self._parameters() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
        for each in wanted:
            if each not in (range(len(names)) if isinstance(each, int) else names) or each in self._static:
                listed = ", ".join(f"'{name}'" for name in names) or "none"
                raise InvalidArgumentError(f"donate: {each!r} is no parameter of '{self.__name__}' that is an array; its "
                                           f"parameters are {listed}")
        return frozenset(names[each] if isinstance(each, int) else each for each in wanted)

    def _given(self, args, kwargs):
        """By leaf, to whom those arguments go that are given away."""
        if not self._donate:
            return None
        names = [each.name for each in self._parameters()
                 if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        owners = [(names[i] if i < len(names) else None, value) for i, value in enumerate(args) if i not in self._static]
        owners += [(name, value) for name, value in kwargs.items() if name not in self._static]
        leaves = [name for name, value in owners for _ in flatten(value)[0]]
        return {i: GivenTo(f"argument '{name}' of function '{self.__name__}'") for i, name in enumerate(leaves)
                if name in self._donate}

    def _all_options(self, given):
        return dict(self._options, donate=[f"input{i}" for i in given]) if given else self._options

    def _split(self, args, kwargs):
        """What is traced, and what is static."""
        traced = [value for i, value in enumerate(args) if i not in self._static]
        named = {name: value for name, value in kwargs.items() if name not in self._static}
        static = tuple((i, args[i]) for i in self._static if isinstance(i, int) and i < len(args))
        static += tuple((name, kwargs[name]) for name in self._static if name in kwargs)
        return (traced, named), static

    def _look(self, args, kwargs):
        """The arrays among the arguments, and the key of their specialisation."""
        tree, static = self._split(args, kwargs)
        leaves, shape = flatten(tree)
        leaves = [leaf if isinstance(leaf, Array) else array(leaf) for leaf in leaves]
        return leaves, (_freeze(shape), static, asked(), _runtime.version, tuple(leaf._type for leaf in leaves))

    def _trace(self, args, kwargs, leaves):
        """The function as a graph, and what its result looks like."""
        tree, _ = self._split(args, kwargs)
        _, shape = flatten(tree)
        graph = Graph(self.__name__)
        with graph.traced():
            graph.begin()
            # A key is small and may be wanted anywhere, so it has no place: it is copied also where copies are explicit.
            values = [graph.argument(f"input{i}", leaf.dtype, leaf.shape, None if is_key else leaf.device)
                      for i, (leaf, is_key) in enumerate(zip(leaves, _are_keys(shape)))]
            traced, named = unflatten(shape, iter(values))
            traced = iter(traced)
            all_args = [value if i in self._static else next(traced) for i, value in enumerate(args)]
            named.update({name: kwargs[name] for name in self._static if name in kwargs})
            results, result_shape = flatten(read_all(self._python(*all_args, **named)))
            graph.end([(f"output{i}", graph.value(result)) for i, result in enumerate(results)])
        return graph, result_shape

    def lower(self, *args, **kwargs):
        """The graph for these arguments: `.text`, `.save(path)`, `.plan()`."""
        return self._trace(args, kwargs, self._look(args, kwargs)[0])[0]

    def plan(self, *args, **kwargs):
        """The plan that a call with these arguments runs."""
        return self.lower(*args, **kwargs).plan(**self._all_options(self._given(args, kwargs)))


def _freeze(shape):
    return tuple(_freeze(part) for part in shape) if isinstance(shape, (tuple, list)) else shape


def function(python=None, *, static=(), donate=(), **options):
    """Makes a Function of a Python function, as a decorator with or without options.

    static: positions or names of arguments that are not arrays; each value is traced by itself. donate: positions or
    names of those whose arrays a call takes for good, so that a result of the same type lies in their memory: using them
    afterwards is an error. Options are those of gantry.compile: placement, copies, max_copy, rules. Arrays that the
    function refers to become constants.
    """
    check_options(options, "function")
    if python is None:
        return lambda wanted: Function(wanted, static, donate, **options)
    return Function(python, static, donate, **options)


def _yield_all(graph, tree, what="", expected=None, whose=""):
    """The values and the structure of what a part gives; `expected`: those that it has to have, and whose they are."""
    leaves, shape = flatten(read_all(tree))
    values = [graph.value(leaf) for leaf in leaves]
    if expected is not None:
        own, wanted = (_outline(structure, iter(each)) for each, structure in ((values, shape), expected))
        if own != wanted:
            raise InvalidArgumentError(f"{what} gives {own}, and {whose} {wanted}; these have to be the same")
    return values, shape


def _truth(graph, given, what):
    value = graph.value(given)
    if value.dtype != "bool" or value.shape:
        raise InvalidArgumentError(f"the condition of a {what} is one truth value, got {value.dtype}{list(value.shape)}")
    return value


def _outline(shape, values):
    """Types in the structure that they are in."""
    if shape == "leaf":
        value = next(values)
        return f"{value.dtype}{list(value.shape)}"
    if not isinstance(shape, tuple):
        return "nothing" if shape is None else "a network or variable"
    parts = [_outline(each, values) for each in shape[-1]]
    if shape[0] is dict:
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(shape[1], parts)) + "}"
    return f"[{', '.join(parts)}]" if shape[0] is list else f"({', '.join(parts)})"


def _recorded(what):
    """The graph that is traced; refuses what tapes cannot hear of."""
    graph = tracing()
    if graph is not None and tapes():
        raise InvalidArgumentError(f"a tape cannot record gantry.{what} in a function; gantry.value_and_grad differentiates it")
    return graph


def cond(predicate, on_true, on_false, *operands):
    """on_true(*operands) or on_false(*operands); both give the same types."""
    graph = _recorded("cond")
    if graph is None:
        return (on_true if bool(predicate) else on_false)(*operands)
    given = []

    def branch(python):
        def body(_):
            given.append(_yield_all(graph, python(*operands), "on_false", given[0] if given else None, "on_true"))
            return given[-1][0]
        return body

    graph.locate()
    graph.begin_op("if", [_truth(graph, predicate, "branch")])
    try:
        graph.region((), branch(on_true))
        graph.region((), branch(on_false))
    except BaseException:
        graph.abandon_op()
        raise
    return unflatten(given[0][1], iter(graph.end_op()))


def while_loop(condition, body, init, at_most=None):
    """Runs `body` on what it gave last, first on `init`, as long as `condition` of that holds.

    at_most  how many rounds there are at most. A loop has gradients where this bounds it, or its condition compares a counter
             with a constant; in a function a round beyond ends the run: InvalidArgumentError, and no variable has changed
    """
    if at_most is not None and (not isinstance(at_most, int) or isinstance(at_most, bool) or at_most < 0):
        raise InvalidArgumentError(f"at_most is a number of rounds, got {at_most!r}")
    graph = _recorded("while_loop")
    if graph is None:
        state, rounds = init, 0
        while bool(condition(state)):
            if rounds == at_most:
                raise InvalidArgumentError(f"the loop goes on after the {at_most} round{'' if at_most == 1 else 's'} that it has at most; a "
                                           "larger at_most gives it more")
            state, rounds = body(state), rounds + 1
        return state
    with graph.draws.loop() as loop:
        drawn = graph.draws.mark()
        shape = _trace_loop(graph, condition, body, init, at_most)
        if not loop.draws:
            return unflatten(shape, iter(graph.end_op()))
        # What each round draws anew needs its number.
        graph.abandon_op()
        graph.draws.back(drawn)
        shape = _trace_loop(graph, lambda state: loop.at(state[0], condition, state[1]),
                            lambda state: (state[0] + 1, loop.at(state[0], body, state[1])),
                            (graph.constant(0, "int64"), init), at_most)
        return unflatten(shape, iter(graph.end_op()))[1]


def _trace_loop(graph, condition, body, init, at_most):
    """Makes the loop but for its end; gives the structure of its state."""
    leaves, shape = flatten(init)
    values = [graph.value(leaf) for leaf in leaves]
    types = [(value.dtype, value.shape) for value in values]
    graph.locate()
    graph.begin_op("while", values, [("at_most", _c.ATTRIBUTE_INT, at_most)])
    try:
        graph.region(types, lambda given: [_truth(graph, condition(unflatten(shape, iter(given))), "loop")])
        graph.region(types, lambda given: _yield_all(graph, body(unflatten(shape, iter(given))), "the body of a loop", (values, shape),
                                                       "what goes into it is")[0])
    except BaseException:
        graph.abandon_op()
        raise
    return shape


def scan(body, init, xs=None, length=None, reverse=False):
    """Steps that hand something on and leave something behind: `carry, y = body(carry, x)` for each slice x of xs along
    the first dimension. Gives the last carry, and the ys stacked along a new first dimension.

    carry, x and y are arrays or trees of them; y may be None, and so may xs with a `length`. With `reverse` the last slice comes
    first; the ys lie where their slices do.
    """
    graph = tracing()
    make = graph.value if graph is not None else lambda leaf: leaf if isinstance(leaf, Array) else array(leaf)
    leaves, shape = flatten(xs)
    leaves = [make(leaf) for leaf in leaves]
    length = _scan_length(leaves, length)
    first, carry_shape = flatten(init)
    init = unflatten(carry_shape, iter([make(leaf) for leaf in first]))

    def step(index, carry):
        """The carry after a step, and the leaves and structure of what it leaves behind."""
        given = body(carry, unflatten(shape, iter([ops.gather(leaf, index, 0) for leaf in leaves])))
        if not isinstance(given, tuple) or len(given) != 2:
            raise InvalidArgumentError(f"the body of a scan gives a carry and what is stacked, as a pair; got {given!r}")
        ys, ys_shape = flatten(given[1])
        return given[0], [make(y) for y in ys], ys_shape

    def put(stacked, ys, index):
        return [ops.set_slice(whole, y, index, 0) for whole, y in zip(stacked, ys)]

    if graph is None:
        carry, stacked = init, None
        for i in reversed(range(length)) if reverse else range(length):
            index = array(i)
            carry, ys, ys_shape = step(index, carry)
            if stacked is None:
                stacked = [ops.broadcast(array(0, dtype=y.dtype, device=y.device), (length, *y.shape)) for y in ys]
            stacked = put(stacked, ys, index)
        return carry, unflatten(ys_shape, iter(stacked))

    # The types of what is stacked are known once a step is traced, which leaves no trace.
    kinds, ys_shape = graph.outline(lambda: _kinds(*step(graph.value(0), init)[1:]))

    def onwards(state):
        index, carry, stacked = state
        carry, ys, _ = step(index, carry)
        return index - 1 if reverse else index + 1, carry, put(stacked, ys, index)

    stacked = [ops.broadcast(graph.constant(0, dtype), (length, *dims)) for dtype, dims in kinds]
    going = (lambda state: state[0] >= 0) if reverse else (lambda state: state[0] < length)
    _, carry, stacked = while_loop(going, onwards, (graph.value(length - 1 if reverse else 0), init, stacked))
    return carry, unflatten(ys_shape, iter(stacked))


def _kinds(leaves, shape):
    return [(leaf.dtype, leaf.shape) for leaf in leaves], shape


def _scan_length(leaves, length):
    """How many steps; all of xs and `length` agree on it."""
    if any(not leaf.shape for leaf in leaves):
        raise InvalidArgumentError("a scan goes along the first dimension, and a scalar has none")
    sizes = {leaf.shape[0] for leaf in leaves} | ({length} if length is not None else set())
    if len(sizes) != 1:
        listed = ", ".join(map(str, sorted(sizes)))
        raise InvalidArgumentError(f"a scan has one length; given are {listed}" if sizes else
                                   "a scan without xs needs a length")
    if min(sizes) < 1:
        raise InvalidArgumentError("a scan has at least one step")
    return sizes.pop()
