"""Files of tensors, .safetensors: read where they are mapped, written whole or not at all.

>>> gt.save_safetensors("w.safetensors", {"w": np.zeros((4, 2), np.float32)}, {"epoch": "3"})
>>> gt.load_safetensors("w.safetensors")["w"]
"""

import collections
import ctypes
import json
import math
import os

import numpy as np

from . import _c, _library, _runtime
from .array import Array, _target, as_numpy, dims_of
from .dtypes import BY_NUMBER
from .errors import InvalidArgumentError, NotFoundError

# What a file has under a name, over the mapped bytes: a NumPy array in the type that NumPy has for it, and its own type.
Stored = collections.namedtuple("Stored", "values dtype")

Loaded = collections.namedtuple("Loaded", "missing unknown")
Loaded.__doc__ = "Names of variables that the file lacks, and of tensors that are no variable's."


class File:
    """A mapped file, `with File(path) as file`: `tensors` is a dict of Stored by name, for as long as it is open."""

    def __init__(self, path):
        self._library, self._handle = _library.runtime(), ctypes.c_void_p()
        _library.check(self._library.gantry_tensor_file_load(os.fsencode(path), ctypes.byref(self._handle)))
        self.metadata = json.loads(self._library.gantry_tensor_file_metadata(self._handle))
        self.tensors = dict(self._tensor(i) for i in range(self._library.gantry_tensor_file_num_tensors(self._handle)))

    def _tensor(self, index):
        info = _c.gantry_value_t()
        _library.check(self._library.gantry_tensor_file_tensor(self._handle, index, ctypes.byref(info)))
        kind = BY_NUMBER[info.element]
        shape = tuple(ctypes.cast(info.dims, ctypes.POINTER(ctypes.c_int64))[:info.rank])
        size = math.prod(shape) * kind.itemsize
        bytes_ = (ctypes.c_ubyte * size).from_address(info.data) if size else b""
        return info.name.decode(), Stored(np.frombuffer(bytes_, kind.numpy).reshape(shape), kind)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tensors = {}
        self._library.gantry_tensor_file_destroy(self._handle)


class Tensors(dict):
    """Arrays by name, with the texts that the file has besides: `metadata`."""

    metadata = {}


def load_safetensors(path, device=None):
    """A dict of the Arrays that a .safetensors file holds, on `device`, else where new arrays are made; its `metadata` are
    the file's texts by name. NotFoundError; CorruptPlanError for a file that is none, which says why; UnsupportedError for
    types that Gantry has not, as 8-bit floats."""
    target, runtime, made = _target(device), _runtime.current(), Tensors()
    with File(path) as file:
        made.metadata = file.metadata
        for name, (values, kind) in file.tensors.items():
            handle = ctypes.c_void_p()
            _library.check(runtime.library.gantry_array_from_host(
                runtime.handle, target.encoded, values.ctypes.data, kind.number, dims_of(values.shape), values.ndim,
                ctypes.byref(handle)))
            made[name] = Array._wrap(handle.value, values.shape, kind, target)
    return made


def save_safetensors(path, arrays, metadata=None):
    """Writes a mapping of names to arrays into a .safetensors file, with texts by name: whole and on the disk, or not at
    all, and the same arrays to the same bytes. InvalidArgumentError."""
    write(path, {name: Stored(*as_numpy(value)) for name, value in arrays.items()}, metadata)


def write(path, tensors, metadata=None):
    """The same of Stored values."""
    values = as_values(tensors)
    _library.check(_library.runtime().gantry_tensor_file_save(os.fsencode(path), values, len(values), texts(metadata)))


def texts(metadata):
    """Metadata as the C API takes them."""
    for name, text in (metadata or {}).items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise InvalidArgumentError(f"metadata are texts by name, got {name!r}: {text!r}; json.dumps makes a text of it")
    return json.dumps(metadata or {}).encode()


def as_values(tensors):
    """Stored values by name as the C API takes them; they are kept with it."""
    values = (_c.gantry_value_t * len(tensors))()
    values.kept = [(name.encode(), dims_of(each.values.shape), each.values) for name, each in tensors.items()]
    for value, (name, dims, array), (_, kind) in zip(values, values.kept, tensors.values()):
        value.name, value.element, value.rank = name, kind.number, array.ndim
        value.dims, value.data = ctypes.cast(dims, ctypes.c_void_p), array.ctypes.data
    return values


def is_safetensors(path):
    return os.fsdecode(path).endswith(".safetensors")


# ---- whose tensor it is ----

def match(tensors, known, where, map=None, strict=True):
    """What variables get: Stored values by the names of `known`, which has (dtype, shape) by name, and Loaded. `where` the
    tensors are from is for messages.

    map  a dict, or a function of a tensor's name: the variable's name, or (name, axes) for a tensor whose axes are in
         another order there, or None to pass it over; names that a dict has not stand for themselves
    """
    if map is not None and not callable(map):
        for name in map:
            if name not in tensors:
                raise NotFoundError(f"the map names '{name}', which is not in {where}")
    found, unknown = {}, []
    for name, stored in tensors.items():
        wanted = map(name) if callable(map) else name if map is None else map.get(name, name)
        if wanted is None:
            continue
        wanted, axes = (wanted, None) if isinstance(wanted, str) else wanted
        if wanted not in known:
            unknown.append(name)
            continue
        if wanted in found:
            raise InvalidArgumentError(f"variable '{wanted}' gets two values of {where}")
        found[wanted] = _fitted(stored, axes, known[wanted], f"variable '{wanted}'",
                                f"{where} holds" if wanted == name else f"'{name}' in {where} is")
    missing = [name for name in known if name not in found]
    if strict and unknown:
        raise NotFoundError(f"no variable is meant by {_listed(unknown)}, which {where} has; strict=False or a map passes over "
                            f"them; the variables are {_listed(known)}")
    if strict and missing:
        raise NotFoundError(f"{where} has no values for {_listed(missing)}; strict=False lets them keep theirs; it has "
                            f"{_listed(tensors)}")
    return found, Loaded(missing, unknown)


def _fitted(stored, axes, wanted, what, place):
    (values, kind), (dtype, shape) = stored, wanted
    if axes is not None:
        if sorted(axes) != list(range(values.ndim)):
            raise InvalidArgumentError(f"{what}: axes {list(axes)} are no order of those of {kind}{list(values.shape)}")
        values = values.transpose(axes)
    if (kind, values.shape) != (dtype, tuple(shape)):
        turned = "" if axes is None else f" with its axes as {list(axes)}"
        raise InvalidArgumentError(f"{what} is {dtype}{list(shape)}, but {place} {kind}{list(values.shape)}{turned}")
    return Stored(values if axes is None else np.ascontiguousarray(values), kind)


def _listed(names):
    names = list(names)
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(f"'{name}'" for name in names[:8]) + more if names else "none"
