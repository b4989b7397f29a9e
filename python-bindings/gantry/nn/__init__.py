"""Networks: layers that know their shapes at first use, and what they are made of.

>>> net = gt.nn.Sequential(gt.nn.Dense(64, "relu"), gt.nn.Dense(10))
>>> net(x)                      # one plan; inside of a gantry.function a part of it
>>> net[0].weight.device, net.parameters()
>>> net.summary()
"""

from . import init
from .attention import MultiHeadAttention, TransformerDecoderLayer, TransformerEncoderLayer, padding_mask
from .layers import (Activation, AvgPool, Conv1D, Conv2D, Conv3D, ConvTranspose1D, ConvTranspose2D, ConvTranspose3D, Dense, Dropout,
                     Embedding, Flatten, GlobalAvgPool, GlobalMaxPool, MaxPool, Reshape)
from .model import Add, Concat, Input, Model
from .module import Module, Sequential, is_training, training
from .norms import BatchNorm, GroupNorm, LayerNorm, RMSNorm
from .recurrent import GRU, LSTM, Bidirectional, SimpleRNN

MaxPool1D = MaxPool2D = MaxPool3D = MaxPool  # how many dimensions there are is told by what comes in
AvgPool1D = AvgPool2D = AvgPool3D = AvgPool

__all__ = ["Activation", "Add", "AvgPool", "AvgPool1D", "AvgPool2D", "AvgPool3D", "BatchNorm", "Bidirectional", "Concat", "Conv1D", "Conv2D", "Conv3D",
           "ConvTranspose1D", "ConvTranspose2D", "ConvTranspose3D", "Dense", "Dropout", "Embedding", "Flatten", "GRU", "GlobalAvgPool",
           "GlobalMaxPool", "GroupNorm", "Input", "LSTM", "LayerNorm", "MaxPool", "MaxPool1D", "MaxPool2D", "MaxPool3D", "Model", "Module",
           "MultiHeadAttention", "RMSNorm", "Reshape", "Sequential", "SimpleRNN", "TransformerDecoderLayer", "TransformerEncoderLayer", "init",
           "is_training", "padding_mask", "training"]
