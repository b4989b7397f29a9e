#!/usr/bin/python3
"""Writes one function for each op and element type that the kernel table promises for CPUs: the op's
documented example, with that type in the place of its first one.

Usage: kernel_table.py OUT.mlir
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tools/dev"))
import check_examples  # noqa: E402

FLOATS = ["f16", "bf16", "f32", "f64"]
INTS = [sign + str(bits) for bits in (8, 16, 32, 64) for sign in ("i", "ui")]
SETS = {"none": [], "floats": FLOATS, "ints": INTS, "indices": ["i32", "i64"], "bools": ["i1"],
        "numbers": FLOATS + INTS, "all": FLOATS + INTS + ["i1"]}
SUMS = {"matmul", "conv"}  # of bytes they are i32
KEYED = {"random_uniform", "random_normal"}  # their operand is a key, i64
FIXED_RESULTS = {"first_bad_index"}  # of one type, whatever the operands are


def function(op, example, element):
    """The example as a function that returns its results."""
    head, call = example.strip().splitlines()[:2]
    signature = call[call.index(" : ("):]
    operands, result = signature.rsplit(" -> ", 1)
    first = re.search(r"[x<](u?i\d+|b?f\d+)>", result if op in KEYED else signature).group(1)
    retype = lambda text: re.sub(rf"(?<=[x<]){first}(?=>)", element, text)
    result = result if op in FIXED_RESULTS else retype(result)
    if op in SUMS and element in ("i8", "ui8"):
        result = re.sub(r"u?i8>", "i32>", result)
    head, call = retype(head), call[:call.index(" : (")] + retype(operands) + " -> " + result
    types = call.rsplit(" -> ", 1)[1].strip()
    types = check_examples.split_types(types[1:-1]) if types.startswith("(") else [types]
    target = call.split("=")[0].strip()
    names = [f"{target.split(':')[0]}#{i}" for i in range(len(types))] if ":" in target else target.split(", ")
    head = head.replace("@example", f"@{op}_{element}").replace(" {", f" -> ({', '.join(types)}) {{")
    return f"{head}\n{call}\n  return {', '.join(names)} : {', '.join(types)}\n}}\n"


def main():
    table = (ROOT / "include/gantry/Dialect/Gantry/IR/KernelTable.def").read_text(encoding="utf-8")
    rows = re.findall(r'GANTRY_KERNEL\((\w+), (\w+), \w+,\s*"', table)
    examples = {where.split("gantry.")[-1]: module for where, module in
                check_examples.examples_of_dialect(ROOT / "docs/generated/GantryDialect.md")}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for op, types in rows:
            if op not in examples:
                sys.exit(f"'gantry.{op}' has no example in docs/generated/GantryDialect.md; run 'make docs'")
            for element in SETS[types]:
                file.write(function(op, examples[op], element))


if __name__ == "__main__":
    main()
