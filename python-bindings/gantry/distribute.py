"""Training on several devices: the rows of a batch are split among replicas of the network.

>>> trainer = gt.Trainer(net, strategy=gt.Mirrored(gt.gpus()))
>>> trainer = gt.Trainer(net, strategy=gt.Mirrored(weights={"GPU:0": 2, "GPU:1": 1}))
>>> trainer = gt.Trainer(net, strategy=gt.Towers(gt.gpus(), variables="CPU:0"))
>>> with gt.Mirrored():
...     trainer = gt.Trainer(net)

A replica computes the loss and the gradients of its own rows, a shard; a shard may be smaller than others, or empty. A loss
that is a mean over rows counts by the share of the rows that the shard has, and gradients are added up: that is the gradient of
the mean over the whole batch. Random numbers go by their place in the whole batch, so a dropout drops what it does on one device.

>>> trainer = gt.Trainer(net, strategy=gt.Mirrored(gt.gpus(3), parts=8))

With `parts` the batch is cut into so many parts, which are dealt to the devices in ranges, and what they give is added in a
balanced tree over their numbers: what is learned is then the same, byte for byte, on 1, 2, 3 or 8 devices, of which as many
have work as there are parts. A batch normalisation normalises a part.
"""

import copy
import functools
import math
import operator
import sys
import threading

from . import _balance, _c, ops
from ._buckets import buckets, cut, join
from ._replicas import Replica, Shard, total
from ._turns import Turns, kept
from .device import device as device_named, gpus, listed, resolve, cpu
from .errors import InvalidArgumentError
from .function import flatten, read_all, unflatten
from .graph import Value, tracing, user_frame

_scopes = kept(threading.local())
_MOST_PARTS = 64  # each of which is all ops of a step


def current():
    """The strategy whose scope is open on this thread, or none."""
    return getattr(_scopes, "strategies", (None,))[-1]


