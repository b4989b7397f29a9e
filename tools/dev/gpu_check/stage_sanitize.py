"""compute-sanitizer on some plans: bounds, races in shared memory, reads of what was never written.

A few plans of the kernel table of each element type, and the small networks: the tools slow kernels down
by a factor of 10 to 100. In a rehearsal the fake's own checks stand in: every access is checked by the
interpreter, and a race between streams fails the launch.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import common

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
PLANS_OF_A_TYPE = 2
SECONDS = 440  # of the stage; what is left then is said to be left out
SMALL = 64 << 20


def chosen(content):
    """Plans of each element type, products among them, and networks that are not large."""
    found, of_type = [], {}
    for entry in content["bits"]:
        key = entry["cases"][0].split()[1], entry["tensor_cores"]
        of_type[key] = of_type.get(key, 0) + 1
        if of_type[key] <= (1 if content["small"] else PLANS_OF_A_TYPE):
            found.append(entry["plan"])
    return found + [entry["plan"] for entry in content["networks"] if entry["bytes"] < SMALL and not content["small"]]


def sanitizer():
    places = [shutil.which("compute-sanitizer"), "/usr/local/cuda/bin/compute-sanitizer"]
    return next((place for place in places if place and os.path.exists(place)), None)


def errors_in(text):
    """What the tool's last line counts, or None when it has none: it did not come to its end."""
    found = re.findall(r"ERROR SUMMARY: (\d+)|RACECHECK SUMMARY: (\d+)", text)
    return sum(int(number) for pair in found for number in pair if number) if found else None


def run(stage, what, command, plans, seconds, **environment):
    script = str(common.ROOT / "tools/dev/gpu_check/run_plan.py")
    try:
        done = subprocess.run([*command, sys.executable, script, *plans], capture_output=True, text=True,
                              timeout=seconds, env={**common.environment(), **environment})
    except subprocess.TimeoutExpired:
        stage.row(tool=what, plans=len(plans), verdict="left out", detail=f"more than {seconds:.0f} s")
        return
    text = done.stdout + done.stderr
    count = errors_in(text) if command else 0
    ran = text.count("ran bits/") + text.count("ran networks/")
    good = done.returncode == 0 and count == 0 and ran == len(plans)
    stage.row(tool=what, plans=len(plans), ran=ran, errors="no summary" if count is None else count, verdict="passed" if good else "failed")
    if not good:
        stage.note(f"{what}: {text.strip()[-1500:]}")


def main():
    with common.Stage("sanitize") as stage:
        plans = chosen(common.manifest())
        if common.REHEARSED:
            with tempfile.TemporaryDirectory() as folder:
                report = os.path.join(folder, "report")
                run(stage, "checks of the fake", [], plans, 200, FAKE_CUDA_ORDER="2", FAKE_CUDA_SEED="3", FAKE_CUDA_REPORT=report)
                if os.path.exists(report):
                    stage.note("the fake's report: " + (open(report).read().strip()[:500] or "empty"))
            return stage.failed()
        program = sanitizer()
        if not program:
            stage.row(tool="compute-sanitizer", verdict="left out", detail="not found here")
        for tool in TOOLS if program else ():
            left = SECONDS - stage.seconds()
            if left < 20:
                stage.row(tool=tool, verdict="left out", detail="no time left")
                continue
            run(stage, tool, [program, "--tool", tool, "--target-processes", "all"], plans,
                left if tool == TOOLS[-1] else left / 2)
    return stage.failed()


if __name__ == "__main__":
    sys.exit(main())
