"""Callbacks of fit, and checkpoints that it goes on from: by bytes, and by readers that are written here from the formats' pages."""

import contextlib
import csv
import io
import json
import math
import pathlib
import re
import struct
import tempfile
import unittest

import numpy as np

import gantry as gt
from gantry import _checkpoint, _events, callbacks, nn, optim
from gantry._tensors import Stored
from gantry.data import Dataset
from tests.support import HAS_COMPILER, NEEDS_COMPILER, run
from tests.training import scce

DRAW = np.random.default_rng(3)
X = DRAW.standard_normal((46, 4)).astype(np.float32)
Y = X[:, :3].argmax(1).astype(np.int32)


def network(**options):
    return nn.Sequential(nn.Dense(8, "relu", **options), nn.BatchNorm(), nn.Dropout(0.2), nn.Dense(3))


def trainer(net=None, optimizer=None, **options):
    gt.random.seed(1)
    return gt.Trainer(net or network(), scce, optimizer or optim.Adam(0.02), metrics=["accuracy"], **options)


def bytes_of(made):
    return [each.numpy().tobytes() for each in made.net.variables()], made.history.history, int(made.optimizer.step)


class Given(callbacks.Callback):
    """Gives other logs than there are."""

    def __init__(self, **logs):
        self._logs = logs

    def epoch_end(self, trainer, logs):
        logs.update({name: values[trainer.epoch - 1] for name, values in self._logs.items()})


class Stop(Exception):
    pass


class StopAt(callbacks.Callback):
    """Ends fit as an exception would behind a step."""

    def __init__(self, step):
        self._step = step

    def step_end(self, trainer, steps):
        if trainer.total_steps >= self._step:
            raise Stop


class Folders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def files(self):
        return sorted(file.name for file in self.folder.iterdir())


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Watching(Folders):
    def test_early_stopping(self):
        losses = [3.0, 2.0, 2.5, float("nan"), 1.0]
        made, seen = trainer(), []

        class Look(callbacks.Callback):
            def epoch_end(self, trainer, logs):
                seen.append([each.numpy() for each in trainer.net.variables()])
        made.fit(X, Y, epochs=5, progress=False, callbacks=[Given(val_loss=losses), callbacks.EarlyStopping(patience=2), Look()])
        self.assertEqual(len(made.history["loss"]), 4)
        for variable, best, last in zip(made.net.variables(), seen[1], seen[3]):
            np.testing.assert_array_equal(variable.numpy(), best)
            self.assertFalse(np.array_equal(best, last))

    def test_directions(self):
        for options, epochs in (({"monitor": "val_accuracy"}, 2), ({"monitor": "val_accuracy", "mode": "min"}, 4),
                                ({"monitor": "val_accuracy", "mode": "min", "least": 1.5}, 2)):
            made = trainer()
            made.fit(X, Y, epochs=4, progress=False, callbacks=[Given(val_accuracy=[4.0, 3.0, 2.0, 1.0]), callbacks.EarlyStopping(**options)])
            self.assertEqual(made.epoch, epochs, options)

    def test_reduce_on_plateau(self):
        made = trainer(optimizer=optim.SGD(0.5))
        plateau = callbacks.ReduceOnPlateau("loss", 0.5, patience=1, lowest=0.2)
        made.fit(X, Y, epochs=1, progress=False)
        factors = []

        class Look(callbacks.Callback):
            def epoch_end(self, trainer, logs):
                factors.append(float(trainer.optimizer.factor()))
        made.fit(X, Y, epochs=5, progress=False, callbacks=[Given(loss=[0, 5.0, 5.0, 4.0, 4.0, 4.0]), plateau, Look()])
        self.assertEqual(factors, [1, 0.5, 0.5, 0.25, 0.2])

    def test_the_factor_is_one_of_the_rate(self):
        made = {}
        for rate, factor in ((0.5, None), (0.5, 1.0), (0.25, None), (0.5, 0.5)):
            each = trainer(nn.Sequential(nn.Dense(3)), optim.SGD(optim.constant(rate), momentum=0.0))
            if factor:
                each.optimizer.factor().assign(factor)
            each.fit(X, Y, progress=False)
            made[rate, factor] = bytes_of(each)
        self.assertEqual(made[0.5, None], made[0.5, 1.0])
        self.assertEqual(made[0.25, None], made[0.5, 0.5])
        self.assertNotEqual(made[0.5, None], made[0.25, None])

    def test_wrong_calls(self):
        for call, text in ((lambda: callbacks.EarlyStopping(mode="up"), "mode is 'auto', 'min' or 'max', got 'up'"),
                           (lambda: callbacks.EarlyStopping(patience=0), "patience is a number of epochs from 1 on, got 0"),
                           (lambda: callbacks.ReduceOnPlateau(factor=2), "the factor of ReduceOnPlateau lies between 0 and 1, got 2"),
                           (lambda: callbacks.Checkpoint("x", keep=0), "Checkpoint: keep is a number from 1 on, got 0"),
                           (lambda: trainer().fit(X, Y, progress=False, callbacks=[callbacks.EarlyStopping()]),
                            "EarlyStopping looks at 'val_loss', and the logs have loss, accuracy")):
            with self.assertRaisesRegex(gt.GantryError, text):
                call()


