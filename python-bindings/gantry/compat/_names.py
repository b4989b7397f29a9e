"""Names of other libraries that Gantry has not: what to use instead.

A Namespace is a module in all but its file: `from gantry.compat.jax import numpy` and `import gantry.compat.jax.numpy`
find it, and what it lacks is told in words, as an attribute and on import.
"""

import sys
import types

_OPS = "gantry.ops has every op"
LAYERS = "layers, losses and metrics are gantry.nn, gantry.losses and gantry.metrics"
GRADIENTS = "gradients are gantry.grad, value_and_grad, vjp and jvp, of functions"
OPTIMISERS = "optimizers are gantry.optim, and gantry.Trainer is the loop around them"
DATA = "data sets are gantry.data.Dataset, which gantry.Trainer takes; arrays come of gantry.array"
REPLICAS = "gantry.Mirrored and gantry.Towers are strategies of gantry.Trainer; gantry.compile(..., replicate=[...]) splits a batch " \
           "that is not trained on"
VARIABLES = "a value that outlives a call is a gantry.Variable, which functions read and assign"
STREAMS = "a plan has its queues and waits in itself; plan.timeline() shows them"
TREES = "functions take and give lists, tuples and dicts of arrays as they are"
TEXTS = "Gantry has no strings; Python's print and time have the values of arrays, x.item() and x.numpy()"

# By library: names, each with what comes below it, and what is said of them.
_SAID = {
    "tf": ((("keras", "losses", "metrics", "layers", "estimator"), LAYERS), (("optimizers", "train"), OPTIMISERS),
           (("distribute",), REPLICAS), (("data", "io", "image", "summary"), DATA), (("recompute_grad",), GRADIENTS),
           (("strings", "timestamp", "string", "py_function"), TEXTS)),
    "torch": ((("nn",), LAYERS), (("optim",), OPTIMISERS), (("utils", "load", "save"), DATA),
              (("autograd",), GRADIENTS),
              (("distributed",), REPLICAS), (("cuda.Stream", "cuda.stream", "cuda.Event"), STREAMS),
              (("jit", "compile", "export"), "gantry.function traces, gantry.compile takes files, gantry.from_torch a module"),
              (("Generator",), "gantry.random.Key says where numbers come from")),
    "jax": ((("jacobian", "hessian", "linearize"), GRADIENTS),
            (("flax", "nn"), LAYERS), (("optax",), OPTIMISERS),
            (("pmap", "sharding", "pjit", "Mesh"), REPLICAS), (("tree",), TREES),
            (("lax",), "gantry.cond, while_loop and scan; " + _OPS), (("vmap",), "write the batch as a dimension; ops broadcast"),
            (("debug",), TEXTS)),
    "flax": ((("linen", "training"), LAYERS),),
    "mx": ((("gluon", "sym", "symbol", "mod", "module", "init", "initializer", "loss", "metric"), LAYERS), (("autograd",), GRADIENTS),
           (("optimizer", "lr_scheduler", "kv", "kvstore"), OPTIMISERS), (("io", "image", "recordio"), DATA),
           (("nd",), "np has MXNet's arrays")),
    # Of gantry.compat itself.
    "": ((("keras",), "it is tf.keras"), (("gluon",), "it is mx.gluon"), (("optax",), OPTIMISERS),
         (("tensorflow", "tensorflow1"), "it is called tf"), (("pytorch",), "it is called torch"), (("mxnet",), "it is called mx")),
}
# What is said of others.
_ELSE = {"": "it has tf, torch, jax, flax, mx and d2l, to be imported from it",
         "d2l": "it has torch, mxnet, jax and tensorflow, each with the book's classes for training"}
# Of gantry itself.
OWN = ((("gradient", "no_grad"), GRADIENTS),
       (("cuda",), "gantry.num_gpus and gantry.memory tell of GPUs; gantry.compat.torch has PyTorch's names"))
# Of arrays, by whatever library's name.
ARRAY = ((("attach_grad", "grad", "backward", "requires_grad", "requires_grad_", "detach"), GRADIENTS),
         (("assign", "assign_add", "add_", "mul_", "copy_", "zero_"), VARIABLES))


def why(said, name):
    """What to use instead of a name, by such a table; None where it says nothing."""
    for names, text in said:
        if any(name == known or name.startswith(known + ".") for known in names):
            return text
    return None


def sentence(path):
    """Of "tf.keras.layers", what is said of a name that is not there."""
    library, _, name = path.partition(".")
    if not name:
        library, name = "", path
    holder = ".".join(["gantry.compat", *path.split(".")[:-1]])
    instead = why(_SAID.get(library, ()), name) or _ELSE.get(library, _OPS)
    return f"{holder} has no '{path.rpartition('.')[2]}': {instead}"


def own_sentence(name):
    """The same of a name of gantry itself, which is given as it stands there."""
    instead = why(OWN, name)
    return f"gantry has no '{name}'" + (f": {instead}" if instead else "")


class Namespace(types.ModuleType):
    """A part of another library, as `tf.config` is of TensorFlow."""

    def __init__(self, path, doc=None, /, **names):
        super().__init__(f"gantry.compat.{path}", doc)
        self.__path__ = []  # so that what is missing is asked for, below
        vars(self).update(names)
        sys.modules[self.__name__] = self

    def __getattr__(self, name):
        return missing(f"{self.__name__[len('gantry.compat.'):]}.{name}")


def missing(path):
    """What the __getattr__ of a module of this package gives."""
    if path.rpartition(".")[2].startswith("__"):
        raise AttributeError(path)
    raise AttributeError(sentence(path))


class _Finder:
    """Asked last, when a name of this package is imported that nothing has."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        # Without the exception's `name`, which would let `from ... import` go on without these words.
        if name.startswith("gantry.compat.") and not name.rpartition(".")[2].startswith("_"):
            raise ModuleNotFoundError(sentence(name[len("gantry.compat."):]))
        if name.startswith("gantry.") and why(OWN, name[len("gantry."):]):
            raise ModuleNotFoundError(own_sentence(name[len("gantry."):]))
        return None


sys.meta_path.append(_Finder)
