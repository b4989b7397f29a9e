#!/usr/bin/python3
"""Steps of training beside PyTorch's: the networks of test/bench/training/make_steps.py, f32, on the CPU.

A process for each side, with the same weights and rows; the two take turns, a few steps each, on as many processors. Told are
medians of turns and their ratio, the most memory that each process has resident, what a step's plan takes to compile, and what
memory it plans. Which BLAS PyTorch calls decides much: Debian's reference BLAS is no peer. What a product of 1024 by 1024 by 1024
reaches is told beside what oneDNN reaches for the same one as a convolution, and no ratio of times is given where the BLAS has
less than half of that.

Usage: bench_training.py --build-dir BUILD [--threads 1,2] [--networks mlp,bert_base] [--turns N] [--steps N] [--blas FILE]
       [--write PATH]
       bench_training.py --rows FILE.json ... [--write PATH]     tells of earlier runs, without measuring
--write  PATH.md and PATH.json, after each row; rows of a PATH.json that is there stay where they are not measured anew
--blas   the library to call in the place of libblas.so.3; OpenBLAS (package libopenblas0-pthread) where that is installed
"""

import argparse
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/dev/peers"))

import measuring  # noqa: E402
import training_page  # noqa: E402

OPENBLAS = pathlib.Path("/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3")
MIB = 1 << 20
# Turns, and steps of each: of long steps few are enough.
TURNS = {"reuters": (9, 10), "mlp": (9, 10), "lstm": (7, 3)}
TURNS_OF_LONG_STEPS = (5, 1)


