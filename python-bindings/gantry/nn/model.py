"""Networks that are no chain: layers are called with what others will give, and a Model is made of where that begins and ends.

>>> x = gt.nn.Input()
>>> h = gt.nn.Dense(8, "relu")(x)
>>> net = gt.nn.Model(x, gt.nn.Dense(2)(gt.nn.Concat()(h, x)))
"""

from .. import math as gm
from ..errors import InvalidArgumentError
from .module import Module, Node, Pick


def Input(name=None):
    """Where a Model begins: its shape and type are those of what the Model is called with."""
    return Node(None, (), {}, name or "input")


class Add(Module):
    """The sum of what is given to it, of one shape or of shapes that broadcast."""

    def forward(self, first, *others):
        for other in others:
            first = first + other
        return first


class Concat(Module):
    """What is given to it, one behind the other along a dimension, the last one unless it says so."""

    def __init__(self, axis=-1, name=None):
        super().__init__(name)
        self._axis = axis

    def forward(self, *inputs):
        return gm.concat(inputs, self._axis)


class Model(Module):
    """The network from `inputs` to `outputs`, each an Input or what layers gave of some, or a list of these: it takes as many arrays,
    and gives one or a list. Layers are in `layers`, in the order in which they are needed; one that was called twice is there once.

    InvalidArgumentError where the outputs need an Input that is not among the inputs."""

    def __init__(self, inputs, outputs, name=None):
        super().__init__(name)
        self._begins = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        self._ends, self._is_list = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs], isinstance(outputs, (list, tuple))
        for each in (*self._begins, *self._ends):
            if not isinstance(each, Node):
                raise InvalidArgumentError(f"a Model goes from Inputs to what layers give of them, got {each!r}")
        self._order = self._in_order()
        self.layers = list({id(node.layer): node.layer for node in self._order if not isinstance(node.layer, Pick)}.values())

    def _in_order(self):
        """The nodes behind the inputs, each behind what it needs."""
        done, order, waiting = {id(each) for each in self._begins}, [], list(reversed(self._ends))
        while waiting:
            node = waiting[-1]
            missing = [each for each in node.needs() if id(each) not in done]
            if id(node) in done:
                waiting.pop()
            elif node.layer is None:
                raise InvalidArgumentError(f"the outputs need {node!r}, which is not among the Model's inputs")
            elif missing:
                waiting += reversed(missing)
            else:
                done.add(id(waiting.pop()))
                order.append(node)
        return order

    def forward(self, *inputs):
        if len(inputs) != len(self._begins):
            raise InvalidArgumentError(f"{self._own_name()} takes {len(self._begins)} arrays, got {len(inputs)}")
        values = dict(zip(map(id, self._begins), inputs))

        def given(each):
            if isinstance(each, (list, tuple)):
                return type(each)(map(given, each))
            return values[id(each)] if isinstance(each, Node) else each
        for node in self._order:
            values[id(node)] = node.layer(*map(given, node.inputs), **{name: given(each) for name, each in node.named.items()})
        made = [values[id(each)] for each in self._ends]
        return made if self._is_list else made[0]

    def __getitem__(self, index):
        return self.layers[index]
