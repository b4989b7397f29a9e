"""Losses: functions of labels and of what a network gives, which give the mean over all rows, a scalar.

>>> loss = gt.losses.scce(labels, net(x), from_logits=True)

Labels of `scce` and `nll` are integers, [n, ...]; those of the others have the shape of the outputs, [n, ..., k] or [n].
`weights`, one for each row or what broadcasts to that, multiply what rows give; the mean is over all rows all the same, as
Keras's, or with by_weight over the sum of weights, as PyTorch's with weights of classes. Outputs of float16 and bfloat16
count as float32, which the loss then is. Each has its short name, and that of Keras: `gantry.losses.named` takes both.
InvalidArgumentError for shapes that do not fit and for labels of the wrong kind.
"""

import functools
import math
import sys
import threading

from . import math as gm, ops
from ._named import look_up
from ._turns import kept
from .errors import InvalidArgumentError
from .function import scan
from .graph import Value, user_frame

_told = set()  # places that a remark was made for
_LEAST = 1e-7  # what a probability is kept away from 0 and 1 by, as Keras does


def _wide(outputs):
    """Narrow floats as float32: a mean over many rows, and 1 - p, have not enough digits there."""
    outputs = gm.tensor(outputs)
    if outputs.dtype not in ("float16", "bfloat16"):
        return outputs
    made = ops.cast(outputs, "float32")
    if isinstance(outputs, Value):
        made.made_by = outputs.made_by
    return made


def _pair(name, labels, outputs):
    """Both as floats of one type and shape."""
    labels, outputs = gm.tensor(labels), _wide(outputs)
    if not outputs.dtype.is_floating:
        raise InvalidArgumentError(f"{name} takes outputs of floats, got {outputs.dtype}{list(outputs.shape)}")
    if labels.shape != outputs.shape:
        hint = "; integer labels are for scce" if name in ("cce", "kl", "bce") and not labels.dtype.is_floating else ""
        raise InvalidArgumentError(f"{name} takes labels of the outputs' shape {list(outputs.shape)}, got {list(labels.shape)}{hint}")
    return labels if labels.dtype == outputs.dtype else ops.cast(labels, outputs.dtype), outputs


def _classes(name, labels, outputs):
    """Integer labels, [n, ..., 1], for outputs [n, ..., k]."""
    labels, outputs = gm.tensor(labels), _wide(outputs)
    if not outputs.dtype.is_floating or not outputs.shape:
        raise InvalidArgumentError(f"{name} takes outputs of floats, [n, ..., k], got {outputs.dtype}{list(outputs.shape)}")
    if labels.dtype.is_floating or labels.dtype == "bool":
        raise InvalidArgumentError(f"{name} takes labels of integers, got {labels.dtype}{list(labels.shape)}; cce takes those of "
                                   "the outputs' shape")
    if labels.shape != outputs.shape[:-1]:
        raise InvalidArgumentError(f"{name} takes labels {list(outputs.shape[:-1])} for outputs {list(outputs.shape)}, got "
                                   f"{list(labels.shape)}")
    labels = labels if labels.dtype in ("int32", "int64") else ops.cast(labels, "int32")
    return ops.reshape(labels, (*labels.shape, 1)), outputs


_asked = kept(threading.local())  # whether rows are wanted, by per_row


def per_row(loss):
    """The function that gives what a loss gives for each row, [n, ...], times its weight: the mean is left to the caller.

    >>> gt.losses.per_row(gt.losses.mse)(labels, outputs)
    """
    @functools.wraps(loss)
    def rows(*args, **kwargs):
        before, _asked.rows = getattr(_asked, "rows", False), True
        try:
            return loss(*args, **kwargs)
        finally:
            _asked.rows = before
    return rows


def _mean(rows, weights=None, by_weight=False):
    """Over all rows, or of their weights; where these are all 0 it is 0. The rows themselves where per_row asked for them."""
    is_mean = not getattr(_asked, "rows", False)
    if weights is None:
        return gm.mean(rows) if is_mean else rows
    weights = gm.tensor(weights)
    weights = weights if weights.dtype == rows.dtype else ops.cast(weights, rows.dtype)
    if not is_mean:
        return rows * weights
    if not by_weight:
        return gm.mean(rows * weights)
    total = gm.sum(weights if weights.shape == rows.shape else ops.broadcast(weights, rows.shape))
    return gm.sum(rows * weights) / gm.where(total == 0, gm.full_like(total, 1), total)


