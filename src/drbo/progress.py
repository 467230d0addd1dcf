"""Shows the progress of a search: a bar on a terminal or in a notebook, a line every few seconds elsewhere.

What is shown has happened: evaluations, the best score, the time so far. How long a search will take is not guessed,
because it ends when nothing better turns up.
"""

import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from drbo.search.outcome import Progress
    from drbo.settings import Settings

SILENCE = 2.0  # seconds after which something is said
LINE_SECONDS = 3.0  # between two lines where there is no terminal
AGAIN_SECONDS = 10.0  # between two lines about work that cannot be counted
LOOKS = 0.25  # seconds between two looks at the clock
BAR_WIDTH = 24
STOPPING = "interrupted: finishing with the best graph so far; press Ctrl-C again to stop immediately"

Tell = Callable[[str], None]


def tell_stderr(text: str) -> None:
    """Print a line to stderr."""
    print(text, file=sys.stderr, flush=True)


class Watch:
    """A callback of the search that shows nothing; the base of those that do."""

    def __init__(
        self, settings: "Settings", clock: Callable[[], float] = time.monotonic, tell: Tell = tell_stderr
    ) -> None:
        self.settings, self._clock, self._tell = settings, clock, tell
        self._start = self._improved_at = clock()
        self._best, self._part = -math.inf, ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_details: object) -> None:
        pass

    def __call__(self, progress: "Progress") -> None:
        """Take note of an iteration; never ends the search."""
        if progress.part != self._part:
            self._best, self._part = -math.inf, progress.part
        if progress.best > self._best:
            self._best, self._improved_at = progress.best, self._clock()

    def interrupted(self) -> None:
        """Answer the first Ctrl-C, also where nothing else is shown."""
        self._tell(STOPPING)

    def done(self, progress: "Progress") -> float | None:
        """Return the part of the budget that is spent; None: there is no budget, or a proof is under way."""
        parts = [] if progress.limit is None or progress.proving else [progress.n_evals / self.settings.max_evals]
        if self.settings.time_limit is not None:
            parts.append((self._clock() - self._start) / self.settings.time_limit)
        return min(1.0, max(parts)) if parts else None

    def words(self, progress: "Progress") -> str:
        """Return the state of the search in a few words."""
        now, found = self._clock(), f"best score {progress.best:.2f}"
        elapsed, idle = now - self._start, now - self._improved_at
        count = f"{progress.n_evals:,} evaluations"
        if progress.proving:
            words = [found, "trying to prove that it is the highest"]
        elif progress.limit is not None:
            words = [f"{progress.n_evals:,} of {self.settings.max_evals:,} evaluations", found]
        else:
            words = [count, found, f"no better one for {clock_time(idle)}" if idle >= 1 else "just improved"]
        words.append(f"{clock_time(elapsed)} so far")
        if self.settings.time_limit is not None:
            words.append(f"ends within {clock_time(max(0.0, self.settings.time_limit - elapsed))}")
        return ", ".join([progress.part] * bool(progress.part) + words)


@contextmanager
def counting(
    what: str, *, quiet: bool, clock: Callable[[], float] = time.monotonic, tell: Tell = tell_stderr
) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function of (done, all) that prints a line every few seconds; None where nothing is to be said."""
    if quiet:
        yield None
        return
    start = due = clock()

    def say(done: int, total: int) -> None:
        nonlocal due
        now = clock()
        if now >= due + LINE_SECONDS and done < total:
            due = now
            tell(f"{what}: {done:,} of {total:,}, {clock_time(now - start)} so far")

    yield say


@contextmanager
def under_way(what: str, *, quiet: bool = False, tell: Tell = tell_stderr) -> Iterator[None]:
    """Say what is under way if it takes longer than a moment, and again every few seconds."""
    start, ended = time.monotonic(), threading.Event()

    def say() -> None:
        pause = SILENCE
        while not ended.wait(pause):
            tell(f"{what}: {clock_time(time.monotonic() - start)} so far")
            pause = AGAIN_SECONDS

    thread = threading.Thread(target=say, daemon=True)
    if not quiet:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if not quiet:
            thread.join()


class LineWatch(Watch):
    """Prints a line every few seconds, also while an iteration takes longer or the result is being examined."""

    def __init__(
        self, settings: "Settings", clock: Callable[[], float] = time.monotonic, tell: Tell = tell_stderr
    ) -> None:
        super().__init__(settings, clock, tell)
        self._due = self._start + min(SILENCE, LINE_SECONDS)
        self._last: Progress | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_details: object) -> None:
        self._ended.set()
        self._thread.join()

    def __call__(self, progress: "Progress") -> None:
        """Print a line if it is time for one."""
        super().__call__(progress)
        self._last = progress
        self._line()

    def _look(self) -> None:
        while not self._ended.wait(LOOKS):
            self._line()

    def _line(self) -> None:
        with self._lock:
            now = self._clock()
            if now < self._due:
                return
            self._due = now + LINE_SECONDS
            elapsed = f"evaluating the first graphs, {clock_time(now - self._start)} so far"
            self._tell(f"search: {elapsed if self._last is None else self.words(self._last)}")


class BarWatch(Watch):
    """Shows a bar that disappears when the search ends; it only moves where there is no budget."""

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
        self._task = self._bar.add_task("evaluating the first graphs", total=None)
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
        part = self.done(progress)
        total = None if part is None else 1.0
        self._bar.update(self._task, total=total, completed=part or 0.0, description=self.words(progress))

    def interrupted(self) -> None:
        """Say what happens next; the bar goes first, so that a second Ctrl-C leaves the terminal in order."""
        self._bar.stop()
        super().interrupted()


def watch_for(settings: "Settings", *, quiet: bool, tell: Tell = tell_stderr) -> Watch:
    """Return the watch that suits where stderr leads; in a notebook, a bar."""
    if quiet:
        return Watch(settings, tell=tell)
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    is_notebook = "ipykernel" in sys.modules
    return BarWatch(settings, tell=tell) if is_terminal or is_notebook else LineWatch(settings, tell=tell)


def clock_time(seconds: float) -> str:
    """Return a time as minutes and seconds, or hours and minutes."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
