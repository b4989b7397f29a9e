#!/usr/bin/python3
"""Numbers of flags and files at the ends of their types, and files that were changed: refused with a sentence, or done.

  flags       every number of the compiler's flags
  tool        every number of the tool's own flags and variables, a process each
  topologies  topology files with other numbers, keys and bytes, a graph compiled for each
  texts       graphs in MLIR text with other numbers
  models      ONNX's test models and those of test/fuzz/corpus with other numbers, or other bytes
  arrays      .npy, .npz and TensorProto files with other bytes

Each case goes through the compiler's C API, many to a process, which must not end by a signal, nor take more than 20
seconds; graphs are checked and compiled as outlines, and those that are small whole. A refusal has a status that is
the user's and words that are. A case is a function of its family, seed and number:

  hostile_test.py --build-dir build/release --only models --seed 1 --case 77 --keep FOLDER

Usage: hostile_test.py --build-dir BUILD [--only FAMILY ...] [--count N] [--seed N] [--case N] [--keep FOLDER]
                       [--jobs N] [--json FILE]
"""

import argparse
import collections
import ctypes
import functools
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile

import mutations
import workers
from cases import LONG

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "test/fuzz/corpus"
ONNX_DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
SECONDS_PER_CASE = 20
MOST_MEMORY = 12 << 30  # of address space in a worker: what asks for more is refused or a defect
LONG_COUNTS = {"flags": 600, "tool": 60, "topologies": 600, "texts": 600, "models": 400, "arrays": 300}
COUNTS = {family: count if LONG else count // 2 for family, count in LONG_COUNTS.items()}
CODES = ["OK", "INVALID_ARGUMENT", "NOT_FOUND", "CORRUPT", "UNSUPPORTED", "DOES_NOT_FIT", "UNAVAILABLE",
         "FAILED_PRECONDITION", "INTERNAL", "CANCELLED"]
# What only a developer of the compiler understands.
INNER = re.compile(r"compilation failed$|failed to legalize|explicitly marked illegal|unrealized|internal error"
                   r"|'(?:linalg|memref|vector|scf|llvm|bufferization)\.|defect of Gantry")

GRAPH = """
func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x5xf32>) -> tensor<4x5xf32> {
  %0 = gantry.matmul %x, %w : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  %1 = gantry.relu %0 : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}
"""
OPEN_GRAPH = """
func.func @main(%x: tensor<?x6xf32> {gantry.dim_names = ["n", ""]}) -> tensor<?x6xf32> {
  %0 = gantry.relu %x : (tensor<?x6xf32>) -> tensor<?x6xf32>
  return %0 : tensor<?x6xf32>
}
"""
# A number of a flag stands where the braces are; what is behind are further flags, and the graph.
FLAGS = ["devices=CPU:{}", "devices=CPU:0@{}", "devices=CPU:0@{}{unit}", "devices=GPU:{},GPU:{};simulate",
         "devices=GPU:0@{}{unit};simulate", "devices=GPU:0@{}{unit},GPU:1@{}{unit};simulate;placement=auto",
         "devices=/job:a/replica:{}/task:{}/device:GPU:{};simulate", "visible={};devices=GPU:0,GPU:1;simulate",
         "split=GPU:0={}{unit},{}{unit};devices=GPU:0;simulate", "split=GPU:{}=1GiB,1GiB;devices=GPU:0;simulate",
         "devices=GPU:0;simulate;place=MatMul=GPU:{}", "devices=GPU:0;simulate;place=name:{}=GPU:0",
         "devices=GPU:0;simulate;place=MatMul[{}]=GPU:0", "effort={};devices=GPU:0,GPU:1;simulate;placement=auto",
         "devices=GPU:0,GPU:1;simulate;replicate=GPU:0={},GPU:1={}", "devices=GPU:0,GPU:1;simulate;replicate=GPU:{}",
         "max-copy=d2h:{}{unit};devices=GPU:0;simulate", "max-copy=h2d:{}{unit},d2d:{};devices=GPU:0;simulate",
         "gpu-stages={};devices=GPU:0", "gpu-arch=sm_{};devices=GPU:0", "target-cpu=x86-64-v{}", "entry={}", "outputs={}",
         "value=input0={}", "value=input1=[{},{}]", "dim=n={}@open", "dim=input0:{}={}@open", "dim={}={}@open",
         "dim=n={};devices=CPU:0@{}{unit};over-limit=fix@open", "largest-batch=n;devices=CPU:0@{}{unit}@open",
         "largest-batch={}@open"]
# Of the tool and its variables; PLAN, GRAPH and X stand for files.
TOOL = ["run PLAN --fill ramp --threads {}", "run PLAN --fill ramp --seed {}", "run PLAN --fill {}",
        "run PLAN --fill random:{}", "run PLAN --fill input0={}", "run PLAN --fill ramp --expect output0=X --atol {}",
        "run PLAN --fill ramp --expect output0=X --rtol {}", "run PLAN --fill ramp --memory CPU:0=limit:{}{unit}",
        "run PLAN --fill ramp --memory CPU:{}=limit:1GiB", "run PLAN --fill ramp --memory CPU:0=fraction:{}",
        "run PLAN --fill ramp --bind CPU:0=CPU:{}", "run PLAN --fill ramp --math-limit {}",
        "run GRAPH --fill ramp --devices=GPU:0 --simulate --sim-order random:{}", "run GRAPH --fill ramp --devices=GPU:{} --simulate",
        "run GRAPH --fill ramp --devices=CPU:0@{}{unit}", "run GRAPH --fill ramp --devices=GPU:0@{}{unit} --simulate",
        "bench PLAN --threads {} --runs 1", "explain GRAPH --devices=GPU:{} --simulate", "explain GRAPH --why-not Relu GPU:{}",
        "devices --devices=GPU:{}@{}{unit}", "devices --visible {}", "devices --split GPU:{}={}{unit},{}",
        "GANTRY_CACHE_SIZE={}{unit} run GRAPH --fill ramp", "GANTRY_MEMORY=CPU:0=limit:{}{unit} run PLAN --fill ramp",
        "COLUMNS={} explain PLAN", "CUDA_VISIBLE_DEVICES={} devices", "memplan --capacity={}{unit} --input=BUFFERS",
        "memplan --alignment={}{unit} --input=BUFFERS", "memplan --threads={} --input=BUFFERS", "memplan --rounds={} --input=BUFFERS"]
# What takes as long as it is asked for: only what is refused, or short.
LONG = ["run PLAN --fill ramp --repeat {}", "bench PLAN --runs {}", "bench PLAN --min-time {}", "bench PLAN --warmup {}"]
REFUSED_OR_SHORT = ["0", "1", "2", "-1", "-0", "+1", "nan", "inf", "-inf", "1e30", "1e400", "0x1", "1_0", "", "1 ", "9" * 20, "9" * 400]
TOPOLOGIES = [
    {"physical": [{"name": "CPU:0", "driver": "host", "memory": "32GiB", "bandwidth": 2e10, "peak_flops": {"f32": 1e11}},
                  {"name": "GPU:0", "driver": "sim", "architecture": "sm_90", "memory": "20GiB", "bandwidth": 7.7e11,
                   "launch": 4e-6, "peak_flops": {"f32": 9.7e12, "f16": 1.5e14}}],
     "logical": [{"name": "CPU:0", "physical": "CPU:0", "limit": 34359738368},
                 {"name": "GPU:0", "physical": "GPU:0", "limit": "8GiB"},
                 {"name": "GPU:1", "physical": "GPU:0", "limit": 8589934592}],
     "links": [{"from": "CPU:0", "to": "GPU:0", "bandwidth": 2.5e10, "latency": 1e-5},
               {"from": "GPU:0", "to": "CPU:0", "bandwidth": 2.5e10, "latency": 1e-5}]},
    {"physical": [{"name": "CPU:0", "driver": "host", "memory": 1000000}, {"name": "GPU:0", "driver": "sim", "memory": 2000000},
                  {"name": "GPU:1", "driver": "sim", "memory": 2000000}]},
    {"physical": [{"name": "/job:a/replica:0/task:0/CPU:0", "driver": "host"},
                  {"name": "/job:a/replica:0/task:1/CPU:0", "driver": "host"},
                  {"name": "/job:a/replica:0/task:1/GPU:3", "driver": "sim", "limit": 1}]}]


class Request(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("file", ctypes.c_char_p), ("data", ctypes.c_char_p),
                ("data_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("folder", ctypes.c_char_p),
                ("values", ctypes.c_void_p), ("num_values", ctypes.c_size_t),
                ("candidates", ctypes.c_void_p), ("num_candidates", ctypes.c_size_t),
                ("flags", ctypes.POINTER(ctypes.c_char_p)), ("num_flags", ctypes.c_size_t),
                ("output", ctypes.c_char_p), ("scratch_above", ctypes.c_uint64),
                ("log", ctypes.c_void_p), ("log_context", ctypes.c_void_p), ("cancel", ctypes.c_void_p),
                ("graph", ctypes.c_void_p), ("compiler", ctypes.c_void_p), ("topology", ctypes.c_char_p),
                ("diagnose", ctypes.c_void_p), ("diagnose_context", ctypes.c_void_p), ("outline", ctypes.c_uint32)]


class Api:
    """The calls of the two libraries that take what is hostile; (code, words) of each."""

    def __init__(self, build):
        self.compiler = ctypes.CDLL(str(build / "lib/libgantry-compiler.so"))
        self.compiler.gantry_compiler_last_error.restype = ctypes.c_char_p
        self.compiler.gantry_graph_info_destroy.argtypes = self.compiler.gantry_artifact_destroy.argtypes = [ctypes.c_void_p]

    def outcome(self, status):
        words = self.compiler.gantry_compiler_last_error().decode("utf-8", "replace") if status else ""
        return CODES[status], words

    def request(self, data, name, flags=(), topology=None, outline=True):
        # A name is a C string: what the tool could not be given either is cut off.
        flags = [flag.encode().split(b"\0")[0] for flag in flags]
        return Request(struct_size=ctypes.sizeof(Request), data=data, data_size=len(data), name=name.encode(),
                       flags=(ctypes.c_char_p * len(flags))(*flags), num_flags=len(flags), folder=b"/nonexistent",
                       topology=topology, outline=outline)

    def check(self, *arguments):
        info = ctypes.c_void_p()
        status = self.compiler.gantry_check(ctypes.byref(self.request(*arguments)), ctypes.byref(info))
        outcome = self.outcome(status)
        if info:
            self.compiler.gantry_graph_info_destroy(info)
        return outcome

    def compile(self, *arguments, **more):
        artifact = ctypes.c_void_p()
        status = self.compiler.gantry_compile(ctypes.byref(self.request(*arguments, **more)), ctypes.byref(artifact))
        outcome = self.outcome(status)
        if artifact:
            self.compiler.gantry_artifact_destroy(artifact)
        return outcome


def judge(outcome):
    """What is wrong with it, or None."""
    code, words = outcome
    if code == "OK":
        return None
    if code == "INTERNAL" or not words or INNER.search(words):
        return f"{code}: {words[:300]}"
    return None


def filled(draw, template):
    """The template with numbers in its places."""
    text = re.sub(r"\{\}", lambda _: mutations.word(draw), template)
    return re.sub(r"\{unit\}", lambda _: draw.choice(mutations.UNITS), text)


# ---- families: (draw) -> a case, what to keep of it, and its check -------------------------------------------------

class Flags:
    """One flag after the other, so that a few hundred cases have all of them."""

    def make(self, draw, number):
        template, _, graph = FLAGS[number % len(FLAGS)].partition("@open")
        return filled(draw, template).split(";"), OPEN_GRAPH if template != FLAGS[number % len(FLAGS)] else GRAPH

    def keep(self, case):
        return {"flags.txt": "\n".join(case[0]).encode(), "graph.mlir": case[1].encode()}

    def check(self, case):
        flags, graph = case
        return judge(API.compile(graph.encode(), "graph.mlir", flags))


class Topologies:
    """Numbers, keys, or bytes of a topology file."""

    def make(self, draw, _):
        text = json.dumps(draw.choice(TOPOLOGIES))
        kind = draw.random()
        if kind < 0.75:
            text = mutations.in_text(draw, text)
        elif kind < 0.9:
            words = re.findall(r'"[^"]*"|[\d.e+-]+|\w+', text)
            text = text.replace(draw.choice(words), draw.choice(words), draw.choice((1, -1)))
        else:
            return mutations.in_bytes(draw, text.encode()).split(b"\0")[0]
        return text.encode()

    def keep(self, case):
        return {"topology.json": case, "graph.mlir": GRAPH.encode()}

    def check(self, case):
        return judge(API.compile(GRAPH.encode(), "graph.mlir", (), case))


@functools.cache
def example_texts():
    """Functions of the dialect's tests: every op has one there."""
    texts = []
    for file in sorted((ROOT / "test/Dialect/Gantry").glob("*-ops.mlir")):
        text = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
        texts += [part for part in re.split(r"(?=^func\.func )", text, flags=re.MULTILINE) if part.startswith("func.func")]
    assert len(texts) > 20
    return texts


class Texts:
    def make(self, draw, number):
        texts = example_texts()
        return mutations.in_text(draw, texts[number % len(texts)]).encode("utf-8", "replace")

    def keep(self, case):
        return {"graph.mlir": case}

    def check(self, case):
        return check_graph(case, "graph.mlir")


@functools.cache
def model_files():
    own = sorted(CORPUS.glob("Graph/*.onnx"))
    return own + sorted(file for file in ONNX_DATA.glob("node/*/model.onnx") if file.stat().st_size < 100_000)


class Models:
    def make(self, draw, number):
        files = model_files()
        # Every model, in an order of the seed's own.
        data = files[number % len(files) if number >= 0 else 0].read_bytes()
        return mutations.in_protobuf(draw, data) if draw.random() < 0.85 else mutations.in_bytes(draw, data)

    def keep(self, case):
        return {"model.onnx": case}

    def check(self, case):
        return check_graph(case, "model.onnx")


def check_graph(data, name):
    """Checked, compiled as an outline, and whole where the outline could be made and is small."""
    return judge(API.check(data, name)) or judge(API.compile(data, name))


class Arrays:
    """Files of arrays, as the value of an input."""

    FOLDER = tempfile.gettempdir()

    def make(self, draw, number):
        files = sorted(file for file in (CORPUS / "Arrays").iterdir())
        file = files[number % len(files)]
        data = file.read_bytes()
        if file.suffix == ".npy" and draw.random() < 0.6:
            header = 10 + int.from_bytes(data[8:10], "little")
            text = mutations.in_text(draw, data[10:header].decode("latin1")).encode("latin1", "replace")
            data = data[:8] + len(text).to_bytes(4, "little")[:2] + text + data[header:]
        elif file.suffix == ".pb" and draw.random() < 0.6:
            data = mutations.in_protobuf(draw, data)
        else:
            data = mutations.in_bytes(draw, data)
        return file.suffix, data

    def keep(self, case):
        return {"array" + case[0]: case[1], "graph.mlir": GRAPH.encode()}

    def check(self, case):
        with tempfile.NamedTemporaryFile(suffix=case[0], dir=self.FOLDER) as file:
            file.write(case[1])
            file.flush()
            return judge(API.compile(GRAPH.encode(), "graph.mlir", [f"value=input1={file.name}"]))


class Tool:
    """The tool as a process: statuses, and no stack traces."""

    def make(self, draw, number):
        if number % 10 == 9:
            return draw.choice(LONG).replace("{}", draw.choice(REFUSED_OR_SHORT))
        return filled(draw, TOOL[number % len(TOOL)])

    def keep(self, case):
        return {"command.txt": case.encode()}

    def check(self, case):
        words = case.split(" ")
        environment = {**os.environ, "GANTRY_CACHE_SIZE": "0"}
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environment[name] = value.replace("\0", "")
        program = "gantry-memplan" if words[0] == "memplan" else "gantry"
        words = words[1:] if words[0] == "memplan" else words
        command = [str(BUILD / "bin" / program), *(re.sub(r"^(--input=)?(PLAN|GRAPH|X|BUFFERS)$", self.file, word)
                                                   for word in words if "\0" not in word)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace",
                              timeout=2 * SECONDS_PER_CASE, check=False, cwd=FILES, stdin=subprocess.DEVNULL)
        if done.returncode not in (0, 1, 2, 3):
            return f"status {done.returncode}: {done.stderr[-300:]}"
        if done.returncode and not done.stderr.strip():
            return f"status {done.returncode} without a word"
        return f"status {done.returncode}: {done.stderr[-300:]}" if INNER.search(done.stderr) else None

    @staticmethod
    def file(match):
        return (match[1] or "") + str(FILES / {"PLAN": "graph.gantry", "GRAPH": "graph.mlir", "X": "x.npy",
                                               "BUFFERS": "buffers.csv"}[match[2]])


FAMILIES = {"flags": Flags(), "tool": Tool(), "topologies": Topologies(), "texts": Texts(), "models": Models(),
            "arrays": Arrays()}
API = BUILD = FILES = None


def check(case):
    """Runs in a worker."""
    family, seed, number = case
    if family != "tool":
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    draw = random.Random(f"{family} {seed} {number}")
    return FAMILIES[family].check(FAMILIES[family].make(draw, number))


def write_files(folder):
    """What the tool's commands read."""
    (folder / "graph.mlir").write_text(GRAPH, encoding="ascii")
    (folder / "buffers.csv").write_text("id,lower,upper,size\n1,0,3,4096\n2,1,2,100\n", encoding="ascii")
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 5), }"
    header += " " * (117 - len(header)) + "\n"
    (folder / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(80))
    subprocess.run([BUILD / "bin/gantry", "compile", "graph.mlir", "-o", "graph.gantry"], cwd=folder, check=True)


