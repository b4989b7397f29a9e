#!/usr/bin/python3
"""Learns to write, letter by letter: a small causal transformer on a text, which is asked to go on behind each epoch.

The text is the manual of Python's `help()` (pydoc_data), unless a file is given; a tenth of it is held out, and the perplexity on that is printed:
how many letters the network hesitates between.

Usage: language_model.py [--text FILE] [--epochs N] [--length N] [--width N] [--layers N] [--batch N] [--resume FOLDER]
                         [--letters N] [--write N] [--begin TEXT]
--resume  checkpoints are written there, and it goes on from the last one
"""

import argparse
import sys

import numpy as np

import gantry as gt
from gantry import nn, optim

SEED = 11


class Writer(nn.Module):
    """Of letters [n, t] the logits of the next ones, [n, t, letters]."""

    def __init__(self, letters, length, width, layers):
        super().__init__()
        self.length = length
        self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(length, width)
        self.drop = nn.Dropout(0.1)
        self.layers = [nn.TransformerEncoderLayer(4, inner=4 * width, activation="gelu", causal=True, norm_first=True) for _ in range(layers)]
        self.norm, self.out = nn.LayerNorm(), nn.Dense(letters)

    def forward(self, ids):
        x = self.drop(self.letters(ids) + self.places(np.arange(ids.shape[1])))
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x))


def text_of(path):
    """Letters, as numbers, and what they are."""
    if path is None:
        from pydoc_data.topics import topics
        text = "\n".join(topics[name] for name in sorted(topics))
    else:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    letters = sorted(set(text))
    place = {letter: i for i, letter in enumerate(letters)}
    return np.array([place[letter] for letter in text], np.int32), letters


def windows(codes, length, step):
    """Pairs of so many letters and those that follow each of them."""
    starts = np.arange(0, len(codes) - length - 1, step)
    return tuple(np.stack([codes[i + shift:i + shift + length] for i in starts]) for shift in (0, 1))


def go_on(trainer, letters, begin, count, temperature=0.7):
    """Letters behind a beginning, drawn one by one from what the network gives."""
    codes, random = [letters.index(letter) for letter in begin if letter in letters], np.random.default_rng(SEED)
    for _ in range(count):
        seen = codes[-trainer.net.length:]
        ids = np.zeros((1, trainer.net.length), np.int32)  # what is behind the end changes nothing in front of it
        ids[0, :len(seen)] = seen
        logits = trainer.predict(ids)[0, len(seen) - 1].astype(np.float64) / temperature
        weights = np.exp(logits - logits.max())
        codes.append(int(random.choice(len(letters), p=weights / weights.sum())))
    return "".join(letters[code] for code in codes)


class Writes(gt.callbacks.Callback):
    """Shows behind each epoch how it writes."""

    def __init__(self, letters, begin, count):
        self._given = letters, begin, count

    def epoch_end(self, trainer, logs):
        print("    " + go_on(trainer, *self._given).replace("\n", "\n    "), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--text")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--letters", type=int, help="of the text: the first so many")
    parser.add_argument("--write", type=int, default=120, help="letters behind each epoch")
    parser.add_argument("--begin", default="The statement ")
    parser.add_argument("--resume")
    arguments = parser.parse_args()
    codes, letters = text_of(arguments.text)
    codes = codes[:arguments.letters]
    held_out = len(codes) // 10
    train, test = windows(codes[held_out:], arguments.length, arguments.length // 2), windows(codes[:held_out], arguments.length, arguments.length)
    print(f"{len(codes)} letters, {len(letters)} of them different; {len(train[0])} windows to train on, {len(test[0])} to test")
    gt.random.seed(SEED)
    steps = -(-len(train[0]) // arguments.batch) * arguments.epochs
    trainer = gt.Trainer(Writer(len(letters), arguments.length, arguments.width, arguments.layers),
                         lambda labels, outputs: gt.losses.scce(labels, outputs, from_logits=True),
                         optim.AdamW(optim.one_cycle(3e-3, steps), clip_global_norm=1.0),
                         metrics=[gt.metrics.Perplexity(from_logits=True)], seed=SEED)
    after = [Writes(letters, arguments.begin, arguments.write)] if arguments.write else []
    if arguments.resume:
        after.append(gt.callbacks.Checkpoint(arguments.resume, every_steps=200))
    history = trainer.fit(*train, validation=test, epochs=arguments.epochs, batch=arguments.batch, callbacks=after, resume=arguments.resume)
    print(f"perplexity of what was held out: {history['val_perplexity'][-1]:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
