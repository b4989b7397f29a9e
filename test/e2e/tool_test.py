#!/usr/bin/python3
"""The tool with the real compiler: values that decide shapes, large weights, texts and errors.

What the driver does by itself is tested without a compiler in test/unit/Tool; this is about the two
together. Large models are sparse files, so that they cost time and memory only where they should.

Usage: tool_test.py BUILD [unittest arguments]; exit status 77 when a Python module is missing.
"""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper
except ImportError as missing:
    print(f"skipped: {missing} (tools/dev/install_deps.sh references)")
    sys.exit(77)

os.environ["GANTRY_CACHE_SIZE"] = "0"  # CacheTest sets another
LONG = "GANTRY_TEST_LONG" in os.environ
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
MIB, GIB = 1 << 20, 1 << 30
PHASES = "import simplify replicate place copy fuse kernel schedule memory llvm".split()


def available_memory():
    """Bytes that can be had without swapping."""
    for line in pathlib.Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


class Finished:
    """A run of the tool: exit status, what it said, and its largest resident memory in bytes."""

    def __init__(self, *arguments, cwd, **environment):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([str(BUILD / "bin/gantry"), *map(str, arguments)], cwd=cwd,
                                       stdout=out, stderr=err, env={**os.environ, **environment})
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0), err.seek(0)
            self.out, self.err = out.read().decode(), err.read().decode()
        self.status, self.peak = process.returncode, usage.ru_maxrss * 1024


class ToolTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def gantry(self, *arguments, **environment):
        return Finished(*arguments, cwd=self.folder, **environment)

    def succeed(self, *arguments, **environment):
        result = self.gantry(*arguments, **environment)
        self.assertEqual(result.status, 0, result.err[-600:])
        return result

    def save(self, name, value):
        np.save(self.folder / name, value)

    def save_model(self, nodes, inputs, outputs, initializers=()):
        graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        (self.folder / "m.onnx").write_bytes(model.SerializeToString())


class TargetCPUTest(ToolTest):
    """Code for every CPU that the compiler knows, in every run one in three, runs here or is refused with what is
    missing."""

    NARROW = "generic i386 i486 i586 pentium-mmx i686 pentium4 pentium-m athlon-xp c3 winchip2 geode"

    GRAPH = """
      func.func @main(%x: tensor<5x67xf32> {gantry.name = "x"}, %w: tensor<67x33xf32> {gantry.name = "w"})
          -> (tensor<5x33xf32> {gantry.name = "y"}, tensor<5x33xf16> {gantry.name = "z"}) {
        %0 = gantry.matmul %x, %w : (tensor<5x67xf32>, tensor<67x33xf32>) -> tensor<5x33xf32>
        %1 = gantry.softmax %0 {axis = 1 : i64} : (tensor<5x33xf32>) -> tensor<5x33xf32>
        %2 = gantry.cast %1 : (tensor<5x33xf32>) -> tensor<5x33xf16>
        return %1, %2 : tensor<5x33xf32>, tensor<5x33xf16>
      }"""

    def names(self):
        listed = subprocess.run([os.environ.get("CLANG", "clang-22"), "--target=x86_64",
                                 "--print-supported-cpus"], capture_output=True, text=True,
                                check=False).stderr
        return sorted({line.strip() for line in listed.splitlines() if line.startswith("\t")
                       and " " not in line.strip()} | set(self.NARROW.split()))

    def test_each_runs_or_is_refused_by_name(self):
        (self.folder / "g.mlir").write_text(self.GRAPH, encoding="ascii")
        self.save("x", np.linspace(-1, 1, 5 * 67, dtype=np.float32).reshape(5, 67))
        self.save("w", np.linspace(-2, 1, 67 * 33, dtype=np.float32).reshape(67, 33))
        product = np.load(self.folder / "x.npy").astype(np.float64) @ np.load(self.folder / "w.npy")
        weights = np.exp(product - product.max(axis=1, keepdims=True))
        expected = weights / weights.sum(axis=1, keepdims=True)
        names, outcomes = self.names(), {"runs": 0, "lacks": 0, "narrow": 0}
        self.assertGreater(len(names), 80)
        names = names[::1 if LONG else 3]
        for name in names:
            with self.subTest(cpu=name):
                compiled = self.gantry("compile", "g.mlir", "--target-cpu", name, "-o", "g.gantry")
                if compiled.status != 0:
                    self.assertIn(f"the CPU '{name}' in --target-cpu has no 64-bit mode",
                                  compiled.err)
                    outcomes["narrow"] += 1
                    continue
                run = self.gantry("run", "g.gantry", "--input", "x=x.npy", "--input", "w=w.npy",
                                  "--output", "y=y.npy")
                if run.status != 0:
                    self.assertIn("this machine's CPU lacks ", run.err)
                    outcomes["lacks"] += 1
                    continue
                # Sums in f32 over 67 products of about 1, and exp of them.
                np.testing.assert_allclose(np.load(self.folder / "y.npy"), expected, rtol=2e-5)
                outcomes["runs"] += 1
        print(f"  {len(names)} CPUs: {outcomes}", flush=True)
        self.assertGreater(min(outcomes["runs"], outcomes["narrow"]), 5)


