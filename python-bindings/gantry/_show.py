"""What plans say of themselves: the methods of Plan that tell and draw, over libgantry-show.

Texts are `Text`: a str that prints as it is, also in a notebook. What is for programs is of dicts and lists.
"""

import collections
import ctypes
import json
import re
import threading

from . import _c, _library, _notebook
from ._files import whole_file
from .array import _known
from .errors import FailedPreconditionError

_lock = threading.Lock()


# A replica of a plan: its number, its device, seconds of its ops, and when the last of them ends.
Replica = collections.namedtuple("Replica", "number device seconds end")
_REPLICA = re.compile(r"/replica_(\d+)")


class Text(str):
    """Lines for people: what the prompt shows is the text itself."""

    def __repr__(self):
        return str(self).rstrip("\n")

    def _repr_html_(self):
        return _notebook.lines(self)


class Difference(dict):
    """What `Plan.diff` found, as a dict; printed, it is lines for people."""

    def __init__(self, found, text):
        super().__init__(found)
        self.text = text

    def __str__(self):
        return self.text

    def _repr_html_(self):
        return _notebook.lines(self.text)


class Timeline(list):
    """What queues do when, a dict for each command; printed, it is a chart, in a notebook a picture."""

    def __init__(self, moments, text):
        super().__init__(moments)
        self.text = text

    def __str__(self):
        return self.text

    def _repr_html_(self):
        return _notebook.timeline(self)


class Held(dict):
    """Bytes that a plan takes on a device, as a dict; the sizes are attributes, too."""

    def __init__(self, found):
        super().__init__(found)
        self.constants, self.variables, self.transient = found["constants"], found["variables"], found["transient"]
        self.bound = found["lower_bound"]  # the least that the transient values can take; 0: there are none
        self.limit = found["limit"]  # 0: none
        self.peak = self.constants + self.variables + self.transient  # of one session


class _View:
    """The handle of a plan that is told of. It reads where the plan lies, so the plan has to live as long."""

    def __init__(self, address, size):
        self._library, self.handle = _library.show(), ctypes.c_void_p()
        _library.check_show(self._library.gantry_plan_view_of(address, size, ctypes.byref(self.handle)))

    def __del__(self):
        if self.handle:
            self._library.gantry_plan_view_destroy(self.handle)

    def tell(self, what, form, **options):
        """A text; `options` are those of gantry_show_options_t."""
        given, text = _options(options), ctypes.c_void_p()
        _library.check_show(self._library.gantry_plan_view_show(self.handle, what, form, ctypes.byref(given),
                                                                ctypes.byref(text)))
        return self._take(text)

    def diff(self, other, form, **options):
        given, text = _options(options), ctypes.c_void_p()
        _library.check_show(self._library.gantry_plan_view_diff(self.handle, other.handle, form, ctypes.byref(given),
                                                                ctypes.byref(text)))
        return self._take(text)

    def _take(self, text):
        try:
            return ctypes.string_at(self._library.gantry_text_string(text), self._library.gantry_text_size(text)).decode()
        finally:
            self._library.gantry_text_destroy(text)


def _options(options):
    function, op = options.pop("function", None), options.pop("op", None)
    return _library.sized(_c.gantry_show_options_t, function=function.encode() if function else None,
                          op=op.encode() if op else None, **options)


def timeline_of(session, width=None):
    """What the last run of a session did on the virtual clock."""
    library, count = session._library, ctypes.c_size_t()
    _library.check(library.gantry_session_timeline(session._handle, None, 0, ctypes.byref(count)))
    if count.value == 0:
        raise FailedPreconditionError("timeline has nothing to tell: the session has not run yet, or none of its devices "
                                      "is simulated; plan.timeline() has what is predicted")
    moments = (_c.gantry_moment_t * count.value)()
    _library.check(library.gantry_session_timeline(session._handle, moments, count.value, ctypes.byref(count)))
    return session.plan._timeline({"moments": moments, "num_moments": min(count.value, len(moments)),
                                   "width": _width(width)})


def _width(width):
    """Columns: those that are asked for, or COLUMNS, or the terminal's, or 100."""
    if width is None:
        import shutil  # takes milliseconds
        width = shutil.get_terminal_size((100, 24)).columns
    return width


