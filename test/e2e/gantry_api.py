"""Both halves of the C API through ctypes, as far as the end-to-end tests need them.

load() opens the libraries once, before workers are forked; compile_for() makes a Plan for given
input values; Plan.run() takes and gives NumPy arrays by name. A refusal of the compiler is the
exception Refused with everything that it said; any other failing call is an ApiError.
"""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np

CODES = ["OK", "INVALID_ARGUMENT", "NOT_FOUND", "CORRUPT", "UNSUPPORTED", "DOES_NOT_FIT",
         "UNAVAILABLE", "FAILED_PRECONDITION", "INTERNAL"]
# In the order of gantry_element_type_t; None is bfloat16, which NumPy does not have.
DTYPES = [np.float32, np.float64, np.float16, None, np.int8, np.uint8, np.int16, np.uint16,
          np.int32, np.uint32, np.int64, np.uint64, np.bool_]
BF16 = 3

# Errors that only a developer of the compiler understands: some pass met what it did not expect.
INNER = re.compile(r"compilation failed|failed to legalize|explicitly marked illegal|failed to run|"
                   r"cannot be converted to LLVM IR|unrealized|'(?:linalg|memref|vector|scf|llvm|bufferization)\.")

LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("element", ctypes.c_int), ("rank", ctypes.c_uint32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("size", ctypes.c_uint64),
                ("device", ctypes.c_char_p)]

    def shape(self):
        return tuple(self.dims[axis] for axis in range(self.rank))


class Value(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("element", ctypes.c_int), ("rank", ctypes.c_uint32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p)]


class CompileRequest(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("file", ctypes.c_char_p), ("data", ctypes.c_void_p),
                ("data_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("folder", ctypes.c_char_p),
                ("values", ctypes.POINTER(Value)), ("num_values", ctypes.c_size_t),
                ("candidates", ctypes.POINTER(Value)), ("num_candidates", ctypes.c_size_t),
                ("flags", ctypes.POINTER(ctypes.c_char_p)), ("num_flags", ctypes.c_size_t),
                ("output", ctypes.c_char_p), ("scratch_above", ctypes.c_uint64),
                ("log", LOG), ("log_context", ctypes.c_void_p)]


class KernelChoice(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("kernel", ctypes.c_char_p), ("device", ctypes.c_char_p),
                ("driver", ctypes.c_char_p), ("variant", ctypes.c_uint32), ("description", ctypes.c_char_p),
                ("passed_over", ctypes.c_char_p)]


class ApiError(Exception):
    """A call of the runtime that failed."""


class Refused(Exception):
    """The compiler said no: a code and the error lines, as logged or as the last error."""

    def __init__(self, code, lines):
        super().__init__("; ".join(lines))
        self.code_name, self.lines = CODES[code], lines

    def is_clear(self):
        """A user's error with words to it; INTERNAL, silence and MLIR's inner complaints are not."""
        return (self.code_name in ("UNSUPPORTED", "INVALID_ARGUMENT") and any(self.lines)
                and not INNER.search(self.lines[0]))

    def reason(self, folder):
        """The first error on one line, without the folder that the model happens to lie in."""
        text = (self.lines or ["no message"])[0]
        # How many ops there are changes with every new one, and the list should not.
        text = re.sub(r"\b\d+ ops are", "N ops are", text.replace(f"{folder}/", ""))
        return re.sub(r"\s+", " ", text).strip()


def meant(outputs, name):
    """The output of that name without the rows that its count leaves out, which have to be zeros."""
    value = outputs[name]
    if f"{name}.count" not in outputs:
        return value
    count = int(outputs[f"{name}.count"])
    assert not value[count:].any(), f"rows behind the {count} of output '{name}' are not zeros"
    return value[:count]


class RuntimeOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_uint32),
                ("host_memory_limit", ctypes.c_uint64), ("log", LOG), ("log_context", ctypes.c_void_p),
                ("sim_order", ctypes.c_char_p), ("bindings", ctypes.c_void_p), ("num_bindings", ctypes.c_size_t),
                ("verify", ctypes.c_int), ("emulate", ctypes.c_int)]


compiler = runtime_library = None
_runtimes = {}
# What every graph is compiled for unless it says itself, and how its GPUs are emulated: suites of results run
# a second time with the kernels of GPUs.
EMULATE, DEVICES = 0, []


def emulate(checks):
    """From now on graphs are compiled for a GPU, too, that is emulated with these checks: all, memory, nothing."""
    global EMULATE, DEVICES
    EMULATE, DEVICES = {"all": 1, "memory": 2, "nothing": 3}[checks], ["devices=CPU:0,GPU:0"]


if os.environ.get("GANTRY_TEST_EMULATE"):
    emulate(os.environ["GANTRY_TEST_EMULATE"])
