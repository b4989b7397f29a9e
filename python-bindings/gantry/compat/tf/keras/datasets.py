"""tf.keras.datasets: from files that you have; nothing is downloaded."""

from gantry.data import reuters as _reuters

from ..._names import Namespace as _Namespace, missing as _missing

__path__ = []  # so that a name that is missing is told on import, too

reuters = _Namespace("tf.keras.datasets.reuters", load_data=_reuters)


def __getattr__(name):
    return _missing(f"tf.keras.datasets.{name}")
