"""torch.nn: gantry.nn's layers with PyTorch's arguments, initial values and order of axes: channels come first, and weights of Linear are
[out, in]."""

import gantry as _gt
from gantry import nn as _nn
from gantry.graph import tracing as _tracing

from ... import _layers
from ..._names import missing as _missing
from .._tensor import Parameter, begin as _begin
from . import functional, init
from .losses import BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, HuberLoss, KLDivLoss, L1Loss, MSELoss, NLLLoss, SmoothL1Loss


class _Parameters:
    """The parameters that a network has when they are asked for: lazy layers make theirs at their first use."""

    def __init__(self, module):
        self._module = module

    def __iter__(self):
        return iter(_nn.Module.parameters(self._module))

    def __len__(self):
        return len(list(iter(self)))

    def __getitem__(self, index):
        return list(self)[index]


class Module(_nn.Module):
    """A part of a network; see gantry.nn.Module."""

    holder, training, _names = Parameter, True, {}

    def __call__(self, *inputs, **named):
        if _tracing() is None and (self.is_open or any(each.trainable for each in self.variables())):
            _begin()
        with _nn.training(self.training):
            return super().__call__(*inputs, **named)

    def parameters(self):
        return _Parameters(self)

    def train(self, mode=True):
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def to(self, device=None):
        return super().to(device)

    def cuda(self, device=0):
        return self.to(f"GPU:{device}")

    def cpu(self):
        return self.to("CPU:0")

    def zero_grad(self, set_to_none=True):
        for each in self.parameters():
            each.grad = None

    def requires_grad_(self, requires_grad=True):
        for each in self.variables():
            each.trainable = requires_grad
        return self

    def apply(self, fn):
        for module in reversed(self.modules()):
            fn(module)
        return self

    def children(self):
        return [part for _, part in self._parts() if isinstance(part, _nn.Module)]

    def _named_state(self):
        """Pairs of PyTorch's name and variable; what a Sequential has are its numbers."""
        named = [(f"{path}." if path else "", module) for path, module in self._named_modules()]
        sequences = sorted((path for path, module in named if isinstance(module, _nn.Sequential)), key=len, reverse=True)
        for path, module in named:
            for begin in sequences:
                if path.startswith(f"{begin}layers."):
                    path = begin + path[len(begin) + len("layers."):]
            names = getattr(module, "_names", {})
            yield from ((path + names.get(name, name), part) for name, part in module._parts() if isinstance(part, _gt.Variable))

    def state_dict(self):
        """Arrays by PyTorch's names."""
        return {name: each.data for name, each in self._named_state()}

    def load_state_dict(self, state_dict, strict=True):
        """Takes arrays, or PyTorch's tensors, by PyTorch's names; of batch norms the counts of batches are passed over."""
        own = dict(self._named_state())
        given = {name: values for name, values in state_dict.items() if not name.endswith("num_batches_tracked")}
        if strict and set(own) != set(given):
            lacks, besides = (sorted(names) or "nothing" for names in (set(own) - set(given), set(given) - set(own)))
            raise _gt.NotFoundError(f"the state lacks {lacks} and has {besides} besides")
        for name in set(own) & set(given):
            values = given[name]
            own[name].data = values if isinstance(values, _gt.Array) else \
                _gt.array(values.detach().cpu().numpy() if hasattr(values, "cpu") else values)


class Sequential(Module, _nn.Sequential):
    """Layers one after the other."""

    def __init__(self, *layers):
        _nn.Sequential.__init__(self, *layers)

    append = _nn.Sequential.add


class LazyLinear(Module, _layers.Linear):
    """x weight^T + bias over the last dimension; `weight` is [out, in]."""

    def __init__(self, out_features, bias=True, device=None, dtype="float32"):
        _layers.Linear.__init__(self, out_features, None, bias, "fan_in_uniform", dtype, initial_bias="fan_in_uniform")
        if device is not None:
            self.to(device)


class Linear(LazyLinear):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype="float32"):
        super().__init__(out_features, bias, device, dtype)
        self._build((1, in_features))


def _conv(base, spatial, is_transposed=False):
    """A convolution of channels first; and one whose channels are known when it is used."""
    def lazy(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, dtype="float32", output_padding=0):
        more = {"output_padding": output_padding} if is_transposed else {}
        base.__init__(self, out_channels, kernel_size, None, stride, padding, dilations=dilation, groups=groups, bias=bias,
                      channels="first", initial="fan_in_uniform", dtype=dtype, initial_bias="fan_in_uniform", **more)

    def known(self, in_channels, out_channels, kernel_size, *arguments, **named):
        lazy(self, out_channels, kernel_size, *arguments, **named)
        self._build((1, in_channels, *(1,) * spatial))
    name = f"Conv{'Transpose' if is_transposed else ''}{spatial}d"
    made = type(f"Lazy{name}", (Module, base), {"__init__": lazy, "__module__": __name__, "__doc__": base.__doc__})
    return made, type(name, (made,), {"__init__": known, "__module__": __name__, "__doc__": base.__doc__})


