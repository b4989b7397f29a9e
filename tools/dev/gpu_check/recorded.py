"""Programs as users run them, with what they print: recorded while placement_test.py passes.

Section 9 of the specification is tested on simulated devices. Every graph that the test runs there is
noted with its flags and its output; without `--simulate` the same becomes a plan for real GPUs, which must
print the same. Several GPUs become several logical devices of one, so that one card is enough. So do graphs of the
driver's own tests, which print on the GPU what the interpreter of their kernels prints. Networks with
reference outputs beside them come as they are.
"""

import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import common

import numpy as np

# Flags of `gantry run` that say nothing to a compiler, with and without a value of their own.
OF_RUN_WITH_VALUE = ("--input", "--fill", "--seed", "--repeat", "--threads", "--rtol", "--atol")
NOT_CARRIED = ("--output", "--expect", "--emulate", "--sim-order", "--load-state", "--save-state", "--check-replicas", "--stop-after")


BUDGET = "128MiB"  # of each logical device


def on_one_gpu(flags):
    """The same flags with as many logical devices of GPU 0 as they name GPUs, whole or split."""
    words, kept, count = list(flags), [], 0
    while words:
        word = words.pop(0)
        if word.startswith("--devices"):
            count += len(re.findall(r"GPU:\d+", word if "=" in word else words.pop(0)))
        elif word.startswith("--split"):
            pieces = word.split("=", 1)[1] if "=" in word else words.pop(0)
            count += pieces.count(",")
        else:
            kept.append(word)
    split_up = ["--split", f"GPU:0={','.join([BUDGET] * count)}"] if count > 1 else []
    return ["--devices=CPU:0,GPU:0" if count else "--devices=CPU:0", *split_up, *kept]


def split(arguments):
    """(flags of the compiler, flags of the run), or None when the run is of another kind."""
    compiled, run, at = [], [], 0
    while at < len(arguments):
        flag = str(arguments[at])
        name = flag.split("=")[0]
        if name in NOT_CARRIED or not flag.startswith("-"):
            return None
        own = at + 1 < len(arguments) and not str(arguments[at + 1]).startswith("-") and "=" not in flag
        words = [flag, *([str(arguments[at + 1])] if own else [])]
        at += len(words)
        if name in OF_RUN_WITH_VALUE:
            run += words
        elif name not in ("--simulate", "-v", "--verbose", "--log-device-placement", "--no-cache"):
            compiled += words
    return compiled, run


class Recorder:
    """Stands in for PlacementTest.gantry and notes what it did."""

    def __init__(self, original, scratch):
        self.original, self.scratch, self.found = original, scratch, []

    def call(self, test, *arguments):
        result = self.original(test, *arguments)
        words = [str(word) for word in arguments]
        if words[0] == "run" and result.returncode == 0 and "--simulate" in words and words[1].endswith(".mlir"):
            self.note(test, words, result)
        return result

    def note(self, test, words, result):
        flags = split(words[2:])
        if flags is None or "-v" in words or "Executing op" in result.stdout:
            return
        folder = self.scratch / f"{len(self.found)}"
        shutil.copytree(test.folder, folder)
        compiled, run = flags
        self.found.append({"name": f"section 9/{test.id().split('.')[-1]}", "file": words[1], "folder": folder,
                           "compile": compiled, "run": run, "stdout": result.stdout})


def section9(build, scratch):
    argv, sys.argv = sys.argv, ["placement_test.py", str(build)]
    import placement_test
    sys.argv = argv
    recorder = Recorder(placement_test.PlacementTest.gantry, scratch)
    placement_test.PlacementTest.gantry = lambda self, *arguments: recorder.call(self, *arguments)
    classes = [kind for kind in vars(placement_test).values() if isinstance(kind, type)
               and issubclass(kind, placement_test.PlacementTest) and "Model" not in kind.__name__]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(kind) for kind in classes)
    with contextlib.redirect_stderr(io.StringIO()):
        unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    return recorder.found


def of_the_driver(build, data):
    """Branches and loops, what waits for the other GPU, and an all-reduce; each run thrice, so that graphs are replayed."""
    np.save(data / "passes.npy", np.int32(3))
    for name, gpus in (("loop", 2), ("branch", 2), ("one", 1), ("chain", 2), ("exchange", 2), ("reuse", 2), ("pipeline", 3),
                       ("all-reduce", 2)):
        file = common.ROOT / f"test/conformance/Inputs/{name}.mlir"
        flags = [f"--devices=CPU:0,{','.join(f'GPU:{number}' for number in range(gpus))}"]
        run = ["--fill", "uniform:-1:1", "--seed", "1", "--repeat", "3", *(("--input", "n=data/passes.npy") if name == "loop" else ())]
        done = subprocess.run([str(build / "bin/gantry"), "run", str(file), *on_one_gpu(flags), *run, "--emulate"],
                              capture_output=True, text=True, cwd=data.parent, check=True)
        yield {"name": f"driver/{name}", "file": file, "folder": file.parent, "compile": flags, "run": run, "stdout": done.stdout}


def with_references(data):
    """mnist, ultraface and the digits of the examples: files that lie beside them say what is right."""
    models = pathlib.Path(os.environ.get("GANTRY_MODELS_DIR", common.ROOT.parent / "shared/models"))

    def program(name, model, given, expected, *flags):
        for file in (*given.values(), *expected.values()):
            shutil.copy(file, data / file.name)
        run = [word for key, file in given.items() for word in ("--input", f"{key}=data/{file.name}")]
        run += [word for key, file in expected.items() for word in ("--expect", f"{key}=data/{file.name}")]
        return {"name": name, "file": model, "folder": model.parent, "run": run, "stdout": None,
                "compile": list(flags or ("--devices=CPU:0,GPU:0",))}

    if not models.exists():
        return
    mnist, face = models / "mnist", models / "ultraface"
    for digit in (0, 3, 5, 7):
        files = {"Input3": mnist / f"digit{digit}.npy"}, {
            "Plus214_Output_0": mnist / f"expected{digit}.output.Plus214_Output_0.npy"}
        yield program(f"mnist/{digit}", mnist / "mnist.onnx", *files)
        if digit == 0:
            yield program("mnist/0 on two GPUs", mnist / "mnist.onnx", *files, "--devices=CPU:0,GPU:0,GPU:1",
                          "--place=op:MatMul=GPU:1")
    yield program("ultraface", face / "ultraface.onnx", {"input": face / "ref.input.input.npy"},
                  {name: face / f"ref.output.{name}.npy" for name in ("scores", "boxes")})


def programs(build, scratch, data):
    for program in section9(build, scratch):
        for word in program["run"]:
            file = program["folder"] / word.split("=")[-1]
            if file.suffix in (".npy", ".npz") and file.exists():
                shutil.copy(file, data / f"{program['folder'].name}-{file.name}")
        program["run"] = [word.replace("=", f"=data/{program['folder'].name}-", 1) if word.endswith((".npy", ".npz")) else word
                          for word in program["run"]]
        yield program
    yield from of_the_driver(build, data)
    yield from with_references(data)
