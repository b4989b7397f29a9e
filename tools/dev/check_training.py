#!/usr/bin/python3
"""What training has to show and suites are too short for: long runs beside PyTorch, flat memory, the digits.

reuters  281 steps of Nadam in f64 on the text network of examples/training/reuters.py, an epoch, with the losses of the same
         network in PyTorch, whose gradients go through Keras's formula; then one step of f32: its loss and the weights behind it
learning 5 epochs of f32 on the same texts, with logits, by Nadam and by Adam: top-1 and top-5 on the texts held out
memory   10^5 steps of a small network: resident memory behind the first tenth and at the end
digits   the network and the data of examples/digits/train.py, trained by Gantry: accuracy on the held-out images, and that of
         the script where PyTorch is installed

Usage: check_training.py --build-dir BUILD [--only reuters,learning,memory,digits] [--steps N]
Exit status 1 when a bound is missed.
"""

import argparse
import os
import pathlib
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORDS, LENGTH, CLASSES, BATCH = 10000, 300, 46, 32


def within(what, worst, bound):
    print(f"{what}: {worst:.3g}, {'within' if worst <= bound else 'NOT within'} {bound:g}", flush=True)
    return worst <= bound


# ---- Reuters ----

class Ours:
    def __init__(self, gt, dtype, optimizer):
        nn, own = gt.nn, {"dtype": dtype}
        self.gt, self.optimizer = gt, optimizer
        self.net = nn.Sequential(nn.Embedding(WORDS, 7, **own), nn.Conv1D(64, 5, "relu", **own), nn.MaxPool1D(2),
                                 nn.Conv1D(32, 3, "relu", **own), nn.MaxPool1D(2), nn.Flatten(), nn.Dense(CLASSES, **own))
        self.net(np.zeros((1, LENGTH), np.int32))

        def step(x, y):
            loss, slopes = gt.value_and_grad(lambda x, y: gt.losses.scce(y, self.net(x), from_logits=True), wrt=self.net)(x, y)
            self.optimizer.apply(self.net, slopes)
            return loss, slopes
        self.step = gt.function(step)


class Theirs:
    """The same network in PyTorch, with the parameters of ours."""

    def __init__(self, net, wide=False):
        import torch
        self.torch = torch
        values = [w.numpy().astype(np.float64) if wide else w.numpy() for w in net.parameters()]
        self.weights = [torch.tensor(value, requires_grad=True) for value in values]

    def slopes(self, x, y):
        torch, F = self.torch, self.torch.nn.functional
        words, filters, bias, filters2, bias2, matrix, bias3 = self.weights
        h = words[torch.tensor(x).long()].transpose(1, 2)
        h = F.max_pool1d(F.relu(F.conv1d(h, filters, bias)), 2)
        h = F.max_pool1d(F.relu(F.conv1d(h, filters2, bias2)), 2)
        loss = F.cross_entropy(h.transpose(1, 2).reshape(len(x), -1) @ matrix + bias3, torch.tensor(y).long())
        for each in self.weights:
            each.grad = None
        loss.backward()
        return float(loss), [each.grad.numpy() for each in self.weights]


class Nadam:
    """Keras's formula: Debian's PyTorch multiplies a factor twice."""

    def __init__(self, rate=0.001):
        self.rate, self.t, self.p, self.m, self.v = rate, 0, 1.0, {}, {}

    def apply(self, weights, slopes):
        self.t += 1
        t, u = self.t, 0.9 * (1 - 0.5 * 0.96**self.t)
        after = 0.9 * (1 - 0.5 * 0.96**(t + 1))
        self.p *= u
        for i, (w, g) in enumerate(zip(weights, slopes)):
            m = self.m[i] = 0.9 * self.m.get(i, 0) + 0.1 * g
            v = self.v[i] = 0.999 * self.v.get(i, 0) + 0.001 * g * g
            h = after * m / (1 - self.p * after) + (1 - u) * g / (1 - self.p)
            w -= self.rate * h / (np.sqrt(v / (1 - 0.999**t)) + 1e-7)


