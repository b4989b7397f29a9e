"""Steps that are skipped where a gradient is not finite, and the scale of a loss that is differentiated in float16.

What a step reads of it is variables: whether a step is skipped is decided where they are, and for GPUs by the host, which gets one
byte of each step for that.
"""

import sys

from . import math as gm, ops
from .array import Kept, array
from .errors import GantryError, InvalidArgumentError
from .function import cond, flatten
from .graph import suspended
from .variable import Variable

MOST_SKIPPED = 10  # steps in a row


def counter(value, dtype, name):
    with suspended():
        return Variable(array(value, dtype=dtype), name, trainable=False)


class LossScale(Kept):
    """What a loss is multiplied by before it is differentiated, so that small gradients are not 0 in float16; gradients are divided by it
    again. Halved where a gradient is not finite, in which case the step is skipped, and doubled behind `every` steps without that:
    Micikevicius et al., Mixed precision training, 2018.

    `value` is a variable, float32[].
    """

    def __init__(self, initial=2.0**15, factor=2.0, every=2000, least=1.0, most=2.0**24, name="loss_scale"):
        if not 0 < least <= initial <= most or factor <= 1 or not isinstance(every, int) or every < 1:
            raise InvalidArgumentError(f"LossScale: 0 < least <= initial <= most, factor above 1, every a number from 1 on, got least={least!r}, "
                                       f"initial={initial!r}, most={most!r}, factor={factor!r}, every={every!r}")
        self.value, self._good = counter(initial, "float32", f"{name}/value"), counter(0, "int32", f"{name}/good")
        self._factor, self._every, self._least, self._most = float(factor), every, float(least), float(most)

    def variables(self):
        return [self.value, self._good]

    def _raise(self):
        """A step without fault."""
        good = self._good.read() + 1
        is_due = good >= self._every
        value = self.value.read()
        self.value.assign(gm.where(is_due, ops.minimum(value * self._factor, self._most), value))
        self._good.assign(gm.where(is_due, good * 0, good))

    def _lower(self):
        self.value.assign(ops.maximum(self.value / self._factor, self._least))
        self._good.assign(0)


class Guard:
    """An optimizer in whose place it is asked for steps: those with a gradient that is not finite are skipped and counted."""

    def __init__(self, optimizer, scale=None):
        self.optimizer, self.scale, self._told = optimizer, scale, 0
        self.skipped = counter(0, "int64", f"{optimizer.name}/skipped")
        self._row, self._worst = counter(0, "int32", f"{optimizer.name}/skipped_in_a_row"), counter(-1, "int32", f"{optimizer.name}/not_finite")

    def variables(self):
        return [self.skipped, self._row, self._worst, *(self.scale.variables() if self.scale is not None else ())]

    def scaled(self, loss):
        return loss if self.scale is None else loss * ops.cast(self.scale.value.read(), loss.dtype)

    def apply(self, variables, gradients):
        """As Optimizer.apply, in a function."""
        leaves, shape = flatten(gradients)
        if self.scale is not None:
            leaves = [each / ops.cast(self.scale.value.read(), each.dtype) for each in leaves]
            gradients = dict(zip(gradients, leaves)) if isinstance(gradients, dict) else leaves
        worst = ops.cast(leaves[0].graph.constant(-1), "int32")
        for i, each in reversed(list(enumerate(leaves))):
            worst = gm.where(gm.all(ops.abs(each) < float("inf")), worst, i)

        def step():
            self.optimizer.apply(variables, gradients)
            self._row.assign(0)
            if self.scale is not None:
                self.scale._raise()

        def skip():
            self._worst.assign(worst)
            self.skipped.assign_add(1)
            self._row.assign_add(1)
            if self.scale is not None:
                self.scale._lower()
        cond(worst < 0, step, skip)

    # ---- on the host ----

    def check(self, net, step):
        """GantryError where a step was skipped at all: what check_finite asks for."""
        skipped = int(self.skipped)
        if skipped > self._told:
            self._told = skipped
            names = [name for name, each in net.named_parameters() if each.trainable]
            raise GantryError(f"step {step}: the loss, or the gradient of '{names[int(self._worst)]}', is not finite; the network and the "
                              "optimizer are those of the step before")

    def look(self):
        """GantryError where so many steps in a row were skipped that it will not end by itself."""
        if int(self._row) >= MOST_SKIPPED and (self.scale is None or float(self.scale.value) <= self.scale._least):
            raise GantryError(f"{int(self._row)} steps in a row were skipped, since their gradients were not finite: nothing is learnt any more; "
                              "a lower rate, clipped gradients, or math=\"bf16\", which needs no scale, may help")

    def tell(self):
        """Says on stderr how many steps were skipped since it was said last."""
        skipped = int(self.skipped)
        if skipped > self._told:
            scale = f"; the loss scale is {float(self.scale.value):g} now" if self.scale is not None else ""
            count = skipped - self._told
            print(f"gantry: warning: {count} step{'s were' if count > 1 else ' was'} skipped, whose gradients were not finite{scale}", file=sys.stderr)
        self._told = skipped
