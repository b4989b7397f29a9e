"""What layers and networks have in common."""

import contextlib
import functools
import os
import re
import threading

import numpy as np

from .. import _runtime
from .._apply import tapes
from .._named import new_name
from .._tensors import File, match, write
from .._turns import kept
from ..array import Kept, _target as target
from ..device import devices, device as as_device, resolve, scopes
from ..errors import FailedPreconditionError, InvalidArgumentError
from ..function import Function
from ..graph import suspended, tracing
from ..variable import Variable, give, values_of
from . import init

_mode = kept(threading.local())


def is_training():
    """Whether layers do what they do while a network learns: dropout, statistics of the batch."""
    return getattr(_mode, "training", False)


@contextlib.contextmanager
def training(on=True):
    """Inside, networks learn: `with nn.training(): loss = ...`."""
    before, _mode.training = is_training(), bool(on)
    try:
        yield
    finally:
        _mode.training = before


@contextlib.contextmanager
def _placed(wanted):
    before = getattr(_mode, "scopes", ())
    with wanted:
        _mode.scopes = scopes()  # what is entered inside of it is somebody else's
        try:
            yield
        finally:
            _mode.scopes = before


def _first():
    """Where ops go by default."""
    known = devices()
    return next((each for each in known if each.type == "GPU"), known[0])


def _new_name(kind):
    """dense, dense_1, ..."""
    return new_name(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower())


class Node:
    """What a layer will give of others: see Model. `layer` is None where a Model begins. Of a layer that gives several values it is all of
    them, `y, h, c = node`."""

    def __init__(self, layer, inputs, named, name):
        self.layer, self.inputs, self.named, self.name = layer, inputs, named, name

    def needs(self):
        return list(_nodes((*self.inputs, *self.named.values())))

    def __getitem__(self, i):
        return Node(Pick(i), (self,), {}, f"value {i} of {self.name}")

    def __iter__(self):
        count = getattr(self.layer, "results", 1)
        if count == 1:
            raise InvalidArgumentError(f"{self!r} is one value; a recurrent layer gives its state, too, with state=True (return_state=True)")
        return iter([self[i] for i in range(count)])

    def __repr__(self):
        return f"Input({self.name!r})" if self.layer is None else f"what {self.name} gives"


def _nodes(values):
    """The Nodes among them, also those that are in lists and tuples, as a state is."""
    for each in values:
        if isinstance(each, Node):
            yield each
        elif isinstance(each, (list, tuple)):
            yield from (part for part in each if isinstance(part, Node))


