"""mxnet.gluon.parameter."""

import gantry as _gt


class Parameter(_gt.Variable):
    """A variable with its gradient, which backward() writes."""

    _gradient = None

    def take_gradient(self, found):
        self._gradient = found

    def data(self, ctx=None):
        """The value, an array."""
        return self._read()

    def grad(self, ctx=None):
        return self._gradient

    def set_data(self, data):
        self.assign(data)

    def list_ctx(self):
        return [self.device]


class ParameterDict(dict):
    """Parameters by name, and the network that they are of."""

    def __init__(self, block):
        super().__init__(block.named_parameters())
        self._block = block

    def values(self):
        """Those that the network has now: layers make theirs at their first use."""
        return dict(self._block.named_parameters()).values()

    def initialize(self, init=None, ctx=None, force_reinit=False):
        self._block.initialize(init, ctx, force_reinit)

    def reset_ctx(self, ctx):
        """Moves them, and those that will be made."""
        self._block.to(ctx)

    reset_device = reset_ctx
