"""A few worker processes that run one case at a time and may die doing so.

A case that kills its worker is recorded as a crash with the signal's name, one that takes too long
as a timeout; the worker is replaced and the others go on. Workers are forked, so what the parent
has loaded before is there without loading it again.
"""

import collections
import dataclasses
import multiprocessing
import multiprocessing.connection
import os
import signal
import tempfile
import time

CONTEXT = multiprocessing.get_context("fork")


@dataclasses.dataclass
class Worker:
    process: object
    connection: object
    errors: object  # file that takes the worker's standard error
    case: object = None
    deadline: float = 0.0


def _serve(connection, errors, function):
    os.dup2(errors.fileno(), 2)
    while True:
        try:
            case = connection.recv()
        except EOFError:
            return
        connection.send(function(case))


def _start(function):
    ours, theirs = CONTEXT.Pipe()
    errors = tempfile.TemporaryFile()
    process = CONTEXT.Process(target=_serve, args=(theirs, errors, function), daemon=True)
    process.start()
    theirs.close()
    return Worker(process, ours, errors)


def _last_words(worker):
    """Last line of the worker's standard error, for the report of a crash."""
    worker.errors.seek(0, os.SEEK_END)
    worker.errors.seek(max(0, worker.errors.tell() - 2000))
    lines = worker.errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


def _stop(worker):
    worker.process.kill()
    worker.process.join()
    worker.connection.close()
    worker.errors.close()


def _death(worker):
    """What a worker died of, once its end of the pipe is closed."""
    worker.process.join()
    code = worker.process.exitcode or 0
    name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    words = _last_words(worker)
    return f"{name}; {words}" if words else name


def run_all(function, cases, count, timeout, on_crash, on_timeout, fresh_after=150):
    """Yields (case, function(case)) in the order of completion.

    `function` runs in one of `count` workers; a crash yields on_crash(description), more than
    `timeout` seconds yields on_timeout(). A worker is replaced after `fresh_after` cases, so that
    no case depends on hundreds before it.
    """
    waiting = collections.deque(cases)
    workers = [_start(function) for _ in range(min(count, len(waiting)))]
    served = collections.Counter()

    def give(index):
        worker = workers[index]
        if served[index] >= fresh_after:
            _stop(worker)
            worker = workers[index] = _start(function)
            served[index] = 0
        worker.case = waiting.popleft() if waiting else None
        if worker.case is not None:
            served[index] += 1
            worker.deadline = time.monotonic() + timeout
            worker.connection.send(worker.case)

    for index in range(len(workers)):
        give(index)
    while busy := {w.connection: i for i, w in enumerate(workers) if w.case is not None}:
        wait = max(0.0, min(workers[i].deadline for i in busy.values()) - time.monotonic())
        ready = multiprocessing.connection.wait(list(busy), wait)
        for connection in ready:
            index = busy[connection]
            worker = workers[index]
            try:
                yield worker.case, connection.recv()
            except (EOFError, ConnectionResetError):
                yield worker.case, on_crash(_death(worker))
                _stop(worker)
                workers[index] = _start(function)
                served[index] = 0
            give(index)
        for index, worker in enumerate(workers):
            if worker.case is not None and time.monotonic() > worker.deadline:
                yield worker.case, on_timeout()
                _stop(worker)
                workers[index] = _start(function)
                served[index] = 0
                give(index)
    for worker in workers:
        _stop(worker)