class CacheTest(ToolTest):
    """Plans of graphs that were compiled before (tools/gantry/CompileCache.h)."""

    GRAPH = """
      func.func @main(%x: tensor<4xf32> {gantry.name = "x"}) -> (tensor<4xf32> {gantry.name = "y"}) {
        %0 = gantry.add %x, %x {gantry.device = #gantry.device<"GPU:7">}
            : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }"""
    SOFT = ("--devices=CPU:0,GPU:0", "--simulate", "--soft-placement")

    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        (self.folder / "g.mlir").write_text(self.GRAPH, encoding="ascii")
        self.save("x", np.arange(4, dtype=np.float32))

    def run_once(self, *arguments, expected=True, size="1GiB", model="g.mlir", given=("x=x.npy",)):
        """Whether the plan was found; its outputs are checked and what it printed is kept."""
        flags = [flag for value in given for flag in ("--input", value)]
        result = self.succeed("run", model, *flags, "--output", "y=y.npy", "-v", *arguments,
                              GANTRY_CACHE_DIR=str(self.cache), GANTRY_CACHE_SIZE=size)
        if expected is True:
            np.testing.assert_array_equal(np.load(self.folder / "y.npy"), [0, 2, 4, 6])
        self.printed = [line for line in result.err.splitlines() if " s" not in line and "ms" not in line]
        self.assertIn("compiled", result.err)
        return "compiled before, found" in result.err

    def plans(self):
        return sorted(self.cache.glob("*.gantry"))

    def test_the_second_time_it_is_found_and_says_the_same(self):
        self.assertFalse(self.run_once(*self.SOFT))
        first = self.printed
        self.assertTrue(any("remark" in line for line in first), first)
        self.assertTrue(self.run_once(*self.SOFT))
        self.assertEqual(self.printed, first)
        self.assertEqual(self.cache.stat().st_mode & 0o022, 0)

    def test_it_is_found_only_for_the_same_graph_and_flags(self):
        self.assertFalse(self.run_once(*self.SOFT))
        self.assertFalse(self.run_once(*self.SOFT, "--no-fuse"))
        (self.folder / "g.mlir").write_text(self.GRAPH.replace("add", "mul"), encoding="ascii")
        self.assertFalse(self.run_once(*self.SOFT, expected=None))
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), [0, 1, 4, 9])
        (self.folder / "g.mlir").write_text(self.GRAPH, encoding="ascii")
        self.assertTrue(self.run_once(*self.SOFT))
        self.assertTrue(self.run_once(*self.SOFT, "--no-fuse"))

    def test_what_is_only_told_of_is_kept_apart(self):
        def explain():
            result = self.succeed("explain", "g.mlir", *self.SOFT, "-v", GANTRY_CACHE_DIR=str(self.cache),
                                  GANTRY_CACHE_SIZE="1GiB")
            return "compiled before, found" in result.err, result.out

        first, told = explain()
        self.assertEqual((first, explain()), (False, (True, told)))
        outline, = self.plans()
        refused = self.gantry("run", outline, "--fill", "ones")
        self.assertEqual((refused.status, refused.err), (1, (
            f"gantry: error: '{outline}': an outline, which has neither weights nor code, cannot be run; compile the "
            "graph to a plan\n")))
        self.assertFalse(self.run_once(*self.SOFT))
        self.assertTrue(self.run_once(*self.SOFT))
        self.assertEqual(explain(), (True, told))

    def test_files_that_flags_name_are_looked_at(self):
        rules = self.folder / "rules"
        rules.write_text("op:Add=GPU:0\n", encoding="ascii")
        flags = (*self.SOFT, "--place", "@rules")
        self.assertFalse(self.run_once(*flags))
        self.assertTrue(self.run_once(*flags))
        rules.write_text("op:Add=CPU:0\n", encoding="ascii")
        self.assertFalse(self.run_once(*flags))
        self.assertTrue(self.run_once(*flags))

    def test_external_data_is_looked_at(self):
        def save(values):
            weight = helper.make_tensor("w", TensorProto.FLOAT, [4], bytes(16), raw=True)
            weight.ClearField("raw_data")
            weight.data_location = TensorProto.EXTERNAL
            weight.external_data.add(key="location", value="w.bin")
            (self.folder / "w.bin").write_bytes(np.array(values, np.float32).tobytes())
            vector = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
            self.save_model([helper.make_node("Add", ["x", "w"], ["y"])], vector[:1], vector[1:], [weight])

        save([0, 1, 2, 3])
        self.assertFalse(self.run_once(model="m.onnx"))
        self.assertTrue(self.run_once(model="m.onnx"))
        save([5, 5, 5, 5])
        self.assertFalse(self.run_once(model="m.onnx", expected=None))
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), [5, 6, 7, 8])

    def test_values_that_decide_shapes_are_looked_at(self):
        self.save_model([helper.make_node("Reshape", ["x", "shape"], ["y"])],
                        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]),
                         helper.make_tensor_value_info("shape", TensorProto.INT64, [2])],
                        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
        for shape, found in (([2, 2], False), ([4, 1], False), ([2, 2], True), ([4, 1], True)):
            self.save("shape", np.array(shape, np.int64))
            self.assertEqual(self.run_once(model="m.onnx", given=("x=x.npy", "shape=shape.npy"),
                                           expected=None), found, shape)
            self.assertEqual(list(np.load(self.folder / "y.npy").shape), shape)

    def test_what_is_damaged_is_compiled_again(self):
        self.assertFalse(self.run_once(*self.SOFT))
        for at in (20, -100):  # the header, the code
            plan, = self.plans()
            content = bytearray(plan.read_bytes())
            content[at] ^= 1
            plan.write_bytes(content)
            self.assertFalse(self.run_once(*self.SOFT))
            self.assertTrue(self.run_once(*self.SOFT))
        for manifest in self.cache.glob("*.json"):
            for text in ("", "{", "[]", '{"request":1,"files":2,"lines":[{"severity":"x"}]}'):
                manifest.write_text(text, encoding="ascii")
                self.assertFalse(self.run_once(*self.SOFT))

    def test_plans_that_were_not_used_for_longest_go(self):
        self.run_once(*self.SOFT)
        limit = str(self.plans()[0].stat().st_size * 5 // 2)
        self.assertFalse(self.run_once(*self.SOFT, "--no-fuse", size=limit))
        self.assertTrue(self.run_once(*self.SOFT, size=limit))
        self.assertFalse(self.run_once(*self.SOFT, "--placement=follow", size=limit))
        self.assertTrue(self.run_once(*self.SOFT, size=limit))
        self.assertFalse(self.run_once(*self.SOFT, "--no-fuse", size=limit))

    def test_it_can_be_turned_off_shown_and_cleared(self):
        self.assertFalse(self.run_once(*self.SOFT, size="0"))
        self.assertFalse(self.run_once(*self.SOFT, "--no-cache"))
        self.assertFalse(self.cache.exists() and self.plans())
        self.run_once(*self.SOFT)
        place = {"GANTRY_CACHE_DIR": str(self.cache), "GANTRY_CACHE_SIZE": "1GiB"}
        shown = json.loads(self.succeed("cache", "--json", **place).out)
        self.assertEqual([plan["graph"] for plan in shown["plans"]], ["g.mlir"])
        self.assertEqual(self.succeed("cache", "--clear", **place).out, f"{self.cache}: removed 1 plan\n")
        self.assertEqual(list(self.cache.iterdir()), [])
        result = self.gantry("cache", GANTRY_CACHE_SIZE="much")
        self.assertEqual((result.status, "GANTRY_CACHE_SIZE: " in result.err), (1, True))

    def test_machine_code_for_gpus_is_kept_there_too(self):
        ptxas = pathlib.Path(__file__).resolve().parents[1] / "Target/CUDA/Inputs/ptxas"
        place = {"GANTRY_CACHE_DIR": str(self.cache), "GANTRY_CACHE_SIZE": "1GiB"}
        fake = {**place, "GANTRY_PTXAS": str(ptxas), "FAKE_PTXAS_LOG": str(self.folder / "log")}
        gpu = ("g.mlir", "--devices=CPU:0,GPU:0", "--soft-placement", "--gpu-arch=sm_90")
        for output in ("a.gantry", "b.gantry"):
            self.succeed("compile", *gpu, "-o", output, **fake)
        self.assertEqual((self.folder / "a.gantry").read_bytes(), (self.folder / "b.gantry").read_bytes())
        self.assertEqual((self.folder / "log").read_text(), "-arch=sm_90\n")
        self.assertEqual(json.loads(self.succeed("cache", "--json", **place).out)["cubins"], 1)
        # The cache's plan is another one when there is another ptxas.
        run = ("run", *gpu, "--emulate", "--input", "x=x.npy", "-v")
        self.assertIn("compiled in", self.succeed(*run, **fake).err)
        self.assertIn("compiled before, found", self.succeed(*run, **fake).err)
        other = self.folder / "ptxas"
        other.write_text(ptxas.read_text())
        other.chmod(0o700)
        self.assertIn("compiled in", self.succeed(*run, **{**fake, "GANTRY_PTXAS": str(other)}).err)
        self.assertIn("and 1 cubin, ", self.succeed("cache", **place).out)
        self.assertIn("removed 2 plans and 1 cubin\n", self.succeed("cache", "--clear", **place).out)
        self.assertEqual(list(self.cache.iterdir()), [])
        # Least used goes first, as with plans; without a cache nothing is written.
        self.succeed("compile", *gpu, "-o", "a.gantry", **{**fake, "GANTRY_CACHE_SIZE": "8"})
        self.succeed("compile", *gpu, "-o", "a.gantry", **{**fake, "GANTRY_CACHE_SIZE": "8"})
        self.assertEqual(len(list(self.cache.iterdir())), 1)
        self.succeed("cache", "--clear", **place)
        self.succeed("compile", *gpu, "-o", "a.gantry", **{**fake, "GANTRY_CACHE_SIZE": "0"})
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_a_folder_that_others_may_write_to_is_closed_to_them(self):
        self.cache.mkdir(mode=0o777)
        self.cache.chmod(0o777)
        self.assertFalse(self.run_once(*self.SOFT))
        self.assertEqual(self.cache.stat().st_mode & 0o077, 0)

    def test_several_at_once(self):
        environment = {**os.environ, "GANTRY_CACHE_DIR": str(self.cache), "GANTRY_CACHE_SIZE": "1GiB"}
        runs = [subprocess.Popen([str(BUILD / "bin/gantry"), "run", "g.mlir", "--input", "x=x.npy", *self.SOFT],
                                 cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL) for _ in range(4)]
        outputs = {run.communicate()[0] for run in runs}
        self.assertEqual((len(outputs), {run.returncode for run in runs}), (1, {0}))
        self.assertEqual(len(self.plans()), 1)


class TopologyTest(ToolTest):
    """docs/topology.schema.json takes what the tool takes and writes, and nothing else."""

    DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
    GOOD = {"physical": [{"name": "CPU:0", "driver": "host"}, {"name": "GPU:0", "driver": "sim"}]}

    def setUp(self):
        super().setUp()
        try:
            import jsonschema  # pylint: disable=import-outside-toplevel
        except ImportError as missing:
            self.skipTest(f"{missing} (tools/dev/install_deps.sh test)")
        schema = json.loads((self.DOCS / "topology.schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        self.schema = jsonschema.Draft202012Validator(schema)

    def accepts(self, topology):
        (self.folder / "t.json").write_text(json.dumps(topology), encoding="utf-8")
        return self.gantry("devices", "--topology", "t.json", "--json").status == 0

    def expect(self, topology, good):
        with self.subTest(topology=topology):
            self.assertEqual(self.accepts(topology), good)
            self.assertEqual(self.schema.is_valid(topology), good)

    def test_what_the_tool_writes(self):
        for flags in (["--devices=CPU:0"], ["--devices=CPU:0,GPU:0@1GiB,GPU:1", "--simulate"],
                      ["--devices=CPU:0,GPU:0", "--simulate", "--split", "GPU:0=1GiB,2GiB"], []):
            text = self.succeed("devices", *flags, "--json").out
            self.expect(json.loads(text), True)
            self.assertEqual(self.succeed("devices", "--topology", "t.json", "--json").out, text)

    def test_rates_are_there_to_be_edited(self):
        written = json.loads(self.succeed("devices", "--devices=CPU:0,GPU:0", "--simulate", "--json").out)
        gpu = written["physical"][1]
        self.assertTrue(gpu["bandwidth"] > 0 and gpu["peak_flops"]["f32"] > 0 and len(written["links"]) == 2)
        (self.folder / "g.mlir").write_text(CacheTest.GRAPH.replace("GPU:7", "GPU:0"), encoding="ascii")
        plain = self.succeed("explain", "g.mlir", "--devices=CPU:0,GPU:0", "--simulate", "--json").out
        (self.folder / "t.json").write_text(json.dumps(written), encoding="utf-8")
        same = self.succeed("explain", "g.mlir", "--topology", "t.json", "--json").out
        self.assertEqual(json.loads(same)["functions"], json.loads(plain)["functions"])
        written["links"][0]["latency"] = 0.5
        (self.folder / "t.json").write_text(json.dumps(written), encoding="utf-8")
        slow = self.succeed("explain", "g.mlir", "--topology", "t.json", "--json").out
        self.assertNotEqual(json.loads(slow)["functions"], json.loads(plain)["functions"])

    def test_the_example_of_the_page(self):
        page = (self.DOCS / "Topology.md").read_text(encoding="utf-8")
        examples = [json.loads(part.split("```")[0]) for part in page.split("```json")[1:]]
        self.assertEqual(len(examples), 2)
        for example in examples:
            self.expect(example, True)
        job = json.loads((self.DOCS.parent / "examples/workers/64x8.json").read_text(encoding="utf-8"))
        self.expect(job, True)
        for kind in job["kinds"].values():
            del kind["links"]
        self.assertEqual(examples[1], job)

    def test_jobs(self):
        job = {"kinds": {"node": {"physical": self.GOOD["physical"]}},
               "tasks": [{"name": "/job:w/task:{0..3}", "kind": "node", "host": ["n{0..1}", "m{0..1}"]}],
               "network": {"bandwidth": 1e9, "links": [{"from": "n{0..1}", "to": ["m0", "m1"], "latency": 1e-5}]}}
        self.expect(job, True)
        text = self.succeed("devices", "--topology", "t.json", "--json").out
        self.expect(json.loads(text), True)
        self.assertEqual(len(json.loads(text)["tasks"]), 4)
        self.assertEqual(self.succeed("devices", "--topology", "t.json", "--json").out, text)
        for bad in ({"tasks": [{"kind": "node"}]}, {"network": {"speed": 1}}, {"network": {"gpus": "smoke"}},
                    {"network": {"links": [{"from": "n0"}]}}, {"kinds": {"node": {"logical": []}}}, {"tasks": {}}):
            self.expect({**job, **bad}, False)

    def test_both_agree(self):
        def changed(**changes):
            return {**self.GOOD, **changes}

        cpu, gpu = self.GOOD["physical"]
        self.expect(self.GOOD, True)
        self.expect(changed(**{"$schema": "topology.schema.json"}), True)
        for text in ("1GiB", "20 mb", "1.5GiB", "7"):
            self.expect(changed(physical=[cpu, {**gpu, "memory": text}]), True)
        for bad in ("1G B", "much", "-1", "", "0", 0):
            self.expect(changed(physical=[cpu, {**gpu, "memory": bad}]), False)
        for key, bad in (("driver", "abacus"), ("bandwidth", -1), ("bandwidth", "1"), ("model", 1),
                         ("memory", -1), ("peak_flops", 1), ("peak_flops", {"f31": 1}), ("colour", "red"),
                         ("name", "GPU")):
            self.expect(changed(physical=[cpu, {**gpu, key: bad}]), False)
        self.expect(changed(physical=[{"name": "CPU:0"}]), False)
        self.expect(changed(links=[{"from": "CPU:0"}]), False)
        self.expect(changed(links=[{"from": "CPU:0", "to": "GPU:0", "bandwith": 1}]), False)
        self.expect(changed(logical=[{"name": "CPU:0"}]), False)
        self.expect(changed(devices=[]), False)
        self.expect([], False)


class ValuesTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.save_model([helper.make_node("Reshape", ["x", "shape"], ["y"])],
                        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6]),
                         helper.make_tensor_value_info("shape", TensorProto.INT64, [2])],
                        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])])
        self.x = np.arange(12, dtype=np.float32).reshape(2, 6)
        self.save("x.npy", self.x)
        self.save("shape.npy", np.array([3, 4]))

    def test_a_shape_given_with_value(self):
        self.succeed("run", "m.onnx", "--input", "x=x.npy", "--value", "shape=shape.npy",
                     "--output", "y=y.npy")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), self.x.reshape(3, 4))

    def test_a_shape_given_with_input_is_said_to_be_compiled_in(self):
        run = self.succeed("run", "m.onnx", "--input", "x=x.npy", "--input", "shape=shape.npy",
                           "--output", "y=y.npy")
        self.assertEqual(run.err, "gantry: input 'shape' decides shapes: its value [3 4] is compiled in\n")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), self.x.reshape(3, 4))

    def test_a_value_in_a_plan(self):
        self.succeed("compile", "m.onnx", "--value", "shape=shape.npy", "-o", "m.gantry")
        run = self.succeed("run", "m.gantry", "--input", "x=x.npy", GANTRY_COMPILER="/nonexistent")
        self.assertTrue(run.out.startswith("y: f32[3,4] on CPU:0\n[[ 0.  1.  2.  3.]\n"), run.out)

    def test_what_is_wrong_is_said_once(self):
        self.save("float.npy", np.array([3.0, 4.0]))
        self.save("one.npy", np.array([12]))
        for value, message in {
                "shape": "--value 'shape' is not NAME=VALUE",
                "shape=none.npy": "--value shape: cannot open 'none.npy': no such file or folder",
                "shape=float.npy": "m.onnx: the value for input 'shape' holds "
                                   "floating-point numbers, the input is of type i64",
                "shape=one.npy": "m.onnx: the value for input 'shape' has the shape "
                                 "[1], the input has [2]",
                "size=one.npy": "m.onnx: a value is given for 'size', which is no input of the graph",
        }.items():
            with self.subTest(value):
                run = self.gantry("run", "m.onnx", "--input", "x=x.npy", "--value", value)
                # What is no value of the flag is wrong usage.
                status = 2 if value == "shape" else 1
                self.assertEqual((run.status, run.err), (status, f"gantry: error: {message}\n"))

    def test_a_missing_value_is_asked_for(self):
        run = self.gantry("run", "m.onnx", "--input", "x=x.npy")
        self.assertEqual(run.status, 1)
        self.assertEqual(run.err.count("give that with --value shape=VALUE"), 1, run.err)
        self.assertEqual(run.err.count("node 'y'"), 1, run.err)


class TextTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.save_model([helper.make_node("Relu", ["x"], ["y"], name="positive")],
                        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])])

    def test_every_phase_has_a_text(self):
        texts = [self.succeed("compile", "m.onnx", f"--stop-after={phase}").out for phase in PHASES]
        for phase, text in zip(PHASES, texts):
            self.assertRegex(text, r"(?s)^(module|; ModuleID).*[}\S]\n$", phase)
        self.assertIn("gantry.relu", texts[0])
        self.assertIn("plan.launch", texts[PHASES.index("memory")])
        self.assertIn("define ", texts[-1])

    def test_errors_about_the_module_do_not_print_it(self):
        run = self.gantry("run", "m.onnx", "--entry", "other")
        self.assertEqual(run.err, "gantry: error: m.onnx: no function is named 'other'; the functions are g\n")

    def test_no_folder_changes_a_plan(self):
        (self.folder / "deep" / "er").mkdir(parents=True)
        (self.folder / "g.mlir").write_text(
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            "  %y = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>\n  return %y : tensor<4xf32>\n}\n")
        for name in ("m.onnx", "g.mlir"):
            far = self.folder / "deep" / "er" / name
            far.write_bytes((self.folder / name).read_bytes())
            for number, path in enumerate((name, f"deep/er/{name}", far)):
                self.succeed("compile", path, "-o", f"{number}.gantry")
            plans = {(self.folder / f"{number}.gantry").read_bytes() for number in range(3)}
            self.assertEqual(len(plans), 1, name)
            self.assertNotIn(b"deep", plans.pop())

    def test_errors_name_the_file_as_it_was_given(self):
        (self.folder / "deep").mkdir()
        (self.folder / "deep" / "m.onnx").write_bytes((self.folder / "m.onnx").read_bytes())
        run = self.gantry("run", "deep/m.onnx", "--entry", "other")
        self.assertEqual(run.err, "gantry: error: deep/m.onnx: no function is named 'other'; the functions are g\n")
        (self.folder / "deep" / "broken.mlir").write_text("func.func @main(\n")
        run = self.gantry("run", "deep/broken.mlir")
        self.assertRegex(run.err, r"^gantry: error: deep/broken\.mlir:\d+:\d+: ")

    def test_tables_do_not_repeat_the_path(self):
        for flags in ([], ["--all"], ["--op", "positive"]):
            explained = self.succeed("explain", self.folder / "m.onnx", *flags).out
            self.assertIn("positive", explained)
            self.assertNotIn(str(self.folder), explained)
        self.assertIn("node 'positive'", explained)
        self.assertIn("1 kernel, 1 launch for 1 op\n", self.succeed("explain", "m.onnx").out)


