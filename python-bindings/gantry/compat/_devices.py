"""Where TensorFlow and JAX make arrays: on the first GPU, unless somebody asks for another place."""

import gantry as gt


def first():
    """The device for an array that is made without a word about its place; None where there is one, of a scope or of
    the configuration."""
    return None if gt._device.request() or gt._runtime.settings.default_device else gt.try_gpu()


def at_first(make):
    """The same function, on the first GPU."""
    def made(*args, device=None, **named):
        return make(*args, device=device or first(), **named)
    made.__name__, made.__doc__ = make.__name__, make.__doc__
    return made
