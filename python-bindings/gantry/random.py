"""Random numbers that are the same on every device: element i depends on a key and on i alone.

>>> gt.random.seed(0)
>>> x = gt.random.uniform((2, 3), 0, 3)            # from the program's own sequence of keys
>>> k1, k2 = gt.random.Key(7).split(2)             # or from keys that say where numbers come from

A function that draws without a key has one more input, "key": each call gives it the next of the sequence, so that it
draws other numbers and compiles nothing anew.
"""

import hashlib
import threading

import numpy as np

from . import ops
from .array import Array, borrow
from .errors import InvalidArgumentError
from .graph import Value, tracing

_BITS, _WORD = 2**63 - 1, 2**64 - 1  # of a seed, and of what it is mixed in


class Key:
    """Where random numbers come from: the same key gives the same numbers. Functions take and give keys as they do
    arrays; `seed` is a number, or what is one when the function runs."""

    __slots__ = ("seed",)

    def __init__(self, seed):
        if isinstance(seed, (Array, Value)) and (seed.shape or seed.dtype != "int64"):
            raise InvalidArgumentError(f"a key is made of a number or of int64[], got {seed.dtype}{list(seed.shape)}")
        known = seed if isinstance(seed, Value) else (seed.item() if isinstance(seed, Array) else int(seed)) & _BITS
        object.__setattr__(self, "seed", known)

    def __setattr__(self, name, value):
        raise AttributeError("a key does not change; fold and split give others")

    def __reduce__(self):
        return Key, (self.seed,)

    def fold(self, number):
        """Another key for each number; also for one that is known only when a function runs, as the round of a loop.
        Any other value counts as its text."""
        if not isinstance(number, (int, np.integer, Array, Value)):
            number = int.from_bytes(hashlib.blake2b(str(number).encode(), digest_size=8).digest(), "little")
        if isinstance(self.seed, Value) or isinstance(number, Value):
            return Key(ops.cast(_fold(_word(self.seed), _word(number), lambda x: x), "int64"))
        return Key(_fold(self.seed, int(number) & _WORD, lambda x: x & _WORD))

    def split(self, count=2):
        """Several keys in the place of this one."""
        return [self.fold(i) for i in range(count)]

    def operand(self):
        """The seed as an op takes it that is computed at once, or as an argument: int64[]."""
        return self.seed if isinstance(self.seed, Value) else borrow(np.array(self.seed, np.int64))

    def __repr__(self):
        return f"Key({self.seed})"


def _word(x):
    """A number of a graph as 64 bits, which wrap."""
    return ops.cast(x, "uint64") if isinstance(x, Value) else tracing().constant(int(x) & _WORD, "uint64")


def _fold(seed, number, wrap):
    """Of numbers, which `wrap` cuts to 64 bits, and in graphs, whose numbers wrap."""
    return _mix(wrap((_mix(wrap(seed + 0x9E3779B97F4A7C15), wrap) ^ number) + 0x9E3779B97F4A7C15), wrap) & _BITS


