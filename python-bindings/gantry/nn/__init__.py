"""Networks: layers that know their shapes at first use, and what they are made of.

>>> net = gt.nn.Sequential(gt.nn.Dense(64, "relu"), gt.nn.Dense(10))
>>> net(x)                      # one plan; inside of a gantry.function a part of it
>>> net[0].weight.device, net.parameters()
>>> net.summary()
"""

from . import init
from .layers import (Activation, AvgPool, BatchNorm, Conv1D, Conv2D, Dense, Dropout, Embedding, Flatten, GlobalAvgPool,
                     GlobalMaxPool, LayerNorm, MaxPool, Reshape)
from .module import Module, Sequential, is_training, training

MaxPool1D = MaxPool2D = MaxPool  # how many dimensions there are is told by what comes in
AvgPool1D = AvgPool2D = AvgPool

__all__ = ["Activation", "AvgPool", "AvgPool1D", "AvgPool2D", "BatchNorm", "Conv1D", "Conv2D", "Dense", "Dropout",
           "Embedding", "Flatten", "GlobalAvgPool", "GlobalMaxPool", "LayerNorm", "MaxPool", "MaxPool1D", "MaxPool2D",
           "Module", "Reshape", "Sequential", "init", "is_training", "training"]
