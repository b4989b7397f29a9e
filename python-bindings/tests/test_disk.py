"""Plans that are kept on the disk: of ops, of graphs, of functions."""

import pathlib
import tempfile
import unittest

from tests.support import HAS_COMPILER, NEEDS_COMPILER, run

GRAPH = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = gantry.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
"""


def kept_in(folder):
    return {"GANTRY_CACHE_DIR": str(folder), "GANTRY_CACHE_SIZE": "1GiB"}


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Ops(unittest.TestCase):
    ADD = """
        import gantry as gt, gantry._library as library
        print((gt.ones(3) + gt.ones(3)).tolist(), library.is_compiler_open())
        """

    def test_a_second_process_opens_no_compiler(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = kept_in(folder)
            self.assertEqual(run(self.ADD, **kept), "[2.0, 2.0, 2.0] True\n")
            self.assertEqual(run(self.ADD, **kept), "[2.0, 2.0, 2.0] False\n")
            self.assertEqual(run(self.ADD, devices="GPU:0", **kept), "[2.0, 2.0, 2.0] True\n")
            self.assertEqual(run(self.ADD, GANTRY_CACHE_DIR=folder, GANTRY_CACHE_SIZE="0"), "[2.0, 2.0, 2.0] True\n")

    def test_a_damaged_plan_is_made_again(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = kept_in(folder)
            run(self.ADD, **kept)
            for file in pathlib.Path(folder).glob("*.gantry"):
                file.write_bytes(b"nonsense")
            self.assertEqual(run(self.ADD, **kept), "[2.0, 2.0, 2.0] True\n")
            self.assertEqual(run(self.ADD, **kept), "[2.0, 2.0, 2.0] False\n")


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Graphs(unittest.TestCase):
    """What gt.compile makes of a path or bytes, and what functions run."""

    COMPILE = """
        import sys
        import gantry as gt, gantry._library as library
        plan = gt.compile(%s)
        print(plan.run([0.0, 0.0])["output0"].tolist(), library.is_compiler_open(), len(plan.to_bytes()) > 1000)
        """
    MADE, FOUND = "[1.0, 1.0] True True\n", "[1.0, 1.0] False True\n"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cache = self.folder / "cache"
        self.cache.mkdir(mode=0o700)
        self.file = self.folder / "graph.mlir"
        self.file.write_text(GRAPH)

    def compile(self, source=None, **environment):
        return run(self.COMPILE % (source or f"'{self.file}'"), **kept_in(self.cache), **environment)

    def test_a_path(self):
        self.assertEqual([self.compile(), self.compile()], [self.MADE, self.FOUND])
        self.file.write_text(GRAPH + "// changed\n")
        self.assertEqual([self.compile(), self.compile()], [self.MADE, self.FOUND])

    def test_bytes(self):
        source = f"open('{self.file}', 'rb').read()"
        self.assertEqual([self.compile(source), self.compile(source)], [self.MADE, self.FOUND])

    def test_flags_devices_and_values_decide(self):
        path = f"'{self.file}'"
        self.assertEqual(self.compile(), self.MADE)
        for other in (f"{path}, rules=['Exp=CPU:0']", f"{path}, flags=['no-fuse']", f"{path}, devices='CPU:0'"):
            self.assertEqual([self.compile(other), self.compile(other)], [self.MADE, self.FOUND])
        self.assertEqual([self.compile(devices="GPU:0"), self.compile(devices="GPU:0")], [self.MADE, self.FOUND])

    def test_a_function(self):
        program = """
            import gantry as gt, gantry.graph as graph
            made, compile_source = [], graph.compile_source
            graph.compile_source = lambda *given, **named: made.append(1) or compile_source(*given, **named)
            f = gt.function(lambda x: gt.exp(x) * 2.0)
            print(f(gt.zeros(2)).tolist(), len(made))
            """
        self.assertEqual([run(program, **kept_in(self.cache)) for _ in range(2)], ["[2.0, 2.0] 1\n", "[2.0, 2.0] 0\n"])

    def test_damage_of_every_kind(self):
        self.compile()
        for ending, damage in ((".gantry", b"nonsense"), (".gantry", b""), (".json", b"{"), (".json", b"[1]"),
                               (".gantry", None), (".json", None)):
            for file in self.cache.glob(f"*{ending}"):
                file.unlink() if damage is None else file.write_bytes(damage)
            self.assertEqual([self.compile(), self.compile()], [self.MADE, self.FOUND], (ending, damage))

    def test_a_byte_behind_the_header(self):
        self.compile()
        for file in self.cache.glob("*.gantry"):
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 1
            file.write_bytes(data)
        self.assertEqual([self.compile(), self.compile()], [self.MADE, self.FOUND])

    def test_what_was_said_is_kept(self):
        program = f"""
            import gantry as gt
            plan = gt.compile('{self.file}', rules=['Exp=GPU:5'], soft=True)
            print([(severity, file, line) for severity, file, line, *_ in plan.diagnostics])
            """
        first, second = (run(program, **kept_in(self.cache)) for _ in range(2))
        self.assertEqual(first, second)
        self.assertIn("remark", first)

    def test_the_folder_keeps_to_its_size(self):
        program = """
            import gantry as gt, gantry._disk as disk
            for n in range(1, 9):
                gt.exp(gt.ones(n, device="CPU:0"))
            disk.shrink()
            """
        sizes = lambda: [file.stat().st_size for file in self.cache.glob("*.gantry")]
        run(program, **kept_in(self.cache))
        self.assertEqual(len(sizes()), 8)
        limit = sum(sizes()) // 2
        run("import gantry._disk as disk; disk.shrink()", GANTRY_CACHE_DIR=str(self.cache), GANTRY_CACHE_SIZE=str(limit))
        self.assertTrue(1 <= len(sizes()) <= 4 and sum(sizes()) <= limit)
        self.assertEqual(len(list(self.cache.glob("*.json"))), len(sizes()))
        self.assertEqual(list(self.cache.glob("*.part")), [])

    def test_two_processes_at_once(self):
        """Whoever is last wins; nobody reads half an entry."""
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(4) as pool:
            said = list(pool.map(lambda _: self.compile(), range(4)))
        self.assertTrue(set(said) <= {self.MADE, self.FOUND}, said)
        self.assertEqual(self.compile(), self.FOUND)
