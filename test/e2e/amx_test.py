#!/usr/bin/python3
"""Products on processors that multiply matrices (AMX), bit for bit, whether this one has AMX or not: test/emulate_amx
carries its instructions out where it does not, and counts them.

Products of bf16 are the cases of product_bits_test.py against a scalar loop of what Intel's manual says of TDPBF16PS:
32 terms at a time, the even ones and the odd ones a chain of fused multiply-adds from zero each, both added up and then
added to the sum, subnormal numbers being zeros. Attention, as one kernel and as ops one by one, has the same bits;
expected is what NumPy gives, nearly. Products and convolutions of bytes are exact. Code is for AVX-512 and
AMX, so a processor needs AVX-512 at least; else nothing is run. The cases of quantized_test.py give the same by AMX.

Usage: amx_test.py --build-dir BUILD [--jobs N] [--count N] [--seed N] [--case N] [--json FILE]
"""

import ctypes
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

import attention_bits_test
import attention_math_test
import gantry_api
import groups
import quantized_test
import workers
from product_bits_test import CASES_OF_A_FILE, make_case, multiply_add
from product_math_test import flush, round_to_bf16
from products_test import pack

TERMS_OF_STEP = 32
ROWS = (1, 2, 3, 15, 16, 17, 31, 32, 33, 47, 64, 65, 100)
CHANNELS = (1, 3, 4, 7, 16, 31, 63, 64, 65, 128, 200)
BF16, BYTES = "target-cpu=x86-64-v4+amx_bf16", "target-cpu=x86-64-v4+amx_int8"
FORMS_OF_BYTES = (((BYTES,), 2), ((BYTES + "+avx512_vnni", "no-fuse"), 3))


def steps(x, y):
    """Of [..., m, k] by [..., k, n], a step after the other."""
    x, y = flush(round_to_bf16(x)), flush(round_to_bf16(y))
    shape = (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])
    total = np.zeros(shape, np.float32)
    for first in range(0, x.shape[-1], TERMS_OF_STEP):
        chains = [np.zeros(shape, np.float32), np.zeros(shape, np.float32)]
        for k in range(first, min(first + TERMS_OF_STEP, x.shape[-1])):
            chains[k % 2] = flush(multiply_add(x[..., :, k, None], y[..., None, k, :], chains[k % 2]))
        total = flush(total + flush(chains[0] + chains[1]))
    return total


def emulator(build):
    """Loaded for all libraries that come after it."""
    return ctypes.CDLL(str(build / "lib" / "libemulate-amx.so"), mode=ctypes.RTLD_GLOBAL)


class Suite(groups.Suite):
    """Cases of which each file has to come to an instruction, if it multiplies anything."""

    def __init__(self, cases, library):
        super().__init__(cases, pack, ("math=bf16", BF16))
        self.library = library

    def compare(self, cases, file, inputs, outputs):
        before = count(self.library, b"tdpbf16ps")
        found = super().compare(cases, file, inputs, outputs)
        after = count(self.library, b"tdpbf16ps")
        multiplies = any(array.size for case in cases for array in case.expected) and all(
            array.size for case in cases for array in case.inputs)
        if multiplies and after == before != -1:
            found[0] = found[0] or "no matrices were multiplied"
        return found


def count(library, name):
    library.gantry_emulated_amx_count.restype = ctypes.c_int64
    return library.gantry_emulated_amx_count(name)


