"""Every op as a function, on arrays at once and on values of graphs.

Made by tools/dev/generate_python.py from the op definitions; edit those.
"""

from ._apply import apply as _apply


def abs(input, *, device=None, name=None):
    """Compute |x| of each element.

    Computes |x| element by element; NaN in gives NaN out.
    """
    return _apply("abs", (input,), (), device, name)


def acos(input, *, device=None, name=None):
    """Compute the inverse cosine in radians of each element.

    Computes the inverse cosine in radians element by element; NaN in gives NaN out.
    """
    return _apply("acos", (input,), (), device, name)


def acosh(input, *, device=None, name=None):
    """Compute the inverse hyperbolic cosine of each element.

    Computes the inverse hyperbolic cosine element by element; NaN in gives NaN out.
    """
    return _apply("acosh", (input,), (), device, name)


def add(lhs, rhs, *, device=None, name=None):
    """Compute a + b element by element.

    Computes a + b of operands of one element type, broadcast to each other.
    """
    return _apply("add", (lhs, rhs), (), device, name)


def add_n(inputs, *, device=None, name=None):
    """Add several tensors.

    Adds one or more tensors of the same type, from left to right.
    """
    return _apply("add_n", tuple(inputs), (), device, name)


def argmax(input, axis, *, keep_dims=False, last=False, device=None, name=None):
    """Find the index of the largest element along a dimension.

    Finds the first index of the largest element along `axis`, or the last one with `last`; the dimension
    disappears, or stays with size 1 under `keep_dims`. NaN wins over every number. The dimension has elements,
    since none has an index.
    """
    return _apply("argmax", (input,), (("axis", 1, axis), ("keep_dims", 0, keep_dims), ("last", 0, last)), device,
                  name)


def argmin(input, axis, *, keep_dims=False, last=False, device=None, name=None):
    """Find the index of the smallest element along a dimension.

    Finds the first index of the smallest element along `axis`, or the last one with `last`; the dimension
    disappears, or stays with size 1 under `keep_dims`. NaN wins over every number. The dimension has elements,
    since none has an index.
    """
    return _apply("argmin", (input,), (("axis", 1, axis), ("keep_dims", 0, keep_dims), ("last", 0, last)), device,
                  name)


def asin(input, *, device=None, name=None):
    """Compute the inverse sine in radians of each element.

    Computes the inverse sine in radians element by element; NaN in gives NaN out.
    """
    return _apply("asin", (input,), (), device, name)


def asinh(input, *, device=None, name=None):
    """Compute the inverse hyperbolic sine of each element.

    Computes the inverse hyperbolic sine element by element; NaN in gives NaN out.
    """
    return _apply("asinh", (input,), (), device, name)


def atan(input, *, device=None, name=None):
    """Compute the inverse tangent in radians of each element.

    Computes the inverse tangent in radians element by element; NaN in gives NaN out.
    """
    return _apply("atan", (input,), (), device, name)


def atanh(input, *, device=None, name=None):
    """Compute the inverse hyperbolic tangent of each element.

    Computes the inverse hyperbolic tangent element by element; NaN in gives NaN out.
    """
    return _apply("atanh", (input,), (), device, name)


def attention(query, key, value, mask=None, *, scale, causal=False, device=None, name=None):
    """Attend: softmax(scale q k^T + mask) v.

    Query [..., t, d], key [..., s, d], value [..., s, e], optional additive mask broadcast to [..., t, s];
    result [..., t, e]. `causal` hides key j from query i where j > i.
    """
    return _apply("attention", (query, key, value, mask), (("scale", 2, scale), ("causal", 0, causal)), device, name)


def avg_pool(input, window, strides, pads_low, pads_high, dilations, *, ceil_mode=False, count_include_pad=False,
             device=None, name=None):
    """Take the mean of each window.

    Takes the mean over windows of the spatial dimensions of [n, c, spatial...]; the border does not take part
    unless said so. Spatial sizes are as for `gantry.conv`, or rounded up with `ceil_mode` (a window then starts
    inside the input or its low border; what reaches beyond the high border never takes part). Passes set
    `layout` NHWC: images are [n, spatial..., c].
    """
    return _apply("avg_pool", (input,), (("window", 4, window), ("strides", 4, strides), ("pads_low", 4, pads_low),
                  ("pads_high", 4, pads_high), ("dilations", 4, dilations), ("ceil_mode", 0, ceil_mode),
                  ("count_include_pad", 0, count_include_pad)), device, name)


def batch_norm(input, scale, bias, mean, variance, epsilon, *, device=None, name=None):
    """Normalise each channel with given statistics.

    (x - mean) / sqrt(variance + epsilon) * scale + bias for [n, c, ...], the four each of shape [c]. This is
    the inference form, an elementwise op that joins what comes before it. Passes set `layout` NHWC: images are
    [n, ..., c].
    """
    return _apply("batch_norm", (input, scale, bias, mean, variance), (("epsilon", 2, epsilon),), device, name)


def bitwise_and(lhs, rhs, *, device=None, name=None):
    """Compute the bits set in both element by element.

    Computes the bits set in both of operands of one element type, broadcast to each other.
    """
    return _apply("bitwise_and", (lhs, rhs), (), device, name)


def bitwise_not(input, *, device=None, name=None):
    """Compute the complement of the bits of each element.

    Computes the complement of the bits element by element; NaN in gives NaN out.
    """
    return _apply("bitwise_not", (input,), (), device, name)


