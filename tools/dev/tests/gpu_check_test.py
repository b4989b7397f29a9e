"""The report has to say on every line what was used, and a stage that failed or never ran must show."""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/dev/gpu_check"))
import common
import cublaslt
import peer_network
import pictures
import report
import stage_autotune
import stage_bench
import stage_memory
import stage_peers
import stage_programs
import stage_sanitize

FAKE = {"real": False, "what": "fake: rehearsal", "date": "2026-01-01"}
REAL = {"real": True, "what": "Some GPU, driver 1.2, 2026-01-01", "date": "2026-01-01"}
BITS = {"stage": "bits", "seen": FAKE, "seconds": 1.5, "notes": ["1 cases failed"], "rows": [
    {"element": "f32", "cases": 4, "same_bits": 4, "verdict": "passed"},
    {"element": "f16", "cases": 4, "same_bits": 3, "verdict": "failed"}]}
BENCH = {"stage": "bench", "seen": REAL, "seconds": 2, "notes": [], "rows": [
    {"what": "matmul-f32-64", "median_ms": 0.5}, {"what": "odd | name", "median_ms": 1}, {"what": "copy", "gb_per_s": 9}]}


def lines_of_figures(text):
    """Lines of tables but for heads and rules."""
    lines = text.splitlines()
    return [line for before, line in zip(["", *lines], lines) if line.startswith("| ") and not line.endswith("| seen on |")]


class ReportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def page(self, *results):
        for result in results:
            (self.folder / f"{result['stage']}.json").write_text(json.dumps(result))
        return report.page(report.read(self.folder))

    def test_every_line_says_what_it_was_seen_on(self):
        for line in lines_of_figures(self.page(BITS)):
            self.assertTrue(line.endswith("| fake: rehearsal |"), line)
        self.assertEqual(len(lines_of_figures(self.page(BITS))), 2)

    def test_a_rehearsal_is_no_gpu(self):
        self.assertIn("**no GPU was used.**", self.page(BITS))

    def test_a_real_gpu_is_named_and_a_rehearsed_stage_beside_it_stays_marked(self):
        text = self.page(BITS, BENCH)
        self.assertNotIn("**no GPU was used.**", text)
        self.assertIn("| matmul-f32-64 | 0.5 | Some GPU, driver 1.2, 2026-01-01 |", text)
        self.assertIn("| f32 | 4 | 4 | passed | fake: rehearsal |", text)

    def test_a_failure_is_counted_and_its_note_kept(self):
        text = self.page(BITS)
        self.assertIn("1 passed, 1 failed, 0 left out", text)
        self.assertIn("- fake: rehearsal: 1 cases failed", text)

    def test_a_stage_that_has_not_run_says_so(self):
        self.assertEqual(self.page(BITS).count("no GPU was used: this stage has not run."), 6)

    def test_columns_of_another_kind_are_a_table_of_their_own_and_bars_do_no_harm(self):
        text = self.page(BENCH)
        self.assertEqual(text.count("| seen on |"), 2)
        self.assertIn("odd \\| name", text)

    def test_the_tree_of_the_plans_is_named_where_it_is_known(self):
        text = self.page({**BITS, "tree": "4ec7f70"}, BENCH)
        self.assertEqual(text.count("Plans of tree"), 1)
        self.assertIn("## Bits: the interpreter's and the GPU's, over the kernel table\n\nPlans of tree 4ec7f70.", text)

    def test_a_broken_file_is_an_error_that_names_it(self):
        (self.folder / "bits.json").write_text('{"stage": "bits"}')
        with self.assertRaisesRegex(SystemExit, "bits.json: KeyError"):
            report.read(self.folder)


