"""Cases of the kernel table and random products, made again from their names on either machine, and hashes of
their bits.

A case is drawn from the hash of its name (test/e2e/kernel_table_test.py) or from seed and number
(products_test.py, attention_bits_test.py, stages_test.py), so that names are all that is carried of inputs; a hash of the inputs tells whether
another NumPy drew others. The products are of sizes for which there are kernels on tensor cores.
"""

import dataclasses
import hashlib
import pathlib
import re
import tempfile
import warnings

import common  # first: it sets the search path
import numpy as np

import attention_bits_test
import kernel_table_test
import products_test
import stages_test
from kernel_forms import forms

warnings.simplefilter("ignore")  # NumPy's, of what it computes of NaN
CASES_OF_A_PLAN = 48
SEED = 1  # of the products
DEVICE = kernel_table_test.DEVICES["emulated"]
# Kernels of these may be on tensor cores, where the order of a sum is the hardware's own.
ON_TENSOR_CORES = ("matmul", "conv", "conv_transpose", "attention")
_FORMS = forms()


# Of random cases, who makes them; attention is written as ops, as exporters do.
DRAWN = {"product": products_test, "attention-of-ops": attention_bits_test, "staged": stages_test, "rounded": stages_test}
# What their plans are compiled with besides: convolutions of f32 are rounded on GPUs, too.
FLAGS = {"staged": ("math=tf32",), "rounded": ("math=bf16",)}


def case_of(name):
    if suite := DRAWN.get(name.split()[0]):
        return dataclasses.replace(suite.make_case(SEED, int(name.split()[2])), name=name)
    op, element, n, number = re.fullmatch(r"(\w+) (\w+) (\d+) \[(\d+)\]", name).groups()
    return kernel_table_test.make_case(op, _FORMS[op][int(number)], element, int(n), int(number), DEVICE)


def flags_of(case_names):
    return FLAGS.get(case_names[0].split()[0], ())


def names(sizes, ops=()):
    """Of all cases with these sizes and ops, those of one element type side by side."""
    found = [f"{op} {element} {n} [{number}]" for op, element in kernel_table_test.pairs()
             if not ops or op in ops
             for number, form in enumerate(_FORMS.get(op, ())) if element in form.types for n in sizes]
    return sorted(found, key=lambda name: name.split()[1])


def groups(every, size=CASES_OF_A_PLAN):
    """Of one element type each; products apart from the rest, as their plans are compared otherwise."""
    kinds = {}
    for name in every:
        op, element = name.split()[:2]
        kinds.setdefault((element, op in ON_TENSOR_CORES), []).append(name)
    return [some[i:i + size] for some in kinds.values() for i in range(0, len(some), size)]


def drawn_groups(kind, element, count):
    """With `element` given, those that have a 16-bit type apart, since tensor cores may compute them."""
    suite, kinds = DRAWN[kind], {}
    for number in range(count):
        narrow = next((type for type in ("bf16", "f16") if f" {type} " in suite.make_case(SEED, number).name), element)
        kinds.setdefault(element if element == "mixed" else narrow, []).append(number)
    every = [[f"{kind} {own} {number}" for number in numbers] for own, numbers in kinds.items()]
    return [some[i:i + suite.CASES_OF_A_FILE] for some in every for i in range(0, len(some), suite.CASES_OF_A_FILE)]


def packed(case_names, folder=None):
    """(cases, file, inputs by name, names of each case's outputs)."""
    cases = [case_of(name) for name in case_names]
    with tempfile.TemporaryDirectory() as scratch:
        pack = products_test.pack if case_names[0].split()[0] in DRAWN else kernel_table_test.pack
        return cases, *pack(cases, pathlib.Path(folder or scratch))


def digest(array, is_bf16=False):
    """Of the bits; NaN is NaN, whatever its bits are."""
    flat = np.array(array).reshape(-1)
    if is_bf16:
        flat[(flat & 0x7FFF) > 0x7F80] = 0x7FC0
    elif flat.dtype.kind == "f":
        flat[np.isnan(flat)] = np.nan
    return hashlib.sha256(flat.tobytes()).hexdigest()[:16]


def digest_inputs(inputs):
    whole = hashlib.sha256()
    for name in sorted(inputs):
        whole.update(np.ascontiguousarray(inputs[name]).tobytes())
    return whole.hexdigest()[:16]


def widened(array, is_bf16):
    """bf16 as NumPy has it: f32."""
    return np.asarray(array.astype(np.uint32) << 16).view(np.float32) if is_bf16 else array
