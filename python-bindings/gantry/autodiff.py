"""Gradients of functions.

>>> loss, slope = gt.value_and_grad(lambda x: (x * x).sum())(x)       # with respect to the first argument
>>> step = gt.value_and_grad(lambda x, y: losses.mse(y, net(x)), wrt=net)   # to a network's parameters

In a function they become a `gantry.gradient` of its graph; outside, they run as a function of their own. What each op
gives, also where two values are equal, is in docs/Gradients.md, which the build makes.
"""

import functools
import inspect

from . import _c
from ._apply import tapes
from .array import Kept, Reads
from .errors import InvalidArgumentError
from .function import Function, flatten, read_all, unflatten
from .graph import tracing
from .ops import stop_gradient  # noqa: F401


class _Target:
    """One entry of `wrt`: the values to differentiate with respect to, and where they are put in."""

    def __init__(self, graph, entry, place, args, kwargs):
        self.place = place
        owner = entry if isinstance(entry, Kept) else kwargs[place] if isinstance(place, str) else args[place]
        if isinstance(owner, Kept):
            self.place = None
            self.variables = [owner] if isinstance(owner, Reads) else _parameters_of(owner)
            self.shape = "leaf" if isinstance(owner, Reads) else \
                (dict, tuple(name for name, _ in self.variables), ("leaf",) * len(self.variables))
            self.variables = [each if isinstance(each, Reads) else each[1] for each in self.variables]
            self.values = [graph.read(variable) for variable in self.variables]
        else:
            leaves, self.shape = flatten(owner)
            self.variables, self.values = [], [graph.value(leaf) for leaf in leaves]


def _parameters_of(module):
    """Names and variables of a network that are to be trained."""
    found = [(name, variable) for name, variable in module.named_parameters() if variable.trainable]
    if not found:
        raise InvalidArgumentError(f"{module!r} has no parameters that are trainable")
    return found


