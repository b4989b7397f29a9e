"""The optimum of small problems of automatic placement, as a mixed-integer program.

The program leaves out that copies of one link take turns, and of memory all but constants and what one task reads and makes:
so its optimum is no more than that of the problem itself, and what is within so much of it is within as much of the optimum.
Solved by HiGHS, as SciPy has it.
"""

import itertools

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix


class Program:
    """Rows `sum <= most`, variables by name."""

    def __init__(self):
        self.number, self.integral, self.upper = {}, [], []
        self.rows, self.columns, self.factors, self.most = [], [], [], []

    def variable(self, *name, integral=False, upper=np.inf):
        if name not in self.number:
            self.number[name] = len(self.integral)
            self.integral.append(integral)
            self.upper.append(upper)
        return self.number[name]

    def at_most(self, most, *terms):
        """Of (factor, variable)."""
        for factor, variable in terms:
            self.rows.append(len(self.most))
            self.columns.append(variable)
            self.factors.append(factor)
        self.most.append(most)

    def minimise(self, variable, gap, seconds):
        """(least value that is possible, whether it was found to the gap)."""
        cost = np.zeros(len(self.integral))
        cost[variable] = 1
        matrix = coo_matrix((self.factors, (self.rows, self.columns)), shape=(len(self.most), len(cost))).tocsr()
        found = milp(cost, integrality=np.array(self.integral, int), bounds=Bounds(0, np.array(self.upper)),
                     constraints=LinearConstraint(matrix, -np.inf, np.array(self.most)),
                     options={"mip_rel_gap": gap, "time_limit": seconds})
        return found.mip_dual_bound, found.status == 0


def rounded(size):
    return (size + 63) // 64 * 64


class Problem:
    def __init__(self, told):
        self.told, self.tasks, self.values = told, told["tasks"], told["values"]
        self.devices = range(len(told["limits"]))
        self.maker = {v: t for t, task in enumerate(self.tasks) for v in task["outputs"]}
        self.ends = {}
        for value, device in told["ends"]:
            self.ends.setdefault(value, set()).add(device)
        self.least = [min(s for s in task["seconds"] if s >= 0) for task in self.tasks]

    def copy(self, value):
        return self.told["latency"] + rounded(self.values[value]["bytes"]) * self.told["per_byte"]

    def before(self, t):
        """Values that tasks make, and who makes them."""
        return [(v, self.maker[v]) for v in self.tasks[t]["inputs"] if v in self.maker]

    def heads_and_tails(self):
        """Seconds before and behind each task at least, itself not counted."""
        count = len(self.tasks)
        heads, tails = [0.0] * count, [0.0] * count
        for t in range(count):  # numbered makers first
            heads[t] = max((heads[u] + self.least[u] for _, u in self.before(t)), default=0.0)
        for t in reversed(range(count)):
            for _, u in self.before(t):
                tails[u] = max(tails[u], self.least[t] + tails[t])
        return heads, tails

    def unordered(self):
        """Pairs of tasks neither of which comes before the other."""
        above = []
        for t in range(len(self.tasks)):
            above.append(set().union(*({u} | above[u] for _, u in self.before(t))))
        return [(t, u) for t, u in itertools.combinations(range(len(self.tasks)), 2) if t not in above[u]]


