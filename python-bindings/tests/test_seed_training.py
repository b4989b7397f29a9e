"""The seeds' rows about training by Gantry's own names, on one device: numbers are those of the table (seed_rows.py)."""

import contextlib
import functools
import io
import re
import unittest

import numpy as np

import gantry as gt
from gantry import losses, nn, optim
from tests.support import HAS_COMPILER, NEEDS_COMPILER

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
        self.assertRegex(out, r"^Epoch 1\n3/3 \[={30}\] - \d+s \d+(us|ms|s)/step - loss: \d+\.\d{4}\n$")

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