class Bytes:
    """Checks products and convolutions of bytes by panels of whole matrices, each of which has to come to an
    instruction."""

    def __init__(self, seed, library):
        self.seed, self.library = seed, library

    def check(self, number):
        random = np.random.default_rng((self.seed, number))
        pick = lambda choices: choices[int(random.integers(len(choices)))]
        x_type = pick((np.uint8, np.int8))
        limits = np.iinfo(x_type)
        zero = np.array(pick((0, limits.min, limits.max)), x_type)
        channels, outputs = pick(CHANNELS), pick((16, 32, 48, 64, 96, 128))
        draw = lambda shape, low, high, type: random.integers(low, high + 1, shape).astype(type)
        if number % 2:
            rows = pick(ROWS)
            x, w = draw((rows, channels), limits.min, limits.max, x_type), draw((channels, outputs), -128, 127, np.int8)
            node = helper.make_node("MatMulInteger", ["x", "w", "z"], ["y"])
            expected = (x.astype(np.int64) - int(zero)) @ w.astype(np.int64)
        else:
            height, width, stride, border = pick((8, 15)), pick((5, 14)), pick((1, 2)), pick((0, 1))
            window = [pick((1, 3)), pick((1, 3))]
            x = draw((pick((1, 2)), channels, height, width), limits.min, limits.max, x_type)
            w = draw((outputs, channels, *window), -128, 127, np.int8)
            node = helper.make_node("ConvInteger", ["x", "w", "z"], ["y"], strides=[stride] * 2, pads=[border] * 4)
            expected = quantized_test.convolve(x.astype(np.int64) - int(zero), w.astype(np.int64), [stride] * 2,
                                               [border] * 2, [border] * 2, [1, 1])
        info = helper.make_tensor_value_info
        graph = helper.make_graph([node], "g", [info("x", onnx.TensorProto.UINT8 if x_type == np.uint8 else onnx.TensorProto.INT8, x.shape)],
                                  [info("y", onnx.TensorProto.INT32, expected.shape)],
                                  [numpy_helper.from_array(w, "w"), numpy_helper.from_array(zero, "z")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
        before = count(self.library, b"tdpbusd")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "model.onnx"
            onnx.save(model, str(file))
            for flags, threads in (((BYTES,), 1), ((BYTES, "no-fuse"), 3), ((BYTES + ",x86-64-v3",), 8)):
                try:
                    (actual,) = gantry_api.Plan(gantry_api.compile_model(file, flags, {}), threads).run({"x": x}).values()
                except (gantry_api.Refused, gantry_api.ApiError) as error:
                    return f"{node.op_type} {x.shape} by {w.shape}, {flags}: {error}"
                if not np.array_equal(actual, expected):
                    return f"{node.op_type} {x.shape} by {w.shape}, {flags}: other sums"
        if count(self.library, b"tdpbusd") == before != -1:
            return f"{node.op_type} {x.shape} by {w.shape}: no matrices were multiplied"
        return quantized_test.check((self.seed, number), FORMS_OF_BYTES)


def main():
    arguments = groups.drawn_options(__doc__, 30).parse_args()
    if " avx512bw" not in pathlib.Path("/proc/cpuinfo").read_text():
        print("amx: this processor has no AVX-512, which the code is for beside AMX")
        if arguments.json:
            arguments.json.write_text(json.dumps({"passed": 0, "failures": [],
                                                  "skips": {"this processor has no AVX-512": 1}}))
        return 77  # for other processors
    library = emulator(arguments.build_dir)
    numbers = list(groups.drawn_numbers(arguments))
    # Every eighth case has numbers whose products are subnormal.
    cases = [make_case(arguments.seed, number, steps, 1e-19 if number % 8 == 7 else 1) for number in numbers]
    attention = [attention_math_test.make_case(arguments.seed, number) for number in numbers[::2]]
    outcomes = Suite(cases, library).run(CASES_OF_A_FILE, arguments.jobs)
    outcomes |= Suite(attention, library).run(attention_bits_test.CASES_OF_A_FILE, arguments.jobs)
    checked = workers.run_all(Bytes(arguments.seed, library).check, numbers[:len(numbers) // 2], arguments.jobs,
                              groups.SECONDS_PER_GROUP, on_crash=lambda why: f"crash: {why}",
                              on_timeout=lambda: f"more than {groups.SECONDS_PER_GROUP} s")
    of_bytes = [(number, what) for number, what in checked]
    outcomes.update((f"bytes {number}", what) for number, what in of_bytes if what)
    return groups.report("amx", len(cases) + len(attention) + len(of_bytes), outcomes, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
