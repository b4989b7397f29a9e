"""MXNet's names for what Gantry has: `from gantry.compat.mx import np, npx`."""

import gantry as gt

from .. import _autograd
from .._names import Namespace, missing


def cpu(index=0):
    """All cores of the host, by whatever number."""
    return gt.cpu()


gpu = gt.gpu


class _NDArray:
    """What MXNet's arrays are called; Gantry's have the same under its own names."""

    ctx = property(lambda self: self.device)
    context = ctx

    def as_in_ctx(self, device):
        return self.to(device)

    as_in_context = as_in_ctx

    def copyto(self, device):
        return self.copy_to(device)

    def asnumpy(self):
        return self.numpy()

    def attach_grad(self):
        """It has a gradient from here on, which backward() writes."""
        _autograd.mark(self)

    @property
    def grad(self):
        """Its gradient; none where attach_grad was not called."""
        return _autograd.marks[id(self)][1] if id(self) in _autograd.marks else None


for _name in ("ctx", "context", "as_in_ctx", "as_in_context", "copyto", "asnumpy", "attach_grad", "grad"):
    setattr(gt.Array, _name, vars(_NDArray)[_name])


def _array(values, dtype=None, ctx=None, device=None):
    """As MXNet has it: numbers are float32 unless `dtype` says otherwise."""
    return gt.array(values, dtype or getattr(values, "dtype", "float32"), ctx or device)


def _filled(make):
    return lambda shape, dtype="float32", ctx=None, device=None: make(
        (shape,) if isinstance(shape, int) else tuple(shape), dtype=dtype, device=ctx or device)


def _uniform(low=0.0, high=1.0, size=(), dtype="float32", ctx=None, device=None):
    return gt.random.uniform(() if size is None else size, low, high, dtype, ctx or device)


def _normal(loc=0.0, scale=1.0, size=(), dtype="float32", ctx=None, device=None):
    return gt.random.normal(() if size is None else size, loc, scale, dtype, ctx or device)


np = Namespace(
    "mx.np", array=_array, ones=_filled(gt.ones), zeros=_filled(gt.zeros), ndarray=gt.Array, dot=gt.matmul,
    concatenate=gt.concat,
    **{name: getattr(gt, name) for name in "abs add argmax argmin cos exp expand_dims log matmul max maximum mean min minimum prod "
                                           "reshape sin sqrt squeeze stack sum tanh where".split()})
np.random = Namespace("mx.np.random", uniform=_uniform, normal=_normal, seed=gt.random.seed)
npx = Namespace("mx.npx", cpu=cpu, gpu=gpu, num_gpus=gt.num_gpus, set_np=lambda *_, **__: None, waitall=lambda: None,
                relu=gt.relu, sigmoid=gt.sigmoid, softmax=gt.softmax)
context = Namespace("mx.context", cpu=cpu, gpu=gpu, num_gpus=gt.num_gpus)
num_gpus = gt.num_gpus

from . import autograd, gluon, init  # noqa: E402,F401


def __getattr__(name):
    return missing(f"mx.{name}")
