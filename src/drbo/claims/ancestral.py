"""The answer of a search that allows hidden causes: an ancestral graph, and what tests say about its marks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.claims.record import AncestralRecord
from drbo.constraints import Constraints
from drbo.deadline import OutOfTimeError, no_deadline
from drbo.errors import KnowledgeError
from drbo.graph.dag import descendants
from drbo.graph.mag import Mag
from drbo.graph.marks import CIRCLE, NO_EDGE, Marks
from drbo.graph.pag import pag_of
from drbo.scores.base import Score
from drbo.search.ancestral.climb import LEAST_GAIN, WALKS, Climbed, climb, obeying
from drbo.search.ancestral.gfci import PartialCorrelations, second_opinion
from drbo.search.ancestral.listing import MOST_COLUMNS, REACH, proved
from drbo.search.ancestral.ricf import DistrictScores
from drbo.search.ancestral.rivals import losses_of_marks

#: Tests at all levels must find a mark that is called supported, and other marks must cost half the penalty of an edge;
#: docs/evidence/hidden.md has how often such causes are true.
LEVELS = (0.0001, 0.001, 0.01, 0.05)


def known_causes(constraints: Constraints) -> tuple[Bools, Bools]:
    """Return what knowledge says about ancestors: (d, d) i is no cause of j; i is a cause of j.

    Where causes may be hidden, a forbidden edge says that one column does not cause the other, not even through other
    columns; tiers, roots, leaves and context likewise. A required edge says that one column causes the other, directly
    or not. A largest number of parents says nothing about causes.
    """
    unlimited = replace(constraints.knowledge, max_parents=None)
    allowed = Constraints.of(unlimited, constraints.names).allowed
    never = ~allowed & ~np.eye(len(allowed), dtype=bool)
    clash = np.argwhere(descendants(constraints.required) & never)
    if len(clash):
        first, second = (constraints.names[node] for node in clash[0])
        raise KnowledgeError(
            f"the required edges make '{first}' a cause of '{second}', which is forbidden",
            hint="with hidden causes, a forbidden edge says that one column does not cause the other at all",
        )
    return never, constraints.required


@dataclass(frozen=True, eq=False)
class Ancestral:
    """A maximal ancestral graph that was found from a DAG, and with which scores."""

    scores: DistrictScores
    found: Climbed
    lead: float | None  # of few columns: every graph of another class scores at least so much less


def ancestral_graph(
    score: Score,
    dag: Bools,
    constraints: Constraints,
    seed: int,
    walks: int = WALKS,
    least: float = LEAST_GAIN,
    reach: float = 0.0,
) -> Ancestral:
    """Climb from the best DAG to a maximal ancestral graph; on few columns, compare it with all others.

    ``least`` and ``reach`` are those of :func:`drbo.search.ancestral.listing.proved`.

    Examples
    --------
    >>> from drbo.scores.linear import BicNV
    >>> score = BicNV.from_covariance([[1.0, 0.8], [0.8, 1.0]], 100)
    >>> found = ancestral_graph(score, np.array([[False, True], [False, False]]), Constraints.none(2), 0)
    >>> found.found.gain, round(found.lead, 2)
    (0.0, 0.0)
    """
    never, required = known_causes(constraints)
    scores = DistrictScores.of(score, never)
    found = climb(scores, dag, seed, required=required, walks=walks)
    if len(dag) > MOST_COLUMNS or not found.whole:
        return Ancestral(scores, found, None)
    try:
        best = proved(scores, found.graph, required, least, reach)
    except OutOfTimeError:
        return Ancestral(scores, found, None)
    return Ancestral(scores, replace(found, graph=best.graph, gain=found.gain + best.gain), best.lead)


def ancestral_answer(score: Score, dag: Bools, constraints: Constraints, seed: int) -> AncestralRecord:
    """Find a maximal ancestral graph, and ask a second method about its marks.

    Examples
    --------
    >>> from drbo.scores.linear import BicNV
    >>> score = BicNV.from_covariance([[1.0, 0.8], [0.8, 1.0]], 100)
    >>> found = ancestral_answer(score, np.array([[False, True], [False, False]]), Constraints.none(2), 0)
    >>> found.gain, found.second.tolist()
    (0.0, [[0, 1], [1, 0]])
    """
    try:
        answer = ancestral_graph(score, dag, constraints, seed, reach=REACH)
    except OutOfTimeError:
        return unclimbed(score, dag, constraints)
    graph, scores, required = answer.found.graph, answer.scores, constraints.required
    try:
        tests = PartialCorrelations(scores.correlation, scores.n_rows)
        second = common_marks([second_opinion(dag, tests, alpha) for alpha in LEVELS])
        close = _close(answer, losses_of_marks(scores, graph, pag_of(graph), required))
    except OutOfTimeError:
        return _unconfirmed(graph, answer.found.gain)
    return AncestralRecord(
        directed=graph.directed,
        bidirected=graph.bidirected,
        gain=answer.found.gain,
        second=second,
        whole=answer.found.whole,
        lead=answer.lead,
        close=close,
    )


def unclimbed(score: Score, dag: Bools, constraints: Constraints) -> AncestralRecord:
    """Return the answer where there was no time to climb: the best DAG, none of whose marks is confirmed."""
    never, required = known_causes(constraints)
    with no_deadline():
        graph = obeying(DistrictScores.of(score, never), dag, required)
    return _unconfirmed(graph, 0.0)


def _unconfirmed(graph: Mag, gain: float) -> AncestralRecord:
    """Return a graph whose marks no test was asked about."""
    second = np.where(graph.adjacent, CIRCLE, NO_EDGE).astype(np.int8)
    return AncestralRecord(
        directed=graph.directed, bidirected=graph.bidirected, gain=gain, second=second, whole=False,
        close=graph.adjacent,
    )  # fmt: skip


def _close(answer: Ancestral, losses: Floats) -> Bools:
    """Return (d, d) the edges whose marks the score does not confirm: others cost little, or none could be compared."""
    close = losses < LEAST_GAIN * answer.scores.price
    return close if answer.lead is not None else close | np.isinf(losses)


def common_marks(opinions: Sequence[Marks]) -> Marks:
    """Return the marks on which all agree; a circle where they do not, and no edge where one has none.

    Examples
    --------
    >>> common_marks([np.array([[0, 2], [3, 0]]), np.array([[0, 2], [2, 0]])]).tolist()
    [[0, 2], [1, 0]]
    """
    first, stack = opinions[0], np.stack(opinions)
    agreed = np.where((stack == first).all(axis=0), first, CIRCLE)
    return np.where((stack != NO_EDGE).all(axis=0), agreed, NO_EDGE).astype(np.int8)
