"""Runs plans of the bundle twice each with made inputs: what compute-sanitizer looks at.

Usage: run_plan.py PLAN.xz ...
"""

import sys
import tempfile

import common
import runtime

import numpy as np

from gantry_api import BF16, DTYPES


def made(info):
    dtype = np.float32 if info.element == BF16 else DTYPES[info.element]
    return np.resize(np.arange(1, 8).astype(dtype), info.shape())


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name in sys.argv[1:]:
            machine = runtime.Runtime()
            plan = runtime.Plan(machine, common.unpacked(name, scratch))
            arrays = {key: made(info) for key, info in plan.infos("input").items()}
            for _ in range(2):
                plan.run(arrays)
            plan.close()
            machine.close()
            print(f"ran {name}", flush=True)


if __name__ == "__main__":
    main()
