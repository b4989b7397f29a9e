#!/usr/bin/python3
"""Runs every suite and adds them up; the last line is `N passed, N failed, N skipped`.

Suites: ctest (unit tests, C API, corpora of the fuzzers, locks), lit, and the end-to-end runners of
test/e2e. Each suite writes a result file (JUnit XML or JSON) under BUILD/test-results; a suite that
dies without one counts as a failure, as does one without tests, or whose tests were all skipped. A skip
is a test that could not run here or a model that Gantry refuses; each reason is printed.

Two suites run at once, the longest first, each with half of the jobs: the end of each, where one
test is left, costs nothing then. What a suite says is printed whole when it is over, with its
seconds and those of processors. SIGINT, SIGTERM and SIGHUP stop all that runs.

GANTRY_TEST_LONG=1 in the environment asks for what is left out or drawn less otherwise, so that this ends in minutes.

Usage: run_tests.py --build-dir BUILD [--only SUITE ...] [--jobs N]
Exit status 0 when nothing failed.
"""

import argparse
import collections
import dataclasses
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIT = "/usr/lib/llvm-22/bin/lit"
# Processor seconds of the long suites, which start first; only their order matters.
SECONDS = {"python": 360, "lit": 280, "ctest": 200, "gradients": 120, "auto": 105, "models": 75, "models-cuda": 60,
        "gradients-gpu": 55, "replicate": 48, "random-ops": 44, "traffic-gpu": 38, "kernel-table": 38, "refusals": 36,
        "static-compiler": 36, "shared-memory": 30, "resume": 30, "onnx": 30, "amx": 30, "onnx-ops": 25, "placement-oracle": 24,
        "convolutions": 24, "attention-bits": 22, "quantized": 20, "products-gpu": 18, "attention-math": 17}
# How much suites draw or try by a flag, and with GANTRY_TEST_LONG=1, which tests in C++ and those of cases.py know, too.
DRAWN = {"products": {"--count": (100, 200)}, "products-gpu": {"--count": (120, 300)}, "products-cores": {"--count": (80, 200)},
         "products-library": {"--count": (60, 120)}, "products-tf32-library": {"--count": (50, 100)},
         "products-f16-library": {"--count": (30, 60)}, "product-bits": {"--count": (80, 200)},
         "sum-bits": {"--count": (120, 300)},
         "product-math": {"--count": (45, 90)}, "few-bits": {"--count": (60, 120)}, "amx": {"--count": (20, 30)},
         "convolutions": {"--count": (24, 40)}, "convolution-math": {"--count": (20, 40)}, "quantized": {"--count": (28, 42)},
         "attention-bits": {"--count": (60, 120)}, "attention-gpu": {"--count": (16, 24)},
         "attention-cores": {"--count": (16, 24)}, "attention-math": {"--count": (20, 40)},
         "attention-math-gpu": {"--count": (6, 9)}, "stages-gpu": {"--count": (12, 18)},
         "random-ops-gpu": {"--count": (400, 1000)}, "random-ops-cuda": {"--count": (120, 200)},
         "graphs-gpu": {"--count": (120, 300)}, "gradients": {"--graphs": (60, 200)}, "gradients-gpu": {"--graphs": (10, 20)},
         "shared-memory": {"--count": (20, 40)}, "over-limit": {"--count": (16, 24)},
         "refusals": {"--first": (60, 150), "--drawn": (30, 60)}, "resume": {"--kills": (3, 50)}}
LONG = "GANTRY_TEST_LONG" in os.environ
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FIRST_LINES, LAST_LINES = 20, 40  # of what a failing test said
MOST_TOLD = 40  # failures of a suite
ALL_SKIPPED = 77  # exit status of a suite that is for other builds
GRACE = 5  # seconds that suites have to tidy up when a signal stops the run


@dataclasses.dataclass(kw_only=True)
class Result:
    passed: int = 0
    failures: list = dataclasses.field(default_factory=list)  # names, each with what is known
    outputs: dict = dataclasses.field(default_factory=dict)  # what failing tests said, by name, where it is kept apart
    skips: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # by reason

    @property
    def skipped(self):
        return sum(self.skips.values())


def read_junit(file, is_skip=lambda message: True):
    """Result of a JUnit file; a <skipped> whose message `is_skip` refuses counts as a failure."""
    result = Result()
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        # ctest writes the name twice; lit's class is the folder.
        name = ".".join(dict.fromkeys(filter(None, (case.get("classname"), case.get("name")))))
        skipped, failure = case.find("skipped"), case.find("failure")
        if skipped is not None and is_skip(skipped.get("message") or ""):
            result.skips[skip_reason(case, skipped)] += 1
        elif skipped is not None or failure is not None or case.find("error") is not None:
            result.failures.append(name)
            result.outputs[name] = said_by(case)
        else:
            result.passed += 1
    return result


