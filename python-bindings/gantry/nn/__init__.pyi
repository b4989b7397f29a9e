from . import init as init
from .layers import (Activation as Activation, AvgPool as AvgPool, BatchNorm as BatchNorm, Conv1D as Conv1D, Conv2D as Conv2D,
                     Dense as Dense, Dropout as Dropout, Embedding as Embedding, Flatten as Flatten,
                     GlobalAvgPool as GlobalAvgPool, GlobalMaxPool as GlobalMaxPool, LayerNorm as LayerNorm, MaxPool as MaxPool,
                     Reshape as Reshape)
from .module import Module as Module, Sequential as Sequential, is_training as is_training, training as training

MaxPool1D = MaxPool
MaxPool2D = MaxPool
AvgPool1D = AvgPool
AvgPool2D = AvgPool
