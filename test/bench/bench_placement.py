#!/usr/bin/python3
"""Automatic placement against the alternatives that there are, on simulated GPUs.

192 configurations: six networks, 2 and 4 GPUs, equally fast or every second one half as fast, links of PCIe or NVLink, and
of what the network takes on one GPU all, 70, 50 and 35 % as the limit of each. 80 rows of random layered graphs: 20 graphs,
2 and 4 GPUs, without limits and with half of what one GPU would need, by turns with the other links and speeds. For each row
the predicted step of the plan of `--placement=auto` and of each alternative:

  default, follow  the other policies
  one GPU, CPU     all ops on the first GPU alone; on the host
  repaired         the default policy with --over-limit=fix
  one GPU fewer    --placement=auto with a GPU less
  cuts             contiguous pieces of the kernels in order, one for each GPU: every cut, in every order of fast and slow
                   GPUs, is estimated (kernels, and copies where it cuts); of the best the plans are made
  HEFT, CPOP, m-SCT  list schedulers of the literature (list_schedulers.py)

Prints a row for each: auto's time over that of the best alternative, who that was, and how far the plan is from what the
search predicted. Networks of make_models.py want PyTorch (or their files, in the folder that GANTRY_MADE_MODELS names).

Usage: bench_placement.py --build-dir BUILD [--models NAME,...] [--gpus 2,4] [--limits 100,70,50,35] [--links pcie,nvlink]
       [--speeds equal,half] [--graphs N] [--graph-limits 0,50] [--cuts N] [--jobs N] [--json FILE] [--write PAGE]
       [--rows FILE ...]
With --rows the figures of earlier runs are told, and nothing is measured: files of --json, which are complete after each
row, and pages of --write. Of rows that are the same the last one counts, so a page can be extended:
bench_placement.py --build-dir BUILD --rows docs/benchmarks/placement.md new.json --write docs/benchmarks/placement.md
Exit status 1 when auto is slower than an alternative, or finds no plan where one is, or a plan is off what was predicted by
more than a hundredth, or more GPUs make it slower.
"""

import argparse
import concurrent.futures
import datetime
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import cases  # noqa: E402
import list_schedulers  # noqa: E402
import placement_graphs  # noqa: E402

LINKS = {"pcie": (12e9, 1e-5), "nvlink": (300e9, 1e-5)}  # bytes a second, seconds
NETWORKS = ("bert_base", "gpt2_small", "vit_b_16", "resnet50", "inception", "yolox_nano")
GRAPHS = 20
SAME = 1.0005  # predictions within this are the same
OFF = 0.01  # of what was predicted
ROUNDED = 1e-6  # seconds that two figures of a page may differ by and be the same
LIMITS = (0, 100, 70, 50, 35)


class Tool:
    """Calls the built tool; what is told of a graph is kept, so that rows with the same question ask once."""

    def __init__(self, build, scratch):
        self.program, self.scratch = pathlib.Path(build).resolve() / "bin/gantry", pathlib.Path(scratch)
        self.made, self.count, self.known = self.scratch, itertools.count(), {}

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def explain(self, model, topology, *flags):
        """What is told of a plan, or None where none is within the limits."""
        key = (model, topology, flags)
        if key not in self.known:
            status, out, said = self.run("explain", model, "--json", f"--topology={topology}", *flags)
            if status not in (0, 3):
                print(f"explain {model} --topology={topology.stem} {' '.join(flags)}: status {status}, {said[-300:]}", flush=True)
            told = json.loads(out) if status == 0 else None
            self.known[key] = told and {**told, **told["functions"][0], "said": said}
        return self.known[key]

    def placed(self, model, topology, rules):
        path = self.scratch / f"rules{next(self.count)}"
        path.write_text("\n".join(f"name:{name}={device}" for name, device in rules) + "\n")
        told = self.explain(model, topology, f"--place=@{path}")
        path.unlink()
        return told

    def topology(self, gpus, speeds, link, limit=0):
        """A file: a CPU and GPUs, every second one half as fast for `half`."""
        path = self.scratch / f"{gpus}-{speeds}-{link}-{limit}.json"
        if path.exists():
            return path
        names = ",".join(["CPU:0", *(f"GPU:{i}" for i in range(gpus))])
        machine = json.loads(self.run("devices", "--json", f"--devices={names}", "--simulate")[1])
        bandwidth, latency = LINKS[link]
        for link_ in machine["links"]:
            link_["bandwidth"], link_["latency"] = bandwidth, latency
        for number, device in enumerate(d for d in machine["physical"] if "GPU" in d["name"]):
            if speeds == "half" and number % 2:
                device["bandwidth"] /= 2
                device["peak_flops"] = {kind: rate / 2 for kind, rate in device["peak_flops"].items()}
        for device in machine["logical"]:
            if limit and "GPU" in device["name"]:
                device["limit"] = limit
        part = path.with_suffix(f".{next(self.count)}")
        part.write_text(json.dumps(machine))
        part.rename(path)
        return path


