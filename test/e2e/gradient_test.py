#!/usr/bin/python3
"""Gradients against PyTorch's and against central differences.

Every form of an op that has a gradient (gradient_forms.py) is differentiated at sizes 0, 1, 17 and 197 (an op's further forms
at 197 and one of the others; with GANTRY_TEST_LONG=1 at all) with random cotangents, in f64: values, gradients and, as rules
are made of ops that have rules, gradients of gradients may differ from PyTorch's by 1e-10 of the largest value; what the
forward says on both sides of a point tells the slope to 1e-6. Narrow types are held against f64. With fusion and without, on
one thread and on two, on a CPU and on a simulated GPU the bits are the same; on an interpreted one where nothing is added up.
Random graphs (gradient_graphs.py) read values many times, in branches and loops, too; of these, of recurrent forms
(gradient_steps.py) and of structure there are Jacobian-vector products as well. An op of Gradients.md with a rule and
without a form fails.

Usage: gradient_test.py --build-dir BUILD [--jobs N] [--graphs N] [--filter TEXT] [--json FILE] [-v]
"""

import argparse
import collections
import dataclasses
import itertools
import multiprocessing
import pathlib
import re
import sys
import zlib

import numpy as np

import gantry_api
import groups
from cases import LONG
from gradient_forms import APART, between, forms, text_of, torch
from gradient_graphs import graph
from gradient_steps import step_forms
from kernel_forms import DTYPES, rounded

INTERPRETED = bool(gantry_api.DEVICES)  # kernels of GPUs
ELSEWHERE = ("devices=CPU:0",) if INTERPRETED else ("devices=CPU:0,GPU:0", "simulate")
CASES_OF_A_PLAN = 12
AGAINST_PYTORCH, AGAINST_DIFFERENCES = 1e-10, 1e-6
STEP = 1e-5  # of a central difference
# Of the largest value; sums of f16 and bf16 are f32, what is saved between ops is not.
HAS_PYTORCH = hasattr(torch, "__version__") and isinstance(torch.__version__, str)
OFF_BY = {"f64": AGAINST_PYTORCH, "f32": 1e-4, "f16": 1e-2, "bf16": 8e-2}
PUSHED = ("structure", "recurrent", "random graphs")
# By kernels and forms that stand for others, or that are differentiated as a part of one.
TESTED_ELSEWHERE = {"all_reduce": "expand-gradients-structure.mlir", "max_pool_index": "max_pool"}


@dataclasses.dataclass
class Source:
    form: object
    lines: list
    operands: list  # (element, shape)
    results: list
    wrt: list
    twice: bool
    pushed: bool  # with a Jacobian-vector product: how values change along the directions, by the slope of a gradient in its cotangents
    nudges: dict  # by operand: where a central difference goes


def is_float(kind):
    return kind[0] in ("f64", "f32", "f16", "bf16")


def tensors(arrays, wrt):
    return [torch.tensor(array.astype(np.float64) if array.dtype.kind == "f" else array.astype(np.int64) if array.dtype.kind in "iu" else array,
                         requires_grad=i in wrt) for i, array in enumerate(arrays)]


def gradients(of, wrt, seeds, again):
    """Zeros where there is no way, or none that PyTorch knows."""
    pairs = [(y, s) for y, s in zip(of, seeds) if y.requires_grad]
    if not pairs:
        return [torch.zeros_like(x) for x in wrt]
    found = torch.autograd.grad([y for y, _ in pairs], wrt, [s for _, s in pairs], create_graph=again, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, wrt)]


