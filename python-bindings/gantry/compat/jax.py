"""JAX's names for what Gantry has: `from gantry.compat import jax`, `jnp = jax.numpy`."""

import types

import gantry as gt


def devices(backend=None):
    """The devices of a kind, "gpu" or "cpu"; without one the best kind that there is."""
    kind = backend.upper() if backend else "GPU" if gt.num_gpus() else "CPU"
    found = gt.devices(kind)
    if not found:
        raise RuntimeError(f"Unknown backend {backend}")
    return found


def device_put(x, device=None):
    """A new array on a device."""
    return (x if isinstance(x, gt.Array) else gt.array(x)).copy_to(device or devices()[0])


jit, Array = gt.function, gt.Array
local_device_count = lambda: len(devices())
numpy = types.SimpleNamespace(
    array=gt.array, ones=gt.ones, zeros=gt.zeros, arange=gt.arange, matmul=gt.matmul, add=gt.add, sum=gt.sum,
    mean=gt.mean, stack=gt.stack, float32=gt.float32, int32=gt.int32)
random = types.SimpleNamespace(
    PRNGKey=gt.random.Key, split=lambda key, count=2: key.split(count),
    uniform=lambda key, shape=(), minval=0.0, maxval=1.0: gt.random.uniform(shape, minval, maxval, key=key),
    normal=lambda key, shape=(): gt.random.normal(shape, key=key))
