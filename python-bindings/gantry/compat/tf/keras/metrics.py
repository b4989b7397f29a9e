"""tf.keras.metrics: gantry.metrics by Keras's names and arguments."""

import gantry as _gt
from gantry import metrics as _own

from ..._names import missing as _missing
from .losses import _fitted

__path__ = []  # so that a name that is missing is told on import, too


class Metric:
    """What Keras's metrics have besides."""

    def measure(self, labels, outputs):
        labels, outputs = _fitted(labels, outputs)
        if labels.shape == (*outputs.shape[:-1], 1) and labels.shape != outputs.shape:
            labels = _gt.reshape(labels, labels.shape[:-1])
        return super().measure(labels, outputs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.update(y_true, y_pred)

    def reset_state(self):
        self.reset()

    reset_states = reset_state


class SparseCategoricalAccuracy(Metric, _own.Accuracy):
    label = "sparse_categorical_accuracy"


class CategoricalAccuracy(Metric, _own.Accuracy):
    label = "categorical_accuracy"


class Accuracy(Metric, _own.Accuracy):
    label = "accuracy"


class SparseTopKCategoricalAccuracy(Metric, _own.TopK):
    def __init__(self, k=5, name=None):
        super().__init__(k, name or "sparse_top_k_categorical_accuracy")


class BinaryAccuracy(Metric, _own.Binary):
    def __init__(self, name=None, threshold=0.5):
        super().__init__(threshold, name)


class Precision(Metric, _own.Precision):
    def __init__(self, thresholds=0.5, name=None):
        super().__init__(thresholds, name)


class Recall(Metric, _own.Recall):
    def __init__(self, thresholds=0.5, name=None):
        super().__init__(thresholds, name)


class AUC(Metric, _own.AUC):
    def __init__(self, num_thresholds=200, name=None, from_logits=False):
        super().__init__(num_thresholds, from_logits, name)


class MeanAbsoluteError(Metric, _own.MeanAbsolute):
    label = "mean_absolute_error"


class MeanSquaredError(Metric, _own.Metric):
    label = "mean_squared_error"

    def measure(self, labels, outputs):
        labels, outputs = _fitted(labels, outputs)
        difference = outputs - labels.astype(outputs.dtype)
        return _own._mean_of(difference * difference)


class Mean(_own.Mean):
    def update_state(self, values, sample_weight=None):
        self.update(_gt.math.tensor(values))

    reset_state = reset_states = Metric.reset_state


_NAMES = {"accuracy": Accuracy, "acc": lambda: Accuracy(name="acc"), "mse": lambda: MeanSquaredError(name="mse"),
          "mae": lambda: MeanAbsoluteError(name="mae"), "binary_accuracy": BinaryAccuracy, "AUC": AUC, "auc": AUC,
          "Precision": Precision, "Recall": Recall}
_NAMES.update({each.label: each for each in (SparseCategoricalAccuracy, CategoricalAccuracy, MeanAbsoluteError, MeanSquaredError)})
_NAMES["sparse_top_k_categorical_accuracy"] = SparseTopKCategoricalAccuracy


def get(given):
    """A new metric of a name, or what was given."""
    return _NAMES[given]() if isinstance(given, str) and given in _NAMES else given


def __getattr__(name):
    return _missing(f"tf.keras.metrics.{name}")
