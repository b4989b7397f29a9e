"""Graphs whose time is measured: their operands are variables of the GPU, so that a run copies nothing.

`fill` gives the variables random values, `main` is what is measured. Each has a row of the report:
what it is, for PyTorch the same, and how many operations or bytes it is.
"""

ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2}


def tensor(shape, element):
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


def program(element, operands, result, lines, device="GPU:0"):
    """`operands`: shapes of %a, %b, ...; `lines` compute %y of shape `result`."""
    device = f'{{gantry.device = #gantry.device<"{device}">}}'
    names = "abcd"[:len(operands)]
    text = [f"gantry.variable @{name} {device} = dense<0.0> : {tensor(shape, element)}"
            for name, shape in (*zip(names, operands), ("y", result))]
    text.append("func.func @main() {")
    text += [f"  %{name} = gantry.read @{name} : {tensor(shape, element)}" for name, shape in zip(names, operands)]
    text += [f"  {line}" for line in lines]
    text += [f"  gantry.assign @y, %y : {tensor(result, element)}", "  return", "}", "func.func @fill() {"]
    for number, (name, shape) in enumerate(zip(names, operands)):
        kind = tensor(shape, element)
        text += [f"  %{name} = gantry.random_uniform {{seed = {number + 1} : i64, low = -1.0 : f64, high = 1.0 : f64}} : () -> {kind}",
                 f"  gantry.assign @{name}, %{name} : {kind}"]
    return "\n".join([*text, "  return", "}", ""])


def matmul(element, m, n, k, device="GPU:0"):
    a, b, y = (tensor(shape, element) for shape in ((m, k), (k, n), (m, n)))
    return program(element, [(m, k), (k, n)], (m, n), [f"%y = gantry.matmul %a, %b : ({a}, {b}) -> {y}"], device)


def linear(element, m, n, k):
    """With a bias and ReLU behind it."""
    a, b, c, y = (tensor(shape, element) for shape in ((m, k), (k, n), (n,), (m, n)))
    return program(element, [(m, k), (k, n), (n,)], (m, n), [f"%p = gantry.matmul %a, %b : ({a}, {b}) -> {y}",
                                                             f"%s = gantry.add %p, %c : ({y}, {c}) -> {y}",
                                                             f"%y = gantry.relu %s : ({y}) -> {y}"])


def convolution(element, n, c, size, o, window):
    """Of a filter that is a constant, with borders that keep the size."""
    x, w, y = tensor((n, c, size, size), element), tensor((o, c, window, window), element), tensor((n, o, size, size), element)
    pads = f"array<i64: {window // 2}, {window // 2}>"
    return program(element, [(n, c, size, size)], (n, o, size, size), [
        f"%w = gantry.constant dense<0.5> : {w}",
        f"%y = gantry.conv %a, %w {{strides = array<i64: 1, 1>, pads_low = {pads}, pads_high = {pads}, dilations = array<i64: 1, 1>, "
        f"groups = 1 : i64}} : ({x}, {w}) -> {y}"])


def elementwise(element, m, n):
    t = tensor((m, n), element)
    two = lambda op, a, b, y: f"%{y} = gantry.{op} %{a}, %{b} : ({t}, {t}) -> {t}"
    return program(element, [(m, n)] * 3, (m, n), [two("mul", "a", "b", "p"), two("add", "p", "c", "q"),
                                                   f"%y = gantry.relu %q : ({t}) -> {t}"])


def softmax(element, m, n):
    t = tensor((m, n), element)
    return program(element, [(m, n)], (m, n), [f"%y = gantry.softmax %a {{axis = 1 : i64}} : ({t}) -> {t}"])


def layer_norm(element, m, n):
    t, row = tensor((m, n), element), tensor((n,), element)
    return program(element, [(m, n), (n,), (n,)], (m, n),
                   [f"%y = gantry.layer_norm %a, %b, %c {{axis = 1 : i64, epsilon = 1.0e-5 : f64}} : ({t}, {row}, {row}) -> {t}"])


