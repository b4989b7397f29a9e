#!/usr/bin/python3
"""Compiles models for GPUs and lets ptxas judge the kernels: a row for each model and architecture.

Each model is compiled for CPU:0,GPU:0 up to its PTX, which goes through `gantry-ptx lint` and
`ptxas -v`. Models are the files given, else those in ../shared/models and GANTRY_MODELS_DIR, where
make_models.py may have made the large ones. Seconds are of a cold compilation and of ptxas.

Usage: ptxas_table.py --build-dir BUILD [--archs sm_90,...] [MODEL...]
Exit status: 0 all is well, or there is no ptxas, which is said; 1 an error, a finding or a spill.
"""

import argparse
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHS = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
COLUMNS = ("model", "arch", "kernels", "registers", "shared", "spilling", "bytes", "compile s", "ptxas s")


def find_ptxas():
    """As the compiler does (gantry/Support/ExternalProgram.h)."""
    given = os.environ.get("GANTRY_PTXAS")
    folders = [os.environ.get("PATH", "")]
    if "CUDA_HOME" in os.environ:
        folders.append(os.environ["CUDA_HOME"] + "/bin")
    return given or shutil.which("ptxas", path=os.pathsep.join([*folders, "/usr/local/cuda/bin"]))


def default_models():
    folders = [ROOT.parent / "shared/models"]
    if "GANTRY_MODELS_DIR" in os.environ:
        folders.append(pathlib.Path(os.environ["GANTRY_MODELS_DIR"]))
    return [model for folder in folders for pattern in ("*.onnx", "*/*.onnx") for model in sorted(folder.glob(pattern))]


def summarise(report):
    """Kernels, most registers, most shared bytes and spilling kernels in what `ptxas -v` says."""
    registers = [int(number) for number in re.findall(r"Used (\d+) registers", report)]
    shared = [int(number) for number in re.findall(r"(\d+) bytes smem", report)]
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", report)
    spilling = sum(stores != "0" or loads != "0" for stores, loads in spills)
    return len(registers), max(registers, default=0), max(shared, default=0), spilling


def timed(command, **more):
    began = time.monotonic()
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, errors="replace", check=False, **more)
    return result, time.monotonic() - began


def judge(build, ptxas, model, arch, folder):
    """(row, errors) of a model on an architecture."""
    ptx = pathlib.Path(folder) / f"{model.parent.name}-{model.stem}-{arch}.ptx"
    compiled, compile_seconds = timed(
        [build / "bin/gantry", "compile", model, "--devices=CPU:0,GPU:0", f"--gpu-arch={arch}", "--cubins=off",
         "--stop-after=ptx", "-o", ptx], env={**os.environ, "GANTRY_CACHE_SIZE": "0"})
    if compiled.returncode:
        return None, [f"{model} for {arch}: {compiled.stdout.strip()}"]
    errors = []
    lint, _ = timed([build / "bin/gantry-ptx", "lint", ptx])
    if lint.returncode:
        errors.append(f"{model} for {arch}: {lint.stdout.strip()}")
    assembled, ptxas_seconds = timed([ptxas, f"-arch={arch}", "-v", ptx, "-o", "/dev/null"])
    if assembled.returncode:
        errors.append(f"{model} for {arch}: {assembled.stdout.strip()}")
    kernels, registers, shared, spilling = summarise(assembled.stdout)
    written = len(re.findall(r"^\s*(?:\.visible )?\.entry ", ptx.read_text(), re.MULTILINE))
    if not errors and kernels != written:
        errors.append(f"{model} for {arch}: ptxas tells of {kernels} kernels, the text has {written}")
    if spilling:
        errors.append(f"{model} for {arch}: {spilling} kernels spill registers")
    row = (model.stem, arch, kernels, registers, shared, spilling, ptx.stat().st_size,
           f"{compile_seconds:.1f}", f"{ptxas_seconds:.1f}")
    ptx.unlink()
    return row, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--archs", default=",".join(ARCHS))
    parser.add_argument("models", nargs="*", type=pathlib.Path, metavar="MODEL")
    arguments = parser.parse_args()
    ptxas = find_ptxas()
    if not ptxas:
        print("skipped: no ptxas in PATH, $CUDA_HOME/bin or /usr/local/cuda/bin; GANTRY_PTXAS names one")
        return 0
    models = arguments.models or default_models()
    if not models:
        print("skipped: no models; GANTRY_MODELS_DIR is a folder of them")
        return 0
    print("{:20} {:7} {:>7} {:>9} {:>7} {:>8} {:>8} {:>9} {:>8}".format(*COLUMNS))
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for model, arch in itertools.product(models, arguments.archs.split(",")):
            row, errors = judge(arguments.build_dir.resolve(), ptxas, model, arch, folder)
            if row:
                print("{:20} {:7} {:7} {:9} {:7} {:8} {:8} {:>9} {:>8}".format(*row), flush=True)
            failures += errors
    for failure in failures:
        print("error:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
