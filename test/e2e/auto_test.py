#!/usr/bin/python3
"""Automatic placement through the tool `gantry`, on simulated devices (spec P11, P12).

Models: the project's own networks (own_models.py), the shared trained ones (GANTRY_MODELS_DIR, default
../shared/models), networks of make_models.py where PyTorch is there to make them (or their files, from the folder that
GANTRY_MADE_MODELS names), and graphs written here. Each case that cannot run here says why.

Usage: auto_test.py --build-dir BUILD [--filter TEXT] [--all] [--json FILE] [-v]
"""

import functools
import hashlib
import json
import random
import re
import sys

import numpy as np

import cases
from cases import file_of

TWO = "CPU:0,GPU:0,GPU:1"


class Placer(cases.Runner):
    """Compiles models for simulated devices."""

    def __init__(self, build, scratch):
        super().__init__(build, scratch)
        self.count = 0

    def compile(self, model, *flags, policy="auto", devices=TWO, kept=False):
        """A plan of the model, as Plan. One that is `kept` is searched for once, not for what is told of it and again
        for itself."""
        where = [] if devices is None else [f"--devices={devices}"]
        return Plan(self, model, ["--simulate", f"--placement={policy}", *where, *flags], kept)

    def planned(self, model, devices, policy, *flags):
        """Seconds of a plan, or None where it is over a limit."""
        try:
            return self.compile(model, *flags, policy=policy, devices=devices).predicted
        except AssertionError as error:
            assert "exit status 3" in str(error), error
            return None


class Plan:
    """What `gantry explain` says of a plan. The plan itself, with its code, is made when it is asked for or kept."""

    def __init__(self, runner, model, flags, kept):
        self.runner, self.model, self.flags = runner, model, flags
        if kept:
            self.path = self.make()
        self.json = json.loads(runner.gantry("explain", *([self.path] if kept else [model, *flags]), "--json")[0])
        function = self.json["functions"][0] if "functions" in self.json else self.json
        self.predicted = function["predicted_seconds"]
        self.bound = function["lower_bound_seconds"]
        self.ops, self.copies = function["ops"], function["copies"]

    def make(self):
        self.runner.count += 1
        path = self.runner.scratch / f"plan{self.runner.count}.gantry"
        self.runner.gantry("compile", self.model, "-o", path, *self.flags)
        return path

    @functools.cached_property
    def path(self):
        path = self.make()
        told = json.loads(self.runner.gantry("explain", path, "--json")[0])
        assert {**told, "plan_bytes": 0, "has_code": False} == {**self.json, "plan_bytes": 0}, "explain of graph and plan"
        return path

    def memory(self):
        """Bytes and limit by device, short names."""
        return {short(row["device"]): (row["constants"] + row["variables"] + row["transient"], row["limit"])
                for row in self.json["memory"]}

    def copied(self):
        """Bytes that a run copies, by direction."""
        sums = {}
        for copy in self.copies:
            if copy["time"] == "run":
                sums[copy["kind"]] = sums.get(copy["kind"], 0) + copy["bytes"]
        return sums

    def used(self):
        """Devices that run ops."""
        return {short(op["device"]) for op in self.ops}

    def devices(self):
        """Device of each op, by name."""
        return {op["name"]: short(op["device"]) for op in self.ops}

    def run(self):
        """Bytes of all outputs, from inputs filled with the same numbers each time, and the time on
        the virtual clock in the tool's words."""
        names = [output["name"] for output in
                 (self.json["functions"][0] if "functions" in self.json else self.json)["outputs"]]
        files = [self.runner.scratch / f"{self.path.stem}.{i}.npy" for i, _ in enumerate(names)]
        flags = [f"--output={name}={file}" for name, file in zip(names, files)]
        _, said = self.runner.gantry("run", self.path, "-v", *flags)
        return [np.load(file).tobytes() for file in files], said


def virtual_seconds(said):
    """Of a run, as the simulator says it."""
    clock = re.search(r"virtual clock: ([\d.]+) (\S+)", said)
    assert clock, said
    return float(clock[1]) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9}[clock[2]]


