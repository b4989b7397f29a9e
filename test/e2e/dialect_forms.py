"""Every op of the dialect in text, with sizes that are expressions of letters: for tests that try all
of them at sizes of their own. NumPy says what comes out where a result has elements although operands
have none."""

import dataclasses
import re

import numpy as np

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "i32": np.int32, "ui8": np.uint8,
          "ui32": np.uint32, "i64": np.int64, "i1": np.bool_}
FULL = {letter: 2 + i % 3 for i, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}


@dataclasses.dataclass
class Form:
    """One way to write an op: types as `element:sizes`, sizes as expressions of letters, which take the
    value 0 in turn. `reference` is needed where a result with elements comes of operands without."""
    op: str
    operands: str
    results: str
    attributes: str = ""
    reference: object = None
    prefix: str = ""  # between the name and the operands
    sized: bool = False  # the reference wants the sizes of letters and the results' shapes first

    def letters(self):
        return sorted(set(re.findall(r"\b[a-z]\b", self.operands + self.results)))


def shapes(text, sizes):
    """[(element, shape)] of a list of types."""
    types = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        element, dims = part.split(":")
        types.append((element, tuple(eval(d, {}, sizes) for d in dims.split())))  # expressions of this file
    return types


def mean(x, axis, keepdims=False):
    if x.dtype.kind == "f":
        return x.mean(axis=axis, keepdims=keepdims, dtype=x.dtype)
    return np.zeros(np.sum(x, axis=axis, keepdims=keepdims).shape, x.dtype)  # 0 where the divisor is 0


def largest(x, axis, keepdims=False):
    """The identity of the maximum where there is nothing, as ONNX has it."""
    return x.max(axis=axis, keepdims=keepdims, initial=-np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min)


def smallest(x, axis, keepdims=False):
    return x.min(axis=axis, keepdims=keepdims, initial=np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max)


def attend(q, k, v, mask=None):
    scores = np.einsum("bte,bse->bts", q, k) * 0.5 + (0 if mask is None else mask)
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    return np.einsum("bts,bsf->btf", weights / weights.sum(-1, keepdims=True), v).astype(q.dtype)


def gather(x, indices, axis):
    return np.take(x, indices, axis)


def scatter(x, indices, updates):
    result = x.copy()
    result[indices.reshape(-1)] = updates.reshape(-1, *x.shape[1:])
    return result


def set_slice(x, update, index):
    result = x.copy()
    result[index] = update
    return result


def uniform(op, operands, results, attributes, value):
    """An op over windows that see nothing but border, or sums nothing: one value all over."""
    return Form(op, operands, results, attributes,
                lambda _, shapes_, x, *more: np.full(shapes_[0], value, x.dtype), sized=True)


UNARY = """abs neg sign exp expm1 log log1p sqrt rsqrt reciprocal floor ceil round trunc sin cos tan asin acos atan
sinh cosh tanh asinh acosh atanh erf relu sigmoid silu softplus softsign mish hard_swish gelu""".split()
ALPHA = {"elu": "{alpha = 1.0 : f64}", "celu": "{alpha = 1.0 : f64}", "selu": "{alpha = 1.67 : f64, gamma = 1.05 : f64}",
         "leaky_relu": "{alpha = 0.01 : f64}", "thresholded_relu": "{alpha = 1.0 : f64}",
         "hard_sigmoid": "{alpha = 0.2 : f64, beta = 0.5 : f64}", "shrink": "{bias = 0.0 : f64, lambda = 0.5 : f64}",
         "dropout": "{ratio = 0.5 : f64}"}
BINARY = "add sub mul div rem mod pow maximum minimum prelu".split()
REDUCTIONS = {"reduce_sum": lambda x, axis, keepdims=False: x.sum(axis, keepdims=keepdims, dtype=x.dtype),
              "reduce_prod": lambda x, axis, keepdims=False: x.prod(axis, keepdims=keepdims, dtype=x.dtype),
              "reduce_mean": mean, "reduce_max": largest, "reduce_min": smallest}
ONE = "strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, "
BORDER = ONE + "pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 0>"
POOL = "{window = array<i64: 2, 1>, " + BORDER + "%s}"


