"""Is what a plan says it takes what it takes? For each network, and at the smallest limit in steps of 1 MiB.

Planned: the arenas of the plan on GPU 0, which the runtime's ledger has to repeat but for the padding at their
ends; rounded up to the units in which the card is mapped. Taken: what cuMemGetInfo has less of after load and two runs, the context being there
before; kernels' code and the driver's own are what is left of the difference. Then all but so
much of the card is taken away beforehand: a plan has to load and run where that is enough, and to be
refused with DOES_NOT_FIT where it is not. A card that is split keeps each part within its limit.
"""

import sys
import tempfile

import common
import cuda
import networks
import runtime

import run_plan

MIB = 1 << 20
UNIT = 2 * MIB
STEPS = range(-4, 9)
PADDING = 64  # an arena's size is a multiple of it, what is taken ends with the last value


def planned(plan, name="GPU:0"):
    """{kind of arena: bytes} on a GPU, as the plan has them."""
    described = plan.describe()
    found = {}
    for arena in described["arenas"]:
        device = described["devices"][arena["device"]]
        if (device if isinstance(device, str) else str(device.get("name", device))).endswith(name):
            found[arena["kind"]] = found.get(arena["kind"], 0) + arena["size"]
    return found


def arrays_of(plan):
    return {key: run_plan.made(info) for key, info in plan.infos("input").items()}


def in_use(machine):
    return sum(info.bytes_in_use for name, info in machine.devices().items() if name == "GPU:0")


def cycle(device, file):
    """Loads the plan and runs it twice: planned bytes by kind, of the ledger, free after each run."""
    machine = runtime.Runtime()
    plan = runtime.Plan(machine, file)
    plan.run(arrays_of(plan))
    first = device.memory()[0]
    plan.run()
    second = device.memory()[0]
    arenas, ledger = planned(plan), in_use(machine)
    plan.close()
    machine.close()
    return arenas, ledger, first, second


