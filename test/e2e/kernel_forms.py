"""Every op of the kernel table in text, with `T` for the element type of its pair and `n` for a size, and
what NumPy makes of it: floats in f64, rounded once; integers in their own type, where sums wrap."""

import dataclasses
import math

import numpy as np

from dialect_forms import shapes

# The least that a result in this type may be off by, relative: bf16 has no type in NumPy and comes as f32.
UNITS = {"f64": 2.0 ** -52, "f32": 2.0 ** -23, "f16": 2.0 ** -10, "bf16": 2.0 ** -7}
INTS = {sign + bits: np.dtype(kind + bits) for sign, kind in (("i", "int"), ("ui", "uint"))
        for bits in ("8", "16", "32", "64")}
DTYPES = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32), "f16": np.dtype(np.float16),
          "bf16": np.dtype(np.float32), "i1": np.dtype(bool), **INTS}
SETS = {"none": [], "floats": list(UNITS), "ints": list(INTS), "indices": ["i32", "i64"], "bools": ["i1"],
        "numbers": [*UNITS, *INTS], "all": [*UNITS, *INTS, "i1"]}


@dataclasses.dataclass
class Form:
    """One way to write an op, for element types `types`: T, and S for the sums of their products. `reference` gets
    the operands as arrays, f64 for floats; `sized` ones get n before them."""
    operands: str
    results: str
    reference: object
    attributes: object = ""  # text, or a function of n
    prefix: str = ""
    draws: dict = dataclasses.field(default_factory=dict)  # how operands are drawn, by number
    off_by: str = "function"  # "nothing", "function", "sum": what may differ and how much
    types: tuple = tuple(SETS["all"])
    sized: bool = False
    rounds: bool = False  # the reference is given, first, what rounds to the element type

    def sizes(self, n):
        return {"n": n, "k": min(n, 5)}

    def of(self, text, element, n):
        sums = "i32" if element in ("i8", "ui8") else element
        return [({"T": element, "S": sums}.get(e, e), shape) for e, shape in shapes(text, self.sizes(n))]

    def draw(self, element, n, seed):
        draw = np.random.default_rng(seed)
        for i, (kind, shape) in enumerate(self.of(self.operands, element, n)):
            yield self.draws.get(i, near(2))(draw, kind, shape)

    def compute(self, element, n, arrays):
        wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]
        with np.errstate(all="ignore"):
            extra = [n] if self.sized else [lambda v: rounded(v, element).astype(v.dtype)] if self.rounds else []
            results = self.reference(*extra, *wide)
        results = results if isinstance(results, tuple) else (results,)
        kinds = [kind for kind, _ in self.of(self.results, element, n)]
        return [rounded(np.asarray(r), kind) for r, kind in zip(results, kinds, strict=True)]

    def tolerance(self, element, n, expected):
        """Relative, and absolute as part of the largest value."""
        results = zip(self.of(self.results, element, n), expected)
        floats = [(UNITS[kind], np.abs(array[np.isfinite(array)]).max(initial=0))
                  for (kind, _), array in results if kind in UNITS]
        if self.off_by == "nothing" or not floats:
            return 0, 0
        unit, largest = max(u for u, _ in floats), max(m for _, m in floats)
        # Sums are added in another order, in f32 but for f64.
        part = 4 * unit if self.off_by == "function" else 1e-13 if unit == UNITS["f64"] else 1e-5
        return (8 if unit < 1e-4 else 1) * unit, part * float(largest)


def rounded(array, element):
    if element != "bf16":
        return array.astype(DTYPES[element])
    bits = np.asarray(array, np.float32).view(np.uint32).astype(np.int64)
    even = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32)
    return np.where(np.isnan(array), np.float32(np.nan), even.view(np.float32)).reshape(np.shape(array))


# How operands are drawn: functions of a generator, an element type and a shape.

