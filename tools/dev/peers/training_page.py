"""The page of steps of training beside PyTorch's, from rows that bench_training.py has measured."""

import statistics

# By network: what it is, and what Gantry's time and its most memory may be at most, of PyTorch's.
ASKED = {
    "reuters": ("the text network of examples/training/reuters.py, 32 rows of 300 words, Nadam", 0.45, 0.6),
    "mlp": ("784-1024-1024-10, 64 rows, Adam", 0.75, 0.6),
    "lstm": ("a language model of 10000 words, LSTM 256-512, 16 rows of 35 words, Adam", 0.80, 0.6),
    "resnet18": ("ResNet-18, 8 images of 224 x 224, momentum", 0.85, 0.7),
    "resnet50": ("ResNet-50, 4 images of 224 x 224, momentum", 0.85, 0.7),
    "bert_base": ("BERT-base, 4 rows of 128 tokens, AdamW, dropout of 0.1", 0.85, 0.7),
    "gpt2_small": ("GPT-2 small, 2 rows of 128 tokens, AdamW", 0.80, 0.7),
}

HOW = """\
Each side runs in a process of its own, on as many processors, with the same weights and the same rows. They take turns of some
steps; told are the medians of turns, with the least and the most in brackets, after a step that compiles and a turn that is not
counted. A step is what a loop of training does for a batch: forward in training mode, loss, gradients, update, and the loss added
up. Gantry's is that of `Trainer`, PyTorch's is eager, `torch.nn` and `torch.optim`, gradients set to None between steps.
*Processors* is the time that processors were at it, all threads together, waiting in loops included: what other work on the
machine takes is not in it."""

HOW_MEMORY = """\
*Peak* is the most that a process had resident (VmHWM of `/proc/self/status`) until its last step, less what it was after its
imports, before the network was made. Importing torch opens all of its libraries, so they are not in PyTorch's. Importing gantry does
not open the compiler's, whose pages are in Gantry's with all that compiling takes: {library} of the library alone, once a graph
of one op is made. *Without* is the ratio without these. *Kept* is the peak of a process that finds its plans on the disk, as each
does that trains the same again: it makes the graph, and compiles nothing. *Planned* is the memory that a step's plan takes for the
values of a run, beside variables, *compile* what making the plan from its graph takes, alone in a process."""


def gives_ratio(row):
    """Whether PyTorch's BLAS is a peer: it has at least half of oneDNN's rate."""
    return row["blas_gflops"] * 2 >= row["onednn_gflops"]


def ratio(row, what):
    """Gantry's over PyTorch's: of "ms" or "cpu_ms", the medians, or of "peak_mib"; None where it tells nothing."""
    if what in ("ms", "cpu_ms"):
        return statistics.median(row[f"gantry_{what}"]) / statistics.median(row[f"torch_{what}"]) if gives_ratio(row) else None
    return row["gantry_peak_mib"] / row["torch_peak_mib"]


def _plain(found):
    return "" if found is None else f"{found:.2f}"


def _judged(found, asked):
    return _plain(found) if found is None or found <= asked else f"**{found:.2f}**, missed"


def _spread(values):
    number = lambda value: f"{value:.0f}" if value >= 100 else f"{value:.3g}"
    return f"{number(statistics.median(values))} ({number(min(values))}–{number(max(values))})"


def line(row):
    """A row in one line of text."""
    _, most_time, most_memory = ASKED[row["network"]]
    time, peak = _judged(ratio(row, "ms"), most_time) or "none", _judged(ratio(row, "peak_mib"), most_memory)
    return f"{row['network']}, {_threads(row['threads'])}: PyTorch {_spread(row['torch_ms'])} ms, Gantry {_spread(row['gantry_ms'])} ms, " \
           f"ratio {time} (asked {most_time}), of processors {_plain(ratio(row, 'cpu_ms')) or 'none'}; " \
           f"peak {row['torch_peak_mib']:.0f}, {row['gantry_peak_mib']:.0f} MiB, ratio {peak} (asked {most_memory}); " \
           f"load {row['load'][0]:.1f} to {row['load'][1]:.1f}"


def _threads(count):
    return f"{count} thread{'s' * (count > 1)}"


def _table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows)])


