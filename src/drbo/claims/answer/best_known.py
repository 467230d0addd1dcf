"""Takes the best graph that is known at the end of a search: the proved optimum, or one made of known families."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drbo.claims.known_margins import KnownAlternatives
from drbo.claims.likely_families import likely_families
from drbo.claims.margins import Alternatives, OtherGraphs
from drbo.constraints import Constraints
from drbo.deadline import current, no_deadline
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import MAX_NODES, FamilyTables, all_tables, compiled_work, tables_of
from drbo.search.exact.proof import Certificate, certify, certify_large, check_size, fits
from drbo.search.exact.useful_parents import Effort, enumerable
from drbo.search.outcome import Evaluated, Outcome

#: What nobody has to ask for is counted in families, states and steps, which are the same on every machine. Tables of
#: all families may take so many steps; with at most so many families (18 columns) they also give margins, other classes
#: and a posterior, each of which is several passes over all of them.
FREE_WORK, FREE_FAMILIES = 3e8, 3 * 10**6
#: What a proof by the parent sets of use may take.
FREE_EFFORT: dict[str, Any] = {"max_looked_at": 3 * 10**7, "max_kept": 10**5, "max_followed": 10**5, "group": 16}
#: Up to this many nodes tables are made of few known families; above they would hold almost nothing.
MAX_KNOWN_NODES = 16
#: Scores that differ by less, relative to their size, are the same.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class BestKnown:
    """The best graph that is known at the end of a search, and what was computed to know it, for the claims."""

    outcome: Outcome
    certificate: Certificate | None = None  # that no graph scores higher than a bound
    others: OtherGraphs | None = None  # the best ones beside it; None: they were not looked at, or time ran out


def best_known(
    outcome: Outcome,
    evaluator: Evaluator,
    constraints: Constraints,
    exact: str,
    rationed: bool,
    seconds: float = np.inf,
    stop: Callable[[], bool] = lambda: False,
) -> BestKnown:
    """Return the outcome with the optimum where it was proved, or with a better graph where families make up one.

    Parameters
    ----------
    exact : ``"on"``: score all families that the knowledge allows, whatever it takes; ``"off"``: none beyond those
        known; ``"auto"``: within a budget of families and states, by formula.
    rationed : evaluations are to be spent sparingly: ``"auto"`` then spends none.
    seconds : left for the proof of a large graph.
    stop : asked while it is made; True ends it with what is proved by then.

    An interrupt, or the deadline, ends this, not the run: what is known by then is returned.
    """
    late = current().over()
    if late and evaluator.score.n_nodes > MAX_KNOWN_NODES:
        return BestKnown(outcome)
    exact = "off" if late else exact
    with no_deadline() if late else nullcontext():  # what is known about few nodes takes a moment
        found = _best_known(BestKnown(outcome), evaluator, constraints, exact, rationed, seconds, stop)
    outcome = replace(found.outcome, n_evals=evaluator.n_evals, n_local=evaluator.n_local)
    return replace(found, outcome=outcome)


def _best_known(
    found: BestKnown,
    evaluator: Evaluator,
    constraints: Constraints,
    exact: str,
    rationed: bool,
    seconds: float,
    stop: Callable[[], bool],
) -> BestKnown:
    try:
        best = found.outcome.best
        tables = _tables(evaluator, best, constraints, exact, rationed)
        proof = None
        if tables is None:
            proof = _proof(evaluator, best, constraints, exact, rationed, seconds, _stopped_by(stop))
        elif tables.complete and exact != "off":
            proof = certify(tables, evaluator, constraints, best)
        if proof is not None and proof.best.scores[0] > best.scores[0] + proof.tolerance:
            found = _replaced(found, proof.best, "exact")
        found = replace(found, certificate=proof)
        if tables is not None and evaluator.score.n_nodes > MAX_NODES:
            tables, spend = None, True
        else:
            spend = exact != "off" and not rationed
        found = _assembled(found, evaluator, constraints, tables, spend)
    except KeyboardInterrupt:  # an OutOfTimeError among others
        pass
    return found


def _replaced(found: BestKnown, best: Evaluated, found_by: str) -> BestKnown:
    return replace(found, outcome=replace(found.outcome, best=best, found_by=found_by))


def _tables(
    evaluator: Evaluator, best: Evaluated, constraints: Constraints, exact: str, rationed: bool
) -> FamilyTables | None:
    d = evaluator.score.n_nodes
    if exact == "on" and fits(evaluator.score, evaluator.settings.max_memory):
        return all_tables(evaluator, constraints)
    if exact == "on":
        check_size(evaluator.score, evaluator.settings.max_memory)
        return None
    if exact == "auto" and not rationed and _is_free(evaluator) and d << (d - 1) <= FREE_FAMILIES:
        return all_tables(evaluator, constraints)
    if d > MAX_KNOWN_NODES:
        return None
    if exact == "off" or rationed:
        return tables_of(evaluator.known()[0], evaluator, constraints)
    level = evaluator.score.level_of(best.local[0])
    return tables_of(likely_families(evaluator, constraints, best.dags[0], level), evaluator, constraints)


def _is_free(evaluator: Evaluator) -> bool:
    """Tell whether tables of all families are made unasked; those of splines for up to 12 columns."""
    score = evaluator.score
    work = compiled_work(score)
    if (each := score.family_work()) is not None:
        work = score.n_nodes * 2.0 ** (score.n_nodes - 1) * each
    return work is not None and work <= FREE_WORK


def _stopped_by(stop: Callable[[], bool]) -> Callable[[], float]:
    """Return a clock on which all time is over when somebody asks to stop."""
    return lambda: np.inf if stop() else time.monotonic()


def _proof(
    evaluator: Evaluator,
    best: Evaluated,
    constraints: Constraints,
    exact: str,
    rationed: bool,
    seconds: float,
    clock: Callable[[], float],
) -> Certificate | None:
    """Return a bound by the parent sets of use, where tables of all families are too large; unasked only a proof."""
    listed = enumerable(evaluator.score) is not None
    if exact == "off" or (exact == "auto" and rationed) or (exact == "on" and not listed):
        return None
    if exact == "on":
        memory = evaluator.settings.max_memory * 2**30
        room = {"max_kept": int(memory / 256), "max_states": int(memory / 64)}
        effort = Effort(time.monotonic() + seconds, clock=clock, **room)
        return certify_large(evaluator, constraints, best, effort)
    if evaluator.score.level_of(best.local[0]) is not None:  # many levels to solve
        return None
    if listed:
        effort = Effort(time.monotonic() + seconds, clock=clock, **FREE_EFFORT)
        proof = certify_large(evaluator, constraints, best, effort)
        if proof is not None and proof.upper_bound <= proof.best.scores[0] + proof.tolerance:
            return proof
    return certify(all_tables(evaluator, constraints), evaluator, constraints, best) if _is_free(evaluator) else None


def _assembled(
    found: BestKnown, evaluator: Evaluator, constraints: Constraints, tables: FamilyTables | None, spend: bool
) -> BestKnown:
    """Take better graphs that are made of known families, as long as there are any, and look around the last one.

    Where there are no tables of families, the likely ones are looked at; unless they may be scored (``spend``), those
    that are known.
    """
    while True:
        best = found.outcome.best
        dag, level = best.dags[0], evaluator.score.level_of(best.local[0])
        others: OtherGraphs
        if tables is not None:
            others = Alternatives(tables, evaluator.score, dag, level)
        else:
            likely = likely_families(evaluator, constraints, dag, level) if spend else None
            others = KnownAlternatives(evaluator, dag, level, likely)
        if (better := _better(others, evaluator, best)) is None:
            return replace(found, others=others)
        found = _replaced(found, better, "recombination")


def _better(others: OtherGraphs, evaluator: Evaluator, best: Evaluated) -> Evaluated | None:
    """Return the best class made of known families where it beats the best DAG of the search: it costs nothing."""
    if not evaluator.settings.parts.recombine:
        return None
    top = max(others.classes, key=lambda other: other.score)
    better = evaluator.evaluate_one(top.dag)
    return better if better.scores[0] > best.scores[0] + abs(best.scores[0]) * ROUNDING else None
