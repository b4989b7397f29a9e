"""TensorFlow's names for what Gantry has: `from gantry.compat import tf`.

Names only: every one stands for a thing of Gantry's own, which says what it does.
"""

import builtins
import collections
import sys

import numpy as _np

import gantry as gt
from gantry import *  # noqa: F401,F403 (ops have the same names)
from gantry import math as _math

from .._devices import at_first
from .._names import Namespace, missing

# Gantry's own names for training are others than TensorFlow's.
del GradientTape, Mirrored, Towers, Trainer, Variable, callbacks, checkpoint, data, distribute, grad, hvp, jvp, losses, metrics, nn, optim  # noqa: F821
del tape, train, value_and_grad, variables, vjp  # noqa: F821

PhysicalDevice = collections.namedtuple("PhysicalDevice", "name device_type")
LogicalDevice = collections.namedtuple("LogicalDevice", "name device_type")
LogicalDeviceConfiguration = VirtualDeviceConfiguration = collections.namedtuple(
    "LogicalDeviceConfiguration", "memory_limit")

device, add_n, Tensor = gt.device, gt.add_n, gt.Array
float16, bfloat16, float32, float64 = gt.float16, gt.bfloat16, gt.float32, gt.float64
int8, int16, int32, int64, uint8, uint16, uint32, uint64 = (
    gt.int8, gt.int16, gt.int32, gt.int64, gt.uint8, gt.uint16, gt.uint32, gt.uint64)
function, cond, while_loop = gt.function, gt.cond, gt.while_loop
reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_prod = gt.sum, gt.mean, gt.max, gt.min, gt.prod
reduce_all, reduce_any = gt.all, gt.any


def _number(device):
    return int(device.name.rsplit(":", 1)[1])


def _list_physical_devices(device_type=None):
    return [PhysicalDevice(f"/physical_device:{found!r}", found.type) for found in gt.devices(device_type, physical=True)]


def _list_logical_devices(device_type=None):
    return [LogicalDevice(f"/device:{found!r}", found.type) for found in gt.devices(device_type)]


def _set_visible_devices(devices, device_type=None):
    devices = devices if isinstance(devices, list) else [devices]
    gt.config(visible=[_number(found) for found in devices if found.device_type == "GPU"])


def _set_memory_growth(device, enable):
    kept = {name: text for name, text in gt._runtime.settings.memory.items() if name != f"GPU:{_number(device)}"}
    gt.config(memory={**kept, f"GPU:{_number(device)}": "growth"} if enable else kept)


def _set_logical_device_configuration(device, configurations):
    limits = [f"{configuration.memory_limit}MiB" for configuration in configurations]
    gt.config(split={**gt._runtime.settings.split, _number(device): limits})


config = Namespace(
    "tf.config",
    list_physical_devices=_list_physical_devices,
    list_logical_devices=_list_logical_devices,
    set_visible_devices=_set_visible_devices,
    set_soft_device_placement=lambda enabled: gt.config(soft=enabled),
    set_logical_device_configuration=_set_logical_device_configuration,
    LogicalDeviceConfiguration=LogicalDeviceConfiguration,
)
config.experimental = Namespace(
    "tf.config.experimental",
    list_physical_devices=_list_physical_devices,
    list_logical_devices=_list_logical_devices,
    set_visible_devices=_set_visible_devices,
    set_memory_growth=_set_memory_growth,
    set_virtual_device_configuration=_set_logical_device_configuration,
    VirtualDeviceConfiguration=VirtualDeviceConfiguration,
    get_memory_info=lambda device: {"current": gt.memory(device).used, "peak": gt.memory(device).peak},
    reset_memory_stats=lambda device: gt.memory(device).reset_peak(),
)


debugging = Namespace(
    "tf.debugging", set_log_device_placement=lambda enabled: gt.config(log_placement=enabled))


# ---- arrays, which TensorFlow makes on the first GPU ----

@at_first
def constant(value, dtype=None, shape=None, name=None, device=None):
    """A new array of values; one value fills a shape."""
    made = gt.array(value, dtype, device)
    if shape is None or made.shape == tuple(shape):
        return made
    return gt.ops.broadcast(made, tuple(shape)) if made.size == 1 else gt.reshape(made, tuple(shape))


@at_first
def convert_to_tensor(value, dtype=None, dtype_hint=None, name=None, device=None):
    """Values as an array: an array as it is."""
    return value if hasattr(value, "numpy") and dtype is None else gt.array(value, dtype, device)


@at_first
def ones(shape, dtype="float32", name=None, device=None):
    return gt.ones(_sizes(shape), dtype=dtype, device=device)


@at_first
def zeros(shape, dtype="float32", name=None, device=None):
    return gt.zeros(_sizes(shape), dtype=dtype, device=device)


@at_first
def fill(dims, value, name=None, device=None):
    return gt.full(_sizes(dims), value, device=device)


