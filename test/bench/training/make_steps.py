#!/usr/bin/python3
"""Writes steps of training as .mlir files, for what is measured of plans: time, memory, compiling.

A step is what gantry.Trainer runs for a batch: the way forward in training mode, the loss, its gradients and the optimizer's
updates of variables; the loss is added up in variables, too. Sizes are those of the networks that PyTorch trains in the same
measurements. Files name no device, so that --devices decides, and begin with a line that runs them.

Variables start with one number each, which is what keeps BERT's file small: with what a layer fills them with, or with 1 over
the number of elements that are added up, so that values keep their size from layer to layer. The units of a layer are all alike
then. --state writes what layers draw beside the step, as NAME.npz for `gantry run --load-state`.

Usage: make_steps.py [--state] OUT [NAME ...]
"""

import argparse
import math
import pathlib
import re
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "python-bindings"), str(ROOT / "examples/training")]

import gantry as gt  # noqa: E402
import reuters  # noqa: E402

nn, optim = gt.nn, gt.optim
logits = reuters.scce  # classes by their numbers, of a network without a softmax


class Around(nn.Module):
    """A part of a residual network: what `part` gives plus its input, or what `short` gives of that."""

    def __init__(self, part, short=None):
        super().__init__()
        self.part, self.short = part, short

    def forward(self, x):
        return gt.relu(self.part(x) + (x if self.short is None else self.short(x)))


def conv(filters, window, strides=1, activation="relu"):
    return nn.Sequential(nn.Conv2D(filters, window, strides=strides, padding=window // 2, bias=False, channels="first",
                                   initial="he_normal"),
                         nn.BatchNorm(unbiased=True, channels="first"), nn.Activation(activation))


def basic(filters, strides):
    return filters, nn.Sequential(conv(filters, 3, strides), conv(filters, 3, activation=None))


def bottleneck(filters, strides):
    return 4 * filters, nn.Sequential(conv(filters, 1), conv(filters, 3, strides), conv(4 * filters, 1, activation=None))


def resnet(block, depths):
    """He et al., Deep residual learning for image recognition, 2016, with torchvision's strides."""
    layers, channels = [conv(64, 7, 2), nn.MaxPool(3, 2, padding=1, channels="first")], 64
    for stage, depth in enumerate(depths):
        for i in range(depth):
            strides = 2 if stage and not i else 1
            given, part = block(64 << stage, strides)
            layers.append(Around(part, conv(given, 1, strides, None) if strides > 1 or given != channels else None))
            channels = given
    return nn.Sequential(*layers, nn.GlobalAvgPool("first"), nn.Dense(1000))


class Encoder(nn.Module):
    """BERT: classes of the first token. Devlin et al., 2019."""

    def __init__(self, words, width, heads, depth, length, classes, dropout):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm, self.drop = nn.LayerNorm(), nn.Dropout(dropout)
        self.blocks = [nn.TransformerEncoderLayer(heads, 4 * width, "gelu", dropout) for _ in range(depth)]
        for block in self.blocks:
            block.drop_inner = nn.Dropout(0.0)  # which PyTorch's layer has, and BERT has not
        self.head = nn.Dense(classes)

    def forward(self, ids):
        x = self.words(ids) + self.positions(gt.iota((ids.shape[1],), 0, dtype="int32"))
        x = self.drop(self.norm(x))
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, 0])