def elementwise_forms():
    for op in UNARY:
        yield Form(op, "f32:a b", "f32:a b")
    for op, attributes in ALPHA.items():
        yield Form(op, "f32:a b", "f32:a b", attributes)
    for op in BINARY:
        yield Form(op, "f32:a b, f32:b", "f32:a b")
        yield Form(op, "i32:a 1, i32:a b", "i32:a b")
    for op in ("logical_and", "logical_or", "logical_xor"):
        yield Form(op, "i1:a b, i1:b", "i1:a b")
    for op in ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"):
        yield Form(op, "ui32:a b, ui32:b", "ui32:a b")
    yield Form("logical_not", "i1:a b", "i1:a b")
    yield Form("bitwise_not", "i32:a b", "i32:a b")
    yield Form("is_nan", "f32:a b", "i1:a b")
    yield Form("is_inf", "f32:a b", "i1:a b")
    yield Form("compare", "f32:a b, f32:1 b", "i1:a b", prefix="lt, ")
    yield Form("select", "i1:a 1, f32:a b, f32:b", "f32:a b")
    yield Form("clamp", "f32:a b, f32:, f32:", "f32:a b")
    yield Form("add_n", "f32:a b, f32:a b, f32:a b", "f32:a b")
    for element in DTYPES:
        yield Form("cast", "f32:a b", f"{element}:a b")
    yield Form("batch_norm", "f32:a b c d, f32:b, f32:b, f32:b, f32:b", "f32:a b c d", "{epsilon = 1.0e-5 : f64}")


def contraction_forms():
    for element in ("f32", "f16", "i32"):
        yield Form("matmul", f"{element}:m k, {element}:k n", f"{element}:m n", "", np.matmul)
    yield Form("matmul", "f32:b m k, f32:n k", "f32:b m n", "{transpose_b}", lambda a, b: a @ b.T)
    yield Form("matmul", "f32:a b k m, f32:b k n", "f32:a b m n", "{transpose_a}",
               lambda a, b: np.swapaxes(a, -1, -2) @ b)
    for op in ("conv", "conv_transpose"):
        spread = ", output_pads = array<i64: 0, 0>" if op == "conv_transpose" else ""
        yield uniform(op, "f32:n c h w, f32:" + ("o c 2 1" if op == "conv" else "c o 2 1"),
                   "f32:n o " + ("h+1 w+1" if op == "conv" else "h+1-2 w-1"),
                   "{" + BORDER + spread + ", groups = 1 : i64}", 0)
        yield uniform(op, "f32:n 2*c h w, f32:" + ("2*o c 2 1" if op == "conv" else "2*c o 2 1"),
                   "f32:n 2*o " + ("h+1 w+1" if op == "conv" else "h+1-2 w-1"),
                   "{" + BORDER + spread + ", groups = 2 : i64}", 0)
    yield uniform("max_pool", "f32:n c h w", "f32:n c h+1 w+1", POOL % "", -np.inf)
    yield uniform("max_pool", "i32:n c h w", "i32:n c h+1 w+1", POOL % "", np.iinfo(np.int32).min)
    yield uniform("avg_pool", "f32:n c h w", "f32:n c h+1 w+1", POOL % "", 0)
    yield uniform("avg_pool", "f32:n c h w", "f32:n c h+1 w+1", POOL % ", count_include_pad", 0)
    for p in (1, 2, 3):
        yield uniform("lp_pool", "f32:n c h w", "f32:n c h+1 w+1", POOL % f", p = {p}.0 : f64", 0)
    yield uniform("conv_filter_grad", "f32:n c h w, f32:n o h+1 w+1", "f32:o c 2 1", POOL % ", groups = 1 : i64", 0)
    yield Form("max_pool_index", "f32:n c h w", "ui8:n c h+1 w+1", POOL % "", lambda _, shapes_, x: np.full(shapes_[0], 2, np.uint8), sized=True)
    yield Form("pool_spread", "f32:n c h+1 w+1, ui8:n c h+1 w+1", "f32:n c h w",
               lambda s: POOL % f", sizes = array<i64: {s['h']}, {s['w']}>")
    yield uniform("pool_pick", "f32:n c h w, ui8:n c h+1 w+1", "f32:n c h+1 w+1", POOL % "", 0)
    yield Form("attention", "f32:b t e, f32:b s e, f32:b s f", "f32:b t f", "{scale = 0.5 : f64}", attend)
    yield Form("attention", "f32:b t e, f32:b s e, f32:b s f, f32:t s", "f32:b t f", "{scale = 0.5 : f64}", attend)


