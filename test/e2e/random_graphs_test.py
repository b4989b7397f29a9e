#!/usr/bin/python3
"""Random graphs with random requests on simulated devices, against NumPy.

The ops are exact ones on integers, so that no order of evaluation and no fusion may change a bit:
what differs is a copy that is missing, too early or of the wrong value. Each graph has branches,
loops, views, scopes, constants with a home and copies of its own; each plan runs in the order of the
virtual clock and in two random legal ones, and the tool compares counted copies with the ledger.

Usage: random_graphs_test.py BUILD [FIRST [COUNT]]; exit status 77 when NumPy is missing.
"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("GANTRY_CACHE_SIZE", "0")  # what is tested is the compiler

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} (tools/dev/install_deps.sh references)")
    sys.exit(77)

TYPE, TURNED, SCALAR = "tensor<6x4xi32>", "tensor<4x6xi32>", "tensor<i32>"
DEVICES = ["CPU:0", "GPU:0", "GPU:1", "GPU:2"]
POLICIES = [["--soft-placement"], ["--placement=follow", "--no-fuse"], ["--placement=auto", "--effort=1"]]
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "minimum": np.minimum, "maximum": np.maximum}


class Graph:
    """Text of a graph and, beside it, its meaning: functions from an environment of named arrays.

    Each method for an op writes its lines and gives (name, function that puts the value there)."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.count = [], 0
        annotated = [TYPE + self.braces(self.device(0.5)) for _ in range(6)]
        names = ["%x", "%y"]
        steps = self.block(names, self.random.randrange(3, 40), 0)
        self.outputs = [self.random.choice(names) for _ in range(3)] + [names[-1]]
        self.steps = steps
        self.text = (f"func.func @main(%x: {annotated[0]}, %y: {annotated[1]}) -> ({', '.join(annotated[2:])}) {{\n"
                     + "\n".join(self.lines) + f"\n  return {', '.join(self.outputs)} : {', '.join([TYPE] * 4)}\n}}\n")

    def evaluate(self, **inputs):
        environment = {f"%{name}": value for name, value in inputs.items()}
        run(self.steps, environment)
        return [environment[name] for name in self.outputs]

    # Parts of text

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def device(self, often=0.6):
        """An attribute that requests a device, in full or in part, or nothing."""
        device = self.random.choice(DEVICES + ["GPU", "/device:GPU:*"])
        return f'gantry.device = #gantry.device<"{device}">' if self.random.random() < often else ""

    def braces(self, *attributes):
        text = ", ".join(filter(None, attributes))
        return f" {{{text}}}" if text else ""

    def emit(self, depth, text):
        self.lines.append("  " * (depth + 1) + text)

    # Ops

    def block(self, names, length, depth):
        """So many ops; their names are appended to `names`."""
        steps = []
        for _ in range(length):
            kinds = [self.binary] * 5 + [self.turned, self.constant, self.copy, self.scope]
            kinds += [self.branch, self.loop] if depth < 2 else []
            name, step = self.random.choice(kinds)(names, depth)
            names.append(name)
            steps.append(step)
        return steps

    def pick(self, names):
        return self.random.choice(names[-6:] + [self.random.choice(names)])

    def binary(self, names, depth):
        op, a, b, out = self.random.choice(list(BINARY)), self.pick(names), self.pick(names), self.name()
        self.emit(depth, f"{out} = gantry.{op} {a}, {b}{self.braces(self.device())} : ({TYPE}, {TYPE}) -> {TYPE}")
        return out, lambda env: env.__setitem__(out, BINARY[op](env[a], env[b]))

    def turned(self, names, depth):
        """Seen in another shape and computed there; the views have no device of their own."""
        a, view, negative, out = self.pick(names), self.name(), self.name(), self.name()
        self.emit(depth, f"{view} = gantry.reshape {a} : ({TYPE}) -> {TURNED}")
        self.emit(depth, f"{negative} = gantry.neg {view}{self.braces(self.device())} : ({TURNED}) -> {TURNED}")
        self.emit(depth, f"{out} = gantry.reshape {negative} : ({TURNED}) -> {TYPE}")
        return out, lambda env: env.__setitem__(out, -env[a])

    def constant(self, names, depth):
        value = np.array([self.random.randrange(-9, 9) for _ in range(24)], np.int32).reshape(6, 4)
        a, home, out = self.pick(names), self.name(), self.name()
        self.emit(depth, f"{home} = gantry.constant{self.braces(self.device())} dense<{value.tolist()}> : {TYPE}")
        self.emit(depth, f"{out} = gantry.add {home}, {a}{self.braces(self.device())} : ({TYPE}, {TYPE}) -> {TYPE}")
        return out, lambda env: env.__setitem__(out, value + env[a])

    def copy(self, names, depth):
        a, out, force = self.pick(names), self.name(), self.random.choice(["", "force "])
        self.emit(depth, f'{out} = gantry.copy {a} to "{self.random.choice(DEVICES + ["GPU"])}" {force}: {TYPE}')
        return out, lambda env: env.__setitem__(out, env[a])

    def scope(self, names, depth):
        out, inside = self.name(), list(names)
        self.emit(depth, f'{out} = gantry.on "{self.random.choice(DEVICES)}" -> ({TYPE}) {{')
        steps = self.block(inside, self.random.randrange(1, 4), depth + 1)
        self.emit(depth + 1, f"gantry.yield {inside[-1]} : {TYPE}")
        self.emit(depth, "}")
        return out, lambda env: (run(steps, env), env.__setitem__(out, env[inside[-1]]))

    def branch(self, names, depth):
        a, total, limit, flag, out = self.pick(names), self.name(), self.name(), self.name(), self.name()
        bound = self.random.randrange(-40, 40)
        axes = self.braces("axes = array<i64: 0, 1>", self.device())
        self.emit(depth, f"{total} = gantry.reduce_sum {a}{axes} : ({TYPE}) -> {SCALAR}")
        self.emit(depth, f"{limit} = gantry.constant dense<{bound}> : {SCALAR}")
        self.emit(depth, f"{flag} = gantry.compare lt, {total}, {limit}{self.braces(self.device())} "
                         f": ({SCALAR}, {SCALAR}) -> tensor<i1>")
        self.emit(depth, f"{out} = gantry.if {flag} -> ({TYPE}) {{")
        sides = []
        for ending in ("} else {", "} : tensor<i1>"):
            inside = list(names)
            steps = self.block(inside, self.random.randrange(4), depth + 1)
            sides.append((steps, self.random.choice(inside[-2:])))
            self.emit(depth + 1, f"gantry.yield {sides[-1][1]} : {TYPE}")
            self.emit(depth, ending)

        def step(env):
            steps, name = sides[0] if env[a].sum(dtype=np.int32) < bound else sides[1]
            run(steps, env)
            env[out] = env[name]
        return out, step

    def loop(self, names, depth):
        """A counter and two carried values, for a few times."""
        inits, times = [self.pick(names), self.pick(names)], self.random.randrange(4)
        zero, one, limit, result, out, flag, following = (self.name() for _ in range(7))
        carried = [[self.name() for _ in range(3)] for _ in range(2)]  # in the condition, in the body
        types = f"({SCALAR}, {TYPE}, {TYPE})"
        for name, value in {zero: 0, one: 1, limit: times}.items():
            self.emit(depth, f"{name} = gantry.constant dense<{value}> : {SCALAR}")
        arguments = [", ".join(f"{name}: {kind}" for name, kind in zip(each, (SCALAR, TYPE, TYPE))) for each in carried]
        self.emit(depth, f"{result}:3 = gantry.while ({zero}, {', '.join(inits)}) : {types} -> {types} {{")
        self.emit(depth, f"^bb0({arguments[0]}):")
        self.emit(depth + 1, f"{flag} = gantry.compare lt, {carried[0][0]}, {limit}{self.braces(self.device())} "
                             f": ({SCALAR}, {SCALAR}) -> tensor<i1>")
        self.emit(depth + 1, f"gantry.yield {flag} : tensor<i1>")
        self.emit(depth, "} do {")
        self.emit(depth, f"^bb0({arguments[1]}):")
        self.emit(depth + 1, f"{following} = gantry.add {carried[1][0]}, {one}{self.braces(self.device())} "
                             f": ({SCALAR}, {SCALAR}) -> {SCALAR}")
        inside = names + carried[1][1:]
        steps = self.block(inside, self.random.randrange(1, 4), depth + 1)
        yielded = [self.random.choice(inside[-3:]) for _ in range(2)]
        self.emit(depth + 1, f"gantry.yield {following}, {', '.join(yielded)} : {SCALAR}, {TYPE}, {TYPE}")
        self.emit(depth, "}")
        self.emit(depth, f"{out} = gantry.add {result}#1, {result}#2{self.braces(self.device())} "
                         f": ({TYPE}, {TYPE}) -> {TYPE}")

        def step(env):
            values = [env[name] for name in inits]
            for _ in range(times):
                env.update(zip(carried[1][1:], values))
                run(steps, env)
                values = [env[name] for name in yielded]
            env[out] = values[0] + values[1]
        return out, step


