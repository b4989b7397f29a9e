#!/usr/bin/python3
"""Classifies short texts: an embedding, two convolutions, one layer of classes.

Usage: reuters.py [--data debian|FILE.npz] [--epochs N] [--batch N] [--optimizer NAME] [--strategy S] [--softmax]
                  [--dropout P] [--batch-norm] [--clip-norm X] [--accumulate K] [--parts N] [--devices N,N,...] [--steps N] [--hash]
                  [--sim-orders N]
--data debian  descriptions of Debian's packages, by section (debian_data.py); FILE.npz as that script writes it
--softmax      the last layer is a softmax, and the loss takes it for logits all the same: two softmaxes, which is what
               the program that this follows does. A remark says what that loss cannot fall below
--strategy     one: on one device; split: the first layers on GPU:0, the others on GPU:1; mirrored:N on N GPUs;
               weights:2,1,... on as many, which get so many parts of the rows;
               towers:D on all GPUs, with the variables on the device D. GANTRY_DEVICES=GPU:0,GPU:1,GPU:2 GANTRY_SIMULATE=1 has three
--parts        a batch is cut into so many parts, which are dealt to the devices: what is learned is then the same, byte for byte,
               on all numbers of devices
--devices      trains once on each of these numbers of GPUs, 0 for the host alone, in a process of its own; they are simulated where
               there are fewer
--accumulate   rows of a device, or of a part, go through the network in so many micro-batches
--sim-orders   trains once in each of so many drawn orders of the commands of simulated devices
--steps        ends after so many steps
--hash         prints a hash of all that was learned: of all variables, those of the optimizer too
"""

import argparse
import functools
import hashlib
import os
import subprocess
import sys

import numpy as np

import gantry as gt
from debian_data import load

WORDS, LENGTH, CLASSES = 10000, 300, 46


def network(softmax, dropout=0.0, batch_norm=False):
    nn = gt.nn
    between = [*([nn.BatchNorm()] if batch_norm else []), *([nn.Dropout(dropout)] if dropout else [])]
    return nn.Sequential(nn.Embedding(WORDS, 7), nn.Conv1D(64, 5, "relu"), nn.MaxPool1D(2), *between, nn.Conv1D(32, 3, "relu"), nn.MaxPool1D(2),
                         nn.Flatten(), nn.Dense(CLASSES, "softmax" if softmax else None))


def strategy(text, parts):
    kind, _, rest = text.partition(":")
    if text == "split":
        return None
    if text == "one":
        return gt.Mirrored(["CPU:0"], parts=parts) if parts else None
    if kind == "mirrored" and rest.isdigit():
        return gt.Mirrored(gt.gpus(int(rest)), parts=parts)
    if kind == "weights":
        weights = [int(weight) for weight in rest.split(",")]
        return gt.Mirrored(gt.gpus(len(weights)), weights=weights, parts=parts)
    if kind == "towers" and rest:
        return gt.Towers(gt.gpus(), variables=rest, parts=parts)
    raise ValueError(text)


class Enough(Exception):
    """So many steps were made."""


class Last(gt.callbacks.Callback):
    def __init__(self, steps):
        self.steps = steps

    def step_end(self, trainer, steps):
        if trainer.total_steps >= self.steps:
            raise Enough


def digest():
    made, state = hashlib.sha256(), gt.variables()
    for name in sorted(state):
        made.update(name.encode() + state[name].numpy().tobytes())
    return made.hexdigest()[:16]


def on_each(numbers, orders):
    """This program on each number of devices, in each of so many orders."""
    several = ("--devices", "--sim-orders")
    own = [each for i, each in enumerate(sys.argv) if each not in several and sys.argv[i - 1] not in several]
    for number in numbers or [None]:
        simulated = {"GANTRY_DEVICES": ",".join(f"GPU:{i}" for i in range(number or 0)), "GANTRY_SIMULATE": "1"}
        strategy = [] if number is None else ["--strategy", f"mirrored:{number}" if number else "one"]
        for order in range(1, orders + 1) if orders else [None]:
            print("-- " + ("" if number is None else f"{number} devices" if number else "the host alone") +
                  ("" if order is None else f" order {order}"), flush=True)
            subprocess.run([sys.executable, *own, *strategy, *([] if order is None else ["--sim-order", f"random:{order}"])], check=True,
                           env={**os.environ, **(simulated if (number or 0) > gt.num_gpus() else {})})


scce = functools.partial(gt.losses.scce, from_logits=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="debian")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--optimizer", default="nadam")
    parser.add_argument("--strategy", default="one", help="one, split, mirrored:N, weights:2,1,... or towers:CPU:0")
    parser.add_argument("--softmax", action="store_true")
    parser.add_argument("--rows", type=int, help="train on so many rows alone")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--batch-norm", action="store_true")
    parser.add_argument("--clip-norm", type=float)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--parts", type=int)
    parser.add_argument("--devices", type=lambda text: [int(number) for number in text.split(",")])
    parser.add_argument("--sim-orders", type=int)
    parser.add_argument("--sim-order", help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--hash", action="store_true")
    parser.add_argument("--threads", type=int, default=0, help="of the host")
    arguments = parser.parse_args()
    if arguments.devices or arguments.sim_orders:
        on_each(arguments.devices, arguments.sim_orders)
        return 0
    gt.config(threads=arguments.threads, sim_order=arguments.sim_order)
    if arguments.data == "debian":
        (x, y), test = load(WORDS, LENGTH)
    else:
        with np.load(arguments.data) as file:
            (x, y), test = (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])
    x, y = x[:arguments.rows], y[:arguments.rows]
    print(f"{len(x)} samples to train on, {len(test[0])} to test, {int(y.max()) + 1} classes")
    gt.random.seed(0)
    net = network(arguments.softmax, arguments.dropout, arguments.batch_norm)
    try:
        wanted = strategy(arguments.strategy, arguments.parts)
    except gt.GantryError as error:  # a ValueError as well
        parser.error(f"--strategy {arguments.strategy}: {error}")
    except ValueError:
        parser.error(f"--strategy {arguments.strategy} is none of one, split, mirrored:N, weights:2,1,... and towers:DEVICE")
    if arguments.strategy == "split":
        for i, layer in enumerate(net):
            layer.to("GPU:0" if i < 3 else "GPU:1")
    optimizer = gt.optim.named(arguments.optimizer, clip_global_norm=arguments.clip_norm)
    trainer = gt.Trainer(net, loss=scce, optimizer=optimizer, metrics=["accuracy", "top_5"], strategy=wanted,
                         accumulate=arguments.accumulate)
    try:
        trainer.fit(x, y, validation=None if arguments.steps else test, epochs=arguments.epochs, batch=arguments.batch,
                    callbacks=[Last(arguments.steps)] if arguments.steps else [])
    except Enough:
        print()
    if arguments.hash:
        print(f"hash {digest()} after {trainer.total_steps} steps")
    else:
        net.summary()
    return 0


if __name__ == "__main__":
    sys.exit(main())
