"""Compiles a graph for a CPU that this machine lacks features of, as the plan says, and for that CPU
and another one: lacking_cpu.py GANTRY GRAPH ONE.gantry BOTH.gantry."""

import re
import subprocess
import sys

CANDIDATES = ("sapphirerapids", "bdver4", "diamondrapids", "x86-64-v4")


def features_here():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        return set(next(line for line in info if line.startswith("flags")).split())


def compile_for(cpus, plan):
    subprocess.run([GANTRY, "compile", GRAPH, f"--target-cpu={cpus}", "-o", plan], check=True)


def needs(plan):
    text = subprocess.run([GANTRY, "plan-text", plan], check=True, text=True,
                          capture_output=True).stdout
    return set(re.findall(r'"(\w+)"', re.search(r"plan\.code .* needs \[([^\]]*)\]", text)[1]))


GANTRY, GRAPH, ONE, BOTH = sys.argv[1:]
for name in CANDIDATES:
    compile_for(name, ONE)
    if needs(ONE) - features_here():
        compile_for(f"{name},x86-64-v3", BOTH)
        break
else:
    sys.exit("this machine has the features of all of " + ", ".join(CANDIDATES))
