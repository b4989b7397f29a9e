#!/usr/bin/python3
"""Runs ONNX's own test models (Debian's libonnx-testdata) and compares with ONNX's own outputs.

Every model is compiled, run on its input_*.pb and compared with its output_*.pb at the tolerances
of ONNX's backend tests (relative 1e-3, absolute 1e-7; element types and shapes must agree). What
each has to do stands in onnx_expected.txt, one line a case:

  pass NAME                   compiles, runs, equal
  random NAME                 as pass, but the outputs are drawn at random: type and shape count, and
                              that every value is one of those that can be drawn
  differs NAME REASON         ONNX's file is not what ONNX specifies: equal to what NumPy makes of the
                              specification instead (OWN_REFERENCE below)
  unsupported NAME REASON     refused with this error; never a crash, never a wrong number

Anything else is a failure, also a case that has become better than its line: --update writes the
file anew from what was seen, and refuses to write down a wrong number, a crash or a vague error.

With `--device=emulated` the models run on an interpreted GPU instead, and have to do the same: every op has
a kernel there, so that none may run on the CPU but what steers branches and loops, which is the host's.

Usage: onnx_suite.py --build-dir BUILD [--device cpu|emulated] [--jobs N] [--filter TEXT] [--json FILE] [--update] [-v]
"""

import argparse
import collections
import json
import pathlib
import re
import sys

import numpy as np
import onnx

import gantry_api
import references
import workers
from onnx_data import Unreadable, load_arrays

DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
EXPECTED = pathlib.Path(__file__).parent / "onnx_expected.txt"
LISTED = ("pass", "random", "differs", "unsupported")
RTOL, ATOL = 1e-3, 1e-7
SECONDS_PER_CASE = 60

# Outputs that no other implementation can reproduce: drawn at random without, or with another,
# generator. ONNX's own runners leave them out.
RANDOM = re.compile(r"^node/test_(bernoulli|training_dropout(?!_zero_ratio))")




def rounded_to_bfloat16(inputs):
    """float32 to the nearest bfloat16, ties to even; as float32."""
    bits = inputs["input"].view(np.uint32)
    return {"output": ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)}


def adam_without_epsilon(inputs):
    """The op's formula at T = 0, with the attributes that the model has."""
    outputs = {}
    for i in ("1", "2"):
        x, v, h = inputs["X" + i], inputs["V" + i], inputs["H" + i]
        gradient = 0.001 * x + inputs["G" + i]
        v_new, h_new = 0.95 * v + 0.05 * gradient, 0.85 * h + 0.15 * gradient ** 2
        new = x - inputs["R"] * v_new / np.sqrt(h_new)
        outputs |= {f"X{i}_new": new, f"V{i}_new": v_new, f"H{i}_new": h_new}
    return {name: value.astype(np.float32) for name, value in outputs.items()}


# Cases whose files contradict the specification: why, and what is right, from the inputs alone.
OWN_REFERENCE = {
    "node/test_cast_FLOAT_to_BFLOAT16":
        ("ONNX 1.12's file is truncated, a cast rounds to nearest even", rounded_to_bfloat16),
    "node/test_adam_multiple":
        ("ONNX 1.12's file was made with epsilon 1e-2, the model has none", adam_without_epsilon),
}


# Their data are zeros, or denormal, which a wrong answer could be as well. They hand on one element, or add: here 1, 2, ...
OF_ZEROS = ("pytorch-operator/test_operator_add_size1_broadcast", "pytorch-operator/test_operator_index",
            "pytorch-operator/test_operator_permute2", "pytorch-operator/test_operator_view")


def case_names():
    return [f"{kind}/{folder.name}" for kind in KINDS for folder in sorted((DATA / kind).iterdir())
            if (folder / "model.onnx").exists()]