def between(low, high):
    def draw(numbers, element, shape):
        if element in UNITS:
            return rounded(numbers.uniform(low, high, shape), element)
        if element == "i1":
            return np.asarray(numbers.integers(0, 2, shape)).astype(bool)
        least = np.iinfo(DTYPES[element]).min
        return np.asarray(numbers.integers(max(math.ceil(low), least), math.floor(high), shape,
                                           endpoint=True)).astype(DTYPES[element])
    return draw


def near(bound):
    """Integers a bit further, so that they differ."""
    return lambda numbers, element, shape: between(*((-bound, bound) if element in UNITS else (-7, 9)))(
        numbers, element, shape)


def nonzero(numbers, element, shape):
    drawn = near(2)(numbers, element, shape)
    return np.where(np.abs(drawn.astype(np.float64)) < 0.25, DTYPES[element].type(1), drawn)


def indices(size):
    """From either end, and one far outside whose low 32 bits are inside."""
    def draw(numbers, element, shape):
        drawn = np.asarray(numbers.integers(-size, size, shape)).astype(DTYPES[element])
        drawn.reshape(-1)[:1] = 2 ** 32 + 1 if element == "i64" else 2 ** 31 - 1
        return drawn
    return draw


def special(numbers, element, shape):
    return rounded(numbers.choice([np.nan, np.inf, -np.inf, 0.0, 1.5], shape), element)


POSITIVE, INSIDE, ABOVE_ONE = between(0.1, 3), between(-0.9, 0.9), between(1, 4)

# Elementwise.

ERF = np.vectorize(math.erf, otypes=[np.float64])
SIGMOID = lambda x: 1 / (1 + np.exp(-x))
SOFTPLUS = lambda x: np.logaddexp(0, x)
UNARY = {  # function, how its operand is drawn, attributes
    "abs": (np.abs,), "neg": (lambda x: np.negative(x),), "sign": (np.sign,), "relu": (lambda x: np.maximum(x, x.dtype.type(0)),),
    "exp": (np.exp,), "expm1": (np.expm1,), "log": (np.log, POSITIVE), "log1p": (np.log1p, INSIDE), "sqrt": (np.sqrt, POSITIVE),
    "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE), "reciprocal": (lambda x: 1 / x, POSITIVE), "floor": (np.floor,),
    "ceil": (np.ceil,), "round": (np.rint,), "trunc": (np.trunc,), "sin": (np.sin,), "cos": (np.cos,), "tan": (np.tan, INSIDE),
    "asin": (np.arcsin, INSIDE), "acos": (np.arccos, INSIDE), "atan": (np.arctan,), "sinh": (np.sinh,), "cosh": (np.cosh,),
    "tanh": (np.tanh,), "asinh": (np.arcsinh,), "acosh": (np.arccosh, ABOVE_ONE), "atanh": (np.arctanh, INSIDE), "erf": (ERF,),
    "sigmoid": (SIGMOID,), "silu": (lambda x: x * SIGMOID(x),), "softplus": (SOFTPLUS,),
    "softsign": (lambda x: x / (1 + np.abs(x)),), "mish": (lambda x: x * np.tanh(SOFTPLUS(x)),),
    "hard_swish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), between(-5, 5)),
    "gelu": (lambda x: x * (1 + ERF(x / math.sqrt(2))) / 2,),
    "elu": (lambda x: np.where(x < 0, 1.5 * np.expm1(x), x), near(2), "alpha = 1.5 : f64"),
    "celu": (lambda x: np.maximum(0, x) + np.minimum(0, 1.5 * np.expm1(x / 1.5)), near(2), "alpha = 1.5 : f64"),
    "selu": (lambda x: 1.05 * np.where(x > 0, x, 1.67 * np.expm1(x)), near(2), "alpha = 1.67 : f64, gamma = 1.05 : f64"),
    "leaky_relu": (lambda x: np.where(x < 0, x * 0.125, x), near(2), "alpha = 0.125 : f64"),
    "thresholded_relu": (lambda x: np.where(x > 1, x, 0), near(2), "alpha = 1.0 : f64"),
    "hard_sigmoid": (lambda x: np.clip(0.25 * x + 0.5, 0, 1), between(-5, 5), "alpha = 0.25 : f64, beta = 0.5 : f64"),
    "dropout": (lambda x: x, near(2), "ratio = 0.5 : f64"), "logical_not": (np.logical_not,), "bitwise_not": (np.invert,),
    "update": (lambda x: x,)}


