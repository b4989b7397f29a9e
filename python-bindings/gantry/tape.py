"""A tape: gradients of what was computed, asked for afterwards.

>>> with gt.GradientTape() as tape:
...     loss = gt.sum(w * w * x)
>>> tape.gradient(loss, w)

The tape keeps the ops that were made, and makes them once more where a gradient is asked for: `value_and_grad`, which knows the
function in front, does so once, and sees into branches and loops of graphs.
"""

import sys
import threading

from . import _apply, autodiff
from .array import Array, Reads
from .errors import InvalidArgumentError
from .function import Function
from .graph import Value, tracing, user_frame

_lock = threading.Lock()
_functions = {}  # by the structure of what is differentiated
_MOST = 256


_told = []


def _tell_once():
    """What is recorded at once has been computed, and is so a second time for its gradients."""
    if not _told:
        _told.append(True)
        file, line = user_frame()
        print(f"{file}:{line}: remark: a tape outside of functions computes what it recorded a second time for the gradients; "
              "gantry.value_and_grad, or a gantry.function around the tape, does so once", file=sys.stderr)


class GradientTape:
    """Records the ops of a `with` block on this thread. Variables are watched; arrays are sources as they are.

    What a variable was when it was read stays. Branches and loops of graphs (gantry.cond, while_loop, scan in a function)
    cannot be recorded, and neither can a tape's gradients by another tape: InvalidArgumentError, use grad.
    """

    takes_functions = True  # functions that are called meanwhile are recorded op by op

    def __init__(self):
        self._steps, self._made, self._reads, self._now, self._kept = [], {}, {}, {}, []

    def __enter__(self):
        _apply.record(self, True)
        return self

    def __exit__(self, *_):
        _apply.record(self, False)

    # ---- recording ----

    def value_of(self, operand):
        """A variable's value, read once until it is assigned."""
        if not isinstance(operand, Reads):
            return operand
        return operand.read()

    def _read(self, variable, value):
        self._now[variable] = value
        self._reads.setdefault(variable, []).append(value)

    def forget(self, variable):
        """The variable has another value from here on."""
        self._now.pop(variable, None)

    def left(self):
        """Variables may have other values from here on."""
        self._now.clear()

    def hear_assign(self, variable, value, add):
        """The variable is assigned a value, or one is added."""
        self.forget(variable)

    def hear(self, what, operands, made):
        for position, value in enumerate(made):
            self._made[id(value)] = (len(self._steps), position)
        self._steps.append((what, operands))
        self._kept.append(made)  # so that no other value gets their ids

    # ---- asking ----

    def gradient(self, target, sources, allow_unused=False):
        """The gradients of a scalar of floats with respect to Variables and arrays, in the structure of `sources`, one or a list.

        allow_unused: zeros for those that it does not depend on, which are errors else."""
        if any(tape is not self for tape in _apply.tapes()):
            raise InvalidArgumentError("a tape cannot record the gradients of another one; gantry.grad of gantry.grad has second "
                                       "derivatives")
        if id(target) not in self._made:
            raise InvalidArgumentError(f"the tape has not recorded how {target!r} was made")
        listed = list(sources) if isinstance(sources, (list, tuple)) else [sources]
        values = [self._reads.get(each, []) if isinstance(each, Reads) else [each] for each in listed]
        for each, reads in zip(listed, values):
            if not reads and not allow_unused:
                raise InvalidArgumentError(f"the tape has not recorded that {each!r} was read")
        flat = [value for reads in values for value in reads]
        recording, _apply._local.tapes = _apply.tapes(), ()
        try:
            found = iter(self._all(target, flat, allow_unused))
            made = [self._sum([next(found) for _ in reads], each) for each, reads in zip(listed, values)]
        finally:
            _apply._local.tapes = recording
        return type(sources)(made) if isinstance(sources, (list, tuple)) else made[0]

    @staticmethod
    def _sum(parts, source):
        total = parts[0] if parts else source.read() * 0
        for part in parts[1:]:
            total = total + part
        return total

    def _all(self, target, sources, allow_unused):
        """With respect to each source: those that ops have made one by one, since they cut others off."""
        first = [each for each in sources if id(each) not in self._made]
        made = iter(self._differentiate(target, first, allow_unused) if first else ())
        return [next(made) if id(each) not in self._made else self._differentiate(target, [each], allow_unused)[0]
                for each in sources]

    def _differentiate(self, target, sources, allow_unused):
        steps, given, end = self._outline(target, sources)
        structure = (tuple((what, refs) for what, refs in steps), end, len(sources), allow_unused)

        def replay(*values):
            results = []
            for (name, attributes, device, label, result), refs in steps:
                operands = tuple(values[index] if kind == "given" else results[index[0]][index[1]] if kind == "made" else index
                                 for kind, index in refs)
                made = _apply.apply(name, operands, attributes, device, label, result)
                results.append(made if isinstance(made, tuple) else (made,))
            return results[end[0]][end[1]]

        def gradients(*values):
            return autodiff._differentiate(replay, tuple(range(len(sources))), values, {}, False, allow_unused)[1]
        if tracing() is not None:
            return gradients(*given)
        _tell_once()
        key = repr(structure)
        with _lock:
            if key not in _functions:
                if len(_functions) >= _MOST:
                    del _functions[next(iter(_functions))]
                _functions[key] = Function(gradients)
        return _functions[key](*given)

    def _outline(self, target, sources):
        """The steps that the target is made by, with what each takes; what is given to them, sources first; and where the
        target is among what they make."""
        given, places = list(sources), {id(value): i for i, value in enumerate(sources)}
        needed, waiting = set(), [self._made[id(target)][0]]
        while waiting:
            step = waiting.pop()
            if step in needed:
                continue
            needed.add(step)
            waiting += [self._made[id(operand)][0] for operand in self._steps[step][1]
                        if id(operand) in self._made and id(operand) not in places]
        number, steps = {}, []
        for step in sorted(needed):
            what, operands = self._steps[step]
            refs = []
            for operand in operands:
                if id(operand) in places:
                    refs.append(("given", places[id(operand)]))
                elif id(operand) in self._made:
                    made_by, position = self._made[id(operand)]
                    refs.append(("made", (number[made_by], position)))
                elif isinstance(operand, (Array, Value)) or hasattr(operand, "dtype"):
                    places[id(operand)] = len(given)
                    refs.append(("given", len(given)))
                    given.append(operand)
                else:
                    refs.append(("number", operand))
            number[step] = len(steps)
            steps.append((what, tuple(refs)))
        end = self._made[id(target)]
        return steps, given, (number[end[0]], end[1])
