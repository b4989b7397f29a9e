#!/usr/bin/python3
"""Runs kernels that nvcc compiled from CUDA C++ (test/e2e/ptx/*.cu) with gantry-ptx.

Expected numbers are NumPy's. Every kernel runs with all checks, so that a fault that is none fails, too;
and each planted fault (faults.cu) must be named with its kind, kernel, line of the source and lane.
Targets are those of Turing, Ampere, Hopper and Blackwell, whose PTX differs: for each file the first, the last and one of
those between, in turn; with GANTRY_TEST_LONG=1 all.

Usage: ptx_nvcc_test.py --build-dir build/release [--only NAME] [-v]    exit status 77: skipped, no nvcc or NumPy
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"SKIP: {missing} (tools/dev/install_deps.sh references)")
    sys.exit(77)

HERE = pathlib.Path(__file__).parent
TARGETS = (75, 80, 90, 100, 120)
RANDOM = np.random.default_rng(7)


class Case:
    """A kernel, its launch, and what the buffers hold afterwards."""

    def __init__(self, file, kernel, grid, block, arguments, expected, shared=0, least=75, rtol=0.0, atol=0.0):
        self.file, self.kernel, self.grid, self.block, self.arguments = file, kernel, grid, block, arguments
        self.expected, self.shared, self.least, self.rtol, self.atol = expected, shared, least, rtol, atol


def f32(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def ints(low, high, count, kind=np.int32):
    return RANDOM.integers(low, high, count).astype(kind)


def bf16(x):
    """f32 to the bits of bf16, to nearest even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def elementwise_cases():
    file, n = "elementwise.cu", 1000
    launch = (8, 128)
    x, y = f32(n), f32(n)
    product = 2.5 * x.astype(np.float64) + y  # fma: rounded once
    yield Case(file, "scale_add", *launch, [x, y, np.zeros(n, np.float32), 2.5, n], {2: product.astype(np.float32)})
    p = f32(5000, low=0, high=9)
    yield Case(file, "grid_stride", 3, 96, [p, np.zeros_like(p), 5000], {1: np.sqrt(p) + np.float32(1) / (p + np.float32(1))})
    v = f32(n, 4)
    yield Case(file, "vector4", *launch, [v, np.zeros_like(v), n],
               {1: np.stack([v[:, 3], v[:, 2] * 2, v[:, 1] + 1, v[:, 0]], 1)})
    h, k = f32(n).astype(np.float16), f32(n).astype(np.float16)
    half = ((h + k) * np.float16(0.5)).astype(np.float64)
    fused = (h.astype(np.float64) * k.astype(np.float64) + half).astype(np.float16)
    yield Case(file, "half2_ops", *launch, [h, k, np.zeros(n, np.float16), n // 2], {2: fused})
    a, b = bf16(f32(n)), bf16(f32(n))
    yield Case(file, "bf16_ops", *launch, [a, b, np.zeros(n, np.uint16), n],
               {2: bf16((from_bf16(a).astype(np.float64) * from_bf16(b) + 1).astype(np.float32))})
    s, t = RANDOM.integers(-2**62, 2**62, n), RANDOM.integers(1, 2**40, n)
    quotient = np.array([int(p) // int(q) if p >= 0 else -(-int(p) // int(q)) for p, q in zip(s, t)], object)
    wide = [(int(q_) * 3 + (int(p) - int(q_) * int(q)) + ((int(p) * int(q)) >> 64) + bin(int(p) % 2**64).count("1") +
             64 - int(q).bit_length()) for p, q, q_ in zip(s, t, quotient)]
    wrap = np.array([(w + 2**63) % 2**64 - 2**63 for w in wide], np.int64)
    yield Case(file, "integers64", *launch, [s, t, np.zeros(n, np.int64), n], {2: wrap})
    u, w = ints(0, 2**32, n, np.uint32), ints(0, 2**32, n, np.uint32)
    yield Case(file, "integers32", *launch, [u, w, np.zeros(n, np.uint32), n], {2: integers32(u, w)})
    d = RANDOM.uniform(0, 100, n)
    exact = np.sqrt(d) + d / 3.0
    yield Case(file, "doubles", *launch, [d, np.zeros(n), n],
               {1: exact + (d * d + 1) + np.floor(d) + np.trunc(d * 1000)}, rtol=1e-14)
    from math import erf
    e = f32(n, low=-1.5, high=1.5)
    g = e.astype(np.float64)
    yield Case(file, "transcendental", *launch, [e, np.zeros_like(e), n],
               {1: np.exp(g) + np.log(g + 2) + np.tanh(g) + np.sin(g) * np.cos(g) + np.vectorize(erf)(g) + (g + 2)**1.5},
               rtol=2e-6, atol=2e-6)
    c = f32(n, low=-100, high=100)
    toward_zero = c.astype(np.float16)
    over = np.abs(toward_zero.astype(np.float32)) > np.abs(c)
    toward_zero[over] = np.nextafter(toward_zero[over], np.float16(0))
    yield Case(file, "conversions", *launch,
               [c, np.zeros(n, np.int8), np.zeros(n, np.uint8), np.zeros(n, np.int16), np.zeros(n, np.float16), n],
               {1: np.rint(c).astype(np.int8), 2: np.trunc(np.abs(c)).astype(np.uint8),
                3: np.floor(c * np.float32(100)).astype(np.int16), 4: toward_zero})
    m = ints(0, 256, n, np.uint8)
    table = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3], np.uint8)
    yield Case(file, "byte_table", *launch, [m, np.zeros(n, np.uint8), n], {1: table[m & 15] ^ m})


def integers32(x, y):
    made = []
    for a, b in zip(x.tolist(), y.tolist()):
        b |= 1
        pair = [(a >> 8 * i) & 255 for i in range(4)] + [(b >> 8 * i) & 255 for i in range(4)]
        permuted = sum(pair[k] << 8 * i for i, k in enumerate((2, 4, 1, 5)))
        shift = a & 31
        funnel = ((b << 32 | a) << shift >> 32) & 0xFFFFFFFF
        reverse = int(f"{a:032b}"[::-1], 2)
        first = (b & -b).bit_length()
        made.append((a // b + a % b + (a * b >> 32) + reverse + first + permuted + funnel + (a >> (b & 15)) +
                     ((a & b) ^ ((~a & 0xFFFFFFFF) | b)) + a // 7 + b % 10) & 0xFFFFFFFF)
    return np.array(made, np.uint32)


def cooperation_cases():
    file = "cooperation.cu"
    x = ints(-8, 8, 5000).astype(np.float32)  # sums are exact in any order
    partial = np.zeros(4, np.float32)
    for i, value in enumerate(x):
        partial[i // 256 % 4] += value
    yield Case(file, "block_sum", 4, 256, [x, np.zeros(4, np.float32), 5000], {1: partial})
    i = ints(-100, 100, 1000)
    yield Case(file, "warp_sum", 4, 256, [i, np.zeros(1, np.int32), 1000], {1: np.array([i.sum()], np.int32)})
    yield Case(file, "scan", 1, 1024, [i, np.zeros(1000, np.int32), 1000], {1: np.cumsum(i).astype(np.int32)}, shared=128)
    b = ints(0, 256, 20000, np.uint8)
    yield Case(file, "histogram", 5, 256, [b, np.zeros(256, np.uint32), 20000], {1: np.bincount(b, minlength=256).astype(np.uint32)})
    m = f32(70, 70)
    yield Case(file, "transpose", (3, 3), (32, 8), [m, np.zeros_like(m), 70], {1: m.T.copy()})
    p, q = ints(-4, 5, 48 * 48).astype(np.float32), ints(-4, 5, 48 * 48).astype(np.float32)
    product = (p.reshape(48, 48) @ q.reshape(48, 48)).astype(np.float32)
    yield Case(file, "matmul", (3, 3), (16, 16), [p, q, np.zeros((48, 48), np.float32), 48], {2: product})
    v = ints(0, 6, 256)
    lanes = v.reshape(-1, 32)
    same = np.stack([[np.sum(row == value) for value in row] for row in lanes])
    votes = (np.sum(lanes > 2, 1, keepdims=True) + 100 * np.all(lanes < 6, 1, keepdims=True) +
             200 * np.any(lanes == 5, 1, keepdims=True) + 1000 * same + 100000 * 32)
    yield Case(file, "votes", 2, 128, [v, np.zeros(256, np.uint32), 256], {1: votes.reshape(-1).astype(np.uint32)})
    c = ints(-5, 8, 192)
    blocks = c.reshape(2, 96)
    counted = np.sum(blocks > 0, 1, keepdims=True) * 4 + 2 + np.any(blocks == 7, 1, keepdims=True)
    yield Case(file, "counted", 2, 96, [c, np.zeros(192, np.int32), 192],
               {1: np.broadcast_to(counted, (2, 96)).reshape(-1).astype(np.int32)})
    yield Case(file, "last_block", 6, 128, [x, np.zeros(6, np.float32), np.zeros(1, np.float32), 5000],
               {2: np.array([x.sum()], np.float32)})


def control_cases():
    file, n = "control.cu", 300

    def collatz(v):
        steps = 0
        while v != 1:
            v = 3 * v + 1 if v & 1 else v // 2
            steps += 1
            if steps > 200:
                break
        return steps

    x = ints(1, 100, n)
    yield Case(file, "calls", 3, 128, [x, np.zeros(n, np.int32), n],
               {1: np.array([collatz(v) + (collatz(v + 1) if v > 10 else 0) for v in x.tolist()], np.int32)})

    def nested(v):
        total = 0
        for a in range(v):
            if a % 3 == 0:
                continue
            for b in range(10):
                if b * a > 20:
                    break
                total += a * b if (a ^ b) & 1 else -b
            if total > 500:
                break
        return total

    yield Case(file, "nested", 3, 128, [x, np.zeros(n, np.int32), n], {1: np.array([nested(v) for v in x.tolist()], np.int32)})
    kinds = ints(0, 9, n)
    index = np.arange(n, dtype=np.float32)
    with np.errstate(divide="ignore"):
        choices = [index * 2, index + 100, index * index, index * index, np.float32(1) / (index + 1), np.sqrt(index), index - 7]
    switched = np.where(kinds > 6, np.float32(42), np.choose(np.minimum(kinds, 6), choices)).astype(np.float32)
    yield Case(file, "switches", 3, 128, [kinds, np.zeros(n, np.float32), n], {1: switched})

    def local(i):
        counts = [0] * 8
        for k in range(16):
            counts[x[(i + k) % n] & 7] += k
        made = 0
        for count in counts:
            made = (made * 31 + count) & 0xFFFFFFFF
        return made - 2**32 if made >= 2**31 else made

    yield Case(file, "local_array", 3, 128, [x, np.zeros(n, np.int32), n], {1: np.array([local(i) for i in range(n)], np.int32)})
    a, b = ints(-9, 9, n * 3).reshape(n, 3).astype(np.float32), ints(-9, 9, n * 3).reshape(n, 3).astype(np.float32)
    yield Case(file, "structs", 3, 128, [a, b, np.zeros((n, 3), np.float32), n], {2: np.cross(a, b).astype(np.float32)})


def matrix_cases():
    file = "matrices.cu"
    a, b = ints(-4, 5, 16 * 48).reshape(16, 48), ints(-4, 5, 16 * 48).reshape(16, 48)
    product = 2.0 * (a.astype(np.float64) @ b.T)
    zeros = np.zeros((16, 16), np.float32)
    yield Case(file, "wmma_f16", 1, 32, [a.astype(np.float16), b.astype(np.float16), zeros, 48], {2: product.astype(np.float32)}, least=80)
    yield Case(file, "wmma_bf16", 1, 32, [bf16(a), bf16(b), zeros, 48], {2: product.astype(np.float32)}, least=80)
    yield Case(file, "wmma_s8", 1, 32, [a.astype(np.int8), b.astype(np.int8), np.zeros((16, 16), np.int32), 48],
               {2: product.astype(np.int32)}, least=80)
    p, q = a[:, :8].astype(np.float32), b[:, :8].astype(np.float32)
    yield Case(file, "wmma_tf32", 1, 32, [p.copy(), q.copy(), zeros], {2: (p @ q.T).astype(np.float32)}, least=80)
    c = ints(-4, 5, 16 * 8).reshape(16, 8)
    yield Case(file, "mma_ldmatrix", 1, 32, [a[:, :16].astype(np.float16).copy(), c.astype(np.float16), np.zeros((16, 8), np.float32)],
               {2: (a[:, :16].astype(np.float32) @ c.astype(np.float32))}, least=80)
    s, t = ints(-128, 128, 16 * 32, np.int8).reshape(16, 32), ints(-128, 128, 8 * 32, np.int8).reshape(8, 32)
    yield Case(file, "mma_s8", 1, 32, [s, t, np.zeros((16, 8), np.int32)], {2: s.astype(np.int32) @ t.T.astype(np.int32) + 1}, least=80)
    x = f32(1020)
    padded = np.concatenate([x, np.zeros(4, np.float32)]).reshape(2, 512)[:, ::-1].reshape(-1)[:1020]
    yield Case(file, "copy_async", 2, 128, [x, np.zeros_like(x), 1020], {1: padded.copy()}, least=80)


def barrier_cases():
    file = "barriers.cu"
    x = ints(0, 1000, 32, np.uint32)
    value = x.sum() + 3 * x.max() + (np.bitwise_xor.reduce(x) << 8)
    yield Case(file, "reduce_sync", 1, 32, [x, np.zeros(32, np.uint32)], {1: np.full(32, value, np.uint32)}, least=80)
    y = f32(64)
    yield Case(file, "phases", 1, 64, [y, np.zeros(192, np.float32)],
               {1: np.concatenate([y[::-1] + np.float32(p) for p in range(3)])}, least=80)
    n = 96
    u = np.zeros(256, np.uint32)
    u[0] = 0xFFFFFFFF
    after = u.copy()
    after[0], after[1], after[2] = 0, 0xFFFFFFFF, np.bitwise_xor.reduce(np.arange(n))
    inc = dec = 0
    for _ in range(n):
        inc = 0 if inc >= 9 else inc + 1
        dec = 6 if dec == 0 or dec > 6 else dec - 1
    after[3], after[4] = inc, dec
    after[5:5 + n] = np.arange(n)
    after[200] = 2 * n
    yield Case(file, "atomics", 2, 48,
               [np.zeros(2, np.int32), u, np.zeros(2, np.float32), np.zeros(1), np.zeros(1, np.uint64), np.zeros(2, np.float16)],
               {0: np.array([-5, n - 1], np.int32), 1: after, 2: np.full(2, n / 4, np.float32), 3: np.array([n / 4]),
                4: np.array([n << 33], np.uint64), 5: np.array([n, 2 * n], np.float16)}, least=80)


def targets_of(file):
    if "GANTRY_TEST_LONG" in os.environ:
        return TARGETS
    between = TARGETS[1:-1]
    return (TARGETS[0], between[sorted(path.name for path in (HERE / "ptx").glob("*.cu")).index(file) % len(between)], TARGETS[-1])


def cases():
    for make in (elementwise_cases, cooperation_cases, control_cases, matrix_cases, barrier_cases):
        yield from make()


class Fault:
    """A kernel of faults.cu: what is reported when `planted`, and nothing when not."""

    def __init__(self, kernel, kind, lane, block=64, grid=1, shared=0, status=1):
        self.kernel, self.kind, self.lane, self.block, self.grid, self.shared = kernel, kind, lane, block, grid, shared


FAULTS = (
    Fault("over_the_end", "out-of-bounds", 0), Fault("odd_address", "misaligned", 0),
    Fault("constant_written", "read-only", 3), Fault("shared_over_the_end", "out-of-bounds", 31),
    Fault("never_written", "uninitialised-shared", 0), Fault("local_never_written", "uninitialised-local", 0),
    Fault("no_barrier", "shared-race", None), Fault("no_barrier_global", "global-race", None),
    Fault("two_blocks", "block-race", 0, grid=2), Fault("read_only_cache", "non-coherent-read", None),
    Fault("half_at_barrier", "divergent-barrier", None), Fault("lane_missing", "absent-lane", 0),
    Fault("asserted", "trap", 5), Fault("endless", "step-limit", None),
)


class Runner:
    def __init__(self, tool, folder, verbose):
        self.tool, self.folder, self.verbose = tool, folder, verbose
        self.passed = self.failed = 0
        self.compiled = {}

    def compile(self, file, target):
        key = (file, target)
        if key not in self.compiled:
            to = self.folder / f"{pathlib.Path(file).stem}.{target}.ptx"
            done = subprocess.run([nvcc(), f"-arch=sm_{target}", "-ptx", "-lineinfo", "-o", to, HERE / "ptx" / file],
                                  capture_output=True, text=True, timeout=300)
            if done.returncode:
                raise SystemExit(f"nvcc: {file} for sm_{target}: {done.stderr}")
            self.compiled[key] = to
        return self.compiled[key]

    def compile_with_clang(self, file, target):
        """What clang writes for the same source is read, too; its numbers are those of the LLVM that Gantry uses."""
        to = self.folder / f"clang.{pathlib.Path(file).stem}.ptx"
        done = subprocess.run(["clang++-22", "--cuda-device-only", f"--cuda-path={pathlib.Path(nvcc()).parents[1]}",
                               f"--cuda-gpu-arch=sm_{target}", "-Wno-unknown-cuda-version", "-O2", "-S", "-o", to,
                               HERE / "ptx" / file], capture_output=True, text=True, timeout=300)
        if done.returncode:
            return print(f"SKIP clang {file}: {done.stderr[:200]}")
        self.compiled[(file, f"clang-{target}")] = to

    def check(self, name, problem):
        if problem:
            self.failed += 1
            print(f"FAIL {name}: {problem}")
        else:
            self.passed += 1
            if self.verbose:
                print(f"ok   {name}")

    def run(self, case, target):
        ptx = self.compile(case.file, target)
        command = [self.tool, "run", ptx, f"--kernel={case.kernel}", "--quiet", f"--grid={shape(case.grid)}",
                   f"--block={shape(case.block)}", f"--shared={case.shared}", "--steps=20000000"]
        for i, argument in enumerate(case.arguments):
            if isinstance(argument, np.ndarray):
                path = self.folder / f"in{i}.npy"
                np.save(path, np.ascontiguousarray(argument))
                argument = path
            command.append(f"--arg={argument}")
        for i in case.expected:
            command.append(f"--save={i}:{self.folder}/out{i}.npy")
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        problem = None
        if done.returncode:
            problem = f"exit status {done.returncode}: {done.stderr[:1000]}"
        else:
            for i, expected in case.expected.items():
                actual = np.load(self.folder / f"out{i}.npy").reshape(expected.shape)
                close = np.isclose(actual.astype(np.float64), expected.astype(np.float64), case.rtol, case.atol) \
                    if case.rtol or case.atol else actual == expected
                if not np.all(close):
                    at = np.unravel_index(np.argmin(close), expected.shape)
                    problem = f"argument {i}: {np.sum(~close)} of {close.size} differ; at {at} {actual[at]} for {expected[at]}"
        self.check(f"{case.kernel} sm_{target}", problem)

    def plant(self, fault, target, planted):
        """The kernels take (float *x of 64 + 64 elements, int planted)."""
        ptx = self.compile("faults.cu", target)
        done = subprocess.run(
            [self.tool, "run", ptx, f"--kernel={fault.kernel}", "--quiet", f"--grid={fault.grid}", f"--block={fault.block}",
             "--arg=f32[128]=ones", f"--arg={planted}", "--steps=100000"], capture_output=True, text=True, timeout=120)
        name = f"{fault.kernel} sm_{target} {'planted' if planted else 'not planted'}"
        if not planted:
            return self.check(name, done.stderr[:500] if done.returncode else None)
        source = (HERE / "ptx" / "faults.cu").read_text().splitlines()
        body = next(i for i, line in enumerate(source) if f" {fault.kernel}(" in line)
        lines = [i + 1 for i in range(body, len(source)) if f"fault: {fault.kernel}" in source[i]]
        problem = None
        if done.returncode != 1 or f"error: {fault.kind}:" not in done.stderr:
            problem = f"expected {fault.kind}, exit status {done.returncode}: {done.stderr[:500]}"
        elif f"kernel '{fault.kernel}'" not in done.stderr:
            problem = f"the kernel is not named: {done.stderr[:500]}"
        elif fault.lane is not None and f"lane {fault.lane}:" not in done.stderr:
            problem = f"expected lane {fault.lane}: {done.stderr[:500]}"
        elif lines and not any(f"faults.cu:{line}" in done.stderr for line in lines):
            problem = f"expected line {lines} of faults.cu: {done.stderr[:500]}"
        elif set(re.findall(r"error: ([a-z-]+):", done.stderr)) != {fault.kind}:
            problem = f"other faults besides {fault.kind}: {done.stderr[:800]}"
        self.check(name, problem)


def shape(index):
    return ",".join(map(str, index)) if isinstance(index, tuple) else str(index)


def nvcc():
    return shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", default="build/release")
    parser.add_argument("--only")
    parser.add_argument("--targets", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    if not os.access(nvcc(), os.X_OK):
        print("SKIP: nvcc is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(str(pathlib.Path(options.build_dir) / "bin" / "gantry-ptx"), pathlib.Path(folder), options.verbose)
        for case in cases():
            for target in options.targets or targets_of(case.file):
                if target >= case.least and (not options.only or options.only == case.kernel):
                    runner.run(case, target)
        if shutil.which("clang++-22"):
            for file in ("elementwise.cu", "cooperation.cu", "control.cu"):
                runner.compile_with_clang(file, 80)
            for case in cases():
                if (case.file, "clang-80") in runner.compiled and (not options.only or options.only == case.kernel):
                    runner.run(case, "clang-80")
        for fault in FAULTS:
            for planted in (1, 0):
                if not options.only or options.only == fault.kernel:
                    runner.plant(fault, 80, planted)
    print(f"{runner.passed} passed, {runner.failed} failed")
    if runner.passed + runner.failed == 0:
        print("no case ran")
        return 1
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