def network(tool, name):
    """The file of a network, or Skip."""
    if name == "inception":
        return cases.shared("light/light_inception_v1.onnx")
    if name == "yolox_nano":
        placement_graphs.yolox_nano(tool.scratch / "yolox_nano.onnx")
        return tool.scratch / "yolox_nano.onnx"
    return pathlib.Path(name) if pathlib.Path(name).is_file() else cases.made(tool, name, "GANTRY_MADE_MODELS")


def taken(told, device="device:GPU:0"):
    return sum(row["constants"] + row["variables"] + row["transient"] + row.get("bound", 0)
               for row in told["memory"] if row["device"].endswith(device))


#===------------------------------------------------------------------------===#
# Alternatives
#===------------------------------------------------------------------------===#

def orders_of(gpus, speeds):
    """The orders of GPUs that differ: which are slow is all that does."""
    fast, slow = (range(0, gpus, 2), range(1, gpus, 2)) if speeds == "half" else (range(gpus), ())
    for places in itertools.combinations(range(gpus), len(slow)):
        left, right = iter(fast), iter(slow)
        yield [f"GPU:{next(right) if place in places else next(left)}" for place in range(gpus)]


def cuts_of(tasks, gpus, steps=24):
    """Tuples of places between tasks: all of them for two pieces, for more some `steps` by weights and time."""
    if gpus == 2:
        return [(cut,) for cut in range(1, len(tasks))]
    share = lambda of: [sum(of(task) for task in tasks[:i]) / max(1e-30, sum(map(of, tasks))) for i in range(len(tasks) + 1)]
    weights, seconds = share(lambda task: task.weights), share(lambda task: task.seconds["GPU:0"])
    grid = sorted({min(range(len(tasks)), key=lambda i: abs(weights[i] + seconds[i] - 2 * step / steps))
                   for step in range(1, steps)} - {0})
    return list(itertools.combinations(grid, gpus - 1))


def estimated_cuts(tasks, machine, gpus, speeds):
    """(seconds, devices by task), the best first: kernels one after the other, and copies where pieces meet."""
    crossing, most = [0] * (len(tasks) + 1), machine.limits.get("GPU:0") or float("inf")
    for i, task in enumerate(tasks):
        last = max(task.after, default=i)
        for cut in range(i + 1, last + 1):
            crossing[cut] += task.bytes
    sums = {device: list(itertools.accumulate((task.seconds[device] for task in tasks), initial=0))
            for device in machine.devices}
    weights = list(itertools.accumulate((task.weights for task in tasks), initial=0))
    found = []
    for cuts in cuts_of(tasks, gpus):
        ends = [0, *cuts, len(tasks)]
        if any(weights[b] - weights[a] > most for a, b in zip(ends, ends[1:])):
            continue
        copies = sum(machine.copy(crossing[cut], 0, 1) for cut in cuts)
        for order in orders_of(gpus, speeds):
            seconds = sum(sums[d][b] - sums[d][a] for d, a, b in zip(order, ends, ends[1:]))
            found.append((seconds + copies, cuts, order))
    found.sort(key=lambda entry: entry[:2])
    return [(f"cuts at {'/'.join(map(str, cuts))} of {len(tasks)}, {' '.join(order)}",
             [order[sum(cut <= i for cut in cuts)] for i in range(len(tasks))]) for _, cuts, order in found]


