"""Training on several devices, simulated GPUs: against one device, and what is refused."""

import contextlib
import io
import tempfile
import unittest

import numpy as np

import gantry as gt
from gantry import nn, optim
from gantry.callbacks import Checkpoint
from gantry.data import Dataset
from tests.support import HAS_COMPILER, NEEDS_COMPILER, run
from tests.training import mirrored, scce

RANDOM = np.random.default_rng(3)
X, Y = RANDOM.standard_normal((28, 5)), RANDOM.integers(0, 3, 28)

# The tests of a file have two GPUs; programs of their own have three.
PROGRAM = """
import numpy as np
import gantry as gt
from gantry import losses, nn, optim
random = np.random.default_rng(3)
X, Y = random.standard_normal((28, 5)), random.integers(0, 3, 28)
"""


def network(*between, dtype="float64"):
    gt.random.seed(0)
    return nn.Sequential(nn.Dense(7, "tanh", dtype=dtype), *between, nn.Dense(3, dtype=dtype))


def trained(strategy, *between, optimizer=None, batch=9, epochs=6, dtype="float64", accumulate=1, **fit):
    """The trainer after some epochs, and the values of all variables of its network."""
    trainer = gt.Trainer(network(*between, dtype=dtype), loss=scce, optimizer=optimizer or optim.Adam(0.05), metrics=["accuracy"],
                         strategy=strategy, accumulate=accumulate)
    trainer.fit(X, Y, validation=(X[:5], Y[:5]), epochs=epochs, batch=batch, progress=False, **fit)
    return trainer, [variable.numpy() for variable in trainer.net.variables()]


