"""What `fit` does besides: it stops early, writes checkpoints and logs, takes the rate down, shows a bar.

>>> trainer.fit(train, validation=test, epochs=100, resume="run/",
...             callbacks=[gt.callbacks.EarlyStopping(patience=3), gt.callbacks.CSV("run/log.csv"), gt.callbacks.Checkpoint("run/")])

A class of your own is a Callback with some of its methods. They are given the trainer, which has `net`, `optimizer`, `history`,
`epoch` (how many are over), `epochs` (how many there will be), `step` (of the epoch, so many are over), `steps` (how many an epoch has; None while that is not known),
`total_steps`, `logs()` (what was counted in the epoch so far, copied to the host) and `stop()`.
"""

import math
import os
import sys
import threading
import time

from . import _checkpoint, _events
from .errors import InvalidArgumentError
from .variable import value_of, write


class Callback:
    """Does nothing. Methods are called in the order of the list; those of Checkpoint behind all others."""

    def begin(self, trainer):
        """`fit` begins, or goes on from a checkpoint."""

    def epoch_begin(self, trainer):
        """An epoch begins, or goes on."""

    def step_end(self, trainer, steps):
        """So many steps were made: one, or those of one run."""

    def log(self, trainer, logs):
        """Every `log_every` steps: what was counted in the epoch so far, copied once for all who want it."""

    def epoch_end(self, trainer, logs):
        """An epoch is over; logs have what was counted, by name, of the validation "val_loss"."""

    def end(self, trainer):
        """`fit` has ended as it should."""

    def close(self):
        """`fit` is left, also by an exception."""

    def state(self):
        """What a checkpoint keeps of it: numbers, texts, None, NumPy arrays, and lists and dicts of these."""
        return {}

    def restore(self, state):
        """Goes on from what `state` gave, behind `begin`."""


class _Watching(Callback):
    """Looks whether a number of the logs gets better."""

    def __init__(self, monitor, patience, least, mode):
        if mode not in ("auto", "min", "max"):
            raise InvalidArgumentError(f"mode is 'auto', 'min' or 'max', got {mode!r}")
        if not isinstance(patience, int) or patience < 1:
            raise InvalidArgumentError(f"patience is a number of epochs from 1 on, got {patience!r}")
        falls = mode == "min" or mode == "auto" and any(each in monitor for each in ("loss", "error", "mae", "perplexity"))
        self._monitor, self._patience, self._least, self._sign = monitor, patience, abs(least), -1 if falls else 1
        self._best, self._waited = None, 0

    def begin(self, trainer):
        self._best, self._waited = None, 0

    def _is_better(self, logs):
        """Whether it is better than ever by more than `least`; else an epoch more was waited."""
        if self._monitor not in logs:
            raise InvalidArgumentError(f"{type(self).__name__} looks at '{self._monitor}', and the logs have {', '.join(logs)}")
        value = logs[self._monitor]
        if not math.isnan(value) and (self._best is None or self._sign * (value - self._best) > self._least):
            self._best, self._waited = value, 0
            return True
        self._waited += 1
        return False

    def state(self):
        return {"best": self._best, "waited": self._waited}

    def restore(self, state):
        self._best, self._waited = state["best"], state["waited"]


class EarlyStopping(_Watching):
    """Stops behind `patience` epochs in which `monitor` did not get better by more than `least`.

    mode          "min" or "max" is better; "auto": by the name, losses and errors fall
    restore_best  when `fit` ends the network's variables are those of the best epoch; a copy of them lies on the host
    """

    def __init__(self, monitor="val_loss", patience=1, least=0.0, mode="auto", restore_best=True):
        super().__init__(monitor, patience, least, mode)
        self._restore_best, self._values = restore_best, None

    def begin(self, trainer):
        super().begin(trainer)
        self._values = None

    def epoch_end(self, trainer, logs):
        if self._is_better(logs):
            self._values = [value_of(each) for each in trainer.net.variables()] if self._restore_best else None
        elif self._waited >= self._patience:
            trainer.stop()

    def end(self, trainer):
        if self._values is not None:
            for variable, values in zip(trainer.net.variables(), self._values):
                write(variable, values)

    def state(self):
        return {**super().state(), "values": self._values}

    def restore(self, state):
        super().restore(state)
        self._values = state["values"]


