#!/usr/bin/python3
"""Every op of the dialect with dimensions of size 0: each one, and each two, in every position.

What NumPy computes is what comes out; where it raises (the largest of nothing, an element of an empty
axis) the compiler refuses with a clear error, unless the result is empty itself. Each form of an op runs
alone and between two negations, so that something is fused with it; see groups.py for the rest.

Usage: empty_dims_test.py --build-dir BUILD [--jobs N] [--filter TEXT] [--json FILE]
"""

import argparse
import dataclasses
import itertools
import pathlib
import re
import sys
import warnings

import numpy as np

import gantry_api
import groups
from dialect_forms import DTYPES, FULL, forms, shapes

TOLERANCE = (1e-3, 1e-6)  # f16 is rounded once


@dataclasses.dataclass
class Text:
    """A part of a function: its lines, with %i0, %i1, ... for the operands and %r0, ... for the results."""
    lines: list
    operands: list  # types
    results: list


def tensor(element, shape):
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def negation(element):
    return {"i1": "logical_not", "ui8": "bitwise_not", "ui32": "bitwise_not"}.get(element, "neg")


def negated(array):
    return ~array if array.dtype.kind in "bu" else -array


def is_negated_before(form):
    """Whether an op goes in front of the first operand: not of indices, which would be others."""
    return bool(form.operands) and not form.operands.startswith("i64")


def make_text(form, sizes, between):
    operands, results = shapes(form.operands, sizes), shapes(form.results, sizes)
    names = [f"%i{i}" for i in range(len(operands))]
    lines = []
    if between and is_negated_before(form):
        type = tensor(*operands[0])
        lines.append(f"%n = gantry.{negation(operands[0][0])} %i0 : ({type}) -> {type}")
        names[0] = "%n"
    attributes = form.attributes(sizes) if callable(form.attributes) else form.attributes
    own = [f"%m{i}" if between else f"%r{i}" for i in range(len(results))]
    types = ", ".join(tensor(*o) for o in operands), ", ".join(tensor(*r) for r in results)
    lines.append(f"{', '.join(own)} = gantry.{form.op} {form.prefix}{', '.join(names)} {attributes} : "
                 f"({types[0]}) -> ({types[1]})")
    for i, result in enumerate(results if between else ()):
        lines.append(f"%r{i} = gantry.{negation(result[0])} %m{i} : ({tensor(*result)}) -> {tensor(*result)}")
    return Text(lines, [tensor(*o) for o in operands], [tensor(*r) for r in results])


def compute(form, sizes, arrays, between):
    """What should come out; None where there is no answer."""
    results = shapes(form.results, sizes)
    if between and is_negated_before(form):
        arrays = [negated(arrays[0]), *arrays[1:]]
    if any(d < 0 for _, shape in results for d in shape):
        return None
    if not form.reference:
        values = [np.zeros(shape, DTYPES[element]) for element, shape in results]
    else:
        try:
            with np.errstate(all="ignore"):
                values = form.reference(*([sizes, [shape for _, shape in results]] if form.sized else []), *arrays)
        except (IndexError, ValueError):
            return None
        values = list(values) if isinstance(values, (list, tuple)) else [np.asarray(values)]
    values = [v.astype(DTYPES[element]) for v, (element, _) in zip(values, results)]
    return [negated(v) for v in values] if between else values


def make_inputs(form, sizes):
    inputs = []
    for element, shape in shapes(form.operands, sizes):
        values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        inputs.append((values % (2 if element in ("i1", "i64") else 7)).astype(DTYPES[element]))
    return inputs


def make_cases():
    for number, form in enumerate(forms()):
        letters = form.letters()
        for zeros in [*itertools.combinations(letters, 1), *itertools.combinations(letters, 2)]:
            sizes = {**FULL, **dict.fromkeys(zeros, 0)}
            if not form.reference and not all(0 in shape for _, shape in shapes(form.results, sizes)):
                continue  # full results are for other tests
            for between in (False, True):
                inputs = make_inputs(form, sizes)
                expected = compute(form, sizes, inputs, between)
                name = (f"{form.op} ({form.operands}) -> ({form.results}) without {' '.join(zeros)}"
                        f"{', fused' if between else ''} [{number}]")
                yield groups.Case(name, make_text(form, sizes, between), inputs, expected, TOLERANCE, zeros="sums of nothing")


def pack(cases, folder):
    arguments, lines, returned, types, inputs, outputs = [], [], [], [], {}, []
    for number, case in enumerate(cases):
        own = lambda text: re.sub(r"%([a-z])(\d*)", rf"%c{number}\1\2", text)
        for i, type in enumerate(case.source.operands):
            inputs[f"input{len(arguments)}"] = case.inputs[i]
            arguments.append(f"{own(f'%i{i}')}: {type}")
        lines += [f"  {own(line)}" for line in case.source.lines]
        outputs.append([f"output{len(types) + i}" for i in range(len(case.source.results))])
        returned += [own(f"%r{i}") for i in range(len(case.source.results))]
        types += case.source.results
    file = folder / "graph.mlir"
    file.write_text(f"func.func @main({', '.join(arguments)}) -> ({', '.join(types)}) {{\n" + "\n".join(lines) +
                    f"\n  return {', '.join(returned)} : {', '.join(types)}\n}}\n")
    return file, inputs, outputs


def missing_ops():
    """Ops that have a kernel somewhere and no form here."""
    return set(gantry_api.kernels()) - {form.op for form in forms()}


