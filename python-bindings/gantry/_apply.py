"""Where ops go: into the graph that is traced, else to be computed at once; tapes hear of them."""

import contextlib
import threading

from . import _eager
from ._turns import kept
from .graph import tracing

_local = kept(threading.local())


def tapes():
    """The tapes that record on this thread, the innermost last."""
    return getattr(_local, "tapes", ())


@contextlib.contextmanager
def left():
    """Inside, no tape hears anything."""
    before, _local.tapes = tapes(), ()
    try:
        yield
    finally:
        _local.tapes = before
        for tape in before:
            tape.left()


def record(tape, on):
    """Begins to tell a tape of ops, or ends it."""
    _local.tapes = (*tapes(), tape) if on else tuple(each for each in tapes() if each is not tape)


def apply(name, operands, attributes=(), device=None, label=None, result=None):
    listening = getattr(_local, "tapes", None)
    if listening:
        operands = tuple(listening[-1].value_of(operand) for operand in operands)
    graph = tracing()
    if graph is not None:
        made = graph.apply(name, operands, attributes, device, label, result)
    else:
        made = _eager.run(name, operands, attributes, device, label, result)
    if listening:
        for tape in listening:
            tape.hear((name, attributes, device, label, result), operands, made if isinstance(made, tuple) else (made,))
    return made
