"""TensorFlow 1's graph: an open trace, by which shapes are known, and a list of what was done, which Session.run does again.

What is done while the graph is open is heard as a tape hears it, and is a node: an op, a read of a variable, a step of an
optimizer, a gradient. A set of fetches is a function of the nodes that they need, in the order of the program, and so one plan. Assignments
are nodes alone: they are made where a run reaches them, by fetches and control dependencies.
"""

import contextlib
import re
import threading

import numpy as np

import gantry as gt
from gantry import _apply
from gantry._turns import kept
from gantry.array import Reads
from gantry.function import Function
from gantry.graph import Graph as Trace, Value, suspended, tracing


class Operation:
    """What a run does for its own sake: a node, or a call that is no part of a plan."""

    def __init__(self, node=None, call=None):
        self.node, self.call = node, call


class _Node:
    """`make(run, *operands)` gives as many values as there are `results`; an input has no `make`, and `source` says where from: a
    placeholder's name, or an iterator and which leaf of its elements."""

    def __init__(self, number, make, operands, results, after, variable=None, source=None, differentiates=False):
        self.number, self.make, self.operands, self.results = number, make, operands, results
        self.after, self.variable, self.source, self.differentiates = after, variable, source, differentiates


class _Run:
    """One trace of some nodes: what they made, and the tape that gradients among them are asked of."""

    def __init__(self, tape):
        self.tape, self.made = tape, {}

    def of(self, operand):
        return self.made[id(operand)] if isinstance(operand, Value) else operand


class _Trace(Trace):
    """Tells of its constants, and of the key that its random numbers come from."""

    heard = None

    def constant(self, values, dtype=None, device=None):
        made = super().constant(values, dtype, device)
        self.heard(lambda run: (tracing().constant(values, dtype, device),), (), (made,))
        return made

    def argument(self, name, dtype, shape, device=None):
        made = super().argument(name, dtype, shape, device)
        if name == "key":
            self.heard(lambda run: (tracing().draws.next()[0].operand(),), (), (made,))
        return made


