"""TensorFlow 1's names: `from gantry.compat.tf import v1 as tf`. What is made from the first variable, placeholder or iterator on is of a
graph, which Session.run runs: a set of fetches is one plan. A graph is of one shape: sizes of batches are known when it is made.

What is of no graph, as tf.matmul, is gantry.compat.tf's.
"""

import contextlib

import numpy as np

import gantry as gt
from gantry import optim
from gantry.data._trees import leaves_of, map_tree
from gantry.nn import init

from .._names import Namespace, missing
from ._graph import Graph, Operation, default, reset as reset_default_graph  # noqa: F401
from . import _graph, _training, keras

# What plain `tf` has of these, too.
NAMES = frozenset("""
    AUTO_REUSE Graph GraphKeys add_to_collection assign assign_add constant_initializer control_dependencies get_collection
    get_default_graph get_variable get_variable_scope global_variables global_variables_initializer gradients group layers
    placeholder random_normal_initializer reset_default_graph trainable_variables train truncated_normal_initializer variable_scope
    zeros_initializer ones_initializer no_op""".split())
__path__ = []  # so that a name that is missing is told on import, too
AUTO_REUSE = "auto"


def __getattr__(name):
    """The rest is TensorFlow 2's."""
    from gantry.compat import tf
    return getattr(tf, name) if name in vars(tf) else missing(f"tf.{name}")


def get_default_graph():
    return default()


class GraphKeys:
    UPDATE_OPS, TRAINABLE_VARIABLES, GLOBAL_VARIABLES = "update_ops", "trainable_variables", "variables"
    LOSSES, REGULARIZATION_LOSSES = "losses", "regularization_losses"


class _OutOfRangeError(gt.GantryError):
    """An iterator has no more elements."""


errors = Namespace("tf.errors", OutOfRangeError=_OutOfRangeError, InvalidArgumentError=gt.InvalidArgumentError)


# ---- sessions ----

class GPUOptions:
    """What TensorFlow 1 says of GPUs' memory: of a ConfigProto, for all of them alike."""

    def __init__(self, per_process_gpu_memory_fraction=None, allow_growth=False, visible_device_list=None):
        self.per_process_gpu_memory_fraction = per_process_gpu_memory_fraction
        self.allow_growth = allow_growth
        self.visible_device_list = visible_device_list


class ConfigProto:
    """Carries gpu_options, allow_soft_placement and log_device_placement to a Session."""

    def __init__(self, gpu_options=None, allow_soft_placement=None, log_device_placement=None):
        self.gpu_options = gpu_options or GPUOptions()
        self.allow_soft_placement = allow_soft_placement
        self.log_device_placement = log_device_placement


class Session:
    """Configures Gantry as its ConfigProto says, and runs what is of a graph; arrays are what they are."""

    def __init__(self, target="", graph=None, config=None):
        gpus = config.gpu_options if config else GPUOptions()
        fraction = gpus.per_process_gpu_memory_fraction
        words = ([f"fraction:{fraction}"] if fraction else []) + (["growth"] if gpus.allow_growth else [])
        changes = {"memory": {"GPU:*": ",".join(words)}} if words else {}
        if gpus.visible_device_list:
            changes["visible"] = [int(number) for number in gpus.visible_device_list.split(",")]
        if config and config.allow_soft_placement is not None:
            changes["soft"] = config.allow_soft_placement
        if config and config.log_device_placement is not None:
            changes["log_placement"] = config.log_device_placement
        self.graph = graph
        if changes:
            gt.config(**changes)

    def run(self, fetches, feed_dict=None):
        """Values of fetches, in their structure, as NumPy arrays; None for operations."""
        graph = self.graph or _graph.opened()
        tree = tuple(fetches) if isinstance(fetches, (list, tuple)) else fetches
        if graph is None:
            made = map_tree(lambda each: each.numpy() if hasattr(each, "numpy") else each, tree)
        else:
            feeds = {id(key): value for key, value in (feed_dict or {}).items()}
            with graph.aside():
                found = iter(graph.run(leaves_of(tree), feeds))
            made = map_tree(lambda _: next(found), tree)
        return list(made) if isinstance(fetches, list) else made

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class _Iterator:
    """Elements of a Dataset, one for each run that reaches what `get_next` gave."""

    def __init__(self, dataset):
        self._dataset, self._rows, self._first = dataset, None, None

    def get_next(self):
        """The next element, as values of the graph."""
        graph = default()
        with graph.aside():
            self._rows = iter(self._dataset)
            self._first = next(self._rows, None)
        if self._first is None:
            raise _OutOfRangeError("the iterator has no element")

        count = iter(range(len(leaves_of(self._first))))

        def leaf(values):
            values = np.asarray(values)
            return graph.input(gt.dtypes.as_dtype(values.dtype), values.shape, (self, next(count)))
        return map_tree(leaf, self._first)

    def next(self):
        element, self._first = (self._first, None) if self._first is not None else (next(self._rows, None), None)
        if element is None:
            raise _OutOfRangeError("the iterator has no more elements")
        return leaves_of(element)


