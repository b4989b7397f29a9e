#!/usr/bin/python3
"""Memory that the kernels of GPUs ask for, counted by the interpreter of PTX, against the least possible.

Each case is a function that becomes one kernel. What its threads ask for is counted in sectors of 32 bytes; the
least is what its operands and its result have, each once. An operand that all rows share counts for each row: every
row asks for it again, and a cache has it. Bounds are 1.05 for elementwise ops, softmax and norms and 1.10 for
transposes where rows begin on sectors; other bounds say why. Transposes and products lose at most one access in
twenty to bank conflicts. No case may read or write anything that is not there, or race.

Usage: gpu_traffic_test.py --build-dir BUILD [--jobs N] [--filter TEXT] [--json FILE] [-v]
"""

import argparse
import concurrent.futures
import dataclasses
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import groups
from cases import LONG

BITS = {"f32": 32, "f16": 16, "bf16": 16, "f64": 64, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i1": 8}


@dataclasses.dataclass
class Tensor:
    shape: tuple
    element: str = "f32"
    times: int = 1  # how often it is asked for: once for each row that shares it
    is_constant: bool = False  # in the text, so that the compiler may lay it out

    def __str__(self):
        return f"tensor<{'x'.join(map(str, (*self.shape, self.element)))}>"

    def value(self):
        """Numbers that are not all the same."""
        size = math.prod(self.shape) * BITS[self.element] // 8
        return f'dense<"0x{bytes(i % 61 for i in range(size)).hex()}">'

    @property
    def sectors(self):
        return self.times * math.ceil(math.prod(self.shape) * BITS[self.element] / 256)


@dataclasses.dataclass
class Case:
    name: str
    body: str  # ops on %a0, %a1, ... that end in %y
    operands: list
    result: Tensor
    bound: float
    arch: str = "sm_75"
    conflicts: float = 1.05  # passes over the banks for each access to shared memory

    def text(self):
        parameters = ", ".join(f"%a{i}: {t}" for i, t in enumerate(self.operands) if not t.is_constant)
        constants = "".join(f"  %a{i} = gantry.constant {t.value()} : {t}\n" for i, t in enumerate(self.operands) if t.is_constant)
        return (f"func.func @main({parameters}) -> {self.result} {{\n{constants}  {self.body}\n"
                f"  return %y : {self.result}\n}}\n")


# Rows that do not begin on sectors: each request of a warp may touch one more than its bytes fill.
UNEVEN = 1.30

# Tiles are fitted to times (docs/designs/gpu-code.md), conflicts included; but none waits for banks half of the time.
FITTED = 1.50


def unary(name, shape, element, bound=1.05):
    x = Tensor(shape, element)
    return Case(f"{name} {x}", f"%y = gantry.{name} %a0 : ({x}) -> {x}", [x], x, bound, arch_of(element))


def arch_of(element):
    return "sm_80" if element == "bf16" else "sm_75"


def elementwise_cases():
    for element in ("f32", "f16", "bf16", "f64"):
        yield unary("relu", (400, 1000), element)
        yield unary("exp", (64, 1024), element)
    for element in ("i8", "i16", "i32", "i64"):
        yield unary("abs", (400, 1000), element)
    # The last run of sixteen bytes is not whole.
    yield unary("neg", (333, 1001), "f32")
    x, test = Tensor((200, 1000)), Tensor((200, 1000), "i1")
    yield Case("compare", f"%y = gantry.compare lt, %a0, %a1 : ({x}, {x}) -> {test}", [x, x], test, 1.05)
    yield Case("select", f"%y = gantry.select %a0, %a1, %a2 : ({test}, {x}, {x}) -> {x}", [test, x, x], x, 1.05)
    half = Tensor((200, 1000), "f16")
    yield Case("cast", f"%y = gantry.cast %a0 : ({x}) -> {half}", [x], half, 1.05)
    chain = f"%0 = gantry.add %a0, %a1 : ({x}, {x}) -> {x}\n  %1 = gantry.relu %0 : ({x}) -> {x}\n" \
            f"  %y = gantry.mul %1, %a0 : ({x}, {x}) -> {x}"
    yield Case("chain", chain, [x, x], x, 1.05)
    bias = Tensor((1000,), times=200)
    yield Case("bias", f"%0 = gantry.add %a0, %a1 : ({x}, {bias}) -> {x}\n  %y = gantry.relu %0 : ({x}) -> {x}",
               [x, bias], x, 1.05)
    channel = Tensor((200, 1))
    yield Case("factor of a row", f"%y = gantry.mul %a0, %a1 : ({x}, {channel}) -> {x}", [x, channel], x, 1.05)


def row_cases():
    for element in ("f32", "f16", "bf16"):
        for shape in ((64, 1024), (256, 128), (300, 64), (16, 4096), (4, 16384)):
            yield softmax(shape, element, 1.05)
            yield layer_norm(shape, element, 1.05)
    yield softmax((64, 1000), "f32", 1.05)
    # The last block has not as many rows as it has teams.
    yield softmax((5, 1024), "f32", 1.05)
    yield softmax((33, 64), "f32", 1.05)
    yield softmax((400, 16), "f32", 1.05)
    yield softmax((64, 1024), "f64", 1.05)
    # Rows of 2000 bytes begin in the middle of sectors.
    yield softmax((64, 1000), "f16", 1.10)
    for columns in (197, 1001, 1025):
        yield softmax((64, columns), "f32", UNEVEN)
        yield layer_norm((64, columns), "f32", UNEVEN)
    # More than registers hold: the maximum, the sum and the result each read the row.
    yield softmax((2, 65536), "f32", 2.05)


def softmax(shape, element, bound):
    x = Tensor(shape, element)
    return Case(f"softmax {x}", f"%y = gantry.softmax %a0 {{axis = 1 : i64}} : ({x}) -> {x}", [x], x, bound, arch_of(element))


def layer_norm(shape, element, bound):
    x, weight = Tensor(shape, element), Tensor(shape[1:], element, times=shape[0])
    return Case(f"layer_norm {x}", f"%y = gantry.layer_norm %a0, %a1, %a2 {{axis = 1 : i64, epsilon = 1.0e-5 : f64}} : "
                f"({x}, {weight}, {weight}) -> {x}", [x, weight, weight], x, bound, arch_of(element))


def reduction(shape, axis, element, bound):
    x, y = Tensor(shape, element), Tensor(shape[:axis] + shape[axis + 1:], element)
    return Case(f"reduce_sum {x} over {axis}", f"%y = gantry.reduce_sum %a0 {{axes = array<i64: {axis}>}} : ({x}) -> {y}",
                [x], y, bound)


def reduction_cases():
    for element in ("f32", "f16"):
        yield reduction((64, 1024), 1, element, 1.05)
        # A warp writes four sums, half a sector, or a quarter.
        yield reduction((512, 32), 1, element, 1.10)
        yield reduction((1024, 256), 0, element, 1.05)
        yield reduction((4, 512, 64), 1, element, 1.05)
        # Few rows, not long enough for two kernels.
        yield reduction((2, 16384), 1, element, 1.05)
    yield reduction((64, 1001), 1, "f32", UNEVEN)
    yield reduction((1000, 100), 0, "f32", UNEVEN)
    x, y = Tensor((64, 1024)), Tensor((64,), "i64")
    yield Case("argmax", f"%y = gantry.argmax %a0 {{axis = 1 : i64}} : ({x}) -> {y}", [x], y, 1.05)


def transpose(shape, order, element, bound):
    x, y = Tensor(shape, element), Tensor(tuple(shape[d] for d in order), element)
    return Case(f"transpose {x} {list(order)}", f"%y = gantry.transpose %a0 {{permutation = array<i64: "
                f"{', '.join(map(str, order))}>}} : ({x}) -> {y}", [x], y, bound)


def transpose_cases():
    for element in ("f32", "f16", "f64", "i8"):
        yield transpose((256, 320), (1, 0), element, 1.10)
        yield transpose((4, 64, 96), (0, 2, 1), element, 1.10)
        yield transpose((2, 64, 3, 96), (3, 2, 0, 1), element, 1.10)
        # The last dimension stays.
        yield transpose((16, 12, 64), (1, 0, 2), element, 1.05)
    yield transpose((197, 333), (1, 0), "f32", UNEVEN)
    # Three channels: what is together in memory is three numbers, or a row of them.
    yield transpose((2, 3, 4096), (0, 2, 1), "f32", 1.10)
    yield transpose((2, 4096, 3), (0, 2, 1), "f32", 1.10)


def product(name, body, operands, result, bound, **more):
    return Case(f"product {name} {' x '.join(map(str, operands))}", body, operands, result, bound, **more)


def product_cases():
    # A block reads its rows and its columns; the bound is how often that makes of each operand.
    for element, arch in (("f32", "sm_75"), ("f16", "sm_75"), ("f16", "sm_80"), ("bf16", "sm_80")):
        for flags in ("", "transpose_a", "transpose_b", "transpose_a, transpose_b"):
            a, b, c = (Tensor(shape, element) for shape in ((512, 512),) * 3)
            attributes = f" {{{flags}}}" if flags else ""
            # Without tensor cores 16 bits become 32 on their way to shared memory: lines have twice the banks.
            conflicts = FITTED if element == "f16" and arch == "sm_75" else 1.05
            yield product(f"{arch} {flags}", f"%y = gantry.matmul %a0, %a1{attributes} : ({a}, {b}) -> {c}", [a, b], c, 12, arch=arch,
                          conflicts=conflicts)
    # Lines of no sector, so that single elements are read.
    a, b, c = Tensor((197, 333)), Tensor((333, 129)), Tensor((197, 129))
    yield product("uneven", f"%y = gantry.matmul %a0, %a1 : ({a}, {b}) -> {c}", [a, b], c, 24)
    a, b, c = Tensor((4, 2048)), Tensor((2048, 512)), Tensor((4, 512))
    yield product("thin", f"%y = gantry.matmul %a0, %a1 : ({a}, {b}) -> {c}", [a, b], c, 3)
    yield from convolution_cases()
    yield from attention_cases()


def turned(i, rows, heads, width, order):
    x, y = Tensor((rows, heads, width)), Tensor(tuple((rows, heads, width)[d] for d in order))
    return y, f"%t{i} = gantry.transpose %a{i} {{permutation = array<i64: {', '.join(map(str, order))}>}} : ({x}) -> {y}\n  "


def attention_cases():
    """Heads lie side by side, and are read and written there: what is together is 64 numbers of a row."""
    rows, heads, width, block = 128, 4, 64, 8
    plain = Tensor((rows, heads, width))
    scores, result = Tensor((heads, rows, rows)), Tensor((heads, rows, width))
    q, turn_q = turned(0, rows, heads, width, (1, 0, 2))
    k, turn_k = turned(1, rows, heads, width, (1, 2, 0))
    v, turn_v = turned(2, rows, heads, width, (1, 0, 2))
    # Blocks of 8 rows by 16 columns.
    across, down = Tensor(plain.shape, times=rows // 16), Tensor(plain.shape, times=rows // 8)
    yield product("turned operands", f"{turn_q}{turn_k}%y = gantry.matmul %t0, %t1 : ({q}, {k}) -> {scores}", [across, down],
                  scores, 1.05, conflicts=FITTED)
    # Every block of queries reads all keys and values of its head, and each query is read once.
    shared = Tensor(plain.shape, times=rows // block)
    yield product("attention", f"{turn_q}{turn_k}{turn_v}%0 = gantry.matmul %t0, %t1 : ({q}, {k}) -> {scores}\n  "
                  f"%1 = gantry.softmax %0 {{axis = 2 : i64}} : ({scores}) -> {scores}\n  "
                  f"%2 = gantry.matmul %1, %t2 : ({scores}, {v}) -> {result}\n  "
                  f"%y = gantry.transpose %2 {{permutation = array<i64: 1, 0, 2>}} : ({result}) -> {plain}",
                  [plain, shared, shared], plain, 1.05, conflicts=FITTED)


def convolution_cases():
    attributes = "strides = array<i64: 1, 1>, pads_low = array<i64: {0}, {0}>, pads_high = array<i64: {0}, {0}>, " \
                 "dilations = array<i64: 1, 1>, groups = 1 : i64"

    def convolution(x, w, pad, bound, **more):
        y = Tensor((1, w.shape[0], *(size + 2 * pad - w.shape[2] + 1 for size in x.shape[2:])), x.element)
        body = f"%y = gantry.conv %a0, %a1 {{{attributes.format(pad)}}} : ({x}, {w}) -> {y}"
        return product("conv" if w.is_constant else "conv of a given filter", body, [x, w], y, bound, **more)

    for element, arch, bound, conflicts in (("f32", "sm_75", 60, FITTED), ("bf16", "sm_80", 50, FITTED)):
        filters = Tensor((96, 64, 3, 3), element, is_constant=True)
        for pad in (0, 1) if LONG else (int(element != "f32"),):
            yield convolution(Tensor((1, 64, 28, 28), element), filters, pad, bound, arch=arch, conflicts=FITTED)
        # A matrix: rows of an image follow each other. Four of 16 bits at a time leave lines of which half a warp writes two.
        yield convolution(Tensor((1, 64, 14, 14), element), Tensor((96, 64, 1, 1), element, is_constant=True), 0, 12, arch=arch,
                          conflicts=conflicts)
    # Each channel of a filter that is given is in a sector of its own.
    yield convolution(Tensor((1, 64, 28, 28)), Tensor((96, 64, 3, 3)), 0, 260, conflicts=FITTED)


def run_tool(*command):
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if process.returncode:
        raise RuntimeError(f"{command[1]}: {process.stderr.strip()[:400]}")
    return process.stdout


def numbers(pattern, text):
    match = re.search(pattern, text)
    return [int(number) for number in match.groups()] if match else None


def measure(case, build):
    """Sectors that were asked for, and the part of shared accesses that bank conflicts add."""
    with tempfile.TemporaryDirectory() as folder:
        graph, ptx = pathlib.Path(folder, "graph.mlir"), pathlib.Path(folder, "kernel.ptx")
        graph.write_text(case.text())
        gantry = [build / "bin/gantry", "compile", graph, "--devices=CPU:0,GPU:0", f"--gpu-arch={case.arch}", "--libraries=none"]
        threads = run_tool(*gantry, "--stop-after=kernel", "-o", "-")
        run_tool(*gantry, "--stop-after=ptx", "-o", ptx)
        kernels = re.findall(r"func\.func private @(\w+)\((.*?)\) attributes \{.*?known_block_size = array<i32: (\d+).*?"
                             r"known_grid_size = array<i32: (\d+)", threads)
        if len(kernels) != 1:
            raise RuntimeError(f"{len(kernels)} kernels instead of one")
        name, parameters, block, grid = kernels[0]
        if parameters.count("memref<") != len(case.operands) + 1:
            raise RuntimeError("needs scratch memory")
        arguments = [f"--arg={t.element if t.element != 'i1' else 'i8'}[{','.join(map(str, t.shape))}]=ones"
                     for t in (*case.operands, case.result)]
        text = run_tool(build / "bin/gantry-ptx", "run", ptx, f"--kernel={name}", f"--grid={grid}", f"--block={block}", *arguments)
    sectors = sum(numbers(rf"global {kind}: \d+ requests, (\d+) sectors", text)[0] for kind in ("loads", "stores"))
    shared = [numbers(rf"shared {kind}: (\d+) requests, \d+ wavefronts, (\d+) of them", text) for kind in ("loads", "stores")]
    shared = [pair for pair in shared if pair]
    conflicts = 1 + sum(lost for _, lost in shared) / sum(count for count, _ in shared) if shared else 1.0
    return sectors / sum(t.sectors for t in (*case.operands, case.result)), conflicts


def judge(case, build, verbose):
    """What is wrong with a case, or None."""
    try:
        ratio, conflicts = measure(case, build)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return str(error)
    if verbose:
        print(f"{ratio:5.2f} of {case.bound:.2f}, {conflicts:.2f} {case.name}", flush=True)
    if ratio > case.bound:
        return f"asks for {ratio:.3f} times the least, at most {case.bound} are allowed"
    if case.name.startswith(("transpose", "product")) and conflicts > case.conflicts:
        return f"{conflicts:.2f} passes over the banks for each access to shared memory"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--filter", default="")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    cases = [*elementwise_cases(), *row_cases(), *reduction_cases(), *transpose_cases(), *product_cases()]
    cases = [case for case in cases if arguments.filter in case.name]
    build = arguments.build_dir.resolve()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        wrong = list(pool.map(lambda case: judge(case, build, arguments.verbose), cases))
    failures = {case.name: what for case, what in zip(cases, wrong) if what}
    return groups.report("memory traffic", len(cases), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
