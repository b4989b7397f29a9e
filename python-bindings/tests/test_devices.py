"""Devices: names, lists, scopes and configuration, on two simulated GPUs and on others."""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import copy
import gc
import pickle
import unittest

import gantry as gt
from tests.support import HAS_COMPILER, NEEDS_COMPILER, run

TASK = "/job:localhost/replica:0/task:0/"


class Names(unittest.TestCase):
    def test_three_spellings_of_the_seeds(self):
        for text, full in (("/device:CPU:0", "device:CPU:0"), ("/GPU:0", "device:GPU:0"),
                           (TASK + "device:GPU:1", "device:GPU:1"), ("cuda:1", "device:GPU:1"), ("cuda", "device:GPU:0")):
            self.assertEqual(str(gt.device(text)), TASK + full)

    def test_short_in_print(self):
        self.assertEqual(repr(gt.device("/gpu:1")), "GPU:1")
        self.assertEqual(f"{gt.device('/gpu:1')!r}", "GPU:1")

    def test_equal_to_its_names(self):
        self.assertEqual(gt.gpu(), gt.gpu(0))
        self.assertEqual(gt.gpu(1), "cuda:1")
        self.assertNotEqual(gt.gpu(1), "cuda:0")
        self.assertNotEqual(gt.gpu(1), "nonsense")
        self.assertEqual(len({gt.gpu(1), gt.device("/gpu:1")}), 1)

    def test_a_task_has_one_cpu(self):
        for name in ("cpu", "CPU", "/cpu:0", "CPU:*", "/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:*"):
            self.assertEqual((gt.device(name), hash(gt.device(name))), (gt.cpu(), hash(gt.cpu())), name)
            self.assertTrue(gt.cpu() == name)
        self.assertNotEqual(gt.device("/job:worker/task:1/CPU:0"), gt.cpu())
        self.assertNotEqual(gt.device("GPU"), gt.gpu())  # any of them

    def test_copies_and_calls(self):
        device = gt.device("GPU:1", soft="prefer")
        for other in (copy.deepcopy(device), pickle.loads(pickle.dumps(device)), device()):
            self.assertEqual((other, other.soft, str(other)), (device, "prefer", str(device)))

    def test_wrong_names(self):
        for given, error, text in (
                ("GPU:x", gt.InvalidArgumentError, "device name 'GPU:x', column 5: expected a number (0, 1, ...) or '*'"),
                ("", gt.InvalidArgumentError, "the device name is empty; write a name like GPU:0"),
                (3, TypeError, "a device is a name or a Device, not int")):
            with self.assertRaises(error) as caught:
                gt.device(given)
            self.assertIn(text, str(caught.exception))


class Lists(unittest.TestCase):
    def test_two_gpus(self):
        self.assertEqual(len(gt.devices("GPU", physical=True)), 2)
        self.assertEqual(gt.num_gpus(), 2)
        self.assertEqual(gt.gpus(), ["GPU:0", "GPU:1"])
        self.assertEqual(gt.gpus(at_most=1), ["GPU:0"])
        self.assertEqual(gt.devices(), ["CPU:0", "GPU:0", "GPU:1"])
        self.assertEqual(str(gt.devices("GPU", physical=True)[0]), TASK + "physical_device:GPU:0")

    def test_try_gpu(self):
        self.assertEqual([gt.try_gpu(), gt.try_gpu(10)], ["GPU:0", "CPU:0"])
        self.assertEqual(gt.try_all_gpus(), ["GPU:0", "GPU:1"])

    TRY = "import gantry as gt; print(gt.try_gpu(), gt.try_gpu(10), gt.try_all_gpus(), gt.num_gpus())"

    def test_try_gpu_with_one_and_without(self):
        self.assertEqual(run(self.TRY, devices="GPU:0"),
                         f"{TASK}device:GPU:0 {TASK}device:CPU:0 [GPU:0] 1\n")
        self.assertEqual(run(self.TRY, devices="CPU:0"),
                         f"{TASK}device:CPU:0 {TASK}device:CPU:0 [CPU:0] 0\n")


class Scopes(unittest.TestCase):
    def test_arrays_are_made_where_the_scope_says(self):
        with gt.device("/CPU:0"):
            self.assertEqual(gt.ones(2).device, "CPU:0")
            with gt.device("GPU:1"):
                self.assertEqual(gt.ones(2).device, "GPU:1")
                with gt.device(None):
                    self.assertEqual(gt.ones(2).device, "CPU:0")
        with gt.try_gpu(1):
            self.assertEqual(gt.array([1.0]).device, "GPU:1")
        self.assertEqual(gt.ones(2).device, "CPU:0")

    def test_parts_merge(self):
        with gt.device("GPU:1"):
            self.assertEqual(gt.ones(1, device="/job:localhost").device, "GPU:1")
            self.assertEqual(gt.ones(1, device="CPU").device, "CPU:0")
            self.assertEqual(gt.ones(1, device="GPU").device, "GPU:1")

    def test_unknown_device_where_the_array_is_made(self):
        with self.assertRaises(RuntimeError) as caught:
            with gt.device("/device:GPU:2"):
                gt.ones(2, 3)
        self.assertEqual(str(caught.exception), f"'{TASK}device:GPU:2': unknown device; the devices are "
                         f"{TASK}device:CPU:0, {TASK}device:GPU:0, {TASK}device:GPU:1")

    def test_soft(self):
        self.assertEqual(gt.ones(1, device=gt.device("GPU:7", soft="prefer")).device, "GPU:0")
        with self.assertRaises(gt.InvalidArgumentError) as caught:
            gt.device("GPU:0", soft="maybe")
        self.assertEqual(str(caught.exception), "soft is 'maybe'; it can be 'strict', 'prefer', 'any' or None")


