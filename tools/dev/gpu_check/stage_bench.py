"""How fast, against what: products against PyTorch (cuBLAS), what moves memory against a copy,
launches, loading of networks, and each kernel against what the cost model predicted. (Peers of networks: stage_peers.py.)

All times are of the host's clock around a warm run and the wait for its end, medians, in the same process one after
the other; PyTorch is timed in the same way, and once more with many calls before one wait. Gantry computes f32 in
f32: PyTorch's rows say whether TF32 was allowed. Nothing but the figures is judged here.
"""

import statistics
import sys
import tempfile
import time

import common
import cuda
import run_plan
import runtime

SECONDS = 480  # of the stage; what does not begin before is said to be left out
MS = 1e3


def torch_or_none():
    try:
        import torch
        return torch if torch.cuda.is_available() and not common.REHEARSED else None
    except ImportError:
        return None


def timed(torch, work, seconds=0.5):
    """(median of single calls with a wait each, time of a call when many are waited for at once), ms."""
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    singles, end = [], time.perf_counter() + seconds
    while len(singles) < 5 or time.perf_counter() < end and len(singles) < 200:
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        singles.append(time.perf_counter() - start)
    start = time.perf_counter()
    for _ in singles:
        work()
    torch.cuda.synchronize()
    return round(statistics.median(singles) * MS, 4), round((time.perf_counter() - start) / len(singles) * MS, 4)


def peer_of(torch, entry):
    """(PyTorch doing the same, how it is called), or None."""
    kinds = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    make = lambda *shape: torch.rand(shape, device="cuda", dtype=kinds[entry["dtype"]]) * 2 - 1
    if entry["kind"] == "matmul":
        a, b = make(entry["m"], entry["k"]), make(entry["k"], entry["n"])
        return lambda: torch.matmul(a, b)
    a = make(entry["m"], entry["n"])
    if entry["kind"] == "softmax":
        return lambda: torch.softmax(a, 1)
    if entry["kind"] == "layer_norm":
        scale, shift = make(entry["n"]), make(entry["n"])
        return lambda: torch.nn.functional.layer_norm(a, (entry["n"],), scale, shift)
    b, c = make(entry["m"], entry["n"]), make(entry["m"], entry["n"])
    return lambda: torch.relu(a * b + c)


def peers(stage, torch, entry):
    """Figures of PyTorch; f32 products with TF32 and without."""
    figures = {}
    for allowed in (False, True) if entry["kind"] == "matmul" and entry["dtype"] == "f32" else (False,):
        torch.backends.cuda.matmul.allow_tf32 = allowed
        single, many = timed(torch, peer_of(torch, entry))
        key = "torch_tf32" if allowed else "torch"
        figures |= {f"{key}_ms": single, f"{key}_many_ms": many}
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.cuda.empty_cache()
    return figures


def load(file):
    """(plan, seconds that loading took)."""
    machine = runtime.Runtime()
    start = time.perf_counter()
    plan = runtime.Plan(machine, file)
    return plan, time.perf_counter() - start


def kernel_seconds(plan, function):
    """Of all commands in one run, each waited for: the least of three runs."""
    return min(sum(seconds for *_, seconds in plan.commands(function)) for _ in range(3))


def single(stage, torch, entry, scratch, bandwidth):
    plan, _ = load(common.unpacked(entry["plan"], scratch))
    plan.run(function=plan.function("fill"))
    main = plan.function("main")
    times = plan.time(function=main, seconds=0.5)
    median, kernel = statistics.median(times), kernel_seconds(plan, main)
    plan.close()
    figures = {"what": entry["name"], **runtime.summary(times), "commands_ms": round(kernel * MS, 4)}
    if entry["kind"] == "matmul":
        figures["tflops"] = round(2 * entry["m"] * entry["n"] * entry["k"] / median / 1e12, 3)
    elif "bytes" in entry:
        figures["gb_per_s"] = round(entry["bytes"] / median / 1e9, 2)
        figures["of_copy"] = round(entry["bytes"] / median / 1e9 / bandwidth, 3)
    if torch and entry["kind"] != "launch" and entry.get("device") != "CPU":
        figures |= peers(stage, torch, entry)
        figures["times_torch"] = round(figures["torch_ms"] / figures["median_ms"], 3)
    stage.row(**figures)
    return median


def network(stage, entry, scratch):
    plan, loading = load(common.unpacked(entry["plan"], scratch))
    inputs = {key: run_plan.made(info) for key, info in plan.infos("input").items()}
    start = time.perf_counter()
    plan.run(inputs)
    first = time.perf_counter() - start
    times = plan.time(seconds=1.0)
    described = plan.describe()["functions"][0]
    figures = {"what": entry["name"], "dtype": "f32, no TF32", **runtime.summary(times), "load_ms": round(loading * MS, 2),
               "first_run_ms": round(first * MS, 2), "predicted_ms": round(described["predicted_seconds"] * MS, 4),
               "commands_ms": round(kernel_seconds(plan, 0) * MS, 3)}
    predictions(stage, entry["name"], plan, described)
    plan.close()
    stage.row(**figures)


def predictions(stage, name, plan, function):
    """Of each kernel of the GPU: what the cost model said of its ops, alone and unfused, against the clock."""
    predicted = {}
    for op in function.get("placed_ops", ()):
        key = op.get("kernel_name", "")
        predicted[key] = predicted.get(key, 0) + op.get("predicted_seconds", 0)
    measured = {}
    for _, kernel, device, seconds in plan.commands():
        if device.startswith("GPU"):
            measured[kernel] = measured.get(kernel, 0) + seconds
    ratios = sorted((measured[key] / value, key) for key, value in predicted.items() if value and key in measured)
    if ratios:
        stage.row(what=f"{name}: measured over predicted, by kernel", kernels=len(ratios), least=round(ratios[0][0], 2),
                  median=round(statistics.median(ratio for ratio, _ in ratios), 2), most=round(ratios[-1][0], 2),
                  most_of=ratios[-1][1])


def main():
    content = common.manifest()
    with common.Stage("bench") as stage, tempfile.TemporaryDirectory() as scratch:
        torch = torch_or_none()
        stage.note(f"PyTorch {torch.__version__}, TF32 off but in columns named tf32" if torch else "no PyTorch with CUDA: no peers")
        device = cuda.Device()
        bandwidth = device.copy_bandwidth((1 << 30) if not common.REHEARSED else (1 << 16))
        device.close()
        stage.row(what="copy on the device", gb_per_s=round(bandwidth, 2))
        launches = {}
        entries = [(single, entry) for entry in content["speed"]] + [(network, entry) for entry in content["networks"]]
        for measure, entry in entries:
            if stage.seconds() > SECONDS:
                stage.row(what=entry["name"], verdict="left out", detail="no time left")
                continue
            try:
                if measure is network:
                    network(stage, entry, scratch)
                elif (median := single(stage, torch, entry, scratch, bandwidth)) and entry["kind"] == "launch":
                    launches[entry["kernels"]] = median
            except Exception as error:  # one figure less, the others still come
                stage.row(what=entry["name"], verdict="failed", detail=f"{type(error).__name__}: {error}"[:300])
        if len(launches) == 2:
            (few, short), (many, long) = sorted(launches.items())
            stage.row(what="launch overhead", run_us=round(short * 1e6, 2), each_kernel_us=round((long - short) / (many - few) * 1e6, 3))
    return stage.failed()


if __name__ == "__main__":
    sys.exit(main())
