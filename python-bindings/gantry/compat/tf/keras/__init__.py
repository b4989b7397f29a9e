"""Keras's names, over gantry.nn, losses, metrics, optim, data and Trainer: `from gantry.compat.tf.keras import *`.

Images and sequences have their channels last, and initial values, epsilons, momenta and the rate inside of a momentum are Keras's.
Kernels of convolutions lie as gantry.nn has them; `get_weights` and `set_weights` turn them to Keras's order.
"""

import numpy as _np

import gantry as _gt
from gantry.data import pad_sequences as _pad_sequences

from ..._names import Namespace as _Namespace, missing as _missing
from . import activations, callbacks, datasets, initializers, layers, losses, metrics, models, optimizers
from .layers import Input
from .models import Model, Sequential

backend = _Namespace("tf.keras.backend", clear_session=lambda: None)  # nothing is kept that would have to go
preprocessing = _Namespace("tf.keras.preprocessing", sequence=_Namespace("tf.keras.preprocessing.sequence", pad_sequences=_pad_sequences))


def _to_categorical(y, num_classes=None, dtype="float32"):
    """Rows with a 1 at each class."""
    y = _np.asarray(y).reshape(-1)
    if not len(y) and num_classes is None:
        raise _gt.InvalidArgumentError("to_categorical wants num_classes where there is no label")
    return _np.eye(int(y.max()) + 1 if num_classes is None else num_classes, dtype=dtype)[y]


utils = _Namespace("tf.keras.utils", to_categorical=_to_categorical)
__all__ = ["Input", "Model", "Sequential", "activations", "backend", "callbacks", "datasets", "initializers", "layers", "losses", "metrics",
           "models", "optimizers", "preprocessing", "utils"]


def __getattr__(name):
    return _missing(f"tf.keras.{name}")
