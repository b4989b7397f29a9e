"""torch.nn's recurrent layers: several of gantry.nn's, one on the other, with PyTorch's parameters, which have two biases each and their gates
first."""

import gantry as _gt
from gantry import nn as _nn

from . import Module


class _Direction:
    """One layer of gantry.nn over the steps, whose weights are made of PyTorch's."""

    order = None  # of PyTorch's gates, as gantry.nn has them; none: the same

    def __init__(self, owner, ending, inputs, units, has_bias, backwards, **options):
        super().__init__(units, bias=has_bias, sequences=True, state=True, backwards=backwards, dtype=owner._dtype, name=f"{owner.name}{ending}",
                         **options)
        self._built = True
        sizes = {"weight_ih": (self.gates * units, inputs), "weight_hh": (self.gates * units, units)}
        if has_bias:
            sizes.update(bias_ih=(self.gates * units,), bias_hh=(self.gates * units,))
        self._own = {}
        for name, shape in sizes.items():
            made = owner.variable(name + ending, shape, "fan_in_uniform", units, units, owner._dtype)
            setattr(owner, name + ending, made)
            self._own[name] = made

    def _gates(self, values):
        """With gates in gantry.nn's order, along the first axis."""
        if self.order is None:
            return _gt.math.tensor(values)
        return _gt.concat([values[i * self.units:(i + 1) * self.units] for i in self.order], 0)

    weight = property(lambda self: _gt.transpose(self._gates(self._own["weight_ih"]), (1, 0)))
    recurrent = property(lambda self: _gt.transpose(self._gates(self._own["weight_hh"]), (1, 0)))

    @property
    def bias(self):
        if not self._has_bias:
            return None
        own = [self._gates(self._own[name]) for name in ("bias_ih", "bias_hh")]
        return _gt.stack(own) if self.order is not None else own[0] + own[1]


class _SimpleRNN(_Direction, _nn.SimpleRNN):
    pass


class _LSTM(_Direction, _nn.LSTM):
    pass


class _GRU(_Direction, _nn.GRU):
    order = (1, 0, 2)


class _Stack(Module):
    """`num_layers` of them, one on the other, `bidirectional` with a second one each from the last step to the first, whose outputs are beside
    the others'. Sequences are [t, n, k], with `batch_first` [n, t, k]; the state is [layers * directions, n, units]. Gives (all steps, last
    state). `dropout` is between the layers."""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, dtype="float32",
                 **options):
        super().__init__()
        if num_layers < 1:
            raise _gt.InvalidArgumentError(f"{type(self).__name__} has at least one layer, got num_layers={num_layers}")
        self._dtype, self._batch_first, self._units = dtype, batch_first, hidden_size
        self._directions, self._size = 1 + bool(bidirectional), input_size
        self.between, self._halves = _nn.Dropout(dropout), []
        for i in range(num_layers):
            inputs = input_size if i == 0 else self._directions * hidden_size
            self._halves += [self._kind(self, f"_l{i}" + "_reverse" * back, inputs, hidden_size, bias, bool(back), **options)
                             for back in range(self._directions)]
        self._built = True

    def forward(self, x, hx=None):
        if len(x.shape) != 3 or x.shape[2] != self._size:
            wanted = "[n, t, k]" if self._batch_first else "[t, n, k]"
            raise _gt.InvalidArgumentError(f"{type(self).__name__} takes sequences {wanted} with k = {self._size}, got {list(x.shape)}")
        x = x if self._batch_first else _gt.transpose(x, (1, 0, 2))
        begin, lasts = self._begin(hx, x.shape[0]), []
        for i in range(0, len(self._halves), self._directions):
            given = x if i == 0 else self.between(x)
            made = [half.forward(given, state) for half, state in zip(self._halves[i:i + self._directions], begin[i:])]
            x = made[0][0] if len(made) == 1 else _gt.concat([y for y, *_ in made], 2)
            lasts += [state for _, *state in made]
        state = tuple(_gt.stack(each) for each in zip(*lasts))
        return x if self._batch_first else _gt.transpose(x, (1, 0, 2)), state[0] if len(state) == 1 else state

    def _begin(self, hx, rows):
        """The state that each direction of each layer begins with."""
        count = len(self._halves)
        if hx is None:
            return [None] * count
        given = list(hx) if self._kind.states > 1 else [hx]
        wanted = [count, rows, self._units]
        if len(given) != self._kind.states or any(list(each.shape) != wanted for each in given):
            raise _gt.InvalidArgumentError(f"{type(self).__name__} begins with {'h and c' if self._kind.states > 1 else 'h'} {wanted}, got "
                                           f"{', '.join(str(list(each.shape)) for each in given)}")
        return [[each[i] for each in given] for i in range(count)]


class RNN(_Stack):
    __doc__ = "h = tanh(x W^T + b + h W^T + b), or relu. " + _Stack.__doc__
    _kind = _SimpleRNN

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, dtype="float32"):
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype, activation=nonlinearity)


class LSTM(_Stack):
    __doc__ = "Long short-term memory, see gantry.nn.LSTM; its state is (h, c). " + _Stack.__doc__
    _kind = _LSTM


class GRU(_Stack):
    __doc__ = "Gated recurrent units, see gantry.nn.GRU. " + _Stack.__doc__
    _kind = _GRU
