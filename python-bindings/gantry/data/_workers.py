"""Processes that call a function of elements: spawned, with arrays in shared memory, results in the order of the calls.

A worker has two slots, so that it never waits for the next elements; of each slot a block holds what it is given, and a block what
it gives. Elements that wait for one go together, where they are quickly done. Blocks are files without a name (memfd), so that
nothing of them outlives the processes, whatever ends these. Ctrl-C is the parent's: workers do not hear of it, and end when the
parent closes its end of their pipes.
"""

import collections
import itertools
import mmap
import multiprocessing
import multiprocessing.reduction
import os
import pickle
import signal
import threading
import time
import traceback
import weakref

import numpy as np

from ..errors import GantryError, InvalidArgumentError
from ._orders import call

_SLOTS, _TOGETHER, _QUICK = 2, 8, 2e-3  # elements that go together, at most, and seconds that they may take
_ALIGNED = 64  # bytes, of pieces in a block


class Ended(Exception):
    """Nobody waits for results any more."""


class _Block:
    """Memory that two processes see; who writes makes it larger."""

    def __init__(self, fd=None):
        self._fd, self._map = os.memfd_create("gantry-data") if fd is None else fd, None

    def __reduce__(self):  # while a process is spawned: its own descriptor of the file
        return _opened, (multiprocessing.reduction.DupFd(self._fd),)

    def write(self, value):
        """Puts a value here, arrays beside what is pickled of it; gives the sizes of the pieces and of the block."""
        buffers = []
        pieces = [pickle.dumps(value, 5, buffer_callback=buffers.append)]
        pieces += [each.raw() for each in buffers]
        sizes = [len(each) for each in pieces]
        end = sum(map(_aligned, sizes))
        if self._map is None or len(self._map) < end:
            size = max(end, 2 * len(self._map) if self._map is not None else mmap.PAGESIZE)
            os.posix_fallocate(self._fd, 0, size)  # an error where there is no memory, not a signal later
            self._map = mmap.mmap(self._fd, size)
        for begin, size, piece in zip(_begins(sizes), sizes, pieces):
            self._map[begin:begin + size] = piece
        return sizes, len(self._map)

    def read(self, sizes, size):
        """The value, with memory of its own."""
        if self._map is None or len(self._map) != size:
            self._map = mmap.mmap(self._fd, size)
        with memoryview(self._map) as seen:
            pieces = [bytearray(seen[begin:begin + size]) for begin, size in zip(_begins(sizes), sizes)]
        return pickle.loads(pieces[0], buffers=pieces[1:])

    def close(self):
        self._map = None
        os.close(self._fd)


