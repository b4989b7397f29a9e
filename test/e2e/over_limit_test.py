#!/usr/bin/python3
"""Random graphs on a simulated GPU that has no room for them, repaired with --over-limit=fix.

Each file is compiled without a limit, and for parts of what it needs. What can be repaired has to give the bits of
the plan without a limit, in a session whose memory is full of the NaNs of a run before; the rest has to be refused
as a plan that does not fit. A suite in which nothing was repaired fails.

  over_limit_test.py --build-dir build/release --seed 1 --case 12

Usage: over_limit_test.py --build-dir BUILD [--seed N] [--count N] [--case N] [--jobs N] [--flag FLAG] [--json FILE]
"""

import pathlib
import re
import sys
import tempfile

import gantry_api
import groups
import memory_test
from random_ops import onnx_file

SIMULATED = ("simulate", "over-limit=fix")
SHARES = (0.9, 0.7, 0.5, 0.3)


class OverLimit(memory_test.Poisoned):
    def __init__(self, cases, repaired, flags):
        super().__init__(cases, onnx_file.pack, flags)
        self.repaired = repaired  # a byte for each plan that was

    def compare(self, cases, file, inputs, outputs):
        free = self.outcome(gantry_api.compile_model(file, ("devices=CPU:0,GPU:0", "simulate", *self.flags), inputs), inputs)
        found = [self.judge(case, [free[name] for name in names]) for case, names in zip(cases, outputs)]
        needed = self.bytes_needed(file, inputs)
        for share in SHARES:
            limit = int(needed * share)
            try:
                content = gantry_api.compile_model(file, (f"devices=CPU:0,GPU:0@{limit}", *SIMULATED, *self.flags), inputs)
            except gantry_api.Refused as refusal:
                if refusal.code_name != "DOES_NOT_FIT":
                    raise
                continue
            limited = self.outcome(content, inputs)
            with self.repaired.open("ab") as file_of_all:
                file_of_all.write(b".")
            for i, names in enumerate(outputs):
                if not all(groups.same_bits(free[name], limited[name]) for name in names):
                    found[i] = found[i] or f"other bits with {limit} of {needed} bytes"
        return found

    def outcome(self, content, inputs):
        """The limits of simulated devices are those of the first plan of a runtime, so each has its own."""
        gantry_api.forget_runtimes()
        plan = gantry_api.Plan(content, 2)
        return self.run_plan(plan, {name: inputs[name] for name in plan.inputs})

    def bytes_needed(self, file, inputs):
        try:
            gantry_api.compile_model(file, ("devices=CPU:0,GPU:0@64", "simulate", *self.flags), inputs)
        except gantry_api.Refused as refusal:
            if match := re.search(r"raise the limit to at least (\d+) bytes", str(refusal)):
                return int(match[1])
            raise
        return 0


def main():
    arguments, cases = groups.drawn_cases(__doc__, memory_test.make_case, 60)
    with tempfile.TemporaryDirectory() as folder:
        repaired = pathlib.Path(folder) / "repaired"
        repaired.touch()
        failures = OverLimit(cases, repaired, arguments.flag).run(2, arguments.jobs)
        print(f"{repaired.stat().st_size} plans were repaired or fitted")
        if arguments.case is None and repaired.stat().st_size == 0:
            failures["all"] = "no plan was repaired"
    return groups.report("over the limit", len(cases), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
