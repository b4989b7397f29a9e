"""How fast, against what: products against cuBLASLt, PyTorch and JAX, what moves memory against a copy,
launches, loading of networks, and each kernel against what the cost model predicted. (Peers of networks: stage_peers.py.)

All times are of the host's clock around a warm run and the wait for its end, medians, in the same process one after
the other; peers are timed in the same way, and once more with many calls before one wait. Gantry computes f32 in
f32, and in TF32 where the row is of tf32; so do peers. Nothing but the figures is judged here.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import common
import cublaslt
import cuda
import networks
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


def jax_or_none():
    """JAX takes three quarters of the memory of a GPU at its first word, unless told otherwise."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
        import jax.numpy
        return jax if jax.default_backend() == "gpu" and not common.REHEARSED else None
    except (ImportError, RuntimeError):
        return None


def timed(work, wait, seconds=0.5):
    """(median of single calls with a wait each, time of a call when many are waited for at once), ms."""
    for _ in range(3):
        work()
    wait()
    singles, end = [], time.perf_counter() + seconds
    while len(singles) < 5 or time.perf_counter() < end and len(singles) < 200:
        start = time.perf_counter()
        work()
        wait()
        singles.append(time.perf_counter() - start)
    start = time.perf_counter()
    for _ in singles:
        work()
    wait()
    return round(statistics.median(singles) * MS, 4), round((time.perf_counter() - start) / len(singles) * MS, 4)


def peer_of(torch, entry):
    """(PyTorch doing the same, how it is called), or None."""
    kinds = {"f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    make = lambda *shape: torch.rand(shape, device="cuda", dtype=kinds[entry["dtype"]]) * 2 - 1
    if entry["kind"] == "matmul":
        a, b = make(entry["m"], entry["k"]), make(entry["k"], entry["n"])
        return lambda: torch.matmul(a, b)
    if "h" in entry:
        return of_heads_by_torch(torch, entry, make)
    a = make(entry["m"], entry["n"])
    if entry["kind"] == "softmax":
        return lambda: torch.softmax(a, 1)
    if entry["kind"] == "layer_norm":
        scale, shift = make(entry["n"]), make(entry["n"])
        return lambda: torch.nn.functional.layer_norm(a, (entry["n"],), scale, shift)
    b, c = make(entry["m"], entry["n"]), make(entry["m"], entry["n"])
    return lambda: torch.relu(a * b + c)


def of_heads_by_torch(torch, entry, make):
    b, h, t, d = (entry[name] for name in "bhtd")
    if entry["kind"] == "attention":
        q, k, v = (make(b, h, t, d) for _ in range(3))
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=entry["causal"])
    q, k, v = (make(b, t, h, d).transpose(1, 2) for _ in range(3))
    if entry["kind"] == "product of heads":
        return lambda: torch.matmul(q, k.transpose(2, 3))
    mask = make(b, 1, 1, t)
    return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).contiguous()


def by_torch(torch, entry):
    """TF32 where the row says so, and beside f32 for proportion."""
    figures = {}
    wanted = {"tf32": (True,), "f32": (False, True) if entry["kind"] == "matmul" else (False,)}
    for allowed in wanted.get(entry["dtype"], (False,)):
        torch.backends.cuda.matmul.allow_tf32 = allowed
        single, many = timed(peer_of(torch, entry), torch.cuda.synchronize)
        key = "torch_tf32" if allowed and entry["dtype"] == "f32" else "torch"
        figures |= {f"{key}_ms": single, f"{key}_many_ms": many}
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.cuda.empty_cache()
    return figures


