"""d2l.torch: `from gantry.compat.d2l import torch as d2l`."""

from .. import torch as _torch
from .._names import missing as _missing
from ._book import (BookModule as _BookModule, BookTrainer as _BookTrainer, DataModule as _DataModule, HyperParameters, ProgressBoard,
                    add_to_class, cpu, gpu, num_gpus, try_all_gpus, try_gpu)

__path__ = []  # so that a name that is missing is told on import, too

tensor, ones, zeros, arange, matmul, reduce_sum, reduce_mean = (
    _torch.tensor, _torch.ones, _torch.zeros, _torch.arange, _torch.matmul, _torch.sum, _torch.mean)


class Module(_torch.nn.Module, _BookModule):
    """A network with its loss and its optimiser."""

    def __init__(self, plot_train_per_epoch=2, plot_valid_per_epoch=1):
        _torch.nn.Module.__init__(self)
        self._begin_board(plot_train_per_epoch, plot_valid_per_epoch)

    def forward(self, X):
        return self.net(X)

    _seen = staticmethod(lambda value: value.detach())

    def configure_optimizers(self):
        return _torch.optim.SGD(self.parameters(), lr=self.lr)


class DataModule(_DataModule):
    """Data of this tab."""


class Trainer(_BookTrainer):
    def train_batch(self, batch):
        loss = self.model.training_step(batch)
        self.optim.zero_grad()
        with _torch.no_grad():
            loss.backward()
            if self.gradient_clip_val > 0:
                self.clip_gradients(self.gradient_clip_val, self.model)
            self.optim.step()

    def clip_gradients(self, grad_clip_val, model):
        own = [each for each in model.parameters() if each.grad is not None]
        for each, gradient in zip(own, self.clipped([each.grad for each in own])):
            each.grad = gradient

    def validate_batch(self, batch):
        with _torch.no_grad():
            super().validate_batch(batch)

    def _set_training(self, on):
        self.model.train(on)


def __getattr__(name):
    return _missing(f"d2l.torch.{name}")
