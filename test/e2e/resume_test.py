#!/usr/bin/python3
"""Fits that are killed and go on: each ends with the bytes of one that nothing broke off.

A fit over three epochs, with dropout, a shuffle buffer under way, drawn changes of its rows (by 0 and by 2 workers), metrics, a rate
that falls, early stopping, a CSV file and a checkpoint every few steps, is ended by SIGKILL: at some instant after it began, or in the
middle of writing a checkpoint. It is started again with the same arguments, killed again or let go on to its end. Variables, history
and CSV are then those of the unbroken fit, byte for byte, and no process of it is left. Fits whose batches are cut into parts go on
on other numbers of simulated devices, or on the host alone, and end with the same bytes. Another case reads checkpoints that are cut off,
changed or something else.

Usage: resume_test.py --build-dir BUILD [--kills N] [--seed N] [--jobs N] [--json FILE] [-v]
Exit status 0 when nothing failed.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHILD = "--fit"  # this script as the program that is killed
EPOCHS, ROWS, BATCH, WIDTH, EVERY = 3, 1300, 32, 512, 4
PARTS, DEVICES = 4, ["GPU:0", "GPU:1", "GPU:2"]
LONGEST = 240  # seconds of one process


# ---- the program that is killed ----

def changed(x, y, rng):
    """A row with noise of its own."""
    return x + rng.standard_normal(x.shape).astype(x.dtype), y


def fit(folder, workers, devices):
    """Trains with all that a checkpoint has to hold; prints what came of it. On `devices`, "GPU:0,GPU:1", batches are cut into
    parts."""
    import hashlib

    import numpy as np

    import gantry as gt
    from gantry import callbacks, nn, optim
    draw = np.random.default_rng(1)
    x = draw.standard_normal((ROWS, 64)).astype(np.float32)
    y = (x[:, :4].argmax(1)).astype(np.int32)
    data = gt.data.Dataset.from_slices((x, y)).shuffle(200, seed=5).map(changed, workers=workers).batch(BATCH).prefetch(2)
    gt.random.seed(2)
    net = nn.Sequential(nn.Dense(WIDTH, "relu"), nn.BatchNorm(), nn.Dropout(0.3), nn.Dense(WIDTH, "relu"), nn.Dense(4))
    trainer = gt.Trainer(net, lambda y, p: gt.losses.scce(y, p, from_logits=True), optim.Adam(1e-3), metrics=["accuracy"], seed=9,
                         strategy=gt.Mirrored(devices.split(","), parts=PARTS) if devices else None)
    print("begins", flush=True)
    trainer.fit(data, validation=(x[:100], y[:100]), epochs=EPOCHS, progress=False, resume=folder,
                callbacks=[callbacks.Checkpoint(folder, every_steps=EVERY, keep=2), callbacks.CSV(folder / "log.csv"),
                           callbacks.EarlyStopping(patience=EPOCHS), callbacks.ReduceOnPlateau("loss", 0.5, patience=1, least=10.0),
                           callbacks.TensorBoard(folder / "events")])
    found = {name: hashlib.sha256(values.tobytes()).hexdigest() for name, (values, _) in trainer._saved()[0].items()}
    print(json.dumps({"variables": found, "history": trainer.history.history, "csv": (folder / "log.csv").read_text(),
                      "steps": trainer.total_steps}), flush=True)


# ---- who kills it ----

def environment(build, cache):
    return {**os.environ, "GANTRY_LIBRARY_PATH": str(build / "lib"), "PYTHONPATH": str(ROOT / "python-bindings"),
            "PYTHONDONTWRITEBYTECODE": "1", "GANTRY_CACHE_DIR": str(cache), "GANTRY_CACHE_SIZE": "1GiB"}


class Fit:
    """One process that fits, in a session of its own."""

    def __init__(self, folder, workers, names, devices=""):
        self._said = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([sys.executable, __file__, CHILD, folder, str(workers), devices], env=names, text=True,
                                        stdout=subprocess.PIPE, stderr=self._said, start_new_session=True)
        line = self.process.stdout.readline()
        if line != "begins\n":
            self.kill()
            raise AssertionError(f"the fit did not begin: {line}{self.errors()}")

    def errors(self):
        self._said.seek(0)
        return self._said.read()

    def result(self):
        """What came of it, when it ends as it should."""
        out, _ = self.process.communicate(timeout=LONGEST)
        self.check_alone()
        assert self.process.returncode == 0, f"exit status {self.process.returncode}: {self.errors()[-1500:]}"
        return json.loads(out)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def check_alone(self):
        """Workers end with who started them."""
        end = time.monotonic() + 20
        while left := processes_of(self.process.pid):
            assert time.monotonic() < end, f"processes are left: {left}"
            time.sleep(0.02)


def processes_of(session):
    """The processes of a session that run."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(file.parent.name))
    return found


