"""Whole networks against PyTorch, eager and compiled (reduce-overhead, which replays a CUDA graph, and max-autotune),
and ONNX Runtime's CUDA: f32 with TF32 off, and bf16, which ONNX Runtime's convolutions do not have.

Gantry is timed in this process, peers in another, which is ended when one takes too long, since compiling may. Those
networks come first whose ratio the project asks for, compiled without autotuning, then with it. A call that has no time
left says so, and the next one goes on: figures and what was compiled are kept. Gantry's run copies its inputs
to the GPU and its outputs back, PyTorch's operands are there already.
"""

import importlib.util
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import common
import networks
import run_plan
import runtime

FIRST = ("bert_base", "gpt2_small", "resnet50", "vit_b_16")
MODES = ("eager", "reduce-overhead", "max-autotune", "max-autotune-triton", "onnxruntime")  # as the report has them
BY_LIBRARY = ("gantry cublaslt", "gantry auto")  # plans with libraries
SECONDS = 480  # of a call
SECONDS_OF_ONE = 120 if not common.REHEARSED else 2  # of a peer; twice that when it comes again
NO_TIME = "no time left"


def gantry(entry, scratch):
    plan = runtime.Plan(runtime.Runtime(), common.unpacked(entry["plan"], scratch))
    plan.run({key: run_plan.made(info) for key, info in plan.infos("input").items()})
    times = plan.time(seconds=0.5)
    plan.close()
    return round(statistics.median(times) * 1e3, 4)


def alike(one, other):
    return all(one[key] == other[key] for key in ("name", "dtype"))


def order(entries):
    """(entry, mode) in the order in which they are measured: what is asked for first, what is slow last."""
    first = sorted((entry for entry in entries if entry["name"] in FIRST),
                   key=lambda entry: (FIRST.index(entry["name"]), entry["dtype"] != "f32"))
    others = [entry for entry in entries if entry["name"] not in FIRST]
    for mode, some in (("reduce-overhead", first), ("max-autotune", first), ("eager", [*first, *others]),
                       ("reduce-overhead", others), ("onnxruntime", [*first, *others]), ("max-autotune", others),
                       ("max-autotune-triton", first)):
        yield from ((entry, mode) for entry in some)


def impossible(entry, mode):
    """Why a peer cannot be asked, or None."""
    if mode == "max-autotune-triton" and entry["name"] not in FIRST:
        return "not asked"
    if mode != "onnxruntime":
        return None
    if entry["dtype"] != "f32":
        return "f32 only"
    return None if common.REHEARSED or importlib.util.find_spec("onnxruntime") else "not installed"


class Worker:
    """The process of the peers, begun when it is first asked and again after it was ended."""

    def __init__(self):
        self.process, self.errors, self.text = None, None, b""

    def begin(self):
        script = str(common.ROOT / "tools/dev/gpu_check/peer_network.py")
        self.text, self.errors = b"", tempfile.TemporaryFile()
        self.process = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, start_new_session=True)

    def end(self):
        """With the processes that it has begun, which compile for it."""
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.communicate()
            self.errors.close()
        self.process = None

    def line(self, seconds):
        """The next line of its output; None when there is none in that time, empty when it has ended."""
        end = time.monotonic() + seconds
        while b"\n" not in self.text:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                return b""
            self.text += part
        line, self.text = self.text.split(b"\n", 1)
        return line

    def said(self):
        self.errors.seek(0)
        return (self.errors.read().decode(errors="replace").strip().splitlines() or ["nothing"])[-1][:150]

    def ask(self, entry, mode, seconds):
        """{"ms", "flags"}, {"failed"} or {"slow": seconds}."""
        if not self.process:
            self.begin()
        try:
            self.process.stdin.write(f"{entry['name']} {entry['dtype']} {mode}\n".encode())
            self.process.stdin.flush()
            line = self.line(seconds)
        except BrokenPipeError:
            line = b""
        if line is None:
            self.end()
            return {"slow": round(seconds)}
        found = json.loads(line) if line else {"failed": f"its process ended: {self.said()}"}
        if "failed" in found:  # which may have cost it the GPU
            self.end()
        return found


def key_of(entry, mode):
    return f"{entry['name']} {entry['dtype']} {mode}"


