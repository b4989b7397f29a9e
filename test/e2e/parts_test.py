#!/usr/bin/python3
"""Batches that are cut into parts, through the tool `gantry`, on simulated devices (spec T4): the same bytes wherever parts are.

Expected values come from NumPy; bytes are held against those of one device. The graphs are those of replicate_test.py, with parts.

Usage: parts_test.py --build-dir BUILD [--filter TEXT] [--json FILE] [-v]
"""

import sys

import numpy as np

import cases
from replicate_test import GRADIENT, LOOP, Trainer, close, descend, gpus, numbers, same, step

LISTS = {1: '["GPU:0"]', 2: '["GPU:0", "GPU:1"]', 3: '["GPU:0", "CPU:0", "GPU:2"]', 4: '["GPU:0", "GPU:1", "GPU:2", "GPU:3"]',
         5: '["CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3"]', "weights": '["GPU:0", "GPU:1", "GPU:2"] weights [5, 1, 2]',
         "idle": '["GPU:0", "GPU:1", "GPU:2"] weights [0, 1, 0]', "host": '["CPU:0"]'}
DEVICES = gpus(4)[0]


def on_each(runner, text, run, orders=(1, 2, 3)):
    """What `run` gives of the graph with parts, on each list of devices: the same bytes. Gives the first."""
    first = None
    for name, devices in LISTS.items():
        model = runner.write("parts.mlir", text(devices))
        for order in (None, *(orders if name in (3, "weights") else ())):
            found = run(model, *DEVICES, *([f"--sim-order=random:{order}"] if order else []))
            first = first or found
            assert set(found) == set(first), f"{sorted(found)}, expected {sorted(first)}"
            for key, value in found.items():
                same(value, first[key], f"{key} on {name}, order {order}")
    return first


def t4_training(runner, batch, parts, central=False):
    """Three steps, against NumPy; the program for one device has the same parts, so that it agrees bit for bit."""
    text = step(1, batch, None, central).replace("(%x, %y)", "(%x, %target)").replace(
        f"%y: tensor<{batch}x2xf32>", f"%target: tensor<{batch}x2xf32>")
    x, y = numbers(batch, 4), numbers(batch, 2, seed=1)
    flags = [*runner.arrays(x=x, y=y), "--repeat=3"]
    with_parts = lambda devices: text.replace('["GPU:0"]', f"{devices} parts {parts}")
    state = on_each(runner, with_parts, lambda *given: runner.train(*given, *flags))
    close(state["w"], descend(x, y, 3)[0], "w after 3 steps")
    model = runner.write("parts.mlir", with_parts(LISTS[3]))
    _, log = runner.gantry("run", model, *DEVICES, *flags[:-1], "--check-replicas")
    for what in ("output 'loss' of the replicas equals", "variable 'w' of the replicas equals"):
        assert f"{what} that of one device bit for bit" in log, log


def t4_control_flow(runner, batch):
    """Parts go through a loop together."""
    text = LOOP.replace("BATCH", str(batch))
    x = numbers(batch, 4)
    y = x @ numbers(4, 2, seed=1) / 4
    flags = runner.arrays(x=x, y=y, most=np.int64(3), limit=np.float32(0), wanted=np.bool_(True))

    def run(*given):
        state = runner.train(*given, *flags)
        with np.load(runner.scratch / "out.npz") as archive:
            return {**state, **archive}
    found = on_each(runner, lambda devices: text.replace("DEVICES", f"{devices} parts 4"), run, orders=(1,))
    close(found["w"], descend(x, y, 3)[0], "w")
    assert found["steps"] == 3, found["steps"]


def t4_gradient(runner, batch):
    """A loss that the rows of all parts are in."""
    x, w = np.random.default_rng(0).standard_normal((batch, 2)), np.array([0.5, -1.5])
    flags = runner.arrays(x=x, w=w)
    found = on_each(runner, lambda devices: GRADIENT.replace("BATCH", str(batch)).replace("[DEVICES]", f"{devices} parts 4"),
                    lambda *given: runner.run(*given, *flags), orders=(1,))
    s = x.sum(0)
    apart = x * w - s * w
    close(found["loss"], np.array((apart ** 2).sum()), "loss", 1e-12)
    close(found["dw"], (2 * apart * (x - s)).sum(0), "dw", 1e-12)