def short(device):
    return device.rsplit("device:", 1)[-1]


#===------------------------------------------------------------------------===#
# Graphs
#===------------------------------------------------------------------------===#

def chain(runner, length=24, size=128):
    """Products with weights of their own, one after the other, and a topology whose links are free."""
    tensor = f"tensor<{size}x{size}xf32>"
    lines = [f"func.func @main(%v0: {tensor}) -> {tensor} {{"]
    for i in range(length):
        lines += [f"%w{i} = gantry.constant dense<{1 / (size + i)}> : {tensor}",
                  f"%v{i + 1} = gantry.matmul %v{i}, %w{i} : ({tensor}, {tensor}) -> {tensor}"]
    lines += [f"return %v{length} : {tensor}", "}"]
    path = runner.scratch / "chain.mlir"
    path.write_text("\n".join(lines))
    return path, length * size * size * 4


def branches(runner, seed=None):
    """Four branches of different lengths over the same input; the ops in any order that works."""
    tensor = "tensor<256x256xf32>"
    ops, tips = {}, []
    for branch in range(4):
        value = "%x"
        for step in range(3 + branch):
            ops[f"%b{branch}s{step}"] = ("matmul", [value, f"%w{branch}"])
            value = f"%b{branch}s{step}"
        tips.append(value)
    ops["%j0"] = ("add", tips[:2])
    ops["%j1"] = ("add", tips[2:])
    ops["%j2"] = ("add", ["%j0", "%j1"])
    names = list(ops)
    draw = random.Random(seed)
    order = []
    while len(order) < len(names):
        ready = [n for n in names if n not in order
                 and all(o not in ops or o in order for o in ops[n][1])]
        order.append(draw.choice(ready) if seed is not None else ready[0])
    lines = [f"func.func @main(%x: {tensor}) -> {tensor} {{"]
    lines += [f"%w{i} = gantry.constant dense<0.{i + 1}> : {tensor}" for i in range(4)]
    for name in order:
        kind, operands = ops[name]
        # The name is the op's place in the graph; it is not what decides.
        lines.append(f'{name} = gantry.{kind} {", ".join(operands)} {{gantry.name = "{name[1:]}"}} : '
                     f"({tensor}, {tensor}) -> {tensor}")
    lines += [f"return %j2 : {tensor}", "}"]
    path = runner.scratch / f"branches{seed}.mlir"
    path.write_text("\n".join(lines))
    return path


def topology(runner, bandwidth, latency, limit=0, host=None):
    """Two equal GPUs and a CPU, all joined by the same links, or with links of `host` bytes a second to the CPU."""
    def device(text):
        return f"/job:localhost/replica:0/task:0/physical_device:{text}"
    plan = runner.gantry("devices", "--json", f"--devices={TWO}", "--simulate")[0]
    machine = json.loads(plan)
    names = [physical["name"] for physical in machine["physical"]]
    rate = lambda *ends: host if host and any("CPU" in end for end in ends) else bandwidth
    machine["links"] = [{"from": a, "to": b, "bandwidth": rate(a, b), "latency": latency}
                        for a in names for b in names if a != b]
    for logical in machine.get("logical", []):
        if "GPU" in logical["name"] and limit:
            logical["limit"] = limit
    path = runner.scratch / "topology.json"
    path.write_text(json.dumps(machine))
    return path


#===------------------------------------------------------------------------===#
# Cases
#===------------------------------------------------------------------------===#

