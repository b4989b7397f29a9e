"""A case for every op: operands, attributes, and what NumPy makes of it where NumPy has the like."""

import numpy as np

_random = np.random.default_rng(7)


def f(*shape, low=-2.0, high=2.0):
    return _random.uniform(low, high, shape).astype(np.float32)


def i(*shape, low=0, high=3, dtype=np.int32):
    return _random.integers(low, high, shape).astype(dtype)


X, Y = f(2, 3), f(2, 3)
A, B = i(2, 3, low=1, high=20), i(2, 3, low=1, high=5)
P, Q = X > 0, Y > 0
IMAGE, FILTER = f(1, 2, 5, 5), f(3, 2, 3, 3)
WINDOW = {"window": (2, 2), "strides": (1, 1), "pads_low": (0, 0), "pads_high": (0, 0), "dilations": (1, 1)}
CONV = {"strides": (1, 1), "pads_low": (0, 0), "pads_high": (0, 0), "dilations": (1, 1), "groups": 1}


def _softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _unary():
    """Functions of one operand that is a float: range and reference."""
    one = lambda function: ([X], {}, function)
    yield from {"abs": one(np.abs), "neg": one(np.negative), "sign": one(np.sign), "exp": one(np.exp),
                "expm1": one(np.expm1), "floor": one(np.floor), "ceil": one(np.ceil), "round": one(np.rint),
                "trunc": one(np.trunc), "sin": one(np.sin), "cos": one(np.cos), "tan": one(np.tan), "sinh": one(np.sinh),
                "cosh": one(np.cosh), "tanh": one(np.tanh), "asinh": one(np.arcsinh), "atan": one(np.arctan),
                "reciprocal": one(np.reciprocal), "relu": one(lambda x: np.maximum(x, 0)),
                "sigmoid": one(lambda x: 1 / (1 + np.exp(-x))), "softplus": one(lambda x: np.log1p(np.exp(x))),
                "softsign": one(lambda x: x / (1 + abs(x))), "silu": one(lambda x: x / (1 + np.exp(-x))),
                "mish": one(lambda x: x * np.tanh(np.log1p(np.exp(x)))),
                "hard_swish": one(lambda x: x * np.clip(x / 6 + 0.5, 0, 1)), "is_nan": one(np.isnan),
                "is_inf": one(np.isinf), "erf": one(None), "gelu": one(None)}.items()
    for name, function, low, high in (("log", np.log, 0.1, 3), ("log1p", np.log1p, -0.5, 3), ("sqrt", np.sqrt, 0, 3),
                                      ("rsqrt", lambda x: 1 / np.sqrt(x), 0.1, 3), ("acos", np.arccos, -1, 1),
                                      ("asin", np.arcsin, -1, 1), ("atanh", np.arctanh, -0.9, 0.9),
                                      ("acosh", np.arccosh, 1, 3)):
        yield name, ([f(2, 3, low=low, high=high)], {}, function)


