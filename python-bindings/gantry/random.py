"""Random numbers that are the same on every device: element i depends on the seed and on i alone.

>>> gt.random.seed(0)
>>> x = gt.random.uniform((2, 3), 0, 3)            # from the program's own sequence of seeds
>>> k1, k2 = gt.random.Key(7).split(2)             # or from keys that say where numbers come from
"""

import hashlib
import threading

from . import ops


class Key:
    """Where random numbers come from: the same key gives the same numbers."""

    __slots__ = ("seed",)

    def __init__(self, seed):
        self.seed = int(seed) & (2**63 - 1)

    def fold(self, number):
        """Another key for each number."""
        digest = hashlib.blake2b(f"{self.seed}/{number}".encode(), digest_size=8).digest()
        return Key(int.from_bytes(digest, "little"))

    def split(self, count=2):
        """Several keys in the place of this one."""
        return [self.fold(i) for i in range(count)]

    def __repr__(self):
        return f"Key({self.seed})"


_lock = threading.Lock()
_root, _drawn = Key(0), 0


def seed(number):
    """Begins the program's own sequence anew."""
    global _root, _drawn
    with _lock:
        _root, _drawn = Key(number), 0


def _next():
    global _drawn
    with _lock:
        _drawn += 1
        return _root.fold(_drawn)


def uniform(shape, low=0.0, high=1.0, dtype="float32", device=None, key=None):
    """Numbers in [low, high)."""
    return ops.random_uniform(_shape(shape), (key or _next()).seed, float(low), float(high), dtype=dtype, device=device)


def rand(*shape, dtype="float32", device=None, key=None):
    """Numbers in [0, 1): `uniform` with a shape as PyTorch has it, rand(2, 3)."""
    return uniform(shape[0] if len(shape) == 1 else shape, dtype=dtype, device=device, key=key)


def normal(shape, mean=0.0, deviation=1.0, dtype="float32", device=None, key=None):
    """Numbers from a normal distribution."""
    return ops.random_normal(_shape(shape), (key or _next()).seed, float(mean), float(deviation), dtype=dtype,
                             device=device)


def _shape(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)
