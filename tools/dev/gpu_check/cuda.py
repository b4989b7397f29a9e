"""The few calls of the driver API that measure instead of run: memory that is free, copy bandwidth.

The library is the one that the runtime opens, GANTRY_CUDA_LIB or libcuda.so.1, and the context is the
primary one, which the runtime uses as well; so what is measured here is what it has taken.
"""

import ctypes
import os
import subprocess
import time


def identity():
    """(name of GPU 0, driver version), of nvidia-smi."""
    try:
        line = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"],
                              capture_output=True, text=True, check=True).stdout
        name, driver = line.strip().split(",")
        return name.strip(), driver.strip()
    except (OSError, subprocess.CalledProcessError, ValueError):
        return "unknown GPU", "unknown"


def used_by_nvml():
    """MiB in use on GPU 0 as NVML says it, or None."""
    try:
        line = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"],
                              capture_output=True, text=True, check=True).stdout
        return int(line)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None


class Error(Exception):
    """A call of the driver API that failed."""


class Device:
    """GPU 0 with its primary context, current on this thread."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ.get("GANTRY_CUDA_LIB") or "libcuda.so.1")
        self.call("cuInit", 0)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxPushCurrent_v2", self.context)

    def call(self, name, *arguments):
        if status := getattr(self.library, name)(*arguments):
            raise Error(f"{name}: CUDA error {status}")

    def close(self):
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        self.call("cuDevicePrimaryCtxRelease_v2", 0)

    def memory(self):
        """(free, total) bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def take(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def pinned(self, size):
        """Memory of the host that CUDA knows."""
        made = ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(made), ctypes.c_size_t(size), 1)
        return made

    def fill(self, pointer, size, numbers):
        """Writes the bytes of `numbers`, an array, again and again. Of zeros a GPU takes less power, and is faster."""
        piece, stream, pinned = numbers.tobytes(), self.stream(), self.pinned(numbers.nbytes)
        ctypes.memmove(pinned, piece, len(piece))
        for at in range(0, size, len(piece)):
            self.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(pointer.value + at), pinned, ctypes.c_size_t(min(len(piece), size - at)), stream)
        self.wait(stream)
        self.call("cuMemFreeHost", pinned)
        self.call("cuStreamDestroy_v2", stream)

    def free(self, pointer):
        self.call("cuMemFree_v2", pointer)

    def stream(self):
        made = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(made), 1)
        return made

    def wait(self, stream):
        self.call("cuStreamSynchronize", stream)

    def copy_bandwidth(self, size, times=10):
        """GB/s read and written of a copy on the device, the best of several batches, host clock."""
        source, target = self.take(size), self.take(size)
        stream, best = ctypes.c_void_p(), float("inf")
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        for _ in range(4):
            start = time.perf_counter()
            for _ in range(times):
                self.call("cuMemcpyDtoDAsync_v2", target, source, ctypes.c_size_t(size), stream)
            self.call("cuStreamSynchronize", stream)
            best = min(best, (time.perf_counter() - start) / times)
        self.call("cuStreamDestroy_v2", stream)
        self.free(source)
        self.free(target)
        return 2 * size / best / 1e9