class WeightsInTextTest(ToolTest):
    """What --stop-after writes can be compiled when it has the weights, and says when it has not."""

    def setUp(self):
        super().setUp()
        self.weights = np.random.default_rng(5).random((6, 8), dtype=np.float32)
        self.save_model([helper.make_node("MatMul", ["x", "w"], ["y"])],
                        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6])],
                        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8])],
                        [helper.make_tensor("w", TensorProto.FLOAT, [6, 8], self.weights.tobytes(), raw=True)])

    def test_a_text_without_weights_says_so(self):
        for phase in ("import", "simplify"):
            text = self.succeed("compile", "m.onnx", f"--stop-after={phase}", "-o", "s.mlir") and \
                (self.folder / "s.mlir").read_text()
            self.assertTrue(text.startswith("// Large weights are not in this text; --with-weights writes them.\n"
                                            "module"), text[:200])
            run = self.gantry("run", "s.mlir")
            self.assertEqual(run.status, 1)
            self.assertRegex(run.err, r"the text has no bytes for the weights '\w+'; write it with "
                                      r"`gantry compile --stop-after=PHASE --with-weights`\n$")
            self.assertEqual(run.err.count("\n"), 1)

    def test_a_text_with_weights_runs(self):
        x = np.arange(12, dtype=np.float32).reshape(2, 6)
        self.save("x.npy", x)
        for phase in ("import", "simplify"):
            self.succeed("compile", "m.onnx", f"--stop-after={phase}", "--with-weights", "-o", "s.mlir")
            self.succeed("run", "s.mlir", "--input", "x=x.npy", "--output", "y=y.npy")
            np.testing.assert_allclose(np.load(self.folder / "y.npy"), x @ self.weights, rtol=1e-6)

    def test_weights_are_for_a_text(self):
        run = self.gantry("compile", "m.onnx", "--with-weights")
        self.assertEqual((run.status, run.err), (
            2, "gantry: error: --with-weights is about the text of --stop-after, which is not given\n"
               "gantry: `gantry compile --help` shows the usage\n"))


