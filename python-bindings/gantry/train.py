"""Training of a network on arrays.

>>> trainer = gt.Trainer(net, loss="scce", optimizer=gt.optim.Nadam(), metrics=["accuracy"])
>>> print(trainer.plan(x[:32], y[:32]).explain())      # what a step takes, before anything runs
>>> history = trainer.fit(x, y, validation=(xt, yt), epochs=10)
>>> trainer.evaluate(xt, yt), trainer.predict(xt)

A step is one plan for each size of batch, a smaller last one among them: loss, gradients, update and metrics. Nothing of it is
copied to the host but the logs, every `log_every` steps.
"""

import functools
import sys
import time

import numpy as np

from . import losses, math as gm, metrics, ops, optim
from .array import Array
from .autodiff import value_and_grad
from .dtypes import as_dtype
from .errors import InvalidArgumentError
from .function import Function, while_loop
from .graph import tracing
from .nn.layers import Embedding
from .nn.module import Module, Sequential, training
from .random import Key


class History:
    """What `fit` has logged: `history["loss"]` is a list with a number for each epoch, "val_loss" of the validation."""

    def __init__(self):
        self.history = {}

    def _add(self, logs):
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)

    def __getitem__(self, name):
        return self.history[name]

    def __contains__(self, name):
        return name in self.history

    def __repr__(self):
        return f"History({self.history})"