@at_first
def range(start, limit=None, delta=1, dtype=None, name=None, device=None):
    return gt.arange(start, limit, delta, dtype, device)


def _sizes(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


def identity(x):
    """A new array of the same contents, where the scope asks for it."""
    return x.copy_to(gt._device.request() or x.device)


def _uniform(shape, minval=0, maxval=None, dtype="float32", seed=None, name=None):
    return gt.random.uniform(_sizes(shape), minval, 1 if maxval is None else maxval, dtype, key=_key(seed))


def _normal(shape, mean=0.0, stddev=1.0, dtype="float32", seed=None, name=None):
    return gt.random.normal(_sizes(shape), mean, stddev, dtype, key=_key(seed))


def _key(seed):
    return None if seed is None else gt.random.Key(seed)


random = Namespace("tf.random", set_seed=gt.random.seed, uniform=_uniform, normal=_normal)


# ---- what has other arguments there ----

def split(value, num_or_size_splits, axis=0, num=None, name=None):
    """Pieces along an axis: as many of one size, or of the sizes that are listed, of which one may be -1."""
    value = _math.tensor(value)
    axis, = _math._axes(value, axis)
    length, sizes = value.shape[axis], num_or_size_splits
    if isinstance(sizes, int):
        if sizes < 1 or length % sizes:
            raise gt.InvalidArgumentError(f"{value.dtype}{list(value.shape)} cannot be split into {sizes} equal parts along "
                                          f"axis {axis}")
        sizes = [length // sizes] * sizes
    sizes = [int(size) for size in sizes]
    sizes = [length - builtins.sum(sizes) - 1 if size == -1 else size for size in sizes] if sizes.count(-1) == 1 else sizes
    pieces = gt.ops.split(value, axis, tuple(sizes))
    return list(pieces) if isinstance(pieces, tuple) else [pieces]


def stack(values, axis=0, name=None):
    """Joins arrays along a new axis."""
    return gt.stack(values, axis)


def concat(values, axis, name=None):
    """Joins arrays along an axis."""
    return gt.concat(values, axis)


def transpose(a, perm=None, conjugate=False, name=None):
    """The dimensions in another order; the other way round when none is given."""
    return _math.tensor(a).transpose(perm)


def argmax(input, axis=None, output_type="int64", name=None):
    return gt.argmax(input, 0 if axis is None else axis).astype(output_type)


def print(*inputs, output_stream=None, sep=" ", end="\n", summarize=3, name=None):
    """Prints values, on stderr as TensorFlow does; of large arrays the ends."""
    builtins.print(*[_text(x, summarize) for x in inputs], sep=sep, end=end, file=output_stream or sys.stderr)


def _text(x, edge):
    if isinstance(x, gt.Value):
        raise gt.InvalidArgumentError(f"tf.print wants the value of {x!r}, which is not known while a function is traced; return "
                                      "it, and print what the call gives")
    if not isinstance(x, (gt.Array, _np.ndarray)):
        return str(x)
    values = x._shown() if isinstance(x, gt.Array) else x
    return _np.array2string(values, separator=" ", threshold=2 * edge, edgeitems=edge,
                            formatter={"float_kind": lambda number: f"{number:.9g}", "int_kind": str})


from . import _nn  # noqa: E402

nn = Namespace("tf.nn", **{name: value for name, value in vars(_nn).items() if not name.startswith("_")})


# ---- training ----

class Variable(gt.Variable):
    """A typed value that outlives runs, where TensorFlow makes arrays."""

    def __init__(self, initial_value, trainable=True, name=None, dtype=None):
        values = initial_value() if callable(initial_value) else initial_value
        super().__init__(constant(values, dtype) if dtype is not None or not isinstance(values, gt.Array) else values, name, trainable)


class GradientTape(gt.GradientTape):
    """Gradients of what was computed; variables and arrays need not be watched, and a tape may be asked more than once."""

    def __init__(self, persistent=False, watch_accessed_variables=True):
        super().__init__()

    def watch(self, tensor):
        pass

    def gradient(self, target, sources, unconnected_gradients=None):
        return super().gradient(target, sources, allow_unused=unconnected_gradients is not None)


def square(x, name=None):
    return x * x


def multiply(x, y, name=None):
    return gt.mul(x, y)


from . import data, distribute, keras, v1  # noqa: E402,F401

compat = Namespace("tf.compat", v1=v1)
sys.modules["gantry.compat.tf.compat.v1"] = v1
errors, name_scope = v1.errors, v1.name_scope
Session, ConfigProto, GPUOptions = v1.Session, v1.ConfigProto, v1.GPUOptions


def __getattr__(name):
    """TensorFlow 1's names are there without tf.compat.v1, too."""
    return getattr(v1, name) if name in v1.NAMES else missing(f"tf.{name}")
