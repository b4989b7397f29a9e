"""What the suites of whole runs of the tool share: its caller, and the loop over their cases.

A case is a function that takes a Runner of its own, in a folder of its own, and raises when something
is wrong, or Skip where it cannot run; it may give a text to stand on its line. A few cases run at once, each in a process of its own kind
(workers.py): what one does to its process, as seeding PyTorch, no other one sees.
"""

import argparse
import fcntl
import json
import os
import pathlib
import resource
import subprocess
import tempfile

import own_models
import workers

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("GANTRY_CACHE_SIZE", "0")  # what is tested is the compiler
MODELS = pathlib.Path(os.environ.get("GANTRY_MODELS_DIR", ROOT.parent / "shared/models"))

LONG = "GANTRY_TEST_LONG" in os.environ  # more cases than every run of all tests can take
SECONDS_PER_CASE = 600


class Skip(Exception):
    """The case cannot run on this machine; the message says why."""


def shared(path):
    """A file among the shared models."""
    file = MODELS / path
    if not file.exists():
        raise Skip("no shared models (GANTRY_MODELS_DIR)")
    return file


def made(runner, name, variable, *flags):
    """The ONNX file of a network of make_models.py: from the folder that the environment variable names,
    or made by the script, which wants PyTorch, once for all cases of a suite, or of all suites that are given a
    folder for that (GANTRY_MADE_FOLDER)."""
    folder = os.environ.get(variable, "")
    if folder and (file := pathlib.Path(folder) / f"{name}.onnx").exists():
        return file
    script = str(shared("make_models.py"))
    folder = pathlib.Path(os.environ.get("GANTRY_MADE_FOLDER", runner.made)) / f"made{''.join(flags)}"
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.onnx"
    with open(folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            with tempfile.TemporaryDirectory(dir=folder) as making:  # whoever is stopped leaves no half of a network
                command = ["/usr/bin/python3", script, *flags, making, name]
                result = subprocess.run(command, capture_output=True, text=True)
                if result.returncode:
                    raise Skip("make_models.py: " + result.stderr.strip().splitlines()[-1])
                os.replace(pathlib.Path(making) / file.name, file)
    return file


def file_of(runner, model):
    """The ONNX file of "own/NAME", a network of own_models.py; "FOLDER/NAME.onnx", a shared model; or NAME, one of
    make_models.py."""
    folder, _, name = model.rpartition("/")
    if folder == "own":
        return own_models.write(name, runner.scratch)
    return shared(model) if folder else made(runner, model, "GANTRY_MADE_MODELS")


class Runner:
    """Calls the built tool in a scratch folder. Networks are made in the folder `made`, which others have, too."""

    def __init__(self, build, scratch):
        self.tool, self.scratch, self.made = build / "bin/gantry", scratch, scratch

    def gantry(self, *arguments, status=0, given=None, environment=None):
        """Runs the tool with `given`, text or bytes, as standard input; standard output and error, or
        AssertionError with all it said."""
        command = [str(self.tool), *(str(argument) for argument in arguments)]
        content = given.encode() if isinstance(given, str) else given
        result = subprocess.run(command, capture_output=True, timeout=600, cwd=self.scratch, input=content,
                                env={**os.environ, **(environment or {})})
        out, err = result.stdout.decode(), result.stderr.decode()
        assert result.returncode == status, (
            f"{' '.join(command)}: exit status {result.returncode}, expected {status}: "
            f"{(err or out).strip()[-800:]}")
        return out, err

    def write(self, name, text):
        path = self.scratch / name
        path.write_text(text)
        return path


def processor_seconds():
    """Of this process and of those that it started."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def run(case, runner):
    """("passed", "skipped" or "failed", what is known)."""
    try:
        return "passed", case(runner) or ""
    except Skip as reason:
        return "skipped", str(reason)
    except Exception as error:  # a broken tool may fail in any way; the others still run
        return "failed", f"{type(error).__name__}: {error}"


def main(suite, cases, description, runner=Runner, more=None):
    """Runs the cases whose names --filter is in, by name, and with --all those of `more`; the exit status."""
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2, help="cases that run at once")
    parser.add_argument("--filter", default="", help="only cases with this in their names")
    parser.add_argument("--json", type=pathlib.Path, help="write the result there (run_tests.py reads it)")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each case, with its seconds of processors")
    if more:
        parser.add_argument("--all", action="store_true", help="the cases that take long, too")
    arguments = parser.parse_args()
    if more and (arguments.all or LONG):
        cases = {**cases, **more}
    passed, failures, skips = 0, [], {}
    with tempfile.TemporaryDirectory() as made_here:
        def serve(name):
            started = processor_seconds()
            with tempfile.TemporaryDirectory() as scratch:
                own = runner(arguments.build_dir.resolve(), pathlib.Path(scratch))
                own.made = pathlib.Path(made_here)
                return *run(cases[name], own), processor_seconds() - started

        names = [name for name in cases if arguments.filter in name]
        for name, (verdict, detail, seconds) in workers.run_all(
                serve, names, arguments.jobs, SECONDS_PER_CASE, on_crash=lambda why: ("failed", f"crash: {why}", 0),
                on_timeout=lambda: ("failed", "takes too long", SECONDS_PER_CASE)):
            passed += verdict == "passed"
            if verdict == "skipped":
                skips[detail] = skips.get(detail, 0) + 1
            elif verdict == "failed":
                failures.append(f"{name}: {detail}")
            if arguments.verbose:
                print(f"{name:40} {seconds:6.2f} s  {verdict}{detail and ': '}{detail}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"passed": passed, "failures": failures, "skips": skips}))
    for failure in failures if not (arguments.json or arguments.verbose) else ():
        print(f"  {failure}")
    print(f"{suite}: {passed} passed, {len(failures)} failed, {sum(skips.values())} skipped")
    return 1 if failures else 0
