"""torch.utils."""

from ..._names import missing as _missing
from . import data  # noqa: F401


def __getattr__(name):
    return _missing(f"torch.utils.{name}")
