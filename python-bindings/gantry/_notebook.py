"""What notebooks show: tables in HTML and pictures in SVG, of what libgantry-show says.

Only strings are made here. Colours are those of `gantry report`: Okabe and Ito's, hosts grey.
"""

_GPUS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a5195")
_HOST = "#8a8f98"
_QUEUES = ("compute", "copies in", "copies out", "copies from peers")
_WIDTH, _LABEL = 720, 170  # of a picture, and of the names on its left, in pixels
_MOST = 1200  # rectangles of a picture: what is left out is said
_ROWS = 12  # of a table


def _e(text):
    for character, entity in ("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"):
        text = str(text).replace(character, entity)
    return text


def short(device):
    """"GPU:0" of a full name."""
    return device.rpartition("device:")[2]


def bytes_text(count):
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            break
        count /= 1024
    else:
        unit = "TiB"
    return f"{count:.4g} {unit}"


def seconds_text(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns" if seconds else "0 s"


def lines(text):
    """A text for people."""
    return f'<pre style="line-height:1.2">{_e(text)}</pre>'


def table(titles, rows):
    """A table; titles that begin with ">" are those of numbers."""
    def row(cells, tag):
        style = lambda title: ' style="text-align:right"' if title.startswith(">") else ' style="text-align:left"'
        return "<tr>" + "".join(f"<{tag}{style(t)}>{c}</{tag}>" for t, c in zip(titles, cells)) + "</tr>"
    head = row([_e(title.lstrip(">")) for title in titles], "th")
    return f"<table><thead>{head}</thead><tbody>{''.join(row(cells, 'td') for cells in rows)}</tbody></table>"


def colours(devices):
    """A colour for each device, in order."""
    made, gpus = [], 0
    for device in devices:
        is_host = short(device).startswith("CPU")
        made.append(_HOST if is_host else _GPUS[gpus % len(_GPUS)])
        gpus += not is_host
    return made


def _chip(colour):
    return f'<span style="display:inline-block;width:.8em;height:.8em;border-radius:2px;background:{colour}"></span> '


def _text(x, y, text, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_e(text)}</text>'


def _svg(height, body, label):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" role="img" aria-label="{_e(label)}" '
            f'font-family="sans-serif" font-size="11" fill="currentColor">{body}</svg>')


def _bar(x, y, width, height, colour, title, opacity=1.0):
    return (f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, .5):.2f}" height="{height:.2f}" fill="{colour}" '
            f'fill-opacity="{opacity}"><title>{_e(title)}</title></rect>')


# ---- when ----

def queues(moments, colour_of):
    """A row for each queue; `moments`: dicts with device, queue, start, end and what `colour_of` looks at."""
    timed = [moment for moment in moments if moment["end"] > moment["start"]]
    if not timed:
        return ""
    end = max(moment["end"] for moment in timed)
    rows = sorted({(short(moment["device"]), moment["queue"]) for moment in timed})
    scale, height, body = (_WIDTH - _LABEL - 10) / end, 20, ""
    for number, row in enumerate(rows):
        top = number * (height + 4) + 2
        mine = [moment for moment in timed if (short(moment["device"]), moment["queue"]) == row]
        busy = sum(moment["end"] - moment["start"] for moment in mine) / end
        name = _QUEUES[row[1]] if row[1] < len(_QUEUES) else f"queue {row[1]}"
        body += _text(4, top + 14, f"{row[0]} {name}, {busy:.0%}")
        drawn = -1.0  # to where: what is too short to be seen is not drawn over and over
        for moment in mine:
            left, right = _LABEL + moment["start"] * scale, _LABEL + moment["end"] * scale
            if right < drawn + .4:
                continue
            drawn = max(right, left + .5)
            said = f"{moment['name']}: {seconds_text(moment['end'] - moment['start'])}"
            body += _bar(left, top, right - left, height, colour_of(moment), said, .6 if moment["does"] == "copy" else 1)
    bottom = len(rows) * (height + 4) + 14
    body += _text(_LABEL, bottom, "0") + _text(_WIDTH - 10, bottom, seconds_text(end), "end")
    return _svg(bottom + 6, body, "queues over a run, as predicted")


def timeline(moments):
    """The picture of a Timeline; of several functions one below the other."""
    names = sorted({moment["device"] for moment in moments})
    colour = dict(zip(names, colours(names)))
    functions = list(dict.fromkeys(moment["function"] for moment in moments))
    parts = []
    for name in functions:
        mine = [moment for moment in moments if moment["function"] == name]
        parts.append((f"<p>function {_e(name)}</p>" if len(functions) > 1 else "") +
                     queues(mine, lambda moment: colour[moment["device"]]))
    return "".join(parts)


# ---- memory ----

