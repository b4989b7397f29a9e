"""torch.nn.functional: functions of arrays."""

import gantry as _gt
from gantry import nn as _nn

from ..._names import missing as _missing
from . import losses as _losses

__path__ = []  # so that a name that is missing is told on import, too

relu, sigmoid, tanh, silu, softplus, gelu = _gt.relu, _gt.sigmoid, _gt.tanh, _gt.silu, _gt.softplus, _gt.gelu


def softmax(input, dim=-1):
    return _gt.softmax(input, dim)


def log_softmax(input, dim=-1):
    return _gt.ops.log_softmax(input, dim % len(input.shape))


def linear(input, weight, bias=None):
    made = _gt.matmul(input, weight, transpose_b=True)
    return made if bias is None else made + bias


def cross_entropy(input, target, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    return _losses.CrossEntropyLoss(ignore_index, reduction, label_smoothing)(input, target)


def mse_loss(input, target, reduction="mean"):
    return _losses.MSELoss(reduction)(input, target)


def l1_loss(input, target, reduction="mean"):
    return _losses.L1Loss(reduction)(input, target)


def nll_loss(input, target, reduction="mean"):
    return _losses.NLLLoss(reduction)(input, target)


def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    return _losses.BCEWithLogitsLoss(reduction)(input, target)


def dropout(input, p=0.5, training=True):
    with _nn.training(training):
        return _nn.Dropout(p, name="dropout").forward(input)


def one_hot(tensor, num_classes):
    return _gt.one_hot(tensor, 0, 1, len(tensor.shape), num_classes)


def __getattr__(name):
    return _missing(f"torch.nn.functional.{name}")
