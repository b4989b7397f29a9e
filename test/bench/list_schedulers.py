"""Placements of the literature, as they were published, on the kernels of a plan.

HEFT and CPOP: Topcuoglu, Hariri, Wu: Performance-Effective and Low-Complexity Task Scheduling for Heterogeneous Computing,
2002. m-SCT: Jeon, Cai, Srivastava, Jiang, Ke, Meng, Cong, Gupta: Baechi: Fast Device Placement of Machine Learning Graphs,
2020, with its linear program by SciPy's HiGHS. None of them knows that copies of one link take turns, nor, but for
m-SCT, of memory: what they give is judged by the plan that is made of it.
"""

import dataclasses


@dataclasses.dataclass
class Task:
    """A kernel: seconds by device, bytes that it keeps (weights) and gives, and the tasks that it reads from."""
    ops: list
    seconds: dict = dataclasses.field(default_factory=dict)
    weights: int = 0
    bytes: int = 0
    before: dict = dataclasses.field(default_factory=dict)  # task -> bytes
    after: dict = dataclasses.field(default_factory=dict)


def size_of(type_):
    """Bytes of "f32[1,64]"; 0 where that is not a tensor's."""
    element, _, dims = type_.partition("[")
    bits = int("".join(c for c in element if c.isdigit()) or 8)
    count = 1
    for dim in filter(None, dims.rstrip("]").split(",")):
        count *= int(dim)
    return count * bits // 8


def read(told_by_device):
    """Tasks in order, from what `explain --json` says of the graph on each device alone. Kernels are those of the last
    device; another device that groups its ops otherwise takes what they take together there."""
    devices = list(told_by_device)
    ops = told_by_device[devices[-1]]["ops"]
    tasks, task_of, made_by, weights = {}, {}, {}, {}
    waiting = []  # ops that nothing launches go with the next one that something does
    for op in ops:
        waiting.append(op["name"])
        for operand in op["operands"]:
            if operand.get("constant"):
                weights.setdefault(op["name"], []).append(size_of(operand["type"]))
        if op.get("launch") is None:
            continue
        task = tasks.setdefault(op["launch"], Task([]))
        task.ops += waiting
        for name in waiting:
            task_of[name] = task
        waiting = []
    if waiting and tasks:
        last = next(reversed(tasks.values()))
        last.ops += waiting
        task_of.update((name, last) for name in waiting)
    tasks = list(tasks.values())
    number = {id(task): i for i, task in enumerate(tasks)}
    for op in ops:
        task, own = task_of[op["name"]], number[id(task_of[op["name"]])]
        task.weights += sum(weights.get(op["name"], []))
        for operand in op["operands"]:
            maker = made_by.get((operand["name"], operand["type"]))
            if maker is not None and maker != own and not operand.get("constant"):
                bytes_ = size_of(operand["type"])
                task.before[maker] = tasks[maker].after[own] = bytes_
                tasks[maker].bytes = max(tasks[maker].bytes, bytes_)
        for result in op["results"]:
            for name in (op["name"], op.get("node")):
                made_by[(name, result)] = own
    for device in devices:
        for task in tasks:
            task.seconds[device] = 0  # what one device launches may be nothing on another
        for op in told_by_device[device]["ops"]:
            if op["name"] in task_of:
                task_of[op["name"]].seconds[device] += op.get("predicted_seconds") or 0
    return tasks


class Machine:
    def __init__(self, devices, bandwidth, latency, limits):
        self.devices, self.bandwidth, self.latency, self.limits = devices, bandwidth, latency, limits

    def copy(self, bytes_, a, b):
        return 0 if a == b else self.latency + bytes_ / self.bandwidth


def ordered(tasks):
    """Numbers, makers first. Edges of names that are told twice may run in a circle: the later one is dropped."""
    missing = {i: {b for b in task.before if b < i} for i, task in enumerate(tasks)}
    for i, task in enumerate(tasks):
        for before in list(task.before):
            if before >= i:
                del task.before[before], tasks[before].after[i]
    return list(missing)


def ranks(tasks, machine):
    """Upward and downward ranks, with the means over devices and pairs of them."""
    order, count = ordered(tasks), len(machine.devices)
    mean = [sum(task.seconds[d] for d in machine.devices) / count for task in tasks]
    moved = lambda bytes_: (machine.latency + bytes_ / machine.bandwidth) * (count - 1) / count
    up, down = [0.0] * len(tasks), [0.0] * len(tasks)
    for i in reversed(order):
        up[i] = mean[i] + max((moved(b) + up[j] for j, b in tasks[i].after.items()), default=0)
    for i in order:
        down[i] = max((down[j] + mean[j] + moved(b) for j, b in tasks[i].before.items()), default=0)
    return up, down


class Timeline:
    """Devices with gaps, into which what is ready may be inserted."""

    def __init__(self, tasks, machine):
        self.tasks, self.machine = tasks, machine
        self.busy = {device: [] for device in machine.devices}
        self.device, self.end = {}, {}

    def ready(self, i, device):
        return max((self.end[j] + self.machine.copy(bytes_, self.device[j], device)
                    for j, bytes_ in self.tasks[i].before.items()), default=0)

    def start(self, i, device):
        earliest, seconds = self.ready(i, device), self.tasks[i].seconds[device]
        for begin, end in self.busy[device]:
            if earliest + seconds <= begin:
                break
            earliest = max(earliest, end)
        return earliest

    def put(self, i, device):
        start = self.start(i, device)
        self.device[i], self.end[i] = device, start + self.tasks[i].seconds[device]
        self.busy[device].append((start, self.end[i]))
        self.busy[device].sort()

    def best(self, i):
        return min(self.machine.devices, key=lambda d: self.start(i, d) + self.tasks[i].seconds[d])