def _mix(x, wrap):
    """The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): each of
    2^64 numbers gives another one."""
    x = wrap((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9)
    x = wrap((x ^ (x >> 27)) * 0x94D049BB133111EB)
    return x ^ (x >> 31)


# ---- the program's own sequence, and what functions make of it ----

_lock = threading.Lock()
_root, _drawn = Key(0), 0


def seed(number):
    """Begins the program's own sequence anew. In a function: the numbers that it draws from there on, which are then the
    same in each call."""
    global _root, _drawn
    graph = tracing()
    if graph is not None:
        graph.draws.seed(Key(number))
        return
    with _lock:
        _root, _drawn = Key(number), 0


def next_key():
    """The next key of the program's own sequence."""
    global _drawn
    with _lock:
        _drawn += 1
        return _root.fold(_drawn)


def where():
    """Where the program's own sequence is, as JSON has it; for `go_to`."""
    with _lock:
        return [_root.seed, _drawn]


def go_to(place):
    global _root, _drawn
    with _lock:
        _root, _drawn = Key(place[0]), place[1]


class Draws:
    """What a function draws while it is traced: from the key that a call gives it, a stream for each draw. In a loop,
    which is traced once, the key of each round is another."""

    def __init__(self, graph):
        self._graph, self._seeded, self._loops = graph, None, []
        self.key = None  # the input; none while nothing is drawn
        self.count = 0  # of draws from it, or since the seed
        self._outside = 0  # how many loops were around the seed
        self._uses, self._streams = {}, {}  # of names: how often they drew, and by their streams

    def seed(self, key):
        self._seeded, self.count, self._uses, self._streams = key, 0, {}, {}
        # A key of a round, as one of the number of a step, needs no round of the loops around it.
        self._outside = len(self._loops) if isinstance(key.seed, Value) else 0

    def mark(self):
        """What `back` takes to forget the draws that were traced since then."""
        return self.count, dict(self._uses), dict(self._streams)

    def back(self, mark):
        self.count, self._uses, self._streams = mark[0], dict(mark[1]), dict(mark[2])

    def next(self):
        """A key, and the stream of it that is this draw's."""
        self._begin()
        self.count += 1
        key, stream = (self.key, self.count - 1) if self._seeded is None else (self._seeded.fold(self.count), None)
        return self._of_round(key), stream or None

    def named(self, name):
        """A key, and the stream of it that the name decides, and how often it drew: whatever else is drawn."""
        self._begin()
        use = self._uses[name] = self._uses.get(name, 0) + 1
        stream = 2**31 | int.from_bytes(hashlib.blake2b(f"{name}:{use}".encode(), digest_size=4).digest(), "little")
        if self._streams.setdefault(stream, (name, use)) != (name, use):
            raise InvalidArgumentError(f"'{name}' and '{self._streams[stream][0]}' would draw the same numbers: the 31 bits that "
                                       "their names are mixed into are equal; give one of them another name")
        return self._of_round(self.key if self._seeded is None else self._seeded), stream

    def _begin(self):
        for loop in self._loops[self._outside:]:
            loop.draws = True
        if self._seeded is None and self.key is None:
            self.key = Key(self._graph.argument("key", "int64", ()))

    def _of_round(self, key):
        for loop in self._loops[self._outside:]:
            key = key if loop.round is None else key.fold(loop.round)
        return key

    def loop(self):
        return Loop(self._loops)


class Loop:
    """A loop that is traced: whether it draws, and the number of its round where there is one."""

    def __init__(self, loops):
        self._loops, self.draws, self.round = loops, False, None

    def __enter__(self):
        self._loops.append(self)
        return self

    def __exit__(self, *_):
        self._loops.remove(self)

    def at(self, round, python, state):
        """What a part of the loop gives in a round."""
        self.round = round
        return python(state)


# ---- drawing ----

def uniform(shape, low=0.0, high=1.0, dtype="float32", device=None, key=None):
    """Numbers in [low, high)."""
    return _draw(ops.random_uniform, shape, float(low), float(high), dtype, device, key)


def rand(*shape, dtype="float32", device=None, key=None):
    """Numbers in [0, 1): `uniform` with a shape as PyTorch has it, rand(2, 3)."""
    return uniform(shape[0] if len(shape) == 1 else shape, dtype=dtype, device=device, key=key)


def normal(shape, mean=0.0, deviation=1.0, dtype="float32", device=None, key=None):
    """Numbers from a normal distribution."""
    return _draw(ops.random_normal, shape, float(mean), float(deviation), dtype, device, key)


def of_layer(name, shape):
    """Numbers in [0, 1) of float32 for a layer of that name: in a function they depend on its key or seed, on the name and on how
    often it drew, not on what else is drawn."""
    graph = tracing()
    return _draw(ops.random_uniform, shape, 0.0, 1.0, "float32", None, None, *(graph.draws.named(name) if graph is not None else ()))


def _draw(op, shape, first, second, dtype, device, key, own=None, stream=None):
    shape, graph, key = (shape,) if isinstance(shape, int) else tuple(shape), tracing(), own or key
    if key is None:
        key, stream = graph.draws.next() if graph is not None else (next_key(), None)
    part = graph.replica.part(shape) if graph is not None and graph.replica is not None else {}
    known = {"key": key.operand()} if graph is None or isinstance(key.seed, Value) else {"seed": key.seed}
    return op(shape, first, second, **known, stream=stream, dtype=dtype, device=device, **part)