class PicturesTest(unittest.TestCase):
    def test_a_chart_says_what_it_was_seen_on_and_is_as_long_as_its_figures(self):
        rows = [{"what": "a<b", "tflops": 4.0, "median_ms": 1.0}, {"what": "c", "tflops": 2.0, "median_ms": 1.0}]
        text = pictures.page({"bench": {**BENCH, "rows": rows}})
        self.assertIn("Seen on: Some GPU, driver 1.2, 2026-01-01", text)
        self.assertIn("a&lt;b", text)
        lengths = [float(part.split('"')[0]) for part in text.split("<figure>")[1].split(' width="')[2:]]
        self.assertEqual(lengths[0], 2 * lengths[1])

    def test_times_of_different_work_have_scales_of_their_own(self):
        rows = [{"what": "a", "median_ms": 1000.0, "torch_ms": 500.0}, {"what": "b", "median_ms": 0.25, "torch_ms": 1.0}]
        text = pictures.page({"bench": {**BENCH, "rows": rows}})
        lengths = [float(part.split('"')[0]) for part in text.split("<figure>")[1].split(' width="')[2:]]
        self.assertEqual(lengths[0], lengths[3])
        self.assertEqual(lengths[0], 2 * lengths[1])
        self.assertEqual(lengths[0], 4 * lengths[2])

    def test_words_in_the_place_of_figures_are_left_out(self):
        rows = [{"network": "mlp", "gantry_ms": 3, "eager": "not in a rehearsal"}]
        text = pictures.page({"peers": {**BENCH, "stage": "peers", "seen": FAKE, "rows": rows}})
        self.assertEqual(text.count("<rect"), 1)
        self.assertIn("no GPU was used.", text)
        self.assertIn("Seen on: fake: rehearsal", text)


class JudgeTest(unittest.TestCase):
    """Who is as near to float64 as PyTorch is right, whatever the weights do."""

    def verdict(self, found, peer, dtype="f32"):
        exact = np.array([1.0, -2.0])
        return stage_programs.judged(exact * (1 + found), exact, exact * (1 + peer), dtype)[0]

    def test_small_differences_pass(self):
        self.assertEqual(self.verdict(5e-4, 0), "passed")
        self.assertEqual(self.verdict(5e-3, 0, "bf16"), "passed")

    def test_large_ones_fail(self):
        self.assertEqual(self.verdict(5e-3, 1e-4), "failed")
        self.assertEqual(self.verdict(8e-2, 1e-3, "bf16"), "failed")

    def test_they_pass_where_pytorch_is_as_far_off(self):
        self.assertEqual(self.verdict(5e-3, 4e-3), "passed")
        self.assertEqual(self.verdict(5e-3, 1e-3), "failed")


class BenchTest(unittest.TestCase):
    def test_the_wait_for_a_command_is_what_it_takes_longer_alone(self):
        self.assertAlmostEqual(stage_bench.waiting({1: (11e-6, 25e-6), 101: (121e-6, 1141e-6 * 101 / 100)}), 10.31e-6, 7)
        self.assertEqual(stage_bench.waiting({1: (11e-6, 25e-6)}), 0)

    def test_of_algorithms_the_first_is_taken_that_is_not_much_more_idle_than_the_best(self):
        self.assertEqual(stage_bench.taken([3 / 132, 20 / 132, 96 / 132]), 2)
        self.assertEqual(stage_bench.taken([3 / 132, 48 / 132, 96 / 132]), 1)
        self.assertEqual(stage_bench.taken([0.3, 1.0]), 0)
        self.assertEqual(stage_bench.taken([0, 0.5]), 0)

    def test_rates_of_a_topology_are_rows(self):
        name = "/job:localhost/replica:0/task:0/physical_device:"
        rows = list(stage_bench.calibration({
            "physical": [{"name": name + "GPU:0", "bandwidth": 3e12, "launch": 2e-6, "peak_flops": {"f32": 6e13}}],
            "links": [{"from": name + "CPU:0", "to": name + "GPU:0", "bandwidth": 5e10, "latency": 1e-5}]}))
        self.assertEqual(rows[0], {"what": "calibrated GPU:0", "launch_us": 2.0, "gb_per_s": 3000.0, "f32_tflops": 60.0,
                                   "f16_tflops": 0.0, "bf16_tflops": 0.0})
        self.assertEqual(rows[1], {"what": "calibrated CPU:0 to GPU:0", "gb_per_s": 50.0, "latency_us": 10.0})


