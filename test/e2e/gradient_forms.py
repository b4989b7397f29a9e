"""Every op that has a gradient, in text, with `T` for the element type and `n` for a size, and what it computes in
PyTorch's words, whose gradients are the reference."""

import dataclasses
import math

import numpy as np

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    class Absent:
        """Forms can be made without PyTorch; nothing is computed by them then."""
        def __getattr__(self, name):
            return self

        def __call__(self, *_, **__):
            return self

    torch = F = Absent()

from dialect_forms import shapes

SIZES = (0, 1, 17, 197)
SOME = (1, 17)  # where nothing has no gradient, or PyTorch refuses it


@dataclasses.dataclass
class Form:
    """One way to write an op, or a few. `reference` gets the operands as tensors of f64; None where PyTorch has no words
    for it, which leaves central differences."""
    op: str
    operands: str
    results: str
    reference: object
    attributes: object = ""  # text, or a function of n
    prefix: str = ""
    draws: dict = dataclasses.field(default_factory=dict)  # how operands are drawn, by number
    sizes: tuple = SIZES
    body: str = ""  # lines that make %r0, ... of %x0, ..., in the place of one op
    wrt: tuple = ()  # operands; all of floats unless it says so
    seeds: object = None  # how cotangents are drawn
    smooth: bool = True  # central differences tell the slope, too
    twice: bool = True  # the rule's ops have rules: compared with the second derivatives
    types: tuple = ("f64",)
    family: str = "random graphs"

    def of(self, text, element, n):
        return [({"T": element}.get(e, e), shape) for e, shape in shapes(text, {"n": n, "k": min(n, 5)})]

    def lines(self, element, n):
        if self.body:
            return self.body.replace("$T", element).replace("$n", str(n)).strip().splitlines()
        kinds = lambda text: ", ".join(text_of(*t) for t in self.of(text, element, n))
        count = len(self.of(self.operands, element, n)), len(self.of(self.results, element, n))
        attributes = self.attributes(n) if callable(self.attributes) else self.attributes
        return [f"{', '.join(f'%r{i}' for i in range(count[1]))} = gantry.{self.op} {self.prefix}"
                f"{', '.join(f'%x{i}' for i in range(count[0]))} {{{attributes}}} : ({kinds(self.operands)}) -> ({kinds(self.results)})"]


def text_of(element, shape):
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


# How operands are drawn: functions of a generator and a shape.

def between(low, high):
    return lambda numbers, shape: numbers.uniform(low, high, shape)


def among(*values):
    """With ties: these alone."""
    return lambda numbers, shape: numbers.choice(values, shape).astype(np.float64)


def whole(low, high):
    return lambda numbers, shape: np.asarray(numbers.integers(low, high, shape)).astype(np.int64)


def truth(numbers, shape):
    return np.asarray(numbers.integers(0, 2, shape)).astype(bool)


def apart(numbers, shape):
    """No two are equal, nor as near as a step of a central difference."""
    count = math.prod(shape)
    return (numbers.permutation(count).reshape(shape) - count / 2) * (4 / max(count, 1)) + 0.01


def away(*kinks):
    """From kinks, by more than a central difference reaches."""
    def draw(numbers, shape):
        drawn = np.asarray(numbers.uniform(-4, 4, shape))
        for kink in kinks:
            drawn = np.where(np.abs(drawn - kink) < 0.01, drawn + 0.05, drawn)
        return drawn
    return draw


POSITIVE, INSIDE, ABOVE_ONE = between(0.1, 3), between(-0.9, 0.9), between(1.1, 4)
WIDE = ("f64", "f32", "f16", "bf16")

# Elementwise.

UNARY = {
    "exp": (torch.exp,), "expm1": (torch.expm1,), "sqrt": (torch.sqrt, POSITIVE), "rsqrt": (torch.rsqrt, POSITIVE),
    "reciprocal": (torch.reciprocal, POSITIVE), "tanh": (torch.tanh,), "tan": (torch.tan, INSIDE), "sigmoid": (torch.sigmoid,),
    "neg": (torch.neg,), "log": (torch.log, POSITIVE), "log1p": (torch.log1p, INSIDE), "sin": (torch.sin,), "cos": (torch.cos,),
    "asin": (torch.asin, INSIDE), "acos": (torch.acos, INSIDE), "atan": (torch.atan,), "sinh": (torch.sinh,), "cosh": (torch.cosh,),
    "asinh": (torch.asinh,), "acosh": (torch.acosh, ABOVE_ONE), "atanh": (torch.atanh, INSIDE), "erf": (torch.erf,),
    "silu": (F.silu,), "softplus": (lambda x: F.softplus(x, threshold=1000),), "mish": (lambda x: x * torch.tanh(F.softplus(x, threshold=1000)),),
    "gelu": (F.gelu,), "relu": (torch.relu, away(0)), "abs": (lambda x: torch.where(x > 0, x, -x), away(0)), "softsign": (F.softsign, away(0)),
    "update": (lambda x: x,), "dropout": (lambda x: x, None, "ratio = 0.5 : f64"),
}
# alpha at both signs, and at 0: by the result alone both sides would be mixed up.
ALPHA = {
    "elu": lambda x, a: torch.where(x > 0, x, a * torch.expm1(torch.clamp(x, max=0))),
    "leaky_relu": lambda x, a: torch.where(x > 0, x, a * x),
    "thresholded_relu": lambda x, a: torch.where(x > a, x, 0 * x),
}


