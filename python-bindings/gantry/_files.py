"""Files that are written whole or not at all, and read whole."""

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


def content_of(file):
    """All of an open file, wherever others read it: a call gives 2 GiB at most."""
    pieces, at = [], 0
    while piece := os.pread(file.fileno(), 1 << 30, at):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)
