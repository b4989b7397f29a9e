#!/usr/bin/python3
"""Checks what the small libraries and the tool are linked against, the libraries' sizes, and where the loader looks.

  - `readelf -d` of libgantry-runtime.so, libgantry-show.so and gantry names no LLVM, MLIR, CUDA, oneDNN or
    protobuf: running a plan and telling of it must not cost, or need, any of them;
  - the libraries export only the C API (gantry_*) and the C++ API (namespace gantry);
  - stripped they are under their limits (release builds);
  - every program and library that is built looks for its libraries in absolute folders or beside itself ($ORIGIN): an
    empty or relative entry of a search path is the current folder, where anybody's file may lie.

Usage: check_elf.py --build-dir BUILD
       check_elf.py FOLDER ...         the last rule for what is installed or packed
Exit status 1 and one line per offence.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FORBIDDEN = re.compile(r"LLVM|MLIR|lld|clang|cuda|cublas|cudnn|nccl|nvrtc|nvJitLink|dnnl|mkl|"
                       r"protobuf|onnx|torch", re.IGNORECASE)
SIZE_LIMITS = {"libgantry-runtime.so": 1_000_000, "libgantry-show.so": 640_000}
LOADABLE = (2, 3)  # ET_EXEC, ET_DYN


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(file):
    """Names in the DT_NEEDED entries of an ELF file."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-dW", str(file)))


def stripped_size(file):
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "stripped"
        subprocess.run(["strip", "--strip-all", "-o", str(target), str(file)], check=True)
        return target.stat().st_size


def exported(file):
    """Demangled names of the defined dynamic symbols."""
    lines = output_of("nm", "-DC", "--defined-only", str(file)).splitlines()
    return [line.split(" ", 2)[2] for line in lines if line.count(" ") >= 2]


def is_release(build):
    cache = (build / "CMakeCache.txt").read_text()
    return "CMAKE_BUILD_TYPE:STRING=Release" in cache


def loadable(folder):
    """Programs and shared libraries below a folder."""
    for where, _, names in os.walk(folder):
        for file in (pathlib.Path(where, name) for name in sorted(names)):
            if file.is_file() and not file.is_symlink():
                with open(file, "rb") as content:
                    head = content.read(18)
                if head[:4] == b"\x7fELF" and int.from_bytes(head[16:18], "little") in LOADABLE:
                    yield file


def looks_elsewhere(file):
    """A line for each place that depends on the current folder."""
    dynamic = subprocess.run(["readelf", "-dW", str(file)], capture_output=True, text=True).stdout
    for kind, path in re.findall(r"\((R(?:UN)?PATH)\).*?\[(.*)\]$", dynamic, re.MULTILINE):
        for entry in dict.fromkeys(path.split(":")):
            if not re.match(r"/|\$ORIGIN(/|$)|\$\{ORIGIN\}(/|$)", entry):
                yield (f"{file}: error: the entry '{entry}' of its {kind} [{path}] is in the current folder; expected "
                       "absolute folders, or $ORIGIN")
    for name in re.findall(r"\(NEEDED\).*\[(.+)\]$", dynamic, re.MULTILINE):
        if "/" in name and not name.startswith("/"):
            yield f"{file}: error: needs '{name}', which is in the current folder; expected a name, or an absolute path"


def check_places(folder):
    """(number of files, offences)."""
    files = list(loadable(folder))
    return len(files), [line for file in files for line in looks_elsewhere(file)]


def check_library(build, library):
    foreign = [name for name in exported(library) if not re.search(r"\bgantry(_|::)", name)
               and not name.startswith(("_init", "_fini"))]
    if foreign:
        yield (f"{library}: error: exports {len(foreign)} symbols that are not Gantry's, "
               f"among them '{foreign[0]}'")
    size, limit = stripped_size(library), SIZE_LIMITS[library.name]
    if is_release(build) and size >= limit:
        yield f"{library}: error: {size} bytes stripped, the limit is {limit}"
    print(f"check_elf: {library.name} {size} bytes stripped; needs {' '.join(needed(library))}")


def check_build(build):
    libraries, tool = [build / "lib" / name for name in SIZE_LIMITS], build / "bin/gantry"
    for file in (*libraries, tool):
        if not file.exists():
            return [f"{file}: error: not built"]
    failures = [f"{file}: error: needs '{name}'" for file in (*libraries, tool) for name in needed(file)
                if FORBIDDEN.search(name)]
    return failures + [line for library in libraries for line in check_library(build, library)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path)
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    if not arguments.build_dir and not arguments.folders:
        parser.error("expected --build-dir, or folders")
    build = [arguments.build_dir] if arguments.build_dir else []
    failures = [line for folder in build for line in check_build(folder)]
    for folder in build + arguments.folders:
        count, lines = check_places(folder)
        failures += lines or ([] if count else [f"{folder}: error: no program and no library is there"])
        print(f"check_elf: {count} programs and libraries in {folder}")
    print("\n".join(failures), end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
