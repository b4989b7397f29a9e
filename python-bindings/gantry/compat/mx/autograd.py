"""mxnet.autograd: ops inside of record() are remembered, and backward() gives what wants gradients its own."""

import contextlib as _contextlib

from gantry import nn as _nn

from .. import _autograd
from .._names import missing as _missing

__path__ = []  # so that a name that is missing is told on import, too

is_recording, is_training = _autograd.is_recording, _nn.is_training


@_contextlib.contextmanager
def record(train_mode=True):
    with _autograd.Recording(True), _nn.training(train_mode):
        yield


@_contextlib.contextmanager
def pause(train_mode=False):
    with _autograd.Recording(False), _nn.training(train_mode):
        yield


def train_mode():
    return _nn.training(True)


def predict_mode():
    return _nn.training(False)


def backward(heads, head_grads=None):
    for i, head in enumerate(heads if isinstance(heads, (list, tuple)) else [heads]):
        head.backward(None if head_grads is None else head_grads[i])


def __getattr__(name):
    return _missing(f"mx.autograd.{name}")
