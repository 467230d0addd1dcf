"""Callbacks of the search: the record of its progress and the rules that end it early."""

import time
from collections.abc import Callable, Iterable

import numpy as np

from drbo.arrays import Floats, Ints
from drbo.deadline import Stop, Stopped
from drbo.search.outcome import Callback, Progress
from drbo.search.state import LARGEST, MOST, Fields, State
from drbo.settings import Settings


class Recorder:
    """Keeps one row per iteration: evaluations, distinct local scores, seconds, best score."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self._rows: list[tuple[int, int, float, float]] = []

    def __call__(self, progress: Progress) -> None:
        self._rows.append((progress.n_evals, progress.n_local, self.seconds, progress.best))

    def __len__(self) -> int:
        return len(self._rows)

    def start_at(self, seconds: float) -> None:
        """Go on with a search that has taken this long already."""
        self._start = self._clock() - seconds

    @property
    def seconds(self) -> float:
        """Seconds since the recorder was made; never negative."""
        return max(0.0, self._clock() - self._start)

    def capture(self) -> State:
        """Return the state: the rows."""
        return dict(self.columns())

    def restore(self, fields: Fields) -> None:
        """Set the state."""
        evals = fields.array("n_evals", np.int64, (None,), 0, MOST)
        local = fields.array("n_local", np.int64, evals.shape, 0, MOST)
        seconds = fields.array("seconds", np.float64, evals.shape, 0.0)
        best = fields.array("best", np.float64, evals.shape, -LARGEST, LARGEST)
        rows = (column.tolist() for column in (evals, local, seconds, best))
        self._rows = list(zip(*rows, strict=True))

    def columns(self) -> dict[str, Floats | Ints]:
        """Return the record as columns."""
        evals, local, seconds, best = zip(*self._rows, strict=True) if self._rows else ((), (), (), ())
        return {
            "n_evals": np.array(evals, dtype=np.int64),
            "n_local": np.array(local, dtype=np.int64),
            "seconds": np.array(seconds, dtype=np.float64),
            "best": np.array(best, dtype=np.float64),
        }


class Asked:
    """Whether callbacks ask to stop where no iterations are made; they are called every second."""

    def __init__(
        self, callbacks: Iterable[Callback], progress: Progress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._callbacks, self._progress, self._clock = list(callbacks), progress, clock
        self._due = -np.inf
        self._asked = False

    def __call__(self) -> bool:
        if not self._asked and self._clock() >= self._due:
            self._due = self._clock() + 1.0
            answers = [callback(self._progress) for callback in self._callbacks]  # all are called
            self._asked = any(answers)
        return self._asked


class Limits:
    """Ends the search at a target score, or after too long without a better score; the deadline ends it by itself."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._best = -np.inf
        self._improved_at = 0

    def capture(self) -> State:
        """Return the state: the best score so far and when it was found."""
        return {"best": float(self._best) if np.isfinite(self._best) else None, "improved_at": self._improved_at}

    def restore(self, fields: Fields) -> None:
        """Set the state."""
        self._best = fields.number("best") if fields.has("best") else -np.inf
        self._improved_at = fields.integer("improved_at")

    def __call__(self, progress: Progress) -> Stopped | None:
        settings = self.settings
        if progress.best > self._best:
            self._best, self._improved_at = progress.best, progress.iteration
        if settings.target_score is not None and progress.best >= settings.target_score:
            return Stopped(Stop.TARGET, f"target score {settings.target_score:g} reached")
        if settings.patience is not None and progress.iteration - self._improved_at >= settings.patience:
            return Stopped(Stop.PATIENCE, f"no better score in {settings.patience} iterations")
        return None