def _entries(f, wrt, args, kwargs):
    """The entries of `wrt`, each with its place among the arguments, or none."""
    names = None
    for entry in wrt if isinstance(wrt, (tuple, list)) else (wrt,):
        if isinstance(entry, Kept):
            yield entry, None
            continue
        if names is None:
            names = [name for name, each in inspect.signature(f).parameters.items()
                     if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        place = names.index(entry) if isinstance(entry, str) and entry in names else entry
        if isinstance(place, int) and not isinstance(place, bool) and -len(args) <= place < len(args):
            yield entry, place % len(args)
        elif isinstance(place, int) and 0 <= place < len(names) and names[place] in kwargs:
            yield entry, names[place]
        elif place in kwargs:
            yield entry, place
        else:
            listed = ", ".join(f"'{name}'" for name in names) or "none"
            raise InvalidArgumentError(f"wrt: {entry!r} is no argument that '{_name(f)}' was given, no Variable and no Module; its "
                                       f"parameters are {listed}")


def _name(f):
    return getattr(f, "__name__", type(f).__name__)


def _networks(entries, args, kwargs):
    return [entry if isinstance(entry, Kept) else kwargs.get(place) if isinstance(place, str) else args[place]
            for entry, place in entries]


_OVER = (None, "rows", "sum")


def _differentiate(f, wrt, args, kwargs, has_aux, allow_unused, seeds=None, over=None):
    """What f gives and the gradients, in a function that is traced. With `seeds`, cotangents of all that f gives, whose sum
    of products is differentiated. In a replica `over` says what the loss is."""
    graph = tracing()
    replica = graph.replica
    if over not in _OVER:
        raise InvalidArgumentError(f"over is {over!r}; it can be \"rows\", a mean over rows, or \"sum\"")
    entries = list(_entries(f, wrt, args, kwargs))
    if any(getattr(each, "is_open", False) for each in _networks(entries, args, kwargs)):
        graph.outline(lambda: f(*args, **kwargs))  # layers make their variables at their first use
    targets = [_Target(graph, entry, place, args, kwargs) for entry, place in entries]
    values = [value for target in targets for value in target.values]
    given, _ = flatten(read_all(seeds)) if seeds is not None else ([], None)
    given = [graph.value(seed) for seed in given]
    shape, kept = [], []

    def body(arguments):
        arguments, positional, named, held = iter(arguments), list(args), dict(kwargs), {}
        for target in targets:
            own = [next(arguments) for _ in target.values]
            held.update(zip(target.variables, own))
            if target.place is not None:
                (named if isinstance(target.place, str) else positional)[target.place] = unflatten(target.shape, iter(own))
        kept.append(replica.mark() if replica is not None else 0)
        with graph.bound(held):
            made = f(*positional, **named)
        if has_aux and (not isinstance(made, tuple) or len(made) != 2):
            raise InvalidArgumentError(f"has_aux: '{_name(f)}' gives a loss and something else, as a pair; got {made!r}")
        leaves, structure = flatten(read_all(made))
        shape.append(structure)
        leaves = [graph.value(leaf) for leaf in leaves]
        if seeds is None and not has_aux and structure != "leaf":
            raise InvalidArgumentError(f"'{_name(f)}' gives {len(leaves)} values; what is differentiated is one loss, and with "
                                       "has_aux=True a loss and something else")
        if has_aux and not isinstance(structure, str) and structure[1][0] != "leaf":
            raise InvalidArgumentError(f"'{_name(f)}' gives the loss {'nothing' if made[0] is None else 'as several values'}; a loss is a scalar "
                                       "of floats: take the mean or the sum")
        _check_seeds(f, given, leaves if seeds is not None else [])
        if seeds is None and (not leaves or leaves[0].shape or not leaves[0].dtype.is_floating):
            got = f"{leaves[0].dtype}{list(leaves[0].shape)}" if leaves else "nothing"
            raise InvalidArgumentError(f"'{_name(f)}' gives the loss {got}; a loss is a scalar of floats: take the mean or the sum")
        if replica is None:
            return leaves
        seeded = [replica.seeded(_name(f), leaves[0], over)] if seeds is None else []
        return [*seeded, *leaves, *replica.yielded(kept[0])]

    for value in values:
        if not value.dtype.is_floating:
            raise InvalidArgumentError(f"'{_name(f)}' is differentiated with respect to {value.dtype}{list(value.shape)}; only "
                                       "floats have gradients")
    before = dict(graph._bound)
    try:
        results = (gradient_op if replica is None or not replica.meets else replica.gradient)(graph, values, given, allow_unused, body)
    finally:
        graph._bound = before
    gradients = iter(results[len(results) - len(values):])
    rest = iter(results[replica is not None and seeds is None:len(results) - len(values)])
    made = unflatten(shape[0], rest)
    if replica is not None:
        replica.replace(kept[0], rest)
    parts = [unflatten(target.shape, gradients) for target in targets]
    return made, tuple(parts) if isinstance(wrt, (tuple, list)) else parts[0]


def _check_seeds(f, given, leaves):
    """Cotangents are of what they are the cotangents of."""
    listed = lambda values: ", ".join(map(_type, values)) or "nothing"
    if [(each.dtype, each.shape) for each in given] != [(each.dtype, each.shape) for each in leaves]:
        raise InvalidArgumentError(f"'{_name(f)}' gives {listed(leaves)}, and its cotangents are {listed(given)}; they have the same types")


def gradient_op(graph, values, seeds, allow_unused, body):
    """The results of a gantry.gradient: what `body` yields of the values, and the gradients."""
    graph.locate()
    attributes = ([("seeds", _c.ATTRIBUTE_INT, len(seeds))] if seeds else []) + \
        [("allow_unused", _c.ATTRIBUTE_UNIT, bool(allow_unused))]
    graph.begin_op("gradient", values + seeds, attributes)
    try:
        graph.region([(value.dtype, value.shape) for value in values], body)
    except BaseException:
        graph.abandon_op()
        raise
    graph.locate()
    return graph.end_op()


class _Differentiated:
    """A function and its gradients: in another function a part of it, else a Function."""

    def __init__(self, f, give):
        functools.update_wrapper(self, f, updated=())
        self._give = give
        self._function = Function(give)

    def __call__(self, *args, **kwargs):
        return (self._give if tracing() is not None else self._function)(*args, **kwargs)

    def lower(self, *args, **kwargs):
        """As Function.lower."""
        return self._function.lower(*args, **kwargs)


def value_and_grad(f, wrt=0, has_aux=False, allow_unused=False, argnums=None, over=None):
    """A function of f's arguments that gives f's value, a scalar of floats, and its gradients.

    wrt           with respect to what: positions or names of arguments, Variables, Modules, or a tuple of these; gradients
                  have the structure of that, those of a Module are a dict by the names of its trainable parameters
    has_aux       f gives (loss, something else), and so does the result: ((loss, else), gradients)
    allow_unused  gradients of what the loss does not depend on are zeros instead of an error
    argnums       JAX's name for wrt
    over          in a replica of gantry.distribute, whose gradients are added up, what the loss is: "rows", the mean over the
                  replica's rows, which counts by their share of the batch, or "sum"; elsewhere it changes nothing

    InvalidArgumentError for a loss that is no scalar of floats, for integers among `wrt`, and, when the function is
    compiled, for what the loss does not depend on and for ops without a gradient, with the way to them.
    """
    wrt = wrt if argnums is None else argnums
    return _Differentiated(f, functools.wraps(f)(
        lambda *args, **kwargs: _differentiate(f, wrt, args, kwargs, has_aux, allow_unused, over=over)))


def grad(f, wrt=0, has_aux=False, allow_unused=False, argnums=None, over=None):
    """The same without the value; with has_aux (gradients, something else)."""
    wrt = wrt if argnums is None else argnums

    def give(*args, **kwargs):
        made, gradients = _differentiate(f, wrt, args, kwargs, has_aux, allow_unused, over=over)
        return (gradients, made[1]) if has_aux else gradients
    return _Differentiated(f, functools.wraps(f)(give))


# ---- regions with ways back of their own ----

def checkpoint(f):
    """A function that gives what f gives. Where it is differentiated nothing of what it computes in between is kept for the way
    back, which computes it again from the arguments: less memory, for the time of f once more. f draws the same random numbers
    both times."""
    def run(*args, **kwargs):
        graph, shape = tracing(), []
        if graph is None or tapes():
            return f(*args, **kwargs)

        def body(_):
            leaves, structure = flatten(read_all(f(*args, **kwargs)))
            shape.append(structure)
            return [graph.value(leaf) for leaf in leaves]
        graph.locate()
        graph.begin_op("checkpoint", ())
        try:
            graph.region((), body)
        except BaseException:
            graph.abandon_op()
            raise
        return unflatten(shape[0], iter(graph.end_op()))
    return functools.wraps(f)(run)


def _type(value):
    return f"{value.dtype}{list(value.shape)}"


class _Custom:
    """A function with a gradient of its own, of some arguments, in a graph."""

    def __init__(self, graph, f, args):
        self.graph, self.f = graph, f
        leaves, self.taken = flatten(read_all(args))
        self.values = [graph.value(leaf) for leaf in leaves]
        # The types that it gives are known once it is traced, which leaves no trace.
        self.kinds, self.given = graph.outline(lambda: self._kinds(self._call(self.values)[0]))

    def _call(self, values):
        """What f gives: its value, and the function of its cotangents."""
        made = self.f(*unflatten(self.taken, iter(values)))
        if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]):
            raise InvalidArgumentError(f"custom_gradient: '{_name(self.f)}' gives its value and a function of the value's cotangents, as a "
                                       f"pair; got {made!r}")
        return read_all(made[0]), made[1]

    def _kinds(self, value):
        leaves, shape = flatten(value)
        return [(leaf.dtype, leaf.shape) for leaf in map(self.graph.value, leaves)], shape

    def forward(self, values):
        return [self.graph.value(leaf) for leaf in flatten(self._call(values)[0])[0]]

    def backward(self, given):
        """Gradients of the arguments of floats; f is made once more, of which MergeOps keeps one."""
        taken, rest = given[:len(self.values)], iter(given[len(self.values) + len(self.kinds):])
        cotangents = unflatten(self.given, iter([next(rest) if dtype.is_floating else None for dtype, _ in self.kinds]))
        made, count = self._call(taken)[1](cotangents), len(self.taken[1])
        is_list = isinstance(made, (tuple, list))
        if count == 1 and not (is_list and len(made) == 1):
            made, is_list = (made,), True
        if not is_list or len(made) != count:
            raise InvalidArgumentError(f"custom_gradient: '{_name(self.f)}' has {count} arguments, and its function of cotangents gives "
                                       f"{f'{len(made)} gradients' if is_list else 'one gradient'}")
        return self._fitting(made, taken)

    def _fitting(self, made, taken):
        gradients, place = [], 0
        for i, (gradient, shape) in enumerate(zip(made, self.taken[1])):
            count = len(flatten(unflatten(shape, iter(taken[place:])))[0])
            wanted, place = taken[place:place + count], place + count
            own = [None] * count if gradient is None else flatten(read_all(gradient))[0]
            if len(own) != count:
                raise InvalidArgumentError(f"custom_gradient: argument {i} of '{_name(self.f)}' is {count} arrays, and its gradient {len(own)}")
            for value, each in zip(wanted, own):
                if not value.dtype.is_floating:
                    continue
                each = value * 0 if each is None else self.graph.value(each, value.dtype)
                if (each.dtype, each.shape) != (value.dtype, value.shape):
                    raise InvalidArgumentError(f"custom_gradient: argument {i} of '{_name(self.f)}' is {_type(value)}, and its gradient "
                                               f"{_type(each)}")
                gradients.append(each)
        return gradients

    def make(self):
        kinds = [(value.dtype, value.shape) for value in self.values]
        self.graph.locate()
        self.graph.begin_op("custom_gradient", self.values, results=self.kinds)
        try:
            self.graph.region(kinds, self.forward)
            self.graph.region(kinds + self.kinds + [kind for kind in self.kinds if kind[0].is_floating], self.backward)
        except BaseException:
            self.graph.abandon_op()
            raise
        return unflatten(self.given, iter(self.graph.end_op()))


