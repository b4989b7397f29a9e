"""Checks that the prediction in the JSON of `gantry explain` is the virtual clock of `gantry run -v`.

Usage: loop_time.py EXPLAINED.json SAID.txt
"""

import json
import pathlib
import re
import sys

explained, said = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2]).read_text()
function = explained["functions"][0] if "functions" in explained else explained
number, unit = re.search(r"virtual clock: ([\d.]+) (\S+)", said).groups()
clock = float(number) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9}[unit]
predicted = function["predicted_seconds"]
# The clock is told with four digits at most.
assert abs(clock / predicted - 1) < 0.01, f"predicted {predicted} s, the clock says {clock} s"
# Ops wait for copies and for each other, but are together no shorter than their launches.
launches = sum(launch["predicted_seconds"] for launch in function["launches"])
assert 0.05 * predicted < launches < 2 * predicted, (launches, predicted)