def bitwise_or(lhs, rhs, *, device=None, name=None):
    """Compute the bits set in either element by element.

    Computes the bits set in either of operands of one element type, broadcast to each other.
    """
    return _apply("bitwise_or", (lhs, rhs), (), device, name)


def bitwise_xor(lhs, rhs, *, device=None, name=None):
    """Compute the bits set in one element by element.

    Computes the bits set in one of operands of one element type, broadcast to each other.
    """
    return _apply("bitwise_xor", (lhs, rhs), (), device, name)


def broadcast(input, shape, *, device=None, name=None):
    """Stretch dimensions of size 1.

    Repeats the input to the result's shape, aligned at the last dimension as in NumPy.
    """
    return _apply("broadcast", (input,), (), device, name, (shape, None))


def cast(input, dtype, *, device=None, name=None):
    """Convert the element type.

    Converts each element: floats to integers toward zero and saturating at the ends of the type, NaN to 0;
    numbers to i1 as "is not zero", i1 to 0 and 1, narrower floats to nearest even, f64 to f16 and bf16 by way
    of f32; integers to narrower ones by dropping the upper bits.
    """
    return _apply("cast", (input,), (), device, name, (None, dtype))


def ceil(input, *, device=None, name=None):
    """Compute the smallest integer not below x of each element.

    Computes the smallest integer not below x element by element; NaN in gives NaN out.
    """
    return _apply("ceil", (input,), (), device, name)


def celu(input, alpha, *, device=None, name=None):
    """Compute max(0, x) + min(0, alpha (e^(x/alpha) - 1)) of each element.

    Computes max(0, x) + min(0, alpha (e^(x/alpha) - 1)) element by element; NaN in gives NaN out.
    """
    return _apply("celu", (input,), (("alpha", 2, alpha),), device, name)


def clamp(input, low, high, *, device=None, name=None):
    """Limit each element to a range.

    Computes min(max(x, low), high); `low` and `high` broadcast.
    """
    return _apply("clamp", (input, low, high), (), device, name)


def compare(lhs, rhs, direction, *, device=None, name=None):
    """Compare two tensors element by element.

    True where the relation holds between operands of one element type, broadcast to each other; comparisons
    with NaN are false, but for `ne`.

    direction: "eq", "ne", "lt", "le", "gt", "ge"
    """
    return _apply("compare", (lhs, rhs), (("direction", 9, direction),), device, name)


def concat(inputs, axis, *, device=None, name=None):
    """Join tensors along a dimension.

    The inputs agree in all dimensions but `axis`.
    """
    return _apply("concat", tuple(inputs), (("axis", 1, axis),), device, name)


def conv(input, filter, strides, pads_low, pads_high, dilations, groups, *, device=None, name=None):
    """Convolve a batch of images with filters.

    Input [n, c, spatial...], filter [o, c / groups, window...], result [n, o, spatial...] with one to three
    spatial dimensions; a spatial size is floor((in + low + high - dilation (window - 1) - 1) / stride) + 1.
    Outside the input are zeros. Element types are those of `gantry.matmul`: 8-bit integers of either sign give
    i32. What passes set: `accumulate_type` as of `gantry.matmul`. `layout` NHWC: images are [n, spatial..., c]
    and the filter is packed, [o / panel, window..., c / groups, panel], so that its first and last dimension
    together count the output channels; filters of bf16 have 2 channels side by side, of bytes 4: [o / panel,
    window..., c / groups / 4, panel, 4]. `border`, of floating point: `plus_zero` adds +0 behind the sums, so
    that one that underflowed to -0 is the same whether products with the border's zeros came after it or not;
    `unseen` says that nobody sees whether weights are multiplied by these zeros, so that kernels may leave the
    products out.
    """
    return _apply("conv", (input, filter), (("strides", 4, strides), ("pads_low", 4, pads_low), ("pads_high", 4,
                  pads_high), ("dilations", 4, dilations), ("groups", 1, groups)), device, name)


def conv_filter_grad(input, cotangent, window, strides, pads_low, pads_high, dilations, groups, *, device=None,
                     name=None):
    """Sum up what a filter of a convolution gets.

    The gradient of the filter of a `gantry.conv` of `input` [n, c, spatial...], which gave a result that has
    the cotangent `cotangent` [n, o, spatial...]: [o, c / groups, window...], each element the sum over images
    and places of the cotangent times the input that the element was multiplied by. `window` is the filter's
    spatial shape, the other attributes are those of the convolution. Sums are accumulated in f32 for f16 and
    bf16, else in the element type.
    """
    return _apply("conv_filter_grad", (input, cotangent), (("window", 4, window), ("strides", 4, strides),
                  ("pads_low", 4, pads_low), ("pads_high", 4, pads_high), ("dilations", 4, dilations), ("groups", 1,
                  groups)), device, name)


def conv_transpose(input, filter, strides, pads_low, pads_high, dilations, output_pads, groups, *, device=None,
                   name=None):
    """Convolve transposed: spread each pixel over a window.

    Input [n, c, spatial...], filter [c, o / groups, window...], result [n, o, spatial...]; a spatial size is
    stride (in - 1) + dilation (window - 1) + 1 - low - high + output_pads. Passes also make it of images [n,
    spatial..., c] with a packed filter [o / panel, window..., c, panel].
    """
    return _apply("conv_transpose", (input, filter), (("strides", 4, strides), ("pads_low", 4, pads_low),
                  ("pads_high", 4, pads_high), ("dilations", 4, dilations), ("output_pads", 4, output_pads),
                  ("groups", 1, groups)), device, name)