def _rows(x):
    """What each row gives: the mean over its outputs, [n, ..., k]; of outputs [n] each is a row."""
    return gm.mean(x, -1) if len(x.shape) > 1 else x


def _last(x):
    return len(x.shape) - 1


def mse(labels, outputs, weights=None, by_weight=False):
    """The mean of (output - label)^2."""
    labels, outputs = _pair("mse", labels, outputs)
    difference = outputs - labels
    return _mean(_rows(difference * difference), weights, by_weight)


def mae(labels, outputs, weights=None, by_weight=False):
    """The mean of |output - label|."""
    labels, outputs = _pair("mae", labels, outputs)
    made = ops.abs(outputs - labels)
    return _mean(_rows(made), weights, by_weight)


def huber(labels, outputs, delta=1.0, weights=None, by_weight=False):
    """e^2 / 2 for errors e up to delta, delta (|e| - delta / 2) beyond: Huber, Robust estimation of a location parameter,
    1964."""
    labels, outputs = _pair("huber", labels, outputs)
    error = ops.abs(outputs - labels)
    made = gm.where(error <= delta, error * error * 0.5, (error - 0.5 * delta) * delta)
    return _mean(_rows(made), weights, by_weight)


def log_cosh(labels, outputs, weights=None, by_weight=False):
    """The mean of log(cosh(output - label)), by |e| + softplus(-2 |e|) - log 2."""
    labels, outputs = _pair("log_cosh", labels, outputs)
    error = ops.abs(outputs - labels)
    made = error + ops.softplus(error * -2.0) - math.log(2)
    return _mean(_rows(made), weights, by_weight)


def bce(labels, outputs, from_logits=False, smoothing=0.0, weights=None, by_weight=False):
    """-(label log p + (1 - label) log(1 - p)), p the outputs, or their sigmoid with from_logits. `smoothing` takes labels
    that much of their way to 1/2."""
    labels, outputs = _pair("bce", labels, outputs)
    if smoothing:
        labels = labels * (1 - smoothing) + 0.5 * smoothing
    if from_logits:  # no e^x of large x: max(x, 0) - x label + log(1 + e^-|x|)
        made = ops.relu(outputs) - outputs * labels + ops.softplus(-ops.abs(outputs))
    else:
        outputs = ops.clamp(outputs, _LEAST, 1 - _LEAST)
        made = -(labels * ops.log(outputs) + (1 - labels) * ops.log(1 - outputs))
    return _mean(_rows(made), weights, by_weight)


def _tell_two_softmaxes(name, outputs):
    """Of logits that a softmax gave: labels cannot get more than e / (e + k - 1) then."""
    if isinstance(outputs, Value) and outputs.made_by == "softmax":
        least = math.log(math.e + outputs.shape[-1] - 1) - 1
        _remark(f"{name} with from_logits=True is given what a softmax gave, so that there are two: it stays above {least:.5g}; leave one of "
                "them out")


def _remark(text):
    """Says something of the program's line on stderr, once of each."""
    place = user_frame()
    if place not in _told:
        _told.add(place)
        print(f"{place[0]}:{place[1]}: remark: {text}", file=sys.stderr)


def _log_of(name, outputs, from_logits):
    """Logarithms of probabilities, [n, ..., k]."""
    if from_logits:
        _tell_two_softmaxes(name, outputs)
        return ops.log_softmax(outputs, _last(outputs))
    return ops.log(ops.clamp(outputs, _LEAST, 1 - _LEAST))


def cce(labels, outputs, from_logits=False, smoothing=0.0, weights=None, by_weight=False):
    """-sum of label log p over the last dimension, p the outputs, or their softmax with from_logits. `smoothing` takes labels
    that much of their way to 1/k."""
    labels, outputs = _pair("cce", labels, outputs)
    if smoothing:
        labels = labels * (1 - smoothing) + smoothing / outputs.shape[-1]
    return _mean(-gm.sum(labels * _log_of("cce", outputs, from_logits), -1), weights, by_weight)