# Or a third time by the driver of GPUs: on the GPU that is there ("real"), or on the fake libcuda ("fake").
CUDA = os.environ.get("GANTRY_TEST_CUDA", "")
if CUDA:
    DEVICES = ["devices=CPU:0,GPU:0"]
    # With libraries in the place of kernels, where they have one.
    if os.environ.get("GANTRY_TEST_LIBRARIES"):
        DEVICES.append("libraries=" + os.environ["GANTRY_TEST_LIBRARIES"])
# Or on another machine: by a tool that was built for AArch64, under QEMU's emulator of a user's programs.
AARCH64 = os.environ.get("GANTRY_TEST_AARCH64", "")


def load(build):
    """Opens both libraries of a build folder. The runtime object is made on first use, in the worker:
    its threads would not live through a fork."""
    global BUILD, compiler, runtime_library
    BUILD = build
    if CUDA == "fake":
        # It has a cuBLASLt, too, for plans that ask for one.
        os.environ["GANTRY_CUDA_LIB"] = os.environ["GANTRY_CUBLASLT_LIB"] = str(build / "lib/libfake-cuda.so")
        os.environ.setdefault("FAKE_CUDA_ORDER", "2")
        os.environ.setdefault("FAKE_CUDA_SEED", "1")
    compiler = ctypes.CDLL(str(build / "lib/libgantry-compiler.so"))
    runtime_library = ctypes.CDLL(str(build / "lib/libgantry-runtime.so"))
    compiler.gantry_artifact_data.restype = ctypes.c_void_p
    compiler.gantry_compiler_last_error.restype = ctypes.c_char_p
    runtime_library.gantry_last_error.restype = ctypes.c_char_p
    runtime_library.gantry_plan_num_kernel_choices.restype = ctypes.c_size_t
    runtime_library.gantry_plan_data.restype = ctypes.c_void_p


def kernels():
    """Of each op that runs as a kernel the element types that it has them for, as MLIR writes them."""
    compiler.gantry_op_table_json.restype = ctypes.c_char_p
    table = json.loads(compiler.gantry_op_table_json())
    return {op["name"]: [element.replace("u", "ui") for element in op["kernel"]] for op in table["ops"] if "kernel" in op}


def _check(status):
    if status:
        raise ApiError(f"{CODES[status]}: {runtime_library.gantry_last_error().decode()}")


def _runtime_handle(threads):
    """The runtime with so many threads; 0 are all that the machine has."""
    if threads not in _runtimes:
        options = RuntimeOptions(struct_size=ctypes.sizeof(RuntimeOptions), threads=threads, emulate=EMULATE)
        handle = ctypes.c_void_p()
        _check(runtime_library.gantry_runtime_create(ctypes.byref(options), ctypes.byref(handle)))
        _runtimes[threads] = handle
    return _runtimes[threads]


def forget_runtimes():
    """The next plans get runtimes of their own; those that live keep theirs."""
    for handle in _runtimes.values():
        runtime_library.gantry_runtime_destroy(handle)
    _runtimes.clear()


def _value(name, array):
    """The array as the C API takes it, and what must live as long."""
    array = np.array(array, order="C", copy=True)
    dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    return Value(name.encode(), DTYPES.index(array.dtype.type), array.ndim, dims,
                 array.ctypes.data_as(ctypes.c_void_p)), (array, dims)


def compile_model(file, flags, candidates):
    """Bytes of the plan; Refused when the compiler says no. Of `candidates`, arrays by name, those
    are compiled in that shapes depend on."""
    lines = []

    @LOG
    def log(_, severity, text):
        if severity == 3:
            lines.append(text.decode("utf-8", "replace"))

    flags = [*flags, *(DEVICES if not any(flag.startswith(("devices=", "topology=")) for flag in flags) else [])]
    if AARCH64:
        machines = [flag for flag in flags if flag.startswith("target-cpu=")] or ["target-cpu=native"]
        flags = [flag for flag in flags if flag not in machines] + [machines[-1] + ",aarch64"]
    values, kept = zip(*(_value(*item) for item in candidates.items())) if candidates else ((), ())
    request = CompileRequest(struct_size=ctypes.sizeof(CompileRequest), file=str(file).encode(),
                             candidates=(Value * len(values))(*values), num_candidates=len(values),
                             flags=(ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags)),
                             num_flags=len(flags), log=log)
    artifact = ctypes.c_void_p()
    status = compiler.gantry_compile(ctypes.byref(request), ctypes.byref(artifact))
    del kept  # the arrays had to live until here
    if status:
        raise Refused(status, lines or [compiler.gantry_compiler_last_error().decode("utf-8", "replace")])
    size = ctypes.c_size_t()
    data = compiler.gantry_artifact_data(artifact, ctypes.byref(size))
    content = ctypes.string_at(data, size.value)
    compiler.gantry_artifact_destroy(artifact)
    return content


def compile_for(file, inputs, dims=()):
    """Plan of a model for these inputs: the values that decide shapes are compiled in.

    `dims` are pairs of a name and a size, for dimensions that the file leaves open."""
    return Plan(compile_model(file, [f"dim={name}={size}" for name, size in dims], inputs))


