"""Losses of torch.nn: gantry.losses with the outputs in front, and means over all elements or weights."""

import gantry as _gt
from gantry import losses as _own
from gantry.math import tensor as _tensor


def _last(x):
    """[n, k, ...] as [n, ..., k]."""
    x, rank = _tensor(x), len(x.shape)
    return x if rank < 3 else _gt.transpose(x, (0, *range(2, rank), 1))


class _Loss:
    def __init__(self, reduction="mean"):
        if reduction not in ("mean", "sum"):
            raise _gt.InvalidArgumentError(f"{type(self).__name__} has the reductions 'mean' and 'sum', got {reduction!r}")
        self._is_sum = reduction == "sum"

    def __call__(self, input, target):
        made = self._mean(input, target)
        return made * float(self._count(input)) if self._is_sum else made

    def _count(self, input):
        """How many numbers the mean is of."""
        return _gt.math.np.prod(input.shape)


def _plain(own, name):
    return type(name, (_Loss,), {"_mean": lambda self, input, target: own(target, input), "__module__": __name__})


MSELoss, L1Loss, SmoothL1Loss, BCELoss = (_plain(own, name) for own, name in (
    (_own.mse, "MSELoss"), (_own.mae, "L1Loss"), (_own.huber, "SmoothL1Loss"), (_own.bce, "BCELoss")))
BCEWithLogitsLoss = _plain(lambda target, input: _own.bce(target, input, from_logits=True), "BCEWithLogitsLoss")


class HuberLoss(_Loss):
    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction)
        self._delta = delta

    def _mean(self, input, target):
        return _own.huber(target, input, self._delta)


class KLDivLoss(_Loss):
    """Of logarithms, with the reduction 'batchmean' alone."""

    def __init__(self, reduction="batchmean"):
        super().__init__("mean" if reduction == "batchmean" else reduction)

    def _mean(self, input, target):
        return _own.kl(target, _gt.exp(input))

    def _count(self, input):
        return input.shape[0]


class CrossEntropyLoss(_Loss):
    """Of logits [n, k, ...] and classes [n, ...], of which `ignore_index` does not count, or their probabilities."""

    def __init__(self, ignore_index=-100, reduction="mean", label_smoothing=0.0):
        super().__init__(reduction)
        self._ignored, self._smoothing = ignore_index, label_smoothing

    def _mean(self, input, target):
        outputs, labels = _last(input), _tensor(target)
        if labels.dtype.is_floating:
            return _own.cce(_last(labels), outputs, from_logits=True, smoothing=self._smoothing)
        seen = labels != self._ignored
        kept = _gt.where(seen, labels, _gt.zeros_like(labels))
        return _own.scce(kept, outputs, from_logits=True, smoothing=self._smoothing, weights=_gt.cast(seen, outputs.dtype), by_weight=True)

    def _count(self, input):
        return _gt.math.np.prod(input.shape) // input.shape[1]


class NLLLoss(_Loss):
    def _mean(self, input, target):
        return _own.nll(target, _last(input))

    _count = CrossEntropyLoss._count
