"""Optimizers, schedules of their rates, and clipping.

>>> adam = gt.optim.Adam(1e-3, clip_norm=1.0)
>>> loss, slopes = gt.value_and_grad(f, wrt=net)(x, y)
>>> adam.apply(net, slopes)

What a rule computes is `gantry.optimizer_step` of the graph; its formulas and their sources are one table, in
docs/Optimizers.md, which the build makes. What it keeps between steps are variables beside those that it changes.
"""

import math

from . import _c, _runtime, math as gm, ops
from ._apply import tapes
from ._guard import LossScale  # noqa: F401
from ._named import look_up, new_name
from .array import Kept, Reads, array
from .errors import InvalidArgumentError
from .function import Function
from .graph import suspended, tracing
from .variable import Variable


def _f64(x):
    return x if x.dtype == "float64" else ops.cast(x, "float64")


# ---- schedules: functions of how many steps were made, a float64 scalar of the graph ----

def constant(rate):
    """Always the same."""
    return lambda step: tracing().constant(float(rate), "float64")


def piecewise(boundaries, rates):
    """rates[i] up to and with step boundaries[i], the last one afterwards."""
    if len(rates) != len(boundaries) + 1:
        raise InvalidArgumentError(f"{len(boundaries)} boundaries have {len(boundaries) + 1} rates between them, got {len(rates)}")

    def rate(step):
        made = tracing().constant(float(rates[-1]), "float64")
        for boundary, value in zip(reversed(boundaries), reversed(rates[:-1])):
            made = gm.where(step <= float(boundary), float(value) + made * 0.0, made)
        return made
    return rate


def polynomial(start, steps, end=0.0, power=1.0):
    """From start to end over so many steps, by (1 - step / steps)^power."""
    return lambda step: ops.pow(1.0 - ops.minimum(step / float(steps), 1.0), power) * float(start - end) + float(end)


def exponential(start, steps, factor, staircase=False):
    """start factor^(step / steps); with staircase in whole powers."""
    def rate(step):
        exponent = step / float(steps)
        exponent = ops.floor(exponent) if staircase else exponent
        return ops.exp(exponent * math.log(factor)) * float(start)
    return rate


def cosine(start, steps, end=0.0):
    """Half a wave of the cosine from start to end: Loshchilov and Hutter, SGDR, 2017, without restarts."""
    return lambda step: (ops.cos(ops.minimum(step / float(steps), 1.0) * math.pi) + 1.0) * (0.5 * (start - end)) + float(end)


def warm_up(steps, schedule):
    """From 0 to the schedule's first rate over so many steps, then the schedule. A number is a constant one."""
    after = schedule if callable(schedule) else constant(schedule)

    def rate(step):
        zero = step * 0.0
        return gm.where(step < float(steps), after(zero) * (step / float(max(1, steps))), after(ops.maximum(step - float(steps), 0.0)))
    return rate


def one_cycle(peak, steps, start=0.04, end=4e-6, warm=0.3):
    """From start peak up to peak over the first share of steps, then down to end peak, by cosines: Smith and Topin,
    Super-convergence, 2019."""
    up = cosine(start * peak, warm * steps, peak)
    down = cosine(peak, (1 - warm) * steps, end * peak)
    return lambda step: gm.where(step < float(warm * steps), up(step), down(ops.maximum(step - float(warm * steps), 0.0)))


# ---- clipping ----

_BLOCK = 4096  # as the norms of gantry.optimizer_step have it


def global_norm(gradients):
    """The square root of the sum of all squares, a float32 scalar at least. Each gradient's is that of blocks of 4096 elements,
    which are added in order, so that it is the same wherever the blocks are."""
    squares = [_sum_of_squares(_wide(each)) for each in gradients]
    total = squares[0]
    for square in squares[1:]:
        total = total + (square if square.dtype == total.dtype else ops.cast(square, total.dtype))
    return ops.sqrt(total)