def custom_gradient(f):
    """A function with a gradient of its own, as a decorator:

    >>> @gt.custom_gradient
    ... def clipped(x):
    ...     return x, lambda d: gt.ops.clamp(d, -1.0, 1.0)

    f gives a value and a function that takes the value's cotangents, in its structure, and gives a gradient for each of f's
    arguments, None for zeros. What f reads besides its arguments, Variables among it, is a constant to it. Outside of gradients
    the function is f's value. InvalidArgumentError, where it is traced, for gradients of other types than the arguments'."""
    def run(*args):
        if tapes():
            raise InvalidArgumentError("a tape cannot record gantry.custom_gradient; gantry.value_and_grad differentiates it")
        graph = tracing()
        return f(*args)[0] if graph is None else _Custom(graph, f, args).make()
    return functools.wraps(f)(run)


def vjp(f, *args):
    """f's value for the arguments, and a function that gives of cotangents, which have the value's structure, the gradients
    of the sum of their products with it, one for each argument: a vector-Jacobian product. The function computes f again;
    in a gantry.function both are one."""
    def pull(cotangents, *given):
        return _differentiate(f, tuple(range(len(given))), given, {}, False, True, cotangents)[1]
    if tracing() is not None:
        return f(*args), lambda cotangents: pull(cotangents, *args)
    function = Function(pull)
    return Function(f)(*args), lambda cotangents: function(cotangents, *args)