def reference(source, arrays, seeds, directions):
    """Values, gradients, and those of the gradients' sum along `directions`, with respect to operands and, where that is asked, to
    cotangents."""
    operands, seeds = tensors(arrays, source.wrt), [torch.tensor(s.astype(np.float64), requires_grad=source.pushed) for s in seeds]
    wrt = [operands[i] for i in source.wrt]
    values = source.form.reference(*operands)
    values = tuple(values) if isinstance(values, (tuple, list)) or hasattr(values, "_fields") else (values,)
    floats = [y for y, kind in zip(values, source.results) if is_float(kind)]
    first = gradients(floats, wrt, seeds, source.twice)
    second = gradients(first, [*wrt, *seeds] if source.pushed else wrt, [torch.tensor(d) for d in directions], False) if source.twice else []
    return [t.detach().numpy() for t in (*values, *first, *second)]


def make_case(form, element, n, number):
    name = f"{form.op} {element} {n} [{number}]"
    draw = np.random.default_rng(zlib.crc32(name.encode()))
    operands, results = form.of(form.operands, element, n), form.of(form.results, element, n)
    wrt = list(form.wrt) or [i for i, kind in enumerate(operands) if is_float(kind)]
    arrays = [np.asarray(form.draws.get(i, between(-2, 2) if is_float(kind) else None)(draw, kind[1])) for i, kind in enumerate(operands)]
    arrays = [rounded(array, kind[0]) for array, kind in zip(arrays, operands)]
    seeds = [rounded(np.asarray((form.seeds or between(-1, 1))(draw, kind[1])), kind[0]) for kind in results if is_float(kind)]
    twice = form.twice and element == "f64"
    directions = [draw.uniform(-1, 1, operands[i][1]) for i in wrt] if twice else []
    nudges = {i: draw.uniform(-1, 1, operands[i][1]) for i in wrt} if form.smooth and element == "f64" else {}
    pushed = twice and form.family in PUSHED
    source = Source(form, form.lines(element, n), operands, results, wrt, twice, pushed, nudges)
    with np.errstate(all="ignore"):
        expected = reference(source, arrays, seeds, directions) if HAS_PYTORCH and form.reference else ()
    coarsest = max(OFF_BY[kind[0]] for kind in (*operands, *results) if is_float(kind))
    return groups.Case(name, source, [*arrays, *seeds, *directions], expected, (0, coarsest), element)


def sizes_of(form, number):
    *small, last = form.sizes
    if LONG or number == 1:
        return form.sizes
    return [*(small[number % len(small):][:1] if small else ()), last]


def make_cases(graphs):
    counts = collections.Counter()
    for form in itertools.chain(forms(), step_forms(), map(graph, range(graphs))):
        counts[form.op] += 1
        for element in form.types:
            for n in sizes_of(form, counts[form.op]) if element == "f64" else form.sizes[-1:]:
                yield make_case(form, element, n, counts[form.op])


def region(source, take):
    """The op's lines as the body of a gradient, with what is differentiated as its arguments."""
    kind = lambda i: text_of(*source.operands[i])
    name = lambda text: re.sub(r"%x(\d+)", lambda m: f"%{take}{m[1]}" if int(m[1]) in source.wrt else f"%i{m[1]}",
                               re.sub(r"%(?!x\d)", f"%{take}_", text))
    lines = [f"^bb0({', '.join(f'%{take}{i}: {kind(i)}' for i in source.wrt)}):", *map(name, source.lines)]
    order = sorted(range(len(source.results)), key=lambda i: not is_float(source.results[i]))
    lines.append(f"gantry.yield {', '.join(f'%{take}_r{i}' for i in order)} : {', '.join(text_of(*source.results[i]) for i in order)}")
    return lines, order