def crc32c(data):
    """Bit by bit, by the polynomial."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 * (value & 1))
    return value ^ 0xFFFFFFFF


def records(data):
    """The messages of a TFRecord file, whose sums are looked at."""
    def check(part, sum):
        value = crc32c(part)
        assert sum == (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    at = 0
    while at < len(data):
        length, sum = struct.unpack_from("<QI", data, at)
        check(data[at:at + 8], sum)
        message = data[at + 12:at + 12 + length]
        check(message, struct.unpack_from("<I", data, at + 12 + length)[0])
        yield message
        at += 16 + length


def fields(data):
    """Pairs of number and value of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 2:
            length = varint()
            value = data[at:at + length]
            at += length
        else:
            size, form = {1: (8, "<d"), 5: (4, "<f")}[key & 7]
            value = struct.unpack_from(form, data, at)[0]
            at += size
        yield key >> 3, value


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Logs(Folders):
    def test_csv(self):
        made = trainer()
        made.fit(X, Y, validation=(X, Y), epochs=3, progress=False, callbacks=[callbacks.CSV(self.folder / "deep/log.csv")])
        with open(self.folder / "deep/log.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["epoch"] for row in rows], ["1", "2", "3"])
        for name, values in made.history.history.items():
            self.assertEqual([float(row[name]) for row in rows], values)

    def test_known_sums(self):
        """Of RFC 3720, B.4, and of the usual nine digits."""
        for data, known in ((bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E), (b"123456789", 0xE3069283)):
            self.assertEqual((_events.crc32c(data), crc32c(data)), (known, known))

    def test_tensorboard(self):
        made = trainer()
        made.fit(X, Y, epochs=2, batch=4, progress=False, callbacks=[callbacks.TensorBoard(self.folder, every_steps=5)])
        file, = self.folder.iterdir()
        self.assertRegex(file.name, r"^events\.out\.tfevents\.\d+\.")
        first, *events = [dict(fields(message)) for message in records(file.read_bytes())]
        self.assertEqual(first[3], b"brain.Event:2")
        scalars = {}
        for event in events:
            for number, value in fields(event[5]):
                own = dict(fields(value))
                scalars.setdefault(own[1].decode(), []).append((event[2], own[2]))
        self.assertEqual([step for step, _ in scalars["step/loss"]], [5, 10, 15, 20])
        self.assertEqual(scalars["loss"], [(12, np.float32(made.history["loss"][0])), (24, np.float32(made.history["loss"][1]))])
        self.assertEqual(set(scalars), {"loss", "accuracy", "step/loss", "step/accuracy"})

    def test_logs_are_copied_once_for_all(self):
        class Listens(callbacks.Callback):
            def __init__(self):
                self.heard = []

            def log(self, trainer, logs):
                self.heard.append((trainer.total_steps, logs))
        made, one, other, copies = trainer(), Listens(), Listens(), []
        read = made._logs
        made._logs = lambda: copies.append(made.total_steps) or read()
        made.fit(X, Y, batch=4, epochs=2, progress=False, log_every=5, callbacks=[one, other])
        self.assertEqual([step for step, _ in one.heard], [5, 10, 15, 20])
        self.assertEqual((one.heard, copies), (other.heard, [5, 10, 12, 15, 20, 24]))
        self.assertEqual(set(one.heard[0][1]), {"loss", "accuracy"})

    def test_evaluation_within_an_epoch(self):
        """It does not disturb what the epoch counts."""
        class Looks(callbacks.Callback):
            def __init__(self):
                self.seen = []

            def step_end(self, trainer, steps):
                if trainer.step in (3, 7):
                    self.seen.append(trainer.evaluate(X[:20], Y[:20])["loss"])
        plain = trainer()
        plain.fit(X, Y, batch=4, epochs=2, progress=False)
        looking, looks = trainer(), Looks()
        looking.fit(X, Y, batch=4, epochs=2, progress=False, callbacks=[looks])
        self.assertEqual(bytes_of(looking), bytes_of(plain))
        self.assertEqual(len(set(looks.seen)), 4)

    def test_progress(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True
        made, plain, terminal = trainer(), io.StringIO(), Terminal()
        made.fit(Dataset.from_generator(lambda: zip(X, Y)).batch(4), epochs=2, progress=False,
                 callbacks=[callbacks.Progress(file=plain), callbacks.Progress(every=5, file=terminal)])
        line = r"12/12 \[={30}\] - \d+s \d+[mu]?s/step - loss: [\d.]+ - accuracy: [\d.]+\n"
        self.assertRegex(plain.getvalue(), f"^Epoch 1/2\n{line}Epoch 2/2\n{line}$")
        said = terminal.getvalue().split("\r")
        self.assertRegex(said[1], r"^5/\? \[\.*>?\.*\] - ")
        self.assertTrue(any(re.match(r"10/12 \[=+>\.+\] - ", each) for each in said))


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Checkpoints(Folders):
    def whole(self, **options):
        made = trainer()
        made.fit(X, Y, epochs=3, batch=4, progress=False, **options)
        return bytes_of(made)

    def broken_off(self, step, every=2, make=trainer, data=(X, Y), **options):
        """A fit that ends behind a step; then one that goes on."""
        shared = {"epochs": 3, "batch": 4, "progress": False, "resume": self.folder, **options}
        checkpoint = callbacks.Checkpoint(self.folder, every_steps=every)
        with self.assertRaises(Stop):
            make().fit(*data, callbacks=[checkpoint, StopAt(step)], **shared)
        made = make()
        made.fit(*data, callbacks=[checkpoint], **shared)
        return made

    def test_anywhere(self):
        """At the first step, in an epoch, at its end, behind it; in runs of several steps as well."""
        whole = self.whole()
        for step, options in ((1, {}), (5, {}), (12, {}), (13, {}), (24, {}), (31, {"steps_per_run": 3}), (8, {"every": 1})):
            with self.subTest(step=step):
                for file in self.folder.iterdir():
                    file.unlink()
                self.assertEqual(bytes_of(self.broken_off(step, **options)), whole)

    def test_datasets(self):
        data = Dataset.from_slices((X, Y)).shuffle(20, seed=4)
        whole = trainer()
        whole.fit(data, batch=4, epochs=3, progress=False)
        for step, options in ((7, {}), (17, {"steps_per_run": 3}), (13, {"steps_per_run": 5, "every": 1})):
            for file in self.folder.iterdir():
                file.unlink()
            self.assertEqual(bytes_of(self.broken_off(step, data=(data,), **options)), bytes_of(whole))

    def test_other_steps_in_a_run(self):
        checkpoint, shared = callbacks.Checkpoint(self.folder, every_steps=1), {"epochs": 3, "batch": 4, "progress": False}
        with self.assertRaises(Stop):
            trainer().fit(X, Y, callbacks=[checkpoint, StopAt(6)], **shared)
        made = trainer()
        made.fit(X, Y, resume=self.folder, steps_per_run=4, **shared)
        self.assertEqual(bytes_of(made), self.whole())

    def test_what_callbacks_know(self):
        stopping = lambda: callbacks.EarlyStopping("loss", patience=2, mode="max")
        plateau = lambda: callbacks.ReduceOnPlateau("accuracy", 0.5, patience=1, least=2.0)
        log = lambda name: callbacks.CSV(self.folder / name)
        shared = {"epochs": 9, "batch": 4, "progress": False}
        whole = trainer()
        whole.fit(X, Y, callbacks=[stopping(), plateau(), log("whole.csv")], **shared)
        self.assertEqual(whole.epoch, 3)
        for step in (14, 26, 35):
            checkpoint = callbacks.Checkpoint(self.folder / f"{step}", every_steps=5)
            with self.assertRaises(Stop):
                trainer().fit(X, Y, callbacks=[checkpoint, stopping(), plateau(), log("log.csv"), StopAt(step)], **shared)
            for _ in range(2):  # the second time there is nothing left to do
                made = trainer()
                made.fit(X, Y, callbacks=[checkpoint, stopping(), plateau(), log("log.csv")], resume=self.folder / f"{step}", **shared)
                self.assertEqual(bytes_of(made), bytes_of(whole))
                self.assertEqual((self.folder / "log.csv").read_text(), (self.folder / "whole.csv").read_text())

    def test_the_last_ones_stay(self):
        (self.folder / "step-0000000007.safetensors.tmp.0123456789abcdef").write_text("half")
        (self.folder / "other.tmp.0").write_text("mine")
        trainer().fit(X, Y, epochs=2, batch=4, progress=False, callbacks=[callbacks.Checkpoint(self.folder, every_steps=5, keep=3)])
        self.assertEqual(self.files(), ["other.tmp.0", *(f"step-{step:010d}.safetensors" for step in (15, 20, 24))])

    def test_a_folder_that_is_not_there(self):
        made = trainer()
        made.fit(X, Y, epochs=3, batch=4, progress=False, resume=self.folder / "not/yet")
        self.assertEqual(bytes_of(made), self.whole())
        with self.assertRaisesRegex(gt.GantryError, "there is no checkpoint .*x.safetensors"):
            made.fit(X, Y, progress=False, resume=self.folder / "x.safetensors")

    def test_the_format(self):
        """By a reader of safetensors that is written from the format's page."""
        made = trainer()
        made.fit(X, Y, progress=False, callbacks=[callbacks.Checkpoint(self.folder)])
        data = next(self.folder.iterdir()).read_bytes()
        length, = struct.unpack("<Q", data[:8])
        self.assertEqual((8 + length) % 8, 0)
        header = json.loads(data[8:8 + length])
        texts = header.pop("__metadata__")
        self.assertTrue(all(isinstance(text, str) for text in texts.values()))
        ends = 0
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            self.assertEqual(begin, ends)
            ends = end
            if name == "net/layers.0.weight":
                self.assertEqual((entry["dtype"], entry["shape"]), ("F32", [4, 8]))
                np.testing.assert_array_equal(np.frombuffer(data[8 + length + begin:8 + length + end], np.float32).reshape(4, 8),
                                              made.net[0].weight.numpy())
        self.assertEqual(8 + length + ends, len(data))
        self.assertLessEqual({"net/layers.3.bias", "slots/layers.0.weight/m", "slots/layers.0.weight/v", "optimizer/step", "metrics/0.loss/total"},
                             set(header))

    def test_narrow_and_frozen(self):
        """Weights of bfloat16 with their copies in float32, and layers that functions hold as constants."""
        def make():
            net = nn.Sequential(nn.Dense(8, "relu", dtype="bfloat16"), nn.Dense(8, dtype="bfloat16"), nn.Dense(3, dtype="bfloat16"))
            made = trainer(net)
            made.predict(X[:1])
            net[1].freeze()
            return made
        whole = make()
        whole.fit(X, Y, epochs=3, batch=4, progress=False)
        made = self.broken_off(17, make=make)
        self.assertEqual(bytes_of(made), bytes_of(whole))
        other = make()
        other.net[1].unfreeze()
        other.net[1].weight.assign(0)
        other.net[1].freeze()
        other.predict(X)
        other.fit(X, Y, epochs=3, batch=4, progress=False, resume=self.folder)
        np.testing.assert_array_equal(other.predict(X), whole.predict(X))

    def test_moved_networks(self):
        make = lambda: trainer(network().to("GPU:1"))
        whole = make()
        whole.fit(X, Y, epochs=3, batch=4, progress=False)
        made = self.broken_off(17, make=make)
        self.assertEqual(bytes_of(made), bytes_of(whole))
        self.assertEqual(made.net[0].weight.device, gt.gpu(1))
        elsewhere = trainer(network().to("CPU:0"))
        elsewhere.fit(X, Y, epochs=3, batch=4, progress=False, resume=next(self.folder.glob("*32.safetensors")))
        self.assertEqual(bytes_of(elsewhere), bytes_of(whole))

    def test_two_trainers(self):
        one, other = trainer(), trainer(network(), optim.SGD(0.1))
        for made, name in ((one, "one"), (other, "other"), (one, "one"), (other, "other")):
            made.fit(X, Y, batch=4, progress=False, callbacks=[callbacks.Checkpoint(self.folder / name, every_steps=7)])
        for name, known, optimizer in (("one", one, None), ("other", other, optim.SGD(0.1))):
            again = trainer(None, optimizer)
            again.fit(X, Y, batch=4, progress=False, resume=self.folder / name)
            self.assertEqual(bytes_of(again), bytes_of(known))

    def test_of_something_else_nothing_changes(self):
        trainer().fit(X, Y, batch=4, epochs=2, progress=False, callbacks=[callbacks.Checkpoint(self.folder, every_steps=5)])
        within = sorted(self.folder.iterdir())[1]  # in the second epoch
        self.assertIn("20", within.name)
        rows = Dataset.from_slices((X, Y)).batch(4)
        wide = lambda: trainer(nn.Sequential(nn.Dense(9, "relu"), nn.BatchNorm(), nn.Dropout(0.2), nn.Dense(3)))
        for make, data, text in ((trainer, (X[:40], Y[:40]), "is of 46 rows in batches of 4, shuffled, and this fit has 40 rows in batches of 4"),
                                 (trainer, (rows,), r"is of 46 rows in batches of 4, shuffled, and this fit has Dataset\(from_slices"),
                                 (lambda: trainer(seed=3), (X, Y), "has the seed 0, and this trainer has 3"),
                                 (lambda: trainer(None, optim.SGD(0.1)), (X, Y), "has the optimizer Adam, and this trainer has SGD"),
                                 (wide, (X, Y), r"has 'net/layers.0.weight' as float32\[4, 8\], and this trainer as float32\[4, 9\]"),
                                 (lambda: trainer(nn.Sequential(nn.Dense(3))), (X, Y), "the checkpoint has 'net/layers.0.bias'|'net/layers.[123]")):
            made = make()
            made.fit(*data, batch=None if len(data) == 1 else 4, progress=False)
            before = bytes_of(made)
            with self.subTest(text), self.assertRaisesRegex(gt.GantryError, text):
                made.fit(*data, batch=None if len(data) == 1 else 4, progress=False, resume=within)
            self.assertEqual(bytes_of(made), before)
            self.assertEqual(made.epoch, 1)

    def test_files_that_are_none(self):
        kept = self.folder / "kept.safetensors"
        _checkpoint.write(kept, {"a": Stored(np.ones(3, np.float32), gt.float32), "b": Stored(np.array(True), gt.bool_)}, {"fit": "{}"})
        with _checkpoint.Checkpoint(kept) as file:
            self.assertEqual((file.tensors["a"].values.tolist(), file.tensors["b"].values.tolist(), file.texts["fit"]), ([1, 1, 1], True, "{}"))
        data = kept.read_bytes()
        torn = [data[:end] for end in range(len(data))] + [data + b"\0"]
        torn += [data[:at] + bytes([data[at] ^ 1]) + data[at + 1:] for at in range(len(data) - 13, len(data))]
        torn += [struct.pack("<Q", 2**63) + data[8:], b"\x02" + bytes(7) + b"[]", b"\x02" + bytes(7) + b"{}"]
        made = trainer()
        made.fit(X, Y, progress=False)
        before = bytes_of(made)
        for i, content in enumerate(torn):
            kept.write_bytes(content)
            with self.assertRaises(_checkpoint.Broken):
                _checkpoint.Checkpoint(kept)
            if i % 40 == 0:
                with self.assertRaisesRegex(gt.GantryError, re.escape(str(kept))):
                    made.fit(X, Y, progress=False, resume=kept)
        self.assertEqual(bytes_of(made), before)

    def test_a_torn_one_is_told_and_the_one_before_taken(self):
        made = trainer()
        made.fit(X, Y, epochs=3, batch=4, progress=False, callbacks=[callbacks.Checkpoint(self.folder, every_steps=10)])
        last = sorted(self.folder.iterdir())[-1]
        last.write_bytes(last.read_bytes()[:-5])
        again = trainer()
        with contextlib.redirect_stderr(io.StringIO()) as said:
            again.fit(X, Y, epochs=3, batch=4, progress=False, resume=self.folder)
        self.assertRegex(said.getvalue(), f"^gantry: warning: {re.escape(str(last))} is torn, or no checkpoint: .*; the one before it is taken\n$")
        self.assertEqual(bytes_of(again), bytes_of(made))

    def test_a_full_disk(self):
        """Which a limit of files' sizes plays: what was there stays, nothing half does, and the network is that of a whole step."""
        said = run(f"""
            import os, resource, numpy as np, gantry as gt
            from gantry import callbacks, nn
            x, y = np.ones((64, 64), np.float32), np.zeros(64, np.int32)
            make = lambda: gt.Trainer(nn.Sequential(nn.Dense(512), nn.Dense(4, "softmax")))
            folder, shared = {str(self.folder)!r}, dict(batch=8, progress=False)
            trainer = make()
            trainer.fit(x, y, callbacks=[callbacks.Checkpoint(folder, every_steps=5, keep=9)], **shared)
            before = {{name: open(folder + "/" + name, "rb").read() for name in os.listdir(folder)}}
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
            try:
                trainer.fit(x, y, callbacks=[callbacks.Checkpoint(folder, every_steps=5, keep=1, beside=False)], **shared)
            except OSError as error:
                print(type(error).__name__, error.errno, os.path.basename(error.filename))
            print(before == {{name: open(folder + "/" + name, "rb").read() for name in os.listdir(folder)}}, trainer.total_steps)
            try:  # a thread's is told at a step behind it, or in the end
                trainer.fit(x, y, callbacks=[callbacks.Checkpoint(folder, every_steps=5, keep=1, beside=True)], **shared)
            except OSError as error:
                print(error.errno, before == {{name: open(folder + "/" + name, "rb").read() for name in os.listdir(folder)}})
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            again = make()
            again.fit(x, y, resume=folder, **shared)
            print(again.total_steps, sorted(os.listdir(folder))[-1])
            """, devices="")
        self.assertEqual(said, "OSError 27 step-0000000010.safetensors\nTrue 10\n27 True\n8 step-0000000008.safetensors\n")

    def test_beside_training(self):
        """A thread writes where the host has room for the copy; else the step waits. Both files are the same."""
        def folder_of(limit, **options):
            made, folder = trainer(self.wide(), limit=limit), self.folder / str(len(list(self.folder.iterdir())))
            threads, write = [], callbacks.Checkpoint._write_beside

            class Told(callbacks.Checkpoint):
                def _write_beside(self, *given):
                    threads.append(1)
                    write(self, *given)
            made.fit(X, Y, batch=4, epochs=2, progress=False, callbacks=[Told(folder, every_steps=5, keep=9, **options)])
            return len(threads), {file.name: file.read_bytes() for file in folder.iterdir()}
        roomy, tight = {"CPU:0": "1GiB"}, {"CPU:0": f"{self.least()}B"}
        beside, files = folder_of(roomy)
        self.assertEqual(len(files), 6)
        self.assertEqual(beside, 6)
        for limit, options, threads in ((tight, {}, 0), (roomy, {"beside": False}, 0), (tight, {"beside": True}, 6), (None, {}, 6)):
            made, other = folder_of(limit, **options)
            self.assertEqual(made, threads)
            self.assertEqual(other, files)

    @staticmethod
    def wide():
        return nn.Sequential(nn.Dense(512, "relu"), nn.Dense(3)).to("CPU:0")

    def least(self):
        """The bytes that a step needs on the host."""
        made = trainer(self.wide())
        host = made.plan(X[:4], Y[:4]).memory["CPU:0"]
        return host.constants + host.variables + host.transient + 4096  # and inputs and outputs

    def test_a_log_that_is_gone(self):
        log = self.folder / "log.csv"
        trainer().fit(X, Y, batch=4, progress=False, callbacks=[callbacks.CSV(log), callbacks.Checkpoint(self.folder)])
        log.write_text("")
        with self.assertRaisesRegex(gt.GantryError, r"log.csv had \d+ bytes when the checkpoint was written, and has fewer"):
            trainer().fit(X, Y, batch=4, progress=False, resume=self.folder, callbacks=[callbacks.CSV(log)])
        self.assertEqual(log.read_text(), "")

    def test_the_programs_random_numbers_go_on(self):
        class Draws(callbacks.Callback):
            def __init__(self):
                self.drawn = []

            def step_end(self, trainer, steps):
                self.drawn.append(float(gt.random.uniform(())))
        whole, first, second = Draws(), Draws(), Draws()
        trainer().fit(X, Y, batch=4, progress=False, callbacks=[whole])
        with self.assertRaises(Stop):
            trainer().fit(X, Y, batch=4, progress=False, callbacks=[first, callbacks.Checkpoint(self.folder, every_steps=5), StopAt(7)])
        trainer().fit(X, Y, batch=4, progress=False, callbacks=[second], resume=self.folder)
        self.assertEqual(first.drawn[:5] + second.drawn, whole.drawn)

    def test_states_of_ones_own(self):
        class Keeps(callbacks.Callback):
            def __init__(self, kept):
                self.kept = kept

            def state(self):
                return self.kept

            def restore(self, state):
                self.kept = state
        kept = {"a": np.arange(3), "b": [np.float32(0.5), None, "text", True], "c": {"d": np.zeros((0, 2), np.int8)}}
        trainer().fit(X, Y, progress=False, callbacks=[callbacks.Checkpoint(self.folder), Keeps(kept)])
        again = Keeps(None)
        trainer().fit(X, Y, progress=False, callbacks=[again], resume=self.folder)
        self.assertEqual(again.kept["b"], [0.5, None, "text", True])
        for made, known in ((again.kept["a"], kept["a"]), (again.kept["c"]["d"], kept["c"]["d"])):
            np.testing.assert_array_equal(made, known)
            self.assertEqual(made.dtype, known.dtype)
        before = self.files()
        for wrong, text in ((object(), "callbacks/Keeps.0: a state has numbers, texts"), (np.array(["a"]), "a checkpoint has no arrays of <U1")):
            with self.assertRaisesRegex(gt.GantryError, text):
                trainer().fit(X, Y, progress=False, callbacks=[callbacks.Checkpoint(self.folder), Keeps(wrong)])
        self.assertEqual(self.files(), before)

    def test_numbers_that_are_none(self):
        """History of nan and infinity goes through a checkpoint."""
        made = trainer()
        made.fit(X, Y, epochs=2, progress=False, callbacks=[Given(loss=[math.nan, math.inf]), callbacks.Checkpoint(self.folder)])
        again = trainer()
        again.fit(X, Y, epochs=2, progress=False, resume=self.folder)
        self.assertEqual(repr(again.history), repr(made.history))