def p11_fits_where_one_device_does_not(runner, name):
    """Two GPUs that each hold 60 % of what the model takes on one. For our own, which take microseconds, links are fast."""
    def flags(limit=0):
        if name.startswith("own/"):
            return [f"--topology={topology(runner, bandwidth=1e12, latency=1e-7, limit=limit)}"]
        return [f"--devices=CPU:0,GPU:0@{limit},GPU:1@{limit}" if limit else f"--devices={TWO}"]

    model = file_of(runner, name)
    one = runner.compile(model, *flags(), policy="default", devices=None, kept=True)
    numbers = one.run()[0]
    limit = int(one.memory()["GPU:0"][0] * 0.6)
    runner.gantry("compile", model, "-o", runner.scratch / "no.gantry", "--simulate", *flags(limit), status=3)
    plan = runner.compile(model, *flags(limit), devices=None, kept=True)
    for device, (taken, allowed) in plan.memory().items():
        assert not allowed or taken <= allowed, f"{device} takes {taken} of {allowed} bytes"
    assert {"GPU:0", "GPU:1"} <= plan.used(), plan.used()
    assert plan.bound <= plan.predicted <= 1.5 * one.predicted, (plan.predicted, one.predicted)
    assert plan.run()[0] == numbers, "other numbers than on one device"