class MemorySettingTest(ToolTest):
    """spec M4: what may be taken of a device's memory, by flag and by environment."""

    FORM = ("; write DEVICE=SETTING[,SETTING], a device like GPU:0 or GPU:*, settings limit:4GiB, fraction:0.5, growth, "
            "reserve or serial\n")

    def setUp(self):
        super().setUp()
        weights = np.ones((1024, 256), np.float32)
        self.save_model([helper.make_node("MatMul", ["x", "w"], ["y"])],
                        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1024])],
                        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 256])],
                        [helper.make_tensor("w", TensorProto.FLOAT, [1024, 256], weights.tobytes(), raw=True)])
        self.succeed("compile", "m.onnx", "--devices=CPU:0,GPU:0,GPU:1", "--simulate", "-o", "p.gantry")

    def run_with(self, *settings, **environment):
        flags = [f"--memory={setting}" for setting in settings]
        return self.gantry("run", "p.gantry", "--fill", "ones", "--output", "y.npy", *flags, **environment)

    def test_settings_and_pairs_of_them_run(self):
        ways = ["limit:2MiB", "fraction:0.5", "growth", "reserve", "serial"]
        pairs = [f"{a},{b}" for i, a in enumerate(ways) for b in ways[i + 1:]]
        for settings in ([f"GPU:0={way}"] for way in ways + pairs + [",".join(ways)]):
            with self.subTest(settings):
                run = self.run_with(*settings)
                self.assertEqual(run.status, 0, run.err)
                np.testing.assert_array_equal(np.load(self.folder / "y.npy"), np.full((1, 256), 1024, np.float32))

    def test_settings_of_one_and_of_all_run(self):
        for settings in (["GPU:*=reserve"], ["GPU:0=limit:2MiB", "GPU:1=fraction:0.1"], ["GPU:*=limit:2MiB", "GPU:0=reserve"],
                         ["GPU:*=reserve", "GPU:1=limit:1MiB,growth"]):
            with self.subTest(settings):
                by_flag = self.run_with(*settings)
                self.assertEqual(by_flag.status, 0, by_flag.err)
                by_name = self.run_with(GANTRY_MEMORY=";".join(settings), TF_FORCE_GPU_ALLOW_GROWTH="true")
                self.assertEqual(by_name.status, 0, by_name.err)

    def test_what_is_reserved_is_the_budget(self):
        run = self.run_with("GPU:0=limit:512KiB,reserve")
        self.assertEqual(run.status, 3)
        self.assertIn("the memory setting of GPU:0 of this machine allows 512 KiB and 0 bytes are in use; ", run.err)

    def test_a_plan_over_its_budget_is_refused(self):
        by_flag = self.run_with("GPU:*=limit:512KiB")
        self.assertEqual(by_flag.status, 3)
        self.assertRegex(by_flag.err, r"(?m)^gantry: error: 'p.gantry': '/job:localhost/replica:0/task:0/device:GPU:0': the "
                         r"plan \(constants 1 MiB, variables 0 bytes, one session .*\) needs .*, the memory setting of GPU:0 "
                         r"of this machine allows 512 KiB and 0 bytes are in use; raise it to at least \d+ bytes$")
        least = int(by_flag.err.split("at least ")[1].split()[0])
        self.assertEqual(self.run_with(f"GPU:0=limit:{least}").status, 0)
        self.assertEqual(self.run_with(f"GPU:0=limit:{least - 1}").status, 3)
        by_name = self.run_with(GANTRY_MEMORY="GPU:*=limit:512KiB")
        self.assertEqual((by_name.status, by_name.err), (3, by_flag.err))

    def test_wrong_settings_are_errors(self):
        for setting, error in {
                "GPU:0=limit:4GB2": "has a limit of '4GB2', which is no count of bytes",
                "GPU:0=fraction:1.5": "has a fraction of '1.5', which is not over 0 and up to 1",
                "GPU:0=reserves": "says 'reserves'",
                "CPU:0=reserve": "reserves memory of the host, which is every program's: only that of GPUs can be taken ahead",
                "nonsense": "names no setting"}.items():
            with self.subTest(setting):
                run = self.run_with(setting)
                self.assertEqual((run.status, run.err), (
                    2, f"gantry: error: --memory: the memory setting '{setting}' {error}{self.FORM}"
                    "gantry: `gantry run --help` shows the usage\n"))
                run = self.run_with(GANTRY_MEMORY=setting)
                self.assertEqual((run.status, run.err), (
                    1, f"gantry: error: GANTRY_MEMORY: the memory setting '{setting}' {error}{self.FORM}"))

    def test_a_device_that_is_not_there_is_an_error(self):
        wrong = ("gantry: error: 'p.gantry': the memory setting of GPU:9 is for a device that is not there; there are GPU:0, "
                 "GPU:1: name one that is, or all by GPU:*\n")
        for run in (self.run_with("GPU:9=limit:1MiB"), self.run_with(GANTRY_MEMORY="GPU:9=limit:1MiB")):
            self.assertEqual((run.status, run.err), (1, wrong))

    def test_the_variable_of_tensorflow(self):
        self.assertEqual(self.run_with(TF_FORCE_GPU_ALLOW_GROWTH="true").status, 0)
        run = self.run_with(TF_FORCE_GPU_ALLOW_GROWTH="perhaps")
        self.assertEqual((run.status, run.err), (
            1, "gantry: error: TF_FORCE_GPU_ALLOW_GROWTH is 'perhaps'; it takes true or false\n"))


