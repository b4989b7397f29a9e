#!/usr/bin/python3
"""What --over-limit=fix makes of models on a simulated GPU that has a part of the memory they need.

For each share of constants + transient values: the predicted step against that without a limit, the virtual clock
against the prediction, whether the results have the same bits, and what was done. What is refused shows what stands
in the way. The models have an open first dimension, "batch".

Usage: bench_over_limit.py [--gantry GANTRY] [--batch 8] [--shares 0.8,0.6,0.4] MODEL ...
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--gantry", default="gantry", help="the tool")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--shares", default="0.8,0.6,0.4")
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        gantry = Bench(arguments.gantry, arguments.batch, pathlib.Path(folder))
        for model in arguments.models:
            bench(gantry, model, [float(share) for share in arguments.shares.split(",")])


if __name__ == "__main__":
    main()
