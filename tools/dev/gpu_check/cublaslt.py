"""cuBLASLt called directly, as the peer of matrix products: the best algorithm that its heuristic suggests.

The few declarations of cublasLt.h that are needed are here, so that nothing but the library has to be there:
GANTRY_CUBLASLT_LIB, else the ones of CUDA 13 and 12, by the loader or beside PyTorch.
"""

import ctypes
import glob
import os
import sys

import common
import numpy as np

# cudaDataType_t and, for each element type, cublasComputeType_t; scales are f32.
REAL_32F, REAL_16F, REAL_16BF = 0, 2, 14
COMPUTE_32F, COMPUTE_32F_FAST_TF32 = 68, 77
TYPES = {"f32": (REAL_32F, COMPUTE_32F, 4), "tf32": (REAL_32F, COMPUTE_32F_FAST_TF32, 4),
         "f16": (REAL_16F, COMPUTE_32F, 2), "bf16": (REAL_16BF, COMPUTE_32F, 2)}
MAX_WORKSPACE_BYTES, REDUCTION_SCHEMES, ALIGNMENTS = 1, 3, (5, 6, 7, 8)  # of a preference
REDUCE_IN_ORDER = 2
WORKSPACE, WORKSPACE_OF_PLANS = 32 << 20, 4 << 20


class HeuristicResult(ctypes.Structure):
    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int),
                ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


class Error(Exception):
    """A call of the library that failed."""


def find():
    """The library, or None. In a rehearsal it is one that is named, since the others want a GPU."""
    named = os.environ.get("GANTRY_CUBLASLT_LIB")
    if common.REHEARSED and not named:
        return None
    beside = [file for folder in sys.path for file in glob.glob(f"{folder}/nvidia/cu*/lib/libcublasLt.so.1[23]")]
    for name in [named] if named else ["libcublasLt.so.13", "libcublasLt.so.12", *beside]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def drawn(dtype):
    """A million numbers of -1 to 1; their count is prime, so that rows begin at different places of them."""
    numbers = np.random.default_rng(1).uniform(-1, 1, 1000003).astype(np.float32)
    if dtype == "bf16":
        return (numbers.view(np.uint32) >> 16).astype(np.uint16)
    return numbers.astype(np.float16) if dtype == "f16" else numbers


class Matmul:
    """C = A B of row-major matrices on the GPU, which are column-major ones turned: C' = B' A'."""

    def __init__(self, library, device, dtype, m, n, k, in_order=False):
        """`in_order`: as plans ask for it, up to eight algorithms that add parts of sums up in order."""
        self.library, self.device, self.made = library, device, []
        kind, compute, size = TYPES[dtype]
        self.handle = self.make("cublasLtCreate", "cublasLtDestroy")
        self.operation = self.make("cublasLtMatmulDescCreate", "cublasLtMatmulDescDestroy", compute, REAL_32F)
        self.layouts = [self.make("cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutDestroy", kind, ctypes.c_uint64(rows),
                                  ctypes.c_uint64(columns), ctypes.c_int64(rows))
                        for rows, columns in ((n, k), (k, m), (n, m))]
        self.memory = [device.take(size * count) for count in (n * k, k * m, n * m)] + [device.take(WORKSPACE)]
        for pointer, count in zip(self.memory, (n * k, k * m)):
            device.fill(pointer, size * count, drawn(dtype))
        self.all = self.suggest(8 if in_order else 1, in_order)
        self.best = self.all[0]

    def call(self, name, *arguments):
        if status := getattr(self.library, name)(*arguments):
            raise Error(f"{name}: status {status}")

    def make(self, name, undo, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        self.made.append((undo, handle))
        return handle

    def suggest(self, most, in_order):
        preference = self.make("cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceDestroy")
        wanted = [(MAX_WORKSPACE_BYTES, ctypes.c_size_t(WORKSPACE_OF_PLANS if in_order else WORKSPACE))]
        if in_order:
            wanted += [(REDUCTION_SCHEMES, ctypes.c_uint32(REDUCE_IN_ORDER)), *((side, ctypes.c_uint32(64)) for side in ALIGNMENTS)]
        for attribute, value in wanted:
            self.call("cublasLtMatmulPreferenceSetAttribute", preference, attribute, ctypes.byref(value),
                      ctypes.c_size_t(ctypes.sizeof(value)))
        results, found = (HeuristicResult * most)(), ctypes.c_int()
        b, a, c = self.layouts
        self.call("cublasLtMatmulAlgoGetHeuristic", self.handle, self.operation, b, a, c, c, preference, most,
                  results, ctypes.byref(found))
        suggested = [result for result in results[:found.value] if result.state == 0]
        if not suggested:
            raise Error("no algorithm is suggested")
        return suggested

    def run(self, stream):
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        b, a, c, workspace = self.memory
        self.call("cublasLtMatmul", self.handle, self.operation, ctypes.byref(one), b, self.layouts[0], a, self.layouts[1],
                  ctypes.byref(zero), c, self.layouts[2], c, self.layouts[2], ctypes.byref(self.best.algorithm), workspace,
                  ctypes.c_size_t(self.best.workspace), stream)

    def close(self):
        for undo, handle in reversed(self.made):
            self.call(undo, handle)
        for pointer in self.memory:
            self.device.free(pointer)
