"""The lit suite: FileCheck tests of every dialect, pass, target, frontend and tool.

Run through the build folder (lit BUILD/test), which knows where the tools are. Every gantry-opt gets
--verify-roundtrip: what is read is printed, read again in a context of its own and compared, as text and as
bytecode, before its passes run.
Substitutions beyond lit's own: %onnx_data (ONNX's test data), %python, %node, %tools
(the folder of the tools, for scripts that call them as they are).
Features, for REQUIRES: onnx-testdata, node, chromium, nvptx, asan, ubsan, amx.
"""

import os
import shutil
import subprocess

import lit.formats

config.name = "Gantry"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "conformance", "fuzz", "bench", "capi", "golden", "install"]
config.test_source_root = os.path.join(config.gantry_source_dir, "test")
config.test_exec_root = os.path.join(config.gantry_build_dir, "test")

# Tests see the build's tools first, then LLVM's (FileCheck, not, split-file, count).
gantry_tools_dir = os.path.join(config.gantry_build_dir, "bin")
config.environment["PATH"] = os.pathsep.join(
    [gantry_tools_dir, config.llvm_tools_dir, os.environ.get("PATH", "")])
config.environment["GANTRY_CACHE_SIZE"] = "0"  # what is tested is the compiler
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --dump-input-filter=error"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS", "HOME", "TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

onnx_data = "/usr/share/libonnx-testdata/data"
config.substitutions += [
    ("%onnx_data", onnx_data),
    ("%python", config.python),
    ("%tools", gantry_tools_dir),
]

node = shutil.which("node")
if node:
    config.available_features.add("node")
    config.substitutions += [("%node", node)]
chromium = shutil.which("chromium")
if chromium:
    config.available_features.add("chromium")
    config.substitutions += [("%chromium", chromium)]
if os.path.isdir(onnx_data):
    config.available_features.add("onnx-testdata")
# LLVM's own tools, as far as they are installed, on the way from the LLVM dialect to PTX.
llc = os.path.join(config.llvm_tools_dir, "llc")
if os.path.exists(llc) and os.path.exists(os.path.join(config.llvm_tools_dir, "mlir-translate")):
    if "nvptx64" in subprocess.run([llc, "--version"], capture_output=True, text=True, check=False).stdout:
        config.available_features.add("nvptx")
ptxas = shutil.which("ptxas", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"]))
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions += [("%ptxas", ptxas)]
for sanitizer, feature in (("address", "asan"), ("undefined", "ubsan")):
    if sanitizer in config.sanitizers:
        config.available_features.add(feature)

try:
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        if " amx_tile" in cpuinfo.read():
            config.available_features.add("amx")
except OSError:
    pass

# A word boundary on both sides, so that paths and other tools' names are left alone.
config.substitutions += [
    (r"(?<![\w/.-])gantry-opt(?![\w/.-])", os.path.join(gantry_tools_dir, "gantry-opt") + " --verify-roundtrip"),
    (r"(?<![\w/.-])gantry(?![\w/.-])", os.path.join(gantry_tools_dir, "gantry")),
]
