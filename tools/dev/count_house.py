#!/usr/bin/python3
"""Counts what makes the compiler hard to change: lines, long functions, and casts to kinds of ops.

  lines        of lib and include, headers, sources, definitions and schemas, blanks and comments too
  functions    of lib and include with more than 60 lines, from the first line of their head to the closing brace;
               a lambda counts with the function around it
  casts        isa, cast, dyn_cast and their like in lib/Target and lib/Transforms whose type is an op of Gantry's
               dialects: what a pass asks an op's kind for, and not an interface

Usage: count_house.py [--root ROOT] [--list] [--json]      --list names the long functions and the casts of each file
"""

import argparse
import collections
import json
import pathlib
import re

SUFFIXES = (".cpp", ".h", ".td", ".def", ".fbs")
LONG = 60
CAST = re.compile(r"\b(?:isa|isa_and_present|isa_and_nonnull|cast|cast_or_null|cast_if_present|dyn_cast|dyn_cast_or_null|"
                  r"dyn_cast_if_present)<([^<>()]*)>")
OP = re.compile(r"(?<![\w:])(?:(?:gantry::)?plan::ir::|gantry::)?[A-Z]\w*Op\b(?!\s*::)")
# What is no code, its line ends kept.
HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*',
                    re.DOTALL | re.MULTILINE)
SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b[^()=]*$|\bextern\s*$")
HEAD = re.compile(r"(~?\w+|operator\S+?)\s*\(")


def files(root, folders, suffixes=SUFFIXES):
    for folder in folders:
        yield from (file for file in sorted((root / folder).rglob("*")) if file.suffix in suffixes)


def without_text(code):
    return HIDDEN.sub(lambda match: "\n" * match.group().count("\n"), code)


def functions(code):
    """(name, first line, number of lines) of each function that is defined."""
    text, scopes, start, found = without_text(code), [], 0, []
    inside = None  # the depth, head and first line of the function that this is in
    for match in re.finditer(r"[{};]", text):
        sign, at = match.group(), match.start()
        if sign == "{":
            head = text[start:at]
            if inside is None and not SCOPE.search(head) and (name := HEAD.search(head)):
                first = start + len(head) - len(head.lstrip())
                inside = (len(scopes), name.group(1), first)
            scopes.append(head)
        elif sign == "}" and scopes:
            scopes.pop()
            if inside and inside[0] == len(scopes):
                found.append((inside[1], text.count("\n", 0, inside[2]) + 1, text.count("\n", inside[2], at) + 1))
                inside = None
        start = at + 1
    return found


def casts(code):
    return sum(any(OP.fullmatch(kind.strip()) for kind in match.group(1).split(","))
               for match in CAST.finditer(without_text(code)))


def count(root):
    lines = sum(file.read_bytes().count(b"\n") for file in files(root, ("lib", "include")))
    long, number, asked = [], 0, collections.Counter()
    for file in files(root, ("lib", "include"), (".cpp", ".h")):
        for name, first, length in functions(file.read_text(encoding="utf-8")):
            number += 1
            if length > LONG:
                long.append((length, f"{file.relative_to(root)}:{first}", name))
    for file in files(root, ("lib/Target", "lib/Transforms"), (".cpp", ".h")):
        asked[str(file.relative_to(root))] += casts(file.read_text(encoding="utf-8"))
    return {"lines": lines, "functions": number, "long_functions": sorted(long, reverse=True), "casts": +asked}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = count(options.root)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print(f"lines of lib and include: {found['lines']}\nfunctions: {found['functions']}, over {LONG} lines: "
          f"{len(found['long_functions'])}\ncasts to kinds of ops: {sum(found['casts'].values())}")
    if options.list:
        print(*(f"{length:5} {place} {name}" for length, place, name in found["long_functions"]), sep="\n")
        print(*(f"{number:5} {file}" for file, number in found["casts"].most_common()), sep="\n")


if __name__ == "__main__":
    main()