def _binary():
    for name, function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide),
                           ("maximum", np.maximum), ("minimum", np.minimum), ("mod", np.mod), ("rem", np.fmod)):
        yield name, ([X, Y], {}, function)
    yield "pow", ([abs(X), Y], {}, np.power)
    for name, function in (("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or),
                           ("bitwise_xor", np.bitwise_xor)):
        yield name, ([A, B], {}, function)
    yield "bitwise_not", ([A], {}, np.bitwise_not)
    yield "shift_left", ([A.astype(np.uint32), B.astype(np.uint32)], {}, np.left_shift)
    yield "shift_right", ([A.astype(np.uint32), B.astype(np.uint32)], {}, np.right_shift)
    for name, function in (("logical_and", np.logical_and), ("logical_or", np.logical_or),
                           ("logical_xor", np.logical_xor)):
        yield name, ([P, Q], {}, function)
    yield "logical_not", ([P], {}, np.logical_not)
    yield "compare", ([X, Y], {"direction": "lt"}, lambda x, y, direction: x < y)
    yield "prelu", ([X, f(3)], {}, lambda x, s: np.where(x < 0, x * s, x))


def _with_attributes():
    yield "stop_gradient", ([X], {}, lambda x: x)
    yield "share", ([], {}, lambda: np.float32(1))
    yield "elu", ([X], {"alpha": 1.0}, lambda x, alpha: np.where(x > 0, x, np.expm1(x)))
    yield "celu", ([X], {"alpha": 2.0}, None)
    yield "selu", ([X], {"alpha": 1.6, "gamma": 1.05}, None)
    yield "leaky_relu", ([X], {"alpha": 0.1}, lambda x, alpha: np.where(x < 0, x * np.float32(alpha), x))
    yield "thresholded_relu", ([X], {"alpha": 0.5}, lambda x, alpha: np.where(x > alpha, x, 0))
    yield "hard_sigmoid", ([X], {"alpha": 0.2, "beta": 0.5}, lambda x, alpha, beta: np.clip(x * 0.2 + 0.5, 0, 1))
    yield "shrink", ([X], {"bias": 0.1, "lambda_": 0.5}, None)
    yield "clamp", ([X, np.float32(-1), np.float32(1)], {}, np.clip)
    yield "dropout", ([X], {"ratio": 0.5}, lambda x, ratio: x)
    yield "select", ([P, X, Y], {}, np.where)
    yield "cast", ([X], {"dtype": "int32"}, lambda x, dtype: x.astype(np.int32))
    yield "reshape", ([X], {"shape": (3, 2)}, lambda x, shape: x.reshape(3, 2))
    yield "broadcast", ([f(3)], {"shape": (2, 3)}, np.broadcast_to)
    yield "iota", ([], {"shape": (2, 3), "axis": 1}, lambda shape, axis: np.broadcast_to(np.arange(3), (2, 3)))
    yield "transpose", ([X], {"permutation": (1, 0)}, lambda x, permutation: x.T)
    yield "add_n", ([[X, Y, X]], {}, lambda xs: xs[0] + xs[1] + xs[2])
    yield "concat", ([[X, Y]], {"axis": 0}, np.concatenate)
    yield "split", ([f(4, 2)], {"axis": 0, "sizes": (1, 3)}, lambda x, axis, sizes: (x[:1], x[1:]))
    yield "slice", ([X], {"starts": (0, 1), "sizes": (2, 2), "steps": (1, 1)}, lambda x, **_: x[:, 1:])
    yield "set_slice", ([f(4, 3), f(3), np.int32(2)], {"axis": 0}, None)
    yield "pad", ([X, np.float32(9)], {"low": (1, 0), "high": (0, 2), "mode": "constant"},
                  lambda x, v, **_: np.pad(x, ((1, 0), (0, 2)), constant_values=9))
    for name, function in (("sum", np.sum), ("mean", np.mean), ("max", np.max), ("min", np.min), ("prod", np.prod)):
        yield f"reduce_{name}", ([X], {"axes": (1,)}, lambda x, axes, function=function: function(x, 1))
    yield "argmax", ([X], {"axis": 1}, lambda x, axis: np.argmax(x, 1))
    yield "argmin", ([X], {"axis": 1}, lambda x, axis: np.argmin(x, 1))
    yield "cumsum", ([X], {"axis": 1}, lambda x, axis: np.cumsum(x, 1))
    yield "softmax", ([X], {"axis": 1}, lambda x, axis: _softmax(x))
    yield "log_softmax", ([X], {"axis": 1}, lambda x, axis: np.log(_softmax(x)))
    yield "top_k", ([X], {"axis": 1, "k": 2}, lambda x, axis, k: (-np.sort(-x, 1)[:, :2], np.argsort(-x, 1)[:, :2]))
    yield "one_hot", ([i(4), np.float32(0), np.float32(1)], {"axis": 1, "depth": 3}, lambda x, *_, **__: np.eye(3)[x])


def _windows(x):
    """[n, c, 4, 4, places] of windows of 2 x 2."""
    return np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3)).reshape(1, 2, 4, 4, 4)