def elementwise_forms():
    for op, (function, *more) in UNARY.items():
        draw, attributes = more[0] if more else None, more[1] if len(more) > 1 else ""
        yield Form(op, "T:3 n", "T:3 n", function, attributes, draws={0: draw or between(-2, 2)},
                   types=WIDE if op in ("exp", "tanh", "gelu", "neg") else ("f64",))
    yield Form("gelu", "T:n", "T:n", lambda x: F.gelu(x, approximate="tanh"), "approximate")
    for op, function in ALPHA.items():
        for alpha in (1.5, 0.125, 0.0, -0.75):
            yield Form(op, "T:n", "T:n", lambda x, f=function, a=alpha: f(x, a), f"alpha = {alpha} : f64", draws={0: away(0, alpha)})
    for alpha in (1.5, 0.125, -0.75):
        yield Form("celu", "T:n", "T:n", lambda x, a=alpha: F.relu(x) + torch.clamp(a * torch.expm1(x / a), max=0),
                   f"alpha = {alpha} : f64", draws={0: away(0)})
    for alpha, gamma in ((1.67, 1.05), (-1.5, 1.05), (1.5, -0.5), (-1.5, -0.5)):
        yield Form("selu", "T:n", "T:n", lambda x, a=alpha, g=gamma: g * ALPHA["elu"](x, a),
                   f"alpha = {alpha} : f64, gamma = {gamma} : f64", draws={0: away(0)})
    for alpha in (0.25, -0.25):
        yield Form("hard_sigmoid", "T:n", "T:n", lambda x, a=alpha: torch.clamp(a * x + 0.5, 0, 1), f"alpha = {alpha} : f64, beta = 0.5 : f64",
                   draws={0: away(-2, 2)})
    yield Form("hard_swish", "T:n", "T:n", lambda x: x * torch.clamp(x / 6 + 0.5, 0, 1), draws={0: away(-3, 3)})
    shrink = lambda x, b: torch.where(x < -1, x + b, torch.where(x > 1, x - b, 0 * x))
    yield Form("shrink", "T:n", "T:n", lambda x: shrink(x, 0.5), "bias = 0.5 : f64, lambda = 1.0 : f64", draws={0: away(-1, 1)})
    # Ties: the left slope, as PyTorch's own functions have it.
    tie = {"smooth": False, "twice": False, "draws": {0: among(-3, -1, 0, 0, 1, 3, np.inf, -np.inf)}}
    finite = {**tie, "draws": {0: among(-3, -1, -0.5, 0, 0.5, 1, 3)}}
    for op, function in (("relu", torch.relu), ("abs", torch.abs), ("sigmoid", torch.sigmoid), ("tanh", torch.tanh)):
        yield Form(op, "T:n", "T:n", function, **tie)
    for op, function, attributes in (("leaky_relu", lambda x: F.leaky_relu(x, 0.125), "alpha = 0.125 : f64"),
                                     ("leaky_relu", lambda x: F.leaky_relu(x, -0.75), "alpha = -0.75 : f64"),
                                     ("elu", lambda x: F.elu(x, 1.5), "alpha = 1.5 : f64"),
                                     # By F.hardswish it is 1 at 3 where lanes compute it, and 1.5 where they do not.
                                     ("hard_swish", lambda x: x * torch.clamp(x / 6 + 0.5, 0, 1), ""),
                                     ("celu", lambda x: F.celu(x, 1.5), "alpha = 1.5 : f64"),
                                     ("shrink", lambda x: F.softshrink(x, 0.5), "bias = 0.5 : f64, lambda = 0.5 : f64"),
                                     ("thresholded_relu", lambda x: F.threshold(x, 1, 0), "alpha = 1.0 : f64")):
        yield Form(op, "T:n", "T:n", function, attributes, **finite)


def binary_forms():
    smooth = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow}
    for op, function in smooth.items():
        for operands in ("T:3 n, T:3 n", "T:3 n, T:n", "T:, T:3 n", "T:1 n, T:3 1"):
            yield Form(op, operands, "T:3 n", function, draws={0: POSITIVE, 1: POSITIVE}, types=WIDE if op in ("mul", "div") else ("f64",))
    # For f16 the elements of a sum over what was broadcast are added up in f32.
    for op, function in (("rem", torch.fmod), ("mod", torch.remainder)):
        yield Form(op, "T:3 n, T:n", "T:3 n", function, draws={0: between(1.1, 1.9), 1: between(0.6, 1)})
        yield Form(op, "T:3 n, T:n", "T:3 n", function, draws={0: between(-1.9, -1.1), 1: between(0.6, 1)})
    # 1 / 0.1 rounds to 10, and the rest was taken with 9.
    whole_parts = lambda x, b, f: x - b * ((x - f(x, b)) / b).detach().round()
    for op, function in (("rem", torch.fmod), ("mod", torch.remainder)):
        yield Form(op, "T:3 n, T:n", "T:3 n", lambda x, b, f=function: whole_parts(x, b, f), draws={0: among(1, 0.3, 0.7, -0.3), 1: among(0.1)},
                   smooth=False, twice=False)
    for op, function in (("maximum", torch.maximum), ("minimum", torch.minimum)):
        yield Form(op, "T:3 n, T:n", "T:3 n", function, draws={0: away(), 1: away()})
        yield Form(op, "T:3 n, T:n", "T:3 n", function, draws={0: among(-1, 0, 1), 1: among(-1, 0, 1)}, smooth=False, twice=False)
    # 0^0, 0^b, a^0: where the formulas are 0 times infinity.
    yield Form("pow", "T:3 n, T:3 n", "T:3 n", torch.pow, draws={0: among(0, 0, 0.5, 1, 2), 1: among(0, 1, 2, 3, 0.5)}, smooth=False, twice=False)
    yield Form("pow", "T:3 n, T:3 n", "T:3 n", torch.pow, draws={0: among(-2, -1, -0.5), 1: among(0, 1, 2, 3)}, smooth=False, twice=False)
    yield Form("pow", "T:3 n, T:3 n", "T:3 n", torch.pow, draws={0: among(-2, 0, -0.5), 1: among(0, 1, 2, 3)}, wrt=(0,), smooth=False)
    yield Form("prelu", "T:3 n, T:n", "T:3 n", lambda x, b: torch.where(x > 0, x, x * b), draws={0: away(0)})
    yield Form("prelu", "T:n, T:n", "T:n", lambda x, b: torch.where(x > 0, x, x * b), draws={0: among(-1, 0, 1)}, smooth=False)
    clamp = lambda x, low, high: torch.minimum(torch.maximum(x, low), high)
    yield Form("clamp", "T:3 n, T:, T:", "T:3 n", clamp, draws={0: away(-1, 1), 1: among(-1), 2: among(1)})
    yield Form("clamp", "T:3 n, T:, T:", "T:3 n", clamp, draws={0: away(-1, 1), 1: among(1), 2: among(-1)})  # low above high
    yield Form("clamp", "T:n, T:, T:", "T:n", lambda x, a, b: torch.clamp(x, -1, 1), draws={0: among(-2, -1, 0, 1, 2), 1: among(-1), 2: among(1)},
               wrt=(0,), smooth=False, twice=False)
    yield Form("select", "i1:n, T:3 n, T:", "T:3 n", torch.where, draws={0: truth})
    yield Form("add_n", "T:n, T:n, T:n", "T:n", lambda a, b, c: a + b + c)
    yield Form("update_add", "T:n, T:n", "T:n", torch.add)
    yield Form("cast", "T:n", "f32:n", lambda x: x, smooth=False, types=("f64", "f32"))


# Products.