def shrink(x):
    wide = x if x.dtype.kind == "f" else x.astype(np.int64)
    return np.where(wide < -1, wide + 1, np.where(wide > 1, wide - 1, 0))


def quotient(a, b):
    return a / b if a.dtype.kind == "f" else np.trunc(a.astype(np.float64) / b).astype(a.dtype)


def power(a, b):
    return np.power(a, b)


EXPONENTS = lambda numbers, element, shape: between(*((-2, 2) if element in UNITS else (0, 3)))(numbers, element, shape)
SHIFTS = between(0, 7)
BINARY = {  # function, how its operands are drawn
    "add": (np.add,), "sub": (np.subtract,), "mul": (np.multiply,), "div": (quotient, near(2), nonzero), "rem": (np.fmod, near(2), nonzero),
    "mod": (np.mod, near(2), nonzero), "pow": (power, POSITIVE, EXPONENTS), "maximum": (np.maximum,), "minimum": (np.minimum,),
    "prelu": (lambda x, slope: np.where(x < 0, x * slope, x),), "logical_and": (np.logical_and,),
    "logical_or": (np.logical_or,), "logical_xor": (np.logical_xor,), "bitwise_and": (np.bitwise_and,),
    "bitwise_or": (np.bitwise_or,), "bitwise_xor": (np.bitwise_xor,), "shift_left": (np.left_shift, near(2), SHIFTS),
    "shift_right": (np.right_shift, near(2), SHIFTS), "update_add": (np.add,)}
COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


def elementwise_forms():
    for op, (function, *more) in UNARY.items():
        yield op, Form("T:n", "T:n", function, *([f"{more[1]}"] if len(more) > 1 else []), draws={0: more[0]} if more else {})
    for op, (function, *draws) in BINARY.items():
        second = "T:3 n" if op == "update_add" else "T:n"
        yield op, Form(f"T:3 n, {second}", "T:3 n", function, draws=dict(enumerate(draws)))
    yield "shrink", Form("T:n", "T:n", shrink, "bias = 1.0 : f64, lambda = 1.0 : f64", draws={0: near(3)})
    yield "is_nan", Form("T:n", "i1:n", np.isnan, draws={0: special})
    yield "is_inf", Form("T:n", "i1:n", np.isinf, draws={0: special})
    yield "clamp", Form("T:3 n, T:, T:", "T:3 n", np.clip, draws={1: between(0, 0.5), 2: between(1, 4)})
    yield "add_n", Form("T:n, T:n, T:n", "T:n", lambda a, b, c: a + b + c)
    for name, function in COMPARISONS.items():
        yield "compare", Form("T:3 n, T:n", "i1:3 n", function, prefix=f"{name}, ")
    for element in ("f32", "bf16", "f64", "i8", "ui64", "i1"):
        yield "select", Form(f"i1:n, {element}:3 n, {element}:", f"{element}:3 n", np.where)
    for element in SETS["all"]:
        yield "cast", Form("T:n", f"{element}:n", lambda x: x, draws={0: between(0, 7)})


# Contractions and windows: [batch, channels, n, 3] with a border of 1 before and after n and in front of 3.

WINDOW = ("window = array<i64: 3, 2>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 0>, "
          "dilations = array<i64: 1, 1>")
GROUPS = "groups = 1 : i64"