def memory(function, arena, colour, name):
    """Where the values of an arena lie, up, and in which steps of a run, right; those at the peak stand out. A line: the
    bytes that are live."""
    mine = [value for value in function["values"] if value["arena"] == arena]
    peak = function["arenas"][arena]["peak"]
    found, at, steps = peak["live"], peak["at"], len(peak["live"])
    height, size = 110, function["arenas"][arena]["bytes"]
    wide, high = (_WIDTH - _LABEL - 10) / steps, (height - 16) / size
    body = ""
    for value in sorted(mine, key=lambda value: -value["bytes"])[:_MOST]:
        tall = value["bytes"] * high
        said = (f"{value['name'] or '(no name)'}: {value['type']}, {bytes_text(value['bytes'])} at {value['offset']}, "
                f"steps {value['first'] + 1} to {value['last'] + 1}")
        body += _bar(_LABEL + value["first"] * wide, height - value["offset"] * high - tall,
                     (value["last"] + 1 - value["first"]) * wide, tall, colour, said,
                     .8 if value["first"] <= at <= value["last"] else .35)
    outline = "".join(f"H{_LABEL + step * wide:.1f}V{height - count * high:.1f}"
                      for step, count in enumerate(found) if step == 0 or count != found[step - 1])
    body += f'<path d="M{_LABEL} {height}{outline}H{_WIDTH - 10}V{height}" fill="none" stroke="currentColor" stroke-opacity=".6"/>'
    body += _text(4, 26, f"{name} transient, {bytes_text(size)}") + _text(4, 42, f"peak {bytes_text(peak['bytes'])}")
    body += _text(4, 58, f"at step {at + 1} of {steps}")
    if len(mine) > _MOST:
        body += _text(4, 74, f"{_MOST} of {len(mine)} values")
    x = _LABEL + (at + .5) * wide
    body += f'<line x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{height}" stroke="#d00" stroke-dasharray="3 2"/>'
    return _svg(height + 4, body, f"memory of {name} over a run")


# ---- objects ----

def plan(data):
    """A Plan: what is where, when, and in which memory. `data` is that of a report."""
    names = [each["device"] for each in data["memory"]]
    colour = colours(names)
    title = f"<b>{_e(data['source'] or 'plan')}</b>, {bytes_text(data['plan_bytes'])}, placement {_e(data['placement'] or 'default')}"
    said = [text for text in data["constraints"] if text.startswith("over the limit: ")]
    parts = [f"<p>{title}</p>"] + [f"<p>{_e(text)}</p>" for text in said]
    for function in data["functions"]:
        if len(data["functions"]) > 1:
            parts.append(f"<p>function {_e(function['name'])}</p>")
        parts += [_placement(data, function, colour), f"<p>{_e(function['summary'])}</p>"]
        moments = [{**command, "device": names[command["device"]]} for command in function["commands"] if "start" in command]
        of_queue = lambda moment: colour[moment["from"] if moment["does"] == "copy" else names.index(moment["device"])]
        parts.append(queues(moments, of_queue))
        for arena, each in enumerate(function["arenas"]):
            if "peak" in each:
                parts.append(memory(function, arena, colour[each["device"]], short(names[each["device"]])))
    return "<div>" + "".join(parts) + "</div>"


def _placement(data, function, colour):
    """A row for each device with what it does, which types of ops run there, and what it holds."""
    rows = []
    for number, (load, held) in enumerate(zip(function["devices"], data["memory"])):
        kinds = {}
        for op in function["ops"]:
            if op["device"] == held["device"]:
                kinds[op["op"]] = kinds.get(op["op"], 0) + 1
        common = sorted(kinds, key=lambda kind: (-kinds[kind], kind))
        which = ", ".join(f"{kinds[kind]} {kind}" for kind in common[:3]) + (", ..." if len(common) > 3 else "")
        total = held["constants"] + held["variables"] + held["transient"]
        rows.append([_chip(colour[number]) + _e(short(held["device"])), load["ops"], _e(which),
                     seconds_text(load["predicted_compute_seconds"]), bytes_text(load["copied_bytes"]),
                     bytes_text(held["constants"]), bytes_text(held["variables"]), bytes_text(held["transient"]),
                     f"{bytes_text(held['limit'])} ({total / held['limit']:.0%})" if held["limit"] else "none"])
    return table(["device", ">ops", "most", ">compute", ">copied", ">constants", ">variables", ">transient", ">limit"], rows)


def array(found):
    """An Array: what it is, and its first values."""
    import numpy as np
    head = f"<p>{_e(found.dtype)}{list(found.shape)} on {_e(repr(found.device))}, {bytes_text(found.nbytes)}</p>"
    with np.printoptions(threshold=100, edgeitems=3):
        return f"<div>{head}{lines(str(found.numpy()))}</div>"


def state(found):
    """A State: its variables, without their values."""
    variables = found.variables
    rows = [[_e(each.name), f"{_e(each.dtype)}{list(each.shape)}", _e(repr(each.device)), bytes_text(_size(each))]
            for each in variables[:_ROWS]]
    rest = f"<p>… and {len(variables) - _ROWS} more</p>" if len(variables) > _ROWS else ""
    total = bytes_text(sum(map(_size, variables)))
    return f"<div><p>{len(variables)} variables, {total}</p>{table(['name', 'type', 'device', '>size'], rows)}{rest}</div>"


def _size(port):
    count = port.dtype.itemsize
    for size in port.shape:
        count *= size
    return count
