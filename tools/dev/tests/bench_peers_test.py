"""The ops that peers are measured on, and what is said of them; peers themselves are not needed."""

import importlib.util
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "peers"))
HAS_ONNX = importlib.util.find_spec("onnx") is not None
if HAS_ONNX:
    import bench
    import cases


@unittest.skipUnless(HAS_ONNX, "the module onnx is missing; apt-get install python3-onnx")
class BenchPeersTest(unittest.TestCase):
    def test_drawn_sizes_are_the_same_every_time_and_can_be_computed(self):
        drawn = list(cases.drawn(200, 1))
        self.assertEqual(drawn, list(cases.drawn(200, 1)))
        self.assertNotEqual(drawn, list(cases.drawn(200, 2)))
        for case in drawn:
            self.assertGreater(case.flops(), 0, case)

    def test_a_line_holds_all_that_a_peer_needs(self):
        self.assertEqual(cases.Product(2, 3, 4).line(), "product 2 3 4")
        conv = cases.Convolution(1, 8, 10, 12, 16, 3, 2, 1, 4)
        self.assertEqual(conv.line(), "conv 1 8 10 12 16 3 2 1 4")
        self.assertEqual(conv.result(), (1, 16, 5, 6))
        self.assertEqual(conv.flops(), 2 * 16 * 5 * 6 * 9 * 2)
        self.assertEqual(conv.weights(), 16 * 2 * 9)

    def test_a_model_has_as_many_ops_as_it_is_asked_for(self):
        conv = cases.Convolution(1, 8, 10, 12, 16, 3, 2, 1, 4)
        for last in (False, True):
            graph = conv.onnx(3, channels_last=last).graph
            self.assertEqual([node.op_type for node in graph.node].count("Conv"), 3)
            self.assertEqual(len(graph.output), 3)
            self.assertEqual([d.dim_value for d in graph.output[0].type.tensor_type.shape.dim],
                             [1, 5, 6, 16] if last else [1, 16, 5, 6])

    def test_cold_needs_weights_that_no_cache_holds(self):
        self.assertIsNone(bench.copies_when_cold(cases.Product(4, 16, 16)))
        case = cases.Product(4, 1024, 4096)
        self.assertGreaterEqual(bench.copies_when_cold(case) * 4 * case.weights(), bench.COLD_BYTES)

    def test_the_page_shows_the_slowest(self):
        row = lambda ratio: {"op": f"op {ratio}", "copies": 1, "gflops": 9.5, "us": {}, "ratio": {"oneDNN": ratio}}
        text = bench.page({"machine": "a machine", "threads": 1, "peak": 1e11, "versions": ["oneDNN 1"], "rounds": 3,
                           "date": "today", "load": 0.5,
                           "parts": {"30 sizes drawn at random": [row(1 + i / 10) for i in range(30)] + [row(0.5)]}})
        self.assertIn("least 0.50, 1 of 31 below 0.8", text)
        self.assertIn("| op 0.5 | 10 | 0.50 |", text)
        self.assertNotIn("| op 3.9 |", text)


if __name__ == "__main__":
    unittest.main()
