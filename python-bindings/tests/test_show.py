"""What plans say of themselves, and what notebooks show of plans, arrays and states."""

import os
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

import gantry as gt
from gantry import _notebook
from tests.support import HAS_COMPILER, NEEDS_COMPILER, PLANS, run
from tests.test_compile import MATMUL, VARIABLE

LAYERS = """
func.func @main(%%x0: tensor<64x64xf32>) -> tensor<64x64xf32> {%s
  return %%x6 : tensor<64x64xf32>
}
"""


def parsed(html):
    """The elements of a view, which is XML as well: what browsers mend is a mistake here."""
    return xml.etree.ElementTree.fromstring(html.replace("<svg xmlns=", "<svg x="))


def texts(html, tag):
    return ["".join(element.itertext()) for element in parsed(html).iter(tag)]


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Telling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plan, cls.other = gt.compile(MATMUL), gt.compile(MATMUL, rules=["MatMul=GPU:1"])

    def test_explain(self):
        text = self.plan.explain()
        self.assertIsInstance(text, str)
        for part in ("\nfunction main\n", "placed 1 op: GPU:0 1", "default: GPUs before CPUs, then the lowest id"):
            self.assertIn(part, text)
        self.assertEqual(repr(text), text.rstrip("\n"))
        self.assertTrue(all(len(line) <= 76 for line in self.plan.explain(width=76).splitlines()))

    def test_explain_parts(self):
        self.assertIn("why        default:", self.plan.explain("MatMul"))
        self.assertIn("peak 64 bytes live on GPU:0 at command 4 of 7", self.plan.explain(memory=True))
        self.assertIn("1 kernel, 1 launch for 1 op", self.plan.explain(all=True))
        self.assertIn("copies in", self.plan.explain(timeline=True))
        told = self.plan.explain(json=True, memory=True)
        self.assertEqual([op["node"] or op["name"] for op in told["functions"][0]["ops"]], ["MatMul/y"])
        self.assertEqual(len(told["functions"][0]["values"]), 3)

    def test_explain_refuses(self):
        for arguments, text in (({"op": "Matmul"}, "op 'Matmul' describes no op; did you mean 'MatMul'? Case counts"),
                                ({"function": "step"}, "the plan has no function 'step'; its functions are 'main'")):
            with self.assertRaises(gt.NotFoundError) as caught:
                self.plan.explain(**arguments)
            self.assertEqual(str(caught.exception), text)

    def test_memory(self):
        held = self.plan.memory["GPU:0"]
        self.assertEqual((held.constants, held.variables, held.transient, held.bound, held.peak, held.limit),
                         (0, 0, 192, 192, 192, 0))
        self.assertEqual(held["transient"], 192)

    def test_log_for_programs(self):
        kinds = ["copy" in each for each in self.plan.log(json=True)]
        self.assertEqual(kinds, [True, True, False, True])
        self.assertEqual(self.plan.log(json=True)[2]["rule"], "default")

    def test_timeline(self):
        timeline = self.plan.timeline()
        self.assertEqual([moment["does"] for moment in timeline], ["copy", "launch", "copy"])
        for before, after in zip(timeline, timeline[1:]):
            self.assertLessEqual(before["end"], after["start"] + 1e-12)
        predicted = self.plan.explain(json=True)["functions"][0]["predicted_seconds"]
        self.assertAlmostEqual(timeline[-1]["end"], predicted)
        self.assertIn("GPU:0 compute", str(timeline))
        self.assertEqual(len(texts(f"<div>{timeline._repr_html_()}</div>", "rect")), 3)

    def test_timeline_of_a_run(self):
        session = self.plan.session()
        with self.assertRaises(gt.FailedPreconditionError):
            session.timeline()
        session.run(gt.ones(2, 3), gt.ones(3, 2))
        ran, predicted = session.timeline(), self.plan.timeline()
        self.assertEqual([(each["name"], each["queue"]) for each in ran], [(each["name"], each["queue"]) for each in predicted])
        self.assertAlmostEqual(ran[-1]["end"], predicted[-1]["end"])
        self.assertEqual(str(ran), str(predicted))

    def test_report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.html"
            self.plan.report(path)
            self.assertEqual(os.listdir(folder), ["report.html"])
            page = path.read_text(encoding="utf-8")
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertIn('"name":"MatMul/y"', page)
        self.assertIn('"operands":[{"name":', page)

    def test_report_of_two_plans(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.html"
            self.plan.report(path, other=self.other)
            page = path.read_text(encoding="utf-8")
        self.assertIn('"diff":{"same":false', page)
        self.assertEqual(page.count('"plan_bytes":'), 2)

    def test_differences(self):
        found = self.plan.diff(self.other)
        self.assertIs(found["same"], False)
        self.assertIn("1 op moved\n", str(found))
        self.assertEqual(str(self.plan.diff(self.plan)), "same placement, copies, memory and prediction\n")

    def test_why_not(self):
        with tempfile.NamedTemporaryFile(suffix=".mlir") as file:
            file.write(MATMUL)
            file.flush()
            text = gt.compile(file.name).why_not("MatMul", "GPU:1")
        self.assertIn("ask for GPU:1", text)
        self.assertIn("predicted", text)
        self.assertEqual(self.plan.why_not("MatMul", gt.device("GPU:1"), source=MATMUL).split(" for GPU:1")[0],
                         text.split(" for GPU:1")[0])

    def test_why_not_of_a_function(self):
        @gt.function
        def double(x):
            return x + x

        plan = double.lower(gt.ones(3)).plan()
        self.assertIn("ask for CPU:0", plan.why_not("AddV2", "CPU:0"))

    def test_why_not_refuses(self):
        with self.assertRaises(gt.FailedPreconditionError) as caught:
            self.plan.why_not("MatMul", "GPU:1")
        self.assertEqual(str(caught.exception), "why_not needs the graph, whose constraints a plan does not keep; give it "
                                                "as source=")
        with self.assertRaises(gt.InvalidArgumentError):
            self.plan.why_not("Convolution", "GPU:1", source=MATMUL)

    def test_rules_hold_in_why_not(self):
        self.assertIn("is on GPU:1", self.other.why_not("MatMul", "GPU:0", source=MATMUL))


class Loaded(unittest.TestCase):
    def test_of_a_file_and_of_bytes(self):
        path = PLANS / "hello.gantry"
        loaded, again = gt.load(path), gt.load(path.read_bytes())
        self.assertEqual(loaded.explain(), again.explain())
        self.assertIs(loaded.diff(again)["same"], True)
        self.assertEqual(loaded.memory["CPU:0"]["constants"], 64)

    def test_the_library_is_opened_late(self):
        self.assertEqual(run("""
            import gantry as gt
            plan = gt.load(%r)
            plan.run(x=[0.0] * 4)
            print("gantry-show" in gt._library._opened)
            plan.explain()
            print("gantry-show" in gt._library._opened)""" % str(PLANS / "hello.gantry")), "False\nTrue\n")


class Views(unittest.TestCase):
    @unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
    def test_a_plan(self):
        html = gt.compile(MATMUL)._repr_html_()
        cells = texts(html, "td")
        self.assertEqual(cells[9:13], [" GPU:0", "1", "1 MatMul", "3 µs"])
        pictures = [element.get("aria-label") for element in parsed(html).iter("svg")]
        self.assertEqual(pictures, ["queues over a run, as predicted", "memory of GPU:0 over a run"])
        self.assertIn("peak 64 bytes", texts(html, "text"))
        self.assertIn("at step 4 of 7", texts(html, "text"))

    @unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
    def test_names_are_escaped(self):
        html = gt.compile(MATMUL.replace(b'"x"', b'"<x & y>"'))._repr_html_()
        self.assertIn("<x & y>: f32[2,3], 24 bytes at 0, steps 1 to 4", texts(html, "title"))

    @unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
    def test_what_was_done_to_fit(self):
        layers = "".join(f"""
            %w{i} = gantry.constant dense<0.{i + 1}> : tensor<64x64xf32>
            %x{i + 1} = gantry.matmul %x{i}, %w{i} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>"""
                         for i in range(6))
        html = run(f"""
            import gantry as gt
            graph = {(LAYERS % layers).encode()!r}
            print(gt.compile(graph, flags=["over-limit=fix", "place=MatMul=GPU:0"])._repr_html_())""",
                   devices="CPU:0,GPU:0@100KiB")
        said = texts(html, "p")[1]
        self.assertRegex(said, r"^over the limit: GPU:0: \d+ weights of \d+ KiB in all stay on the host")
        self.assertRegex(texts(html, "td")[17], r"^100 KiB \(\d+%\)$")

    def test_an_array(self):
        html = gt.ones(2, 3, device="GPU:1")._repr_html_()
        self.assertEqual(texts(html, "p"), ["float32[2, 3] on GPU:1, 24 bytes"])
        self.assertEqual(texts(html, "pre"), ["[[1. 1. 1.]\n [1. 1. 1.]]"])

    @unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
    def test_a_state(self):
        state = gt.compile(VARIABLE).session().state
        for number in range(14):
            state[f"more{number:02}"] = gt.zeros(2)
        html = state._repr_html_()
        self.assertEqual(texts(html, "td")[:4], ["w", "float32[4]", "GPU:0", "16 bytes"])
        self.assertEqual(texts(html, "p"), ["15 variables, 128 bytes", "… and 3 more"])

    def test_texts(self):
        for count, text in ((0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (1 << 40, "1 TiB")):
            self.assertEqual(_notebook.bytes_text(count), text)
        for count, text in ((0, "0 s"), (2e-9, "2 ns"), (1.5e-5, "15 µs"), (0.25, "250 ms"), (3, "3 s")):
            self.assertEqual(_notebook.seconds_text(count), text)
