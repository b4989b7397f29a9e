#!/usr/bin/python3
"""What --over-limit=fix makes of models on a simulated GPU that has a part of the memory they need.

For each share of constants + transient values: the predicted step against that without a limit, the virtual clock
against the prediction, whether the results have the same bits, and what was done. What is refused shows what stands
in the way. The models have an open first dimension, "batch".

--training: steps of training on the host's CPU instead, which is calibrated first, with a share of their transient values beside
their variables: the predicted step, and the processor seconds of a step on one thread, each against those without a limit (the
least of turns that the two take), the search for the plan, and whether outputs and variables have the same bits after three steps.
Without models: those of test/bench/training/make_steps.py.

Usage: bench_over_limit.py [--gantry GANTRY] [--batch 8] [--shares 0.8,0.6,0.4] MODEL ...
       bench_over_limit.py --build-dir BUILD --training [--shares 0.75,0.5] [STEP ...]
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


class Bench:
    def __init__(self, tool, batch, folder):
        self.tool, self.batch = tool, batch
        self.plan, self.output = folder / "plan.gantry", folder / "output.npy"

    def call(self, *arguments):
        return subprocess.run([self.tool, *map(str, arguments)], capture_output=True, text=True, check=False)

    def compile(self, model, limit=None, *flags):
        gpu = "GPU:0" if limit is None else f"GPU:0@{limit}"
        return self.call("compile", model, f"--dim=batch={self.batch}", f"--devices=CPU:0,{gpu}", "--simulate", *flags,
                         "-o", self.plan)

    def bytes_needed(self, model):
        done = self.compile(model, 64)
        found = re.search(r"raise the limit to at least (\d+) bytes", done.stderr)
        return int(found[1]) if found else sys.exit(f"bench_over_limit: {done.stderr[:2000]}")

    def measure(self):
        """(predicted seconds, seconds on the virtual clock, bytes of the output) of the plan."""
        described = json.loads(self.call("explain", "--json", self.plan).stdout)
        name = described["functions"][0]["outputs"][0]["name"]
        run = self.call("run", "-v", self.plan, "--fill", "ramp", "--output", f"{name}={self.output}")
        clock = re.search(r"virtual clock: ([\d.]+) (\S+)", run.stderr)
        predicted = described["functions"][0]["predicted_seconds"]
        # There is none where nothing is left on the GPU.
        return (predicted, float(clock[1]) * UNITS[clock[2]] if clock else predicted, self.output.read_bytes())


def bench(gantry, model, shares):
    needed = gantry.bytes_needed(model)
    gantry.compile(model)
    free, _, bits = gantry.measure()
    print(f"{model.stem}, batch {gantry.batch}: {needed / 2**20:.1f} MiB, {free * 1e3:.2f} ms per run")
    for share in shares:
        done = gantry.compile(model, int(needed * share), "--over-limit=fix")
        lines = [line.split(": ", 2)[-1] for line in done.stderr.splitlines()]
        if done.returncode:
            why = [line[line.index("the smallest plan"):] for line in lines if "the smallest plan that --over-limit=fix" in line] or lines[:1]
            print(f"  {share:4.0%} refused: {why[0]}")
            continue
        seconds, clock, limited = gantry.measure()
        print(f"  {share:4.0%} {seconds / free:.2f}x, clock {clock / seconds:.3f} of it, "
              f"{'same' if limited == bits else 'OTHER'} bits")
        for line in lines:
            print(f"       {re.sub('.*over the limit: ', '', line)}")


# ---- steps of training ----

class Steps:
    """A plan of a step with variables of its own, run in this process."""

    def __init__(self, gt, plan, inputs):
        self.gt, self.session, self.inputs = gt, gt.load(plan).session(), inputs

    def run(self):
        """Processor seconds of a step."""
        began = time.process_time()
        self.outputs = self.session.run(**self.inputs)
        return time.process_time() - began

    def bits(self):
        """Of all outputs and variables."""
        values = {**self.outputs, **{name: self.session.state[name] for name in self.session.state}}
        return {name: value.numpy().tobytes() for name, value in values.items()}


class Training:
    TURNS, STEPS = 5, 3

    def __init__(self, build, folder):
        sys.path.insert(0, str(ROOT / "python-bindings"))
        os.environ.update(GANTRY_LIBRARY_PATH=str(build / "lib"), GANTRY_CACHE_SIZE="0")
        import gantry as gt
        gt.config(threads=1, devices="CPU:0")
        self.gt, self.tool, self.folder = gt, build / "bin/gantry", folder
        self.machine = json.loads(self.call("devices", "--calibrate", "--json").stdout)

    def call(self, *arguments):
        return subprocess.run([self.tool, *map(str, arguments)], capture_output=True, text=True, check=False)

    def make_steps(self):
        subprocess.run([sys.executable, ROOT / "test/bench/training/make_steps.py", self.folder / "steps"], check=True)
        return sorted((self.folder / "steps").glob("*.mlir"))

    def compile(self, step, name, limit=None):
        """The plan, what was said, and seconds; no plan where it was refused."""
        plan, machine = self.folder / f"{name}.gantry", self.folder / "machine.json"
        logical = [{**device, **({"limit": limit} if limit else {})} for device in self.machine["logical"]]
        machine.write_text(json.dumps({**self.machine, "logical": logical}), encoding="utf-8")
        began = time.perf_counter()
        done = self.call("compile", step, f"--topology={machine}", *["--over-limit=fix"] * bool(limit), "-o", plan)
        lines = [line.split("over the limit: ")[-1] for line in done.stderr.splitlines()]
        return (None if done.returncode else plan), lines, time.perf_counter() - began

    def memory(self, plan):
        """(transient bytes, all others, predicted seconds)."""
        told = json.loads(self.call("explain", "--json", plan).stdout)
        cpu, function = told["memory"][0], told["functions"][0]
        ends = sum(port["bytes"] for port in function["inputs"] + function["outputs"])
        return cpu["transient"], cpu["constants"] + cpu["variables"] + ends, function["predicted_seconds"]

    def inputs(self, step, plan):
        """As the first line of the file says."""
        import numpy as np
        random, fills = np.random.default_rng(3), step.read_text(encoding="utf-8").splitlines()[0]
        made = {}
        for port in self.gt.load(plan).inputs:
            kind, *bounds = re.search(rf"--fill {port.name}=(\S+)", fills)[1].split(":")
            made[port.name] = (random.standard_normal(port.shape, np.float32) if kind == "normal" else
                               random.integers(*map(int, bounds), port.shape).astype(str(port.dtype)))
        return made

    def bench(self, step, shares):
        plan, lines, _ = self.compile(step, "free")
        if not plan:
            sys.exit(f"bench_over_limit: {lines[0][:2000]}")
        transient, others, predicted = self.memory(plan)
        inputs = self.inputs(step, plan)
        print(f"{step.stem}: {others / 2**20:.1f} MiB and {transient / 2**20:.1f} MiB of transient values, "
              f"{predicted * 1e3:.1f} ms predicted")
        for share in shares:
            limited, lines, took = self.compile(step, "limited", others + int(transient * share))
            if not limited:
                why = [line for line in lines if "the smallest plan" in line] or lines
                print(f"  {share:4.0%} refused after {took:.1f} s: {why[0][:300]}")
                continue
            self.compare(share, (plan, limited), inputs, took)
            for line in lines:
                print(f"       {line}")

    def compare(self, share, plans, inputs, took):
        both = [Steps(self.gt, plan, inputs) for plan in plans]
        for steps in both:
            for _ in range(self.STEPS):
                steps.run()
        same = both[0].bits() == both[1].bits()
        times = list(zip(*([steps.run() for steps in both] for _ in range(self.TURNS))))
        free, limited = map(min, times)
        held, _, predicted = self.memory(plans[1])
        print(f"  {share:4.0%} {held / 2**20:.1f} MiB, predicted {predicted / self.memory(plans[0])[2]:.3f}x, measured "
              f"{limited / free:.3f}x ({free * 1e3:.1f} ms, {limited * 1e3:.1f} ms), {'same' if same else 'OTHER'} bits, "
              f"{took:.1f} s to compile", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--gantry", default="gantry", help="the tool")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build/release", help="for --training")
    parser.add_argument("--training", action="store_true", help="steps of training on the host's CPU")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--shares", help="0.8,0.6,0.4, of training 0.75,0.5")
    parser.add_argument("models", type=pathlib.Path, nargs="*")
    arguments = parser.parse_args()
    shares = [float(share) for share in (arguments.shares or ("0.75,0.5" if arguments.training else "0.8,0.6,0.4")).split(",")]
    with tempfile.TemporaryDirectory() as folder:
        if arguments.training:
            training = Training(arguments.build_dir.resolve(), pathlib.Path(folder))
            for step in arguments.models or training.make_steps():
                training.bench(step, shares)
            return
        if not arguments.models:
            parser.error("no models")
        gantry = Bench(arguments.gantry, arguments.batch, pathlib.Path(folder))
        for model in arguments.models:
            bench(gantry, model, shares)


if __name__ == "__main__":
    main()
