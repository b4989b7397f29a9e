"""mxnet.gluon: networks, their parameters, losses and steps."""

import gantry as _gt
from gantry import losses as _losses, optim as _optim

from ..._names import Namespace as _Namespace, missing as _missing
from .parameter import Parameter, ParameterDict  # noqa: F401
from . import nn, parameter  # noqa: F401


class Trainer:
    """Makes steps by the gradients that parameters have, as sums over a batch."""

    def __init__(self, params, optimizer, optimizer_params=None):
        given = dict(optimizer_params or {})
        self._params = params
        rate, decay = given.pop("learning_rate", 0.01 if optimizer == "sgd" else 0.001), given.pop("wd", 0.0)
        if optimizer == "sgd":
            self._own = _optim.KerasSGD(rate, given.pop("momentum", 0.0), l2=decay)
        elif optimizer == "adam":
            self._own = _optim.Adam(rate, given.pop("beta1", 0.9), given.pop("beta2", 0.999), 0.0, given.pop("epsilon", 1e-8), l2=decay)
        else:
            raise _gt.InvalidArgumentError(f"gluon.Trainer has 'sgd' and 'adam' here, got {optimizer!r}; gantry.optim has more")
        if given:
            raise _gt.InvalidArgumentError(f"{optimizer} has no '{next(iter(given))}' here")
        self.learning_rate = rate

    def step(self, batch_size, ignore_stale_grad=False):
        pairs = [(each, each.grad()) for each in self._params.values() if each.trainable and each.grad() is not None]
        if not pairs:
            raise _gt.FailedPreconditionError("no parameter has a gradient: call backward() on what was computed in autograd.record()")
        scale = 1.0 / batch_size
        self._own.apply([each for each, _ in pairs], [gradient if scale == 1 else gradient * scale for _, gradient in pairs])


def _loss(own, scale=1.0):
    """A loss that gives what each row gives, the outputs in front."""
    class Loss:
        def __init__(self, weight=None, batch_axis=0):
            self._scale = scale * (1.0 if weight is None else weight)

        def __call__(self, pred, label, sample_weight=None):
            label = _gt.math.tensor(label)
            label = label if own is _losses.scce or label.shape == pred.shape else _gt.reshape(label, pred.shape)
            made = self._of(label, pred, sample_weight)
            return made if self._scale == 1 else made * self._scale

        def _of(self, label, pred, weights):
            return _losses.per_row(own)(label, pred, weights=weights)
    return Loss


class _SoftmaxCrossEntropyLoss(_loss(_losses.scce)):
    def __init__(self, axis=-1, sparse_label=True, from_logits=False, weight=None, batch_axis=0):
        super().__init__(weight)
        if from_logits:
            raise _gt.InvalidArgumentError("from_logits=True means logarithms of probabilities to MXNet; gantry.losses.nll takes them")
        self._own = _losses.scce if sparse_label else _losses.cce

    def _of(self, label, pred, weights):
        label = label.astype("int32") if self._own is _losses.scce and label.dtype.is_floating else label
        return _losses.per_row(self._own)(label, pred, from_logits=True, weights=weights)


loss = _Namespace("mx.gluon.loss", L2Loss=_loss(_losses.mse, 0.5), L1Loss=_loss(_losses.mae), HuberLoss=_loss(_losses.huber),
                  SoftmaxCrossEntropyLoss=_SoftmaxCrossEntropyLoss, SoftmaxCELoss=_SoftmaxCrossEntropyLoss)


def __getattr__(name):
    return _missing(f"mx.gluon.{name}")