def cos(input, *, device=None, name=None):
    """Compute cos(x), x in radians of each element.

    Computes cos(x), x in radians element by element; NaN in gives NaN out.
    """
    return _apply("cos", (input,), (), device, name)


def cosh(input, *, device=None, name=None):
    """Compute the hyperbolic cosine of each element.

    Computes the hyperbolic cosine element by element; NaN in gives NaN out.
    """
    return _apply("cosh", (input,), (), device, name)


def cumsum(input, axis, *, exclusive=False, reverse=False, device=None, name=None):
    """Sum up along a dimension.

    Element i along `axis` is the sum of elements 0..i; `exclusive` leaves element i itself out, `reverse` sums
    from the end.
    """
    return _apply("cumsum", (input,), (("axis", 1, axis), ("exclusive", 0, exclusive), ("reverse", 0, reverse)),
                  device, name)


def div(lhs, rhs, *, device=None, name=None):
    """Compute a / b (integers: rounded toward zero, 0 where b is 0) element by element.

    Computes a / b (integers: rounded toward zero, 0 where b is 0) of operands of one element type, broadcast to
    each other.
    """
    return _apply("div", (lhs, rhs), (), device, name)


def dropout(input, ratio, *, device=None, name=None):
    """Drop elements while training.

    At inference the identity; Simplify removes it.
    """
    return _apply("dropout", (input,), (("ratio", 2, ratio),), device, name)


def elu(input, alpha, *, device=None, name=None):
    """Compute x, or alpha (e^x - 1) below 0 of each element.

    Computes x, or alpha (e^x - 1) below 0 element by element; NaN in gives NaN out.
    """
    return _apply("elu", (input,), (("alpha", 2, alpha),), device, name)


def erf(input, *, device=None, name=None):
    """Compute the error function of each element.

    Computes the error function element by element; NaN in gives NaN out.
    """
    return _apply("erf", (input,), (), device, name)


def exp(input, *, device=None, name=None):
    """Compute e^x of each element.

    Computes e^x element by element; NaN in gives NaN out.
    """
    return _apply("exp", (input,), (), device, name)


def expm1(input, *, device=None, name=None):
    """Compute e^x - 1 of each element.

    Computes e^x - 1 element by element; NaN in gives NaN out.
    """
    return _apply("expm1", (input,), (), device, name)


def floor(input, *, device=None, name=None):
    """Compute the largest integer not above x of each element.

    Computes the largest integer not above x element by element; NaN in gives NaN out.
    """
    return _apply("floor", (input,), (), device, name)


def gather(input, indices, axis, *, device=None, name=None):
    """Take slices at indices along a dimension.

    Result shape: the input's with dimension `axis` replaced by the shape of `indices`. Negative indices count
    from the end; indices outside are clamped.
    """
    return _apply("gather", (input, indices), (("axis", 1, axis),), device, name)


def gather_elements(input, indices, axis, *, device=None, name=None):
    """Take elements at indices along a dimension.

    Result element [..., i, ...] is input element [..., indices[..., i, ...], ...] along `axis`; the result has
    the shape of `indices`.
    """
    return _apply("gather_elements", (input, indices), (("axis", 1, axis),), device, name)


def gather_nd(input, indices, batch_dims, *, device=None, name=None):
    """Take slices at index tuples.

    The last dimension of `indices` holds tuples that address the input's dimensions after the first
    `batch_dims`, which both share.
    """
    return _apply("gather_nd", (input, indices), (("batch_dims", 1, batch_dims),), device, name)


def gelu(input, *, approximate=False, device=None, name=None):
    """Compute x * (1 + erf(x / sqrt 2)) / 2, or with `approximate` 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) of each element.

    Computes x * (1 + erf(x / sqrt 2)) / 2, or with `approximate` 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715
    x^3))) element by element; NaN in gives NaN out.
    """
    return _apply("gelu", (input,), (("approximate", 0, approximate),), device, name)


def group_norm(input, scale, bias, groups, epsilon, *, device=None, name=None):
    """Normalise over groups of channels.

    For [n, c, ...]: channels form `groups` groups, each normalised with its own mean and variance over channels
    of the group and all spatial dimensions; then scale and bias per channel, of shape [c]. With as many groups
    as channels this is instance normalisation.
    """
    return _apply("group_norm", (input, scale, bias), (("groups", 1, groups), ("epsilon", 2, epsilon)), device, name)


def hard_sigmoid(input, alpha, beta, *, device=None, name=None):
    """Compute max(0, min(1, alpha x + beta)) of each element.

    Computes max(0, min(1, alpha x + beta)) element by element; NaN in gives NaN out.
    """
    return _apply("hard_sigmoid", (input,), (("alpha", 2, alpha), ("beta", 2, beta)), device, name)


def hard_swish(input, *, device=None, name=None):
    """Compute x * max(0, min(1, x/6 + 1/2)) of each element.

    Computes x * max(0, min(1, x/6 + 1/2)) element by element; NaN in gives NaN out.
    """
    return _apply("hard_swish", (input,), (), device, name)


def iota(shape, axis, *, dtype="float32", device=None, name=None):
    """Count up along a dimension.

    Element at index i along `axis` is i.
    """
    return _apply("iota", (), (("axis", 1, axis),), device, name, (shape, dtype))


def is_inf(input, *, no_positive=False, no_negative=False, device=None, name=None):
    """Test whether each element is infinite; `no_positive` and `no_negative` leave one sign out.

    True where the element is infinite; `no_positive` and `no_negative` leave one sign out.
    """
    return _apply("is_inf", (input,), (("no_positive", 0, no_positive), ("no_negative", 0, no_negative)), device,
                  name)


