#!/usr/bin/python3
"""A step of training beside PyTorch's: the text network of examples/training/reuters.py, batches of 32, Nadam, f32.

Two processes take turns, a few steps each, on as many processors; told are medians of turns and their ratio. Gantry's `fit` is held
against its bare steps, too. Which BLAS PyTorch calls decides much: Debian's reference BLAS is no peer. What a product of 1024 by
1024 by 1024 reaches is printed beside what oneDNN reaches for the same one as a convolution, and no ratio is given where the
BLAS has less than half of that.

Usage: bench_training.py --build-dir BUILD [--threads 1,2] [--turns 9] [--steps 10] [--blas FILE]
--blas  the library to call in the place of libblas.so.3; OpenBLAS (package libopenblas0-pthread) where that is installed
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPENBLAS = pathlib.Path("/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3")
WORDS, LENGTH, CLASSES, BATCH = 10000, 300, 46, 32


def texts(rows):
    import numpy as np
    random = np.random.default_rng(3)
    return random.integers(0, WORDS, (rows, LENGTH)).astype(np.int32), random.integers(0, CLASSES, rows).astype(np.int32)


def seconds(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


class PyTorch:
    def __init__(self, options):
        import torch
        from torch import nn
        torch.set_num_threads(options.threads)
        self.torch = torch

        class Text(nn.Module):
            def __init__(self):
                super().__init__()
                self.words = nn.Embedding(WORDS, 7)
                self.body = nn.Sequential(nn.Conv1d(7, 64, 5), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(64, 32, 3), nn.ReLU(),
                                          nn.MaxPool1d(2), nn.Flatten(), nn.Linear(32 * 73, CLASSES))

            def forward(self, x):
                return self.body(self.words(x).transpose(1, 2))
        self.net, self.loss = Text(), nn.CrossEntropyLoss()
        self.optimizer = torch.optim.NAdam(self.net.parameters(), 0.001)
        self.x, self.y = (torch.tensor(each).long() for each in texts(BATCH))

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.net(self.x), self.y).backward()
        self.optimizer.step()

    def measure(self, what, steps):
        if what == "steps":
            return seconds(lambda: [self.step() for _ in range(steps)]) / steps
        square, least = self.torch.rand(1024, 1024), float("inf")
        image, filters = self.torch.rand(1, 1024, 32, 32), self.torch.rand(1024, 1024, 1, 1)
        product = (lambda: square @ square) if what == "blas" else (lambda: self.torch.nn.functional.conv2d(image, filters))
        with self.torch.no_grad():
            for _ in range(5):
                least = min(least, seconds(product))
        return 2 * 1024**3 / least


class Gantry:
    def __init__(self, options):
        sys.path[:0] = [str(ROOT / "python-bindings"), str(ROOT / "examples/training")]
        import gantry as gt
        import reuters
        self.trainer = gt.Trainer(reuters.network(False), loss=reuters.scce, optimizer="nadam")
        self.x, self.y = texts(BATCH * options.steps)
        self.trainer.fit(self.x, self.y, progress=False)

    def measure(self, what, steps):
        x, y = self.x[:BATCH * steps], self.y[:BATCH * steps]
        if what == "fit":
            return seconds(lambda: self.trainer.fit(x, y, progress=False)) / steps
        step = self.trainer._step_function

        def bare():
            for start in range(0, len(x), BATCH):
                step(x[start:start + BATCH], y[start:start + BATCH])
            self.trainer._log()  # waits for the last one
        return seconds(bare) / steps


def worker(options):
    """Answers lines "WHAT STEPS" with seconds or rates."""
    peer = (PyTorch if options.worker == "pytorch" else Gantry)(options)
    print("ready", flush=True)
    for line in sys.stdin:
        what, steps = line.split()
        print(json.dumps(peer.measure(what, int(steps))), flush=True)


class Peer:
    """A process with one of the two."""

    def __init__(self, name, options, threads):
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads),
                       "GANTRY_LIBRARY_PATH": str(options.build_dir / "lib")}
        if name == "pytorch" and options.blas:
            environment.update(LD_PRELOAD=str(options.blas), OPENBLAS_CORETYPE=os.environ.get("OPENBLAS_CORETYPE", options.core))
        self.process = subprocess.Popen([sys.executable, __file__, "--build-dir", options.build_dir, "--worker", name, "--threads",
                                         str(threads), "--steps", str(options.steps)],
                                        preexec_fn=lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads]),
                                        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while (line := self.process.stdout.readline()) and line != "ready\n":
            pass

    def ask(self, what, steps=1):
        self.process.stdin.write(f"{what} {steps}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def compare(options, threads):
    print(f"{threads} thread{'s' * (threads > 1)}, load {os.getloadavg()[0]:.1f}:")
    theirs, ours = Peer("pytorch", options, threads), Peer("gantry", options, threads)
    rates = {what: theirs.ask(what) / 1e9 for what in ("blas", "onednn")}
    print(f"  PyTorch's product of 1024^3: {rates['blas']:.0f} GFLOP/s by {options.blas or 'the BLAS of the system'}; "
          f"oneDNN {rates['onednn']:.0f}")
    took = {"pytorch": [], "gantry": [], "fit": []}
    for turn in range(options.turns + 1):
        told = {"pytorch": theirs.ask("steps", options.steps), "gantry": ours.ask("steps", options.steps), "fit": ours.ask("fit", options.steps)}
        if turn:  # the first warms both up
            for name, each in told.items():
                took[name].append(each)
    middle = {name: statistics.median(each) for name, each in took.items()}
    print(f"  a step: PyTorch {middle['pytorch'] * 1e3:.2f} ms, Gantry {middle['gantry'] * 1e3:.2f} ms; in fit {middle['fit'] * 1e3:.2f} ms, "
          f"bare steps are {middle['gantry'] / middle['fit']:.1%} of that")
    if rates["blas"] * 2 < rates["onednn"]:
        print("  no ratio: PyTorch's BLAS has less than half of oneDNN's rate (apt-get install libopenblas0-pthread)")
    else:
        print(f"  Gantry's time over PyTorch's: {middle['gantry'] / middle['pytorch']:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--blas", type=pathlib.Path, default=OPENBLAS if OPENBLAS.exists() else None)
    parser.add_argument("--core", default="SKYLAKEX" if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8") else "HASWELL",
                        help="OPENBLAS_CORETYPE: OpenBLAS does not know new processors by itself")
    parser.add_argument("--worker", choices=("pytorch", "gantry"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.build_dir = options.build_dir.resolve()
    if options.worker:
        options.threads = int(options.threads)
        return worker(options)
    for threads in map(int, options.threads.split(",")):
        compare(options, threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