class ReduceOnPlateau(_Watching):
    """Multiplies the optimizer's rate, or what its schedule gives, by `factor` behind `patience` epochs in which `monitor` did not get
    better by more than `least`. The factor is a variable beside the optimizer's: nothing is compiled anew.

    lowest  the factor does not get below this one
    """

    def __init__(self, monitor="val_loss", factor=0.1, patience=10, least=1e-4, mode="auto", lowest=0.0):
        if not 0 < factor < 1:
            raise InvalidArgumentError(f"the factor of ReduceOnPlateau lies between 0 and 1, got {factor!r}")
        super().__init__(monitor, patience, least, mode)
        self._factor, self._lowest = factor, lowest

    def begin(self, trainer):
        super().begin(trainer)
        trainer.optimizer.factor()

    def epoch_end(self, trainer, logs):
        if not self._is_better(logs) and self._waited >= self._patience:
            self._waited, own = 0, trainer.optimizer.factor()
            own.assign(max(float(own) * self._factor, self._lowest))


class Checkpoint(Callback):
    """Writes all that `fit(..., resume=folder)` goes on from, byte for byte: variables, also the optimizer's and what metrics have
    counted, where in the data, callbacks and history. Files are `step-0000000100.safetensors`, whole or not there.

    every_steps   behind every so many steps
    every_epochs  behind every so many epochs; None: only by steps
    keep          so many of the last ones stay
    beside        a thread writes the file while training goes on, from a copy that is taken between two steps; False: steps wait
                  for the file. None: a thread does where the copy has room beside training, within the limits that the
                  trainer and the configuration give the host

    OSError, as of a full disk, ends `fit`, where a thread writes at one of the next steps; the checkpoints before stay.
    """

    def __init__(self, folder, every_steps=None, every_epochs=1, keep=3, beside=None):
        for name, given in (("every_steps", every_steps), ("every_epochs", every_epochs), ("keep", keep)):
            if not isinstance(given, int) and (given is not None or name == "keep") or given is not None and given < 1:
                raise InvalidArgumentError(f"Checkpoint: {name} is a number from 1 on, got {given!r}")
        self._folder, self._every_steps, self._every_epochs, self._keep = os.fspath(folder), every_steps, every_epochs, keep
        self._is_due, self._beside, self._thread, self._error = False, beside, None, None

    def begin(self, trainer):
        _checkpoint.begin(self._folder)
        self._is_due, self._error = False, None

    def step_end(self, trainer, steps):
        if self._error is not None:
            self._wait()
        if self._every_steps is not None:
            made = trainer.total_steps
            self._is_due |= made // self._every_steps > (made - steps) // self._every_steps
            if self._is_due and trainer._can_save:
                self._write(trainer)

    def epoch_end(self, trainer, logs):
        if self._is_due or self._every_epochs is not None and trainer.epoch % self._every_epochs == 0:
            self._write(trainer)

    def end(self, trainer):
        self._wait()

    def close(self):
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _write(self, trainer):
        self._is_due = False
        self._wait()
        tensors, texts = trainer._saved()
        given = _checkpoint.path_of(self._folder, trainer.total_steps), tensors, texts
        size = sum(each.values.nbytes for each in tensors.values())
        if self._beside or self._beside is None and size <= trainer._host_room():
            self._thread = threading.Thread(target=self._write_beside, args=given, name="gantry-checkpoint")
            self._thread.start()
        else:
            self._finish(*given)

    def _finish(self, path, tensors, texts):
        _checkpoint.write(path, tensors, texts)
        _checkpoint.keep(self._folder, self._keep)

    def _write_beside(self, *given):
        try:
            self._finish(*given)
        except BaseException as error:  # told at the next step
            self._error = error

    def _wait(self):
        """Until the last file is there, or told not to be."""
        self.close()
        if self._error is not None:
            error, self._error = self._error, None
            raise error


class _Appending(Callback):
    """A file that grows, cut back to what a checkpoint knew when `fit` goes on from it."""

    def __init__(self):
        self._file, self._path = None, None

    def _open(self, path, mode="wb"):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        self.close()
        self._file, self._path = open(path, mode), path

    def _write(self, data):
        self._file.write(data)
        self._file.flush()

    def close(self):
        if self._file is not None:
            self._file.close()
            self._file = None

    def _end(self):
        """How many bytes there are, on the disk as well."""
        if self._file is None:
            return None
        os.fsync(self._file.fileno())
        return self._file.tell()

    def _cut(self, path, end):
        if not os.path.isfile(path) or os.path.getsize(path) < end:
            raise InvalidArgumentError(f"{path} had {end} bytes when the checkpoint was written, and has fewer")
        self._open(path, "r+b")
        self._file.truncate(end)
        self._file.seek(end)


