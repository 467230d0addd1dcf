"""Shows the progress of a search: a bar on a terminal, a line every few seconds elsewhere."""

import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from drbo.cli.interrupts import STOPPING
from drbo.cli.messages import say

if TYPE_CHECKING:
    from drbo.search.outcome import Progress
    from drbo.settings import Settings

LINE_SECONDS = 3.0  # between two lines where there is no terminal
BAR_WIDTH = 24
IDLE_ROUNDS = 3  # without an evaluation: the time left cannot be told from the budget any more


class Watch:
    """A callback of the search that shows nothing; the base of those that do."""

    def __init__(self, settings: "Settings", clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._clock = clock
        self._start = clock()
        self._best = -math.inf
        self._improved_at = 0  # iteration
        self._n_evals = 0
        self._idle = 0  # iterations in a row without an evaluation
        self._counts_climbs = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_details: object) -> None:
        pass

    def __call__(self, progress: "Progress") -> None:
        """Take note of an iteration; never ends the search."""
        if progress.proving:
            return
        self._counts_climbs = progress.limit is None  # patience alone bounds route orders
        self._idle = self._idle + 1 if progress.n_evals == self._n_evals else 0
        self._n_evals = progress.n_evals
        if progress.best > self._best:
            self._best, self._improved_at = progress.best, progress.iteration

    def interrupted(self) -> None:
        """Answer the first Ctrl-C, also where nothing else is shown."""
        say(STOPPING)

    def state(self, progress: "Progress") -> tuple[float, float]:
        """Return the part of the search that is done and the seconds left, if the speed stays as it was."""
        elapsed, settings = self._clock() - self._start, self.settings
        if progress.proving:
            return 1.0, 0.0
        if self._counts_climbs:
            done = (progress.iteration - self._improved_at) / settings.order_patience
            left = elapsed / progress.iteration * (1 - done) * settings.order_patience
        else:
            done = progress.n_evals / settings.max_evals
            left = elapsed * (settings.max_evals - progress.n_evals) / max(1, progress.n_evals)
        if settings.time_limit is not None:
            done, left = max(done, elapsed / settings.time_limit), min(left, settings.time_limit - elapsed)
        return min(1.0, done), max(0.0, left)

    def words(self, progress: "Progress") -> str:
        """Return the state of the search in a few words."""
        found = f"best score {progress.best:.2f}"
        if progress.proving:
            return (
                f"{found}, trying to prove that it is the highest, {clock_time(self._clock() - self._start)} in total"
            )
        left = clock_time(self.state(progress)[1])
        if self._counts_climbs:
            return f"{progress.n_evals:,} evaluations, {found}, {left} left unless the score improves"
        count = f"{progress.n_evals:,} of {self.settings.max_evals:,} evaluations"
        if self._idle >= IDLE_ROUNDS:
            return f"{count}, {found}, nothing new in {self._idle} rounds"
        return f"{count}, {found}, at most {left} left"


@contextmanager
def counting(
    what: str, *, quiet: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function of (done, all) that prints a line every few seconds; None where nothing is to be said."""
    if quiet:
        yield None
        return
    start = due = clock()

    def tell(done: int, total: int) -> None:
        nonlocal due
        now = clock()
        if now >= due + LINE_SECONDS and done < total:
            due = now
            say(f"{what}: {done:,} of {total:,}, {clock_time((now - start) * (total - done) / done)} left")

    yield tell


class LineWatch(Watch):
    """Prints a line every few seconds."""

    def __init__(self, settings: "Settings", clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(settings, clock)
        self._due = self._start + LINE_SECONDS

    def __call__(self, progress: "Progress") -> None:
        """Print a line if it is time for one."""
        super().__call__(progress)
        now = self._clock()
        if now >= self._due:
            self._due = now + LINE_SECONDS
            say(f"search: {self.words(progress)}")


class BarWatch(Watch):
    """Shows a bar that disappears when the search ends."""

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        self._bar = Progress(
            TextColumn("search"),
            BarColumn(bar_width=BAR_WIDTH, complete_style="cyan", finished_style="cyan"),
            TextColumn("{task.description}", table_column=Column(no_wrap=True), markup=False),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("evaluating the first graphs", total=1.0)
        self._show_warning, warnings.showwarning = warnings.showwarning, self._show_above
        self._bar.start()
        return self

    def __exit__(self, *_details: object) -> None:
        self._bar.stop()
        warnings.showwarning = self._show_warning

    def _show_above(self, *warning: Any, **how: Any) -> None:
        self._bar.stop()
        self._show_warning(*warning, **how)
        self._bar.start()

    def __call__(self, progress: "Progress") -> None:
        """Move the bar."""
        super().__call__(progress)
        self._bar.update(self._task, completed=self.state(progress)[0], description=self.words(progress))

    def interrupted(self) -> None:
        """Say what happens next; the bar goes first, so that a second Ctrl-C leaves the terminal in order."""
        self._bar.stop()
        super().interrupted()


def watch_for(settings: "Settings", *, quiet: bool) -> Watch:
    """Return the watch that suits where stderr leads."""
    if quiet:
        return Watch(settings)
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    return BarWatch(settings) if is_terminal else LineWatch(settings)


def clock_time(seconds: float) -> str:
    """Return a time as minutes and seconds, or hours and minutes.

    Examples
    --------
    >>> clock_time(5), clock_time(65), clock_time(3725)
    ('5 s', '1 min 05 s', '1 h 02 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
