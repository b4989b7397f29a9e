"""Files of checkpoints: arrays by name and texts, as .safetensors files (_tensors.py), which are on the disk whole or not there: a name
always has a whole file, the old one or the new one. A sum over all bytes of the arrays is held against them when they are read.
"""

import errno
import os
import re
import sys
import zlib

import numpy as np

from . import _tensors
from ._tensors import Stored
from .dtypes import BY_NUMBER
from .errors import CorruptPlanError, GantryError, InvalidArgumentError, UnsupportedError

_FORMAT, _VERSION = "gantry.fit", "2"
_NAME = re.compile(r"step-(\d+)\.safetensors")


class Broken(InvalidArgumentError):
    """A file is no checkpoint, or only a part of one."""


def _sum(tensors):
    """Over the bytes of all arrays, in the order of their names."""
    found = 0
    for name in sorted(tensors):
        found = zlib.crc32(np.ascontiguousarray(tensors[name].values).reshape(-1).view(np.uint8), found)
    return f"{found:08x}"


def write(path, tensors, texts):
    """Writes {name: Stored} and {name: text} to a file, whole or not at all. OSError, as of a full disk, leaves what was there."""
    try:
        _tensors.write(path, tensors, {"format": _FORMAT, "version": _VERSION, "crc32": _sum(tensors), **texts})
    except GantryError as error:
        if not str(error).startswith("cannot write"):
            raise
        why = str(error).rpartition(": ")[2]
        number = next((each for each in errno.errorcode if os.strerror(each).lower() == why), errno.EIO)
        raise OSError(number, os.strerror(number), os.fspath(path)) from None


class Checkpoint:
    """The arrays, {name: Stored}, and texts of a file; arrays lie in the file's mapping, until `close`."""

    def __init__(self, path):
        """Broken for what is none of `write`'s, not whole or changed; OSError where it cannot be read."""
        with open(path, "rb"):  # whatever keeps it from being read is Python's to tell
            pass
        try:
            self._file = _tensors.File(path)
        except (CorruptPlanError, InvalidArgumentError, UnsupportedError) as error:
            raise Broken(f"{path} is torn, or no checkpoint: {error}") from None
        self.texts, self.tensors = self._file.metadata, self._file.tensors
        try:
            self._check(path)
        except BaseException:
            self.close()
            raise

    def _check(self, path):
        if self.texts.get("format") != _FORMAT:
            raise Broken(f"{path} is no checkpoint of fit")
        if self.texts.get("version") != _VERSION:
            raise Broken(f"{path} is a checkpoint of version {self.texts.get('version')}, and this is {_VERSION}")
        if _sum(self.tensors) != self.texts.get("crc32"):
            raise Broken(f"{path} was changed behind its writing, or is torn: its sum is another one")

    def close(self):
        if self._file is not None:
            self.tensors = {}
            self._file.__exit__()
            self._file = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


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
        if _NAME.fullmatch(name.partition(".tmp.")[0]) and ".tmp." in name:
            _remove(os.path.join(folder, name))


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def keep(folder, count):
    """Removes all but the last so many."""
    for step in steps_in(folder)[count:]:
        _remove(path_of(folder, step))


def last(place):
    """The Checkpoint of a file, or of the last whole one of a folder; None where a folder has none, or is not there. Broken files
    of a folder are told on stderr, and Broken is raised where there are only such."""
    place = os.fspath(place)
    if os.path.isfile(place):
        return Checkpoint(place)
    if not os.path.isdir(place):
        if place.endswith(".safetensors"):
            raise InvalidArgumentError(f"there is no checkpoint {place}")
        return None
    broken = None
    for step in steps_in(place):
        try:
            return Checkpoint(path_of(place, step))
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
        arrays[prefix] = Stored(state, kind)
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
            return arrays[state["__array__"]].values.copy()
        return {key: give_arrays(each, arrays) for key, each in state.items()}
    return [give_arrays(each, arrays) for each in state] if isinstance(state, list) else state