# Where values go between devices, branches, loops, variables and replicas: a module each, with %s for the
# type of an empty tensor of f32. What comes out of main is empty, or a sum of it, which is 0.
STRUCTURES = {
    "copy": """func.func @main(%x: {T}) -> {T} {{
  %0 = gantry.neg %x : ({T}) -> {T}
  %1 = gantry.copy %0 to "GPU:1" force : {T}
  %2 = gantry.copy %1 to "GPU:0" : {T}
  return %2 : {T}
}}""",
    "scopes": """func.func @main(%x: {T}) -> tensor<f32> {{
  %0 = gantry.on "GPU:1" -> ({T}) {{
    %1 = gantry.exp %x : ({T}) -> {T}
    gantry.yield %1 : {T}
  }}
  %2 = gantry.reduce_sum %0 {{axes = array<i64: 0, 1>, gantry.device = #gantry.device<"CPU:0">}} : ({T}) -> tensor<f32>
  return %2 : tensor<f32>
}}""",
    "call": """func.func private @f(%x: {T}) -> {T} {{
  %0 = gantry.neg %x : ({T}) -> {T}
  return %0 : {T}
}}
func.func @main(%x: {T}) -> {T} {{
  %0 = call @f(%x) : ({T}) -> {T}
  return %0 : {T}
}}""",
    "if": """func.func @main(%x: {T}, %c: tensor<i1>) -> ({T}, tensor<f32>) {{
  %0 = gantry.if %c -> ({T}) {{
    %1 = gantry.neg %x : ({T}) -> {T}
    gantry.yield %1 : {T}
  }} else {{
    gantry.yield %x : {T}
  }} : tensor<i1>
  %2 = gantry.reduce_sum %0 {{axes = array<i64: 0, 1>}} : ({T}) -> tensor<f32>
  return %0, %2 : {T}, tensor<f32>
}}""",
    "while": """func.func @main(%x: {T}, %i: tensor<i64>) -> ({T}, tensor<f32>) {{
  %n = gantry.constant dense<3> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %0:2 = gantry.while (%x, %i) : ({T}, tensor<i64>) -> ({T}, tensor<i64>) {{
  ^bb0(%v: {T}, %k: tensor<i64>):
    %2 = gantry.compare lt, %k, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %2 : tensor<i1>
  }} do {{
  ^bb0(%v: {T}, %k: tensor<i64>):
    %3 = gantry.neg %v : ({T}) -> {T}
    %4 = gantry.add %k, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %3, %4 : {T}, tensor<i64>
  }}
  %5 = gantry.reduce_sum %0#0 {{axes = array<i64: 0, 1>}} : ({T}) -> tensor<f32>
  return %0#0, %5 : {T}, tensor<f32>
}}""",
    "variables": """gantry.variable @w = dense<> : {T}
func.func @main(%x: {T}) -> ({T}, {T}) {{
  gantry.assign_add @w, %x : {T}
  %0 = gantry.read @w : {T}
  gantry.assign @w, %x : {T}
  %1 = gantry.read @w : {T}
  return %0, %1 : {T}, {T}
}}""",
    "replicate": """func.func @main(%x: {T}) -> ({T}, tensor<3xf32>) {{
  %0:2 = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [gather 0, sum] : ({T}) -> ({T}, tensor<3xf32>) {{
  ^bb0(%s: tensor<?x{B}xf32>):
    %1 = gantry.exp %s : (tensor<?x{B}xf32>) -> tensor<?x{B}xf32>
    %2 = gantry.reduce_sum %s {{axes = array<i64: 0, 1>}} : (tensor<?x{B}xf32>) -> tensor<f32>
    %3 = gantry.broadcast %2 : (tensor<f32>) -> tensor<3xf32>
    gantry.yield %1, %3 : tensor<?x{B}xf32>, tensor<3xf32>
  }}
  return %0#0, %0#1 : {T}, tensor<3xf32>
}}""",
    "all_reduce": """func.func @main(%x: {T}) -> ({T}, {T}) {{
  %0:2 = gantry.all_reduce sum %x, %x on ["GPU:0", "GPU:1"] : ({T}, {T}) -> ({T}, {T})
  return %0#0, %0#1 : {T}, {T}
}}""",
}


def structure_cases():
    for name, text in STRUCTURES.items():
        for a, b in ((0, 2), (2, 0), (0, 0)):
            graph = text.format(T=tensor("f32", (a, b)), B=b)
            main = graph[graph.index("@main"):].split("{", maxsplit=1)[0]
            inputs = [np.zeros((a, b), np.float32)]
            inputs += [np.array(True)] if "%c:" in main else [np.array(0)] if "%i:" in main else []
            results = re.findall(r"tensor<([^>]*)>", main.split("->")[1])
            expected = [np.zeros([int(d) for d in r.split("x")[:-1]], np.float32) for r in results]
            yield groups.Case(f"gantry.{name} of [{a}, {b}]", graph, inputs, expected)


def write_structure(cases, folder):
    case, = cases
    file = folder / "graph.mlir"
    file.write_text(case.source)
    return (file, {f"input{i}": array for i, array in enumerate(case.inputs)},
            [[f"output{i}" for i in range(len(case.expected))]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--filter", default="")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    gantry_api.load(arguments.build_dir)
    warnings.simplefilter("ignore")  # NumPy's, of what it computes of nothing
    cases = [case for case in make_cases() if arguments.filter in case.name]
    failures = groups.Suite(cases, pack).run(12, arguments.jobs)
    structures = [case for case in structure_cases() if arguments.filter in case.name]
    devices = ("devices=CPU:0,GPU:0,GPU:1", "simulate")
    failures |= groups.Suite(structures, write_structure, devices).run(1, arguments.jobs)
    failures.update((f"{op}", "is not in the sweep") for op in missing_ops())
    return groups.report("empty dimensions", len(cases) + len(structures), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