class LowMemoryTest(ToolTest):
    """An address space that is too small, from one that cannot load the compiler to one that is enough."""

    def setUp(self):
        super().setUp()
        weights = np.zeros((2048, 4096), np.float32)
        self.save_model([helper.make_node("MatMul", ["x", "w"], ["y"])],
                        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2048])],
                        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4096])],
                        [helper.make_tensor("w", TensorProto.FLOAT, [2048, 4096], weights.tobytes(), raw=True)])

    def limited(self, megabytes):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        return subprocess.run([BUILD / "bin/gantry", "run", "m.onnx", "--fill", "ones", "--output", "y.npy"],
                              cwd=self.folder, preexec_fn=limit, capture_output=True, text=True,
                              env={**os.environ, "GANTRY_CACHE_SIZE": "0"})

    def test_it_is_said_and_does_not_abort(self):
        statuses = set()
        for megabytes in range(100, 900, 20 if LONG else 50):
            with self.subTest(megabytes):
                run = self.limited(megabytes)
                if run.stderr == "LLVM ERROR: pthread_create failed: Resource temporarily unavailable\n":
                    continue  # LLVM's pool of threads asks nobody (docs/Errors.md)
                self.assertIn(run.returncode, (0, 3), run.stderr[-400:])
                if run.returncode:
                    self.assertRegex(run.stderr, r"(?m)^gantry: error: .*memory")
                self.assertNotIn("terminate called", run.stderr)
                statuses.add(run.returncode)
        self.assertEqual(statuses, {0, 3})

    def test_the_compiler_library_says_that_it_needs_memory(self):
        run = self.limited(80)
        self.assertRegex(run.stderr, r"^gantry: error: there is no memory to load the compiler library '.*': .*; "
                                     r"it takes about 150 MB of address space \(ulimit -v\)\n$")


TWO_GPUS = ("--devices=CPU:0,GPU:0,GPU:1", "--simulate")


class PageTest(ToolTest):
    """What is told of a network with repeated layers fits a page; everything is there on request."""

    LAYERS = 12

    def setUp(self):
        super().setUp()
        size, nodes, weights, value = 8, [], [], "x"
        draw = np.random.default_rng(1)

        def add(op, *operands, name):
            nodes.append(helper.make_node(op, operands, [name + "_output_0"], name=name))
            return name + "_output_0"

        def weight(name):
            weights.append(helper.make_tensor(name, TensorProto.FLOAT, [size, size],
                                              draw.standard_normal((size, size)).astype(np.float32).ravel()))
            return name

        for i in range(self.LAYERS):
            at = f"/encoder/layer.{i}/"
            q, k, v = (add("MatMul", value, weight(f"w{i}{part}"), name=f"{at}attn/{part}/MatMul") for part in "qkv")
            s = add("Softmax", add("MatMul", q, add("Transpose", k, name=at + "attn/Transpose"), name=at + "attn/MatMul"),
                    name=at + "attn/Softmax")
            value = add("Add", value, add("MatMul", s, v, name=at + "attn/MatMul_1"), name=at + "Add")
            value = add("Tanh", add("MatMul", value, weight(f"w{i}up"), name=at + "up/MatMul"), name=at + "act/Tanh")
        nodes.append(helper.make_node("Identity", [value], ["y"], name="/Identity"))
        self.names = {node.name for node in nodes[:-1]}
        self.save_model(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size, size])],
                        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [size, size])], weights)
        self.halves = "--place", "/encoder/layer.{6..11}/*=GPU:1"

    def assert_page(self, text, width=100, lines=60):
        self.assertLessEqual(len(text.splitlines()), lines, text)
        for line in text.splitlines():
            self.assertLessEqual(len(line), width, line)

    def test_explain_and_diff_fit_a_page(self):
        self.succeed("compile", "m.onnx", *TWO_GPUS, "-o", "a.gantry")
        self.succeed("compile", "m.onnx", *TWO_GPUS, *self.halves, "-o", "b.gantry")
        a, b = (self.succeed("explain", plan).out for plan in ("a.gantry", "b.gantry"))
        self.assert_page(a)
        self.assert_page(b)
        self.assertIn("/encoder/layer.{0..11}/", a)
        self.assertRegex(b, r"60 +GPU:1 +rule: .* /encoder/layer\.{6\.\.11}/\*\n")
        diff = self.gantry("diff", "a.gantry", "b.gantry")
        self.assert_page(diff.out)
        self.assertRegex(diff.out, r"60 ops moved\n.*\n +60 +GPU:0 +GPU:1 +rule +/encoder/layer\.{6\.\.11}/\*\n")
        for width in (80, 140):
            for command in (("explain", "b.gantry"), ("explain", "b.gantry", "--all"),
                            ("explain", "b.gantry", "--memory"), ("diff", "a.gantry", "b.gantry")):
                self.assert_page(self.gantry(*command, COLUMNS=str(width)).out, width, 10000)

    def test_all_has_a_row_for_each_node(self):
        rows = self.succeed("explain", "m.onnx", *TWO_GPUS, "--all", COLUMNS="300").out.partition("\nops\n")[2]
        rows = [line.split() for line in rows.partition("\n\n")[0].splitlines()[1:-1]]
        self.assertEqual({row[1] for row in rows}, self.names)
        self.assertEqual(len(rows), len(self.names))
        json_ops = json.loads(self.succeed("explain", "m.onnx", *TWO_GPUS, "--json").out)["functions"][0]["ops"]
        self.assertEqual({op["node"] for op in json_ops}, self.names)
        self.assertEqual({op["source_op"] for op in json_ops}, {"MatMul", "Softmax", "Add", "Transpose", "Tanh"})

    def test_a_pattern_means_the_same_to_all_three(self):
        pattern = "/encoder/layer.{0,2..3}/attn/?/MatMul"
        op = self.succeed("explain", "m.onnx", *TWO_GPUS, "--op", pattern, "--json").out
        wanted = {op["node"] for op in json.loads(op)["functions"][0]["ops"]}
        self.assertEqual(wanted, {f"/encoder/layer.{i}/attn/{part}/MatMul" for i in (0, 2, 3) for part in "qkv"})
        moved = self.succeed("explain", "m.onnx", *TWO_GPUS, "--place", pattern + "=GPU:1", "--json").out
        self.assertEqual({op["node"] for op in json.loads(moved)["functions"][0]["ops"]
                          if op["device"].endswith("GPU:1")}, wanted)
        why = self.succeed("explain", "m.onnx", *TWO_GPUS, "--why-not", pattern, "GPU:1").out
        self.assertIn("9 'MatMul', each of which is on GPU:0", why)
        self.assertRegex(why, r"predicted +\S+ \S+ -> \S+ \S+ per run")

    def test_bert_base_fits_a_page(self):
        import cases
        if not (cases.MODELS / "make_models.py").exists():
            self.skipTest("no shared models (GANTRY_MODELS_DIR)")
        runner = cases.Runner(BUILD, self.folder)
        try:
            model = cases.made(runner, "bert_base", "GANTRY_MADE_MODELS")
        except cases.Skip as why:
            self.skipTest(str(why))
        self.succeed("compile", model, *TWO_GPUS, "-o", "a.gantry")
        page = self.succeed("explain", "a.gantry").out
        self.assert_page(page)
        self.assertIn(".{0..11}/up/MatMul", page)
        diff = self.gantry("diff", "a.gantry", model, *TWO_GPUS, "--place", "/blocks/blocks.{6..11}/*=GPU:1")
        self.assertEqual(diff.status, 1, diff.err)
        self.assert_page(diff.out)
        self.assertRegex(diff.out, r"\n +\d+ +GPU:0 +GPU:1 +rule +/blocks/blocks\.{6\.\.11}/\*\n")


