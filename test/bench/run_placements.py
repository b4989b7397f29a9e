#!/usr/bin/python3
"""Runs automatic placements that bench_placement.py compares: what was predicted of them is what happens.

Draws rows of its 192 configurations and random graphs. Of each the plan of --placement=auto runs on simulated devices:
- its outputs are the bytes of the plan on one device,
- the virtual clock is within 1 % of the prediction,
- copies are counted as planned (the tool compares them itself),
- the peak of each GPU's memory, as the runtime counts it, is what the plan says, whose arenas are rounded up to 64 bytes, and
  within the limit.

Usage: run_placements.py --build-dir BUILD [--count N] [--seed N] [--models NAME,...] [--graphs N]
Prints a row for each; exit status 1 when one of the four does not hold. A plan that is not found is a fault too.
"""

import argparse
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import bench_placement
import cases
import placement_graphs

OFF = 0.01  # of the prediction
ROUNDED = 3 * 64  # bytes: constants, variables and transient values
UNITS = {"s": 1, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9}
PEAKS = """
import sys, numpy as np, gantry as gt
plan = gt.load(sys.argv[1])
session = plan.session()
for _ in range(2):
    session.run(**{port.name: np.zeros(port.shape, port.dtype.numpy) for port in plan.inputs})
print(*[gt.memory(f"GPU:{i}").peak for i in range(int(sys.argv[2]))])
"""


def peaks(tool, plan, gpus):
    """Bytes by GPU that the runtime counted at most, over two runs."""
    environment = {**os.environ, "GANTRY_DEVICES": ",".join(["CPU:0", *(f"GPU:{i}" for i in range(gpus))]), "GANTRY_SIMULATE": "1",
                   "GANTRY_LIBRARY_PATH": str(tool.program.parents[1] / "lib"),
                   "PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[2] / "python-bindings")}
    done = subprocess.run([sys.executable, "-c", PEAKS, plan, str(gpus)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    return list(map(int, done.stdout.split()))


def outputs(tool, told, plan, folder):
    """(bytes of all outputs, what the run said)"""
    files = [folder / f"{i}.npy" for i, _ in enumerate(told["outputs"])]
    status, _, said = tool.run("run", plan, "-v", *(f"--output={port['name']}={file}" for port, file in zip(told["outputs"], files)))
    assert status == 0, said[-500:]
    return [file.read_bytes() for file in files], said


def check(tool, case, alone):
    """What is wrong with a row, as a list of words, and the row in words."""
    name, model, gpus, speeds, link, percent = case
    one = tool.explain(model, tool.topology(1, "equal", link))
    limit = bench_placement.taken(one) * percent // 100 if percent else 0
    topology = tool.topology(gpus, speeds, link, limit)
    told = tool.explain(model, topology, "--placement=auto")
    row = f"{name:<12} {gpus} {speeds:<5} {link:<6} {percent or 'no':>3}"
    if told is None:
        return ["NO PLAN"], row
    plan = tool.scratch / "auto.gantry"
    status, _, said = tool.run("compile", model, f"--topology={topology}", "--placement=auto", "-o", plan)
    assert status == 0, said[-500:]
    if model not in alone:
        single = tool.scratch / "one.gantry"
        status, _, said = tool.run("compile", model, f"--topology={tool.topology(1, 'equal', link)}", "-o", single)
        assert status == 0, said[-500:]
        alone[model] = outputs(tool, told, single, tool.scratch)[0]
    made, said = outputs(tool, told, plan, tool.scratch)
    value, unit = re.search(r"virtual clock: ([\d.]+) (\S+)", said).groups()
    off = float(value) * UNITS[unit] / told["predicted_seconds"] - 1
    planned = [bench_placement.taken(told, f"device:GPU:{i}") for i in range(gpus)]
    used = peaks(tool, plan, gpus)
    faults = []
    if made != alone[model]:
        faults.append("OTHER BYTES")
    if abs(off) > OFF:
        faults.append("CLOCK")
    if "copies counted as planned" not in said and told["copies"]:
        faults.append("COPIES")
    if any(not 0 <= said - counted < ROUNDED for said, counted in zip(planned, used)) or (limit and max(used) > limit):
        faults.append(f"MEMORY {used} of {planned}, limit {limit}")
    return faults, f"{row}  {told['predicted_seconds'] * 1e3:9.3f} ms  clock {off * 100:+.2f} %  used {' '.join(map(str, used))}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", required=True)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", default=",".join(bench_placement.NETWORKS))
    parser.add_argument("--graphs", type=int, default=bench_placement.GRAPHS)
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        tool, alone, found = bench_placement.Tool(options.build_dir, scratch), {}, []
        for name in filter(None, options.models.split(",")):
            try:
                model = bench_placement.network(tool, name)
            except cases.Skip as reason:
                print(f"skipped: {name}: {reason}")
                continue
            found += itertools.product([name], [model], (2, 4), ("equal", "half"), bench_placement.LINKS, (100, 70, 50, 35))
        for seed in range(options.graphs):
            model = tool.scratch / f"layered{seed}.mlir"
            placement_graphs.layered(model, seed)
            found += itertools.product([f"layered {seed}"], [model], (2, 4), ("equal",), ("pcie",), (0, 50))
        drawn = random.Random(options.seed).sample(found, min(options.count, len(found)))
        for case in sorted(drawn, key=lambda case: case[0]):
            faults, row = check(tool, case, alone)
            wrong += bool(faults)
            print(row, *faults, flush=True)
    print(f"{len(drawn) - wrong} of {len(drawn)} run as predicted")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