class Shown:
    """What a Plan has for looking at it. Everything is predicted or planned: nothing is run."""

    _seen = None  # the _View
    _asked = None  # source, flags, values, own_devices: what why_not compiles again
    _shared_by = ()  # devices of a strategy of gantry.distribute, each of which is a replica

    def _view(self):
        with _lock:
            if self._seen is None:
                size = ctypes.c_size_t()
                address = self._library.gantry_plan_data(self._handle, ctypes.byref(size))
                self._seen = _View(address, size.value)
            return self._seen

    def _tell(self, what, form, **options):
        if options.get("function") is not None:
            self.function(options["function"])  # whose error lists the functions
        return self._view().tell(what, form, **options)

    def log(self, function=None, json=False):
        """Lines of what a run does, in its order: copies between devices, ops where they run. With `json` a dict for
        each, an op with the reason for its device, or {"copy": ...}."""
        text = self._tell(_c.SHOW_LOG, _c.FORM_JSON if json else _c.FORM_TEXT, function=function)
        return _objects(text) if json else [line for line in text.splitlines() if not line.startswith("placed ")]

    def copies(self, function=None):
        """The copies of a run and at load, as dicts: from, to, bytes, cause, ..."""
        return [each["copy"] for each in _objects(self._tell(_c.SHOW_COPIES, _c.FORM_JSON, function=function))]

    @property
    def memory(self):
        """Bytes by device: memory["GPU:0"].constants, .variables, .transient (of a run), .bound, .peak, .limit."""
        told = json.loads(self._tell(_c.SHOW_MEMORY, _c.FORM_JSON))
        return {_known(each["device"].encode()).short_name: Held(each) for each in told}

    def explain(self, op=None, *, function=None, memory=False, all=False, timeline=False, json=False, width=None):
        """What runs where and why, what takes time, what is copied, what memory it takes, as `gantry explain` tells it.

        op         of some ops: a name, a type ("MatMul") or a pattern ("name:/encoder/*")
        memory     memory instead of ops: arenas, what fills them at the peak, a chart over the steps
        all        every row in the place of the first page;   timeline  also what queues do when
        json       a dict with everything instead of a text;   width  columns; else the terminal's

        NotFoundError, with what may have been meant, for an op that is not there.
        """
        told = self._tell(_c.SHOW_EXPLAIN, _c.FORM_JSON if json else _c.FORM_TEXT, function=function, op=op,
                          memory=int(memory), all=int(all), timeline=int(timeline), width=_width(width))
        return _loads(told) if json else Text(told)

    def timeline(self, function=None, width=None):
        """What every queue of every device does over a run, as predicted: dicts with function, device, queue, name,
        does, start and end (seconds). Printed, it is a chart."""
        return self._timeline({"function": function, "width": _width(width)})

    def _timeline(self, options):
        return Timeline(_loads(self._tell(_c.SHOW_TIMELINE, _c.FORM_JSON, **options)),
                        self._tell(_c.SHOW_TIMELINE, _c.FORM_TEXT, **options))

    @property
    def replicas(self):
        """The replicas of a plan that splits a batch: for each its device, the seconds that its ops take, and when the last
        of them ends. A run waits for the one with the largest `end`; () where nothing is replicated."""
        functions, moments = self.explain(json=True)["functions"], self.timeline()
        if self._shared_by:
            return self._by_device(functions, moments)
        found = {}
        for function in functions:
            for op in function["ops"]:
                number = _REPLICA.search(op["name"])
                if number:
                    parts = found.setdefault((int(number[1]), op["device"]), [])
                    parts.append(op["predicted_seconds"])
        ends = {}
        for moment in moments:
            number = _REPLICA.search(moment["name"])
            if number:
                key = int(number[1]), moment["device"]
                ends[key] = max(ends.get(key, 0.0), moment["end"])
        return tuple(Replica(number, _known(device.encode()), sum(parts), ends.get((number, device), 0.0))
                     for (number, device), parts in sorted(found.items()))

    def _by_device(self, functions, moments):
        """Replicas of a strategy: all that its devices do is a replica's."""
        seconds, ends = collections.Counter(), {}
        for each in (device for function in functions for device in function["devices"]):
            seconds[_known(each["device"].encode())] += each["predicted_compute_seconds"]
        for moment in moments:
            device = _known(moment["device"].encode())
            ends[device] = max(ends.get(device, 0.0), moment["end"])
        return tuple(Replica(number, device, seconds[device], ends.get(device, 0.0)) for number, device in enumerate(self._shared_by))

    def report(self, path, function=None, other=None):
        """Writes a page for the browser, whole or not at all: the graph by device, queues over time, memory, and all that
        is known of an op at a click; with another plan also what differs from this to that. It loads nothing from
        elsewhere."""
        second = other._view() if other is not None else None
        beside = {"other": second.handle} if second else {}
        with whole_file(path) as file:
            file.write(self._tell(_c.SHOW_REPORT, _c.FORM_TEXT, function=function, **beside).encode())

    def diff(self, other, all=False, width=None):
        """What changes from this plan to another, in placement, copies, memory and prediction, as a dict; its "same"
        says whether anything does. Printed, it is lines for people, with `all` a row for each op and copy."""
        view, others = self._view(), other._view()
        text = view.diff(others, _c.FORM_TEXT, all=int(all), width=_width(width))
        return Difference(_loads(view.diff(others, _c.FORM_JSON)), text)

    def why_not(self, op, device, source=None):
        """The least that would have to change for an op ("MatMul", a name, a pattern) to be placed on a device, and what
        that would bring. It compiles the graph again, which a plan does not keep: a plan of a file, of a Graph or of a
        function knows its graph; for one of bytes, or that was loaded, `source` gives it.

        FailedPreconditionError without a graph; InvalidArgumentError for an op or a device that is not there.
        """
        from ._compile import compile_source
        known, flags, values, own_devices = self._asked or (None, (), None, False)
        source = known if source is None else source
        if source is None:
            raise FailedPreconditionError("why_not needs the graph, whose constraints a plan does not keep; give it as "
                                          "source=")
        given = getattr(source, "_handle", source)  # of a Graph
        artifact, _ = compile_source(given, flags, values, own_devices=own_devices,
                                     why_not=(op, device if isinstance(device, str) else device.given))
        return Text(artifact.bytes().decode())

    def _pictured(self):
        """What pictures are drawn from: the data of a report."""
        return _loads(self._tell(_c.SHOW_REPORT, _c.FORM_JSON))

    def _repr_html_(self):
        return _notebook.plan(self._pictured())


class Outline(Shown):
    """What a plan would say of itself, of a graph that was compiled without code."""

    def __init__(self, artifact):
        self._artifact = artifact

    def _view(self):
        if self._seen is None:
            self._seen = _View(self._artifact.address, self._artifact.size)
        return self._seen


def _objects(text):
    """The objects of a text with one a line."""
    return [json.loads(line) for line in text.splitlines()]


_loads = json.loads  # methods have an argument of that name