class Module(Kept):
    """A part of a network: a function with variables. Subclasses give `forward`; what they keep as attributes, in lists
    and in dicts, is theirs.

    `build(shape)`, where a class has one, makes the variables when the shape of the first input is known.
    """

    holder = Variable  # what its variables are made of: compat has those of other libraries

    def __init__(self, name=None):
        self.name = name or _new_name(type(self).__name__)

    def forward(self, *inputs):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def build(self, shape):
        """Makes the variables for inputs of that shape."""

    def __call__(self, *inputs, **named):
        """What it gives of inputs. Outside of functions it runs as one plan for each shape; of what other layers will give it is
        a part of a Model."""
        if any(True for _ in _nodes((*inputs, *named.values()))):
            return Node(self, inputs, named, self._own_name())
        if tracing() is None and not tapes():
            return self._function()(*inputs, **named)
        if not vars(self).get("_built"):
            self._build(getattr(inputs[0], "shape", None) if inputs else None)
        with self._root(), self.place():
            made = self.forward(*inputs, **named)
        self._gives = getattr(made, "shape", None)
        return made

    @contextlib.contextmanager
    def _root(self):
        """Inside, the paths of layers are those in the outermost network that is called."""
        before = getattr(_mode, "root", None)
        if before is None:
            _mode.root = self
        try:
            yield
        finally:
            _mode.root = before

    def place(self):
        """The scope of the device that `to` said, for what is computed of it: nothing where ops go there by default, and where
        somebody else has asked for a device."""
        wanted, own = vars(self).get("_device"), getattr(_mode, "scopes", ())
        if wanted is None or scopes() != own or _runtime.settings.placement != "default":
            return contextlib.nullcontext()
        if not own and resolve(as_device(wanted)).name == _first().name:
            return contextlib.nullcontext()
        return _placed(as_device(wanted))

    def path(self):
        """Where it is in the outermost network that is being called, as `layers.3.drop`; its name, where that does not have it."""
        root = getattr(_mode, "root", None) or self
        return next((path for path, module in root._named_modules() if module is self), None) or self._own_name()

    def _build(self, shape):
        if shape is not None:
            self.build(tuple(shape))
        self._built = True

    def _function(self):
        """The Function that it is outside of others, for what layers do now."""
        known = vars(self).setdefault("_functions", {})
        mode = is_training()
        if mode not in known:
            def call(*inputs, **named):
                with training(mode):
                    return self(*inputs, **named)
            call.__name__ = self._own_name()
            known[mode] = Function(call)
        return known[mode]

    def lower(self, *inputs):
        """The graph for these inputs: `.text`, `.save(path)`, `.plan()`."""
        return self._function().lower(*inputs)

    def _own_name(self):
        return vars(self).get("name") or type(self).__name__

    # ---- variables ----

    def variable(self, name, shape, initial="zeros", fan_in=1, fan_out=1, dtype="float32", trainable=True):
        """A variable of this module, for `build`, named `dense_1/weight`: where `to` said, or a scope or the configuration, else
        where ops go by default, on the first GPU that there is."""
        if not all(isinstance(size, (int, np.integer)) for size in shape):
            raise InvalidArgumentError(f"{self._own_name()} has '{name}' of shape {list(shape)}, whose sizes are no whole numbers")
        with suspended():
            value = init.named(initial)(tuple(shape), fan_in, fan_out, dtype)
            made = self.holder(value, f"{self._own_name()}/{name}", trainable, device=self._where())
        made._frozen = vars(self).get("_frozen", False)
        return made

    def _where(self):
        wanted = vars(self).get("_device")
        if wanted is None:
            return target(None) if scopes() or _runtime.settings.default_device else _first()
        return wanted

    def _parts(self):
        """Attributes that are variables, modules, or lists and dicts of them."""
        for name, value in vars(self).items():
            if name.startswith("_"):
                continue
            for own, each in _spread(name, value):
                yield own, each

    def modules(self):
        """It and all that it is made of, each once."""
        return [module for _, module in self._named_modules()]

    def _named_modules(self):
        """Pairs of path and Module, each once: `layers.3.drop`."""
        found = []

        def visit(module, path):
            if any(each is module for _, each in found):
                return
            found.append((path, module))
            for name, part in module._parts():
                if isinstance(part, Module):
                    visit(part, f"{path}.{name}" if path else name)
        visit(self, "")
        return found

    @property
    def is_open(self):
        """Whether parts of it have no variables yet."""
        return any(not vars(module).get("_built") for module in self.modules())

    def named_parameters(self):
        """Pairs of name and Variable, each once: `layers.0.weight`."""
        seen, found = set(), []

        def visit(module, prefix):
            for name, part in module._parts():
                if id(part) in seen:
                    continue
                seen.add(id(part))
                if isinstance(part, Variable):
                    found.append((prefix + name, part))
                elif isinstance(part, Module):
                    visit(part, f"{prefix}{name}.")
        visit(self, "")
        return found

    def variables(self):
        """All its variables, moving averages among them."""
        return [variable for _, variable in self.named_parameters()]

    def parameters(self):
        """Its variables that are trainable."""
        return [variable for variable in self.variables() if variable.trainable]

    # ---- files ----

    def save(self, path, metadata=None):
        """Writes its variables, all of one moment, into a .safetensors file under the names of `named_parameters`, with texts by
        name besides. It is on the disk then, or what was there before is, and other libraries read it."""
        self._check_built("saved")
        write(path, values_of(self.named_parameters()), metadata)

    def load(self, path, map=None, strict=True):
        """Gives its variables the values of a .safetensors file by name, all of them or none; gives (missing, unknown), names of
        variables that the file lacks and of tensors that are no variable's.

        map     for files of others: a dict of the file's names, or a function of them; what it gives is a name of
                `named_parameters`, or (name, axes) for a tensor whose axes are in another order, as (1, 0) for what
                PyTorch has of a Dense, or None to pass it over
        strict  True: NotFoundError for missing and for unknown ones

        InvalidArgumentError for another type or shape, and for what is frozen."""
        self._check_built("loaded")
        named = self.named_parameters()
        with File(path) as file:
            found, names = match(file.tensors, {name: (each.dtype, each.shape) for name, each in named}, f"'{os.fsdecode(path)}'",
                                 map, strict)
            give(named, found)
        return names

    def _check_built(self, what):
        for module in self.modules():
            if type(module).build is not Module.build and not vars(module).get("_built"):
                raise FailedPreconditionError(f"{module._own_name()} has variables only when it has seen an input, and is {what} "
                                              "before that; call the network once")

    # ---- devices ----

    def to(self, device):
        """Moves its variables, and those that it will make, to a device, and has what it computes computed there, unless a scope
        says otherwise; gives the module itself. Functions that use them are traced anew."""
        for module in self.modules():
            module._device = device
        for variable in self.variables():
            variable._move(device)
        return self

    def freeze(self):
        """Makes its variables, and those that it will make, constants of functions: they are not trained, products have them
        packed, and a batch norm uses its moving averages. Gives the module itself. Functions that use them are traced anew."""
        return self._freeze(True)

    def unfreeze(self):
        """Takes back what `freeze` did."""
        return self._freeze(False)

    def _freeze(self, on):
        for module in self.modules():
            module._frozen = on
        for variable in self.variables():
            variable.frozen = on
        return self

    def summary(self):
        """Prints a line for each layer: what it gives, how many parameters, their bytes and devices."""
        print(self._summary())

    def _summary(self):
        rows = [("layer", "gives", "parameters", "bytes", "device")]
        layers = [module for module in self.modules() if not any(isinstance(part, Module) for _, part in module._parts())]
        for layer in layers:
            own = layer.variables()
            gives = vars(layer).get("_gives")
            built = vars(layer).get("_built")
            rows.append((f"{layer._own_name()} ({type(layer).__name__})", str(list(gives)) if gives is not None else "?",
                         f"{sum(each.size for each in own):,}" if built else "?",
                         f"{sum(each.nbytes for each in own):,}" if built else "?",
                         ", ".join(dict.fromkeys(repr(each.device) for each in own)) or "-"))
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = ["  ".join(text.rjust(width) if 2 <= i <= 3 else text.ljust(width)
                           for i, (text, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
        lines.insert(1, "-" * max(map(len, lines)))
        own = self.variables()
        fixed = sum(each.size for each in own if not each.trainable)
        lines.append(f"{self._own_name()}: {sum(each.size for each in own):,} parameters, {fixed:,} of them not trainable, "
                     f"{sum(each.nbytes for each in own):,} bytes")
        return "\n".join(lines)

    def __repr__(self):
        return f"{type(self).__name__}({self._own_name()!r})"


class Pick(Module):
    """One of the values that a layer gives."""

    def __init__(self, i):
        super().__init__(f"value_{i}")
        self._i = i

    def forward(self, *inputs):
        return inputs[0][self._i]


def _spread(name, value):
    if isinstance(value, (Variable, Module)):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for i, each in enumerate(value):
            yield from _spread(f"{name}.{i}", each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _spread(f"{name}.{key}", each)


class Sequential(Module):
    """Layers one after the other: `Sequential(a, b)` or `Sequential([a, b])`. `net[i]` is a layer, `add` appends one."""

    def __init__(self, *layers, name=None):
        super().__init__(name)
        self.layers = []
        for layer in layers[0] if len(layers) == 1 and isinstance(layers[0], (list, tuple)) else layers:
            self.add(layer)

    def add(self, layer):
        """Appends a layer: a Module, or a function of one array."""
        if not callable(layer):
            raise InvalidArgumentError(f"a layer is a Module or a function, got {layer!r}")
        self.layers.append(layer)
        vars(self).pop("_functions", None)
        return self

    def forward(self, x):
        return functools.reduce(lambda value, layer: layer(value), self.layers, x)

    def __getitem__(self, index):
        return self.layers[index]

    def __len__(self):
        return len(self.layers)

    def __iter__(self):
        return iter(self.layers)


