#!/usr/bin/python3
"""Limits to the byte: with the smallest limit that a refusal names a plan fits, with a byte less it does not.

The project's own networks, the eight of make_models.py, ultraface and mnist on a CPU and on a simulated GPU; ultraface
and a network of our own on two GPUs in four placements, each device in turn; and small ones when they are loaded, against what `gantry run --memory` allows. A batch
from --largest-batch fits, the next one does not, and a byte less is a smaller one. make_models.py wants PyTorch;
GANTRY_MADE_MODELS names a folder with its files, GANTRY_DYNAMIC_MODELS one with those of --dynamic. The small ones are
the default, --all runs all.

Usage: limits_test.py --build-dir BUILD [--all] [--filter TEXT] [-v]
"""

import json
import re
import sys

import cases
import own_models
from cases import file_of, made

ON_CPU, ON_GPU, ON_TWO = ("CPU:0@{}",), ("CPU:0,GPU:0@{}", "--simulate"), ("CPU:0,GPU:0{},GPU:1{}", "--simulate")
QUICK = ("reuters_cnn", "mlp", "elementwise")
LARGE = ("resnet50", "mobilenet_v2", "vit_b_16", "bert_base", "gpt2_small")
DOES_NOT_FIT = 3
LOWEST = 64  # bytes: nothing fits


def compile_within(runner, file, devices, *flags, status=0):
    """What the compiler says, which comes as far as memory."""
    return runner.gantry("compile", file, f"--devices={devices}", *flags, "--stop-after=memory", "-o", "/dev/null",
                         status=status)[1]


def smallest_named(text, device):
    found = re.search(rf"on '[^']*{device}', the limit is .*; raise the limit to at least (\d+) bytes", text)
    assert found, f"no smallest limit of {device} in: {text[-800:]}"
    return int(found[1])


def sweep(runner, file, device, devices, *flags):
    """The smallest limit that is named, which has to be one."""
    def named(limit):
        return smallest_named(compile_within(runner, file, devices(limit), *flags, status=DOES_NOT_FIT), device)

    smallest = named(LOWEST)
    assert named(smallest - 1) == smallest, "one byte less than the smallest is told another one"
    for limit in (smallest, smallest + 1):
        compile_within(runner, file, devices(limit), *flags)
    return smallest


def on_one_device(runner, model, where):
    device = "CPU:0" if where == ON_CPU else "GPU:0"
    return f"{sweep(runner, file_of(runner, model), device, where[0].format, *where[1:])} bytes"


# Of an op's place in the program, from 0 to 1, and its number.
PLACEMENTS = {
    "halves": lambda part, number: part > 0.5,
    "ends": lambda part, number: not 0.25 < part < 0.75,
    "in-turn": lambda part, number: number % 2 == 1,
    "three-in-turn": lambda part, number: number // 3 % 2 == 1,
}


def on_two_devices(runner, model, placement):
    file = file_of(runner, model)
    everywhere = (f"--devices={ON_TWO[0].format('', '')}", *ON_TWO[1:])
    runner.gantry("compile", file, *everywhere, "-o", "plan.gantry")
    ops = json.loads(runner.gantry("explain", "--json", "plan.gantry")[0])["functions"][0]["ops"]
    names = [op["name"] for op in ops]
    rules = runner.write("rules", "".join(
        f"name:{re.escape(name)}=GPU:{int(PLACEMENTS[placement](number / len(names), number))}\n"
        for number, name in enumerate(names)))
    told = []
    for device, limits in (("GPU:0", ("@{}", "")), ("GPU:1", ("", "@{}"))):
        pattern = ON_TWO[0].format(*limits)
        told.append(f"{sweep(runner, file, device, pattern.format, *ON_TWO[1:], f'--place=@{rules}')} on {device}")
    return ", ".join(told)


def when_loaded(runner, model):
    """A plan without a limit, which is loaded, and then bound, within less and less too little."""
    plan, limits = "plan.gantry", [LOWEST]
    runner.gantry("compile", file_of(runner, model), "-o", plan)

    def run(limit, status=0):
        return runner.gantry("run", plan, "--fill=ramp", f"--memory=CPU:0=limit:{limit}", status=status)[1]

    for what in ("constants and transient values", "the output"):
        found = re.search(r"to at least ([\d.]+) (bytes|KiB|MiB)", refusal := run(limits[-1], DOES_NOT_FIT))
        assert found, f"no smallest limit for {what} in: {refusal}"
        limits.append(int(float(found[1]) * {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20}[found[2]]))  # written in full
    run(limits[-1])
    run(limits[-1] - 1, DOES_NOT_FIT)
    return f"{limits[-1]} bytes"


def largest_batch(runner, model, batch=3):
    """A limit that has just room for a batch, and one byte less."""
    if model == "own/perceptron":
        file = own_models.write("perceptron", runner.scratch, dynamic=True)
    else:
        file = made(runner, model, "GANTRY_DYNAMIC_MODELS", "--dynamic")
    devices = ON_GPU[0].format
    smallest = smallest_named(
        compile_within(runner, file, devices(LOWEST), ON_GPU[1], f"--dim=batch={batch}", status=DOES_NOT_FIT), "GPU:0")
    for limit, largest in ((smallest, batch), (smallest - 1, batch - 1)):
        said = compile_within(runner, file, devices(limit), ON_GPU[1], "--largest-batch=batch")
        assert f"the largest 'batch' that fits is {largest}; with {largest + 1}," in said, (limit, said)
        compile_within(runner, file, devices(limit), ON_GPU[1], f"--dim=batch={largest}")
        compile_within(runner, file, devices(limit), ON_GPU[1], f"--dim=batch={largest + 1}", status=DOES_NOT_FIT)
    return f"{batch} in {smallest} bytes"


def short(model):
    return model.rpartition("/")[2].removesuffix(".onnx")


def on_each(models):
    return {f"{short(name)}@{label}":
            (lambda runner, name=name, where=where: on_one_device(runner, name, where))
            for name in models for label, where in (("CPU", ON_CPU), ("GPU", ON_GPU))}


def on_two(placements):
    return {f"two-devices/{name}/{short(model)}":
            (lambda runner, model=model, name=name: on_two_devices(runner, model, name))
            for model in ("own/residual", "ultraface/ultraface.onnx") for name in placements}


def loaded(models):
    return {f"loaded/{short(name)}": (lambda runner, name=name: when_loaded(runner, name)) for name in models}


def largest(models):
    return {f"largest-batch/{short(name)}": (lambda runner, name=name: largest_batch(runner, name)) for name in models}


CASES = {**on_each(("own/residual", "own/encoder", "mnist/mnist.onnx", *QUICK)), **on_two(("halves",)),
         **loaded(("own/perceptron", "mnist/mnist.onnx")), **largest(("own/perceptron", "mlp"))}
MORE = {**on_each(("ultraface/ultraface.onnx", *LARGE)), **on_two(("ends", "in-turn", "three-in-turn")),
        **largest(("resnet50", "mobilenet_v2", "gpt2_small"))}


if __name__ == "__main__":
    sys.exit(cases.main("limits", CASES, __doc__, more=MORE))
