"""Usage: bad_times.py BENCH.json TRACE.json TOOL report PLAN PAGE

Times with one thing wrong each; prints what the tool says of them.
"""

import copy
import json
import subprocess
import sys

bench, trace = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:3])
tool, command, plan, page = sys.argv[3:]


def tell(what, times):
    json.dump(times, open("bad.json", "w", encoding="utf-8"))
    done = subprocess.run([tool, command, plan, "--measured", "bad.json", "-o", page], capture_output=True, text=True, check=False)
    assert done.returncode == 1, (what, done)
    print(f"{what}: {done.stderr.removeprefix('gantry: error: ').strip()}")


def changed(times, change):
    again = copy.deepcopy(times)
    change(again)
    return again


for key, value in [("command", 99999), ("command", 2**63), ("command", -1), ("command", 1e30), ("command", "0"),
                   ("median_ms", -1), ("median_ms", "1")]:
    tell(f"{key} = {json.dumps(value)}", changed(bench, lambda times: times["commands"][0].update({key: value})))
tell('function = "nobody"', changed(bench, lambda times: times.update(function="nobody")))
events = trace["traceEvents"]
tell("no runs", {**trace, "traceEvents": [event for event in events if event.get("cat") != "run"]})
tell("no events", {**trace, "traceEvents": []})
slices = [{**event, "ts": -1} if event["ph"] == "X" else event for event in events]
tell("ts = -1", {**trace, "traceEvents": slices})