class SweepTest(unittest.TestCase):
    """What is refused may have no more memory than what ran."""

    def verdict(self, *steps):
        return stage_memory.judged([{"free": free, "fits": not why, "why": why} for free, why in steps])

    def test_what_is_refused_below_and_runs_above_passes(self):
        self.assertEqual(self.verdict((10, "DOES_NOT_FIT: x"), (10, "DOES_NOT_FIT: y"), (12, ""), (14, "")), "passed")

    def test_a_refusal_with_as_much_as_was_enough_fails(self):
        self.assertEqual(self.verdict((10, "DOES_NOT_FIT: x"), (12, ""), (12, "DOES_NOT_FIT: x")), "failed")
        self.assertEqual(self.verdict((10, ""), (12, "DOES_NOT_FIT: x")), "failed")

    def test_another_failure_is_one(self):
        self.assertEqual(self.verdict((10, "INTERNAL: x"), (12, "")), "failed")

    def test_a_step_says_what_there_was_and_who_refused(self):
        self.assertEqual(stage_memory.told(-4, {"free": 4 << 20, "allocated": 3 << 19, "left": 0, "during": "run", "fits": False,
                                                "why": "DOES_NOT_FIT: cuMemCreate"}),
                         "-4 MiB: 4.00 MiB free before, 1.50 allocated by the plan, 0.00 left behind: refused at run: DOES_NOT_FIT: cuMemCreate")


class CublasLtTest(unittest.TestCase):
    def test_a_library_that_is_not_there_is_none(self):
        with unittest.mock.patch.dict(os.environ, GANTRY_CUBLASLT_LIB="/nowhere.so"):
            self.assertIsNone(cublaslt.find())

    def test_the_result_of_the_heuristic_is_as_large_as_the_library_writes(self):
        self.assertEqual(ctypes.sizeof(cublaslt.HeuristicResult), 96)


class ParsersTest(unittest.TestCase):
    def test_outcomes_of_googletest(self):
        passed, failed = stage_programs.outcomes(
            "[ RUN      ] a/S.one/0\n[       OK ] a/S.one/0 (0 ms)\n[ RUN      ] a/S.two/0\n"
            "[  FAILED  ] a/S.two/0, where GetParam() = 96-byte object <10> (1 ms)\n[  PASSED  ] 1 test.\n"
            "[  FAILED  ] 1 test, listed below:\n[  FAILED  ] a/S.two/0, where GetParam() = 96-byte object <10>\n")
        self.assertEqual((passed, failed), (["a/S.one/0"], ["a/S.two/0"]))

    def test_sums_of_the_sanitizer(self):
        self.assertEqual(stage_sanitize.errors_in("========= ERROR SUMMARY: 0 errors"), 0)
        self.assertEqual(stage_sanitize.errors_in("ran x\n========= ERROR SUMMARY: 12 errors"), 12)
        self.assertEqual(stage_sanitize.errors_in(
            "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)"), 2)
        self.assertIsNone(stage_sanitize.errors_in("Device not supported"))


def network(name, dtype="f32"):
    return {"name": name, "dtype": dtype}


