"""What the benchmarks against peers share: the tool, the machine, flags and the pair of files that they write."""

import argparse
import datetime
import json
import os
import pathlib
import subprocess


class Gantry:
    """The tool, with nothing kept from call to call."""

    def __init__(self, path, threads):
        self.path = path
        self.threads = threads
        self.environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "GANTRY_CACHE_SIZE": "0"}

    def __call__(self, *arguments):
        return subprocess.run([self.path, *map(str, arguments)], check=True, capture_output=True, text=True,
                              env=self.environment).stdout

    def measure_machine(self):
        """A topology as text, with measured rates."""
        return self("devices", "--calibrate", "--json", "--threads", self.threads)


def peak_of(topology):
    """Operations on f32 that the processor does in a second, at most."""
    return json.loads(topology)["physical"][0]["peak_flops"]["f32"]


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    name = next((line.split(": ")[1] for line in text.splitlines() if line.startswith("model name")), "unknown")
    return f"{name}, {os.cpu_count()} processors"


def write(path, result, parts, text):
    """`text` as PATH.md; `result` and, a row a line, its lists of rows `parts` as PATH.json."""
    rows = lambda part: "[\n" + ",\n".join("  " + json.dumps(row) for row in part) + "\n]"
    head = json.dumps({key: value for key, value in result.items() if key != "parts"})[:-1]
    body = ",\n".join(f"{json.dumps(name)}: {rows(part)}" for name, part in parts.items())
    _replace(path.with_suffix(".json"), head + ', "parts": {\n' + body + "\n}}\n")
    _replace(path.with_suffix(".md"), text)


def _replace(path, text):
    """Whole or not at all: who measures row by row, and is ended, loses none."""
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)


def parser_of_models(doc, threads, rounds, seconds):
    """The flags of those who measure whole models; numbers are what is taken where a flag is not given."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--gantry", required=True)
    parser.add_argument("--threads", nargs="+", type=int, default=threads)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--write", type=pathlib.Path, help="a .md and a .json of that name")
    return parser


def result_of_models(options, load, rows, **more):
    """What was measured how; `load` is the machine's before."""
    return {"machine": machine(), "date": datetime.date.today().isoformat(), **more, "rounds": options.rounds,
            "seconds": options.seconds, "load": [load, os.getloadavg()[0]], "parts": {"models": rows}}


def give(options, result, page):
    """Writes the page and the figures where --write says, else prints the page."""
    if options.write:
        write(options.write, result, result["parts"], page(result))
    else:
        print(page(result))
