"""Datasets: what they give and in which order, in this process and in workers, and from where they go on."""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import numpy as np

import gantry as gt
from gantry import nn, optim
from gantry.data import Dataset, pad_sequences
from tests.support import HAS_COMPILER, NEEDS_COMPILER, run


def noisy(x, rng):
    return x + rng.integers(0, 1000)


def square(x):
    return x * x


def fails_at_seven(x):
    if x == 7:
        raise ValueError("seven")
    return x


def waits(x):
    if x == 3:
        time.sleep(60)
    return x


def ends(x):
    if x == 3:
        os._exit(3)
    return x


def odd_things(x):
    return {"text": f"n{int(x)}", "none": np.zeros((0, 3)), "many": [np.ones((400, 400)) * x, 5], "texts": np.array(["a", "bc"])}


def give():
    yield from range(20)


def plain(elements):
    """Elements as lists, to be compared."""
    def of(tree):
        if isinstance(tree, (tuple, list)):
            return type(tree)(map(of, tree))
        if isinstance(tree, dict):
            return {key: of(each) for key, each in tree.items()}
        return tree.tolist() if hasattr(tree, "tolist") else tree
    return [of(each) for each in elements]


def quietly(call):
    """What a call gives, and what it says on stderr."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        made = call()
    return made, said.getvalue()


COUNT = Dataset.from_slices(np.arange(10))


class Elements(unittest.TestCase):
    def test_slices(self):
        rows = Dataset.from_slices({"a": np.arange(6).reshape(3, 2), "b": [1.5, 2.5, 3.5]})
        self.assertEqual(plain(rows), [{"a": [0, 1], "b": 1.5}, {"a": [2, 3], "b": 2.5}, {"a": [4, 5], "b": 3.5}])
        self.assertEqual((len(rows), len(rows.batch(2)), len(rows.batch(2, drop_remainder=True))), (3, 2, 1))
        self.assertEqual(plain(Dataset.from_slices(gt.arange(3))), [0, 1, 2])

    def test_texts_and_truth_values(self):
        rows = Dataset.from_slices((["some", "words"], [True, False])).batch(2)
        (texts, flags), = rows
        self.assertEqual((texts.tolist(), flags.tolist(), flags.dtype), (["some", "words"], [True, False], np.dtype(bool)))
        self.assertEqual(plain(Dataset.from_generator(lambda: iter([("a", True), ("bcd", False)])).batch(2)), [(["a", "bcd"], [True, False])])

    def test_few_rows(self):
        for count, batches in ((0, []), (1, [[0]]), (3, [[0, 1, 2]]), (4, [[0, 1, 2, 3]]), (5, [[0, 1, 2, 3], [4]])):
            rows = Dataset.from_slices(np.arange(count)).shuffle(9).batch(4)
            self.assertEqual(sorted(sum(plain(rows), [])), list(range(count)))
            self.assertEqual([len(batch) for batch in rows], [len(batch) for batch in batches])
            self.assertEqual(len(list(Dataset.from_slices(np.arange(count)).batch(4, drop_remainder=True).prefetch(2))), count // 4)
            self.assertEqual(list(Dataset.from_slices(np.arange(count)).take(0)), [])
        self.assertEqual(list(Dataset.from_slices(np.zeros((0, 3))).repeat()), [])
        self.assertEqual(list(Dataset.from_generator(lambda: []).repeat().batch(3)), [])

    def test_take_skip_repeat_zip(self):
        self.assertEqual(plain(COUNT.skip(7)), [7, 8, 9])
        self.assertEqual(plain(COUNT.skip(11)), [])
        self.assertEqual(plain(COUNT.take(2).repeat(2)), [0, 1, 0, 1])
        self.assertEqual(plain(COUNT.repeat().take(12).skip(9)), [9, 0, 1])
        self.assertEqual(plain(Dataset.zip(COUNT, Dataset.from_generator(lambda: "abc"))), [(0, "a"), (1, "b"), (2, "c")])
        sizes = (COUNT.repeat(3), COUNT.repeat(), COUNT.repeat().take(40), Dataset.zip(COUNT, COUNT.repeat()), COUNT.skip(4).take(9),
                 Dataset.from_generator(give), Dataset.from_generator(give).take(3))
        self.assertEqual([each.size for each in sizes], [30, None, 40, 10, 6, None, None])
        with self.assertRaisesRegex(TypeError, "how many elements there are is not known"):
            len(Dataset.from_generator(give))

    def test_every_round_is_an_epoch(self):
        first, second = np.array(plain(COUNT.shuffle(10).repeat(2))).reshape(2, 10)
        self.assertEqual(sorted(first), sorted(second))
        self.assertNotEqual(first.tolist(), second.tolist())

    def test_padded(self):
        ragged = Dataset.from_generator(lambda: (([1] * n, n) for n in (1, 3, 2)))
        self.assertEqual(plain(ragged.padded_batch(2, value=-1)), [([[1, -1, -1], [1, 1, 1]], [1, 3]), ([[1, 1]], [2])])
        self.assertEqual(plain(ragged.padded_batch(3, length=4))[0][0], [[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0]])
        with self.assertRaisesRegex(gt.GantryError, "an element of length 3 is in a padded_batch of length 2"):
            list(ragged.padded_batch(3, length=2))
        with self.assertRaisesRegex(gt.GantryError, r"elements of a batch have one shape, got \[1\] and \[3\]; padded_batch makes them equal"):
            list(ragged.batch(2))

    def test_pad_sequences(self):
        """Keras's documentation has these."""
        rows = [[1], [2, 3], [4, 5, 6]]
        self.assertEqual(pad_sequences(rows).tolist(), [[0, 0, 1], [0, 2, 3], [4, 5, 6]])
        self.assertEqual(pad_sequences(rows, value=-1).tolist(), [[-1, -1, 1], [-1, 2, 3], [4, 5, 6]])
        self.assertEqual(pad_sequences(rows, padding="post").tolist(), [[1, 0, 0], [2, 3, 0], [4, 5, 6]])
        self.assertEqual(pad_sequences(rows, maxlen=2).tolist(), [[0, 1], [2, 3], [5, 6]])
        self.assertEqual(pad_sequences(rows, maxlen=2, truncating="post").tolist(), [[0, 1], [2, 3], [4, 5]])
        self.assertEqual(pad_sequences([[], [[1, 2]]], dtype="float32").tolist(), [[[0, 0]], [[1, 2]]])
        self.assertEqual((pad_sequences([]).shape, pad_sequences(rows, maxlen=0).shape), ((0, 0), (3, 0)))
        for wrong, text in (([1, 2], "one is a number"), ([["a"]], "pad_sequences takes sequences of int32"), ([[[1]], [[1, 2]]], "one shape")):
            with self.assertRaisesRegex(gt.GantryError, text):
                pad_sequences(wrong)

    def test_elements_are_the_callers(self):
        x = np.zeros((4, 2))
        for batch in Dataset.from_slices(x).batch(2):
            batch += 1
        self.assertEqual(x.sum(), 0)

    def test_wrong_calls(self):
        for call, text in ((lambda: Dataset.from_slices(3), r"from_slices takes arrays with rows, got int64\[\]"),
                           (lambda: Dataset.from_slices(()), "from_slices takes arrays with rows, got none"),
                           (lambda: Dataset.from_slices((np.ones(3), np.ones(4))), "as many rows of each, got 3 and 4"),
                           (lambda: Dataset.from_slices([[1], [1, 2]]), "got list of no one shape; gantry.data.pad_sequences"),
                           (lambda: Dataset.from_generator(give()), "got a generator, which ends with the first epoch"),
                           (lambda: list(Dataset.from_generator(lambda: 3)), "a function that gives an iterable, it gave 3"),
                           (lambda: COUNT.batch(0), "a batch is a number from 1 on, got 0"),
                           (lambda: COUNT.take(-1), "a number of elements is a number from 0 on, got -1"),
                           (lambda: COUNT.shuffle(0), "a buffer is a number from 1 on, got 0"),
                           (lambda: Dataset.from_generator(give).shuffle(), "shuffle wants a number for its buffer here"),
                           (lambda: COUNT.map(3), "map takes a function, got 3"),
                           (lambda: COUNT.map(lambda x: x, workers=1), "they take a function of a module"),
                           (lambda: Dataset.zip(COUNT, [1]), "zip takes Datasets"),
                           (lambda: list(Dataset.from_generator(lambda: [(1, 2), {"a": 1}]).batch(2)), "elements of a batch have several structures")):
            with self.assertRaisesRegex(gt.GantryError, text):
                call()


