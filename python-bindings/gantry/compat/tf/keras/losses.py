"""tf.keras.losses: gantry.losses as objects. Each gives the mean over all rows."""

import gantry as _gt
from gantry import losses as _own
from gantry.graph import Value as _Value
from gantry.math import tensor as _tensor

from ..._names import missing as _missing

__path__ = []  # so that a name that is missing is told on import, too


def _fitted(labels, outputs):
    """Labels in the rank that the outputs, or their rows, have: [n, 1] and [n] are the same to Keras."""
    labels, outputs = _tensor(labels), outputs if isinstance(outputs, _Value) else _tensor(outputs)
    if len(labels.shape) == len(outputs.shape) - 1 and outputs.shape[-1:] == (1,) and labels.dtype.is_floating:
        labels = _gt.reshape(labels, outputs.shape)
    return labels, outputs


class Loss:
    """A function of labels and outputs; sample_weight multiplies what rows give."""

    func, name = None, None

    def __init__(self, reduction="auto", name=None, **options):
        if reduction not in ("auto", "sum_over_batch_size"):
            raise _gt.InvalidArgumentError(f"{type(self).__name__} gives the mean over all rows; reduction={reduction!r} is not there")
        self.name, self._options = name or self.name, options

    def __call__(self, y_true, y_pred, sample_weight=None):
        labels, outputs = _fitted(y_true, y_pred)
        options = dict(self._options)
        outputs = self._logits(outputs, options)
        return type(self).func(labels, outputs, weights=sample_weight, **options)

    def _logits(self, outputs, options):
        return outputs


class _OfClasses(Loss):
    """Losses of probabilities: where these are a softmax's, what went into it is taken."""

    def _logits(self, outputs, options):
        logits = outputs.logits if isinstance(outputs, _Value) else None
        if logits is None:
            return outputs
        if options.get("from_logits"):
            _own._remark(f"{self.name} with from_logits=True is given what a softmax gave; as Keras does, it takes what went into the softmax")
        options["from_logits"] = True
        return logits


class SparseCategoricalCrossentropy(_OfClasses):
    func, name = staticmethod(_own.scce), "sparse_categorical_crossentropy"

    def __init__(self, from_logits=False, ignore_class=None, reduction="auto", name=None):
        super().__init__(reduction, name, from_logits=from_logits, ignored=ignore_class)

    def __call__(self, y_true, y_pred, sample_weight=None):
        labels = _tensor(y_true)
        if labels.shape == (*y_pred.shape[:-1], 1):
            labels = _gt.reshape(labels, labels.shape[:-1])
        return super().__call__(labels.astype("int32") if labels.dtype.is_floating else labels, y_pred, sample_weight)


class CategoricalCrossentropy(_OfClasses):
    func, name = staticmethod(_own.cce), "categorical_crossentropy"

    def __init__(self, from_logits=False, label_smoothing=0.0, reduction="auto", name=None):
        super().__init__(reduction, name, from_logits=from_logits, smoothing=label_smoothing)


class BinaryCrossentropy(Loss):
    func, name = staticmethod(_own.bce), "binary_crossentropy"

    def __init__(self, from_logits=False, label_smoothing=0.0, reduction="auto", name=None):
        super().__init__(reduction, name, from_logits=from_logits, smoothing=label_smoothing)


class MeanSquaredError(Loss):
    func, name = staticmethod(_own.mse), "mean_squared_error"


class MeanAbsoluteError(Loss):
    func, name = staticmethod(_own.mae), "mean_absolute_error"


class Huber(Loss):
    func, name = staticmethod(_own.huber), "huber"

    def __init__(self, delta=1.0, reduction="auto", name=None):
        super().__init__(reduction, name, delta=delta)


class LogCosh(Loss):
    func, name = staticmethod(_own.log_cosh), "log_cosh"


class KLDivergence(Loss):
    func, name = staticmethod(_own.kl), "kl_divergence"


class Hinge(Loss):
    func, name = staticmethod(_own.hinge), "hinge"


class CosineSimilarity(Loss):
    func, name = staticmethod(_own.cosine), "cosine_similarity"


def _by_row(make):
    """The function that gives what each row gives."""
    return lambda y_true, y_pred, **options: _own.per_row(make(**options))(y_true, y_pred)


sparse_categorical_crossentropy, categorical_crossentropy, binary_crossentropy = (
    _by_row(each) for each in (SparseCategoricalCrossentropy, CategoricalCrossentropy, BinaryCrossentropy))
mean_squared_error, mean_absolute_error = _by_row(MeanSquaredError), _by_row(MeanAbsoluteError)
mse, mae = mean_squared_error, mean_absolute_error
_NAMES = {"mse": MeanSquaredError, "mae": MeanAbsoluteError, "logcosh": LogCosh}
_NAMES.update({each.name: each for each in (SparseCategoricalCrossentropy, CategoricalCrossentropy, BinaryCrossentropy, MeanSquaredError,
                                            MeanAbsoluteError, Huber, LogCosh, KLDivergence, Hinge, CosineSimilarity)})


def get(given):
    """The loss of a name, or what was given: a Loss, or a function of labels and outputs, whose mean is taken."""
    if isinstance(given, str) and given in _NAMES:
        return _NAMES[given]()
    loss = _own.named(given)
    return loss if isinstance(loss, Loss) else lambda y_true, y_pred: _gt.mean(loss(y_true, y_pred))


def __getattr__(name):
    return _missing(f"tf.keras.losses.{name}")
