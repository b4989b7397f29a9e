"""Names of other libraries over Gantry's own: a script's import line changes, the rest stays."""

from ._names import missing


def __getattr__(name):
    return missing(name)
