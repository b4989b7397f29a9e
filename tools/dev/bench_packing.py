#!/usr/bin/python3
"""Plans instances of all kinds with gantry-memplan on one thread, checks each plan, prints ratio and time.

The six public instances of MiniMalloc at their capacity; random ones of 1k to 1M buffers with about 100
live at a time; 1000 live; one buffer in twenty at a fixed offset; and harder ones, with lives and sizes of
other distributions, which have no target.

A random instance of n buffers: begins are uniform over n steps, lives uniform over 1 to twice the number
that shall be live, sizes 64 bytes times a power of two that is uniform over 0 to 18.

Usage: bench_packing.py --build-dir BUILD [--quick]
"""

import argparse
import bisect
import csv
import math
import pathlib
import random
import re
import subprocess
import tempfile
import time

MINIMALLOC = pathlib.Path(__file__).resolve().parents[3] / "shared/data/minimalloc"


def draw_life(drawn, live, kind):
    if kind == "exponential":
        return 1 + int(drawn.expovariate(1 / live))
    return drawn.randint(1, 2 * live)


def first_free(taken, size):
    """The lowest offset in multiples of 64 that no range of `taken` covers."""
    end = 0
    for begin, until in sorted(taken):
        if begin - end >= size:
            break
        end = max(end, until)
    return end


def choose_fixed(rows, drawn, share):
    """Fixes some buffers where best fit in the order of time would put them among themselves."""
    chosen = sorted((row for row in rows if drawn.random() < share), key=lambda row: row[1])
    live = []
    for row in chosen:
        live = [other for other in live if other[2] > row[1]]
        row[4] = first_free([(other[4], other[4] + other[3]) for other in live], row[3])
        live.append(row)


def write_instance(path, count, live, seed, fixed, life="uniform", doublings=18.0):
    drawn = random.Random(seed)
    rows = []
    for i in range(count):
        begin = drawn.randrange(count)
        end = min(count, begin + draw_life(drawn, live, life))
        rows.append([i, begin, end, 64 * int(2 ** drawn.uniform(0, doublings)), ""])
    if fixed:
        choose_fixed(rows, drawn, fixed)
    with open(path, "w", encoding="ascii") as file:
        file.write("id,lower,upper,size" + (",offset" if fixed else "") + "\n")
        for row in rows:
            file.write(",".join(map(str, row if fixed else row[:4])) + "\n")


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_plan(before, after):
    """The peak of a plan, after a check that it is one of the instance `before`: knows nothing of Gantry."""
    asked, got = read_rows(before), read_rows(after)
    assert len(asked) == len(got), "buffers are missing"
    events, peak = [], 0
    for old, new in zip(asked, got):
        assert all(old[key] == new[key] for key in ("id", "lower", "upper", "size")), f"{old} became {new}"
        assert not old.get("offset") or old["offset"] == new["offset"], f"{old['id']} was moved"
        assert int(new["offset"]) % int(old.get("alignment") or 1) == 0, f"{old['id']} is not aligned"
        size, lower, upper, offset = (int(new[key]) for key in ("size", "lower", "upper", "offset"))
        if size and lower < upper:
            events += [(lower, 1, offset, offset + size), (upper, 0, offset, offset + size)]
            peak = max(peak, offset + size)
    live = []  # ranges by offset
    for _, begins, offset, end in sorted(events):
        at = bisect.bisect_left(live, (offset, 0))
        if not begins:
            del live[bisect.bisect_left(live, (offset, end))]
            continue
        assert at == len(live) or live[at][0] >= end, f"two buffers overlap at {offset}"
        assert at == 0 or live[at - 1][1] <= offset, f"two buffers overlap at {offset}"
        live.insert(at, (offset, end))
    return peak


def lower_bound(path):
    changes = []
    for row in read_rows(path):
        if int(row["lower"]) < int(row["upper"]):
            changes += [(int(row["lower"]), int(row["size"])), (int(row["upper"]), -int(row["size"]))]
    load = most = 0
    for _, change in sorted(changes):
        load += change
        most = max(most, load)
    return most


class Bench:
    def __init__(self, build, folder):
        self.tool, self.folder = build / "bin/gantry-memplan", folder

    def plan(self, name, path, *arguments, least=0):
        """Ratio and seconds of planning on a processor: neither the reading of the file nor what other
        programs take is part of them."""
        out = self.folder / "plan.csv"
        done = subprocess.run([str(self.tool), f"--input={path}", f"--output={out}", "--threads=1", *arguments],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        seconds = float(re.search(r"\(([\d.]+) s of all threads", done.stderr)[1])
        # MiniMalloc asks for its capacity and no less.
        ratio = check_plan(path, out) / max(lower_bound(path), least)
        print(f"{name:34} {ratio:9.5f} {seconds:8.3f} s", flush=True)
        return ratio, seconds

    def random(self, name, *shape, rounds=2, **kinds):
        path = self.folder / "instance.csv"
        write_instance(path, *shape, **kinds)
        return self.plan(name, path, f"--rounds={rounds}")


def verdict(what, holds):
    print(f"{'yes' if holds else 'NO':>4}  {what}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true", help="nothing over 30k buffers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run(Bench(options.build_dir.resolve(), pathlib.Path(scratch)), options.quick)


def run(bench, quick):
    begin = time.monotonic()
    print(f"{'instance':34} {'ratio':>9} {'time':>10}")
    hard = [bench.plan(path.name, path, "--capacity=1048576", least=1048576)
            for path in sorted(MINIMALLOC.glob("[A-K].*.csv"))]
    ratios, times = [], {}
    for count in (1000, 3000, 10_000, 30_000):
        for seed in (1, 2, 3):
            ratios.append(bench.random(f"random {count}, seed {seed}", count, 100, seed, 0)[0])
    for count in () if quick else (100_000, 300_000, 1_000_000):
        ratio, times[count] = bench.random(f"random {count}", count, 100, 1, 0)
        ratios.append(ratio)
    live = [bench.random(f"1000 live, seed {seed}", 10_000, 1000, seed, 0)[0] for seed in (1, 2, 3)]
    fixed = [bench.random(f"30000, fixed offsets, seed {seed}", 30_000, 100, seed, 0.05, rounds=1)
             for seed in (1, 2, 3)]
    for seed in (1, 2, 3):
        bench.random(f"exponential lives 3000, seed {seed}", 3000, 100, seed, 0, life="exponential", doublings=14.0)
    if hard:
        verdict(f"MiniMalloc's {len(hard)} instances within their capacity, each under 10 s (slowest "
                f"{max(seconds for _, seconds in hard):.1f} s)", all(r <= 1 and s < 10 for r, s in hard))
    near = sum(ratio <= 1.002 for ratio in ratios)
    verdict(f"random: {near} of {len(ratios)} at 1.002 or less, largest {max(ratios):.5f}",
            near >= len(ratios) - 1 and max(ratios) <= 1.005)
    if times:
        verdict(f"100k in {times[100_000]:.2f} s (0.4), 1M in {times[1_000_000]:.2f} s (4)",
                times[100_000] <= 0.4 and times[1_000_000] <= 4)
    verdict(f"1000 live: at most {max(live):.4f} (1.02)", max(live) <= 1.02)
    verdict(f"fixed offsets, 30k: at most {max(r for r, _ in fixed):.4f} (1.01) in {max(s for _, s in fixed):.2f} s "
            "(0.5)", all(r <= 1.01 and s <= 0.5 for r, s in fixed))
    print(f"geometric mean of the random ratios {math.prod(ratios) ** (1 / len(ratios)):.5f}; "
          f"{time.monotonic() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