def scce(labels, outputs, from_logits=False, smoothing=0.0, ignored=None, weights=None, by_weight=False):
    """cce for labels that are numbers of classes. Rows whose label is `ignored` give 0, and do not count in the mean."""
    labels, outputs = _classes("scce", labels, outputs)
    logs = _log_of("scce", outputs, from_logits)
    rows = -gm.squeeze(ops.gather_elements(logs, labels, _last(logs)), -1)
    if smoothing:
        rows = rows * (1 - smoothing) - gm.mean(logs, -1) * smoothing
    if ignored is None:
        return _mean(rows, weights, by_weight)
    counts = ops.cast(gm.squeeze(labels, -1) != ignored, rows.dtype)
    weights = counts if weights is None else counts * ops.cast(gm.tensor(weights), rows.dtype)
    if by_weight or getattr(_asked, "rows", False):
        return _mean(rows, weights, True)
    return gm.sum(rows * weights) / ops.maximum(gm.sum(counts), 1.0)


def nll(labels, outputs, weights=None, by_weight=False):
    """-output at the label: outputs are logarithms of probabilities, [n, ..., k]."""
    labels, outputs = _classes("nll", labels, outputs)
    return _mean(-gm.squeeze(ops.gather_elements(outputs, labels, _last(outputs)), -1), weights, by_weight)


def kl(labels, outputs, weights=None, by_weight=False):
    """sum of label log(label / output) over the last dimension: Kullback and Leibler, On information and sufficiency, 1951."""
    labels, outputs = _pair("kl", labels, outputs)
    labels, outputs = ops.clamp(labels, _LEAST, 1.0), ops.clamp(outputs, _LEAST, 1.0)
    return _mean(gm.sum(labels * ops.log(labels / outputs), -1), weights, by_weight)


def hinge(labels, outputs, weights=None, by_weight=False):
    """max(1 - label output, 0), labels -1 and 1."""
    labels, outputs = _pair("hinge", labels, outputs)
    made = ops.relu(1 - labels * outputs)
    return _mean(_rows(made), weights, by_weight)


def cosine(labels, outputs, weights=None, by_weight=False):
    """-label output / (|label| |output|) over the last dimension."""
    labels, outputs = _pair("cosine", labels, outputs)
    length = lambda x: ops.rsqrt(ops.maximum(gm.sum(x * x, -1), 1e-12))
    return _mean(-gm.sum(labels * outputs, -1) * length(labels) * length(outputs), weights, by_weight)


def triplet(anchor, positive, negative, margin=1.0, weights=None, by_weight=False):
    """max(|anchor - positive| - |anchor - negative| + margin, 0) of rows [n, k], by Euclid's norm with 1e-6 added to each
    difference, as PyTorch: Schroff et al., FaceNet, 2015."""
    positive, anchor = _pair("triplet", positive, anchor)
    negative, anchor = _pair("triplet", negative, anchor)
    apart = lambda a, b: ops.sqrt(gm.sum((a - b + 1e-6) * (a - b + 1e-6), -1))
    return _mean(ops.relu(apart(anchor, positive) - apart(anchor, negative) + margin), weights, by_weight)


_NEVER = -1e30  # the logarithm of what cannot be, so that no infinities meet


def _log_sum(*logs):
    """log of the sum of e^x, by the largest, which is a constant to gradients: what it adds it takes away."""
    top = ops.stop_gradient(functools.reduce(ops.maximum, logs))
    return top + ops.log(functools.reduce(ops.add, [ops.exp(each - top) for each in logs]))