def transpose(x, y, shape, order, element):
    turned = [shape[i] for i in order]
    return (f"%{y} = gantry.transpose %{x} {{permutation = array<i64: {', '.join(map(str, order))}>}} : "
            f"({tensor(shape, element)}) -> {tensor(turned, element)}")


def attention(element, b, h, t, d, causal):
    """The op, heads apart."""
    x = tensor((b, h, t, d), element)
    return program(element, [(b, h, t, d)] * 3, (b, h, t, d),
                   [f"%y = gantry.attention %a, %b, %c {{{'causal, ' * causal}scale = {d ** -0.5!r} : f64}} : ({x}, {x}, {x}) -> {x}"])


def attention_of_ops(element, b, h, t, d):
    """As exporters write it: heads side by side, a scale and a mask."""
    lying, heads, scores = (b, t, h, d), tensor((b, h, t, d), element), tensor((b, h, t, t), element)
    scalar = tensor((), element)
    lines = [transpose("a", "q", lying, (0, 2, 1, 3), element), transpose("b", "k", lying, (0, 2, 3, 1), element),
             transpose("c", "v", lying, (0, 2, 1, 3), element),
             f"%s0 = gantry.matmul %q, %k : ({heads}, {tensor((b, h, d, t), element)}) -> {scores}",
             f"%f = gantry.constant dense<0.125> : {scalar}",
             f"%s1 = gantry.mul %s0, %f : ({scores}, {scalar}) -> {scores}",
             f"%s2 = gantry.add %s1, %d : ({scores}, {tensor((b, 1, 1, t), element)}) -> {scores}",
             f"%w = gantry.softmax %s2 {{axis = 3 : i64}} : ({scores}) -> {scores}",
             f"%z = gantry.matmul %w, %v : ({scores}, {heads}) -> {heads}",
             transpose("z", "y", (b, h, t, d), (0, 2, 1, 3), element)]
    return program(element, [lying] * 3 + [(b, 1, 1, t)], lying, lines)


def product_of_heads(element, b, h, t, d):
    """Of operands that are read where they lie."""
    lying, heads = (b, t, h, d), tensor((b, h, t, d), element)
    lines = [transpose("a", "q", lying, (0, 2, 1, 3), element), transpose("b", "k", lying, (0, 2, 3, 1), element),
             f"%y = gantry.matmul %q, %k : ({heads}, {tensor((b, h, d, t), element)}) -> {tensor((b, h, t, t), element)}"]
    return program(element, [lying] * 2, (b, h, t, t), lines)


def chain(length):
    """Kernels that do next to nothing, one after the other (compiled without fusion)."""
    t = tensor((32,), "f32")
    names = ["a", *(f"v{i}" for i in range(length - 1)), "y"]
    return program("f32", [(32,)], (32,), [f"%{y} = gantry.neg %{x} : ({t}) -> {t}" for x, y in zip(names, names[1:])])


def of_heads(is_small):
    """Attention and its products; of attention that is written as ops also kernels for each of them."""
    sizes = ((1, 2, 33, 16),) if is_small else ((8, 12, 128, 64), (8, 12, 384, 64), (4, 16, 1024, 64), (2, 16, 2048, 128))
    for number, (b, h, t, d) in enumerate(sizes):
        for element in ("f32", "bf16"):
            what = {"dtype": element, "b": b, "h": h, "t": t, "d": d}
            name = f"{element} {b}x{h}x{t}x{d}"
            for causal in (False, True) if element == "bf16" else (False,):
                yield (f"attention{' causal' * causal} {name}", {**what, "kind": "attention", "causal": causal},
                       attention(element, b, h, t, d, causal), ())
            of_ops = attention_of_ops(element, b, h, t, d)
            yield f"attention of ops {name}", {**what, "kind": "attention of ops"}, of_ops, ()
            yield f"attention of ops {name}, apart", {**what, "kind": "attention of ops", "apart": True}, of_ops, ("no-fuse",)
            if number < 2:
                yield f"product of heads {name}", {**what, "kind": "product of heads"}, product_of_heads(element, b, h, t, d), ()