def _columns(name, primals, tangents):
    """Arguments and the directions that they are moved in, as tuples."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)) or len(primals) != len(tangents):
        raise InvalidArgumentError(f"{name} takes arguments and as many directions, each in a tuple; got {primals!r} and {tangents!r}")
    return tuple(primals), tuple(tangents)


def _pull(f, primals):
    """The function that gives of cotangents of f's value the gradients of all arguments."""
    return lambda cotangents: _differentiate(f, tuple(range(len(primals))), primals, {}, False, True, cotangents)[1]


def _jvp(f, primals, tangents):
    value = f(*primals)
    leaves, structure = flatten(read_all(value))
    zeros = unflatten(structure, iter([leaf * 0 for leaf in leaves]))
    # What cotangents are pulled back to is linear in them: its own way back is the way forward.
    return value, _differentiate(_pull(f, primals), (0,), (zeros,), {}, False, True, tangents)[1][0]


def _hvp(f, primals, tangents):
    places = tuple(range(len(primals)))
    slopes = lambda *args: _differentiate(f, places, args, {}, False, True, over="sum")[1]
    return _differentiate(slopes, places, primals, {}, False, True, tangents)[1]


def jvp(f, primals, tangents):
    """f's value for the arguments `primals`, and how it changes where these move along `tangents`, which have their
    structure: a Jacobian-vector product. It is made of two ways back, so that every op with a gradient has it."""
    primals, tangents = _columns("jvp", primals, tangents)
    if tracing() is not None:
        return _jvp(f, primals, tangents)
    return Function(lambda primals, tangents: _jvp(f, tuple(primals), tuple(tangents)))(primals, tangents)


def hvp(f, primals, tangents):
    """How the gradients of f, a scalar of floats, change where its arguments `primals` move along `tangents`: a product
    with the matrix of second derivatives, in the structure of the arguments."""
    primals, tangents = _columns("hvp", primals, tangents)
    if tracing() is not None:
        return _hvp(f, primals, tangents)
    return Function(lambda primals, tangents: _hvp(f, tuple(primals), tuple(tangents)))(primals, tangents)
