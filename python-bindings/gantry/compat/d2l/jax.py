"""d2l.jax: `from gantry.compat.d2l import jax as d2l`. Networks have no variables of their own: losses take the parameters in front, and a
step takes a rate times their gradients off."""

import gantry as _gt

from .. import jax as _jax
from .._names import missing as _missing
from ._book import (BookModule as _BookModule, BookTrainer as _BookTrainer, DataModule as _DataModule, HyperParameters, ProgressBoard,
                    add_to_class, cpu, gpu, num_gpus, try_all_gpus, try_gpu)

__path__ = []  # so that a name that is missing is told on import, too


def get_key():
    """A key of the program's own sequence."""
    return _gt.random.next_key()


class Module(_BookModule):
    """A network `net` of flax.linen, and its loss: loss(params, X, y)."""

    def __init__(self, plot_train_per_epoch=2, plot_valid_per_epoch=1):
        self._begin_board(plot_train_per_epoch, plot_valid_per_epoch)

    def init(self, key, *inputs):
        return self.net.init(key, *inputs)

    def apply(self, params, *inputs):
        return self.net.apply(params, *inputs)

    def loss(self, params, X, y):
        raise NotImplementedError


class DataModule(_DataModule):
    """Data of this tab."""


class Trainer(_BookTrainer):
    def fit(self, model, data, key=None):
        self.prepare_data(data)
        self.prepare_model(model)
        first = self.prepare_batch(next(iter(self.train_dataloader)))
        self.params = model.init(key or get_key(), *first[:-1]).unfreeze()
        if self.gpus:
            self.params = _jax.tree_util.tree_map(lambda each: _jax.device_put(each, self.gpus[0]), self.params)
        self._step, self._look = _jax.jit(self._make_step), _jax.jit(model.loss)
        self._fit_epochs()

    def _make_step(self, params, *batch):
        loss, gradients = _jax.value_and_grad(self.model.loss)(params, *batch)
        if self.gradient_clip_val > 0:
            clipped = iter(self.clipped(_jax.tree_util.tree_leaves(gradients)))
            gradients = _jax.tree_util.tree_map(lambda _: next(clipped), gradients)
        return loss, _jax.tree_util.tree_map(lambda value, slope: value - self.model.lr * slope, params, gradients)

    def train_batch(self, batch):
        loss, self.params = self._step(self.params, *batch)
        self.model.plot("loss", loss, train=True)

    def validate_batch(self, batch):
        self.model.plot("loss", self._look(self.params, *batch), train=False)

    def prepare_batch(self, batch):
        return [_jax.device_put(each, self.gpus[0]) for each in batch] if self.gpus else batch

    def _move(self, model, device):
        """Parameters are moved when they are made."""


def __getattr__(name):
    return _missing(f"d2l.jax.{name}")
