#!/usr/bin/python3
"""Attention whose factors --math=bf16 rounds, as one kernel and as ops one by one: the same bits.

The cases of attention_bits_test.py. Expected is nearly what NumPy gives of factors that are rounded, the weights of
softmax as well; a weight may be rounded the other way where it lies in the middle, 2^-9 of it. Sums of the products are
those of product_math_test.py, which knows them bit for bit. A third of the cases is code for x86-64-v3, and one for it
that was cut for a processor with AMX, which comes first in the plan; amx_test.py has the code of that. With
GANTRY_TEST_EMULATE=all and --flag=gpu-arch=sm_80 the kernels of GPUs run, where --flag=math=f16 is another type.

Usage: attention_math_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import sys

import numpy as np

import attention_bits_test
import groups
from attention_bits_test import CASES_OF_A_FILE
from product_math_test import cpu_of_vectors, round_to_bf16
from products_test import pack

CPUS = (cpu_of_vectors(), "x86-64-v3", "x86-64-v4+amx_bf16,x86-64-v3")


# Of GPUs alone.
ROUNDS_F16 = "--flag=math=f16" in sys.argv
OFF = 2e-3 if ROUNDS_F16 else 1e-2


def round_factors(values):
    return np.asarray(values, np.float16).astype(np.float32) if ROUNDS_F16 else round_to_bf16(np.asarray(values, np.float32))


def make_case(seed, number):
    # Every fourth case there is no attention.
    return attention_bits_test.make_case(seed, number // 3 * 4 + number % 3, ("f32",), round_factors, {"f32": (OFF, OFF)})


def main():
    arguments, cases = groups.drawn_cases(__doc__, lambda seed, number: (number, make_case(seed, number)), count=40)
    outcomes = {}
    for kind, cpu in enumerate(CPUS):
        own = [case for number, case in cases if number % len(CPUS) == kind]
        if own:
            flags = ("math=bf16", f"target-cpu={cpu}", *arguments.flag)
            outcomes.update(groups.Suite(own, pack, flags).run(CASES_OF_A_FILE, arguments.jobs))
    return groups.report("attention-math", len(cases), outcomes, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
