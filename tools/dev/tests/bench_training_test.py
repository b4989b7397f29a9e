"""What is told of steps of training beside PyTorch's; neither PyTorch nor Gantry is needed."""

import argparse
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import bench_training
import training_page


def row(network="mlp", threads=1, **more):
    return {"network": network, "threads": threads, "date": "today", "load": [0.25, 1.5], "turns": 3, "steps": 2,
            "torch_ms": [30.0, 20.0, 25.0], "gantry_ms": [15.0, 10.0, 80.0], "torch_cpu_ms": [20.0], "gantry_cpu_ms": [14.0],
            "torch_peak_mib": 200.0, "gantry_peak_mib": 130.0, "gantry_library_mib": 60.0, "gantry_kept_mib": 30.0, "transient_mib": 4.5,
            "compile_s": 1.25, "compile_cpu_s": 1.0, "blas": "/lib/fast.so", "blas_gflops": 60.0, "onednn_gflops": 100.0,
            "versions": "gantry 1, PyTorch 2", "losses": {"torch": [2.5, 1.0, 0.5], "gantry": [2.25, 1.5, 0.75]}, **more}


def page(*rows):
    return training_page.page({"machine": "a machine", "parts": {"steps": rows}})


class PageTest(unittest.TestCase):
    def test_a_row_tells_medians_and_what_is_missed(self):
        text = page(row())
        self.assertIn("| mlp | 1 | 25 (20–30) | 15 (10–80) | 0.60 | 0.75 | 20 (20–20) | 14 (14–14) | 0.70 | 3 x 2 | 0.2, 1.5 | today |",
                      text)
        self.assertIn("| mlp | 1 | 200 | 130 | **0.65**, missed | 0.60 | 0.35 | 30.0 | 4.5 | 1.2 | 1.0 |", text)
        self.assertIn("| mlp | 1 | 2.5 | 2.25 | 0.5 | 0.75 |", text)
        self.assertIn("1 of 2 are missed", text)
        self.assertIn("- 1 thread: 60 GFLOP/s by /lib/fast.so; oneDNN 100.", text)

    def test_a_slow_time_is_missed(self):
        text = page(row(gantry_ms=[20.0], gantry_peak_mib=10.0))
        self.assertIn("| 25 (20–30) | 20 (20–20) | **0.80**, missed | 0.75 |", text)
        self.assertIn("1 of 2 are missed", text)

    def test_a_slow_blas_gives_no_ratio_of_times(self):
        text = page(row(blas_gflops=49.0))
        self.assertIn("| mlp | 1 | 25 (20–30) | 15 (10–80) |  | 0.75 | 20 (20–20) | 14 (14–14) |  |", text)
        self.assertIn("- 1 thread: 49 GFLOP/s by /lib/fast.so; oneDNN 100; below half of that the BLAS is no peer", text)
        self.assertIn("ratio none (asked 0.75)", training_page.line(row(blas_gflops=49.0)))
        self.assertIn("| **0.65**, missed |", text)  # memory has one

    def test_products_are_told_once_for_each_number_of_threads(self):
        text = page(row("reuters", 1), row("mlp", 1, blas_gflops=70.0), row("mlp", 2))
        self.assertIn("- 1 thread: 60–70 GFLOP/s by /lib/fast.so; oneDNN 100.\n- 2 threads: 60 GFLOP/s", text)

    def test_fit_is_held_against_bare_steps(self):
        self.assertIn("On 1 thread a step of reuters in `Trainer.fit` takes 16 (15–20) ms; bare steps are 94% of that.",
                      page(row("reuters", fit_ms=[20.0, 15.0, 16.0])))


class RowsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "training"
        self.options = argparse.Namespace(write=self.path, threads=[1], networks=["mlp", "reuters"])

    def networks(self):
        rows = json.loads(self.path.with_suffix(".json").read_text(encoding="utf-8"))["parts"]["steps"]
        return [(each["network"], each["threads"], each["compile_s"]) for each in rows]

    def measure(self, compare):
        shared = lambda *_: {"blas_gflops": 60.0}
        with mock.patch.multiple(bench_training, shared=shared, compare=compare), mock.patch("builtins.print"):
            bench_training.measure(self.options)

    def test_a_run_that_ends_early_loses_no_row(self):
        def compare(options, name, threads):
            if name == "reuters":
                raise ChildProcessError("torch ended with SIGKILL")
            return row(name, threads)
        with self.assertRaises(ChildProcessError):
            self.measure(compare)
        self.assertEqual(self.networks(), [("mlp", 1, 1.25)])
        self.assertIn("| mlp | 1 |", self.path.with_suffix(".md").read_text(encoding="utf-8"))

    def test_rows_stay_until_they_are_measured_anew(self):
        before = [row("mlp", 2), row("mlp", 1), row("bert_base", 1)]
        bench_training.tell(self.options, {(each["network"], each["threads"]): each for each in before})
        self.measure(lambda options, name, threads: row(name, threads, compile_s=9.0))
        self.assertEqual(self.networks(), [("reuters", 1, 9.0), ("mlp", 1, 9.0), ("mlp", 2, 1.25), ("bert_base", 1, 1.25)])

    def test_of_several_files_the_last_counts(self):
        other = self.path.with_name("other")
        bench_training.tell(argparse.Namespace(write=other), {("mlp", 1): row(compile_s=9.0)})
        bench_training.tell(self.options, {("mlp", 1): row(), ("mlp", 2): row(threads=2)})
        files = [each.with_suffix(".json") for each in (self.path, other)]
        self.assertEqual({key: each["compile_s"] for key, each in bench_training.kept_rows(files).items()},
                         {("mlp", 1): 9.0, ("mlp", 2): 1.25})


class PeerTest(unittest.TestCase):
    def test_what_a_plan_takes_beside_variables(self):
        arenas = [{"kind": "constants", "size": 5}, {"kind": "variables", "size": 70}, {"kind": "transient", "size": 30}]
        self.assertEqual(bench_training.transient_of({"arenas": arenas}), 30)

    def test_the_most_that_was_resident(self):
        before = bench_training.most_resident()
        held = bytearray(64 << 20)
        most = bench_training.most_resident()
        self.assertGreater(most, before + 60)
        del held
        self.assertGreater(bench_training.most_resident(), most - 1)  # the kernel counts in batches of pages


if __name__ == "__main__":
    unittest.main()
