#!/usr/bin/python3
"""Checks that every #include goes along an allowed edge between layers.

The table below is the layering of docs/Architecture.md. A file belongs to the layer named by its
path (include/gantry/X, lib/X, tools/X, include/gantry-c, lib/CAPI/X); what it includes is judged by
the same rule, so that a layer cannot be reached around its headers. Also refused: relative
includes ("../X.h"), mlir/ or llvm/ outside the compiler, and CUDA headers anywhere (the driver
declares what it uses in its own words).

Usage: check_layers.py [ROOT]      exit status 1 and one line per offence
"""

import pathlib
import re
import sys

# layer -> the layers it may include, itself always among them.
SHARED = {
    "Support": set(),
    "Formats": {"Support"},
    "Device": {"Support"},
    "Packing": {"Support"},
    "Remat": {"Support"},
    "Placement": {"Support", "Device"},
    "AutoPlacement": {"Support", "Device"},
    "Queues": {"Support"},
    "Judge": {"Support"},
    "PTX": {"Support"},
    # Judge: a plan of several tasks is proven when it is written and when it is loaded.
    "Plan": {"Support", "Device", "Packing", "Judge"},
    # What plans say of themselves, for people and programs.
    "Show": {"Support", "Device", "Placement", "Plan"},
}
RUNTIME = {
    # Formats: files of variables.
    "Runtime": {"Support", "Formats", "Device", "Plan"},
    "Drivers": {"Support", "Device", "Plan", "Runtime"},
    # PTX: of the emulator's library alone, which the driver opens.
    "Drivers/Emulated": {"Support", "Device", "Plan", "Runtime", "Drivers", "PTX"},
    # Jobs of several processes.
    "Transports": {"Support", "Runtime"},
    "Machine": {"Support", "Device", "Runtime", "Drivers"},
}
COMPILER = {
    "Dialect": {"Support", "Formats", "Device"},
    "Analysis": {"Support", "Device", "Queues", "Dialect"},
    # Reverse-mode differentiation, by rules that come to the ops.
    "Gradient": {"Support", "Device", "Dialect", "Analysis"},
    "Frontend": {"Support", "Formats", "Device", "Dialect", "Analysis"},
    # Functions as arithmetic that every target has.
    "Arithmetic": {"Dialect"},
    # Kernels in terms that several targets go on from.
    "Linalg": {"Support", "Device", "Dialect", "Arithmetic"},
    # What a target is; one folder below for each, and for the plan that their code goes into.
    "Target": {"Support", "Device", "Dialect", "Analysis"},
    "Target/CPU": {"Support", "Device", "Dialect", "Analysis", "Arithmetic", "Linalg", "Target"},
    # Plan: how a plan says what a library is to compute.
    "Target/CUDA": {"Support", "Device", "Plan", "Dialect", "Analysis", "Arithmetic", "Linalg", "Target"},
    "Target/Plan": {"Support", "Device", "Packing", "Plan", "Dialect", "Analysis", "Target"},
    "Transforms": {"Support", "Formats", "Device", "Packing", "Remat", "Plan", "Placement", "Queues", "Judge", "Dialect",
                   "Analysis", "Gradient", "Target"},
    "Pipeline": {"Support", "Formats", "Device", "Packing", "Placement", "Plan", "Dialect", "Analysis",
                 "Gradient", "Frontend", "Arithmetic", "Linalg", "Transforms", "Target", "Target/CPU", "Target/CUDA",
                 "Target/Plan"},
    # Whatever runs the pipeline more than once and picks.
    "Search": {"Support", "Device", "Placement", "AutoPlacement", "Plan", "Dialect", "Analysis", "Gradient", "Frontend",
               "Transforms", "Target", "Target/CUDA", "Target/Plan", "Pipeline"},
}
EDGES = {
    # The C API: declarations only in include/gantry-c; each half is put together in lib/CAPI.
    "CAPI": set(),
    "CAPI/Options": {"CAPI", "Support", "Device", "Runtime", "Drivers"},
    "CAPI/Runtime": {"CAPI", "Support", "Device", "Plan", "Runtime", "Drivers"},
    "CAPI/Array": {"CAPI", "Support", "Device", "Plan", "Runtime", "Drivers"},
    "CAPI/DLPack": {"CAPI", "Support", "Device", "Plan", "Runtime", "Drivers"},
    "CAPI/DLPackTypes": {"CAPI"},
    "CAPI/Handles": {"CAPI", "Support", "Runtime"},
    "CAPI/StateFile": {"CAPI", "Support", "Formats", "Runtime"},
    "CAPI/Show": {"CAPI", "Support", "Plan", "Show"},
    "CAPI/Machine": {"CAPI", "Support", "Device", "Machine"},
    "CAPI/Topology": {"CAPI", "Support", "Device", "Machine"},
    "CAPI/Outcome": {"CAPI", "Support"},
    "CAPI/Info": {"CAPI", "Support"},
    "CAPI/Cancel": {"CAPI", "Support"},
    "CAPI/Common": {"CAPI", "Support"},
    "CAPI/Compiler": {"CAPI", *SHARED, *COMPILER},
    "CAPI/Contexts": {"Pipeline"},
    "CAPI/Diagnostics": {"CAPI", "Support", "Dialect"},
    "CAPI/Guard": {"CAPI", "Support"},
    "CAPI/Malloc": set(),
    "CAPI/ThreadPool": {"Support"},
    "CAPI/Graph": {"CAPI", "Support", "Device", "Dialect", "Frontend", "Pipeline"},
    # The tool knows the runtime and opens the compiler through the C API.
    "tools/gantry": {"CAPI", *SHARED, *RUNTIME},
    "tools/gantry-memplan": {"Support", "Packing"},
    "tools/gantry-ptx": {"Support", "Formats", "PTX"},
    # Runs while building: of what it makes the table, it reads as TableGen does.
    "tools/gantry-op-table": set(),
    "tools/gantry-opt": {*SHARED, *COMPILER},
    "tools/gantry-lsp-server": {*SHARED, *COMPILER},
    "tools/gantry-reduce": {*SHARED, *COMPILER},
    **SHARED, **RUNTIME, **COMPILER,
}
MAY_USE_MLIR = {*COMPILER, "CAPI/Compiler", "CAPI/Contexts", "CAPI/Diagnostics", "CAPI/Graph",
                "CAPI/Guard", "CAPI/ThreadPool",
                "tools/gantry-op-table", "tools/gantry-opt", "tools/gantry-lsp-server", "tools/gantry-reduce"}
