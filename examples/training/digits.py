#!/usr/bin/python3
"""Trains the classifier of handwritten digits of examples/digits/train.py, by Gantry.

The same data (1797 images of 8x8 pixels, which come with scikit-learn), split, network, shifts and schedule; a fifth is held
out, and the accuracy printed is on it.

Usage: digits.py [--epochs N]     needs Debian's python3-sklearn
"""

import argparse
import sys

import numpy as np
import sklearn.datasets

import gantry as gt

SEED, EPOCHS, BATCH, RATE = 7, 60, 64, 3e-3


def network():
    nn = gt.nn
    return nn.Sequential(nn.Conv2D(16, 3, "relu", padding=1), nn.Conv2D(32, 3, "relu", padding=1), nn.MaxPool2D(2),
                         nn.Conv2D(32, 3, "relu", padding=1), nn.MaxPool2D(2), nn.Flatten(), nn.Dropout(0.3), nn.Dense(10))


def split():
    """(training images, labels), (held-out images, labels); images f32[n,8,8,1], 0 to 1."""
    data = sklearn.datasets.load_digits()
    images, labels = (data.images[..., None] / 16).astype(np.float32), data.target.astype(np.int32)
    order = np.random.RandomState(SEED).permutation(len(images))
    held_out, training = order[:len(order) // 5], order[len(order) // 5:]
    return (images[training], labels[training]), (images[held_out], labels[held_out])


def shifted(images, random):
    """Each image moved by up to one pixel: a writer does not centre to the pixel."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.stack([image[y:y + 8, x:x + 8] for image, (y, x) in zip(padded, random.integers(0, 3, (len(images), 2)))])


def train(epochs=EPOCHS, progress=False):
    """How many of the held-out images are recognised, and how many there are."""
    (images, labels), test = split()
    random = np.random.default_rng(SEED)
    gt.random.seed(SEED)
    steps = -(-len(images) // BATCH)
    half_wave = gt.optim.cosine(RATE, epochs)
    optimizer = gt.optim.Adam(lambda step: half_wave(gt.floor(step / float(steps))), l2=1e-4)
    trainer = gt.Trainer(network(), lambda y, p: gt.losses.scce(y, p, from_logits=True), optimizer, seed=SEED)
    for _ in range(epochs):
        trainer.fit(shifted(images, random), labels, batch=BATCH, progress=progress)
    return int((trainer.predict(test[0]).argmax(1) == test[1]).sum()), len(test[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    right, count = train(parser.parse_args().epochs, progress=True)
    print(f"held-out accuracy: {right} of {count}, {100 * right / count:.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
