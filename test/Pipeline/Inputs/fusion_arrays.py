"""Arrays with both zeros, infinities and NaN among them, and what became of them.

Usage: fusion_arrays.py make FOLDER         writes float.npz and half.npz
       fusion_arrays.py compare A.npz B.npz...  fails where a bit differs; one NaN is as good as another
"""

import pathlib
import sys

import numpy as np


def make(folder):
    random = np.random.default_rng(4)

    def special(shape, dtype):
        array = random.standard_normal(shape).astype(dtype)
        array.reshape(-1)[:6] = 0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny
        return array

    folder = pathlib.Path(folder)
    np.savez(folder / "float.npz", a=random.standard_normal((37, 65)).astype(np.float32),
             b=random.standard_normal((65, 41)).astype(np.float32), c=special((37, 41), np.float32))
    np.savez(folder / "half.npz", a=special(333, np.float16), b=special(333, np.float16)[::-1].copy())


def compare(first, *others):
    first = np.load(first)
    for other in map(np.load, others):
        assert first.files == other.files, (first.files, other.files)
        for name in first.files:
            a, b = first[name], other[name]
            assert (np.isnan(a) == np.isnan(b)).all(), name
            assert np.isfinite(a).mean() > 0.5, f"{name} has hardly a number in it"
            bits = f"i{a.itemsize}"
            wrong = (a.view(bits) != b.view(bits)) & ~np.isnan(a)
            assert not wrong.any(), f"{name}: {wrong.sum()} of {wrong.size} differ"


{"make": make, "compare": compare}[sys.argv[1]](*sys.argv[2:])
