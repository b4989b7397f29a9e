"""Usage: check_report.py PAGE SAME_PAGE EXPLAINED.json

Checks that a report loads nothing from elsewhere, and that what it draws is what `explain` says.
"""

import json
import re
import sys

page, again, explained = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
explained = json.loads(explained)


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


assert not re.search(r'(src|href)\s*=|https?://|@import|url\(', page), "the page loads something"
data = data_of(page)
assert data["functions"] == data_of(again)["functions"], "a graph and its plan differ"
function, said = data["functions"][0], explained["functions"][0]
for key, value in said.items():
    assert function[key] == value, key
assert function["summary"].startswith("placed "), function["summary"]

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
assert abs(end / said["predicted_seconds"] - 1) < 0.02, (end, said["predicted_seconds"])
assert {o for c in commands.values() for o in c["outputs"]} == set(range(len(said["outputs"])))