class Apart(unittest.TestCase):
    """A scope holds for who is in it: not for other tasks and threads, nor for whoever a generator yields to."""

    def here(self):
        return repr(gt.ones(1).device)

    def test_tasks(self):
        async def task(device, waits):
            with gt.device(device):
                for _ in range(waits):
                    await asyncio.sleep(0)
                inner = await self.nested()
                return self.here(), inner

        async def all_of_them():
            return await asyncio.gather(*[task(f"GPU:{i % 2}", 1 + i % 5) for i in range(10)])

        self.assertEqual(asyncio.run(all_of_them()), [(f"GPU:{i % 2}",) * 2 for i in range(10)])
        self.assertEqual(self.here(), "CPU:0")

    async def nested(self):
        await asyncio.sleep(0)
        return self.here()

    def test_what_a_task_starts_is_in_its_scope(self):
        async def start():
            with gt.device("GPU:1"):
                return await asyncio.create_task(self.nested())
        self.assertEqual(asyncio.run(start()), "GPU:1")

    def generator(self, device):
        with gt.device(device):
            while True:
                yield self.here()

    def test_generators(self):
        a, b = self.generator("GPU:0"), self.generator("GPU:1")
        said = []
        for _ in range(2):
            said += [next(a), self.here(), next(b), self.here()]
        self.assertEqual(said, ["GPU:0", "CPU:0", "GPU:1", "CPU:0"] * 2)
        with gt.device("CPU:0"):
            self.assertEqual((next(a), self.here()), ("GPU:0", "CPU:0"))
        a.close()  # before the one that began later
        self.assertEqual((next(b), self.here()), ("GPU:1", "CPU:0"))
        b.close()
        self.assertEqual(self.here(), "CPU:0")
        self.assertEqual(gt._device._entered.get(), ())

    def test_one_device_in_two_generators(self):
        device = gt.gpu(1)

        def once():
            with device:
                yield self.here()
            yield self.here()

        a, b = once(), once()
        self.assertEqual([next(a), next(b), next(a), next(b), self.here()], ["GPU:1", "GPU:1", "CPU:0", "CPU:0", "CPU:0"])

    def test_generators_in_generators(self):
        def outer():
            with gt.device("GPU:0"):
                yield from self.generator("GPU:1")

        made = outer()
        self.assertEqual([next(made), self.here(), next(made)], ["GPU:1", "CPU:0", "GPU:1"])

    def test_a_generator_that_is_dropped(self):
        made = self.generator("GPU:1")
        next(made)
        del made
        gc.collect()
        self.assertEqual((self.here(), gt._device._entered.get()), ("CPU:0", ()))

    def test_async_generators(self):
        async def made():
            with gt.device("GPU:1"):
                for _ in range(2):
                    yield self.here()

        async def all_of_them():
            return [(each, self.here()) async for each in made()]
        self.assertEqual(asyncio.run(all_of_them()), [("GPU:1", "CPU:0")] * 2)

    def test_context_managers_made_of_generators(self):
        @contextlib.contextmanager
        def somewhere(device):
            with gt.device(device):
                yield

        @contextlib.contextmanager
        def twice():
            with somewhere("GPU:1"):
                yield

        with somewhere("GPU:0"):
            self.assertEqual(self.here(), "GPU:0")
            with twice():
                self.assertEqual(self.here(), "GPU:1")
            self.assertEqual(self.here(), "GPU:0")
        with contextlib.ExitStack() as stack:
            stack.enter_context(gt.device("GPU:1"))
            stack.enter_context(somewhere("GPU:0"))
            self.assertEqual(self.here(), "GPU:0")
        self.assertEqual((self.here(), gt._device._entered.get()), ("CPU:0", ()))

    def test_a_context_manager_in_a_generator(self):
        @contextlib.contextmanager
        def somewhere():
            with gt.device("GPU:1"):
                yield

        def generator():
            with somewhere():
                yield self.here()

        made = generator()
        self.assertEqual((next(made), self.here()), ("GPU:1", "CPU:0"))

    def test_threads(self):
        with gt.device("GPU:1"), concurrent.futures.ThreadPoolExecutor(1) as pool:
            self.assertEqual(pool.submit(self.here).result(), "CPU:0")
            self.assertEqual(pool.submit(contextvars.copy_context().run, self.here).result(), "GPU:1")

    @unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
    def test_a_function_is_traced_for_each_scope(self):
        f, x = gt.function(lambda x: x + 1.0), gt.ones(2, device="CPU:0")
        with gt.device("GPU:1"):
            self.assertEqual(f(x).device, "GPU:1")
        self.assertEqual(f(x).device, "GPU:0")

    @unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
    def test_what_was_softened_is_not_what_is_asked_for_strictly(self):
        x = gt.ones(3, device="CPU:0")
        with gt.device("GPU:7", soft="prefer"):
            self.assertEqual(gt.exp(x).device, "GPU:0")
        with gt.device("GPU:7"), self.assertRaisesRegex(RuntimeError, "unknown device"):
            gt.exp(x)
        self.assertEqual(gt.sin(x, device=gt.device("GPU:7", soft="prefer")).device, "GPU:0")
        with self.assertRaisesRegex(RuntimeError, "unknown device"):
            gt.sin(x, device=gt.device("GPU:7"))


