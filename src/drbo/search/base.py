"""What all searches have in common: they improve a best DAG in rounds until there is a reason to stop."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from drbo.constraints import Constraints
from drbo.deadline import INTERRUPTED, Deadline, OutOfTimeError, Stop, Stopped, search_time
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.outcome import Callback, Evaluated, Outcome, Progress
from drbo.search.state import Fields, State
from drbo.settings import Settings


class Search(ABC):
    """A search that can be run, saved between two rounds, and resumed.

    A subclass makes one round at a time and keeps the best DAG in ``best``.
    """

    def __init__(self, evaluator: Evaluator, settings: Settings, constraints: Constraints) -> None:
        self.evaluator, self.settings, self.constraints = evaluator, settings, constraints
        self.best: Evaluated | None = None
        self.found_by = ""
        self.rounds = 0
        self.whole = True  # False: interrupted within a round, not to be saved
        self.deadline = Deadline()  # another one in each run

    @abstractmethod
    def make_round(self) -> None:
        """Improve the best DAG, or try to."""

    @abstractmethod
    def finished(self) -> Stopped | None:
        """Return why no further round is needed; None: one is."""

    @abstractmethod
    def capture(self) -> State:
        """Return the state between two rounds."""

    @abstractmethod
    def restore(self, fields: Fields) -> None:
        """Set the state."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say beside the best DAG."""
        return ()

    @property
    def ends(self) -> tuple[Evaluated, ...]:
        """Where searches from several starts ended."""
        return ()

    def prepare(self) -> None:  # noqa: B027 - most searches have nothing to load
        """Load what the time of the search should not count."""

    def release(self) -> None:  # noqa: B027 - or to forget
        """Forget what only makes the next round quicker."""

    def fall_back(self) -> Evaluated:
        """Return the answer of a search that had no time for its first round."""
        return self.evaluator.evaluate_one(self.constraints.required)

    def run(self, callbacks: Iterable[Callback] = ()) -> Outcome:
        """Make rounds until the search is finished, a callback ends it, or the time is over.

        An interrupt (Ctrl-C) ends the search with the best DAG so far, once there is one.
        """
        self.prepare()
        with search_time(self.settings.time_limit) as self.deadline:
            self.deadline.promise()
            try:
                stopped = self._until_stopped(list(callbacks))
            except OutOfTimeError as error:
                self.whole = False
                stopped = self.deadline.reason or Stopped(Stop.TIME_LIMIT, str(error))
            except KeyboardInterrupt:
                self.whole = False
                if self.best is None:
                    raise
                stopped = INTERRUPTED
            finally:
                self.release()
        if self.best is None:
            self.best = self.fall_back()
        spent = self.evaluator.n_evals, self.evaluator.n_local
        return Outcome(self.best, self.found_by, *spent, *stopped, self.evaluator.fidelities, self.notes, self.ends)

    def _until_stopped(self, callbacks: list[Callback]) -> Stopped:
        stopped = self.finished() if self.rounds else None  # a saved search may have been finished
        while stopped is None:
            self.make_round()
            self.rounds += 1
            self.deadline.least = 0.0  # there is a graph
            stopped = self._told(callbacks) or self.finished() or self.deadline.reason
        return stopped

    def _told(self, callbacks: list[Callback]) -> Stopped | None:
        """Show the progress to every callback; the first reason to stop counts."""
        if self.best is None:
            return None
        evaluator = self.evaluator
        score, dag = float(self.best.scores[0]), self.best.dags[0].copy()  # a callback may keep or change it
        progress = Progress(self.rounds, evaluator.n_evals, evaluator.n_local, score, dag, evaluator.budget.max_evals)
        reasons = [callback(progress) for callback in callbacks]
        reason = next((reason for reason in reasons if reason), None)
        return reason if reason is None or isinstance(reason, Stopped) else Stopped(Stop.CALLBACK, str(reason))
