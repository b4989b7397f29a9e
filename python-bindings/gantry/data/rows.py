"""The iterator over an epoch of a Dataset: looks ahead, fills, and knows where it is."""

import collections
import contextlib
import threading
import weakref

from ..array import array
from ._orders import END
from ._trees import as_array, map_tree
from ._workers import Ended

_POLL = 0.1  # seconds between two looks at whether Ctrl-C came, which another thread may have taken


class _Ahead:
    """Elements in front of who asks: tokens that were taken from the order (`pending`, all that were not given out), and those of
    them whose elements are there (`ready`, filled by a thread where `prefetch` is not 0)."""

    def __init__(self, order, pending, look, prefetch, place, stop):
        self.order, self.pending, self._look, self._prefetch, self._stop = order, pending, look, prefetch, stop
        self._place = place  # the device that elements are put on; an element is then a pair, of the host's and of the device's
        self._started = 0  # of the tokens that are pending: how many
        self._made, self._ready = 0, collections.deque()  # made: how many pending ones were fetched
        self._lock, self._change, self._thread, self._is_over = threading.Lock(), threading.Condition(), None, False

    def _draw(self):
        """Looks ahead; gives the first token whose element is to be fetched, or END."""
        with self._lock:
            while not self._is_over and len(self.pending) <= self._made + self._look:
                token = self.order.next()
                if token is END:
                    self._is_over = True
                else:
                    self.pending.append(token)
            while self._look and self._started < min(len(self.pending), self._made + self._look + 1):
                self.order.start(self.pending[self._started])
                self._started += 1
            return self.pending[self._made] if self._made < len(self.pending) else END

    def _take(self):
        """The first of the pending ones is given out."""
        with self._lock:
            self.pending.popleft()
            self._started, self._made = max(0, self._started - 1), self._made - 1

    def state(self):
        with self._lock:
            return self.order.state(), list(self.pending)

    # ---- at once ----

    def next(self):
        """The next element, or END."""
        if self._prefetch:
            return self._next_filled()
        token = self._draw()
        if token is END:
            return END
        value = self.order.fetch(token)
        self._made += 1
        self._take()
        return value

    # ---- by a thread ----

    def _next_filled(self):
        if self._thread is None:
            self._thread = threading.Thread(target=self._fill, name="gantry-prefetch", daemon=True)
            self._thread.start()
        with self._change:
            while not self._ready:
                self._change.wait(_POLL)
            value, error = self._ready.popleft()
            self._change.notify_all()
        if error is not None:
            raise error
        if value is not END:
            self._take()
        return value

    def _fill(self):
        try:
            while True:
                with self._change:
                    while len(self._ready) >= self._prefetch and not self._stop.is_set():
                        self._change.wait()
                if self._stop.is_set():
                    return
                token = self._draw()
                value = END if token is END else self._placed(self.order.fetch(token))
                with self._lock:
                    self._made += token is not END
                self._put(value, None)
                if token is END:
                    return
        except Ended:
            pass
        except BaseException as error:  # told to whoever asks
            self._put(None, error)

    def _placed(self, value):
        return value if self._place is None else (value, map_tree(self._moved, value))

    def _moved(self, leaf):
        values = as_array(leaf)
        return leaf if values.dtype.kind in "USO" else array(values, device=self._place)

    def _put(self, value, error):
        with self._change:
            self._ready.append((value, error))
            self._change.notify_all()

    def close(self):
        self._stop.set()
        with self._change:
            self._change.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            with contextlib.suppress(RuntimeError):  # Ctrl-C in its start: it ends as it begins
                self._thread.join(1)  # what it calls may take longer; it ends behind that
        self.order.close()


class Rows:
    """An iterator over the elements of one epoch. `epoch` is its number, `given` how many elements it has given.

    Elements are the caller's, but for those of a cache, which are given again in the next epoch.
    """

    def __init__(self, dataset, epoch, state=None):
        self._dataset, self.epoch, self.given = dataset, int(epoch), 0
        stop = threading.Event()
        order, pending = dataset._order((self.epoch,), stop), collections.deque()
        if state is not None:
            self.given = state["given"]
            order.restore(state["order"], state["pending"])
            pending.extend(state["pending"])
        self._is_placed = dataset._place is not None
        self._ahead = _Ahead(order, pending, dataset._look, max(dataset._filled, self._is_placed), dataset._place, stop)
        self._close, self._is_over = weakref.finalize(self, self._ahead.close), False

    def __iter__(self):
        return self

    def __next__(self):
        return self.take()[1]

    def take(self):
        """The next element as the host has it, and as it is given: on the device that `prefetch` names."""
        if self._is_over:
            raise StopIteration
        try:
            value = self._ahead.next()
        except BaseException:
            self.close()
            raise
        if value is END:
            self.close()
            raise StopIteration
        self.given += 1
        return value if self._is_placed else (value, value)

    def state(self):
        """Where it is, as JSON has it: behind the last element that it gave, whatever was made ahead. `Dataset.restore` goes on from
        there, in this process or another one."""
        order, pending = self._ahead.state()
        return {"dataset": self._dataset._says(), "epoch": self.epoch, "given": self.given, "order": order, "pending": pending}

    def close(self):
        """Ends what works ahead; there are no more elements."""
        self._is_over = True
        self._close()