def half_file(folder, process):
    """The file that a process has open in the folder and that has no name yet, or is not renamed; None where there is none."""
    for entry in pathlib.Path(f"/proc/{process.pid}/fd").glob("*"):
        try:
            target = os.readlink(entry)
        except OSError:
            continue
        if target.startswith(f"{folder}/") and (target.endswith(" (deleted)") or ".tmp." in target):
            return target
    return None


def wait_for_part(folder, process, draw):
    """Until a checkpoint is being written, of which some are let by."""
    skipped = draw.randrange(12)
    known = None
    while process.poll() is None:
        part = half_file(folder, process)
        if part is not None and part != known:
            if not skipped:
                time.sleep(draw.random() * 0.003)
                return
            known, skipped = part, skipped - 1
        time.sleep(0.0002)


def killed(folder, workers, names, seconds, draw, devices=""):
    """Kills a fit somewhere, without `seconds` in a checkpoint; says where."""
    started = Fit(folder, workers, names, devices)
    try:
        if seconds is None or draw.random() < 0.4:
            where = "in a checkpoint"
            wait_for_part(folder, started.process, draw)
        else:
            wait = draw.random() * seconds * 0.7  # what goes on has less to do
            where = f"after {wait:.2f} s"
            try:
                started.process.wait(wait)
            except subprocess.TimeoutExpired:
                pass
        is_late = started.process.poll() is not None
        is_half = not is_late and half_file(folder, started.process) is not None
    finally:
        started.kill()
    started.check_alone()
    assert not is_late or started.process.returncode == 0, started.errors()[-1500:]
    return f"{where}, " + ("when it had ended" if is_late else "in a half file" if is_half else "between files")