(LazyConv1d, Conv1d), (LazyConv2d, Conv2d), (LazyConv3d, Conv3d) = (
    _conv(base, i) for i, base in enumerate((_nn.Conv1D, _nn.Conv2D, _nn.Conv3D), 1))
(LazyConvTranspose1d, ConvTranspose1d), (LazyConvTranspose2d, ConvTranspose2d) = (
    _conv(base, i, True) for i, base in enumerate((_nn.ConvTranspose1D, _nn.ConvTranspose2D), 1))


class Embedding(Module, _nn.Embedding):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, dtype="float32"):
        _nn.Embedding.__init__(self, num_embeddings, embedding_dim, padding_idx, "normal", dtype)
        self._build((1, 1))


class _Pool:
    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__(kernel_size, stride, padding or "valid", "first")


class _MaxPool(_Pool, Module, _nn.MaxPool):
    pass


class _AvgPool(_Pool, Module, _nn.AvgPool):
    def __init__(self, kernel_size, stride=None, padding=0):
        if padding:
            raise _gt.InvalidArgumentError("an average with a border, which PyTorch counts as zeros, is not there; pad in front of it")
        super().__init__(kernel_size, stride)


MaxPool1d, MaxPool2d, MaxPool3d = (type(f"MaxPool{i}d", (_MaxPool,), {}) for i in (1, 2, 3))
AvgPool1d, AvgPool2d, AvgPool3d = (type(f"AvgPool{i}d", (_AvgPool,), {}) for i in (1, 2, 3))


class AdaptiveAvgPool2d(Module):
    """The mean of each channel, for an output of 1."""

    def __init__(self, output_size):
        super().__init__()
        if output_size not in (1, (1, 1)):
            raise _gt.InvalidArgumentError(f"an adaptive average has an output of 1 here, got {output_size}")

    def forward(self, x):
        return _gt.mean(x, (2, 3), keep_dims=True)


class _BatchNorm(Module, _nn.BatchNorm):
    _names = {"scale": "weight", "mean": "running_mean", "variance": "running_var"}

    def __init__(self, num_features, eps=1e-5, momentum=0.1, dtype="float32"):
        _nn.BatchNorm.__init__(self, 1 - momentum, eps, True, "first", dtype)
        self._build((1, num_features))


BatchNorm1d, BatchNorm2d, BatchNorm3d = (type(f"BatchNorm{i}d", (_BatchNorm,), {}) for i in (1, 2, 3))


class SyncBatchNorm(_BatchNorm):
    """A batch norm by the statistics of all replicas."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, dtype="float32"):
        super().__init__(num_features, eps, momentum, dtype)
        self._sync = True

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """Has all batch norms of a network be so; gives the network."""
        for each in module.modules():
            if isinstance(each, _BatchNorm):
                each._sync = True
        return module


class LayerNorm(Module, _nn.LayerNorm):
    _names = {"scale": "weight"}

    def __init__(self, normalized_shape, eps=1e-5, dtype="float32"):
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        _nn.LayerNorm.__init__(self, eps, len(shape), dtype)
        self._build((1, *shape))


class Dropout(Module, _nn.Dropout):
    def __init__(self, p=0.5):
        _nn.Dropout.__init__(self, p)


class Flatten(Module, _nn.Flatten):
    def __init__(self):
        _nn.Flatten.__init__(self)


class Identity(Module):
    def forward(self, x):
        return x


class _Activation(Module, _nn.Activation):
    function = None

    def __init__(self, inplace=False):
        _nn.Activation.__init__(self, type(self).function)


ReLU, Sigmoid, Tanh, GELU, SiLU, Softplus, ELU, LeakyReLU = (
    type(name, (_Activation,), {"function": name.lower() if name != "LeakyReLU" else "leaky_relu"})
    for name in ("ReLU", "Sigmoid", "Tanh", "GELU", "SiLU", "Softplus", "ELU", "LeakyReLU"))


class Softmax(Module):
    def __init__(self, dim=-1):
        super().__init__()
        self._dim = dim

    def forward(self, x):
        return _gt.softmax(x, self._dim)


from .recurrent import GRU, LSTM, RNN  # noqa: E402,F401


def __getattr__(name):
    return _missing(f"torch.nn.{name}")
