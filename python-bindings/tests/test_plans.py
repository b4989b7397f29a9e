"""Plans that are loaded, sessions and states: without the compiler."""

import concurrent.futures
import os
import pathlib
import tempfile
import unittest
import unittest.mock

import numpy as np

import gantry as gt
from tests.support import PLANS


class Saving(unittest.TestCase):
    """Files appear whole, under their name alone."""

    def setUp(self):
        self.plan = gt.load(PLANS / "hello.gantry")
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def names(self):
        return sorted(os.listdir(self.folder))

    def test_nothing_is_left_of_what_failed(self):
        (self.folder / "taken").mkdir()
        with self.assertRaises(IsADirectoryError):
            self.plan.save(self.folder / "taken")
        with self.assertRaises(FileNotFoundError) as caught:
            self.plan.save("/nonexistent/p.gantry")
        self.assertEqual(caught.exception.filename, "/nonexistent/p.gantry")
        with self.assertRaises(ZeroDivisionError), gt._files.whole_file(self.folder / "half") as file:
            file.write(b"half")
            1 / 0
        self.assertEqual(self.names(), ["taken"])

    def test_other_files_stay(self):
        (self.folder / "p.gantry.part").write_text("mine")
        (self.folder / "link").symlink_to("p.gantry")
        self.plan.save(self.folder / "link")
        self.assertEqual(self.names(), ["link", "p.gantry", "p.gantry.part"])
        self.assertEqual((self.folder / "p.gantry.part").read_text(), "mine")
        self.assertEqual(gt.load(self.folder / "p.gantry").run(x=[0, 1, 2, 3])["y"].tolist(), [10, 14, 18, 22])

    def test_a_pipe_is_written_not_replaced(self):
        os.mkfifo(self.folder / "pipe")
        reader = os.open(self.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        with gt._files.whole_file(self.folder / "pipe") as file:
            file.write(b"through")
        self.assertEqual((os.read(reader, 100), (self.folder / "pipe").is_fifo()), (b"through", True))


    def test_a_file_that_is_read_in_pieces(self):
        with open(PLANS / "hello.gantry", "rb") as file:
            whole, pread = file.read(), os.pread
            with unittest.mock.patch("os.pread", lambda descriptor, size, at: pread(descriptor, min(size, 1000), at)):
                self.assertEqual(gt._files.content_of(file), whole)


class Running(unittest.TestCase):
    """hello.gantry: y = 2 * (x + [5, 6, 7, 8])"""

    def setUp(self):
        self.plan = gt.load(PLANS / "hello.gantry")

    def test_ports(self):
        self.assertEqual(str(self.plan.inputs[0]), "Port(name='x', dtype=gantry.float32, shape=(4,), device=CPU:0)")
        self.assertEqual([port.name for port in self.plan.outputs], ["y"])
        self.assertEqual(self.plan.description["functions"][0]["name"], "main")

    def test_values_of_all_kinds(self):
        for x in ([0, 1, 2, 3], np.arange(4, dtype=np.float32), gt.arange(4, dtype="f32"),
                  gt.arange(4, dtype="f32", device="GPU:1"), np.arange(8, dtype=np.float32)[::2] / 2):
            self.assertEqual(self.plan.run(x=x)["y"].tolist(), [10, 14, 18, 22])
        self.assertEqual(self.plan.run([0, 1, 2, 3])["y"].tolist(), [10, 14, 18, 22])

    def test_results_are_arrays_of_their_own(self):
        session = self.plan.session()
        first, second = session.run(x=[0, 1, 2, 3])["y"], session.run(x=[1, 1, 1, 1])["y"]
        self.assertEqual((first.tolist(), second.tolist()), ([10, 14, 18, 22], [12, 14, 16, 18]))

    def test_bound(self):
        x = np.zeros(4, np.float32)
        bound = self.plan.session().bind(x=x)
        bound.run()
        y = bound.outputs["y"]
        self.assertEqual(y.tolist(), [10, 12, 14, 16])
        x[:] = 1
        bound.run()
        self.assertEqual(y.tolist(), [12, 14, 16, 18])

    def test_from_many_threads(self):
        session = self.plan.session()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = pool.map(lambda i: session.run(x=np.full(4, i, np.float32))["y"].tolist(), range(400))
        for i, result in enumerate(results):
            self.assertEqual(result, [2 * (i + add) for add in (5, 6, 7, 8)])

    def test_futures_and_pools(self):
        self.assertEqual(self.plan.session().submit(x=[0, 0, 0, 0]).result()["y"].tolist(), [10, 12, 14, 16])
        with self.plan.pool(2) as pool:
            results = [pool.submit(x=[i, i, i, i]) for i in range(20)]
            self.assertEqual([result.result()["y"].tolist()[0] for result in results], [2 * (i + 5) for i in range(20)])

    def test_saved_and_loaded_again(self):
        with tempfile.TemporaryDirectory() as folder:
            self.plan.save(f"{folder}/again.gantry")
            again = gt.load(f"{folder}/again.gantry")
            self.assertEqual(again.run(x=[0, 1, 2, 3])["y"].tolist(), [10, 14, 18, 22])
        self.assertEqual(gt.load(self.plan.to_bytes()).run(x=[0, 1, 2, 3])["y"].tolist(), [10, 14, 18, 22])

    def test_wrong_calls(self):
        session = self.plan.session()
        for call, error, text in (
                (lambda: session.run(z=1), gt.NotFoundError,
                 "function 'main' has no input 'z'; its inputs are 'x' float32[4]"),
                (session.run, gt.NotFoundError, "function 'main' needs the input 'x'; its inputs are 'x' float32[4]"),
                (lambda: session.run(x=[1, 2]), gt.InvalidArgumentError, "input 'x': expected float32[4], got float32[2]"),
                (lambda: session.run(x=np.arange(4)), gt.InvalidArgumentError,
                 "input 'x': expected float32[4], got int64[4]"),
                (lambda: session.run([1], [2]), gt.InvalidArgumentError, "function 'main' has 1 inputs, got 2"),
                (lambda: session.run(x=[1, 2, 3, 4], function="f"), gt.NotFoundError,
                 "the plan has no function 'f'; its functions are 'main'"),
                (lambda: gt.load("missing.gantry"), gt.NotFoundError,
                 "cannot open 'missing.gantry': no such file or folder"),
                (lambda: gt.load(b"nonsense"), gt.CorruptPlanError, None)):
            with self.assertRaises(error) as caught:
                call()
            if text is not None:
                self.assertEqual(str(caught.exception), text)
            self.assertIsInstance(caught.exception, RuntimeError)


class Variables(unittest.TestCase):
    """counter.gantry: step is v = v + x, get is y = v; training.gantry has v with a mirror, and w."""

    def setUp(self):
        self.counter = gt.load(PLANS / "counter.gantry")

    def test_sessions_share_a_state(self):
        state = gt.State()
        state.extend(self.counter)
        first, second = self.counter.session(state), self.counter.session(state)
        first.run(x=[1, 2, 3, 4], function="step")
        second.run(x=[1, 2, 3, 4], function="step")
        self.assertEqual(first.run(function="get")["y"].tolist(), [2, 4, 6, 8])
        self.assertEqual(state["v"].tolist(), [2, 4, 6, 8])

    def test_variables_before_any_plan(self):
        state = gt.State()
        state["v"] = np.ones(4, np.float32)
        state["other"] = gt.array([7], device="GPU:1")
        session = self.counter.session(state)
        session.run(x=[1, 1, 1, 1], function="step")
        self.assertEqual(state["v"].tolist(), [2, 2, 2, 2])
        self.assertEqual((state["other"].tolist(), state["other"].device, state.names), ([7], "GPU:1", ["v", "other"]))

    def test_a_new_mirror_begins_as_its_variable_is(self):
        state = gt.State()
        state["v"] = gt.array(np.float32([1, 2, 3, 4]), device="CPU:0")
        state.extend(gt.load(PLANS / "training.gantry"))
        self.assertEqual(state["v/replica_1"].tolist(), [1, 2, 3, 4])

    def test_a_copy_stays_as_it_was(self):
        session = self.counter.session()
        before = session.state["v"]
        session.run(x=[1, 1, 1, 1], function="step")
        self.assertEqual((before.tolist(), session.state["v"].tolist()), ([0] * 4, [1] * 4))

    def test_saved_and_loaded(self):
        state = gt.load(PLANS / "training.gantry").session().state
        self.assertEqual(state.names, ["v", "w"])  # no mirror
        state["w"] = [[1, 2], [3, 4]]
        with tempfile.TemporaryDirectory() as folder:
            state.save(f"{folder}/state.npz")
            fresh = gt.load(PLANS / "training.gantry").session().state
            fresh.load(f"{folder}/state.npz")
        self.assertEqual(fresh["w"].tolist(), [[1, 2], [3, 4]])

    def test_wrong_calls(self):
        state = self.counter.session().state
        for call, error, text in (
                (lambda: state["u"], gt.NotFoundError, "there is no variable 'u'; the variables are 'v' f32[4]"),
                (lambda: state.load({"v": [1, 2]}), gt.InvalidArgumentError,
                 "variable 'v': expected float32[4], got float32[2]"),
                (lambda: state.load({"v": np.arange(4)}), gt.InvalidArgumentError,
                 "variable 'v': expected float32[4], got int64[4]")):
            with self.assertRaises(error) as caught:
                call()
            self.assertEqual(str(caught.exception), text)
