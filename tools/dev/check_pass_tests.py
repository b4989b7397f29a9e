#!/usr/bin/python3
"""Checks that every pass is tested and described.

For each `def X : Pass<"gantry-verb-noun", ...>` of the .td files under include/: some RUN line of
test/ names the flag, there is a description, it says more than the summary, every option has a
sentence, and there are no statistics (include/gantry/Transforms/Passes.td says why).

Usage: check_pass_tests.py [ROOT]      exit status 1 and one line per offence
"""

import pathlib
import re
import sys

PASS = re.compile(r'^def\s+(\w+)\s*:\s*(?:Interface)?Pass<\s*"([\w-]+)"', re.MULTILINE)
OPTION = re.compile(r'\b(?:Option|ListOption)<\s*("(?:[^"\\]|\\.)*"(?:\s*,\s*"(?:[^"\\]|\\.)*"|'
                    r'\s*,\s*[^,"<>]*(?:<[^<>]*>)?[^,"<>]*)*)>', re.DOTALL)


def passes_in(text):
    """Yields (def name, flag, body up to the next def) of each pass of a .td file."""
    found = list(PASS.finditer(text))
    for index, match in enumerate(found):
        end = found[index + 1].start() if index + 1 < len(found) else len(text)
        yield match.group(1), match.group(2), text[match.end():end]


def field(body, name):
    """Value of `let name = ...`, string or [{ }] block; empty when there is none."""
    match = re.search(rf'let\s+{name}\s*=\s*(?:"((?:[^"\\]|\\.)*)"|\[\{{(.*?)\}}\])', body, re.DOTALL)
    return (match.group(1) or match.group(2) or "").strip() if match else ""


def run_lines(test_dir):
    """Text of all RUN lines under `test_dir`, continuation lines included as they are."""
    lines = []
    for file in sorted(test_dir.rglob("*")):
        if file.suffix in (".mlir", ".test") and file.is_file():
            lines += [line for line in file.read_text(encoding="utf-8").splitlines()
                      if "RUN:" in line]
    return "\n".join(lines)


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parents[2]
    runs = run_lines(root / "test")
    failures = count = 0

    def report(file, name, message):
        nonlocal failures
        failures += 1
        print(f"{file.relative_to(root)}: error: {name}: {message}")

    for file in sorted((root / "include").rglob("*.td")):
        for name, flag, body in passes_in(file.read_text(encoding="utf-8")):
            count += 1
            summary, description = field(body, "summary"), field(body, "description")
            # The flag as a whole: `gantry-verify-copies` is not a use of `gantry-verify`.
            if not re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", re.sub(r"--?(?=gantry-)", " ", runs)):
                report(file, name, f"no RUN line under test/ names '{flag}'")
            if not summary or not description:
                report(file, name, "a summary and a description are needed")
            elif description.rstrip(".") == summary.rstrip("."):
                report(file, name, "the description only repeats the summary")
            if re.search(r"\b(?:let\s+statistics\b|Statistic<)", body):
                report(file, name, "has statistics, which count nothing where MLIR is built with NDEBUG")
            for option in OPTION.finditer(body):
                strings = re.findall(r'"((?:[^"\\]|\\.)*)"', option.group(1))
                if " " not in strings[-1]:
                    report(file, name, f"option '{strings[0]}' has no sentence")
    print(f"check_pass_tests: {count} passes")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