def ctc(labels, outputs, sizes=None, steps=None, blank=0, from_logits=False, weights=None, by_weight=False):
    """-log of the probability that outputs [n, t, k], with repetitions joined and blanks taken out, are the labels [n, s]:
    Graves et al., Connectionist temporal classification, 2006.

    sizes  how many labels a row has, [n] integers; where none are given those that are not `blank`, which come first
    steps  how many of the t outputs a row has; all where none are given

    A row whose labels need more steps than it has gives infinity, and gradients of zero. PyTorch's mean divides what rows give by
    their sizes: weights=1 / sizes."""
    labels, outputs = gm.tensor(labels), _wide(outputs)
    if labels.dtype.is_floating or labels.dtype == "bool":
        raise InvalidArgumentError(f"ctc takes labels of integers, got {labels.dtype}{list(labels.shape)}")
    if not outputs.dtype.is_floating or len(outputs.shape) != 3 or len(labels.shape) != 2 or labels.shape[0] != outputs.shape[0]:
        raise InvalidArgumentError(f"ctc takes labels [n, s] for outputs [n, t, k] of floats, got {list(labels.shape)} for "
                                   f"{outputs.dtype}{list(outputs.shape)}")
    if not -outputs.shape[2] <= blank < outputs.shape[2]:
        raise InvalidArgumentError(f"ctc has {outputs.shape[2]} classes, and blank is {blank}")
    labels, blank = ops.cast(labels, "int32"), blank % outputs.shape[2]
    (n, s), t = labels.shape, outputs.shape[1]
    sizes = gm.sum(ops.cast(labels != blank, "int32"), 1) if sizes is None else _counts("sizes", sizes, n)
    # Blanks in between, in front and behind: [n, 2 s + 1].
    between = gm.reshape(gm.stack([gm.full_like(labels, blank), labels], 2), (n, 2 * s))
    path = gm.concat([between, gm.full_like(labels[:, :1], blank)], 1) if s else gm.full_like(ops.reshape(sizes, (n, 1)), blank)
    logs = ops.transpose(_log_of("ctc", outputs, from_logits), (1, 0, 2))
    logs = ops.gather_elements(logs, ops.broadcast(ops.reshape(path, (1, *path.shape)), (t, *path.shape)), 2)
    before = lambda x, count, filler: ops.pad(x[:, :max(x.shape[1] - count, 0)], filler, (0, min(count, x.shape[1])), (0, 0), "constant")
    never = gm.constant_like(logs, _NEVER)
    skips = ops.logical_and(path != blank, path != before(path, 2, gm.constant_like(path, blank)))
    begin = gm.full_like(logs[0], _NEVER)
    begin = ops.set_slice(begin, gm.full_like(begin[:, 0], 0), gm.tensor(0), 1)

    def step(reached, given):
        own = [reached, before(reached, 1, never), gm.where(skips, before(reached, 2, never), never)]
        made = _log_sum(*own) + given[0]
        return made if steps is None else gm.where(given[1], made, reached), None

    given = (logs,)
    if steps is not None:
        number = ops.iota((t, n, 1), 0, dtype="int32")
        given = (logs, number < ops.reshape(_counts("steps", steps, n), (1, n, 1)))
    reached, _ = scan(step, begin, given)
    end = ops.reshape(sizes, (n, 1)) * 2
    last = ops.gather_elements(reached, end, 1)
    label = gm.where(end > 0, ops.gather_elements(reached, ops.maximum(end - 1, 0), 1), never)
    rows = -gm.squeeze(_log_sum(last, label), -1)
    return _mean(gm.where(rows > -_NEVER / 2, gm.constant_like(rows, math.inf), rows), weights, by_weight)


def _counts(what, given, n):
    given = gm.tensor(given)
    if given.dtype.is_floating or given.dtype == "bool" or tuple(given.shape) != (n,):
        raise InvalidArgumentError(f"ctc takes {what} of integers [{n}], got {given.dtype}{list(given.shape)}")
    return ops.cast(given, "int32")


mean_squared_error, mean_absolute_error, binary_crossentropy, kl_divergence, cosine_similarity = mse, mae, bce, kl, cosine
categorical_crossentropy, sparse_categorical_crossentropy = cce, scce

_KERAS = {"mean_squared_error": mse, "mean_absolute_error": mae, "binary_crossentropy": bce, "categorical_crossentropy": cce,
          "sparse_categorical_crossentropy": scce, "kl_divergence": kl, "cosine_similarity": cosine}
_NAMED = {"mse": mse, "mae": mae, "huber": huber, "log_cosh": log_cosh, "bce": bce, "cce": cce, "scce": scce, "nll": nll,
          "kl": kl, "hinge": hinge, "cosine": cosine, "ctc": ctc}


def named(given):
    """The loss of a name, or what was given if it is a function."""
    return given if callable(given) else _KERAS.get(given) or look_up(_NAMED, given, "loss")