def _sum_of_squares(x):
    size = math.prod(x.shape)
    if size <= _BLOCK:
        return gm.sum(ops.mul(x, x))
    flat, whole = ops.reshape(x, (size,)), size // _BLOCK * _BLOCK
    blocks = ops.reshape(flat[:whole], (size // _BLOCK, _BLOCK))
    sums = [gm.sum(ops.mul(blocks, blocks), 1)]
    if whole < size:
        rest = flat[whole:]
        sums.append(ops.reshape(gm.sum(ops.mul(rest, rest)), (1,)))
    return gm.sum(ops.concat(sums, 0) if len(sums) > 1 else sums[0])


def _wide(x):
    return ops.cast(x, "float32") if x.dtype in ("float16", "bfloat16") else x


def _scaled(gradient, norm, limit):
    """The gradient times limit / max(norm, limit)."""
    factor = limit / ops.maximum(norm, float(limit))
    return gradient * (factor if factor.dtype == gradient.dtype else ops.cast(factor, gradient.dtype))


class Optimizer(Kept):
    """A rule, a rate and the number of steps that were made, `step`.

    rate              a number, or a schedule: a function of the number of steps
    decay             times the rate and the variable, taken off it in front of each step (decoupled weight decay)
    l2                times the variable, added to its gradient
    clip_value        gradients are cut off at -clip_value and clip_value
    clip_norm         gradients are scaled so that the norm of each is at most that
    clip_global_norm  gradients are scaled by one factor so that the norm of all is at most that
    name              of what it keeps: variables "dense/weight/adam/m"

    A variable's `rate_scale` is a factor of the rate, and its `decay`, where it has one, takes the place of this one. Elements of
    float16 and bfloat16 are updated in float32, in a copy that the optimizer keeps.
    """

    rule, defaults = None, {}

    def __init__(self, rate, *, decay=0.0, l2=0.0, clip_value=None, clip_norm=None, clip_global_norm=None, name=None, **numbers):
        if type(self) is Optimizer:
            raise TypeError("use one of its subclasses, as gantry.optim.Adam")
        self._numbers = {**self.defaults, **numbers, "decay": decay, "l2": l2}
        wrong = {key: value for key, value in self._numbers.items() if not isinstance(value, (int, float)) or not math.isfinite(value)}
        if wrong or not callable(rate) and not (isinstance(rate, (int, float)) and math.isfinite(rate)):
            key, value = next(iter(wrong.items()), ("rate", rate))
            raise InvalidArgumentError(f"{type(self).__name__}: {key} is a finite number, got {value!r}")
        self._clip_value, self._clip_norm, self._clip_global_norm = clip_value, clip_norm, clip_global_norm
        for key in ("clip_value", "clip_norm", "clip_global_norm"):
            limit = getattr(self, f"_{key}")
            if limit is not None and not limit > 0:
                raise InvalidArgumentError(f"{type(self).__name__}: {key} is above 0, got {limit!r}")
        self.rate, self.name, self._factor = rate, name or new_name(type(self).__name__.lower()), None
        with suspended():
            self.step = Variable(array(0, dtype="int64"), f"{self.name}/step", trainable=False)
        self._function = Function(self._apply)

    def apply(self, variables, gradients):
        """One step. `variables`: a Module, a Variable, or a list of these; gradients as value_and_grad gives them for that."""
        (self._apply if tracing() is not None else self._function)(variables, gradients)

    def factor(self):
        """A variable that rates are multiplied by from then on, 1 at first: float64[], where `step` is."""
        if self._factor is None:
            with suspended():
                self._factor = Variable(array(1.0, dtype="float64"), f"{self.name}/factor", trainable=False, device=self.step.device)
            _runtime.version += 1  # steps that were traced without it are traced anew
        return self._factor

    def _apply(self, variables, gradients):
        graph = tracing()
        pairs = list(_pairs(variables, gradients))
        if not pairs:
            raise InvalidArgumentError("an optimizer is given no variables")
        graph.locate()
        self.step.assign_add(graph.constant(1, "int64"))
        t = self.step.read()
        rate = self._rate(_f64(t) - 1.0)
        for (variable, _), gradient in zip(pairs, self._clipped([gradient for _, gradient in pairs])):
            attributes = (graph._declare(variable), ("rule", _c.ATTRIBUTE_STRING, self.rule),
                          ("numbers", _c.ATTRIBUTE_TEXT, self._numbers_of(variable)), ("slots", _c.ATTRIBUTE_STRING, self.name))
            own = rate if variable.rate_scale == 1 else rate * float(variable.rate_scale)
            graph.op("optimizer_step", [gradient, own, t], attributes)
            graph.assigned.add(variable.name)
            graph._bound.pop(variable, None)
            for tape in tapes():
                tape.forget(variable)

    def _numbers_of(self, variable):
        """The rule's numbers as an attribute, with the variable's own decay."""
        numbers = self._numbers if variable.decay is None else {**self._numbers, "decay": variable.decay}
        return "{" + ", ".join(f"{key} = {float(value):.17e} : f64" for key, value in sorted(numbers.items())) + "}"

    def _rate(self, step):
        """The rate after so many steps, a float64 scalar."""
        made = self.rate(step) if callable(self.rate) else tracing().constant(float(self.rate), "float64")
        made = gm.tensor(made)
        if made.shape:
            raise InvalidArgumentError(f"a schedule gives a scalar, got {made.dtype}{list(made.shape)}")
        return _f64(made) if self._factor is None else _f64(made) * self._factor.read()

    def _clipped(self, gradients):
        if self._clip_value is not None:
            gradients = [ops.clamp(each, -float(self._clip_value), float(self._clip_value)) for each in gradients]
        if self._clip_norm is not None:
            gradients = [_scaled(each, global_norm([each]), float(self._clip_norm)) for each in gradients]
        if self._clip_global_norm is not None:
            norm = global_norm(gradients)
            gradients = [_scaled(each, norm, float(self._clip_global_norm)) for each in gradients]
        return gradients


class MovingAverage(Kept):
    """Averages of variables, of a Module's that are trainable or of a list: each update makes them decay a + (1 - decay) w. They start
    as the variables are, and are variables "dense/weight/average" themselves.

    >>> average = gt.optim.MovingAverage(net, 0.999)
    >>> average.update()                     # behind each step, in its function or outside
    >>> average.swap(); net(x); average.swap()

    Polyak and Juditsky, Acceleration of stochastic approximation by averaging, 1992; TensorFlow's ExponentialMovingAverage.
    """

    def __init__(self, variables, decay=0.999):
        if not 0 <= decay < 1:
            raise InvalidArgumentError(f"the decay of a moving average is at least 0 and below 1, got {decay!r}")
        self.decay = decay
        self._of = variables.parameters() if hasattr(variables, "parameters") else list(variables)
        if not self._of:
            raise InvalidArgumentError("a moving average is given no variables; those of a network are made at its first use")
        with suspended():
            self._averages = [Variable(each.read(), f"{each.name}/average", trainable=False, device=each.device) for each in self._of]
        self._update, self._swap = Function(self._next), Function(self._exchange)

    def update(self):
        """Takes the variables, as they are now, into the averages."""
        (self._next if tracing() is not None else self._update)()

    def swap(self):
        """Gives the variables their averages, and the averages their values: a second time takes it back."""
        (self._exchange if tracing() is not None else self._swap)()

    def variables(self):
        """The averages, in the order of what they are of."""
        return list(self._averages)

    def _next(self):
        for average, variable in zip(self._averages, self._of):
            average.assign(average * self.decay + variable * (1 - self.decay))

    def _exchange(self):
        for average, variable in zip(self._averages, self._of):
            value = variable.read()
            variable.assign(average.read())
            average.assign(value)


def _pairs(variables, gradients):
    """Each variable with its gradient."""
    if isinstance(variables, Reads):
        gradient = gm.tensor(gradients)
        variables._check_free()
        variables._check(gradient.dtype, gradient.shape)
        yield variables, gradient
    elif isinstance(variables, Kept):
        named = [(name, each) for name, each in variables.named_parameters() if each.trainable]
        if not isinstance(gradients, dict) or set(gradients) != {name for name, _ in named}:
            raise InvalidArgumentError(f"gradients of {variables!r} are a dict by the names of its parameters, as value_and_grad(..., "
                                       "wrt=net) gives them")
        for name, each in named:
            yield from _pairs(each, gradients[name])
    else:
        variables = list(variables)
        if not isinstance(gradients, (list, tuple)) or len(gradients) != len(variables):
            raise InvalidArgumentError(f"{len(variables)} variables have as many gradients, in a list")
        for each, gradient in zip(variables, gradients):
            yield from _pairs(each, gradient)


class SGD(Optimizer):
    """w - rate g, with momentum: b = momentum b + (1 - dampening) g; w - rate b, or with nesterov w - rate (g + momentum b).
    Sutskever et al., 2013; the rate outside of the momentum, as PyTorch."""

    rule = "sgd"

    def __init__(self, rate=0.01, momentum=0.0, nesterov=False, dampening=0.0, **options):
        super().__init__(rate, momentum=momentum, nesterov=float(nesterov), dampening=dampening, **options)


class KerasSGD(Optimizer):
    """The same with the rate inside of the momentum, as Keras: b = momentum b - rate g; w + b."""

    rule = "sgd_inside"

    def __init__(self, rate=0.01, momentum=0.0, nesterov=False, **options):
        super().__init__(rate, momentum=momentum, nesterov=float(nesterov), **options)


class Adam(Optimizer):
    """Kingma and Ba, Adam, 2015. epsilon as PyTorch has it; Keras's is epsilon_hat=1e-7 with epsilon=0. amsgrad: Reddi et al.,
    2018."""

    rule = "adam"

    def __init__(self, rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, epsilon_hat=0.0, amsgrad=False, **options):
        super().__init__(rate, beta1=beta1, beta2=beta2, epsilon=epsilon, epsilon_hat=epsilon_hat, amsgrad=float(amsgrad), **options)


class AdamW(Adam):
    """Adam with decoupled weight decay: Loshchilov and Hutter, 2019."""

    def __init__(self, rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.01, **options):
        super().__init__(rate, beta1, beta2, epsilon, decay=decay, **options)


class Nadam(Optimizer):
    """Dozat, 2016, by Keras's formula."""

    rule = "nadam"

    def __init__(self, rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-7, momentum_decay=0.96, **options):
        super().__init__(rate, beta1=beta1, beta2=beta2, epsilon=epsilon, momentum_decay=momentum_decay, **options)


class Adamax(Optimizer):
    """Kingma and Ba, Adam, 2015, section 7.1. epsilon_inside as PyTorch has it, epsilon as Keras."""

    rule = "adamax"

    def __init__(self, rate=0.002, beta1=0.9, beta2=0.999, epsilon=0.0, epsilon_inside=1e-8, **options):
        super().__init__(rate, beta1=beta1, beta2=beta2, epsilon=epsilon, epsilon_inside=epsilon_inside, **options)


class RMSprop(Optimizer):
    """Tieleman and Hinton, 2012. epsilon outside of the root as PyTorch has it, epsilon_inside as Keras; the rate outside of
    the momentum."""

    rule = "rmsprop"

    def __init__(self, rate=0.01, rho=0.99, momentum=0.0, centered=False, epsilon=1e-8, epsilon_inside=0.0, **options):
        super().__init__(rate, rho=rho, momentum=momentum, centered=float(centered), epsilon=epsilon, epsilon_inside=epsilon_inside,
                         **options)


class Adagrad(Optimizer):
    """Duchi, Hazan and Singer, 2011. initial: what its sums are at first; epsilon_inside as Keras has it."""

    rule = "adagrad"

    def __init__(self, rate=0.01, epsilon=1e-10, epsilon_inside=0.0, initial=0.0, rate_decay=0.0, **options):
        super().__init__(rate, epsilon=epsilon, epsilon_inside=epsilon_inside, initial=initial, rate_decay=rate_decay, **options)


class Adadelta(Optimizer):
    """Zeiler, ADADELTA, 2012."""

    rule = "adadelta"

    def __init__(self, rate=1.0, rho=0.9, epsilon=1e-6, **options):
        super().__init__(rate, rho=rho, epsilon=epsilon, **options)


class Lion(Optimizer):
    """Chen et al., Symbolic discovery of optimization algorithms, 2023."""

    rule = "lion"

    def __init__(self, rate=1e-4, beta1=0.9, beta2=0.99, **options):
        super().__init__(rate, beta1=beta1, beta2=beta2, **options)


class Lamb(Optimizer):
    """You et al., Large batch optimization for deep learning, 2020. pull: times the variable, in what its norm scales (decay
    is taken off in front of that, as everywhere)."""

    rule = "lamb"

    def __init__(self, rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-6, pull=0.0, **options):
        super().__init__(rate, beta1=beta1, beta2=beta2, epsilon=epsilon, pull=pull, **options)


class Lars(Optimizer):
    """You, Gitman and Ginsburg, Large batch training of convolutional networks, 2017. pull: times the variable, added to its
    gradient behind the gradient's norm."""

    rule = "lars"

    def __init__(self, rate=0.1, momentum=0.9, trust=0.001, pull=0.0, **options):
        super().__init__(rate, momentum=momentum, trust=trust, pull=pull, **options)


class Ftrl(Optimizer):
    """McMahan et al., Ad click prediction, 2013: what lambda1 holds at 0 is 0 exactly."""

    rule = "ftrl"

    def __init__(self, rate=0.001, beta=0.0, lambda1=0.0, lambda2=0.0, initial=0.1, **options):
        super().__init__(rate, beta=beta, lambda1=lambda1, lambda2=lambda2, initial=initial, **options)


_NAMED = {each.__name__.lower(): each
          for each in (SGD, Adam, AdamW, Nadam, Adamax, RMSprop, Adagrad, Adadelta, Lion, Lamb, Lars, Ftrl)}


def named(given, **options):
    """A new optimizer of a name, with options that all of them have, or what was given if it is one."""
    return given if isinstance(given, Optimizer) else look_up(_NAMED, given, "optimizer")(**options)
