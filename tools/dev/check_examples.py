#!/usr/bin/python3
"""Checks that the examples in documents parse and verify with gantry-opt.

  - every op of the dialects' pages in the build folder has an example; one-line examples become the body of a
    function whose arguments are the operands, typed by the example's own functional type, and
    examples of attributes become one of a function's;
  - every ```mlir block of the documents stands as it is.

Usage: check_examples.py --build-dir BUILD      exit status 1 and one line per offence
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADING = re.compile(r"^#{2,3} (?:`?([\w.]+)`?)?.*$", re.MULTILINE)
BLOCK = re.compile(r"^```mlir\n(.*?)^```", re.MULTILINE | re.DOTALL)
ONE_LINE = re.compile(r"Example: `([^`]+)`")


def split_types(text):
    """Types of a list, commas inside < > left alone."""
    types, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "<(") - (char in ">)" and text[index - 1] != "-")
        if char == "," and depth == 0:
            types.append(text[start:index].strip())
            start = index + 1
    return types + [text[start:].strip()] if text.strip() else []


def as_module(example):
    """An example as a module of its own: as it is, or as the body of a function."""
    if re.search(r"\b(func\.func|module)\b", example):
        return example
    if example.startswith("#"):
        return f"func.func private @example() attributes {{example = {example}}}\n"
    if example.startswith("!"):
        return f"func.func private @example({example})\n"
    if re.match(r"plan\.(device|exchange|link|arena|constant|variable|code|kernel|func)\b", example):
        return f"module {{\n  {example}\n}}\n"
    body = re.sub(r"^\s*(?:%[\w:, %]+?\s*=\s*)", "", example, count=1)
    if body.startswith("plan."):
        # Every operand of a command is a buffer.
        buffers = "".join(f"  {name} = plan.input 0 size 64\n" for name in dict.fromkeys(re.findall(r"%\w+", body)))
        return f"plan.func @example inputs [] outputs [] {{\n{buffers}  {example}\n}}\n"
    signature = re.search(r" : \((.*)\) -> [^:]+$", example, re.DOTALL)
    operands = re.findall(r"%\w+", body.split(" : (")[0])
    # Without a functional type, one type stands for the only operand: `gantry.copy %x to "d" : T`.
    types = split_types(signature.group(1)) if signature else example.rsplit(" : ", 1)[1:]
    arguments = {}
    for operand, operand_type in zip(operands, types):
        arguments.setdefault(operand, operand_type)
    listed = ", ".join(f"{name}: {kind}" for name, kind in arguments.items())
    return f"func.func @example({listed}) {{\n  {example}\n  return\n}}\n"


def example_of(text):
    """The example of an op or attribute in its description as a module; None without one."""
    found = ONE_LINE.search(text) or BLOCK.search(text)
    return as_module(found.group(1)) if found else None


def examples_of_dialect(file):
    """Yields (where, module or None) for each op and attribute of a generated dialect page."""
    text = file.read_text(encoding="utf-8")
    headings = list(HEADING.finditer(text))
    for match, following in zip(headings, [*headings[1:], None]):
        section = text[match.start():following.start() if following else len(text)]
        example = example_of(section)
        # Enums have no examples; ops must.
        if example or match.group(0).startswith("### `"):
            yield f"{file.name}: {match.group(1)}", example


def examples_of_page(file):
    text = file.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text[:match.start()].count("\n") + 2
        yield f"{file.name}:{line}", as_module(match.group(1))


def parse_error(tool, module):
    """First error of gantry-opt on a module, or None."""
    result = subprocess.run([str(tool), "-"], input=module, capture_output=True, text=True)
    if result.returncode == 0:
        return None
    errors = [line for line in result.stderr.splitlines() if "error:" in line]
    return errors[0] if errors else f"exit status {result.returncode}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    build = parser.parse_args().build_dir
    tool = build / "bin/gantry-opt"
    if not tool.exists():
        print(f"{tool}: error: not built")
        return 1
    examples = []
    for name in ("GantryDialect.md", "PlanDialect.md"):
        examples += examples_of_dialect(build / "docs" / name)
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        examples += examples_of_page(file)
    failures = [f"{where}: error: no example" for where, module in examples if module is None]
    modules = [(where, module) for where, module in examples if module is not None]
    # All at once first: one start of the tool instead of a hundred.
    if parse_error_of_all(tool, [module for _, module in modules]):
        for where, module in modules:
            if error := parse_error(tool, module):
                failures.append(f"{where}: {error}")
    print(f"check_examples: {len(modules)} examples")
    print("\n".join(failures), end="\n" if failures else "")
    return 1 if failures or not modules else 0


def parse_error_of_all(tool, modules):
    result = subprocess.run([str(tool), "--split-input-file", "-"], input="\n// -----\n".join(modules),
                            capture_output=True, text=True)
    return result.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
