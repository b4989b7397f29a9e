#!/usr/bin/python3
"""Data in the form of Keras's Reuters set, made of Debian's package index, without a download.

A sample is what a package is described by, its label the section of the archive that it is in: the 46 largest sections, 8982
samples to train on and 2246 to test. Words are numbered by how often they occur; 0 pads, 1 begins, 2 is a word that is
not among the most frequent. The same index gives the same data.

Usage: debian_data.py [--words N] OUT.npz     (writes arrays x_train, y_train, x_test, y_test of lists padded with 0)
"""

import argparse
import collections
import hashlib
import re
import subprocess

import numpy as np

CLASSES, TRAIN, TEST = 46, 8982, 2246
START, UNKNOWN, FIRST = 1, 2, 3


def packages():
    """Pairs of section and words, in the order of a hash of the package's name."""
    text = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True, errors="replace").stdout
    found = {}
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.MULTILINE))
        if {"Package", "Section", "Description"} <= set(fields):
            section = fields["Section"].rpartition("/")[2]
            said = f"{fields['Description']} {fields.get('Depends', '')}"
            found[fields["Package"]] = (section, re.findall(r"[a-z][a-z0-9+.]+", re.sub(r"\([^)]*\)", " ", said.lower())))
    order = sorted(found, key=lambda name: hashlib.sha256(name.encode()).digest())
    return [found[name] for name in order]


def load(words=10000, length=300):
    """(x_train, y_train), (x_test, y_test): int32, rows padded in front and cut there to `length`, as Keras does."""
    rows = packages()
    sizes = collections.Counter(section for section, _ in rows)
    sections = sorted(sorted(sizes), key=lambda section: -sizes[section])[:CLASSES]
    number = {section: i for i, section in enumerate(sections)}
    rows = [(number[section], said) for section, said in rows if section in number][:TRAIN + TEST]
    if len(rows) < TRAIN + TEST or len(sections) < CLASSES:
        raise SystemExit(f"the package index has {len(rows)} packages in {len(sections)} sections; run `apt-get update`, or give "
                         "another index")
    counts = collections.Counter(word for _, said in rows[:TRAIN] for word in said)
    known = {word: i + FIRST for i, word in enumerate(sorted(sorted(counts), key=lambda word: -counts[word])[:words - FIRST])}
    x, y = np.zeros((len(rows), length), np.int32), np.array([label for label, _ in rows], np.int32)
    for i, (_, said) in enumerate(rows):
        ids = ([START] + [known.get(word, UNKNOWN) for word in said])[-length:]
        x[i, length - len(ids):] = ids
    return (x[:TRAIN], y[:TRAIN]), (x[TRAIN:], y[TRAIN:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--words", type=int, default=10000)
    arguments = parser.parse_args()
    (x_train, y_train), (x_test, y_test) = load(arguments.words)
    np.savez_compressed(arguments.out, x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)


if __name__ == "__main__":
    main()
