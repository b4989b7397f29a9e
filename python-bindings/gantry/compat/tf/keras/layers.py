"""tf.keras.layers: gantry.nn's layers with Keras's arguments."""

import numpy as _np

import gantry as _gt
from gantry import nn as _nn
from gantry.graph import Value as _Value

from ..._names import missing as _missing
from . import activations as _activations, initializers as _initializers

__path__ = []  # so that a name that is missing is told on import, too


class Layer:
    """What Keras's layers have besides: `weights`, `kernel`, `get_weights`, `trainable`; and what they know of their input."""

    _input = None  # the shape of an input without its rows, and its type
    _kernel_axes = None  # of a kernel as Keras has it: the axes of its own
    _keeps_mask = False  # whether what it gives has the mask of what it is given: which steps count

    def __call__(self, *inputs, **named):
        made = super().__call__(*inputs, **named)
        if self._keeps_mask and isinstance(made, _Value):
            made.mask = getattr(inputs[0], "mask", None)
        return made

    def _take(self, options):
        """Arguments that all layers have; InvalidArgumentError for those that are not there."""
        shape = options.pop("input_shape", None) or options.pop("batch_input_shape", (None, None))[1:]
        length, size = options.pop("input_length", None), options.pop("input_dim", None)
        shape = (length,) if length is not None else (size,) if size is not None else tuple(shape)
        if None not in shape and shape:
            self._input = shape, "int32" if isinstance(self, _nn.Embedding) else "float32"
        if not options.pop("trainable", True):
            self.trainable = False
        if options:
            raise _gt.InvalidArgumentError(f"{type(self).__name__} has no argument '{next(iter(options))}' here; penalties on weights are "
                                           "l2= and decay= of gantry.optim's optimizers, what else there is has gantry.nn")

    @property
    def weights(self):
        return self.variables()

    trainable_weights = property(lambda self: self.parameters())
    trainable_variables = trainable_weights

    @property
    def non_trainable_weights(self):
        return [each for each in self.variables() if not each.trainable]

    @property
    def kernel(self):
        return self.weight

    @property
    def trainable(self):
        return not vars(self).get("_frozen", False)

    @trainable.setter
    def trainable(self, on):
        self.unfreeze() if on else self.freeze()

    def count_params(self):
        return sum(each.size for each in self.variables())

    def get_weights(self):
        """NumPy arrays, in Keras's order of axes."""
        return [_np.ascontiguousarray(each.numpy().transpose(axes)) if axes else each.numpy() for each, axes in self._turned()]

    def set_weights(self, weights):
        """Takes what `get_weights` gives, also of Keras."""
        turned = self._turned()
        if len(turned) != len(weights):
            raise _gt.InvalidArgumentError(f"{self.name} has {len(turned)} weights, and is given {len(weights)}")
        for (variable, axes), values in zip(turned, weights):
            values = _np.asarray(values, variable.dtype.numpy)
            variable.assign(values.transpose(_np.argsort(axes)) if axes else values)

    def _turned(self):
        """Pairs of a variable and the axes that Keras has of it, none where they are the same."""
        found = {}
        for module in self.modules():
            axes = getattr(module, "_kernel_axes", None)
            for name, part in module._parts():
                if isinstance(part, _gt.Variable):
                    found[part] = axes if name == "weight" else None
        return [(each, found.get(each)) for each in self.variables()]


def Input(shape=None, batch_size=None, dtype=None, name=None):
    """Where a Model begins: the shape of one row."""
    node = _nn.Input(name)
    node.shape, node.dtype = tuple(shape or ()), dtype or "float32"
    return node


InputLayer = Input


def _channels(data_format):
    return "first" if data_format == "channels_first" else "last"


class Dense(Layer, _nn.Dense):
    _keeps_mask = True

    def __init__(self, units, activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
                 dtype="float32", name=None, **options):
        _nn.Dense.__init__(self, units, _activations.get(activation), use_bias, _initializers.get(kernel_initializer), dtype, name,
                           _initializers.get(bias_initializer))
        self._take(options)


class Embedding(Layer, _nn.Embedding):
    """`mask_zero`: ids of 0 are no steps to recurrent layers, and to averages over steps, that come behind."""

    def __init__(self, input_dim, output_dim, embeddings_initializer="uniform", mask_zero=False, dtype="float32", name=None, **options):
        _nn.Embedding.__init__(self, int(input_dim), output_dim, initial=_initializers.get(embeddings_initializer), dtype=dtype, name=name)
        self._mask_zero = mask_zero
        self._take(options)

    def forward(self, ids):
        made = super().forward(ids)
        if self._mask_zero and isinstance(made, _Value):
            made.mask = self.compute_mask(ids)
        return made

    def compute_mask(self, ids, mask=None):
        return ids != 0 if self._mask_zero else None