def contraction_forms():
    for operands, results, attributes, function in (
            ("T:3 n, T:n 5", "T:3 5", "", lambda a, b: a @ b), ("T:n 7, T:7 5", "T:n 5", "", lambda a, b: a @ b),
            ("T:7 n, T:7 5", "T:n 5", "transpose_a", lambda a, b: a.mT @ b), ("T:n 7, T:5 7", "T:n 5", "transpose_b", lambda a, b: a @ b.mT),
            ("T:7 n, T:5 7", "T:n 5", "transpose_a, transpose_b", lambda a, b: a.mT @ b.mT),
            ("T:2 4 n, T:n 3", "T:2 4 3", "", lambda a, b: a @ b), ("T:2 4 n, T:3 n", "T:2 4 3", "transpose_b", lambda a, b: a @ b.mT),
            ("T:2 n 4, T:n 3", "T:2 4 3", "transpose_a", lambda a, b: a.mT @ b),
            ("T:4 n, T:2 n 3", "T:2 4 3", "", lambda a, b: a @ b), ("T:2 1 4 n, T:3 n 5", "T:2 3 4 5", "", lambda a, b: a @ b),
            ("T:3 2 4 n, T:3 1 n 5", "T:3 2 4 5", "", lambda a, b: a @ b)):
        yield Form("matmul", operands, results, function, attributes, types=WIDE if results in ("T:n 5", "T:2 4 3") else ("f64",))
    yield from convolution_forms()
    yield from attention_forms()


def window_text(high, wide, strides, low, high_pads, dilations):
    array = lambda name, values: f"{name} = array<i64: {', '.join(map(str, values))}>"
    return (array("window", (high, wide)), ", ".join((array("strides", strides), array("pads_low", low), array("pads_high", high_pads),
                                                      array("dilations", dilations))))


def convolve(strides, low, high, dilations, groups):
    return lambda x, w: F.conv2d(F.pad(x, (low[1], high[1], low[0], high[0])), w, stride=strides, dilation=dilations, groups=groups)


def spread(strides, low, high, dilations, output_pads, groups):
    def apply(x, w):
        # output_padding of PyTorch is less than a stride; zeros behind are the same.
        y = F.pad(F.conv_transpose2d(x, w, stride=strides, dilation=dilations, groups=groups), (0, output_pads[1], 0, output_pads[0]))
        return y[:, :, low[0]:y.shape[2] - high[0], low[1]:y.shape[3] - high[1]]
    return apply