def p11_chain_with_free_links(runner):
    """Within 1.3 times the bound, although it has to be cut."""
    model, weights = chain(runner)
    path = topology(runner, bandwidth=1e18, latency=0, limit=weights * 6 // 10, host=1e9)
    plan = runner.compile(model, f"--topology={path}", devices=None)
    assert plan.used() == {"GPU:0", "GPU:1"}, plan.used()
    free = topology(runner, bandwidth=1e18, latency=0, limit=weights * 6 // 10)
    plan = runner.compile(model, f"--topology={free}", devices=None)
    assert plan.predicted <= 1.3 * plan.bound, (plan.predicted, plan.bound)


def p11_weights_come_from_the_host(runner):
    """One GPU without room for all weights, a fast link: they come in each run, with the same numbers."""
    model, weights = chain(runner)
    path = topology(runner, bandwidth=1e12, latency=1e-6, limit=weights * 4 // 10)
    one = runner.compile(model, policy="default")
    plan = runner.compile(model, f"--topology={path}", devices=None)
    assert plan.copied().get("h2d", 0) > weights // 10, plan.copied()
    assert plan.predicted < 3 * one.predicted, (plan.predicted, one.predicted)
    for device, (taken, allowed) in plan.memory().items():
        assert not allowed or taken <= allowed, f"{device} takes {taken} of {allowed} bytes"
    assert plan.run()[0] == one.run()[0], "other numbers than on one device"
    remarks = " ".join(plan.json["remarks"])
    for part in ("lower bound", "tried: one device", "made to fit", "; found from", "what memory is worth to 'main': GPU:0",
                 "less for a MiB more"):
        assert part in remarks, (part, remarks)


def p11_never_worse_than_default(runner, model, devices):
    file = file_of(runner, model)
    default = runner.compile(file, policy="default", devices=devices)
    auto = runner.compile(file, devices=devices)
    # The search compares what it predicts of ops; what is told here is the clock of the plan's commands,
    # which also knows the bytes of kernels and fills: 4e-6 apart at most in these networks.
    assert auto.predicted <= default.predicted * (1 + 1e-4), (auto.predicted, default.predicted)
    assert auto.bound <= auto.predicted * (1 + 1e-9), (auto.bound, auto.predicted)


def p11_never_worse_where_memory_is_short(runner, model, percent, gpus):
    """Nor than the other policies, the repair and fewer devices; and the plan does what is told of it: the same bits as on
    one device, its clock, its bytes."""
    file = file_of(runner, model)
    one = runner.compile(file, policy="default", devices="CPU:0,GPU:0")
    limit = one.memory()["GPU:0"][0] * percent // 100
    where = lambda count: ",".join(["CPU:0", *(f"GPU:{i}@{limit}" for i in range(count))])
    auto = runner.compile(file, devices=where(gpus), kept=True)
    for others in ([where(gpus), "default", "--over-limit=fix"], [where(gpus), "follow"], [where(gpus - 1), "auto"]):
        other = runner.planned(file, *others)
        assert other is None or auto.predicted <= other * (1 + 1e-6), (others, auto.predicted, other)
    assert auto.bound <= auto.predicted * (1 + 1e-9), (auto.bound, auto.predicted)
    numbers, said = auto.run()
    assert numbers == one.run()[0], "other numbers than on one device"
    if auto.used() != {"CPU:0"}:
        assert abs(virtual_seconds(said) / auto.predicted - 1) < 0.01, (said, auto.predicted)
    for device, (taken, limit) in auto.memory().items():
        assert not limit or taken <= limit, (device, taken, limit)
    return f"{auto.predicted * 1e6:.1f} us, on one device without limits {one.predicted * 1e6:.1f}"


def p11_the_lock_is_of_the_plan(runner):
    """Of many plans that are made the best one's placement is written."""
    file = file_of(runner, "own/encoder")
    one = runner.compile(file, policy="default", devices="CPU:0,GPU:0")
    limit = one.memory()["GPU:0"][0] // 2
    devices, lock = f"CPU:0,GPU:0@{limit},GPU:1@{limit}", runner.scratch / "lock"
    plan = runner.compile(file, f"--write-placement-lock={lock}", devices=devices)
    locked = runner.compile(file, f"--placement-lock={lock}", devices=devices)
    assert locked.devices() == plan.devices(), (locked.devices(), plan.devices())


def p11_effort_is_counted(runner):
    """None takes what it begins with; more is never worse; each gives the same bytes in every run."""
    file = file_of(runner, "own/encoder")
    devices, before = "CPU:0,GPU:0@1200KiB,GPU:1@1200KiB", None
    for effort in (0, 1, 8):
        plans = [runner.compile(file, f"--effort={effort}", devices=devices) for _ in range(2)]
        assert plans[0].path.read_bytes() == plans[1].path.read_bytes(), effort
        assert before is None or plans[0].predicted <= before * 1.001, (effort, plans[0].predicted, before)
        before = plans[0].predicted


def p11_one_device_where_one_is_best(runner):
    """A chain gains nothing from a second GPU; something tiny gains nothing from any."""
    model, _ = chain(runner)
    assert runner.compile(model).used() == {"GPU:0"}
    tiny = runner.scratch / "tiny.mlir"
    tiny.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                    "%0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>\n"
                    "return %0 : tensor<4xf32>\n}\n")
    assert runner.compile(tiny).used() == {"CPU:0"}


def p11_branches_use_both(runner):
    """With fast links four branches are done sooner on two devices."""
    path = topology(runner, bandwidth=1e12, latency=1e-7)
    plan = runner.compile(branches(runner), f"--topology={path}", devices=None)
    one = runner.compile(branches(runner), f"--topology={path}", devices=None, policy="default")
    assert plan.used() == {"GPU:0", "GPU:1"}, plan.used()
    assert plan.predicted < 0.7 * one.predicted, (plan.predicted, one.predicted)
    assert plan.run()[0] == one.run()[0], "other numbers than on one device"


def p11_whole_model_on_both(runner, name):
    """Fast links: a model with branches is done sooner on both GPUs, and gives the same numbers."""
    path = topology(runner, bandwidth=3e11, latency=1e-6)
    model = file_of(runner, name)
    one = runner.compile(model, f"--topology={path}", devices=None, policy="default", kept=True)
    plan = runner.compile(model, f"--topology={path}", devices=None, kept=True)
    assert {"GPU:0", "GPU:1"} <= plan.used(), plan.used()
    assert plan.predicted < 0.9 * one.predicted, (plan.predicted, one.predicted)
    assert plan.run()[0] == one.run()[0], "other numbers than on one device"


def p11_loops_stay_on_the_device(runner):
    """What steers a loop is on the host; that draws nothing else there."""
    tensor, count = "tensor<256x256xf32>", "tensor<i64>"
    loop = runner.scratch / "loop.mlir"
    loop.write_text(f"""
func.func @main(%x: {tensor}) -> {tensor} {{
  %zero = gantry.constant dense<0> : {count}
  %one = gantry.constant dense<1> : {count}
  %n = gantry.constant dense<3> : {count}
  %w = gantry.constant dense<0.003> : {tensor}
  %p = gantry.matmul %x, %w : ({tensor}, {tensor}) -> {tensor}
  %y:2 = gantry.while (%zero, %p) : ({count}, {tensor}) -> ({count}, {tensor}) {{
  ^bb0(%i: {count}, %v: {tensor}):
    %0 = gantry.compare lt, %i, %n : ({count}, {count}) -> tensor<i1>
    gantry.yield %0 : tensor<i1>
  }} do {{
  ^bb0(%i: {count}, %v: {tensor}):
    %1 = gantry.add %i, %one : ({count}, {count}) -> {count}
    %2 = gantry.matmul %v, %w : ({tensor}, {tensor}) -> {tensor}
    gantry.yield %1, %2 : {count}, {tensor}
  }}
  return %y#1 : {tensor}
}}
""")
    plan, one = runner.compile(loop), runner.compile(loop, policy="default")
    assert plan.devices() == one.devices(), (plan.devices(), one.devices())
    assert plan.predicted <= one.predicted, (plan.predicted, one.predicted)
    assert plan.run()[0] == one.run()[0], "other numbers than by default"


def p11_requests_and_rules_hold(runner):
    path = topology(runner, bandwidth=1e12, latency=1e-7)
    plan = runner.compile(branches(runner), f"--topology={path}", "--place=name:b3*=CPU:0",
                          devices=None)
    there = plan.devices()
    assert all(there[name] == "CPU:0" for name in there if name.startswith("b3")), there


def p11_prediction_is_the_virtual_clock(runner):
    """What is printed as prediction is what the simulator then takes."""
    path = topology(runner, bandwidth=1e12, latency=1e-7)
    plan = runner.compile(branches(runner), f"--topology={path}", devices=None)
    seconds = virtual_seconds(plan.run()[1])
    assert abs(seconds / plan.predicted - 1) < 0.01, (seconds, plan.predicted)


def p11_says_when_nothing_fits(runner):
    model, weights = chain(runner)
    kib = weights // 4 // 1024
    _, said = runner.gantry("compile", model, "-o", runner.scratch / "no.gantry", "--simulate",
                            "--placement=auto", f"--devices=CPU:0@{kib}KiB,GPU:0@{kib}KiB,GPU:1@{kib}KiB",
                            status=3)
    assert "the limit is" in said, said


def x4_branches_within_budgets(runner):
    """What the best placement copies between GPUs is no longer allowed: halves of it, then nothing."""
    path = topology(runner, bandwidth=1e12, latency=1e-7)
    one = runner.compile(branches(runner), f"--topology={path}", devices=None, policy="default")
    free = runner.compile(branches(runner), f"--topology={path}", devices=None)
    before, numbers = free, free.run()[0]
    assert before.copied().get("d2d", 0) > 0, before.copied()
    budget = before.copied()["d2d"]
    while budget:
        budget //= 2
        plan = runner.compile(branches(runner), f"--topology={path}", f"--max-copy=d2d:{budget}", devices=None)
        assert plan.copied().get("d2d", 0) <= budget, (plan.copied(), budget)
        assert before.predicted <= plan.predicted <= one.predicted, (budget, plan.predicted)
        before = plan
    assert plan.run()[0] == numbers, "other numbers than without a budget"


def x4_models_within_budgets(runner, name):
    """Every budget can be met where nothing asks for a device, at worst on the CPU alone."""
    path = topology(runner, bandwidth=3e11, latency=1e-6)
    model = file_of(runner, name)
    free = runner.compile(model, f"--topology={path}", devices=None)
    for direction, bytes_ in free.copied().items():
        for budget in (bytes_ - 1, 0):
            plan = runner.compile(model, f"--topology={path}", f"--max-copy={direction}:{budget}", devices=None)
            assert plan.copied().get(direction, 0) <= budget, (plan.copied(), direction, budget)


def p12_same_bytes_every_time(runner, name, limit):
    model = file_of(runner, name)
    plans = [hashlib.md5(runner.compile(model, devices=f"CPU:0,GPU:0@{limit},GPU:1@{limit}", kept=True).path.read_bytes())
             .hexdigest() for _ in range(2)]
    assert len(set(plans)) == 1, plans


def p12_order_of_ops_does_not_matter(runner):
    path = topology(runner, bandwidth=1e12, latency=1e-7)
    first = runner.compile(branches(runner), f"--topology={path}", devices=None).devices()
    for seed in range(8):
        other = runner.compile(branches(runner, seed), f"--topology={path}", devices=None).devices()
        assert other == first, (seed, first, other)


def fits(*names):
    return {f"fits/{name}": (lambda runner, name=name: p11_fits_where_one_device_does_not(runner, name)) for name in names}


def short_of_memory(name, *cases_):
    """Cases are pairs of a part of what the network takes, in percent, and a number of GPUs."""
    return {f"short/{name}@{percent}x{gpus}":
            (lambda runner, percent=percent, gpus=gpus: p11_never_worse_where_memory_is_short(runner, name, percent, gpus))
            for percent, gpus in cases_}


def both(*names):
    return {f"both/{name}": (lambda runner, name=name: p11_whole_model_on_both(runner, name)) for name in names}


def never_worse(*names):
    return {f"never-worse/{name}@{devices}":
            (lambda runner, name=name, devices=devices: p11_never_worse_than_default(runner, name, devices))
            for name in names for devices in ("CPU:0,GPU:0", TWO)}


def budget(*names):
    return {f"budget/{name}": (lambda runner, name=name: x4_models_within_budgets(runner, name)) for name in names}


def same_bytes(**limits):
    return {f"same-bytes/{name}": (lambda runner, name=name, limit=limit: p12_same_bytes_every_time(runner, name, limit))
            for name, limit in limits.items()}


CASES = {
    **fits("own/perceptron", "own/encoder", "resnet50"),
    "chain-free-links": p11_chain_with_free_links,
    "weights-from-the-host": p11_weights_come_from_the_host,
    **short_of_memory("own/residual", (70, 2), (50, 3)),
    **short_of_memory("own/branches", (50, 2)),
    **short_of_memory("own/encoder", (70, 3), (50, 2), (35, 3)),
    **short_of_memory("own/perceptron", (70, 3), (50, 2)),
    **short_of_memory("mnist/mnist.onnx", (70, 3)),
    "lock": p11_the_lock_is_of_the_plan,
    "effort": p11_effort_is_counted,
    "one-device": p11_one_device_where_one_is_best,
    "branches": p11_branches_use_both,
    **both("own/branches", "light/light_squeezenet.onnx"),
    "loops": p11_loops_stay_on_the_device,
    "requests-and-rules": p11_requests_and_rules_hold,
    "virtual-clock": p11_prediction_is_the_virtual_clock,
    "nothing-fits": p11_says_when_nothing_fits,
    **never_worse("own/residual", "own/branches", "own/encoder", "own/perceptron", "mnist/mnist.onnx", "mlp", "reuters_cnn",
                  "mobilenet_v2", "gpt2_small"),
    "budget/branches": x4_branches_within_budgets,
    **budget("own/branches"),
    **same_bytes(**{"own/residual": "300KiB"}),
    "order-of-ops": p12_order_of_ops_does_not_matter,
}

# Larger networks, each of a kind that is above, and more of the same, which take some minutes of processors.
MORE = {
    **fits("gpt2_small"),
    **short_of_memory("own/residual", (70, 3), (50, 2)),
    **short_of_memory("own/branches", (70, 2), (70, 3), (50, 3)),
    **short_of_memory("own/encoder", (70, 2), (50, 3), (35, 2)),
    **short_of_memory("own/perceptron", (70, 2), (50, 3)),
    **short_of_memory("mnist/mnist.onnx", (70, 2)),
    **short_of_memory("ultraface/ultraface.onnx", (70, 2), (70, 3)),
    **both("light/light_inception_v1.onnx"),
    **never_worse("ultraface/ultraface.onnx", "resnet50"),
    **budget("light/light_squeezenet.onnx", "light/light_inception_v1.onnx"),
    **same_bytes(**{"own/branches": "1MiB", "resnet50": "70MiB"}),
}


if __name__ == "__main__":
    sys.exit(cases.main("auto", CASES, __doc__, Placer, MORE))