class Orders(unittest.TestCase):
    def test_a_function_of_seed_and_epoch(self):
        rows = lambda seed, epoch, buffer=10: plain(COUNT.shuffle(buffer, seed=seed).epoch(epoch))
        self.assertEqual(rows(1, 2), rows(1, 2))
        self.assertEqual(len({tuple(rows(seed, epoch)) for seed in range(3) for epoch in range(3)}), 9)
        self.assertEqual(sorted(rows(1, 2, 3)), list(range(10)))
        shuffled = COUNT.shuffle(10)
        self.assertEqual([plain(shuffled) for _ in range(3)], [plain(shuffled.epoch(n)) for n in range(3)])

    def test_a_buffer_bounds_how_early_a_row_comes(self):
        for place, row in enumerate(Dataset.from_slices(np.arange(1000)).shuffle(10)):
            self.assertLess(row, place + 10)

    def test_every_order_is_equally_likely(self):
        """Of 3 rows in 6000 epochs each of 6 orders is seen 1000 times, give or take 5 deviations of 29."""
        counts = {}
        shuffled = Dataset.from_slices(np.arange(3)).shuffle(3)
        for epoch in range(6000):
            order = tuple(map(int, shuffled.epoch(epoch)))
            counts[order] = counts.get(order, 0) + 1
        self.assertEqual(len(counts), 6)
        self.assertLess(max(abs(count - 1000) for count in counts.values()), 5 * 29)

    def test_cache(self):
        calls = []
        rows = COUNT.map(lambda x: calls.append(int(x)) or x * 2).cache()
        for _ in range(3):
            self.assertEqual(plain(rows), list(range(0, 20, 2)))
        self.assertEqual(len(calls), 10)
        again, said = quietly(lambda: COUNT.shuffle(10).batch(3).cache())
        self.assertRegex(said, r"test_data.py:\d+: remark: cache behind shuffle repeats the order of the first epoch")
        self.assertEqual(plain(again.epoch(0)), plain(again.epoch(5)))
        self.assertEqual(quietly(lambda: COUNT.shuffle(10).cache().shuffle(3).cache())[1].count("remark"), 2)
        self.assertEqual(quietly(lambda: COUNT.cache().shuffle(10))[1], "")

    def test_random_numbers_are_of_the_element(self):
        drawn = [plain(COUNT.map(noisy, seed=3).epoch(n)) for n in (0, 0, 1)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])
        self.assertNotEqual(drawn[0], plain(COUNT.map(noisy, seed=4).epoch(0)))
        self.assertEqual(drawn[0][4:], plain(COUNT.map(noisy, seed=3).skip(4).epoch(0)))