CUDA_HEADERS = re.compile(r"^(cuda|cudnn|cublas|nccl|nvrtc)\w*\.h$|^cuda/")
SUFFIXES = {".h", ".c", ".cpp", ".inc", ".def", ".td"}
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s+([<"])([^">]+)[">]')


def finest(room, parts):
    """The layer of a folder in a room: one of its own where the table has it, else the room's."""
    return f"{room}/{parts[0]}" if parts and f"{room}/{parts[0]}" in EDGES else room


def layer_of_path(path):
    """Layer of a file given relative to the root; None for files that no rule is about."""
    parts = path.parts
    if parts[:2] == ("include", "gantry-c"):
        return "CAPI"
    if parts[:2] == ("include", "gantry") and len(parts) > 3:
        return finest(parts[2], parts[3:-1])
    if parts[0] == "lib" and parts[1] == "CAPI":
        # lib/CAPI/Runtime.cpp and lib/CAPI/Runtime/X.cpp both belong to the runtime half.
        half = pathlib.PurePath(parts[2]).stem
        return f"CAPI/{half}"
    if parts[0] == "lib" and len(parts) > 2:
        return finest(parts[1], parts[2:-1])
    if parts[0] == "tools" and len(parts) > 2 and parts[1] != "dev":
        return f"tools/{parts[1]}"
    return None


def layer_of_include(name):
    """Layer of an include line's name; None for the system's and other projects' headers."""
    if name.startswith("gantry-c/"):
        return "CAPI"
    parts = name.split("/")
    return finest(parts[1], parts[2:-1]) if parts[0] == "gantry" and len(parts) > 2 else None


def offences_in(path, text):
    """Yields (line number, message) for each bad include of the file `path` with `text`."""
    layer = layer_of_path(path)
    if layer is None:
        return
    if layer not in EDGES:
        yield 0, f"layer '{layer}' is not in the table; the layers are {', '.join(sorted(EDGES))}"
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match.group(2)
        if name.startswith("..") or "/../" in name:
            yield number, f"relative include '{name}'; write it from include/, as \"gantry/...\""
        target = layer_of_include(name)
        if target is not None and target != layer and target not in EDGES[layer]:
            allowed = ", ".join(sorted(EDGES[layer])) or "nothing"
            yield number, f"{layer} may not include {target} ('{name}'); it may include {allowed}"
        if name.startswith(("mlir/", "llvm/", "mlir-c/", "llvm-c/", "lld/")) and \
                layer not in MAY_USE_MLIR:
            yield number, f"{layer} may not include '{name}': only the compiler knows MLIR and LLVM"
        if CUDA_HEADERS.match(name):
            yield number, f"{layer} may not include '{name}': declare what is used in our own words"


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parents[2]
    count = failures = 0
    for folder in ("include", "lib", "tools"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SUFFIXES:
                continue
            count += 1
            path = file.relative_to(root)
            for line, message in offences_in(path, file.read_text(encoding="utf-8")):
                print(f"{path}:{line}: error: {message}")
                failures += 1
    if count == 0:
        print(f"check_layers: no source file under {root}")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
