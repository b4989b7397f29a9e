"""What the tests share: the build's plans, and programs that run in a process of their own."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap

BUILD = pathlib.Path(os.environ["GANTRY_TEST_BUILD"])
PLANS = BUILD / "test/capi"  # made by hand: y = 2 * (x + 5..8) and others, see test/capi/MakePlans.cpp
HAS_COMPILER = (BUILD / "lib/libgantry-compiler.so").exists()
NEEDS_COMPILER = "the build has no compiler"
LONG = "GANTRY_TEST_LONG" in os.environ  # more than every run of all tests can take


def run(program, devices="GPU:0,GPU:1", timeout=120, expect=0, **environment):
    """What a program prints, on simulated GPUs; `devices`: none when empty. Ctrl-C works in it, also where the
    tests run in the background and ignore it."""
    names = {**os.environ, "GANTRY_DEVICES": devices, "GANTRY_SIMULATE": "1", **environment}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=names, timeout=timeout,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), capture_output=True,
                          text=True)
    assert done.returncode == expect, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def missing(*modules):
    """The first of some modules that is not installed."""
    for name in modules:
        try:
            __import__(name)
        except ImportError:
            return name
    return None