DEVICE = "/job:localhost/replica:0/task:0/device:"


class PlacementTest(ToolTest):
    """relu(x @ w) @ v on simulated devices: what the tool tells, writes and compares."""

    def setUp(self):
        super().setUp()
        weights = [helper.make_tensor(name, TensorProto.FLOAT, [4, 4], np.eye(4, dtype=np.float32).ravel())
                   for name in "wv"]
        self.save_model([helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
                         helper.make_node("Relu", ["a"], ["b"], name="positive"),
                         helper.make_node("MatMul", ["b", "v"], ["y"], name="second")],
                        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
                        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])], weights)

    def log(self, *arguments):
        run = self.succeed("run", "m.onnx", *TWO_GPUS, "--log-device-placement", "--fill", "ones", "-v", *arguments)
        self.assertIn("copies counted as planned", run.err)
        return [line.replace(DEVICE, "") for line in run.err.splitlines()
                if line.startswith(("Executing", "Copying", "placed"))], run

    def test_the_log_tells_a_run_line_by_line_p9(self):
        lines, run = self.log("--place", "name:second=GPU:1")
        self.assertEqual(lines, [
            "Copying 32 bytes from CPU:0 to GPU:0",
            "Executing op MatMul in device GPU:0",
            "Executing op Relu in device GPU:0",
            "Copying 32 bytes from GPU:0 to GPU:1",
            "Executing op MatMul in device GPU:1",
            "Copying 32 bytes from GPU:1 to CPU:0",
            "placed 3 ops: GPU:0 2, GPU:1 1; 0 fall-backs; "
            "3 copies per run, 96 bytes (h2d 1, d2h 1, d2d 1); 0 at load",
        ])
        self.assertTrue(run.out.startswith("y: f32[2,4] on CPU:0\n[[1. 1. 1. 1.]"), run.out)

    def test_json_gives_rules_and_reasons_p9_p10(self):
        run = self.succeed("run", "m.onnx", *TWO_GPUS, "--log-device-placement=json", "--fill", "ones",
                           "--place", "name:second=GPU:1")
        lines = [json.loads(line) for line in run.err.splitlines() if line.startswith("{")]
        ops = {line["name"]: line for line in lines if "op" in line}
        self.assertEqual({name: (op["rule"], op["device"]) for name, op in ops.items()},
                         {"first": ("default", DEVICE + "GPU:0"), "positive": ("default", DEVICE + "GPU:0"),
                          "second": ("rule", DEVICE + "GPU:1")})
        self.assertIn("name:second=GPU:1", ops["second"]["reason"])
        self.assertEqual([line["copy"]["kind"] for line in lines if "copy" in line], ["h2d", "d2d", "d2h"])

    def test_soft_placement_is_remarked_and_counted_p5(self):
        lines, run = self.log("--place", "name:second=GPU:7", "--soft-placement")
        self.assertIn("; 1 fall-back; ", lines[-1])
        self.assertEqual(run.err.count("gantry: remark: "), 1, run.err)
        self.succeed("compile", "m.onnx", *TWO_GPUS, "--place", "name:second=GPU:7", "--soft-placement", "-o", "m.gantry")
        explained = self.succeed("explain", "m.gantry").out
        self.assertEqual(explained.count("\nremark: "), 1, explained)
        self.assertIn("fell back", explained)

    def test_a_lock_keeps_the_placement_p13(self):
        moved = "--place", "name:second=GPU:1"
        self.succeed("compile", "m.onnx", *TWO_GPUS, *moved, "--write-placement-lock", "a.lock", "-o", "a.gantry")
        self.succeed("compile", "m.onnx", *TWO_GPUS, "--placement-lock", "a.lock",
                     "--write-placement-lock", "b.lock", "-o", "b.gantry")
        self.assertEqual((self.folder / "a.lock").read_text(), (self.folder / "b.lock").read_text())
        self.assertTrue((self.folder / "a.lock").read_text().startswith("# gantry placement lock 1\n"))
        same = self.succeed("diff", "a.gantry", "b.gantry")
        self.assertEqual(same.out, "same placement, copies, memory and prediction\n")

    def test_diff_says_what_a_rule_moved_p13(self):
        self.succeed("compile", "m.onnx", *TWO_GPUS, "-o", "a.gantry")
        run = self.gantry("diff", "a.gantry", "m.onnx", *TWO_GPUS, "--place", "name:second=GPU:1")
        self.assertEqual(run.status, 1, run.err)
        self.assertIn("1 op moved\n", run.out)
        self.assertRegex(run.out, r"1 +GPU:0 +GPU:1 +rule +second")
        self.assertRegex(run.out, r"\+1 +every run +d2d +GPU:0 +GPU:1 +32 bytes")
        run = self.gantry("diff", "a.gantry", "m.onnx", *TWO_GPUS, "--place", "name:second=GPU:1", "--all")
        self.assertRegex(run.out, r"second +MatMul +GPU:0 +GPU:1 +rule")
        found = json.loads(self.gantry("diff", "a.gantry", "m.onnx", *TWO_GPUS, "--place", "name:second=GPU:1",
                                       "--json").out)
        self.assertEqual([op["name"] for op in found["functions"][0]["moved"]], ["second"])

    def test_why_not_says_what_to_change_p10(self):
        run = self.succeed("explain", "m.onnx", *TWO_GPUS, "--place", "op:MatMul=GPU:0", "--why-not", "second", "GPU:1")
        self.assertIn("op:MatMul=GPU:0", run.out)

    def test_rules_from_a_file_p15(self):
        (self.folder / "rules.txt").write_text("# the heavy ones\n\nname:second=GPU:1\nop:MatMul=CPU:0\n")
        lines, _ = self.log("--place", "@rules.txt")
        self.assertIn("placed 3 ops: GPU:0 1, GPU:1 1, CPU:0 1;", lines[-1])

    def test_replicas_are_compared_with_one_device_r5(self):
        run = self.succeed("run", "m.onnx", *TWO_GPUS, "--replicate", "GPU:0,GPU:1", "--check-replicas", "-v")
        self.assertRegex(run.err, "gantry: output 'y' of the replicas (equals|agrees)")
        self.assertIn("copies counted as planned", run.err)
        self.assertEqual(run.out, "")

    def test_explain_shows_queues_over_a_run(self):
        run = self.succeed("explain", "m.onnx", *TWO_GPUS, "--place", "name:second=GPU:1", "--timeline")
        for queue in ("GPU:0 compute", "GPU:0 copies in", "GPU:1 compute", "GPU:1 copies from peers"):
            self.assertRegex(run.out, queue + r" +[·░▒▓█]+ +\d+ %")

    def test_what_does_not_fit_is_exit_status_3_m2(self):
        run = self.gantry("compile", "m.onnx", "--devices=CPU:0,GPU:0@64", "--simulate", "-o", "m.gantry")
        self.assertEqual(run.status, 3, run.err)
        self.assertFalse((self.folder / "m.gantry").exists())

    def test_the_folder_does_not_change_a_plan(self):
        (self.folder / "inside").mkdir()
        shutil.copy(self.folder / "m.onnx", self.folder / "inside/m.onnx")
        for model in ("m.onnx", "inside/m.onnx", self.folder / "m.onnx"):
            self.succeed("compile", model, *TWO_GPUS, "--place", "name:second=GPU:7", "--soft-placement", "-o", "p.gantry")
            plan = (self.folder / "p.gantry").read_bytes()
            self.assertEqual(plan, getattr(self, "plan", plan), model)
            self.plan = plan


