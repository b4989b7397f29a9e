"""torch.utils.data: a DataLoader is a gantry.data.Dataset, gone through epoch by epoch."""

import numpy as _np

import gantry as _gt
from gantry import data as _data
from gantry.data._trees import as_array as _as_array, map_tree as _map_tree

from ..._names import missing as _missing

__path__ = []  # so that a name that is missing is told on import, too


class Dataset:
    """Elements by number: classes of your own have __len__ and __getitem__."""


class TensorDataset(Dataset):
    """Rows of arrays with as many rows."""

    def __init__(self, *tensors):
        self.tensors = tensors

    def __len__(self):
        return len(self.tensors[0])

    def __getitem__(self, index):
        return tuple(each[index] for each in self.tensors)


class _Item:
    """Gives the element of a number; workers are given it."""

    def __init__(self, dataset):
        self._dataset = dataset

    def __call__(self, index):
        made = self._dataset[int(index)]
        return _map_tree(_as_array, tuple(made) if isinstance(made, list) else made)


class DataLoader:
    """Batches of a Dataset, or of a list of elements, as lists of arrays on the host; with shuffle in another order in each epoch.

    num_workers: so many processes make elements; the dataset is a class of a module then.
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, num_workers=0, drop_last=False, seed=0):
        self.dataset, self.batch_size = dataset, batch_size
        if isinstance(dataset, TensorDataset):
            rows = _data.Dataset.from_slices(tuple(map(_as_array, dataset.tensors)))
            rows = rows.shuffle(seed=seed) if shuffle else rows
        else:
            rows = _data.Dataset.from_slices(_np.arange(len(dataset)))
            rows = (rows.shuffle(seed=seed) if shuffle else rows).map(_Item(dataset), workers=num_workers)
        self._own = rows.batch(batch_size, drop_last)

    def __iter__(self):
        for element in self._own:
            made = _map_tree(_gt.array, element)
            yield list(made) if isinstance(made, tuple) else made

    def __len__(self):
        return len(self._own)


def __getattr__(name):
    return _missing(f"torch.utils.data.{name}")
