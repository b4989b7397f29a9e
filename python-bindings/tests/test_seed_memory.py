"""The seeds' rows about memory and CUDA_VISIBLE_DEVICES. A test's number is its row in seed_rows.py."""

import textwrap
import unittest

from tests.support import BUILD, HAS_COMPILER, LONG, NEEDS_COMPILER, run

GIB = 1 << 30
# Two GPUs of 2 GiB; what a program prints of both once they are in use.
TWO = "GPU:0@2GiB,GPU:1@2GiB"
USE = """
        import gantry as gt
        def use():
            for gpu in gt.gpus(): gt.ones(256, device=gpu)
            print([gt.memory(str(gpu)).limit for gpu in gt.gpus()])
    """


def program(text):
    """A program after the definition of use()."""
    return textwrap.dedent(USE) + textwrap.dedent(text)


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Growth(unittest.TestCase):
    """000 and 002: take what is needed, or no more than said."""

    def test_07_only_what_is_needed_is_taken(self):
        self.assertEqual(run("""
            import gantry as gt
            kept = gt.ones(256, device="GPU:0")
            found = gt.memory("GPU:0")
            print(found.used, found.peak, found.used < found.total // 1000, gt.memory("GPU:1").used)
            """, devices=TWO), "1024 1024 True 0\n")

    GROWTH = """
        from gantry.compat import tf
        gpus = tf.config.experimental.list_physical_devices('GPU')
        if gpus:
          try:
            for gpu in gpus:
              tf.config.experimental.set_memory_growth(gpu, True)
            logical_gpus = tf.config.experimental.list_logical_devices('GPU')
            print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPUs")
          except RuntimeError as e:
            print(e)
        """

    def test_09_36_growth_of_one(self):
        self.assertEqual(run(self.GROWTH, devices="GPU:0"), "1 Physical GPUs, 1 Logical GPUs\n")

    def test_09_too_late(self):
        use = "import gantry as gt; gt.ones(1, device='GPU:0')\n"
        self.assertEqual(run(use + textwrap.dedent(self.GROWTH)),
                         "'memory' cannot be configured any more: devices are in use; call config before the first "
                         "array is made or plan is loaded\n")

    # Three plans of 2 KiB each in a budget of 5 KiB, of which one at a time runs.
    ADMISSION = """
        import gantry as gt
        gt.config(memory={"GPU:*": "fraction:0.5"})
        x = gt.ones(256, device="GPU:0")
        try:
            for op in gt.exp, gt.sin, gt.cos: op(x)
            print("all of them")
        except MemoryError as error:
            print(error)
        """

    def test_10_the_environment(self):
        self.assertEqual(run(self.ADMISSION, devices="GPU:0@10KiB", TF_FORCE_GPU_ALLOW_GROWTH="true"), "all of them\n")
        for value in ("false", ""):
            self.assertIn("the memory setting of GPU:0 of this machine allows 5 KiB and plans that are loaded need "
                          "4 KiB; raise it to at least 6 KiB, unload a plan, or declare them serial\n",
                          run(self.ADMISSION, devices="GPU:0@10KiB", TF_FORCE_GPU_ALLOW_GROWTH=value))

    def test_10_the_environment_by_gantrys_own_name(self):
        self.assertEqual(run(self.ADMISSION, devices="GPU:0@10KiB", GANTRY_MEMORY="GPU:0=growth"), "all of them\n")

    def test_10_wrong_values(self):
        program = """
            import gantry as gt
            print(gt.num_gpus())
            try: gt.ones(1)
            except RuntimeError as error: print(error)
            """
        self.assertEqual(run(program, TF_FORCE_GPU_ALLOW_GROWTH="yes"),
                         "2\nTF_FORCE_GPU_ALLOW_GROWTH is 'yes'; it takes true or false\n")
        self.assertIn("2\nGANTRY_MEMORY: the memory setting 'GPU:0=all' says 'all'; write ",
                      run(program, GANTRY_MEMORY="GPU:0=all"))

    def test_36_limit(self):
        self.assertEqual(run("""
            from gantry.compat import tf
            import gantry as gt
            gpus = tf.config.experimental.list_physical_devices('GPU')
            tf.config.experimental.set_virtual_device_configuration(
                gpus[0], [tf.config.experimental.VirtualDeviceConfiguration(memory_limit=1024)])
            print(len(tf.config.experimental.list_logical_devices('GPU')), gt.memory("GPU:0").limit)
            """, devices="GPU:0"), f"1 {GIB}\n")

    def test_09_all_at_once_as_without_growth(self):
        """What TensorFlow does where growth is not asked for."""
        told = "import gantry as gt\n%sprint(gt.memory('GPU:0').reserved)\nkept = gt.ones(1, device='GPU:0')\n" \
               "found = gt.memory('GPU:0'); print(found.used, found.reserved, found.limit, gt.memory('GPU:1').reserved)\n"
        nearly_all = 2 * GIB - 2 * GIB // 20
        self.assertEqual(run(told % "gt.config(memory={'GPU:*': 'reserve'})\n", devices=TWO),
                         f"0\n4 {nearly_all} {nearly_all} 0\n")
        self.assertEqual(run(told % "gt.config(memory={'GPU:*': 'limit:1GiB,reserve'})\n", devices=TWO),
                         f"0\n4 {GIB} {GIB} 0\n")
        self.assertEqual(run(told % "", devices=TWO, GANTRY_MEMORY="GPU:*=fraction:0.5,reserve"), f"0\n4 {GIB} {GIB} 0\n")

    def test_39_one_gpu_of_two(self):
        lines = """
            from gantry.compat import tf
            import gantry as gt
            gpus = tf.config.list_physical_devices("GPU")
            if gpus:
                gpu0 = gpus[0]
                %s
                tf.config.set_visible_devices([gpu0],"GPU")
            print(gpus, len(tf.config.list_logical_devices("GPU")), gt.memory("GPU:0").limit)
            """
        listed = ", ".join(f"PhysicalDevice(name='/physical_device:GPU:{i}', device_type='GPU')" for i in range(2))
        growth = "tf.config.experimental.set_memory_growth(gpu0, True)"
        limit = ("tf.config.experimental.set_virtual_device_configuration(gpu0, "
                 "[tf.config.experimental.VirtualDeviceConfiguration(memory_limit=4096)])")
        self.assertEqual(run(lines % growth), f"[{listed}] 1 None\n")
        self.assertEqual(run(lines % limit), f"[{listed}] 1 {4 * GIB}\n")


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Pieces(unittest.TestCase):
    """003: a product of which nothing but the sum is asked for."""

    def test_40_41_within_a_limit(self):
        """A product of 400 MB in 100 MiB, or of 4 GB in 1 GiB, in pieces of its rows."""
        rows, limit = (10000, "1GiB") if LONG else (1000, "100MiB")
        program = """
            import gantry as gt
            import numpy as np
            gt.random.seed(0)
            a, b = gt.random.uniform((%d, 100), 0, 3), gt.random.uniform((100, 100000), 0, 3)
            total = gt.function(lambda a, b: gt.sum(a @ b), flags=%r)(a, b).item()
            exact = a.numpy().sum(0, np.float64) @ b.numpy().sum(1, np.float64)
            print(total, abs(total / exact - 1) < 1e-6)
            """
        free = run(program % (rows, ()), devices="CPU:0")
        self.assertTrue(free.endswith(" True\n"), free)
        self.assertEqual(run(program % (rows, ("over-limit=fix",)), devices=f"CPU:0@{limit}"), free)

    def test_40_over_rows_first(self):
        """As tensorflow's reduce_sum(reduce_sum(c, 0), 0): pieces of 250 rows."""
        rows, limit = (10000, "1GiB") if LONG else (1000, "150MiB")
        program = """
            import gantry as gt
            import numpy as np
            gt.random.seed(0)
            a, b = gt.random.uniform((%d, 100), 0, 3), gt.random.uniform((100, 100000), 0, 3)
            total = gt.function(lambda a, b: gt.sum(gt.sum(a @ b, 0), 0), flags=%r)(a, b).item()
            exact = a.numpy().sum(0, np.float64) @ b.numpy().sum(1, np.float64)
            print(total, abs(total / exact - 1) < 1e-6)
            """
        free = run(program % (rows, ()), devices="CPU:0")
        self.assertTrue(free.endswith(" True\n"), free)
        self.assertEqual(run(program % (rows, ("over-limit=fix",)), devices=f"CPU:0@{limit}"), free)