def is_nan(input, *, device=None, name=None):
    """Test whether each element is not a number.

    True where the element is not a number.
    """
    return _apply("is_nan", (input,), (), device, name)


def layer_norm(input, scale, bias=None, *, axis, epsilon, device=None, name=None):
    """Normalise over the last dimensions.

    (x - mean) / sqrt(variance + epsilon) * scale + bias, mean and variance over dimensions `axis` to the last;
    scale and bias broadcast to the input.
    """
    return _apply("layer_norm", (input, scale, bias), (("axis", 1, axis), ("epsilon", 2, epsilon)), device, name)


def leaky_relu(input, alpha, *, device=None, name=None):
    """Compute x, or alpha x below 0 of each element.

    Computes x, or alpha x below 0 element by element; NaN in gives NaN out.
    """
    return _apply("leaky_relu", (input,), (("alpha", 2, alpha),), device, name)


def log(input, *, device=None, name=None):
    """Compute the natural logarithm of each element.

    Computes the natural logarithm element by element; NaN in gives NaN out.
    """
    return _apply("log", (input,), (), device, name)


def log1p(input, *, device=None, name=None):
    """Compute log(1 + x) of each element.

    Computes log(1 + x) element by element; NaN in gives NaN out.
    """
    return _apply("log1p", (input,), (), device, name)


def log_softmax(input, axis, *, device=None, name=None):
    """Compute x - log(sum(e^x)) along a dimension.

    Computes x - log(sum(e^x)) along `axis`, after subtracting the maximum, which keeps the exponentials finite.
    """
    return _apply("log_softmax", (input,), (("axis", 1, axis),), device, name)


def logical_and(lhs, rhs, *, device=None, name=None):
    """Compute a and b element by element.

    Computes a and b of operands of one element type, broadcast to each other.
    """
    return _apply("logical_and", (lhs, rhs), (), device, name)


def logical_not(input, *, device=None, name=None):
    """Compute not x of each element.

    Computes not x element by element; NaN in gives NaN out.
    """
    return _apply("logical_not", (input,), (), device, name)


def logical_or(lhs, rhs, *, device=None, name=None):
    """Compute a or b element by element.

    Computes a or b of operands of one element type, broadcast to each other.
    """
    return _apply("logical_or", (lhs, rhs), (), device, name)


def logical_xor(lhs, rhs, *, device=None, name=None):
    """Compute a or b but not both element by element.

    Computes a or b but not both of operands of one element type, broadcast to each other.
    """
    return _apply("logical_xor", (lhs, rhs), (), device, name)


def lp_pool(input, window, strides, pads_low, pads_high, dilations, p, *, ceil_mode=False, device=None, name=None):
    """Take the p-norm of each window.

    Takes the p-norm over windows of the spatial dimensions of [n, c, spatial...]; the border does not take part
    unless said so. Spatial sizes are as for `gantry.conv`, or rounded up with `ceil_mode` (a window then starts
    inside the input or its low border; what reaches beyond the high border never takes part). Passes set
    `layout` NHWC: images are [n, spatial..., c].
    """
    return _apply("lp_pool", (input,), (("window", 4, window), ("strides", 4, strides), ("pads_low", 4, pads_low),
                  ("pads_high", 4, pads_high), ("dilations", 4, dilations), ("ceil_mode", 0, ceil_mode), ("p", 2, p)),
                  device, name)


def lrn(input, size, alpha, beta, bias, *, device=None, name=None):
    """Normalise over neighbouring channels.

    x / (bias + alpha / size * sum(x^2 over `size` channels around))^beta, for [n, c, ...]; the window is
    floor((size-1)/2) channels before and ceil((size-1)/2) after, cut at the ends.
    """
    return _apply("lrn", (input,), (("size", 1, size), ("alpha", 2, alpha), ("beta", 2, beta), ("bias", 2, bias)),
                  device, name)


def matmul(lhs, rhs, *, transpose_a=False, transpose_b=False, device=None, name=None):
    """Multiply matrices.

    Multiplies the last two dimensions, [..., m, k] by [..., k, n] giving [..., m, n]; leading dimensions
    broadcast as in NumPy. `transpose_a` and `transpose_b` swap an operand's last two dimensions first. Sums are
    accumulated in f32 for f16 and bf16, else in the element type. Operands of 8-bit integers may differ in
    their sign; their sums are i32, exact modulo 2^32. `accumulate_type` = f32, of operands of f16 or bf16: the
    result is the accumulators as they are, and pairs of bf16 are added as processors add them
    (docs/Arithmetic.md). `block_quantized`: `rhs` is [n, bytes] of ui8, a row for each column of a matrix of
    f32 (with `transpose_b`). `by_library`: a library of GPUs is asked for it first, and it has a kernel of its
    own. Passes set all three.
    """
    return _apply("matmul", (lhs, rhs), (("transpose_a", 0, transpose_a), ("transpose_b", 0, transpose_b)), device,
                  name)


def max_pool(input, window, strides, pads_low, pads_high, dilations, *, ceil_mode=False, device=None, name=None):
    """Take the maximum of each window.

    Takes the maximum over windows of the spatial dimensions of [n, c, spatial...]; the border does not take
    part unless said so. Spatial sizes are as for `gantry.conv`, or rounded up with `ceil_mode` (a window then
    starts inside the input or its low border; what reaches beyond the high border never takes part). Passes set
    `layout` NHWC: images are [n, spatial..., c].
    """
    return _apply("max_pool", (input,), (("window", 4, window), ("strides", 4, strides), ("pads_low", 4, pads_low),
                  ("pads_high", 4, pads_high), ("dilations", 4, dilations), ("ceil_mode", 0, ceil_mode)), device,
                  name)


