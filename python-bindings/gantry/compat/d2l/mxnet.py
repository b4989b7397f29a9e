"""d2l.mxnet: `from gantry.compat.d2l import mxnet as d2l`."""

from .. import mx as _mx
from .._names import missing as _missing
from ..mx import autograd as _autograd, gluon as _gluon, np as _np
from ._book import (BookModule as _BookModule, BookTrainer as _BookTrainer, DataModule as _DataModule, HyperParameters, ProgressBoard,
                    add_to_class, cpu, gpu, num_gpus, try_all_gpus, try_gpu)

__path__ = []  # so that a name that is missing is told on import, too


class Module(_gluon.nn.Block, _BookModule):
    """A network with its loss and its optimiser. Arrays that are attributes are parameters from scratch."""

    def __init__(self, plot_train_per_epoch=2, plot_valid_per_epoch=1):
        _gluon.nn.Block.__init__(self)
        self._begin_board(plot_train_per_epoch, plot_valid_per_epoch)

    def forward(self, X):
        return self.net(X)

    def get_scratch_params(self):
        """Arrays that are attributes, also of networks that are."""
        params = []
        for each in vars(self).values():
            if isinstance(each, _np.ndarray):
                params.append(each)
            elif isinstance(each, Module):
                params.extend(each.get_scratch_params())
        return params

    def parameters(self):
        made = self.collect_params()
        return made if len(made) or not self.get_scratch_params() else self.get_scratch_params()

    def set_scratch_params_device(self, device):
        """Moves arrays that are attributes, which have gradients there."""
        for name, each in list(vars(self).items()):
            if isinstance(each, _np.ndarray):
                setattr(self, name, each.as_in_ctx(device))
                getattr(self, name).attach_grad()
            for part in each if isinstance(each, list) else [each]:
                if isinstance(part, Module):
                    part.set_scratch_params_device(device)

    def configure_optimizers(self):
        return _gluon.Trainer(self.collect_params(), "sgd", {"learning_rate": self.lr})


class DataModule(_DataModule):
    """Data of this tab."""


class Trainer(_BookTrainer):
    def train_batch(self, batch):
        with _autograd.record():
            loss = self.model.training_step(batch)
        loss.backward()
        if self.gradient_clip_val > 0:
            own = [each for each in self.model.collect_params().values() if each.grad() is not None]
            for each, gradient in zip(own, self.clipped([each.grad() for each in own])):
                each.take_gradient(gradient)
        self.optim.step(1)

    def _move(self, model, device):
        model.collect_params().reset_ctx(device)
        model.set_scratch_params_device(device)


def __getattr__(name):
    return _missing(f"d2l.mxnet.{name}")
