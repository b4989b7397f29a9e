"""Plans on the disk, in the folder where the tool keeps its plans (docs/decisions/0022): a process that uses an op or
compiles a graph that some process has compiled does not open the compiler for it.

An entry's name is a hash of all that decides it and is known before: the op with its types and devices, or the graph's
content and the flags; the topology, the compiler library, what the CPU can do. What shows only while compiling, files
that were read besides, is compared. Plans are machine code, so the folder must be the user's own and nobody else may
write there.
"""

import functools
import hashlib
import json
import os
import pathlib
import re
import stat
import threading

from . import _library
from ._files import whole_file

_SIZE = re.compile(r"\s*(\d+)\s*(B|KiB|MiB|GiB|TiB)?\s*$")
_FEATURES = re.compile(rb"^(flags|Features)\b.*$", re.MULTILINE)
_DEFAULT_LIMIT = 4 << 30
_HEADER = 64  # bytes of a plan that have the checksum of all the rest
_kept = 0  # entries by this process
_lock = threading.Lock()


def limit():
    """Bytes that all plans may take (GANTRY_CACHE_SIZE); what is no size counts as nothing being said."""
    match = _SIZE.match(os.environ.get("GANTRY_CACHE_SIZE", ""))
    return int(match[1]) << 10 * ("B", "KiB", "MiB", "GiB", "TiB").index(match[2] or "B") if match else _DEFAULT_LIMIT


@functools.lru_cache(maxsize=None)
def folder():
    """Where plans are kept; None when they are not: GANTRY_CACHE_SIZE=0, or a folder that others can write to."""
    if limit() == 0:
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
        with open("/proc/cpuinfo", "rb", buffering=0) as cpus:  # the first read has the first CPU
            features = _FEATURES.search(cpus.read(1 << 16))
    except OSError:
        return None
    features = features[0].decode("latin-1") if features else ""
    return f"compiler {info.st_dev} {info.st_ino} {info.st_size} {info.st_mtime_ns}\ncpu {features}"


def request_for(what, topology):
    """What decides an entry, in words; None when nothing can be kept."""
    if folder() is None or _machine() is None:
        return None
    return f"python {what!r}\n{_machine()}\ntopology {topology.decode()}"


def digest(data):
    """What stands for bytes in a request."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def identity(path):
    """Changes whenever the file may have; empty when there is none."""
    try:
        info = os.stat(path)
    except OSError:
        return ""
    return f"{info.st_dev} {info.st_ino} {info.st_size} {info.st_mtime_ns} {info.st_ctime_ns}"


def _entry(request):
    return folder() / ("op" + digest(request.encode()))


def _head(path):
    with open(path, "rb") as file:
        return digest(file.read(_HEADER))


def find(request):
    """The file of the plan that was kept, and what was kept with it; (None, None) when there is none."""
    path = _entry(request).with_suffix(".gantry")
    try:
        manifest = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        if manifest["request"] != request or manifest["head"] != _head(path):
            return None, None
        if any(identity(file["path"]) != file["identity"] for file in manifest["files"]):
            return None, None
        os.utime(path.with_suffix(".json"))
        return path, manifest["said"]
    except (OSError, ValueError, KeyError, TypeError):
        return None, None


def keep(request, data, files=(), said=()):
    """Keeps a plan with the files that were read for it and what was said; nothing is told when that fails, since the
    plan is there anyway."""
    global _kept
    path = _entry(request)
    read = [{"path": file, "identity": identity(file)} for file in files]
    manifest = {"request": request, "plan": "", "head": digest(data[:_HEADER]), "files": read, "shape_values": [],
                "lines": [], "said": list(said)}
    if len(data) > limit():
        return
    try:
        for ending, content in ((".gantry", data), (".json", json.dumps(manifest).encode())):
            with whole_file(path.with_suffix(ending)) as file:
                file.write(content)
    except OSError:
        forget(path)
        return
    with _lock:
        _kept += 1
        number = _kept
    if number % 64 == 1 or len(data) > 1 << 20:  # not after each small one: there may be thousands
        shrink()


def shrink():
    """Removes what was not used for longest when all take more than the limit; entries of the tool count alike."""
    entries = []
    for file in folder().iterdir():
        try:
            if file.suffix == ".json":
                entries.append((file.stat().st_mtime_ns, file, file.with_suffix(".gantry").stat().st_size))
            elif file.suffix == ".cubin":
                entries.append((file.stat().st_mtime_ns, file, file.stat().st_size))
        except OSError:
            continue
    total = 0
    for _, file, size in sorted(entries, reverse=True):
        total += size
        if total > limit():
            forget(file)


def forget(path):
    """Removes an entry."""
    for ending in (".json", ".gantry", ".cubin"):
        path.with_suffix(ending).unlink(missing_ok=True)