def max_pool_index(input, window, strides, pads_low, pads_high, dilations, *, ceil_mode=False, device=None,
                   name=None):
    """Find the place of the maximum in each window.

    For windows as those of `gantry.max_pool`: the place of the largest element in its window, counted in row-
    major order, the first one of equals; NaN is larger than every number. Where a window holds nothing but
    border it is the number of places. Up to 255 places the result is of ui8, else of i32.
    """
    return _apply("max_pool_index", (input,), (("window", 4, window), ("strides", 4, strides), ("pads_low", 4,
                  pads_low), ("pads_high", 4, pads_high), ("dilations", 4, dilations), ("ceil_mode", 0, ceil_mode)),
                  device, name)


def maximum(lhs, rhs, *, device=None, name=None):
    """Compute the larger of a and b element by element.

    Computes the larger of a and b of operands of one element type, broadcast to each other.
    """
    return _apply("maximum", (lhs, rhs), (), device, name)


def minimum(lhs, rhs, *, device=None, name=None):
    """Compute the smaller of a and b element by element.

    Computes the smaller of a and b of operands of one element type, broadcast to each other.
    """
    return _apply("minimum", (lhs, rhs), (), device, name)


def mish(input, *, device=None, name=None):
    """Compute x * tanh(softplus(x)) of each element.

    Computes x * tanh(softplus(x)) element by element; NaN in gives NaN out.
    """
    return _apply("mish", (input,), (), device, name)


def mod(lhs, rhs, *, device=None, name=None):
    """Compute the remainder of a / b with the sign of b (integers: 0 where b is 0) element by element.

    Computes the remainder of a / b with the sign of b (integers: 0 where b is 0) of operands of one element
    type, broadcast to each other.
    """
    return _apply("mod", (lhs, rhs), (), device, name)


def mul(lhs, rhs, *, device=None, name=None):
    """Compute a * b element by element.

    Computes a * b of operands of one element type, broadcast to each other.
    """
    return _apply("mul", (lhs, rhs), (), device, name)


def neg(input, *, device=None, name=None):
    """Compute -x of each element.

    Computes -x element by element; NaN in gives NaN out.
    """
    return _apply("neg", (input,), (), device, name)


def one_hot(indices, off_value, on_value, axis, depth, *, device=None, name=None):
    """Mark indices in a new dimension.

    Inserts a dimension of size `depth` at `axis`, holding scalar `on_value` at the index and scalar `off_value`
    elsewhere; negative indices count from the end, others outside mark nothing.
    """
    return _apply("one_hot", (indices, off_value, on_value), (("axis", 1, axis), ("depth", 1, depth)), device, name)


def pad(input, value, low, high, mode, *, device=None, name=None):
    """Add a border.

    Adds `low` elements before and `high` after each dimension: the scalar `value`, or a reflection, repetition
    of the edge, or wrap-around of the input.

    mode: "constant", "reflect", "edge", "wrap"
    """
    return _apply("pad", (input, value), (("low", 4, low), ("high", 4, high), ("mode", 9, mode)), device, name)


def pool_pick(input, places, window, strides, pads_low, pads_high, dilations, *, device=None, name=None):
    """Take one element of each window.

    The element of `input` at the place in its window that `places` says (as `gantry.max_pool_index` counts
    them), 0 where that is outside. The other way round it is `gantry.pool_spread`: each is the gradient of the
    other.
    """
    return _apply("pool_pick", (input, places), (("window", 4, window), ("strides", 4, strides), ("pads_low", 4,
                  pads_low), ("pads_high", 4, pads_high), ("dilations", 4, dilations)), device, name)


def pool_spread(values, places, window, strides, pads_low, pads_high, dilations, sizes, *, device=None, name=None):
    """Give each window's value to one place of it.

    `values` has a value for each window, `places` where in its window that value belongs (as
    `gantry.max_pool_index` counts them). The result has the spatial shape `sizes`, that of what the windows lay
    over; each element is the sum of the values that belong to it. What belongs outside goes nowhere.
    """
    return _apply("pool_spread", (values, places), (("window", 4, window), ("strides", 4, strides), ("pads_low", 4,
                  pads_low), ("pads_high", 4, pads_high), ("dilations", 4, dilations), ("sizes", 4, sizes)), device,
                  name)


def pow(lhs, rhs, *, device=None, name=None):
    """Compute a to the power b (integers: wraps; 1 / a^-b rounded toward zero where b is below 0) element by element.

    Computes a to the power b (integers: wraps; 1 / a^-b rounded toward zero where b is below 0) of operands of
    one element type, broadcast to each other.
    """
    return _apply("pow", (lhs, rhs), (), device, name)


def prelu(lhs, rhs, *, device=None, name=None):
    """Compute a, or a * b where a is below 0 element by element.

    Computes a, or a * b where a is below 0 of operands of one element type, broadcast to each other.
    """
    return _apply("prelu", (lhs, rhs), (), device, name)