def windows(x, border, high=3, wide=2):
    """The elements that each place of a window sees, along a new last dimension."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 0)), constant_values=border)
    h, w = padded.shape[2] - high + 1, padded.shape[3] - wide + 1
    return np.stack([padded[:, :, i:i + h, j:j + w] for i in range(high) for j in range(wide)], -1)


def widened(array):
    return array.astype(np.int32) if array.dtype.itemsize == 1 else array


def convolve(x, weights):
    x, weights = widened(x), widened(weights)
    return np.einsum("nchwp,ocp->nohw", windows(x, 0), weights.reshape(*weights.shape[:2], -1)).astype(x.dtype)


def spread(x, weights):
    n, _, h, w = x.shape
    result = np.zeros((n, weights.shape[1], h + 2, w + 1))
    for i in range(3):
        for j in range(2):
            result[:, :, i:i + h, j:j + w] += np.einsum("nchw,co->nohw", x, weights[:, :, i, j])
    return result[:, :, 1:-1, 1:]


def attend(query, key, value):
    scores = np.einsum("bte,bse->bts", query, key) * 0.5
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bts,bsf->btf", weights / weights.sum(-1, keepdims=True), value)


def spread_places(n, values, places):
    """Each window's value to its place of the image."""
    result = np.zeros((1, 2, n + 2, 4))
    for i in range(3):
        for j in range(2):
            result[:, :, i:i + n, j:j + 3] += np.where(places == 2 * i + j, values, 0)
    return result[:, :, 1:-1, 1:]


def pick_places(x, places):
    seen = np.concatenate([windows(x, 0), np.zeros((*places.shape, 1))], -1)  # the place behind the last is outside
    return np.take_along_axis(seen, places[..., None].astype(np.int64), -1)[..., 0]


def window_gradient_forms():
    yield "conv_filter_grad", Form("T:1 2 n 3, T:1 4 n 3", "T:4 2 3 2", lambda x, d: np.einsum("nchwp,nohw->ocp", windows(x, 0), d).reshape(
        4, 2, 3, 2), f"{WINDOW}, {GROUPS}", off_by="sum")
    yield "max_pool_index", Form("T:1 2 n 3", "ui8:1 2 n 3", lambda x: windows(x, -np.inf).argmax(-1).astype(np.uint8), WINDOW, off_by="nothing",
                                 draws={0: lambda numbers, element, shape: rounded(numbers.choice([-2, -1, 0, 1, 2, np.nan], shape), element)})
    places = {1: between(0, 6)}
    yield "pool_spread", Form("T:1 2 n 3, ui8:1 2 n 3", "T:1 2 n 3", spread_places, lambda n: f"{WINDOW}, sizes = array<i64: {n}, 3>",
                              draws=places, sized=True, off_by="sum")
    yield "pool_pick", Form("T:1 2 n 3, ui8:1 2 n 3", "T:1 2 n 3", pick_places, WINDOW, draws=places, off_by="nothing")


def contraction_forms():
    product = lambda a, b: np.matmul(widened(a), widened(b))
    yield "matmul", Form("T:3 n, T:n 5", "S:3 5", product, off_by="sum")
    yield "matmul", Form("T:n 7, T:7 5", "S:n 5", product, off_by="sum")
    yield "matmul", Form("T:2 4 9, T:n 9", "S:2 4 n", lambda a, b: product(a, b.T), "transpose_b", off_by="sum")
    yield "conv", Form("T:1 2 n 3, T:4 2 3 2", "S:1 4 n 3", convolve, WINDOW[WINDOW.index("strides"):] + ", " + GROUPS, off_by="sum")
    yield "conv_transpose", Form("T:1 2 n 3, T:2 4 3 2", "T:1 4 n 3", spread,
                                 WINDOW[WINDOW.index("strides"):] + ", output_pads = array<i64: 0, 0>, " + GROUPS, off_by="sum")
    lowest = lambda x: -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    yield "max_pool", Form("T:1 2 n 3", "T:1 2 n 3", lambda x: windows(x, lowest(x)).max(-1), WINDOW)
    yield "avg_pool", Form("T:1 2 n 3", "T:1 2 n 3", lambda x: np.nanmean(windows(x, np.nan), -1), WINDOW, off_by="sum")
    yield "lp_pool", Form("T:1 2 n 3", "T:1 2 n 3", lambda x: np.sqrt((windows(x, 0) ** 2).sum(-1)), WINDOW + ", p = 2.0 : f64",
                          off_by="sum")
    yield "attention", Form("T:2 n 4, T:2 7 4, T:2 7 6", "T:2 n 6", attend, "scale = 0.5 : f64", off_by="sum")
    yield "attention", Form("T:1 3 4, T:1 n 4, T:1 n 6", "T:1 3 6", attend, "scale = 0.5 : f64", off_by="sum")


