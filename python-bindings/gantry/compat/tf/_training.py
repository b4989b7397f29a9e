"""What TensorFlow 1's graphs are trained by: optimizers, averages, files of variables, and layers by scope."""

import gantry as gt
from gantry import _tensors, optim
from gantry.variable import give, values_of

from ._graph import Operation, default


def trainable():
    return default().collected("trainable_variables")


class Optimizer:
    """An optimizer of gantry.optim in a graph; a rate may be a value of it."""

    def __init__(self, make, learning_rate):
        self._rate = learning_rate
        with default().aside():
            self._own = make(0.0 if isinstance(learning_rate, gt.Value) else learning_rate)

    def compute_gradients(self, loss, var_list=None):
        """Pairs of gradient and variable, of all that are trainable; None for what the loss does not depend on."""
        variables = list(var_list) if var_list is not None else trainable()
        return list(zip(default().gradients(loss, variables), variables))

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An operation that makes a step, and counts it in global_step."""
        graph = default()
        pairs = [(gradient, variable) for gradient, variable in grads_and_vars if gradient is not None]
        if not pairs:
            raise gt.InvalidArgumentError("no variable has a gradient")
        variables = [variable for _, variable in pairs]

        def step(run, rate, *given):
            if isinstance(self._rate, gt.Value):
                self._own.rate = lambda _: rate
            self._own.apply(variables, list(given))
            if global_step is not None:
                global_step.assign_add(1)
            return ()
        for variable in variables + ([global_step] if global_step is not None else []):
            graph.forget(variable)
        return Operation(graph.node(step, (self._rate, *(gradient for gradient, _ in pairs)), ()))

    def minimize(self, loss, global_step=None, var_list=None):
        return self.apply_gradients(self.compute_gradients(loss, var_list), global_step)


class MovingAverage:
    """tf.train.ExponentialMovingAverage: with num_updates the decay is at most (1 + n) / (10 + n)."""

    def __init__(self, decay, num_updates=None):
        self._decay, self._updates, self._own = decay, num_updates, None

    def apply(self, var_list=None):
        """An operation that takes the variables, as they are then, into their averages."""
        graph, listed = default(), list(var_list) if var_list is not None else trainable()
        with graph.aside():
            self._own = optim.MovingAverage(listed, self._decay)
        self._of = dict(zip(listed, self._own.variables()))

        def update(run):
            if self._updates is not None:
                count = gt.cast(self._updates.read(), "float32")
                self._own.decay = gt.minimum((count + 1.0) / (count + 10.0), float(self._decay))
            self._own.update()
            return ()
        return Operation(graph.node(update, (), ()))

    def average(self, var):
        """The variable that has its average."""
        return self._of.get(var)


class Saver:
    """tf.train.Saver: .safetensors files."""

    def __init__(self, var_list=None):
        self._of = var_list

    def _named(self):
        known = default().variables
        if self._of is None or isinstance(self._of, dict):
            return list((self._of or known).items())
        return [(name, each) for name, each in known.items() if any(each is other for other in self._of)]

    def save(self, sess, save_path, global_step=None):
        """Writes all variables; gives the path, with the step behind it."""
        path = save_path if global_step is None else f"{save_path}-{int(global_step)}"
        named = self._named()
        with default().aside():
            _tensors.write(path, values_of(named))
        return path

    def restore(self, sess, save_path):
        named = self._named()
        with default().aside(), _tensors.File(save_path) as file:
            found, _ = _tensors.match(file.tensors, {name: (each.dtype, each.shape) for name, each in named}, f"'{save_path}'")
            give(named, found)


def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate decay_rate^(global_step / decay_steps), a value of the graph."""
    step = gt.cast(global_step.read() if isinstance(global_step, gt.Variable) else global_step, "float64")
    return optim.exponential(learning_rate, decay_steps, decay_rate, staircase)(step)


def layer(make):
    """A function that adds a layer of tf.keras to the graph; a scope that reuses variables gives the one that is there."""
    def add(inputs, *arguments, name=None, training=False, reuse=None, **named):
        graph = default()
        scope = f"{graph.variable_scope}/" if graph.variable_scope else ""
        count = graph.layers.setdefault((scope, make, graph.name_scope), [0])
        count[0] += 1
        key = f"{scope}{name or f'{make.__name__}_{count[0]}'}"
        known = graph.layers.get(key)
        if known is None:
            known = graph.layers[key] = make(*arguments, name=key, **named)
        with gt.nn.training(training):
            made = known(inputs)
        for variable in known.variables():
            if not any(variable is each for each in graph.variables.values()):
                graph.add_variable(variable.name, variable)
        return made
    return add