def random_normal(shape, mean, deviation, *, key=None, dtype="float32", seed=None, stream=None, whole=None,
                  begin=None, device=None, name=None):
    """Draw normal numbers.

    Draws normal numbers from a counter-based generator: element i depends on the key, on `stream` (0 unless
    given) and on i alone. The key is known when compiling, as `seed`, or an operand, a scalar, so that each run
    draws others; one of the two is given, and equal ones give the same numbers. `stream`, in [0, 2^32), tells
    draws of one key apart. The counter is (i mod 2^32, i / 2^32, 0, stream), Philox's key the low and the high
    half of the 64 bits; uniform numbers take the upper bits of the first word (f64: of the first two), normal
    ones are sqrt(-2 ln(1 - u)) cos(2 pi v) with u from the first word and v from the third. Where the result is
    a part of a value that several devices draw, `whole` is the shape of that value and `begin` the place of the
    part in it: i is counted in the whole, so that the parts together are what one device would draw.
    """
    return _apply("random_normal", (key,), (("seed", 1, seed), ("mean", 2, mean), ("deviation", 2, deviation),
                  ("stream", 1, stream), ("whole", 4, whole), ("begin", 4, begin)), device, name, (shape, dtype))


def random_uniform(shape, low, high, *, key=None, dtype="float32", seed=None, stream=None, whole=None, begin=None,
                   device=None, name=None):
    """Draw uniform in [low, high) numbers.

    Draws uniform in [low, high) numbers from a counter-based generator: element i depends on the key, on
    `stream` (0 unless given) and on i alone. The key is known when compiling, as `seed`, or an operand, a
    scalar, so that each run draws others; one of the two is given, and equal ones give the same numbers.
    `stream`, in [0, 2^32), tells draws of one key apart. The counter is (i mod 2^32, i / 2^32, 0, stream),
    Philox's key the low and the high half of the 64 bits; uniform numbers take the upper bits of the first word
    (f64: of the first two), normal ones are sqrt(-2 ln(1 - u)) cos(2 pi v) with u from the first word and v
    from the third. Where the result is a part of a value that several devices draw, `whole` is the shape of
    that value and `begin` the place of the part in it: i is counted in the whole, so that the parts together
    are what one device would draw.
    """
    return _apply("random_uniform", (key,), (("seed", 1, seed), ("low", 2, low), ("high", 2, high), ("stream", 1,
                  stream), ("whole", 4, whole), ("begin", 4, begin)), device, name, (shape, dtype))


def reciprocal(input, *, device=None, name=None):
    """Compute 1 / x of each element.

    Computes 1 / x element by element; NaN in gives NaN out.
    """
    return _apply("reciprocal", (input,), (), device, name)


def reduce_max(input, axes, *, keep_dims=False, device=None, name=None):
    """Take the maximum over some dimensions.

    Takes the maximum over `axes`, which disappear, or stay with size 1 under `keep_dims`. Integers wrap, and
    their mean is rounded toward zero; NaN wins over every number. Of no elements the sum is 0, the product 1,
    the maximum -inf or the least integer, the minimum inf or the largest one, and the mean NaN, for integers 0.
    """
    return _apply("reduce_max", (input,), (("axes", 4, axes), ("keep_dims", 0, keep_dims)), device, name)


def reduce_mean(input, axes, *, keep_dims=False, device=None, name=None):
    """Take the mean over some dimensions.

    Takes the mean over `axes`, which disappear, or stay with size 1 under `keep_dims`. Integers wrap, and their
    mean is rounded toward zero; NaN wins over every number. Of no elements the sum is 0, the product 1, the
    maximum -inf or the least integer, the minimum inf or the largest one, and the mean NaN, for integers 0.
    """
    return _apply("reduce_mean", (input,), (("axes", 4, axes), ("keep_dims", 0, keep_dims)), device, name)


def reduce_min(input, axes, *, keep_dims=False, device=None, name=None):
    """Take the minimum over some dimensions.

    Takes the minimum over `axes`, which disappear, or stay with size 1 under `keep_dims`. Integers wrap, and
    their mean is rounded toward zero; NaN wins over every number. Of no elements the sum is 0, the product 1,
    the maximum -inf or the least integer, the minimum inf or the largest one, and the mean NaN, for integers 0.
    """
    return _apply("reduce_min", (input,), (("axes", 4, axes), ("keep_dims", 0, keep_dims)), device, name)


def reduce_prod(input, axes, *, keep_dims=False, device=None, name=None):
    """Take the product over some dimensions.

    Takes the product over `axes`, which disappear, or stay with size 1 under `keep_dims`. Integers wrap, and
    their mean is rounded toward zero; NaN wins over every number. Of no elements the sum is 0, the product 1,
    the maximum -inf or the least integer, the minimum inf or the largest one, and the mean NaN, for integers 0.
    """
    return _apply("reduce_prod", (input,), (("axes", 4, axes), ("keep_dims", 0, keep_dims)), device, name)


def reduce_sum(input, axes, *, keep_dims=False, device=None, name=None):
    """Take the sum over some dimensions.

    Takes the sum over `axes`, which disappear, or stay with size 1 under `keep_dims`. Integers wrap, and their
    mean is rounded toward zero; NaN wins over every number. Of no elements the sum is 0, the product 1, the
    maximum -inf or the least integer, the minimum inf or the largest one, and the mean NaN, for integers 0.
    """
    return _apply("reduce_sum", (input,), (("axes", 4, axes), ("keep_dims", 0, keep_dims)), device, name)


def relu(input, *, device=None, name=None):
    """Compute max(x, 0) of each element.

    Computes max(x, 0) element by element; NaN in gives NaN out.
    """
    return _apply("relu", (input,), (), device, name)


