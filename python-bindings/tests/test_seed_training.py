"""The seeds' rows about training, by Gantry's own names and by the seeds' own lines: numbers are those of the table (seed_rows.py)."""

import contextlib
import functools
import io
import json
import pathlib
import re
import tempfile
import textwrap
import unittest

import numpy as np

import gantry as gt
from gantry import callbacks, losses, nn, optim
from gantry.compat.d2l import torch as d2l
from gantry.compat.tf import v1
from tests.seed_lines import TASK
from tests.seed_training_lines import BOOK, MIRRORED, NETWORKS, REUTERS, SUMMARY, TOWERS
from tests.support import HAS_COMPILER, NEEDS_COMPILER, run

try:
    import torch
except ImportError:
    torch = None

WORDS, LENGTH, CLASSES = 10000, 300, 46


def reuters(activation="softmax"):
    """The network of rows 46 to 48."""
    return nn.Sequential(nn.Embedding(WORDS, 7), nn.Conv1D(64, 5, activation="relu"), nn.MaxPool1D(2),
                         nn.Conv1D(32, 3, activation="relu"), nn.MaxPool1D(2), nn.Flatten(), nn.Dense(CLASSES, activation))


def texts(rows):
    random = np.random.default_rng(3)
    return random.integers(0, WORDS, (rows, LENGTH)).astype(np.int32), random.integers(0, CLASSES, rows).astype(np.int32)


