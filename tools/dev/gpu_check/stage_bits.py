"""Are the GPU's bits the interpreter's? Every case of the kernel table that the bundle carries.

Kernels on tensor cores are held against NumPy with the suite's tolerance instead, and counted apart.
Where bits differ, the interpreter is asked again on this machine, and the bytes that differ are counted.
"""

import collections
import sys
import tempfile
import time

import common
import kernel_cases
import runtime

import gantry_api
import groups
import workers


SECONDS = 240  # of the stage, on a machine with 8 cores; what does not begin before is said to be left out


def check(entry, end):
    """In a process of its own: [(case, verdict, detail)]."""
    if time.monotonic() > end:
        return [(name, "left out", "") for name in entry["cases"]]
    cases, _, inputs, outputs = kernel_cases.packed(entry["cases"])
    if kernel_cases.digest_inputs(inputs) != entry["inputs"]:
        return [(case.name, "failed", "this NumPy draws other inputs") for case in cases]
    with tempfile.TemporaryDirectory() as scratch:
        file = common.unpacked(entry["plan"], scratch)
        try:
            found, halves = run(file, inputs)
        except runtime.Error as error:
            return [(case.name, "failed", str(error)[:300]) for case in cases]
        verdicts = [judge(case, names, digests, found, halves, entry["tensor_cores"])
                    for case, names, digests in zip(cases, outputs, entry["outputs"])]
        if any(verdict == "failed" and not detail for _, verdict, detail in verdicts):
            again, _ = run(file, inputs, "nothing")
            verdicts = [explain(verdict, names, found, again) for verdict, names in zip(verdicts, outputs)]
    return verdicts


def run(file, inputs, emulate="off"):
    plan = runtime.Plan(runtime.Runtime(emulate), file)
    halves = {name for name, info in plan.infos("output").items() if info.element == gantry_api.BF16}
    return plan.run({name: inputs[name] for name in plan.infos("input")}), halves


def judge(case, names, digests, found, halves, on_tensor_cores):
    if [kernel_cases.digest(found[name], name in halves) for name in names] == digests:
        return case.name, "same bits", ""
    if not on_tensor_cores:
        return case.name, "failed", ""
    wide = [kernel_cases.widened(found[name], name in halves) for name in names]
    wrong = [what for array, expected in zip(wide, case.expected)
             if (what := groups.difference(array, expected, case.tolerance))]
    return case.name, "failed" if wrong else "within tolerance", "; ".join(wrong)[:300]


def explain(verdict, names, found, again):
    name, result, detail = verdict
    if result != "failed" or detail:
        return verdict
    total = sum(found[output].nbytes for output in names)
    differ = sum(a != b for output in names for a, b in zip(found[output].tobytes(), again[output].tobytes()))
    return name, result, f"{differ} of {total} bytes are not the interpreter's"


def main():
    content = common.manifest()
    entries = content["bits"]
    with common.Stage("bits") as stage:
        if not entries:
            raise RuntimeError("the bundle carries no case")
        counted, failures = collections.defaultdict(collections.Counter), []
        end = time.monotonic() + SECONDS
        for index, verdicts in workers.run_all(
                lambda index: check(entries[index], end), range(len(entries)), common.JOBS, 240, fresh_after=1,
                on_crash=lambda why: f"crash: {why}", on_timeout=lambda: "more than 240 s"):
            if isinstance(verdicts, str):
                verdicts = [(name, "failed", verdicts) for name in entries[index]["cases"]]
            kind = "tensor cores" if entries[index]["tensor_cores"] else "other kernels"
            for name, verdict, detail in verdicts:
                counted[name.split()[1], kind][verdict] += 1
                if verdict == "failed":
                    failures.append(f"{name}: {detail}")
        for (element, kind), counts in sorted(counted.items()):
            stage.row(element=element, kernels=kind, cases=sum(counts.values()), same_bits=counts["same bits"],
                      within_tolerance=counts["within tolerance"], left_out=counts["left out"], failed=counts["failed"],
                      verdict="failed" if counts["failed"] else "passed")
        for failure in sorted(failures)[:200]:
            stage.note(failure)
        for line in content["left_out"]:
            stage.row(not_carried=line, verdict="failed")  # nothing is left out where all is well
        stage.note(f"{len(failures)} cases failed")
    return stage.failed()


if __name__ == "__main__":
    sys.exit(main())