def rem(lhs, rhs, *, device=None, name=None):
    """Compute the remainder of a / b with the sign of a (integers: 0 where b is 0) element by element.

    Computes the remainder of a / b with the sign of a (integers: 0 where b is 0) of operands of one element
    type, broadcast to each other.
    """
    return _apply("rem", (lhs, rhs), (), device, name)


def reshape(input, shape, *, device=None, name=None):
    """Give the elements another shape.

    The same elements in row-major order under the result's shape; no bytes move.
    """
    return _apply("reshape", (input,), (), device, name, (shape, None))


def resize(input, shape, mode, coordinate_mode, nearest_mode, scales, roi, cubic_coefficient, extrapolation, *,
           exclude_outside=False, device=None, name=None):
    """Sample an image at another resolution.

    Resamples every dimension of the input to the result's shape. `scales` are result over input sizes as the
    graph gave them, `coordinate_mode` says which input coordinate an output index samples, `roi` (starts, then
    ends, normalised) and `extrapolation` belong to `tf_crop_and_resize`. Coordinates are computed in f64.
    Linear and cubic samples of integers are cut toward zero. Where a formula of ONNX needs the result's length,
    it is scale times input, not rounded.

    mode: "nearest", "linear", "cubic"

    coordinate_mode: "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"

    nearest_mode: "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"
    """
    return _apply("resize", (input,), (("mode", 9, mode), ("coordinate_mode", 9, coordinate_mode), ("nearest_mode", 9,
                  nearest_mode), ("scales", 5, scales), ("roi", 5, roi), ("cubic_coefficient", 2, cubic_coefficient),
                  ("extrapolation", 2, extrapolation), ("exclude_outside", 0, exclude_outside)), device, name, (shape,
                  None))


def rms_norm(input, scale, axis, epsilon, *, device=None, name=None):
    """Divide by the root mean square over the last dimensions.

    x / sqrt(mean(x^2) + epsilon) * scale, the mean over dimensions `axis` to the last; scale broadcasts to the
    input.
    """
    return _apply("rms_norm", (input, scale), (("axis", 1, axis), ("epsilon", 2, epsilon)), device, name)


def round(input, *, device=None, name=None):
    """Compute the nearest integer, ties to even of each element.

    Computes the nearest integer, ties to even element by element; NaN in gives NaN out.
    """
    return _apply("round", (input,), (), device, name)


def rsqrt(input, *, device=None, name=None):
    """Compute 1 / sqrt(x) of each element.

    Computes 1 / sqrt(x) element by element; NaN in gives NaN out.
    """
    return _apply("rsqrt", (input,), (), device, name)


def scatter_elements(input, indices, updates, axis, reduction, *, device=None, name=None):
    """Write elements at indices along a dimension.

    A copy of the input in which element [..., indices[..., i, ...], ...] along `axis` meets update [..., i,
    ...] by `reduction`; updates apply in row-major order. For i1, adding is "or".

    reduction: "none", "add", "mul", "max", "min"
    """
    return _apply("scatter_elements", (input, indices, updates), (("axis", 1, axis), ("reduction", 9, reduction)),
                  device, name)


def scatter_nd(input, indices, updates, reduction, *, device=None, name=None):
    """Write slices at index tuples.

    A copy of the input in which the slice at each tuple of `indices` meets its update by `reduction`; updates
    apply in row-major order.

    reduction: "none", "add", "mul", "max", "min"
    """
    return _apply("scatter_nd", (input, indices, updates), (("reduction", 9, reduction),), device, name)


def select(condition, on_true, on_false, *, device=None, name=None):
    """Choose between two tensors element by element.

    Takes the element of `on_true` where `condition` holds, else that of `on_false`; the three are broadcast to
    each other.
    """
    return _apply("select", (condition, on_true, on_false), (), device, name)


def selu(input, alpha, gamma, *, device=None, name=None):
    """Compute gamma x, or gamma alpha (e^x - 1) at and below 0 of each element.

    Computes gamma x, or gamma alpha (e^x - 1) at and below 0 element by element; NaN in gives NaN out.
    """
    return _apply("selu", (input,), (("alpha", 2, alpha), ("gamma", 2, gamma)), device, name)


def set_slice(input, update, index, axis, *, device=None, name=None):
    """Write one slice along a dimension.

    The input, but for the slice at scalar `index` along `axis`, which is `update`: of the input's shape without
    that dimension. What it reads at an index, `gantry.gather` with a scalar gives. Where nothing reads the
    input later, as in a loop that collects a slice a step, the slice is written in place.
    """
    return _apply("set_slice", (input, update, index), (("axis", 1, axis),), device, name)


def share(*, device=None, name=None):
    """Tell which share of the batch a replica has.

    In a `gantry.replicate` the rows of this replica's shard over all rows, an f32 scalar; where nothing is
    split, 1 over the number of replicas. Elsewhere it is 1. A loss that is a mean over rows is seeded with it:
    then the sum over all replicas of what they give is the gradient of the mean over the whole batch, also for
    shards of different sizes. Replicate makes a number of it.
    """
    return _apply("share", (), (), device, name)


def shift_left(lhs, rhs, *, device=None, name=None):
    """Compute the bits of a moved up by b, zeros below (0 where b is outside [0, width)) element by element.

    Computes the bits of a moved up by b, zeros below (0 where b is outside [0, width)) of operands of one
    element type, broadcast to each other.
    """
    return _apply("shift_left", (lhs, rhs), (), device, name)