def seconds(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def told(call, count):
    """Milliseconds of each of so many steps, and those of processors."""
    began = time.process_time()
    took = seconds(call)
    return {"ms": took / count * 1e3, "cpu_ms": (time.process_time() - began) / count * 1e3}


def most_resident():
    """MiB that the process had resident at most."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def rows_of(*inputs):
    """What a network is trained on: for each input, given as make_steps.py has it, random numbers."""
    import numpy as np
    random = np.random.default_rng(3)
    return [random.standard_normal(shape, np.float32) if most is None else random.integers(0, most, shape).astype(np.int32)
            for shape, most in inputs]


def import_steps():
    sys.path[:0] = [str(ROOT / "test/bench/training")]
    import make_steps
    return make_steps


# ---- what a process does ----

class PyTorch:
    def __init__(self, options):
        import torch
        import torch_networks
        torch.set_num_threads(options.threads)
        self.torch, self.networks, self.after_import = torch, torch_networks, most_resident()

    def build(self, name, folder):
        """The network with the weights and rows in the folder, which Gantry has left there."""
        import numpy as np
        net, optimizer = self.networks.NETWORKS[name]
        self.net = net()
        self.networks.fill(self.net, (np.load(file) for file in sorted(pathlib.Path(folder).glob("weight*.npy"))))
        self.optimizer = optimizer(self.net.parameters())
        x, y = (self.torch.tensor(np.load(pathlib.Path(folder) / f"{each}.npy")) for each in "xy")
        self.x, self.y = x if x.is_floating_point() else x.long(), y.long()

    def steps(self, count):
        total = self.torch.zeros(())

        def run():
            for _ in range(count):
                self.optimizer.zero_grad(set_to_none=True)
                loss = self.networks.measure(self.net(self.x), self.y)
                loss.backward()
                self.optimizer.step()
                total.add_(loss.detach())
        return {**told(run, count), "loss": float(total) / count}

    def version(self):
        return f"PyTorch {self.torch.__version__}"

    def rates(self):
        """Operations a second of a product of 1024^3, by the BLAS and by oneDNN."""
        square, image, filters = (self.torch.rand(*shape) for shape in ((1024, 1024), (1, 1024, 32, 32), (1024, 1024, 1, 1)))
        products = {"blas": lambda: square @ square, "onednn": lambda: self.torch.nn.functional.conv2d(image, filters)}
        with self.torch.no_grad():
            return {name: 2 * 1024**3 / min(seconds(product) for _ in range(7)) for name, product in products.items()}


class Gantry:
    def __init__(self, _):
        self.make_steps = import_steps()
        self.after_import = most_resident()

    def build(self, name, folder):
        import numpy as np
        self._make(name)
        for i, variable in enumerate(self.trainer.net.variables()):
            np.save(pathlib.Path(folder) / f"weight{i:04}.npy", variable.numpy())
        for each, values in (("x", self.x), ("y", self.y)):
            np.save(pathlib.Path(folder) / f"{each}.npy", values)

    def _make(self, name):
        """The trainer and its rows; gives the graph of a step."""
        net, loss, optimizer, *inputs = self.make_steps.STEPS[name]()
        self.trainer = self.make_steps.gt.Trainer(net, loss, optimizer)
        self.x, self.y = rows_of(*inputs)
        return self.trainer.lower(self.x, self.y)

    def steps(self, count):
        self.trainer._reset()
        step, logs = self.trainer._step_function, {}

        def run():
            for _ in range(count):
                step(self.x, self.y)
            logs.update(self.trainer._log())  # waits for the last one
        return {**told(run, count), "loss": logs["loss"]}

    def fit(self, count):
        """The same by Trainer.fit."""
        import numpy as np
        x, y = (np.concatenate([each] * count) for each in (self.x, self.y))
        return seconds(lambda: self.trainer.fit(x, y, batch=len(self.x), progress=False)) / count

    def version(self):
        return f"gantry {self.make_steps.gt.__version__}"

    def library(self):
        """MiB that are resident of the compiler's library once a graph is made, which opens it."""
        before = most_resident()
        self.make_steps.gt.function(lambda x: x + 1).lower(0.0)
        return most_resident() - before

    def plan(self, name):
        """What a step's plan takes to compile, and the memory that it plans beside variables; nothing runs."""
        graph, made = self._make(name), []
        took = told(lambda: made.append(graph.plan()), 1)
        return {"compile_s": took["ms"] / 1e3, "compile_cpu_s": took["cpu_ms"] / 1e3,
                "transient_mib": transient_of(made[0].description) / MIB}


def transient_of(description):
    """Bytes of the arenas that a session takes for the values of a run."""
    return sum(arena["size"] for arena in description["arenas"] if arena["kind"] == "transient")


def work(options):
    """Answers lines of JSON, [what, arguments ...], with lines of JSON."""
    peer = {"torch": PyTorch, "gantry": Gantry}[options.worker](options)
    print("ready", flush=True)
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        answer = most_resident() - peer.after_import if what == "peak" else getattr(peer, what)(*arguments)
        print(json.dumps(answer), flush=True)


# ---- the two in turn ----

class Peer:
    """A process with one of the two."""

    def __init__(self, name, options, threads, plans=None):
        """`plans`: the folder where Gantry keeps plans."""
        self.name = name
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads),
                       "GANTRY_LIBRARY_PATH": str(options.build_dir / "lib"),
                       **({"GANTRY_CACHE_DIR": plans} if plans else {"GANTRY_CACHE_SIZE": "0"})}
        if name == "torch" and options.blas:
            environment.update(LD_PRELOAD=str(options.blas), OPENBLAS_CORETYPE=os.environ.get("OPENBLAS_CORETYPE", options.core))
        command = [sys.executable, __file__, "--build-dir", options.build_dir, "--worker", name, "--threads", str(threads)]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads]))
        self._answer(lambda line: line == "ready\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _answer(self, is_wanted=lambda line: True):
        while line := self.process.stdout.readline():
            if is_wanted(line):
                return line
        code = self.process.wait()
        raise ChildProcessError(f"{self.name} ended with {signal.Signals(-code).name if code < 0 else code}")

    def ask(self, what, *arguments):
        self.process.stdin.write(json.dumps([what, *arguments]) + "\n")
        self.process.stdin.flush()
        return json.loads(self._answer())


def shared(options, threads):
    """What holds for the rows of all networks."""
    with Peer("torch", options, threads) as theirs, Peer("gantry", options, threads) as ours:
        return {"blas": str(options.blas or "the BLAS of the system"), "gantry_library_mib": ours.ask("library"),
                **{f"{name}_gflops": rate / 1e9 for name, rate in theirs.ask("rates").items()},
                "versions": ", ".join(peer.ask("version") for peer in (ours, theirs))}


def compare(options, name, threads):
    """A row of a network."""
    turns, steps = TURNS.get(name, TURNS_OF_LONG_STEPS)
    turns, steps = options.turns or turns, options.steps or steps
    load, took, losses = [os.getloadavg()[0]], {}, {"torch": [], "gantry": []}
    with Peer("gantry", options, threads) as peer:
        plan = peer.ask("plan", name)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as plans, \
            Peer("gantry", options, threads, plans) as ours, Peer("torch", options, threads) as theirs:
        peers = {"gantry": ours, "torch": theirs}
        for side, peer in peers.items():  # ours first, which leaves its weights
            peer.ask("build", name, folder)
        for side, peer in peers.items():  # the first step compiles
            losses[side].append(peer.ask("steps", 1)["loss"])
        for turn in range(turns + 1):
            for side, peer in peers.items():
                made = peer.ask("steps", steps)
                losses[side].append(made["loss"])
                if turn:  # the first warms both up
                    for what in ("ms", "cpu_ms"):
                        took.setdefault(f"{side}_{what}", []).append(made[what])
            if turn and name == "reuters":
                took.setdefault("fit_ms", []).append(ours.ask("fit", steps) * 1e3)
        for side, peer in peers.items():
            took[f"{side}_peak_mib"] = peer.ask("peak")
            peer.end()
        with Peer("gantry", options, threads, plans) as again:
            again.ask("build", name, folder)
            again.ask("steps", 2)
            took["gantry_kept_mib"] = again.ask("peak")
    return {"network": name, "threads": threads, "date": datetime.date.today().isoformat(), "load": [*load, os.getloadavg()[0]],
            "turns": turns, "steps": steps, **took, "losses": losses, **plan}


def kept_rows(paths):
    """Rows of files; of the same network and threads the last counts."""
    rows = {}
    for path in paths:
        for row in json.loads(path.read_text(encoding="utf-8"))["parts"]["steps"]:
            rows[row["network"], row["threads"]] = row
    return rows


def tell(options, rows):
    """Writes rows where --write says, in the order of networks."""
    order = list(training_page.ASKED)
    listed = sorted(rows.values(), key=lambda row: (order.index(row["network"]), row["threads"]))
    result = {"machine": measuring.machine(), "parts": {"steps": listed}}
    if options.write:
        measuring.write(options.write, result, result["parts"], training_page.page(result))
    return result


def measure(options):
    path = options.write and options.write.with_suffix(".json")
    rows = kept_rows([path] if path and path.exists() else [])
    for threads in options.threads:
        common = shared(options, threads)
        for name in options.networks:
            row = rows[name, threads] = {**compare(options, name, threads), **common}
            tell(options, rows)
            print(training_page.line(row), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=pathlib.Path, help="needed to measure")
    parser.add_argument("--peer", choices=("torch",), default="torch")
    parser.add_argument("--networks", type=lambda text: text.split(","), default=list(training_page.ASKED))
    parser.add_argument("--threads", type=lambda text: [int(each) for each in text.split(",")], default=[1, 2])
    parser.add_argument("--turns", type=int, help="of each side; 9 for small networks, else 5")
    parser.add_argument("--steps", type=int, help="of a turn; 10 for small networks, else 1")
    parser.add_argument("--blas", type=pathlib.Path, default=OPENBLAS if OPENBLAS.exists() else None)
    is_wide = "avx512f" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    parser.add_argument("--core", default="SKYLAKEX" if is_wide else "HASWELL",
                        help="OPENBLAS_CORETYPE: OpenBLAS does not know new processors by itself")
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--rows", nargs="+", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--worker", choices=("torch", "gantry"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := [name for name in options.networks if name not in training_page.ASKED]:
        parser.error(f"there is no network '{unknown[0]}'; there are {', '.join(training_page.ASKED)}")
    if options.rows:
        result = tell(options, kept_rows(options.rows))
        if not options.write:
            print(training_page.page(result))
        return 0
    if not options.build_dir:
        parser.error("--build-dir says what to measure")
    options.build_dir = options.build_dir.resolve()
    if options.worker:
        options.threads = options.threads[0]
        return work(options)
    measure(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
