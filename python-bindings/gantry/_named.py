"""What goes by a name: losses, metrics, optimizers, initial values."""

from .errors import InvalidArgumentError


def look_up(table, name, what):
    """table[name]; InvalidArgumentError, with the names that there are, where there is none."""
    if name not in table:
        raise InvalidArgumentError(f"there is no {what} {name!r}; there are {', '.join(table)}")
    return table[name]
