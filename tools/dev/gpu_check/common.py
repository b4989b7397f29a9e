"""Where things are, what machine this is, and how a stage writes its result.

A stage leaves one file OUT/STAGE.json: {stage, seen, seconds, rows, notes}. `seen` says what the
figures were seen on, a GPU with driver and date or the fake libcuda; the report repeats it on every
line of figures, so that no line can be taken for what it is not.
"""

import datetime
import json
import lzma
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
E2E = ROOT / "test/e2e"
sys.path[:0] = [str(E2E), str(pathlib.Path(__file__).parent)]

BUNDLE = pathlib.Path(os.environ.get("GPU_CHECK_BUNDLE", ROOT / "build/gpu-check"))
OUT = pathlib.Path(os.environ.get("OUT", BUNDLE / "out"))
REHEARSED = os.environ.get("GPU_CHECK_REHEARSE") == "1"
BUILT = ROOT / "build/gpu-check-build"  # where gpu_check.sh --build puts runtime and tests
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


class Stage:
    """Collects rows, prints each as it comes, and writes the file at the end, also after a failure."""

    def __init__(self, name):
        self.name, self.rows, self.notes, self.started = name, [], [], time.monotonic()

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
        OUT.mkdir(parents=True, exist_ok=True)
        result = {"stage": self.name, "seen": seen(), "seconds": round(self.seconds(), 1), "rows": self.rows,
                  "notes": self.notes}
        (OUT / f"{self.name}.json").write_text(json.dumps(result, indent=1) + "\n")
        return kind is not None and issubclass(kind, Exception)

    def failed(self):
        return any(row.get("verdict") == "failed" for row in self.rows)
