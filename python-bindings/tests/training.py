"""What the tests of networks share: what is drawn and compared, a loss, and a strategy that says nothing."""

import contextlib
import io

import numpy as np

import gantry as gt


def normals(random):
    """A function that draws arrays of a shape, of normal numbers, from a generator."""
    return lambda *shape, dtype=np.float64: random.standard_normal(shape).astype(dtype)


def close(a, b, within=1e-10):
    a, b = np.asarray(a), np.asarray(b)
    np.testing.assert_allclose(a, b, rtol=0, atol=within * max(1, np.abs(b).max(initial=0)))


def scce(labels, outputs):
    return gt.losses.scce(labels, outputs, from_logits=True)


def mirrored(devices=("GPU:0", "GPU:1"), **options):
    with contextlib.redirect_stderr(io.StringIO()):
        return gt.Mirrored(devices, **options)
