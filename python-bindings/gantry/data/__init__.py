"""Data that arrives in time: where elements come from, what becomes of them, and in which order.

>>> train = gt.data.Dataset.from_slices((x, y)).shuffle(1000).map(crop, workers=2).batch(32).prefetch(2)
>>> trainer.fit(train, validation=test, epochs=10)
"""

from .dataset import Dataset
from .rows import Rows
from .sequences import pad_sequences
from .sources import reuters

__all__ = ["Dataset", "Rows", "pad_sequences", "reuters"]