def placeholder(dtype, shape=None, name=None):
    """A value that each run is given by feed_dict."""
    if shape is None or None in tuple(shape):
        raise gt.InvalidArgumentError(f"a placeholder's shape is known when the graph is made, got {shape}; give all of its sizes")
    return default().input(gt.dtypes.as_dtype(dtype), tuple(shape), name or "placeholder")


# ---- scopes and variables ----

_names = []  # of name scopes that are entered where there is no graph


@contextlib.contextmanager
def name_scope(name, default_name=None, values=None):
    """Names what is made inside; gives the scope's whole name, with a slash behind."""
    graph = _graph.opened()
    before = graph.name_scope if graph else "".join(_names)
    whole = f"{before}{name or default_name}/" if not str(name).endswith("/") else name
    if graph is None:
        _names.append(whole[len(before):])
    else:
        graph.name_scope = whole
    try:
        yield whole
    finally:
        if graph is None:
            _names.pop()
        else:
            graph.name_scope = before


class _Scope:
    """A variable scope: its name, and whether variables in it are those that are there."""

    def __init__(self, graph, name):
        self._graph, self.name = graph, name

    def reuse_variables(self):
        self._graph.reuse = True

    @property
    def reuse(self):
        return self._graph.reuse


def get_variable_scope():
    graph = default()
    return _Scope(graph, graph.variable_scope)


@contextlib.contextmanager
def variable_scope(name_or_scope, default_name=None, reuse=None):
    """Variables inside are named `scope/name`; with reuse they are those that are there."""
    graph = default()
    before = graph.variable_scope, graph.reuse
    graph.variable_scope = name_or_scope.name if isinstance(name_or_scope, _Scope) else \
        f"{before[0]}{'/' if before[0] else ''}{name_or_scope or default_name}"
    graph.reuse = before[1] if reuse is None else reuse
    try:
        with name_scope(graph.variable_scope.rpartition("/")[2]) if not isinstance(name_or_scope, _Scope) else contextlib.nullcontext():
            yield _Scope(graph, graph.variable_scope)
    finally:
        graph.variable_scope, graph.reuse = before


def _fans(shape):
    """How many values go into and out of an element of a kernel, [..., in, out]."""
    window = int(np.prod(shape[:-2])) if len(shape) > 2 else 1
    return (window * shape[-2], window * shape[-1]) if len(shape) > 1 else (shape[0] if shape else 1,) * 2


def _initial(initializer, shape, dtype):
    """A function that gives what a variable is at first."""
    if initializer is not None and not callable(initializer):
        return lambda: gt.array(np.asarray(initializer), dtype)
    return lambda: init.named(keras.initializers.get(initializer or "glorot_uniform"))(tuple(shape), *_fans(shape), dtype)


def _add_variable(graph, name, initial, trainable):
    from .._devices import first
    with graph.aside():
        value = initial()
        made = gt.Variable(value, name, trainable, device=gt._device.request() or first())
    graph.add_variable(name, made, initial)
    return made


def get_variable(name, shape=None, dtype="float32", initializer=None, regularizer=None, trainable=True, collections=None):
    """The variable of that name in the scope: a new one, or where the scope reuses them the one that is there."""
    graph = default()
    whole = f"{graph.variable_scope}/{name}" if graph.variable_scope else name
    known = graph.variables.get(whole)
    if known is not None and not graph.reuse:
        raise gt.InvalidArgumentError(f"variable '{whole}' is there already; a scope with reuse=True, or reuse_variables(), gives it again")
    if known is None and graph.reuse is True:
        raise gt.NotFoundError(f"there is no variable '{whole}' to be reused; there are {', '.join(graph.variables) or 'none'}")
    if shape is None and callable(initializer):
        shape = ()
    return known if known is not None else _add_variable(graph, whole, _initial(initializer, shape, dtype), trainable)


