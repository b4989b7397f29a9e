"""Products and convolutions one by one against oneDNN, PyTorch and ONNX Runtime.

Usage: bench.py --gantry GANTRY [--onednn PROGRAM] [--ort FOLDER] [--torch] --models MODEL.onnx ...
                [--random 200] [--rounds 3] [--seconds 0.15] [--write docs/benchmarks/cpu]

Each op is measured by all in turn, several times over: what stands is the least of each, and ratios
of those (above 1: Gantry is faster). "Cold" ops have weights of their own, together more than the
caches hold. Started by tools/dev/bench_peers.sh --ops, which looks for the peers.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import peer_cases
import measuring
import onnx

COLD_BYTES = 96 << 20  # of weights that are used in turn
MOST_COPIES = 48


class Peer:
    """A program that answers lines."""

    def __init__(self, label, command, **options):
        self.label = label
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        self.version = self.process.stdout.readline().strip()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"bench: {self.label} ended at '{line}'")
        return float(answer)


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.TemporaryDirectory()
        self.model = pathlib.Path(self.folder.name) / "op.onnx"
        self.gantry = measuring.Gantry(options.gantry, options.threads)
        # Not this package: torch looks for modules beside the script, too.
        here = pathlib.Path(__file__).parent
        self.peers = []
        if options.onednn:
            self.peers.append(Peer("oneDNN", [options.onednn], env=self.gantry.environment))
        if options.torch:
            self.peers.append(Peer("PyTorch", [sys.executable, here / "torch_peer.py"], env=self.gantry.environment))
        self.ort = None
        if options.ort:
            self.ort = Peer("ONNX Runtime", ["node", "ort_peer.mjs", str(options.threads)], cwd=options.ort)
        self.topology = pathlib.Path(self.folder.name) / "machine.json"
        self.topology.write_text(self.gantry.measure_machine())
        self.peak = measuring.peak_of(self.topology.read_text())

    def own(self, what):
        """Seconds of the products or convolutions of the model: moves at its ends do not count."""
        said = json.loads(self.gantry(
            "bench", what, "--ops", "--json", "--threads", self.options.threads, "--min-time", self.options.seconds))
        return 1e-3 * sum(row["min_ms"] for row in said["commands"] if row["flops"])

    def measure(self, case, copies):
        # Each has the layout that it likes: Gantry's is the one that images have inside of a network.
        plan, own = self.model.with_suffix(".gantry"), self.model.with_stem("own")
        onnx.save(case.onnx(copies, channels_last=True), own)
        self.gantry("compile", own, "--topology", self.topology, "-o", plan)
        if self.ort:
            onnx.save(case.onnx(copies), self.model)
        least = {}
        for _ in range(self.options.rounds):
            seen = {"Gantry": self.own(plan) / copies}
            for peer in self.peers:
                seen[peer.label] = peer.ask(f"{case.line()} {copies} {self.options.seconds:.3f}")
            if self.ort:
                seen[self.ort.label] = self.ort.ask(f"{self.model} {self.options.seconds}") / copies
            for label, seconds in seen.items():
                if seconds > 0:
                    least[label] = min(seconds, least.get(label, math.inf))
        row = {"op": str(case), "copies": copies, "gflops": round(case.flops() / least["Gantry"] * 1e-9, 1),
               "us": {label: round(seconds * 1e6, 2) for label, seconds in least.items()},
               "ratio": {label: round(seconds / least["Gantry"], 3)
                         for label, seconds in least.items() if label != "Gantry"}}
        print(f"{row['op']:44} {'cold' if copies > 1 else 'hot':4} {row['gflops']:7.1f}  {row['ratio']}", file=sys.stderr,
              flush=True)
        return row

    def versions(self):
        return [peer.version for peer in [*self.peers, *([self.ort] if self.ort else [])]]


def copies_when_cold(case):
    """None: so few weights that nothing is cold about them."""
    copies = math.ceil(COLD_BYTES / (4 * case.weights()))
    return max(2, copies) if copies <= MOST_COPIES else None


def table(rows, labels):
    lines = ["| op | GFLOP/s | " + " | ".join(labels) + " |", "|---|---" + "|---" * len(labels) + "|"]
    for row in rows:
        ratios = " | ".join(f"{row['ratio'][label]:.2f}" if label in row["ratio"] else "" for label in labels)
        lines.append(f"| {row['op']} | {row['gflops']:.0f} | {ratios} |")
    return "\n".join(lines)


def summary(name, rows, labels):
    parts = []
    for label in labels:
        ratios = sorted(row["ratio"][label] for row in rows if label in row["ratio"])
        if ratios:
            parts.append(f"{label} {statistics.geometric_mean(ratios):.2f} (least {ratios[0]:.2f}, "
                         f"{sum(ratio < 0.8 for ratio in ratios)} of {len(ratios)} below 0.8)")
    return f"{name}: " + "; ".join(parts) + "."


def page(result):
    labels = ["oneDNN", "PyTorch", "ONNX Runtime"]
    labels = [label for label in labels if any(label in row["ratio"] for part in result["parts"].values() for row in part)]
    text = [
        "# Single products and convolutions on the CPU", "",
        "Made by `tools/dev/bench_peers.sh --ops`; raw figures: [cpu.json](cpu.json). Time of the peer over Gantry's, "
        "above 1: Gantry is faster.", "",
        f"{result['machine']}, {result['threads']} thread(s), peak {result['peak'] * 1e-9:.0f} GFLOP/s; "
        f"{', '.join(result['versions'])}; {result['date']}. Each op was measured by all in turn, {result['rounds']} times, and the "
        "least of each stands; load of the machine at the end: " + f"{result['load']:.1f}. " +
        "Without epilogues; each library has its own layout, and what leads there does not count. PyTorch's and ONNX Runtime's times "
        "have their overheads of a call in them.", "", *([result["note"], ""] if "note" in result else [])]
    for name, rows in result["parts"].items():
        if not rows:
            continue
        text += [f"## {name}", "", "Geometric means. " + summary(name, rows, labels), ""]
        if "drawn" in name:
            rows = sorted(rows, key=lambda row: row["ratio"].get(labels[0], 9))[:20]
            text += [f"The slowest {len(rows)} against {labels[0]}:", ""]
        text += [table(rows, labels), ""]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gantry", required=True)
    parser.add_argument("--onednn")
    parser.add_argument("--ort")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--random", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", type=pathlib.Path, help="a .md and a .json of that name")
    options = parser.parse_args()
    bench = Bench(options)

    known = list(dict.fromkeys(case for model in options.models for case in peer_cases.of_model(model)))
    products = [case for case in known if isinstance(case, peer_cases.Product)]
    convolutions = [case for case in known if isinstance(case, peer_cases.Convolution)]
    parts = {}
    for name, found in (("products of the models", products), ("convolutions of the models", convolutions)):
        parts[f"{name}, hot"] = [bench.measure(case, 1) for case in found]
        cold = [(case, copies_when_cold(case)) for case in found]
        parts[f"{name}, cold"] = [bench.measure(case, copies) for case, copies in cold if copies]
    parts[f"{options.random} sizes drawn at random, seed {options.seed}, hot"] = [
        bench.measure(case, 1) for case in peer_cases.drawn(options.random, options.seed)]

    result = {"machine": measuring.machine(), "threads": options.threads, "peak": bench.peak, "versions": bench.versions(),
              "date": datetime.date.today().isoformat(), "rounds": options.rounds, "load": os.getloadavg()[0],
              "parts": parts}
    measuring.give(options, result, page)


if __name__ == "__main__":
    main()