def said_by(case):
    """The output of a failing test: ctest's stands beside the failure, lit's in it."""
    texts = [case.findtext("system-out"), case.findtext("failure"), case.findtext("error")]
    return "\n".join(text.strip("\n") for text in texts if text and text.strip())


def shortened(text):
    """Its lines, those between the first ones, which say what was run, and the last ones, where it went wrong, only
    counted."""
    lines = text.splitlines()
    left_out = len(lines) - FIRST_LINES - LAST_LINES
    if left_out <= 0:
        return lines
    return [*lines[:FIRST_LINES], f"... {left_out} lines ...", *lines[-LAST_LINES:]]


def skip_reason(case, skipped):
    """ctest's own message says only how it noticed; the test's output says why."""
    output = case.findtext("system-out") or ""
    # GTEST_SKIP() << reason prints "file:line: Skipped" and the reason on the next line; the
    # scripts print "name: skipped, reason" or "name: skipped: reason".
    match = re.search(r": Skipped\n(.+)|\bskipped[,:]\s*(.+)", output)
    if match:
        return (match.group(1) or match.group(2)).strip()
    return skipped.get("message") or "no reason given"


def read_json(file):
    """Result of an end-to-end runner's file: passed, failures [name], skips {reason: count}."""
    data = json.loads(file.read_text(encoding="utf-8"))
    return Result(passed=data["passed"], failures=list(data["failures"]), skips=collections.Counter(data["skips"]))


def drawn(name):
    """The flags of a suite that say how much it draws."""
    return [text for flag, counts in DRAWN.get(name, {}).items() for text in (flag, str(counts[LONG]))]


