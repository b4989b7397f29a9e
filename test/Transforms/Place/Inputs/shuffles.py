#!/usr/bin/python3
"""Writes random graphs, each many times with its ops in another order, its values and colocation groups
under other names; and checks that a placed module gives all forms of a graph the same devices and names.

Usage: shuffles.py write OUT.mlir [GRAPHS SHUFFLES]     shuffles.py check PLACED.mlir [GRAPHS SHUFFLES]
An op carries `test.id`, which passes know nothing of.
"""

import random
import re
import sys

TENSOR = "tensor<8xf32>"
DEVICES = ["GPU", "GPU:0", "GPU:1", "CPU", "GPU:9"]
UNARY = ["relu", "exp", "neg", "tanh", "cumsum"]


def random_graph(rng, count):
    """Ops as (what, operands by index, request, softness, group); -1 and -2 are the arguments."""
    ops = []
    for i in range(count):
        operands = [rng.randint(max(-2, i - 9), i - 1) if i else -1 for _ in range(rng.randint(1, 2))]
        request = rng.choice(DEVICES) if rng.random() < 0.3 else None
        softness = rng.choice(["prefer", "any"]) if request else None
        group = rng.randrange(count // 8) if rng.random() < 0.2 else None
        ops.append((rng.choice(UNARY) if len(operands) == 1 else rng.choice(["add", "mul", "sub"]),
                    operands, request, softness, group))
    return ops


def some_order(rng, ops):
    """Indices of ops, makers before readers, in a random order."""
    left, placed, order = set(range(len(ops))), {-1, -2}, []
    while left:
        ready = [i for i in left if all(o in placed for o in ops[i][1])]
        order.append(rng.choice(sorted(ready)))
        placed.add(order[-1])
        left.remove(order[-1])
    return order


def text_of(rng, ops, name, results):
    tag = rng.randrange(10**6)
    value = lambda i: {-1: f"%x{tag}", -2: f"%y{tag}"}.get(i, f"%v{(i * 7919 + tag) % 1000003}")
    lines = [f"func.func @{name}({value(-1)}: {TENSOR}, {value(-2)}: {TENSOR}) -> ({', '.join([TENSOR] * len(results))}) {{"]
    for i in some_order(rng, ops):
        what, operands, request, softness, group = ops[i]
        attributes = [f"test.id = {i}"]
        if request:
            attributes += [f'gantry.device = #gantry.device<"{request}">', f'gantry.soft = #gantry<soft {softness}>']
        if group is not None:
            attributes.append(f'gantry.colocate = ["group {group} of {name}"]')
        if what == "cumsum":
            attributes.append("axis = 0 : i64")
        rng.shuffle(attributes)
        lines.append(f"  {value(i)} = gantry.{what} {', '.join(map(value, operands))} {{{', '.join(attributes)}}} : "
                     f"({', '.join([TENSOR] * len(operands))}) -> {TENSOR}")
    lines.append(f"  return {', '.join(map(value, results))} : {', '.join([TENSOR] * len(results))}\n}}")
    return "\n".join(lines)


def write(path, graphs, shuffles):
    rng = random.Random(5)
    parts = ['module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, '
             '#gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {']
    for g in range(graphs):
        ops = random_graph(rng, 40)
        used = {o for op in ops for o in op[1]}
        results = [i for i in range(len(ops)) if i not in used]
        parts += [text_of(rng, ops, f"graph{g}_{s}", results) for s in range(shuffles)]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n}\n")


def check(path, graphs, shuffles):
    seen, current, devices = {}, None, set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            if head := re.search(r"func\.func @(graph\d+)_(\d+)", line):
                current = head.groups()
                seen.setdefault(current[0], {})[current[1]] = {}
            elif op := re.search(r"test\.id = (\d+)", line):
                device = re.search(r'gantry\.device = #gantry\.device<"([^"]*)">', line).group(1)
                name = re.search(r'gantry\.name = "([^"]*)"', line).group(1)
                devices.add(device)
                seen[current[0]][current[1]][int(op.group(1))] = (device, name)
    if len(seen) != graphs or any(len(forms) != shuffles for forms in seen.values()):
        sys.exit("not all graphs are there")
    if len(devices) != 3:
        sys.exit(f"only {sorted(devices)} are used, so that nothing is shown")
    for graph, forms in seen.items():
        first = next(iter(forms.values()))
        for form, ops in forms.items():
            if len(ops) != 40 or ops != first:
                wrong = [i for i in first if ops.get(i) != first[i]]
                sys.exit(f"{graph}, form {form}: ops {wrong} differ: {[(first[i], ops.get(i)) for i in wrong]}")
    print(f"{graphs * shuffles} forms of {graphs} graphs agree")


if __name__ == "__main__":
    numbers = [int(n) for n in sys.argv[3:]] or [25, 40]
    {"write": write, "check": check}[sys.argv[1]](sys.argv[2], *numbers)
