#!/usr/bin/python3
"""Transports between processes: what transport-program tries, under Open MPI and MPICH, and what is said where no job can be had.

Usage: transports_test.py BUILD [unittest arguments]; exit status 77 when neither library is installed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
PROGRAM = BUILD / "bin/transport-program"
LONG = "GANTRY_TEST_LONG" in os.environ
CHECKS = ("texts", "messages", "broadcasts", "all-gather", "all-to-all", "lanes apart", "many lanes", "wrong parts", "memory", "forked child")
# By launcher: what it is asked besides, its library, how it calls itself.
LAUNCHERS = {"mpirun.openmpi": (("--oversubscribe", "--allow-run-as-root"), "libmpi.so.40", "Open MPI"),
             "mpirun.mpich": ((), "libmpich.so.12", "MPICH")}


def starts(launcher):
    """Whether it starts programs at all on this machine, which takes a network interface and a host name."""
    if not shutil.which(launcher):
        return False
    done = subprocess.run([launcher, *LAUNCHERS[launcher][0], "-n", "2", "true"], capture_output=True, text=True, timeout=60)
    if done.returncode:
        print(f"{launcher} starts no programs here: {(done.stderr or done.stdout).strip()[:300]}")
    return done.returncode == 0


INSTALLED = [name for name in LAUNCHERS if starts(name)]
if not INSTALLED:
    print("skipped: neither mpirun.openmpi nor mpirun.mpich starts programs here (tools/dev/install_deps.sh test)")
    sys.exit(77)
# Where ptrace is not allowed Open MPI says so at every large message, and goes on (ompi#4948).
QUIET = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def run(command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env={**os.environ, **QUIET, **environment})


def job(launcher, ranks, *arguments, **environment):
    return run([launcher, *LAUNCHERS[launcher][0], "-n", str(ranks), PROGRAM, "mpi", *arguments], **environment)


class Transports(unittest.TestCase):
    def assert_right(self, launcher, ranks, *arguments):
        with self.subTest(launcher=launcher, ranks=ranks, arguments=arguments):
            done = job(launcher, ranks, *arguments)
            _, library, name = LAUNCHERS[launcher]
            self.assertRegex(done.stdout, rf"^{name} \d[.\d]* \({re.escape(library)}\), {ranks} ranks\n")
            self.assertEqual(done.stdout.splitlines()[1:], [f"right: {check}" for check in CHECKS], done.stderr)
            self.assertEqual(done.returncode, 0)

    def test_bytes_arrive(self):
        for launcher in INSTALLED:
            for ranks in (1, 2, 3, 4, 8) if LONG else (1, 2, 4):
                self.assert_right(launcher, ranks)

    def test_in_pieces(self):
        """What does not fit one call: here beyond 1000 bytes, else beyond 2 GiB."""
        for launcher in INSTALLED:
            self.assert_right(launcher, 3, "--most-bytes", "1000")

    def test_nobody_runs_ahead(self):
        for launcher in INSTALLED:
            self.assert_right(launcher, 2, "--ahead", "100000" if LONG else "30000")

    def test_who_is_missing(self):
        for launcher in INSTALLED:
            with self.subTest(launcher=launcher):
                began = time.monotonic()
                done = job(launcher, 3, "--missing", "2")
                self.assertIn("rank 0: rank 2 has not come in time\n", done.stdout)
                self.assertEqual(done.returncode, 3)
                self.assertLess(time.monotonic() - began, 30)

    @unittest.skipUnless(len(INSTALLED) == 2, "one library is installed, not two")
    def test_launcher_of_another_make(self):
        for launcher, other in (INSTALLED, INSTALLED[::-1]):
            with self.subTest(launcher=launcher):
                library = LAUNCHERS[other][1]
                done = job(launcher, 2, GANTRY_MPI_LIB=library)
                self.assertIn("no job: the launcher has started 2 processes, of which", done.stdout)
                self.assertIn(f"({library}) sees one: it is the library of another make", done.stdout)
                self.assertEqual(done.returncode, 2)

    def test_no_such_library(self):
        for library, what in (("libc.so.6", "'libc.so.6' has no function MPI_Get_library_version: it is no library of MPI 3 or newer"),
                              ("/nowhere/libmpi.so", "no library of MPI can be opened (/nowhere/libmpi.so: ")):
            with self.subTest(library=library):
                done = run([PROGRAM, "mpi"], GANTRY_MPI_LIB=library)
                self.assertIn(f"no job: {what}", done.stdout)
                self.assertEqual(done.returncode, 2)

    def test_alone(self):
        """Without a launcher MPI has one rank, and so has the job."""
        done = run([PROGRAM, "mpi"], OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.assertIn(", 1 ranks\n", done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