def losses_by_step(strategy, steps=24):
    """The loss of each step, in float64."""
    net, adam, shards = network(), optim.Adam(0.05), strategy.shards
    strategy.adopt(net, adam)
    net(X[:1])

    @gt.function
    def step(x, y):
        made = strategy.each(gt.value_and_grad(lambda x, y: scce(y, net(x)), wrt=net, over="rows"), x, y, variables=net.variables())
        strategy.update(adam, net, [each and each[1] for each in made])
        return gt.distribute.total([each[0] * shard.share for each, shard in zip(made, shards(x.shape[0])) if each is not None])
    return [step(X[i % 3 * 9:][:10], Y[i % 3 * 9:][:10]).item() for i in range(steps)]


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Strategies(unittest.TestCase):
    def agrees(self, one, many, tolerance=1e-12):
        for mine, theirs in zip(one[1], many[1]):
            np.testing.assert_allclose(theirs, mine, rtol=0, atol=tolerance)
        for name, values in one[0].history.history.items():  # which are added up in float32
            np.testing.assert_allclose(many[0].history[name], values, rtol=0, atol=2e-6)

    def test_as_one_device(self):
        """28 rows in batches of 9: shards of 5 and 4, and a last batch of one row, so that a replica has none."""
        one = trained(None)
        for strategy in (mirrored(), mirrored(weights=[2, 1]), mirrored(weights={"GPU:1": 0, "GPU:0": 3}), mirrored(["CPU:0", "GPU:1"]),
                         mirrored(["GPU:1"]), gt.Towers(["GPU:0", "GPU:1"]), gt.Towers(["GPU:0", "GPU:1"], "GPU:1", weights=[1, 3])):
            with self.subTest(strategy):
                self.agrees(one, trained(strategy))

    def test_losses_of_24_steps(self):
        one = losses_by_step(mirrored(["GPU:0"]))
        self.assertLess(one[-1], one[0] / 2)
        for strategy in (mirrored(), mirrored(weights=[2, 1]), gt.Towers(["GPU:0", "GPU:1"])):
            with self.subTest(strategy):
                np.testing.assert_allclose(losses_by_step(strategy), one, rtol=0, atol=1e-12)

    def test_three_devices(self):
        """A last batch of one row on three devices, and rows by weights, of which the second device has none then."""
        said = run(PROGRAM + """
def trained(strategy):
    gt.random.seed(0)
    net = nn.Sequential(nn.Dense(7, "tanh", dtype="float64"), nn.Dense(3, dtype="float64"))
    trainer = gt.Trainer(net, loss=lambda y, o: losses.scce(y, o, from_logits=True), optimizer="nadam", strategy=strategy)
    trainer.fit(X, Y, epochs=6, batch=9, progress=False)
    return [variable.numpy() for variable in net.variables()]
one = trained(None)
for strategy in (gt.Mirrored(), gt.Mirrored(weights=[5, 1, 2]), gt.Towers()):
    print(len(strategy.devices), max(abs(a - b).max() for a, b in zip(one, trained(strategy))) < 1e-12)
""", devices="GPU:0,GPU:1,GPU:2")
        self.assertEqual(said.count("3 True\n"), 3, said)
        self.assertEqual(said.count("Using MirroredStrategy with devices ('GPU:0', 'GPU:1', 'GPU:2')\n"), 2, said)

    def test_one_step_of_float32(self):
        one = trained(None, epochs=1, batch=28, dtype="float32", optimizer=optim.SGD(0.1))
        self.agrees(one, trained(mirrored(), epochs=1, batch=28, dtype="float32", optimizer=optim.SGD(0.1)), 1e-6)

    def test_several_steps_a_run(self):
        self.agrees(trained(None, batch=7, steps_per_run=2), trained(mirrored(), batch=7, steps_per_run=2))

    def test_clipping_is_of_all_rows(self):
        clipped = lambda: optim.Adam(0.05, clip_global_norm=0.05)
        one = trained(None, optimizer=clipped())
        self.agrees(one, trained(mirrored(), optimizer=clipped()))
        self.agrees(one, trained(gt.Towers(["GPU:0", "GPU:1"]), optimizer=clipped()))

    def test_buckets_change_no_bit(self):
        """Gradients that are exchanged together: fewer copies, the same bytes; also where a replica has no row, with narrow weights in
        between and with a loss scale."""
        def learned(bucket):
            gt.random.seed(0)
            net = nn.Sequential(nn.Dense(7, "tanh"), lambda x: gt.cast(x, "float16"), nn.Dense(6, dtype="float16"),
                                nn.BatchNorm(dtype="float16"), nn.Dense(3, dtype="float16"))
            trainer = gt.Trainer(net, loss=scce, optimizer=optim.Adam(0.05, clip_global_norm=0.5), strategy=mirrored(bucket=bucket),
                                 loss_scale=optim.LossScale(initial=8.0))
            copies = len(trainer.plan(X[:9], Y[:9]).copies())
            trainer.fit(X, Y, epochs=3, batch=9, progress=False)
            return copies, [each.numpy().tobytes() for each in net.variables()]
        apart, values = learned(0)
        for bucket in (1, 100, 4 << 20):
            copies, own = learned(bucket)
            self.assertEqual(own, values)
            self.assertLessEqual(copies, apart)
        self.assertLess(copies, apart)
        one, several = (losses_by_step(mirrored(bucket=bucket)) for bucket in (0, 300))
        self.assertEqual(one, several)
        with self.assertRaisesRegex(gt.InvalidArgumentError, "a bucket is a number of bytes, got '4MiB'"):
            mirrored(bucket="4MiB")

    def test_mirrors_are_equal(self):
        trainer, _ = trained(mirrored())
        for variable in trainer.net.variables():
            self.assertEqual(variable.device, gt.gpu(0))
            mirror = gt.variables()[f"{variable.name}/replica_1"]
            self.assertEqual(mirror.device, gt.gpu(1))
            self.assertEqual(mirror.numpy().tobytes(), variable.numpy().tobytes())
        self.assertNotIn(f"{variable.name}/replica_1", gt.variables())  # which names each once

    def test_mirrors_follow_what_others_assign(self):
        """At once, in a function that knows no mirrors, and by an optimizer outside of the strategy."""
        made = []
        for strategy in (None, mirrored()):
            trainer, _ = trained(strategy, epochs=1)
            first = trainer.net[0].weight
            first.assign(first * 0.5)
            gt.function(lambda: first.assign_add(0.25))()
            slopes = gt.value_and_grad(lambda x, y: scce(y, trainer.net(x)), wrt=trainer.net)(gt.array(X), gt.array(Y))[1]
            trainer.optimizer.apply(trainer.net, slopes)
            trainer.fit(X, Y, epochs=2, batch=9, progress=False)
            made.append((trainer, [variable.numpy() for variable in trainer.net.variables()]))
        self.agrees(*made)

    def test_a_network_that_moves(self):
        trainer, values = trained(mirrored())
        trainer.net.to("GPU:1")
        for variable, value in zip(trainer.net.variables(), values):
            self.assertEqual(variable.device, gt.gpu(1))
            np.testing.assert_array_equal(variable.numpy(), value)

    def test_averages_of_batch_norm_are_of_all_rows(self):
        """In front of all weights, so that what comes in is the same however it is normalised."""
        def averages(strategy):
            gt.random.seed(0)
            net = nn.Sequential(nn.BatchNorm(unbiased=True, dtype="float64"), nn.Dense(3, dtype="float64"))
            gt.Trainer(net, loss=scce, strategy=strategy).fit(X, Y, epochs=2, batch=9, progress=False)
            return net[0].mean.numpy(), net[0].variance.numpy()
        for one, many in zip(averages(None), averages(mirrored(weights=[2, 1]))):
            np.testing.assert_allclose(many, one, rtol=0, atol=1e-14)

    def test_synchronised_batch_norms_are_of_all_rows(self):
        """As one device normalises, gradients too, whatever replicas and micro-batches there are; last batches are of one row."""
        norms = lambda sync: (nn.BatchNorm(unbiased=True, dtype="float64", sync=sync), nn.Dropout(0.3), nn.Dense(4, "tanh", dtype="float64"),
                              nn.BatchNorm(dtype="float64", sync=sync))
        one = trained(None, *norms(False), epochs=4)
        for strategy, accumulate in ((mirrored(), 1), (mirrored(weights=[2, 1]), 2), (gt.Towers(["GPU:0", "GPU:1"]), 1), (None, 3),
                                     (mirrored(parts=4), 1)):
            with self.subTest(strategy, accumulate=accumulate):
                self.agrees(one, trained(strategy, *norms(True), epochs=4, accumulate=accumulate))
        apart = trained(mirrored(), *norms(False), epochs=4)
        self.assertGreater(max(abs(a - b).max() for a, b in zip(apart[1], one[1])), 1e-3)

    def test_means_of_all_replicas(self):
        """Of values that one's own layer has: vector-Jacobian products, second derivatives and loops in front go with them."""
        strategy, w = mirrored(weights=[3, 1]), np.array([2.0, -1.0, 0.5, 1.0, 3.0])

        def apart(x, w):
            """Rows without their mean, which is of all replicas."""
            y = gt.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] * w), (gt.graph.tracing().value(0), x))[1]
            return y - gt.graph.tracing().replica.mean(gt.mean(y, 0), y.shape[0])

        @gt.function
        def made(x, w):
            def each(x):
                value, back = gt.vjp(lambda w: apart(x, w), w)
                slope = gt.grad(lambda w: gt.sum(gt.grad(lambda w: gt.sum(apart(x, w) ** 2), over="sum")(w)), over="sum")(w)
                return value, back(x)[0], slope
            parts = strategy.each(each, x)
            return gt.concat([part[0] for part in parts], 0), *(gt.distribute.total([part[i] for part in parts]) for i in (1, 2))
        value, back, slope = (each.numpy() for each in made(X, w))
        centred = X - X.mean(0)
        np.testing.assert_allclose(value, centred * w * w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(back, 2 * w * (X * centred).sum(0), rtol=0, atol=1e-12)
        np.testing.assert_allclose(slope, 12 * w * w * (centred * centred).sum(0), rtol=0, atol=1e-11)

    def test_dropout_is_that_of_one_device(self):
        """Bit for bit: masks alone, behind a dimension that rows were joined with, and behind a transpose."""
        def drawn(strategy, *layers):
            net = nn.Sequential(*layers)
            strategy.adopt(net)

            @gt.function
            def masks(x):
                gt.random.seed(5)
                with nn.module.training():
                    parts = strategy.each(net, x)
                return gt.concat([part for part in parts if part is not None], 0)
            return masks(np.ones((7, 6, 4), np.float32)).numpy()
        turned = lambda axes: lambda x: gt.transpose(x, axes)
        for layers in ([nn.Dropout(0.5)], [lambda x: gt.reshape(x, (x.shape[0] * 6, 4)), nn.Dropout(0.4)],
                       [turned((1, 0, 2)), nn.Dropout(0.5), turned((1, 0, 2))]):
            one = drawn(mirrored(["GPU:0"]), *layers)
            self.assertTrue(0.2 < (one == 0).mean() < 0.8)
            for strategy in (mirrored(), mirrored(weights=[1, 3]), gt.Towers(["GPU:1", "GPU:0"])):
                with self.subTest(strategy):
                    self.assertEqual(drawn(strategy, *layers).tobytes(), one.tobytes())

    def test_dropout_learns_as_on_one_device(self):
        self.agrees(trained(None, nn.Dropout(0.5)), trained(mirrored(), nn.Dropout(0.5)))

    def test_a_scope(self):
        with mirrored() as strategy, strategy.scope():
            trainer = gt.Trainer(network(), loss=scce)
        self.assertIs(trainer._strategy, strategy)
        self.assertIsNone(gt.Trainer(network(), loss=scce)._strategy)

    def test_by_the_name_of_tensorflow(self):
        from gantry.compat import tf
        with contextlib.redirect_stderr(io.StringIO()) as said:
            strategy = tf.distribute.MirroredStrategy()
        task = "/job:localhost/replica:0/task:0/device:"
        self.assertEqual(said.getvalue(), f"INFO:tensorflow:Using MirroredStrategy with devices ('{task}GPU:0', '{task}GPU:1')\n")
        with strategy.scope():
            self.assertIs(gt.Trainer(network(), loss=scce)._strategy, strategy)

    def test_a_loss_that_is_a_sum(self):
        """Gradients of a sum are added up as they are."""
        strategy, w = mirrored(), gt.Variable(np.ones(5), name="weights", device="GPU:0")

        @gt.function
        def slopes(x):
            f = gt.value_and_grad(lambda x: gt.sum(x * w), wrt=w, over="sum")
            return gt.distribute.total([each[1] for each in strategy.each(f, x, variables=[w])])
        np.testing.assert_allclose(slopes(X).numpy(), X.sum(0), rtol=1e-12)

    def test_shares(self):
        strategy = mirrored(weights=[3, 1])
        shares = gt.function(lambda x: strategy.each(lambda x: gt.share() * 1, x))
        self.assertEqual([each.item() for each in shares(X)], [0.75, 0.25])
        self.assertEqual(gt.share().item(), 1)


# A fit with all that could depend on the devices: last batches of 22, 9 and 5 rows are those of 86, 73 and 69 rows in batches of 32.
PARTS = """
import hashlib, sys
import numpy as np
import gantry as gt
from gantry import losses, nn, optim

def digest(devices, rows, options=None, kind="Mirrored", sync=False, **changes):
    gt.random.seed(0)
    random = np.random.default_rng(3)
    x, y = random.standard_normal((rows, 8, 8)).astype(np.float32), random.integers(0, 3, rows)
    strategy = getattr(gt, kind)(devices, **{"parts": 4, **(options or {})})
    net = nn.Sequential(nn.Flatten(), nn.Dense(90, "relu", name="wide"), nn.BatchNorm(name="norm", sync=sync), nn.Dropout(0.5, name="drop"),
                        nn.Dense(3, name="last"))
    optimizer = optim.Nadam(0.01, name="nadam", clip_global_norm=changes.pop("clip", None))
    trainer = gt.Trainer(net, loss=lambda y, o: losses.scce(y, o, from_logits=True), optimizer=optimizer, metrics=["accuracy"],
                         strategy=strategy, seed=4, **changes)
    trainer.fit(x, y, epochs=2, batch=32, progress=False)
    made = hashlib.sha256(repr(trainer.history.history).encode())
    for name, (values, _) in sorted(trainer._saved()[0].items()):
        made.update(name.encode() + values.tobytes())
    return made.hexdigest()

names = [f"GPU:{i}" for i in range(5)]
"""


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Parts(unittest.TestCase):
    """With the same parts the bytes of all that is learned, counted and kept are the same on all devices."""

    FIVE = ",".join(f"GPU:{i}" for i in range(5))

    def one_hash(self, program, devices=FIVE, **environment):
        said = run(PARTS + program, devices=devices, timeout=600, **environment)
        found = [line for line in said.splitlines() if len(line) == 64]
        self.assertTrue(found, said)
        self.assertEqual(len(set(found)), 1, said)
        return found[0]

    def test_numbers_of_devices(self):
        first = self.one_hash("""
for devices in (names[:1], names[:3], names, ["GPU:4", "CPU:0"]):
    print(digest(devices, 86))
print(digest(names[:2], 86, {"weights": [1, 3]}))
""")
        # On the host alone, with so many threads, and in drawn orders of commands.
        for threads in (1, 8):
            self.assertEqual(self.one_hash(f'gt.config(threads={threads})\nprint(digest(["CPU:0"], 86))', ""), first)
        self.assertEqual(self.one_hash('gt.config(sim_order="random:1")\nprint(digest(names[:3], 86))'), first)

    def in_order(self, seed, call):
        """The same with commands in an order that is drawn."""
        return self.one_hash(f'gt.config(sim_order="random:{seed}")\nprint({call})')

    def test_last_batches(self):
        for rows in (73, 69):
            known = self.one_hash(f"for n in (1, 3):\n    print(digest(names[:n], {rows}))")
            self.assertEqual(self.in_order(rows, f"digest(names[:3], {rows})"), known)

    def test_clipping(self):
        clipped = self.one_hash("for n in (1, 3):\n    print(digest(names[:n], 73, clip=0.5))")
        self.assertEqual(self.in_order(2, "digest(names[:3], 73, clip=0.5)"), clipped)
        self.assertNotEqual(clipped, self.one_hash("print(digest(names[:1], 73))"))

    def test_micro_batches(self):
        """22 rows are 3 and a last part of one row, which is one micro-batch."""
        known = self.one_hash("for n in (1, 3):\n    print(digest(names[:n], 86, accumulate=2))")
        self.assertEqual(self.in_order(3, "digest(names[:3], 86, accumulate=2)"), known)

    def test_synchronised_batch_norms(self):
        self.assertNotEqual(self.one_hash("for devices in (names[:1], names[:3], ['CPU:0']):\n    print(digest(devices, 73, sync=True))"),
                            self.one_hash("print(digest(names[:1], 73))"))

    def test_towers(self):
        self.one_hash("""
for n in (1, 3):
    print(digest(names[:n], 73, {"variables": "CPU:0"}, kind="Towers"))
""")

    def test_a_limit(self):
        """Parts go through one after the other: on one device they take less than 70 % of the transient bytes of the whole batch."""
        self.one_hash("""
x, y = np.zeros((64, 64, 4), np.float32), np.zeros(64, np.int64)

def trainer(parts, **limit):
    gt.random.seed(0)
    net = nn.Sequential(nn.Conv1D(32, 3, "relu", name="conv"), nn.Dropout(0.5, name="drop"), nn.Flatten(), nn.Dense(3, name="last"))
    return gt.Trainer(net, loss=lambda y, o: losses.scce(y, o, from_logits=True), optimizer=optim.Nadam(0.01, name="nadam"),
                      strategy=gt.Mirrored(["CPU:0"], parts=parts), **limit)

def learned(trainer):
    trainer.fit(np.random.default_rng(0).standard_normal(x.shape).astype(np.float32), y, epochs=2, batch=64, progress=False)
    return hashlib.sha256(b"".join(values.tobytes() for _, (values, _) in sorted(trainer._saved()[0].items()))).hexdigest()

whole = {each["kind"]: each["size"] for each in trainer(1).plan(x, y).description["arenas"]}
limit = whole["constants"] + whole["variables"] + x.nbytes + y.nbytes + whole["transient"] * 7 // 10
print(learned(trainer(8)))
print(learned(trainer(8, limit={"CPU:0": str(limit)})))
""", "")

    def test_as_without_parts(self):
        """But for the order of sums."""
        one = trained(None)
        for strategy in (gt.Mirrored(["GPU:0"], parts=4), gt.Mirrored(parts=3), gt.Towers(parts=2), gt.Mirrored(weights=[1, 4], parts=64)):
            with self.subTest(strategy):
                Strategies.agrees(self, one, trained(strategy))

    def test_shards(self):
        """Parts that have rows are dealt in ranges."""
        strategy = mirrored(weights=[3, 1])
        strategy.parts = 8
        told = lambda rows: [(each.number, repr(each.device), each.begin, each.rows) for each in strategy.shards(rows)]
        self.assertEqual(told(9), [(0, "GPU:0", 0, 2), (1, "GPU:0", 2, 2), (2, "GPU:0", 4, 2), (3, "GPU:0", 6, 2), (4, "GPU:1", 8, 1)])
        self.assertEqual([device for _, device, _, _ in told(16)], ["GPU:0"] * 6 + ["GPU:1"] * 2)
        self.assertEqual(repr(strategy), "Mirrored(['GPU:0', 'GPU:1'], weights=[3, 1], parts=8)")

    def test_micro_batches_of_one_device(self):
        """As the whole batch at once; 9 rows in two are 5 and 4."""
        one = trained(None)
        for count in (2, 4):
            trainer = gt.Trainer(network(), loss=scce, optimizer=optim.Adam(0.05), metrics=["accuracy"], accumulate=count)
            trainer.fit(X, Y, validation=(X[:5], Y[:5]), epochs=6, batch=9, progress=False)
            Strategies.agrees(self, one, (trainer, [variable.numpy() for variable in trainer.net.variables()]))

    def test_wrong_numbers(self):
        for parts in (0, 65, 2.0):
            with self.assertRaisesRegex(gt.InvalidArgumentError, f"a batch is cut into 1 to 64 parts, got {parts}"):
                gt.Towers(parts=parts)
        with self.assertRaisesRegex(gt.InvalidArgumentError, "a batch has at least one micro-batch, got accumulate=0"):
            gt.Trainer(network(), accumulate=0)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Refused(unittest.TestCase):
    def refused(self, text, call):
        with self.assertRaises(gt.InvalidArgumentError) as caught:
            call()
        self.assertEqual(str(caught.exception), text)

    def test_devices_and_weights(self):
        self.refused("Mirrored lists a device twice: GPU:0, GPU:0", lambda: gt.Mirrored(["GPU:0", "cuda:0"]))
        self.refused("Towers needs at least one device", lambda: gt.Towers([]))
        self.refused("weights are of GPU:0, and the devices are GPU:0, GPU:1",
                     lambda: gt.Mirrored(["GPU:0", "GPU:1"], weights={"GPU:0": 1}))
        self.refused("weights are whole numbers, one for each of 2 devices, not all of them 0, or \"auto\"; got [0, 0]",
                     lambda: gt.Mirrored(weights=[0, 0]))
        self.refused("weights are whole numbers, one for each of 2 devices, not all of them 0, or \"auto\"; got 'even'",
                     lambda: gt.Towers(weights="even"))
        with self.assertRaisesRegex(gt.InvalidArgumentError, "'a replica' is placed on .*GPU:7"):
            gt.Mirrored(["GPU:7"])
        with self.assertRaisesRegex(gt.InvalidArgumentError, "'a replica' is placed on .*GPU:2.*unknown device"):
            gt.Mirrored(["GPU:{1..2}"])
        self.refused("'GPU:{1..0}', column 5: the range ends before it begins", lambda: gt.Mirrored(["GPU:{1..0}"]))

    def test_a_range_and_a_star_are_several_devices(self):
        for given in (["GPU:{0..1}"], ["GPU:*"], ["GPU:0", "GPU:{1..1}"]):
            self.assertEqual(repr(mirrored(given).devices), "(GPU:0, GPU:1)")
        self.assertEqual(mirrored(["GPU:*"], weights={"GPU:{0..1}": 3}).weights, (3, 3))

    def each(self, f, *arrays, **named):
        strategy = mirrored()
        gt.function(lambda *given: strategy.each(f, *given, **named)).lower(*(arrays or (X,)))

    def test_a_loss_of_which_nothing_is_said(self):
        w = gt.Variable(np.ones(5), name="of", device="GPU:0")

        def loss(x):
            return gt.mean(x * w)
        text = ("'loss' is differentiated in a replica, which has only some of the batch's rows: say what the loss is. over=\"rows\": "
                "the mean over its rows, which counts by their share of the batch; over=\"sum\": a sum, or a mean over something else "
                "that is divided by what all replicas have of it")
        self.refused(text, lambda: self.each(gt.value_and_grad(loss, wrt=w), variables=[w]))
        self.refused(text, lambda: self.each(gt.grad(loss, wrt=w), variables=[w]))
        self.refused("over is 'batch'; it can be \"rows\", a mean over rows, or \"sum\"",
                     lambda: self.each(gt.grad(loss, wrt=w, over="batch"), variables=[w]))

    def test_assignments(self):
        w = gt.Variable(np.zeros(()), name="sum", device="GPU:0", trainable=False)
        self.refused("variable 'sum' is assigned in a replica, which has only some of the batch's rows: replicas would assign it "
                     "different values. Give the value and assign it behind the replicas, from what all of them have, or use assign_add: "
                     "what replicas add is added up", lambda: self.each(lambda x: w.assign(gt.sum(x))))

        def loss(x):
            w.assign_add(gt.sum(x))
            return gt.mean(x * x)
        self.refused("variable 'sum' is added to in a branch or loop, or in what is differentiated, of a replica; give the value "
                     "(has_aux=True) and add it there", lambda: self.each(gt.grad(loss, over="rows")))

    def test_what_cannot_be_drawn_in_parts(self):
        self.refused("replica 0 has 14 of 28 rows and draws [14, 14], where the whole batch draws [28, 28]: which part that is cannot be "
                     "told. Draw values with one dimension of rows",
                     lambda: self.each(lambda x: gt.random.uniform((x.shape[0], x.shape[0]))))

    def test_means_of_all_replicas(self):
        """In what the others may not enter, or do not have, and with what goes wrong in one of them."""
        mean = lambda x: gt.graph.tracing().replica.mean(gt.mean(x), x.shape[0])
        text = ("a mean over all replicas, as that of a synchronised batch norm, cannot be in a branch, a loop or a checkpoint of a replica, "
                "which the others may not enter")
        self.refused(text, lambda: self.each(lambda x: gt.cond(gt.sum(x) > 0, lambda: mean(x), lambda: gt.mean(x))))
        self.refused(text, lambda: self.each(lambda x: gt.checkpoint(mean)(x)))
        alike = ("replicas have to be alike in what they add up or normalise over all of them, in the same order: one of them does something "
                 "else there")
        weights = iter((True, True, False))  # the first is of the whole batch
        self.refused(alike, lambda: self.each(lambda x: mean(x) if next(weights) else gt.mean(x)))
        ends = []

        def fails(x):
            try:
                value = mean(x)
                if len(ends) == 1:
                    raise gt.InvalidArgumentError("one has failed")
                return value
            finally:
                ends.append(x.shape[0])
        self.refused("one has failed", lambda: self.each(fails))
        self.assertEqual(ends, [28, 14, 14])  # that of the whole batch, the one that failed, and the one that waited for it

    def test_ctrl_c_while_replicas_take_turns(self):
        """All of them end, and the next trace is as ever."""
        said = run("""
import os, signal, threading, time
import numpy as np
import gantry as gt
strategy, starts, ends = gt.Towers(), [], []
def each(x, stops):
    starts.append(x)
    try:
        if stops and len(starts) == 3:  # the second replica, for which the first one waits
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        return gt.graph.tracing().replica.mean(gt.mean(x), x.shape[0])
    finally:
        ends.append(x.shape[0])
x = np.arange(4.0)
try:
    gt.function(lambda x: strategy.each(lambda x: each(x, True), x))(x)
except KeyboardInterrupt:
    print("ended", list(ends), [float(each) for each in gt.function(lambda x: strategy.each(lambda x: each(x, False), x))(x)])
""")
        self.assertEqual(said, "ended [4, 2, 2] [1.5, 1.5]\n")

    def test_where_replicas_are(self):
        strategy = mirrored()
        self.refused("replicas are traced: call `each` in a gantry.function", lambda: strategy.each(lambda x: x, gt.array(X)))
        self.refused("replicas have no replicas of their own: list all devices on one strategy",
                     lambda: self.each(lambda x: strategy.each(lambda x: x, x)))
        self.refused("arrays of 28, 3 rows are no batch", lambda: self.each(lambda x, y: x, X, Y[:3]))



@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Files(unittest.TestCase):
    """Mirrors are one entry of a file, and get what their variables get."""

    def fit(self, epochs, folder, devices=("GPU:0", "GPU:1")):
        trainer = gt.Trainer(network(nn.Dropout(0.3)), loss=scce, optimizer=optim.Adam(0.05), strategy=mirrored(devices))
        data = Dataset.from_slices((X, Y)).shuffle(12, seed=2).batch(9)
        trainer.fit(data, epochs=epochs, progress=False, resume=folder, callbacks=[Checkpoint(folder, every_steps=3)])
        return trainer

    def test_a_fit_goes_on(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            whole = self.fit(5, other)
            self.fit(2, folder)
            resumed = self.fit(5, folder)
        self.assertEqual(resumed.history["loss"], whole.history["loss"])
        for a, b in zip(resumed.net.variables(), whole.net.variables()):
            np.testing.assert_array_equal(a.numpy(), b.numpy())

    def test_on_other_devices(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            whole = self.fit(4, other)
            self.fit(2, folder)
            resumed = self.fit(4, folder, ("GPU:1",))
        np.testing.assert_allclose(resumed.history["loss"], whole.history["loss"], rtol=1e-12)
        self.assertEqual({repr(each.device) for each in resumed.net.variables()}, {"GPU:1"})


if __name__ == "__main__":
    unittest.main()
