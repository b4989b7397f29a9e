"""tf.nn, forward: images are [batch, height, width, channels]."""

import gantry as _gt
from gantry import math as _math

relu, elu, tanh, sigmoid, softplus, softsign, silu = (_gt.relu, lambda x: _gt.elu(x, 1.0), _gt.tanh, _gt.sigmoid, _gt.softplus,
                                                      _gt.softsign, _gt.silu)
swish = silu


def relu6(features, name=None):
    return _gt.ops.clamp(_math.tensor(features), 0, 6)


def gelu(features, approximate=False, name=None):
    return _gt.ops.gelu(features, approximate=approximate)


def leaky_relu(features, alpha=0.2, name=None):
    return _gt.ops.leaky_relu(features, alpha)


def softmax(logits, axis=-1, name=None):
    return _gt.softmax(logits, axis)


def log_softmax(logits, axis=-1, name=None):
    logits = _math.tensor(logits)
    return _gt.ops.log_softmax(logits, axis % len(logits.shape))


def bias_add(value, bias, data_format=None, name=None):
    """Adds a number to each channel."""
    return value + (_math.reshape(bias, (-1, 1, 1)) if data_format == "NCHW" else bias)


def l2_loss(t, name=None):
    """Half of the sum of squares."""
    t = _math.tensor(t)
    return _gt.sum(t * t) / 2


def _two(sizes, what):
    """Sizes of height and width, of one number, two, or four with those of batch and channels."""
    listed = [sizes] * 2 if isinstance(sizes, int) else list(sizes)
    if len(listed) == 4 and listed[0] == listed[3] == 1:
        listed = listed[1:3]
    if len(listed) != 2:
        raise _gt.InvalidArgumentError(f"{what} are those of height and width, got {sizes!r}")
    return listed


def _pads(padding, size, window, strides, dilations):
    """Of height or width, as TensorFlow does: what is left over of SAME goes behind."""
    if padding == "VALID":
        return 0, 0
    if padding != "SAME":
        raise _gt.InvalidArgumentError(f"padding is {padding!r}; it can be 'SAME' or 'VALID'")
    out = -(-size // strides)
    total = max(0, (out - 1) * strides + dilations * (window - 1) + 1 - size)
    return total // 2, total - total // 2


def _windows(x, window, strides, padding, dilations):
    """The attributes of ops that go over windows."""
    strides, dilations = _two(strides, "strides"), _two(dilations, "dilations")
    pads = [_pads(padding, *each) for each in zip(x.shape[1:3], window, strides, dilations)]
    return {"strides": tuple(strides), "pads_low": tuple(low for low, _ in pads), "pads_high": tuple(high for _, high in pads),
            "dilations": tuple(dilations)}


def _channels_first(x):
    return _math.tensor(x).transpose(0, 3, 1, 2)


def conv2d(input, filters, strides, padding, data_format="NHWC", dilations=1, name=None):
    """Filters are [height, width, channels in, channels out]."""
    x, filters = _math.tensor(input), _math.tensor(filters)
    made = _windows(x, filters.shape[:2], strides, padding, dilations)
    groups = x.shape[3] // filters.shape[2]
    return _gt.ops.conv(_channels_first(x), filters.transpose(3, 2, 0, 1), groups=groups, **made).transpose(0, 2, 3, 1)


def _pool(op):
    def pool(input, ksize, strides, padding, data_format="NHWC", name=None):
        x, window = _math.tensor(input), _two(ksize, "windows")
        made = _windows(x, window, strides, padding, 1)
        return op(_channels_first(x), window=tuple(window), **made).transpose(0, 2, 3, 1)
    return pool


max_pool, avg_pool = _pool(_gt.ops.max_pool), _pool(_gt.ops.avg_pool)
max_pool2d, avg_pool2d = max_pool, avg_pool


def lrn(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):
    """Divides each channel by what its neighbours have."""
    size = 2 * depth_radius + 1  # whose mean the op multiplies by alpha, TensorFlow their sum
    return _gt.ops.lrn(_channels_first(input), size, float(alpha) * size, float(beta), float(bias)).transpose(0, 2, 3, 1)


local_response_normalization = lrn


def softmax_cross_entropy_with_logits(labels, logits, axis=-1, name=None):
    return -_gt.sum(_math.tensor(labels) * log_softmax(logits, axis), axis)


def sparse_softmax_cross_entropy_with_logits(labels, logits, name=None):
    """Of the class that each label names."""
    logits, labels = _math.tensor(logits), _math.tensor(labels)
    chosen = _gt.ops.gather_elements(log_softmax(logits), _gt.expand_dims(labels, -1), len(logits.shape) - 1)
    return -_gt.squeeze(chosen, -1)