# Values that are exchanged in chunks.
WIDE = """
func.func @main(%x: tensor<BATCHx9001xf32> {gantry.name = "x"}) -> (tensor<9001xf32> {gantry.name = "sum"}, tensor<9001xf32> {gantry.name = "mean"}, tensor<9001xf32> {gantry.name = "all"}) {
  %y:3 = gantry.replicate (%x) on DEVICES takes [split 0] gives [sum, mean, same] : (tensor<BATCHx9001xf32>) -> (tensor<9001xf32>, tensor<9001xf32>, tensor<9001xf32>) {
  ^bb0(%shard: tensor<?x9001xf32>):
    %s = gantry.reduce_sum %shard {axes = array<i64: 0>} : (tensor<?x9001xf32>) -> tensor<9001xf32>
    %m = gantry.reduce_mean %shard {axes = array<i64: 0>} : (tensor<?x9001xf32>) -> tensor<9001xf32>
    %a = gantry.all_reduce mean %m : (tensor<9001xf32>) -> tensor<9001xf32>
    %b = gantry.tanh %a : (tensor<9001xf32>) -> tensor<9001xf32>
    %c = gantry.all_reduce sum %b : (tensor<9001xf32>) -> tensor<9001xf32>
    gantry.yield %s, %m, %c : tensor<9001xf32>, tensor<9001xf32>, tensor<9001xf32>
  }
  return %y#0, %y#1, %y#2 : tensor<9001xf32>, tensor<9001xf32>, tensor<9001xf32>
}
"""


def halved(parts):
    """Their sum as the tree has it."""
    if len(parts) == 1:
        return parts[0]
    first = 1 << (len(parts) - 1).bit_length() - 1
    return halved(parts[:first]) + halved(parts[first:])


def t4_wide(runner, batch, parts):
    """Sums are those of the tree, bit for bit: rows of one part each are added as NumPy adds them in that order."""
    x = numbers(batch, 9001)
    flags = runner.arrays(x=x)
    found = on_each(runner, lambda devices: WIDE.replace("BATCH", str(batch)).replace("DEVICES", f"{devices} parts {parts}"),
                    lambda *given: runner.run(*given, *flags), orders=(1,))
    close(found["sum"], x.astype(np.float64).sum(0), "sum")
    close(found["mean"], x.astype(np.float64).mean(0), "mean")
    if batch <= parts:
        same(found["sum"], halved(list(x)), "the tree")
        assert (found["sum"] != x.sum(0)).any(), "rows in order give the same sums, so that this shows nothing"


def t4_explained(runner):
    """What waits is said where the plan is explained."""
    text = WIDE.replace("BATCH", "8").replace("DEVICES", '["CPU:0"] parts 8')
    runner.gantry("compile", runner.write("wide.mlir", text), "-o", "wide.gantry")
    log, _ = runner.gantry("explain", "wide.gantry", "--all")
    expected = "what parts give is added in a tree: on 'CPU:0' up to 3 sums of each of"
    assert expected in " ".join(log.split()), f"expected: {expected}\ngot: {log}"


CASES = {
    "t4_training_16": lambda r: t4_training(r, 16, 8),
    "t4_training_22": lambda r: t4_training(r, 22, 8),
    "t4_training_9": lambda r: t4_training(r, 9, 8),
    "t4_training_5": lambda r: t4_training(r, 5, 8),
    "t4_training_7_of_3": lambda r: t4_training(r, 7, 3),
    "t4_training_central": lambda r: t4_training(r, 9, 8, central=True),
    "t4_control_flow": lambda r: t4_control_flow(r, 7),
    "t4_control_flow_empty": lambda r: t4_control_flow(r, 3),
    "t4_gradient": lambda r: t4_gradient(r, 7),
    "t4_wide_8": lambda r: t4_wide(r, 8, 8),
    "t4_wide_7": lambda r: t4_wide(r, 7, 8),
    "t4_wide_19": lambda r: t4_wide(r, 19, 6),
    "t4_explained": t4_explained,
}


if __name__ == "__main__":
    sys.exit(cases.main("parts", CASES, __doc__, Trainer))
