"""tf.keras.optimizers: gantry.optim's rules with Keras's numbers: epsilon behind the correction or inside of the root, the rate inside of
a momentum (of SGD; RMSprop has it outside, which is the same while the rate does not change)."""

import gantry as _gt
from gantry import optim as _optim

from ..._names import Namespace as _Namespace, missing as _missing

__path__ = []  # so that a name that is missing is told on import, too


def _options(named):
    """What all optimizers take, by Gantry's names."""
    known = {"clipvalue": "clip_value", "clipnorm": "clip_norm", "global_clipnorm": "clip_global_norm", "weight_decay": "decay"}
    wrong = [key for key in named if key not in (*known, "name")]
    if wrong:
        raise _gt.InvalidArgumentError(f"an optimizer has no argument '{wrong[0]}' here; it has {', '.join(known)}")
    return {known.get(key, key): value for key, value in named.items() if value is not None and key != "name"}


class Optimizer:
    """What Keras's optimizers have besides."""

    def apply_gradients(self, grads_and_vars):
        """A step, of pairs of gradient and variable."""
        pairs = [(gradient, variable) for gradient, variable in grads_and_vars if gradient is not None]
        self.apply([variable for _, variable in pairs], [gradient for gradient, _ in pairs])

    @property
    def iterations(self):
        return self.step

    @property
    def learning_rate(self):
        """The number, or the schedule."""
        return self.rate

    @learning_rate.setter
    def learning_rate(self, rate):
        self.rate = rate
        _gt._runtime.version += 1  # steps are traced anew

    lr = learning_rate


class SGD(Optimizer, _optim.KerasSGD):
    def __init__(self, learning_rate=0.01, momentum=0.0, nesterov=False, **named):
        super().__init__(learning_rate, momentum, nesterov, **_options(named))


class Adam(Optimizer, _optim.Adam):
    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False, **named):
        super().__init__(learning_rate, beta_1, beta_2, 0.0, epsilon, amsgrad, **_options(named))


class AdamW(Adam):
    def __init__(self, learning_rate=0.001, weight_decay=0.004, **named):
        super().__init__(learning_rate, weight_decay=weight_decay, **named)


class Nadam(Optimizer, _optim.Nadam):
    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, **named):
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **_options(named))


class Adamax(Optimizer, _optim.Adamax):
    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, **named):
        super().__init__(learning_rate, beta_1, beta_2, epsilon, 0.0, **_options(named))


class RMSprop(Optimizer, _optim.RMSprop):
    def __init__(self, learning_rate=0.001, rho=0.9, momentum=0.0, epsilon=1e-7, centered=False, **named):
        super().__init__(learning_rate, rho, momentum, centered, 0.0, epsilon, **_options(named))


class Adagrad(Optimizer, _optim.Adagrad):
    def __init__(self, learning_rate=0.001, initial_accumulator_value=0.1, epsilon=1e-7, **named):
        super().__init__(learning_rate, 0.0, epsilon, initial_accumulator_value, **_options(named))


class Adadelta(Optimizer, _optim.Adadelta):
    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-7, **named):
        super().__init__(learning_rate, rho, epsilon, **_options(named))


def _cosine(initial_learning_rate, decay_steps, alpha=0.0):
    return _optim.cosine(initial_learning_rate, decay_steps, initial_learning_rate * alpha)


schedules = _Namespace(
    "tf.keras.optimizers.schedules",
    ExponentialDecay=lambda initial_learning_rate, decay_steps, decay_rate, staircase=False: _optim.exponential(
        initial_learning_rate, decay_steps, decay_rate, staircase),
    PiecewiseConstantDecay=lambda boundaries, values: _optim.piecewise(boundaries, values),
    PolynomialDecay=lambda initial_learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0: _optim.polynomial(
        initial_learning_rate, decay_steps, end_learning_rate, power),
    CosineDecay=_cosine)
_NAMES = {each.__name__.lower(): each for each in (SGD, Adam, AdamW, Nadam, Adamax, RMSprop, Adagrad, Adadelta)}


def get(given):
    """A new optimizer of a name, or what was given."""
    return _NAMES[given.lower()]() if isinstance(given, str) and given.lower() in _NAMES else _optim.named(given)


def __getattr__(name):
    return _missing(f"tf.keras.optimizers.{name}")
