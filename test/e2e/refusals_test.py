#!/usr/bin/python3
"""The tool compiles a graph while one allocation, or one thread, is refused: the n-th of the process.

Each run has to end with the plan that it makes otherwise, bit for bit, or with status 3, a sentence that says what
there was none of, and no file; a thread that is refused never costs the plan. test/refuse counts and refuses.

Allocations: the first --first of them, and --drawn of the rest; those by calloc, which are few, once more by themselves.
Threads: one after the other until none is refused, and all from the n-th on.

Usage: refusals_test.py --build-dir BUILD [--model FILE ...] [--first N] [--drawn N] [--seed N] [--only allocation|calloc|thread]
                        [--case N] [--jobs N] [--json FILE]
The long form: --model examples/digits/digits.onnx squeezenet.onnx bert_base.onnx --first 2000 --drawn 500
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS_PER_RUN = 60
WORDS = re.compile(r"(?m)^gantry: error: .*(memory|thread)")


class Compilation:
    """One model, compiled again and again."""

    def __init__(self, build, model, folder):
        self.build, self.model, self.folder = build, model, folder
        self.plan, self.counts = self.reference()

    def run(self, where, **environment):
        where.mkdir()
        return subprocess.run([self.build / "bin/gantry", "compile", self.model, "-o", where / "made.gantry"],
                              env={**os.environ, "GANTRY_CACHE_SIZE": "0", "LD_PRELOAD": str(self.build / "lib/librefuse.so"),
                                   "REFUSE_TOLD": str(where / "told"), **environment},
                              capture_output=True, text=True, errors="replace", timeout=SECONDS_PER_RUN, check=False,
                              stdin=subprocess.DEVNULL)

    def reference(self):
        where = self.folder / f"{self.model.stem}-reference"
        done = self.run(where, REFUSE_COUNTS=str(where.with_suffix(".counts")))
        assert done.returncode == 0, done.stderr
        counts = dict(zip(("allocation", "thread", "calloc"), map(int, where.with_suffix(".counts").read_text().split())))
        assert all(counts.values()), f"test/refuse counts nothing: {counts}"
        return (where / "made.gantry").read_bytes(), counts

    def refuse(self, kind, number):
        """(whether anything was refused, what is wrong or None) when the n-th, "7", or it and all later, "7+", is."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            where = pathlib.Path(folder) / "run"
            try:
                done = self.run(where, **{"REFUSE_" + kind.upper(): number})
            except subprocess.TimeoutExpired:
                return True, f"more than {SECONDS_PER_RUN} s"
            left = sorted(path.name for path in where.iterdir() if path.name != "told")
            plan = (where / "made.gantry").read_bytes() if left == ["made.gantry"] else None
            return (where / "told").exists(), self.judge(kind, done, left, plan)

    def judge(self, kind, done, left, plan):
        end = done.stderr[-300:].strip()
        if done.returncode < 0:
            return f"{signal.Signals(-done.returncode).name}; {end}"
        if done.returncode == 0:
            return None if plan == self.plan else f"status 0, and {'another plan' if plan else f'no plan, but {left}'}"
        if done.returncode != 3 or kind == "thread":
            return f"status {done.returncode}: {end}"
        if left:
            return f"it left {left}"
        return None if WORDS.search(done.stderr) else f"status 3 without the reason: {end}"


def numbers_of(kind, compilation, options):
    """What is refused, as texts."""
    total = compilation.counts[kind]
    if kind == "thread":  # a few more than there were: how many there are may be another number each time
        return [f"{n}{more}" for n in range(1, total + 2) for more in ("", "+")]
    first = range(1, min(options.first, total) + 1)
    rest = range(len(first) + 1, total + 1)
    drawn = random.Random(options.seed).sample(rest, min(options.drawn, len(rest)))
    return [str(n) for n in (*first, *sorted(drawn))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, nargs="+", default=[ROOT / "examples/digits/digits.onnx"])
    parser.add_argument("--first", type=int, default=150)
    parser.add_argument("--drawn", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("allocation", "calloc", "thread"), nargs="+",
                        default=["thread", "calloc", "allocation"])
    parser.add_argument("--case", help="only this number")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path, help="for run_tests.py")
    options = parser.parse_args()
    tried, refused, failures = 0, 0, {}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for model in options.model:
            compilation = Compilation(options.build_dir.resolve(), model.resolve(), pathlib.Path(folder))
            for kind in options.only:
                numbers = [options.case] if options.case else numbers_of(kind, compilation, options)
                for number, (told, what) in zip(numbers, pool.map(lambda n, k=kind, c=compilation: c.refuse(k, n), numbers)):
                    tried, refused = tried + 1, refused + told
                    if what:
                        failures[f"{model.name} --only {kind} --case {number}"] = what
                        print(f"  {model.name} --only {kind} --case {number}: {what}", flush=True)
            print(f"  {model.name}: {compilation.counts['allocation']} allocations, {compilation.counts['thread']} threads",
                  flush=True)
    if not refused:
        failures["refusals"] = "nothing was refused"
    print(f"refusals: {tried - len(failures)} of {tried} runs end as they should, {refused} of them with a refusal")
    if options.json:
        options.json.write_text(json.dumps({"passed": tried - len(failures), "skips": {},
                                            "failures": [f"{name}: {what}" for name, what in sorted(failures.items())]}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
