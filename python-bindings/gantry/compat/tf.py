"""TensorFlow's names for what Gantry has: `from gantry.compat import tf`.

Names only: every one stands for a thing of Gantry's own, which says what it does.
"""

import collections
import sys
import types

import gantry as gt
from gantry import *  # noqa: F401,F403 (ops have the same names)

PhysicalDevice = collections.namedtuple("PhysicalDevice", "name device_type")
LogicalDevice = collections.namedtuple("LogicalDevice", "name device_type")
LogicalDeviceConfiguration = VirtualDeviceConfiguration = collections.namedtuple(
    "LogicalDeviceConfiguration", "memory_limit")

device, constant, add_n, split = gt.device, gt.array, gt.add_n, gt.ops.split
float16, float32, float64, int32, int64 = gt.float16, gt.float32, gt.float64, gt.int32, gt.int64
function, cond = gt.function, gt.cond
reduce_sum, reduce_mean, reduce_max, reduce_min = gt.sum, gt.mean, gt.max, gt.min


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


config = types.SimpleNamespace(
    list_physical_devices=_list_physical_devices,
    list_logical_devices=_list_logical_devices,
    set_visible_devices=_set_visible_devices,
    set_soft_device_placement=lambda enabled: gt.config(soft=enabled),
    set_logical_device_configuration=_set_logical_device_configuration,
    LogicalDeviceConfiguration=LogicalDeviceConfiguration,
)
config.experimental = types.SimpleNamespace(
    list_physical_devices=_list_physical_devices,
    list_logical_devices=_list_logical_devices,
    set_visible_devices=_set_visible_devices,
    set_memory_growth=_set_memory_growth,
    set_virtual_device_configuration=_set_logical_device_configuration,
    VirtualDeviceConfiguration=VirtualDeviceConfiguration,
)


class GPUOptions:
    """What TensorFlow 1 says of GPUs' memory: of a ConfigProto, for all of them alike."""

    def __init__(self, per_process_gpu_memory_fraction=None, allow_growth=False, visible_device_list=None):
        self.per_process_gpu_memory_fraction = per_process_gpu_memory_fraction
        self.allow_growth = allow_growth
        self.visible_device_list = visible_device_list


class ConfigProto:
    """Carries gpu_options, allow_soft_placement and log_device_placement to a Session."""

    def __init__(self, gpu_options=None, allow_soft_placement=None, log_device_placement=None):
        self.gpu_options = gpu_options or GPUOptions()
        self.allow_soft_placement = allow_soft_placement
        self.log_device_placement = log_device_placement


class Session:
    """Configures Gantry as its ConfigProto says. Ops are computed at once, so `run` gives back what it is given."""

    def __init__(self, target="", graph=None, config=None):
        gpus = config.gpu_options if config else GPUOptions()
        fraction = gpus.per_process_gpu_memory_fraction
        words = ([f"fraction:{fraction}"] if fraction else []) + (["growth"] if gpus.allow_growth else [])
        changes = {"memory": {"GPU:*": ",".join(words)}} if words else {}
        if gpus.visible_device_list:
            changes["visible"] = [int(number) for number in gpus.visible_device_list.split(",")]
        if config and config.allow_soft_placement is not None:
            changes["soft"] = config.allow_soft_placement
        if config and config.log_device_placement is not None:
            changes["log_placement"] = config.log_device_placement
        gt.config(**changes)

    def run(self, fetches):
        return fetches

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


debugging = types.SimpleNamespace(set_log_device_placement=lambda enabled: gt.config(log_placement=enabled))
random = types.SimpleNamespace(
    set_seed=gt.random.seed,
    uniform=lambda shape, minval=0.0, maxval=1.0, dtype="float32": gt.random.uniform(shape, minval, maxval, dtype),
    normal=lambda shape, mean=0.0, stddev=1.0, dtype="float32": gt.random.normal(shape, mean, stddev, dtype),
)


def ones(shape, dtype="float32"):
    return gt.ones(tuple(shape), dtype=dtype)


def zeros(shape, dtype="float32"):
    return gt.zeros(tuple(shape), dtype=dtype)


def identity(x):
    """A new array of the same contents, where the scope asks for it."""
    return x.copy_to(gt._device.request() or x.device)


compat = types.SimpleNamespace(v1=sys.modules[__name__])  # tf.compat.v1.ConfigProto


def __getattr__(name):
    what = ("Gantry does not train networks; it runs graphs that TensorFlow exports to ONNX" if name in
            ("keras", "distribute", "data", "GradientTape", "gradients", "train", "optimizers", "losses", "estimator")
            else "gantry.ops has every op")
    raise AttributeError(f"gantry.compat.tf has no '{name}': {what}")