def reduction_forms():
    for op, reference in REDUCTIONS.items():
        for element in ("f32", "f16", "i32"):
            yield Form(op, f"{element}:a b c", f"{element}:a c", "{axes = array<i64: 1>}",
                       lambda x, f=reference: f(x, 1))
            yield Form(op, f"{element}:a b c", f"{element}:1 b 1", "{axes = array<i64: 0, 2>, keep_dims}",
                       lambda x, f=reference: f(x, (0, 2), keepdims=True))
        yield Form(op, "f32:a b", "f32:", "{axes = array<i64: 0, 1>}", lambda x, f=reference: f(x, (0, 1)))
        yield Form(op, "f32:a b", "f32:a b", "{axes = array<i64>}", lambda x, f=reference: f(x, ()))
    for op, reference in (("argmax", np.argmax), ("argmin", np.argmin)):
        yield Form(op, "f32:a b", "i64:a", "{axis = 1 : i64}", lambda x, f=reference: f(x, 1))
        yield Form(op, "i32:a b", "i64:1 b", "{axis = 0 : i64, keep_dims}",
                   lambda x, f=reference: f(x, 0, keepdims=True))
    for op in ("softmax", "log_softmax"):
        yield Form(op, "f32:a b c", "f32:a b c", "{axis = 1 : i64}")
    yield Form("layer_norm", "f32:a b c, f32:b c, f32:c", "f32:a b c", "{axis = 1 : i64, epsilon = 1.0e-5 : f64}")
    yield Form("rms_norm", "f32:a b c, f32:c", "f32:a b c", "{axis = 2 : i64, epsilon = 1.0e-5 : f64}")
    yield Form("group_norm", "f32:a 2*b c, f32:2*b, f32:2*b", "f32:a 2*b c", "{groups = 2 : i64, epsilon = 1.0e-5 : f64}")
    yield Form("lrn", "f32:a b c", "f32:a b c", "{size = 3 : i64, alpha = 1.0e-4 : f64, beta = 0.75 : f64, bias = 1.0 : f64}")
    yield Form("cumsum", "f32:a b", "f32:a b", "{axis = 1 : i64}")
    yield Form("cumsum", "f32:a b", "f32:a b", "{axis = 0 : i64, exclusive, reverse}")
    yield Form("top_k", "f32:a b+1", "f32:a 1, i64:a 1", "{axis = 1 : i64, k = 1 : i64}")
    yield Form("top_k", "f32:a b", "f32:a 0, i64:a 0", "{axis = 1 : i64, k = 0 : i64}")