def difference(actual, expected):
    """What is different between two arrays, or None; element type and shape count as well."""
    if actual.dtype != expected.dtype:
        return f"element type {actual.dtype}, expected {expected.dtype}"
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if np.allclose(actual, expected, rtol=RTOL, atol=ATOL, equal_nan=True):
        return None
    wrong = ~np.isclose(actual, expected, rtol=RTOL, atol=ATOL, equal_nan=True)
    where = tuple(int(i[0]) for i in np.nonzero(wrong))
    return f"{wrong.sum()} of {wrong.size} values differ, first at {list(where)}: {actual[where]}, expected {expected[where]}"


def open_dims(values, inputs):
    """Sizes of the dimensions that the inputs' declarations leave open: {name, or INPUT:AXIS: size}."""
    dims = {}
    for value in values:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.HasField("dim_value") and value.name in inputs:
                dims[dim.dim_param or f"{value.name}:{axis}"] = inputs[value.name].shape[axis]
    return dims


def drawable(name, inputs, output, value):
    """An array that an output drawn at random could be, as near as possible to `value`."""
    if "dropout" not in name or output == "z":
        return (value != 0).astype(value.dtype)
    scaled = inputs["x"] / np.float32(1 - inputs.get("r", np.float32(0.5)))
    return np.where(value == 0, np.float32(0), scaled)


def strays(plan):
    """Kernels on the CPU with an op in them that does not steer branches or loops."""
    kernels, reasons = plan.kernels_on("CPU:0"), {}
    for op in (op for function in plan.explain()["functions"] for op in function["ops"]) if kernels else ():
        if op["device"].endswith("device:CPU:0"):
            reasons.setdefault(op["kernel"], set()).add(op["reason"])
    return [kernel for kernel in kernels if reasons.get(kernel) != {"its value steers control flow on the host"}]


def run_data_set(name, model, file, folder):
    """Compiles and runs one test_data_set; the status and what it is about."""
    given = [i for i in model.graph.input if i.name not in {t.name for t in model.graph.initializer}]
    inputs = dict(zip((i.name for i in given), load_arrays(folder, "input", given)))
    expected = dict(zip((o.name for o in model.graph.output),
                        load_arrays(folder, "output", model.graph.output)))
    if name in OF_ZEROS:
        inputs = {key: np.arange(1, array.size + 1, dtype=array.dtype).reshape(array.shape) for key, array in inputs.items()}
        expected = {key: np.reshape(sum(inputs.values()), array.shape) for key, array in expected.items()}
    plan = gantry_api.compile_for(file, inputs, open_dims(given, inputs).items())
    if gantry_api.EMULATE and (kernels := strays(plan)):
        return "wrong", f"runs {', '.join(kernels)} on the CPU"
    actual = plan.run({key: value for key, value in inputs.items() if key in plan.inputs})
    status, reason = ("random" if RANDOM.search(name) else "pass"), ""
    if name in OWN_REFERENCE:
        reason, compute = OWN_REFERENCE[name]
        status, expected = "differs", compute(inputs)
    if references.accepts_zeros(expected.values(), RTOL, ATOL):
        return "wrong", "the reference says nothing: zeros are within its tolerance"
    for output, value in expected.items():
        if output not in actual:
            return "wrong", f"no output '{output}'; the outputs are {', '.join(actual)}"
        actual[output] = gantry_api.meant(actual, output)
        if status == "random" and actual[output].shape == value.shape:
            value = drawable(name, inputs, output, actual[output]).astype(value.dtype)
        if found := difference(actual[output], value):
            return "wrong", f"output '{output}': {found}"
    return status, reason