def measure(stage, kept, budget, worker, steps, seconds_of_one=SECONDS_OF_ONE):
    """Those that nobody has measured, then those that were too slow, with twice the time, as long as there is time."""
    slow = [step for step in steps if "slow" in (kept.get(key_of(*step)) or {})]
    for entry, mode in [*(step for step in steps if kept.get(key_of(*step)) is None), *slow]:
        limit = seconds_of_one * (2 if (entry, mode) in slow else 1)
        if (left := budget.left()) < min(10, seconds_of_one):
            return
        budget.spend()
        found = kept.put(key_of(entry, mode), worker.ask(entry, mode, min(left, limit)))
        print(f"  {stage.seconds():.0f} s: {key_of(entry, mode)}: {shown(found)}", flush=True)
        stage.write()


def shown(found):
    if "slow" in found:
        return f"more than {found['slow']} s"
    return found["ms"] if "ms" in found else "failed: " + found["failed"][:100]


def figures(kept, entry, modes=MODES):
    """The row of a network."""
    row = {"network": entry["name"], "dtype": "f32, TF32 off" if entry["dtype"] == "f32" else entry["dtype"],
           **{f"{who.replace(' ', '_')}_ms": kept.get(key_of(entry, who)) for who in ("gantry", *BY_LIBRARY)}}
    for mode in modes:
        known = kept.get(key_of(entry, mode))
        row[mode] = shown(known) if known else impossible(entry, mode) or NO_TIME
    times = [row[mode] for mode in modes if not isinstance(row[mode], str)]
    for who in ("gantry", *(name.replace(' ', '_') for name in BY_LIBRARY)):
        own = row[f"{who}_ms"]
        row[f"{who}_times_best_measured"] = round(min(times) / own, 3) if times and isinstance(own, float) else "no peer"
    return row


def time_gantry(kept, entries, scratch):
    """Of each network by our own kernels, and by a library where there is such a plan."""
    who_of = lambda entry: "gantry" if networks.is_ours(entry) else f"gantry {networks.library_of(entry)}"
    for entry in entries:
        who = who_of(entry)
        if kept.get(key_of(entry, who)) is None:
            kept.put(key_of(entry, who), gantry(entry, scratch))
    for entry in entries:
        for who in BY_LIBRARY:
            if not any(who_of(other) == who and alike(other, entry) for other in entries):
                kept.put(key_of(entry, who), "not built")


def flags_of(kept, steps):
    """What was set for each mode, once."""
    found = {}
    for entry, mode in steps:
        flags = (kept.get(key_of(entry, mode)) or {}).get("flags")
        if flags:
            found.setdefault(f"{mode}: {flags}")
    return list(found)


def timed_here():
    """Plans of the bundle's networks, those that a rehearsal has no time for left out."""
    return [entry for entry in common.manifest()["networks"] if not (common.REHEARSED and entry["large"])]


def run(name, entries, steps, row, seconds_of_one=SECONDS_OF_ONE):
    """A stage: the plans by Gantry, then `steps`, [(entry, mode)] of peers. `row` makes a network's of what is kept, which
    stages that ask peers share."""
    own = [entry for entry in entries if networks.is_ours(entry)]
    kept, budget, worker = common.Kept("peers"), common.Budget(SECONDS), Worker()
    with common.Stage(name) as stage, tempfile.TemporaryDirectory() as scratch:
        # Written whenever a figure comes, with those of earlier calls.
        stage.result = lambda: ([row(kept, entry) for entry in own], flags_of(kept, steps))
        try:
            time_gantry(kept, entries, scratch)
            measure(stage, kept, budget, worker, steps, seconds_of_one)
        finally:
            worker.end()
        missing = [key_of(*step) for step in steps if kept.get(key_of(*step)) is None or "slow" in kept.get(key_of(*step))]
        if missing:
            stage.note(f"{len(missing)} of {len(steps)} without a figure, the next: {missing[0]}; --stage={name} again goes on")
    return stage.failed()


def main():
    entries = timed_here()
    own = [entry for entry in entries if networks.is_ours(entry)]
    return run("peers", entries, [step for step in order(own) if not impossible(*step)], figures)


if __name__ == "__main__":
    sys.exit(main())
