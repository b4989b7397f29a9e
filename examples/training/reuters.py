#!/usr/bin/python3
"""Classifies short texts: an embedding, two convolutions, one layer of classes.

Usage: reuters.py [--data debian|FILE.npz] [--epochs N] [--batch N] [--optimizer NAME] [--strategy S] [--softmax]
--data debian  descriptions of Debian's packages, by section (debian_data.py); FILE.npz as that script writes it
--softmax      the last layer is a softmax, and the loss takes it for logits all the same: two softmaxes, which is what
               the program that this follows does. A remark says what that loss cannot fall below
--strategy     one: on one device; mirrored:N on N GPUs; weights:2,1,... on as many, which get so many parts of the rows;
               towers:D on all GPUs, with the variables on the device D. GANTRY_DEVICES=GPU:0,GPU:1,GPU:2 GANTRY_SIMULATE=1 has three
"""

import argparse
import functools
import sys

import numpy as np

import gantry as gt
from debian_data import load

WORDS, LENGTH, CLASSES = 10000, 300, 46


def network(softmax):
    nn = gt.nn
    return nn.Sequential(nn.Embedding(WORDS, 7), nn.Conv1D(64, 5, "relu"), nn.MaxPool1D(2), nn.Conv1D(32, 3, "relu"), nn.MaxPool1D(2),
                         nn.Flatten(), nn.Dense(CLASSES, "softmax" if softmax else None))


def strategy(text):
    kind, _, rest = text.partition(":")
    if text == "one":
        return None
    if kind == "mirrored" and rest.isdigit():
        return gt.Mirrored(gt.gpus(int(rest)))
    if kind == "weights":
        weights = [int(weight) for weight in rest.split(",")]
        return gt.Mirrored(gt.gpus(len(weights)), weights=weights)
    if kind == "towers" and rest:
        return gt.Towers(gt.gpus(), variables=rest)
    raise ValueError(text)


scce = functools.partial(gt.losses.scce, from_logits=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="debian")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--optimizer", default="nadam")
    parser.add_argument("--strategy", default="one", help="one, mirrored:N, weights:2,1,... or towers:CPU:0")
    parser.add_argument("--softmax", action="store_true")
    parser.add_argument("--rows", type=int, help="train on so many rows alone")
    arguments = parser.parse_args()
    if arguments.data == "debian":
        (x, y), test = load(WORDS, LENGTH)
    else:
        with np.load(arguments.data) as file:
            (x, y), test = (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])
    x, y = x[:arguments.rows], y[:arguments.rows]
    print(f"{len(x)} samples to train on, {len(test[0])} to test, {int(y.max()) + 1} classes")
    gt.random.seed(0)
    net = network(arguments.softmax)
    try:
        wanted = strategy(arguments.strategy)
    except gt.GantryError as error:  # a ValueError as well
        parser.error(f"--strategy {arguments.strategy}: {error}")
    except ValueError:
        parser.error(f"--strategy {arguments.strategy} is none of one, mirrored:N, weights:2,1,... and towers:DEVICE")
    trainer = gt.Trainer(net, loss=scce, optimizer=arguments.optimizer, metrics=["accuracy", "top_5"], strategy=wanted)
    trainer.fit(x, y, validation=test, epochs=arguments.epochs, batch=arguments.batch)
    net.summary()
    return 0


if __name__ == "__main__":
    sys.exit(main())