def movement_forms():
    yield Form("reshape", "f32:a b", "f32:b a")
    yield Form("reshape", "f32:a b c", "f32:a*b c")
    yield Form("transpose", "f32:a b c", "f32:c a b", "{permutation = array<i64: 2, 0, 1>}")
    yield Form("broadcast", "f32:a 1", "f32:c a b")
    for n in (1, 2, 3):
        operands = ", ".join(f"f32:a {letter} b" for letter in "xyz"[:n])
        yield Form("concat", operands, f"f32:a {'+'.join('xyz'[:n])} b", "{axis = 1 : i64}",
                   lambda *x: np.concatenate(x, 1))
    yield Form("slice", "f32:a b+2", "f32:a b",
               lambda s: f"{{starts = array<i64: 0, 1>, sizes = array<i64: {s['a']}, {s['b']}>, steps = array<i64: 1, 1>}}")
    yield Form("slice", "f32:a+1 b", "f32:1 b",
               lambda s: f"{{starts = array<i64: {s['a']}, 0>, sizes = array<i64: 1, {s['b']}>, steps = array<i64: -1, 1>}}")
    yield Form("split", "f32:a+b c", "f32:a c, f32:b c",
               lambda s: f"{{axis = 0 : i64, sizes = array<i64: {s['a']}, {s['b']}>}}",
               lambda s, _, x: np.split(x, [s["a"]]), sized=True)
    yield Form("pad", "f32:a b, f32:", "f32:a+1 b+2",
               "{low = array<i64: 1, 0>, high = array<i64: 0, 2>, mode = #gantry<pad_mode constant>}",
               lambda x, v: np.pad(x, ((1, 0), (0, 2)), constant_values=v))
    for mode, name in (("reflect", "reflect"), ("edge", "edge"), ("wrap", "wrap")):
        yield Form("pad", "f32:a b, f32:", "f32:a b+2",
                   f"{{low = array<i64: 0, 1>, high = array<i64: 0, 1>, mode = #gantry<pad_mode {mode}>}}",
                   lambda x, v, name=name: np.pad(x, ((0, 0), (1, 1)), mode=name))
    for element in ("f32", "i64"):
        yield Form("iota", "", f"{element}:a b", "{axis = 0 : i64}")
    for mode in ("nearest", "linear", "cubic"):
        yield Form("resize", "f32:1 a b", "f32:1 a 2*b",
                   f"{{mode = #gantry<resize_mode {mode}>, coordinate_mode = #gantry<coordinate_mode half_pixel>, nearest_mode = "
                   "#gantry<nearest_mode floor>, scales = array<f64: 1.0, 1.0, 2.0>, roi = array<f64>, cubic_coefficient = -0.75 : f64, "
                   "extrapolation = 0.0 : f64}")
    yield Form("random_uniform", "", "f32:a b", "{seed = 7 : i64, low = 0.0 : f64, high = 1.0 : f64}")
    yield Form("random_normal", "", "f32:a b", "{seed = 7 : i64, mean = 0.0 : f64, deviation = 1.0 : f64}")
    yield Form("random_uniform", "i64:", "f32:a b", "{low = 0.0 : f64, high = 1.0 : f64}")
    yield Form("random_normal", "i64:", "f32:a b", "{stream = 1 : i64, mean = 0.0 : f64, deviation = 1.0 : f64}")
    yield Form("update", "f32:a b", "f32:a b")
    yield Form("update_add", "f32:a b, f32:a b", "f32:a b")


def indexing_forms():
    yield Form("gather", "f32:a b, i64:i j", "f32:i j b", "{axis = 0 : i64}", lambda x, i: gather(x, i, 0))
    yield Form("gather", "f32:a b c, i32:i", "f32:a i c", "{axis = 1 : i64}", lambda x, i: gather(x, i, 1))
    yield Form("gather_elements", "f32:a b, i64:a i", "f32:a i", "{axis = 1 : i64}",
               lambda x, i: np.take_along_axis(x, i, 1))
    yield Form("gather_nd", "f32:a b, i64:i 1", "f32:i b", "{batch_dims = 0 : i64}", lambda x, i: x[i[:, 0]])
    yield Form("gather_nd", "f32:a b, i64:a 1", "f32:a", "{batch_dims = 1 : i64}",
               lambda x, i: np.take_along_axis(x, i, 1)[:, 0])
    yield Form("gather_nd", "f32:a b, i64:i 0", "f32:i a b", "{batch_dims = 0 : i64}",
               lambda x, i: np.broadcast_to(x, (len(i), *x.shape)))
    for reduction in ("none", "add"):
        yield Form("scatter_elements", "f32:a, i64:i, f32:i", "f32:a",
                   f"{{axis = 0 : i64, reduction = #gantry<reduction {reduction}>}}", lambda x, i, u: scatter(x, i, u))
        yield Form("scatter_nd", "f32:a b, i64:i 1, f32:i b", "f32:a b",
                   f"{{reduction = #gantry<reduction {reduction}>}}", lambda x, i, u: scatter(x, i, u))
    yield Form("set_slice", "f32:a b, f32:b, i64:", "f32:a b", "{axis = 0 : i64}", lambda x, u, i: set_slice(x, u, i))
    yield Form("one_hot", "i64:a b, f32:, f32:", "f32:a d b",
               lambda s: f"{{axis = 1 : i64, depth = {s['d']} : i64}}")
    yield Form("first_bad_index", "i64:a b", "i64:2", "{sizes = array<i64: 9>}", lambda i: np.array([-1, 0]))


def forms():
    return [*elementwise_forms(), *contraction_forms(), *reduction_forms(), *movement_forms(), *indexing_forms()]