# Reductions and normalisations.

def mean(x, axis):
    if x.dtype.kind == "f":
        return x.mean(axis)
    count = x.shape[axis]
    if count > np.iinfo(x.dtype).max:
        return np.zeros(np.delete(x.shape, axis), x.dtype)  # larger than any sum
    return np.trunc(x.sum(axis, dtype=x.dtype).astype(np.float64) / count).astype(x.dtype)


def softmax(x, axis):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def normalise(x, axes, centre=True):
    centred = x - x.mean(axes, keepdims=True) if centre else x
    return centred / np.sqrt((centred ** 2).mean(axes, keepdims=True) + 0.01)


def lrn(x):
    padded = np.pad(x ** 2, ((0, 0), (1, 1), (0, 0)))
    around = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
    return x / (1.5 + 0.5 / 3 * around) ** 0.75


def best(k, largest):
    def select(n, x):
        count = k(n)
        key = -x.astype(object) if largest else x.astype(object)
        order = np.argsort(key, axis=1, kind="stable")[:, :count]
        return np.take_along_axis(x, order, 1), order
    return select


def reduction_forms():
    own = {"reduce_sum": (lambda x, axis: x.sum(axis, dtype=x.dtype), near(2)), "reduce_mean": (mean, near(2)),
           "reduce_max": (lambda x, axis: x.max(axis), near(2)), "reduce_min": (lambda x, axis: x.min(axis), near(2)),
           "reduce_prod": (lambda x, axis: x.prod(axis, dtype=x.dtype), between(0.95, 1.05)),
           "argmax": (lambda x, axis: x.argmax(axis), near(2)), "argmin": (lambda x, axis: x.argmin(axis), near(2))}
    for op, (function, draw) in own.items():
        result, attributes = ("T", "axes = array<i64: %d>") if op.startswith("reduce") else ("i64", "axis = %d : i64")
        for axis, operand in ((1, "T:3 n"), (0, "T:n 3")):
            draws = {0: draw if op != "reduce_prod" else lambda *a: (between(0.95, 1.05) if a[1] in UNITS else near(2))(*a)}
            yield op, Form(operand, f"{result}:3", lambda x, f=function, a=axis: f(x, a), attributes % axis, draws=draws, off_by="sum")
    yield "cumsum", Form("T:3 n", "T:3 n", lambda x: x.cumsum(1, dtype=x.dtype), "axis = 1 : i64", off_by="sum")
    yield "cumsum", Form("T:n 3", "T:n 3", lambda x: x[::-1].cumsum(0, dtype=x.dtype)[::-1] - x, "axis = 0 : i64, exclusive, reverse",
                         off_by="sum")
    for axis, shape in ((1, "3 n"), (0, "n 3")):
        yield "softmax", Form(f"T:{shape}", f"T:{shape}", lambda x, a=axis: softmax(x, a), f"axis = {axis} : i64", off_by="sum")
        yield "log_softmax", Form(f"T:{shape}", f"T:{shape}", lambda x, a=axis: np.log(softmax(x, a)), f"axis = {axis} : i64", off_by="sum")
    epsilon = "epsilon = 0.01 : f64"
    yield "layer_norm", Form("T:3 n, T:n, T:n", "T:3 n", lambda x, s, b: normalise(x, 1) * s + b, f"axis = 1 : i64, {epsilon}", off_by="sum")
    yield "rms_norm", Form("T:3 n, T:n", "T:3 n", lambda x, s: normalise(x, 1, False) * s, f"axis = 1 : i64, {epsilon}", off_by="sum")
    column = lambda v: v.reshape(-1, 1)
    yield "batch_norm", Form("T:2 3 n, T:3, T:3, T:3, T:3", "T:2 3 n", lambda x, s, b, m, v: (x - column(m)) / np.sqrt(
        column(v) + 0.01) * column(s) + column(b), epsilon, draws={4: POSITIVE}, off_by="sum")
    yield "group_norm", Form("T:2 4 n, T:4, T:4", "T:2 4 n", lambda x, s, b: normalise(x.reshape(2, 2, -1), 2).reshape(
        x.shape) * column(s) + column(b), f"groups = 2 : i64, {epsilon}", off_by="sum")
    yield "lrn", Form("T:2 n 3", "T:2 n 3", lrn, "size = 3 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.5 : f64", off_by="sum")
    yield "top_k", Form("T:2 n", "T:2 n, i64:2 n", best(lambda n: n, True), lambda n: f"axis = 1 : i64, k = {n} : i64",
                        off_by="nothing", sized=True)
    yield "top_k", Form("T:2 n", "T:2 k, i64:2 k", best(lambda n: min(n, 5), False),
                        lambda n: f"axis = 1 : i64, k = {min(n, 5)} : i64, smallest", off_by="nothing", sized=True)


