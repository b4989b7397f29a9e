#!/usr/bin/python3
"""Checks what the small libraries and the tool are linked against, and the libraries' sizes.

  - `readelf -d` of libgantry-runtime.so, libgantry-show.so and gantry names no LLVM, MLIR, CUDA, oneDNN or
    protobuf: running a plan and telling of it must not cost, or need, any of them;
  - the libraries export only the C API (gantry_*) and the C++ API (namespace gantry);
  - stripped they are under their limits (release builds).

Usage: check_elf.py --build-dir BUILD      exit status 1 and one line per offence
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

FORBIDDEN = re.compile(r"LLVM|MLIR|lld|clang|cuda|cublas|cudnn|nccl|nvrtc|nvJitLink|dnnl|mkl|"
                       r"protobuf|onnx|torch", re.IGNORECASE)
SIZE_LIMITS = {"libgantry-runtime.so": 1_000_000, "libgantry-show.so": 640_000}


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    build = parser.parse_args().build_dir
    libraries, tool = [build / "lib" / name for name in SIZE_LIMITS], build / "bin/gantry"
    for file in (*libraries, tool):
        if not file.exists():
            print(f"{file}: error: not built")
            return 1

    failures = []
    for file in (*libraries, tool):
        for name in needed(file):
            if FORBIDDEN.search(name):
                failures.append(f"{file}: error: needs '{name}'")
    for library in libraries:
        foreign = [name for name in exported(library) if not re.search(r"\bgantry(_|::)", name)
                   and not name.startswith(("_init", "_fini"))]
        if foreign:
            failures.append(f"{library}: error: exports {len(foreign)} symbols that are not Gantry's, "
                            f"among them '{foreign[0]}'")
        size, limit = stripped_size(library), SIZE_LIMITS[library.name]
        if is_release(build) and size >= limit:
            failures.append(f"{library}: error: {size} bytes stripped, the limit is {limit}")
        print(f"check_elf: {library.name} {size} bytes stripped; needs {' '.join(needed(library))}")
    print("\n".join(failures), end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
