"""Where things are, what machine this is, and how a stage writes its result.

A stage leaves one file OUT/STAGE.json: {stage, seen, tree, seconds, rows, notes}. `seen` says what the
figures were seen on, a GPU with driver and date or the fake libcuda; the report repeats it on every
line of figures, so that no line can be taken for what it is not.

Stages that may need more than one call keep what they have measured in STATE, and a later call with the same plans on
the same machine goes on behind it.
"""

import datetime
import json
import lzma
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
E2E = ROOT / "test/e2e"
sys.path[:0] = [str(E2E), str(pathlib.Path(__file__).parent)]

BUNDLE = pathlib.Path(os.environ.get("GPU_CHECK_BUNDLE", ROOT / "build/gpu-check"))
OUT = pathlib.Path(os.environ.get("OUT", BUNDLE / "out"))
REHEARSED = os.environ.get("GPU_CHECK_REHEARSE") == "1"
BUILT = ROOT / "build/gpu-check-build"  # where gpu_check.sh --build puts runtime and tests
# Between calls, unlike OUT: figures of stages that go on, and what peers have compiled.
STATE = pathlib.Path(os.environ.get("GPU_CHECK_STATE") or
                     (BUNDLE / "state" if REHEARSED else pathlib.Path(tempfile.gettempdir()) / "gpu-check"))
JOBS = min(8, os.cpu_count() or 1)


def runtime_folder():
    """What was built on this machine, else what the bundle carries."""
    return BUILT if (BUILT / "lib/libgantry-runtime.so").exists() else BUNDLE


def environment():
    """For the programs of runtime_folder(): the libraries beside them, no compiler, no cache."""
    libraries = f"{runtime_folder() / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    return {**os.environ, "LD_LIBRARY_PATH": libraries, "GANTRY_COMPILER": "/nonexistent", "GANTRY_CACHE_SIZE": "0"}


def manifest():
    file = BUNDLE / "manifest.json"
    if not file.exists():
        sys.exit(f"gpu_check: {BUNDLE} has no manifest.json; make it with tools/dev/gpu_check.sh --bundle")
    return json.loads(file.read_text())


def unpacked(name, scratch):
    """A plan of the bundle as a file in `scratch`, once."""
    file = pathlib.Path(scratch) / name.replace("/", "_").removesuffix(".xz")
    if not file.exists():
        with lzma.open(BUNDLE / name) as packed, open(file, "wb") as plain:
            while part := packed.read(1 << 22):
                plain.write(part)
    return file


def seen():
    """What runs the kernels here. A rehearsal says so whatever else there is."""
    date = datetime.date.today().isoformat()
    if REHEARSED:
        return {"real": False, "what": "fake: rehearsal", "date": date}
    import cuda
    name, driver = cuda.identity()
    return {"real": True, "what": f"{name}, driver {driver}, {date}", "date": date}


class Kept:
    """Figures by key, each written when it comes, so that a call that is cut off loses none. What is there of another
    machine or of other plans is left behind."""

    def __init__(self, name):
        content, what = manifest(), seen()["what"].rsplit(",", 1)[0]  # without the date
        self.file, self.of, self.values = STATE / f"{name}.json", [what, content["commit"], content["small"]], {}
        try:
            known = json.loads(self.file.read_text())
            self.values = known["values"] if known["of"] == self.of else {}
        except (OSError, ValueError, KeyError):
            pass  # nothing was kept

    def get(self, key):
        return self.values.get(key)

    def put(self, key, value):
        self.values[key] = value
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps({"of": self.of, "values": self.values}))
        return value


class Budget:
    """What a call of a stage may take: time, and where GPU_CHECK_STEPS says so a number of measurements, by which a
    rehearsal shows a second call go on."""

    def __init__(self, seconds):
        self.end = time.monotonic() + float(os.environ.get("GPU_CHECK_SECONDS", seconds))
        self.steps = int(os.environ.get("GPU_CHECK_STEPS", 1 << 30))

    def left(self):
        return self.end - time.monotonic() if self.steps > 0 else 0

    def spend(self):
        self.steps -= 1


class Stage:
    """Collects rows, prints each as it comes, and writes the file at the end, also after a failure."""

    def __init__(self, name):
        self.name, self.rows, self.notes, self.started = name, [], [], time.monotonic()
        self.result = lambda: ([], [])  # (rows, notes) that stand before those of this call

    def row(self, **figures):
        self.rows.append(figures)
        print("  " + ", ".join(f"{key} {value}" for key, value in figures.items())[:300], flush=True)

    def note(self, text):
        self.notes.append(text)
        print(f"  note: {text}", flush=True)

    def seconds(self):
        return time.monotonic() - self.started

    def __enter__(self):
        print(f"gpu_check: {self.name}", flush=True)
        return self

    def __exit__(self, kind, error, _):
        if error is not None and not isinstance(error, KeyboardInterrupt):
            self.row(what=self.name, verdict="failed", detail=f"{kind.__name__}: {error}"[:600])
        self.write()
        return kind is not None and issubclass(kind, Exception)

    def write(self):
        OUT.mkdir(parents=True, exist_ok=True)
        rows, notes = self.result()
        result = {"stage": self.name, "seen": seen(), "tree": manifest()["commit"], "seconds": round(self.seconds(), 1), "rows": rows + self.rows,
                  "notes": notes + self.notes}
        (OUT / f"{self.name}.json").write_text(json.dumps(result, indent=1) + "\n")

    def failed(self):
        return any(row.get("verdict") == "failed" for row in self.result()[0] + self.rows)
