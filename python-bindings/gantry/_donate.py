"""Arrays that a call is given for good, so that a result may lie in their memory.

A gift is taken before the call: whoever uses the array from then on is told to whom it went. When nothing was
run, it is given back.
"""

import ctypes

from . import _c, _library
from .array import Array
from .errors import FailedPreconditionError, InvalidArgumentError


class Donated:
    """An array that `donate` marked."""

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array


def donate(array):
    """Marks an array that a session is to keep: `session.run(w=gantry.donate(w), g=g)`.

    Where the plan was compiled with donate=["w"], an output of its type lies in the array's memory, and no second one is
    taken. Using the array afterwards is a FailedPreconditionError.
    """
    if not isinstance(array, Array):
        raise InvalidArgumentError(f"only an Array can be given away, not {type(array).__name__}")
    return Donated(array)


class Gift:
    """An array that is an argument of a call and nothing else from now on."""

    __slots__ = ("array", "handle", "output", "kept")

    def __init__(self, array, to):
        self.array, self.handle, self.output, self.kept = array, array._handle, None, array._kept
        try:
            del array._handle  # of two threads that give it away, one succeeds
        except AttributeError:
            array._handle  # which says who had it
            raise
        array._kept = to

    def is_alone(self):
        """Whether nobody else sees the memory: no view, no other library, no bindings."""
        info = _library.sized(_c.gantry_array_info_t)
        _library.check(_library.runtime().gantry_array_info(self.handle, ctypes.byref(info)))
        return bool(info.is_alone)

    def give_back(self):
        self.array._handle, self.array._kept = self.handle, self.kept

    def drop(self):
        """Lets go of the memory, which is no output's."""
        _library.runtime().gantry_array_destroy(self.handle)


def take(function, inputs, given):
    """The gifts among the arrays of a call, by `given`, positions and to whom each goes. An output that may lie in one
    does, unless somebody else sees the memory."""
    gifts, seen = [], set()
    alone = [id(array) for array in inputs]
    try:
        for index, to in given.items():
            array = inputs[index]
            if id(array) in seen:
                continue
            seen.add(id(array))
            gifts.append(Gift(array, to))
            output = function.over.get(index)
            if output is not None and array._type is function.types[output] and alone.count(id(array)) == 1 \
                    and gifts[-1].is_alone():
                gifts[-1].output = output
    except FailedPreconditionError:
        for gift in gifts:
            gift.give_back()
        raise
    return gifts
