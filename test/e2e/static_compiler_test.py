#!/usr/bin/python3
"""The compiler that has LLVM and MLIR inside registers what the pipelines use; one of the distribution's libraries
registers all that they have. Both must make the same plans, byte for byte: an interface implementation that is missing
from lib/Pipeline/RegistrationStatic.cpp is silent otherwise.

Usage: static_compiler_test.py --build-dir BUILD [--jobs N] [--json FILE] [--every N]
Compares example models and every Nth of ONNX's test models, on CPUs and on GPUs. Of networks that take seconds the text
before code is made is compared: their kernels are of the kinds that the others have, and most of the time goes to LLVM's
passes, which both have. Of those one is taken; with GANTRY_TEST_LONG=1 all, and more of ONNX's. Exit status 77 where the
build has only one of the two compilers.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import cases
import own_models

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONNX = pathlib.Path("/usr/share/libonnx-testdata/data")
DEVICES = ("CPU:0", "CPU:0,GPU:0")
# Models with loops inside of kernels, which most interfaces are for.
ALWAYS = ("attention", "averagepool", "concat", "conv", "gemm", "layer_normalization", "lrn", "lstm", "matmul", "maxpool",
          "reduce_mean", "softmax", "topk", "resize")
KINDS = 3 if cases.LONG else 2  # models of each of those
LARGE = ("light_squeezenet", "light_inception_v1", "light_resnet50", "light_vgg19")


def models(every, folder):
    yield from sorted((ROOT / "examples").rglob("*.onnx"))
    networks = sorted(cases.MODELS.rglob("*.onnx"))
    yield from (file for file in networks if cases.LONG or file.stem not in LARGE[1:])
    for name in own_models.NETWORKS:
        yield own_models.write(name, folder)
    seen = collections.Counter()
    for position, file in enumerate(sorted(ONNX.glob("*/*/model.onnx"))):
        kind = next((kind for kind in ALWAYS if kind in file.parent.name), None)
        seen[kind] += 1
        if position % every == 0 or (kind and seen[kind] <= KINDS):
            yield file


def compile_with(library, build, model, devices, out):
    """The plan's bytes; None when the model is refused."""
    command = [build / "bin/gantry", "compile", model, f"--devices={devices}", "-o", out]
    if model.stem in LARGE:
        command.append("--stop-after=memory")
    done = subprocess.run(command, env={**os.environ, "GANTRY_COMPILER": str(library)}, capture_output=True, timeout=300)
    return out.read_bytes() if done.returncode == 0 else None


def compare(build, model, devices, folder):
    """None when both agree, else what is wrong; a model that both refuse is "refused"."""
    name = f"{model.parent.name}.{model.stem}.{devices.replace(',', '-').replace(':', '')}"
    static, shared = (compile_with(build / "lib" / library, build, model, devices, folder / f"{name}.{library}")
                      for library in ("libgantry-compiler.so", "libgantry-compiler-shared.so"))
    if static is None and shared is None:
        return "refused"
    if static != shared:
        return "compiles with one of them only" if static is None or shared is None else "another plan"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=50 if cases.LONG else 100)
    arguments = parser.parse_args()
    build = arguments.build_dir.resolve()
    result = {"passed": 0, "failures": [], "skips": {}}
    if not (build / "lib/libgantry-compiler-shared.so").exists():
        result["skips"] = {"the build has no second compiler (GANTRY_STATIC_LLVM=COMPILER)": 1}
    else:
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            folder = pathlib.Path(folder)
            pairs = [(model, devices) for model in models(arguments.every, folder) for devices in DEVICES]
            found = pool.map(lambda pair: compare(build, *pair, folder), pairs)
            for (model, devices), wrong in zip(pairs, found):
                if wrong == "refused":
                    result["skips"]["refused by both"] = result["skips"].get("refused by both", 0) + 1
                elif wrong:
                    result["failures"].append(f"{model} on {devices}: {wrong}")
                else:
                    result["passed"] += 1
    print(f"{result['passed']} plans the same, {len(result['failures'])} not; skipped: {result['skips'] or 'none'}")
    print("\n".join(result["failures"]), file=sys.stderr)
    if arguments.json:
        arguments.json.write_text(json.dumps(result), encoding="utf-8")
    if result["failures"]:
        return 1
    return 0 if result["passed"] else 77


if __name__ == "__main__":
    sys.exit(main())
