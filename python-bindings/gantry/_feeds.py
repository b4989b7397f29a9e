"""What `fit` trains on: batches of arrays, or those that a Dataset gives. A feed has `steps`, how many an epoch has, or None while that
is not known; `epoch(...)` gives an iterator over its runs: pairs (x, y), with how many steps they are.
"""

import itertools

import numpy as np

from .data import Dataset
from .errors import InvalidArgumentError


class ArrayFeed:
    """Rows of arrays in batches, in an order that is a function of the seed and the epoch."""

    def __init__(self, x, y, batch, shuffle, seed, steps_per_run):
        self.x, self.y, self.batch, self._shuffle, self._seed, self._steps_per_run = x, y, batch, bool(shuffle), seed, steps_per_run
        self.steps = -(-len(x) // batch)

    def first(self):
        """Rows that show what there is."""
        return self.x[:1]

    def epoch(self, number, position=None):
        return _ArrayRuns(self, self._runs(number, position["step"] if position else 0), position)

    def _runs(self, number, step):
        """The rows of each run from a step on: [steps, batch] of as many whole batches, then what is left of them one by one."""
        order = np.random.Generator(np.random.Philox(key=[self._seed & 2**64 - 1, number])).permutation(len(self.x)) \
            if self._shuffle else np.arange(len(self.x))
        order, batch, steps = order[step * self.batch:], self.batch, self._steps_per_run
        whole = len(order) // (batch * steps) * steps * batch if steps > 1 else 0
        for rows in order[:whole].reshape(-1, steps, batch):
            yield self.x[rows], self.y[rows], steps
        for start in range(whole, len(order), batch):
            rows = order[start:start + batch]
            yield self.x[rows], self.y[rows], 1

    def says(self):
        return f"{len(self.x)} rows in batches of {self.batch}, {'shuffled' if self._shuffle else 'in order'}"

    def check(self, position):
        """Refuses a position of other data."""
        if position.get("data") != self.says():
            raise InvalidArgumentError(f"the checkpoint is of {_data_of(position)}, and this fit has {self.says()}")


def _data_of(position):
    return position.get("data") or f"a Dataset({', '.join(position.get('rows', {}).get('dataset', '?'))})"


class _ArrayRuns:
    is_even = True  # what was given is what was taken

    def __init__(self, feed, runs, position):
        self._feed, self._runs, self._step = feed, runs, position["step"] if position else 0

    def __iter__(self):
        for x, y, steps in self._runs:
            self._step += steps
            yield x, y, steps

    def state(self):
        return {"data": self._feed.says(), "step": self._step}

    def close(self):
        self._runs.close()


class DatasetFeed:
    """Batches of a Dataset, each checked as it comes; `check(x, y)` gives what a step takes."""

    def __init__(self, dataset, check, steps_per_run):
        if dataset._is_endless:
            raise InvalidArgumentError(f"{dataset!r} has no end, so that no epoch of it is ever over; say .take(steps)")
        self._dataset, self._check, self._steps_per_run, self.steps = dataset, check, steps_per_run, dataset.size
        self.batch = 32

    def first(self):
        rows = self._dataset.epoch(0)
        try:
            for element in rows:
                return _pair(element)[0]
        finally:
            rows.close()
        raise self.empty()

    def empty(self):
        return InvalidArgumentError(f"{self._dataset!r} gives no batch" + (
            "; drop_remainder leaves out one that is not full" if "drop_remainder" in repr(self._dataset) else ""))

    def epoch(self, number, position=None):
        rows = self._dataset.restore(position["rows"]) if position else self._dataset.epoch(number)
        return _DatasetRuns(rows, self._check, self._steps_per_run)

    def check(self, position):
        """Refuses a position of other data."""
        own = self._dataset._says()
        if position.get("rows", {}).get("dataset") != own:
            raise InvalidArgumentError(f"the checkpoint is of {_data_of(position)}, and this fit has {self._dataset!r}")


class _DatasetRuns:
    def __init__(self, rows, check, steps_per_run):
        self._rows, self._check, self._steps_per_run, self.is_even = rows, check, steps_per_run, True

    def _batches(self):
        """Checked batches; where they are on a device already, and a step takes them as they are, those."""
        while True:
            try:
                element, placed = self._rows.take()
            except StopIteration:
                return
            host = _pair(element)
            made = self._check(*host)
            is_same = placed is not element and self._steps_per_run == 1 and all(a is b for a, b in zip(made, host))
            yield _pair(placed) if is_same else made

    def __iter__(self):
        if self._steps_per_run == 1:
            for x, y in self._batches():
                yield x, y, 1
            return
        batches = self._batches()
        while group := list(itertools.islice(batches, self._steps_per_run)):
            if len(group) == self._steps_per_run and len({(x.shape, y.shape) for x, y in group}) == 1:
                yield np.stack([x for x, _ in group]), np.stack([y for _, y in group]), len(group)
                continue
            for i, (x, y) in enumerate(group):
                self.is_even = i == len(group) - 1  # else some were given that no step has taken
                yield x, y, 1

    def state(self):
        return {"rows": self._rows.state()}

    def close(self):
        self._rows.close()


def _pair(element):
    if not isinstance(element, tuple) or len(element) != 2:
        raise InvalidArgumentError(f"training takes a Dataset of pairs (x, y), got an element that is {_what(element)}")
    return element


def _what(element):
    if isinstance(element, (tuple, dict)):
        return f"a {type(element).__name__} of {len(element)}"
    return f"an array of shape {list(element.shape)}" if hasattr(element, "shape") else repr(element)


def refuse_generator(x):
    if hasattr(x, "__next__"):
        raise InvalidArgumentError("training takes arrays or a Dataset; of a function that makes a generator of (x, y), "
                                   "gantry.data.Dataset.from_generator(function).batch(rows) is one")


def feed_of(x, y, batch, shuffle, seed, steps_per_run, arrays, check):
    """The feed of what fit is given: `arrays(x, y)` makes arrays of what is none, `check(x, y)` of a batch what a step takes."""
    if not isinstance(x, Dataset):
        if y is None:
            refuse_generator(x)
            raise InvalidArgumentError("training takes rows and their labels, fit(x, y), or a Dataset of such pairs")
        x, y = arrays(x, y)
        return ArrayFeed(x, y, batch_of(32 if batch is None else batch, len(x)), shuffle, seed, steps_per_run)
    if y is not None:
        raise InvalidArgumentError("a Dataset has its labels in itself, as pairs (x, y)")
    if batch is None:
        return DatasetFeed(x, check, steps_per_run)
    made = DatasetFeed(x.batch(batch_of(batch)), check, steps_per_run)
    made.batch = batch
    return made


def batch_of(batch, rows=None):
    """A number of rows, no more than there are."""
    if not isinstance(batch, int) or batch < 1:
        raise InvalidArgumentError(f"a batch has at least one row, got {batch!r}")
    return batch if rows is None else min(batch, rows)