def text(source):
    """(lines, names of operands with their types, results with theirs): of values, then gradients, then second ones."""
    kinds = [text_of(*kind) for kind in source.operands]
    seeds = [text_of(*kind) for kind in source.results if is_float(kind)]
    wrt, of_wrt = [f"%i{i}" for i in source.wrt], [kinds[i] for i in source.wrt]
    arguments = [(f"%i{i}", kind) for i, kind in enumerate(kinds)] + [(f"%s{i}", kind) for i, kind in enumerate(seeds)]

    def head(values, of_values, cotangents, of_cotangents, results):
        return (f"gantry.gradient ({', '.join([*values, *cotangents])}) seeds {len(cotangents)} allow_unused : "
                f"({', '.join([*of_values, *of_cotangents])}) -> ({', '.join(results)}) {{")
    body, order = region(source, "a")
    yielded = [text_of(*source.results[i]) for i in order]
    own = [f"%s{i}" for i in range(len(seeds))]
    names = [f"%v{i}" for i in order] + [f"%g{i}" for i in source.wrt]
    lines = [f"{', '.join(names)} = {head(wrt, of_wrt, own, seeds, [*yielded, *of_wrt])}", *body, "}"]
    results = [(f"%v{i}", text_of(*kind)) for i, kind in enumerate(source.results)] + [(f"%g{i}", kinds[i]) for i in source.wrt]
    if source.twice:
        arguments += [(f"%u{i}", kinds[i]) for i in source.wrt]
        body, _ = region(source, "b")
        given, of_given, pushed = [*wrt, *own], [*of_wrt, *seeds], range(len(own))
        outer, inner = [f"%o{i}" for i in source.wrt], [f"%z{i}" for i in pushed]
        if not source.pushed:
            given, of_given, inner, pushed = wrt, of_wrt, own, ()
        slopes = [f"%h{i}" for i in source.wrt] + [f"%j{i}" for i in pushed]
        lines += [f"{', '.join([*(f'%p{i}' for i in source.wrt), *slopes])} = "
                  + head(given, of_given, [f"%u{i}" for i in source.wrt], of_wrt, [*of_wrt, *of_given]),
                  f"^bb0({', '.join(f'{o}: {t}' for o, t in zip([*outer, *inner], of_given))}):",
                  f"{', '.join([f'%w{i}' for i in order] + [f'%q{i}' for i in source.wrt])} = {head(outer, of_wrt, inner, seeds, [*yielded, *of_wrt])}", *body, "}",
                  f"gantry.yield {', '.join(f'%q{i}' for i in source.wrt)} : {', '.join(of_wrt)}", "}"]
        results += list(zip(slopes, of_given))
    return lines, arguments, results


def pack(cases, folder):
    arguments, lines, returned, inputs, outputs = [], [], [], {}, []
    for number, case in enumerate(cases):
        own = lambda line, number=number: re.sub(r"%(\w+)", rf"%c{number}\1", line)
        body, operands, results = text(case.source)
        for (name, kind), array in zip(operands, case.inputs, strict=True):
            inputs[f"input{len(arguments)}"] = array
            arguments.append(f"{own(name)}: {kind}")
        lines += [f"  {own(line)}" for line in body]
        outputs.append([f"output{len(returned) + i}" for i in range(len(results))])
        returned += [(own(name), kind) for name, kind in results]
    file = folder / "graph.mlir"
    file.write_text(f"func.func @main({', '.join(arguments)}) -> ({', '.join(kind for _, kind in returned)}) {{\n" + "\n".join(lines) +
                    f"\n  return {', '.join(name for name, _ in returned)} : {', '.join(kind for _, kind in returned)}\n}}\n")
    return file, inputs, outputs


def error_of(actual, expected, least):
    """As a part of the largest value, or of `least`; infinite where infinities or NaN differ."""
    if actual.shape != expected.shape:
        return np.inf
    expected = np.asarray(expected, np.float64)
    finite = np.isfinite(expected)
    if not np.array_equal(finite, np.isfinite(actual)) or not np.array_equal(actual[~finite].astype(np.float64), expected[~finite], equal_nan=True):
        return np.inf
    largest = max(np.abs(expected[finite]).max(initial=0), least)
    return np.abs(actual[finite].astype(np.float64) - expected[finite]).max(initial=0) / largest


