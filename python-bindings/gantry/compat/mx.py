"""MXNet's names for what Gantry has: `from gantry.compat.mx import np, npx`."""

import types

import gantry as gt

cpu = lambda index=0: gt.cpu()
gpu = gt.gpu


class _NDArray:
    """What MXNet's arrays are called; Gantry's have the same under its own names."""

    ctx = property(lambda self: self.device)
    context = ctx

    def as_in_ctx(self, device):
        return self.to(device)

    def copyto(self, device):
        return self.copy_to(device)

    def asnumpy(self):
        return self.numpy()


for _name in ("ctx", "context", "as_in_ctx", "copyto", "asnumpy"):
    setattr(gt.Array, _name, vars(_NDArray)[_name])

np = types.SimpleNamespace(
    array=lambda values, ctx=None: gt.array(values, device=ctx),
    ones=lambda shape, ctx=None: gt.ones(shape, device=ctx),
    zeros=lambda shape, ctx=None: gt.zeros(shape, device=ctx),
    dot=gt.matmul,
    random=types.SimpleNamespace(
        uniform=lambda low=0.0, high=1.0, size=None, ctx=None: gt.random.uniform(size, low, high, device=ctx)),
)
npx = types.SimpleNamespace(cpu=cpu, gpu=gpu, num_gpus=gt.num_gpus, set_np=lambda: None)
