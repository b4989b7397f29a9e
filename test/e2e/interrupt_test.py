#!/usr/bin/python3
"""Every command that writes, ended by a signal at some moment: nothing half written stays.

What a signal leaves is what was there before, or the whole new file; nothing beside it and nothing
in TMPDIR; and whoever waits for the program sees the signal. Then the same on a file system without
files that have no name, which a seccomp filter plays: SIGKILL may leave a name there, others not.

Usage: interrupt_test.py BUILD [unittest arguments]; exit status 77 when a Python module is missing.
"""

import ctypes
import hashlib
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

try:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing} (tools/dev/install_deps.sh references)")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
ROUNDS = int(os.environ.get("GANTRY_INTERRUPT_ROUNDS", "3"))  # for each command, signal and file system
OLD = hashlib.sha256(b"old").hexdigest()
COMPLETE = {
    "compile": ("m.onnx", "-o", "out.gantry"),
    "compile --stop-after": ("m.onnx", "--stop-after=simplify", "-o", "out.mlir"),
    "compile --write-placement-lock": ("small.onnx", "-o", "out.gantry", "--write-placement-lock", "out.lock"),
    "compile --cubins": ("relu.mlir", "--devices=CPU:0,GPU:0", "--cubins=on", "-o", "out.gantry"),
    "run --output": ("m.onnx", "--fill", "ones", "--output", "out.npz"),
    "run --save-state": ("count.mlir", "--fill", "ones", "--save-state", "out.npz"),
    "run --save-state=.safetensors": ("count.mlir", "--fill", "ones", "--save-state", "out.safetensors"),
    "report": ("m.onnx", "-o", "out.html"),
    "plan-text": ("p.gantry", "-o", "out.txt"),
}
PTXAS = pathlib.Path(__file__).resolve().parents[1] / "Target/CUDA/Inputs/ptxas"  # a script that takes a while
RELU = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
COUNTER = """
gantry.variable @steps = dense<0.0> : tensor<1048576xf32>
func.func @main(%x: tensor<1048576xf32>) {
  gantry.assign_add @steps, %x : tensor<1048576xf32>
  return
}
"""


def without_nameless_files():
    """In this process and its children open with O_TMPFILE says "not supported", as NFS does."""
    libc = ctypes.CDLL(None, use_errno=True)
    machine_calls = {"x86_64": 257, "aarch64": 56}  # openat
    tmpfile = os.O_TMPFILE & ~os.O_DIRECTORY
    load, equal, mask, give = 0x20, 0x15, 0x54, 0x06
    program = b"".join(struct.pack("HBBI", *step) for step in (
        (load, 0, 0, 0), (equal, 0, 4, machine_calls[os.uname().machine]),
        (load, 0, 0, 16 + 2 * 8), (mask, 0, 0, tmpfile), (equal, 0, 1, tmpfile),
        (give, 0, 0, 0x00050000 | 95), (give, 0, 0, 0x7fff0000)))
    code = ctypes.create_string_buffer(program, len(program))

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    no_new_privileges, set_seccomp = 38, 22
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or \
            libc.prctl(set_seccomp, 2, ctypes.byref(Filter(len(program) // 8, ctypes.addressof(code)))):
        raise OSError(ctypes.get_errno(), "no seccomp filters here")


class InterruptTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.given = pathlib.Path(scratch.name)
        # 16 or 64 MiB of weights: writing them takes a while.
        cls.save_model("m.onnx", 4096 if "GANTRY_TEST_LONG" in os.environ else 2048)
        cls.save_model("small.onnx", 8)
        (cls.given / "count.mlir").write_text(COUNTER)
        (cls.given / "relu.mlir").write_text(RELU)
        subprocess.run([BUILD / "bin/gantry", "compile", "m.onnx", "-o", "p.gantry"], cwd=cls.given, check=True)

    @classmethod
    def save_model(cls, name, size):
        weights = np.random.default_rng(0).random((size, size), dtype=np.float32)
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, size])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, size])],
            [numpy_helper.from_array(weights, "w")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        (cls.given / name).write_bytes(model.SerializeToString())

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder, self.temporary = pathlib.Path(scratch.name) / "here", pathlib.Path(scratch.name) / "tmp"

    def start(self, arguments, prepare):
        """In a fresh folder with the inputs, and with another file where the output goes."""
        for folder in (self.folder, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for file in self.given.iterdir():
            (self.folder / file.name).symlink_to(file)
        for name in self.old:
            (self.folder / name).write_bytes(b"old")
        return subprocess.Popen([BUILD / "bin/gantry", *arguments], cwd=self.folder, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, preexec_fn=prepare,
                                env={**os.environ, "GANTRY_CACHE_SIZE": "0", "TMPDIR": str(self.temporary),
                                     "GANTRY_PTXAS": str(PTXAS), "FAKE_PTXAS": "slow"})

    def written(self):
        """What each file says, briefly; an archive has the time of its making in it."""
        def brief(file):
            if file.suffix == ".npz" and zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as archive:
                    return [(part.filename, part.CRC, archive.testzip()) for part in archive.infolist()]
            return hashlib.sha256(file.read_bytes()).hexdigest()

        return {file.name: brief(file) for file in self.folder.iterdir() if not file.is_symlink()}

    def check(self, signals, prepare=None, rounds=ROUNDS):
        draw = random.Random(7)
        for command, arguments in COMPLETE.items():
            arguments = command.split()[:1] + list(arguments)
            self.old = [argument for argument in arguments if argument.startswith("out.")]
            began = time.monotonic()
            self.assertEqual(self.start(arguments, prepare).wait(), 0, command)
            duration = time.monotonic() - began
            whole, old = self.written(), {name: OLD for name in self.old}
            self.assertEqual(sorted(whole), sorted(self.old))
            for kind in signals * rounds:
                # Half of the output files are new ones.
                if draw.random() < 0.5:
                    old, self.old = {}, []
                delay = draw.uniform(0, 1.05 * duration)
                with self.subTest(f"{command}: {kind.name} after {delay:.3f} s of {duration:.3f} s"):
                    process = self.start(arguments, prepare)
                    time.sleep(delay)
                    process.send_signal(kind)
                    self.assertIn(process.wait(), (0, -kind))
                    for name, content in self.written().items():
                        if kind == signal.SIGKILL and ".tmp." in name:
                            # In place of another file a complete one gets its name by way of a second one; no
                            # system call does both, and nobody can tidy up after SIGKILL.
                            name = name.partition(".tmp.")[0]
                            self.assertEqual(content, whole[name])
                        self.assertIn(name, whole)
                        self.assertIn(content, (whole[name], old.get(name)), f"{name} is neither old nor whole")
                    self.assertEqual(list(self.temporary.iterdir()), [])
                old = {name: OLD for name in whole}
                self.old = list(old)

    def test_nothing_half_written_stays(self):
        self.check([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])

    def test_nothing_half_written_stays_where_files_have_names(self):
        self.check([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], without_nameless_files)

    def test_a_signal_that_is_ignored_stays_so(self):
        self.old = []

        def prepare():
            without_nameless_files()
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup

        process = self.start(["compile", "m.onnx", "-o", "out.gantry"], prepare)
        while process.poll() is None:
            process.send_signal(signal.SIGHUP)
            time.sleep(0.01)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(list(self.written()), ["out.gantry"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