MAKERS = {
    "slices": lambda: COUNT.shuffle(4).batch(3),
    "map": lambda: COUNT.shuffle(4).map(noisy).batch(2).prefetch(2),
    "workers": lambda: Dataset.from_slices(np.arange(30)).shuffle(7).map(noisy, workers=1).batch(4).prefetch(2),
    "generator": lambda: Dataset.from_generator(give).shuffle(6).map(noisy).batch(3).prefetch(2),
    "rounds": lambda: Dataset.from_generator(give).repeat(2).shuffle(30).batch(3),
    "nested": lambda: COUNT.repeat(3).shuffle(25).batch(7).repeat(2).skip(1),
    "cached": lambda: COUNT.map(noisy).cache().shuffle(5).take(8).batch(2).prefetch(1),
    "cached generator": lambda: Dataset.from_generator(give).cache().skip(3).batch(4),
    "zipped": lambda: Dataset.zip(COUNT.shuffle(9), Dataset.from_generator(give)).padded_batch(4),
    "batches of batches": lambda: COUNT.batch(2).shuffle(3).batch(2),
}


class States(unittest.TestCase):
    def test_goes_on_anywhere(self):
        """With another Dataset, as in another process, from what JSON keeps of the state."""
        for name, make in MAKERS.items():
            with self.subTest(name):
                whole = plain(make().epoch(2))
                for given in range(len(whole) + 1):
                    rows = make().epoch(2)
                    for _ in range(given):
                        next(rows)
                    state = json.loads(json.dumps(rows.state()))
                    rows.close()
                    again, said = quietly(lambda: plain(make().restore(state)))
                    self.assertEqual(again, whole[given:])
                    self.assertEqual("run again up to element" in said, "generator" in repr(make()) and "cache" not in name and
                                     bool(state["order"] not in (0, [0])) and "again" in said)

    def test_nothing_is_computed_twice(self):
        calls = []
        make = lambda: Dataset.from_slices(np.arange(40)).map(lambda x: calls.append(int(x)) or x).shuffle(20)
        rows = make().epoch(0)
        for _ in range(10):
            next(rows)
        state = rows.state()
        self.assertEqual(len(calls), 10)
        list(make().restore(state))
        self.assertEqual(sorted(calls), list(range(40)))

    def test_a_generator_is_run_again_and_that_is_told(self):
        rows = Dataset.from_generator(give)
        iterator = iter(rows)
        next(iterator), next(iterator)
        again, said = quietly(lambda: plain(rows.restore(iterator.state())))
        self.assertEqual((again, said), (list(range(2, 20)), "gantry: remark: from_generator is run again up to element 2, where the state is\n"))
        short = Dataset.from_generator(lambda: [0])
        with self.assertRaisesRegex(gt.GantryError, "the state is behind element 2, and the generator gives 1"):
            quietly(lambda: short.restore(iterator.state()))

    def test_of_another_dataset(self):
        state = COUNT.shuffle(4).epoch(0).state()
        with self.assertRaisesRegex(gt.GantryError, r"the state is of from_slices\(10 rows\), shuffle\(4, seed=0\), and this is from_slices\(10 rows\), "
                                                    r"shuffle\(5, seed=0\)"):
            COUNT.shuffle(5).restore(state)
        with self.assertRaisesRegex(gt.GantryError, "that is no state of a Dataset"):
            COUNT.restore(7)

    def test_the_epoch_behind_it_comes_next(self):
        shuffled = COUNT.shuffle(10)
        list(shuffled.restore(COUNT.shuffle(10).epoch(4).state()))
        self.assertEqual(plain(shuffled), plain(shuffled.epoch(5)))


