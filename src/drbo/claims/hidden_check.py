"""Where is a hidden cause likely? Cheap signs in the best DAG of a linear score.

Two signs. The score rises when an edge becomes two-headed and the rest of the graph adapts
(:func:`drbo.claims.ancestral.ancestral_graph`, with few walks on many columns). And one hidden factor explains four
columns that are all linked to each other about as well as their six edges do. Both are silent on most tables without a
hidden cause, and both miss many hidden causes: silence proves nothing.

So the class supports an arrow only if tests that allow hidden causes find it too
(:func:`drbo.search.ancestral.gfci.second_opinion`) and no column of the graph causes both of its ends: a hidden cause
of b and c, beside a -> b, makes a DAG draw b -> c and a -> c. On tables with hidden causes and seeds not reported
(linear ones of ``directions``, ``hidden``) that keeps 286 of 545 right and 24 of 192 wrong class arrows, on the
benchmark ``confounder`` 63 of 344 and 2 of 105; without hidden causes 375 of 548, all of them right. Of the 63 right
ones 46, and of the 2 wrong ones one, have a circle at the cause in the PAG of the truth: no number of rows tells them
apart. To ask for a tail there would leave 14 and 0 (85 of 262 on tables of ``hidden`` without hidden causes), four
levels of the tests instead of one 34 and 1 (241 of 262), a loss of a whole price with other marks 53 and 1 (165 of
262).
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.claims.ancestral import ancestral_graph
from drbo.claims.claim import Context, Ruling
from drbo.claims.noise_check import MAX_EDGES
from drbo.claims.record import Denial, Ground
from drbo.constraints import Constraints
from drbo.data.statistics.table import Table
from drbo.errors import ScoreError
from drbo.graph.dag import dag_to_cpdag
from drbo.graph.mag import ARROW
from drbo.scores.base import Score
from drbo.scores.registry import score_class
from drbo.search.ancestral.climb import LEAST_GAIN, WALKS
from drbo.search.ancestral.gfci import second_opinion
from drbo.search.ancestral.ricf import DistrictScores

#: Larger tables are not looked at, and this many columns get one walk of the climb: the check must stay a fraction of
#: the fit.
MOST_COLUMNS = 100
#: Sets of four linked columns that are looked at.
MOST_CLIQUES = 200
#: Six edges have two parameters more than one factor with four effects.
FEWER_PARAMETERS = 2
#: What is said about an edge at which a hidden cause is likely.
DOUBT = "The class has this direction, but a hidden cause is likely here: with one, the score is higher."
#: What is said where a graph with a hidden cause is hardly better.
POSSIBLE = "The class has this direction, but a graph with a hidden cause here fits as well."
#: What is said where tests do not agree with the class, or something in the graph causes both.
UNCONFIRMED = "The class has this direction, but a hidden cause of both columns is not excluded."


class Suspects(NamedTuple):
    """The edges of a DAG at which there may be a hidden cause."""

    likely: Bools  # (d, d) the score gains at least half the price of an edge
    possible: Bools  # (d, d) it gains, but less than that
    unconfirmed: Bools  # (d, d) tests do not find the arrow of the class, or its ends have a common cause


def suspected(
    score: Score,
    dag: Bools,  # (d, d) the best DAG
    seed: int,
    table: Table | None = None,  # whose correlations are tested if the score holds none
) -> Suspects:
    """Return the edges of a DAG at which a hidden cause is likely, possible or not excluded; none for other scores.

    Examples
    --------
    >>> from drbo.scores.linear import BicNV
    >>> score = BicNV.from_covariance([[1.0, 0.8], [0.8, 1.0]], 100)
    >>> bool(suspected(score, np.array([[False, True], [False, False]]), 0).likely.any())
    False
    """
    found, none, unconfirmed = np.zeros_like(dag), np.zeros_like(dag), _unconfirmed(score, dag, table)
    if len(dag) > MOST_COLUMNS or not dag.any():
        return Suspects(found, none, unconfirmed)
    try:
        walks = min(WALKS, MOST_COLUMNS // len(dag))
        answer = ancestral_graph(score, dag, Constraints.none(len(dag)), seed, walks, least=0.0)
    except ScoreError:  # no linear score, or collinear columns
        return Suspects(found, none, unconfirmed)
    scores, graph = answer.scores, answer.found.graph
    other = dag & (graph.bidirected | ~graph.adjacent) if graph.bidirected.any() else none
    is_likely = answer.found.gain > LEAST_GAIN * scores.price
    found = other.copy() if is_likely else found
    linked = dag | dag.T
    for clique in islice(_cliques(linked), MOST_CLIQUES):
        if _is_one_factor(scores, dag, clique):
            found[np.ix_(clique, clique)] |= dag[np.ix_(clique, clique)]
    return Suspects(found, other & ~found, unconfirmed & ~other & ~found)


def _unconfirmed(score: Score, dag: Bools, table: Table | None) -> Bools:
    """Return the arrows of the class that tests which allow hidden causes do not find, or whose ends share a cause."""
    class_arrows = dag & ~dag_to_cpdag(dag).T
    linear = score.gaussian()
    by_table = score.regression in ("splines", "ranks") or ("moments" in score.needs and not score.linear_weights)
    if linear is None and by_table and table is not None:  # it looks at linear relations too, but keeps none
        linear = score_class("bic-nv")(table).gaussian()
    if linear is None or dag.sum() > MAX_EDGES:
        return class_arrows & False
    marks = second_opinion(dag, linear.correlation, linear.n_rows)
    share = dag.T.astype(np.int64) @ dag > 0
    return np.asarray(class_arrows & ((marks != ARROW) | (marks.T == ARROW) | share))


class HiddenCauses:
    """The claim that no hidden cause is likely at an arrow of the class."""

    name, title = "hidden causes", "The search for hidden causes"
    after: tuple[str, ...] = ()
    denies: tuple[Ground, ...] = ("class",)

    def relevant(self, context: Context) -> bool:
        return not context.inquiry.hidden and bool(context.answer.dag.any())

    def too_much(self, context: Context) -> str:
        return ""

    def run(self, context: Context) -> Ruling:
        inquiry, names = context.inquiry, context.table.names
        suspects = suspected(inquiry.score, context.answer.dag, inquiry.seed, inquiry.table)
        return Ruling(suspects, doubts(suspects, names))


def doubts(suspects: Suspects, names: Sequence[str]) -> tuple[Denial, ...]:
    """Return what speaks against the arrows at which there may be a hidden cause.

    Examples
    --------
    >>> edge = np.array([[False, True], [False, False]])
    >>> doubts(Suspects(edge, ~edge & False, ~edge & False), ["a", "b"])[0].likely
    True
    """
    found: dict[tuple[int, int], Denial] = {}
    for words, marked in zip((DOUBT, POSSIBLE, UNCONFIRMED), suspects, strict=True):
        for i, j in np.argwhere(marked).tolist():
            told: dict[str, Any] = {"cause": names[i], "effect": names[j], "claim": HiddenCauses.name}
            likely = bool(suspects.likely[i, j])
            found.setdefault((i, j), Denial(**told, grounds=HiddenCauses.denies, sentence=words, likely=likely))
    return tuple(found[edge] for edge in sorted(found))


def _cliques(linked: Bools) -> Iterable[list[int]]:
    """Yield every set of four nodes that are all linked to each other."""
    for a in range(len(linked)):
        later = [node for node in np.flatnonzero(linked[a]).tolist() if node > a]
        for b, c, e in combinations(later, 3):
            if linked[b, c] and linked[b, e] and linked[c, e]:
                yield [a, b, c, e]


def _is_one_factor(scores: DistrictScores, dag: Bools, clique: list[int]) -> bool:
    """Tell whether one factor explains four columns, given their other parents, as well as six edges at less price."""
    outside = [node for node in np.flatnonzero(dag[:, clique].any(axis=1)).tolist() if node not in clique]
    moments = scores.correlation[np.ix_(clique, clique)]
    if outside:
        shared = scores.correlation[np.ix_(outside, clique)]
        moments = moments - shared.T @ np.linalg.pinv(scores.correlation[np.ix_(outside, outside)]) @ shared
    scale = np.sqrt(np.diag(moments))
    lost = one_factor_misfit(moments / scale[:, None] / scale)
    return bool(scores.n_rows * lost < FEWER_PARAMETERS * scores.price)


def one_factor_misfit(correlation: Floats) -> float:
    """Return -2/n of the log likelihood ratio of one factor with four effects against no restriction.

    The squared loading of a column is r_ij r_ik / r_jk for any two others, and the mean over the three pairs is taken
    (Spearman 1904), so the misfit is a little larger than that of the best loadings. Infinite: there is no such factor.

    Examples
    --------
    >>> loadings = np.array([0.9, 0.8, 0.7, 0.6])
    >>> exact = np.outer(loadings, loadings)
    >>> np.fill_diagonal(exact, 1.0)
    >>> abs(round(one_factor_misfit(exact), 9)), one_factor_misfit(np.eye(4))
    (0.0, inf)
    """
    strength = np.empty(4)
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(4):
            others = [k for k in range(4) if k != i]
            ratios = [correlation[i, j] * correlation[i, k] / correlation[j, k] for j, k in combinations(others, 2)]
            strength[i] = np.mean(ratios)
    if not ((strength > 0) & (strength < 1)).all():
        return float("inf")
    loadings = np.sqrt(strength) * np.where(correlation[0] < 0, -1.0, 1.0)
    fitted = np.outer(loadings, loadings)
    np.fill_diagonal(fitted, 1.0)
    trace = float(np.trace(np.linalg.solve(fitted, correlation)))
    return float(np.linalg.slogdet(fitted)[1] - np.linalg.slogdet(correlation)[1]) + trace - 4
