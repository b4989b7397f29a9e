"""Compiles a graph for a CPU that this machine lacks features of, as the plan says, and for that CPU
and another one: lacking_cpu.py GANTRY GRAPH ONE.gantry BOTH.gantry."""

import subprocess
import sys

CANDIDATES = ("sapphirerapids", "bdver4", "diamondrapids", "x86-64-v4")


def compile_for(cpus, plan):
    subprocess.run([GANTRY, "compile", GRAPH, f"--target-cpu={cpus}", "-o", plan], check=True)


def runs_here(plan):
    done = subprocess.run([GANTRY, "run", plan], text=True, capture_output=True)
    return "this machine's CPU lacks" not in done.stderr


GANTRY, GRAPH, ONE, BOTH = sys.argv[1:]
for name in CANDIDATES:
    compile_for(name, ONE)
    if not runs_here(ONE):
        compile_for(f"{name},x86-64-v3", BOTH)
        break
else:
    sys.exit("this machine has the features of all of " + ", ".join(CANDIDATES))
