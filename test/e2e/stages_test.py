#!/usr/bin/python3
"""Products on tensor cores whose tiles come by asynchronous copies in stages: the bits of those that come through
registers, and no copy that is read too soon.

Numbers of all sizes, so that another order of sums shows: f16 and bf16, f32 as tf32, bf16 and f16, operands turned or not, sizes
around tiles, convolutions with borders. --gpu-stages=off, auto, 2, 3 and 4 have to give the same bytes, each access of
the kernels checked (GANTRY_TEST_EMULATE=all). Then every wait and every barrier of a product is taken away in turn, and every wait is made to
leave one more group on its way: the interpreter of PTX has to find each.

Usage: stages_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import groups
import products_test
from products_test import Draw, pack, tensor

FLAGS = ("gpu-arch=sm_80", "cubins=off")
# Operands of f32 are rounded to tf32 by tensor cores, or by ops of the graph: convolutions, too.
MATHS = ("tf32", "bf16", "f16")
VARIANTS = tuple((f"gpu-stages={mode}",) for mode in ("off", "auto", "2", "3", "4"))
SIZES = (8, 16, 24, 40, 64, 72, 128, 136, 200)
CASES_OF_A_FILE = 6
# Of a sum of so many terms of f32, beside float64; tf32 has 10 bits.
OFF = {"f16": 2e-3, "bf16": 2e-2, "f32": 2e-2}


def given(draw, shape, element):
    """A new input of small numbers of all kinds, which the type has: its name and its values."""
    values = draw.random.normal(size=shape).astype(np.float32)
    values = products_test.round_to_bf16(values) if element != "f16" else values.astype(np.float16).astype(np.float32)
    name = f"%a{len(draw.inputs)}"
    draw.inputs.append((name, values, tensor(shape, "f32")))
    if element != "f32":
        name = draw.op("cast", [(name, tensor(shape, "f32"))], "", tensor(shape, element))
    return name, values


def matmul(draw, element):
    m, n, k = (draw.one(SIZES) for _ in range(3))
    if draw.chance(0.3):
        k = draw.one((160, 512, 1000))
    turn_a, turn_b = draw.chance(0.4), draw.chance(0.4)
    shape_a, shape_b = (k, m) if turn_a else (m, k), (n, k) if turn_b else (k, n)
    a, x = given(draw, shape_a, element)
    b, y = given(draw, shape_b, element)
    flags = ", ".join(["transpose_a"] * turn_a + ["transpose_b"] * turn_b)
    type = tensor((m, n), element)
    name = draw.op("matmul", [(a, tensor(shape_a, element)), (b, tensor(shape_b, element))], f" {{{flags}}}" * bool(flags), type)
    x, y = x.astype(np.float64), y.astype(np.float64)
    return f"matmul {element} {m}x{n}x{k} {flags}", name, (x.T if turn_a else x) @ (y.T if turn_b else y), type


def conv(draw, element):
    c, o, size = draw.one((4, 8, 16, 24)), draw.one((16, 32, 40)), draw.one((8, 12, 16))
    window, pad = draw.one(((1, 0), (3, 1), (3, 0)))
    shape_x, shape_w = (1, c, size, size), (o, c, window, window)
    a, x = given(draw, shape_x, element)
    b, w = given(draw, shape_w, element)
    result = products_test.convolve(x.astype(np.float64), w.astype(np.float64), [1, 1], [1, 1], [pad] * 2, [pad] * 2, 1)
    type = tensor(result.shape, element)
    name = draw.op("conv", [(a, tensor(shape_x, element)), (b, tensor(shape_w, element))],
                   f" {{strides = array<i64: 1, 1>, pads_low = array<i64: {pad}, {pad}>, pads_high = array<i64: {pad}, {pad}>, "
                   f"dilations = array<i64: 1, 1>, groups = 1 : i64}}", type)
    return f"conv {element} {shape_x} * {shape_w} pad {pad}", name, result, type


def make_case(seed, number):
    draw = Draw((seed, number))
    element = draw.one(("f16", "bf16", "f32"))
    text, name, result, type = draw.one((matmul, matmul, conv))(draw, element)
    if element != "f32":
        wide = tensor(result.shape, "f32")
        name, type = draw.op("cast", [(name, type)], "", wide), wide
    source = (draw.inputs, draw.lines, name, type)
    scale = np.sqrt(result.size and np.mean(result ** 2))
    return groups.Case(f"case {number}: {text}", source, [values for _, values, _ in draw.inputs],
                       [result.astype(np.float32)], (OFF[element], OFF[element] * max(1.0, float(scale)) * 4))


def run_tool(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, check=False)


def without(pattern, text):
    """(what, text) for each match that is taken away."""
    for match in re.finditer(pattern, text):
        yield f"without {match.group().strip()} at {match.start()}", text[:match.start()] + text[match.end():]


def faults_found(build):
    """{name: what is wrong} of copies that are read too soon."""
    m, n, k = 128, 64, 160
    source = (f"func.func @main(%a: tensor<{m}x{k}xbf16>, %b: tensor<{k}x{n}xbf16>) -> tensor<{m}x{n}xbf16> {{\n"
              f"  %0 = gantry.matmul %a, %b : (tensor<{m}x{k}xbf16>, tensor<{k}x{n}xbf16>) -> tensor<{m}x{n}xbf16>\n"
              f"  return %0 : tensor<{m}x{n}xbf16>\n}}\n")
    wrong, count = {}, 0
    for stages in ("2", "3"):
        with tempfile.TemporaryDirectory() as folder:
            graph, ptx = pathlib.Path(folder, "graph.mlir"), pathlib.Path(folder, "kernel.ptx")
            graph.write_text(source)
            gantry = [build / "bin/gantry", "compile", graph, "--devices=CPU:0,GPU:0", "--gpu-arch=sm_80", "--cubins=off",
                      f"--gpu-stages={stages}"]
            threads = run_tool(*gantry, "--stop-after=kernel", "-o", "-").stdout
            block, grid = re.search(r"known_block_size = array<i32: (\d+).*?known_grid_size = array<i32: (\d+)", threads).groups()
            text = run_tool(*gantry, "--stop-after=ptx", "-o", "-").stdout
            arguments = [f"--arg=bf16[{rows},{columns}]=ones" for rows, columns in ((m, k), (k, n), (m, n))]

            def faults(text):
                ptx.write_text(text)
                ran = run_tool(build / "bin/gantry-ptx", "run", ptx, f"--grid={grid}", f"--block={block}", "--quiet", *arguments)
                return ran.stdout + ran.stderr

            if found := faults(text):
                wrong[f"{stages} stages"] = f"faults as it is: {found[:200]}"
            waits = r"\tcp\.async\.wait_group\s+(\d+);\n"
            changed = [(*each, "unfinished-copy") for each in without(waits, text)]
            changed += [(f"one group more at {match.start()}", text[:match.start(1)] + str(int(match.group(1)) + 1) + text[match.end(1):],
                         "unfinished-copy") for match in re.finditer(waits, text)]
            changed += [(*each, "shared-race") for each in without(r"\tbar\.sync\s+0;\n", text)]
            if len(changed) < 3:
                wrong[f"{stages} stages"] = "no waits and barriers in the kernel"
            for what, other, kind in changed:
                count += 1
                if kind not in faults(other):
                    wrong[f"{stages} stages {what}"] = f"no {kind} was found"
    return count, wrong


def main():
    arguments, cases = groups.drawn_cases(__doc__, make_case, 18)
    failures = {}
    for i, math in enumerate(MATHS):
        suite = groups.Suite(cases[i::len(MATHS)], pack, (*FLAGS, f"math={math}", *arguments.flag), VARIANTS)
        failures.update(suite.run(CASES_OF_A_FILE, arguments.jobs))
    count, wrong = (0, {}) if arguments.case is not None else faults_found(arguments.build_dir.resolve())
    return groups.report("stages", len(cases) + count, {**failures, **wrong}, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
