"""Usage: check_trace.py TRACE.json EXPLAINED.json RUNS

Checks a file of `gantry run --trace`: that it is JSON of the trace event format, that slices of a
track follow one another inside of their run, and that every launch and copy of the plan is there
once a run, under its name, on its device.
"""

import collections
import json
import sys

trace, explained = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:3])
runs = int(sys.argv[3])
said = explained["functions"][0]
events = trace["traceEvents"]

names = {(e["pid"], e["tid"], e["name"]): e["args"]["name"] for e in events if e["ph"] == "M"}
slices = [e for e in events if e["ph"] == "X"]
assert len(events) == len(names) + len(slices), "an event of another kind, or two names of a track"
for e in slices:
    assert e["dur"] >= 0 and e["ts"] >= 0, e
    assert (e["pid"], 0, "process_name") in names, e

passes = [e for e in slices if e["cat"] == "run"]
assert [e["name"] for e in passes] == [f"run {number + 1}" for number in range(runs)], passes
tracks = collections.defaultdict(list)
for e in slices:
    tracks[e["pid"], e["tid"]].append(e)
for (process, track), found in tracks.items():
    found.sort(key=lambda e: (e["ts"], e["dur"]))
    # Microseconds are binary fractions of whole nanoseconds.
    for first, second in zip(found, found[1:]):
        assert first["ts"] + first["dur"] <= second["ts"] + 1e-6, (first, second)
    if process != passes[0]["pid"]:
        assert (process, track, "thread_name") in names, (process, track)
    for e in found:
        assert any(p["ts"] <= e["ts"] + 1e-6 and e["ts"] + e["dur"] <= p["ts"] + p["dur"] + 1e-6 for p in passes), e

launches = [e for e in slices if e["cat"] == "launch"]
assert collections.Counter(op for e in launches for op in e["args"]["ops"]) == collections.Counter(
    op["op"] for op in said["ops"] for _ in range(runs))
for e in launches:
    device = names[e["pid"], 0, "process_name"].split(" ")[0]
    assert device == e["args"]["device"], e
    at = [op for op in said["ops"] if op["kernel"] == e["args"]["kernel"]]
    assert at and all(op["device"].endswith("device:" + device) for op in at), (e, at)
    assert e["name"] in [op["name"] for op in at], (e, at)
copies = [e for e in slices if e["cat"] == "copy"]
assert sum(e["args"]["values"] for e in copies) == runs * sum(copy["time"] == "run" for copy in said["copies"])
for e in copies:
    assert e["args"]["bytes"] > 0 and e["args"]["from"] != e["args"]["to"], e
