"""The answer of a fit: the best DAG of the search, after the stages that may still change it.

A proof, or families that are known already, may give a better DAG; weak edges are pruned where that was asked for; and
of graphs that tie, the one is drawn that agrees with the noise check. After that, claims only read the answer.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from drbo.arrays import Bools
from drbo.claims.ancestral import ancestral_answer
from drbo.claims.answer.best_known import BestKnown, best_known
from drbo.claims.answer.class_member import agreeing_member, first_member, same_score
from drbo.claims.answer.prune import BY_MOMENTS, prune
from drbo.claims.checks.noise_check import noise_checks
from drbo.claims.claim import MAX_EDGES, Inquiry
from drbo.claims.experiments import experiment_record
from drbo.claims.margins import OtherGraphs
from drbo.claims.record import AncestralRecord, CheckedEdge, ExperimentRecord
from drbo.claims.why import mpdag
from drbo.deadline import OutOfTimeError, current, finishing
from drbo.scores.families import Families
from drbo.search.exact.proof import Certificate
from drbo.search.outcome import Outcome

#: What a run leaves out when the time is over.
NO_TIME_FOR_A_BOUND = "no bound was found before time ran out; raise time_limit"
NOT_DRAWN = (
    "the graph that is drawn is an arbitrary one of those with the same score: time ran out before they were compared"
)
NO_TARGETS = "the targets of the experiments were not found: time ran out"
NO_PRUNING = "weak edges were not removed: time ran out before they were tested"
#: What a run says that was asked for a proof and has none.
NO_BOUND = (
    "no bound was found, because too many parent sets can be part of a best graph; lower max_parents in the "
    "knowledge, raise max_memory or time_limit, or raise the penalty of the score"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """A DAG, and what its stages found on the way; columns are in canonical order."""

    outcome: Outcome  # of the search: the best DAG before pruning
    dag: Bools  # (d, d) the answer
    score: float  # of dag
    certificate: Certificate | None = None  # that no graph scores higher than a bound
    others: OtherGraphs | None = None  # the best graphs beside the best one before pruning, where they were looked at
    pruner: str = "none"
    checks: tuple[CheckedEdge, ...] | None = None  # the noise checks of dag, where a stage made them
    experiments: ExperimentRecord | None = None  # what each experiment changes, where rows come from several
    ancestral: AncestralRecord | None = None  # the graph that allows hidden causes, where that was asked for
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, outcome: Outcome) -> "Answer":
        """Return the best DAG of a search as it is."""
        return cls(outcome=outcome, dag=outcome.best.dags[0], score=float(outcome.best.scores[0]))


Stage = Callable[[Answer, Inquiry], Answer]


def improved(answer: Answer, inquiry: Inquiry) -> Answer:
    """Take the optimum where it is proved, and a better DAG of known families where there is one."""
    evaluator, outcome, notes = inquiry.evaluator, answer.outcome, list[str]()
    with suppress(OutOfTimeError), finishing():
        if (doubt := evaluator.doubt(outcome.best)) is not None:
            warnings.warn(doubt, stacklevel=2)
            notes.append(doubt)
    exact = "off" if outcome.stop.cut_short else inquiry.settings.exact  # the user or the clock ended it
    found = BestKnown(outcome)
    if inquiry.settings.claims or exact != "off":
        left = current().left()
        found = best_known(outcome, evaluator, inquiry.limits, exact, inquiry.rationed, left, inquiry.stop)
    if exact == "on" and found.certificate is None:
        notes.append(NO_TIME_FOR_A_BOUND if current().over() else NO_BOUND)
        warnings.warn(notes[-1], stacklevel=2)
    best = {"dag": found.outcome.best.dags[0], "score": float(found.outcome.best.scores[0])}
    return replace(answer, **vars(found), notes=(*answer.notes, *notes), **best)


def pruned(answer: Answer, inquiry: Inquiry) -> Answer:
    """Remove weak edges, where the score or the user wants that."""
    pruner, table, evaluator = inquiry.pruner, inquiry.table, inquiry.evaluator
    if pruner == "none":
        return answer
    data = table.rows_or_moments if pruner in BY_MOMENTS else table.values
    required, threshold = inquiry.constraints.required, inquiry.settings.prune_threshold
    try:
        kept, _ = prune(pruner, data, answer.dag, required=required, threshold=threshold)
        local = evaluator.families(Families.from_dags(kept[None]))[None]
    except OutOfTimeError:
        return replace(answer, notes=(*answer.notes, NO_PRUNING))
    return replace(answer, dag=kept, score=float(evaluator.scores(kept[None], local)[0]), pruner=pruner)


def drawn(answer: Answer, inquiry: Inquiry) -> Answer:
    """Draw the member of the class that agrees with the noise check, where the score ties all members."""
    may_turn = answer.pruner == "none" and inquiry.score.score_equivalent and not inquiry.rationed
    testable = 0 < answer.dag.sum() <= MAX_EDGES and inquiry.control.n_rows
    if inquiry.hidden or not may_turn or not testable:
        return answer
    ties = partial(same_score, inquiry.evaluator, answer.dag)
    try:
        asked = _in_question(answer, inquiry)
        check = partial(noise_checks, inquiry.tests, regression=inquiry.score.regression, asked=asked)
        first = first_member(answer.dag, inquiry.constraints, ties)
        member, checks = agreeing_member(first, check(first), inquiry.constraints, check, ties)
    except OutOfTimeError:
        return replace(answer, notes=(*answer.notes, NOT_DRAWN))
    answer = replace(answer, checks=checks)
    if (member == answer.dag).all():
        return answer
    evaluator, before = inquiry.evaluator, answer.outcome
    best = replace(evaluator.evaluate_one(member), scores=before.best.scores)  # equal but for rounding
    outcome = replace(before, best=best, n_evals=evaluator.n_evals, n_local=evaluator.n_local)
    return replace(answer, outcome=outcome, dag=member)


def _in_question(answer: Answer, inquiry: Inquiry) -> Bools | None:
    """Return the pairs whose checks matter: those that are asked about, or open in the class; None: all."""
    if inquiry.asked is None:
        return None
    graph = mpdag(answer.dag, inquiry.constraints)
    return inquiry.asked | (graph & graph.T)


def targeted(answer: Answer, inquiry: Inquiry) -> Answer:
    """Find what each experiment changes, which is a part of the answer."""
    try:
        return replace(answer, experiments=experiment_record(inquiry.score, inquiry.table, answer.dag))
    except OutOfTimeError:
        return replace(answer, notes=(*answer.notes, NO_TARGETS))


def ancestral(answer: Answer, inquiry: Inquiry) -> Answer:
    """Climb from the best DAG to a graph that allows hidden causes, where that was asked for."""
    if not inquiry.hidden:
        return answer
    dag = answer.outcome.best.dags[0]
    return replace(answer, ancestral=ancestral_answer(inquiry.score, dag, inquiry.constraints, inquiry.seed))


#: What follows :func:`improved`, in this order; all of it shares the time that is left to finish.
STAGES: tuple[Stage, ...] = (pruned, drawn, targeted, ancestral)
