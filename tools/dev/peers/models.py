"""Whole models against ONNX Runtime.

Usage: models.py --gantry GANTRY --ort FOLDER [--threads 1 2] [--rounds 3] [--seconds 2]
                 [--write docs/benchmarks/models] MODEL.onnx ...

Each model is measured by both in turn, several times over, and the median of the rounds' medians stands. Beside
them is what the model's products and convolutions take at the measured peak of the processor: no program takes less
that adds up the same products in f32, so that ONNX Runtime's time over it is the largest ratio that is to be had on
this machine. Started by tools/dev/bench_peers.sh, which looks for ONNX Runtime.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import measuring


def flops_of(explained):
    """Of the products and convolutions in what `gantry explain --json` says of a plan; what happens at load is in no
    run."""
    return sum(op["flops"] for function in explained["functions"] for op in function["ops"]
               if op["kind"] == "contraction" and not op["once"])


def measure(model, gantry, options, plan, peak):
    """A row of the table."""
    gantry("compile", model, "-o", plan)
    row = {"model": model.stem, "threads": gantry.threads, "ort_ms": [], "gantry_ms": [],
           "flops": flops_of(json.loads(gantry("explain", plan, "--json")))}
    for _ in range(options.rounds):
        said = json.loads(subprocess.run(
            ["node", options.ort / "bench_ort.mjs", model, str(gantry.threads), str(options.seconds)], check=True,
            capture_output=True, text=True).stdout)
        row["ort_ms"].append(round(said["median_ms"], 4))
        own = json.loads(gantry("bench", plan, "--json", "--threads", gantry.threads, "--min-time", options.seconds))
        row["gantry_ms"].append(round(own["median_ms"], 4))
    ort, own = statistics.median(row["ort_ms"]), statistics.median(row["gantry_ms"])
    row["ratio"] = round(ort / own, 3)
    row["peak_ms"] = round(1e3 * row["flops"] / peak, 4)
    row["most"] = round(ort / row["peak_ms"], 3) if row["flops"] else None
    row["of_peak"] = round(row["peak_ms"] / own, 3)
    bound = f", at most {row['most']:.2f}" if row["most"] else ""
    print(f"{row['model']:24} {row['threads']:2} ONNX Runtime {ort:9.3f} Gantry {own:9.3f} ms  {row['ratio']:.2f}{bound}",
          file=sys.stderr, flush=True)
    return row, said["version"]


def table(rows):
    lines = ["| model | threads | ONNX Runtime, ms | Gantry, ms | ratio | at peak, ms | most | of the peak |",
             "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        ort, own = statistics.median(row["ort_ms"]), statistics.median(row["gantry_ms"])
        bound = f"{row['peak_ms']:.4g} | {row['most']:.2f} | {row['of_peak']:.0%}" if row["flops"] else " |  | "
        lines.append(f"| {row['model']} | {row['threads']} | {ort:.4g} | {own:.4g} | {row['ratio']:.2f} | {bound} |")
    return "\n".join(lines)


def page(result):
    rows, peaks = result["parts"]["models"], result["peaks"]
    threads = list(dict.fromkeys(row["threads"] for row in rows))
    of = lambda count: [row["ratio"] for row in rows if row["threads"] == count]
    means = ", ".join(f"{statistics.geometric_mean(of(count)):.2f} on {count} (least {min(of(count)):.2f})"
                      for count in threads)
    rates = ", ".join(f"{peaks[str(count)] * 1e-9:.0f} GFLOP/s on {count}" for count in threads)
    return "\n".join([
        "# Whole models on the CPU", "",
        "Made by `tools/dev/bench_peers.sh MODEL.onnx ...`; raw figures: [models.json](models.json). *Ratio* is ONNX "
        "Runtime's time over Gantry's, above 1: Gantry is faster.", "",
        "*At peak* is what the products and convolutions of a model take when every cycle of every core does all "
        "the multiply-adds that its units can, and nothing else takes any time: the least for a program that adds up those "
        "products in f32. *Most* is ONNX Runtime's time over that, the largest ratio that such a program reaches here; "
        "*of the peak* is how much of it Gantry uses.", "",
        f"{result['machine']}, {result['date']}; {', '.join(result['versions'])}; peak {rates} (threads). Measured in turn, "
        f"{result['rounds']} rounds, medians of medians of {result['seconds']:g} s; load of the machine at the start "
        f"{result['load'][0]:.1f}, at the end {result['load'][1]:.1f}.", "",
        table(rows), "", f"Geometric means: {means}.", ""])


def main():
    parser = measuring.parser_of_models(__doc__, threads=[1, 2], rounds=3, seconds=2)
    parser.add_argument("--ort", required=True, type=pathlib.Path)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    tools = [measuring.Gantry(options.gantry, count) for count in options.threads]
    peaks = {str(tool.threads): measuring.peak_of(tool.measure_machine()) for tool in tools}
    rows, versions = [], []
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            for tool in tools:
                row, version = measure(model, tool, options, pathlib.Path(folder) / "model.gantry",
                                       peaks[str(tool.threads)])
                rows.append(row)
        versions = [tools[0]("--version").splitlines()[0], f"ONNX Runtime {version}"]
    measuring.give(options, measuring.result_of_models(options, load, rows, versions=versions, peaks=peaks), page)


if __name__ == "__main__":
    main()
