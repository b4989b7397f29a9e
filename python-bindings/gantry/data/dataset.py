"""Dataset: a source of elements, and what becomes of them on their way."""

import inspect
import pickle
import sys

import numpy as np

from ..device import device as as_device, resolve
from ..errors import InvalidArgumentError
from ..graph import user_frame
from . import _orders
from ._trees import as_array, equal, leaves_of, map_tree
from .rows import Rows


def _count(what, given, least=0):
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool) or given < least:
        raise InvalidArgumentError(f"{what} is a number from {least} on, got {given!r}")
    return int(given)


class Dataset:
    """Elements in an order that is a function of seeds and the epoch. Immutable; each method gives another Dataset.

    An element is an array, a number, a text, or a tuple or dict of these. `for element in dataset` goes through the next epoch, the
    first one at first; `epoch(n)` through that one. `len(dataset)` is how many elements an epoch has, where that is known.

    >>> rows = Dataset.from_slices((x, y)).shuffle(1000, seed=3).batch(32).prefetch(2)
    >>> for images, labels in rows: ...
    >>> state = iterator.state(); iterator = rows.restore(state)       # goes on from there, also in another process
    """

    def __init__(self, order, says, size, sources=()):
        """For this module; datasets begin with from_slices and from_generator."""
        self._make, self._own, self.size, self._sources, self._passes = order, says, size, tuple(sources), 0
        self._is_endless = bool(sources) and all(each._is_endless for each in sources)
        self._look = max((each._look for each in sources), default=0)  # elements to look ahead, for workers
        self._filled = max((each._filled for each in sources), default=0)  # elements that a thread fills
        self._place = next((each._place for each in sources if each._place is not None), None)  # and where it puts them

    # ---- sources ----

    @staticmethod
    def from_slices(data):
        """The rows of an array, or of each of a tuple or dict of arrays with as many rows. Arrays are read in place, and may be
        mapped from a file.

        InvalidArgumentError for arrays without rows' dimension and for several numbers of rows.
        """
        arrays = map_tree(as_array, data)
        leaves = leaves_of(arrays)
        if not leaves or any(not leaf.ndim for leaf in leaves):
            raise InvalidArgumentError("from_slices takes arrays with rows, got " + (f"{leaves[0].dtype}[]" if leaves else "none"))
        counts = sorted({len(leaf) for leaf in leaves})
        if len(counts) > 1:
            raise InvalidArgumentError(f"from_slices takes as many rows of each, got {counts[0]} and {counts[-1]}")
        return Dataset(lambda epoch, stop: _orders.Slices(arrays, counts[0]), f"from_slices({counts[0]} rows)", counts[0])

    @staticmethod
    def from_generator(make):
        """What make() gives, an iterable: a generator function, for one. It is called anew for each epoch, and to resume, when it is run
        up to where the state is.

        InvalidArgumentError for a generator itself, which can be gone through only once.
        """
        if not callable(make):
            what = "a generator, which ends with the first epoch" if inspect.isgenerator(make) else repr(make)
            raise InvalidArgumentError(f"from_generator takes a function that gives an iterable, got {what}")
        return Dataset(lambda epoch, stop: _orders.Generated(make), "from_generator()", None)

    @staticmethod
    def zip(*datasets):
        """Tuples of an element of each, as many as the shortest has."""
        if not datasets or not all(isinstance(each, Dataset) for each in datasets):
            raise InvalidArgumentError("zip takes Datasets")
        sizes = [each.size for each in datasets if not each._is_endless]
        return Dataset(lambda epoch, stop: _orders.Zipped([each._order(epoch, stop) for each in datasets]), "zip()",
                       None if not sizes or None in sizes else min(sizes), datasets)

    # ---- on the way ----

    def map(self, f, workers=0, seed=0):
        """f(element) in the place of each element; f(a, b) where elements are tuples.

        workers  so many processes call f, and the order is kept. They are spawned: f is a function of a module, and a script does its
                 work below `if __name__ == "__main__":`. Arrays go through shared memory. 0: who asks for an element calls f
        seed     a parameter `rng` of f is a numpy.random.Generator, a function of seed, epoch and the element's number

        GantryError where f fails, with the element's number, and of a worker with its traceback.
        """
        if not callable(f):
            raise InvalidArgumentError(f"map takes a function, got {f!r}")
        workers = _count("workers", workers)
        if workers:
            try:
                pickle.dumps(f)
            except Exception as error:
                raise InvalidArgumentError(f"map: workers cannot be given {f!r}: {error}; they take a function of a module") from None
        function = _orders.Call(f, _draws(f), workers)
        made = self._then(lambda source, epoch, stop: _orders.Mapped(source, function, epoch, int(seed), stop),
                          f"map({getattr(f, '__name__', type(f).__name__)}, seed={int(seed)})", self.size)
        made._look = max(self._look, 2 * workers)
        return made

    def shuffle(self, buffer=None, seed=0):
        """Elements in an order that is drawn: of `buffer` that wait, of all where it is None, one is next. The order is another one in
        each epoch. The buffer holds no data, but of generators."""
        if buffer is None and self.size is None:
            raise InvalidArgumentError("shuffle wants a number for its buffer here, since how many elements there are is not known")
        most = _count("a buffer", buffer, 1) if buffer is not None else max(1, self.size)
        return self._then(lambda source, epoch, stop: _orders.Shuffled(source, most, int(seed), epoch),
                          f"shuffle({most}, seed={int(seed)})", self.size)

    def batch(self, rows, drop_remainder=False):
        """Batches of so many elements, [rows, ...] of each array; the last one is smaller, or with drop_remainder left out.

        InvalidArgumentError when elements of a batch have several shapes.
        """
        return self._batch(rows, drop_remainder, None, f"batch({rows}{', drop_remainder' if drop_remainder else ''})")

    def padded_batch(self, rows, value=0, length=None, drop_remainder=False):
        """Batches whose arrays are filled up with `value` at their ends, to the largest of the batch in each dimension.

        length  what first dimensions are filled up to instead: batches of one shape are one plan. InvalidArgumentError for an element
                that is longer
        """
        if length is not None:
            _count("a length", length)
        return self._batch(rows, drop_remainder, lambda arrays: _padded(arrays, value, length),
                           f"padded_batch({rows}, {value}, {length}{', drop_remainder' if drop_remainder else ''})")

    def _batch(self, rows, drop_remainder, join, says):
        rows = _count("a batch", rows, 1)
        size = None if self.size is None else self.size // rows if drop_remainder else -(-self.size // rows)
        made = self._then(lambda source, epoch, stop: _orders.Batched(source, rows, bool(drop_remainder), join), says, size)
        made._look = -(-self._look // rows)
        return made

    def repeat(self, count=None):
        """Elements over and over, `count` times or, where it is None, without an end. Each round is an epoch to what is in front."""
        if count is not None:
            _count("a number of rounds", count)
        size = 0 if self.size == 0 else None if count is None or self.size is None else self.size * count
        made = Dataset(lambda epoch, stop: _orders.Repeated(lambda own: self._order(own, stop), epoch, count), f"repeat({count})", size,
                       (self,))
        made._is_endless = count is None and size != 0
        return made

    def take(self, count):
        """The first elements."""
        count = _count("a number of elements", count)
        # An endless repetition has enough of them; of an empty generator it has none.
        known = count if self._is_endless else None if self.size is None else min(count, self.size)
        made = self._then(lambda source, epoch, stop: _orders.Taken(source, count), f"take({count})", known)
        made._is_endless = False
        return made

    def skip(self, count):
        """What is behind the first elements, which are not made."""
        count = _count("a number of elements", count)
        return self._then(lambda source, epoch, stop: _orders.Skipped(source, count), f"skip({count})",
                          None if self.size is None else max(0, self.size - count))

    def cache(self):
        """Elements of the first epoch, kept in memory as they are made, in each epoch. A remark on stderr where that keeps what is drawn
        in front from being drawn again."""
        store = _orders.Store()
        if any(each.startswith("shuffle(") for each in self._says_until_cache()):
            file, line = user_frame()
            print(f"{file}:{line}: remark: cache behind shuffle repeats the order of the first epoch; shuffle behind it to have another "
                  "one in each", file=sys.stderr)
        return Dataset(lambda epoch, stop: _orders.Cached(lambda own: self._order(own, stop), store), "cache()", self.size, (self,))

    def prefetch(self, count=1, device=None):
        """A thread makes the next so many elements while the last one is used. Wherever this stands, it is the end of the way that is
        filled.

        device  where the thread puts them: elements are Arrays there, but for texts, and a step finds its batch where it runs
        """
        made = self._then(lambda source, epoch, stop: source, None, self.size)
        made._filled = _count("a number of elements", count)
        made._place = resolve(as_device(device), "a batch") if device is not None else None
        return made

    def _then(self, make, says, size):
        return Dataset(lambda epoch, stop: make(self._order(epoch, stop), epoch, stop), says, size, (self,))

    # ---- going through ----

    def __iter__(self):
        self._passes += 1
        return Rows(self, self._passes - 1)

    def epoch(self, number):
        """An iterator over the elements of that epoch, from 0 on: Rows."""
        return Rows(self, _count("an epoch", number))

    def restore(self, state):
        """The iterator that was where `state` says, of a Dataset that was made as this one. The next epoch is the one behind it.

        InvalidArgumentError for a state of another one.
        """
        if not isinstance(state, dict) or "dataset" not in state:
            raise InvalidArgumentError("that is no state of a Dataset")
        if state["dataset"] != self._says():
            raise InvalidArgumentError(f"the state is of {_joined(state['dataset'])}, and this is {_joined(self._says())}")
        made = Rows(self, state["epoch"], state)
        self._passes = state["epoch"] + 1
        return made

    def __len__(self):
        if self.size is None:
            raise TypeError("how many elements there are is not known before they have been gone through")
        return self.size

    def __bool__(self):
        return True

    def __repr__(self):
        return f"Dataset({_joined(self._says())})"

    def _order(self, epoch, stop):
        return self._make(epoch, stop)

    def _says(self):
        """What it does, in order: what a state has to be of."""
        return [text for each in self._sources for text in each._says()] + ([self._own] if self._own else [])

    def _says_until_cache(self):
        own = [self._own] if self._own else []
        return own if self._own == "cache()" else own + [text for each in self._sources for text in each._says_until_cache()]


def _joined(says):
    return ", ".join(says)


def _draws(f):
    """Whether a function wants a generator of random numbers."""
    try:
        return "rng" in inspect.signature(f).parameters
    except (TypeError, ValueError):  # some builtins have none
        return False


def _padded(arrays, value, length):
    ranks = sorted({array.ndim for array in arrays})
    if len(ranks) > 1:
        raise InvalidArgumentError(f"elements of a batch have {ranks[0]} and {ranks[-1]} dimensions")
    if not ranks[0]:
        return equal(arrays)
    shape = [max(sizes) for sizes in zip(*(array.shape for array in arrays))]
    if length is not None:
        if shape[0] > length:
            raise InvalidArgumentError(f"an element of length {shape[0]} is in a padded_batch of length {length}")
        shape[0] = length
    made = np.full((len(arrays), *shape), value, np.result_type(*arrays))
    for place, array in zip(made, arrays):
        place[tuple(map(slice, array.shape))] = array
    return made