class Gradients(groups.Suite):
    """Beside what is wrong, `worst` has for each case the largest error beside PyTorch, and that beside differences."""

    def __init__(self, cases, pack, **more):
        super().__init__(cases, pack, **more)
        self.places = {id(case): i for i, case in enumerate(cases)}  # of what workers are forked with
        self.worst = tuple(multiprocessing.RawArray("d", [np.nan] * max(1, len(cases))) for _ in range(3))

    def judge(self, case, actual):
        limit = case.tolerance[1]
        count = len(case.source.results)
        what = lambda i: f"value {i}" if i < count else f"gradient {i - count}"
        # What cancels out is rounded where it was large.
        most = max((np.abs(e[np.isfinite(e)]).max(initial=0) for e in map(np.asarray, case.expected)), default=0)
        worst = self.worst[0]
        for i, (array, expected) in enumerate(zip(actual, case.expected, strict=bool(case.expected))):
            error = error_of(array, expected, max(1e-3, 0.1 * most))
            worst[self.places[id(case)]] = np.fmax(worst[self.places[id(case)]], error)
            if not error <= limit:
                return f"{what(i)}: {error:.2g} of the largest value off (at most {limit:.2g}): {array.reshape(-1)[:4]} for {np.asarray(expected).reshape(-1)[:4]}"
        return None

    def compare(self, cases, file, inputs, outputs):
        found = super().compare(cases, file, inputs, outputs)
        found = [what or self.elsewhere(case, names, other) for other in [self.run_elsewhere(file, inputs)]
                 for what, case, names in zip(found, cases, outputs)]
        if not any(case.source.nudges for case in cases):
            return found
        plan = gantry_api.Plan(gantry_api.compile_model(file, self.flags, inputs), 1)
        at = lambda sign: plan.run({name: array for name, array in self.nudged(cases, inputs, sign).items() if name in plan.inputs})
        runs = [at(0), at(-1), at(1), at(-2), at(2)]
        return [what or self.differences(case, *([run[name] for name in names] for run in runs))
                for what, case, names in zip(found, cases, outputs)]

    def run_elsewhere(self, file, inputs):
        plan = gantry_api.Plan(gantry_api.compile_model(file, (*self.flags, *ELSEWHERE), inputs), 1)
        return plan.run({name: inputs[name] for name in plan.inputs})

    def elsewhere(self, case, names, other):
        """A CPU and a simulated GPU give the same bytes; an interpreted one where nothing is added up."""
        same = all(groups.same_bits(self.first[name], other[name]) for name in names)
        self.worst[2][self.places[id(case)]] = not same
        return None if same or not must_be_same(case) else f"other bits with {' '.join(ELSEWHERE)}"

    def nudged(self, cases, inputs, sign):
        moved, first = dict(inputs), 0
        for case in cases:
            for i, nudge in case.source.nudges.items():
                moved[f"input{first + i}"] = inputs[f"input{first + i}"] + sign * STEP * nudge
            first += len(case.inputs)
        return moved

    def differences(self, case, here, low, high, lower, higher):
        """Along the nudges: what the values do, by two steps whose errors of second order cancel, and what their gradients say."""
        source = case.source
        if not source.nudges:
            return None
        count, seeds = len(source.results), case.inputs[len(source.operands):]
        floats = [i for i, kind in enumerate(source.results) if is_float(kind)]
        parts = [seed * (8 * (high[i] - low[i]) - (higher[i] - lower[i])) / (12 * STEP) for i, seed in zip(floats, seeds)]
        slopes = [here[count + k] * source.nudges[i] for k, i in enumerate(source.wrt)]
        found, told = sum(p.sum() for p in parts), sum(s.sum() for s in slopes)
        scale = max(sum(np.abs(p).sum() for p in parts), sum(np.abs(s).sum() for s in slopes), 1e-3)
        self.worst[1][self.places[id(case)]] = abs(found - told) / scale
        if abs(found - told) > AGAINST_DIFFERENCES * scale:
            return f"central differences say {found!r}, the gradient {told!r}"
        return None