def keep(case, folder):
    family, seed, number = case
    folder.mkdir(parents=True, exist_ok=True)
    made = FAMILIES[family].make(random.Random(f"{family} {seed} {number}"), number)
    for name, data in FAMILIES[family].keep(made).items():
        (folder / name).write_bytes(data)


def main():
    global API, BUILD, FILES
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--count", type=int, help="cases of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the files of --case")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path, help="for run_tests.py")
    arguments = parser.parse_args()
    BUILD = arguments.build_dir.resolve()
    API = Api(BUILD)
    cases = [(family, arguments.seed, number) for family in arguments.only
             for number in ([arguments.case] if arguments.case is not None else range(arguments.count or COUNTS[family]))]
    if arguments.keep:
        keep(cases[0], arguments.keep)
    counts, failures = collections.Counter(), {}
    with tempfile.TemporaryDirectory() as folder:
        FILES = pathlib.Path(folder)
        if "tool" in arguments.only:
            write_files(FILES)
        for case, what in workers.run_all(check, cases, arguments.jobs, SECONDS_PER_CASE, fresh_after=1000,
                                          on_crash=lambda why: f"crash: {why}",
                                          on_timeout=lambda: f"more than {SECONDS_PER_CASE} s"):
            counts[case[0]] += 1
            if what:
                failures["--only {} --seed {} --case {}".format(*case)] = what
                print(f"  --only {case[0]} --seed {case[1]} --case {case[2]}: {what[:600]}", flush=True)
    for family in arguments.only:
        if not counts[family]:
            failures[family] = "no case was tried"
    tried = ", ".join(f"{count} {family}" for family, count in counts.items())
    print(f"hostile: {sum(counts.values()) - len(failures)} of {sum(counts.values())} cases are refused or done ({tried})")
    if arguments.json:
        arguments.json.write_text(json.dumps({"passed": sum(counts.values()) - len(failures), "skips": {},
                                              "failures": [f"{name}: {what}" for name, what in sorted(failures.items())]}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