def lower_bound(told, gap=0.005, seconds=60):
    """(seconds that no placement is faster than, whether that is the program's optimum to the gap). A placement of that many
    seconds is known: told["seconds"]."""
    problem, program, known = Problem(told), Program(), told["seconds"]
    heads, tails = problem.heads_and_tails()
    on = lambda t, d: program.variable("on", t, d, integral=True, upper=1)
    start = lambda t: program.variable("start", t, upper=known * 1.05)
    end = program.variable("end", upper=known * 1.05)
    takes = lambda t, sign: [(sign * problem.tasks[t]["seconds"][d], on(t, d)) for d in problem.devices]
    for t, task in enumerate(problem.tasks):
        for d in problem.devices:
            if task["seconds"][d] < 0:
                program.at_most(0, (1, on(t, d)))
                task["seconds"][d] = 0
        program.at_most(1, *((1, on(t, d)) for d in problem.devices))
        program.at_most(-1, *((-1, on(t, d)) for d in problem.devices))
        program.at_most(-heads[t], (-1, start(t)))
        program.at_most(-tails[t], (1, start(t)), *takes(t, 1), (-1, end))
        for v in task["inputs"]:
            if v in problem.maker:
                u = problem.maker[v]
                apart = program.variable("apart", u, t, upper=1)
                for d in problem.devices:
                    program.at_most(0, (1, on(u, d)), (-1, on(t, d)), (-1, apart))
                program.at_most(0, (1, start(u)), *takes(u, 1), (problem.copy(v), apart), (-1, start(t)))
            elif not problem.values[v]["constant"]:
                program.at_most(-problem.copy(v), (-problem.copy(v), on(t, problem.values[v]["home"])), (-1, start(t)))
        for v in task["outputs"]:
            for d in problem.ends.get(v, ()):
                program.at_most(-problem.copy(v), (1, start(t)), *takes(t, 1), (-problem.copy(v), on(t, d)), (-1, end))
    groups = {}
    for t, task in enumerate(problem.tasks):
        if task["group"] >= 0:
            groups.setdefault(task["group"], []).append(t)
    for first, *others in groups.values():
        for other, d in itertools.product(others, problem.devices):
            program.at_most(0, (1, on(first, d)), (-1, on(other, d)))
    add_turns(problem, program, on, start, takes, known)
    add_loads(problem, program, on, end, heads, tails)
    add_memory(problem, program, on)
    return program.minimise(end, gap, seconds)


def add_turns(problem, program, on, start, takes, known):
    """Tasks of one device take turns."""
    far = 2 * known
    for t, u in problem.unordered():
        first = {(a, b): program.variable("first", a, b, integral=True, upper=1) for a, b in ((t, u), (u, t))}
        for d in problem.devices:
            program.at_most(1, (1, on(t, d)), (1, on(u, d)), *((-1, both) for both in first.values()))
        program.at_most(1, *((1, both) for both in first.values()))
        for (a, b), both in first.items():
            program.at_most(far, (1, start(a)), *takes(a, 1), (far, both), (-1, start(b)))


def add_loads(problem, program, on, end, heads, tails):
    """What a device does takes its time, behind the least head and before the least tail: implied, but not when relaxed."""
    for least in sorted(set(heads)):
        chosen = [t for t in range(len(problem.tasks)) if heads[t] >= least]
        tail = min(tails[t] for t in chosen)
        for d in problem.devices:
            program.at_most(-least - tail, *((problem.tasks[t]["seconds"][d], on(t, d)) for t in chosen), (-1, end))


def add_memory(problem, program, on):
    """Constants lie on each device that reads them; of the rest, what one task reads and makes."""
    for d in problem.devices:
        limit = problem.told["limits"][d]
        if not limit:
            continue
        constants = []
        for v, value in enumerate(problem.values):
            readers = [t for t, task in enumerate(problem.tasks) if v in task["inputs"]] if value["constant"] else []
            if readers:
                there = program.variable("there", v, d, upper=1)
                constants.append((rounded(value["bytes"]), there))
                for t in readers:
                    program.at_most(0, (1, on(t, d)), (-1, there))
        for t, task in enumerate(problem.tasks):
            held = sum(rounded(problem.values[v]["bytes"]) for v in task["inputs"]
                       if not problem.values[v]["constant"] and problem.values[v]["home"] != d and d not in problem.ends.get(v, ()))
            held += sum(rounded(problem.values[v]["bytes"]) for v in task["outputs"] if d not in problem.ends.get(v, ()))
            program.at_most(limit, *constants, (held, on(t, d)))
