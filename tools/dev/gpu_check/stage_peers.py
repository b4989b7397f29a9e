"""Whole networks against PyTorch, eager and compiled (reduce-overhead, which replays a CUDA graph, and max-autotune),
and ONNX Runtime's CUDA: f32 with TF32 off, and bf16, which ONNX Runtime's convolutions do not have.

Gantry is timed in this process, each peer in one of its own, which is ended when it takes too long, since
autotuning may. Those networks come first whose ratio the project asks for, and autotuning last. Gantry's run copies its inputs
to the GPU and its outputs back, PyTorch's operands are there already.
"""

import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile

import common
import networks
import run_plan
import runtime

FIRST = ("resnet50", "bert_base", "gpt2_small")
MODES = ("eager", "reduce-overhead", "onnxruntime", "max-autotune")
SECONDS, SECONDS_OF_ONE = 460, 150


def gantry(entry, scratch):
    plan = runtime.Plan(runtime.Runtime(), common.unpacked(entry["plan"], scratch))
    plan.run({key: run_plan.made(info) for key, info in plan.infos("input").items()})
    times = plan.time(seconds=1.0)
    plan.close()
    return round(statistics.median(times) * 1e3, 4)


def alike(one, other):
    return all(one[key] == other[key] for key in ("name", "dtype"))


def peer(entry, mode, seconds):
    """Milliseconds, or why there are none."""
    if common.REHEARSED:
        return "not in a rehearsal"
    if mode == "onnxruntime" and (entry["dtype"] != "f32" or not importlib.util.find_spec("onnxruntime")):
        return "not installed" if entry["dtype"] == "f32" else "f32 only"
    script = str(common.ROOT / "tools/dev/gpu_check/peer_network.py")
    try:
        done = subprocess.run([sys.executable, script, entry["name"], entry["dtype"], mode], capture_output=True, text=True, timeout=seconds)
        return json.loads(done.stdout.strip().splitlines()[-1])["ms"]
    except subprocess.TimeoutExpired:
        return f"more than {seconds:.0f} s"
    except (ValueError, KeyError, IndexError):
        return "failed: " + (done.stderr.strip().splitlines() or ["no output"])[-1][:100]


def measured(stage, entry, mode):
    """The figure of a peer, as long as there is time."""
    left = SECONDS - stage.seconds()
    return peer(entry, mode, min(left, SECONDS_OF_ONE)) if left > 10 else "no time left"


def main():
    entries = [entry for entry in common.manifest()["networks"] if not (common.REHEARSED and entry["large"])]
    entries.sort(key=lambda entry: FIRST.index(entry["name"]) if entry["name"] in FIRST else len(FIRST))
    with common.Stage("peers") as stage, tempfile.TemporaryDirectory() as scratch:
        rows = []
        for entry in [entry for entry in entries if not entry.get("by_library")]:
            by_library = [other for other in entries if other.get("by_library") and alike(other, entry)]
            figures = {"network": entry["name"], "dtype": "f32, TF32 off" if entry["dtype"] == "f32" else entry["dtype"],
                       "gantry_ms": gantry(entry, scratch),
                       "gantry_cublaslt_ms": gantry(by_library[0], scratch) if by_library else "not built"}
            rows.append((entry, figures))
        # The slow ones last: what there is no time for is the same for all networks.
        for mode in MODES:
            for entry, figures in rows:
                figures[mode] = measured(stage, entry, mode)
        for _, figures in rows:
            times = [figures[mode] for mode in MODES if not isinstance(figures[mode], str)]
            for key in ("gantry", "gantry_cublaslt"):
                own = figures[f"{key}_ms"]
                figures[f"{key}_times_best_measured"] = round(min(times) / own, 3) if times and not isinstance(own, str) else "no peer"
            stage.row(**figures)
    return stage.failed()


if __name__ == "__main__":
    sys.exit(main())
