"""Training of a network, on arrays or a Dataset.

>>> trainer = gt.Trainer(net, loss="scce", optimizer=gt.optim.Nadam(), metrics=["accuracy"])
>>> print(trainer.plan(x[:32], y[:32]).explain())      # what a step takes, before anything runs
>>> history = trainer.fit(x, y, validation=(xt, yt), epochs=10)
>>> trainer.evaluate(xt, yt), trainer.predict(xt)

A step is one plan for each size of batch, a smaller last one among them: loss, gradients, update and metrics. Nothing of it is
copied to the host but the logs, every `log_every` steps.
"""

import functools
import json
import math
import os

import numpy as np

from . import _checkpoint, distribute, losses, math as gm, metrics, ops, optim, random
from ._feeds import ArrayFeed, DatasetFeed, batch_of, feed_of, refuse_generator
from ._guard import Guard
from ._tensors import Stored
from .array import zeros
from .autodiff import value_and_grad
from .callbacks import Callback, Checkpoint, Progress
from .data import Dataset
from .data._trees import as_array
from .device import memory
from .dtypes import as_dtype
from .errors import InvalidArgumentError
from .function import Function, while_loop
from .graph import tracing
from .nn.layers import Embedding
from .nn.module import Module, Sequential, training
from .random import Key
from .variable import add_slot, slots_of, values_of, variables, write


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
    math       "bf16", ...: what factors of products are rounded to; "f16" has a loss scale
    strategy   gantry.Mirrored or Towers: on which devices; that of an open `with` where none is given
    accumulate the rows of a batch, of each device or part where there are several, go through the network in so many
               micro-batches, one after the other: gradients are added up, and the network is updated once
    loss_scale   a gantry.optim.LossScale, the one of "f16" unless it is given; False: none. Steps with a gradient that is not finite
                 are skipped, counted (`skipped`) and told behind the epoch; ten in a row at the least scale are a GantryError
    check_finite  a step whose loss or gradient is not finite is a GantryError, before a variable of the network or the optimizer has
                 changed; each step is looked at, which takes time on GPUs
    options    are those of gantry.compile: placement, copies, max_copy, rules
    """

    def __init__(self, net, loss="scce", optimizer="adam", metrics=(), seed=0, limit=None, math=None, strategy=None, accumulate=1,
                 loss_scale=None, check_finite=False, **options):
        if not isinstance(net, Module):
            raise InvalidArgumentError(f"a Trainer trains a Module, got {net!r}; a class of your own keeps its variables as attributes")
        if strategy is not None and not isinstance(strategy, distribute.Strategy):
            raise InvalidArgumentError(f"a strategy is a gantry.Mirrored or gantry.Towers, got {strategy!r}")
        if not isinstance(seed, (int, np.integer)):
            raise InvalidArgumentError(f"a seed is a whole number, got {seed!r}")
        metrics = [metrics] if isinstance(metrics, str) else metrics
        if not isinstance(accumulate, int) or accumulate < 1:
            raise InvalidArgumentError(f"a batch has at least one micro-batch, got accumulate={accumulate!r}")
        self._accumulate = accumulate
        self.net, self.optimizer, self.seed, self.history = net, optim.named(optimizer), int(seed), History()
        self._strategy = strategy if strategy is not None else distribute.current()
        if self._strategy is not None:
            self._strategy.adopt(net)
        self._measure, self._metrics = losses.named(loss), [_metrics_named(each) for each in metrics]
        self._is_of_classes = self._measure in (losses.scce, losses.nll) or \
            getattr(self._measure, "func", None) in (losses.scce, losses.nll)
        self._loss, self._runs, self._is_stopped = _metrics_named("loss"), None, False
        if loss_scale is None and math == "f16":
            loss_scale = optim.LossScale()
        self._checks_finite = bool(check_finite)
        self._guard = Guard(self.optimizer, loss_scale or None) if loss_scale or check_finite else None
        self.epoch, self.epochs, self.step, self.steps, self.total_steps = 0, 0, 0, None, 0
        self._active, self._began, self._is_prepared = (), 0, False
        flags = list(options.pop("flags", ()))
        if math:
            flags.append(f"math={math}")
        options.update(flags=flags, limit=limit)
        self._options = options
        self.limit = dict(limit or {})
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
        optimizer, strategy = self._guard or self.optimizer, self._strategy
        if strategy is None and self._accumulate > 1:  # on one device, which is where the network is
            home = self.net.variables()[0].device
            strategy = distribute.Towers([home], home)
        if strategy is None:
            optimizer.apply(self.net, self._learn(x, y))
        else:
            strategy.update(optimizer, self.net, strategy.each(self._learn, x, y, variables=self.net.variables(),
                                                               accumulate=self._accumulate))

    def _balance(self, x, y):
        """Has a strategy whose weights are to be found find them, for batches as these."""
        if self._strategy is None or not self._strategy.is_open:
            return

        def times(strategy, rows):
            given = [zeros((rows, *each.shape[1:]), dtype=each.dtype) for each in (x, y)]
            learn = Function(self._placed(lambda x, y: strategy.each(self._learn, x, y, variables=self.net.variables())))
            return [replica.seconds for replica in learn.lower(*given).outlined(**self._options).replicas]
        self._strategy.balance(len(x), times)

    def _learn(self, x, y):
        """The gradients of a batch, or of a replica's rows; counts them."""
        def loss(x, y):
            outputs = self._of(x)
            value = self._measure(y, outputs)
            return (value, outputs) if self._guard is None else (self._guard.scaled(value), (value, outputs))
        with training():
            (value, outputs), gradients = value_and_grad(loss, wrt=self.net, has_aux=True, over="rows")(x, y)
        if self._guard is not None:
            value, outputs = outputs
        if self._checks_finite:  # a loss that is not finite shows in a gradient
            name = next(iter(gradients))
            gradients = {**gradients, name: gradients[name] + ops.cast(value * 0, gradients[name].dtype)}
        self._count(value, x, y, outputs)
        return gradients

    def _loop(self, x, y):
        """Steps of several batches, [k, batch, ...], one after the other."""
        def step(i):
            self._step(ops.gather(x, i, 0), ops.gather(y, i, 0))
            return i + 1
        while_loop(lambda i: i < x.shape[0], step, tracing().constant(0, "int32"))

    def _look(self, x, y):
        """What a batch that is only looked at adds to the logs."""
        if self._strategy is not None and tracing().replica is None:
            self._strategy.each(self._look, x, y, variables=self.net.variables())
            return
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

    def fit(self, x, y=None, validation=None, epochs=1, batch=None, shuffle=True, log_every=50, progress=True,
            steps_per_run=1, callbacks=(), resume=None):
        """Trains for so many epochs more; gives the History, of all epochs.

        x, y        arrays with as many rows, or a gantry.data.Dataset of pairs (x, y) as x alone; ids of a first Embedding and labels
                    of classes are held against their ranges
        validation  a pair (x, y), or a Dataset of such batches, of which the first epoch counts: evaluated behind each epoch
        batch       rows of a step: 32 for arrays; a Dataset gives batches, where it is None, else elements that are put together
        shuffle     rows of arrays come in an order that is a function of the seed and the epoch; a Dataset has its own
        log_every   steps between two looks at the logs, for the bar and callbacks with a `log`
        progress    a bar on stdout: `281/281 [====] - 3s 12ms/step - loss: ...`
        steps_per_run  so many steps are one run, a loop on the device over as many batches, which are given together: for
                    steps so short that starting them counts. What is learned is the same, byte for byte
        callbacks   of gantry.callbacks
        resume      a folder that a Checkpoint writes into, or a file of it: goes on from the last one that is whole, and ends as the
                    fit would have that was broken off, after as many epochs from where that began; byte for byte, where data, seed
                    and callbacks are the same. Begins where there is none

        InvalidArgumentError for arrays that do not fit, for a Dataset without a batch or without an end, and for a checkpoint that is
        torn or of something else, which changes nothing; OSError for one that cannot be written; KeyboardInterrupt leaves the network
        as the last whole step did.
        """
        if not isinstance(steps_per_run, int) or steps_per_run < 1:
            raise InvalidArgumentError(f"a run has at least one step, got {steps_per_run!r}")
        if not isinstance(epochs, int) or epochs < 0:
            raise InvalidArgumentError(f"epochs are counted, got {epochs!r}")
        if not isinstance(log_every, int) or log_every < 1:
            raise InvalidArgumentError(f"logs are looked at every so many steps, at least one, got log_every={log_every!r}")
        if resume is not None and not isinstance(resume, (str, os.PathLike)):
            raise InvalidArgumentError(f"a fit resumes from a folder or a file, got {resume!r}")
        callbacks = self._active = self._callbacks(callbacks, progress, log_every)
        feed = feed_of(x, y, batch, shuffle, self.seed, steps_per_run, self._arrays, self._checked)
        if validation is not None and not isinstance(validation, Dataset):
            if not isinstance(validation, (tuple, list)) or len(validation) != 2:
                raise InvalidArgumentError(f"validation is a pair (x, y) or a Dataset, got {_told(validation)}")
            validation = self._arrays(*validation)
        self._began, self._is_stopped, self._is_prepared, self.step, position = self.epoch, False, False, 0, None
        saved = _checkpoint.last(resume) if resume is not None else None
        try:
            for each in callbacks:
                each.begin(self)
            if saved is not None:
                with saved:
                    position = self._restore(saved.tensors, saved.texts, feed, callbacks)
            self.epochs, self._log_every = self._began + epochs, log_every
            self._train(feed, validation, position, callbacks)
            for each in callbacks:
                each.end(self)
        finally:
            for each in callbacks:
                each.close()
        return self.history

    def _callbacks(self, given, progress, log_every):
        """All of them in the order in which they are called: checkpoints know what the others have done."""
        if isinstance(given, Callback) or not isinstance(given, (list, tuple)):
            raise InvalidArgumentError(f"callbacks are a list, got {given!r}")
        wrong = next((each for each in given if not isinstance(each, Callback)), None)
        if wrong is not None:
            raise InvalidArgumentError(f"callbacks are those of gantry.callbacks, and classes made of Callback, got {wrong!r}")
        given = [*([Progress(log_every)] if progress else []), *given]
        return sorted(given, key=lambda each: isinstance(each, Checkpoint))

    def _train(self, feed, validation, position, callbacks):
        """Epochs up to the last one, the first from a position on."""
        while self.epoch < self.epochs and not self._is_stopped:
            if position is None:
                self._reset()
                self.step = 0
            self.steps, self._runs = feed.steps, feed.epoch(self.epoch, position)
            try:
                for each in callbacks:
                    each.epoch_begin(self)
                self._steps(callbacks)
            finally:
                self._runs.close()
                self._runs = None
            if not self.step:
                raise feed.empty()
            self.steps = feed.steps = self.step
            logs = self._log()
            if self._guard is not None:
                self._guard.look()
                self._guard.tell()
            if validation is not None:
                logs.update({f"val_{name}": value for name, value in self._validate(validation, feed.batch).items()})
            self.history._add(logs)
            self.epoch, self.step, position = self.epoch + 1, 0, None
            for each in callbacks:
                each.epoch_end(self, logs)

    def _steps(self, callbacks):
        for x, y, steps in self._runs:
            self._balance(*((x, y) if steps == 1 else (x[0], y[0])))
            (self._step_function if steps == 1 else self._loop_function)(x, y)
            self.step += steps
            self.total_steps += steps
            if self._checks_finite:
                self._guard.check(self.net, self.total_steps)
            for each in callbacks:
                each.step_end(self, steps)
            if self.total_steps // self._log_every > (self.total_steps - steps) // self._log_every:
                self._look_at_logs(callbacks)

    def _look_at_logs(self, callbacks):
        """What is done every `log_every` steps: the logs are copied once for all that want them."""
        if self._guard is not None:
            self._guard.look()
        wants = [each for each in callbacks if type(each).log is not Callback.log]
        logs = self._log() if wants else None
        for each in wants:
            each.log(self, logs)

    @property
    def skipped(self):
        """How many steps were skipped, since a gradient was not finite: with a loss scale."""
        return int(self._guard.skipped) if self._guard is not None else 0

    def stop(self):
        """Has `fit` end behind this epoch: for callbacks."""
        self._is_stopped = True

    def logs(self):
        """What was counted in the epoch so far, by name: one copy to the host."""
        return self._log()

    def evaluate(self, x, y=None, batch=None):
        """Loss and metrics of rows, by name; of arrays, 32 at a time where batch is None, or of a Dataset of batches."""
        if isinstance(x, Dataset):
            return self._run(feed_of(x, y, batch, False, 0, 1, self._arrays, self._checked))
        x, y = self._arrays(x, y)
        return self._validate((x, y), batch_of(32 if batch is None else batch, len(x)))

    def predict(self, x, batch=32):
        """What the network gives of rows, as one NumPy array; of bfloat16 as float32. Of a Dataset of batches x, or of pairs (x, y), of
        which y is passed over, what it gives of its first epoch."""
        if isinstance(x, Dataset):
            return self._predict_all(x)
        x = self._rows(x)
        batch = batch_of(batch, len(x))
        self._prepare(x)
        return np.concatenate([self._predict_function(x[start:start + batch]).numpy() for start in range(0, len(x), batch)])

    def _predict_all(self, data):
        if data._is_endless:
            raise InvalidArgumentError(f"{data!r} has no end; say .take(batches)")
        rows, made = data.epoch(0), []
        try:
            for element in rows:
                x = self._rows(element[0] if isinstance(element, tuple) else element)
                if not made:
                    self._prepare(x)
                else:
                    self._check_ids(x)
                made.append(self._predict_function(x).numpy())
        finally:
            rows.close()
        if not made:
            raise InvalidArgumentError(f"{data!r} gives no batch")
        return np.concatenate(made)

    def lower(self, x, y):
        """The graph of a step for batches as these: `.text`, `.save(path)`."""
        return self._step_function.lower(*self._batch(x, y))

    def _batch(self, x, y):
        given = self._arrays(x, y)
        self._balance(*given)
        return given

    def plan(self, x, y):
        """The plan of a step for batches as these: what it takes, where, and what it runs. Nothing runs but what makes the
        variables."""
        return self._step_function.plan(*self._batch(x, y))

    def _validate(self, data, batch):
        if isinstance(data, Dataset):
            return self._run(DatasetFeed(data, self._checked, 1))
        return self._run(ArrayFeed(*data, batch_of(batch, len(data[0])), False, 0, 1))

    def _run(self, feed):
        """Loss and metrics of all batches of a feed; what was counted in an epoch under way, as where a callback asks, is kept."""
        counted = [(each, each.read()) for metric in [self._loss, *self._metrics] for each in metric.variables()] if self._runs is not None else ()
        self._reset()
        self._is_prepared = False
        runs, seen = feed.epoch(0), 0
        try:
            for x, y, _ in runs:
                self._balance(x, y)
                self._look_function(x, y)
                seen += 1
            if not seen:
                raise feed.empty()
            return self._log()
        finally:
            runs.close()
            for variable, value in counted:
                variable.assign(value)

    def _reset(self):
        for each in [self._loss, *self._metrics]:
            each.reset()

    def _log(self):
        return {each.name: float(value) for each, value in zip(self._logged(), self._logs().numpy())}

    # ---- checkpoints ----

    def _host_room(self):
        """How many bytes a copy may take of the host beside training: what limits and the machine leave."""
        known = memory("CPU:0")
        rooms = [known.free if known.free is not None else math.inf]
        if known.limit is not None:
            rooms.append(known.limit - known.used)
        for made in (*self._step_function._made.values(), *self._loop_function._made.values()):
            host = made.plan.memory.get("CPU:0")
            if host is not None and host.limit:
                rooms.append(host.limit - host.constants - host.variables - host.transient)
        return min(rooms)

    @property
    def _can_save(self):
        """Whether the data are where the last step was."""
        return self._runs is None or self._runs.is_even

    def _variables(self):
        """Pairs of name and Variable of all that a step changes, but for what the optimizer keeps beside the network's."""
        return [(f"net/{path}", each) for path, each in self.net.named_parameters()] + self._own_variables()

    def _own_variables(self):
        """Those of the trainer itself, which are where the network is."""
        found = [("optimizer/step", self.optimizer.step)]
        if self.optimizer._factor is not None:
            found += [("optimizer/factor", self.optimizer._factor)]
        if self._guard is not None:
            found += [(f"guard/{i}", each) for i, each in enumerate(self._guard.variables())]
        return found + [(f"metrics/{i}.{metric.name}/{key}", each) for i, metric in enumerate([self._loss, *self._metrics])
                        for key, each in metric._sums.items()]

    def _saved(self):
        """What a checkpoint has of it, between two steps: Stored arrays and texts."""
        arrays = values_of(self._variables())
        state = variables()
        for path, variable in self.net.named_parameters():
            own = f"{variable.name}/{self.optimizer.name}/"
            for slot in (name for name in slots_of(variable) if name.startswith(own)):
                held = state[slot]
                arrays[f"slots/{path}/{slot[len(own):]}"] = Stored(held.numpy(), held.dtype)
        callbacks = {name: _checkpoint.take_arrays(each.state(), f"callbacks/{name}", arrays)
                     for name, each in _keyed(self._active)}
        position = self._runs.state() if self._runs is not None else None
        if position is not None:  # as long as a shuffle buffer is
            arrays["fit/data"] = Stored(np.frombuffer(json.dumps(position).encode(), np.uint8), as_dtype("uint8"))
        fit = {"epoch": self.epoch, "step": self.step, "total_steps": self.total_steps, "began": self._began, "seed": self.seed,
               "stopped": self._is_stopped, "optimizer": type(self.optimizer).__name__, "history": self.history.history,
               "random": random.where(), "callbacks": callbacks}
        return arrays, {"fit": json.dumps(fit)}

    def _restore(self, arrays, texts, feed, callbacks):
        """Takes all of a checkpoint over, when all of it fits; gives the position in the data, None where an epoch begins."""
        try:
            fit = json.loads(texts["fit"])
            position = json.loads(bytes(arrays["fit/data"].values)) if "fit/data" in arrays else None
        except (KeyError, ValueError):
            raise _checkpoint.Broken("the checkpoint does not say where it was") from None
        for what, own in (("seed", self.seed), ("optimizer", type(self.optimizer).__name__)):
            if fit[what] != own:
                raise InvalidArgumentError(f"the checkpoint has the {what} {fit[what]}, and this trainer has {own}")
        if position is not None:
            feed.check(position)
        if self.net.is_open or vars(self.net).get("_gives") is None:
            self._prepare(self._rows(feed.first()))
        held = self._fitting(arrays)
        for name, each in _keyed(callbacks):
            if name in fit["callbacks"]:
                each.restore(_checkpoint.give_arrays(fit["callbacks"][name], arrays))
        for variable, values in held:
            write(variable, values)
        for path, variable in self.net.named_parameters():
            for name, (values, kind) in arrays.items():
                if name.startswith(f"slots/{path}/"):
                    add_slot(variable, f"{variable.name}/{self.optimizer.name}/{name[len(path) + 7:]}", kind, values)
        self.epoch, self.step, self.total_steps, self._began = fit["epoch"], fit["step"], fit["total_steps"], fit["began"]
        self._is_stopped, self.history.history = fit["stopped"], fit["history"]
        random.go_to(fit["random"])
        return position

    def _fitting(self, arrays):
        """Pairs of Variable and values of a checkpoint; InvalidArgumentError where it is of another network."""
        known, own = dict(self._variables()), ("net/", "optimizer/", "metrics/", "guard/")
        found = {name for name in arrays if name.startswith(own)}
        for name in sorted(found ^ set(known)):
            raise InvalidArgumentError(f"the checkpoint has no '{name}', which this trainer has" if name in known else
                                       f"the checkpoint has '{name}', and this trainer has not")
        for name, variable in known.items():
            values, kind = arrays[name]
            if (kind, values.shape) != (variable.dtype, variable.shape):
                raise InvalidArgumentError(f"the checkpoint has '{name}' as {kind}{list(values.shape)}, and this trainer as "
                                           f"{variable.dtype}{list(variable.shape)}")
        return [(variable, arrays[name].values) for name, variable in known.items()]

    # ---- arrays ----

    def _arrays(self, x, y):
        x, y = self._rows(x), self._labels(y)
        self._check_lengths(x, y)
        self._prepare(x)
        return x, self._fit_labels(y)

    def _checked(self, x, y):
        """A batch of a Dataset as a step takes it."""
        x, y = as_array(x), self._labels(y)
        if not x.ndim or not y.ndim:
            raise InvalidArgumentError(f"training takes batches, and the Dataset gives x of shape {list(x.shape)} and y of shape "
                                       f"{list(y.shape)}: say .batch(rows), or batch=rows")
        x = self._rows(x)
        self._check_lengths(x, y)
        if self.net.is_open or vars(self.net).get("_gives") is None or not self._is_prepared:
            self._prepare(x)
            self._is_prepared = True
        else:
            self._check_ids(x)
        return x, self._fit_labels(y)

    def _check_lengths(self, x, y):
        if not y.ndim or len(x) != len(y):
            raise InvalidArgumentError(f"there are {len(x)} rows and {len(y) if y.ndim else 'no'} labels")

    def _labels(self, y):
        y = as_array(y)
        if y.dtype.kind not in "biuf" and y.dtype.kind in "USOmMc":
            raise InvalidArgumentError(f"labels are numbers, got {y.dtype}; give classes numbers first")
        return y.astype(np.int32) if y.dtype == bool else y

    def _fit_labels(self, y):
        if self._is_of_classes:
            self._check_labels(y)
        return y.astype(np.float32) if y.dtype == np.float64 and not self._is_wide() else y

    def _rows(self, x):
        refuse_generator(x)
        x = as_array(x)
        if x.dtype.kind in "USOmMc":
            raise InvalidArgumentError(f"a network takes numbers, got {x.dtype}; give texts numbers first, as in Dataset.map")
        if not x.ndim or not len(x):
            raise InvalidArgumentError(f"training takes rows, got an array of shape {list(x.shape)}")
        return x.astype(np.float32) if x.dtype == bool or x.dtype == np.float64 and not self._is_wide() else x

    def _type(self):
        """The type of the network's parameters, also before there are any; of the first, where they are of several."""
        made = [each.dtype for each in self.net.variables() if each.dtype.is_floating]
        known = made or [as_dtype(each._dtype) for each in self.net.modules() if "_dtype" in vars(each)]
        return known[0] if known else None

    def _is_wide(self):
        return self._type() == "float64"

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
        for _, variable in self._own_variables():
            if own and variable.device != own[0].device:
                variable._move(own[0].device)

    def _check_labels(self, y):
        """Labels of classes that there are not would be clamped, and train other ones in silence."""
        if y.dtype.kind not in "iu":
            raise InvalidArgumentError(f"the loss takes labels of integers, got {y.dtype} {list(y.shape)}")
        classes = self.net._gives[-1]
        if y.size and not (0 <= y.min() and y.max() < classes):
            raise InvalidArgumentError(f"the network gives {classes} classes, and labels go from {y.min()} to {y.max()}")


def _told(given):
    """What was given, in few words."""
    return f"an array of shape {list(given.shape)}" if hasattr(given, "shape") else \
        f"{type(given).__name__} of {len(given)}" if isinstance(given, (tuple, list)) else repr(given)


def _keyed(callbacks):
    """Pairs of name and callback, as "CSV.0"; how far a bar is is not kept."""
    counts = {}
    for each in callbacks:
        if not isinstance(each, Progress):
            kind = type(each).__name__
            counts[kind] = counts.get(kind, -1) + 1
            yield f"{kind}.{counts[kind]}", each


def _metrics_named(given):
    return metrics.Mean("loss") if given == "loss" else metrics.named(given)