def shift_right(lhs, rhs, *, device=None, name=None):
    """Compute the bits of a moved down by b, copies of the sign above where there is one (0 where b is outside [0, width)) element by element.

    Computes the bits of a moved down by b, copies of the sign above where there is one (0 where b is outside
    [0, width)) of operands of one element type, broadcast to each other.
    """
    return _apply("shift_right", (lhs, rhs), (), device, name)


def shrink(input, bias, lambda_, *, device=None, name=None):
    """Compute x + bias below -lambda, x - bias above lambda, otherwise 0 of each element.

    Computes x + bias below -lambda, x - bias above lambda, otherwise 0 element by element; NaN gives 0.
    """
    return _apply("shrink", (input,), (("bias", 2, bias), ("lambda", 2, lambda_)), device, name)


def sigmoid(input, *, device=None, name=None):
    """Compute 1 / (1 + e^-x) of each element.

    Computes 1 / (1 + e^-x) element by element; NaN in gives NaN out.
    """
    return _apply("sigmoid", (input,), (), device, name)


def sign(input, *, device=None, name=None):
    """Compute the sign (-1, 0 or 1) of each element.

    Computes the sign (-1, 0 or 1) element by element; NaN in gives NaN out.
    """
    return _apply("sign", (input,), (), device, name)


def silu(input, *, device=None, name=None):
    """Compute x * sigmoid(x) of each element.

    Computes x * sigmoid(x) element by element; NaN in gives NaN out.
    """
    return _apply("silu", (input,), (), device, name)


def sin(input, *, device=None, name=None):
    """Compute sin(x), x in radians of each element.

    Computes sin(x), x in radians element by element; NaN in gives NaN out.
    """
    return _apply("sin", (input,), (), device, name)


def sinh(input, *, device=None, name=None):
    """Compute the hyperbolic sine of each element.

    Computes the hyperbolic sine element by element; NaN in gives NaN out.
    """
    return _apply("sinh", (input,), (), device, name)


def slice(input, starts, sizes, steps, *, device=None, name=None):
    """Cut out a box, with steps.

    Element i of the result is element starts + i * steps of the input, in each dimension; steps may be
    negative. `sizes` is the result's shape.
    """
    return _apply("slice", (input,), (("starts", 4, starts), ("sizes", 4, sizes), ("steps", 4, steps)), device, name)


def softmax(input, axis, *, device=None, name=None):
    """Compute e^x / sum(e^x) along a dimension.

    Computes e^x / sum(e^x) along `axis`, after subtracting the maximum, which keeps the exponentials finite.
    """
    return _apply("softmax", (input,), (("axis", 1, axis),), device, name)


def softplus(input, *, device=None, name=None):
    """Compute log(1 + e^x) of each element.

    Computes log(1 + e^x) element by element; NaN in gives NaN out.
    """
    return _apply("softplus", (input,), (), device, name)


def softsign(input, *, device=None, name=None):
    """Compute x / (1 + |x|) of each element.

    Computes x / (1 + |x|) element by element; NaN in gives NaN out.
    """
    return _apply("softsign", (input,), (), device, name)


def split(input, axis, sizes, *, device=None, name=None):
    """Cut a tensor into pieces along a dimension.

    `sizes` are the extents of the pieces along `axis` and add up to the input's.
    """
    return _apply("split", (input,), (("axis", 1, axis), ("sizes", 4, sizes)), device, name)


def sqrt(input, *, device=None, name=None):
    """Compute the square root of each element.

    Computes the square root element by element; NaN in gives NaN out.
    """
    return _apply("sqrt", (input,), (), device, name)


def stop_gradient(input, *, device=None, name=None):
    """Give a value that is not differentiated.

    The operand, which counts as a constant where the result is differentiated. Simplify removes it.
    """
    return _apply("stop_gradient", (input,), (), device, name)


def sub(lhs, rhs, *, device=None, name=None):
    """Compute a - b element by element.

    Computes a - b of operands of one element type, broadcast to each other.
    """
    return _apply("sub", (lhs, rhs), (), device, name)


def tan(input, *, device=None, name=None):
    """Compute tan(x), x in radians of each element.

    Computes tan(x), x in radians element by element; NaN in gives NaN out.
    """
    return _apply("tan", (input,), (), device, name)


def tanh(input, *, device=None, name=None):
    """Compute the hyperbolic tangent of each element.

    Computes the hyperbolic tangent element by element; NaN in gives NaN out.
    """
    return _apply("tanh", (input,), (), device, name)


def thresholded_relu(input, alpha, *, device=None, name=None):
    """Compute x above alpha, otherwise 0 of each element.

    Computes x above alpha, otherwise 0 element by element; NaN gives 0.
    """
    return _apply("thresholded_relu", (input,), (("alpha", 2, alpha),), device, name)


def top_k(input, axis, k, *, smallest=False, device=None, name=None):
    """Find the k largest or smallest elements along a dimension.

    Values and indices along `axis`, best first; of equal elements the lower index comes first. NaN counts as
    larger than every number.
    """
    return _apply("top_k", (input,), (("axis", 1, axis), ("k", 1, k), ("smallest", 0, smallest)), device, name)


def transpose(input, permutation, *, device=None, name=None):
    """Permute the dimensions.

    Dimension i of the result is dimension `permutation[i]` of the input.
    """
    return _apply("transpose", (input,), (("permutation", 4, permutation),), device, name)


def trunc(input, *, device=None, name=None):
    """Compute x without its fraction of each element.

    Computes x without its fraction element by element; NaN in gives NaN out.
    """
    return _apply("trunc", (input,), (), device, name)