class Workers(unittest.TestCase):
    def test_the_order_and_the_numbers_are_those_of_none(self):
        make = lambda workers: Dataset.from_slices(np.arange(100)).shuffle(30).map(noisy, workers=workers).batch(7)
        self.assertEqual(plain(make(3).epoch(1)), plain(make(0).epoch(1)))
        both = make(2)
        one, other = both.epoch(1), both.epoch(1)  # two iterators have the same workers
        self.assertEqual([plain([a, b]) for a, b in zip(one, other)], [plain([a, a]) for a in make(0).epoch(1)])

    def test_one_behind_the_other(self):
        rows = COUNT.map(square, workers=1).map(noisy, workers=1)
        self.assertEqual(plain(rows.epoch(0)), plain(COUNT.map(square).map(noisy).epoch(0)))

    def test_what_travels(self):
        for here, there in zip(COUNT.map(odd_things), COUNT.map(odd_things, workers=1)):
            self.assertEqual(plain([here]), plain([there]))
            there["many"][0] += 1  # is the caller's
            self.assertEqual(there["none"].shape, (0, 3))
        pairs = Dataset.from_slices((np.ones((50, 300, 300), np.float32), np.arange(50)))
        self.assertEqual(sum(float(x.sum()) * int(y) for x, y in pairs.map(keeps, workers=2)), 90000.0 * sum(range(50)))

    def test_left_early(self):
        rows = Dataset.from_slices(np.arange(1000)).map(square, workers=2).batch(10).prefetch(2)
        for _ in range(3):
            self.assertEqual(next(iter(rows)).shape, (10,))
        self.assertEqual(plain(rows.take(1).epoch(0))[0][:3], [0, 1, 4])

    def test_errors(self):
        for workers, prefetch in ((0, 0), (0, 1), (2, 0), (2, 2)):
            seen = []
            with self.assertRaisesRegex(gt.GantryError, "map: element 7: ValueError: seven") as caught:
                for x in COUNT.map(fails_at_seven, workers=workers).prefetch(prefetch):
                    seen.append(int(x))
            self.assertEqual(seen, list(range(7)))
            if workers:
                self.assertRegex(str(caught.exception), r"in a worker:\nTraceback .*\n(.*\n)*.*test_data.py\", line \d+, in fails_at_seven")
            else:
                self.assertIsInstance(caught.exception.__cause__, ValueError)

    def test_a_worker_that_ends(self):
        with self.assertRaisesRegex(gt.GantryError, r"map: a worker ended with status 3 while it had elements \d+ to \d+"):
            list(COUNT.map(ends, workers=1))

    def script(self, text, **options):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = pathlib.Path(folder.name) / "script.py"
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return subprocess.Popen([sys.executable, file], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)

    def test_a_script_without_a_main(self):
        out, err = self.script("""
            import numpy as np
            from gantry.data import Dataset
            def f(x):
                return x
            list(Dataset.from_slices(np.arange(3)).map(f, workers=1))
            """).communicate(timeout=60)
        self.assertIn("A script whose functions workers call does its work below `if __name__ == \"__main__\":`", err)

    def test_a_program_that_is_no_file(self):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
            import numpy as np
            from gantry.data import Dataset
            def f(x):
                return x
            list(Dataset.from_slices(np.arange(3)).map(f, workers=1))
            """)], capture_output=True, text=True, timeout=60)
        self.assertIn("map: a worker does not find the function", done.stderr)

    def test_ctrl_c(self):
        """While a worker computes, of which all processes of a terminal hear: one KeyboardInterrupt, no word of a worker, and none of
        them is left."""
        for prefetch in (0, 2):
            process = self.script(f"""
                import numpy as np, os, sys
                from gantry.data import Dataset
                from tests.test_data import waits
                if __name__ == "__main__":
                    rows = iter(Dataset.from_slices(np.arange(9)).map(waits, workers=2).prefetch({prefetch}))
                    try:
                        for x in rows:
                            print(x, flush=True)
                    except KeyboardInterrupt:
                        print("ended", flush=True)
                """)
            for expected in "012":
                self.assertEqual(process.stdout.readline(), f"{expected}\n")
            time.sleep(0.3)
            began = time.monotonic()
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=30)
            self.assertEqual((out, err, process.returncode), ("ended\n", "", 0))
            self.assertLess(time.monotonic() - began, 20)
            end = time.monotonic() + 20
            while self.in_group(process.pid):
                self.assertLess(time.monotonic(), end, "a worker is left")
                time.sleep(0.05)

    def in_group(self, group):
        try:
            os.killpg(group, 0)
            return True
        except ProcessLookupError:
            return False


def keeps(x, y):
    return x, y


def problem(rows=200):
    draw = np.random.default_rng(3)
    x = draw.standard_normal((rows, 4)).astype(np.float32)
    return x, x[:, :3].argmax(1).astype(np.int32)


def trainer(**options):
    gt.random.seed(1)
    return gt.Trainer(nn.Sequential(nn.Dense(8, "relu"), nn.Dropout(0.2), nn.Dense(3)),
                      lambda y, p: gt.losses.scce(y, p, from_logits=True), optim.Adam(0.02), metrics=["accuracy"], **options)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Fit(unittest.TestCase):
    def bytes_of(self, made):
        return [each.numpy().tobytes() for each in made.net.variables()], made.history.history

    def test_the_bytes_of_arrays(self):
        """In order, batches of a Dataset are those of arrays, one by one and several in a run."""
        x, y = problem(4 * 11 + 1)
        known = trainer()
        known.fit(x, y, validation=(x, y), epochs=2, batch=4, shuffle=False, progress=False)
        rows = Dataset.from_slices((x, y))
        for data, options in ((rows.batch(4), {}), (rows, {"batch": 4}), (rows.batch(4).prefetch(2), {"steps_per_run": 3}),
                              (Dataset.from_generator(lambda: zip(x, y)).batch(4), {})):
            made = trainer()
            made.fit(data, validation=data if "batch" not in options else rows.batch(4), epochs=2, progress=False, **options)
            self.assertEqual(self.bytes_of(made), self.bytes_of(known))
            self.assertEqual((made.epoch, made.total_steps), (2, 24))
        self.assertEqual(made.evaluate(rows.batch(4)), made.evaluate(x, y, batch=4))
        self.assertEqual(made.evaluate(rows, batch=4), made.evaluate(x, y, batch=4))

    def test_batches_on_a_device(self):
        """The thread that is ahead puts them there; a step copies nothing then, and learns the same bytes."""
        x, y = problem()
        rows = Dataset.from_slices((x, y)).shuffle(100).batch(16)
        known = trainer()
        known.fit(rows, epochs=2, progress=False)
        made = trainer(max_copy={"h2d": 0})
        made.fit(rows.prefetch(2, device="GPU:0"), epochs=2, progress=False)
        for mine, theirs in zip(made.net.variables(), known.net.variables()):
            self.assertEqual(mine.numpy().tobytes(), theirs.numpy().tobytes())
        with self.assertRaisesRegex(gt.GantryError, "h2d, the budget is 0 bytes"):
            trainer(max_copy={"h2d": 0}).fit(rows, progress=False)
        placed = Dataset.from_slices(({"a": x}, ["text"] * len(x))).batch(9).prefetch(1, device="GPU:1").take(1)
        (element, texts), = placed
        self.assertEqual((repr(element["a"].device), element["a"].shape, texts.tolist()), ("GPU:1", (9, x.shape[1]), ["text"] * 9))
        state = iter(placed)
        next(state)
        self.assertEqual(list(placed.restore(state.state())), [])
        with self.assertRaisesRegex(gt.GantryError, "'a batch' is placed on .*GPU:9.*unknown device"):
            rows.prefetch(2, device="GPU:9")
        again = gt.Trainer(nn.Dense(3, "softmax"))  # labels are looked at all the same
        with self.assertRaisesRegex(gt.GantryError, "labels go from 7 to 9"):
            again.fit(Dataset.from_slices((x, y + 7)).batch(len(x)).prefetch(1, device="GPU:0"), progress=False)

    def test_predictions(self):
        x, y = problem()
        made = trainer()
        made.fit(x, y, progress=False)
        known = made.predict(x)
        for rows in (Dataset.from_slices((x, y)), Dataset.from_slices(x)):
            np.testing.assert_array_equal(made.predict(rows.batch(32)), known)
        for rows, text in ((Dataset.from_slices(x).batch(4).repeat(), "has no end; say .take"), (Dataset.from_slices(x[:0]).batch(4), "gives no batch")):
            with self.assertRaisesRegex(gt.GantryError, text):
                made.predict(rows)

    def test_it_learns(self):
        x, y = problem()
        made = trainer()
        data = Dataset.from_slices((x, y)).shuffle(100).batch(16).prefetch(2)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            history = made.fit(data, validation=data, epochs=8)
        self.assertGreater(history["val_accuracy"][-1], 0.9)
        self.assertRegex(out.getvalue(), r"Epoch 1/8\n13/13 \[=+\] - \d+s \d+[mu]?s/step - loss: [\d.]+ - accuracy: ")

    def test_a_network_that_moves(self):
        x, y = problem(40)
        data, made = Dataset.from_slices((x, y)).batch(8), trainer(max_copy={"d2h": 0})
        made.fit(data, progress=False)
        made.net.to("GPU:1")
        plateau = gt.callbacks.ReduceOnPlateau("loss", patience=1)
        made.fit(data, epochs=2, progress=False, callbacks=[plateau])
        self.assertEqual({each.device for each in (made.net[0].weight, made.optimizer.step, made.optimizer.factor())}, {gt.gpu(1)})

    def test_truth_values(self):
        x = np.random.default_rng(0).random((64, 3)) > 0.5
        for loss, last, y in (("scce", nn.Dense(2, "softmax"), x[:, 0]), ("bce", nn.Dense(1, "sigmoid"), x[:, :1])):
            made = gt.Trainer(nn.Sequential(last), loss, optim.Adam(0.1), metrics=["accuracy"])
            made.fit(Dataset.from_slices((x, y)).batch(16), epochs=20, progress=False)
            self.assertEqual(made.history["accuracy"][-1], 1)

    def test_wrong_data(self):
        x, y = problem(6)
        rows = Dataset.from_slices((x, y))
        texts = np.array(["a"] * 6)
        for data, text in ((rows, r"training takes batches, and the Dataset gives x of shape \[4\] and y of shape \[\]: say .batch\(rows\), or batch=rows"),
                           (rows.batch(8, drop_remainder=True), r"batch\(8, drop_remainder\)\) gives no batch; drop_remainder leaves out one"),
                           (rows.take(0).batch(2), "gives no batch"),
                           (rows.batch(2).repeat(), "has no end, so that no epoch of it is ever over; say .take"),
                           (Dataset.from_slices(x).batch(2), r"training takes a Dataset of pairs \(x, y\), got an element that is an array of shape \[2, 4\]"),
                           (Dataset.from_slices((x, y, y)).batch(2), "got an element that is a tuple of 3"),
                           (Dataset.from_slices((texts, y)).batch(2), "a network takes numbers, got <U1; give texts numbers first"),
                           (Dataset.from_slices((x, texts)).batch(2), "labels are numbers, got <U1; give classes numbers first"),
                           (Dataset.from_slices((x, y + 1)).batch(6), "the network gives 3 classes, and labels go from 1 to 3"),
                           (Dataset.from_generator(lambda: [(x, y[:5])]), "there are 6 rows and 5 labels"),
                           ((x for x in [1]), r"gantry.data.Dataset.from_generator\(function\).batch\(rows\) is one")):
            with self.subTest(text), self.assertRaisesRegex(gt.GantryError, text):
                gt.Trainer(nn.Sequential(nn.Dense(3, "softmax"))).fit(data, *([y] if not isinstance(data, Dataset) else []), progress=False)
        for call, text in ((lambda: trainer().fit(rows.batch(2), y), "a Dataset has its labels in itself"),
                           (lambda: trainer().fit(x), r"fit\(x, y\), or a Dataset of such pairs"),
                           (lambda: trainer().fit(rows.batch(2), callbacks=["csv"]), "callbacks are those of gantry.callbacks, .* got 'csv'"),
                           (lambda: trainer().fit(rows, batch=0), "a batch has at least one row, got 0")):
            with self.assertRaisesRegex(gt.GantryError, text):
                call()

    def test_a_failing_function_ends_fit(self):
        x, y = problem(32)
        made = trainer()
        with self.assertRaisesRegex(gt.GantryError, "map: element 9: ZeroDivisionError"):
            made.fit(Dataset.from_slices((x, y)).map(lambda x, y: (x, y) if (x != last).any() else 1 / 0)
                     if (last := x[9]) is not None else None, batch=4, progress=False)
        made.fit(x, y, progress=False)  # goes on

    def test_ctrl_c(self):
        """While workers and a thread are at work: the network is that of a whole step, and goes on."""
        said = run("""
            import os, signal, threading, numpy as np, gantry as gt
            from gantry import nn
            from gantry.data import Dataset
            from tests.test_data import keeps
            x, y = np.ones((64, 8), np.float32), np.zeros(64, np.int32)
            for options in ({}, {"workers": 2}):
                trainer = gt.Trainer(nn.Sequential(nn.Dense(4, "softmax")))
                data = Dataset.from_slices((x, y)).shuffle(9).map(keeps, **options).batch(8).prefetch(2)
                trainer.fit(data, progress=False)
                threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                try:
                    trainer.fit(data, epochs=10 ** 6, progress=False)
                except KeyboardInterrupt:
                    steps = int(trainer.optimizer.step)
                    trainer.fit(data, progress=False)
                    print("went on", int(trainer.optimizer.step) - steps, np.isfinite(trainer.net[0].weight.numpy()).all())
            """, devices="")
        self.assertEqual(said, "went on 8 True\n" * 2)

    def test_memory_stays_flat(self):
        """Of ten thousand elements, and of a thousand steps of two trainers in turn."""
        import resource
        x, y = problem(400)
        pair = [trainer(), trainer()]
        data = Dataset.from_slices((x, y)).shuffle(50).batch(4).prefetch(2)
        for made in pair:
            made.fit(data, epochs=2, progress=False)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(5):
            for made in pair:
                made.fit(data, progress=False)
        for _ in data.repeat(100):
            pass
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 8 << 10)  # KiB
        self.assertEqual([made.total_steps for made in pair], [700, 700])