def run_case(name):
    """(status, detail) of one case: pass, random, differs, wrong, unsupported or error."""
    outcome = "error", "no test_data_set"
    folder = DATA / name
    file = folder / "model.onnx"
    model = onnx.load(str(file))
    try:
        for data_set in sorted(folder.glob("test_data_set_*")):
            try:
                outcome = run_data_set(name, model, file, data_set)
            except Unreadable:
                # No array can be made of these inputs; the compiler has to say no by itself.
                gantry_api.compile_for(file, {})
                return "error", "compiled a model whose inputs or outputs are not tensors"
            if outcome[0] == "wrong":
                return outcome
    except gantry_api.Refused as refusal:
        if refusal.is_clear():
            return "unsupported", refusal.reason(folder)
        return "error", f"{refusal.code_name}: {refusal.reason(folder)}"
    except gantry_api.ApiError as error:
        # Some of ONNX's inputs have another shape than their model declares; Gantry says so.
        if str(error).startswith("INVALID_ARGUMENT: input "):
            return "unsupported", str(error).removeprefix("INVALID_ARGUMENT: ")
        return "error", str(error)
    return outcome


def read_expected():
    """{name: (status, reason)} of the checked list."""
    expected = {}
    if EXPECTED.exists():
        for line in EXPECTED.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                status, name, *reason = line.split(" ", 2)
                expected[name] = (status, reason[0] if reason else "")
    return expected


def write_expected(results):
    """Writes the list; cases that must never be are left out, so that they go on failing."""
    head = "# What each of ONNX's test models does; written by onnx_suite.py --update, read by its check.\n"
    lines = [" ".join(filter(None, (status, name, detail))) for name, (status, detail)
             in sorted(results.items()) if status in LISTED]
    EXPECTED.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def judge(name, result, expected):
    """Why `result` is a failure, or None."""
    status, detail = result
    if status not in LISTED:
        return f"{status}: {detail}"
    if name not in expected:
        return f"{status}, but not in {EXPECTED.name}; look at it and run --update"
    if expected[name] != result:
        return f"{' '.join(expected[name])} expected, but {' '.join(result)}; if that is better, run --update"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--device", choices=("cpu", "emulated"), default="cpu")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--filter", default="")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()

    if not DATA.is_dir():
        print(f"onnx: skipped, no {DATA} (Debian's libonnx-testdata)")
        if arguments.json:
            arguments.json.write_text(json.dumps({"passed": 0, "failures": [], "skips": {"no libonnx-testdata": 1}}))
        return 0
    names = [name for name in case_names() if arguments.filter in name]
    if arguments.device == "emulated":
        gantry_api.emulate("all")
    gantry_api.load(arguments.build_dir)
    results = {}
    for name, result in workers.run_all(run_case, names, arguments.jobs, SECONDS_PER_CASE,
                                        on_crash=lambda why: ("crash", why),
                                        on_timeout=lambda: ("timeout", f"more than {SECONDS_PER_CASE} s")):
        results[name] = result
        if arguments.verbose:
            print(result[0].ljust(12), name, result[1], flush=True)

    if arguments.update:
        kept = {name: value for name, value in read_expected().items() if name not in results and name in case_names()}
        write_expected({**kept, **results})
    expected = read_expected()
    failures = {name: why for name in names if (why := judge(name, results[name], expected))}
    counts = collections.Counter(status for status, _ in results.values())
    # With a result file the caller prints them.
    for name, why in failures.items() if not arguments.json else ():
        print(f"  {name}: {why}")
    print(f"onnx: {counts['pass']} of {len(names)} models equal ONNX's outputs, {counts['random']} random ones "
          f"have the right type and shape, {counts['differs']} right where ONNX's file is not, {counts['unsupported']} refused with a clear error, "
          f"{counts['wrong']} wrong, {counts['crash'] + counts['timeout']} crashed or hung, "
          f"{counts['error']} failed otherwise")
    if arguments.json:
        unsupported = sum(1 for name in names if name not in failures and results[name][0] == "unsupported")
        passed = len(names) - len(failures) - unsupported
        arguments.json.write_text(json.dumps({
            "passed": passed, "failures": [f"{name}: {why}" for name, why in failures.items()],
            "skips": {"ONNX models that Gantry refuses with a clear, checked error": unsupported} if unsupported else {}}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