# Movement and indexing.

RESIZE = ("mode = #gantry<resize_mode {0}>, coordinate_mode = #gantry<coordinate_mode {1}>, nearest_mode = #gantry<nearest_mode floor>, "
          "scales = array<f64: 1.0, 2.0, 1.0>, roi = array<f64>, cubic_coefficient = -0.75 : f64, extrapolation = 0.0 : f64")


def doubled(x):
    """By linear interpolation at (i + 1/2) / 2 - 1/2."""
    before, after = np.concatenate([x[:, :1], x[:, :-1]], 1), np.concatenate([x[:, 1:], x[:, -1:]], 1)
    return np.stack([0.25 * before + 0.75 * x, 0.75 * x + 0.25 * after], 2).reshape(x.shape[0], -1, x.shape[2])


def movement_forms():
    exact = {"off_by": "nothing"}
    yield "reshape", Form("T:n 6", "T:3 n 2", lambda x: x.reshape(3, -1, 2), **exact)
    yield "transpose", Form("T:n 5 2", "T:2 n 5", lambda x: x.transpose(2, 0, 1), "permutation = array<i64: 2, 0, 1>", **exact)
    yield "transpose", Form("T:n 33", "T:33 n", np.transpose, "permutation = array<i64: 1, 0>", **exact)
    yield "broadcast", Form("T:n 1", "T:2 n 3", lambda x: np.broadcast_to(x, (2, len(x), 3)), **exact)
    yield "concat", Form("T:n 2, T:n 3", "T:n 5", lambda *x: np.concatenate(x, 1), "axis = 1 : i64", **exact)
    yield "concat", Form("T:n, T:3, T:n", "T:2*n+3", lambda *x: np.concatenate(x), "axis = 0 : i64", **exact)
    yield "slice", Form("T:n 5", "T:n 2", lambda x: x[::-1, 1:5:2],
                        lambda n: f"starts = array<i64: {n - 1}, 1>, sizes = array<i64: {n}, 2>, steps = array<i64: -1, 2>", **exact)
    yield "split", Form("T:n 5", "T:n 2, T:n 3", lambda x: (x[:, :2], x[:, 2:]), "axis = 1 : i64, sizes = array<i64: 2, 3>", **exact)
    for mode in ("constant", "reflect", "edge", "wrap"):
        more = lambda x, v, mode=mode: np.pad(x, ((1, 2), (0, 0)), mode, **({"constant_values": v} if mode == "constant" else {}))
        yield "pad", Form("T:3 n, T:", "T:6 n", more, f"low = array<i64: 1, 0>, high = array<i64: 2, 0>, mode = #gantry<pad_mode {mode}>", **exact)
    yield "pad", Form("T:n, T:", "T:n+3", lambda x, v: np.pad(x, (2, 1), constant_values=v),
                      "low = array<i64: 2>, high = array<i64: 1>, mode = #gantry<pad_mode constant>", **exact)
    yield "iota", Form("", "T:2 n", lambda n: np.broadcast_to(np.arange(n), (2, n)), "axis = 1 : i64", sized=True, **exact)
    yield "resize", Form("T:1 n 3", "T:1 2*n 3", lambda x: x.repeat(2, 1), RESIZE.format("nearest", "asymmetric"), **exact)
    yield "resize", Form("T:1 n 3", "T:1 2*n 3", doubled, RESIZE.format("linear", "half_pixel"), types=tuple(UNITS))


