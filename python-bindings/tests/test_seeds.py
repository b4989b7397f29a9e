"""The seeds' snippets and behaviours, on two simulated GPUs. A test's number is its row in seed_rows.py."""

import unittest

import gantry as gt
from tests.support import HAS_COMPILER, NEEDS_COMPILER, run

TASK = "/job:localhost/replica:0/task:0/"


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class UseAGPU(unittest.TestCase):
    """000: TensorFlow's guide."""

    MATMUL = """
        import os
        from gantry.compat import tf
        tf.debugging.set_log_device_placement(True)
        a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        c = tf.matmul(a, b)
        print(c.tolist())
        """

    def test_01_the_environment_picks_the_device(self):
        self.assertIn(f"Executing op MatMul in device {TASK}device:CPU:0\n", run(self.MATMUL, devices="CPU:0"))
        self.assertIn(f"Executing op MatMul in device {TASK}device:GPU:0\n", run(self.MATMUL, devices="GPU:0"))

    def test_08_too_late(self):
        self.assertEqual(run("""
            from gantry.compat import tf
            gpus = tf.config.experimental.list_physical_devices('GPU')
            tf.matmul([[1.0]], [[1.0]])
            try: tf.config.experimental.set_visible_devices(gpus[1], 'GPU')
            except RuntimeError as e: print(type(e).__name__)
            """), "FailedPreconditionError\n")

    def test_04_12_lowest_gpu(self):
        c = gt.matmul([[1.0, 2.0]], [[3.0], [4.0]])
        self.assertEqual((c.tolist(), c.device), ([[11.0]], "GPU:0"))

    def test_13_unknown_device_of_an_op(self):
        with self.assertRaises(RuntimeError) as caught:
            gt.matmul(gt.ones(1, 1), gt.ones(1, 1), device="/device:GPU:2")
        self.assertEqual(str(caught.exception), f"'matmul' is placed on '{TASK}device:GPU:2': unknown device; the "
                         f"devices are {TASK}device:CPU:0, {TASK}device:GPU:0, {TASK}device:GPU:1")


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Memory(unittest.TestCase):
    """001 to 003: what is about memory and placement."""

    def test_23_nothing_on_devices_that_are_not_used(self):
        self.assertEqual(run("""
            import gantry as gt
            x = gt.ones(100, device="GPU:0") + gt.ones(100, device="GPU:0")
            print(gt.memory("GPU:0").used > 0, gt.memory("GPU:1").used, gt.memory("GPU:1").peak)
            """), "True 0 0\n")

    def test_31_model_parallel(self):
        @gt.function
        def net(x, w):
            with gt.device("GPU:0"):
                hidden = gt.relu(x @ w)
            with gt.device("GPU:1"):
                return hidden @ w

        x, w = gt.ones(2, 2), gt.ones(2, 2)
        self.assertEqual((net(x, w).tolist(), net(x, w).device), ([[4, 4], [4, 4]], "GPU:1"))

    def test_40_41_the_same_sum_everywhere(self):
        sums = []
        for device in ("/gpu:0", "/cpu:0"):
            with gt.device(device):
                gt.random.seed(0)
                a = gt.random.uniform((1000, 100), 0, 3)
                b = gt.random.uniform((100, 1000), 0, 3)
                sums.append(gt.sum(a @ b).item())
        self.assertAlmostEqual(sums[0] / sums[1], 1, delta=1e-6)
        self.assertAlmostEqual(sums[0] / (1000 * 1000 * 100 * 2.25), 1, delta=0.02)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Tabs(unittest.TestCase):
    """004: d2l's chapter on GPUs in four frameworks."""

    def test_55_mixed_devices_are_copied(self):
        x, y = gt.ones(2, 3, device="GPU:0"), gt.ones(2, 3, device="GPU:1")
        self.assertEqual(((x + y).device, (x + y).tolist()), ("GPU:0", [[2] * 3] * 2))

    def test_55_or_refused(self):
        text = run("""
            import gantry as gt
            gt.config(copies="explicit")
            x, y, z = gt.ones(2, 3, device="GPU:0"), gt.ones(2, 3, device="GPU:1"), gt.ones(2, 3)
            for other in (y, z):
                try: x + other
                except RuntimeError as error: print(error)
            print((x + y.to("GPU:0")).device, (x + 1.0).device)
            """)
        refused = (f"<string>:6:1: 'AddV2' runs on '{TASK}device:GPU:0', and copies are explicit: operand 1 ('input1') is on "
                   "'%s'; bring it there with gantry.copy, place both on one device, or compile with --copies=auto\n")
        self.assertEqual(text, refused % f"{TASK}device:GPU:1" + refused % f"{TASK}device:CPU:0" +
                         f"{TASK}device:GPU:0 {TASK}device:GPU:0\n")

    def test_61_compat(self):
        from gantry.compat import jax, mx
        z = gt.ones(2, device="GPU:1")
        self.assertIs(z.as_in_ctx(mx.npx.gpu(1)), z)
        self.assertIsNot(z.copyto(mx.npx.gpu(1)), z)
        self.assertIsNot(jax.device_put(z, jax.devices()[1]), z)
        self.assertEqual(z.ctx, "GPU:1")