def heft(tasks, machine):
    """By falling upward rank, each where it is done first."""
    up, _ = ranks(tasks, machine)
    timeline = Timeline(tasks, machine)
    for i in sorted(range(len(tasks)), key=lambda i: (-up[i], i)):
        timeline.put(i, timeline.best(i))
    return timeline.device


def cpop(tasks, machine):
    """The critical path on the device that does it first, the rest where it is done first, by rank."""
    up, down = ranks(tasks, machine)
    longest = max(up)
    on_path = {i for i in range(len(tasks)) if abs(up[i] + down[i] - longest) <= 1e-9 * longest}
    processor = min(machine.devices, key=lambda d: sum(tasks[i].seconds[d] for i in on_path))
    timeline, left = Timeline(tasks, machine), {i: len(task.before) for i, task in enumerate(tasks)}
    ready = {i for i, count in left.items() if count == 0}
    while ready:
        i = max(ready, key=lambda i: (up[i] + down[i], -i))
        ready.remove(i)
        timeline.put(i, processor if i in on_path else timeline.best(i))
        for j in tasks[i].after:
            left[j] -= 1
            if left[j] == 0:
                ready.add(j)
    return timeline.device


def favourites(tasks, machine):
    """The favourite child of each task, by the relaxed linear program of SCT, rounded at a half."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix
    order, fastest = ordered(tasks), machine.devices
    edges = [(i, j, bytes_) for i in order for j, bytes_ in tasks[i].after.items()]
    n, seconds = len(tasks), [min(task.seconds[d] for d in fastest) for task in tasks]
    rows, columns, values, bounds = [], [], [], []

    def row(terms, most):
        for column, value in terms:
            rows.append(len(bounds))
            columns.append(column)
            values.append(value)
        bounds.append(most)

    # Variables: the makespan, starts, and for each edge whether it costs its copy.
    for i in range(n):
        row([(1 + i, 1), (0, -1)], -seconds[i])
    for e, (i, j, bytes_) in enumerate(edges):
        copy = machine.latency + bytes_ / machine.bandwidth
        row([(1 + i, 1), (1 + j, -1), (1 + n + e, copy)], -seconds[i])
    outgoing, incoming = {}, {}
    for e, (i, j, _) in enumerate(edges):
        outgoing.setdefault(i, []).append(e)
        incoming.setdefault(j, []).append(e)
    for group in [*outgoing.values(), *incoming.values()]:
        row([(1 + n + e, -1) for e in group], 1 - len(group))
    count = 1 + n + len(edges)
    cost = np.zeros(count)
    cost[0] = 1
    limits = [(0, None)] * (1 + n) + [(0, 1)] * len(edges)
    found = linprog(cost, A_ub=coo_matrix((values, (rows, columns)), shape=(len(bounds), count)), b_ub=bounds,
                    bounds=limits, method="highs")
    if found.status != 0:
        return {}
    return {i: j for e, (i, j, _) in enumerate(edges) if found.x[1 + n + e] < 0.5}


def m_sct(tasks, machine):
    """Earliest start first; a device waits for the favourite child of what it did last, unless another task is urgent;
    devices without room for a task's weights are left out for it. None where no device has."""
    favourite = favourites(tasks, machine)
    parent = {j: i for i, j in favourite.items()}
    left = {i: len(task.before) for i, task in enumerate(tasks)}
    ready = {i for i, count in left.items() if count == 0}
    free, last, used = ({d: value for d in machine.devices} for value in (0.0, None, 0))
    device, end = {}, {}
    while ready:
        best = None
        for i in ready:
            for d in machine.devices:
                if machine.limits.get(d) and used[d] + tasks[i].weights + tasks[i].bytes > machine.limits[d]:
                    continue
                arrival = max((end[j] + machine.copy(b, device[j], d) for j, b in tasks[i].before.items()), default=0)
                start = max(free[d], arrival)
                awaited = favourite.get(last[d]) if last[d] is not None else None
                # The device is kept for its favourite while that could still start before this one's operands are old.
                is_kept = awaited is not None and awaited not in device and awaited != i and arrival > free[d]
                key = (start + is_kept * tasks[i].seconds[d], parent.get(i) is None or device.get(parent[i]) != d, i, d)
                if best is None or key < best[0]:
                    best = key, i, d, start
        if best is None:
            return None
        _, i, d, start = best
        ready.remove(i)
        device[i], end[i] = d, start + tasks[i].seconds[d]
        free[d], last[d] = end[i], i
        used[d] += tasks[i].weights
        for j in tasks[i].after:
            left[j] -= 1
            if left[j] == 0:
                ready.add(j)
    return device


PUBLISHED = {"HEFT": heft, "CPOP": cpop, "m-SCT": m_sct}