def inside(index, size):
    """From the end where negative, then as near as possible."""
    return np.clip(np.where(index < 0, index + size, index), 0, size - 1)


def meet(reduction, old, new):
    if old.dtype.kind == "b":
        return {"none": new, "add": old | new, "mul": old & new, "min": old & new, "max": old | new}[reduction]
    return {"none": lambda: new, "add": lambda: old + new, "mul": lambda: old * new, "min": lambda: np.minimum(old, new),
            "max": lambda: np.maximum(old, new)}[reduction]()


def scatter_elements(reduction):
    def apply(round_, x, index, updates):
        result = x.copy()
        for row, i in enumerate(inside(index, x.shape[1]).tolist()):
            for place, update in zip(i, updates[row]):
                result[row, place] = round_(meet(reduction, result[row, place], update))
        return result
    return apply


def scatter_nd(reduction):
    def apply(round_, x, index, updates):
        result = x.copy()
        columns = [inside(index[:, j], x.shape[j]).tolist() for j in range(index.shape[1])]
        for place, update in zip(zip(*columns), updates):
            result[place] = round_(meet(reduction, result[place], update))
        return result
    return apply


def one_hot(index, off, on):
    whole = np.where(index < 0, index.astype(np.int64) + 10, index)
    return np.where(whole[:, None] == np.arange(10), on, off)


def first_bad(index):
    wrong = np.flatnonzero((index < -9) | (index >= 9))
    return np.array([wrong[0], index.reshape(-1)[wrong[0]]] if wrong.size else [-1, 0])


def write_row(x, update, index):
    result = x.copy()
    result[inside(index, len(x))] = update
    return result