def printed(call):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
        call()
    return out.getvalue(), said.getvalue()


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Training(unittest.TestCase):
    def test_35_fits_or_fails_before_the_run(self):
        x, y = np.zeros((16, 28, 28, 1), np.float32), np.zeros(16, np.int32)
        for device in ("CPU:0", "GPU:0"):
            with gt.device(device):
                net = nn.Sequential(nn.Conv2D(32, 3, "relu"), nn.MaxPool2D(2), nn.Flatten(), nn.Dense(10, "softmax"))
                trainer = gt.Trainer(net, limit={device: "1MiB"})
                with self.assertRaises(gt.OutOfMemoryError) as caught:
                    trainer.fit(x, y, progress=False)
                self.assertIn(device, str(caught.exception))
                self.assertIn("1 MiB", str(caught.exception))
                self.assertEqual(int(trainer.optimizer.step), 0)
        with gt.device("CPU:0"):
            roomy = gt.Trainer(net.to("CPU:0"), limit={"CPU:0": "64MiB"})
            roomy.fit(x, y, progress=False)
            self.assertEqual(int(roomy.optimizer.step), 1)

    def test_37_the_bar(self):
        x, y = texts(9)
        out, _ = printed(lambda: gt.Trainer(reuters()).fit(x, y, batch=4))
        self.assertRegex(out, r"^Epoch 1/1\n3/3 \[={30}\] - \d+s \d+(us|ms|s)/step - loss: \d+\.\d{4}\n$")

    def test_46_47_48_the_network(self):
        net = reuters()
        self.assertEqual(net(texts(2)[0]).shape, (2, CLASSES))
        shapes = [w.shape for w in net.parameters()]
        self.assertEqual(shapes, [(WORDS, 7), (64, 7, 5), (64,), (32, 64, 3), (32,), (73 * 32, CLASSES), (CLASSES,)])
        out, _ = printed(net.summary)
        count = sum(int(np.prod(shape)) for shape in shapes)
        self.assertIn(f"{count:,} parameters, 0 of them not trainable, {4 * count:,} bytes", out)
        self.assertRegex(out, r"embedding\w* \(Embedding\) +\[2, 300, 7\] +70,000 +280,000 +GPU:0\n")  # where ops go by default
        self.assertRegex(out, r"max_pool\w* \(MaxPool\) +\[2, 148, 64\] +0 +0 +-\n")

    def test_47_two_softmaxes_are_told(self):
        scce = functools.partial(losses.scce, from_logits=True)
        trainer = gt.Trainer(reuters(), loss=scce, optimizer=optim.Nadam(), metrics=["accuracy", "top_5"])
        x, y = texts(8)
        out, said = printed(lambda: trainer.fit(x, y))
        self.assertEqual(re.findall(r"stays above ([\d.]+)", said), ["2.8653"])
        self.assertRegex(out, r" - loss: 3\.\d{4} - accuracy: \d\.\d{4} - top_5: \d\.\d{4}\n$")
        _, said = printed(lambda: gt.Trainer(reuters(None), loss=scce).fit(x, y))
        self.assertEqual(said, "")

    def test_46_47_48_strictly_on_a_gpu(self):
        """Every op of the step is on the device that is asked for, nothing comes back to the host, and the bytes are a CPU's."""
        x, y = texts(4)
        scce = functools.partial(losses.scce, from_logits=True)

        def fitted(device):
            gt.random.seed(9)
            with gt.device(device, soft="strict"):
                net = reuters(None).to(device)
                trainer = gt.Trainer(net, loss=scce, optimizer=optim.Nadam(), metrics=["accuracy", "top_5"], max_copy={"d2h": 0})
                trainer.fit(x, y, batch=4, progress=False)
                said = trainer.plan(x[:4], y[:4]).explain(json=True)
            return net, trainer, said["functions"][0]["ops"]
        (net, trainer, ops), (known, _, _) = fitted("GPU:0"), fitted("CPU:0")
        self.assertEqual({op["device"].rpartition("device:")[2] for op in ops }, {"GPU:0"})
        self.assertEqual({w.device for w in net.parameters()}, {gt.gpu(0)})
        for (name, w), same in zip(net.named_parameters(), known.parameters()):
            self.assertEqual(w.numpy().tobytes(), same.numpy().tobytes(), name)
        self.assertEqual(set(trainer.history.history), {"loss", "accuracy", "top_5"})
        with self.assertRaisesRegex(gt.GantryError, "GPU:7"):
            reuters().to("GPU:7")(x)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_47_steps_are_those_of_pytorch(self):
        """10 steps in f64, from the same parameters and in the same order: losses of both, and the parameters at the end."""
        wide = {"dtype": "float64"}
        net = nn.Sequential(nn.Embedding(WORDS, 7, **wide), nn.Conv1D(64, 5, "relu", **wide), nn.MaxPool1D(2),
                            nn.Conv1D(32, 3, "relu", **wide), nn.MaxPool1D(2), nn.Flatten(), nn.Dense(CLASSES, **wide))
        x, y = texts(4 * 10)
        x[:, :200] = 0  # padded, so that windows have ties
        with gt.device("CPU:0"):
            net(x[:4])
            T = lambda a: torch.tensor(a, requires_grad=True)
            own = [T(w.numpy()) for w in net.parameters()]
            theirs, F = torch.optim.Adam(own, 0.001), torch.nn.functional
            adam, losses_of = optim.Adam(0.001), []

            @gt.function
            def step(x, y):
                loss, slopes = gt.value_and_grad(lambda x, y: losses.scce(y, net(x), from_logits=True), wrt=net)(x, y)
                adam.apply(net, slopes)
                return loss

            for start in range(0, len(x), 4):
                a, b = x[start:start + 4], y[start:start + 4]
                h = own[0][torch.tensor(a).long()].transpose(1, 2)
                h = F.max_pool1d(F.relu(F.conv1d(h, own[1], own[2])), 2)
                h = F.max_pool1d(F.relu(F.conv1d(h, own[3], own[4])), 2)
                loss = F.cross_entropy(h.transpose(1, 2).reshape(4, -1) @ own[5] + own[6], torch.tensor(b).long())
                theirs.zero_grad()
                loss.backward()
                theirs.step()
                losses_of.append((float(step(a, b)), float(loss)))
        self.assertLess(max(abs(ours - known) for ours, known in losses_of), 1e-9)
        for w, known in zip(net.parameters(), own):
            np.testing.assert_allclose(w.numpy(), known.detach().numpy(), atol=1e-7)

    def test_63_64_65_on_the_gpu(self):
        net = nn.Sequential(nn.Dense(1)).to(gt.try_gpu())
        x = gt.ones(2, 3, device=gt.try_gpu())
        y = net(x)
        self.assertEqual((y.shape, y.device), ((2, 1), gt.gpu()))
        self.assertEqual(net[0].weight.device, gt.gpu())
        self.assertEqual([w.device for w in net.parameters()], [gt.gpu(), gt.gpu()])
        default = nn.Dense(1)
        gt.Trainer(default, "mse", metrics=["mae"], max_copy={"d2h": 0}).fit(np.ones((4, 3), np.float32), np.ones((4, 1), np.float32), progress=False)
        self.assertEqual(default.weight.device, gt.gpu())
        with gt.device("CPU:0"):
            inside = nn.Dense(1)
            inside(x)
        self.assertEqual(inside.weight.device, gt.cpu())
        parts = nn.Sequential(nn.Dense(3), nn.Dense(2)).to("GPU:1")
        parts[1].to("GPU:0")
        self.assertEqual(parts(x).device, gt.gpu(0))
        self.assertIn("GPU:0 2, GPU:1 2", str(parts.lower(x).plan().explain()))
        moved = net.to("GPU:1")
        self.assertIs(moved, net)
        self.assertEqual({w.device for w in net.parameters()}, {gt.gpu(1)})
        z = net(x)
        np.testing.assert_array_equal(z.numpy(), y.numpy())
        self.assertEqual(z.device, gt.gpu(1))  # it is computed where the network is
        with gt.device("CPU:0"):
            self.assertEqual(net(x).device, gt.cpu())

    def test_66_training_where_the_network_is(self):
        net = nn.Sequential(nn.Dense(1)).to("GPU:1")
        x = np.random.default_rng(0).standard_normal((64, 2)).astype(np.float32)
        y = (x @ [[2.0], [-3.4]] + 4.2).astype(np.float32)
        trainer = gt.Trainer(net, loss="mse", optimizer=optim.SGD(0.2, clip_global_norm=100.0), max_copy={"d2h": 0, "d2d": 0})
        trainer.fit(x, y, epochs=10, progress=False)
        self.assertRegex(str(trainer.plan(x[:32], y[:32]).explain()), r"placed (\d+) ops: GPU:1 \1;")
        np.testing.assert_allclose(net[0].weight.numpy(), [[2.0], [-3.4]], atol=0.05)
        self.assertEqual(net[0].weight.device, gt.gpu(1))


