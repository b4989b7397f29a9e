"""Files of checkpoints: arrays by name and texts, as safetensors (https://huggingface.co/docs/safetensors, "Format": the length of
a header, u64 little endian; the header, JSON; the bytes of the arrays).

A file is written beside its name, synced, and renamed; then its folder is synced. So a name always has a whole file, the old one or
the new one. What is read is checked first: sizes, names, and a sum over all bytes of the arrays.
"""

import json
import math
import mmap
import os
import re
import struct
import sys
import zlib

import numpy as np

from .dtypes import BY_NUMBER
from .errors import InvalidArgumentError

_FORMAT, _VERSION, _LONGEST_HEADER = "gantry.fit", "1", 100 << 20
_CODES = {kind.graph_name.upper() if kind.graph_name != "i1" else "BOOL": kind for kind in BY_NUMBER}
_NAME = re.compile(r"step-(\d+)\.safetensors")


class Broken(InvalidArgumentError):
    """A file is no checkpoint, or only a part of one."""


def write(path, arrays, texts):
    """Writes {name: (DType, NumPy array)} and {name: text} to a file, whole or not at all. OSError, as of a full disk, leaves what was
    there."""
    code_of = {kind: code for code, kind in _CODES.items()}
    header, blocks, end, checksum = {}, [], 0, 0
    for name, (kind, values) in arrays.items():
        block = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        header[name] = {"dtype": code_of[kind], "shape": list(values.shape), "data_offsets": [end, end + len(block)]}
        end, checksum = end + len(block), zlib.crc32(block, checksum)
        blocks.append(block)
    header["__metadata__"] = {"format": _FORMAT, "version": _VERSION, "crc32": f"{checksum:08x}", **texts}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    part = f"{path}.part"
    try:
        with open(part, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for block in blocks:
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        _remove(part)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise
    _sync(os.path.dirname(path) or ".")


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def _sync(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path):
    """The arrays and texts of a file, as `write` takes them; arrays lie in the file's mapping, read only. Broken for what is none of
    `write`'s, not whole or changed; OSError."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 8:
            raise Broken(f"{path} is no checkpoint: it has {size} bytes")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length = struct.unpack("<Q", data[:8])[0]
    if length > min(_LONGEST_HEADER, size - 8):
        raise Broken(f"{path} is no checkpoint, or torn: its header would have {length} bytes, and it has {size}")
    try:
        header = json.loads(data[8:8 + length])
        texts = header.pop("__metadata__")
        if texts["format"] != _FORMAT:
            raise KeyError("format")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise Broken(f"{path} is no checkpoint of fit") from None
    if texts.get("version") != _VERSION:
        raise Broken(f"{path} is a checkpoint of version {texts.get('version')}, and this is {_VERSION}")
    arrays, end = {}, 0
    for name, entry in header.items():
        kind, shape, begin, stop = _entry(path, name, entry)
        if begin != end or stop - begin != math.prod(shape) * kind.itemsize or stop > size - 8 - length:
            raise Broken(f"{path} is torn: '{name}' would lie in bytes {begin} to {stop} of {size - 8 - length}")
        arrays[name] = kind, np.frombuffer(data, kind.numpy, math.prod(shape), 8 + length + begin).reshape(shape)
        end = stop
    if end != size - 8 - length:
        raise Broken(f"{path} has {size - 8 - length - end} bytes that belong to nothing")
    with memoryview(data) as seen:
        if f"{zlib.crc32(seen[8 + length:]):08x}" != texts.get("crc32"):
            raise Broken(f"{path} was changed behind its writing, or is torn: its sum is another one")
    return arrays, texts


def _entry(path, name, entry):
    try:
        kind, shape, (begin, stop) = _CODES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        if all(isinstance(each, int) and each >= 0 for each in (*shape, begin, stop)):
            return kind, shape, begin, stop
    except (KeyError, TypeError, ValueError):
        pass
    raise Broken(f"{path} is no checkpoint: it has no type, shape and place of '{name}'")


# ---- folders ----

def path_of(folder, step):
    return os.path.join(folder, f"step-{step:010d}.safetensors")


def steps_in(folder):
    """The steps of which a folder has checkpoints, the last one first."""
    found = (_NAME.fullmatch(name) for name in os.listdir(folder))
    return sorted((int(each[1]) for each in found if each), reverse=True)


def begin(folder):
    """Makes a folder of checkpoints; what was never finished in it goes."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        if name.endswith(".part") and _NAME.fullmatch(name[:-len(".part")]):
            _remove(os.path.join(folder, name))


def keep(folder, count):
    """Removes all but the last so many."""
    for step in steps_in(folder)[count:]:
        _remove(path_of(folder, step))


def last(place):
    """The arrays and texts of a file, or of the last whole one of a folder; None where a folder has none, or is not there. Broken files
    of a folder are told on stderr, and Broken is raised where there are only such."""
    place = os.fspath(place)
    if os.path.isfile(place):
        return read(place)
    if not os.path.isdir(place):
        if place.endswith(".safetensors"):
            raise InvalidArgumentError(f"there is no checkpoint {place}")
        return None
    broken = None
    for step in steps_in(place):
        try:
            return read(path_of(place, step))
        except Broken as error:
            broken = error
            print(f"gantry: warning: {error}; the one before it is taken", file=sys.stderr)
    if broken is not None:
        raise Broken(f"{place} has no whole checkpoint: {broken}")
    return None


# ---- states ----

def take_arrays(state, prefix, arrays):
    """A state as JSON has it, whose NumPy arrays are put into `arrays` by names below a prefix."""
    if isinstance(state, np.ndarray):
        kind = next((kind for kind in BY_NUMBER if kind.numpy == state.dtype), None)
        if kind is None:
            raise InvalidArgumentError(f"{prefix}: a checkpoint has no arrays of {state.dtype}")
        arrays[prefix] = kind, state
        return {"__array__": prefix}
    if isinstance(state, dict):
        return {key: take_arrays(each, f"{prefix}/{key}", arrays) for key, each in state.items()}
    if isinstance(state, (list, tuple)):
        return [take_arrays(each, f"{prefix}/{i}", arrays) for i, each in enumerate(state)]
    if isinstance(state, np.generic):
        return state.item()
    if state is None or isinstance(state, (bool, int, float, str)):
        return state
    raise InvalidArgumentError(f"{prefix}: a state has numbers, texts, None, NumPy arrays, lists and dicts, got {state!r}")


def give_arrays(state, arrays):
    """The inverse; the arrays are copies."""
    if isinstance(state, dict):
        if set(state) == {"__array__"}:
            return arrays[state["__array__"]][1].copy()
        return {key: give_arrays(each, arrays) for key, each in state.items()}
    return [give_arrays(each, arrays) for each in state] if isinstance(state, list) else state