class Plan:
    """A loaded plan with one function, and a session of it."""

    def __init__(self, content, threads=0):
        self.handle = ctypes.c_void_p()
        _check(runtime_library.gantry_plan_load_memory(
            _runtime_handle(threads), content, ctypes.c_size_t(len(content)), None, None, ctypes.byref(self.handle)))
        self.content, self.threads = content if AARCH64 else b"", threads
        self.inputs = self._infos("input")
        self.outputs = self._infos("output")

    def __del__(self):
        if self.handle:
            runtime_library.gantry_plan_destroy(self.handle)

    def _infos(self, kind):
        """{name: TensorInfo} of the first function's inputs or outputs."""
        infos = {}
        for index in range(getattr(runtime_library, f"gantry_plan_num_{kind}s")(self.handle, 0)):
            info = TensorInfo()
            _check(getattr(runtime_library, f"gantry_plan_{kind}")(self.handle, 0, index, ctypes.byref(info)))
            infos[info.name.decode()] = info
        return infos

    def kernels_on(self, device):
        """Names of the kernels that the device, as in `CPU:0`, launches."""
        names = []
        for index in range(runtime_library.gantry_plan_num_kernel_choices(self.handle)):
            choice = KernelChoice(struct_size=ctypes.sizeof(KernelChoice))
            _check(runtime_library.gantry_plan_kernel_choice(self.handle, ctypes.c_size_t(index), ctypes.byref(choice)))
            if choice.device.decode().endswith(f"device:{device}"):
                names.append(choice.kernel.decode())
        return names

    def explain(self):
        """What `gantry explain --json` says of it."""
        size = ctypes.c_size_t()
        data = runtime_library.gantry_plan_data(self.handle, ctypes.byref(size))
        with tempfile.NamedTemporaryFile(suffix=".gantry") as file:
            file.write(ctypes.string_at(data, size.value))
            file.flush()
            return json.loads(subprocess.check_output([BUILD / "bin/gantry", "explain", file.name, "--json"]))

    def run(self, arrays):
        """Outputs by name; bfloat16 goes in and comes out as float32."""
        outcome = self.run_series([arrays])[0]
        if isinstance(outcome, ApiError):
            raise outcome
        return outcome

    def run_series(self, series):
        """Outcomes of runs in one session, one after the other: outputs by name, or the ApiError."""
        if AARCH64:
            return [self._run_on_aarch64(arrays) for arrays in series]
        session, bindings = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            _check(runtime_library.gantry_session_create(self.handle, None, ctypes.byref(session)))
            _check(runtime_library.gantry_bindings_create(self.handle, 0, ctypes.byref(bindings)))
            return [self._run(session, bindings, arrays) for arrays in series]
        finally:
            runtime_library.gantry_bindings_destroy(bindings)
            runtime_library.gantry_session_destroy(session)

    def _run(self, session, bindings, arrays):
        kept = [self._bind(bindings, name, array) for name, array in arrays.items()]
        try:
            _check(runtime_library.gantry_session_run(session, bindings))
        except ApiError as error:
            return error
        del kept  # the arrays had to live until here
        return {name: self._output(bindings, name, info) for name, info in self.outputs.items()}

    def _run_on_aarch64(self, arrays):
        """A run of its own, in another process: nothing is left of the one before."""
        with tempfile.TemporaryDirectory() as folder:
            plan, given, made = (pathlib.Path(folder, name) for name in ("plan.gantry", "in.npz", "out.npz"))
            plan.write_bytes(self.content)
            np.savez(given, **{name: array.astype(np.float32) if self.inputs[name].element == BF16 else array
                               for name, array in arrays.items()})
            command = ["qemu-aarch64", AARCH64, "run", plan, "--output", made, "--threads", str(self.threads or 2)]
            done = subprocess.run(command + (["--input", given] if arrays else []), text=True, capture_output=True)
            if done.returncode:
                return ApiError(done.stderr.strip())
            with np.load(made) as outputs:
                return {name: outputs[name].astype(np.float32) if info.element == BF16 else outputs[name]
                        for name, info in self.outputs.items()}

    def _bind(self, bindings, name, array):
        if self.inputs[name].element == BF16:
            element, array = BF16, (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        else:
            element = DTYPES.index(array.dtype.type)
        # Not np.ascontiguousarray: it would make a scalar an array of one dimension.
        array = np.array(array, order="C", copy=True)
        dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        _check(runtime_library.gantry_bindings_set_input(
            bindings, name.encode(), array.ctypes.data_as(ctypes.c_void_p), element, dims, array.ndim))
        return array

    def _output(self, bindings, name, info):
        data = ctypes.c_void_p()
        _check(runtime_library.gantry_bindings_output(bindings, name.encode(), ctypes.byref(data)))
        content = ctypes.string_at(data, info.size) if info.size else b""
        if info.element == BF16:
            wide = np.frombuffer(content, np.uint16).astype(np.uint32) << 16
            return wide.view(np.float32).reshape(info.shape())
        return np.frombuffer(content, DTYPES[info.element]).reshape(info.shape())