def _filter_grad(x, d, **_):
    return np.einsum("nchwij,nohw->ocij", np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3)), d)


def _pick(x, places, **_):
    return np.take_along_axis(_windows(x), places[..., None].astype(np.int64), -1)[..., 0]


def _spread(values, places, **_):
    image = np.zeros((1, 2, 5, 5))
    for row in range(2):
        for column in range(2):
            image[:, :, row:row + 4, column:column + 4] += np.where(places == 2 * row + column, values, 0)
    return image


def _larger():
    places = i(1, 2, 4, 4, high=4, dtype=np.uint8)
    yield "matmul", ([f(4, 3), f(3, 5)], {}, np.matmul)
    yield "attention", ([f(1, 2, 4, 8), f(1, 2, 4, 8), f(1, 2, 4, 8)], {"scale": 0.35}, None)
    yield "conv", ([IMAGE, FILTER], CONV, None)
    yield "conv_transpose", ([IMAGE, f(2, 3, 3, 3)], {**CONV, "output_pads": (0, 0)}, None)
    yield "max_pool", ([IMAGE], WINDOW, None)
    yield "avg_pool", ([IMAGE], WINDOW, None)
    yield "lp_pool", ([IMAGE], {**WINDOW, "p": 2.0}, None)
    yield "conv_filter_grad", ([IMAGE, f(1, 3, 3, 3)], {**CONV, "window": (3, 3)}, _filter_grad)
    yield "max_pool_index", ([IMAGE], WINDOW, lambda x, **_: _windows(x).argmax(-1))
    yield "pool_pick", ([IMAGE, places], WINDOW, _pick)
    yield "pool_spread", ([f(1, 2, 4, 4), places], {**WINDOW, "sizes": (5, 5)}, _spread)
    yield "lrn", ([IMAGE], {"size": 3, "alpha": 1e-4, "beta": 0.75, "bias": 1.0}, None)
    yield "batch_norm", ([IMAGE, f(2), f(2), f(2), abs(f(2))], {"epsilon": 1e-5}, None)
    yield "group_norm", ([IMAGE, f(2), f(2)], {"groups": 1, "epsilon": 1e-5}, None)
    yield "layer_norm", ([X, f(3), f(3)], {"axis": 1, "epsilon": 1e-5}, None)
    yield "rms_norm", ([X, f(3)], {"axis": 1, "epsilon": 1e-5}, None)
    yield "resize", ([IMAGE], {"shape": (1, 2, 10, 10), "mode": "nearest", "coordinate_mode": "asymmetric",
                               "nearest_mode": "floor", "scales": (1, 1, 2, 2), "roi": (), "cubic_coefficient": -0.75,
                               "extrapolation": 0.0}, lambda x, **_: x.repeat(2, 2).repeat(2, 3))


def _indexing():
    yield "gather", ([f(4, 3), i(2, high=4)], {"axis": 0}, lambda x, n, axis: x[n])
    yield "gather_elements", ([f(4, 3), i(2, 3, high=4)], {"axis": 0}, lambda x, n, axis: np.take_along_axis(x, n, 0))
    yield "gather_nd", ([f(4, 3), i(2, 1, high=4)], {"batch_dims": 0}, lambda x, n, batch_dims: x[n[:, 0]])
    yield "scatter_elements", ([f(4, 3), np.array([[1, 0, 2]], np.int32), f(1, 3)], {"axis": 0, "reduction": "none"}, None)
    yield "scatter_nd", ([f(4, 3), np.array([[1], [3]], np.int32), f(2, 3)], {"reduction": "add"}, None)


def _random_numbers():
    yield "random_uniform", ([], {"shape": (2, 3), "seed": 5, "low": 0.0, "high": 1.0}, None)
    yield "random_normal", ([], {"shape": (2, 3), "seed": 5, "mean": 0.0, "deviation": 1.0}, None)


CASES = dict(pair for family in (_unary, _binary, _with_attributes, _larger, _indexing, _random_numbers)
             for pair in family())