def must_be_same(case):
    """A CPU and a GPU add up in orders of their own."""
    source = case.source
    if not INTERPRETED or source.form.family in ("one operand", "indices", "places of maxima"):
        return True
    return source.form.family == "several operands" and all(source.operands[i][1] == source.results[0][1] for i in source.wrt)


def ops_without_forms(build):
    table = (build / "docs/Gradients.md").read_text(encoding="utf-8")
    rules = re.findall(r"^\| `gantry\.(\w+)` \| (?!zero|no way|refused|—)", table, re.MULTILINE)
    known = {form.op for form in forms()} | set(TESTED_ELSEWHERE)
    return [f"gantry.{op}" for op in rules if op not in known]


def largest(values):
    known = [value for value in values if not np.isnan(value)]
    return f"{max(known):.2g}" if known else "-"


def say(suite, failures):
    """A line for each family, and what is not compared."""
    torch_errors, slope_errors, others = suite.worst
    rows = [("family", "ops", "cases", "beside PyTorch in f64", "f32", "f16", "bf16", "differences",
             f"other bits {'on a CPU' if INTERPRETED else 'simulated'}")]
    families = collections.defaultdict(list)
    for i, case in enumerate(suite.cases):
        families[case.source.form.family].append((i, case))
    for family, own in families.items():
        ops = {case.source.form.op.split()[0] for _, case in own}
        by_type = [largest([torch_errors[i] for i, case in own if case.tolerance[1] == bound]) for bound in OFF_BY.values()]
        rows.append((family, str(len(ops)), str(len(own)), *by_type, largest([slope_errors[i] for i, _ in own]),
                     str(int(np.nansum([others[i] for i, _ in own])))))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  " + "  ".join(text.rjust(width) if i else text.ljust(width) for i, (text, width) in enumerate(zip(row, widths))))
    print(f"  at most {', '.join(f'{bound:g} in {element}' for element, bound in OFF_BY.items())}, {AGAINST_DIFFERENCES:g} for central "
          "differences; as parts of the largest value")
    sizes = collections.Counter(case.name.split()[-2] for case in suite.cases if case.source.form.family != "random graphs")
    print(f"  {sum(case.source.twice for case in suite.cases)} cases with second derivatives; by size: "
          f"{', '.join(f'{n}: {sizes[n]}' for n in sorted(sizes, key=int))}")
    alone = collections.Counter(case.source.form.op.split()[0] for i, case in enumerate(suite.cases) if np.isnan(suite.worst[0][i]))
    for op, count in alone.items():
        print(f"  not compared with PyTorch: {op}, {count} cases, by central differences alone")
    for op, what in APART.items():
        print(f"  not compared with PyTorch's own function: {op}: {what}")
    print(f"  fused = unfused, 1 = 2 threads; the same bytes with {' '.join(ELSEWHERE)} are asked of {sum(map(must_be_same, suite.cases))} cases: "
          f"{sum('other bits' in what for what in failures.values())} differ")
    for op, where in TESTED_ELSEWHERE.items():
        print(f"  in no form of its own: {op}, but in {where}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--filter", default="")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--graphs", type=int, default=200, help="random graphs; 2000 are the long form")
    parser.add_argument("-v", action="store_true", help="a line for each family of ops: cases and worst errors; what is not compared")
    arguments = parser.parse_args()
    gantry_api.load(arguments.build_dir)
    torch.set_num_threads(1)
    if not HAS_PYTORCH:
        print("gradients: without PyTorch (group references), by central differences alone")
    cases = [case for case in make_cases(arguments.graphs) if arguments.filter in case.name]
    suite = Gradients(cases, pack)
    failures = suite.run(CASES_OF_A_PLAN, arguments.jobs)
    failures.update((op, "has no form") for op in ops_without_forms(arguments.build_dir))
    if arguments.v:
        say(suite, failures)
    return groups.report("gradients", len(cases), failures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