class Row:
    """One configuration."""

    def __init__(self, tool, name, model, gpus, speeds, link, percent, cuts):
        self.tool, self.model, self.gpus, self.speeds, self.link, self.cuts = tool, model, gpus, speeds, link, cuts
        one = tool.explain(model, tool.topology(1, "equal", link))
        limit = taken(one) * percent // 100 if percent else 0
        self.topology = tool.topology(gpus, speeds, link, limit)
        self.told = {"name": name, "gpus": gpus, "speeds": speeds, "link": link, "percent": percent, "limit": limit}
        self.alternatives = {}

    def tasks(self):
        """Kernels with their times on every device."""
        free = self.tool.topology(2, self.speeds, self.link)
        told = {device: self.tool.explain(self.model, free, f"--place=*={device}") for device in ("CPU:0", "GPU:1", "GPU:0")}
        tasks = list_schedulers.read(told)
        for task in tasks:
            for i in range(2, self.gpus):
                task.seconds[f"GPU:{i}"] = task.seconds[f"GPU:{i % 2}"]
        return tasks

    def offer(self, name, told):
        if told and told["predicted_seconds"] < self.alternatives.get(name, float("inf")):
            self.alternatives[name] = told["predicted_seconds"]

    def flags(self):
        limit, gpus, speeds, link = (self.told[key] for key in ("limit", "gpus", "speeds", "link"))
        fewer = self.tool.topology(gpus - 1, speeds, link, limit)
        return {"default": (self.topology, []), "follow": (self.topology, ["--placement=follow"]),
                "one GPU": (self.tool.topology(1, speeds, link, limit), []), "CPU": (self.topology, ["--place=*=CPU:0"]),
                "repaired": (self.topology, ["--over-limit=fix"]), "one GPU fewer": (fewer, ["--placement=auto"])}

    def rules(self, tasks, devices):
        return [(name, device) for task, device in zip(tasks, devices) for name in task.ops]

    def measure(self):
        for name, (where, flags) in self.flags().items():
            self.offer(name, self.tool.explain(self.model, where, *flags))
        tasks = self.tasks()
        devices = ["CPU:0", *(f"GPU:{i}" for i in range(self.gpus))]
        machine = list_schedulers.Machine(devices, *LINKS[self.link],
                                          {device: self.told["limit"] for device in devices[1:]})
        for name, schedule in list_schedulers.PUBLISHED.items():
            if found := schedule(tasks, machine):
                self.offer(name, self.tool.placed(self.model, self.topology,
                                                  self.rules(tasks, [found[i] for i in range(len(tasks))])))
        for name, places in estimated_cuts(tasks, machine, self.gpus, self.speeds)[:self.cuts]:
            self.offer(name, self.tool.placed(self.model, self.topology, self.rules(tasks, places)))
        self.add_auto()
        return self.told

    def add_auto(self):
        auto = self.tool.explain(self.model, self.topology, "--placement=auto")
        unit = {"us": 1e-6, "ms": 1e-3, "s": 1}
        said = re.search(r"the search predicted ([\d.]+) (us|ms|s)\b", auto["said"]) if auto else None
        best = min(self.alternatives, key=self.alternatives.get) if self.alternatives else None
        self.told |= {"auto": auto and auto["predicted_seconds"], "bound": auto and auto["lower_bound_seconds"],
                      "believed": float(said[1]) * unit[said[2]] if said else None,
                      "best": best, "alternatives": self.alternatives}


#===------------------------------------------------------------------------===#
# Verdicts
#===------------------------------------------------------------------------===#

def best_of(row):
    return row["alternatives"][row["best"]] if row["best"] else None


def ratio_of(row):
    """Auto's time over that of the best alternative, as the page has it, or of the figures."""
    return row.get("ratio") or row["auto"] / best_of(row)


def is_slower(row, seconds, is_rounded=False):
    return row["auto"] > seconds * SAME + (ROUNDED if is_rounded or row.get("of_page") else 0)


def faults(row):
    """What is wrong with a row, in words."""
    wrong = []
    if row["auto"] is None:
        return ["REFUSED"] if row["best"] else []
    if row["best"] and is_slower(row, best_of(row)):
        wrong.append("WORSE")
    if row["believed"] and abs(row["auto"] / row["believed"] - 1) > OFF:
        wrong.append("OFF")
    return wrong


