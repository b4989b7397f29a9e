"""tf.distribute: gantry.Mirrored by TensorFlow's name, which says so as TensorFlow does."""

import sys as _sys

import gantry as _gt

from .._names import missing as _missing

__path__ = []  # so that a name that is missing is told on import, too


class MirroredStrategy(_gt.Mirrored):
    """Each device has a mirror of every variable; without devices all GPUs, or the host where there are none."""

    def __init__(self, devices=None, cross_device_ops=None):
        super().__init__([getattr(each, "name", each) for each in devices] if devices else None)

    def _tell(self):
        print(f"INFO:tensorflow:Using MirroredStrategy with devices {tuple(map(str, self.devices))}", file=_sys.stderr)

    @property
    def num_replicas_in_sync(self):
        return len(self.devices)


def get_strategy():
    """The strategy whose scope is open, or none."""
    return _gt.distribute.current()


def __getattr__(name):
    return _missing(f"tf.distribute.{name}")