def suites(build, results, jobs):
    """Yields (name, command, reader) of every suite."""
    # ctest says "notrun" both for a test that asked to be skipped and for one without a program.
    asked = lambda message: message.startswith("SKIP_") or message == "Disabled"
    junit = results / "ctest.xml"
    yield ("ctest", ["ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error", "-Q",
                     "-j", jobs, "--timeout", "600", "--output-junit", junit],
           lambda: read_junit(junit, asked))
    xml = results / "lit.xml"
    yield ("lit", [LIT, "-q", "-j", jobs, "--xunit-xml-output", xml, build / "test"],
           lambda: read_junit(xml))
    python = "/usr/bin/python3"
    for name, script in (("onnx", "onnx_suite.py"), ("onnx-ops", "onnx_ops_test.py"),
                         ("known-operands", "known_operands_test.py"), ("detections", "detections_test.py"),
                         ("models", "models_test.py"), ("auto", "auto_test.py"),
                         ("placement-oracle", "placement_oracle_test.py"), ("replicate", "replicate_test.py"), ("parts", "parts_test.py"),
                         ("functions", "unary_math_test.py"), ("gradients", "gradient_test.py"),
                         ("gradient-networks", "gradient_networks_test.py"), ("empty", "empty_dims_test.py"),
                         ("random-ops", "random_ops_test.py"), ("shared-memory", "memory_test.py"),
                         ("over-limit", "over_limit_test.py"), ("limits", "limits_test.py"),
                         ("product-bits", "product_bits_test.py"), ("sum-bits", "sum_bits_test.py"), ("product-math", "product_math_test.py"),
                         ("few-bits", "few_bits_test.py"),
                         ("convolution-math", "convolution_math_test.py"),
                         ("attention-bits", "attention_bits_test.py"), ("attention-math", "attention_math_test.py"),
                         ("amx", "amx_test.py"),
                         ("convolutions", "convolutions_test.py"), ("quantized", "quantized_test.py"),
                         ("static-compiler", "static_compiler_test.py"),
                         ("hostile", "hostile_test.py"), ("plans", "plans_test.py"),
                         ("refusals", "refusals_test.py"), ("resume", "resume_test.py"),
                         ("traffic-gpu", "gpu_traffic_test.py")):
        out = results / f"{name}.json"
        yield (name, [python, ROOT / "test/e2e" / script, "--build-dir", build, "--jobs", jobs, "--json", out, *drawn(name)],
               lambda out=out: read_json(out))
    out = results / "python.json"
    yield ("python", [python, ROOT / "python-bindings/tests/run.py", "--build-dir", build, "--json", out],
           lambda out=out: read_json(out))
    # Products on the CPU, on the lanes of GPUs and on tensor cores.
    for name, checks, *more in (("products", ""), ("products-gpu", "all"),
                                ("products-cores", "all", "--flag=gpu-arch=sm_80", "--flag=cubins=off")):
        out = results / f"{name}.json"
        yield (name, ["/usr/bin/env", f"GANTRY_TEST_EMULATE={checks}", python, ROOT / "test/e2e/products_test.py",
                      "--build-dir", build, "--jobs", jobs, "--json", out, *drawn(name), *more],
               lambda out=out: read_json(out))
    # Attention that is written as ops, on lanes and on tensor cores.
    for name, *more in (("attention-gpu",), ("attention-cores", "--seed", "2", "--flag=gpu-arch=sm_80", "--flag=cubins=off")):
        out = results / f"{name}.json"
        yield (name, ["/usr/bin/env", "GANTRY_TEST_EMULATE=all", python, ROOT / "test/e2e/attention_bits_test.py",
                      "--build-dir", build, "--jobs", jobs, "--json", out, *drawn(name), *more],
               lambda out=out: read_json(out))
    # Kernels of GPUs, interpreted.
    for name, script, *more in (("kernel-table", "kernel_table_test.py"), ("onnx-gpu", "onnx_suite.py", "--device=emulated"),
                                ("graphs-gpu", "device_graphs_test.py")):
        out = results / f"{name}.json"
        yield (name, [python, ROOT / "test/e2e" / script, "--build-dir", build, "--jobs", jobs, "--json", out, *drawn(name),
                      *more],
               lambda out=out: read_json(out))
    # What ran on the CPU, again with them.
    for name, script, checks, *more in (("functions-gpu", "unary_math_test.py", "all"),
                                        ("onnx-ops-gpu", "onnx_ops_test.py", "all"),
                                        ("stages-gpu", "stages_test.py", "all"),
                                        ("gradients-gpu", "gradient_test.py", "all"),
                                        ("attention-math-gpu", "attention_math_test.py", "all", "--flag=gpu-arch=sm_80",
                                         "--flag=cubins=off"),
                                        ("empty-gpu", "empty_dims_test.py", "memory"),
                                        ("random-ops-gpu", "random_ops_test.py", "all")):
        out = results / f"{name}.json"
        yield (name, ["/usr/bin/env", f"GANTRY_TEST_EMULATE={checks}", python, ROOT / "test/e2e" / script,
                      "--build-dir", build, "--jobs", jobs, "--json", out, *drawn(name), *more],
               lambda out=out: read_json(out))
    # And by the driver of GPUs, on the fake libcuda.
    for name, script, *more in (("functions-cuda", "unary_math_test.py"), ("onnx-ops-cuda", "onnx_ops_test.py"),
                                ("models-cuda", "models_test.py"),
                                ("random-ops-cuda", "random_ops_test.py"), ("products-library", "products_test.py"),
                                ("products-tf32-library", "products_test.py", "--flag=math=tf32", "--flag=gpu-arch=sm_80",
                                 "--flag=cubins=off"),
                                ("products-f16-library", "products_test.py", "--flag=math=f16", "--flag=gpu-arch=sm_80",
                                 "--flag=cubins=off"),
                                ("onnx-ops-library", "onnx_ops_test.py")):
        out = results / f"{name}.json"
        libraries = ["GANTRY_TEST_LIBRARIES=cublaslt"] if name.endswith("-library") else []
        yield (name, ["/usr/bin/env", "GANTRY_TEST_CUDA=fake", *libraries, python, ROOT / "test/e2e" / script,
                      "--build-dir", build, "--jobs", jobs, "--json", out, *drawn(name), *more],
               lambda out=out: read_json(out))
    # And on another CPU: code for AArch64, run by a runtime that was built for it (cmake --preset aarch64).
    tool = build.parent / "aarch64/bin/gantry"
    if not tool.exists() or not shutil.which("qemu-aarch64"):
        return
    for name, script, *more in (("functions-arm", "unary_math_test.py"), ("onnx-ops-arm", "onnx_ops_test.py"),
                                ("products-arm", "products_test.py", "--count", "60"),
                                ("convolutions-arm", "convolutions_test.py", "--count", "20"),
                                ("random-ops-arm", "random_ops_test.py", "--count", "200")):
        out = results / f"{name}.json"
        yield (name, ["/usr/bin/env", f"GANTRY_TEST_AARCH64={tool}", python, ROOT / "test/e2e" / script,
                      "--build-dir", build, "--jobs", jobs, "--json", out, *more],
               lambda out=out: read_json(out))


@dataclasses.dataclass
class Running:
    """A suite whose processes are a group of their own, and whose words wait in a file."""
    name: str
    read: object
    process: subprocess.Popen
    words: object
    started: float


