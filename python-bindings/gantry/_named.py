"""Names: of losses, metrics, optimizers and initial values, and new ones for what is made."""

import threading

from .errors import InvalidArgumentError

_lock = threading.Lock()
_counts = {}


def look_up(table, name, what):
    """table[name]; InvalidArgumentError, with the names that there are, where there is none."""
    if name not in table:
        raise InvalidArgumentError(f"there is no {what} {name!r}; there are {', '.join(table)}")
    return table[name]


def new_name(base):
    """dense, dense_1, ..."""
    with _lock:
        count = _counts[base] = _counts.get(base, -1) + 1
    return f"{base}_{count}" if count else base