def where(row):
    limit = f"{row['percent']:>3} %" if row["percent"] else "  no"
    return f"{row['name']:<12} {row['gpus']} {row['speeds']:<5} {row['link']:<6} {limit}"


def show(row):
    if row["auto"] is None:
        return f"{where(row)}  " + (f"REFUSED, {row['best']} takes {best_of(row) * 1e3:.3f} ms" if row["best"] else "nothing fits")
    if row["best"] is None:
        return f"{where(row)}  auto {row['auto'] * 1e3:9.3f} ms, nothing else fits"
    off = f"{(row['auto'] / row['believed'] - 1) * 100:+.1f} %" if row["believed"] else "?"
    return (f"{where(row)}  {row['auto'] / best_of(row):6.3f}  {row['auto'] * 1e3:9.3f} ms  of {best_of(row) * 1e3:9.3f} ms"
            f" ({row['best']})  plan {off}  bound {row['bound'] / row['auto']:.2f}  {' '.join(faults(row))}")


def key_of(row, gpus):
    return row["name"], gpus, row["speeds"], row["link"], row["percent"]


def with_more_gpus(rows):
    """Pairs of rows where twice the GPUs take longer."""
    known = {key_of(row, row["gpus"]): row for row in rows}
    pairs = [(row, known.get(key_of(row, 2 * row["gpus"]))) for row in rows]
    return [(few, many) for few, many in pairs
            if many and few["auto"] and (not many["auto"] or is_slower(many, few["auto"], few.get("of_page")))]


def summary(rows, slower):
    ratios = sorted(ratio_of(row) for row in rows if row["auto"] and row["best"])
    off = [abs(row["auto"] / row["believed"] - 1) for row in rows if row["auto"] and row["believed"]]
    count = lambda what: sum(what in faults(row) for row in rows)
    text = f"{len(rows)} rows: auto is slower than the best alternative in {count('WORSE')}, refused in {count('REFUSED')}"
    if ratios:
        text += f"; its time over that of the best: median {ratios[len(ratios) // 2]:.3f}, most {ratios[-1]:.3f}, least {ratios[0]:.3f}"
    if off:
        text += f"; plans are at most {max(off) * 100:.2f} % off what was predicted, {count('OFF')} by more than 1 %"
    return text + f"; slower with twice the GPUs: {len(slower)}"