class KeptTest(unittest.TestCase):
    """What a call leaves to the next."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, value in (("STATE", pathlib.Path(folder.name) / "state"), ("manifest", lambda: {"commit": self.commit, "small": True}),
                            ("seen", lambda: {"what": f"{self.gpu}, driver 1, 2026-01-0{self.day}"})):
            patch = unittest.mock.patch.object(common, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.commit, self.gpu, self.day = "abc", "Some GPU", 1

    def test_figures_of_an_earlier_call_are_there_on_another_day(self):
        common.Kept("peers").put("a", {"ms": 1.5})
        self.day = 2
        self.assertEqual(common.Kept("peers").get("a"), {"ms": 1.5})
        self.assertIsNone(common.Kept("sanitize").get("a"))

    def test_figures_of_other_plans_and_of_another_gpu_are_not(self):
        common.Kept("peers").put("a", 1)
        self.commit = "def"
        self.assertIsNone(common.Kept("peers").get("a"))
        self.commit, self.gpu = "abc", "Another GPU"
        self.assertIsNone(common.Kept("peers").get("a"))

    def measure(self, kept, steps, answers, **limits):
        """The steps that a call asks for, with those answers; a worker that is asked for more fails."""
        asked = []

        class Worker:
            def ask(self, entry, mode, seconds):
                asked.append((entry["name"], mode, round(seconds)))
                return answers[len(asked) - 1]

        with unittest.mock.patch.dict(os.environ, limits), unittest.mock.patch("builtins.print"):
            stage_peers.measure(unittest.mock.Mock(seconds=lambda: 0), kept, common.Budget(1000), Worker(), steps)
        return asked

    def test_a_call_goes_on_where_the_last_ended_and_the_slow_come_last_with_twice_the_time(self):
        steps = [(network(name), "eager") for name in "abc"]
        slow = {"slow": 120}
        self.assertEqual(self.measure(common.Kept("peers"), steps, [slow, {"ms": 1.0, "flags": "f"}], GPU_CHECK_STEPS="2"),
                         [("a", "eager", 120), ("b", "eager", 120)])
        kept = common.Kept("peers")
        self.assertEqual(self.measure(kept, steps, [{"failed": "x"}, {"ms": 2.0, "flags": "f"}]),
                         [("c", "eager", 120), ("a", "eager", 240)])
        self.assertEqual(self.measure(kept, steps, []), [])
        row = stage_peers.figures(kept, network("a"))
        self.assertEqual((row["eager"], row["reduce-overhead"]), (2.0, "no time left"))
        self.assertEqual(stage_peers.figures(kept, network("c"))["eager"], "failed: x")
        self.assertEqual(stage_peers.flags_of(kept, steps), ["eager: f"])

    def test_without_time_nothing_is_begun(self):
        self.assertEqual(self.measure(common.Kept("peers"), [(network("a"), "eager")], [], GPU_CHECK_SECONDS="5"), [])

    def test_ratios_are_to_the_best_peer(self):
        kept = common.Kept("peers")
        for mode, value in (("gantry", 2.0), ("gantry cublaslt", "not built"), ("eager", {"ms": 8.0}), ("max-autotune", {"ms": 3.0})):
            kept.put(f"a f32 {mode}", value)
        row = stage_peers.figures(kept, network("a"))
        self.assertEqual((row["gantry_times_best_measured"], row["gantry_cublaslt_times_best_measured"]), (1.5, "no peer"))

    def test_what_peers_know_autotune_knows_with_what_its_search_took(self):
        kept = common.Kept("peers")
        for mode, value in (("gantry", 2.0), ("max-autotune", {"ms": 3.0}), ("max-autotune-whole", {"ms": 2.5, "begin_s": 140.2})):
            kept.put(f"a f32 {mode}", value)
        row = stage_autotune.figures(kept, network("a"))
        self.assertEqual((row["max-autotune"], row["max-autotune-whole"], row["search_s"]), (3.0, 2.5, "-, -, 140.2"))
        self.assertEqual(row["gantry_times_best_measured"], 1.25)
        kept.put("a f32 max-autotune-triton", {"ms": 1.0})  # which the stage peers does not ask of this network
        self.assertEqual(stage_autotune.figures(kept, network("a"))["max-autotune-triton"], 1.0)

    def test_a_sanitizer_is_judged_over_all_its_processes(self):
        steps, kept = [("racecheck", ["a", "b"]), ("racecheck", ["c"])], common.Kept("sanitize")
        row = lambda: stage_sanitize.row(kept, "racecheck", steps)
        kept.put("racecheck a", {"ran": 2, "errors": 0})
        self.assertEqual((row()["verdict"], row()["detail"]), ("left out", "1 plans: no time left"))
        kept.put("racecheck c", {"slow": 120})
        self.assertEqual((row()["verdict"], row()["detail"]), ("left out", "1 plans: more than 120 s"))
        kept.put("racecheck c", {"ran": 1, "errors": 0})
        self.assertEqual(row(), {"tool": "racecheck", "plans": 3, "ran": 3, "errors": 0, "verdict": "passed"})
        kept.put("racecheck c", {"ran": 1, "errors": 2, "said": "hazard"})
        self.assertEqual((row()["verdict"], row()["errors"]), ("failed", 2))
        self.assertEqual(stage_sanitize.notes(kept, steps), ["racecheck: hazard"])


class PeersTest(unittest.TestCase):
    def test_what_is_asked_for_comes_first_and_autotuning_with_triton_last(self):
        entries = [network("mlp"), network("resnet50"), network("bert_base"), network("bert_base", "bf16"), network("vit_b_16")]
        steps = [(entry["name"], entry["dtype"], mode) for entry, mode in stage_peers.order(entries)]
        first = [("bert_base", "f32"), ("bert_base", "bf16"), ("resnet50", "f32"), ("vit_b_16", "f32")]
        self.assertEqual(steps[:8], [(*some, mode) for mode in ("reduce-overhead", "max-autotune") for some in first])
        self.assertEqual(steps[8:12], [(*some, "eager") for some in first])
        self.assertEqual({mode for *_, mode in steps[-4:]}, {"max-autotune-triton"})
        self.assertEqual(len(set(steps)), len(steps))

    def test_whole_searches_are_of_what_is_asked_for_and_go_network_by_network(self):
        entries = [network("mlp"), network("resnet50"), network("bert_base"), network("bert_base", "bf16")]
        steps = [(entry["name"], entry["dtype"], mode) for entry, mode in stage_autotune.order(stage_autotune.chosen(entries, []))]
        self.assertEqual(steps, [(*some, mode) for some in (("bert_base", "bf16"), ("bert_base", "f32"), ("resnet50", "f32"))
                                 for mode in ("max-autotune", "max-autotune-triton", "max-autotune-whole")])
        self.assertEqual([entry["name"] for entry in stage_autotune.chosen(entries, ["mlp"])], ["mlp"])
        with self.assertRaisesRegex(SystemExit, "GPU_CHECK_NETWORKS: the bundle has no nothing, vgg"):
            stage_autotune.chosen(entries, ["vgg", "mlp", "nothing"])

    def test_autotuning_has_few_candidates_and_no_option_that_pytorch_does_not_know(self):
        found = peer_network.autotune_options("max-autotune", {"max_autotune": True, "coordinate_descent_tuning": True},
                                              lambda key: "conv" not in key)
        self.assertEqual(found, {"max_autotune": True, "coordinate_descent_tuning": False, "max_autotune_gemm_backends": "ATEN",
                                 "max_autotune_gemm_search_space": "DEFAULT"})

    def worker(self, script):
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(script)
        self.addCleanup(os.unlink, file.name)
        popen = subprocess.Popen
        patch = unittest.mock.patch("subprocess.Popen", lambda command, **how: popen([command[0], file.name], **how))
        patch.start()
        self.addCleanup(patch.stop)
        made = stage_peers.Worker()
        self.addCleanup(made.end)
        return made

    def test_one_process_answers_until_a_peer_is_too_slow(self):
        worker = self.worker("import os, sys, time\nfor line in sys.stdin:\n"
                             "    time.sleep(60) if 'slow' in line else print('{\"ms\": %d}' % os.getpid(), flush=True)\n")
        first, second = (worker.ask(network("a"), "eager", 20)["ms"] for _ in range(2))
        self.assertEqual(first, second)
        self.assertEqual(worker.ask(network("slow"), "eager", 0.2), {"slow": 0})
        self.assertNotEqual(worker.ask(network("a"), "eager", 20)["ms"], first)

    def test_a_process_that_ends_says_what_it_said_last(self):
        worker = self.worker("import sys\nsys.stdin.readline()\nsys.exit('out of memory')")
        self.assertEqual(worker.ask(network("a"), "eager", 20), {"failed": "its process ended: out of memory"})


class StagesTest(unittest.TestCase):
    def run_script(self, *arguments, **environment):
        return subprocess.run([str(ROOT / "tools/dev/gpu_check.sh"), *arguments], capture_output=True, text=True,
                              env={**os.environ, "PYTHON": sys.executable, **environment})

    def test_an_unknown_stage_is_wrong_usage(self):
        done = self.run_script("--stage=bits_and_pieces")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no stage 'bits_and_pieces'", done.stderr)

    def test_without_a_flag_the_usage_is_shown(self):
        done = self.run_script()
        self.assertEqual(done.returncode, 2)
        self.assertIn("gpu_check.sh --bundle", done.stderr)

    def test_without_a_bundle_a_stage_says_how_to_make_one(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_script("--stage=bits", GPU_CHECK_BUNDLE=folder, OUT=folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("gpu_check.sh --bundle", done.stderr)


if __name__ == "__main__":
    unittest.main()