def in_stages(is_small):
    """Products on tensor cores by how their tiles come: through registers, or by copies in so many stages."""
    for size in (64,) if is_small else (1024, 4096, 8192):
        for element, name, flags in (("f32", "tf32", ("math=tf32",)), ("f16", "f16", ()), ("bf16", "bf16", ())):
            for mode in ("off", "2", "3", "4"):
                yield (f"matmul-{name}-{size}, gpu-stages={mode}",
                       {"kind": "matmul", "dtype": name, "m": size, "n": size, "k": size, "apart": True},
                       matmul(element, size, size, size), (*flags, f"gpu-stages={mode}"))


def by_estimate(is_small):
    """Products with what follows them, by our own kernels and as they are by default: squares, and those of transformers."""
    sizes = ((64, 64, 64),) if is_small else ((1024,) * 3, (2048,) * 3, (4096,) * 3, (128, 768, 3072), (1024, 3072, 768))
    for m, n, k in sizes:
        for element, name, flags in (("f32", "tf32", ("math=tf32",)), ("f16", "f16", ()), ("bf16", "bf16", ())):
            what = {"kind": "matmul", "dtype": name, "m": m, "n": n, "k": k, "apart": True}
            for which in ("none", "auto"):
                yield (f"linear-{name}-{m}x{k}x{n}" + (", auto" if which == "auto" else ""), what, linear(element, m, n, k),
                       (*flags, f"libraries={which}"))


def convolutions(is_small):
    """Of f32, as they are and with rounded factors; sizes of resnet50."""
    for n, c, size, o, window in ((1, 16, 8, 16, 3),) if is_small else ((8, 64, 56, 64, 3), (8, 256, 14, 256, 3), (8, 256, 56, 64, 1)):
        text = convolution("f32", n, c, size, o, window)
        for math in ("f32", "tf32", "bf16", "f16"):
            yield (f"conv {n}x{c}x{size}x{size} by {o}x{window}x{window}, math={math}",
                   {"kind": "conv", "dtype": "f32", "apart": True, "operations": 2 * n * size * size * c * o * window * window}, text,
                   (f"math={math}",))


def programs(is_small):
    """Yields (name, what, text, flags)."""
    for size in (64,) if is_small else (512, 1024, 2048, 4096, 8192):
        for element, name, flags in (("f32", "f32", ()), ("f32", "tf32", ("math=tf32",)), ("f16", "f16", ()), ("bf16", "bf16", ())):
            what = {"kind": "matmul", "dtype": name, "m": size, "n": size, "k": size}
            yield f"matmul-{name}-{size}", what, matmul(element, size, size, size), flags
            yield f"matmul-{name}-{size}, cublaslt", {**what, "by_library": True}, matmul(element, size, size, size), (*flags, "libraries=cublaslt")
    # The product that guides to GPUs time first, on both.
    m, k, n = (100, 10, 100) if is_small else (10000, 100, 100000)
    for device in ("GPU", "CPU"):
        yield (f"matmul-f32-{m}x{k}x{n} on {device}", {"kind": "matmul", "dtype": "f32", "m": m, "n": n, "k": k, "device": device},
               matmul("f32", m, n, k, f"{device}:0"), ("devices=CPU:0",) if device == "CPU" else ())
    rows, columns = (16, 64) if is_small else (32768, 4096)
    passes = {"elementwise": 4, "softmax": 2, "layer_norm": 2}  # arrays that are read or written
    for kind, make in (("elementwise", elementwise), ("softmax", softmax), ("layer_norm", layer_norm)):
        for element in ("f32", "bf16"):
            yield (f"{kind}-{element}", {"kind": kind, "dtype": element, "m": rows, "n": columns,
                                         "bytes": passes[kind] * rows * columns * ELEMENT_BYTES[element]},
                   make(element, rows, columns), ())
    yield from of_heads(is_small)
    yield from in_stages(is_small)
    yield from by_estimate(is_small)
    yield from convolutions(is_small)
    for length in (1, 8) if is_small else (1, 101):
        yield f"launch-{length}", {"kind": "launch", "kernels": length}, chain(length), ("no-fuse",)
