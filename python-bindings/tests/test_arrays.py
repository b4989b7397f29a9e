"""Arrays: made, moved, read, shared with NumPy and PyTorch."""

import copy
import gc
import pickle
import unittest

import numpy as np

import gantry as gt

try:
    import torch
except ImportError:
    torch = None


class Making(unittest.TestCase):
    def test_types_of_numbers(self):
        self.assertEqual(gt.array([1.5, 2]).dtype, gt.float32)
        self.assertEqual(gt.array([1, 2]).dtype, gt.int32)
        self.assertEqual(gt.array([True]).dtype, "bool")
        self.assertEqual(gt.array(np.arange(3)).dtype, np.int64)
        self.assertEqual(gt.array([1, 2], dtype="f64").dtype, np.float64)

    def test_shapes(self):
        for shape in ((), (0,), (3,), (2, 3), (2, 0, 4)):
            values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            made = gt.array(values, device="GPU:0")
            self.assertEqual((made.shape, made.ndim, made.size, made.nbytes),
                             (shape, len(shape), values.size, values.nbytes))
            np.testing.assert_array_equal(made.numpy(), values)

    def test_fillers(self):
        np.testing.assert_array_equal(gt.ones(2, 3), np.ones((2, 3)))
        np.testing.assert_array_equal(gt.zeros((2,), dtype="int64"), np.zeros(2))
        np.testing.assert_array_equal(gt.full((2, 2), 7), np.full((2, 2), 7))
        np.testing.assert_array_equal(gt.arange(5), np.arange(5))
        self.assertEqual(gt.arange(0, 1, 0.5).dtype, gt.float32)

    def test_a_view_of_numpy_that_is_not_contiguous(self):
        values = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
        np.testing.assert_array_equal(gt.array(values), values)

    def test_print_shows_the_device(self):
        made = gt.ones(2, 3, device=gt.try_gpu())
        self.assertEqual(repr(made), "Array([[1., 1., 1.],\n       [1., 1., 1.]], dtype=float32, device=GPU:0)")

    def test_scalars(self):
        one = gt.array(3)
        self.assertEqual((one.item(), int(one), float(one), bool(one), [0, 1, 2, 7][one]), (3, 3, 3.0, True, 7))

    def test_types_are_the_same_object_everywhere(self):
        for kind in gt.dtypes.BY_NUMBER:
            for other in (copy.copy(kind), copy.deepcopy(kind), *(pickle.loads(pickle.dumps(kind, way)) for way in range(2, 6))):
                self.assertIs(other, kind)
        self.assertEqual(gt.array([1.5], dtype=copy.deepcopy({"a": gt.bfloat16})["a"]).tolist(), [1.5])
        with self.assertRaisesRegex(AttributeError, "an element type does not change"):
            gt.float32.numpy = np.float64

    def test_attributes_do_not_change(self):
        x = gt.ones(2, 3)
        for name, value, instead in (("shape", (6,), "reshape"), ("dtype", gt.int32, "astype"), ("device", gt.gpu(), "to")):
            for change in (lambda: setattr(x, name, value), lambda: delattr(x, name)):
                with self.assertRaisesRegex(AttributeError, f"the {name} of an array does not change; {instead} gives another array"):
                    change()
        for name in ("T", "ndim", "size", "nbytes", "itemsize", "is_deleted", "new"):
            with self.assertRaises(AttributeError):
                setattr(x, name, 1)
        seen = []
        gt.function(lambda y: seen.append(self.assertRaises(AttributeError, setattr, y, "shape", (6,))) or y)(x)
        self.assertEqual((x.shape, len(seen)), ((2, 3), 1))
        for change in (lambda: setattr(x.device, "name", "GPU:0"), lambda: setattr(gt.cpu(), "soft", "any")):
            with self.assertRaisesRegex(AttributeError, "a device does not change"):
                change()

    def test_tensor_stays_where_an_array_is(self):
        x = gt.ones(2, device="GPU:1")
        self.assertEqual((gt.tensor(x).device, gt.tensor(x, device="CPU:0").device, gt.tensor([1.0]).device), ("GPU:1", "CPU:0", "CPU:0"))
        self.assertIsNot(gt.tensor(x), x)

    def test_pickle(self):
        back = pickle.loads(pickle.dumps(gt.array([1.0, 2.0], device="GPU:1")))
        self.assertEqual((back.device, back.tolist()), ("GPU:1", [1.0, 2.0]))


