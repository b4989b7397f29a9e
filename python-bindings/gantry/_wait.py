"""Calls that Ctrl-C ends.

Python tells a signal to the main thread, and only when that runs Python. So a call that may take long is made on
a thread of its own while the main thread waits in Python; Ctrl-C sets the call's cancel token, and the call
returns soon after. Other threads call at once: no signal reaches them.
"""

import ctypes
import threading

from . import _library


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
