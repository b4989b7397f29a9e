"""What goes wrong, by kind. Every error of Gantry is a RuntimeError; some are a builtin besides.

`diagnostics` has what the compiler said, as tuples (severity, file, line, column, op, text).
"""


class GantryError(RuntimeError):
    """Something that Gantry cannot do, in words."""

    def __init__(self, message, diagnostics=()):
        super().__init__(message)
        self.diagnostics = list(diagnostics)


class InvalidArgumentError(GantryError, ValueError):
    """An argument, a graph, a name or a file is not what it should be."""


class NotFoundError(GantryError, LookupError):
    """There is nothing of that name; the message lists what there is."""

    __str__ = Exception.__str__  # LookupError's subclasses may quote their message


class CorruptPlanError(GantryError):
    """A plan file, or one of tensors, is damaged."""


class UnsupportedError(GantryError, NotImplementedError):
    """Valid, but not to be had here."""


class OutOfMemoryError(GantryError, MemoryError):
    """Does not fit the memory of a device; nothing was lost."""


class UnavailableError(GantryError):
    """A driver, a device or a library is not there."""


class FailedPreconditionError(GantryError):
    """The call comes too late, too early, or in the wrong process."""


class InternalError(GantryError):
    """A defect of Gantry's own."""


class CancelledError(GantryError):
    """A run or a compilation that was told to stop."""


# By status of the C API.
BY_STATUS = {
    1: InvalidArgumentError,
    2: NotFoundError,
    3: CorruptPlanError,
    4: UnsupportedError,
    5: OutOfMemoryError,
    6: UnavailableError,
    7: FailedPreconditionError,
    8: InternalError,
    9: CancelledError,
}