def start(name, command, read, results, running):
    """Adds a suite to those that run; a signal waits until it is there, or nobody would stop it."""
    for stale in results.glob(f"{name}.*"):
        stale.unlink()
    words = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        process = subprocess.Popen([str(part) for part in command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=words,
                                   stderr=subprocess.STDOUT, process_group=0,
                                   preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS))
        running[process.pid] = Running(name, read, process, words, time.monotonic())
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def finish(suite, usage):
    """Tells what a suite said that is over, and its sums; a missing result file or a silent non-zero exit status is
    a failure."""
    seconds = time.monotonic() - suite.started
    suite.words.seek(0)
    shutil.copyfileobj(suite.words, sys.stdout)
    suite.words.close()
    try:
        result = suite.read()
    except (OSError, ElementTree.ParseError, ValueError, KeyError) as error:
        result = Result(failures=[f"no result file ({error})"])
    is_left_out = suite.process.returncode == ALL_SKIPPED and result.skips and not result.passed
    if suite.process.returncode and not result.failures and not is_left_out:
        result.failures.append(f"exit status {suite.process.returncode}")
    if not result.passed and not result.failures and not is_left_out:
        result.failures.append("every test was skipped" if result.skips else "no test was found")
    print(f"{suite.name:14} {result.passed:5} passed {len(result.failures):4} failed {result.skipped:5} skipped"
          f"  {seconds:6.1f} s, {usage.ru_utime + usage.ru_stime:6.1f} of processors")
    for failure in result.failures[:MOST_TOLD]:
        print(f"  FAILED {suite.name}: {failure}")
        for line in shortened(result.outputs.get(failure, "")):
            print(f"    | {line}")
    if len(result.failures) > MOST_TOLD:
        print(f"  and {len(result.failures) - MOST_TOLD} more failures")
    for reason, count in result.skips.most_common(12):
        print(f"  skipped {count}: {reason}")
    if len(result.skips) > 12:
        print(f"  skipped for {len(result.skips) - 12} more reasons")
    sys.stdout.flush()
    return result


def stop(running):
    """Ends suites with all their processes: as Ctrl-C does, and what is left after a while at once."""
    def tell(kind):
        for suite in running:
            try:
                os.killpg(suite.process.pid, kind)
            except ProcessLookupError:
                pass

    for kind in SIGNALS:
        signal.signal(kind, signal.SIG_IGN)
    tell(signal.SIGINT)
    deadline = time.monotonic() + GRACE
    while any(suite.process.poll() is None for suite in running) and time.monotonic() < deadline:
        time.sleep(0.05)
    tell(signal.SIGKILL)


def run(waiting, slots, results):
    """Yields the result of each suite, in the order of their ends."""
    running = {}
    try:
        while waiting or running:
            while waiting and len(running) < slots:
                start(*waiting.pop(0), results, running)
            pid, status, usage = os.wait4(-1, 0)
            suite = running.pop(pid)
            suite.process.returncode = os.waitstatus_to_exitcode(status)
            yield finish(suite, usage)
    finally:
        if running:
            stop(running.values())


def networks(build):
    """The folder of the networks that PyTorch exports, which takes a minute of processors: kept until the script that
    makes them or PyTorch is another one."""
    models = pathlib.Path(os.environ.get("GANTRY_MODELS_DIR", ROOT.parent / "shared/models"))
    try:
        recipe = (models / "make_models.py").read_bytes() + importlib.metadata.version("torch").encode()
    except (OSError, importlib.metadata.PackageNotFoundError):
        recipe = b""
    folder = build / "test-networks" / hashlib.sha256(recipe).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    for other in folder.parent.iterdir():
        if other != folder:
            shutil.rmtree(other)
    return folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    build = arguments.build_dir.resolve()
    results = build / "test-results"
    results.mkdir(parents=True, exist_ok=True)

    for kind in SIGNALS:
        if signal.getsignal(kind) != signal.SIG_IGN:  # as nohup leaves SIGHUP
            signal.signal(kind, signal.default_int_handler)
    os.environ["GANTRY_CACHE_SIZE"] = "0"  # what is tested is the compiler, not what it made before
    total = Result()
    slots = min(2, arguments.jobs)
    chosen = [suite for suite in suites(build, results, str(max(1, arguments.jobs // slots)))
              if not arguments.only or suite[0] in arguments.only]
    chosen.sort(key=lambda suite: -SECONDS.get(suite[0], 0))
    os.environ["GANTRY_MADE_FOLDER"] = str(networks(build))
    try:
        for result in run(chosen, slots, results):
            total.passed += result.passed
            total.failures += result.failures
            total.skips += result.skips
    except KeyboardInterrupt:
        print("stopped by a signal", file=sys.stderr)
        return 130
    print(f"{total.passed} passed, {len(total.failures)} failed, {total.skipped} skipped")
    return 1 if total.failures or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
