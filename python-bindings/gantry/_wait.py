"""Calls that Ctrl-C ends.

Python tells a signal to the main thread, and only when that runs Python. So a call that may take long is made on
a thread of its own while the main thread waits in Python; Ctrl-C sets the call's cancel token, and the call
returns soon after. Other threads call at once: no signal reaches them.

Python drops what is raised in a __del__. A Ctrl-C that comes while an array goes is kept, and the next call raises it.
"""

import ctypes
import sys
import threading

from . import _library


_kept = []  # one entry when a Ctrl-C was dropped in a __del__ of this package
_hook_before = sys.unraisablehook


def _keep(dropped):
    if dropped.exc_type is KeyboardInterrupt and (getattr(dropped.object, "__module__", None) or "").startswith(__package__ + "."):
        _kept[:] = [True]
    else:
        _hook_before(dropped)


sys.unraisablehook = _keep


def raise_kept():
    """Raises the Ctrl-C that a __del__ has met, in the main thread."""
    if _kept and threading.current_thread() is threading.main_thread():
        _kept.clear()
        raise KeyboardInterrupt


class Cancel:
    """A token of the C API, of one of its libraries."""

    def __init__(self, library):
        self._library, self.handle = library, ctypes.c_void_p()
        library.gantry_cancel_create(ctypes.byref(self.handle))

    def set(self):
        self._library.gantry_cancel_set(self.handle)

    def __del__(self):
        self._library.gantry_cancel_destroy(self.handle)


def interruptible(call, library=None):
    """call(token), where the token is None in other threads than the main one."""
    if threading.current_thread() is not threading.main_thread():
        return call(None)
    raise_kept()
    # Not Thread.join: interrupted, it may take a running thread for an ended one (CPython issue 89437).
    cancel, outcome, done = Cancel(library or _library.runtime()), [], threading.Event()

    def work():
        try:
            outcome.append((call(cancel.handle), None))
        except BaseException as error:  # told to whoever waits
            outcome.append((None, error))
        finally:
            done.set()

    worker = threading.Thread(target=work, name="gantry-call", daemon=True)
    worker.start()
    try:
        while not done.wait(0.1):
            pass  # a signal that another thread has taken does not end a wait
    except BaseException:
        cancel.set()
        done.wait()
        raise
    result, error = outcome[0]
    if error is not None:
        try:
            raise error
        finally:
            del error, outcome  # the traceback refers to this frame
    return result
