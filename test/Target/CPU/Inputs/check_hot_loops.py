"""Reads the disassembly of kernels and looks at the loops that multiply and add: none may touch the stack with a vector
register, which would be a sum that found no register.

Usage: llvm-objdump -d --no-show-raw-insn OBJECT | check_hot_loops.py
"""

import re
import sys

INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(?:\{\w+\}\s+)?(\S+)\s*(.*)$")


def loops(instructions):
    """From a jump's target back to the jump, innermost only."""
    places = {address: i for i, (address, _, _) in enumerate(instructions)}
    spans = []
    for i, (address, name, operands) in enumerate(instructions):
        target = re.match(r"0x([0-9a-f]+)", operands)
        if name.startswith("j") and target and int(target[1], 16) <= address and int(target[1], 16) in places:
            spans.append((places[int(target[1], 16)], i))
    return [span for span in spans if not any(other != span and span[0] <= other[0] and other[1] <= span[1] for other in spans)]


def main():
    instructions = []
    for line in sys.stdin:
        if match := INSTRUCTION.match(line):
            instructions.append((int(match[1], 16), match[2], match[3]))
    hot = bad = 0
    for first, last in loops(instructions):
        body = instructions[first:last + 1]
        sums = sum(name in ("vdpbf16ps", "vpdpbusd", "vpmaddwd", "tdpbf16ps", "tdpbusd") or
                   name.startswith("vfmadd") and name.endswith("ps")
                   for _, name, _ in body)
        if sums == 0:
            continue
        hot += 1
        for address, name, operands in body:
            # With an index it would be an array there.
            if re.search(r"\(%rsp\)", operands) and re.search(r"%[xyz]mm", operands):
                print(f"{address:x}: {name} {operands}")
                bad += 1
    print(f"{'some' if hot else 'no'} loops multiply and add, {bad} instructions of them use the stack")


main()
