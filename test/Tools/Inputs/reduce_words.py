"""Reduces a graph once for each of the words in it, and checks what is left: it has the word, and is a graph.

A shell asks `grep` whether the word is there: a Python program for each of the thousand questions takes half a minute.

Usage: reduce_words.py GANTRY-REDUCE FILE
"""

import re
import subprocess
import sys

reduce, file = sys.argv[1:]
with open(file, encoding="utf-8") as text:
    words = sorted(set(re.findall(r"[\w.]+", "".join(line for line in text if not line.startswith("//")))))
# How a printer names values is its own; "f" is inside of other words.
words = [word for word in words if re.match(r"(gantry|func|arith|return|tensor|main|helper|\d+x)", word)]
left = []
for word in words:
    done = subprocess.run([reduce, file, "--test=sh", "--test-arg=-c", '--test-arg=! grep -qFe "$0" "$1"', f"--test-arg={word}"],
                          capture_output=True, text=True, check=False)
    if done.returncode or word not in done.stdout:
        sys.exit(f"{word}: status {done.returncode}, {done.stderr[-500:]}{done.stdout[-500:]}")
    if len(done.stdout.splitlines()) > 10:
        sys.exit(f"{word}: nothing was thrown away: {done.stdout}")
    left.append(done.stdout)
again = subprocess.run(["gantry-opt", "-", "--split-input-file"], input="// -----\n".join(left), capture_output=True, text=True,
                       check=False)
if again.returncode:
    sys.exit(again.stderr[-500:])
print(len(words), "words")
