"""The networks of make_models.py with weights that are random, but carried in little.

A plan holds its weights: 0.1 to 0.6 GB. So each parameter is a tile of 251 random numbers, again
and again, drawn from its place and shape: a compressed plan is a few hundred times smaller, and the
other machine makes the same network in its own PyTorch, whatever its version draws. Neither sizes nor
kernels depend on values; of zeros a GPU would take less power, of these it does not.
"""

import zlib

import numpy as np

TILE = 251  # a prime: rows of matrices begin at different places of it
NAMES = ("resnet50", "mobilenet_v2", "vit_b_16", "bert_base", "gpt2_small", "reuters_cnn", "mlp", "elementwise")
SMALL = ("mlp", "reuters_cnn")  # few enough operations for the interpreter
BF16 = ("resnet50", "bert_base", "gpt2_small", "vit_b_16", "mlp")  # that there are in bf16 as well
BY_LIBRARY = ("bert_base", "gpt2_small", "vit_b_16", "mlp")  # of matrix products: also with --libraries=cublaslt


def library_of(entry):
    """Whether products are by a library: the value of --libraries."""
    return "cublaslt" if entry.get("by_library") else "auto" if entry.get("by_estimate") else "none"


def is_ours(entry):
    return library_of(entry) == "none"


def title(entry):
    return entry["name"] + ("" if entry["dtype"] == "f32" else f" {entry['dtype']}") + ("" if is_ours(entry) else f", {library_of(entry)}")


def tiled(name, shape, scale):
    drawn = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(TILE).astype(np.float32)
    drawn -= drawn.mean()  # else all sums of a layer lean to one side, and ReLU makes zeros of them
    return np.resize(drawn * np.float32(scale), shape)


def drawn(array, name):
    """An input of the same shape and type, of NumPy instead of PyTorch."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    if array.dtype.kind == "i":
        return random.integers(0, 30000, array.shape).astype(array.dtype)
    return random.standard_normal(array.shape).astype(array.dtype)


def network(script, name, dtype="f32"):
    """(network, {input: array}) of make_models.py, a program whose last line calls main(). In bf16 weights and inputs
    are rounded; arrays stay f32, as NumPy knows no bf16."""
    import torch
    source = script.read_text(encoding="utf-8").rstrip().removesuffix("main()")
    exec(compile(source, str(script), "exec"), scope := {"__name__": "make_models"})
    torch.manual_seed(0)
    net, arguments = scope["MODELS"][name]()
    net.eval()
    with torch.no_grad():
        for number, (key, value) in enumerate(net.state_dict().items()):
            name = f"{number} {tuple(value.shape)}"  # keys have changed between versions of torchvision
            if value.dim() >= 2 and value.is_floating_point():
                fan = value[0].numel()
                # Embeddings; convolutions, before ReLU; all else as PyTorch's Linear.
                scale = 0.02 if "tok" in key or "pos" in key else (2 / fan if value.dim() == 4 else 1 / (3 * fan)) ** 0.5
                value.copy_(torch.from_numpy(tiled(name, tuple(value.shape), scale)) if "mask" not in key else value)
            elif key.endswith("bias"):
                value.copy_(torch.from_numpy(tiled(name, tuple(value.shape), 0.02)))
    inputs = {f"input{i}": drawn(value.numpy(), f"{name}{i}") for i, value in enumerate(arguments)}
    if dtype == "bf16":
        net = net.bfloat16()
        inputs = {key: torch.from_numpy(value).bfloat16().float().numpy() if value.dtype.kind == "f" else value
                  for key, value in inputs.items()}
    return net, inputs


def given(inputs, kind):
    """The arrays as PyTorch's, those of floats in a type of it."""
    import torch
    return tuple(torch.from_numpy(value).to(kind) if value.dtype.kind == "f" else torch.from_numpy(value)
                 for value in inputs.values())


def references(script, name, dtype):
    """(inputs, what the network gives in float64, what PyTorch gives in the network's own type), on the CPU."""
    import torch
    net, inputs = network(script, name, dtype)
    own = torch.bfloat16 if dtype == "bf16" else torch.float32
    with torch.no_grad():
        peer = net(*given(inputs, own)).double().numpy()
        return inputs, net.double()(*given(inputs, torch.float64)).numpy(), peer


FLOOR = {"f32": 1e-2, "bf16": 1}  # below this part of the largest value a difference is relative to that


def distance(found, exact, dtype):
    """The largest difference, relative to each value."""
    return float((np.abs(found - exact) / (FLOOR[dtype] * np.abs(exact).max() + np.abs(exact))).max())


def export(script, name, file, dtype="f32"):
    import torch
    import warnings
    warnings.simplefilter("ignore")
    net, inputs = network(script, name, dtype)
    arguments = given(inputs, torch.bfloat16 if dtype == "bf16" else torch.float32)
    torch.onnx.export(net, arguments, str(file), opset_version=13, do_constant_folding=True,
                      input_names=list(inputs), output_names=["output"])
    return inputs
