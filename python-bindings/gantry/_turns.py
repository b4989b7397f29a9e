"""Calls that go side by side and meet: replicas of which each needs what the others have made so far.

Each call runs in a thread of its own, but one at a time: from one meeting to the next, and the others wait meanwhile. Whoever
drives them puts together at a meeting what all have brought, and gives each its answer. Calls begin with what their caller's thread
has in the objects that `kept` was told of, and with its contextvars.
"""

import _thread
import contextvars
import sys
import threading

from .errors import InvalidArgumentError

_here = threading.local()
_kept = []


def kept(local):
    """A threading.local, or an object of a class made of it, that calls begin with as their caller has it."""
    _kept.append(local)
    return local


def caller():
    """The frame that this thread goes on for; none outside of calls."""
    return getattr(_here, "caller", None)


class _Ended(BaseException):
    """What a call gets at a meeting that will not be."""


class _Call:
    """One of the calls. `state` is what whoever drives them keeps of it while others have their turn."""

    def __init__(self, call, state):
        self.state, self.result, self.error, self.met = state, None, None, None
        self._answer, self._is_ended = None, False
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._begins = call, [(each, dict(vars(each))) for each in _kept], contextvars.copy_context(), sys._getframe(2)
        self._is_begun = False

    def turn(self, answer, is_ended=False):
        """Until it meets or ends; `met` is None then."""
        self._answer, self._is_ended, self.met = answer, is_ended, None
        if self._is_begun:
            self._go.release()
        elif is_ended:
            return
        else:
            self._is_begun = True
            _thread.start_new_thread(self._run, ())  # with no frame of others between its caller's and its own
        try:
            self._back.acquire()
        except BaseException:  # Ctrl-C: what it makes has an end first
            self._back.acquire()
            raise

    def _run(self):
        call, states, context, _here.caller = self._begins
        try:
            for each, state in states:
                vars(each).update(state)
            self.result = context.run(call)
        except BaseException as error:
            self.error = error
        finally:
            self._begins = None
            self._back.release()

    def meet(self, *brought):
        self.met = brought
        self._back.release()
        self._go.acquire()
        if self._is_ended:
            raise _Ended
        return self._answer


class Turns:
    """Calls, each a function without arguments. `exchange(state)` gives all of them what they had, and what there is now: it is
    called in front of and behind each turn; `state` is what they begin with."""

    def __init__(self, calls, exchange, state):
        self._exchange, self._calls = exchange, [_Call(call, state) for call in calls]
        self._now = None

    def meet(self, join, brought):
        """In a call: what `join` gives it of a list of what all have brought, which gives a list. All calls have to meet for the
        same."""
        return self._now.meet(join, brought)

    def run(self):
        """What the calls give, when all have ended."""
        try:
            met = self.advance([None] * len(self._calls))
            while met is not None:
                join, brought = met
                met = self.advance(join(brought))
            return [each.result for each in self._calls]
        finally:
            for each in self._calls:
                self._end(each)

    def advance(self, answers):
        """A turn for each, in their order: what they have met for, and what they have brought; None when they have ended."""
        for each, answer in zip(self._calls, answers):
            before, self._now = self._exchange(each.state), each
            try:
                each.turn(answer)
            finally:
                each.state, self._now = self._exchange(before), None
            if each.error is not None:
                raise each.error
        joins = {each.met and each.met[0] for each in self._calls}
        if len(joins) > 1:
            raise InvalidArgumentError("replicas have to be alike in what they add up or normalise over all of them, in the same order: "
                                       "one of them does something else there")
        join = joins.pop()
        return join and (join, [each.met[1] for each in self._calls])

    @staticmethod
    def _end(call):
        while call.met is not None:
            call.turn(None, is_ended=True)
