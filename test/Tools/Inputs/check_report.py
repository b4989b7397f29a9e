"""Usage: check_report.py PAGE SAME_PAGE EXPLAINED.json [REPEATS]

Checks that a report loads nothing from elsewhere, and that what it draws is what `explain` says.
"""

import json
import re
import sys

page, again, explained = (open(name, encoding="utf-8").read() for name in sys.argv[1:4])
explained = json.loads(explained)


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


assert not re.search(r'(src|href)\s*=(?!"#)|https?://|@import|url\(', page), "the page loads something"
(data,) = data_of(page)["plans"]
assert data["functions"] == data_of(again)["plans"][0]["functions"], "a graph and its plan differ"
function, said = data["functions"][0], explained["functions"][0]
for key, value in said.items():
    assert function[key] == value, key
assert function["summary"].startswith("placed "), function["summary"]
assert f"<title>{data['source']}</title>" in page, "the title is not the model's name"

# Commands: every copy of the ledger is drawn, each launch reads what came before it, and the last
# one ends when the run is predicted to end.
commands = {command["at"]: command for command in function["commands"]}
launches = [command for command in commands.values() if command["does"] == "launch"]
copies = [command for command in commands.values() if command["does"] == "copy"]
assert sum(command["values"] for command in copies) == sum(copy["time"] == "run" for copy in said["copies"])
assert [name for command in launches for name in command["ops"]] == [op["op"] for op in said["ops"]]
for at, command in commands.items():
    assert command["reads"] or command["inputs"], command
    assert all(source in commands and source < at for source in command["reads"]), command
    assert 0 <= command["start"] < command["end"], command
    for source in command["reads"]:
        assert commands[source]["end"] <= command["start"] + 1e-12, (commands[source], command)
end = max(command["end"] for command in commands.values())
assert abs(end / said["predicted_seconds"] - 1) < 1e-9, (end, said["predicted_seconds"])
assert {o for c in commands.values() for o in c["outputs"]} == set(range(len(said["outputs"])))

# What a click tells: every op is in the launch that runs it, with what it reads and gives.
for command in launches:
    ops = [function["ops"][place] for place in command["placed"]]
    assert [op["op"] for op in ops] == command["ops"], command
    assert command["title"] in [op["node"] or op["name"] or op["op"] for op in ops], command
    assert all(op["kernel"] == command["kernel"] and op["operands"] and op["results"] for op in ops), ops
for command in copies:
    assert sum(value["bytes"] for value in command["copied"]) == command["bytes"], command
assert sum(reason["ops"] for reason in function["reasons"]) == len(function["ops"])

# The peak of each transient arena is what the live ranges of its values add up to.
for number, arena in enumerate(function["arenas"]):
    mine = [value for value in function["values"] if value["arena"] == number]
    assert ("peak" in arena) == (arena["kind"] == "transient" and bool(mine)), arena
    if "peak" in arena:
        peak = arena["peak"]
        live = [sum(v["bytes"] for v in mine if v["first"] <= at <= v["last"]) for at in range(len(peak["live"]))]
        assert peak["live"] == live and live[peak["at"]] == peak["bytes"] == max(live) <= arena["bytes"], (peak, live)

# Layers that are folded are alike.
alike = lambda c: (c["device"], c["queue"], c["does"], c["ops"], c.get("bytes"))
drawn = function["commands"]
for repeat in function["repeats"]:
    first, period, times = (repeat[key] for key in ("first", "period", "times"))
    assert times > 1 and first + period * times <= len(drawn), repeat
    for i in range(first, first + period * (times - 1)):
        assert alike(drawn[i]) == alike(drawn[i + period]), (repeat, drawn[i], drawn[i + period])
if len(sys.argv) > 4:
    assert [[repeat["times"], repeat["name"]] for repeat in function["repeats"]] == json.loads(sys.argv[4]), function["repeats"]
