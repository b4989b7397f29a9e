"""d2l.tensorflow: `from gantry.compat.d2l import tensorflow as d2l`."""

from gantry import nn as _nn

from .. import tf as _tf
from .._names import missing as _missing
from ._book import (BookModule as _BookModule, BookTrainer as _BookTrainer, DataModule as _DataModule, HyperParameters, ProgressBoard,
                    add_to_class, cpu, gpu, num_gpus, try_all_gpus, try_gpu)

__path__ = []  # so that a name that is missing is told on import, too


class Module(_tf.keras.Model, _BookModule):
    """A network with its loss and its optimiser."""

    def __init__(self, plot_train_per_epoch=2, plot_valid_per_epoch=1):
        _tf.keras.Model.__init__(self)
        self._begin_board(plot_train_per_epoch, plot_valid_per_epoch)

    def call(self, X):
        return self.net(X)

    def configure_optimizers(self):
        return _tf.keras.optimizers.SGD(self.lr)


class DataModule(_DataModule):
    def get_tensorloader(self, tensors, train, indices=slice(0, None)):
        rows = _tf.data.Dataset.from_tensor_slices(tuple(each[indices] for each in tensors))
        return (rows.shuffle(buffer_size=len(rows)) if train else rows).batch(self.batch_size)


class Trainer(_BookTrainer):
    def train_batch(self, batch):
        with _tf.GradientTape() as tape, _nn.training():
            loss = self.model.training_step(batch)
        own = self.model.trainable_variables
        gradients = tape.gradient(loss, own)
        if self.gradient_clip_val > 0:
            gradients = self.clipped(gradients)
        self.optim.apply_gradients(zip(gradients, own))


def __getattr__(name):
    return _missing(f"d2l.tensorflow.{name}")
