"""Wrong calls: what they say, in full, and that it is said at the line of the call."""

import traceback
import unittest

import numpy as np

import gantry as gt
from gantry.compat import tf
from tests.support import HAS_COMPILER, NEEDS_COMPILER

TASK = "/job:localhost/replica:0/task:0/"
DEVICES = f"the devices are {TASK}device:CPU:0, {TASK}device:GPU:0, {TASK}device:GPU:1"
UNKNOWN = "which is not known while a function is traced; use gantry.cond, gantry.while_loop or ops, or return it"
leaked = []


def branch(x):
    if gt.sum(x) > 0:
        return x
    return -x


def leak(x):
    leaked.append(x)
    return x


def traced(python):
    """Calls a function with an array of 2 by 3."""
    return gt.function(python)(gt.ones(2, 3))


# A call on x, 2 by 3, and m, 3 by 4; the error; its text, where LINE is the call's own place.
CALLS = (
    (lambda x, m: gt.matmul(x, x), ValueError,
     "LINE 'gantry.matmul' op inner dimensions differ: [2,3] and [2,3] give 3 against 2"),
    (lambda x, m: x + gt.ones(4), ValueError, "LINE 'gantry.add' op operands cannot be broadcast to each other: [2,3] and [4]"),
    (lambda x, m: gt.add(x, gt.ones(2, 3, dtype="int32")), ValueError,
     "LINE 'gantry.add' op operands have different element types: 'f32' and 'i32'"),
    (lambda x, m: gt.compare(x, x, "about"), ValueError,
     "LINE attribute 'direction' of gantry.compare is 'about'; it is one of eq, ne, lt, le, gt, ge"),
    (lambda x, m: gt.ops.transpose(x, (0, 0)), ValueError,
     "LINE 'gantry.transpose' op [0,0] is not a permutation of 2 dimensions"),
    (lambda x, m: gt.ops.transpose(x, "ab"), ValueError, "attribute 'permutation' is a list of ints, got 'ab'"),
    (lambda x, m: gt.ops.softmax(x, 5), ValueError, "LINE 'gantry.softmax' op axis 5 is outside the 2 dimensions of the input"),
    (lambda x, m: gt.ops.softmax(x, 1.5), ValueError, "attribute 'axis' is an int, got 1.5"),
    (lambda x, m: gt.ops.transpose(x, [[1], [0]]), ValueError,
     "attributes are numbers, texts and flat lists of them, got permutation=([1], [0])"),
    (lambda x, m: gt.sum(x, 2), ValueError, "axis 2 of an array with 2 dimensions"),
    (lambda x, m: gt.reshape(x, (4, 2)), ValueError,
     "LINE 'gantry.reshape' op input 'tensor<2x3xf32>' has 6 elements, result 'tensor<4x2xf32>' has 8"),
    (lambda x, m: gt.reshape(x, (-1, 4)), ValueError, "float32[2, 3] cannot be reshaped to [-1, 4]"),
    (lambda x, m: gt.ops.reshape(x, (-1, 3)), ValueError, "the shape [-1, 3] has a size below 0"),
    (lambda x, m: gt.concat([x, m]), ValueError,
     "LINE 'gantry.concat' op operands 'tensor<2x3xf32>' and 'tensor<3x4xf32>' differ outside axis 0"),
    (lambda x, m: gt.concat([]), ValueError, "concat wants at least one array"),
    (lambda x, m: gt.exp(gt.array([1, 2])), ValueError,
     "LINE operand 'input' of gantry.exp is 'tensor<2xi32>'; its elements may be f32, f64, f16, bf16"),
    (lambda x, m: gt.ops.slice(x, (0, 0), (3, 3), (1, 1)), ValueError,
     "LINE 'gantry.slice' op dimension 0 reaches from 0 to 2, the input has 2 elements there"),
    (lambda x, m: gt.relu("text"), ValueError, "an array of NumPy's <U4 has no counterpart here"),
    (lambda x, m: gt.relu(x, device="TPU:0"), ValueError,
     "device name 'TPU:0', column 1: 'TPU' is not a device type; the types are CPU and GPU"),
    (lambda x, m: gt.relu(x, device="GPU:9"), RuntimeError, f"'relu' is placed on '{TASK}device:GPU:9': unknown device; {DEVICES}"),
    (lambda x, m: x.to("GPU:7"), RuntimeError, f"'{TASK}device:GPU:7': unknown device; {DEVICES}"),
    (lambda x, m: traced(branch), ValueError, f"a condition wants the value of Value(bool_[]), {UNKNOWN}"),
    (lambda x, m: traced(np.sin), ValueError, f"NumPy wants the value of Value(float32[2, 3]), {UNKNOWN}"),
    (lambda x, m: traced(float), ValueError, f"float() wants the value of Value(float32[2, 3]), {UNKNOWN}"),
    (lambda x, m: (traced(leak), traced(lambda a: a + leaked[0])), ValueError,
     "Value(float32[2, 3]) is of another function, which has been traced already; return it from there"),
    (lambda x, m: traced(lambda a: gt.cond(gt.sum(a) > 0, lambda: a, lambda: gt.sum(a))), ValueError,
     "on_false gives float32[], and on_true float32[2, 3]; these have to be the same"),
    (lambda x, m: traced(lambda a: gt.while_loop(lambda v: gt.sum(v) > 0, lambda v: gt.sum(v), a)), ValueError,
     "the body of a loop gives float32[], and what goes into it is float32[2, 3]; these have to be the same"),
    (lambda x, m: traced(lambda a: gt.while_loop(lambda v: v, lambda v: v, a)), ValueError,
     "the condition of a loop is one truth value, got float32[2, 3]"),
    (lambda x, m: gt.function(lambda a: a, placement="best")(x), ValueError,
     "unknown policy 'best' in --placement; known are default, follow, auto"),
    (lambda x, m: gt.function(lambda a: a, speed=3), TypeError, "function has no option 'speed'; the options are dims, devices, "
     "placement, rules, lock, max_copy, copies, soft, donate, replicate, limit, flags"),
    (lambda x, m: gt.function(lambda a: a, donate="b"), ValueError,
     "donate: 'b' is no parameter of '<lambda>' that is an array; its parameters are 'a'"),
    (lambda x, m: gt.random.uniform((2, -1)), ValueError, "the shape [2, -1] has a size below 0"),
    (lambda x, m: x[2], IndexError, "index 2 of axis 0, which has 2"),
    (lambda x, m: x[x], ValueError, "an index is an integer, a slice, ..., None, or integers in an array or a list; not "
     "float32"),
    (lambda x, m: x[x > 0], ValueError, "an index is an integer, a slice, ..., None, or integers in an array or a list; not "
     "bool_. How many elements a mask takes is known only when it runs: gantry.where keeps the shape"),
    (lambda x, m: gt.arange(3) + 0.5, ValueError,
     "0.5 is no int32, which the array is of; x.astype(...) gives one of another type"),
    (lambda x, m: 1 if x > 0 else 0, ValueError,
     "bool_[2, 3] is neither true nor false: say x.all(), x.any() or len(x) > 0"),
    (lambda x, m: gt.ops.top_k(x, 1, 9), ValueError, "LINE 'gantry.top_k' op k is 9, axis 1 has 3 elements"),
    (lambda x, m: gt.ops.gather(x, x, 0), ValueError,
     "LINE operand 'indices' of gantry.gather is 'tensor<2x3xf32>'; its elements may be i32, i64"),
    (lambda x, m: tf.keras.layers.ConvLSTM2D(1), AttributeError, "gantry.compat.tf.keras.layers has no 'ConvLSTM2D': layers, losses and "
     "metrics are gantry.nn, gantry.losses and gantry.metrics"),
    (lambda x, m: tf.einsum("ij->ji", x), AttributeError, "gantry.compat.tf has no 'einsum': gantry.ops has every op"),
)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class WrongCalls(unittest.TestCase):
    def test_text_and_line(self):
        x, m = gt.ones(2, 3), gt.ones(3, 4)
        for call, error, text in CALLS:
            line, said, lines = call.__code__.co_firstlineno, "no error", []
            with self.subTest(text):
                try:
                    call(x, m)
                except error as caught:
                    lines = [frame.lineno for frame in traceback.extract_tb(caught.__traceback__)
                             if frame.filename.endswith("test_wrong_calls.py")]
                    said = str(caught)
                self.assertEqual(said, text.replace("LINE", f"test_wrong_calls.py:{line}:1:"))
                self.assertIn(line, lines)

    def test_there_are_thirty(self):
        self.assertGreaterEqual(len(CALLS), 30)

    def test_what_was_refused_leaves_nothing(self):
        x = gt.ones(2, 3)
        before = gt.memory("GPU:0").used
        for _ in range(10):
            with self.assertRaises(ValueError):
                gt.matmul(x, x)
        self.assertEqual(gt.memory("GPU:0").used, before)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Indexing(unittest.TestCase):
    def test_as_numpy_has_it(self):
        values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        x = gt.array(values)
        for where in (0, -1, (1, 2), (slice(None), 1), (slice(0, 1), slice(None), slice(0, 4, 2)), (..., 3), (1, ..., 2),
                      slice(1, 1)):
            np.testing.assert_array_equal(x[where], values[where])
        self.assertEqual([row.shape for row in x], [(3, 4)] * 2)