def broken_off(workers, names, whole, seconds, kills, draw):
    """So many kills in one fit, which then ends as the whole one did."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "run"
        told = [killed(folder, workers, names, seconds, draw) for _ in range(kills)]
        made = Fit(folder, workers, names).result()
        for key, value in whole.items():
            assert made[key] == value, f"{key} differ, killed {'; '.join(told)}: {str(made[key])[:300]}, not {str(value)[:300]}"
        assert not list(folder.glob("*.tmp.*")), "a half file stays"
    return "; ".join(told)


def elsewhere(names, whole, draw):
    """A fit that is killed and goes on on other devices, twice, and ends as the one that stayed where it was."""
    names = {**names, "GANTRY_DEVICES": ",".join(DEVICES), "GANTRY_SIMULATE": "1"}
    places = [DEVICES[:1], DEVICES[:2], DEVICES, DEVICES[2:], ["CPU:0"]]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "run"
        *before, last = [",".join(place) for place in draw.sample(places, 3)]
        told = [f"{place}: {killed(folder, 0, names, None, draw, place)}" for place in before]
        made = Fit(folder, 0, names, last).result()
        for key, value in whole.items():
            assert made[key] == value, f"{key} differ on {last}, killed on {'; '.join(told)}: {str(made[key])[:300]}, not {str(value)[:300]}"
    return "; ".join([*told, f"{last}: to the end"])


def harmed(names, whole, keep):
    """Checkpoints that are cut off, changed, or something else: told, and the one before is taken; without one nothing begins."""
    files = sorted(keep.glob("step-*.safetensors"))
    assert len(files) == 2, files
    data = files[1].read_bytes()
    changed_byte = bytearray(data)
    changed_byte[-100] ^= 1
    harms = {"cut": data[:-1], "short": data[:len(data) // 2], "head": data[:11], "empty": b"", "longer": data + b"0", "changed": changed_byte,
             "text": b"no checkpoint at all", "foreign": b"\x10\0\0\0\0\0\0\0" + b'{"a":{}}        '}
    for name, content in harms.items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch) / "run"
            shutil.copytree(keep, folder)
            (folder / files[1].name).write_bytes(content)
            going = Fit(folder, 0, names)
            assert going.result() == whole, f"{name}: ends otherwise"
            assert f"gantry: warning: {folder / files[1].name} " in going.errors(), f"{name}: is not told: {going.errors()}"
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "run"
        shutil.copytree(keep, folder)
        for file in files:
            (folder / file.name).write_bytes(data[:1000])
        try:
            Fit(folder, 0, names).result()
        except AssertionError as error:
            assert "has no whole checkpoint" in str(error), error
        else:
            raise AssertionError("a fit began that has torn checkpoints alone")
        assert sorted(file.stat().st_size for file in folder.glob("step-*")) == [1000, 1000], "a refused resume changed files"
    return ", ".join(harms)


def outcome(case, *arguments):
    try:
        return "passed", case(*arguments)
    except Exception as error:  # a fit may fail in any way; the others still run
        return "failed", f"{type(error).__name__}: {error}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    if not (arguments.build_dir / "lib/libgantry-compiler.so").exists():
        print("skipped: the build has no compiler")
        return 0
    cases = {}
    with tempfile.TemporaryDirectory() as shared:
        shared = pathlib.Path(shared)
        names = environment(arguments.build_dir.resolve(), shared / "cache")
        whole = {}
        for workers in (0, 2):
            started = time.monotonic()
            whole[workers] = Fit(shared / f"whole-{workers}", workers, names).result()
            seconds = time.monotonic() - started
        assert whole[0] == whole[2], "two workers give other bytes than none"
        assert whole[0]["steps"] == EPOCHS * -(-ROWS // BATCH), whole[0]["steps"]
        again = Fit(shared / "whole-0", 0, names).result()  # which has nothing left to do
        assert again == whole[0], "a fit that has ended ends otherwise when it goes on"
        jobs = {"files": (harmed, names, whole[0], shared / "whole-0")}
        left, draws = arguments.kills, random.Random(arguments.seed)
        in_parts = Fit(shared / "parts", 0, {**names, "GANTRY_DEVICES": "GPU:0,GPU:1", "GANTRY_SIMULATE": "1"}, "GPU:0,GPU:1").result()
        assert in_parts["steps"] == whole[0]["steps"] and in_parts["variables"] != whole[0]["variables"], "parts are no parts"
        for i in range(max(1, arguments.kills // 10)):
            jobs[f"other devices, {i}"] = elsewhere, names, in_parts, random.Random(draws.random())
            left -= min(left, 2)
        while left:
            count, workers = min(left, draws.choice((1, 1, 2, 3))), 2 * (len(jobs) % 2)
            left -= count
            jobs[f"{count} kills, {workers} workers, {len(jobs)}"] = (
                broken_off, workers, names, whole[workers], seconds, count, random.Random(draws.random()))
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as executor:
            futures = {name: executor.submit(outcome, *job) for name, job in jobs.items()}
            for name, future in futures.items():
                cases[name] = future.result()
                if arguments.verbose or cases[name][0] == "failed":
                    print(f"{name}: {cases[name][0]}: {cases[name][1]}", flush=True)
    failures = [name for name, (verdict, _) in cases.items() if verdict == "failed"]
    print(f"{arguments.kills} kills, seed {arguments.seed}: {len(cases) - len(failures)} passed, {len(failures)} failed")
    if arguments.json:
        arguments.json.write_text(json.dumps({"passed": len(cases) - len(failures), "failures": failures, "skips": {}}))
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        fit(pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        sys.exit(main())
