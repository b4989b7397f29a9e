"""Plans run through the runtime half of the C API, without any compiler.

Outputs are bytes, so that bits are compared; bf16 is 16-bit words. A plan is loaded from its file,
has a state and a session, and any of its functions can be run, timed, or timed command by command.
"""

import ctypes
import json
import statistics
import time

import common  # first: it sets the search path
import numpy as np

from gantry_api import BF16, CODES, DTYPES, RuntimeOptions, TensorInfo

EMULATE = {"off": 0, "all": 1, "memory": 2, "nothing": 3}


class Error(Exception):
    """A call of the runtime that failed."""


class CommandTime(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kernel", ctypes.c_char_p), ("location", ctypes.c_char_p),
                ("device", ctypes.c_char_p), ("nanoseconds", ctypes.c_uint64), ("calls", ctypes.c_uint64)]


class CopyCount(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("copies", "bytes", "transfers")]


class DeviceInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("driver", ctypes.c_char_p),
                *((name, ctypes.c_uint64) for name in (
                    "total_bytes", "free_bytes", "limit_bytes", "bytes_in_use", "peak_bytes", "mapped_bytes",
                    "allocations", "copies", "copied_bytes", "staged_copies", "staged_bytes")),
                ("run_copies", CopyCount * 4), ("load_copies", CopyCount * 4)]


class Runtime:
    def __init__(self, emulate="off", bind=()):
        self.library = ctypes.CDLL(str(common.runtime_folder() / "lib/libgantry-runtime.so"))
        self.library.gantry_last_error.restype = ctypes.c_char_p
        self.library.gantry_runtime_num_devices.restype = ctypes.c_size_t
        bindings = (ctypes.c_char_p * len(bind))(*(text.encode() for text in bind))
        options = RuntimeOptions(struct_size=ctypes.sizeof(RuntimeOptions), emulate=EMULATE[emulate],
                                 bindings=ctypes.cast(bindings, ctypes.c_void_p), num_bindings=len(bind))
        self.handle = ctypes.c_void_p()
        self.call("runtime_create", ctypes.byref(options), ctypes.byref(self.handle))

    def call(self, name, *arguments):
        if status := getattr(self.library, f"gantry_{name}")(*arguments):
            raise Error(f"{CODES[status] if status < len(CODES) else status}: {self.library.gantry_last_error().decode()}")

    def devices(self):
        """{name: DeviceInfo} of those that loaded plans use."""
        found = {}
        for index in range(self.library.gantry_runtime_num_devices(self.handle)):
            info = DeviceInfo(struct_size=ctypes.sizeof(DeviceInfo))
            self.call("runtime_device", self.handle, ctypes.c_size_t(index), ctypes.byref(info))
            found[info.name.decode().split("device:")[-1]] = info
        return found

    def close(self):
        self.library.gantry_runtime_destroy(self.handle)


class Plan:
    def __init__(self, runtime, file):
        self.runtime, self.handle, self.session = runtime, ctypes.c_void_p(), ctypes.c_void_p()
        runtime.call("plan_load", runtime.handle, str(file).encode(), ctypes.byref(self.handle))
        try:
            runtime.call("session_create", self.handle, None, ctypes.byref(self.session))
        except Error:
            runtime.library.gantry_plan_destroy(self.handle)
            raise
        self.kept = {}

    def close(self):
        for bindings, _ in self.kept.values():
            self.runtime.library.gantry_bindings_destroy(bindings)
        self.runtime.library.gantry_session_destroy(self.session)
        self.runtime.library.gantry_plan_destroy(self.handle)

    def describe(self):
        text = ctypes.c_char_p()
        self.runtime.call("plan_describe_json", self.handle, ctypes.byref(text))
        return json.loads(text.value)

    def infos(self, kind, function=0):
        found = {}
        for index in range(getattr(self.runtime.library, f"gantry_plan_num_{kind}s")(self.handle, function)):
            info = TensorInfo()
            self.runtime.call(f"plan_{kind}", self.handle, function, index, ctypes.byref(info))
            found[info.name.decode()] = info
        return found

    def function(self, name):
        number = ctypes.c_uint32()
        self.runtime.call("plan_find_function", self.handle, name.encode(), ctypes.byref(number))
        return number.value

    def bind(self, arrays, function=0):
        """Bindings of a function, the same from call to call; arrays stay alive with them."""
        if function not in self.kept:
            bindings = ctypes.c_void_p()
            self.runtime.call("bindings_create", self.handle, function, ctypes.byref(bindings))
            self.kept[function] = (bindings, [])
        bindings, alive = self.kept[function]
        for name, info in self.infos("input", function).items() if arrays else ():
            array = np.array(arrays[name], order="C")
            if info.element == BF16:
                array = np.asarray(array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
                array = np.array(array)  # not a scalar
            dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
            self.runtime.call("bindings_set_input", bindings, name.encode(), array.ctypes.data_as(ctypes.c_void_p),
                              info.element, dims, array.ndim)
            alive.append(array)
        return bindings

    def run(self, arrays=None, function=0):
        """{name: array of the output}; bf16 as 16-bit words."""
        bindings = self.bind(arrays, function)
        self.runtime.call("session_run", self.session, bindings)
        found = {}
        for name, info in self.infos("output", function).items():
            data = ctypes.c_void_p()
            self.runtime.call("bindings_output", bindings, name.encode(), ctypes.byref(data))
            content = ctypes.string_at(data, info.size) if info.size else b""
            dtype = np.uint16 if info.element == BF16 else DTYPES[info.element]
            found[name] = np.frombuffer(content, dtype).reshape(info.shape())
        return found

    def time(self, arrays=None, function=0, seconds=1.0, least=5, most=200):
        """Seconds of each warm run, by the host's clock, the wait for the end included."""
        bindings = self.bind(arrays, function)
        run = self.runtime.library.gantry_session_run
        times, end = [], None
        for number in range(most + 2):
            start = time.perf_counter()
            if run(self.session, bindings):
                raise Error(self.runtime.library.gantry_last_error().decode())
            now = time.perf_counter()
            if number >= 2:  # the first captures the graph
                times.append(now - start)
                end = end or start + seconds
                if now > end and len(times) >= least:
                    break
        return times

    def commands(self, function=0):
        """[(name, kernel, device, seconds)] of a run with a clock around each command."""
        capacity = 4096
        times, count = (CommandTime * capacity)(), ctypes.c_size_t()
        self.runtime.call("session_run_timed", self.session, self.kept[function][0], times,
                          ctypes.c_size_t(capacity), ctypes.byref(count))
        return [(t.name.decode(), t.kernel.decode(), t.device.decode().split("device:")[-1], t.nanoseconds / 1e9)
                for t in times[:min(count.value, capacity)]]


def summary(times):
    """Figures of a list of seconds, in milliseconds."""
    return {"median_ms": round(statistics.median(times) * 1e3, 4), "min_ms": round(min(times) * 1e3, 4),
            "runs": len(times)}