class Trainer:
    """Trains a network.

    net        a Module. Rows of floats are taken in the type of its parameters; of float16 and bfloat16 the loss is float32
    loss       a name of gantry.losses, or a function of labels and outputs that gives their mean, a scalar
    optimizer  a name of gantry.optim, or an Optimizer
    metrics    names of gantry.metrics, or Metrics
    seed       decides the order of rows and what layers draw, with the number of the epoch and of the step
    limit      bytes that devices have for a step: {"CPU:0": "1GiB"}; OutOfMemoryError before anything runs, with the smallest
               that would do
    math       "bf16", ...: what factors of products are rounded to
    options    are those of gantry.compile: placement, copies, max_copy, rules
    """

    def __init__(self, net, loss="scce", optimizer="adam", metrics=(), seed=0, limit=None, math=None, **options):
        if not isinstance(net, Module):
            raise InvalidArgumentError(f"a Trainer trains a Module, got {net!r}; a class of your own keeps its variables as attributes")
        self.net, self.optimizer, self.seed, self.history = net, optim.named(optimizer), int(seed), History()
        self._measure, self._metrics = losses.named(loss), [_metrics_named(each) for each in metrics]
        self._is_of_classes = self._measure in (losses.scce, losses.nll) or \
            getattr(self._measure, "func", None) in (losses.scce, losses.nll)
        self._loss, self._epoch, self._checked = _metrics_named("loss"), 0, set()
        flags = list(options.pop("flags", ()))
        if math:
            flags.append(f"math={math}")
        options.update(flags=flags, limit=limit)
        self._step_function, self._look_function, self._predict_function = (
            Function(self._placed(each), **options) for each in (self._step, self._look, self._predict))
        self._loop_function = Function(self._placed(self._loop), **options)
        self._logs = Function(self._read_logs)

    # ---- what runs on devices ----

    def _placed(self, part):
        """A part that runs where the network was moved to."""
        @functools.wraps(part)
        def placed(*arrays):
            with self.net.place():
                return part(*arrays)
        return placed

    def _step(self, x, y):
        """A step of training; what it logs stays in variables."""
        tracing().draws.seed(Key(self.seed).fold(self.optimizer.step.read()))

        def loss(x, y):
            outputs = self._of(x)
            return self._measure(y, outputs), outputs
        with training():
            (value, outputs), gradients = value_and_grad(loss, wrt=self.net, has_aux=True)(x, y)
        self.optimizer.apply(self.net, gradients)
        self._count(value, x, y, outputs)

    def _loop(self, x, y):
        """Steps of several batches, [k, batch, ...], one after the other."""
        def step(i):
            self._step(ops.gather(x, i, 0), ops.gather(y, i, 0))
            return i + 1
        while_loop(lambda i: i < x.shape[0], step, tracing().constant(0, "int32"))

    def _look(self, x, y):
        """What a batch that is only looked at adds to the logs."""
        outputs = self._of(x)
        self._count(self._measure(y, outputs), x, y, outputs)

    def _count(self, loss, x, y, outputs):
        rows = float(x.shape[0])
        self._loss._sums["total"].assign_add(ops.cast(loss, "float32") * rows)
        self._loss._sums["count"].assign_add(rows)
        for metric in self._metrics:
            metric.update(y, ops.stop_gradient(outputs))

    def _predict(self, x):
        made = self._of(x)
        return ops.cast(made, "float32") if made.dtype == "bfloat16" else made  # which NumPy does not have

    def _of(self, x):
        """What the network gives of rows, which have its type where they are floats."""
        own = self._type()
        return self.net(ops.cast(x, own) if own is not None and x.dtype.is_floating and x.dtype != own else x)

    def _read_logs(self):
        """All logs as one array: one copy."""
        return gm.stack([ops.reshape(each.result(), ()) for each in self._logged()])

    def _logged(self):
        """What has one number to tell."""
        return [self._loss] + [each for each in self._metrics if all(shape == () for shape in each._shapes().values())]

    # ---- training ----

    def fit(self, x, y, validation=None, epochs=1, batch=32, shuffle=True, log_every=50, progress=True,
            steps_per_run=1):
        """Trains for so many epochs more; gives the History, of all epochs.

        x, y        arrays with as many rows; ids of a first Embedding and labels of classes are held against their ranges
        validation  a pair (x, y) that is evaluated behind each epoch
        shuffle     rows come in an order that is a function of the seed and the epoch
        log_every   steps between two looks at the logs, for the bar
        progress    a bar on stdout: `281/281 [====] - 3s 12ms/step - loss: ...`
        steps_per_run  so many steps are one run, a loop on the device over as many batches, which are given together: for
                    steps so short that starting them counts. What is learned is the same, byte for byte

        InvalidArgumentError for arrays that do not fit; KeyboardInterrupt leaves the network as the last whole step did.
        """
        x, y = self._arrays(x, y)
        batch = self._batch(batch, len(x))
        if not isinstance(steps_per_run, int) or steps_per_run < 1:
            raise InvalidArgumentError(f"a run has at least one step, got {steps_per_run!r}")
        if validation is not None:
            validation = self._arrays(*validation)
        for _ in range(epochs):
            self._reset()
            order = np.random.Generator(np.random.Philox(key=[self.seed & 2**64 - 1, self._epoch])).permutation(len(x)) \
                if shuffle else np.arange(len(x))
            bar = _Bar(-(-len(x) // batch), f"Epoch {self._epoch + 1}", progress)
            step = 0
            for rows in _runs(order, batch, steps_per_run):
                (self._step_function if rows.ndim == 1 else self._loop_function)(x[rows], y[rows])
                before, step = step, step + (1 if rows.ndim == 1 else len(rows))
                if progress and step // log_every > before // log_every:
                    bar.show(step, self._log())
            logs = self._log()
            if validation is not None:
                bar.show(bar.steps, logs)
                logs.update({f"val_{name}": value for name, value in self._run(*validation, batch).items()})
            bar.end(logs)
            self.history._add(logs)
            self._epoch += 1
        return self.history

    def evaluate(self, x, y, batch=32):
        """Loss and metrics of rows, by name."""
        x, y = self._arrays(x, y)
        return self._run(x, y, self._batch(batch, len(x)))

    def predict(self, x, batch=32):
        """What the network gives of rows, as one NumPy array; of bfloat16 as float32."""
        x = self._rows(x)
        batch = self._batch(batch, len(x))
        self._prepare(x)
        return np.concatenate([self._predict_function(x[start:start + batch]).numpy() for start in range(0, len(x), batch)])

    def lower(self, x, y):
        """The graph of a step for batches as these: `.text`, `.save(path)`."""
        return self._step_function.lower(*self._arrays(x, y))

    def plan(self, x, y):
        """The plan of a step for batches as these: what it takes, where, and what it runs. Nothing runs but what makes the
        variables."""
        return self._step_function.plan(*self._arrays(x, y))

    def _run(self, x, y, batch):
        self._reset()
        for start in range(0, len(x), batch):
            self._look_function(x[start:start + batch], y[start:start + batch])
        return self._log()

    def _reset(self):
        for each in [self._loss, *self._metrics]:
            each.reset()

    def _log(self):
        return {each.name: float(value) for each, value in zip(self._logged(), self._logs().numpy())}

    # ---- arrays ----

    def _arrays(self, x, y):
        x, y = self._rows(x), np.asarray(y.numpy() if isinstance(y, Array) else y)
        if len(x) != len(y):
            raise InvalidArgumentError(f"there are {len(x)} rows and {len(y)} labels")
        self._prepare(x)
        if self._is_of_classes:
            self._check_labels(y)
        if y.dtype == np.float64 and not self._is_wide():
            y = y.astype(np.float32)
        return x, y

    def _rows(self, x):
        x = np.asarray(x.numpy() if isinstance(x, Array) else x)
        if not x.ndim or not len(x):
            raise InvalidArgumentError(f"training takes rows, got an array of shape {list(x.shape)}")
        return x.astype(np.float32) if x.dtype == np.float64 and not self._is_wide() else x

    def _type(self):
        """The type of the network's parameters, also before there are any; of the first, where they are of several."""
        made = [each.dtype for each in self.net.variables() if each.dtype.is_floating]
        known = made or [as_dtype(each._dtype) for each in self.net.modules() if "_dtype" in vars(each)]
        return known[0] if known else None

    def _is_wide(self):
        return self._type() == "float64"

    def _batch(self, batch, rows):
        if not isinstance(batch, int) or batch < 1:
            raise InvalidArgumentError(f"a batch has at least one row, got {batch!r}")
        return min(batch, rows)

    def _check_ids(self, x):
        first = self.net
        while isinstance(first, Sequential) and len(first):
            first = first[0]
        if isinstance(first, Embedding) and x.dtype.kind in "iu" and x.size and not (0 <= x.min() and x.max() < first.rows):
            raise InvalidArgumentError(f"{first._own_name()} has {first.rows} rows, and ids go from {x.min()} to {x.max()}")

    def _prepare(self, x):
        """Makes the network's variables where they are not there yet, and has what is counted beside them."""
        self._check_ids(x)
        if self.net.is_open or vars(self.net).get("_gives") is None:
            self._predict_function.lower(x[:1])
        own = self.net.variables()
        for variable in [self.optimizer.step, *(each for metric in [self._loss, *self._metrics] for each in metric.variables())]:
            if own and variable.device != own[0].device:
                variable._move(own[0].device)

    def _check_labels(self, y):
        """Labels of classes that there are not would be clamped, and train other ones in silence."""
        if y.dtype.kind not in "iu":
            raise InvalidArgumentError(f"the loss takes labels of integers, got {y.dtype} {list(y.shape)}")
        classes = self.net._gives[-1]
        if y.size and not (0 <= y.min() and y.max() < classes):
            raise InvalidArgumentError(f"the network gives {classes} classes, and labels go from {y.min()} to {y.max()}")


def _runs(order, batch, steps):
    """The rows of each run: [steps, batch] of as many whole batches, then what is left of them one by one."""
    whole = len(order) // (batch * steps) * steps * batch if steps > 1 else 0
    yield from order[:whole].reshape(-1, steps, batch)
    for start in range(whole, len(order), batch):
        yield order[start:start + batch]


def _metrics_named(given):
    return metrics.Mean("loss") if given == "loss" else metrics.named(given)


class _Bar:
    """`281/281 [====] - 3s 12ms/step - loss: 1.2345`, on one line of a terminal."""

    def __init__(self, steps, title, shown):
        self.steps, self._shown, self._began, self._in_place = steps, shown, time.perf_counter(), sys.stdout.isatty()
        if shown:
            print(title, flush=True)

    def _line(self, step, logs):
        took = time.perf_counter() - self._began
        done = 30 * step // self.steps
        bar = "=" * done + (">" + "." * (29 - done) if done < 30 else "")
        rate = took / step
        each = f"{rate:.0f}s" if rate >= 1 else f"{rate * 1e3:.0f}ms" if rate >= 1e-3 else f"{rate * 1e6:.0f}us"
        return f"{step}/{self.steps} [{bar}] - {took:.0f}s {each}/step" + \
            "".join(f" - {name}: {value:.4f}" for name, value in logs.items())

    def show(self, step, logs):
        if self._shown and self._in_place:
            print("\r" + self._line(step, logs), end="", flush=True)

    def end(self, logs):
        if self._shown:
            print(("\r" if self._in_place else "") + self._line(self.steps, logs), flush=True)
