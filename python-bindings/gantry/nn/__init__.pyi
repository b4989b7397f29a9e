from . import init as init
from .attention import (MultiHeadAttention as MultiHeadAttention, TransformerDecoderLayer as TransformerDecoderLayer,
                        TransformerEncoderLayer as TransformerEncoderLayer, padding_mask as padding_mask)
from .layers import (Activation as Activation, AvgPool as AvgPool, Conv1D as Conv1D, Conv2D as Conv2D, Conv3D as Conv3D,
                     ConvTranspose1D as ConvTranspose1D, ConvTranspose2D as ConvTranspose2D, ConvTranspose3D as ConvTranspose3D,
                     Dense as Dense, Dropout as Dropout, Embedding as Embedding, Flatten as Flatten,
                     GlobalAvgPool as GlobalAvgPool, GlobalMaxPool as GlobalMaxPool, MaxPool as MaxPool, Reshape as Reshape)
from .model import Add as Add, Concat as Concat, Input as Input, Model as Model
from .module import Module as Module, Sequential as Sequential, is_training as is_training, training as training
from .norms import BatchNorm as BatchNorm, GroupNorm as GroupNorm, LayerNorm as LayerNorm, RMSNorm as RMSNorm
from .recurrent import GRU as GRU, LSTM as LSTM, Bidirectional as Bidirectional, SimpleRNN as SimpleRNN

MaxPool1D = MaxPool
MaxPool2D = MaxPool
MaxPool3D = MaxPool
AvgPool1D = AvgPool
AvgPool2D = AvgPool
AvgPool3D = AvgPool
