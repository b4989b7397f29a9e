"""Files of data that others have made, which the user has: nothing is downloaded."""

import os
import pickle

import numpy as np

from ..errors import InvalidArgumentError, NotFoundError

# What NumPy's arrays of lists are pickled by; lists and numbers need no names.
_KNOWN = {("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype"),
          ("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar"), ("_codecs", "encode")}


class _Lists(pickle.Unpickler):
    """Knows lists, numbers and arrays of these alone: a file cannot have anything else made or called."""

    def find_class(self, module, name):
        if (module, name) not in _KNOWN:
            raise InvalidArgumentError(f"the file holds {module}.{name}, and may hold lists and numbers alone")
        return super().find_class(module, name)


def _array(archive, name, path):
    """An array of an .npz file, also one of lists."""
    with archive.zip.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
        if not dtype.hasobject:
            return archive[name]
        try:
            made = _Lists(file).load()
        except (pickle.UnpicklingError, EOFError, AttributeError, IndexError) as error:
            raise InvalidArgumentError(f"{path}: '{name}' cannot be read: {error}") from None
        return np.asarray(made, object).reshape(shape)


def _place(path):
    """The file itself, or where Keras keeps it."""
    found = [each for each in (os.fspath(path), os.path.join(os.path.expanduser("~"), ".keras", "datasets", os.fspath(path)))
             if os.path.isfile(each)]
    if not found:
        raise NotFoundError(f"there is no {path}, here or in ~/.keras/datasets, and Gantry downloads nothing; give the path of the file "
                            "that Keras's datasets.reuters.load_data() leaves there")
    return found[0]


def reuters(path="reuters.npz", num_words=None, skip_top=0, maxlen=None, test_split=0.2, seed=113, start_char=1, oov_char=2,
            index_from=3):
    """Keras's Reuters set, from its file: (x_train, y_train), (x_test, y_test), with x arrays of lists of numbers of words, and y
    int64. A file that has x_train, y_train, x_test and y_test is given as it is.

    num_words, skip_top  words as rare, or as frequent, are `oov_char`; where that is None they are left out
    maxlen               texts as long or longer are left out
    test_split, seed     so many are put aside, in an order that the seed decides, as Keras does
    start_char           begins each text, and words count from `index_from` on

    NotFoundError where there is no file; InvalidArgumentError for one that holds something else than lists and numbers.
    """
    place = _place(path)
    with np.load(place) as archive:
        parts = [f"{of}_{part}" for part in ("train", "test") for of in "xy"]
        if set(parts) <= set(archive.files):
            made = [_array(archive, name, place) for name in parts]
            return tuple(made[:2]), tuple(made[2:])
        if not {"x", "y"} <= set(archive.files):
            raise InvalidArgumentError(f"{place} has {', '.join(archive.files)}, and not x and y")
        texts, labels = _array(archive, "x", place), _array(archive, "y", place)
    order = np.arange(len(texts))
    np.random.RandomState(seed).shuffle(order)
    labels = labels[order]
    begin = [] if start_char is None else [start_char]
    texts = [begin + [word + index_from for word in texts[i]] for i in order]
    if maxlen:
        kept = [i for i, text in enumerate(texts) if len(text) < maxlen]
        texts, labels = [texts[i] for i in kept], labels[kept]
    known = num_words or max((max(text, default=0) for text in texts), default=0) + (0 if num_words else 1)
    texts = [[word if skip_top <= word < known else oov_char for word in text if oov_char is not None or skip_top <= word < known]
             for text in texts]
    end = int(len(texts) * (1 - test_split))
    return (_lists(texts[:end]), labels[:end]), (_lists(texts[end:]), labels[end:])


def _lists(texts):
    """An array of lists, also where all are equally long."""
    made = np.empty(len(texts), object)
    made[:] = texts
    return made
