#!/usr/bin/python3
"""What a run takes beside its weights: transient memory of Gantry's plan, and the block that ONNX Runtime plans.

ONNX Runtime lays out the values of a run in one block from its second run on. Without its arena that block is one
allocation, which a preloaded library writes down with all others of the run (peers/trace_memory.c); "in all" is the most
that was allocated at one time during the run, its scratch included and its outputs left out, which are the caller's in
Gantry's plans, too. onnxruntime-node has to be in --ort (tools/dev/bench_peers.sh puts it there).

With --resident it is the whole process: the largest proportional set size (Pss of smaps_rollup, read again and again)
of `gantry run PLAN` and of node with ONNX Runtime as it is by default, its arena included; three runs on one thread.

Usage: bench_memory.py [--gantry GANTRY] [--ort build/peers] [--most RATIO] [--resident] MODEL ...
       with --most, exits with 1 where Gantry takes more than that share of the block, or of the process
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "tools/dev/peers"
MIB = 1 << 20


def read_trace(path, outputs):
    """(largest block, most at one time) of what was allocated between the marks, without the outputs."""
    live, at_once, largest, most, inside = {}, 0, 0, 0, False
    outputs = sorted(outputs)
    for line in path.read_text().splitlines():
        if line in ("begin", "end"):
            inside = line == "begin"
            continue
        what, address, size = line.split()
        if what == "f":
            at_once -= live.pop(address, 0)
        elif inside:
            size = int(size)
            # Of an output the allocation may be rounded up to what vectors read.
            if own := [bytes for bytes in outputs if bytes <= size <= bytes + 256]:
                outputs.remove(own[0])
                continue
            live[address] = size
            at_once += size
            largest, most = max(largest, size), max(most, at_once)
    return largest, most


def measure_ort(peers, trace, model):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.txt"
        run = subprocess.run(["node", "ort_memory.mjs", model], cwd=peers, capture_output=True, text=True, check=False,
                             env={**os.environ, "LD_PRELOAD": str(trace), "TRACE_FILE": str(path)})
        if run.returncode:
            sys.exit(f"bench_memory: {run.stderr[-2000:]}")
        told = json.loads(run.stdout)
        return *read_trace(path, told["outputs"]), told["version"]


def measure_gantry(gantry, model):
    done = subprocess.run([gantry, "explain", model, "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench_memory: {done.stderr[-2000:]}")
    plan = json.loads(done.stdout)
    return sum(device["transient"] for device in plan["memory"])


def largest_pss(command, **how):
    """Bytes; what is there between two looks, a few milliseconds, is not seen."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, **how)
        most = 0
        while process.poll() is None:
            try:
                text = pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text()
                most = max([most, *(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))])
            except OSError:  # it has just ended
                pass
            time.sleep(0.001)
        if process.returncode:
            said.seek(0)
            sys.exit(f"bench_memory: {said.read()[-2000:].decode()}")
    return most * 1024


def compare_resident(gantry, peers, model):
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "model.gantry"
        subprocess.run([gantry, "compile", model, "-o", plan], check=True)
        ours = largest_pss([gantry, "run", plan, "--fill=ramp", "--repeat=3", "--threads=1"])
    ort = largest_pss(["node", "ort_memory.mjs", model], cwd=peers,
                      env={**os.environ, "TRACE_FILE": "/dev/null", "ORT_ARENA": "1"})
    return ours, ort


def print_resident(arguments):
    """The models that are over the share."""
    over = []
    print("| model | Gantry, MiB | ONNX Runtime | share |\n|---|---|---|---|")
    for model in arguments.models:
        ours, ort = compare_resident(arguments.gantry.resolve(), arguments.ort.resolve(), model.resolve())
        print(f"| {model.stem} | {ours / MIB:.0f} | {ort / MIB:.0f} | {ours / ort:.2f} |", flush=True)
        if arguments.most and ours > arguments.most * ort:
            over.append(model.stem)
    return over


def print_transient(arguments):
    """The models that are over the share."""
    over = []
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.so"
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-o", trace, PEERS / "trace_memory.c"],
                       check=True)
        print("| model | Gantry, MiB | ONNX Runtime's block | share | ONNX Runtime in all | share |\n"
              "|---|---|---|---|---|---|")
        for model in arguments.models:
            block, most, version = measure_ort(arguments.ort.resolve(), trace, model.resolve())
            ours = measure_gantry(arguments.gantry, model.resolve())
            print(f"| {model.stem} | {ours / MIB:.2f} | {block / MIB:.2f} | {ours / block:.2f} | {most / MIB:.2f} "
                  f"| {ours / most:.2f} |", flush=True)
            if arguments.most and ours > arguments.most * block:
                over.append(model.stem)
    print(f"\nONNX Runtime {version}")
    return over


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gantry", type=pathlib.Path, default=ROOT / "build/release/bin/gantry")
    parser.add_argument("--ort", type=pathlib.Path, default=ROOT / "build/peers")
    parser.add_argument("--most", type=float)
    parser.add_argument("--resident", action="store_true", help="the whole process")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    shutil.copy(PEERS / "ort_memory.mjs", arguments.ort)
    over = print_resident(arguments) if arguments.resident else print_transient(arguments)
    if over:
        sys.exit(f"bench_memory: over {arguments.most:g}: {', '.join(over)}")


if __name__ == "__main__":
    main()
