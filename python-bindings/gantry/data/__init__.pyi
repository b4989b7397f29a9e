from .dataset import Dataset as Dataset
from .rows import Rows as Rows
from .sequences import pad_sequences as pad_sequences
from .sources import reuters as reuters