def by_jax(jax, entry):
    """The same compiled by XLA; f32 products in f32, and in TF32 where the row says so."""
    numpy = jax.numpy
    kind = {"f32": numpy.float32, "tf32": numpy.float32, "f16": numpy.float16, "bf16": numpy.bfloat16}[entry["dtype"]]
    precision = "highest" if entry["dtype"] == "f32" else "tensorfloat32" if entry["dtype"] == "tf32" else None
    make = lambda seed, *shape: jax.random.uniform(jax.random.PRNGKey(seed), shape, kind, -1, 1)
    if entry["kind"] == "matmul":
        given = make(0, entry["m"], entry["k"]), make(1, entry["k"], entry["n"])
        compute = lambda a, b: numpy.matmul(a, b, precision=precision)
    elif entry["kind"] == "softmax":
        given, compute = (make(0, entry["m"], entry["n"]),), lambda a: jax.nn.softmax(a, 1)
    elif entry["kind"] == "layer_norm":
        given = make(0, entry["m"], entry["n"]), make(1, entry["n"]), make(2, entry["n"])
        compute = lambda a, scale, shift: (a - a.mean(1, keepdims=True)) / numpy.sqrt(a.var(1, keepdims=True) + 1e-5) * scale + shift
    else:
        given = [make(seed, entry["m"], entry["n"]) for seed in range(3)]
        compute = lambda a, b, c: jax.nn.relu(a * b + c)
    compiled, last = jax.jit(compute), []
    work = lambda: last.__setitem__(slice(None), [compiled(*given)])
    single, many = timed(work, lambda: last[0].block_until_ready())
    return {"jax_ms": single, "jax_many_ms": many}


def by_cublaslt(library, device, entry):
    product = cublaslt.Matmul(library, device, entry["dtype"], entry["m"], entry["n"], entry["k"])
    stream = device.stream()
    single, many = timed(lambda: product.run(stream), lambda: device.wait(stream))
    product.close()
    return {"cublaslt_ms": single, "cublaslt_many_ms": many}


class Peers:
    """Those that are there; of the others a note says why not."""

    def __init__(self, stage, device):
        self.device, self.torch, self.jax = device, torch_or_none(), jax_or_none()
        self.cublaslt = cublaslt.find()
        stage.note(f"PyTorch {self.torch.__version__}, TF32 off but in columns and rows named tf32" if self.torch
                   else "no PyTorch with CUDA: no figures of it")
        stage.note(f"JAX {self.jax.__version__}" if self.jax else "no JAX with CUDA: no figures of it")
        stage.note("cuBLASLt called directly, the first algorithm of its heuristic" if self.cublaslt
                   else "no cuBLASLt: no figures of it")

    def figures(self, entry):
        """Of those that are there; one that breaks takes no other along."""
        known = [("torch", self.torch, lambda: by_torch(self.torch, entry)), ("jax", self.jax and "h" not in entry, lambda: by_jax(self.jax, entry)),
                 ("cublaslt", self.cublaslt and entry["kind"] == "matmul",
                  lambda: by_cublaslt(self.cublaslt, self.device, entry))]
        found = {}
        # The same product by our own kernel has all of them.
        for name, is_there, measure in known[2:] if not networks.is_ours(entry) or entry.get("apart") else known:
            try:
                found |= measure() if is_there else {}
            except Exception as error:
                found[name] = f"failed: {type(error).__name__}: {error}"[:100]
        return found


def load(file):
    """(plan, seconds that loading took)."""
    machine = runtime.Runtime()
    start = time.perf_counter()
    plan = runtime.Plan(machine, file)
    return plan, time.perf_counter() - start


def kernel_seconds(plan, function):
    """Of all commands in one run, each waited for: the least of three runs."""
    return min(sum(seconds for *_, seconds in plan.commands(function)) for _ in range(3))


