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

With --plans nothing is run: the sha256 of plans must be equal, for GPUs whose kernels no machine here runs, too. Models and
random graphs of test/e2e/random_ops are compiled for CPUs (x86-64-v3, v4, with AMX) and GPUs (sm_75, 80, 90), with each
--math, each --libraries and --no-fuse.

Usage: compare_builds.py BUILD_A BUILD_B [--made FOLDER] [--only TEXT] [--rounds N] [--no-times]
       compare_builds.py BUILD_A BUILD_B --plans [--graphs N] [--made FOLDER] [--only TEXT] [--jobs N]
       compare_builds.py build/before build/release --made /tmp/models
Prints a Markdown table; exit status 1 when anything differs.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
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


# ===------------------------------------------------------------------------===#
# Plans
# ===------------------------------------------------------------------------===#

GRAPHS_OF_A_FILE = 8
CPUS = ["x86-64-v3", "x86-64-v4", "x86-64-v4+amx_int8+amx_bf16+avx512_bf16+avx512_vnni"]
GPUS = ["sm_75", "sm_80", "sm_90"]
MATHS = ["f32", "tf32", "bf16", "f16"]


def plan_settings():
    """Name and flags of each way to compile."""
    for fuse in ([], ["--no-fuse"]):
        suffix = "".join(f", {flag}" for flag in fuse)
        for math in MATHS:
            for cpu in CPUS:
                if math != "tf32":  # as f32 on CPUs
                    yield f"{cpu}, {math}{suffix}", [f"--target-cpu={cpu}", f"--math={math}", *fuse]
            for gpu in GPUS:
                for libraries in ("none", "cublaslt"):
                    yield (f"{gpu}, {math}, {libraries}{suffix}",
                           ["--devices=CPU:0,GPU:0", f"--gpu-arch={gpu}", "--cubins=off", f"--math={math}",
                            f"--libraries={libraries}", *fuse])


def drawn_graphs(count, folder):
    """Files of random graphs, several in each: the case's number is the seed's, so any two runs have the same."""
    sys.path.insert(0, str(ROOT / "test/e2e"))
    import groups
    import random_ops_test
    by_opset = collections.defaultdict(list)
    for number in range(count):
        case = groups.drawn(random_ops_test.make_case, 1, number)
        if case.expected is not None:  # else its whole file would be refused
            by_opset[case.key].append(case)
    for opset, same in by_opset.items():
        for start in range(0, len(same), GRAPHS_OF_A_FILE):
            file, _, _ = random_ops_test.onnx_file.pack(same[start:start + GRAPHS_OF_A_FILE], folder)
            yield file.rename(folder / f"drawn_opset{opset}_{start}.onnx")


def plan_hash(build, model, flags, scratch):
    """The sha256 of a plan, or what was said instead."""
    plan = scratch / f"{threading.get_ident()}.gantry"
    done = subprocess.run([build / "bin/gantry", "compile", model, *flags, "-o", plan], capture_output=True, text=True)
    if done.returncode == 2:
        raise RuntimeError(f"{build} {' '.join(map(str, flags))}: {done.stderr}")
    if done.returncode:
        return f"status {done.returncode}: " + done.stderr.strip().splitlines()[-1]
    found = hashlib.sha256(plan.read_bytes()).hexdigest()
    plan.unlink()
    return found


def compare_plans(options):
    """Prints a line for each model; the exit status."""
    differ = compared = refused = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        scratch = pathlib.Path(scratch)
        models = list({case.model: [flag for flag in case.flags if flag.startswith("--dim")] for case in cases(options.made, "")}.items())
        models += [(file, []) for file in drawn_graphs(options.graphs, scratch)]
        print("| model | settings | the same | refused by both | differ |\n|---|---|---|---|---|", flush=True)
        for model, dims in models:
            settings = [(name, [*dims, *flags]) for name, flags in plan_settings() if options.only in f"{model.stem}/{name}"]
            ask = lambda setting: [plan_hash(build, model, setting[1], scratch) for build in options.build]
            found = list(zip(settings, pool.map(ask, settings)))
            others = [name for (name, _), (a, b) in found if a != b]
            said = sum(a == b and a.startswith("status") for _, (a, b) in found)
            compared, differ, refused = compared + len(found), differ + len(others), refused + said
            if found:
                print(f"| {model.stem} | {len(found)} | {len(found) - len(others) - said} | {said} | {'; '.join(others)} |", flush=True)
    print(f"\n{compared} plans compared, {refused} refused by both, {differ} differ")
    return 1 if differ or compared == refused else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, nargs=2)
    parser.add_argument("--made", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-times", action="store_true")
    parser.add_argument("--plans", action="store_true", help="compare the sha256 of plans, and run nothing")
    parser.add_argument("--graphs", type=int, default=500, help="random graphs for --plans")
    parser.add_argument("--jobs", type=int, default=2, help="compilations at a time, for --plans")
    options = parser.parse_args()
    if options.plans:
        return compare_plans(options)
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
