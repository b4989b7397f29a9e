"""bare_check.sh with a root that has a shell and a small `make` alone: what it tells, refuses and leaves behind."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = "tools/dev/bare_check.sh"
MAKE = """#!/bin/sh
echo "making $1 in $PWD of $HOME"
echo "ccache: $(echo $CCACHE_DIR/*)"
case $1 in
  demo) echo "it is a seven" ;;
  test) %s ;;
esac
"""
PASSES = 'echo "22 passed, 0 failed, 3 skipped"'
FAILS = 'echo "21 passed, 1 failed, 3 skipped"; echo "make: *** [Makefile:27: test] Error 1" >&2; exit 2'
SLEEPS = 'echo $$; while :; do :; done'


class BareCheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir()
        self.clone = self.folder / "clone"
        (self.clone / "tools/dev").mkdir(parents=True)
        shutil.copy(ROOT / SCRIPT, self.clone / SCRIPT)
        for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "the last one"]):
            subprocess.run(["git", "-C", self.clone, *command], check=True)
        self.bin = self.folder / "bin"
        self.bin.mkdir()

    def fake(self, tests):
        """A mmdebstrap whose root has a shell, env, and a `make`."""
        programs = [pathlib.Path(shutil.which(name)).resolve() for name in ("sh", "env")]
        told = "".join(subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
                       for program in programs)
        libraries = sorted(set(re.findall(r"(/\S+)", told)))
        (self.folder / "make").write_text(MAKE % tests)
        copies = "\n".join(f'mkdir -p "$root{pathlib.Path(file).parent}"; cp -L {file} "$root{file}"' for file in libraries)
        program = self.bin / "mmdebstrap"
        program.write_text(f"""#!/bin/sh
for root; do :; done
mkdir -p "$root/usr/bin" "$root/bin" "$root/etc"
cp {programs[0]} "$root/bin/sh"; cp {programs[1]} "$root/usr/bin/env"; cp {self.folder}/make "$root/usr/bin/make"
chmod +x "$root/usr/bin/make"
{copies}
""")
        program.chmod(0o755)

    def start(self, *arguments, **options):
        names = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "TMPDIR": str(self.tmp)}
        return subprocess.Popen([self.clone / SCRIPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=names, **options)

    def run_script(self, *arguments, **options):
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def without_times(self, out):
        return re.sub(r"\d+ min \d+ s|\b[0-9a-f]{7,} (?=the)", "_", out)

    def test_help_and_wrong_usage(self):
        status, out, _ = self.run_script("--help")
        self.assertEqual(status, 0)
        self.assertIn("Usage: tools/dev/bare_check.sh [--ccache FOLDER] [--keep]", out)
        self.assertNotIn("#", out)
        for arguments, expected in ((["x"], "unknown argument 'x'"), (["--ccache"], "--ccache wants a folder"),
                                    (["--ccache=/nowhere"], "--ccache: there is no folder '/nowhere'")):
            self.assertEqual(self.run_script(*arguments), (2, "", f"bare_check: {expected}; see --help\n"))

    def test_what_is_missing_is_said(self):
        for name in ("bash", "dirname", "id", "unshare", "git", "sed"):
            (self.bin / name).symlink_to(shutil.which(name))
        names = {"PATH": str(self.bin)}
        done = subprocess.run([self.clone / SCRIPT], capture_output=True, text=True, env=names)
        if os.geteuid() == 0:
            self.assertEqual((done.returncode, done.stderr), (
                3, "bare_check: mmdebstrap is missing: apt-get install mmdebstrap\n"))
            self.folder.chmod(0o755)
            done = subprocess.run([self.clone / SCRIPT], capture_output=True, text=True, user=65534)
        self.assertEqual((done.returncode, done.stderr), (
            3, "bare_check: only root can make a root folder and change into it: sudo tools/dev/bare_check.sh\n"))
        self.assertEqual(list(self.tmp.iterdir()), [])

    def inside(self):
        """Processes whose root is one of this test's."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                found += [process.name] if str(self.tmp) in os.readlink(process / "root") else []
            except OSError:
                pass  # it has ended
        return found

    def need_root(self):
        if os.geteuid() or subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode:
            self.skipTest("no root can be made here (root, unshare)")

    def test_the_last_line_of_each_is_told(self):
        self.need_root()
        self.fake(PASSES)
        (self.folder / "ccache").mkdir()
        (self.folder / "ccache/kept").touch()
        status, out, err = self.run_script(f"--ccache={self.folder}/ccache")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(self.without_times(out), (
            "bare_check: a root with _the last one in _\n"
            "bare_check: make demo, exit status 0, _; its last line:\nit is a seven\n"
            "bare_check: make test, exit status 0, _; its last line:\n22 passed, 0 failed, 3 skipped\n"))
        self.assertEqual((self.clone / "build/bare-check/demo.log").read_text(), (
            "making demo in /gantry of /root\nccache: /ccache/kept\nit is a seven\n"))
        self.assertEqual(list(self.tmp.iterdir()), [])
        self.assertTrue((self.folder / "ccache/kept").exists())

    def test_what_fails_is_told_and_fails(self):
        self.need_root()
        self.fake(FAILS)
        (self.clone / "more").touch()
        status, out, _ = self.run_script()
        self.assertEqual(status, 1)
        self.assertTrue(out.startswith("bare_check: what is not committed is left out\n"))
        self.assertTrue(out.endswith("its last line:\n21 passed, 1 failed, 3 skipped\n"), out)
        self.assertIn("make test, exit status 2, ", out)
        self.assertIn("    | make: *** [Makefile:27: test] Error 1\n", out)
        self.assertEqual(list(self.tmp.iterdir()), [])

    def end(self, process):
        """What a test that fails has not come to: its `make` would take a processor for ever."""
        for pid in [*([process.pid] if process.poll() is None else []), *map(int, self.inside())]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with process:
            pass

    def test_nothing_is_left_after_a_signal(self):
        self.need_root()
        self.fake(SLEEPS)
        for kind, status, whom in ((signal.SIGINT, 130, os.killpg), (signal.SIGTERM, 143, os.kill)):
            with self.subTest(kind):
                log = self.clone / "build/bare-check/test.log"
                log.unlink(missing_ok=True)
                process = self.start(start_new_session=True)
                self.addCleanup(self.end, process)
                deadline = time.monotonic() + 120
                while not (log.exists() and log.read_text().count("\n") == 3) and time.monotonic() < deadline:
                    time.sleep(0.05)
                self.assertEqual(len(self.inside()), 1)
                whom(process.pid, kind)
                process.communicate(timeout=30)
                self.assertEqual(process.returncode, status)
                self.assertEqual(list(self.tmp.iterdir()), [])
                self.assertNotIn(str(self.tmp), pathlib.Path("/proc/mounts").read_text())
                self.assertEqual(self.inside(), [])


if __name__ == "__main__":
    unittest.main()
