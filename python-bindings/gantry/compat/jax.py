"""JAX's names for what Gantry has: `from gantry.compat import jax`, `jnp = jax.numpy`."""

import gantry as gt

from ._devices import at_first, first
from ._names import Namespace, missing

__path__ = []  # so that a name that is missing is told on import, too


def devices(backend=None):
    """The devices of a kind, "gpu" or "cpu"; without one the best kind that there is."""
    kind = backend.upper() if backend else "GPU" if gt.num_gpus() else "CPU"
    found = gt.devices("GPU" if kind == "CUDA" else kind)
    if not found:
        raise RuntimeError(f"Unknown backend {backend}: there is no such device; the devices are {gt.devices()}")
    return found


def device_count(backend=None):
    """How many devices of a kind there are; as devices() does, it refuses a kind that is not there."""
    return len(devices(backend))


local_devices, local_device_count = devices, device_count


def default_backend():
    return "gpu" if gt.num_gpus() else "cpu"


def device_put(x, device=None):
    """A new array on a device; without one on the first GPU, where there is one."""
    return (x if isinstance(x, gt.Array) else gt.array(x)).copy_to(device or devices()[0])


def device_get(x):
    """The values as a NumPy array."""
    return x.numpy() if isinstance(x, gt.Array) else x


def jit(python=None, *, static_argnums=(), static_argnames=(), donate_argnums=(), donate_argnames=()):
    """A gantry.function."""
    listed = lambda given: (given,) if isinstance(given, (int, str)) else tuple(given)
    options = {"static": listed(static_argnums) + listed(static_argnames),
               "donate": listed(donate_argnums) + listed(donate_argnames)}
    return gt.function(python, **options)


def _shape(make):
    """A function of a shape, which may be one number, with JAX's element types."""
    return at_first(lambda shape, dtype="float32", device=None: make((shape,) if isinstance(shape, int) else tuple(shape),
                                                                    dtype=dtype or "float32", device=device))


Array = gt.Array
numpy = Namespace(
    "jax.numpy", "Arrays start on the first GPU.",
    array=at_first(lambda values, dtype=None, device=None: gt.array(values, dtype, device)),
    ones=_shape(gt.ones), zeros=_shape(gt.zeros),
    full=at_first(lambda shape, fill_value, dtype=None, device=None: gt.full(shape, fill_value, dtype, device)),
    arange=at_first(lambda start, stop=None, step=1, dtype=None, device=None: gt.arange(start, stop, step, dtype, device)),
    ndarray=gt.Array,
    **{name: getattr(gt, name) for name in (
        "abs add all any argmax argmin ceil concat cos cumsum exp expand_dims expm1 floor full_like log log1p matmul max maximum "
        "mean min minimum ones_like pow prod reshape round sign sin sqrt squeeze stack sum tanh where zeros_like "
        "bfloat16 bool_ float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64").split()})
numpy.asarray, numpy.concatenate, numpy.dot = numpy.array, gt.concat, gt.matmul


def _uniform(key, shape=(), dtype="float32", minval=0.0, maxval=1.0):
    return gt.random.uniform(shape, minval, maxval, dtype, key=key)


def _normal(key, shape=(), dtype="float32"):
    return gt.random.normal(shape, dtype=dtype, key=key)


random = Namespace(
    "jax.random", PRNGKey=gt.random.Key, key=gt.random.Key, uniform=_uniform, normal=_normal,
    split=lambda key, num=2: key.split(num), fold_in=lambda key, data: key.fold(data))


def _tree_map(f, tree, *rest):
    """f of each leaf, with those of other trees of that structure."""
    if isinstance(tree, dict):
        made = {key: _tree_map(f, tree[key], *(other[key] for other in rest)) for key in sorted(tree)}
        return type(tree)(made)
    if isinstance(tree, (list, tuple)):
        return type(tree)([_tree_map(f, each, *(other[i] for other in rest)) for i, each in enumerate(tree)])
    return None if tree is None else f(tree, *rest)


def _tree_leaves(tree):
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in _tree_leaves(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for each in tree for leaf in _tree_leaves(each)]
    return [] if tree is None else [tree]


tree_util = Namespace("jax.tree_util", tree_map=_tree_map, tree_leaves=_tree_leaves)
tree_map, grad, value_and_grad, vjp, jvp = _tree_map, gt.grad, gt.value_and_grad, gt.vjp, gt.jvp


def __getattr__(name):
    return missing(f"jax.{name}")
