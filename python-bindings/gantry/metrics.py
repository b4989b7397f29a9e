"""Metrics: what is counted while a network learns or is looked at. Each keeps sums in variables, which a step of training
adds to on the device; nothing is copied until `result` is read.

>>> seen = gt.metrics.Accuracy()
>>> seen.update(labels, net(x))
>>> float(seen.result())
"""

import math

from . import math as gm, ops
from ._named import look_up
from .array import Kept, zeros
from .errors import InvalidArgumentError
from .function import Function
from .graph import suspended, tracing
from .variable import Variable


class Metric(Kept):
    """Sums in variables. Subclasses have `sums`, their names with their shapes, `measure`, which gives what a batch adds to
    each of them, and `value`, which makes the result of the sums."""

    sums = {"total": (), "count": ()}
    label = "metric"

    def __init__(self, name=None):
        self.name = name or self.label
        with suspended():
            self._sums = {key: Variable(zeros(shape), f"{self.name}/{key}", trainable=False)
                          for key, shape in self._shapes().items()}
        self._update, self._result = Function(self._add), Function(self._make)

    def _shapes(self):
        return self.sums

    def _add(self, labels, outputs):
        for key, value in self.measure(gm.tensor(labels), gm.tensor(outputs)).items():
            self._sums[key].assign_add(value if getattr(value, "dtype", "float32") == "float32" else ops.cast(value, "float32"))

    def _make(self):
        return self.value(**{key: variable.read() for key, variable in self._sums.items()})

    def update(self, labels, outputs):
        """Counts a batch."""
        (self._add if tracing() is not None else self._update)(labels, outputs)

    def result(self):
        """What the sums say now."""
        return (self._make if tracing() is not None else self._result)()

    def reset(self):
        """Begins anew."""
        for variable in self._sums.values():
            variable.assign(0)

    def variables(self):
        return list(self._sums.values())

    def measure(self, labels, outputs):
        raise NotImplementedError

    def value(self, total, count):
        """total / count, 0 where nothing was counted."""
        return total / ops.maximum(count, 1.0)


def _mean_of(values):
    """What a mean adds of values: their sum and number."""
    return {"total": gm.sum(ops.cast(values, "float32") if values.dtype != "float32" else values),
            "count": float(math.prod(values.shape))}


class Mean(Metric):
    """The mean of values: `update(values)`."""

    label = "mean"

    def update(self, values, outputs=None):
        super().update(values, values)

    def measure(self, labels, outputs):
        return _mean_of(labels)


def _hits(labels, outputs):
    """By row, whether the class is the one of the largest output; of outputs of one column whether it is above 1/2."""
    if labels.shape == outputs.shape[:-1] and not labels.dtype.is_floating:
        return ops.cast(ops.argmax(outputs, len(outputs.shape) - 1), labels.dtype) == labels
    is_row = len(outputs.shape) > 1 and outputs.shape[-1] > 1
    if labels.shape == outputs.shape and is_row:
        last = len(outputs.shape) - 1
        return ops.argmax(outputs, last) == ops.argmax(labels, last)
    if labels.shape in (outputs.shape, outputs.shape[:-1]) and not is_row:
        return (ops.reshape(outputs, labels.shape) > 0.5) == (ops.cast(labels, outputs.dtype) > 0.5)
    raise InvalidArgumentError(f"an accuracy has labels [n] or [n, k] for outputs [n, k], got {labels.dtype}{list(labels.shape)} and "
                               f"{list(outputs.shape)}")


class Accuracy(Metric):
    """The share of rows whose largest output is that of the label: an integer, or a row of [n, k]. Of one output for each
    row, whether it lies on the label's side of 1/2."""

    label = "accuracy"

    def measure(self, labels, outputs):
        return _mean_of(_hits(labels, outputs))


class TopK(Metric):
    """The share of rows with fewer than k outputs above that of the label, an integer."""

    def __init__(self, k=5, name=None):
        self._k = k
        super().__init__(name or f"top_{k}")

    def measure(self, labels, outputs):
        if labels.shape != outputs.shape[:-1] or labels.dtype.is_floating:
            raise InvalidArgumentError(f"top-k has labels [n] of integers for outputs [n, k], got {labels.dtype}{list(labels.shape)} "
                                       f"and {list(outputs.shape)}")
        own = ops.reshape(labels if labels.dtype in ("int32", "int64") else ops.cast(labels, "int32"), (*labels.shape, 1))
        larger = outputs > ops.gather_elements(outputs, own, len(outputs.shape) - 1)
        return _mean_of(gm.sum(ops.cast(larger, "int32"), -1) < self._k)


class _Binary(Metric):
    """Counts of outputs above a threshold against labels of 0 and 1."""

    sums = {"hits": (), "said": (), "there": ()}

    def __init__(self, threshold=0.5, name=None):
        self._threshold = threshold
        super().__init__(name)

    def _check(self, labels, outputs):
        if labels.shape != outputs.shape:
            raise InvalidArgumentError(f"{self.name} has labels of the outputs' shape {list(outputs.shape)}, got {list(labels.shape)}")

    def measure(self, labels, outputs):
        self._check(labels, outputs)
        said = ops.cast(outputs > self._threshold, "float32")
        there = ops.cast(ops.cast(labels, "float32") > 0.5, "float32")
        return {"hits": gm.sum(said * there), "said": gm.sum(said), "there": gm.sum(there)}


