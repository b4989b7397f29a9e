"""What is traced for the rows that a replica has, a shard, and what replicas make together: see distribute.py."""

import collections

from . import ops
from .array import Reads
from .autodiff import gradient_op
from .device import device as device_named
from .errors import InvalidArgumentError
from .graph import tracing


class Shard:
    """The rows of a replica: so many, from `begin` on, of `whole`. Its number is that of its device or, where there are parts, its own."""

    def __init__(self, number, device, begin, rows, whole):
        self.number, self.device, self.begin, self.rows, self.whole = number, device, begin, rows, whole

    @property
    def share(self):
        """Of all rows: 1 where there is one replica, whatever it has."""
        return self.rows / self.whole

    def of(self, array):
        """Its rows of an array."""
        if self.rows == array.shape[0]:
            return array
        with device_named(getattr(array, "device", None)):
            return array[self.begin:self.begin + self.rows]

    def cut(self, count):
        """Micro-batches: the Shards that its rows are, ceil(rows / count) each as far as they go."""
        each = max(1, -(-self.rows // count))
        return [Shard(self.number, self.device, self.begin + start, min(each, self.rows - start), self.whole)
                for start in range(0, max(1, self.rows), each)]


class Replica:
    """What is traced for one shard. What it keeps for the whole batch is put together behind all replicas."""

    def __init__(self, graph, shard, drawn=None, strategy=None, turns=None):
        self.shard, self._graph, self._drawn, self._strategy, self._turns = shard, graph, drawn, strategy, turns
        self._depth, self._inside, self._shapes, self._draws = graph._depth, 0, [], 0
        self.is_joint = False  # whether it asks for what other replicas have
        self.added, self.kept = [], []  # pairs of variable and value; lists of owner, values and their number of rows

    # ---- gradients ----

    def seeded(self, name, loss, over):
        """The loss as what is differentiated: gradients of all replicas are added up."""
        if over is None:
            raise InvalidArgumentError(
                f"'{name}' is differentiated in a replica, which has only some of the batch's rows: say what the loss is. "
                "over=\"rows\": the mean over its rows, which counts by their share of the batch; over=\"sum\": a sum, or a mean over "
                "something else that is divided by what all replicas have of it")
        return loss * self.shard.share if over == "rows" and self.shard.share != 1 else loss

    def mark(self):
        return len(self.kept)

    def yielded(self, mark):
        """Values that were kept since then, in a region, which has to yield them."""
        return [value for _, values, _ in self.kept[mark:] for value in values]

    def replace(self, mark, values):
        """The region's results in their place."""
        for entry in self.kept[mark:]:
            entry[1] = [next(values) for _ in entry[1]]

    # ---- values of all replicas ----

    @property
    def meets(self):
        """Whether values of all replicas come together here: not in a branch, a loop or the like, which each has for itself."""
        return self._turns is not None and self._graph._depth == self._depth + self._inside

    def mean(self, value, count):
        """The mean of a value over all replicas, on this one's device; `count`: how many numbers the value is the mean of."""
        self.is_joint = True
        if self._turns is None:
            return value
        if not self.meets:
            raise InvalidArgumentError(
                "a mean over all replicas, as that of a synchronised batch norm, cannot be in a branch, a loop or a checkpoint of a "
                "replica, which the others may not enter")
        return self._turns.meet(self._strategy._mean, (self, value, count))

    def gradient(self, _, values, seeds, allow_unused, body):
        """As gradient_op: one for all replicas, of the sum of their losses, which may depend on what other replicas have."""
        arguments = self._turns.meet(_joint_gradient, _Asked(self, values, seeds, allow_unused))
        self._inside += 1
        try:
            yielded = body(arguments)
        finally:
            self._inside -= 1
        return self._turns.meet(_yielded, yielded)

    # ---- variables ----

    def assign(self, variable, value, add):
        """What a replica adds to a variable is added up; it cannot assign one."""
        if not add:
            raise InvalidArgumentError(
                f"variable '{variable.name}' is assigned in a replica, which has only some of the batch's rows: replicas would assign "
                "it different values. Give the value and assign it behind the replicas, from what all of them have, or use assign_add: "
                "what replicas add is added up")
        if self._graph._depth != self._depth:
            raise InvalidArgumentError(
                f"variable '{variable.name}' is added to in a branch or loop, or in what is differentiated, of a replica; give the value "
                "(has_aux=True) and add it there")
        if isinstance(value, Reads):
            value = value.read()
        self.added.append((variable, value))

    def keep(self, owner, values, count):
        """Values of its rows that `owner.combine` puts together, for all replicas at once; `count`: how many numbers each of
        them is of."""
        self.kept.append([owner, list(values), count])

    # ---- random numbers ----

    def part(self, shape):
        """Where a value that is drawn lies in that of the whole batch: attributes of the op. It has one dimension of rows, which
        may be joined with others that change faster."""
        shape = tuple(shape)
        if self._drawn is None:
            self._shapes.append(shape)
            return {}
        whole = self._drawn[self._draws] if self._draws < len(self._drawn) else None
        self._draws += 1
        if whole == shape:
            return {}
        axes = [i for i, size in enumerate(shape) if size != whole[i]] if whole and len(whole) == len(shape) else []
        scale = shape[axes[0]] // self.shard.rows if len(axes) == 1 else 0
        if not scale or (shape[axes[0]], whole[axes[0]]) != (scale * self.shard.rows, scale * self.shard.whole):
            raise InvalidArgumentError(
                f"replica {self.shard.number} has {self.shard.rows} of {self.shard.whole} rows and draws {list(shape)}, where the whole "
                f"batch draws {'nothing' if whole is None else list(whole)}: which part that is cannot be told. "
                "Draw values with one dimension of rows")
        begin = [0] * len(shape)
        begin[axes[0]] = scale * self.shard.begin
        return {"whole": list(whole), "begin": begin}


def total(values):
    """The sum of what replicas have, in their order."""
    values = [tracing().value(value) for value in values]
    return values[0] if len(values) == 1 else ops.add_n(values)


# What a replica brings where a gradient begins.
_Asked = collections.namedtuple("_Asked", "replica values seeds allow_unused")


def _joint_gradient(asked):
    """One gradient of the sum of all losses, with respect to the values of all. Each gets its own arguments, and when it has
    yielded something its results."""
    graph, turns, home = tracing(), asked[0].replica._turns, asked[0].replica.shard.device
    values, seeds = (sum(lists, []) for lists in ([each.values for each in asked], [each.seeds for each in asked]))
    sizes, firsts, counts = [len(each.values) for each in asked], [len(each.seeds) for each in asked], []

    def body(arguments):
        join, yielded = turns.advance(_split(arguments, sizes))
        while join is not _yielded:
            join, yielded = turns.advance(join(yielded))
        counts.extend(map(len, yielded))
        if seeds:  # first what they are the cotangents of, then the rest
            return sum([own[:first] for own, first in zip(yielded, firsts)], []) + sum([own[first:] for own, first in zip(yielded, firsts)], [])
        with device_named(home):
            return [total([own[0] for own in yielded]), *sum(yielded, [])]
    results = gradient_op(graph, values, seeds, asked[0].allow_unused, body)
    gradients = _split(results[len(results) - len(values):], sizes)
    if seeds:
        rest = _split(results[len(seeds):], [count - first for count, first in zip(counts, firsts)])
        own = [first + others for first, others in zip(_split(results, firsts), rest)]
    else:
        own = _split(results[1:], counts)
    return [each + slopes for each, slopes in zip(own, gradients)]


def _yielded(_):
    """What replicas meet for at the end of what is differentiated; the region that they are in has no other end."""
    raise InvalidArgumentError("what is differentiated ends in one replica where another one goes on")


def _split(values, sizes):
    """Lists of so many of them."""
    values = iter(values)
    return [[next(values) for _ in range(size)] for size in sizes]