class LargeWeightsTest(ToolTest):
    """Rows of a 1 GiB table; the peak may be 1.5 times the model and 400 MiB, not twice the model."""

    SIZE, WIDTH = GIB, 256
    ROWS = SIZE // WIDTH // 4

    def setUp(self):
        super().setUp()
        memory, disk = available_memory(), shutil.disk_usage(self.folder).free
        if memory < 3 * GIB or disk < 3 * GIB:
            self.skipTest(f"1 GiB of weights: {memory >> 30} GiB of memory and {disk >> 30} GiB of disk are free, "
                          "3 of each are needed")
        self.chosen = np.array([0, 1, self.ROWS - 1], np.int64)
        self.values = np.arange(len(self.chosen) * self.WIDTH, dtype=np.float32).reshape(-1, self.WIDTH)
        self.save("rows.npy", self.chosen)

    def save_lookup(self, table):
        self.save_model([helper.make_node("Gather", ["table", "rows"], ["out"])],
                        [helper.make_tensor_value_info("rows", TensorProto.INT64, [len(self.chosen)])],
                        [helper.make_tensor_value_info("out", TensorProto.FLOAT, self.values.shape)], [table])

    def write_table(self, path, start):
        with open(path, "r+b") as file:
            file.truncate(max(start + self.SIZE, file.seek(0, os.SEEK_END)))
            for row, values in zip(self.chosen, self.values):
                file.seek(start + int(row) * self.WIDTH * 4)
                file.write(values.tobytes())

    def check(self):
        bound = 1.5 * self.SIZE + 400 * MIB
        temporary = self.folder / "tmp"
        temporary.mkdir()
        run = self.succeed("run", "m.onnx", "--input", "rows=rows.npy", "--output", "out=out.npy", TMPDIR=str(temporary))
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"), self.values)
        self.assertLess(run.peak, bound, "peak of run")
        self.assertEqual(os.listdir(temporary), [])
        compiled = self.succeed("compile", "m.onnx", "-o", "m.gantry")
        self.assertLess(compiled.peak, bound, "peak of compile")
        (self.folder / "out.npy").unlink()
        self.succeed("run", "m.gantry", "--input", "rows=rows.npy", "--output", "out=out.npy")
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"), self.values)

    def test_beside_the_model(self):
        table = TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[self.ROWS, self.WIDTH],
                            data_location=TensorProto.EXTERNAL)
        table.external_data.add(key="location", value="table.bin")
        self.save_lookup(table)
        (self.folder / "table.bin").touch()
        self.write_table(self.folder / "table.bin", 0)
        self.check()

    def test_inside_the_model(self):
        """raw_data is a hole in the file: the messages around it are put together by hand."""
        self.save_lookup(TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[self.ROWS, self.WIDTH]))
        model = onnx.load_model_from_string((self.folder / "m.onnx").read_bytes())

        def field(number, length):
            """Key of a length-delimited field and its length, as varints."""
            out = bytes([number << 3 | 2])
            while length >= 0x80:
                out, length = out + bytes([length & 0x7F | 0x80]), length >> 7
            return out + bytes([length])

        tensor = model.graph.initializer.pop()
        head = tensor.SerializeToString() + field(9, self.SIZE)  # TensorProto.raw_data
        head = field(5, len(head) + self.SIZE) + head  # GraphProto.initializer
        rest = model.graph.SerializeToString()
        head = rest + head
        head = field(7, len(head) + self.SIZE) + head  # ModelProto.graph
        model.ClearField("graph")
        head = model.SerializeToString() + head
        (self.folder / "m.onnx").write_bytes(head)
        self.write_table(self.folder / "m.onnx", len(head))
        self.check()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
