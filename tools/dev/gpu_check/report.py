"""Writes docs/benchmarks/gpu.md from the stages' JSON files: every figure, every line with what it was seen on.
Beside it gpu.html has the same as pictures (pictures.py).

A stage without a file has a line that says so, and where no file is of a real GPU the page begins with that.

Usage: report.py [FOLDER with STAGE.json] [--output FILE]
"""

import argparse
import json
import pathlib

import pictures

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGES = {
    "bits": "Bits: the interpreter's and the GPU's, over the kernel table",
    "programs": "Programs: conformance, section 9 of the specification, networks",
    "sanitize": "Sanitizers",
    "memory": "Memory: planned and taken",
    "bench": "Speed",
    "peers": "Networks against PyTorch and ONNX Runtime",
    "autotune": "Networks against PyTorch's max-autotune",
}
HEADER = """# On a GPU

<!-- Made by tools/dev/gpu_check.sh --report from the JSON files of its stages; do not edit. -->

What each column means, and the commands that make this page: [METHOD.md](METHOD.md). The last column of every line
says what the line was seen on. As pictures: [gpu.html](gpu.html).
"""


def read(folder):
    """{stage: result} of the files that are there; a broken one is an error that names it."""
    results = {}
    for stage in STAGES:
        file = folder / f"{stage}.json"
        if file.exists():
            try:
                result = json.loads(file.read_text())
                results[stage] = {key: result[key] for key in ("stage", "seen", "seconds", "rows", "notes")}
                results[stage]["tree"] = result.get("tree")  # of the plans; the first reports did not say
            except (ValueError, KeyError) as error:
                raise SystemExit(f"gpu_check: {file}: {type(error).__name__}: {error}") from None
    return results


def cell(value):
    return str(value).replace("|", "\\|").replace("\n", " ")


def tables(rows, seen):
    """Rows with the same columns, in a table of their own; in the order of the first of each."""
    grouped = {}
    for row in rows:
        grouped.setdefault(tuple(row), []).append(row)
    for columns, some in grouped.items():
        heads = [column.replace("_", " ") for column in columns] + ["seen on"]
        yield "| " + " | ".join(heads) + " |"
        yield "|" + "---|" * len(heads)
        for row in some:
            yield "| " + " | ".join([*(cell(row[column]) for column in columns), cell(seen)]) + " |"
        yield ""


def section(stage, result):
    yield f"## {STAGES[stage]}\n"
    if result is None:
        yield "no GPU was used: this stage has not run.\n"
        return
    if result.get("tree"):
        yield f"Plans of tree {result['tree']}.\n"
    verdicts = [row.get("verdict") for row in result["rows"]]
    if any(verdicts):
        yield (f"{verdicts.count('passed')} passed, {verdicts.count('failed')} failed, {verdicts.count('left out')} left out "
               f"in {result['seconds']} s ({result['seen']['what']}).\n")
    yield from tables(result["rows"], result["seen"]["what"])
    for note in result["notes"]:
        yield f"- {result['seen']['what']}: {cell(note)[:300]}"
    yield ""


def page(results):
    lines = [HEADER]
    if not any(result["seen"]["real"] for result in results.values()):
        lines.append("**no GPU was used.** All lines are of a rehearsal on the fake libcuda of the tests: they show that "
                     "every stage runs, and no time among them is that of a GPU.\n")
    for stage in STAGES:
        lines += section(stage, results.get(stage))
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=ROOT / "build/gpu-check/out")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs/benchmarks/gpu.md")
    arguments = parser.parse_args()
    results = read(arguments.folder)
    arguments.output.write_text(page(results), encoding="utf-8")
    arguments.output.with_suffix(".html").write_text(pictures.page(results), encoding="utf-8")
    print(f"wrote {arguments.output} and {arguments.output.with_suffix('.html').name}")


if __name__ == "__main__":
    main()
