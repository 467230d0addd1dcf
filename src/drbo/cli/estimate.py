"""``drbo fit --dry-run``: estimates the time and memory of a fit from the first iterations of the search."""

import json
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drbo.cli.progress import clock_time
from drbo.deadline import Deadline
from drbo.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

    from drbo.search.outcome import Progress

#: The trial ends after so many iterations, or so many seconds.
TRIAL_ITERATIONS, TRIAL_SECONDS = 8, 20.0
#: The first iterations compile and train on few rows: they say nothing about the pace.
SKIPPED = 3
#: Bytes that a known local score takes: its key, its value and their places in the cache.
BYTES_PER_LOCAL = 250
ENDED = "dry run"
#: What follows a search, or is written beside it, is no part of the trial.
SEARCH_ALONE: dict[str, Any] = {"prune": "none", "exact": False, "checkpoint": None}


@dataclass
class Trial:
    """A callback that watches the first iterations and then stops the search."""

    start: float = field(default_factory=time.monotonic)
    seconds: list[float] = field(default_factory=list)
    evals: list[int] = field(default_factory=list)
    local: list[int] = field(default_factory=list)
    limit: int | None = None
    nodes: int = 0

    def __call__(self, progress: "Progress") -> str | None:
        self.seconds.append(time.monotonic() - self.start)
        self.evals.append(progress.n_evals)
        self.local.append(progress.n_local)
        self.limit, self.nodes = progress.limit, len(progress.best_dag)
        return ENDED if len(self.seconds) >= TRIAL_ITERATIONS else None

    @property
    def pace(self) -> tuple[float, float, float]:
        """Seconds and new local scores per evaluation, and seconds per iteration, once the search is under way."""
        first = min(SKIPPED, len(self.seconds) - 1) if len(self.seconds) > 1 else 0
        seconds, evals = self.seconds[-1], self.evals[-1]
        local, iterations = self.local[-1], len(self.seconds)
        if first:
            seconds -= self.seconds[first - 1]
            evals -= self.evals[first - 1]
            local -= self.local[first - 1]
            iterations -= first
        return seconds / max(1, evals), local / max(1, evals), seconds / max(1, iterations)


@dataclass(frozen=True)
class Estimate:
    """What a fit will take; ``open_ended``: it stops by itself, and takes at least this."""

    iterations: int
    evals: int | None
    local: int
    seconds: float
    memory: float  # GiB
    device_memory: float  # GiB on a GPU
    open_ended: bool

    def lines(self) -> str:
        """Return the estimate in words."""
        device = f", {self.device_memory:.1f} GiB on the GPU" if self.device_memory else ""
        at_least = "at least " if self.open_ended else "about "
        work = (
            f"ends after {self.iterations:,} climbs without a better score"
            if self.open_ended
            else (
                f"{self.evals:,} evaluations in about {self.iterations:,} iterations, "
                f"at most about {self.local:,} local scores"
            )
        )
        return (
            f"dry run: nothing was saved\n  search  {work}\n  time    {at_least}{clock_time(self.seconds)}, not "
            f"counting pruning and the proof of optimality\n  memory  about {self.memory:.1f} GiB{device}"
        )

    def as_json(self) -> str:
        """Return the estimate as one JSON object."""
        content = {
            "dry_run": True,
            "evaluations": self.evals,
            "iterations": self.iterations,
            "local_scores": self.local,
            "seconds": round(self.seconds, 1),
            "memory_gib": round(self.memory, 2),
            "device_memory_gib": round(self.device_memory, 2),
            "at_least": self.open_ended,
        }
        return json.dumps(content)


def estimate(frame: "pd.DataFrame", arguments: dict[str, Any]) -> Estimate:
    """Run the first iterations of a fit and extend them to its end."""
    from drbo.estimator import DrBO
    from drbo.search.orders.search import abreast

    settings = arguments.get("settings") or Settings.preset(arguments.get("preset", "default"))
    trial = Trial()
    with Deadline(TRIAL_SECONDS):
        DrBO(**{**arguments, **SEARCH_ALONE}, callbacks=[trial]).fit(frame)
    if not trial.seconds:  # not one iteration was finished
        return Estimate(1, None, 0, _limited(TRIAL_SECONDS, arguments, settings), *_peaks(), True)
    per_eval, local_per_eval, per_iteration = trial.pace
    if trial.limit is None:
        climbs = 2 // abreast(trial.nodes) * (settings.order_patience + 1)  # two searches that agree, at least
        seconds = trial.seconds[-1] + per_iteration * max(0, climbs - len(trial.seconds))
        return Estimate(climbs, None, trial.local[-1], _limited(seconds, arguments, settings), *_peaks(), True)
    left = max(0, trial.limit - trial.evals[-1])
    iterations = len(trial.seconds) + round(left * per_eval / max(per_iteration, 1e-9))
    new_local = int(left * local_per_eval)
    seconds = _limited(trial.seconds[-1] + left * per_eval, arguments, settings)
    growth = (left * trial.nodes * (4 + trial.nodes / 8) + new_local * BYTES_PER_LOCAL) / 2**30
    memory, device_memory = _peaks()
    local = trial.local[-1] + new_local
    return Estimate(iterations, trial.limit, local, seconds, memory + growth, device_memory, open_ended=False)


def _limited(seconds: float, arguments: dict[str, Any], settings: Settings) -> float:
    """Return the seconds, cut at the time limit."""
    limit = arguments.get("time_limit", settings.time_limit)
    return seconds if limit is None else min(seconds, float(limit))


def _peaks() -> tuple[float, float]:
    """Return the GiB that this process has held at most, in memory and on a GPU."""
    torch = sys.modules.get("torch")  # not loaded: no GPU was used
    device = torch.cuda.max_memory_reserved() / 2**30 if torch and torch.cuda.is_initialized() else 0.0
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts the process that started this one, where that was larger
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 2**20, device
    unit = 2**30 if sys.platform == "darwin" else 2**20  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, device
