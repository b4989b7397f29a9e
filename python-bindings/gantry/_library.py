"""The shared libraries: where they are, and calls that become exceptions.

libgantry-runtime is opened at the first use of anything that needs it, libgantry-show when a plan is
to tell of itself, libgantry-compiler, which brings MLIR along, when the first graph is made or compiled. ctypes lets other Python threads run
during every call.
"""

import ctypes
import os
import pathlib
import threading

from . import _c
from .errors import BY_STATUS, UnavailableError

_lock = threading.Lock()
_opened = {}


def _candidates(name):
    """Files to try: where GANTRY_LIBRARY_PATH points, inside of the package, wherever the system looks."""
    for folder in filter(None, os.environ.get("GANTRY_LIBRARY_PATH", "").split(os.pathsep)):
        yield str(pathlib.Path(folder) / f"lib{name}.so")
    yield str(pathlib.Path(__file__).parent / "lib" / f"lib{name}.so")
    yield f"lib{name}.so.0.1"


def _open_file(path):
    """A wheel may bring what the compiler is linked with; loaded before, it is found by its name."""
    try:
        return ctypes.CDLL(path)
    except OSError:
        beside = [file for pattern in ("libLLVM*", "libMLIR*") for file in pathlib.Path(path).parent.glob(pattern)]
        if not beside or os.sep not in path:
            raise
        for file in beside:
            ctypes.CDLL(str(file), ctypes.RTLD_GLOBAL)
        return ctypes.CDLL(path)


def _load(name):
    tried = []
    for path in _candidates(name):
        if os.sep in path and not os.path.exists(path):
            tried.append(path)
            continue
        try:
            return _open_file(path)
        except OSError as error:
            tried.append(str(error))
    raise UnavailableError(f"lib{name}.so was not found; set GANTRY_LIBRARY_PATH to the folder that has it "
                           f"(tried: {'; '.join(tried)})")


def _open(name, functions):
    with _lock:
        if name not in _opened:
            library = _load(name)
            for function, result, arguments in functions:
                entry = getattr(library, function)
                entry.restype, entry.argtypes = result, arguments
            _opened[name] = library
        return _opened[name]


def runtime():
    """libgantry-runtime."""
    return _opened.get("gantry-runtime") or _open("gantry-runtime", _c.RUNTIME)


def show():
    """libgantry-show."""
    return _opened.get("gantry-show") or _open("gantry-show", _c.SHOW)


def compiler():
    """libgantry-compiler."""
    return _opened.get("gantry-compiler") or _open("gantry-compiler", _c.COMPILER)


def is_compiler_open():
    return "gantry-compiler" in _opened


def compiler_file():
    """The compiler library's file, without opening it; None when only the system knows."""
    return next((path for path in _candidates("gantry-compiler") if os.path.exists(path)), None)


def check(status):
    """Raises what a call into the runtime library ended with."""
    if status:
        raise BY_STATUS[status](runtime().gantry_last_error().decode("utf-8", "replace"))


def check_show(status):
    """The same for the library that tells of plans."""
    if status:
        raise BY_STATUS[status](show().gantry_show_last_error().decode("utf-8", "replace"))


def check_compiler(status, diagnostics=()):
    """The same for the compiler library."""
    if status:
        text = compiler().gantry_compiler_last_error().decode("utf-8", "replace")
        raise BY_STATUS[status](text, diagnostics)


def texts(strings):
    """A list of strings as C takes it, and its length."""
    return (ctypes.c_char_p * max(1, len(strings)))(*(text.encode() for text in strings)), len(strings)


def sized(struct, **fields):
    """A struct of the C API whose first field is its size."""
    return struct(struct_size=ctypes.sizeof(struct), **fields)
