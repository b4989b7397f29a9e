"""Eight threads at once, which take turns as often as the interpreter lets them: caches and lazily made things."""

import sys
import threading
import unittest

import numpy as np

import gantry as gt
from gantry import _eager
from tests.support import HAS_COMPILER, NEEDS_COMPILER, run

THREADS = 8


def at_once(work):
    """What work(number) gives in each thread; they begin together."""
    start, results = threading.Barrier(THREADS), [None] * THREADS

    def body(number):
        start.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            results[number] = error
    threads = [threading.Thread(target=body, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class AtOnce(unittest.TestCase):
    def setUp(self):
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)

    def test_a_function_is_traced_once(self):
        traced = []

        @gt.function
        def twice(x):
            traced.append(x.shape)
            return x + x
        results = at_once(lambda number: [twice(gt.full((size,), float(number))).tolist() for size in (1, 2)])
        self.assertEqual(results, [[[2.0 * number] * size for size in (1, 2)] for number in range(THREADS)])
        self.assertEqual(sorted(traced), [(1,), (2,)])

    def test_a_full_cache_of_ops(self):
        most, _eager._MOST = _eager._MOST, 2
        self.addCleanup(setattr, _eager, "_MOST", most)
        _eager.clear()

        def work(number):
            keys = [("test", number, i) for i in range(2000)]
            for key in keys:
                _eager._keep(key, None)
            return len(_eager._cache) <= 2
        self.assertEqual(at_once(work), [True] * THREADS)

    def test_ops_of_shapes_that_are_new_to_all(self):
        _eager.clear()
        results = at_once(lambda number: [(gt.ones(2, size) * 3.0).numpy().sum() for size in range(1, 4)])
        self.assertEqual(results, [[6.0, 12.0, 18.0]] * THREADS)

    def test_a_plan_and_a_session_of_all(self):
        plan = gt.function(lambda x: x * 2.0).plan(gt.ones(4))
        session = plan.session()

        def work(number):
            x = gt.full((4,), float(number))
            futures = [session.submit(x) for _ in range(20)]
            run_by_plan = [plan.run(x)["output0"].tolist()[0] for _ in range(20)]
            return {future.result()["output0"].tolist()[0] for future in futures} | set(run_by_plan)
        self.assertEqual(at_once(work), [{2.0 * number} for number in range(THREADS)])

    def test_random_numbers_are_drawn_once_each(self):
        gt.random.seed(1)
        drawn = at_once(lambda number: [gt.random.next_key().seed for _ in range(200)])
        self.assertEqual(len(set(np.concatenate(drawn))), 200 * THREADS)

    def test_an_array_is_given_away_once(self):
        step = gt.function(lambda w: w + 1.0, donate="w")
        step(gt.zeros(4))
        for _ in range(20):
            w = gt.zeros(4)

            def work(number):
                try:
                    return step(w).tolist()
                except gt.FailedPreconditionError as error:
                    return str(error)
            results = at_once(work)
            self.assertEqual(sum(result == [1.0] * 4 for result in results), 1)
            self.assertEqual(sum("was given away to argument 'w' of function '<lambda>'" in result for result in results),
                             THREADS - 1)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Disk(unittest.TestCase):
    def test_one_entry_kept_by_all(self):
        self.assertEqual(run("""
            import os, pathlib, sys, tempfile
            folder = tempfile.mkdtemp()
            os.environ["GANTRY_CACHE_DIR"] = folder
            os.environ.pop("GANTRY_CACHE_SIZE", None)
            sys.setswitchinterval(1e-6)
            from gantry import _disk
            from tests.test_threads import at_once
            data, what = b"p" * 100000, _disk.request_for("one", b"{}")
            at_once(lambda number: [_disk.keep(what, data) for _ in range(30)])
            path, said = _disk.find(what)
            print(path.read_bytes() == data, said, sorted(file.suffix for file in pathlib.Path(folder).iterdir()))
            """), "True [] ['.gantry', '.json']\n")
