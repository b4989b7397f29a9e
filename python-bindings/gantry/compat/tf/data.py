"""tf.data: gantry.data.Dataset by TensorFlow's names. Orders are functions of seeds and the epoch; elements that are gone through are
arrays, on the first GPU where there is one."""

import numpy as _np

import gantry as _gt
from gantry import data as _data
from gantry.data._trees import as_array as _as_array, map_tree as _map_tree
from gantry.errors import InvalidArgumentError as _InvalidArgumentError

from .._devices import first as _first
from .._names import Namespace as _Namespace, missing as _missing

__path__ = []  # so that a name that is missing is told on import, too

AUTOTUNE = -1


def _host(made):
    """What a function of elements gives, as data."""
    return _map_tree(lambda leaf: _as_array(leaf) if hasattr(leaf, "numpy") else leaf, made)


class Dataset:
    """Elements and what becomes of them on their way; see gantry.data.Dataset."""

    def __init__(self, own):
        self._own = own

    @staticmethod
    def from_tensor_slices(tensors):
        return Dataset(_data.Dataset.from_slices(tensors))

    @staticmethod
    def from_generator(generator, output_types=None, output_shapes=None, output_signature=None):
        return Dataset(_data.Dataset.from_generator(generator))

    @staticmethod
    def range(*args):
        return Dataset(_data.Dataset.from_slices(_np.arange(*args)))

    @staticmethod
    def zip(datasets):
        return Dataset(_data.Dataset.zip(*[each._own for each in datasets]))

    def map(self, map_func, num_parallel_calls=None):
        """The function is called by the thread that fills ahead, however many calls are asked for."""
        return Dataset(self._own.map(lambda *element: _host(map_func(*element))))

    def shuffle(self, buffer_size, seed=0, reshuffle_each_iteration=True):
        if not reshuffle_each_iteration:
            raise _InvalidArgumentError("each epoch has another order here; shuffle(...).cache() repeats the first one")
        return Dataset(self._own.shuffle(buffer_size, seed or 0))

    def batch(self, batch_size, drop_remainder=False):
        return Dataset(self._own.batch(batch_size, drop_remainder))

    def padded_batch(self, batch_size, padded_shapes=None, padding_values=0, drop_remainder=False):
        return Dataset(self._own.padded_batch(batch_size, padding_values, drop_remainder=drop_remainder))

    def repeat(self, count=None):
        return Dataset(self._own.repeat(None if count == -1 else count))

    def take(self, count):
        return Dataset(self._own.take(count))

    def skip(self, count):
        return Dataset(self._own.skip(count))

    def cache(self):
        return Dataset(self._own.cache())

    def prefetch(self, buffer_size):
        """AUTOTUNE: two."""
        return Dataset(self._own.prefetch(2 if buffer_size == AUTOTUNE else buffer_size))

    def make_one_shot_iterator(self):
        """For graphs: see gantry.compat.tf.v1."""
        from . import v1
        return v1._Iterator(self._own)

    def __iter__(self):
        place = _first()
        return (_map_tree(lambda leaf: leaf if _as_array(leaf).dtype.kind in "US" else _gt.array(leaf, device=place), element)
                for element in self._own)

    def __len__(self):
        return len(self._own)

    def cardinality(self):
        return -2 if self._own.size is None else self._own.size

    def __repr__(self):
        return repr(self._own)


def make_one_shot_iterator(dataset):
    return dataset.make_one_shot_iterator()


experimental = _Namespace("tf.data.experimental", AUTOTUNE=AUTOTUNE)


def __getattr__(name):
    return _missing(f"tf.data.{name}")