def _aligned(size):
    return -(-size // _ALIGNED) * _ALIGNED


def _begins(sizes):
    return itertools.accumulate(map(_aligned, sizes[:-1]), initial=0)


def _opened(given):
    return _Block(given.detach())


def _work(connection, pickled, given, made):
    """A worker: takes a slot with elements and their keys, and gives what it made there, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        f = pickle.loads(pickled)
    except Exception as error:
        connection.send(("unknown", f"{type(error).__name__}: {error}"))
        return
    try:
        connection.send(("ready", None))
        while True:
            slot, where, keys = connection.recv()
            began = time.perf_counter()
            results = [_result(f, *each) for each in zip(given[slot].read(*where), keys)]
            connection.send(("made", (made[slot].write(results), (time.perf_counter() - began) / len(results))))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent has closed its end, or is gone


def _result(f, element, key):
    """What f gives, pickled where that is its error to tell; or what it raised."""
    try:
        made = call(f, element, key)
        if not _is_plain(made):
            pickle.dumps(made)
        return True, made
    except BaseException as error:
        return False, (type(error).__name__, str(error), traceback.format_exc())


def _is_plain(value):
    """Whether a value can be pickled for sure."""
    if isinstance(value, (tuple, list)):
        return type(value) in (tuple, list) and all(map(_is_plain, value))
    return type(value) is np.ndarray and not value.dtype.hasobject or isinstance(value, (int, float, str, np.generic))


class _Worker:
    """The parent's side of a worker: its process, pipe and blocks, and the jobs that it has."""

    def __init__(self, context, pickled):
        self.given, self.made = ([_Block() for _ in range(_SLOTS)] for _ in range(2))
        self.connection, other = context.Pipe()
        self.waiting, self.jobs, self.free = collections.deque(), collections.deque(), collections.deque(range(_SLOTS))
        self.is_ready, self.together = False, 1
        self.process = context.Process(target=_work, args=(other, pickled, self.given, self.made), name="gantry-data", daemon=True)
        # The child inherits the mask: a Ctrl-C while it starts is not for it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        other.close()

    def send(self):
        """The next elements that wait."""
        jobs = [self.waiting.popleft() for _ in range(min(self.together, len(self.waiting)))]
        slot = self.free.popleft()
        self.jobs.append(([job for job, _, _ in jobs], slot))
        self.connection.send((slot, self.given[slot].write([element for _, element, _ in jobs]), [key for _, _, key in jobs]))

    def close(self):
        self.connection.close()
        self.process.join(0.05)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(1)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        for block in (*self.given, *self.made):
            block.close()


class Pool:
    """Workers for one function; jobs go to them in turn, and results are waited for one by one. From any thread."""

    def __init__(self, f, count):
        context = multiprocessing.get_context("spawn")
        self._workers, self._lock = [], threading.Lock()
        self._jobs, self._results = {}, {}  # by job: its worker and the number of its element; what came of it
        self._count, self._close = itertools.count(), weakref.finalize(self, _close_all, self._workers)
        try:
            for _ in range(count):
                self._workers.append(_Worker(context, pickle.dumps(f)))
        except BaseException:
            self._close()
            raise

    @property
    def is_over(self):
        return not self._close.alive

    def submit(self, number, element, key):
        """Has an element computed, whose number errors tell; gives the job."""
        with self._lock, self._whole():
            job = next(self._count)
            worker = self._workers[job % len(self._workers)]
            self._jobs[job] = worker, number
            worker.waiting.append((job, element, key))
            self._pump(worker)
            return job

    def wait(self, job, stop):
        """A job's result. GantryError, with the element's number and the worker's traceback, for one that failed or whose worker
        has ended; Ended when the event `stop` is set."""
        with self._lock, self._whole():
            if self.is_over:
                raise GantryError("map: the workers have ended, as another iterator of the Dataset was told")
            worker, number = self._jobs[job]
            while job not in self._results:
                if worker.connection.poll(0.1):
                    self._receive(worker)
                elif stop is not None and stop.is_set():
                    raise Ended
            del self._jobs[job]
            is_made, made = self._results.pop(job)
        if not is_made:
            raise GantryError(f"map: element {number}: {made[0]}: {made[1]}\nin a worker:\n{made[2]}")
        return made

    def forget(self, job):
        """Nobody will wait for a job."""
        with self._lock:
            self._results.pop(job, None)
            found = self._jobs.pop(job, None)
            if found is not None:
                found[0].waiting = collections.deque(each for each in found[0].waiting if each[0] != job)

    def _whole(self):
        """A block that leaves workers of which is known what they do, or none."""
        return _Whole(self._close)

    def _pump(self, worker):
        """Gives a worker what waits for it and has room."""
        try:
            while worker.is_ready and worker.waiting and worker.free:
                worker.send()
        except BrokenPipeError:
            self._tell_end(worker)
        if not worker.is_ready and worker.connection.poll(0):
            self._receive(worker)

    def _receive(self, worker):
        try:
            kind, said = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._tell_end(worker)
        if kind == "unknown":
            raise InvalidArgumentError(f"map: a worker does not find the function, {said}; workers import it: it has to be of a module "
                                       "or a script that is a file")
        if kind == "ready":
            worker.is_ready = True
            self._pump(worker)
            return
        jobs, slot = worker.jobs.popleft()
        where, seconds = said
        worker.together = max(1, min(_TOGETHER, int(_QUICK / max(seconds, 1e-9))))
        for job, result in zip(jobs, worker.made[slot].read(*where)):
            if job in self._jobs:
                self._results[job] = result
        worker.free.append(slot)
        self._pump(worker)

    def _tell_end(self, worker):
        worker.process.join(1)
        status = worker.process.exitcode
        how = f"by signal {-status}" if status is not None and status < 0 else f"with status {status}"
        if not worker.is_ready:
            raise GantryError(f"map: a worker ended {how} while it started; what it said is on stderr. A script whose functions workers "
                              "call does its work below `if __name__ == \"__main__\":`, since they import it")
        numbers = [self._jobs[job][1] for jobs, _ in worker.jobs for job in jobs if job in self._jobs]
        raise GantryError(f"map: a worker ended {how}" + (f" while it had elements {numbers[0]} to {numbers[-1]}" if numbers else ""))


class _Whole:
    def __init__(self, close):
        self._close = close

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None and not issubclass(kind, Ended):
            self._close()  # a message may have been cut off


def _close_all(workers):
    for worker in workers:
        worker.connection.close()  # all of them end at once
    for worker in workers:
        worker.close()
