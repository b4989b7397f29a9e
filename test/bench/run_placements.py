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
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import bench_placement  # which finds the modules of test/e2e
from auto_test import virtual_seconds

OFF = 0.01  # of the prediction
ROUNDED = 3 * 64  # bytes: constants, variables and transient values
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
    row = bench_placement.Row(tool, *case, cuts=0)
    model, gpus, topology, limit = row.model, row.gpus, row.topology, row.told["limit"]
    told = tool.explain(model, topology, "--placement=auto")
    if told is None:
        return ["NO PLAN"], bench_placement.where(row.told)
    plan = tool.scratch / "auto.gantry"
    status, _, said = tool.run("compile", model, f"--topology={topology}", "--placement=auto", "-o", plan)
    assert status == 0, said[-500:]
    if model not in alone:
        single = tool.scratch / "one.gantry"
        status, _, said = tool.run("compile", model, f"--topology={tool.topology(1, 'equal', row.link)}", "-o", single)
        assert status == 0, said[-500:]
        alone[model] = outputs(tool, told, single, tool.scratch)[0]
    made, said = outputs(tool, told, plan, tool.scratch)
    off = virtual_seconds(said) / told["predicted_seconds"] - 1
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
    return faults, (f"{bench_placement.where(row.told)}  {told['predicted_seconds'] * 1e3:9.3f} ms  clock {off * 100:+.2f} %  "
                    f"used {' '.join(map(str, used))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", required=True)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", default=",".join(bench_placement.NETWORKS))
    parser.add_argument("--graphs", type=int, default=bench_placement.GRAPHS)
    parser.set_defaults(gpus="2,4", speeds="equal,half", links="pcie,nvlink", limits="100,70,50,35", graph_limits="0,50")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        tool, alone = bench_placement.Tool(options.build_dir, scratch), {}
        found = list(bench_placement.configurations(tool, options))
        drawn = random.Random(options.seed).sample(found, min(options.count, len(found)))
        for case in sorted(drawn, key=lambda case: case[0]):
            faults, row = check(tool, case, alone)
            wrong += bool(faults)
            print(row, *faults, flush=True)
    print(f"{len(drawn) - wrong} of {len(drawn)} run as predicted")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
