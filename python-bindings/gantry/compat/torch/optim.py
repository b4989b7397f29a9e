"""torch.optim: gantry.optim's rules with PyTorch's numbers and names."""

import math as _math

from gantry import optim as _own
from gantry.errors import InvalidArgumentError as _InvalidArgumentError

from .._names import Namespace as _Namespace, missing as _missing
from . import _tensor

__path__ = []  # so that a name that is missing is told on import, too


class Optimizer:
    """Makes steps by the gradients that parameters have."""

    def __init__(self, params, own):
        self._params, self.own = params, own

    def zero_grad(self, set_to_none=True):
        for each in self._params:
            each.grad = None

    def step(self):
        pairs = [(each, each.grad) for each in self._params if each.grad is not None]
        if pairs:
            with _tensor.no_grad():
                self.own.apply([each for each, _ in pairs], [gradient for _, gradient in pairs])

    @property
    def param_groups(self):
        factor = self.own._factor
        return [{"params": list(self._params), "lr": self.own.rate * (float(factor) if factor is not None else 1)}]


class SGD(Optimizer):
    def __init__(self, params, lr=0.001, momentum=0, dampening=0, weight_decay=0, nesterov=False):
        if dampening:
            raise _InvalidArgumentError("PyTorch leaves dampening out in the first step, which gantry.optim.SGD(dampening=) does not; it is "
                                        "not there by PyTorch's name")
        super().__init__(params, _own.SGD(lr, momentum, nesterov, l2=weight_decay))


class Adam(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False):
        super().__init__(params, _own.Adam(lr, *betas, eps, amsgrad=amsgrad, l2=weight_decay))


class AdamW(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False):
        super().__init__(params, _own.AdamW(lr, *betas, eps, decay=weight_decay, amsgrad=amsgrad))


class Adamax(Optimizer):
    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
        super().__init__(params, _own.Adamax(lr, *betas, epsilon_inside=eps, l2=weight_decay))


class RMSprop(Optimizer):
    def __init__(self, params, lr=0.01, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False):
        super().__init__(params, _own.RMSprop(lr, alpha, momentum, centered, eps, l2=weight_decay))


class Adagrad(Optimizer):
    def __init__(self, params, lr=0.01, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10):
        super().__init__(params, _own.Adagrad(lr, eps, initial=initial_accumulator_value, rate_decay=lr_decay, l2=weight_decay))


class Adadelta(Optimizer):
    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0):
        super().__init__(params, _own.Adadelta(lr, rho, eps, l2=weight_decay))


class _Scheduler:
    """Multiplies the rate by a function of how often `step` was called: a variable, so that nothing is compiled anew."""

    def __init__(self, optimizer, factor):
        self._optimizer, self._factor, self.last_epoch = optimizer, factor, -1
        self.step()

    def step(self):
        self.last_epoch += 1
        with _tensor.no_grad():
            self._optimizer.own.factor().assign(float(self._factor(self.last_epoch)))

    def get_last_lr(self):
        return [self._optimizer.param_groups[0]["lr"]]


def _cosine(optimizer, T_max, eta_min=0.0):
    least = eta_min / optimizer.own.rate
    return _Scheduler(optimizer, lambda epoch: least + (1 - least) * (1 + _math.cos(_math.pi * epoch / T_max)) / 2)


lr_scheduler = _Namespace(
    "torch.optim.lr_scheduler", LambdaLR=_Scheduler, CosineAnnealingLR=_cosine,
    StepLR=lambda optimizer, step_size, gamma=0.1: _Scheduler(optimizer, lambda epoch: gamma ** (epoch // step_size)),
    MultiStepLR=lambda optimizer, milestones, gamma=0.1: _Scheduler(
        optimizer, lambda epoch: gamma ** sum(epoch >= each for each in milestones)),
    ExponentialLR=lambda optimizer, gamma: _Scheduler(optimizer, lambda epoch: gamma ** epoch))


def __getattr__(name):
    return _missing(f"torch.optim.{name}")
