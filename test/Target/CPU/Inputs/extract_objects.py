"""Writes the shared objects in a plan to files of their own: PREFIX.0, PREFIX.1, ...

Usage: extract_objects.py PLAN PREFIX
"""

import pathlib
import sys

MAGIC = b"\x7fELF\x02\x01\x01"


def main():
    data = pathlib.Path(sys.argv[1]).read_bytes()
    starts = []
    position = data.find(MAGIC)
    while position >= 0:
        starts.append(position)
        position = data.find(MAGIC, position + 1)
    for index, (start, end) in enumerate(zip(starts, [*starts[1:], len(data)])):
        pathlib.Path(f"{sys.argv[2]}.{index}").write_bytes(data[start:end])


if __name__ == "__main__":
    main()
