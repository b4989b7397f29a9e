"""PyTorch's time of single products and convolutions: lines as those of onednn_peer.cpp.

Its oneDNN path where it has one: weights are reordered before, activations are in its layout.
"""

import math
import os
import sys
import time

import torch

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
torch.set_grad_enabled(False)


def least(op, operands, seconds):
    best, begin, rounds = math.inf, time.perf_counter(), 0
    while rounds < 5 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for each in operands:
            op(each)
        best = min(best, (time.perf_counter() - start) / len(operands))
        rounds += 1
    return best


def product(rows, terms, columns, copies, seconds):
    x = torch.randn(rows, terms).to_mkldnn()
    layers = [torch.utils.mkldnn.to_mkldnn(torch.nn.Linear(terms, columns).eval()) for _ in range(copies)]
    return least(lambda layer: layer(x), layers, seconds)


def conv(images, channels, height, width, filters, window, stride, pad, groups, copies, seconds):
    x = torch.randn(images, channels, height, width).to_mkldnn()
    make = lambda: torch.nn.Conv2d(channels, filters, window, stride, pad, groups=groups, bias=False).eval()
    layers = [torch.utils.mkldnn.to_mkldnn(make()) for _ in range(copies)]
    return least(lambda layer: layer(x), layers, seconds)


print("PyTorch", torch.__version__, flush=True)
import torch.utils.mkldnn  # noqa: E402  prints nothing, but takes a while
for line in sys.stdin:
    kind, *numbers = line.split()
    *numbers, seconds = [float(number) if "." in number else int(number) for number in numbers]
    print(f"{(product if kind == 'product' else conv)(*numbers, seconds):.9g}", flush=True)
