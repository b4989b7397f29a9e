#!/usr/bin/python3
"""How compile time grows with the size of a graph: its ops, operands, results, constants and regions.

Each kind of graph is made at several sizes and compiled by the whole pipeline: `gantry-opt` gives MLIR's
own timing of each pass, `gantry compile` the processor time and memory of everything, text to plan, and with --run
`gantry explain --all` and `gantry run` what it takes to load that plan and to tell or run it. Prints a row
a size, and for each kind the slope between the two largest sizes on a log-log plot: 1 is linear, n log n
is 1.1, 2 is quadratic. Named are what as a whole grows faster than --steepest, and passes that from the
smallest size to the largest grow faster than --steepest-pass and take a twentieth of the time or more.

Usage: bench_scale.py [BUILD] [--kinds concat,chain] [--sizes 1000,10000,100000] [--run]
Exit status 1 when something grows faster.
"""

import argparse
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
T = "tensor<8xf32>"
MODULE = """module attributes {{gantry.topology = #gantry.topology<[{}]>}} {{
{}}}
"""


def function(arguments, body, results):
    """Of a list of arguments, all of type T, and pairs of value and type that it returns."""
    values, types = ", ".join(v for v, _ in results), ", ".join(t for _, t in results)
    return (f"func.func @main({', '.join(f'{a}: {T}' for a in arguments)}) -> ({types}) {{\n"
            + "\n".join(body) + f"\nreturn {values} : {types}\n}}\n")


def binary(result, op, a, b):
    return f"{result} = gantry.{op} {a}, {b} : ({T}, {T}) -> {T}"


def concat(n):
    """One op of n operands."""
    arguments, whole = [f"%a{i}" for i in range(n)], f"tensor<{8 * n}xf32>"
    return function(arguments, [f"%r = gantry.concat {', '.join(arguments)} {{axis = 0 : i64}} : "
                                f"({', '.join([T] * n)}) -> {whole}"], [("%r", whole)])


def total(n):
    """One elementwise op of n operands."""
    arguments = [f"%a{i}" for i in range(n)]
    return function(arguments, [f"%r = gantry.add_n {', '.join(arguments)} : ({', '.join([T] * n)}) -> {T}"],
                    [("%r", T)])


def narrow(n):
    """The same of f16, whose sum is rounded once."""
    return total(n).replace("f32", "f16")


def split(n):
    """One op of n results, all of which are returned."""
    names, types = ", ".join(f"%r{i}" for i in range(n)), ", ".join(["tensor<8xf32>"] * n)
    sizes = ", ".join(["8"] * n)
    return (f"func.func @main(%x: tensor<{8 * n}xf32>) -> ({types}) {{\n{names} = gantry.split %x "
            f"{{axis = 0 : i64, sizes = array<i64: {sizes}>}} : (tensor<{8 * n}xf32>) -> ({types})\n"
            f"return {names} : {types}\n}}\n")


def chain(n):
    """n elementwise ops, each of the one before."""
    body = [binary(f"%v{i + 1}", ("add", "mul")[i % 2], f"%v{i}", "%w") for i in range(n)]
    return function(["%v0", "%w"], body, [(f"%v{n}", T)])


def products(n):
    """n ops that share no kernel, each of the one before."""
    m = "tensor<8x8xf32>"
    body = [f"%v{i + 1} = gantry.matmul %v{i}, %w : ({m}, {m}) -> {m}" for i in range(n)]
    return (f"func.func @main(%v0: {m}, %w: {m}) -> {m} {{\n" + "\n".join(body)
            + f"\nreturn %v{n} : {m}\n}}\n")


def tangle(n):
    """n ops that read two of the last 64 values."""
    draw = random.Random(1)
    pick = lambda i: f"%v{draw.randrange(max(0, i - 64), i)}"
    body = [binary(f"%v{i}", draw.choice(["add", "mul", "maximum"]), pick(i), pick(i)) for i in range(1, n + 1)]
    return function(["%v0"], body, [(f"%v{n}", T)])


def wide(n):
    """n inputs, an op for each, n results."""
    arguments = [f"%a{i}" for i in range(n)]
    return function(arguments, [f"%r{i} = gantry.relu %a{i} : ({T}) -> {T}" for i in range(n)],
                    [(f"%r{i}", T) for i in range(n)])


