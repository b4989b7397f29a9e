"""Every name by which the seeds' programs call another library is in gantry.compat."""

import importlib
import unittest

from gantry.compat import jax, mx, tf, torch
from gantry.compat.flax import linen
from gantry.compat.tf import v1
from tests.support import HAS_COMPILER, NEEDS_COMPILER

NAMES = {
    tf: "split stack reduce_mean reduce_sum print random.uniform name_scope device data.Dataset.from_tensor_slices data.experimental.AUTOTUNE "
        "distribute.MirroredStrategy keras.layers.Input keras.layers.Dense keras.layers.Embedding keras.layers.Conv1D keras.layers.Conv2D "
        "keras.layers.MaxPool1D keras.layers.Flatten keras.models.Model keras.models.Sequential keras.optimizers.SGD keras.optimizers.Nadam "
        "keras.losses.SparseCategoricalCrossentropy keras.metrics.SparseCategoricalAccuracy keras.metrics.SparseTopKCategoricalAccuracy "
        "keras.datasets.reuters.load_data keras.preprocessing.sequence.pad_sequences keras.backend.clear_session keras.layers.SimpleRNN "
        "keras.layers.LSTM keras.layers.GRU keras.layers.Bidirectional keras.layers.Masking keras.layers.TimeDistributed",
    v1: "data.Dataset variable_scope get_variable get_variable_scope get_collection GraphKeys.UPDATE_OPS control_dependencies Session "
        "train.GradientDescentOptimizer train.exponential_decay train.ExponentialMovingAverage train.Saver trainable_variables "
        "global_variables_initializer group add_to_collection concat expand_dims nn.conv2d nn.bias_add nn.relu nn.max_pool nn.lrn nn.l2_loss "
        "nn.sparse_softmax_cross_entropy_with_logits ConfigProto",
    torch: "nn.Sequential nn.LazyLinear nn.LSTM nn.GRU nn.RNN nn.SyncBatchNorm utils.data.DataLoader optim.SGD",
    mx: "gluon.nn.Sequential gluon.nn.Dense gluon.Trainer autograd.record np.ndarray init.Normal",
    jax: "device_count random.split random.PRNGKey random.normal tree_util.tree_map",
    linen: "Sequential Dense"}
METHODS = (
    (lambda: tf.keras.models.Sequential(), "add summary compile fit layers"),
    (lambda: tf.keras.models.Model(), "summary compile fit"),
    (lambda: tf.data.Dataset.from_tensor_slices([1, 2]), "shuffle batch prefetch cache"),
    (lambda: v1.data.Dataset.from_tensor_slices([1, 2]), "make_one_shot_iterator"),
    (lambda: v1.train.GradientDescentOptimizer(0.1), "compute_gradients apply_gradients"),
    (lambda: v1.Session(), "run"),
    (lambda: torch.nn.Sequential(), "to parameters state_dict"),
    (lambda: mx.gluon.nn.Sequential(), "add initialize collect_params"),
    (lambda: linen.Sequential([linen.Dense(1)]), "init apply"))
BOOKS = {"torch": "add_to_class Module DataModule Trainer gpu num_gpus", "mxnet": "add_to_class Module DataModule Trainer gpu num_gpus",
         "jax": "add_to_class Module DataModule Trainer num_gpus", "tensorflow": "Module DataModule Trainer num_gpus"}


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Names(unittest.TestCase):
    def test_names(self):
        for library, names in NAMES.items():
            for name in names.split():
                with self.subTest(f"{library.__name__}.{name}"):
                    found = library
                    for part in name.split("."):
                        found = getattr(found, part)

    def test_methods(self):
        for make, names in METHODS:
            made = make()
            for name in names.split():
                with self.subTest(f"{type(made).__name__}.{name}"):
                    getattr(made, name)

    def test_books(self):
        for name, names in BOOKS.items():
            book = importlib.import_module(f"gantry.compat.d2l.{name}")
            for each in names.split():
                with self.subTest(f"d2l.{name}.{each}"):
                    getattr(book, each)


if __name__ == "__main__":
    unittest.main()
