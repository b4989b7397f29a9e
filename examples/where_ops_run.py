"""Where the ops of a function run, why, and what that takes: on two simulated GPUs, so that it says the same on every
machine.

    python3 where_ops_run.py [REPORT.html]
"""

import sys
from typing import Dict, List

import gantry as gt

gt.config(devices="CPU:0,GPU:0,GPU:1@1MiB", simulate=True)


@gt.function
def classify(image: gt.Array, first: gt.Array, second: gt.Array) -> gt.Array:
    hidden = gt.relu(image @ first)
    return gt.softmax(hidden @ second, axis=-1)


def show(plan: gt.Plan) -> None:
    """A line for each op, with the rule that placed it, and one for each device."""
    ops: List[Dict[str, str]] = plan.explain(json=True)["functions"][0]["ops"]
    for op in ops:
        print(f"{op['op']:8} on {gt.device(op['device'])!r}, by {op['rule']}: {op['reason']}")
    for name, memory in plan.memory.items():
        print(f"{name}: {memory.transient} bytes a run")


arguments = gt.ones(8, 64), gt.ones(64, 32), gt.ones(32, 10)
graph = classify.lower(*arguments)
plan = graph.plan()
show(plan)

# The second product elsewhere: what that changes, and what the first would take to follow.
second = [op["name"] for op in plan.ops if op["log_name"] == "MatMul"][-1]
split = graph.plan(rules=[f"name:{second}=GPU:1"])
print(f"\n{second} on GPU:1:\n{plan.diff(split)}")
print(split.timeline())
print(split.why_not(second, "CPU:0"))

if len(sys.argv) > 1:
    split.report(sys.argv[1])
    print(f"wrote {sys.argv[1]}; open it in a browser")
