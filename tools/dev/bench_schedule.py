#!/usr/bin/python3
"""Times schedule and memory on graphs of 1 000 to 100 000 launches over several devices.

Makes placed graphs (random ones, a tenth of the values go to another device), runs the passes from
launches to offsets with gantry-opt and reads MLIR's own timing. Of each plan it also works out two
timelines, with numbers of its own: one in which commands wait for their values only, and one with the
signals and waits that the plan has, those for memory that is used again among them. Their ratio is 1
when the sharing of memory delays nobody (docs/designs/memory.md).

Usage: bench_schedule.py [GANTRY_OPT] [--sizes 1000,10000,100000] [--gpus 4] [--runs 3]
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSES = ["lower-to-plan", "order-commands", "coalesce-copies", "plan-memory", "order-queues",
          "check-limits", "verify-plan", "verify-commands"]
DEVICE = "/job:localhost/replica:0/task:0/device:"
TENSOR = "tensor<64xf32>"
FLOPS, BANDWIDTH, LAUNCH = 19.5e12, 1555e9, 3e-6  # as CostModel.h stands in for a GPU
LATENCY, LINK = 10e-6, 25e9


def graph(size, gpus, seed=3):
    """A function of `size` launches of one kernel, and its copies."""
    draw = random.Random(seed)
    names = ["CPU:0"] + [f"GPU:{i}" for i in range(gpus)]
    topology = ", ".join(f'#gantry.device<"{DEVICE}{name}">' for name in names)
    lines = [f"module attributes {{gantry.topology = #gantry.topology<[{topology}]>}} {{",
             f"func.func @main(%x: {TENSOR}) -> {TENSOR} {{"]

    def copy(name, source, target):
        lines.append(f'{name} = gantry.copy {source} to "{DEVICE}{target}" : {TENSOR}')
        return name

    values = [[copy(f"%c{gpu}", "%x", f"GPU:{gpu}")] for gpu in range(gpus)]
    for i in range(size):
        gpu, other = draw.randrange(gpus), draw.randrange(gpus)
        mine = values[gpu]
        if draw.random() < 0.1 and other != gpu:
            mine.append(copy(f"%k{i}", values[other][-1], f"GPU:{gpu}"))
        a, b = mine[-1], mine[-draw.randint(1, min(20, len(mine)))]
        lines.append(
            f'%v{i} = gantry.launch @kernels::@add_0({a}, {b}) ops [#gantry.launched<"Add", name = "n{i}", flops = '
            f'{draw.randint(1, 100)}000000, bytes = 768>] {{gantry.device = #gantry.device<"{DEVICE}'
            f'GPU:{gpu}">, gantry.name = "n{i}"}} : '
            f"({TENSOR}, {TENSOR}) -> {TENSOR}")
        mine.append(f"%v{i}")
    result = copy("%r", values[0][-1], "CPU:0")
    lines.append(f"""return {result} : {TENSOR}
}}
module @kernels attributes {{gantry.target = #gantry.target<"cpu">}} {{
  func.func private @add_0(%a: memref<64xf32>, %b: memref<64xf32>, %c: memref<64xf32>,
      %begin: index, %end: index) attributes {{gantry.work = #gantry.work<items = 1>}} {{
    return
  }}
}}
}}""")
    return "\n".join(lines)


def run(tool, path, plan):
    """Seconds by pass; the plan's text goes to `plan`."""
    done = subprocess.run([tool, path, *(f"--gantry-{name}" for name in PASSES), "--mlir-timing",
                           "--mlir-timing-display=list", "--mlir-disable-threading",
                           "--verify-each=false", "-o", plan], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench_schedule: {tool} failed on {path}:\n{done.stderr[:2000]}")
    times = {}
    for line in done.stderr.splitlines():
        if match := re.match(r"\s*([\d.]+) \(\s*[\d.]+%\)\s+(\S+Pass)", line):
            times[match[2]] = float(match[1])
    return times


def commands(text):
    """(kind, queue, ...) of each command: "run" with reads, writes and seconds; "signal", "wait"."""
    devices = {}
    for line in text.splitlines():
        line = line.strip()
        if match := re.match(r"(%\w+) = plan\.buffer .* on @(\w+)", line):
            devices[match[1]] = match[2]
        elif match := re.match(r"(%\w+) = plan\.(?:in|out)put", line):
            devices[match[1]] = "d0"
        elif match := re.match(r"plan\.launch \S+?\((.*?)\) -> \((.*?)\).* flops (\d+) bytes (\d+) "
                               r"on @(\w+)", line):
            seconds = LAUNCH + max(int(match[3]) / FLOPS, int(match[4]) / BANDWIDTH)
            yield "run", (match[5], 0), match[1].split(", "), match[2].split(", "), seconds
        elif match := re.match(r"plan\.copy (%\S.*) to (%\S.*) on @(\w+)(?: queue (\d))?", line):
            sources, targets = match[1].split(", "), match[2].split(", ")
            ways = 1 if "d0" in (devices[sources[0]], devices[targets[0]]) else 2  # else by the host
            queue = match[3], int(match[4] or 0)
            yield "run", queue, sources, targets, ways * (LATENCY + len(sources) * 256 / LINK)
        elif match := re.match(r"plan\.(signal|wait) (\d+) on @(\w+)(?: queue (\d))?", line):
            yield match[1], (match[3], int(match[4] or 0)), match[2]


def length(plan, obey):
    """Seconds until all queues are done: by the plan's signals and waits, or by values alone."""
    free, made, signalled = {}, {}, {}
    for kind, queue, *what in plan:
        start = free.get(queue, 0)
        if kind == "signal":
            signalled[what[0]] = start
        elif kind == "wait":
            free[queue] = max(start, signalled[what[0]]) if obey else start
        else:
            reads, writes, seconds = what
            if not obey:
                start = max([start, *(made.get(value, 0) for value in reads)])
            free[queue] = start + seconds
            made.update((value, free[queue]) for value in writes)
    return max(free.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tool", nargs="?", default=str(ROOT / "build/release/bin/gantry-opt"))
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--gpus", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3, help="of each size; the least counts")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for size in map(int, args.sizes.split(",")):
            path, out = pathlib.Path(folder, f"{size}.mlir"), pathlib.Path(folder, f"{size}.plan")
            path.write_text(graph(size, args.gpus))
            times = min((run(args.tool, path, out) for _ in range(args.runs)),
                        key=lambda t: sum(t.values()))
            plan = list(commands(out.read_text()))
            waits = sum(kind == "wait" for kind, *_ in plan)
            ratio = length(plan, obey=True) / length(plan, obey=False)
            print(f"{size} launches: {sum(times.values()):.3f} s ("
                  + ", ".join(f"{name} {seconds:.3f}" for name, seconds in times.items())
                  + f"); {waits} waits; timeline {ratio:.4f} of that without shared memory", flush=True)


if __name__ == "__main__":
    main()
