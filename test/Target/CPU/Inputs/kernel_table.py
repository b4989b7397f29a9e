#!/usr/bin/python3
"""Writes one function for each op and element type that its definition allows, where it runs as a kernel: the op's
documented example, with that type in the place of its first one.

Usage: kernel_table.py COMPILER OUT.mlir      COMPILER: libgantry-compiler.so
"""

import ctypes
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tools/dev"))
import check_examples  # noqa: E402

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
    library = ctypes.CDLL(sys.argv[1])
    library.gantry_op_table_json.restype = ctypes.c_char_p
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        for op in json.loads(library.gantry_op_table_json())["ops"]:
            example = check_examples.example_of(op["description"])
            for element in op.get("kernel", ()):
                file.write(function(op["name"], example, element.replace("u", "ui")))


if __name__ == "__main__":
    main()
