"""Arrays do what NumPy's do: operators, indices, methods, and what Python asks of containers and numbers. Types are never
mixed silently: what NumPy would promote is an error in words."""

import copy
import unittest

import numpy as np

import gantry as gt
from tests.support import HAS_COMPILER, NEEDS_COMPILER

F = np.arange(-3, 3, dtype=np.float32).reshape(2, 3) + 0.5
I = np.array([-7, 2, 5], np.int32)
U = np.array([250, 3], np.uint8)
B = np.array([True, False, True])
E = np.zeros((0, 3), np.float32)

# Each with the same meaning for both, on any of the operands.
EXPRESSIONS = {
    "numbers": lambda f, i, u, b, e: (f + 1, 2 - f, f * np.float64(1.5), np.int64(2) * f, i + np.int64(1), i * 2.0, u + 5,
                                      True + i, f == 0.5, 0 < i, [1.0, 2.0, 3.0] + f),
    "division": lambda f, i, u, b, e: (f / 2, i // 2, i % 3, f // 2, f % 2, 7 // i, divmod(i, 3)[0], divmod(i, 3)[1], u // 7),
    "bits": lambda f, i, u, b, e: (b & b, b | False, b ^ True, ~b, i & 6, i | 1, i ^ i, ~i, i << 1, i >> 1, 1 << (i & 3)),
    "signs": lambda f, i, u, b, e: (-f, +i, abs(i), f ** 2, 2 ** (i & 3)),
    "slices": lambda f, i, u, b, e: (f[0], f[-1, 1], f[:, 1], f[..., 0], f[1:], f[5:], f[1:1], f[()], f[:, ::2], e[:, 1]),
    "backwards": lambda f, i, u, b, e: (f[::-1], f[:, ::-2], i[2:0:-1], i[::-1][::-1], f[-1::-1, 1:], e[::-1], i[0:2:-1]),
    "new dimensions": lambda f, i, u, b, e: (f[None], f[:, None, 1], f[..., None], i[None, ::-1], f[None, ..., None]),
    "many": lambda f, i, u, b, e: (i[[0, 2]], f[:, [2, 0, -1]], f[[1]], i[np.array([[0, 1], [2, -3]])], f[None, [1, 0], 1:]),
    "products": lambda f, i, u, b, e: (f @ i.astype("float32"), f[0] @ f[1], f @ f.T, e @ f.T, f[:, :1] @ e[:0].reshape(1, 0)),
    "reductions": lambda f, i, u, b, e: (f.sum(), f.sum(axis=0), f.mean(1), f.max(axis=1, keepdims=True), f.prod(0), i.min(),
                                         e.sum(), e.prod(axis=1), b.all(), b.any(), f.any(axis=0), i.all(), e.all(),
                                         np.sum(f), np.mean(f, axis=0), np.max(f)),
    "searches": lambda f, i, u, b, e: (f.argmax(), f.argmin(axis=1), i.argmax(), f.argmax(axis=0)),
    "shapes": lambda f, i, u, b, e: (f.flatten(), f.ravel(), f.T, f.transpose(), f.transpose(1, 0), f.transpose((0, 1)),
                                     f[None].squeeze(), f[None].squeeze(0), f.reshape(3, -1), e.reshape(-1, 5), f.clip(-1, 1)),
    "elements": lambda f, i, u, b, e: (list(f)[1], [x for x in i][2], next(iter(f))),
}


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class LikeNumPy(unittest.TestCase):
    def test_expressions(self):
        there = [gt.array(values) for values in (F, I, U, B, E)]
        for what, expression in EXPRESSIONS.items():
            for number, (ours, numpys) in enumerate(zip(expression(*there), expression(F, I, U, B, E))):
                with self.subTest(what, number=number):
                    self.assertIsInstance(ours, gt.Array)
                    self.assertEqual(ours.shape, np.shape(numpys))
                    np.testing.assert_allclose(ours.numpy(), numpys, rtol=1e-6)

    def test_the_same_in_functions(self):
        def of(x, i):
            return x[::-1, None], x[:, [2, 0]], i // 2, i / 2, x @ x[0], gt.any(i > 2), gt.where(x > 0, x, 0.0), x + np.float64(1)

        ours = gt.function(of)(gt.array(F), gt.array(I))
        with_numpy = (F[::-1, None], F[:, [2, 0]], I // 2, I / 2, F @ F[0], np.any(I > 2), np.where(F > 0, F, 0), F + 1)
        for number, (one, other) in enumerate(zip(ours, with_numpy)):
            with self.subTest(number=number):
                self.assertEqual(one.shape, np.shape(other))
                np.testing.assert_allclose(one.numpy(), other, rtol=1e-6)

    def test_types(self):
        i, f, b = gt.array(I), gt.array(F), gt.array(B)
        for value, wanted in ((i / 2, "float32"), (i // 2, "int32"), (i.mean(), "float32"), (b.sum(), "int32"), (i.all(), "bool"),
                              (f + np.float64(1), "float32"), (f == 1, "bool"), (i.argmax(), "int64"), (f.clip(0, 1), "float32")):
            self.assertEqual(value.dtype, wanted)

    def test_sums_of_narrow_integers(self):
        """As wide as the default integer, with their sign, as the array API has it."""
        for dtype, wide in (("int8", "int32"), ("int16", "int32"), ("uint8", "uint32"), ("uint16", "uint32"), ("int32", "int32"),
                            ("uint32", "uint32"), ("int64", "int64"), ("uint64", "uint64"), ("bool", "int32"), ("float16", "float16")):
            values = np.array([1, 0, 1] if dtype == "bool" else [100, 110, 120], gt.dtypes.as_dtype(dtype).numpy)
            for made, wanted in zip((gt.sum(gt.array(values)), gt.array(values).prod(), gt.cumsum(gt.array(values), 0)),
                                    (values.sum(dtype=wide), values.prod(dtype=wide), values.cumsum(dtype=wide))):
                self.assertEqual((made.dtype, made.tolist()), (wide, wanted.tolist()), dtype)
        self.assertEqual(gt.cumsum(gt.array([[1, 2], [3, 4]])).tolist(), [1, 3, 6, 10])
        self.assertEqual(gt.function(lambda x: x.sum())(gt.array([100, 100], dtype="int8")).item(), 200)

    def test_remainders_and_quotients(self):
        """Signs of zeros, infinities, and quotients that the last bit would round to the next one."""
        values = np.array([-0.0, 0.0, 1, -1, 5.5, -5.5, 1e-3, np.inf, -np.inf, np.nan, 7], np.float32)
        others = np.array([1, -1, 0.0, 0.1, -0.1, -2.5, 3, np.inf, -np.inf, np.nan], np.float32)
        x, y = (each.reshape(-1) for each in np.meshgrid(values, others))
        for dtype in ("float32", "float64"):
            a, b = x.astype(dtype), y.astype(dtype)
            with np.errstate(all="ignore"):
                wanted = a % b, a // b
            for device in ("CPU:0", "GPU:0"):
                with gt.device(device):
                    made = gt.array(a) % gt.array(b), gt.array(a) // gt.array(b)
                for number, (one, other) in enumerate(zip(made, wanted)):
                    np.testing.assert_array_equal(one.numpy(), other, f"{dtype} {number}")
                    here = ~np.isnan(other)
                    np.testing.assert_array_equal(np.signbit(one.numpy())[here], np.signbit(other)[here], f"{dtype} {number}")
        self.assertTrue(np.signbit((gt.array([0.0]) % -1.0).numpy())[0])
        low = np.array([-2**31, 7], np.int32)
        np.testing.assert_array_equal((gt.array(low) // -1).numpy(), [-2**31, -7])

    def test_the_largest_of_nothing(self):
        e = gt.zeros(0, 3)
        for name in ("max", "min"):
            for call in (lambda: getattr(gt, name)(e), lambda: getattr(e, name)(axis=0), lambda: getattr(gt.zeros(0, 0), name)(1),
                         lambda: gt.function(lambda x: getattr(x, name)())(e)):
                with self.assertRaisesRegex(ValueError, r"has no elements along axis \d, of which one would be the largest"):
                    call()
            self.assertEqual(getattr(e, name)(axis=1).shape, (0,))
            self.assertEqual(getattr(e, name)(axis=()).shape, (0, 3))
        with self.assertRaises(ValueError):
            e.argmax()

    def test_powers_of_integers(self):
        i = gt.array(I)
        for call in (lambda: i ** -1, lambda: 2 ** gt.array([0, -1]), lambda: gt.pow(i, [1, 2, -3]), lambda: i ** i,
                     lambda: gt.function(lambda x: x ** -2)(i), lambda: gt.array([0], dtype="int8") ** -1):
            with self.assertRaisesRegex(ValueError, r"integers have no powers with exponents below 0; x.astype\('float32'\) has"):
                call()
        self.assertEqual((gt.array([0.0, 2.0]) ** -1).tolist(), [float("inf"), 0.5])
        self.assertEqual((gt.array([2, 3], dtype="uint8") ** 2).tolist(), [4, 9])
        self.assertEqual((i ** gt.array([0, 1, 2])).tolist(), [1, 2, 25])

    def test_numbers_that_a_type_cannot_hold(self):
        wrong = ((lambda: gt.arange(2**31, 2**31 + 3), "do not fit int32; give dtype='int64'"),
                 (lambda: gt.arange(250, 260, dtype="uint8"), "do not fit uint8, which goes from 0 to 255"),
                 (lambda: gt.arange(-1, 2, dtype="uint64"), "do not fit uint64"),
                 (lambda: gt.full(2, 2**40), "do not fit int32; give dtype='int64'"),
                 (lambda: gt.full(2, 300, dtype="uint8"), "do not fit uint8"),
                 (lambda: gt.full(2, 1.5, dtype="int32"), "1.5 is no int32; give another value or dtype"),
                 (lambda: gt.full(2, float("nan"), dtype="int32"), "do not fit int32"),
                 (lambda: gt.full(2, [1, 2]), r"full takes one value, got 2 in the shape \[2\]"),
                 (lambda: gt.array([2**63]), "do not fit int32; give dtype='uint64'"),
                 (lambda: gt.array([2.0**63], dtype="int64"), "do not fit int64"),
                 (lambda: gt.array([-2.0**63 - 2048], dtype="int64"), "do not fit int64"),
                 (lambda: gt.array([2.0**64], dtype="uint64"), "do not fit uint64"),
                 (lambda: gt.array([2**70]), "NumPy's object has no counterpart here"),
                 (lambda: gt.array([1j], dtype="float32"), "NumPy's complex128 has no counterpart here"),
                 (lambda: gt.array(["1"], dtype="int32"), "NumPy's <U1 has no counterpart here"),
                 (lambda: gt.array([1], dtype="int64") + 2.0**63, "is no int64"),
                 (lambda: gt.ops.softmax(gt.ones(2, 3), 2**64), "attribute 'axis' is 18446744073709551616, which has more than 64 bits"),
                 (lambda: gt.ops.transpose(gt.ones(2, 3), (1, 2**64)), "which has more than 64 bits"),
                 (lambda: gt.ops.reshape(gt.ones(2, 3), (2**64 + 2, 3)), "has a size that has more than 63 bits"))
        for call, text in wrong:
            with self.assertRaisesRegex(gt.InvalidArgumentError, text):
                call()
        for made, wanted in ((gt.arange(2**31, 2**31 + 3, dtype="int64"), [2**31, 2**31 + 1, 2**31 + 2]),
                             (gt.full(2, 2**40, dtype="int64"), [2**40] * 2), (gt.full(2, 255, dtype="uint8"), [255] * 2),
                             (gt.full(2, 3.0, dtype="int32"), [3, 3]), (gt.full((), True), True), (gt.full(2, 1, dtype="bool"), [True] * 2),
                             (gt.array([-2.0**63], dtype="int64"), [-2**63]), (gt.array([2**64 - 1], dtype="uint64"), [2**64 - 1]),
                             (gt.full(2, np.float64(0.1)), [0.1] * 2), (gt.full(2, gt.array(2.5)), [2.5] * 2), (gt.arange(3, 0, -1), [3, 2, 1]),
                             (gt.full((2, 0), 7), [[], []]), (gt.array([], dtype="uint8"), [])):
            self.assertEqual(made.tolist(), wanted)

    def test_what_a_type_cannot_hold(self):
        i, u, b, f = gt.array(I), gt.array(U), gt.array(B), gt.array(F)
        for wrong, text in ((lambda: i + 1.5, "1.5 is no int32"), (lambda: 1.5 * i, "1.5 is no int32"), (lambda: i < 2.5, "2.5 is no"),
                            (lambda: u + 300, "300 is no uint8"), (lambda: u - (-1), "-1 is no uint8"), (lambda: b == 2, "2 is no bool"),
                            (lambda: i ** 0.5, "0.5 is no int32"), (lambda: f + 1j, "1j is no float32"),
                            (lambda: i + float("nan"), "nan is no int32"), (lambda: i + [1, 2, 0.5], "is no int32"),
                            (lambda: gt.array([300], dtype="uint8"), "do not fit uint8, which goes from 0 to 255"),
                            (lambda: gt.array([float("inf")], dtype="int32"), "do not fit int32"),
                            (lambda: gt.function(lambda x: x + 0.5)(i), "0.5 is no int32"), (lambda: i + f, "different element types")):
            with self.assertRaisesRegex(gt.InvalidArgumentError, text):
                wrong()
        for wrong in (lambda: i + None, lambda: f + "x", lambda: f @ None, lambda: i & {}, lambda: f < "x"):
            with self.assertRaisesRegex(TypeError, "unsupported operand|not supported between"):
                wrong()
        self.assertIs(f == None, False)  # noqa: E711
        self.assertIs(f != "x", True)

    def test_wrong_indices(self):
        f, i = gt.array(F), gt.array(I)
        for wrong, text in ((lambda: f[2], "index 2 of axis 0, which has 2"), (lambda: f[0, 0, 0], "3 indices for an array with 2"),
                            (lambda: f[..., ...], "one ... at most"), (lambda: i[[0, 3]], "indices from 0 to 3 of an axis that has 3")):
            with self.assertRaisesRegex(IndexError, text):
                wrong()
        for wrong, text in ((lambda: f[True], "not bool"), (lambda: f[1.0], "not float"), (lambda: i[i > 0], "gantry.where"),
                            (lambda: f[[0], [1]], "gather_nd takes tuples"), (lambda: f["x"], "not str")):
            with self.assertRaisesRegex(gt.InvalidArgumentError, text):
                wrong()
        with self.assertRaisesRegex(TypeError, "do not change; gantry.ops.set_slice"):
            f[0] = 1
        with self.assertRaisesRegex(TypeError, "do not change"):
            del f[0]

    def test_containers_and_numbers(self):
        f, s = gt.array(F), gt.array(2.5)
        self.assertEqual((len(f), f.ndim, f.size, f.itemsize, f.nbytes), (2, 2, 6, 4, 24))
        self.assertTrue(0.5 in f and 9.0 not in f and bool(s))
        self.assertEqual((f"{s:.2f}", round(s), round(s, 1), float(s), int(s), complex(s)), ("2.50", 2, 2.5, 2.5, 2, 2.5 + 0j))
        self.assertEqual(repr(gt.array(E)), "Array([], shape=(0, 3), dtype=float32, device=CPU:0)")
        for wrong in (lambda: bool(f), lambda: bool(gt.array(E)), lambda: 1 if f > 0 else 0):
            with self.assertRaisesRegex(gt.InvalidArgumentError, r"neither true nor false: say x.all\(\)"):
                wrong()
        for wrong in (lambda: iter(s), lambda: len(s)):
            with self.assertRaisesRegex(TypeError, "a scalar has no"):
                wrong()
        x = y = gt.array([1.0, 2.0])
        x += 1
        self.assertEqual((x.tolist(), y.tolist()), ([2, 3], [1, 2]))
        for other in (f.copy(), copy.copy(f), copy.deepcopy(f)):
            self.assertIsNot(other, f)
            np.testing.assert_array_equal(other.numpy(), F)
        with self.assertRaisesRegex(ValueError, "NumPy gets a copy"):
            f.__array__(copy=False)

    def test_bfloat16(self):
        values = [1.5, -2.0, 3.140625, 1 + 2.0**-8, 1 + 3 * 2.0**-8, float("inf")]
        x = gt.array(values, dtype="bfloat16")
        self.assertEqual(x.tolist(), [1.5, -2.0, 3.140625, 1.0, 1 + 2.0**-6, float("inf")])  # ties to even
        self.assertEqual((x + x).astype("float32").tolist()[:3], [3.0, -4.0, 6.28125])
        self.assertEqual(gt.array(x.numpy(), dtype="bfloat16").tolist(), x.tolist())
        self.assertEqual((gt.array(x).dtype, gt.array(x).tolist()), ("bfloat16", x.tolist()))
        self.assertEqual(gt.array(x, dtype="float64").tolist(), x.tolist())
        self.assertEqual((gt.ones(2, dtype="bfloat16").tolist(), gt.full(2, 1.5, dtype="bfloat16").tolist()), ([1, 1], [1.5, 1.5]))
        self.assertEqual(gt.function(lambda y: y + x)(x).tolist(), (x + x).tolist())  # a constant of a function
        self.assertTrue(np.isnan(gt.array(float("nan"), dtype="bfloat16").item()))
        self.assertIn("1.5", repr(x))

    def test_on_devices(self):
        x = gt.array(F, device="GPU:1")
        for made in (x[::-1], x[None], x[[1]], x // 2, x.any(), x @ x.T, x[0] @ x[1], gt.where(x > 0, x, 0.0), gt.zeros_like(x),
                     gt.full_like(x, 7), x.argmax(), x.clip(0, 1)):
            self.assertEqual(made.device, "GPU:1")
        self.assertEqual(gt.full_like(x, 7).tolist(), [[7, 7, 7]] * 2)
        self.assertEqual(gt.ones_like(x, dtype="int32").tolist(), [[1, 1, 1]] * 2)
        self.assertEqual(gt.expand_dims(x, -1).shape, (2, 3, 1))
