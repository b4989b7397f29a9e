#!/usr/bin/python3
"""Compares what two builds of Gantry make of the same models: for a change that must change nothing.

Each model is compiled and run by both builds on one CPU, spread over a CPU and two simulated GPUs,
and, where its batch is open, replicated on two simulated GPUs. Compared are the bytes of every
output, the placement log line by line (ops, devices, copies and the summary, which is the copy
ledger) and, with `gantry diff` of the second build, the two plans. Times are the smallest of
interleaved rounds: compiling to a plan, and a step as `gantry bench` measures it.

Models: mnist, ultraface and the light ones of GANTRY_MODELS_DIR (default ../shared/models), the
project's digits, and every .onnx file of the folder given with --made (make_models.py writes them;
the name of one whose first axis is open ends in _dynamic).

Usage: compare_builds.py BUILD_A BUILD_B [--made FOLDER] [--only TEXT] [--rounds N] [--no-times]
       compare_builds.py build/before build/release --made /tmp/models
Prints a Markdown table; exit status 1 when anything differs.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("GANTRY_MODELS_DIR", ROOT.parent / "shared/models"))
SPREAD = ["--devices=CPU:0,GPU:0,GPU:1", "--simulate", "--place", "op:MatMul=GPU:1",
          "--place", "op:Conv=GPU:1"]
REPLICATED = ["--devices=CPU:0,GPU:0,GPU:1", "--simulate", "--replicate=GPU:0,GPU:1"]
BATCH = 5  # odd, so that the shards differ
LOG = re.compile(r"^(Executing op|Copying|placed) ")


@dataclasses.dataclass
class Case:
    model: pathlib.Path
    name: str
    flags: list


def call(command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if result.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(map(str, command))}: exit status {result.returncode}\n{result.stderr}")
    return result


def cases(made, only):
    models = [SHARED / "mnist/mnist.onnx", SHARED / "ultraface/ultraface.onnx",
              ROOT / "examples/digits/digits.onnx", *sorted((SHARED / "light").glob("*.onnx"))]
    if made:
        models += sorted(made.glob("*.onnx"))
    for model in models:
        if not model.exists():
            print(f"compare_builds: no {model}, left out", file=sys.stderr)
            continue
        is_open = model.stem.endswith("_dynamic")
        dims = [f"--dim=batch={BATCH}"] if is_open else []
        settings = {"one CPU": [], "spread": SPREAD}
        if is_open:
            settings = {"replicated": REPLICATED}
        for name, flags in settings.items():
            if not only or only in f"{model.stem}/{name}":
                yield Case(model, f"{model.stem}, {name}", [*dims, *flags])


def outputs_of(file):
    """Names of the arrays of an .npz with a hash of their bytes."""
    with np.load(file) as arrays:
        return {name: hashlib.sha256(arrays[name].tobytes()).hexdigest() for name in arrays.files}


def run(build, case, scratch):
    """Outputs, placement log and plan of one build."""
    gantry = build / "bin/gantry"
    plan, arrays = scratch / "plan.gantry", scratch / "outputs.npz"
    compiled = call([gantry, "compile", case.model, *case.flags, "-o", plan])
    if compiled.returncode:
        return {"error": compiled.stderr}
    ran = call([gantry, "run", plan, "--output", arrays, "--log-device-placement"])
    if ran.returncode:
        return {"error": ran.stderr}
    log = [line for line in (ran.stdout + ran.stderr).splitlines() if LOG.match(line)]
    return {"outputs": outputs_of(arrays), "log": log, "plan": plan}


def compile_seconds(build, case, plan):
    start = time.perf_counter()
    call([build / "bin/gantry", "compile", case.model, *case.flags, "-o", plan])
    return time.perf_counter() - start


def step_ms(build, plan):
    result = call([build / "bin/gantry", "bench", plan, "--json"])
    return json.loads(result.stdout)["min_ms"]


def times(builds, case, plans, rounds):
    """Smallest compile seconds and step milliseconds of each build, rounds interleaved."""
    compiling, stepping = [float("inf")] * 2, [float("inf")] * 2
    for _ in range(rounds):
        for i, build in enumerate(builds):
            compiling[i] = min(compiling[i], compile_seconds(build, case, plans[i]))
            stepping[i] = min(stepping[i], step_ms(build, plans[i]))
    return compiling, stepping


def first_difference(a, b):
    for left, right in zip(a, b):
        if left != right:
            return f"'{left}' became '{right}'"
    return f"{len(a)} lines became {len(b)}"


def compare(builds, case, scratch):
    """What differs, in words; an empty list when nothing does. The plans, for the times."""
    folders = [scratch / side for side in ("a", "b")]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    a, b = (run(build, case, folder) for build, folder in zip(builds, folders))
    if "error" in a or "error" in b:
        same = a.get("error") == b.get("error")
        return [] if same else [f"errors: {a.get('error', 'none')!r} became {b.get('error', 'none')!r}"], None
    differences = []
    if a["outputs"] != b["outputs"]:
        names = [name for name in a["outputs"] if a["outputs"][name] != b["outputs"].get(name)]
        differences.append(f"outputs {', '.join(names) or 'are others'}")
    if a["log"] != b["log"]:
        differences.append("log: " + first_difference(a["log"], b["log"]))
    diff = call([builds[1] / "bin/gantry", "diff", a["plan"], b["plan"]])
    if diff.returncode:
        differences.append("plan: " + (diff.stdout or diff.stderr).strip().splitlines()[0])
    return differences, (a["plan"], b["plan"], len(a["outputs"]), a["log"][-1] if a["log"] else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, nargs=2)
    parser.add_argument("--made", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-times", action="store_true")
    options = parser.parse_args()
    print("| model, setting | outputs | log and ledger | compile s | step ms |\n|---|---|---|---|---|", flush=True)
    compared = failures = 0
    ratios = {"compile": [], "step": []}
    for case in cases(options.made, options.only):
        with tempfile.TemporaryDirectory() as scratch:
            differences, same = compare(options.build, case, pathlib.Path(scratch))
            compared += 1
            if differences or not same:
                failures += bool(differences)
                print(f"| {case.name} | {'; '.join(differences) or 'the same error'} | | | |", flush=True)
                continue
            plans, (count, summary) = same[:2], same[2:]
            text = ["", ""]
            if not options.no_times:
                compiling, stepping = times(options.build, case, plans, options.rounds)
                ratios["compile"].append(compiling[1] / compiling[0])
                ratios["step"].append(stepping[1] / stepping[0])
                text = [f"{a:.3g} → {b:.3g} ({b / a:.2f})" for a, b in (compiling, stepping)]
            print(f"| {case.name} | {count} the same | {summary} | {text[0]} | {text[1]} |", flush=True)
    for what, values in ratios.items():
        if values:
            print(f"\n{what}: geometric mean of the ratios {np.exp(np.mean(np.log(values))):.3f}, largest {max(values):.3f}")
    print(f"\n{compared} compared, {failures} differ")
    return 1 if failures or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
