"""Other libraries' names: what is missing says what to use, as an attribute and on
import; and what has other arguments there."""

import unittest

import numpy as np

import gantry as gt
from tests.support import HAS_COMPILER, NEEDS_COMPILER, run

# A line that asks for what is not there; who has not what; part of what is said of it.
MISSING = (
    ("from gantry.compat import tf; tf.keras.layers.ConvLSTM2D(1)", "gantry.compat.tf.keras.layers has no 'ConvLSTM2D': layers, losses and "
     "metrics are gantry.nn, gantry.losses and gantry.metrics"),
    ("from gantry.compat.tf import estimator", "gantry.compat.tf has no 'estimator': layers, losses and metrics are gantry.nn"),
    ("from gantry.compat.tf.keras import mixed_precision", "gantry.compat.tf.keras has no 'mixed_precision': layers"),
    ("import gantry.compat.tf.keras.applications", "gantry.compat.tf.keras has no 'applications': layers"),
    ("from gantry.compat import tf; tf.keras.losses.Poisson()", "gantry.compat.tf.keras.losses has no 'Poisson': layers"),
    ("from gantry.compat import tf; tf.keras.metrics.IoU()", "gantry.compat.tf.keras.metrics has no 'IoU': layers"),
    ("from gantry.compat import tf; tf.keras.optimizers.Lion()", "gantry.compat.tf.keras.optimizers has no 'Lion': layers"),
    ("from gantry.compat import tf; tf.keras.datasets.imdb", "gantry.compat.tf.keras.datasets has no 'imdb': layers"),
    ("from gantry.compat import tf; tf.distribute.TPUStrategy()", "gantry.compat.tf.distribute has no 'TPUStrategy': gantry.Mirrored and "
     "gantry.Towers are strategies of gantry.Trainer; gantry.compile(..., replicate=[...]) splits a batch that is not trained on"),
    ("from gantry.compat import tf; tf.data.TFRecordDataset", "gantry.compat.tf.data has no 'TFRecordDataset': data sets are gantry.data.Dataset"),
    ("from gantry.compat import tf; tf.recompute_grad", "gantry.compat.tf has no 'recompute_grad': gradients are gantry.grad, "
     "value_and_grad, vjp and jvp"),
    ("from gantry.compat import tf; tf.compat.v1.get_local_variable", "gantry.compat.tf has no 'get_local_variable': gantry.ops has every op"),
    ("from gantry.compat import tf; tf.compat.v1.train.FtrlOptimizer", "gantry.compat.tf.train has no 'FtrlOptimizer': optimizers are "
     "gantry.optim, and gantry.Trainer is the loop around them"),
    ("from gantry.compat import tf; tf.nn.dropout", "gantry.compat.tf.nn has no 'dropout': gantry.ops has every op"),
    ("from gantry.compat import tf; tf.config.run_functions_eagerly", "gantry.compat.tf.config has no 'run_functions_eagerly'"),
    ("from gantry.compat import tf; tf.strings", "gantry.compat.tf has no 'strings': Gantry has no strings"),
    ("from gantry.compat import tf; tf.einsum", "gantry.compat.tf has no 'einsum': gantry.ops has every op"),
    ("from gantry.compat import torch; torch.nn.Bilinear", "gantry.compat.torch.nn has no 'Bilinear': layers"),
    ("from gantry.compat.torch.nn import utils", "gantry.compat.torch.nn has no 'utils': layers"),
    ("import gantry.compat.torch.nn.functional as F; F.grid_sample", "gantry.compat.torch.nn.functional has no 'grid_sample': layers"),
    ("from gantry.compat.torch.optim import LBFGS", "gantry.compat.torch.optim has no 'LBFGS': optimizers"),
    ("from gantry.compat.torch.utils import tensorboard", "gantry.compat.torch.utils has no 'tensorboard': data sets"),
    ("from gantry.compat import torch; torch.autograd", "gantry.compat.torch has no 'autograd': gradients"),
    ("from gantry.compat import torch; torch.cuda.Stream()", "gantry.compat.torch.cuda has no 'Stream': a plan has its queues"),
    ("from gantry.compat import jax; jax.hessian(lambda x: x)", "gantry.compat.jax has no 'hessian': gradients"),
    ("from gantry.compat.jax import vmap", "gantry.compat.jax has no 'vmap': write the batch as a dimension"),
    ("from gantry.compat import jax; jax.numpy.linalg", "gantry.compat.jax.numpy has no 'linalg': gantry.ops has every op"),
    ("import gantry.compat.jax.nn", "gantry.compat.jax has no 'nn': layers"),
    ("from gantry.compat.jax import tree", "gantry.compat.jax has no 'tree': functions take and give lists"),
    ("from gantry.compat.flax import training", "gantry.compat.flax has no 'training': layers"),
    ("from gantry.compat.flax.linen import LSTMCell", "gantry.compat.flax.linen has no 'LSTMCell': layers"),
    ("from gantry.compat.mx.gluon.nn import PReLU", "gantry.compat.mx.gluon.nn has no 'PReLU': layers"),
    ("from gantry.compat.mx.gluon import rnn", "gantry.compat.mx.gluon has no 'rnn': layers"),
    ("from gantry.compat.mx import autograd; autograd.grad", "gantry.compat.mx.autograd has no 'grad': gradients"),
    ("from gantry.compat.mx import nd", "gantry.compat.mx has no 'nd': np has MXNet's arrays"),
    ("from gantry.compat import keras", "gantry.compat has no 'keras': it is tf.keras"),
    ("from gantry.compat.d2l import paddle", "gantry.compat.d2l has no 'paddle': it has torch, mxnet, jax and tensorflow, each with the book's"),
    ("from gantry.compat.d2l import torch as d2l; d2l.FashionMNIST", "gantry.compat.d2l.torch has no 'FashionMNIST': it has torch, mxnet"),
    ("from gantry.compat import tensorflow as tf", "gantry.compat has no 'tensorflow': it is called tf"),
    ("import gantry as gt; gt.no_grad", "gantry has no 'no_grad': gradients are gantry.grad"),
    ("import gantry as gt; gt.cuda.device_count()", "gantry has no 'cuda': gantry.num_gpus"),
    ("import gantry as gt; gt.einsum", "gantry has no 'einsum'"),
    ("from gantry.compat import cupy", "gantry.compat has no 'cupy': it has tf, torch, jax, flax, mx and d2l, to be imported from it"),
)
# What arrays have once a library's names were asked for.
OF_ARRAYS = ("attach_grad", "backward", "requires_grad")


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Missing(unittest.TestCase):
    def test_texts(self):
        for line, text in MISSING:
            with self.subTest(line):
                with self.assertRaises((AttributeError, ImportError)) as caught:
                    exec(line, {})
                self.assertIn(text, str(caught.exception))

    def test_asking_is_no_error(self):
        from gantry.compat import jax, mx, tf, torch
        for module, name in ((tf, "estimator"), (jax, "vmap"), (mx, "sym"), (torch, "jit"), (tf.nn, "dropout")):
            self.assertFalse(hasattr(module, name))

    def test_arrays_have_gradients_by_names_of_others_alone(self):
        said = run("""
            import gantry as gt
            for name in ("attach_grad", "backward", "requires_grad"):
                try: getattr(gt.ones(2), name)
                except AttributeError as e: print(e)
            """)
        self.assertEqual(said, "".join(f"an Array has no attribute '{name}': gradients are gantry.grad, value_and_grad, vjp and jvp, of functions\n"
                                       for name in OF_ARRAYS))

    def test_nothing_else_of_python_is_asked(self):
        with self.assertRaisesRegex(ModuleNotFoundError, "No module named 'gantry_compat'"):
            exec("import gantry_compat", {})
        with self.assertRaisesRegex(ModuleNotFoundError, "No module named 'gantry.other'"):
            exec("import gantry.other", {})


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class TensorFlow(unittest.TestCase):
    def setUp(self):
        from gantry.compat import tf
        self.tf = tf

    def same(self, made, wanted, **tolerance):
        self.assertEqual(made.shape, np.shape(wanted))
        np.testing.assert_allclose(made.numpy(), wanted, **(tolerance or {"rtol": 1e-6}))

    def test_split(self):
        tf, x = self.tf, np.arange(12, dtype=np.float32).reshape(6, 2)
        for given, wanted in ((dict(num_or_size_splits=3), np.split(x, 3)), (dict(num_or_size_splits=[1, -1, 2]), np.split(x, [1, 4])),
                              (dict(num_or_size_splits=2, axis=1), np.split(x, 2, 1)), (dict(num_or_size_splits=1, axis=-1), [x])):
            made = tf.split(tf.constant(x), **given)
            self.assertIsInstance(made, list)
            for one, other in zip(made, wanted):
                self.same(one, other)
        for sizes, text in ((4, r"float32\[6, 2\] cannot be split into 4 equal parts along axis 0"), (0, "into 0 equal parts"),
                            ([1, 2], "split")):
            with self.assertRaisesRegex(ValueError, text):
                tf.split(tf.constant(x), sizes)

    def test_arguments_by_tensorflows_names(self):
        tf = self.tf
        self.same(tf.stack(axis=0, values=[tf.constant(1.0), 2.0]), [1, 2])
        self.same(tf.concat(axis=0, values=[tf.ones((1, 2)), tf.zeros((2, 2))]), [[1, 1], [0, 0], [0, 0]])
        self.same(tf.transpose(tf.constant([[1, 2], [3, 4]])), [[1, 3], [2, 4]])
        self.same(tf.constant(7, shape=(2, 2)), [[7, 7]] * 2)
        self.same(tf.constant([1, 2, 3, 4], shape=(2, 2), dtype=tf.float32), [[1, 2], [3, 4]])
        self.same(tf.fill((2,), 3.0), [3, 3])
        self.same(tf.range(1, 4), [1, 2, 3])
        self.same(tf.reduce_mean(tf.constant([[1.0, 3.0], [5.0, 7.0]]), 0), [3, 5])
        self.same(tf.argmax(tf.constant([[1, 3], [5, 2]]), 1), [1, 0])
        x = tf.random.uniform((100,), minval=2, maxval=3.0)
        self.assertTrue(((x.numpy() >= 2) & (x.numpy() < 3)).all())
        self.assertEqual(tf.random.uniform((3,), seed=4).tolist(), tf.random.uniform((3,), seed=4).tolist())

    def test_forward_of_nn(self):
        nn, draw = self.tf.nn, np.random.default_rng(1)
        x = draw.normal(size=(2, 5)).astype(np.float32)
        e = np.exp(x - x.max(-1, keepdims=True))
        soft = e / e.sum(-1, keepdims=True)
        self.same(nn.relu(x), np.maximum(x, 0))
        self.same(nn.relu6(x * 9), np.clip(x * 9, 0, 6))
        self.same(nn.softmax(x), soft, rtol=1e-5)
        self.same(nn.l2_loss(x), (x * x).sum() / 2, rtol=1e-5)
        self.same(nn.bias_add(self.tf.constant(x), np.arange(5, dtype=np.float32)), x + np.arange(5))
        self.same(nn.sparse_softmax_cross_entropy_with_logits(labels=[4, 1], logits=x), -np.log(soft[[0, 1], [4, 1]]), rtol=1e-5)
        self.same(nn.softmax_cross_entropy_with_logits(labels=np.eye(5, dtype=np.float32)[[4, 1]], logits=x),
                  -np.log(soft[[0, 1], [4, 1]]), rtol=1e-5)
        # TensorFlow's own definition: the sum of squares of depth_radius channels to either side.
        image = draw.normal(size=(1, 2, 2, 6)).astype(np.float32)
        squares = np.stack([(image[..., max(0, c - 2):c + 3] ** 2).sum(-1) for c in range(6)], -1)
        self.same(nn.lrn(image, 2, bias=2.0, alpha=0.5, beta=0.75), image / (2 + 0.5 * squares) ** 0.75, rtol=1e-5)

    def test_images_have_channels_last(self):
        nn, draw = self.tf.nn, np.random.default_rng(2)
        for size, stride, window, padding in ((5, 2, 3, "SAME"), (6, 2, 3, "SAME"), (6, 3, 2, "VALID"), (4, 1, 4, "SAME")):
            x, w = draw.normal(size=(1, size, size, 2)).astype("f"), draw.normal(size=(window, window, 2, 3)).astype("f")
            out = -(-size // stride) if padding == "SAME" else (size - window) // stride + 1
            total = max(0, (out - 1) * stride + window - size) if padding == "SAME" else 0
            padded = np.pad(x, ((0, 0), *[(total // 2, total - total // 2)] * 2, (0, 0)))
            lowest = np.pad(x, ((0, 0), *[(total // 2, total - total // 2)] * 2, (0, 0)), constant_values=-np.inf)
            at = lambda image, i, j: image[:, i * stride:i * stride + window, j * stride:j * stride + window]
            wanted = np.array([[np.einsum("bhwc,hwco->bo", at(padded, i, j), w)[0] for j in range(out)] for i in range(out)])[None]
            self.same(nn.conv2d(x, w, strides=[1, stride, stride, 1], padding=padding), wanted, rtol=1e-4, atol=1e-5)
            largest = np.array([[at(lowest, i, j).max((1, 2))[0] for j in range(out)] for i in range(out)])[None]
            self.same(nn.max_pool(x, ksize=[1, window, window, 1], strides=[1, stride, stride, 1], padding=padding), largest)
        for call, text in ((lambda: nn.conv2d(x, w, [1, 1, 2], "SAME"), "strides are those of height and width"),
                           (lambda: nn.conv2d(x, w, 1, "same"), "padding is 'same'; it can be 'SAME' or 'VALID'")):
            with self.assertRaisesRegex(ValueError, text):
                call()

    def test_print(self):
        self.assertEqual(run("""
            from gantry.compat import tf
            tf.print(tf.constant(2.5), "and", tf.constant([1, 2]), 7, sep="|", end="!\\n")
            tf.print(tf.range(100), tf.reduce_sum(tf.fill((3,), 1e11)))
            """), "2.5|and|[1 2]|7!\n[0 1 2 ... 97 98 99] 2.99999986e+11\n")
        with self.assertRaisesRegex(ValueError, r"tf.print wants the value of Value\(float32\[\]\), which is not known while a function"):
            gt.function(lambda x: self.tf.print(x))(gt.array(1.0))


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Others(unittest.TestCase):
    def test_torch(self):
        from gantry.compat import torch
        self.assertEqual([torch.tensor(v).dtype for v in (1, [1, 2], 1.5, True, np.float64(1))], ["int64", "int64", "float32", "bool", "float64"])
        self.assertEqual((torch.arange(3).dtype, torch.arange(0, 1, 0.5).dtype), ("int64", "float32"))
        self.assertEqual([repr(torch.device(*given)) for given in (("cpu",), ("cuda",), ("cuda", 1), ("cuda:1",))],
                         ["CPU:0", "GPU:0", "GPU:1", "GPU:1"])
        self.assertEqual((torch.cuda.is_available(), torch.cuda.device_count()), (True, 2))
        x = torch.ones(10, device="cuda:1")
        self.assertEqual(torch.cuda.memory_allocated(1) >= 40, True)
        self.assertIsNot(torch.tensor(x), x)
        self.assertEqual((torch.tensor(x).device, torch.randn(2, 3).shape), ("GPU:1", (2, 3)))
        torch.manual_seed(3)
        a = torch.rand(4).tolist()
        torch.manual_seed(3)
        self.assertEqual(torch.rand(4).tolist(), a)

    def test_jax(self):
        from gantry.compat import jax
        from gantry.compat.jax import numpy as jnp
        import gantry.compat.jax.numpy
        self.assertIs(gantry.compat.jax.numpy, jnp)
        key = jax.random.PRNGKey(0)
        a, b = jax.random.split(key)
        self.assertEqual(jax.random.uniform(a, (3,), minval=2.0, maxval=3.0).shape, (3,))
        self.assertEqual(jax.random.normal(b, (10,)).tolist(), jax.random.normal(b, (10,)).tolist())
        self.assertEqual(jax.random.fold_in(key, 3).seed, key.fold(3).seed)
        self.assertEqual(jax.jit(lambda x, n: x * n, static_argnums=1)(jnp.ones(2), 3.0).tolist(), [3, 3])
        self.assertEqual((jax.device_count(), jax.device_count("cpu"), jax.default_backend()), (2, 1, "gpu"))
        with gt.device("CPU:0"):
            self.assertEqual(jnp.ones(2).device(), "CPU:0")
        self.assertEqual(run("""
            from gantry.compat import jax
            try: jax.device_count("gpu")
            except RuntimeError as e: print(e)
            print(jax.device_count(), jax.numpy.ones(2).device)
            """, devices="CPU:0"), "Unknown backend gpu: there is no such device; the devices are [CPU:0]\n"
            "1 /job:localhost/replica:0/task:0/device:CPU:0\n")

    def test_mxnet(self):
        from gantry.compat import mx
        x = mx.np.array([1, 2, 3])
        self.assertEqual((x.dtype, x.ctx, mx.np.ones((2,), ctx=mx.gpu(1)).context), ("float32", "CPU:0", "GPU:1"))
        self.assertIs(x.as_in_context(mx.cpu()), x)
        self.assertIsInstance(x.asnumpy(), np.ndarray)
        self.assertEqual((mx.num_gpus(), mx.npx.num_gpus(), mx.context.num_gpus()), (2, 2, 2))


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Replicas(unittest.TestCase):
    """Row 30: who is last."""

    GRAPH = b"""
        func.func @main(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
          %0 = gantry.matmul %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
          %y = gantry.relu %0 : (tensor<?x64xf32>) -> tensor<?x64xf32>
          return %y : tensor<?x64xf32>
        }"""

    def test_time_of_each(self):
        plan = gt.compile(self.GRAPH, replicate="GPU:0=9,GPU:1=1", dims={"input0:0": 60000})
        first, second = plan.replicas
        self.assertEqual([(each.number, each.device) for each in (first, second)], [(0, "GPU:0"), (1, "GPU:1")])
        self.assertGreater(first.seconds, 4 * second.seconds)
        self.assertIs(max(plan.replicas, key=lambda each: each.end).number, 0)
        told = sum(each["predicted_compute_seconds"] for each in plan.explain(json=True)["functions"][0]["devices"]
                   if "GPU" in each["device"])
        self.assertAlmostEqual(first.seconds + second.seconds, told, delta=told * 1e-6)
        self.assertLessEqual(max(first.end, second.end), plan.explain(json=True)["functions"][0]["predicted_seconds"])

    def test_none(self):
        self.assertEqual(gt.compile(self.GRAPH, dims={"input0:0": 6}).replicas, ())
