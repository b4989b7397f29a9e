"""Files that are written whole or not at all."""

import contextlib
import os
import threading


@contextlib.contextmanager
def whole_file(path):
    """A binary file to write into, which gets the name `path` when the block ends well; else nothing is left of it. Others
    may write the same path at the same time: the last one counts. A link stays, a device or pipe is written itself."""
    path = os.fsdecode(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            yield file
        return
    target = os.path.realpath(path)
    part = f"{target}.{os.getpid()}.{threading.get_ident()}.part"
    try:
        file = open(part, "xb")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, path) from None
    try:
        with file:
            yield file
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
