#!/usr/bin/python3
"""Random graphs on the CPU, on a GPU and on a GPU without fusion: the same numbers.

The graphs are those of random_ops/graphs.py. What no sum has touched has the same bits on the CPU and on the
GPU; sums are added in another order there, and what follows may be off by 1e-5 of the largest value for each
of them. Fusion changes no bit. The GPU is emulated, with all checks.

Usage: device_graphs_test.py --build-dir BUILD [--seed N] [--count N] [--case N] [--keep FOLDER] [--jobs N] [--json FILE]
"""

import argparse
import pathlib
import sys

import numpy as np

import gantry_api
import groups
from random_ops import graphs, onnx_file
from random_ops.draw import Draw

SUMS = {"Softmax", "LayerNormalization", "ReduceMean", "MatMul", "CumSum"}
OF_LARGEST = 1e-5
AROUND = 1  # what values on the way are, when they cancel each other
CPU, GPU = ("devices=CPU:0",), ("devices=CPU:0,GPU:0",)


def count_sums(graph):
    """How many sums are on the longest way to each output."""
    counts = {}
    for op, inputs, outputs, _ in graph.steps:
        before = max((counts.get(name, 0) for name in inputs), default=0)
        counts.update(dict.fromkeys(outputs, before + (op in SUMS)))
    return [counts.get(name, 0) for name in graph.outputs]


def make_case(seed, number):
    source = graphs.graph(Draw(seed * 1_000_003 + number))
    return groups.Case(f"--seed {seed} --case {number} (graph of {len(source.steps)})", source, [], source.expected,
                       source.tolerance, source.opset)


class Devices(groups.Suite):
    def compare(self, cases, file, inputs, outputs):
        runs = []
        for flags in (CPU, GPU, (*GPU, "no-fuse")):
            plan = gantry_api.Plan(gantry_api.compile_model(file, flags, inputs))
            if flags[0] == GPU[0] and (kernels := plan.kernels_on("CPU:0")):
                return [f"runs {', '.join(kernels)} on the CPU"] * len(cases)
            runs.append(plan.run({name: inputs[name] for name in plan.inputs}))
        return [self.judge(case, [runs[0][name] for name in names]) or
                self.judge_devices(case, *([run[name] for name in names] for run in runs))
                for case, names in zip(cases, outputs)]

    def judge_devices(self, case, cpu, gpu, apart):
        for number, (a, b, c, sums) in enumerate(zip(cpu, gpu, apart, count_sums(case.source))):
            if not groups.same_bits(b, c):
                return f"output {number}: other bits without fusion"
            if sums == 0 and not groups.same_bits(a, b):
                return f"output {number}: other bits on the CPU"
            largest = np.abs(a).max(initial=AROUND)
            if found := groups.difference(b, a, (0, OF_LARGEST * sums * largest)):
                return f"output {number}: {found} on the CPU, after {sums} sums"
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the model of --case and its inputs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    gantry_api.emulate("all")
    gantry_api.load(arguments.build_dir)
    with np.errstate(all="ignore"):
        cases = [groups.drawn(make_case, arguments.seed, number)
                 for number in (range(arguments.count) if arguments.case is None else [arguments.case])]
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        _, arrays, _ = onnx_file.pack(cases, arguments.keep)
        np.savez(arguments.keep / "inputs.npz", **arrays)
    failures = Devices(cases, onnx_file.pack).run(16, arguments.jobs)
    exact = sum(not any(count_sums(case.source)) for case in cases)
    print(f"graphs: {exact} have no sum and the same bits on both devices")
    return groups.report("graphs on devices", len(cases), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