def fan(n):
    """One value that n ops read, all of whose results are joined."""
    m = "tensor<8x8xf32>"
    body = [f"%c{i} = gantry.constant dense<{i}.5> : tensor<8x8xf32>\n"
            f"%r{i} = gantry.matmul %x, %c{i} : ({m}, {m}) -> {m}" for i in range(n)]
    whole = f"tensor<{8 * n}x8xf32>"
    names = ", ".join(f"%r{i}" for i in range(n))
    return (f"func.func @main(%x: {m}) -> {whole} {{\n" + "\n".join(body)
            + f"\n%y = gantry.concat {names} {{axis = 0 : i64}} : ({', '.join([m] * n)}) -> {whole}\n"
            f"return %y : {whole}\n}}\n")


def constants(n):
    """n constants, each added to a sum."""
    body = [f"%c{i} = gantry.constant dense<[{', '.join(f'{i}.{k}' for k in range(8))}]> : {T}\n"
            + binary(f"%v{i + 1}", "add", f"%v{i}", f"%c{i}") for i in range(n)]
    return function(["%v0"], body, [(f"%v{n}", T)])


def branches(n):
    """n gantry.if, each of the one before."""
    body = [f"%v{i + 1} = gantry.if %c -> ({T}) {{\n{binary('%t', 'add', f'%v{i}', '%w')}\ngantry.yield %t : {T}\n}} else {{\n"
            f"{binary('%e', 'mul', f'%v{i}', '%w')}\ngantry.yield %e : {T}\n}} : tensor<i1>" for i in range(n)]
    return (f"func.func @main(%c: tensor<i1>, %v0: {T}, %w: {T}) -> {T} {{\n" + "\n".join(body)
            + f"\nreturn %v{n} : {T}\n}}\n")


def loops(n):
    """n gantry.while, each of the one before."""
    number = "tensor<i64>"
    body = ["%zero = gantry.constant dense<0> : tensor<i64>", "%one = gantry.constant dense<1> : tensor<i64>"]
    for i in range(n):
        body.append(
            f"%n{i}, %v{i + 1} = gantry.while (%zero, %v{i}) : ({number}, {T}) -> ({number}, {T}) {{\n"
            f"^bb0(%i: {number}, %v: {T}):\n%m = gantry.compare lt, %i, %one : ({number}, {number}) -> tensor<i1>\n"
            f"gantry.yield %m : tensor<i1>\n}} do {{\n^bb0(%i: {number}, %v: {T}):\n"
            f"%j = gantry.add %i, %one : ({number}, {number}) -> {number}\n{binary('%t', 'add', '%v', '%w')}\n"
            f"gantry.yield %j, %t : {number}, {T}\n}}")
    return function(["%v0", "%w"], body, [(f"%v{n}", T)])


def carried(n):
    """One loop that carries n values."""
    names = [f"%v{i}" for i in range(n)]
    types = ", ".join(["tensor<i64>"] + [T] * n)
    block = lambda: f"^bb0({', '.join(['%i: tensor<i64>'] + [f'%b{i}: {T}' for i in range(n)])}):"
    body = ["%zero = gantry.constant dense<0> : tensor<i64>", "%one = gantry.constant dense<1> : tensor<i64>",
            f"%r:{n + 1} = gantry.while (%zero, {', '.join(names)}) : ({types}) -> ({types}) {{", block(),
            "%m = gantry.compare lt, %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i1>",
            "gantry.yield %m : tensor<i1>", "} do {", block(),
            "%j = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>",
            *(f"%t{i} = gantry.relu %b{i} : ({T}) -> {T}" for i in range(n)),
            f"gantry.yield %j, {', '.join(f'%t{i}' for i in range(n))} : {types}", "}"]
    return function(names, body, [(f"%r#{i + 1}", T) for i in range(n)])