def _conv(base, spatial):
    """A convolution of gantry.nn by Keras's arguments; of its kernel Keras has the first two axes behind the window, the other way round."""
    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=None, dilation_rate=1, groups=1, activation=None,
                 use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros", dtype="float32", name=None, **options):
        base.__init__(self, filters, kernel_size, _activations.get(activation), strides, padding, dilations=dilation_rate, groups=groups,
                      bias=use_bias, channels=_channels(data_format), initial=_initializers.get(kernel_initializer), dtype=dtype,
                      name=name, initial_bias=_initializers.get(bias_initializer))
        self._take(options)
    is_transposed = issubclass(base, _nn.layers._ConvTranspose)
    name = f"Conv{spatial}D" + ("Transpose" if is_transposed else "")
    return type(name, (Layer, base), {"__init__": __init__, "_kernel_axes": (*range(2, 2 + spatial), 1, 0), "__module__": __name__,
                                     "__doc__": base.__doc__})


Conv1D, Conv2D, Conv3D = (_conv(base, i) for i, base in enumerate((_nn.Conv1D, _nn.Conv2D, _nn.Conv3D), 1))
Conv1DTranspose, Conv2DTranspose, Conv3DTranspose = (
    _conv(base, i) for i, base in enumerate((_nn.ConvTranspose1D, _nn.ConvTranspose2D, _nn.ConvTranspose3D), 1))
Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D


def _pool(base, name):
    def __init__(self, pool_size=2, strides=None, padding="valid", data_format=None, name=None, **options):
        base.__init__(self, pool_size, strides, padding, _channels(data_format), name)
        self._take(options)
    return type(name, (Layer, base), {"__init__": __init__, "__module__": __name__, "__doc__": base.__doc__})


MaxPooling1D, MaxPooling2D, MaxPooling3D = (_pool(_nn.MaxPool, f"MaxPooling{i}D") for i in (1, 2, 3))
AveragePooling1D, AveragePooling2D, AveragePooling3D = (_pool(_nn.AvgPool, f"AveragePooling{i}D") for i in (1, 2, 3))
MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D


def _plain(base, name, *given):
    """A layer whose arguments are Keras's already."""
    def __init__(self, *arguments, name=None, **options):
        base.__init__(self, *arguments, **{key: options.pop(key) for key in given if key in options}, name=name)
        self._take(options)
    return type(name, (Layer, base), {"__init__": __init__, "__module__": __name__, "__doc__": base.__doc__})


Flatten, Add = _plain(_nn.Flatten, "Flatten"), _plain(_nn.Add, "Add")
GlobalMaxPooling1D, GlobalMaxPooling2D = (_plain(_nn.GlobalMaxPool, f"GlobalMaxPooling{i}D") for i in (1, 2))
GlobalAveragePooling2D = _plain(_nn.GlobalAvgPool, "GlobalAveragePooling2D")
Concatenate = _plain(_nn.Concat, "Concatenate", "axis")


def _listed(base):
    """Layers of several inputs are given a list of them."""
    call = base.__call__

    def __call__(self, inputs, *others):
        return call(self, *inputs, *others) if isinstance(inputs, (list, tuple)) else call(self, inputs, *others)
    base.__call__ = __call__


_listed(Add)
_listed(Concatenate)


class Reshape(Layer, _nn.Reshape):
    def __init__(self, target_shape, name=None, **options):
        _nn.Reshape.__init__(self, *target_shape, name=name)
        self._take(options)


class Dropout(Layer, _nn.Dropout):
    _keeps_mask = True

    def __init__(self, rate, name=None, **options):
        _nn.Dropout.__init__(self, rate, name)
        self._take(options)


class Activation(Layer, _nn.Activation):
    _keeps_mask = True

    def __init__(self, activation, name=None, **options):
        _nn.Activation.__init__(self, _activations.get(activation), name)
        self._take(options)


class ReLU(Activation):
    def __init__(self, name=None, **options):
        super().__init__("relu", name, **options)


class Softmax(Activation):
    def __init__(self, axis=-1, name=None, **options):
        super().__init__(lambda x: _activations.softmax(x, axis), name, **options)


class BatchNormalization(Layer, _nn.BatchNorm):
    """Averages keep 0.99 of what they are; the variance of images enters its average times n / (n - 1), as Keras's fused kernel has it.
    `synchronized`: the statistics are those of all replicas."""
    _keeps_mask = True

    def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, dtype="float32", name=None, synchronized=False, **options):
        _nn.BatchNorm.__init__(self, momentum, epsilon, channels="last" if axis == -1 else "first", dtype=dtype, name=name,
                               sync=synchronized)
        self._take(options)

    def build(self, shape):
        self._unbiased = len(shape) == 4
        super().build(shape)

    gamma, beta = property(lambda self: self.scale), property(lambda self: self.bias)
    moving_mean, moving_variance = property(lambda self: self.mean), property(lambda self: self.variance)


class LayerNormalization(Layer, _nn.LayerNorm):
    _keeps_mask = True

    def __init__(self, epsilon=1e-3, dtype="float32", name=None, **options):
        _nn.LayerNorm.__init__(self, epsilon, dtype=dtype, name=name)
        self._take(options)


from ._recurrent import (  # noqa: E402,F401
    GRU, LSTM, Bidirectional, GlobalAveragePooling1D, Masking, RepeatVector, SimpleRNN, TimeDistributed)


def __getattr__(name):
    return _missing(f"tf.keras.layers.{name}")
