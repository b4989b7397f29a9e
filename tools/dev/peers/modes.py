"""Whole models with products of rounded factors (--math) against the same in f32.

Usage: modes.py --gantry GANTRY --math bf16 [--threads 1] [--rounds 5] [--seconds 1] [--write docs/benchmarks/math]
                MODEL.onnx ...

Each model is measured in both modes in turn, several times over. A round is a pair, whose ratio no slow minute of the
machine decides alone: the median of the rounds' ratios stands, and the least time of each mode beside it. The error is
the largest of any output, as a part of that output's largest value, for inputs that the tool makes up. Started by
tools/dev/bench_peers.sh --math.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import measuring

ERROR = re.compile(r"against f32: max abs error \S+ (\S+) of the largest value, (\S+);")


def largest_error(said):
    """Of what `gantry run --compare-math` says of each output; None where all are zeros, which says nothing."""
    found = [float(error) for error, largest in ERROR.findall(said) if float(largest) != 0]
    return max(found) if found else None


def measure(model, gantry, options, folder):
    """A row of the table."""
    flags = {"f32": [], options.math: [f"--math={options.math}"]}
    row = {"model": model.stem, "threads": gantry.threads, "ms": {mode: [] for mode in flags}, "plan_bytes": {}}
    for mode, own in flags.items():
        gantry("compile", model, *own, "-o", folder / f"{mode}.gantry")
        row["plan_bytes"][mode] = (folder / f"{mode}.gantry").stat().st_size
    for _ in range(options.rounds):
        for mode in flags:
            said = json.loads(gantry("bench", folder / f"{mode}.gantry", "--json", "--threads", gantry.threads,
                                     "--min-time", options.seconds))
            row["ms"][mode].append(round(said["median_ms"], 4))
    compared = subprocess.run([gantry.path, "run", model, *flags[options.math], "--compare-math"], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=gantry.environment).stdout
    row["error"] = largest_error(compared)
    row["ratio"] = round(statistics.median(a / b for a, b in zip(*row["ms"].values())), 3)
    print(f"{row['model']:24} {row['threads']:2} f32 {min(row['ms']['f32']):9.3f} {options.math} "
          f"{min(row['ms'][options.math]):9.3f} ms  {row['ratio']:.2f}", file=sys.stderr, flush=True)
    return row


def table(rows, math):
    lines = [f"| model | threads | f32, ms | {math}, ms | ratio | of pairs | error | plan, MB |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        least = [min(row["ms"][mode]) for mode in ("f32", math)]
        pairs = [a / b for a, b in zip(row["ms"]["f32"], row["ms"][math])]
        error = "(zeros)" if row["error"] is None else f"{row['error']:.2g}"
        plans = ", ".join(f"{row['plan_bytes'][mode] * 1e-6:.3g}" for mode in ("f32", math))
        lines.append(f"| {row['model']} | {row['threads']} | {least[0]:.4g} | {least[1]:.4g} | {row['ratio']:.2f} | "
                     f"{min(pairs):.2f} to {max(pairs):.2f} | {error} | {plans} |")
    return "\n".join(lines)


def page(result):
    rows, math = result["parts"]["models"], result["math"]
    return "\n".join([
        f"# Whole models with `--math={math}`", "",
        f"Made by `tools/dev/bench_peers.sh --math {math} MODEL.onnx ...`; raw figures: [math.json](math.json). *Ratio* is the time "
        f"in f32 over that with factors rounded to {math}, the median of pairs that were measured one after the other, beside "
        "the least and the largest of them; times are the least of the rounds'. *Error* is the largest of any output as a "
        "part of that output's largest value ([Arithmetic.md](../Arithmetic.md)).", "",
        f"{result['machine']}, {result['date']}; {result['version']}. {result['rounds']} rounds, medians of {result['seconds']:g} s "
        f"each; load of the machine at the start {result['load'][0]:.1f}, at the end {result['load'][1]:.1f}.", "",
        table(rows, math), "", f"Geometric mean of the ratios: {statistics.geometric_mean(row['ratio'] for row in rows):.2f}.", ""])


def main():
    parser = measuring.parser_of_models(__doc__, threads=[1], rounds=5, seconds=1)
    parser.add_argument("--math", required=True, choices=("bf16", "f16"))
    options = parser.parse_args()
    load = os.getloadavg()[0]
    tools = [measuring.Gantry(options.gantry, count) for count in options.threads]
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(model, tool, options, pathlib.Path(folder)) for model in options.models for tool in tools]
    measuring.give(options, measuring.result_of_models(options, load, rows, math=options.math,
                                                       version=tools[0]("--version").splitlines()[0]), page)


if __name__ == "__main__":
    main()