class Binary(_Binary):
    """The share of outputs on the label's side of the threshold, labels 0 and 1 of the outputs' shape."""

    label = "binary_accuracy"
    sums = {"total": (), "count": ()}

    def measure(self, labels, outputs):
        self._check(labels, outputs)
        return _mean_of((outputs > self._threshold) == (ops.cast(labels, "float32") > 0.5))

    def value(self, total, count):
        return total / ops.maximum(count, 1.0)


class Precision(_Binary):
    """Of what was said to be there, the share that is."""

    label = "precision"

    def value(self, hits, said, there):
        return hits / ops.maximum(said, 1.0)


class Recall(_Binary):
    """Of what is there, the share that was said to be."""

    label = "recall"

    def value(self, hits, said, there):
        return hits / ops.maximum(there, 1.0)


class F1(_Binary):
    """The harmonic mean of precision and recall."""

    label = "f1"

    def value(self, hits, said, there):
        return hits * 2.0 / ops.maximum(said + there, 1.0)


class AUC(Metric):
    """The area under the curve of rates: the probability that an output of a label 1 is above one of a label 0. Outputs, from 0 to
    1, are counted by `bins` steps, as Keras's thresholds; those of one step are equal. 0 where one of the labels is missing.

    from_logits  outputs are logits, whose sigmoid is counted
    """

    label = "auc"

    def __init__(self, bins=200, from_logits=False, name=None):
        self._bins, self._from_logits = bins, from_logits
        super().__init__(name)

    def _shapes(self):
        return {"ones": (self._bins,), "zeros": (self._bins,)}

    def measure(self, labels, outputs):
        if labels.shape != outputs.shape:
            raise InvalidArgumentError(f"{self.name} has labels of the outputs' shape {list(outputs.shape)}, got {list(labels.shape)}")
        outputs = ops.cast(outputs, "float32") if outputs.dtype != "float32" else outputs
        outputs = ops.sigmoid(outputs) if self._from_logits else outputs
        places = ops.cast(ops.clamp(ops.floor(outputs * float(self._bins)), 0.0, float(self._bins - 1)), "int32")
        marks = ops.one_hot(ops.reshape(places, (math.prod(places.shape),)), 0, 1, 1, self._bins)
        ones = ops.reshape(ops.cast(ops.cast(labels, "float32") > 0.5, "float32"), (math.prod(labels.shape), 1))
        marks = ops.cast(marks, "float32")
        return {"ones": gm.sum(marks * ones, 0), "zeros": gm.sum(marks * (1 - ones), 0)}

    def value(self, ones, zeros):
        below = ops.cumsum(zeros, 0, exclusive=True)
        pairs = gm.sum(ones) * gm.sum(zeros)
        return gm.sum(ones * (below + zeros * 0.5)) / ops.maximum(pairs, 1.0)


class Perplexity(Metric):
    """e to the mean of -log p of the label, an integer: labels [n, ...] for outputs [n, ..., k], probabilities or with from_logits
    logits. Rows whose label is `ignored` do not count. 1 where nothing was counted."""

    label = "perplexity"

    def __init__(self, from_logits=False, ignored=None, name=None):
        self._from_logits, self._ignored = from_logits, ignored
        super().__init__(name)

    def measure(self, labels, outputs):
        outputs = ops.cast(outputs, "float32") if outputs.dtype != "float32" else outputs
        if not self._from_logits:
            outputs = ops.log(ops.clamp(outputs, 1e-7, 1.0))
        elif outputs.shape:
            outputs = ops.log_softmax(outputs, len(outputs.shape) - 1)
        if labels.shape != outputs.shape[:-1] or labels.dtype.is_floating or not outputs.shape:
            raise InvalidArgumentError(f"{self.name} has labels [n, ...] of integers for outputs [n, ..., k], got "
                                       f"{labels.dtype}{list(labels.shape)} and {list(outputs.shape)}")
        own = ops.reshape(labels if labels.dtype in ("int32", "int64") else ops.cast(labels, "int32"), (*labels.shape, 1))
        rows = -gm.squeeze(ops.gather_elements(outputs, own, len(outputs.shape) - 1), -1)
        if self._ignored is None:
            return _mean_of(rows)
        counts = ops.cast(labels != self._ignored, "float32")
        return {"total": gm.sum(rows * counts), "count": gm.sum(counts)}

    def value(self, total, count):
        return ops.exp(total / ops.maximum(count, 1.0))


class MeanAbsolute(Metric):
    """The mean of |output - label|."""

    label = "mae"

    def measure(self, labels, outputs):
        return _mean_of(ops.abs(outputs - ops.cast(labels, outputs.dtype)))


class ConfusionMatrix(Metric):
    """How often a row of class i got its largest output at j: [k, k]."""

    label = "confusion"

    def __init__(self, classes, name=None):
        self._classes = classes
        super().__init__(name)

    def _shapes(self):
        return {"counts": (self._classes, self._classes)}

    def measure(self, labels, outputs):
        mark = lambda ids: ops.one_hot(ops.cast(ids, "int32"), 0.0, 1.0, 1, self._classes)
        return {"counts": ops.matmul(mark(labels), mark(ops.argmax(outputs, 1)), transpose_a=True)}

    def value(self, counts):
        return counts


_NAMED = {"accuracy": Accuracy, "top_5": TopK, "precision": Precision, "recall": Recall, "f1": F1, "mae": MeanAbsolute,
          "binary_accuracy": Binary, "auc": AUC, "perplexity": Perplexity}


def named(given):
    """A new metric of a name, or what was given if it is one."""
    return given if isinstance(given, Metric) else look_up(_NAMED, given, "metric")()
