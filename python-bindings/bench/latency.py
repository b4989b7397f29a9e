#!/usr/bin/python3
"""What calls cost from Python: cached ops, bound sessions, imports; NumPy and PyTorch beside them.

Usage: latency.py --build-dir BUILD      the least of several rounds, in microseconds
"""

import argparse
import hashlib
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parents[1]


def least(call, count=2000, rounds=15):
    """Microseconds a call: the best round."""
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, time.perf_counter() - started)
    return best / count * 1e6


def beside_a_run(gt):
    """What a Python thread gets done beside a run on one thread, in percent of what it gets done beside a thread that
    holds no lock either: the median of pairs of turns. Wants a processor for each of the two."""
    with gt.device("CPU:0"):
        count = gt.function(lambda end: gt.while_loop(lambda i: i < end, lambda i: i + 1, gt.array(0)))
        session = count.plan(gt.array(1)).session()
    end, shares = gt.array(20_000_000), []

    def rate(other):
        thread, done = threading.Thread(target=other), 0
        thread.start()
        started = time.perf_counter()
        while thread.is_alive():
            done += 1
        thread.join()
        return done / (time.perf_counter() - started)

    session.run(end)
    for _ in range(5):
        run = rate(lambda: session.run(end))
        idle = rate(lambda: hashlib.pbkdf2_hmac("sha256", b"p", b"s", 400_000))
        shares.append(run / idle)
    return 100 * statistics.median(shares)


def measure():
    import numpy as np
    import gantry as gt
    rows = []
    host = [gt.array(np.ones((8, 8), np.float32)) for _ in range(2)]
    with gt.device("CPU:0"):
        started = time.perf_counter()
        host[0] + host[1]
        rows.append(("first add", (time.perf_counter() - started) * 1e6))
        rows.append(("add on the host", least(lambda: host[0] + host[1])))
    if gt.num_gpus():
        here = [x.to("GPU:0") for x in host]
        here[0] + here[1]
        rows.append(("add on a simulated GPU", least(lambda: here[0] + here[1], count=500)))
    function = gt.function(lambda x, y: x + y)
    with gt.device("CPU:0"):
        function(*host)
        rows.append(("a function of one add", least(lambda: function(*host))))
        plan = function.plan(*host)
    bound = plan.session().bind(input0=host[0], input1=host[1])
    bound.run()
    rows.append(("a bound session", least(bound.run, count=20000)))
    a, b = np.ones((8, 8), np.float32), np.ones((8, 8), np.float32)
    rows.append(("NumPy's add", least(lambda: a + b)))
    try:
        import torch
        x, y = torch.ones(8, 8), torch.ones(8, 8)
        rows.append(("PyTorch's add", least(lambda: x + y)))
    except ImportError:
        pass
    for name, microseconds in rows:
        print(f"{name:24} {microseconds:10.2f} us")
    print(f"{'a thread beside a run':24} {beside_a_run(gt):10.1f} % of its rate")


def measure_import():
    def run(program):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        return time.perf_counter() - started
    numpy, both = (statistics.median(run(program) for _ in range(11)) for program in ("import numpy", "import numpy, gantry"))
    print(f"{'import gantry':24} {(both - numpy) * 1e6:10.0f} us beyond NumPy")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--here", action="store_true")
    arguments = parser.parse_args()
    if arguments.here:
        return measure()
    os.environ.update(GANTRY_LIBRARY_PATH=str(arguments.build_dir.resolve() / "lib"), PYTHONPATH=str(HERE),
                      GANTRY_SIMULATE="1", GANTRY_DEVICES="GPU:0,GPU:1")
    subprocess.run([sys.executable, __file__, "--build-dir", arguments.build_dir, "--here"], check=True)
    return measure_import()


if __name__ == "__main__":
    main()
