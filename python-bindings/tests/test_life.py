"""What a process may do: fork, exit, import quickly, be interrupted."""

import unittest

from tests.support import PLANS, run


class Fork(unittest.TestCase):
    def test_a_child_of_a_user_gets_an_error(self):
        self.assertEqual(run("""
            import os, sys
            import gantry as gt
            x = gt.ones(2, device="GPU:0")
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                for call in (lambda: gt.ones(1), x.numpy, x.clone):
                    try: call()
                    except gt.FailedPreconditionError as error: text = str(error)
                    else: text = "nothing was said"
                    assert "spawn" in text, text
                print(text, flush=True)
                sys.exit(0)
            assert os.waitpid(pid, 0)[1] == 0
            print(x.numpy().tolist())
            """, PYTHONWARNINGS="ignore::DeprecationWarning"), "this process was forked from one that uses Gantry, whose threads and devices are in the parent "
            "only; start it with multiprocessing's 'spawn', or fork before Gantry is first used\n[1.0, 1.0]\n")

    def test_a_child_of_one_that_only_imported_works(self):
        self.assertEqual(run("""
            import os
            import gantry as gt
            gt.device("GPU:1")
            pid = os.fork()
            if pid == 0:
                print(gt.ones(2, device="GPU:1").numpy().tolist(), flush=True)
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
            """), "[1.0, 1.0]\n")


class Exit(unittest.TestCase):
    def test_with_arrays_and_sessions_alive(self):
        self.assertEqual(run(f"""
            import gantry as gt
            x, session = gt.ones(4, device="GPU:0"), gt.load("{PLANS}/hello.gantry").session()
            future = session.submit(x=x)
            print(future.result()["y"].tolist())
            """), "[12.0, 14.0, 16.0, 18.0]\n")


class Import(unittest.TestCase):
    def test_opens_no_library(self):
        self.assertEqual(run("""
            import gantry, gantry._library
            print(gantry._library._opened)
            gantry.ones(2)
            print(list(gantry._library._opened))
            """), "{}\n['gantry-runtime']\n")

    def test_without_a_library(self):
        text = run("""
            import gantry as gt
            try: gt.ones(2)
            except gt.UnavailableError as error: print(error)
            """, GANTRY_LIBRARY_PATH="/nowhere")
        self.assertRegex(text, r"^libgantry-runtime.so was not found; set GANTRY_LIBRARY_PATH to the folder that has it "
                               r"\(tried: /nowhere/libgantry-runtime.so; .*\)\n$")