def hops(n):
    """n ops on two simulated GPUs in turns, each of the one before: a copy for each."""
    m = "tensor<8x8xf32>"
    body = [f"%v{i + 1} = gantry.matmul %v{i}, %w {{gantry.device = #gantry.device<\"GPU:{i % 2}\">}} : "
            f"({m}, {m}) -> {m}" for i in range(n)]
    return (f"func.func @main(%v0: {m}, %w: {m}) -> {m} {{\n" + "\n".join(body)
            + f"\nreturn %v{n} : {m}\n}}\n")


DEVICES = {hops: ["CPU:0", "GPU:0", "GPU:1"]}
KINDS = {f.__name__: f for f in (concat, total, narrow, split, chain, products, tangle, wide, fan, constants, branches, loops,
                                 carried, hops)}


def module(kind, size):
    """The text of a graph."""
    devices = DEVICES.get(KINDS[kind], ["CPU:0"])
    topology = ", ".join(f'#gantry.device<"/job:localhost/replica:0/task:0/device:{name}">' for name in devices)
    return MODULE.format(topology, KINDS[kind](size))


def passes(build, path):
    """Seconds of each pass."""
    done = subprocess.run([build / "bin/gantry-opt", path, "--pass-pipeline=builtin.module(gantry-pipeline)",
                           "-o", "/dev/null", "--mlir-timing", "--mlir-timing-display=list",
                           "--mlir-disable-threading", "--verify-each=false"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench_scale: gantry-opt failed on {path}:\n{done.stderr[:2000]}")
    times = {}
    for line in done.stderr.splitlines():
        if (match := re.match(r"\s*([\d.]+) \(\s*[\d.]+%\)\s+(\S.*)", line)) and match[2].strip() not in ("root", "Total"):
            times[match[2].strip()] = times.get(match[2].strip(), 0) + float(match[1])
    return times


def timed(*command):
    """Seconds of processor time, which other work on the machine does not change much, and MiB of a command."""
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    message = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"bench_scale: {' '.join(map(str, command))}:\n{message.decode()[:2000]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def slope(before, after):
    """Of the line through two points (size, seconds) on a log-log plot."""
    return math.log(after[1] / before[1]) / math.log(after[0] / before[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--steepest", type=float, default=1.15, help="largest slope of a whole that is no finding")
    parser.add_argument("--steepest-pass", type=float, default=1.25, help="and of a pass")
    parser.add_argument("--run", action="store_true", help="explain and run each plan, too")
    args = parser.parse_args()
    findings = []
    print("| kind | n | passes s | compile s | MiB |" + (" explain s | run s |" if args.run else ""))
    print("|---" * (7 if args.run else 5) + "|")
    for kind in args.kinds.split(","):
        points, wholes = [], {"compile": []}
        with tempfile.TemporaryDirectory() as folder:
            path, plan = pathlib.Path(folder, "g.mlir"), pathlib.Path(folder, "g.gantry")
            for size in map(int, args.sizes.split(",")):
                path.write_text(module(kind, size))
                times = passes(args.build, path)
                seconds, memory = timed(args.build / "bin/gantry", "compile", path, "-o", plan)
                points.append((size, times))
                wholes["compile"].append((size, seconds))
                row = f"| {kind} | {size} | {sum(times.values()):.2f} | {seconds:.2f} | {memory:.0f} |"
                for what in ("explain --all", "run --fill ones") if args.run else ():
                    command, *flags = what.split()
                    seconds, _ = timed(args.build / "bin/gantry", command, plan, *flags)
                    wholes.setdefault(command, []).append((size, seconds))
                    row += f" {seconds:.2f} |"
                print(row, flush=True)
        if len(points) < 2:
            continue
        for what, times in wholes.items():
            steep = slope(*times[-2:])
            print(f"{kind}: {what}: slope {steep:.2f}")
            if steep > args.steepest:
                findings.append(f"{kind}: {what} {times[-1][1]:.2f} s, slope {steep:.2f}")
        (n, before), (m, after) = points[0], points[-1]
        for name, seconds in after.items():
            if (seconds >= 0.05 * sum(after.values())
                    and (steep := slope((n, max(before.get(name, 0), 1e-4)), (m, seconds))) > args.steepest_pass):
                findings.append(f"{kind}: {name} {seconds:.2f} s, slope {steep:.2f}")
    for finding in findings:
        print(f"steep: {finding}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
