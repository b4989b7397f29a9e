"""How many rows of a batch each device gets, by what rows are predicted to take there."""

# Devices that differ by less are alike: predictions are no closer.
_CLOSE = 1.1


def cost(few, first, most, second):
    """Of the seconds of two shares: what a replica takes for any rows at all, and what it takes for each."""
    slope = max((second - first) / (most - few), 1e-3 * second / most, 1e-12)
    return max(0.0, second - slope * most), slope


def end(cost, count):
    fixed, slope = cost
    return fixed + slope * count if count else 0.0


def alike(costs):
    """The costs, with those of the first of devices that are alike for all of these."""
    made = []
    for each in costs:
        made.append(next((first for first in made if all(a <= b * _CLOSE and b <= a * _CLOSE for a, b in zip(first, each))), each))
    return made


def shares(rows, costs):
    """Numbers of rows with which the last replica ends as early as it can. One that takes longer for one row than others for all has
    none."""
    given = [0] * len(costs)
    for _ in range(rows):
        given[min(range(len(costs)), key=lambda i: end(costs[i], given[i] + 1))] += 1
    return tuple(given)


def told(devices, counts, costs):
    """What is said of them."""
    rows, most = sum(counts), -(-sum(counts) // len(counts))
    equal = [max(0, min(most, rows - i * most)) for i in range(len(counts))]
    of = lambda shares: _time(max(map(end, costs, shares)))
    gets = ", ".join(f"{device!r} gets {count}" for device, count in zip(devices, counts))
    each = ", ".join(f"{device!r} {_time(fixed)} and {_time(slope)} a row" for device, (fixed, slope) in zip(devices, costs))
    return f"of {rows} rows {gets}; the last replica is predicted to take {of(counts)}, with equal shares {of(equal)} ({each})"


def _time(seconds):
    unit, name = next(((unit, name) for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if seconds >= unit), (1e-9, "ns"))
    return f"{seconds / unit:.3g} {name}"