class CSV(_Appending):
    """A row for each epoch in a file that it writes anew: epoch, and all logs as they are to be read back to the last bit."""

    def __init__(self, path):
        super().__init__()
        self._to, self._names = os.fspath(path), None

    def epoch_end(self, trainer, logs):
        if self._file is None:
            self._open(self._to)
        if self._names is None:
            self._names = list(logs)
            self._write((",".join(["epoch", *map(_quoted, self._names)]) + "\n").encode())
        row = [str(trainer.epoch), *(repr(logs[name]) if name in logs else "" for name in self._names)]
        self._write((",".join(row) + "\n").encode())

    def begin(self, trainer):
        self._names = None

    def state(self):
        return {"names": self._names, "end": self._end()}

    def restore(self, state):
        self._names = state["names"]
        if state["end"] is not None:
            self._cut(self._to, state["end"])


def _quoted(name):
    return '"' + name.replace('"', '""') + '"' if any(each in name for each in ',"\n') else name


class TensorBoard(_Appending):
    """An event file in a folder with each log as a scalar, behind each epoch, and with `every_steps` what was counted so far behind every
    so many steps (as "step/loss")."""

    def __init__(self, folder, every_steps=None):
        super().__init__()
        self._folder, self._every_steps = os.fspath(folder), every_steps

    def step_end(self, trainer, steps):
        made, every = trainer.total_steps, self._every_steps
        if every is not None and made // every > (made - steps) // every:
            self._add(made, {f"step/{name}": value for name, value in trainer.logs().items()})

    def epoch_end(self, trainer, logs):
        self._add(trainer.total_steps, logs)

    def _add(self, step, logs):
        now = time.time()
        if self._file is None:
            self._open(os.path.join(self._folder, f"events.out.tfevents.{int(now)}.gantry.{os.getpid()}.{id(self)}"))
            self._write(_events.record(_events.version(now)))
        self._write(_events.record(_events.scalars(now, step, logs)))

    def state(self):
        return {"name": os.path.basename(self._path) if self._path else None, "end": self._end()}

    def restore(self, state):
        if state["end"] is not None:
            self._cut(os.path.join(self._folder, state["name"]), state["end"])


class Progress(Callback):
    """The bar `281/281 [====] - 3s 12ms/step - loss: 1.2345`, on one line of a terminal, else a line for each epoch.

    every  steps between two looks at the logs, for the line of a terminal
    file   where it goes; stdout, where it is None
    """

    def __init__(self, every=50, file=None):
        self._every, self._to = every, file

    def _print(self, text, end="\n"):
        print(text, end=end, file=self._to or sys.stdout, flush=True)

    def epoch_begin(self, trainer):
        self._began, self._from = time.perf_counter(), trainer.step
        self._in_place = (self._to or sys.stdout).isatty()
        self._print(f"Epoch {trainer.epoch + 1}/{trainer.epochs}")

    def step_end(self, trainer, steps):
        made = trainer.step
        if self._in_place and (made // self._every > (made - steps) // self._every or made == trainer.steps):
            self._print("\r" + self._line(made, trainer.steps, trainer.logs()), end="")

    def epoch_end(self, trainer, logs):
        self._print(("\r" if self._in_place else "") + self._line(trainer.steps, trainer.steps, logs))

    def _line(self, step, steps, logs):
        took = time.perf_counter() - self._began
        done = 30 * step // steps if steps else 0
        bar = "=" * done + (">" + "." * (29 - done) if done < 30 else "")
        rate = took / max(1, step - self._from)
        each = f"{rate:.0f}s" if rate >= 1 else f"{rate * 1e3:.0f}ms" if rate >= 1e-3 else f"{rate * 1e6:.0f}us"
        return f"{step}/{steps or '?'} [{bar}] - {took:.0f}s {each}/step" + \
            "".join(f" - {name}: {value:.4f}" for name, value in logs.items())
