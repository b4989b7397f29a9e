"""Whole programs: section 9 of the specification, networks with references, networks against PyTorch, and
the conformance suite of drivers.

Recorded programs have to print what they printed on simulated devices, and to copy what their plan's
ledger says (the tool counts under -v). GPUs are logical devices of one card (recorded.py).
"""

import re
import subprocess
import sys
import tempfile

import common
import networks
import runtime

import numpy as np

SECONDS = 240  # of the stage; what does not begin before is said to be left out
RTOL = 1e-3  # of f32 summed in another order, relative to each value or a hundredth of the largest


def recorded(stage, program, scratch):
    plan = common.unpacked(program["plan"], scratch)
    command = [str(common.runtime_folder() / "bin/gantry"), "run", str(plan), *program["run"], "-v"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=common.BUNDLE, env=common.environment(), timeout=240)
    counted = "copies counted as planned" in done.stderr
    if done.returncode:
        stage.row(program=program["name"], verdict="failed", detail=done.stderr.strip()[-300:])
    elif program["stdout"] is not None and done.stdout != program["stdout"]:
        stage.row(program=program["name"], verdict="failed", detail=f"prints {done.stdout[:150]!r}")
    else:
        stage.row(program=program["name"], verdict="passed" if counted else "failed",
                  detail=re.search(r"copies counted as planned[^\n]*", done.stderr)[0] if counted else "copies were not counted")


def expected(name):
    """The network's output in PyTorch, and its inputs."""
    import torch
    net, inputs = networks.network(common.BUNDLE / "make_models.py", name)
    with torch.no_grad():
        return net(*(torch.from_numpy(value) for value in inputs.values())).numpy(), inputs


def network(stage, entry, scratch):
    reference, inputs = expected(entry["name"])
    machine = runtime.Runtime()
    plan = runtime.Plan(machine, common.unpacked(entry["plan"], scratch))
    found = plan.run(inputs)["output"].astype(np.float64)
    plan.close()
    scale = 1e-2 * np.abs(reference).max() + np.abs(reference)
    error = float((np.abs(found - reference) / scale).max())
    stage.row(program=entry["name"], verdict="passed" if error <= RTOL else "failed",
              detail=f"largest relative difference from PyTorch on the CPU {error:.2g}, allowed {RTOL:g}")


def outcomes(text):
    """Names of the tests that passed and that failed, of what GoogleTest prints."""
    return [sorted(set(re.findall(rf"^\[ +{word} +\] (\S+/[^\s,]+)", text, re.MULTILINE))) for word in ("OK", "FAILED")]


def conformance(stage):
    tests = "cudaOnFake/*" if common.REHEARSED else "cudaReal/*"
    done = subprocess.run([str(common.runtime_folder() / "bin/DriverConformanceTest"), f"--gtest_filter={tests}"],
                          capture_output=True, text=True, timeout=300,
                          env={**common.environment(), "GANTRY_TEST_CUDA": "fake" if common.REHEARSED else "real"})
    passed, failed = outcomes(done.stdout)
    stage.row(program=f"conformance suite, {tests}", verdict="passed" if passed and not done.returncode else "failed",
              detail=f"{len(passed)} passed, {len(failed)} failed" + ("" if done.returncode in (0, 1) else f", exit status {done.returncode}"))
    for name in failed:
        stage.note(f"conformance: {name}")


def guarded(stage, name, work, *arguments):
    """One program that breaks does not take the others along."""
    if stage.seconds() > SECONDS:
        stage.row(program=name, verdict="left out", detail="no time left")
        return
    try:
        work(stage, *arguments)
    except Exception as error:
        stage.row(program=name, verdict="failed", detail=f"{type(error).__name__}: {error}"[:300])


def main():
    content = common.manifest()
    with common.Stage("programs") as stage, tempfile.TemporaryDirectory() as scratch:
        stage.note("programs of several GPUs run on as many logical devices of one")
        guarded(stage, "conformance suite", conformance)
        for program in content["programs"]:
            guarded(stage, program["name"], recorded, program, scratch)
        for entry in content["networks"]:
            guarded(stage, entry["name"], network, entry, scratch)
    return stage.failed()


if __name__ == "__main__":
    sys.exit(main())
