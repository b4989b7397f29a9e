#!/usr/bin/python3
"""Every pair of an op and an element type that has a kernel, executed, against NumPy.

The pairs are those that the ops' definitions allow (gantry_op_table_json): each with every form of the op (kernel_forms.py) at size
1, at 31 or 33, and at 197, 1000 or 1025, the next ones for the next element type; with GANTRY_TEST_LONG=1 at all sizes. The
op asks for that device, where having no kernel is an error. `emulated` are the kernels of GPUs, interpreted with all checks. A pair without a form fails.

Usage: kernel_table_test.py --build-dir BUILD [--device emulated|cpu] [--jobs N] [--filter TEXT] [--json FILE]
"""

import argparse
import pathlib
import re
import sys
import warnings
import zlib

import gantry_api
import groups
from cases import LONG
from kernel_forms import forms

SIZES = ((1,), (31, 33), (197, 1000, 1025))
# Lines that are gone through in another way when they are long.
MORE_SIZES = {"top_k": (5000,), "cumsum": (5000,)}
CASES_OF_A_PLAN = 48
DEVICES = {"cpu": "CPU:0", "emulated": "GPU:0"}


def pairs():
    return [(op, element) for op, elements in gantry_api.kernels().items() for element in elements]


def tensor(element, shape):
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def make_case(op, form, element, n, number, device):
    """One line of a function: %i0, %i1, ... are its operands, %r0, ... its results."""
    name = f"{op} {element} {n} [{number}]"
    inputs = list(form.draw(element, n, zlib.crc32(name.encode())))
    expected = form.compute(element, n, inputs)
    operands = [tensor(*t) for t in form.of(form.operands, element, n)]
    results = [tensor(*t) for t in form.of(form.results, element, n)]
    attributes = form.attributes(n) if callable(form.attributes) else form.attributes
    attributes = ", ".join(filter(None, (attributes, f'gantry.device = #gantry.device<"{device}">')))
    line = (f"{', '.join(f'%r{i}' for i in range(len(results)))} = gantry.{op} {form.prefix}"
            f"{', '.join(f'%i{i}' for i in range(len(operands)))} {{{attributes}}} : ({', '.join(operands)}) -> "
            f"({', '.join(results)})")
    return groups.Case(name, (line, operands, results), inputs, expected, form.tolerance(element, n, expected), element,
                       zeros="of one element" if n == 1 else "")


def make_cases(device):
    known = forms()
    for position, (op, element) in enumerate(pairs()):
        for number, form in enumerate(known.get(op, ())):
            if element in form.types:
                sizes = [n for some in SIZES for n in (some if LONG else some[(position + number) % len(some)::len(some)])]
                for n in (*sizes, *MORE_SIZES.get(op, ())):
                    yield make_case(op, form, element, n, number, device)


def pairs_without_cases():
    known = forms()
    return [f"{op} of {element}" for op, element in pairs()
            if not any(element in form.types for form in known.get(op, ()))]


def pack(cases, folder):
    arguments, lines, returned, types, inputs, outputs = [], [], [], [], {}, []
    for number, case in enumerate(cases):
        line, operands, results = case.source
        own = lambda text, number=number: re.sub(r"%([ir])(\d+)", rf"%c{number}\1\2", text)
        for i, operand in enumerate(operands):
            inputs[f"input{len(arguments)}"] = case.inputs[i]
            arguments.append(f"{own(f'%i{i}')}: {operand}")
        lines.append(f"  {own(line)}")
        outputs.append([f"output{len(types) + i}" for i in range(len(results))])
        returned += [own(f"%r{i}") for i in range(len(results))]
        types += results
    file = folder / "graph.mlir"
    file.write_text(f"func.func @main({', '.join(arguments)}) -> ({', '.join(types)}) {{\n" + "\n".join(lines) +
                    f"\n  return {', '.join(returned)} : {', '.join(types)}\n}}\n")
    return file, inputs, outputs


class Pairs(groups.Suite):
    """One op is fused with nothing, so that one compilation and one run tell."""

    def compare(self, cases, file, inputs, outputs):
        plan = gantry_api.Plan(gantry_api.compile_model(file, self.flags, inputs))
        found = plan.run({name: inputs[name] for name in plan.inputs})
        return [self.judge(case, [found[name] for name in names]) for case, names in zip(cases, outputs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--device", choices=DEVICES, default="emulated")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--filter", default="")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.device == "emulated":
        gantry_api.emulate("all")
    gantry_api.load(arguments.build_dir)
    warnings.simplefilter("ignore")  # NumPy's, of what it computes of NaN
    cases = [case for case in make_cases(DEVICES[arguments.device]) if arguments.filter in case.name]
    failures = Pairs(cases, pack).run(CASES_OF_A_PLAN, arguments.jobs)
    failures.update((pair, "has no case") for pair in pairs_without_cases())
    return groups.report("kernel table", len(cases), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
