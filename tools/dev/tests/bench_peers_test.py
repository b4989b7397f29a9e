"""The ops that peers are measured on, and what is said of them; peers themselves are not needed."""

import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "peers"))
import measuring
import models
import modes

HAS_ONNX = importlib.util.find_spec("onnx") is not None
if HAS_ONNX:
    import bench
    import peer_cases


@unittest.skipUnless(HAS_ONNX, "the module onnx is missing; apt-get install python3-onnx")
class BenchPeersTest(unittest.TestCase):
    def test_drawn_sizes_are_the_same_every_time_and_can_be_computed(self):
        drawn = list(peer_cases.drawn(200, 1))
        self.assertEqual(drawn, list(peer_cases.drawn(200, 1)))
        self.assertNotEqual(drawn, list(peer_cases.drawn(200, 2)))
        for case in drawn:
            self.assertGreater(case.flops(), 0, case)

    def test_a_line_holds_all_that_a_peer_needs(self):
        self.assertEqual(peer_cases.Product(2, 3, 4).line(), "product 2 3 4")
        conv = peer_cases.Convolution(1, 8, 10, 12, 16, 3, 2, 1, 4)
        self.assertEqual(conv.line(), "conv 1 8 10 12 16 3 2 1 4")
        self.assertEqual(conv.result(), (1, 16, 5, 6))
        self.assertEqual(conv.flops(), 2 * 16 * 5 * 6 * 9 * 2)
        self.assertEqual(conv.weights(), 16 * 2 * 9)

    def test_a_model_has_as_many_ops_as_it_is_asked_for(self):
        conv = peer_cases.Convolution(1, 8, 10, 12, 16, 3, 2, 1, 4)
        for last in (False, True):
            graph = conv.onnx(3, channels_last=last).graph
            self.assertEqual([node.op_type for node in graph.node].count("Conv"), 3)
            self.assertEqual(len(graph.output), 3)
            self.assertEqual([d.dim_value for d in graph.output[0].type.tensor_type.shape.dim],
                             [1, 5, 6, 16] if last else [1, 16, 5, 6])

    def test_cold_needs_weights_that_no_cache_holds(self):
        self.assertIsNone(bench.copies_when_cold(peer_cases.Product(4, 16, 16)))
        case = peer_cases.Product(4, 1024, 4096)
        self.assertGreaterEqual(bench.copies_when_cold(case) * 4 * case.weights(), bench.COLD_BYTES)

    def test_the_page_shows_the_slowest(self):
        row = lambda ratio: {"op": f"op {ratio}", "copies": 1, "gflops": 9.5, "us": {}, "ratio": {"oneDNN": ratio}}
        text = bench.page({"machine": "a machine", "threads": 1, "peak": 1e11, "versions": ["oneDNN 1"], "rounds": 3,
                           "date": "today", "load": 0.5,
                           "parts": {"30 sizes drawn at random": [row(1 + i / 10) for i in range(30)] + [row(0.5)]}})
        self.assertIn("least 0.50, 1 of 31 below 0.8", text)
        self.assertIn("| op 0.5 | 10 | 0.50 |", text)
        self.assertNotIn("| op 3.9 |", text)


class WholeModelsTest(unittest.TestCase):
    def test_what_is_a_product_in_each_run_counts(self):
        op = lambda kind, flops, once=False: {"kind": kind, "flops": flops, "once": once}
        ops = [op("contraction", 40), op("elementwise", 7), op("contraction", 500, once=True), op("contraction", 2)]
        self.assertEqual(models.flops_of({"functions": [{"ops": ops}, {"ops": ops[:1]}]}), 82)

    def test_the_page_shows_medians_and_what_the_processor_allows(self):
        row = lambda name, threads, **more: {"model": name, "threads": threads, "ort_ms": [30.0, 24.0, 26.0],
                                             "gantry_ms": [19.0, 20.0, 40.0], "flops": 0, **{"ratio": 1.3, **more}}
        bound = {"flops": 16e8, "peak_ms": 16.0, "most": 1.625, "of_peak": 0.8}
        result = {"machine": "a machine", "versions": ["gantry 1", "ONNX Runtime 2"], "date": "today", "rounds": 3,
                  "seconds": 2, "load": [0.25, 1], "peaks": {"1": 1e11, "2": 2e11},
                  "parts": {"models": [row("bert", 1, **bound), row("adds", 1), row("bert", 2, **{**bound, "ratio": 0.9})]}}
        text = models.page(result)
        self.assertIn("| bert | 1 | 26 | 20 | 1.30 | 16 | 1.62 | 80% |", text)
        self.assertIn("| adds | 1 | 26 | 20 | 1.30 |  |  |  |", text)
        self.assertIn("1.30 on 1 (least 1.30), 0.90 on 2 (least 0.90)", text)
        self.assertIn("peak 100 GFLOP/s on 1, 200 GFLOP/s on 2", text)

    def test_figures_can_be_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "models"
            parts = {"models": [{"model": "bert", "ort_ms": [1.5]}, {"model": "mlp"}]}
            measuring.write(path, {"rounds": 3, "parts": parts}, parts, "# A page")
            self.assertEqual(json.loads(path.with_suffix(".json").read_text()), {"rounds": 3, "parts": parts})
            self.assertEqual(path.with_suffix(".md").read_text(), "# A page")


class BenchModesTest(unittest.TestCase):
    def test_the_error_is_the_largest_of_outputs_that_are_not_zero(self):
        said = ("gantry: output 'a' with --math=bf16 against f32: max abs error 0.01, 0.002 of the largest value, 5; max\n"
                "gantry: output 'b' with --math=bf16 against f32: max abs error 0.03, 0.004 of the largest value, 7; max\n"
                "gantry: output 'c' with --math=bf16 against f32: max abs error 0, nan of the largest value, 0; max\n")
        self.assertEqual(modes.largest_error(said), 0.004)
        self.assertIsNone(modes.largest_error(said.splitlines()[2]))

    def test_a_ratio_is_of_pairs(self):
        row = {"model": "m", "threads": 1, "ms": {"f32": [10, 30, 10], "bf16": [5, 10, 8]}, "plan_bytes": {"f32": 4e6, "bf16": 2e6},
               "error": 0.0031, "ratio": 2.0}
        self.assertIn("| m | 1 | 10 | 5 | 2.00 | 1.25 to 3.00 | 0.0031 | 4, 2 |", modes.table([row], "bf16"))


if __name__ == "__main__":
    unittest.main()