class Moving(unittest.TestCase):
    def test_to_is_itself_when_there(self):
        z = gt.ones(2, 3, device="GPU:1")
        self.assertIs(z.to("cuda:1"), z)
        self.assertIs(z.cuda(1), z)
        self.assertIs(z.to(gt.gpu(1)), z)

    def test_copies_are_new(self):
        z = gt.ones(2, 3, device="GPU:1")
        for copy in (z.copy_to("GPU:1"), z.clone()):
            self.assertIsNot(copy, z)
            self.assertEqual(copy.device, "GPU:1")
            np.testing.assert_array_equal(copy, z)

    def test_between_devices(self):
        x = gt.array([[1.0, 2.0], [3.0, 4.0]], device="GPU:0")
        y = x.cuda(1)
        self.assertEqual((x.device, y.device, y.cpu().device), ("GPU:0", "GPU:1", "CPU:0"))
        np.testing.assert_array_equal(y.cpu(), [[1, 2], [3, 4]])

    def test_memory_is_counted_and_comes_back(self):
        before = gt.memory("GPU:1").used
        x = gt.ones(1000, device="GPU:1")
        self.assertEqual(gt.memory("GPU:1").used, before + 4000)
        self.assertGreaterEqual(gt.memory("GPU:1").peak, before + 4000)
        del x
        gc.collect()
        self.assertEqual(gt.memory("GPU:1").used, before)
        gt.memory("GPU:1").reset_peak()
        self.assertEqual(gt.memory("GPU:1").peak, before)


class Exchange(unittest.TestCase):
    @unittest.skipUnless(hasattr(np, "from_dlpack"), "NumPy before 1.22 has no from_dlpack")
    def test_numpy_shares_memory_of_the_host(self):
        x = gt.array([1.0, 2.0, 3.0])
        view = np.from_dlpack(x)
        self.assertEqual(view.tolist(), [1, 2, 3])
        back = gt.from_dlpack(np.arange(4, dtype=np.int16))
        self.assertEqual((back.dtype, back.tolist()), (gt.int16, [0, 1, 2, 3]))

    @unittest.skipUnless(hasattr(np, "from_dlpack"), "NumPy before 1.22 has no from_dlpack")
    def test_shared_memory_outlives_the_array(self):
        x = gt.array(np.arange(1000, dtype=np.float64))
        view = np.from_dlpack(x)
        del x
        gc.collect()
        noise = [gt.zeros(1000, dtype="f64") for _ in range(10)]
        self.assertEqual(view[999], 999)
        self.assertEqual(len(noise), 10)

    def test_a_capsule_that_nobody_takes(self):
        before = gt.memory("CPU:0").used
        capsule = gt.ones(500).__dlpack__()
        self.assertEqual(gt.memory("CPU:0").used, before + 2000)
        del capsule
        gc.collect()
        self.assertEqual(gt.memory("CPU:0").used, before)

    def test_simulated_memory_is_not_shared(self):
        x = gt.ones(2, device="GPU:0")
        for call in (x.__dlpack__, x.__dlpack_device__):
            with self.assertRaises(BufferError) as caught:
                call()
            self.assertEqual(str(caught.exception), "the memory of '/job:localhost/replica:0/task:0/device:GPU:0', "
                             "which driver 'sim' simulates, cannot be shared; copy the array to the host first, with "
                             ".numpy() or .cpu()")

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_pytorch_both_ways(self):
        tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
        x = gt.from_dlpack(tensor)
        tensor[0, 0] = 9
        self.assertEqual(x.tolist(), [[9, 1, 2], [3, 4, 5]])
        back = torch.from_dlpack(x)
        self.assertEqual(back.data_ptr(), tensor.data_ptr())
        with self.assertRaises(gt.UnsupportedError) as caught:
            gt.from_dlpack(tensor.T)
        self.assertEqual(str(caught.exception), "the array is not row-major and contiguous; give a contiguous copy of it")

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_bfloat16(self):
        tensor = torch.tensor([1.0, -2.5], dtype=torch.bfloat16)
        x = gt.from_dlpack(tensor)
        self.assertEqual(x.dtype, gt.bfloat16)
        self.assertEqual(torch.from_dlpack(x).tolist(), [1.0, -2.5])

    def test_wrong_values(self):
        for call, error, text in (
                (lambda: gt.array(["a"]), gt.InvalidArgumentError, "an array of NumPy's <U1 has no counterpart here"),
                (lambda: gt.array([2**40]), gt.InvalidArgumentError, "the values do not fit int32; give dtype='int64'"),
                (lambda: gt.ones(2, dtype="complex64"), TypeError, "'complex64' is no element type; the types are "
                 "float32, float64, float16, bfloat16, int8, uint8, int16, uint16, int32, uint32, int64, uint64, bool_"),
                (lambda: gt.ones(2).item(), gt.InvalidArgumentError, "item() wants one element, the array is float32[2]"),
                (lambda: gt.from_dlpack([1]), gt.InvalidArgumentError,
                 "list has no __dlpack__; gantry.array(x) copies NumPy's values"),
                (lambda: gt.Array(), TypeError, "use gantry.array(values, dtype=..., device=...) to make an Array"),
                (lambda: len(gt.array(1)), TypeError, "a scalar has no length")):
            with self.assertRaises(error) as caught:
                call()
            self.assertEqual(str(caught.exception), text)
