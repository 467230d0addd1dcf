"""The conformance tests for searches: what every :class:`~drbo.search.base.Search` promises, whatever its rounds do."""

import io
import pickle
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from drbo.constraints import Constraints
from drbo.data.files.files import npz_bytes, stored_archive
from drbo.errors import ContractError
from drbo.knowledge import Knowledge
from drbo.scores.base import Score
from drbo.search.base import Search
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.outcome import Callback, Outcome, Progress
from drbo.search.state import Fields, pack
from drbo.settings import Settings

#: Builds a search of a score within constraints, from a seed.
NewSearch = Callable[[Score, Settings, Constraints, int], Search]


def check_search(new: NewSearch, score: Score, *, rounds: int = 6, seed: int = 0) -> Outcome:
    """Check that a search keeps its contract on a score of at least three columns, or raise a ContractError.

    It makes at most so many ``rounds``. The search must return a DAG that obeys the knowledge, with the score that this
    DAG has; never lose a better DAG; find the same again from the same seed, without touching the global random state;
    and, when it is saved after its first or second round and restored, end as if it had not been.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> from drbo.scores.registry import build_score
    >>> from drbo.search.strategy import new_search
    >>> score = build_score("bic-nv", Statistics.from_array(np.random.default_rng(0).normal(size=(60, 4))))
    >>> def surrogate(score, settings, constraints, seed):
    ...     return new_search(score, settings.with_(route="surrogate"), constraints=constraints, seed=seed)
    >>> check_search(surrogate, score, rounds=2).best.dags.shape
    (1, 4, 4)
    """
    first, second, last = score.names[0], score.names[1], score.names[-1]
    known = Knowledge(required=[(last, first)], forbidden=[(first, second)], max_parents=2)
    constraints = Constraints.of(known, score.names)

    def fresh() -> Search:
        return new(score, Settings(), constraints, seed)

    before = _global_state()
    seen = list[Progress]()
    outcome = fresh().run([seen.append, _until(rounds)])
    _check_outcome(outcome, seen, score, constraints)
    if not same(outcome, fresh().run([_until(rounds)])):
        raise ContractError("the search finds another DAG from the same seed", hint="draw from one seeded generator")
    for done in range(1, min(3, len(seen))):
        broken = fresh()
        broken.run([_until(done)])
        if not same(outcome, restored(fresh(), saved(broken)).run([_until(rounds)])):
            raise ContractError(f"a search that is saved after round {done} and restored ends at another DAG")
    if before != _global_state():
        raise ContractError("the search draws from the global random state", hint="draw from a seeded generator")
    return outcome


def same(one: Outcome, other: Outcome) -> bool:
    """Tell whether two searches ended at the same DAG, bit by bit."""
    return all(np.array_equal(getattr(one.best, part), getattr(other.best, part)) for part in ("dags", "scores"))


def saved(search: Search) -> bytes:
    """Return the state of a search as the bytes of a file."""
    return npz_bytes(pack(search.capture()))


def restored(search: Search, content: bytes) -> Search:
    """Return a new search in the state that a file holds."""
    fields = Fields.of(stored_archive(io.BytesIO(content), "state.npz"), "state.npz")
    search.restore(fields)
    fields.finish()
    return search


def _until(rounds: int) -> Callback:
    return lambda progress: "enough" if progress.iteration >= rounds else None


def _global_state() -> bytes:
    return pickle.dumps(np.random.get_state())  # noqa: NPY002 - that nobody draws from it is what is checked


def _check_outcome(outcome: Outcome, seen: list[Progress], score: Score, constraints: Constraints) -> None:
    """Compare what a search says with what its DAG is."""
    dag, value = outcome.best.dags[0], float(outcome.best.scores[0])
    if broken := constraints.violations(dag):
        raise ContractError(f"the search breaks the knowledge: {broken[0]}")
    true = float(Evaluator(score, Settings()).evaluate_one(dag).scores[0])
    if not np.isclose(value, true, rtol=1e-9):
        raise ContractError(f"the search says that its DAG scores {value:g}, but it scores {true:g}")
    best = [each.best for each in seen] + [value]
    if any(after < earlier for earlier, after in pairwise(best)):
        raise ContractError("the search lost a better DAG that it had found")
