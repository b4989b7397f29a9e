"""Whole networks against PyTorch, eager and torch.compile(mode="max-autotune"), and ONNX Runtime's CUDA: f32 with TF32
off, and bf16, which ONNX Runtime's convolutions do not have.

Gantry is timed in this process, each peer in one of its own, which is ended when it takes too long, since
autotuning may. Those networks come first whose ratio the project asks for. Gantry's run copies its inputs
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
MODES = ("eager", "max-autotune", "onnxruntime")
SECONDS, SECONDS_OF_ONE = 460, 150


def gantry(entry, scratch):
    plan = runtime.Plan(runtime.Runtime(), common.unpacked(entry["plan"], scratch))
    plan.run({key: run_plan.made(info) for key, info in plan.infos("input").items()})
    times = plan.time(seconds=1.0)
    plan.close()
    return round(statistics.median(times) * 1e3, 4)


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


def main():
    entries = [entry for entry in common.manifest()["networks"] if not (common.REHEARSED and entry["large"])]
    entries.sort(key=lambda entry: (entry["dtype"] != "f32", FIRST.index(entry["name"]) if entry["name"] in FIRST else len(FIRST)))
    with common.Stage("peers") as stage, tempfile.TemporaryDirectory() as scratch:
        for entry in entries:
            left = SECONDS - stage.seconds()
            if left < 20:
                stage.row(network=networks.title(entry), verdict="left out", detail="no time left")
                continue
            figures = {"network": entry["name"], "dtype": "f32, TF32 off" if entry["dtype"] == "f32" else entry["dtype"],
                       "gantry_ms": gantry(entry, scratch)}
            for mode in MODES:
                figures[mode] = peer(entry, mode, min(max(10, SECONDS - stage.seconds()), SECONDS_OF_ONE))
            times = [figures[mode] for mode in MODES if not isinstance(figures[mode], str)]
            figures["times_best"] = round(min(times) / figures["gantry_ms"], 3) if times else "no peer"
            stage.row(**figures)
    return stage.failed()


if __name__ == "__main__":
    sys.exit(main())