def filter_grad(strides, low, high, dilations, groups, window):
    def apply(x, d):
        x = F.pad(x, (low[1], high[1], low[0], high[0]))
        n, c, o = x.shape[0], x.shape[1], d.shape[1]
        taps = []
        for i in range(window[0]):
            for j in range(window[1]):
                rows = slice(i * dilations[0], i * dilations[0] + strides[0] * (d.shape[2] - 1) + 1, strides[0])
                columns = slice(j * dilations[1], j * dilations[1] + strides[1] * (d.shape[3] - 1) + 1, strides[1])
                part = x[:, :, rows, columns].reshape(n, groups, c // groups, d.shape[2], d.shape[3])
                taps.append(torch.einsum("ngchw,ngohw->goc", part, d.reshape(n, groups, o // groups, *d.shape[2:])))
        return torch.stack(taps, -1).reshape(o, c // groups, *window)
    return apply


CONVOLUTIONS = [  # window, strides, pads low and high, dilations, groups
    ((3, 2), (1, 1), (1, 1), (1, 0), (1, 1), 1), ((3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 1), ((3, 2), (2, 3), (0, 1), (2, 0), (2, 1), 2),
    ((1, 1), (2, 1), (0, 0), (0, 0), (1, 1), 1), ((2, 2), (3, 3), (0, 0), (1, 2), (1, 2), 4), ((3, 1), (1, 1), (2, 0), (2, 0), (1, 1), 2)]


def convolution_forms():
    for window, strides, low, high, dilations, groups in CONVOLUTIONS:
        window_attribute, text = window_text(*window, strides, low, high, dilations)
        sizes = [(s + l + h - d * (w - 1) - 1) // t + 1
                 for s, l, h, d, w, t in zip((9, 8), low, high, dilations, window, strides)]
        text += f", groups = {groups} : i64"
        conv = convolve(strides, low, high, dilations, groups)
        types = WIDE if window == (3, 3) else ("f64",)
        yield Form("conv", f"T:n 4 9 8, T:8 {4 // groups} {window[0]} {window[1]}", f"T:n 8 {sizes[0]} {sizes[1]}", conv, text, sizes=(0, 1, 3),
                   types=types)
        yield Form("conv_filter_grad", f"T:n 4 9 8, T:n 8 {sizes[0]} {sizes[1]}", f"T:8 {4 // groups} {window[0]} {window[1]}",
                   filter_grad(strides, low, high, dilations, groups, window), f"{window_attribute}, {text}", sizes=(1, 3), types=types)
        for pads in ((0, 0), (1, 0), (2, 3)):
            image = [t * (s - 1) + d * (w - 1) + 1 - l - h + p
                     for s, l, h, d, w, t, p in zip((5, 4), low, high, dilations, window, strides, pads)]
            yield Form("conv_transpose", f"T:n 4 5 4, T:4 {8 // groups} {window[0]} {window[1]}", f"T:n 8 {image[0]} {image[1]}",
                       spread(strides, low, high, dilations, pads, groups), f"{text}, output_pads = array<i64: {pads[0]}, {pads[1]}>", sizes=(0, 1, 3))
    # One and three spatial dimensions.
    yield Form("conv", "T:2 3 n+2, T:4 3 3", "T:2 4 n", F.conv1d, "strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, "
               "dilations = array<i64: 1>, groups = 1 : i64", sizes=SOME)
    yield Form("conv", "T:2 3 n+2 5 4, T:4 3 3 2 1", "T:2 4 n 4 4", F.conv3d, "strides = array<i64: 1, 1, 1>, pads_low = array<i64: 0, 0, 0>, "
               "pads_high = array<i64: 0, 0, 0>, dilations = array<i64: 1, 1, 1>, groups = 1 : i64", sizes=SOME)
    # Windows of fewer places than a vector has lanes, over lines of several vectors: devices add up one after the other.
    for window in (1, 2, 3):
        yield Form("conv", f"T:2 6 n+{window - 1}, T:5 6 {window}", "T:2 5 n", F.conv1d, "strides = array<i64: 1>, "
                   "pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64", sizes=(40, 67),
                   types=("f64", "f32"), twice=False)


def attend(q, k, v, mask=None, causal=False):
    scores = q @ k.mT * 0.5
    scores = scores if mask is None else scores + mask
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=bool).triu(1), -torch.inf)
    return torch.softmax(scores, -1) @ v


def attention_forms():
    yield Form("attention", "T:2 n 4, T:2 7 4, T:2 7 6", "T:2 n 6", attend, "scale = 0.5 : f64", types=WIDE)
    yield Form("attention", "T:2 3 4, T:2 n 4, T:2 n 6", "T:2 3 6", attend, "scale = 0.5 : f64", sizes=SOME)
    yield Form("attention", "T:2 n 4, T:2 7 4, T:2 7 6, T:n 7", "T:2 n 6", attend, "scale = 0.5 : f64")
    yield Form("attention", "T:2 3 n 4, T:2 3 7 4, T:2 3 7 6, T:2 1 n 7", "T:2 3 n 6", attend, "scale = 0.5 : f64", sizes=SOME)
    # Some keys that nobody sees; a row that sees none is NaN on both ways.
    for hidden in ((0.0, 0.0, -np.inf), (-np.inf,)):
        yield Form("attention", "T:2 n 4, T:2 7 4, T:2 7 6, T:n 7", "T:2 n 6", attend, "scale = 0.5 : f64", draws={3: among(*hidden)}, sizes=SOME,
                   wrt=(0, 1, 2), smooth=False, twice=False)
    yield Form("attention", "T:2 n 4, T:2 n 4, T:2 n 6", "T:2 n 6", lambda q, k, v: attend(q, k, v, causal=True), "scale = 0.5 : f64, causal",
               sizes=SOME)


# Windows.

def padded(x, low, high, value):
    """None: it has its border already."""
    return x if value is None else F.pad(x, (low[1], high[1], low[0], high[0]), value=value)


def windows_of(x, window, strides, dilations, out):
    """[..., out, places]: what each window holds."""
    taps = []
    for i in range(window[0]):
        for j in range(window[1]):
            rows = slice(i * dilations[0], i * dilations[0] + strides[0] * (out[0] - 1) + 1, strides[0])
            columns = slice(j * dilations[1], j * dilations[1] + strides[1] * (out[1] - 1) + 1, strides[1])
            taps.append(x[:, :, rows, columns])
    return torch.stack(taps, -1)


def first_largest(v):
    """The first of equals, whatever PyTorch's own order is; a NaN is larger than any number."""
    best, place = v[..., 0], torch.zeros(v.shape[:-1], dtype=torch.int64)
    for i in range(1, v.shape[-1]):
        place = torch.where((v[..., i] > best) | torch.isnan(v[..., i]) & ~torch.isnan(best), i, place)
        best = torch.maximum(best.detach(), v[..., i].detach())
    return torch.gather(v, -1, place.unsqueeze(-1)).squeeze(-1)


def averaged(windows, low, high, reach, counts):
    """`counts`: the border's places are counted, but for those behind it that windows reach (ceil_mode)."""
    def apply(x):
        here = torch.ones_like(x)
        if counts:
            here = padded(here, low, high, 1.0)
            here = F.pad(here, (0, max(reach[1] - high[1], 0), 0, max(reach[0] - high[0], 0)))
            return windows(x, 0.0).sum(-1) / windows(here, None).sum(-1)
        return windows(x, 0.0).sum(-1) / windows(here, 0.0).sum(-1)
    return apply


POOLS = [((3, 2), (1, 1), (1, 1), (1, 0), (1, 1), False), ((2, 2), (2, 2), (0, 0), (0, 0), (1, 1), False),
         ((3, 3), (2, 2), (1, 1), (0, 0), (1, 1), True), ((2, 3), (3, 2), (0, 1), (1, 1), (2, 1), False), ((1, 2), (2, 3), (0, 0), (0, 0), (1, 2), False),
         ((17, 16), (1, 1), (8, 8), (8, 7), (1, 1), False)]


def window_forms():
    for window, strides, low, high, dilations, ceil in POOLS:
        out = [(s + l + h - d * (w - 1) - 1 + (t - 1 if ceil else 0)) // t + 1
               for s, l, h, d, w, t in zip((9, 8), low, high, dilations, window, strides)]
        own, text = window_text(*window, strides, low, high, dilations)
        text = f"{own}, {text}" + (", ceil_mode" if ceil else "")
        reach = [max(t * (o - 1) + d * (w - 1) + 1 - s - l, 0) for s, l, d, w, t, o in zip((9, 8), low, dilations, window, strides, out)]
        wins = lambda x, value, o=(window, strides, dilations, out), p=(low, reach): windows_of(padded(x, *p, value), *o)
        shape = f"T:n 2 {out[0]} {out[1]}"
        pool = lambda x, w=wins: first_largest(w(x, -torch.inf))
        yield Form("max_pool", "T:n 2 9 8", shape, pool, text, sizes=(0, 1, 3), draws={0: apart}, types=WIDE[:2])
        yield Form("max_pool", "T:n 2 9 8", shape, pool, text, sizes=(1, 3), draws={0: among(-1, 0, 1)}, smooth=False)
        yield Form("max_pool", "T:n 2 9 8", shape, pool, text, sizes=(1, 3), draws={0: among(-1, 0, 1, np.nan)}, smooth=False, twice=False)
        for counts in (False, True):
            average = averaged(wins, low, high, reach, counts)
            yield Form("avg_pool", "T:n 2 9 8", shape, average, text + (", count_include_pad" if counts else ""), sizes=(0, 1, 3),
                       types=WIDE if window == (2, 2) else ("f64",))
        for p in (1.0, 2.0, 3.0):
            yield Form("lp_pool", "T:n 2 9 8", shape, lambda x, w=wins, p=p: (w(x, 0.0).abs() ** p).sum(-1) ** (1 / p),
                       f"{text}, p = {p} : f64", sizes=(1, 3), draws={0: away(0)})
        # A window of nothing but zeros has no slope.
        yield Form("lp_pool", "T:n 2 9 8", shape, lambda x, w=wins: root(w(x, 0.0)), f"{text}, p = 2.0 : f64", sizes=(1, 3), draws={0: among(0, 0, 0, 0, 1)},
                   smooth=False, twice=False)
    yield Form("lrn", "T:2 n 3", "T:2 n 3", lambda x: lrn(x, 3), "size = 3 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.5 : f64")
    yield Form("lrn", "T:2 n 3 2", "T:2 n 3 2", lambda x: lrn(x, 4), "size = 4 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.5 : f64", sizes=SOME)
    yield from resize_forms()


def root(windows):
    """Of the sum of squares, whose slope at nothing but zeros is 0."""
    squares = (windows ** 2).sum(-1)
    return torch.where(squares == 0, 0 * squares, torch.where(squares == 0, 1 + squares, squares).sqrt())


def lrn(x, size):
    before = (size - 1) // 2
    squares = F.pad((x ** 2).transpose(1, -1), (before, size - 1 - before)).transpose(1, -1)
    around = sum(squares[:, i:i + x.shape[1]] for i in range(size))
    return x / (1.5 + 0.5 / size * around) ** 0.75


RESIZE = ("mode = #gantry<resize_mode {0}>, coordinate_mode = #gantry<coordinate_mode {1}>, nearest_mode = #gantry<nearest_mode floor>, "
          "scales = array<f64: 1.0, {2}>, roi = array<f64>, cubic_coefficient = -0.75 : f64, extrapolation = 0.0 : f64")


def resize_forms():
    resized = lambda mode, size, **more: lambda x: F.interpolate(x[None], size=size, mode=mode, **more)[0]
    yield Form("resize", "T:2 n 6", "T:2 2*n 18", lambda x: x.repeat_interleave(2, 1).repeat_interleave(3, 2),
               RESIZE.format("nearest", "asymmetric", "2.0, 3.0"))
    yield Form("resize", "T:2 6 8", "T:2 3 2", lambda x: x[:, ::2, ::4], RESIZE.format("nearest", "asymmetric", "0.5, 0.25"), sizes=(1,))
    for mode, name in (("linear", "bilinear"), ("cubic", "bicubic")):
        yield Form("resize", "T:2 5 7", "T:2 10 14", resized(name, (10, 14), align_corners=False), RESIZE.format(mode, "half_pixel", "2.0, 2.0"), sizes=(1,))
        yield Form("resize", "T:2 6 8", "T:2 3 4", resized(name, (3, 4), align_corners=False), RESIZE.format(mode, "half_pixel", "0.5, 0.5"), sizes=(1,))


    # Every way to say where elements lie, by central differences.
    for coordinates in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        for mode in ("nearest", "linear", "cubic"):
            for scales, out in (("1.0, 1.5", "5 10"), ("0.6, 2.0", "3 14"), ("0.2, 0.3", "1 2")):
                yield Form("resize", "T:2 5 7", f"T:2 {out}", None, RESIZE.format(mode, coordinates, scales), sizes=(1,), twice=False)
                if mode != "nearest":
                    yield Form("resize", "T:2 5 7", f"T:2 {out}", None, RESIZE.format(mode, coordinates, scales) + ", exclude_outside", sizes=(1,), twice=False)
    # What lies outside of the region of interest is a number.
    cropped = RESIZE.replace("roi = array<f64>", "roi = array<f64: 0.0, 0.1, -0.2, 1.0, 0.8, 1.4>")
    for mode in ("nearest", "linear", "cubic"):
        yield Form("resize", "T:2 5 7", "T:2 10 14", None, cropped.format(mode, "tf_crop_and_resize", "2.0, 2.0"), sizes=(1,), twice=False)


# Reductions and normalisations.

def reduction_forms():
    for axes, operand, result, keep in (((1,), "T:3 n", "T:3", False), ((0,), "T:n 3", "T:3", False), ((0, 1), "T:3 n", "T:", False),
                                        ((0, 2), "T:3 n 2", "T:1 n 1", True)):
        text = f"axes = array<i64: {', '.join(map(str, axes))}>" + (", keep_dims" if keep else "")
        some = SIZES if axes == (0, 2) else SOME + (197,)
        yield Form("reduce_sum", operand, result, lambda x, a=axes, k=keep: x.sum(a, keepdim=k), text, types=WIDE)
        yield Form("reduce_mean", operand, result, lambda x, a=axes, k=keep: x.mean(a, keepdim=k), text, types=WIDE, sizes=some)
        for op, function in (("reduce_max", torch.amax), ("reduce_min", torch.amin)):
            yield Form(op, operand, result, lambda x, f=function, a=axes, k=keep: f(x, a, keepdim=k), text, draws={0: apart}, sizes=some)
            yield Form(op, operand, result, lambda x, f=function, a=axes, k=keep: f(x, a, keepdim=k), text, draws={0: among(-1, 0, 1)}, sizes=some,
                       smooth=False, twice=False)
        product = lambda x, a=axes, k=keep: product_over(x, a, k)
        yield Form("reduce_prod", operand, result, product, text, draws={0: between(0.7, 1.3)}, sizes=some)
        yield Form("reduce_prod", operand, result, product, text, draws={0: among(0, 1.25, 0.75, -1, 1, 1, 1, 1.5)}, sizes=some)
    yield Form("cumsum", "T:3 n", "T:3 n", lambda x: x.cumsum(1), "axis = 1 : i64", types=WIDE[:2])
    yield Form("cumsum", "T:n 3", "T:n 3", lambda x: x.flip(0).cumsum(0).flip(0) - x, "axis = 0 : i64, exclusive, reverse")
    yield Form("cumsum", "T:n 3", "T:n 3", lambda x: x.cumsum(0) - x, "axis = 0 : i64, exclusive")
    yield Form("top_k", "T:2 n", "T:2 k, i64:2 k", lambda x: x.topk(min(x.shape[1], 5), 1, False), lambda n: f"axis = 1 : i64, k = {min(n, 5)} : i64, smallest",
               draws={0: apart})
    for axis, shape in ((1, "3 n"), (0, "n 3"), (1, "2 n 3")):
        yield Form("softmax", f"T:{shape}", f"T:{shape}", lambda x, a=axis: torch.softmax(x, a), f"axis = {axis} : i64", types=WIDE, sizes=SOME + (197,))
        yield Form("log_softmax", f"T:{shape}", f"T:{shape}", lambda x, a=axis: torch.log_softmax(x, a), f"axis = {axis} : i64", types=WIDE, sizes=SOME + (197,))
    epsilon = "epsilon = 0.01 : f64"
    for scale in ("1", "300"):
        draws = {0: lambda numbers, shape, s=float(scale): s * numbers.uniform(-1, 1, shape)}
        yield Form("layer_norm", "T:3 n, T:n, T:n", "T:3 n", lambda x, s, b: normalise(x, (1,)) * s + b, f"axis = 1 : i64, {epsilon}", types=WIDE,
                   sizes=(17, 197), draws=draws, smooth=scale == "1")
        yield Form("rms_norm", "T:3 n, T:n", "T:3 n", lambda x, s: normalise(x, (1,), False) * s, f"axis = 1 : i64, {epsilon}", types=WIDE,
                   sizes=(17, 197), draws=draws, smooth=scale == "1")
    yield Form("layer_norm", "T:3 n 4, T:n 4", "T:3 n 4", lambda x, s: normalise(x, (1, 2)) * s, f"axis = 1 : i64, {epsilon}", sizes=SOME)
    yield Form("layer_norm", "T:3 n, T:, T:1", "T:3 n", lambda x, s, b: normalise(x, (1,)) * s + b, f"axis = 1 : i64, {epsilon}", sizes=SOME)
    column = lambda v: v.reshape(-1, 1)
    yield Form("batch_norm", "T:2 3 n, T:3, T:3, T:3, T:3", "T:2 3 n", lambda x, s, b, m, v: (x - column(m)) / torch.sqrt(column(v) + 0.01) * column(s)
               + column(b), epsilon, draws={4: POSITIVE}, types=WIDE[:2])
    yield Form("group_norm", "T:2 4 n, T:4, T:4", "T:2 4 n", lambda x, s, b: normalise(x.reshape(2, 2, -1), (2,)).reshape(x.shape) * column(s) + column(b),
               f"groups = 2 : i64, {epsilon}", sizes=SOME, types=WIDE[:2])


def product_over(x, axes, keep):
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def normalise(x, axes, centre=True):
    centred = x - x.mean(axes, keepdim=True) if centre else x
    return centred / torch.sqrt((centred ** 2).mean(axes, keepdim=True) + 0.01)


# Movement and indices.

def movement_forms():
    yield Form("reshape", "T:n 6", "T:3 n 2", lambda x: x.reshape(3, -1, 2) if x.numel() else x.reshape(3, 0, 2))
    yield Form("transpose", "T:n 5 2", "T:2 n 5", lambda x: x.permute(2, 0, 1), "permutation = array<i64: 2, 0, 1>")
    yield Form("broadcast", "T:n 1", "T:2 n 3", lambda x: x.expand(2, len(x), 3), types=WIDE)
    yield Form("broadcast", "T:", "T:3 n", lambda x: x.expand(3, 1), sizes=(1,))
    yield Form("concat", "T:n 2, T:n 3", "T:n 5", lambda *x: torch.cat(x, 1), "axis = 1 : i64")
    yield Form("concat", "T:n, T:3, T:n", "T:2*n+3", lambda *x: torch.cat(x), "axis = 0 : i64")
    yield Form("split", "T:n 5", "T:n 2, T:n 3", lambda x: (x[:, :2], x[:, 2:]), "axis = 1 : i64, sizes = array<i64: 2, 3>")
    for start, size, step in ((0, 5, 1), (1, 3, 1), (1, 2, 2), (0, 3, 2), (4, 5, -1), (4, 2, -3), (3, 2, -2), (2, 1, 7)):
        def cut(x, start=start, size=size, step=step):
            return x[:, torch.tensor([start + i * step for i in range(size)])]
        yield Form("slice", "T:n 5", f"T:n {size}", cut, lambda n, t=(start, size, step):
                   f"starts = array<i64: 0, {t[0]}>, sizes = array<i64: {n}, {t[1]}>, steps = array<i64: 1, {t[2]}>", sizes=(0, 1, 17))
    yield Form("slice", "T:3 n", "T:3 0", lambda x: x[:, :0], "starts = array<i64: 0, 0>, sizes = array<i64: 3, 0>, steps = array<i64: 1, 1>", sizes=(1, 17))
    for mode, low, high in (("reflect", 1, 2), ("reflect", 4, 4), ("edge", 1, 2), ("edge", 7, 0), ("wrap", 1, 2), ("wrap", 5, 5), ("constant", 1, 2)):
        yield Form("pad", "T:n 5, T:", f"T:n {5 + low + high}", border(mode, low, high),
                   f"low = array<i64: 0, {low}>, high = array<i64: 0, {high}>, mode = #gantry<pad_mode {mode}>", sizes=(0, 1, 17),
                   wrt=() if mode == "constant" else (0,))
    yield Form("pad", "T:3 5, T:", "T:6 9", lambda x, v: torch.cat((torch.cat((v.expand(3, 1), x, v.expand(3, 3)), 1), v.expand(3, 9))),
               "low = array<i64: 0, 1>, high = array<i64: 3, 3>, mode = #gantry<pad_mode constant>", sizes=(1,))
    yield Form("pad", "T:4 5, T:", "T:7 9", lambda x, v: F.pad(x[None, None], (1, 3, 2, 1), mode="reflect")[0, 0],
               "low = array<i64: 2, 1>, high = array<i64: 1, 3>, mode = #gantry<pad_mode reflect>", sizes=(1,), wrt=(0,))


def border(mode, low, high):
    def apply(x, value):
        if mode == "constant":
            return torch.cat((value.expand(len(x), low), x, value.expand(len(x), high)), 1)
        places = np.pad(np.arange(5), (low, high), mode)
        return x[:, torch.tensor(places)]
    return apply


def inside(index, size):
    """From the end where negative, then as near as possible."""
    return torch.clamp(torch.where(index < 0, index + size, index), 0, size - 1)


def scattered(x, axis, index, updates, add):
    """Row by row, so that the last of equals is kept."""
    index = inside(index, x.shape[axis])
    if add:
        return x.scatter_add(axis, index, updates)
    result = x
    for i in range(index.shape[axis]):
        result = result.scatter(axis, index.narrow(axis, i, 1), updates.narrow(axis, i, 1))
    return result


def scattered_nd(x, index, updates, add):
    result = x
    for i in range(len(index)):
        place = tuple(inside(index[i, j], x.shape[j]).reshape(1) for j in range(index.shape[1]))
        result = result.index_put(place, updates[i][None], accumulate=add)
    return result


def set_slice(x, update, index):
    return x.index_put((inside(index, len(x)).reshape(1),), update[None])


def indexing_forms():
    far = whole(-12, 12)
    yield Form("gather", "T:7 5, i64:n", "T:n 5", lambda x, i: x[inside(i, 7)], "axis = 0 : i64", draws={1: far}, types=WIDE)
    yield Form("gather", "T:2 7 3, i64:n 2", "T:2 n 2 3", lambda x, i: x[:, inside(i, 7)], "axis = 1 : i64", draws={1: far}, sizes=(0, 1, 17))
    yield Form("gather", "T:n 7, i64:", "T:n", lambda x, i: x[:, inside(i, 7)], "axis = 1 : i64", draws={1: far})
    # A row that many read: of f16 a sum in f16 would stop at 2048.
    yield Form("gather", "T:3 2, i64:n", "T:n 2", lambda x, i: x[inside(i, 3)], "axis = 0 : i64", draws={1: whole(0, 1)}, sizes=(10000,), types=WIDE,
               twice=False, seeds=between(0.25, 0.5))
    yield Form("gather_elements", "T:3 7, i64:3 n", "T:3 n", lambda x, i: x.gather(1, inside(i, 7)), "axis = 1 : i64", draws={1: far}, types=WIDE[:2])
    yield Form("gather_nd", "T:7 5 3, i64:n 2", "T:n 3", lambda x, i: x[inside(i[:, 0], 7), inside(i[:, 1], 5)], "batch_dims = 0 : i64", draws={1: far})
    yield Form("gather_nd", "T:4 5 3, i64:4 1", "T:4 3", lambda x, i: x[torch.arange(4), inside(i[:, 0], 5)], "batch_dims = 1 : i64", draws={1: far}, sizes=(1,))
    yield Form("gather_nd", "T:2 3 5, i64:2 3 n 1", "T:2 3 n", lambda x, i: x.gather(2, inside(i[..., 0], 5)), "batch_dims = 2 : i64", draws={1: far},
               sizes=(0, 1, 17))
    for reduction in ("add", "none"):
        attribute, add = f"reduction = #gantry<reduction {reduction}>", reduction == "add"
        yield Form("scatter_elements", "T:4 7, i64:3 n, T:3 n", "T:4 7", lambda x, i, u, a=add: scattered_rows(x, i, u, a), f"axis = 1 : i64, {attribute}",
                   draws={1: far}, sizes=(0, 1, 17))
        yield Form("scatter_elements", "T:7 3, i64:n 3, T:n 3", "T:7 3", lambda x, i, u, a=add: scattered(x, 0, i, u, a), f"axis = 0 : i64, {attribute}",
                   draws={1: far}, sizes=(0, 1, 17))
        yield Form("scatter_nd", "T:5 7 3, i64:n 2, T:n 3", "T:5 7 3", lambda x, i, u, a=add: scattered_nd(x, i, u, a), attribute, draws={1: whole(-3, 3)},
                   sizes=(0, 1, 17))
        yield Form("scatter_nd", "T:5, i64:n 1, T:n", "T:5", lambda x, i, u, a=add: scattered_nd(x, i, u, a), attribute, draws={1: whole(-7, 7)},
                   sizes=(0, 1, 17))
    yield Form("set_slice", "T:7 n, T:n, i64:", "T:7 n", set_slice, "axis = 0 : i64", draws={2: far})
    yield Form("one_hot", "i64:n, T:, T:", "T:n 10", lambda i, off, on: torch.where(torch.where(i < 0, i + 10, i)[:, None] == torch.arange(10), on, off),
               "axis = 1 : i64, depth = 10 : i64", draws={0: whole(-12, 12)}, sizes=(1, 17))


def scattered_rows(x, index, updates, add):
    """Along the second axis of the first rows."""
    top = scattered(x[:index.shape[0]], 1, index, updates, add)
    return torch.cat((top, x[index.shape[0]:]))


# Pools' own ops: each is the other's way back.

def pick_forms():
    own, text = window_text(3, 2, (2, 1), (1, 0), (1, 1), (1, 1))
    places = whole(0, 6)

    def pick(x, place):
        image = padded(x, (1, 0), (1, 1), 0.0)
        return torch.gather(windows_of(image, (3, 2), (2, 1), (1, 1), (5, 8)), -1, place.to(torch.int64)[..., None])[..., 0]

    def spread_back(values, place):
        image = torch.zeros(values.shape[0], 2, 9, 8, dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(pick(image, place), image, values, create_graph=True)[0]
    yield Form("pool_pick", "T:n 2 9 8, ui8:n 2 5 8", "T:n 2 5 8", pick, f"{own}, {text}", draws={1: places}, sizes=(0, 1, 3))
    yield Form("pool_spread", "T:n 2 5 8, ui8:n 2 5 8", "T:n 2 9 8", spread_back, f"{own}, {text}, sizes = array<i64: 9, 8>", draws={1: places}, sizes=(1, 3))


# More than one op.

CHAIN = """
%t0 = gantry.mul %x0, %x0 : (tensor<3x$nx$T>, tensor<3x$nx$T>) -> tensor<3x$nx$T>
%t1 = gantry.sin %x0 : (tensor<3x$nx$T>) -> tensor<3x$nx$T>
%t2 = gantry.mul %t0, %t1 : (tensor<3x$nx$T>, tensor<3x$nx$T>) -> tensor<3x$nx$T>
%r0 = gantry.add %t2, %t0 : (tensor<3x$nx$T>, tensor<3x$nx$T>) -> tensor<3x$nx$T>"""
STOPPED = """
%t0 = gantry.exp %x0 : (tensor<$nx$T>) -> tensor<$nx$T>
%t1 = gantry.stop_gradient %t0 : tensor<$nx$T>
%r0 = gantry.mul %t1, %x0 : (tensor<$nx$T>, tensor<$nx$T>) -> tensor<$nx$T>"""
FLOORED = """
%t0 = gantry.floor %x0 : (tensor<$nx$T>) -> tensor<$nx$T>
%r0 = gantry.mul %t0, %x0 : (tensor<$nx$T>, tensor<$nx$T>) -> tensor<$nx$T>"""
CHECKPOINT = """
%r0 = gantry.checkpoint -> (tensor<$nx$T>) {
  %t0 = gantry.exp %x0 : (tensor<$nx$T>) -> tensor<$nx$T>
  %t1 = gantry.mul %t0, %x1 : (tensor<$nx$T>, tensor<$nx$T>) -> tensor<$nx$T>
  %t2 = gantry.sin %t1 : (tensor<$nx$T>) -> tensor<$nx$T>
  gantry.yield %t2 : tensor<$nx$T>
}"""
CUSTOM = """
%r0 = gantry.custom_gradient (%x0) : (tensor<$nx$T>) -> tensor<$nx$T> {
^bb0(%a: tensor<$nx$T>):
  %t0 = gantry.exp %a : (tensor<$nx$T>) -> tensor<$nx$T>
  gantry.yield %t0 : tensor<$nx$T>
} backward {
^bb0(%b: tensor<$nx$T>, %y: tensor<$nx$T>, %d: tensor<$nx$T>):
  %t1 = gantry.mul %d, %b : (tensor<$nx$T>, tensor<$nx$T>) -> tensor<$nx$T>
  gantry.yield %t1 : tensor<$nx$T>
}"""
COPIED = """
%t0 = gantry.copy %x0 to "CPU:0" : tensor<$nx$T>
%r0 = gantry.exp %t0 : (tensor<$nx$T>) -> tensor<$nx$T>"""
BRANCH = """
%r0 = gantry.if %x2 -> (tensor<$nx$T>) {
  %t0 = gantry.exp %x0 : (tensor<$nx$T>) -> tensor<$nx$T>
  %t1 = gantry.mul %t0, %x1 : (tensor<$nx$T>, tensor<$nx$T>) -> tensor<$nx$T>
  gantry.yield %t1 : tensor<$nx$T>
} else {
  %t2 = gantry.sin %x1 : (tensor<$nx$T>) -> tensor<$nx$T>
  gantry.yield %t2 : tensor<$nx$T>
} : tensor<i1>"""
LOOP = """
%zero = gantry.constant dense<0> : tensor<i64>
%one = gantry.constant dense<1> : tensor<i64>
%most = gantry.constant dense<ROUNDS> : tensor<i64>
%i, %r0 = gantry.while (%zero, %x0) : (tensor<i64>, tensor<$nx$T>) -> (tensor<i64>, tensor<$nx$T>) {
^bb0(%k: tensor<i64>, %v: tensor<$nx$T>):
  %c = gantry.compare lt, %k, %most : (tensor<i64>, tensor<i64>) -> tensor<i1>
  gantry.yield %c : tensor<i1>
} do {
^bb0(%k2: tensor<i64>, %v2: tensor<$nx$T>):
  %t0 = gantry.mul %v2, %x1 : (tensor<$nx$T>, tensor<$nx$T>) -> tensor<$nx$T>
  %t1 = gantry.sin %t0 : (tensor<$nx$T>) -> tensor<$nx$T>
  %t2 = gantry.add %t1, %v2 : (tensor<$nx$T>, tensor<$nx$T>) -> tensor<$nx$T>
  %next = gantry.add %k2, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  gantry.yield %next, %t2 : tensor<i64>, tensor<$nx$T>
}"""

# A branch on the round's number and a loop, both inside of a loop, with a checkpoint; rows are read by the number.
NESTED = """
%zero = gantry.constant dense<0> : tensor<i64>
%one = gantry.constant dense<1> : tensor<i64>
%two = gantry.constant dense<2> : tensor<i64>
%three = gantry.constant dense<3> : tensor<i64>
%i, %r0 = gantry.while (%zero, %x0) : (tensor<i64>, tensor<$nx$T>) -> (tensor<i64>, tensor<$nx$T>) {
^bb0(%k: tensor<i64>, %v: tensor<$nx$T>):
  %c = gantry.compare lt, %k, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
  gantry.yield %c : tensor<i1>
} do {
^bb0(%k2: tensor<i64>, %v2: tensor<$nx$T>):
  %row = gantry.gather %x1, %k2 {axis = 0 : i64} : (tensor<3x$nx$T>, tensor<i64>) -> tensor<$nx$T>
  %first = gantry.compare lt, %k2, %one : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %b = gantry.if %first -> (tensor<$nx$T>) {
    %b1 = gantry.mul %v2, %row : (tensor<$nx$T>, tensor<$nx$T>) -> tensor<$nx$T>
    %b2 = gantry.sin %b1 : (tensor<$nx$T>) -> tensor<$nx$T>
    gantry.yield %b2 : tensor<$nx$T>
  } else {
    %j, %u = gantry.while (%zero, %v2) : (tensor<i64>, tensor<$nx$T>) -> (tensor<i64>, tensor<$nx$T>) {
    ^bb0(%l: tensor<i64>, %w: tensor<$nx$T>):
      %c2 = gantry.compare lt, %l, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %c2 : tensor<i1>
    } do {
    ^bb0(%l2: tensor<i64>, %w2: tensor<$nx$T>):
      %d = gantry.checkpoint -> (tensor<$nx$T>) {
        %d1 = gantry.mul %w2, %row : (tensor<$nx$T>, tensor<$nx$T>) -> tensor<$nx$T>
        %d2 = gantry.tanh %d1 : (tensor<$nx$T>) -> tensor<$nx$T>
        gantry.yield %d2 : tensor<$nx$T>
      }
      %l3 = gantry.add %l2, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %l3, %d : tensor<i64>, tensor<$nx$T>
    }
    gantry.yield %u : tensor<$nx$T>
  } : tensor<i1>
  %next = gantry.add %k2, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  gantry.yield %next, %b : tensor<i64>, tensor<$nx$T>
}"""


def nested(x, rows):
    x = torch.sin(x * rows[0])
    for row in rows[1:]:
        for _ in range(2):
            x = torch.tanh(x * row)
    return x


def custom(x):
    """exp forward, d x backward."""
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(context, a):
            context.save_for_backward(a)
            return a.exp()

        @staticmethod
        def backward(context, d):
            return d * context.saved_tensors[0]
    return Own.apply(x)


def repeated(rounds):
    def apply(x, w):
        for _ in range(rounds):
            x = torch.sin(x * w) + x
        return x
    return apply


def program_forms():
    yield Form("repeated use", "T:3 n", "T:3 n", lambda x: x * x * torch.sin(x) + x * x, body=CHAIN, types=WIDE[:2])
    yield Form("stop_gradient", "T:n", "T:n", lambda x: x.exp().detach() * x, body=STOPPED, smooth=False)
    yield Form("floor", "T:n", "T:n", lambda x: x.floor().detach() * x, body=FLOORED, draws={0: away(*range(-4, 5))})
    yield Form("checkpoint", "T:n, T:n", "T:n", lambda x, y: torch.sin(x.exp() * y), body=CHECKPOINT)
    yield Form("custom_gradient", "T:n", "T:n", custom, body=CUSTOM, smooth=False)
    yield Form("copy", "T:n", "T:n", torch.exp, body=COPIED)
    for value in (True, False):
        yield Form("if", "T:n, T:n, i1:", "T:n", lambda x, y, c: x.exp() * y if c else y.sin(), body=BRANCH,
                   draws={2: lambda numbers, shape, v=value: np.array(v)}, sizes=(0, 1, 17))
    yield Form("while nested", "T:n, T:3 n", "T:n", nested, body=NESTED, sizes=(1, 17))
    for rounds in (0, 1, 5):
        yield Form("while", "T:n, T:n", "T:n", repeated(rounds), body=LOOP.replace("ROUNDS", str(rounds)), sizes=(1, 17), wrt=(0, 1) if rounds else (0,))


FAMILIES = {"one operand": elementwise_forms, "several operands": binary_forms, "products": contraction_forms, "windows": window_forms,
            "reductions, rows": reduction_forms, "movement": movement_forms, "indices": indexing_forms, "places of maxima": pick_forms,
            "structure": program_forms}
# Where PyTorch's own functions say something else, and what Gantry is compared with there.
APART = {
    "rem, mod": "where a / b rounds up, PyTorch's slope is that of the next piece: by a formula with the piece that the rest was taken in",
    "lp_pool": "of numbers below 0 with odd p PyTorch takes roots of sums below 0: by the sum of |x|^p",
    "max_pool": "of NaN PyTorch's slope is the last one's, of equals it depends on how it computes: by the first",
    "hard_swish": "at 3 PyTorch's own function says 1 or 1.5, which depends on how it computes: by its formula",
}


def forms():
    for family, made in FAMILIES.items():
        for form in made():
            form.family = family
            yield form