def global_variables():
    return default().collected("variables")


def trainable_variables(scope=None):
    return default().collected("trainable_variables", scope)


def global_variables_initializer():
    """An operation that gives all variables their first values anew."""
    graph = default()

    def begin():
        for name, initial in graph.initials.items():
            if initial is not None:
                graph.variables[name].assign(initial())
    return Operation(call=begin)


def truncated_normal_initializer(mean=0.0, stddev=1.0, seed=None, dtype="float32"):
    """Normal numbers, those beyond two deviations drawn again."""
    def draw(shape, fan_in, fan_out, dtype):
        random = np.random.default_rng(gt.random.next_key().seed if seed is None else seed)
        made = random.standard_normal(shape)
        while (far := abs(made) > 2).any():
            made[far] = random.standard_normal(int(far.sum()))
        return gt.array(mean + stddev * made, dtype)
    return draw


def random_normal_initializer(mean=0.0, stddev=1.0, seed=None, dtype="float32"):
    return keras.initializers.RandomNormal(mean, stddev, seed)


def constant_initializer(value=0, dtype="float32"):
    return keras.initializers.Constant(value)


def zeros_initializer(dtype="float32"):
    return init.zeros


def ones_initializer(dtype="float32"):
    return init.ones


# ---- operations ----

def add_to_collection(name, value):
    default().collect(name, value)


def get_collection(key, scope=None):
    return default().collected(key, scope)


def assign(ref, value):
    return default().assign(ref, value)


def assign_add(ref, value):
    return default().assign(ref, value, add=True)


def _nodes_of(graph, items):
    return [each.node if isinstance(each, Operation) else graph._node_of(each) for each in items
            if not isinstance(each, (gt.Array, gt.Variable)) and getattr(each, "node", True)]


@contextlib.contextmanager
def control_dependencies(control_inputs):
    """What is made inside is run behind these."""
    graph = default()
    before = list(graph._after)
    graph._after += _nodes_of(graph, control_inputs)
    try:
        yield
    finally:
        graph._after = before


def group(*inputs, name=None):
    """One operation for all of them."""
    graph = default()
    with control_dependencies(inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs):
        return Operation(graph.node(lambda run: (), (), ()))


def no_op(name=None):
    return group()


def gradients(ys, xs):
    """Gradients of a scalar, one for each of xs; None where it does not depend on it."""
    return default().gradients(ys[0] if isinstance(ys, (list, tuple)) else ys, list(xs) if isinstance(xs, (list, tuple)) else [xs])


# ---- training ----

def _get_or_create_global_step():
    graph = default()
    known = graph.variables.get("global_step")
    return known if known is not None else _add_variable(graph, "global_step", lambda: gt.array(0, "int64"), False)


train = Namespace(
    "tf.train",
    GradientDescentOptimizer=lambda learning_rate: _training.Optimizer(lambda rate: optim.SGD(rate), learning_rate),
    MomentumOptimizer=lambda learning_rate, momentum, use_nesterov=False: _training.Optimizer(
        lambda rate: optim.SGD(rate, momentum, use_nesterov), learning_rate),
    AdamOptimizer=lambda learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8: _training.Optimizer(
        lambda rate: optim.Adam(rate, beta1, beta2, 0.0, epsilon), learning_rate),
    RMSPropOptimizer=lambda learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10: _training.Optimizer(
        lambda rate: optim.RMSprop(rate, decay, momentum, epsilon=0.0, epsilon_inside=epsilon), learning_rate),
    ExponentialMovingAverage=_training.MovingAverage, Saver=_training.Saver,
    exponential_decay=_training.exponential_decay,
    get_or_create_global_step=_get_or_create_global_step)
layers = Namespace("tf.layers", **{name: _training.layer(make) for name, make in (
    ("dense", keras.layers.Dense), ("conv2d", keras.layers.Conv2D), ("flatten", keras.layers.Flatten), ("dropout", keras.layers.Dropout),
    ("max_pooling2d", keras.layers.MaxPooling2D), ("batch_normalization", keras.layers.BatchNormalization))})
