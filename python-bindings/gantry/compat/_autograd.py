"""What is computed at once, remembered for as long as it may be differentiated: PyTorch's backward() and MXNet's record().

Each array knows the op that made it and what that was given, for as long as the array lives; what is dropped is forgotten. backward()
makes a gantry.GradientTape of what led to a scalar, so that gradients are those of tapes: one function, found again by its structure.
"""

import threading
import weakref

import gantry as gt
from gantry import _apply
from gantry._turns import kept
from gantry.array import Reads
from gantry.graph import tracing


class _Made:
    """An op that was computed: of which tape it is, in which order, and what it was given."""

    __slots__ = ("number", "what", "operands", "count", "__weakref__")


class Recorder:
    """Hears ops as a tape does. Functions that are called meanwhile are plans, of which nothing is remembered."""

    takes_functions = False

    def __init__(self):
        self._now, self._number = {}, 0
        self._made, self._reads = {}, {}  # by id: (array, op, position), (array, variable), as long as they live

    # ---- as a tape ----

    def value_of(self, operand):
        return operand.read() if isinstance(operand, Reads) else operand

    def _keep(self, table, value, *known):
        key = id(value)
        table[key] = (weakref.ref(value, lambda _: table.pop(key, None)), *known)

    def _read(self, variable, value):
        if tracing() is None:
            self._now[variable] = value
            self._keep(self._reads, value, weakref.ref(variable))

    def left(self):
        self._now.clear()

    def forget(self, variable):
        self._now.pop(variable, None)

    def hear_assign(self, variable, value, add):
        self.forget(variable)

    def hear(self, what, operands, made):
        if tracing() is not None:
            return
        op = _Made()
        self._number += 1
        op.number, op.what, op.operands, op.count = self._number, what, operands, len(made)
        for position, value in enumerate(made):
            self._keep(self._made, value, op, position)

    # ---- asking ----

    def gradients(self, target, wants):
        """Gradients of a scalar with respect to the variables that were read on the way to it, and to arrays that `wants` says yes
        to: pairs of these and their gradients."""
        tape, sources = self._tape(target, wants)
        if not sources:
            return []
        found = tape.gradient(target, [value for _, value in sources], allow_unused=True)
        made = {}
        for (owner, _), gradient in zip(sources, found):
            before = made.get(id(owner))
            made[id(owner)] = (owner, gradient if before is None else before[1] + gradient)
        return list(made.values())

    def _tape(self, target, wants):
        """A tape of the ops that led to the target, and its sources: pairs of owner and value."""
        ops, sources, waiting, seen = {}, [], [target], set()
        while waiting:
            value = waiting.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            read, made = self._reads.get(id(value)), self._made.get(id(value))
            variable = read[1]() if read else None
            if variable is not None and variable.trainable:
                sources.append((variable, value))
            elif wants(value):
                sources.append((value, value))
            if made is not None:
                op = made[1]
                ops.setdefault(op.number, (op, [None] * op.count))[1][made[2]] = value
                waiting += [each for each in op.operands if isinstance(each, gt.Array)]
        tape = gt.GradientTape()
        for number in sorted(ops):
            op, values = ops[number]
            for position, value in enumerate(values):
                if value is not None:
                    tape._made[id(value)] = (len(tape._steps), position)
            tape._steps.append((op.what, op.operands))
            tape._kept.append(values)
        return tape, sources


_local = kept(threading.local())


def recorder():
    """This thread's."""
    if not hasattr(_local, "recorder"):
        _local.recorder = Recorder()
    return _local.recorder


def is_recording():
    return recorder() in _apply.tapes()


def record(on):
    """Begins or ends to remember; gives whether it did before."""
    before = is_recording()
    if on != before:
        _apply.record(recorder(), on)
        recorder()._now.clear()
    return before


class Recording:
    """`with Recording(on):`"""

    def __init__(self, on):
        self._on = on

    def __enter__(self):
        self._before = record(self._on)
        return self

    def __exit__(self, *_):
        record(self._before)


def backward(self, gradient=None):
    """Gives the parameters and arrays on the way to this scalar their gradients: of arrays that are none the sum is differentiated, with
    `gradient` the sum of products with it."""
    if tracing() is not None:
        raise gt.InvalidArgumentError("backward() is for what is computed at once; in a function gradients are gantry.value_and_grad's")
    known, target = recorder(), self
    if self.shape or gradient is not None:
        with Recording(True):
            target = gt.sum(self if gradient is None else self * gradient)
    with Recording(False):
        pairs = known.gradients(target, lambda value: id(value) in marks)
        if not pairs:
            raise gt.InvalidArgumentError("nothing on the way to it wants gradients, or it was computed where none are remembered")
        for owner, found in pairs:
            if isinstance(owner, gt.Array):
                marks[id(owner)][1] = found
            elif hasattr(owner, "take_gradient"):
                owner.take_gradient(found)
    for each in after:
        each()


# Arrays that want gradients, by id: [reference, gradient]. What is called behind each backward.
marks, after = {}, []


def mark(array):
    """The array has a gradient from here on, zeros at first."""
    key = id(array)
    marks[key] = [weakref.ref(array, lambda _: marks.pop(key, None)), gt.zeros_like(array)]


gt.Array.backward = backward