def _times(rows):
    for row in rows:
        asked = ASKED[row["network"]][1]
        yield [row["network"], str(row["threads"]), _spread(row["torch_ms"]), _spread(row["gantry_ms"]),
               _judged(ratio(row, "ms"), asked), f"{asked:.2f}", _spread(row["torch_cpu_ms"]), _spread(row["gantry_cpu_ms"]),
               _plain(ratio(row, "cpu_ms")), f"{row['turns']} x {row['steps']}", f"{row['load'][0]:.1f}, {row['load'][1]:.1f}", row["date"]]


def _memory(rows):
    for row in rows:
        asked = ASKED[row["network"]][2]
        number = lambda name: f"{row[name]:.1f}" if row[name] < 100 else f"{row[name]:.0f}"
        without = (row["gantry_peak_mib"] - row["gantry_library_mib"]) / row["torch_peak_mib"]
        yield [row["network"], str(row["threads"]), number("torch_peak_mib"), number("gantry_peak_mib"),
               _judged(ratio(row, "peak_mib"), asked), f"{asked:.2f}", _plain(without), number("gantry_kept_mib"), number("transient_mib"),
               f"{row['compile_s']:.1f}", f"{row['compile_cpu_s']:.1f}"]


def _losses(rows):
    for row in rows:
        first, last = ([row["losses"][side][i] for side in ("torch", "gantry")] for i in (0, -1))
        yield [row["network"], str(row["threads"]), *(f"{value:.6g}" for value in (*first, *last))]


def _products(rows):
    """What PyTorch's products were made by, once for each number of threads: the slowest and the fastest of its rows."""
    for threads in sorted({row["threads"] for row in rows}):
        mine = [row for row in rows if row["threads"] == threads]
        rate = lambda name: "–".join(dict.fromkeys(f"{pick(row[name] for row in mine):.0f}" for pick in (min, max)))
        slow = "" if all(map(gives_ratio, mine)) else \
            "; below half of that the BLAS is no peer, and there is no ratio of times (apt-get install libopenblas0-pthread)"
        yield f"- {_threads(threads)}: {rate('blas_gflops')} GFLOP/s by " \
              f"{', '.join(dict.fromkeys(row['blas'] for row in mine))}; oneDNN {rate('onednn_gflops')}{slow}."


def _fit(rows):
    for row in rows:
        if "fit_ms" in row:
            yield f"On {_threads(row['threads'])} a step of {row['network']} in `Trainer.fit` takes {_spread(row['fit_ms'])} ms; bare " \
                  f"steps are {statistics.median(row['gantry_ms']) / statistics.median(row['fit_ms']):.0%} of that."


def page(result):
    """The page of {"machine", "parts": {"steps": rows}}."""
    rows = result["parts"]["steps"]
    missed = sum((ratio(row, what) or 0) > ASKED[row["network"]][i] for row in rows for i, what in ((1, "ms"), (2, "peak_mib")))
    library = max((row["gantry_library_mib"] for row in rows), default=0)
    parts = [
        "# Steps of training on the CPU",
        "Made by `tools/dev/bench_training.py --build-dir build/release --peer torch --threads 1,2 --write docs/benchmarks/training`; "
        "raw figures: [training.json](training.json). *Ratio* is Gantry's over PyTorch's, below 1: Gantry needs less; *asked* is what "
        f"it may be at most. {missed} of {2 * len(rows)} are missed.",
        f"{result['machine']}. {'; '.join(dict.fromkeys(row['versions'] for row in rows))}.",
        "\n".join(f"- {name}: {what}" for name, (what, *_) in ASKED.items() if any(row["network"] == name for row in rows)),
        "What a product of 1024^3 reaches in PyTorch, the fastest of seven:",
        "\n".join(_products(rows)),
        "## Time of a step",
        HOW,
        _table(["network", "threads", "PyTorch, ms", "Gantry, ms", "ratio", "asked", "processors: PyTorch, ms", "Gantry, ms", "ratio",
                "turns x steps", "load before, after", "date"], _times(rows)),
        "\n".join(_fit(rows)),
        "## Memory, and compiling",
        HOW_MEMORY.format(library=f"{library:.0f} MiB"),
        _table(["network", "threads", "PyTorch's peak, MiB", "Gantry's", "ratio", "asked", "without", "kept, MiB", "planned, MiB",
                "compile, s", "processors, s"], _memory(rows)),
        "## Losses",
        "Of the first step, and the mean of the last turn. They differ by rounding alone, but for dropout, for which the two draw other "
        "numbers, and for Nadam, which is Keras's in Gantry and another in PyTorch.",
        _table(["network", "threads", "PyTorch, first", "Gantry, first", "PyTorch, last", "Gantry, last"], _losses(rows)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
