"""tf.keras.models: Sequential and Model, which compile a gantry.Trainer."""

import inspect as _inspect

import numpy as _np

import gantry as _gt
from gantry import distribute as _distribute, nn as _nn
from gantry.nn.module import Node as _Node, _new_name, is_training as _is_training

from ..._names import missing as _missing
from . import losses as _losses, metrics as _metrics, optimizers as _optimizers
from .layers import Layer

__path__ = []  # so that a name that is missing is told on import, too


class History:
    """What one call of `fit` has logged: `history` has a list by name."""

    def __init__(self, logged, begin, epochs):
        self.history = {name: values[begin:] for name, values in logged.items() if values[begin:]}
        self.epoch = list(range(epochs))


def _fed(data):
    """Data as a Trainer takes them."""
    return getattr(data, "_own", data)


class _Trained(Layer):
    """What networks have: compile, fit, evaluate, predict, summary."""

    _trainer, _strategy = None, None

    def _begin(self):
        """In a strategy's scope a network is that strategy's."""
        self._strategy = _distribute.current()
        if self._strategy is not None:
            self.to(self._strategy.home)

    def _inputs(self):
        """What one row of each input is: pairs of shape and type; none where that is not known."""
        return None

    def _make(self):
        """Makes the variables, where the shapes of inputs are known."""
        known = self._inputs()
        if known and self.is_open:
            self.lower(*(_np.zeros((1, *shape), dtype) for shape, dtype in known))

    def compile(self, optimizer="rmsprop", loss=None, metrics=None):
        """What it learns by: names, or objects of optimizers, losses and metrics."""
        self._make()
        self.optimizer = _optimizers.get(optimizer)
        given = [metrics] if isinstance(metrics, str) else metrics or ()
        self._trainer = _gt.Trainer(self, _losses.get(loss or "mse"), self.optimizer, [_metrics.get(each) for each in given],
                                    strategy=_distribute.current() or self._strategy)

    def _compiled(self):
        if self._trainer is None:
            raise _gt.FailedPreconditionError(f"{self.name} is not compiled yet: model.compile(optimizer=, loss=)")
        return self._trainer

    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose=1, callbacks=(), validation_split=0.0, validation_data=None,
            shuffle=True):
        """Learns from arrays or a Dataset of batches; gives the History."""
        trainer, x = self._compiled(), _fed(x)
        if validation_split and validation_data is None:
            kept = int(len(x) * (1 - validation_split))
            x, y, validation_data = x[:kept], y[:kept], (x[kept:], y[kept:])
        begin = trainer.epoch
        trainer.fit(x, y, validation=_fed(validation_data), epochs=epochs, batch=batch_size, shuffle=bool(shuffle), progress=bool(verbose),
                    callbacks=list(callbacks or ()))
        self.history = History(trainer.history.history, begin, trainer.epoch - begin)
        return self.history

    def evaluate(self, x=None, y=None, batch_size=None, verbose=1, return_dict=False):
        """The loss and metrics in a list, the loss alone where there are none, or a dict."""
        logs = self._compiled().evaluate(_fed(x), y, batch_size)
        values = list(logs.values())
        return logs if return_dict else values if len(values) > 1 else values[0]

    def predict(self, x, batch_size=32, verbose=0):
        """What it gives of rows, as one NumPy array."""
        return (self._trainer or _gt.Trainer(self, "mse")).predict(_fed(x), batch_size)

    def save_weights(self, path):
        """Writes a .safetensors file."""
        self.save(path)

    def load_weights(self, path):
        """Takes what `save_weights` has written."""
        self._make()
        self.load(path)

    def summary(self, print_fn=print):
        """Prints the table that Keras prints."""
        self._make()
        line = "_" * 65
        print_fn(f"Model: \"{self.name}\"\n{line}\n{_row('Layer (type)', 'Output Shape', 'Param #')}\n{'=' * 65}")
        layers = list(self.layers) if hasattr(self, "layers") else [part for _, part in self._parts() if isinstance(part, _nn.Module)]
        for i, layer in enumerate(layers):
            gives, count = vars(layer).get("_gives"), sum(each.size for each in layer.variables())
            shape = "?" if gives is None else str((None, *gives[1:]))
            made = str(count) if not layer.is_open else "?"
            print_fn(f"{_row(f'{layer.name} ({type(layer).__name__})', shape, made)}\n{line if i + 1 < len(layers) else '=' * 65}")
        count, learnt = (sum(each.size for each in group) for group in (self.variables(), self.parameters()))
        print_fn(f"Total params: {count:,}\nTrainable params: {learnt:,}\nNon-trainable params: {count - learnt:,}\n{line}")


def _row(*texts):
    """Columns as Keras has them, which end at 29, 55 and 65."""
    made = ""
    for text, end in zip(texts, (29, 55, 65)):
        made = (made + text)[:end].ljust(end) if end == 65 else (made + text)[:end - 1].ljust(end)
    return made


class Sequential(_Trained, _nn.Sequential):
    def __init__(self, layers=None, name=None):
        self._strategy = None
        _nn.Sequential.__init__(self, list(layers or ()), name=name)
        self._begin()

    def add(self, layer):
        """Appends a layer; an Input says what rows are."""
        if isinstance(layer, _Node):
            self._input = layer.shape, layer.dtype
            return
        if self._strategy is not None:
            layer.to(self._strategy.home)
        _nn.Sequential.add(self, layer)

    def _inputs(self):
        known = self._input or (getattr(self.layers[0], "_input", None) if self.layers else None)
        return [known] if known else None


class Model(_Trained, _nn.Module):
    """From Inputs to what layers give of them: Model(inputs=, outputs=); or a class of one's own with `call`."""

    def __new__(cls, *args, **named):
        return object.__new__(_Functional if cls is Model and (args or "inputs" in named) else cls)

    def __init__(self, name=None, **_):
        _nn.Module.__init__(self, name)
        self._begin()

    def call(self, *inputs):
        raise NotImplementedError(f"{type(self).__name__} has no call")

    def forward(self, *inputs):
        wants = "training" in _inspect.signature(self.call).parameters
        return self.call(*inputs, **({"training": _is_training()} if wants else {}))


class _Functional(Model, _nn.Model):
    def __init__(self, inputs, outputs, name=None):
        _nn.Model.__init__(self, inputs, outputs, name or _new_name("Model"))
        self._begin()
        self._make()

    forward = _nn.Model.forward

    def _inputs(self):
        known = [(each.shape, each.dtype) for each in self._begins if hasattr(each, "shape")]
        is_known = len(known) == len(self._begins) and all(None not in shape for shape, _ in known)
        return known if is_known else None


def __getattr__(name):
    return _missing(f"tf.keras.models.{name}")
