"""Where an op runs that is computed at once: what is asked for; else the best type of device that has a kernel,
of those devices the one that holds most of the operands, then the lowest id (docs/Spec.md, P6)."""

from . import _runtime
from ._kernels import KERNELS
from .device import devices, matches, resolve

_SETS = {
    "none": lambda dtype: False,
    "all": lambda dtype: True,
    "numbers": lambda dtype: dtype.graph_name != "i1",
    "floats": lambda dtype: dtype.is_floating,
    "ints": lambda dtype: not dtype.is_floating and dtype.graph_name != "i1",
    "indices": lambda dtype: dtype.graph_name in ("i32", "i64", "u32", "u64"),
    "bools": lambda dtype: dtype.graph_name == "i1",
}


def has_kernel(op, device_type, dtype):
    return _SETS[KERNELS.get(op, ("all", "all"))[device_type == "GPU"]](dtype)


# Made of attributes and a key, which lies on the host as small inputs do; the kernel table goes by what they make.
RANDOM = ("random_uniform", "random_normal")


def element_of(op, operands, result):
    """The element type that the kernel table goes by."""
    return operands[0].dtype if operands and op not in RANDOM else result[0]


def _best(found, held):
    """Of devices in order, the one that holds most bytes."""
    return max(found, key=lambda device: held.get(device.name, 0))


def choose(op, dtype, wanted, operands):
    """The device for an op whose first operand (or result) has that type. A request that cannot be met is an
    error, or softly something else."""
    held = {}
    for operand in operands:
        held[operand.device.name] = held.get(operand.device.name, 0) + operand.nbytes
    known = devices()
    if wanted is not None:
        found = [device for device in known if matches(wanted, device)]
        if not found:
            found = [resolve(wanted, op)]
        able = [device for device in found if has_kernel(op, device.type, dtype)]
        if able or not _is_soft(wanted):
            return _best(able or found, held)
    for kind in ("GPU", "CPU"):
        found = [device for device in known if device.type == kind]
        if found and has_kernel(op, kind, dtype):
            return _best(found, held)
    return known[0]


def _is_soft(wanted):
    return wanted.soft in ("prefer", "any") or (wanted.soft is None and _runtime.settings.soft)