def single(stage, peers, entry, scratch, bandwidth):
    plan, _ = load(common.unpacked(entry["plan"], scratch))
    plan.run(function=plan.function("fill"))
    main = plan.function("main")
    times = plan.time(function=main, seconds=0.5)
    median, kernel = statistics.median(times), kernel_seconds(plan, main)
    plan.close()
    figures = {"what": entry["name"], **runtime.summary(times), "commands_ms": round(kernel * MS, 4)}
    if entry["kind"] == "matmul":
        figures["tflops"] = round(2 * entry["m"] * entry["n"] * entry["k"] / median / 1e12, 3)
    elif "h" in entry:
        products = 1 if entry["kind"] == "product of heads" else 2
        figures["tflops"] = round(2 * products * entry["b"] * entry["h"] * entry["t"] ** 2 * entry["d"] / median / 1e12, 3)
    elif "operations" in entry:
        figures["tflops"] = round(entry["operations"] / median / 1e12, 3)
    elif "bytes" in entry:
        figures["gb_per_s"] = round(entry["bytes"] / median / 1e9, 2)
        figures["of_copy"] = round(entry["bytes"] / median / 1e9 / bandwidth, 3)
    if entry["kind"] != "launch" and entry.get("device") != "CPU":
        figures |= peers.figures(entry)
        figures |= {f"times_{peer}": round(figures[f"{peer}_ms"] / figures["median_ms"], 3)
                    for peer in ("torch", "jax", "cublaslt") if f"{peer}_ms" in figures}
    stage.row(**figures)
    return median, kernel


def waiting(launches):
    """Seconds that a command by itself takes longer than one more in a run, of {kernels: (seconds of a run, of all
    commands one by one)}; 0 where that is not known."""
    if len(launches) != 2:
        return 0
    (few, (short, _)), (many, (long, alone)) = sorted(launches.items())
    return max(0, alone / many - (long - short) / (many - few))


def network(stage, entry, scratch, wait):
    plan, loading = load(common.unpacked(entry["plan"], scratch))
    inputs = {key: run_plan.made(info) for key, info in plan.infos("input").items()}
    start = time.perf_counter()
    plan.run(inputs)
    first = time.perf_counter() - start
    times = plan.time(seconds=1.0)
    described = plan.describe()["functions"][0]
    what = entry["name"] + ("" if networks.is_ours(entry) else f", {networks.library_of(entry)}")
    figures = {"what": what, "dtype": "f32, no TF32" if entry["dtype"] == "f32" else entry["dtype"], **runtime.summary(times), "load_ms": round(loading * MS, 2),
               "first_run_ms": round(first * MS, 2), "predicted_ms": round(described["predicted_seconds"] * MS, 4),
               "commands_ms": round(kernel_seconds(plan, 0) * MS, 3)}
    predictions(stage, networks.title(entry), plan, described, wait)
    plan.close()
    stage.row(**figures)


def predictions(stage, name, plan, function, wait):
    """Of each kernel of the GPU: what the cost model said of its ops, alone and unfused, against the clock, less the
    wait for each command."""
    predicted = {}
    for op in function.get("placed_ops", ()):
        key = op.get("kernel_name", "")
        predicted[key] = predicted.get(key, 0) + op.get("predicted_seconds", 0)
    measured = {}
    for _, kernel, device, seconds in plan.commands():
        if device.startswith("GPU"):
            measured[kernel] = measured.get(kernel, 0) + max(0, seconds - wait)
    ratios = sorted((measured[key] / value, key) for key, value in predicted.items() if value and key in measured)
    if ratios:
        stage.row(what=f"{name}: measured over predicted, by kernel", kernels=len(ratios), least=round(ratios[0][0], 2),
                  median=round(statistics.median(ratio for ratio, _ in ratios), 2), most=round(ratios[-1][0], 2),
                  most_of=ratios[-1][1])


# Rows, columns and terms of products whose first algorithm may keep few multiprocessors busy.
PRODUCTS = ((128, 768, 3072), (128, 3072, 768), (128, 768, 768), (64, 768, 3072), (64, 50257, 768)) if not common.REHEARSED else ((8, 8, 8),)


