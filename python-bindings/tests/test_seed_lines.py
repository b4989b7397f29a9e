"""Runs the seeds' own lines (seed_lines.py) on two simulated GPUs and without GPUs."""

import json
import unittest

from tests.seed_lines import ALONE, SHARED
from tests.support import HAS_COMPILER, NEEDS_COMPILER, run

# Runs each program of standard input in a namespace of its own; what each printed, as JSON.
TOGETHER = """
import contextlib, io, json, sys, traceback
said = {}
for name, text in json.loads(sys.argv[1] if len(sys.argv) > 1 else open(0).read()).items():
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        sys.stderr = out  # also for whoever took it before
        try: exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
        except BaseException: traceback.print_exc(file=out)
    said[name] = out.getvalue()
print(json.dumps(said))
"""


class Seeds:
    """What the programs that share a process printed, by devices; run at the first test that asks."""

    said = {}

    @classmethod
    def of(cls, devices):
        if devices not in cls.said:
            texts = json.dumps({name: text for name, (text, _, _) in SHARED.items()})
            cls.said[devices] = json.loads(run(TOGETHER.replace("open(0).read()", repr(texts)), devices=devices))
        return cls.said[devices]


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Lines(unittest.TestCase):
    """A test for each program, named by its row."""

    def check(self, name, got, wanted):
        if wanted.endswith("…"):
            self.assertEqual(got[:len(wanted) - 1], wanted[:-1], name)
        else:
            self.assertEqual(got, wanted, name)


def _shared(name):
    def test(self):
        for devices, wanted in zip(("GPU:0,GPU:1", "CPU:0"), SHARED[name][1:]):
            with self.subTest(devices):
                self.check(name, Seeds.of(devices)[name], wanted)
    return test


def _alone(name):
    def test(self):
        for devices, wanted in zip(("GPU:0,GPU:1", "CPU:0"), ALONE[name][1:]):
            with self.subTest(devices):
                self.check(name, run(ALONE[name][0], devices=devices), wanted)
    return test


for _name in SHARED:
    setattr(Lines, f"test_{_name.replace(' ', '_')}", _shared(_name))
for _name in ALONE:
    setattr(Lines, f"test_{_name.replace(' ', '_')}", _alone(_name))
