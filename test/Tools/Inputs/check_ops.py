"""Usage: check_ops.py BENCH.json EXPLAINED.json

Checks the JSON of `gantry bench --ops`: every launch and copy is there, the longest first, the kinds
add up to the commands, and rates are those of the times.
"""

import json
import math
import sys

bench, explained = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:3])
said = explained["functions"][0]
commands, kinds = bench["commands"], bench["ops"]
assert {c["kernel"] for c in commands} - {"copy", "fill"} == {op["kernel"] for op in said["ops"]}
assert sum(c["calls"] for c in commands) == sum(k["calls"] for k in kinds)
roofs = {roof["device"]: roof for roof in bench["rooflines"]}
for rows in (commands, kinds):
    assert [r["median_ms"] for r in rows] == sorted((r["median_ms"] for r in rows), reverse=True)
    assert math.isclose(sum(r["share"] for r in rows), 1, rel_tol=1e-6), rows
    assert math.isclose(sum(r["median_ms"] for r in rows), bench["commands_ms"], rel_tol=1e-6)
for r in commands:
    seconds, roof = r["median_ms"] / 1e3, roofs[r["device"]]
    assert r["calls"] > 0 and seconds > 0 and 0 < r["min_ms"] <= r["median_ms"] and r["predicted_ms"] > 0, r
    assert math.isclose(r["gflops_per_s"], r["flops"] / seconds / 1e9, rel_tol=1e-6, abs_tol=1e-9), r
    assert math.isclose(r["gbytes_per_s"], r["bytes"] / seconds / 1e9, rel_tol=1e-6), r
    if r["kernel"] == "copy":
        assert r["of_roofline"] == 0, r
        continue
    best = max(r["flops"] / roof["flops_per_s"], r["bytes"] / roof["bytes_per_s"])
    assert math.isclose(r["of_roofline"], best / seconds, rel_tol=1e-6), (r, roof)
if "virtual_ms" in bench:
    assert all(math.isclose(r["median_ms"], r["predicted_ms"], rel_tol=1e-6) for r in commands), commands
