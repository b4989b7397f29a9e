"""The networks of test/bench/training/make_steps.py in PyTorch: same layers, sizes, dropout, losses and optimizers.

Layers are kept in the order of those of Gantry, so that `fill` can give both sides the same weights.
"""

import math

import torch
from torch import nn

WORDS, CLASSES = 10000, 46  # of the text network; the language model has as many words


class AcrossPlaces(nn.Linear):
    """A layer over flattened [n, channels, places], whose weights come for [n, places, channels]."""

    def __init__(self, channels, places, units):
        super().__init__(channels * places, units)
        self.sizes = channels, places


class Packed(nn.Linear):
    """Queries, keys and values by one product, whose weights come as those of three."""


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 7)
        self.body = nn.Sequential(nn.Conv1d(7, 64, 5), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(64, 32, 3), nn.ReLU(), nn.MaxPool1d(2),
                                  nn.Flatten(), AcrossPlaces(32, 73, CLASSES))

    def forward(self, ids):
        return self.body(self.words(ids).transpose(1, 2))


class Recurrent(nn.LSTM):
    """Gives all of its steps. It has one bias, as Gantry's; the other one stays 0."""

    def __init__(self, width, units):
        super().__init__(width, units, batch_first=True)
        nn.init.zeros_(self.bias_hh_l0).requires_grad_(False)

    def forward(self, x):
        return super().forward(x)[0]


class Around(nn.Module):
    def __init__(self, part, short):
        super().__init__()
        self.part, self.short = part, short

    def forward(self, x):
        return nn.functional.relu(self.part(x) + self.short(x), inplace=True)


def conv(channels, filters, window, stride=1, is_last=False):
    layers = [nn.Conv2d(channels, filters, window, stride, window // 2, bias=False), nn.BatchNorm2d(filters)]
    return nn.Sequential(*layers) if is_last else nn.Sequential(*layers, nn.ReLU(inplace=True))


def basic(channels, filters, stride):
    return filters, nn.Sequential(conv(channels, filters, 3, stride), conv(filters, filters, 3, is_last=True))


def bottleneck(channels, filters, stride):
    return 4 * filters, nn.Sequential(conv(channels, filters, 1), conv(filters, filters, 3, stride),
                                      conv(filters, 4 * filters, 1, is_last=True))


def resnet(block, depths):
    layers, channels = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, depth in enumerate(depths):
        for i in range(depth):
            stride = 2 if stage and not i else 1
            given, part = block(channels, 64 << stage, stride)
            is_same = stride == 1 and given == channels
            layers.append(Around(part, nn.Identity() if is_same else conv(channels, given, 1, stride, is_last=True)))
            channels = given
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


class Attention(nn.Module):
    def __init__(self, width, heads, length, causal, dropout):
        super().__init__()
        self.qkv, self.out, self.drop, self.heads = Packed(width, 3 * width), nn.Linear(width, width), nn.Dropout(dropout), heads
        hidden = torch.full((length, length), -math.inf).triu(1) if causal else None
        self.register_buffer("hidden", hidden, persistent=False)

    def forward(self, x):
        n, t, width = x.shape
        size = width // self.heads
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, size).permute(2, 0, 3, 1, 4)
        scores = q / math.sqrt(size) @ k.transpose(2, 3)
        if self.hidden is not None:
            scores = scores + self.hidden
        return self.out((self.drop(scores.softmax(3)) @ v).transpose(1, 2).reshape(n, t, width))


class Block(nn.Module):
    def __init__(self, width, heads, length, activation, dropout, norm_first, causal):
        super().__init__()
        self.attention, self.grow = Attention(width, heads, length, causal, dropout), nn.Linear(width, 4 * width)
        self.norm1, self.norm2, self.shrink = nn.LayerNorm(width), nn.LayerNorm(width), nn.Linear(4 * width, width)
        self.activation, self.drop, self.norm_first = activation, nn.Dropout(dropout), norm_first

    def forward(self, x):
        feed = lambda x: self.shrink(self.activation(self.grow(x)))
        for part, norm in ((self.attention, self.norm1), (feed, self.norm2)):
            x = x + self.drop(part(norm(x))) if self.norm_first else norm(x + self.drop(part(x)))
        return x


class Encoder(nn.Module):
    """BERT."""

    def __init__(self, words, width, heads, depth, length, classes, dropout):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(dropout)
        self.blocks = nn.Sequential(*[Block(width, heads, length, nn.GELU(), dropout, False, False) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, ids):
        x = self.words(ids) + self.positions.weight[:ids.shape[1]]
        return self.head(self.blocks(self.drop(self.norm(x)))[:, 0])


class Decoder(nn.Module):
    """GPT-2, with the table of words as the last layer."""

    def __init__(self, words, width, heads, depth, length):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads, length, nn.GELU("tanh"), 0.0, True, True) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.words(ids) + self.positions.weight[:ids.shape[1]]
        return nn.functional.linear(self.norm(self.blocks(x)), self.words.weight)


def mlp():
    return nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))


def language_model():
    return nn.Sequential(nn.Embedding(WORDS, 256), Recurrent(256, 512), nn.Linear(512, WORDS))


def momentum(parameters):
    return torch.optim.SGD(parameters, 0.01, momentum=0.9)


def adamw(parameters):
    return torch.optim.AdamW(parameters, 1e-4)


# By name: the network, the optimizer.
NETWORKS = {
    "reuters": (Text, torch.optim.NAdam),
    "mlp": (mlp, torch.optim.Adam),
    "lstm": (language_model, torch.optim.Adam),
    "resnet18": (lambda: resnet(basic, (2, 2, 2, 2)), momentum),
    "resnet50": (lambda: resnet(bottleneck, (3, 4, 6, 3)), momentum),
    "bert_base": (lambda: Encoder(30522, 768, 12, 12, 128, 2, dropout=0.1), adamw),
    "gpt2_small": (lambda: Decoder(50257, 768, 12, 12, 128), adamw),
}


def measure(logits, labels):
    """The mean over all rows and, where there are, their places."""
    return nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())


def _places(layer):
    """Views of a layer's parameters, in the order and layout that Gantry has them in."""
    if isinstance(layer, AcrossPlaces):
        return [layer.weight.view(-1, *layer.sizes).permute(2, 1, 0), layer.bias]
    if isinstance(layer, Packed):
        return [view for weight, bias in zip(layer.weight.chunk(3), layer.bias.chunk(3)) for view in (weight.t(), bias)]
    if isinstance(layer, nn.Linear):
        return [layer.weight.t(), layer.bias]
    if isinstance(layer, Recurrent):
        return [layer.weight_ih_l0.t(), layer.weight_hh_l0.t(), layer.bias_ih_l0]
    if isinstance(layer, nn.BatchNorm2d):
        return [layer.weight, layer.bias, layer.running_mean, layer.running_var]
    return list(layer.parameters(recurse=False))


def fill(net, values):
    """Gives the network Gantry's weights: NumPy arrays, in the order of its variables."""
    with torch.no_grad():
        for place, value in zip((place for layer in net.modules() for place in _places(layer)), values, strict=True):
            place.copy_(torch.from_numpy(value).reshape(place.shape))