def page(rows, slower, seconds):
    """The page under docs/benchmarks."""
    when = f"on {datetime.date.today()}"
    if any(row.get("of_page") for row in rows):
        when = f"in several runs, the last of them {when}, each with the program of its day"
    lines = ["# Automatic placement against everything else", "",
             "Made by `test/bench/bench_placement.py --build-dir build/release --write docs/benchmarks/placement.md`, which says what",
             f"the alternatives are, {when}" + (f" in {seconds / 60:.0f} minutes" if seconds else "") + ".",
             "Times are those of the plans' clock, so nothing depends on the machine or on what else it does.", "", summary(rows, slower) + ".", "",
             "| graph | GPUs | speeds | links | limit | auto, ms | best alternative, ms | who | ratio | plan against prediction | bound |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        best, auto = best_of(row), row["auto"]
        off = f"{(auto / row['believed'] - 1) * 100:+.2f} %".replace("-0.00", "+0.00") if auto and row["believed"] else ""
        lines.append(f"| {row['name']} | {row['gpus']} | {row['speeds']} | {row['link']} | {row['percent'] or 'no'} | "
                     + (f"{auto * 1e3:.3f}" if auto else "refused") + " | " + (f"{best * 1e3:.3f}" if best else "none")
                     + f" | {(row['best'] or '').split(' at ')[0]} | " + (f"{ratio_of(row):.3f}" if auto and best else "") + f" | {off} | "
                     + (f"{row['bound'] / auto:.2f}" if auto else "") + " |")
    return "\n".join(lines) + "\n"


def rows_of_page(text):
    """The rows of a page as they were measured, but for digits that a page does not have."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if len(cells) != 11 or not cells[1].isdigit():
            continue
        name, gpus, speeds, link, percent, auto, best, who, ratio, off, bound = cells
        seconds = lambda text: None if text in ("refused", "none") else float(text) / 1e3
        auto, best = seconds(auto), seconds(best)
        yield {"name": name, "gpus": int(gpus), "speeds": speeds, "link": link, "percent": 0 if percent == "no" else int(percent),
               "auto": auto, "bound": auto and float(bound) * auto, "best": who or None, "alternatives": {who: best} if who else {},
               "believed": auto / (1 + float(off.rstrip(" %")) / 100) if auto and off else None,
               "ratio": float(ratio) if ratio else None, "of_page": True}


def rows_of(files):
    """Rows of files, the last of those that are the same, in the order of the configurations."""
    rows = {}
    for file in map(pathlib.Path, files):
        text = file.read_text()
        for row in json.loads(text) if file.suffix == ".json" else rows_of_page(text):
            rows[key_of(row, row["gpus"])] = row
    names = {name: place for place, name in enumerate(NETWORKS)}
    place = lambda name: (names.get(name, len(names)), name.split()[0], int(name.split()[-1]) if " " in name else 0)
    return sorted(rows.values(), key=lambda row: (place(row["name"]), row["gpus"], row["speeds"], list(LINKS).index(row["link"]),
                                                  LIMITS.index(row["percent"])))


def write_json(file, rows):
    """All of it or nothing, so whoever is stopped loses no rows."""
    part = pathlib.Path(f"{file}.part")
    part.write_text(json.dumps(rows, indent=1))
    part.replace(file)


def configurations(tool, options):
    """(name, file, GPUs, speeds, link, limit)."""
    split = lambda text: text.split(",")
    for name in filter(None, split(options.models)):
        try:
            file = network(tool, name)
        except cases.Skip as reason:
            print(f"skipped: {name}: {reason}")
            continue
        for gpus, speeds, link, percent in itertools.product(
                map(int, split(options.gpus)), split(options.speeds), split(options.links), map(int, split(options.limits))):
            yield pathlib.Path(name).stem, file, gpus, speeds, link, percent
    for seed in range(options.graphs):
        file = tool.scratch / f"layered{seed}.mlir"
        placement_graphs.layered(file, seed)
        link, speeds = list(LINKS)[seed % 2], ("equal", "half")[seed // 2 % 2]
        for gpus, percent in itertools.product(map(int, split(options.gpus)), map(int, split(options.graph_limits))):
            yield f"layered {seed}", file, gpus, speeds, link, percent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", required=True)
    parser.add_argument("--models", default=",".join(NETWORKS), help="names of the networks, or ONNX and MLIR files")
    parser.add_argument("--gpus", default="2,4")
    parser.add_argument("--limits", default="100,70,50,35", help="in %% of what the network takes on one GPU")
    parser.add_argument("--links", default="pcie,nvlink")
    parser.add_argument("--speeds", default="equal,half")
    parser.add_argument("--graphs", type=int, default=GRAPHS, help="random layered graphs, four rows each")
    parser.add_argument("--graph-limits", default="0,50", help="of these, in %%; 0: none")
    parser.add_argument("--cuts", type=int, default=12, help="plans made of contiguous pieces, for each row")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", help="write all figures here")
    parser.add_argument("--write", help="write the page here")
    parser.add_argument("--rows", nargs="+", help="files of --json and pages of --write to tell of instead of measuring")
    options = parser.parse_args()
    if options.rows:
        return tell(options, rows_of(options.rows), 0)
    started, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tool = Tool(options.build_dir, scratch)
        for row in pool.map(lambda case: Row(tool, *case, options.cuts).measure(), configurations(tool, options)):
            rows.append(row)
            print(show(row), flush=True)
            if options.json:
                write_json(options.json, rows)
    return tell(options, rows, time.monotonic() - started)


def tell(options, rows, seconds):
    """Prints what it comes to, writes the page that was asked for; the exit status."""
    slower = with_more_gpus(rows)
    for few, many in slower:
        print(f"{where(many)}  {(many['auto'] or 0) * 1e3:.3f} ms, with half the GPUs {few['auto'] * 1e3:.3f} ms")
    print(summary(rows, slower))
    if options.write:
        pathlib.Path(options.write).write_text(page(rows, slower, seconds))
    return 1 if slower or any(map(faults, rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