class Decoder(nn.Module):
    """GPT-2: the next token at each place, by the table of words or, where `tied` is not set, a layer of its own. Radford et al.,
    2019."""

    def __init__(self, words, width, heads, depth, length, tied):
        super().__init__()
        gelu = lambda x: gt.gelu(x, approximate=True)
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = [nn.TransformerEncoderLayer(heads, 4 * width, gelu, 0.0, norm_first=True, causal=True) for _ in range(depth)]
        self.norm, self.head = nn.LayerNorm(), None if tied else nn.Dense(words, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.positions(gt.iota((ids.shape[1],), 0, dtype="int32"))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return gt.matmul(x, self.words.weight, transpose_b=True) if self.head is None else self.head(x)


def floats(*shape):
    """An input of a step: its shape, and below what its integers are; floats have none."""
    return shape, None


def below(number, *shape):
    return shape, number


def feed_forward(depth, width):
    return nn.Sequential(*[layer for _ in range(depth) for layer in (nn.Dense(4 * width, "relu"), nn.Dense(width))])


def mlp():
    return nn.Sequential(nn.Dense(1024, "relu"), nn.Dense(1024, "relu"), nn.Dense(10))


def language_model(words, width, units):
    """The next word at each place: Zaremba et al., Recurrent neural network regularization, 2014, with one layer."""
    return nn.Sequential(nn.Embedding(words, width), nn.LSTM(units, sequences=True), nn.Dense(words))


# By name: the network, the loss, the optimizer, what rows are and what labels are.
STEPS = {
    "ffn12": lambda: (feed_forward(12, 768), "mse", optim.Adam(), floats(512, 768), floats(512, 768)),
    "mlp": lambda: (mlp(), logits, optim.Adam(), floats(64, 784), below(10, 64)),
    "reuters": lambda: (reuters.network(False), logits, optim.Nadam(), below(reuters.WORDS, 32, reuters.LENGTH),
                        below(reuters.CLASSES, 32)),
    "lstm": lambda: (language_model(10000, 256, 512), logits, optim.Adam(), below(10000, 16, 35), below(10000, 16, 35)),
    "resnet18": lambda: (resnet(basic, (2, 2, 2, 2)), logits, optim.SGD(0.01, momentum=0.9), floats(8, 3, 224, 224), below(1000, 8)),
    "resnet50": lambda: (resnet(bottleneck, (3, 4, 6, 3)), logits, optim.SGD(0.01, momentum=0.9), floats(4, 3, 224, 224),
                         below(1000, 4)),
    "bert_base": lambda: (Encoder(30522, 768, 12, 12, 128, 2, dropout=0.1), logits, optim.AdamW(1e-4), below(30522, 4, 128),
                          below(2, 4)),
    "gpt2_small": lambda: (Decoder(50257, 768, 12, 12, 128, tied=True), logits, optim.AdamW(1e-4), below(50257, 2, 128),
                           below(50257, 2, 128)),
    "gpt2_small_untied": lambda: (Decoder(50257, 768, 12, 12, 128, tied=False), logits, optim.AdamW(1e-4), below(50257, 2, 128),
                                  below(50257, 2, 128)),
}

VARIABLE = re.compile(r'^(  gantry\.variable @"(.+?)") \{[^}]*\} = dense<[^>]*> : (tensor<.*>)$', re.MULTILINE)
DEVICE = re.compile(r'gantry\.device = #gantry\.device<"[^"]*">, ')


def start(values):
    """The number that a variable starts with in the file, in the place of what its layer has it start with."""
    first = values.flat[0]
    if (values == first).all():
        return first
    return 1 / (values.shape[0] if values.ndim == 2 else math.prod(values.shape[1:]))


def without_devices(text, values):
    """The step's text, with numbers for its variables and without requests for devices."""
    def declared(match):
        value = start(values[match[2]])
        return f"{match[1]} = dense<{value if isinstance(value, np.integer) else f'{value:.6e}'}> : {match[3]}"
    return DEVICE.sub("", VARIABLE.sub(declared, text))


def zeros(given):
    shape, most = given
    return np.zeros(shape, np.float32 if most is None else np.int32)


def write(folder, name, with_state):
    net, loss, optimizer, x, y = STEPS[name]()
    graph = gt.Trainer(net, loss, optimizer).lower(zeros(x), zeros(y))
    values = {name: variable.numpy() for name, variable in graph.variables.items()}
    filled = "".join(f" --fill input{i}=" + ("normal" if most is None else f"randint:0:{most}") for i, (_, most) in enumerate((x, y)))
    file = folder / f"{name}.mlir"
    file.write_text(f"// gantry run {file.name}{filled}\n{without_devices(graph.text, values)}", encoding="utf-8")
    if with_state:
        np.savez(folder / f"{name}.npz", **values)
    print(f"{file}: {file.stat().st_size / 1024:.0f} KiB, {sum(each.size for each in net.parameters()):,} parameters")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all, where none is given: {', '.join(STEPS)}")
    parser.add_argument("--state", action="store_true", help="write what variables are drawn as, too: NAME.npz")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in STEPS]
    if unknown:
        parser.error(f"there is no step '{unknown[0]}'; there are {', '.join(STEPS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    names = arguments.names or list(STEPS)
    if len(names) == 1:
        write(arguments.out, names[0], arguments.state)
        return 0
    # A process for each, so that layers are numbered from 0 on and variables do not add up.
    flags = ["--state"] if arguments.state else []
    return max(subprocess.run([sys.executable, __file__, *flags, arguments.out, name], check=False).returncode for name in names)


if __name__ == "__main__":
    sys.exit(main())