def suggestions(stage, peers):
    """Each algorithm that cuBLASLt suggests for some products as plans ask for it, its waves and its time, and the place
    of the one that a plan takes, unless all are idle."""
    if not peers.cublaslt:
        return
    stream = peers.device.stream()
    for dtype in ("f32", "bf16"):
        for m, n, k in PRODUCTS:
            try:
                product = cublaslt.Matmul(peers.cublaslt, peers.device, dtype, m, n, k, in_order=True)
                times = []
                for product.best in product.all:
                    times.append(timed(lambda: product.run(stream), lambda: peers.device.wait(stream), seconds=0.05)[1])
                product.close()
                stage.row(what=f"algorithms of cuBLASLt, {dtype} {m}x{k} by {k}x{n}", suggested=len(times),
                          waves=" ".join(f"{each.waves:.3f}" for each in product.all), many_ms=" ".join(map(str, times)),
                          fastest=times.index(min(times)), taken=taken([each.waves for each in product.all]))
            except (cublaslt.Error, cuda.Error) as error:
                stage.row(what=f"algorithms of cuBLASLt, {dtype} {m}x{k} by {k}x{n}", verdict="left out", detail=str(error)[:200])


def taken(waves):
    """The first that is idle at most four times as long as the best (docs/designs/libraries.md)."""
    idle = [math.ceil(each) / each if each > 0 else 1 for each in waves]
    return next(place for place, each in enumerate(idle) if each <= 4 * min(idle))


def calibrated(stage):
    """What `gantry devices --calibrate` measures."""
    done = subprocess.run([str(common.runtime_folder() / "bin/gantry"), "devices", "--calibrate", "--json"], capture_output=True,
                          text=True, env=common.environment(), timeout=100)
    try:
        topology = json.loads(done.stdout)
    except ValueError:
        stage.row(what="gantry devices --calibrate", verdict="failed", detail=(done.stderr.strip() or "no output")[-300:])
        return
    for row in calibration(topology):
        stage.row(**row)
    if done.stderr.strip():
        stage.note("gantry devices --calibrate: " + done.stderr.strip()[-200:])


def calibration(topology):
    """Rows of the rates of a topology file: of devices, then of links."""
    short = lambda name: name.split("/")[-1].split("device:")[-1]
    for device in topology["physical"]:
        flops = device.get("peak_flops", {})
        yield {"what": f"calibrated {short(device['name'])}", "launch_us": round(device.get("launch", 0) * 1e6, 3),
               "gb_per_s": round(device.get("bandwidth", 0) / 1e9, 2),
               **{f"{element}_tflops": round(flops.get(element, 0) / 1e12, 2) for element in ("f32", "f16", "bf16")}}
    for link in topology["links"]:
        yield {"what": f"calibrated {short(link['from'])} to {short(link['to'])}", "gb_per_s": round(link["bandwidth"] / 1e9, 2),
               "latency_us": round(link["latency"] * 1e6, 3)}


def main():
    content = common.manifest()
    with common.Stage("bench") as stage, tempfile.TemporaryDirectory() as scratch:
        device = cuda.Device()
        peers = Peers(stage, device)
        bandwidth = device.copy_bandwidth((1 << 30) if not common.REHEARSED else (1 << 16))
        stage.row(what="copy on the device", gb_per_s=round(bandwidth, 2))
        launches = {}
        small = [entry for entry in content["networks"] if not (common.REHEARSED and entry["large"])]
        entries = [(single, entry) for entry in content["speed"]] + [(network, entry) for entry in small]
        for measure, entry in entries:
            if stage.seconds() > SECONDS:
                stage.row(what=entry["name"], verdict="left out", detail="no time left")
                continue
            try:
                if measure is network:
                    network(stage, entry, scratch, waiting(launches))
                elif (found := single(stage, peers, entry, scratch, bandwidth)) and entry["kind"] == "launch":
                    launches[entry["kernels"]] = found
            except Exception as error:  # one figure less, the others still come
                stage.row(what=entry["name"], verdict="failed", detail=f"{type(error).__name__}: {error}"[:300])
        if len(launches) == 2:
            (few, (short, _)), (many, (long, _)) = sorted(launches.items())
            stage.row(what="launch overhead", run_us=round(short * 1e6, 2), each_kernel_us=round((long - short) / (many - few) * 1e6, 3),
                      wait_for_a_command_us=round(waiting(launches) * 1e6, 3))
        suggestions(stage, peers)
        calibrated(stage)
        device.close()
    return stage.failed()


if __name__ == "__main__":
    sys.exit(main())
