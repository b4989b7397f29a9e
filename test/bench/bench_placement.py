#!/usr/bin/python3
"""Automatic placement against the alternatives that a person has, on simulated GPUs.

For each network, number of GPUs, speeds, links and limits: the predicted step of `--placement=auto`, and of what else one
could do: the default policy, `follow`, one GPU, the CPU alone, the default policy repaired (`--over-limit=fix`), and the
function cut by hand into one contiguous piece for each GPU, at several places and in both orders. Limits are parts of what the
network takes on one GPU. Prints a row for each configuration: auto's time over that of the best alternative, who that was,
and how far the plan's own clock is from what the search predicted.

Usage: bench_placement.py --build-dir BUILD [--models FILE,...] [--gpus 2,4] [--limits 100,70,50,35] [--links pcie,nvlink]
       [--speeds equal,half] [--cuts N] [--jobs N] [--json FILE]
Exit status 1 when auto is slower than an alternative by more than a hundredth, or finds no plan where one is.
"""

import argparse
import concurrent.futures
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

LINKS = {"pcie": (12e9, 1e-5), "nvlink": (300e9, 1e-5)}  # bytes a second, seconds
SLACK = 1.01  # predictions within this are the same


class Tool:
    def __init__(self, build, scratch):
        self.program, self.scratch, self.count = pathlib.Path(build) / "bin/gantry", pathlib.Path(scratch), itertools.count()

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def explain(self, model, topology, *flags):
        """What is told of a plan, or None where there is none."""
        status, out, said = self.run("explain", model, "--json", f"--topology={topology}", *flags)
        if status != 0:
            return None
        told = json.loads(out)
        return {**told, **(told["functions"][0] if "functions" in told else {}), "said": said}

    def topology(self, gpus, speeds, link, limit=None):
        """A file: a CPU and GPUs, each second one half as fast for `half`."""
        names = ",".join(["CPU:0", *(f"GPU:{i}" for i in range(gpus))])
        machine = json.loads(self.run("devices", "--json", f"--devices={names}", "--simulate")[1])
        bandwidth, latency = LINKS[link]
        for link_ in machine["links"]:
            link_["bandwidth"], link_["latency"] = bandwidth, latency
        for number, device in enumerate(d for d in machine["physical"] if "GPU" in d["name"]):
            if speeds == "half" and number % 2:
                device["bandwidth"] /= 2
                device["peak_flops"] = {kind: rate / 2 for kind, rate in device["peak_flops"].items()}
        for device in machine["logical"]:
            if limit and "GPU" in device["name"]:
                device["limit"] = limit
        path = self.scratch / f"topology{next(self.count)}.json"
        path.write_text(json.dumps(machine))
        return path


def taken(told, device="device:GPU:0"):
    return sum(row["constants"] + row["variables"] + row["transient"] + row.get("bound", 0)
               for row in told["memory"] if row["device"].endswith(device))


def cut_by_hand(tool, model, ops, topology, gpus, count):
    """The best of contiguous pieces, as (seconds, what), or None where none fits."""
    best = None
    orders = [list(range(gpus)), list(reversed(range(gpus)))]
    for part, order in itertools.product(range(1, count), orders):
        # Pieces of equal length but for where the first one ends.
        first = part / count * 2 / gpus
        ends = [first + (1 - first) * i / (gpus - 1) for i in range(gpus)] if gpus > 1 else [1]
        rules, piece = [], 0
        for number, name in enumerate(ops):
            while piece + 1 < gpus and number >= ends[piece] * len(ops):
                piece += 1
            rules.append(f"name:{name}=GPU:{order[piece]}")
        path = tool.scratch / f"rules{next(tool.count)}"
        path.write_text("\n".join(rules) + "\n")
        told = tool.explain(model, topology, f"--place=@{path}")
        if told and (best is None or told["predicted_seconds"] < best[0]):
            best = (told["predicted_seconds"], f"cut at {first:.2f}, GPU:{order[0]} first")
    return best


def measure(tool, model, gpus, speeds, link, percent, cuts):
    one = tool.explain(model, tool.topology(1, "equal", link))
    limit = taken(one) * percent // 100
    topology = tool.topology(gpus, speeds, link, limit)
    single = tool.topology(1, speeds, link, limit)
    seconds = {}
    for name, where, flags in (("default", topology, []), ("follow", topology, ["--placement=follow"]),
                               ("one GPU", single, []), ("CPU", topology, ["--place=*=CPU:0"]),
                               ("repaired", topology, ["--over-limit=fix"]),
                               ("one GPU fewer", tool.topology(gpus - 1, speeds, link, limit), ["--placement=auto"])):
        if told := tool.explain(model, where, *flags):
            seconds[name] = told["predicted_seconds"]
    ops = [op["name"] for op in one["ops"]]
    if cuts and (found := cut_by_hand(tool, model, ops, topology, gpus, cuts)):
        seconds[found[1]] = found[0]
    auto = tool.explain(model, topology, "--placement=auto")
    said = re.search(r"predicted step ([\d.]+) (us|µs|ms|s)\b", auto["said"]) if auto else None
    believed = float(said[1]) * {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1}[said[2]] if said else None
    best = min(seconds, key=seconds.get) if seconds else None
    return {"model": pathlib.Path(model).stem, "gpus": gpus, "speeds": speeds, "link": link, "percent": percent, "limit": limit,
            "auto": auto and auto["predicted_seconds"], "believed": believed, "bound": auto and auto["lower_bound_seconds"],
            "best": best, "alternatives": seconds}


def is_bad(row):
    if row["best"] is None:
        return False
    return row["auto"] is None or row["auto"] > row["alternatives"][row["best"]] * SLACK


def show(row):
    where = f"{row['model']:<22} {row['gpus']} {row['speeds']:<5} {row['link']:<6} {row['percent']:>3} %"
    if row["best"] is None:
        return f"{where}  auto {row['auto'] and row['auto'] * 1e3} ms, nothing else fits"
    best = row["alternatives"][row["best"]]
    if row["auto"] is None:
        return f"{where}  REFUSED, {row['best']} takes {best * 1e3:.3f} ms"
    off = f"{(row['auto'] / row['believed'] - 1) * 100:+.1f} %" if row["believed"] else "?"
    mark = "  WORSE" if is_bad(row) else ""
    return (f"{where}  {row['auto'] / best:5.2f}  {row['auto'] * 1e3:9.3f} ms  of {best * 1e3:9.3f} ms ({row['best']})"
            f"  plan {off}{mark}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", required=True)
    parser.add_argument("--models", required=True, help="ONNX or MLIR files, with commas between")
    parser.add_argument("--gpus", default="2,4")
    parser.add_argument("--limits", default="100,70,50,35", help="in % of what the network takes on one GPU")
    parser.add_argument("--links", default="pcie,nvlink")
    parser.add_argument("--speeds", default="equal,half")
    parser.add_argument("--cuts", type=int, default=16, help="places for the first cut, 0: none by hand")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", help="write all figures here")
    options = parser.parse_args()
    split = lambda text: text.split(",")
    rows = []
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tool = Tool(options.build_dir, scratch)
        cases = itertools.product(split(options.models), map(int, split(options.gpus)), split(options.speeds),
                                  split(options.links), map(int, split(options.limits)))
        for row in pool.map(lambda case: measure(tool, *case, options.cuts), cases):
            rows.append(row)
            print(show(row), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))
    bad = sum(map(is_bad, rows))
    print(f"{len(rows)} configurations, auto is slower or refused in {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
