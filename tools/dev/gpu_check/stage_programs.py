"""Whole programs: section 9 of the specification, networks with references, networks against PyTorch, and
the conformance suite of drivers.

Recorded programs have to print what they printed on simulated devices, and to copy what their plan's
ledger says (the tool counts under -v). GPUs are logical devices of one card (recorded.py).
"""

import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile

import common
import cuda
import kernel_cases
import networks
import runtime

import numpy as np

SECONDS = 240  # of the stage; what does not begin before is said to be left out
RTOL = {"f32": 1e-3, "bf16": 1e-2}  # relative as networks.distance has it
TIMES_PEER = 3  # where weights are made, PyTorch in the same type may itself be further off; then so much of that


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


def judged(found, exact, peer, dtype):
    """(verdict, words): how far from float64, and how far PyTorch is in the same type."""
    error, own = networks.distance(found, exact, dtype), networks.distance(peer, exact, dtype)
    allowed = max(RTOL[dtype], TIMES_PEER * own)
    return ("passed" if error <= allowed else "failed",
            f"{error:.2g} from float64, PyTorch's {dtype} on the CPU {own:.2g}, allowed {allowed:.2g}")


def network(stage, entry, scratch):
    inputs, exact, peer = networks.references(common.BUNDLE / "make_models.py", entry["name"], entry["dtype"])
    machine = runtime.Runtime()
    plan = runtime.Plan(machine, common.unpacked(entry["plan"], scratch))
    output = plan.run(inputs)["output"]
    plan.close()
    found = kernel_cases.widened(output, entry["dtype"] == "bf16").astype(np.float64)
    verdict, words = judged(found, exact, peer, entry["dtype"])
    stage.row(program=networks.title(entry), verdict=verdict, detail=words)


def counted(stage, entry, scratch):
    """Of networks that take minutes to interpret: kernels do not run, what is around them does."""
    calls = []
    for runs in (2, 3):
        report = pathlib.Path(scratch) / f"report{runs}"
        command = [str(common.runtime_folder() / "bin/gantry"), "run", str(common.unpacked(entry["plan"], scratch)), "-v",
                   f"--repeat={runs}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240,
                              env={**common.environment(), "FAKE_CUDA_SKIP": "1", "FAKE_CUDA_MEMORY": str(8 << 30),
                                   "FAKE_CUDA_REPORT": str(report)})
        if done.returncode or "copies counted as planned" not in done.stderr:
            stage.row(program=networks.title(entry), verdict="failed", detail=done.stderr.strip()[-300:])
            return
        words = report.read_text().split()
        report.unlink()
        calls.append(int(words[1]))
        if words[2:] != ["leaks"]:
            stage.row(program=networks.title(entry), verdict="failed", detail=" ".join(words)[:300])
            return
    stage.row(program=networks.title(entry), verdict="passed",
              detail=f"kernels not run, being too much to interpret: loaded, copies as planned, no leak, {calls[1] - calls[0]} calls of the driver in a further run")


def of_the_caller(stage, entry, scratch):
    """Arrays on the GPU, used where they are: filled and read on a stream that the runs are ordered with."""
    device, rounds = cuda.Device(), 5
    machine = runtime.Runtime()
    plan = runtime.Plan(machine, common.unpacked(entry["plan"], scratch))
    bindings, stream = plan.bind(None), device.stream()
    arrays = []
    for kind in ("input", "output"):
        (name, info), = plan.infos(kind).items()
        arrays.append(device.take(info.size))
        machine.call(f"bindings_set_device_{kind}", bindings, name.encode(), ctypes.c_void_p(arrays[-1].value), info.element,
                     (ctypes.c_int64 * len(info.shape()))(*info.shape()), len(info.shape()))
    machine.call("bindings_set_stream", bindings, stream)
    numbers, pinned = np.linspace(-1, 1, info.size // 4, dtype=np.float32), device.pinned(info.size)
    right = True
    for number in range(1, rounds + 1):
        ctypes.memmove(pinned, (numbers * number).tobytes(), info.size)
        device.call("cuMemcpyHtoDAsync_v2", arrays[0], pinned, ctypes.c_size_t(info.size), stream)
        machine.call("session_run", plan.session, bindings)
        device.call("cuMemcpyDtoHAsync_v2", pinned, arrays[1], ctypes.c_size_t(info.size), stream)
        device.wait(stream)
        found = np.frombuffer(ctypes.string_at(pinned, info.size), np.float32)
        right &= bool((found == np.maximum(2 * numbers * number, 0)).all())
    copied = sum(count.copies for count in machine.devices()["GPU:0"].run_copies)
    plan.close()
    machine.close()
    device.call("cuMemFreeHost", pinned)
    device.call("cuStreamDestroy_v2", stream)
    for array in arrays:
        device.free(array)
    device.close()
    stage.row(program=entry["name"], verdict="passed" if right and not copied else "failed",
              detail=f"{rounds} runs, {'right' if right else 'wrong'} numbers, {copied} copies by Gantry")


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
        for entry in content.get("on_device", ()):
            guarded(stage, entry["name"], of_the_caller, entry, scratch)
        for entry in content["networks"]:
            guarded(stage, networks.title(entry), counted if entry["large"] and common.REHEARSED else network, entry, scratch)
    return stage.failed()


if __name__ == "__main__":
    sys.exit(main())