def spoken(program, names=None):
    """The names that a program has in the end, and what it has printed on both streams."""
    space, out = {"__name__": "__main__", **(names or {})}, io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        exec(compile(textwrap.dedent(program), "<seed>", "exec"), space)
    return space, out.getvalue()


def class_loss(w, b, x, y):
    """The mean cross-entropy of a softmax, and its gradients, in float64."""
    z = x @ w + b
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    slope = (p - np.eye(len(b))[y]) / len(x)
    return -np.log(p[np.arange(len(y)), y]).mean(), x.T @ slope, slope.sum(0)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Lines(unittest.TestCase):
    """The seeds' own lines (seed_training_lines.py), a test for each row; placement is strict, as everywhere by default."""

    @classmethod
    def setUpClass(cls):
        cls._said = {}

    def of(self, program, **names):
        """A program is run once for all rows that it is of."""
        key = program, tuple(names.items())
        if key not in self._said:
            try:
                self._said[key] = spoken(program, names)
            finally:
                v1.reset_default_graph()
        return self._said[key]

    # ---- a model of one number ----

    def test_16_mirrored(self):
        space, said = self.of(MIRRORED)
        self.assertIn(f"INFO:tensorflow:Using MirroredStrategy with devices ('{TASK}GPU:0', '{TASK}GPU:1')\n", said)
        self.assertIn(f"Executing op RandomUniform in device {TASK}GPU:0\n", said)  # once, and copied to the others
        self.assertNotIn(f"RandomUniform in device {TASK}GPU:1", said)
        plan = space["model"]._trainer.plan(space["x"][:10], space["x"][:10])
        ops = [(op["device"].rpartition("device:")[2], op["name"].split("/")[0]) for op in plan.explain(json=True)["functions"][0]["ops"]]
        self.assertEqual({device for device, name in ops if name != "StridedSlice"}, {"GPU:0", "GPU:1"})  # rows are split where they come from
        # Four steps of NumPy.
        (w, b), x = [each.astype(np.float64) for each in space["begin"]], space["x"].astype(np.float64)
        for part in np.split(x, 4):
            slope = 2 * (part * w + b - (3 * part + 1)) / len(part)
            w, b = w - 0.2 * (part * slope).sum(), b - 0.2 * slope.sum()
        np.testing.assert_allclose([space["after"][0][0][0], space["after"][1][0]], [w.item(), b.item()], rtol=1e-5)

    def test_17_rows_are_split(self):
        space, _ = self.of(MIRRORED)
        self.assertEqual(space["rows"], [(0, 5), (5, 5)])
        strategy = space["strategy"]
        self.assertEqual([shard.rows for shard in strategy.shards(7)], [4, 3])

    # ---- towers ----

    def towers(self, num_gpus=2, variables=None, normalised=False):
        return self.of(TOWERS, num_gpus=num_gpus, VARIABLES=variables, NORMALISED=normalised)[0]

    def by_numpy(self, space, steps=6):
        """The losses of steps on whole batches, from the same values."""
        own = {re.sub(r"_\d+$", "", name): values.astype(np.float64) for name, values in space["own"].items()}  # of other programs beside it
        w, b = own["loss/w"], own["loss/b"]
        losses = []
        for step in range(steps):
            rows = slice(step % 4 * 12, step % 4 * 12 + 12)
            loss, *slopes = class_loss(w, b, space["X"][rows].astype(np.float64), space["Y"][rows])
            w, b = (value - 0.5 * 0.9 ** (step // 2) * slope for value, slope in zip((w, b), slopes))
            losses.append(loss)
        return losses, w, b

    def test_24_towers(self):
        space = self.towers()
        self.assertEqual([loss.device for loss in space["losses"]], [gt.gpu(0), gt.gpu(1)])
        self.assertEqual(sorted(space["graph"].variables), ["global_step", "loss/b", "loss/w"])
        np.testing.assert_allclose(space["seen"], self.by_numpy(space)[0], rtol=1e-5)

    def test_25_gradients_are_averaged(self):
        """What variables are after six steps: halves are equal, so that the mean of their gradients is the batch's."""
        space = self.towers()
        _, w, b = self.by_numpy(space)
        np.testing.assert_allclose(space["graph"].variables["loss/w"].numpy(), w, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(space["graph"].variables["loss/b"].numpy(), b, rtol=1e-4, atol=1e-6)

    def test_26_updates_and_steps(self):
        space = self.towers(normalised=True)
        self.assertEqual(int(space["global_step"]), 6)
        self.assertEqual(len(space["update_ops"]), 4)  # a mean and a variance of each tower
        self.assertTrue({each.node for each in space["update_ops"]} <= set(space["train_op"].node.after))
        average = np.zeros(8)  # of towers of 6 rows, one behind the other
        for step in range(6):
            for tower in range(2):
                begin = step % 4 * 12 + tower * 6
                average = average * 0.99 + 0.01 * space["X"][begin:begin + 6].mean(0)
        np.testing.assert_allclose(space["graph"].variables["loss/bn/mean"].numpy(), average, rtol=1e-4, atol=1e-6)

    def test_27_where_variables_are(self):
        space = self.towers()
        self.assertEqual({repr(variable.device) for _, variable in space["mean_grads"]}, {"GPU:0"})  # all on the first GPU
        space = self.towers(variables="/cpu:0")
        self.assertEqual({repr(variable.device) for _, variable in space["mean_grads"]}, {"CPU:0"})
        np.testing.assert_allclose(space["seen"], self.by_numpy(space)[0], rtol=1e-5)

    def test_28_three_gpus(self):
        said = run("num_gpus, VARIABLES, NORMALISED = 3, '/cpu:0', False\n" + TOWERS +
                   "import json\nprint(json.dumps([[repr(each.device) for each in losses], seen, {key: each.tolist() for key, each in own.items()},"
                   "                  X.tolist(), Y.tolist()]))\n", devices="GPU:0,GPU:1,GPU:2")
        devices, seen, own, x, y = json.loads(said)
        self.assertEqual(devices, ["GPU:0", "GPU:1", "GPU:2"])
        space = {"own": {key: np.array(each) for key, each in own.items()}, "X": np.array(x), "Y": np.array(y)}
        np.testing.assert_allclose(seen, self.by_numpy(space)[0], rtol=1e-5)

    def test_29_a_strategy_of_ones_own(self):
        """Parts by how fast devices are: the steps are those of one device."""
        with contextlib.redirect_stderr(io.StringIO()):
            strategy = gt.Mirrored(weights={"GPU:0": 2, "GPU:1": 1})
        self.assertEqual([shard.rows for shard in strategy.shards(12)], [8, 4])
        x = np.linspace(-1, 1, 36, dtype=np.float32)[:, None]
        made = []
        for own in (strategy, None):
            gt.random.seed(2)
            net = nn.Dense(1)
            gt.Trainer(net, "mse", optim.SGD(0.2), strategy=own).fit(x, 3 * x + 1, batch=12, progress=False)
            made.append(net.weight.numpy())
        np.testing.assert_allclose(*made, rtol=1e-6)

    def test_30_the_slowest_decides(self):
        with contextlib.redirect_stderr(io.StringIO()):
            trainer = gt.Trainer(nn.Dense(64), "mse", strategy=gt.Mirrored(weights={"GPU:0": 9, "GPU:1": 1}))
        plan = trainer.plan(np.ones((4000, 64), np.float32), np.ones((4000, 64), np.float32))
        busy = {each["device"].rpartition("device:")[2]: each["predicted_compute_seconds"]
                for each in plan.explain(json=True)["functions"][0]["devices"]}
        self.assertGreater(busy["GPU:0"], busy["GPU:1"])

    # ---- texts ----

    def reuters(self):
        if "TEXTS" not in vars(type(self)):
            folder = tempfile.TemporaryDirectory()
            self.addClassCleanup(folder.cleanup)
            random, texts = np.random.default_rng(0), np.empty(80, object)
            texts[:] = [random.integers(1, 500, random.integers(5, 60)).tolist() for _ in range(80)]
            type(self).TEXTS = f"{folder.name}/reuters.npz"
            np.savez(self.TEXTS, x=texts, y=np.concatenate([np.arange(46), random.integers(0, 46, 34)]))
        return self.of(REUTERS, TEXTS=self.TEXTS)

    def test_37_the_bar_of_keras(self):
        said = "".join(line + "\n" for line in self.reuters()[1].splitlines() if "remark" not in line)
        self.assertRegex(said, r"\nEpoch 1/2\n2/2 \[={30}\] - \d+s \d+(us|ms|s)/step - loss: 3\.\d{4} - sparse_categorical_accuracy: \d\.\d{4} - "
                         r"sparse_top_k_categorical_accuracy: \d\.\d{4} - val_loss: \d\.\d{4} - val_sparse_categorical_accuracy: \d\.\d{4} - "
                         r"val_sparse_top_k_categorical_accuracy: \d\.\d{4}\nEpoch 2/2\n")

    def test_38_data_are_ready_in_time(self):
        space, said = self.reuters()
        rows = space["ds_train"]
        self.assertEqual((len(rows), [len(x) for x, _ in rows]), (2, [32, 32]))
        self.assertEqual(repr(rows), "Dataset(from_slices(64 rows), shuffle(1000, seed=0), batch(32), cache())")
        self.assertEqual(said.count("remark: cache behind shuffle repeats the order of the first epoch"), 2)
        self.assertEqual(rows._own._filled, 2)  # a thread is ahead

    def test_43_one_device_learns_the_same(self):
        """A step on two devices and on one, from the same values."""
        space, _ = self.reuters()
        x, y, made = space["x_train"][:32], space["y_train"][:32], []
        for strategy in (space["strategy"], contextlib.nullcontext()):
            gt.random.seed(4)
            with strategy:
                model = space["compile_model"](space["create_model"]())
            with contextlib.redirect_stderr(io.StringIO()):
                model.fit(x, y, epochs=1, verbose=0, shuffle=False)
            made.append(model.get_weights())
        for mine, theirs in zip(*made):
            np.testing.assert_allclose(mine, theirs, atol=2e-6)

    def test_44_texts(self):
        space, _ = self.reuters()
        self.assertEqual((space["x_train"].shape, space["x_test"].shape, space["CAT_NUM"]), ((64, 300), (16, 300), 46))
        (x, y), _ = space["datasets"].reuters.load_data(self.TEXTS, num_words=100, start_char=None, index_from=0)
        self.assertTrue(all(word < 100 for text in x for word in text))
        with np.load(self.TEXTS, allow_pickle=True) as file:  # Keras's own order of its seed
            order = np.arange(80)
            np.random.RandomState(113).shuffle(order)
            wanted = [[word if word < 100 else 2 for word in file["x"][i]] for i in order]
            self.assertEqual(x.tolist(), wanted[:64])
            self.assertEqual(y.tolist(), file["y"][order][:64].tolist())
            longest = [text for text in ([1] + [word + 3 for word in file["x"][i]] for i in order) if len(text) < 20]
        (x, _), (other, _) = space["datasets"].reuters.load_data(self.TEXTS, maxlen=20)
        self.assertEqual([*x, *other], longest)

    def test_44_what_a_file_may_not_hold(self):
        with tempfile.TemporaryDirectory() as folder:
            path, bad = f"{folder}/bad.npz", np.empty(1, object)
            bad[0] = pathlib.PurePosixPath("x")
            np.savez(path, x=bad, y=np.zeros(1))
            with self.assertRaisesRegex(gt.GantryError, "the file holds pathlib.PurePosixPath, and may hold lists and numbers alone"):
                gt.data.reuters(path)
            np.savez(path, x=np.zeros(1))
            with self.assertRaisesRegex(gt.GantryError, "bad.npz has x, and not x and y"):
                gt.data.reuters(path)
            with self.assertRaisesRegex(gt.NotFoundError, "there is no none.npz, here or in ~/.keras/datasets, and Gantry downloads nothing"):
                gt.data.reuters("none.npz")

    def test_45_clear_session(self):
        space, _ = self.reuters()
        self.assertIsNone(space["backend"].clear_session())
        self.assertEqual(space["tf"].keras.backend, space["backend"])

    def test_46_the_network(self):
        model = self.reuters()[0]["model"]
        words = int(self.reuters()[0]["MAX_WORDS"])
        self.assertEqual([each.shape for each in model.get_weights()],
                         [(words, 7), (5, 7, 64), (64,), (3, 64, 32), (32,), (73 * 32, 46), (46,)])
        kernel = model.get_weights()[1]
        model.set_weights(model.get_weights())
        np.testing.assert_array_equal(model.layers[1].weight.numpy(), kernel.transpose(2, 1, 0))

    def test_47_logits_of_the_softmax(self):
        """As Keras on TensorFlow: the loss is below what two softmaxes allow where the labels are learnt, and a remark says so."""
        space, said = self.reuters()
        self.assertEqual(said.count("remark: sparse_categorical_crossentropy with from_logits=True is given what a softmax gave; as Keras does, it takes "
                                    "what went into the softmax\n"), 1)
        self.assertNotIn("so that there are two", said)
        model, x, y = space["model"], space["x_train"], space["y_train"]
        p = model.predict(x).astype(np.float64)
        known = -np.log(p[np.arange(len(y)), y]).mean()
        loss, top_1, top_5 = model.evaluate(x, y)
        np.testing.assert_allclose(loss, known, rtol=1e-5)
        order = np.argsort(-p, 1)
        np.testing.assert_allclose([top_1, top_5], [(order[:, 0] == y).mean(), (order[:, :5] == y[:, None]).any(1).mean()], atol=1e-6)

    def test_48_summary(self):
        space, said = self.reuters()
        words, others = int(space["MAX_WORDS"]), 2304 + 6176 + 107502
        wanted = SUMMARY.replace("%d\n", f"{words * 7}".ljust(10) + "\n") + \
            f"Total params: {words * 7 + others:,}\nTrainable params: {words * 7 + others:,}\nNon-trainable params: 0\n{'_' * 65}\n"
        plain = lambda text: re.sub(r" +", " ", re.sub(r"(_\d+)? +\(", " (", re.sub(r"sequential_\d+", "sequential", text)))
        self.assertIn(plain(wanted), plain(said))  # names have other numbers beside other programs

    def test_49_history(self):
        history = self.reuters()[0]["history"]
        own = ["loss", "sparse_categorical_accuracy", "sparse_top_k_categorical_accuracy"]
        self.assertEqual(list(history.history), own + [f"val_{name}" for name in own])
        self.assertEqual(({len(each) for each in history.history.values()}, history.epoch), ({2}, [0, 1]))

    # ---- the book ----

    def network(self, tab):
        lines, wanted = NETWORKS[tab]
        self.assertEqual(self.of(lines)[1], wanted)

    def test_63_networks_on_a_gpu(self):
        for tab in NETWORKS:
            with self.subTest(tab):
                self.network(tab)

    def test_64_what_they_give_is_there(self):
        for tab in ("torch", "mxnet"):
            space, _ = self.of(NETWORKS[tab][0])
            x, net = space["X"], space["net"]
            self.assertEqual((net(x).device, net(x).tolist()), (gt.gpu(0), net(x).tolist()))
            self.assertEqual(net(x).device, net[0].weight.device)

    def test_65_moved(self):
        net = self.of(NETWORKS["mxnet"][0])[0]["net"]
        net.collect_params().reset_ctx(gt.gpu(1))
        self.assertEqual(net[0].weight.data().ctx, gt.gpu(1))
        net.collect_params().reset_ctx(gt.gpu(0))
        net = self.of(NETWORKS["torch"][0])[0]["net"]
        self.assertEqual([each.device for each in net.cuda(1).parameters()], [gt.gpu(1)] * 2)
        net.to(device="cuda:0")

    def test_66_trainers(self):
        for tab, program in BOOK.items():
            with self.subTest(tab):
                _, said = self.of(program)
                said = "".join(line + "\n" for line in said.splitlines() if "remark" not in line)
                where = f"{TASK}GPU:0"
                behind = f"{where} {where} Array([0., 0.], dtype=float32, device=GPU:0)" if tab == "mxnet" else where
                self.assertEqual(said, f"[0, 8] 8.0 True 16 [GPU:0]\n{behind}\n")

    def test_67_logs_stay_on_the_device(self):
        """Nothing of a step is copied to the host; what is logged is one array, and the book's board keeps values on their device."""
        x = np.ones((64, 3), np.float32)
        trainer = gt.Trainer(nn.Dense(1), "mse", metrics=["mae"], max_copy={"d2h": 0})
        looks, logs = [], trainer._logs
        trainer._logs = lambda: looks.append(1) or logs()
        bar = callbacks.Progress(every=4, file=type("Terminal", (io.StringIO,), {"isatty": lambda self: True})())
        trainer.fit(x, x[:, :1], batch=4, progress=False, callbacks=[bar])
        self.assertEqual(len(looks), 4 + 1)  # of 16 steps, and the epoch's
        board = d2l.ProgressBoard()
        for i in range(5):
            board.draw(i, gt.array(float(i), device="GPU:0"), "loss", every_n=4)
        self.assertEqual((board.lines, [repr(value.device) for _, value in board._waiting["loss"]]), ({"loss": [(1.5, 1.5)]}, ["GPU:0"]))