def whole(stage, name, file):
    """Figures of one plan with all of the card free; bytes that were taken."""
    nvml = cuda.used_by_nvml()
    device = cuda.Device()
    context = None if nvml is None else cuda.used_by_nvml() - nvml
    before = device.memory()[0]
    arenas, ledger, first, second = cycle(device, file)
    after = device.memory()[0]
    cycle(device, file)
    leaked = after - device.memory()[0]  # what the driver keeps for itself it keeps the first time
    device.close()
    total, taken = sum(arenas.values()), before - second
    rounded = -(-total // UNIT) * UNIT
    exact = ledger <= total < ledger + PADDING * len(arenas)
    stage.row(plan=name, planned_mib=round(total / MIB, 2), ledger_mib=round(ledger / MIB, 2), rounded_mib=rounded / MIB,
              taken_mib=round(taken / MIB, 2), code_and_driver_mib=round((taken - rounded) / MIB, 2),
              second_run_mib=round((first - second) / MIB, 2), kept_by_driver_mib=round((before - after) / MIB, 2),
              leaked_mib=round(leaked / MIB, 2), context_mib_by_nvml="no NVML" if context is None else context,
              verdict="passed" if exact and rounded <= taken and first == second and not leaked else "failed")
    return taken


def with_free(file, free):
    """What becomes of the plan with so many bytes of the card left, or up to a unit more: the rest is taken in whole units,
    so that no part of one is left to the driver's small allocations in one step and not in the next."""
    device = cuda.Device()
    ballast = device.take(max(UNIT, (device.memory()[0] - free) // UNIT * UNIT))
    before, why, during = device.memory()[0], "", "load"
    machine = runtime.Runtime()
    try:
        plan = runtime.Plan(machine, file)
        during = "run"
        try:
            plan.run(arrays_of(plan))
            plan.run()
        finally:
            plan.close()
    except runtime.Error as error:
        why = str(error)
    mapped = max((info.peak_bytes for name, info in machine.devices().items() if name == "GPU:0"), default=0)
    machine.close()
    left = before - device.memory()[0]
    device.free(ballast)
    device.close()
    return {"fits": not why, "free": before, "allocated": mapped, "left": left, "during": during, "why": why}


def told(step, found):
    """A step in words, so that a refusal explains itself."""
    line = (f"{step:+d} MiB: {found['free'] / MIB:.2f} MiB free before, {found['allocated'] / MIB:.2f} allocated by the plan, "
            f"{found['left'] / MIB:.2f} left behind: ")
    return line + ("ran" if found["fits"] else f"refused at {found['during']}: {found['why']}")


def judged(found):
    """Whether each refusal says that memory is short, and nothing runs with less than where it is refused."""
    most_refused = max((step["free"] for step in found if not step["fits"]), default=0)
    least_enough = min((step["free"] for step in found if step["fits"]), default=float("inf"))
    codes = {step["why"].split(":")[0] for step in found if not step["fits"]}
    return "passed" if most_refused < least_enough and codes <= {"DOES_NOT_FIT"} else "failed"


def sweep(stage, name, file, taken):
    """Fits from some step on and never below it, and is refused as what does not fit."""
    found = [with_free(file, taken + step * MIB) for step in STEPS]
    verdict = judged(found)
    enough = [step["free"] for step in found if step["fits"]]
    stage.row(plan=name, sweep="".join("+" if step["fits"] else "-" for step in found), steps_mib=f"{STEPS[0]}..{STEPS[-1]}",
              taken_mib=round(taken / MIB, 2), least_that_was_enough_mib=round(min(enough) / MIB, 2) if enough else "none",
              refused_as=", ".join(sorted({step["why"].split(":")[0] for step in found if not step["fits"]})) or "never",
              kept_by_driver_mib=max((step["left"] for step in found if not step["fits"]), default=0) / MIB, verdict=verdict)
    # Where it is refused last and runs first, or all of it where they do not go together.
    last = max((number for number, step in enumerate(found) if not step["fits"]), default=-1)
    for number, step in enumerate(found):
        line = told(STEPS[number], step)
        print("    " + line, flush=True)
        if verdict == "failed" or number in (last, last + 1):
            stage.note(f"{name}: {line}")


def parts(stage, entry, file):
    """Logical devices of one card: each has what is planned for it, and together they take no more than their limits,
    in units of the card."""
    device = cuda.Device()
    before = device.memory()[0]
    machine = runtime.Runtime()
    plan = runtime.Plan(machine, file)
    plan.run(arrays_of(plan))
    plan.run()
    taken, limits, rounded = before - device.memory()[0], 0, 0
    for name, info in machine.devices().items():
        if not name.startswith("GPU"):
            continue
        arenas = planned(plan, name)
        total = sum(arenas.values())
        limits, rounded = limits + info.limit_bytes, rounded + -(-total // UNIT) * UNIT
        exact = info.bytes_in_use <= total < info.bytes_in_use + PADDING * max(1, len(arenas))
        stage.row(plan=entry["name"], part=name, limit_mib=info.limit_bytes / MIB, planned_mib=round(total / MIB, 2),
                  ledger_mib=round(info.bytes_in_use / MIB, 2),
                  verdict="passed" if exact and 0 < total <= info.limit_bytes else "failed")
    stage.row(plan=entry["name"], limits_mib=limits / MIB, rounded_mib=rounded / MIB, taken_mib=round(taken / MIB, 2),
              code_and_driver_mib=round((taken - rounded) / MIB, 2), verdict="passed" if rounded <= taken else "failed")
    plan.close()
    machine.close()
    device.close()


def one(stage, entry, scratch):
    file = common.unpacked(entry["plan"], scratch)
    taken = whole(stage, networks.title(entry), file)
    if entry["name"] in (*networks.SMALL, "resnet50") and entry["dtype"] == "f32":
        sweep(stage, networks.title(entry), file, taken)


def main():
    content = common.manifest()
    with common.Stage("memory") as stage, tempfile.TemporaryDirectory() as scratch:
        for entry in content["networks"]:
            if not (common.REHEARSED and entry["large"]):
                one(stage, entry, scratch)
        for entry in content["split"]:
            parts(stage, entry, common.unpacked(entry["plan"], scratch))
        if not content["networks"]:
            stage.row(verdict="left out", detail="the bundle carries no network")
    return stage.failed()


if __name__ == "__main__":
    sys.exit(main())
