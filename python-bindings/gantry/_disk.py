"""Plans of single ops on the disk, in the folder where the tool keeps its plans (docs/decisions/0022): a process that
uses an op that some process has used does not open the compiler for it.

An entry's name is a hash of all that decides it: the op, its types and devices, the topology, the compiler library,
what the CPU can do. Plans are machine code, so the folder must be the user's own and nobody else may write there.
"""

import functools
import hashlib
import json
import os
import pathlib
import stat

from . import _library


@functools.lru_cache(maxsize=None)
def folder():
    """Where plans are kept; None when they are not: GANTRY_CACHE_SIZE=0, or a folder that others can write to."""
    if os.environ.get("GANTRY_CACHE_SIZE") == "0":
        return None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = pathlib.Path(os.environ.get("GANTRY_CACHE_DIR") or os.path.join(base, "gantry"))
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = path.stat()
    except OSError:
        return None
    is_private = info.st_uid == os.getuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return path if is_private else None


@functools.lru_cache(maxsize=None)
def _machine():
    """The compiler library and the CPU, as far as they decide what is compiled; None when that is not known."""
    file = _library.compiler_file()
    if file is None:
        return None
    info = os.stat(file)
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpus:
            features = next((line for line in cpus if line.startswith(("flags", "Features"))), "")
    except OSError:
        return None
    return f"compiler {info.st_dev} {info.st_ino} {info.st_size} {info.st_mtime_ns}\ncpu {features.strip()}"


def request_for(what, topology):
    """What decides an entry, in words; None when nothing can be kept."""
    if folder() is None or _machine() is None:
        return None
    return f"python {what!r}\n{_machine()}\ntopology {topology.decode()}"


def _entry(request):
    return folder() / ("op" + hashlib.blake2b(request.encode(), digest_size=12).hexdigest())


def find(request):
    """The file of the plan that was kept."""
    path = _entry(request).with_suffix(".gantry")
    try:
        manifest = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        if manifest["request"] != request or not path.exists():
            return None
        os.utime(path.with_suffix(".json"))
        return path
    except (OSError, ValueError, KeyError):
        return None


def keep(request, data):
    """Keeps a plan; nothing is said when that fails, since the plan is there anyway."""
    path = _entry(request)
    said = {"request": request, "plan": "", "files": [], "shape_values": [], "lines": []}
    try:
        for ending, content in ((".gantry", data), (".json", json.dumps(said).encode())):
            part = path.with_suffix(f"{ending}.{os.getpid()}.part")
            part.write_bytes(content)
            os.replace(part, path.with_suffix(ending))
    except OSError:
        pass


def forget(path):
    """Removes an entry that turned out to be damaged."""
    for ending in (".json", ".gantry"):
        path.with_suffix(ending).unlink(missing_ok=True)
