"""compute-sanitizer on some plans: bounds, barriers, races in shared memory, reads of what was never written.

A few plans of the kernel table of each element type, and the small networks: the tools slow kernels down
by a factor of 10 to 100, the last two most, which get fewer plans and one network. Plans go a few at a time, and what is known of them is
kept, so that a call that has no time left is gone on with by the next. In a rehearsal the fake's own checks stand in:
every access is checked by the interpreter, and a race between streams fails the launch.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import common

# Plans of each element type, and how many of the networks.
TOOLS = {"memcheck": (2, 99), "synccheck": (2, 99), "racecheck": (1, 1), "initcheck": (1, 1)}
STAND_IN = "checks of the fake"
TOGETHER = 4  # plans of a process
SECONDS = 460  # of a call
SECONDS_OF_ONE = 120  # of a process; twice that when it comes again
SMALL = 64 << 20


def chosen(content, of_each, most_networks):
    """Plans of each element type, products and attention among them, and networks that are not large."""
    found, of_type = [], {}
    for entry in content["bits"]:
        kind, element = entry["cases"][0].split()[:2]
        key = kind in ("attention-of-ops", "staged", "rounded") and kind, element, entry["tensor_cores"]
        of_type[key] = of_type.get(key, 0) + 1
        if of_type[key] <= of_each:
            found.append(entry["plan"])
    small = [entry["plan"] for entry in content["networks"] if entry["bytes"] < SMALL and not content["small"]]
    return found + sorted(small, key=lambda plan: "mlp" not in plan)[:most_networks]


def steps_of(content, tools):
    """[(tool, plans of one process)]"""
    found = []
    for tool in tools:
        plans = chosen(content, *TOOLS.get(tool, (1, 0)))
        found += [(tool, plans[at:at + TOGETHER]) for at in range(0, len(plans), TOGETHER)]
    return found


def sanitizer():
    places = [shutil.which("compute-sanitizer"), "/usr/local/cuda/bin/compute-sanitizer"]
    return next((place for place in places if place and os.path.exists(place)), None)


def errors_in(text):
    """What the tool's last line counts, or None when it has none: it did not come to its end."""
    found = re.findall(r"ERROR SUMMARY: (\d+)|RACECHECK SUMMARY: (\d+)", text)
    return sum(int(number) for pair in found for number in pair if number) if found else None


def run(command, plans, seconds, **environment):
    """{"ran", "errors"} of a process, {"slow": seconds}, or besides "said" where not all is well."""
    script = str(common.ROOT / "tools/dev/gpu_check/run_plan.py")
    try:
        done = subprocess.run([*command, sys.executable, script, *plans], capture_output=True, text=True,
                              timeout=seconds, env={**common.environment(), **environment})
    except subprocess.TimeoutExpired:
        return {"slow": round(seconds)}
    text = done.stdout + done.stderr
    count = errors_in(text) if command else 0
    ran = text.count("ran bits/") + text.count("ran networks/")
    found = {"ran": ran, "errors": count}
    good = done.returncode == 0 and count == 0 and ran == len(plans)
    return found if good else {**found, "said": text.strip()[-1500:] or "nothing"}


def key_of(tool, plans):
    return f"{tool} {plans[0]}"


def row(kept, tool, steps):
    """The row of a tool: over all of its processes."""
    own = [(plans, kept.get(key_of(tool, plans))) for name, plans in steps if name == tool]
    done = [found for _, found in own if found and "ran" in found]
    missing = [(len(plans), found) for plans, found in own if not found or "slow" in found]
    figures = {"tool": tool, "plans": sum(len(plans) for plans, _ in own), "ran": sum(found["ran"] for found in done),
               "errors": "no summary" if any(found["errors"] is None for found in done) else sum(found["errors"] for found in done)}
    if any("said" in found for found in done):
        return {**figures, "verdict": "failed"}
    if not missing:
        return {**figures, "verdict": "passed"}
    slow = max((found["slow"] for _, found in missing if found), default=0)
    return {**figures, "verdict": "left out", "detail": f"{sum(count for count, _ in missing)} plans: " +
            (f"more than {slow} s" if slow else "no time left")}


def notes(kept, steps):
    return [f"{tool}: {found['said']}" for tool, plans in steps if (found := kept.get(key_of(tool, plans))) and "said" in found]


def measure(stage, kept, budget, steps, command_of, **environment):
    """Those that have not run, then those that were too slow, with twice the time."""
    slow = [step for step in steps if "slow" in (kept.get(key_of(*step)) or {})]
    for tool, plans in [*(step for step in steps if kept.get(key_of(*step)) is None), *slow]:
        if (left := budget.left()) < 10:
            return
        budget.spend()
        limit = SECONDS_OF_ONE * (2 if (tool, plans) in slow else 1)
        found = kept.put(key_of(tool, plans), run(command_of(tool), plans, min(left, limit), **environment))
        print(f"  {stage.seconds():.0f} s: {tool} of {', '.join(plans)}: " + ", ".join(f"{key} {value}" for key, value in found.items())[:200], flush=True)
        stage.write()


def rehearse(stage, kept, budget, steps):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        measure(stage, kept, budget, steps, lambda tool: [], FAKE_CUDA_ORDER="2", FAKE_CUDA_SEED="3", FAKE_CUDA_REPORT=report)
        if os.path.exists(report):
            stage.note("the fake's report: " + (open(report).read().strip()[:500] or "empty"))


def main():
    content = common.manifest()
    tools = [STAND_IN] if common.REHEARSED else list(TOOLS)
    steps = steps_of(content, tools)
    kept, budget, program = common.Kept("sanitize"), common.Budget(SECONDS), sanitizer()
    with common.Stage("sanitize") as stage:
        if not common.REHEARSED and not program:
            stage.row(tool="compute-sanitizer", verdict="left out", detail="not found here")
            return stage.failed()
        stage.result = lambda: ([row(kept, tool, steps) for tool in tools], notes(kept, steps))
        if common.REHEARSED:
            rehearse(stage, kept, budget, steps)
        else:
            measure(stage, kept, budget, steps, lambda tool: [program, "--tool", tool, "--target-processes", "all"])
    return stage.failed()


if __name__ == "__main__":
    sys.exit(main())
