#!/usr/bin/python3
"""Packs the Python package with a build's libraries and the tool into a wheel, which needs NumPy and
a C++ runtime, and nothing of this machine.

Usage: make_wheel.py --build-dir BUILD [--out FOLDER] [--without-llvm]
Libraries go in without their symbol tables. Where the compiler has LLVM and MLIR not inside of itself
(GANTRY_STATIC_LLVM), their libraries go in, too; --without-llvm leaves them out, for machines that have
Debian's. Prints what is large; the last line is the wheel's path.
"""

import argparse
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python-bindings/gantry"
LIBRARIES = ("libgantry-runtime.so", "libgantry-show.so", "libgantry-compiler.so", "libgantry-emulator.so")


def version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(Gantry VERSION ([\d.]+)", text)[1]


def needed(library):
    """Files of LLVM and MLIR that a library is linked with."""
    listed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    return {match[1]: pathlib.Path(match[2]).resolve()
            for match in re.finditer(r"(lib(?:MLIR|LLVM)\S*) => (\S+)", listed)}


def contents(build, with_llvm):
    """Name in the wheel and file, or bytes."""
    for file in sorted(PACKAGE.rglob("*")):
        if file.suffix in (".py", ".pyi", ".typed"):
            yield f"gantry/{file.relative_to(PACKAGE)}", file
    for name in LIBRARIES:
        if (build / "lib" / name).exists():
            yield f"gantry/lib/{name}", (build / "lib" / name).resolve()
    yield "gantry/bin/gantry", build / "bin/gantry"
    if with_llvm and (build / "lib/libgantry-compiler.so").exists():
        for name, file in sorted(needed(build / "lib/libgantry-compiler.so").items()):
            yield f"gantry/lib/{name}", file
    yield f"gantry-{version()}.dist-info/LICENSE", ROOT / "LICENSE"


def metadata(tag):
    folder = f"gantry-{version()}.dist-info"
    yield f"{folder}/METADATA", (f"Metadata-Version: 2.1\nName: gantry\nVersion: {version()}\n"
                                 "Summary: Tensors on devices that you choose, compiled graphs and functions\n"
                                 "License: Apache-2.0 WITH LLVM-exception\nRequires-Python: >=3.9\n"
                                 "Requires-Dist: numpy>=1.22\n")
    yield f"{folder}/entry_points.txt", "[console_scripts]\ngantry = gantry.__main__:main\n"
    yield f"{folder}/WHEEL", f"Wheel-Version: 1.0\nGenerator: make_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n"


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def bytes_of(source):
    """A file's content; without symbol tables that only debuggers read."""
    if source.read_bytes()[:4] != b"\x7fELF":
        return source.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / source.name
        subprocess.run(["strip", "--strip-unneeded", "-o", stripped, source], check=True)
        return stripped.read_bytes()


def write(path, entries):
    """The same input makes the same bytes."""
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as wheel:
        for name, source in entries:
            data = source.encode() if isinstance(source, str) else bytes_of(source)
            info = zipfile.ZipInfo(name)
            # pip asks for the kind of the file, too, before it makes one executable.
            info.external_attr = (0o100755 if "/bin/" in name or "/lib/" in name else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(info, data)
            record.append(f"{name},{digest(data)},{len(data)}\n")
            if len(data) > 1 << 20:
                packed = wheel.getinfo(name).compress_size
                print(f"{name}: {len(data) / 1e6:.1f} MB, {packed / 1e6:.1f} MB in the wheel")
        name = f"gantry-{version()}.dist-info/RECORD"
        wheel.writestr(zipfile.ZipInfo(name), "".join(record) + f"{name},,\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--without-llvm", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build_dir.resolve()
    for name in ("libgantry-runtime.so", "libgantry-show.so"):
        if not (build / "lib" / name).exists():
            sys.exit(f"make_wheel: {build} has no {name}; build it first")
    tag = f"py3-none-linux_{platform.machine()}"
    folder = arguments.out or build
    path = folder / f"gantry-{version()}-{tag}.whl"
    write(path, [*contents(build, not arguments.without_llvm), *metadata(tag)])
    print(f"{path.stat().st_size / 1e6:.1f} MB in all")
    print(path)


if __name__ == "__main__":
    main()
