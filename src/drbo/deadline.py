"""Why runs end, and the deadline of a run: one object that every stage asks, and that compiled loops see as a flag.

A deadline is entered with ``with`` and holds for all that is called inside, so that it need not be handed through every
function; :func:`current` returns it. Deadlines nest: an inner one also ends when an outer one does.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from enum import StrEnum
from threading import Event, Thread
from typing import Any, NamedTuple, Self

from drbo._core import OutOfTimeError as OutOfTimeError  # exported: compiled loops raise it too
from drbo._core import StopFlag, set_stop_source

#: Seconds between two looks of the thread that sets the flag of compiled loops.
LOOK_SECONDS = 0.05
#: A run may end this many seconds, or this share of its limit, after the limit: it has to be saved and reported.
GRACE_SECONDS, GRACE_SHARE = 2.0, 0.1
#: Whatever the limit says, a found graph may take so long to be pruned, or to be drawn.
LEAST_SECONDS = 0.5
#: A search, in which a user's score may hang, has so many seconds to notice that it has to end.
HEARING_SECONDS = 1.0


class Stop(StrEnum):
    """Why a search or a run ended.

    Examples
    --------
    >>> Stop.TIME_LIMIT.cut_short, Stop.BUDGET.cut_short
    (True, False)
    """

    UNKNOWN = "unknown"  # not recorded
    CONVERGED = "converged"  # independent searches reached the best score
    DISAGREED = "disagreed"  # independent searches ended at different scores, and no more were allowed
    NOT_REPEATED = "not-repeated"  # one search ended, and no second one was allowed
    BUDGET = "budget"  # the evaluations or local scores that may be spent
    PATIENCE = "patience"  # no better score for long
    NOTHING_NEW = "nothing-new"  # everything in reach is known
    TARGET = "target"  # the target score
    CALLBACK = "callback"  # a callback asked for it
    TIME_LIMIT = "time-limit"
    INTERRUPTED = "interrupted"  # somebody asked for it, by Ctrl-C or a signal

    @property
    def cut_short(self) -> bool:
        """Whether another run may end elsewhere, because the clock or the user ended this one."""
        return self in (Stop.TIME_LIMIT, Stop.INTERRUPTED)


class Stopped(NamedTuple):
    """Why a search or a run ended, and the same in words."""

    why: Stop
    words: str


INTERRUPTED = Stopped(Stop.INTERRUPTED, "interrupted")


class Deadline:
    """A moment at which a run ends with what it has, or the wish of somebody that it does.

    Parameters
    ----------
    seconds : from now; None: no limit of its own, only that of the deadline around it.
    start : the moment (``time.monotonic``) from which the seconds count; None: now.
    least : seconds from now that it lasts whatever the limits say, unless somebody asks to stop.

    Examples
    --------
    >>> with Deadline(60) as deadline:
    ...     deadline.over(), current() is deadline
    (False, True)
    >>> deadline.stop()
    >>> deadline.over(), deadline.reason == INTERRUPTED
    (True, True)
    """

    def __init__(self, seconds: float | None = None, *, start: float | None = None, least: float = 0.0) -> None:
        self.flag = StopFlag()  # compiled loops look at it
        self.has_answer = False  # a run that is stopped from here on has something to tell
        self.began = time.monotonic()
        self.seconds, self.at, self.least = seconds, math.inf, least
        self._around = _current.get()
        self._asked_at = math.inf  # when somebody asked to stop
        self._told_at, self._patience = self.began, math.nan
        self.so_far: Callable[[], Any] | None = None  # what the run would answer now; another thread may ask
        self._done = Event()
        self._entered = self._looking = False
        if seconds is not None:
            self.limit(seconds, start=start)

    def limit(self, seconds: float, *, start: float | None = None) -> None:
        """Set the limit of a deadline, as in the constructor."""
        self.seconds, self.at = seconds, (time.monotonic() if start is None else start) + seconds
        self._look()

    @property
    def reason(self) -> Stopped | None:
        """Why the run ends; None: it does not."""
        reason = INTERRUPTED if self.interrupted else None
        if reason is None and time.monotonic() >= self._end():
            reason = Stopped(Stop.TIME_LIMIT, f"time limit of {self._limit():g} s reached")
        if reason is not None:
            self.flag.set()
        return reason

    @property
    def interrupted(self) -> bool:
        """Whether somebody asked to stop, here or around."""
        return self._asked_at < math.inf or (self._around is not None and self._around.interrupted)

    def over(self) -> bool:
        """Tell whether the run has to end."""
        return self.reason is not None

    def left(self) -> float:
        """Return the seconds that are left; infinity without a limit, never less than 0."""
        return 0.0 if self.over() else max(0.0, self._end() - time.monotonic())

    def share(self, count: int) -> float | None:
        """Return the seconds for one of several parts that are still to be done; None: there is no limit."""
        left = self.left()
        return None if left == math.inf else left / count

    def stop(self) -> None:
        """End the run now; may be called from any thread, and from the handler of a signal."""
        self._asked_at = min(self._asked_at, time.monotonic())
        self.flag.set()

    def check(self, seconds: float = 0.0) -> None:
        """Raise an OutOfTimeError if the run has to end before so many seconds have passed."""
        if self.over() or (seconds > 0 and self.left() < seconds):
            reason = self.reason
            raise OutOfTimeError(f"this needs {seconds:.1f} s" if reason is None else reason.words)

    def promise(self) -> None:
        """Take note that a run that is stopped from here on has something to tell."""
        self.has_answer = True
        if self._around is not None:
            self._around.promise()

    def answer_with(self, so_far: Callable[[], Any] | None, patience: float = math.nan) -> None:
        """Say what the run would answer from here on, for the case that it hangs: see :meth:`late_at`.

        Parameters
        ----------
        so_far : returns the answer, None where there is none yet; called by another thread.
        patience : seconds that the run has to end once it has to; by default twice its grace. Infinity: nobody
            answers in its place, because its result is being saved.
        """
        if self._around is not None:
            self._around.answer_with(so_far, patience)
        self.so_far, self._patience, self._told_at = so_far, patience, time.monotonic()

    def late_at(self) -> float:
        """Return the moment from which the run counts as hanging: it had to end, and has not for too long."""
        end = min(self._end(), self._asked_at)
        limit = self.seconds or 0.0 if end < self._asked_at else 0.0
        return max(end, self._told_at) + (2 * grace(limit) if math.isnan(self._patience) else self._patience)

    def keep_back(self, seconds: float) -> None:
        """End so many seconds before the limit: they are needed to finish what the run has found."""
        if (end := self._end()) < math.inf:
            self.at = end - seconds

    def _end(self) -> float:
        around = math.inf if self._around is None else self._around._end()
        return max(min(self.at, around), self.began + self.least)

    def _limit(self) -> float:
        """Return the limit that holds here, as it was given."""
        if self.seconds is not None or self._around is None:
            return self.seconds or 0.0
        return self._around._limit()

    def __enter__(self) -> Self:
        self._token = _current.set(self)
        self._entered = True
        self._look()
        return self

    def __exit__(self, *_details: object) -> None:
        self._done.set()
        _current.reset(self._token)

    def _look(self) -> None:
        """Let a thread set the flag in time: that of the run may be inside a compiled loop."""
        if self._entered and not self._looking and (self._around is not None or self.at < math.inf):
            self._looking = True
            Thread(target=self._set_flag, name="drbo-deadline", daemon=True).start()

    def _set_flag(self) -> None:
        while not self.over() and not self._done.wait(min(LOOK_SECONDS, self.left())):
            pass


_current: ContextVar[Deadline | None] = ContextVar("drbo deadline", default=None)


def _flag() -> StopFlag | None:
    """Return the flag of the deadline that holds here; None: there is none."""
    deadline = _current.get()
    return None if deadline is None else deadline.flag


set_stop_source(_flag)


def current() -> Deadline:
    """Return the deadline that holds here; one that never comes where there is none.

    Examples
    --------
    >>> current().left()
    inf
    """
    return _current.get() or Deadline()


@contextmanager
def no_deadline() -> Iterator[None]:
    """Let no deadline hold for what cannot be left out.

    Examples
    --------
    >>> with Deadline(0.0), no_deadline():
    ...     current().over()
    False
    """
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def finishing() -> Iterator[Deadline]:
    """Give what was found the time to be told: what is left, and LEAST_SECONDS where the time is over.

    Who asks to stop during it ends it.

    Examples
    --------
    >>> with Deadline(0.0), finishing() as deadline:
    ...     0 < deadline.left() <= LEAST_SECONDS
    True
    """
    late = current().over()
    limit = LEAST_SECONDS if late else None
    with no_deadline() if late else nullcontext(), Deadline(limit, least=LEAST_SECONDS) as end:
        yield end


def grace(seconds: float) -> float:
    """Return how many seconds after its limit a run may end.

    Examples
    --------
    >>> grace(5.0), grace(60.0)
    (2.0, 6.0)
    """
    return max(GRACE_SECONDS, GRACE_SHARE * seconds)


def search_time(seconds: float | None) -> Deadline:
    """Return the deadline of a search; its first graph may take half of the grace, whatever the limit says.

    Examples
    --------
    >>> search_time(0.0).over(), search_time(None).left()
    (False, inf)
    """
    return Deadline(seconds, least=grace(seconds or 0.0) / 2)