class Strategy:
    """How a batch is split among devices."""

    def __init__(self, devices=None, weights=None, parts=None):
        if devices is None:
            devices = list(weights) if isinstance(weights, dict) else gpus() or [cpu()]
        devices = [devices] if isinstance(devices, str) else devices
        if not isinstance(devices, (list, tuple)):
            raise InvalidArgumentError(f"{type(self).__name__} takes a list of devices, as gantry.gpus(2) or [\"GPU:0\", \"GPU:1\"], "
                                       f"got {devices!r}")
        self.devices = tuple(found for each in devices for found in _listed(each))
        if not self.devices:
            raise InvalidArgumentError(f"{type(self).__name__} needs at least one device")
        if len(set(self.devices)) != len(self.devices):
            raise InvalidArgumentError(f"{type(self).__name__} lists a device twice: {', '.join(map(repr, self.devices))}")
        self.weights = self._weights(weights)
        if parts is not None and (not isinstance(parts, int) or not 1 <= parts <= _MOST_PARTS):
            raise InvalidArgumentError(f"a batch is cut into 1 to {_MOST_PARTS} parts, got {parts!r}")
        self.parts = parts

    def _weights(self, given):
        """One number for each device; none where all are equal, or are to be found."""
        self.is_open = isinstance(given, str) and given == "auto"
        if given is None or self.is_open:
            return None
        if isinstance(given, dict):
            own = {found: weight for each, weight in given.items() for found in _listed(each)}
            if set(own) != set(self.devices):
                raise InvalidArgumentError(f"weights are of {', '.join(map(repr, own))}, and the devices are "
                                           f"{', '.join(map(repr, self.devices))}")
            given = [own[each] for each in self.devices]
        if not isinstance(given, (list, tuple)) or not all(isinstance(each, int) and 0 <= each <= 2**31 for each in given) or \
                len(given) != len(self.devices) or not sum(given):
            raise InvalidArgumentError(f"weights are whole numbers, one for each of {len(self.devices)} devices, not all of them 0, or \"auto\"; got "
                                       f"{given!r}")
        return tuple(given)

    def balance(self, rows, times):
        """Decides weights="auto" by a batch of so many rows: what each device takes for shares of two sizes is predicted, and the last
        one is to end early. `times(strategy, rows)` gives the seconds of each device of a strategy that shares out evenly."""
        self.is_open = False
        if len(self.devices) > 1 and rows:
            equal, most = copy.copy(self), -(-rows // len(self.devices))
            equal.parts, few = None, -(-most // 2)
            most = max(most, few + 1)
            first, second = (times(equal, each * len(self.devices)) for each in (few, most))
            costs = [_balance.cost(few, a, most, b) for a, b in zip(first, second)]
            self.weights = _balance.shares(rows, _balance.alike(costs))
            file, line = user_frame()
            print(f'{file}:{line}: remark: weights="auto": {_balance.told(self.devices, self.weights, costs)}', file=sys.stderr)

    def shards(self, rows):
        """The Shard of each device: ceil(rows / devices) as far as they go, or by weights; as gantry.replicate cuts them. With
        parts those that have rows, ceil(rows / parts) each."""
        if self.parts:
            return self._dealt(Shard(0, None, 0, rows, rows).cut(self.parts))
        made, begin, seen = [], 0, 0
        each, total = -(-rows // len(self.devices)), sum(self.weights or ())
        for i, device in enumerate(self.devices):
            seen += self.weights[i] if self.weights else 0
            end = -(-rows * seen // total) if self.weights else min(rows, begin + each)
            made.append(Shard(i, device, begin, end - begin, rows))
            begin = end
        return made

    def _dealt(self, parts):
        """Parts with their numbers and devices."""
        for number, (part, device) in enumerate(zip(parts, self._owners(len(parts)))):
            part.number, part.device = number, device
        return parts

    def _owners(self, parts):
        """The device of each of so many parts: ranges, equal ones or by weights, as gantry.replicate deals them."""
        weights, owners, seen = self.weights or (1,) * len(self.devices), [], 0
        for device, weight in zip(self.devices, weights):
            seen += weight
            owners += [device] * (-(-parts * seen // sum(weights)) - len(owners))
        return owners

    def adopt(self, net, optimizer=None):
        """Moves a network's variables, and an optimizer's, to where the strategy has them."""
        net.to(self.home)
        if optimizer is not None:
            optimizer.step._move(self.home)

    def __enter__(self):
        _scopes.strategies = (*getattr(_scopes, "strategies", (None,)), self)
        return self

    def __exit__(self, *_):
        _scopes.strategies = _scopes.strategies[:-1]

    def scope(self):
        """The strategy itself: `with strategy.scope():` as TensorFlow has it."""
        return self

    def __repr__(self):
        weights = f", weights={list(self.weights)}" if self.weights else ", weights=\"auto\"" if self.is_open else ""
        parts = f", parts={self.parts}" if self.parts else ""
        return f"{type(self).__name__}({[repr(each) for each in self.devices]}{weights}{parts})"

    # ---- in functions ----

    def each(self, f, *arrays, variables=(), accumulate=1):
        """What f gives of each replica's rows of the arrays, on its device, in a list; None for one without rows. In a function
        only. `variables` are those that replicas have copies of. With `accumulate` rows go through f in so many micro-batches, one
        after the other, and what f gives of these is added up in their order.

        In f `value_and_grad` is told `over` what the loss is. What replicas assign_add to a variable is added up; assigning one
        is an error.
        """
        graph = tracing()
        if graph is None:
            raise InvalidArgumentError("replicas are traced: call `each` in a gantry.function")
        if graph.replica is not None:
            raise InvalidArgumentError("replicas have no replicas of their own: list all devices on one strategy")
        if not arrays or any(not getattr(array, "shape", ()) for array in arrays):
            raise InvalidArgumentError("`each` splits the rows of arrays, and is given " + ("none" if not arrays else "what has no rows"))
        rows = arrays[0].shape[0]
        if any(array.shape[0] != rows for array in arrays):
            raise InvalidArgumentError(f"arrays of {', '.join(str(array.shape[0]) for array in arrays)} rows are no batch")
        if self.is_open:
            raise InvalidArgumentError("weights=\"auto\" are found by a Trainer, in front of its first step; a step of one's own takes numbers")
        graph.shared_by = self.devices
        shards = self.shards(rows)
        runs = [run for shard in shards if shard.rows or not rows and not shard.number for run in shard.cut(accumulate)]
        given = [tuple(run.of(array) for array in arrays) for run in runs]
        whole = None if len(runs) == 1 else graph.outline(
            lambda: self._trace(graph, f, Shard(0, self.devices[0], 0, rows, rows), arrays, {})[1])
        copies = self._copies(graph, variables)
        traces = self._each(graph, whole, [
            functools.partial(self._trace, graph, f, run, own, copies[self.devices.index(run.device)], whole and whole._shapes)
            for run, own in zip(runs, given)])
        made = [None] * len(shards)
        for run, (values, _) in zip(runs, traces):
            made[run.number] = values if made[run.number] is None else self._joined(run, made[run.number], values)
        self._finish(graph, [replica for _, replica in traces])
        return made

    @staticmethod
    def _each(graph, whole, traces):
        """What each of them gives: one after the other or, where they need what others have made, side by side."""
        mark = graph.draws.mark()
        if whole is not None and whole.is_joint:
            turns = Turns([lambda trace=trace: trace(turns) for trace in traces], graph.exchange, (dict(graph._bound), None, mark))
            return turns.run()
        made = []
        for trace in traces:
            graph.draws.back(mark)
            made.append(trace())
        return made

    @staticmethod
    def _joined(run, before, values):
        """What a micro-batch gives, added to what those in front of it gave."""
        mine, shape = flatten(before)
        with device_named(run.device):
            return unflatten(shape, iter([a + b for a, b in zip(mine, flatten(values)[0])]))

    def _trace(self, graph, f, shard, arrays, held, drawn=None, turns=None):
        replica = graph.replica = Replica(graph, shard, drawn, self, turns)
        try:
            with device_named(shard.device), graph.bound(held):
                return read_all(f(*arrays)), replica
        finally:
            graph.replica = None

    def _finish(self, graph, replicas):
        """Adds up what replicas have added, and puts together what they have kept."""
        shards, home = [replica.shard for replica in replicas], replicas[0].shard.device
        for entries in zip(*(replica.added for replica in replicas)):
            variable, values = entries[0][0], [value for _, value in entries]
            numbers = [value for value in values if not isinstance(value, Value)]
            with device_named(variable.device):
                graph.assign(variable, sum(numbers) if len(numbers) == len(values) else self._sum(values, shards), add=True)
        for entries in zip(*(replica.kept for replica in replicas)):
            owner, counts = entries[0][0], [count for _, _, count in entries]
            shares = [count / sum(counts) for count in counts]
            with device_named(home):
                owner.combine([values for _, values, _ in entries], shares, sum(counts), lambda each: self._sum(each, shards, home))

    # ---- what all replicas make together, in turns ----

    def _mean(self, brought):
        """For each the mean of all values, which are means of so many numbers."""
        whole, shards = sum(count for _, _, count in brought), [replica.shard for replica, _, _ in brought]
        parts = []
        for replica, value, count in brought:
            with device_named(replica.shard.device):
                parts.append(value * (count / whole))
        sums = self._sum(parts, shards, everywhere=True)
        numbers = list(dict.fromkeys(shard.number for shard in shards))
        return [sums[numbers.index(shard.number)] for shard in shards]

    def _sum(self, values, shards, home=None, everywhere=False):
        """The sum of what replicas have, of micro-batches those of a shard first; where they have it, or all of it at `home`, or for each
        shard on its device."""
        own = {}
        for value, shard in zip(values, shards):
            own.setdefault(shard.number, (shard.device if home is None else home, []))[1].append(value)
        sums = []
        for device, each in own.values():
            with device_named(device):
                sums.append(functools.reduce(operator.add, each))
        devices = [device for device, _ in own.values()]
        if everywhere and len(sums) > 1:
            return self._add_parts(sums, devices)
        return sums if everywhere else self._add_parts(sums, devices)[0] if self.parts else total(sums)

    def _add_parts(self, values, devices):
        """The sum of what parts have, for each of them on its device: added in a tree over their numbers; without parts in the order of
        the devices."""
        graph = tracing()
        values = [graph.value(value) for value in values]
        graph.locate()
        with device_named(None):
            return graph.op("all_reduce", values, [("kind", _c.ATTRIBUTE_ENUM, "sum"), ("devices", _c.ATTRIBUTE_TEXT, _attribute_of(devices)),
                                                   ("tree", _c.ATTRIBUTE_UNIT, bool(self.parts))])


def _attribute_of(devices):
    return "[" + ", ".join(f'#gantry.device<"{each!r}">' for each in devices) + "]"


class Mirrored(Strategy):
    """Each device has a mirror of every variable; gradients are added up by all-reduces, and each device updates its own.

    devices  all GPUs, or the host where there are none, unless given: names, also of several as "GPU:{0..3}" or "GPU:*"
    weights  how much of the rows each device gets: {"GPU:0": 2, "GPU:1": 1}, or a list; "auto": a Trainer has predicted in front of its
             first step what rows cost on each device, has all end at the same time, and says so
    parts    so many parts of the batch are dealt to the devices, and what they give is added in an order of its own: what is
             learned does not depend on the devices, byte for byte
    bucket   gradients of up to so many bytes are exchanged together, without parts; 0: each by itself. It changes no bit of what is
             learned, and takes some memory for less time of exchanges

    As a context manager it is the strategy of Trainers that are made inside.
    """

    def __init__(self, devices=None, weights=None, parts=None, bucket=4 << 20):
        super().__init__(devices, weights, parts)
        if not isinstance(bucket, int) or bucket < 0:
            raise InvalidArgumentError(f"a bucket is a number of bytes, got {bucket!r}")
        self._bucket = bucket
        self._tell()

    def _tell(self):
        print(f"Using MirroredStrategy with devices {tuple(map(repr, self.devices))}", file=sys.stderr)

    @property
    def home(self):
        """Where what is read outside of replicas lies: the first mirrors."""
        return self.devices[0]

    def _region(self, graph, given, types, body, outputs):
        """A gantry.replicate that takes and gives values for each replica; `outputs`: their types in one."""
        graph.locate()
        modes = lambda count: "[" + ", ".join(["#gantry.replica_mode<per_replica>"] * count) + "]"
        said = {"devices": _attribute_of(self.devices), "inputs": modes(len(types)), "outputs": modes(len(outputs))}
        graph.begin_op("replicate", given, [(name, _c.ATTRIBUTE_TEXT, text) for name, text in said.items()],
                       [each for each in outputs for _ in self.devices])
        try:
            with device_named(None):
                graph.region(types, body)
        except BaseException:
            graph.abandon_op()
            raise
        return graph.end_op()

    def _copies(self, graph, variables):
        """For each replica its mirrors."""
        held = [{} for _ in self.devices]
        for variable in variables:
            if not variable.frozen:
                values = self._region(graph, [], [], lambda _: [graph.read(variable)],
                                      [(variable.dtype, variable.shape)])
                for own, value in zip(held, values):
                    own[variable] = value
        return held

    def update(self, optimizer, variables, gradients):
        """A step of an optimizer: `gradients` are those of each replica, as `each` gives them, which are added up."""
        graph = tracing()
        leaves = [flatten(own)[0] if own is not None else None for own in gradients]
        first = next(own for own in leaves if own is not None)
        shape = next(flatten(own)[1] for own in gradients if own is not None)
        if self.parts:
            given, types = self._summed(leaves), [(leaf.dtype, leaf.shape) for leaf in first]
            self._region(graph, given, types, lambda sums: self._apply(optimizer, variables, shape, sums), [])
            return
        groups = buckets(first, self._bucket if len(self.devices) > 1 else 0)
        given, types = self._joined_gradients(graph, leaves, first, groups)

        def body(arguments):
            sums, shapes = [None] * len(first), [leaf.shape for leaf in first]
            for places, own in zip(groups, arguments):
                total_of = graph.op("all_reduce", [own], [("kind", _c.ATTRIBUTE_ENUM, "sum")])[0]
                for i, value in cut(total_of, shapes, places):
                    sums[i] = value
            return self._apply(optimizer, variables, shape, sums)
        self._region(graph, given, types, body, [])

    @staticmethod
    def _apply(optimizer, variables, shape, sums):
        optimizer.apply(variables, unflatten(shape, iter(sums)))
        return []

    def _joined_gradients(self, graph, leaves, first, groups):
        """Of each group what each device has, zeros where it has no rows; and the types."""
        given, types = [], []
        for places in groups:
            kind = first[places[0]].dtype, first[places[0]].shape if len(places) == 1 else (sum(math.prod(first[i].shape) for i in places),)
            types.append(kind)
            for device, own in zip(self.devices, leaves):
                with device_named(device):
                    given.append(ops.broadcast(graph.constant(0, kind[0]), kind[1]) if own is None else join(own, places))
        return given, types

    def _summed(self, leaves):
        """Of each gradient the sum of all parts, one for each device; one without parts gets the first one's."""
        owners = self._owners(len(leaves))
        sums = [self._add_parts(values, owners) for values in zip(*leaves)]
        return [own[owners.index(device) if device in owners else 0] for own in sums for device in self.devices]


class Towers(Strategy):
    """Variables are on one device, which updates them; each tower reads them from there and gives its gradients back.

    devices    all GPUs, or the host where there are none, unless given: names, also of several as "GPU:{0..3}" or "GPU:*"
    variables  where variables are
    weights    as Mirrored's, and so are parts
    """

    def __init__(self, devices=None, variables="CPU:0", weights=None, parts=None):
        super().__init__(devices, weights, parts)
        self.home = _resolved(variables)

    def _copies(self, graph, variables):
        """None of its own: a tower reads the variables."""
        return [{} for _ in self.devices]

    def update(self, optimizer, variables, gradients):
        """As Mirrored.update, where the variables are."""
        leaves = [flatten(own) for own in gradients if own is not None]
        owners = self._owners(len(leaves))
        with device_named(self.home):
            sums = [self._add_parts(values, owners)[0] if self.parts else total(values) for values in zip(*(own for own, _ in leaves))]
            optimizer.apply(variables, unflatten(leaves[0][1], iter(sums)))


def _resolved(name):
    return resolve(device_named(name), "a replica")


def _listed(name):
    """The device, or those of a range or a "*"."""
    is_several = isinstance(name, str) and ("{" in name or "*" in name)
    return listed(name, "a replica") if is_several else [_resolved(name)]
