"""What the families draw from: sizes that break things, arrays with the ends of their types, and the one
form of a drawn node."""

import dataclasses
import random

import numpy as np

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 197, 1025)
FLOATS = (np.float32, np.float32, np.float32, np.float64, np.float16)
INTS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
# Of ONNX's TensorProto.
ELEMENT_TYPES = {np.dtype(t): n for t, n in ((np.float32, 1), (np.uint8, 2), (np.int8, 3), (np.uint16, 4), (np.int16, 5),
                                             (np.int32, 6), (np.int64, 7), (np.bool_, 9), (np.float16, 10),
                                             (np.float64, 11), (np.uint32, 12), (np.uint64, 13))}
# Sums are reordered and polynomials are off by a few units in the last place; f16 is rounded once.
TOLERANCE = {np.float64: (1e-9, 1e-9), np.float32: (2e-4, 2e-5), np.float16: (4e-3, 2e-3)}


@dataclasses.dataclass
class Constant:
    """An operand that stands in the model."""
    array: np.ndarray


@dataclasses.dataclass
class Node:
    op: str
    operands: list  # arrays, Constants, or None where one is left out
    expected: object  # arrays, in order; None where there is no answer
    attributes: dict = dataclasses.field(default_factory=dict)
    opset: int = 17
    tolerance: tuple = None  # that of the element type, unless given
    outputs: int = None  # how many there are, where no answer tells

    def __post_init__(self):
        if self.expected is not None and not isinstance(self.expected, (list, tuple)):
            self.expected = [self.expected]
        if self.outputs is None:
            self.outputs = 1 if self.expected is None else len(self.expected)
        if self.tolerance is None:
            kinds = [e.dtype.type for e in self.expected or ()] + [o.dtype.type for o in self.arrays()]
            known = [TOLERANCE[k] for k in kinds if k in TOLERANCE]
            self.tolerance = max(known, default=(0, 0))

    def arrays(self):
        return [o.array if isinstance(o, Constant) else o for o in self.operands if o is not None]


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed % 2 ** 63)

    def one(self, choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def integer(self, low, high):
        """Both ends included."""
        return self.random.randint(low, high)

    def size(self, most=1025, least=0):
        return self.one([s for s in SIZES if least <= s <= most] or [least])

    def shape(self, rank=None, least=0, elements=3000, ranks=(0, 1, 2, 2, 3, 3, 4, 5)):
        """Sizes in random places, few enough elements that many cases stay cheap."""
        rank = self.one(ranks) if rank is None else rank
        sizes, room = [], elements
        for _ in range(rank):
            sizes.append(self.size(max(room, least), least if self.chance(0.85) else max(least, 1)))
            room //= max(sizes[-1], 1)
        if 0 in sizes and self.chance(0.7):  # emptiness is worth a look, not most of the time
            sizes = [s or 3 for s in sizes]
        self.random.shuffle(sizes)
        return tuple(sizes)

    def axis(self, rank):
        """Counted from either end."""
        return self.integer(-rank, rank - 1)

    def axes(self, rank, least=0):
        """Some different ones, each counted from either end."""
        chosen = self.random.sample(range(rank), self.integer(min(least, rank), rank))
        return [a - rank if self.chance(0.4) else a for a in chosen]

    def array(self, shape, dtype=np.float32, low=-3, high=3, special=0.0):
        """Uniform numbers; with `special`, that share of them is infinite, NaN, zero of either sign,
        subnormal or an end of the type."""
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return self.numbers.integers(0, 2, shape).astype(bool)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            values = self.numbers.integers(max(low, info.min), min(high, info.max), shape, endpoint=True)
            values = np.asarray(values).astype(dtype)
            ends = np.array([info.min, info.max, 0, 1], dtype)
        else:
            values = np.asarray(self.numbers.uniform(low, high, shape)).astype(dtype)
            info = np.finfo(dtype)
            ends = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, info.max, info.min, info.tiny,
                             info.smallest_subnormal, -info.tiny / 2, 1, -1], dtype)
        if special and values.size:
            chosen = self.numbers.uniform(size=values.shape) < special
            values = np.where(chosen, self.numbers.choice(ends, values.shape), values).astype(dtype)
        return values

    def broadcast_from(self, shape):
        """A shape that broadcasts to this one, as in NumPy."""
        own = [1 if self.chance(0.25) else s for s in shape]
        return tuple(own[self.integer(0, len(own)):] if self.chance(0.3) else own)


def exactly(function, *arrays):
    """In f64, rounded once; integers stay."""
    dtype = arrays[0].dtype
    if dtype.kind != "f":
        return np.asarray(function(*arrays)).astype(dtype)
    return np.asarray(function(*(a.astype(np.float64) for a in arrays))).astype(dtype)