class Configuration(unittest.TestCase):
    def test_visible(self):
        self.assertEqual(run("""
            import gantry as gt
            gt.config(visible=[0])
            print(len(gt.devices("GPU", physical=True)), "Physical,", len(gt.devices("GPU")), "Logical")
            """), "2 Physical, 1 Logical\n")

    def test_too_late(self):
        self.assertEqual(run("""
            import gantry as gt
            gt.config(split={}); gt.devices()
            gt.ones(1)
            try: gt.config(visible=[0])
            except RuntimeError as error: print(error)
            """), "'visible' cannot be configured any more: devices are in use; call config before the first array "
            "is made or plan is loaded\n")

    def test_split(self):
        self.assertEqual(run("""
            import gantry as gt
            gt.config(split={0: ["1GiB"] * 2})
            print(len(gt.devices("GPU", physical=True)), len(gt.devices("GPU")), gt.memory("GPU:1").limit)
            """), f"2 3 {1 << 30}\n")

    def test_limit(self):
        self.assertEqual(run("""
            import gantry as gt
            gt.config(memory={"GPU:0": "limit:1KiB"})
            print(gt.num_gpus(), gt.memory("GPU:0").limit)
            kept = gt.ones(128, device="GPU:0")
            for kind in (MemoryError, RuntimeError):
                try: gt.ones(256, device="GPU:0")
                except kind as error: print(error)
            print(kept.numpy().sum(), gt.memory("GPU:0").used)
            """), "2 1024\n" + 2 * (
            f"'{TASK}device:GPU:0': an array of f32[256] needs 1 KiB, the limit is 1 KiB and 512 bytes are in use; "
            "raise the limit to at least 1.5 KiB\n") + "128.0 512\n")

    def test_default_device_and_soft(self):
        self.assertEqual(run("""
            import gantry as gt
            gt.config(default_device="GPU:1", soft=True)
            print(repr(gt.ones(1).device), repr(gt.ones(1, device="GPU:5").device))
            """), "GPU:1 GPU:0\n")

    def test_wrong_settings(self):
        for changes, error, text in (
                ({"growth": True}, TypeError, "config has no setting 'growth'; the settings are copies, "
                 "default_device, devices, log_placement, memory, placement, sim_order, simulate, soft, split, threads, visible"),
                ({"copies": "never"}, gt.InvalidArgumentError, "copies is 'never'; it can be 'auto' or 'explicit'"),
                ({"placement": "best"}, gt.InvalidArgumentError,
                 "placement is 'best'; it can be 'default' or 'follow' or 'auto'")):
            with self.assertRaises(error) as caught:
                gt.config(**changes)
            self.assertEqual(str(caught.exception), text)

    def test_memory_settings_that_are_wrong(self):
        self.assertEqual(run("""
            import gantry as gt
            for device, text in (("GPU:0", "much"), ("GPU", "limit:1GiB,fraction:2"), ("GPU:7", "growth")):
                try:
                    gt.config(memory={device: text})
                    gt.devices()
                except gt.InvalidArgumentError as error: print(str(error).split(";")[0])
            """), "the memory setting 'GPU:0=much' says 'much'\n"
            "the memory setting 'GPU=limit:1GiB,fraction:2' has a fraction of '2', which is not over 0 and up to 1\n"
            "memory of 'GPU:7': unknown device\n")

    def test_memory_of_a_device_that_is_hidden_or_split(self):
        self.assertEqual(run("""
            import gantry as gt
            gt.config(visible=[1], memory={"GPU:0": "growth", "GPU:1": "limit:3KiB"}, split={1: ["2KiB", "2KiB"]})
            kept = gt.ones(512, device="GPU:0")
            print(gt.gpus(), gt.memory("GPU:0").limit)
            try: gt.ones(512, device="GPU:1")
            except MemoryError as error: print(str(error).split(": ", 1)[1])
            """), "[GPU:0, GPU:1] 2048\nan array of f32[512] needs 2 KiB, the memory setting of GPU:1 of this machine "
            "allows 3 KiB and 2 KiB are in use; raise it to at least 4 KiB\n")