def indexing_forms():
    exact = {"off_by": "nothing"}
    yield "gather", Form("T:7 5, i64:n", "T:n 5", lambda x, i: x[inside(i, 7)], "axis = 0 : i64", draws={1: indices(7)}, **exact)
    yield "gather", Form("T:3 n, i32:4", "T:3 4", lambda x, i: x[:, inside(i, x.shape[1])], "axis = 1 : i64",
                         draws={1: indices(31)}, **exact)
    yield "gather_elements", Form("T:3 7, i64:3 n", "T:3 n", lambda x, i: np.take_along_axis(x, inside(i, 7), 1), "axis = 1 : i64",
                                  draws={1: indices(7)}, **exact)
    yield "gather_nd", Form("T:7 5 3, i64:n 2", "T:n 3", lambda x, i: x[inside(i[:, 0], 7), inside(i[:, 1], 5)], "batch_dims = 0 : i64",
                            draws={1: indices(5)}, **exact)
    yield "one_hot", Form("T:n, f32:, f32:", "f32:n 10", one_hot, "axis = 1 : i64, depth = 10 : i64", draws={0: indices(12)}, **exact)
    for reduction in ("none", "add", "mul", "min", "max"):
        attribute = f"reduction = #gantry<reduction {reduction}>"
        yield "scatter_elements", Form("T:4 n, i64:3 n, T:3 n", "T:4 n", scatter_elements(reduction), f"axis = 1 : i64, {attribute}",
                                       draws={1: indices(20)}, rounds=True, **exact)
        yield "scatter_nd", Form("T:5 7 3, i64:n 2, T:n 3", "T:5 7 3", scatter_nd(reduction), attribute,
                                 draws={1: indices(5)}, rounds=True, **exact)
    yield "scatter_nd", Form("T:n 3, i64:4 1, T:4 3", "T:n 3", scatter_nd("none"), "reduction = #gantry<reduction none>",
                             draws={1: indices(9)}, rounds=True, **exact)
    yield "set_slice", Form("T:n 3, T:3, i64:", "T:n 3", write_row, "axis = 0 : i64", draws={2: indices(9)}, **exact)
    yield "first_bad_index", Form("T:n", "i64:2", first_bad, "sizes = array<i64: 9>", draws={0: between(-9, 9)}, **exact)


# Random numbers: Philox4x32-10 of the element's number, and the stream.

def philox(count, seed, stream=0):
    low, mask, seed = np.arange(count, dtype=np.uint64), np.uint64(0xFFFFFFFF), int(seed) & 2 ** 64 - 1
    counter = [low, low * np.uint64(0), low * np.uint64(0), np.full_like(low, stream)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [(second >> np.uint64(32)) ^ counter[1] ^ np.uint64(key[0]), second & mask,
                   (first >> np.uint64(32)) ^ counter[3] ^ np.uint64(key[1]), first & mask]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def unit_interval(low, high, bits):
    if bits > 32:
        return ((high << np.uint64(32) | low) >> np.uint64(64 - bits)).astype(np.float64) * 2.0 ** -bits
    return (low >> np.uint64(32 - bits)).astype(np.float64) * 2.0 ** -bits


def uniform(element, stream=0):
    bits = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}[element]
    return lambda n, key=7: unit_interval(*philox(n, key, stream)[:2], bits) * 3 - 1


def normal(element, stream=0):
    def draw(n, key=7):
        words, bits = philox(n, key, stream), 53 if element == "f64" else 24
        u, v = unit_interval(*words[:2], bits), unit_interval(*words[2:], bits)
        return np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v) * 2 + 1
    return draw


def any_key(numbers, element, shape):
    return np.asarray(numbers.integers(-2 ** 63, 2 ** 63 - 1, shape, np.int64, endpoint=True))


def random_forms():
    for element in UNITS:
        of = {"types": (element,), "sized": True}
        for name, reference, numbers in (("random_uniform", uniform, "low = -1.0 : f64, high = 2.0 : f64"),
                                         ("random_normal", normal, "mean = 1.0 : f64, deviation = 2.0 : f64")):
            yield name, Form("", "T:n", reference(element), f"seed = 7 : i64, {numbers}", **of)
            yield name, Form("i64:", "T:n", reference(element), numbers, draws={0: any_key}, **of)
            yield name, Form("i64:", "T:n", reference(element, 2 ** 32 - 5), f"stream = {2 ** 32 - 5} : i64, {numbers}",
                             draws={0: any_key}, **of)


def forms():
    """{op: its forms}."""
    found = {}
    for family in (elementwise_forms, contraction_forms, window_gradient_forms, reduction_forms, movement_forms, indexing_forms, random_forms):
        for op, form in family():
            found.setdefault(op, []).append(form)
    return found