def run(steps, environment):
    for step in steps:
        step(environment)


def check(seed, gantry, folder):
    """None, or what is wrong with the graph of this seed."""
    graph = Graph(seed)
    (folder / "g.mlir").write_text(graph.text, encoding="utf-8")
    values = np.random.default_rng(seed)
    inputs = {name: values.integers(-20, 20, (6, 4), dtype=np.int32) for name in "xy"}
    np.savez(folder / "in.npz", input0=inputs["x"], input1=inputs["y"])
    expected = graph.evaluate(**inputs)

    def tool(*arguments):
        return subprocess.run([gantry, *arguments], cwd=folder, text=True, capture_output=True, timeout=60, check=False)
    policy = POLICIES[seed % len(POLICIES)]
    compiled = tool("compile", "g.mlir", "--devices=CPU:0,GPU:0,GPU:1,GPU:2", "--simulate", *policy, "-o", "g.gantry")
    if compiled.returncode:
        return f"{policy}: {compiled.stderr}"
    for order in ("virtual", f"random:{seed}", f"random:{seed + 1}"):
        done = tool("run", "g.gantry", "--input", "in.npz", "--output", "out.npz", "-v", f"--sim-order={order}",
                    "--repeat", "2")
        if done.returncode or "copies counted as planned" not in done.stderr:
            return f"{policy}, {order}: {done.stderr}"
        outputs = np.load(folder / "out.npz")
        for index, value in enumerate(expected):
            if not np.array_equal(outputs[f"output{index}"], value):
                return f"{policy}, {order}: output{index} is not what NumPy computes"
    return None


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
    first, count = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 0), (3, 36)))
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(first, first + count):
            with np.errstate(over="ignore"):
                wrong = check(seed, str(build / "bin/gantry"), pathlib.Path(scratch))
            if wrong:
                failed += 1
                print(f"graph {seed}: {wrong}")
    print(f"{count - failed} of {count} graphs are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
