#!/usr/bin/python3
"""Times placement and copies on graphs of 1 000 to 100 000 ops.

Makes the graphs (random ones whose ops read recent values, a tenth of them asking for a device), runs
the passes of those phases with gantry-opt and reads MLIR's own timing, so that reading and printing
the text do not count. Prints one row a size and the slope of a line through them on a log-log plot:
1 is linear.

Usage: bench_placement.py [GANTRY_OPT] [--sizes 1000,10000,100000] [--passes 'a,func.func(b)'] [--runs 3]
"""

import argparse
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSES = ["func.func(gantry-name-ops)", "gantry-assign-devices", "gantry-verify-placed",
          "gantry-elide-copies", "gantry-insert-copies", "gantry-verify-copies",
          "gantry-check-copy-budget"]
DEVICES = ["CPU:0", "GPU:0", "GPU:1", "GPU:2"]
TENSOR = "tensor<64x64xf32>"


def graph(size, seed=1):
    """A function of `size` ops: chains that branch and meet again, some with a request."""
    draw = random.Random(seed)
    name = "/job:localhost/replica:0/task:0/device:"
    topology = ", ".join(f'#gantry.device<"{name}{d}">' for d in DEVICES)
    lines = [f"module attributes {{gantry.topology = #gantry.topology<[{topology}]>}} {{",
             f"func.func @main(%v0: {TENSOR}) -> {TENSOR} {{",
             f"%c = gantry.constant dense<0.5> : {TENSOR}"]
    unread = {0}
    for i in range(1, size + 1):
        a = draw.choice([i - 1, draw.randrange(max(0, i - 64), i)])
        b = draw.randrange(max(0, i - 64), i)
        unread -= {a, b}
        unread.add(i)
        asks = (f'{{gantry.device = #gantry.device<"/device:{draw.choice(DEVICES[1:])}">}} '
                if draw.random() < 0.1 else "")
        kind = draw.randrange(4)
        if kind == 0:
            lines.append(f"%v{i} = gantry.relu %v{a} {asks}: ({TENSOR}) -> {TENSOR}")
        else:
            op = ("add", "mul", "matmul")[kind - 1]
            other = "%c" if draw.random() < 0.1 else f"%v{b}"
            lines.append(f"%v{i} = gantry.{op} %v{a}, {other} {asks}: ({TENSOR}, {TENSOR}) -> {TENSOR}")
    lines += [f"return %v{size} : {TENSOR}", "}", "}"]
    return "\n".join(lines)


def run(tool, path, passes):
    """Seconds of each pass, by its name as the timing report prints it."""
    pipeline = "builtin.module(" + ",".join(passes) + ")"
    done = subprocess.run([tool, path, f"--pass-pipeline={pipeline}", "-o", "/dev/null",
                           "--mlir-timing", "--mlir-timing-display=list", "--mlir-disable-threading",
                           "--verify-each=false"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench_placement: {tool} failed on {path}:\n{done.stderr[:2000]}")
    times = {}
    for line in done.stderr.splitlines():
        if match := re.match(r"\s*([\d.]+) \(\s*[\d.]+%\)\s+(\S.*)", line):
            times[match[2].strip()] = times.get(match[2].strip(), 0) + float(match[1])
    return {k: v for k, v in times.items() if k.endswith("Pass")}


def slope(points):
    """Of the least-squares line through (log x, log y)."""
    xs = [math.log(x) for x, _ in points]
    ys = [math.log(y) for _, y in points]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tool", nargs="?", default=str(ROOT / "build/release/bin/gantry-opt"))
    parser.add_argument("--sizes", default="1000,3000,10000,30000,100000")
    parser.add_argument("--passes", default=",".join(PASSES))
    parser.add_argument("--runs", type=int, default=3, help="of each size; the least counts")
    args = parser.parse_args()
    points, names = [], []
    with tempfile.TemporaryDirectory() as folder:
        for size in map(int, args.sizes.split(",")):
            path = pathlib.Path(folder) / f"{size}.mlir"
            path.write_text(graph(size))
            times = min((run(args.tool, path, args.passes.split(",")) for _ in range(args.runs)),
                        key=lambda t: sum(t.values()))
            if not names:
                names = list(times)
                print("| ops | total s | " + " | ".join(names) + " |")
                print("|---" * (len(names) + 2) + "|")
            points.append((size, sum(times.values())))
            print(f"| {size} | {points[-1][1]:.3f} | "
                  + " | ".join(f"{times.get(n, 0):.3f}" for n in names) + " |", flush=True)
    if len(points) > 1:
        print(f"slope {slope(points):.2f}")


if __name__ == "__main__":
    main()