class Fractions(unittest.TestCase):
    """001: TensorFlow 1's options, and what they could not say."""

    def test_20_half_with_growth(self):
        self.assertEqual(run(program("""
            from gantry.compat import tf
            config = tf.ConfigProto()
            config.gpu_options.per_process_gpu_memory_fraction = 0.5
            config.gpu_options.allow_growth = True
            session = tf.Session(config=config)
            use()
            """), devices=TWO), f"[{GIB}, {GIB}]\n")

    def test_22_or_another_for_each(self):
        self.assertEqual(run(program("""
            gt.config(memory={"GPU:0": "fraction:0.25", "GPU:1": "fraction:0.75"})
            use()
            """), devices=TWO), f"[{GIB // 2}, {GIB // 2 * 3}]\n")

    def test_20_over_the_fraction(self):
        self.assertEqual(run("""
            import gantry as gt
            gt.config(memory={"GPU:*": "fraction:0.5"})
            kept = gt.ones(64, device="GPU:0")
            for kind in (MemoryError, RuntimeError):
                try: gt.ones(128, device="GPU:0")
                except kind as error: print(error)
            print(kept.numpy().sum())
            """, devices="GPU:0@1KiB"), 2 * (
            "'/job:localhost/replica:0/task:0/device:GPU:0': an array of f32[128] needs 512 bytes, the memory setting "
            "of GPU:0 of this machine allows 512 bytes and 256 bytes are in use; raise it to at least 768 bytes\n") +
            "64.0\n")


class VisibleDevices(unittest.TestCase):
    """001: CUDA_VISIBLE_DEVICES, on two GPUs that the fakes of NVML and CUDA have."""

    FAKES = {"LD_LIBRARY_PATH": str(BUILD / "test/unit/Tool/nvml"), "GANTRY_CUDA_LIB": str(BUILD / "lib/libfake-cuda.so"),
             "FAKE_CUDA_DEVICES": "2"}

    def seen(self, program, **environment):
        return run(program, devices="", GANTRY_SIMULATE="0", **self.FAKES, **environment)

    def test_19_exported(self):
        program = "import gantry as gt; print(len(gt.devices('GPU', physical=True)), gt.num_gpus())"
        self.assertEqual(self.seen(program), "2 2\n")
        self.assertEqual(self.seen(program, CUDA_VISIBLE_DEVICES="0"), "1 1\n")
        self.assertEqual(self.seen(program, CUDA_VISIBLE_DEVICES=""), "0 0\n")

    def test_19_in_the_program(self):
        """Read at the first use of devices, so also after the import."""
        self.assertEqual(self.seen("""
            import os
            import gantry as gt
            os.environ["CUDA_VISIBLE_DEVICES"]='0'
            print(gt.gpus(), gt.ones(2, device="GPU:0").tolist())
            """), "[GPU:0] [1.0, 1.0]\n")
