"""Reduces a graph once for each of the words in it, and checks what is left: it has the word, and is a graph.

Usage: reduce_words.py GANTRY-REDUCE FILE INTERESTING
"""

import re
import subprocess
import sys

reduce, file, interesting = sys.argv[1:]
with open(file, encoding="utf-8") as text:
    words = sorted(set(re.findall(r"[\w.]+", "".join(line for line in text if not line.startswith("//")))))
# How a printer names values is its own; "f" is inside of other words.
words = [word for word in words if re.match(r"(gantry|func|arith|return|tensor|main|helper|\d+x)", word)]
for word in words:
    done = subprocess.run([reduce, file, f"--test={sys.executable}", f"--test-arg={interesting}", f"--test-arg={word}"],
                          capture_output=True, text=True, check=False)
    again = subprocess.run(["gantry-opt", "-"], input=done.stdout, capture_output=True, text=True, check=False)
    if done.returncode or word not in done.stdout or again.returncode:
        sys.exit(f"{word}: status {done.returncode}, {done.stderr[-500:]}{done.stdout[-500:]}{again.stderr[-500:]}")
    if len(done.stdout.splitlines()) > 10:
        sys.exit(f"{word}: nothing was thrown away: {done.stdout}")
print(len(words), "words")
