#!/usr/bin/python3
"""Trains the demo's classifier of handwritten digits and writes it as ONNX.

The data are the 1797 grey images of 8x8 pixels, 0 (paper) to 16 (ink), that come with scikit-learn
(UCI, Optical Recognition of Handwritten Digits). A fifth is held out, and never seen in training;
the accuracy printed is on it, and so are the sample digits that are written. Deterministic: one
seed, one thread.

Needs Debian's python3-torch and python3-sklearn (tools/dev/install_deps.sh references).
Usage: train.py [OUTDIR]     writes digits.onnx and zero.npy ... nine.npy beside this script
"""

import pathlib
import sys
import warnings

import numpy as np
import sklearn.datasets
import torch
from torch import nn

NAMES = "zero one two three four five six seven eight nine".split()
SEED, EPOCHS, BATCH = 7, 60, 64


class Digits(nn.Module):
    """image f32[1,1,8,8], 0 to 16  ->  probabilities f32[1,10]."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classify = nn.Sequential(nn.Dropout(0.3), nn.Linear(32 * 2 * 2, 10))

    def logits(self, image):
        return self.classify(self.features(image * (1.0 / 16.0)).flatten(1))

    def forward(self, image):
        return torch.softmax(self.logits(image), -1)


def split():
    """(training images, labels), (held-out images, labels); images f32[n,1,8,8]."""
    data = sklearn.datasets.load_digits()
    images = torch.tensor(data.images, dtype=torch.float32)[:, None]
    labels = torch.tensor(data.target)
    order = torch.tensor(np.random.RandomState(SEED).permutation(len(images)))
    held_out, training = order[: len(order) // 5], order[len(order) // 5:]
    return (images[training], labels[training]), (images[held_out], labels[held_out])


def shifted(images, generator):
    """Each image moved by up to one pixel: a writer does not centre to the pixel."""
    moved = torch.zeros_like(images)
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    offsets = torch.randint(0, 3, (len(images), 2), generator=generator)
    for i, (y, x) in enumerate(offsets.tolist()):
        moved[i] = padded[i, :, y:y + 8, x:x + 8]
    return moved


def train(images, labels):
    net = Digits()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    generator = torch.Generator().manual_seed(SEED)
    for epoch in range(EPOCHS):
        net.train()
        for batch in torch.randperm(len(images), generator=generator).split(BATCH):
            loss = nn.functional.cross_entropy(
                net.logits(shifted(images[batch], generator)), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1:3}: loss of the last batch {loss.item():.4f}")
    return net.eval()


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    out.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    torch.manual_seed(SEED)
    torch.set_num_threads(1)

    (images, labels), (test_images, test_labels) = split()
    net = train(images, labels)
    with torch.no_grad():
        right = net(test_images).argmax(1) == test_labels
    print(f"held-out accuracy: {right.sum().item()} of {len(right)}, {100 * right.float().mean():.1f} %")

    model = out / "digits.onnx"
    torch.onnx.export(net, torch.zeros(1, 1, 8, 8), str(model), opset_version=13,
                      input_names=["image"], output_names=["probabilities"])
    print(f"{model.name}: {model.stat().st_size} bytes")
    # The first held-out image of each digit, whether it is recognised or not.
    for digit, name in enumerate(NAMES):
        index = int((test_labels == digit).nonzero()[0])
        np.save(out / f"{name}.npy", test_images[index:index + 1].numpy())


if __name__ == "__main__":
    main()