def reuters(gt, options):
    sys.path.insert(0, str(ROOT / "examples/training"))
    from debian_data import load
    (x, y), _ = load(WORDS, LENGTH)
    order = np.random.default_rng(0).permutation(len(x))
    batches = [order[start:start + BATCH] for start in range(0, len(x), BATCH)][:options.steps]
    gt.random.seed(0)
    ours = Ours(gt, "float64", gt.optim.Nadam(0.001))
    theirs, nadam, worst, began = Theirs(ours.net), Nadam(), 0.0, time.perf_counter()
    for number, rows in enumerate(batches, 1):
        known, slopes = theirs.slopes(x[rows], y[rows])
        nadam.apply([w.detach().numpy() for w in theirs.weights], slopes)
        loss = float(ours.step(x[rows], y[rows])[0])
        worst = max(worst, abs(loss - known))
        if number in (1, 10, 100, len(batches)):
            print(f"  step {number}, {len(rows)} rows: loss {loss:.12f}, PyTorch {known:.12f}", flush=True)
    print(f"  {len(batches)} steps of both in {time.perf_counter() - began:.0f} s")
    good = within(f"Reuters, f64, {len(batches)} steps of Nadam, the largest difference of losses", worst, 1e-7)

    gt.random.seed(0)
    ours = Ours(gt, "float32", gt.optim.SGD(0.1))
    theirs, rows = Theirs(ours.net), batches[0]
    wide = Theirs(ours.net, wide=True)
    (known, slopes), (_, exact) = theirs.slopes(x[rows], y[rows]), wide.slopes(x[rows], y[rows])
    loss, own = ours.step(x[rows], y[rows])
    apart = lambda given: max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(given, exact))
    print(f"  gradients of f32 beside those of f64, of the largest value of each: Gantry {apart([g.numpy() for g in own.values()]):.3g}, "
          f"PyTorch {apart(slopes):.3g}")
    weights = max(np.abs(w.numpy() - (v.detach().numpy() - np.float32(0.1) * g)).max()
                  for w, v, g in zip(ours.net.parameters(), theirs.weights, slopes))
    good &= within("Reuters, a step of f32, difference of losses", abs(float(loss) - known), 1e-6)
    return good & within("Reuters, a step of f32, difference of weights behind it", weights, 1e-6)


# ---- learning ----

def learning(gt, options):
    sys.path.insert(0, str(ROOT / "examples/training"))
    import reuters as own
    from debian_data import load
    (x, y), test = load(WORDS, LENGTH)
    good = True
    for name in ("nadam", "adam"):
        gt.random.seed(0)
        trainer = gt.Trainer(own.network(softmax=False), loss=own.scce, optimizer=name, metrics=["accuracy", "top_5"])
        history = trainer.fit(x, y, validation=test, epochs=5, progress=False)
        for metric, least in (("val_accuracy", 0.54), ("val_top_5", 0.74)):
            seen = history[metric][-1]
            print(f"Reuters, 5 epochs by {name}, {metric}: {seen:.4f}, {'at least' if seen >= least else 'BELOW'} {least}", flush=True)
            good &= seen >= least
    return good


# ---- memory ----

def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory(gt, options):
    nn, steps = gt.nn, options.steps or 100000
    x = np.random.default_rng(0).standard_normal((800, 4)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int32)
    trainer = gt.Trainer(nn.Sequential(nn.Dense(8, "relu"), nn.Dropout(0.5), nn.Dense(3)),
                         lambda y, p: gt.losses.scce(y, p, from_logits=True), "nadam", metrics=["accuracy"])
    epochs, began = max(10, steps // 100), time.perf_counter()
    trainer.fit(x, y, epochs=epochs // 10, batch=8, progress=False)
    first, names = resident(), len(gt.variables())
    trainer.fit(x, y, epochs=epochs - epochs // 10, batch=8, progress=False)
    count = int(trainer.optimizer.step)
    print(f"  {count} steps in {time.perf_counter() - began:.0f} s; resident {first / 2**20:.1f} MiB after {epochs // 10 * 100}, "
          f"{resident() / 2**20:.1f} MiB at the end; loss {trainer.history['loss'][0]:.3f} to {trainer.history['loss'][-1]:.3f}")
    good = within(f"memory, {count} steps, MiB more than after a tenth of them", (resident() - first) / 2**20, 1.0)
    return good & within("memory, variables more", len(gt.variables()) - names, 0)


# ---- digits ----

def digits(gt, options):
    sys.path.insert(0, str(ROOT / "examples/digits"))
    import train as own
    training, (images, labels) = own.split()
    ours, count = 100 * (own.train(*training).predict(images).argmax(1) == labels).mean(), len(labels)
    try:
        import torch
        import digits_by_torch as theirs
    except ImportError as missing:
        print(f"digits: {ours:.2f} % of {count}; nothing to compare with: {missing}")
        return True
    (images, labels), (test_images, test_labels) = theirs.split()
    net = theirs.train(images, labels)
    with torch.no_grad():
        known = 100 * (net(test_images).argmax(1) == test_labels).float().mean().item()
    print(f"  held-out images recognised: Gantry {ours:.2f} %, PyTorch {known:.2f} %, of {count}")
    return within("digits, points below PyTorch", known - ours, 0.5)


CHECKS = {"reuters": reuters, "learning": learning, "memory": memory, "digits": digits}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--only", default=",".join(CHECKS))
    parser.add_argument("--steps", type=int, help="steps of reuters and memory, instead of all")
    options = parser.parse_args()
    os.environ["GANTRY_LIBRARY_PATH"] = str(options.build_dir.resolve() / "lib")
    sys.path.insert(0, str(ROOT / "python-bindings"))
    import gantry as gt
    results = [CHECKS[name](gt, options) for name in options.only.split(",")]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