class Graph:
    """What is done inside of `as_default()`, or from the first variable, placeholder or iterator on."""

    def __init__(self):
        self._trace = _Trace("default")
        self._trace.heard = self.node
        self._trace.begin()
        self._now, self._nodes, self._made, self._functions, self._reads = {}, [], {}, {}, []
        self._after, self.collections, self.variables, self.initials, self.layers = [], {}, {}, {}, {}
        self.reuse, self.variable_scope, self.name_scope = False, "", ""

    # ---- being open ----

    @contextlib.contextmanager
    def as_default(self):
        with self._trace.traced(), _opened(self):
            _apply.record(self, True)
            try:
                yield self
            finally:
                _apply.record(self, False)

    @contextlib.contextmanager
    def aside(self):
        """Inside, ops are computed at once."""
        heard = self in _apply.tapes()
        _apply.record(self, False)
        try:
            with suspended():
                yield
        finally:
            if heard:
                _apply.record(self, True)

    # ---- as a tape ----

    def value_of(self, operand):
        return operand.read() if isinstance(operand, Reads) else operand

    def _read(self, variable, value):
        self._now[variable] = value

        def read(run):
            run.tape and run.tape.forget(variable)
            return (variable.read(),)
        self.node(read, (), (value,), variable=variable)

    takes_functions = True

    def left(self):
        """Others have computed; what variables are is a run's."""

    def forget(self, variable):
        self._now.pop(variable, None)

    def hear(self, what, operands, made):
        if tracing() is not self._trace:
            return
        name, attributes, device, label, result = what
        device = gt._device.request(device)

        def apply(run, *given):
            made = _apply.apply(name, given, attributes, device, label, result)
            return made if isinstance(made, tuple) else (made,)
        self.node(apply, operands, made)

    def hear_assign(self, variable, value, add):
        """An assignment of a layer, as a batch norm's: an update op."""
        if tracing() is self._trace:
            self.collect("update_ops", self.assign(variable, value, add))

    # ---- making ----

    def node(self, make, operands, results, **known):
        made = _Node(len(self._nodes), make, tuple(operands), results, tuple(self._after), **known)
        self._nodes.append(made)
        self._made.update({id(value): (made, i) for i, value in enumerate(results)})
        return made

    def assign(self, variable, value, add=False):
        """An Operation that gives a variable a value, or adds one."""
        value = value.read() if isinstance(value, Reads) else value

        def assign(run, given):
            (variable.assign_add if add else variable.assign)(given)
            return ()
        self.forget(variable)
        return Operation(self.node(assign, (value,), ()))

    def input(self, dtype, shape, source):
        """A value that each run is given."""
        value = self._trace.argument(f"input{len(self._nodes)}", dtype, shape)
        self.node(None, (), (value,), source=source)
        return value

    def like(self, value):
        """A value of that type, for what a node will give."""
        with self.aside(), self._trace.traced():
            return gt.ops.broadcast(self._trace.constant(0, value.dtype), value.shape)

    def gradients(self, loss, sources):
        """Gradients of a scalar with respect to variables and values; None for what it does not depend on."""
        behind = self._needed([self._made[id(loss)][0]] if id(loss) in self._made else [])
        reads = {each: [node.results[0] for node in behind if node.variable is each] if isinstance(each, Reads) else [each]
                 for each in sources}
        wanted = [each for each in sources if reads[each]]
        values = [value for each in wanted for value in reads[each]]
        made = tuple(self.like(each) for each in wanted)

        def differentiate(run, loss, *given):
            found = iter(run.tape.gradient(loss, list(given), allow_unused=True))
            return tuple(gt.add_n([next(found) for _ in reads[each]]) if len(reads[each]) > 1 else next(found) for each in wanted)
        self.node(differentiate, (loss, *values), made, differentiates=True)
        found = dict(zip(wanted, made))
        return [found.get(each) for each in sources]

    def collect(self, key, item, place=None):
        self.collections.setdefault(key, []).append((self.name_scope if place is None else place, item))

    def add_variable(self, name, variable, initial=None):
        """One of the graph's, and what it is at first, where that is known."""
        self.variables[name], self.initials[name] = variable, initial
        self.collect("variables", variable, name)
        if variable.trainable:
            self.collect("trainable_variables", variable, name)

    def collected(self, key, scope=None):
        return [item for place, item in self.collections.get(key, ()) if scope is None or re.match(scope, place)]

    # ---- running ----

    def _needed(self, nodes):
        found, waiting = set(), list(nodes)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += [self._made[id(each)][0] for each in node.operands if id(each) in self._made]
                waiting += node.after
        return sorted(found, key=lambda node: node.number)

    def run(self, fetches, feeds):
        """What fetches are, one by one: values as NumPy arrays, None for an Operation."""
        for each in fetches:
            if isinstance(each, Operation) and each.call is not None:
                each.call()
        values = [each for each in fetches if isinstance(each, Value)]
        roots = [each.node for each in fetches if isinstance(each, Operation) and each.node] + [self._node_of(each) for each in values]
        nodes = self._needed(roots)
        given = self._given([node for node in nodes if node.make is None], feeds)
        key = tuple(node.number for node in nodes), tuple(id(each) for each in values)
        if key not in self._functions:
            self._functions[key] = Function(self._replay(nodes, values))
        found = iter(self._functions[key](*given)) if roots else iter(())
        return [next(found).numpy() if isinstance(each, Value) else None if isinstance(each, Operation) else
                each.numpy() if hasattr(each, "numpy") else each for each in fetches]

    def _node_of(self, value):
        if id(value) not in self._made:
            raise gt.InvalidArgumentError(f"{value!r} is not of this graph")
        return self._made[id(value)][0]

    def _given(self, inputs, feeds):
        """The arrays of inputs, of an iterator the next ones."""
        iterators = {node.source[0] for node in inputs if isinstance(node.source, tuple)}
        elements, made = {each: each.next() for each in iterators}, []
        for node in inputs:
            value = node.results[0]
            if id(value) not in feeds and isinstance(node.source, str):
                raise gt.InvalidArgumentError(f"a run needs a value for the placeholder '{node.source}': feed_dict={{x: ...}}")
            array = np.asarray(feeds[id(value)] if isinstance(node.source, str) else elements[node.source[0]][node.source[1]])
            if array.shape != value.shape:
                raise gt.InvalidArgumentError(f"a graph is of one shape: it was made for {list(value.shape)}, and is given "
                                              f"{list(array.shape)}; batch(n, drop_remainder=True) gives batches of one size")
            made.append(array.astype(value.dtype.numpy, copy=False))
        return made

    @staticmethod
    def _replay(nodes, values):
        def replay(*given):
            with contextlib.ExitStack() as stack:
                stack.enter_context(gt.device(None))
                tape = stack.enter_context(gt.GradientTape()) if any(node.differentiates for node in nodes) else None
                run, given = _Run(tape), iter(given)
                for node in nodes:
                    made = (next(given),) if node.make is None else node.make(run, *map(run.of, node.operands))
                    run.made.update({id(value): each for value, each in zip(node.results, made)})
                return [run.made[id(value)] for value in values]
        return replay


class _Here(threading.local):
    """The graphs that are open on a thread, and what leaves the one that `default` opened."""

    def __init__(self):
        self.graphs, self.kept = [], contextlib.ExitStack()


_here = kept(_Here())


@contextlib.contextmanager
def _opened(graph):
    _here.graphs.append(graph)
    try:
        yield
    finally:
        _here.graphs.remove(graph)


def opened():
    """The graph that is open on this thread, or none."""
    return _here.graphs[-1] if _here.graphs else None


def default():
    """The graph that is open; one is opened where none is, and stays open on this thread."""
    if tracing() is not None and (not _here.graphs or tracing() is not opened()._trace):
        raise gt.InvalidArgumentError("TensorFlow 1's graph cannot be made while a gantry.function is traced")
    if not _here.graphs:
        _here.kept.enter_context(Graph().as_default())
    return opened()


def reset():
    """Leaves the graph that `default` opened."""
    _here.kept.close()
