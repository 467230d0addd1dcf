"""Where is a hidden cause likely? Cheap signs in the best DAG of a linear score.

Two signs. The score rises when an edge becomes bidirected and the rest of the graph adapts
(:func:`drbo.claims.ancestral.ancestral_graph`, with few walks on many columns). And one hidden factor explains four
columns that are all linked to each other about as well as their six edges do. Both are silent on most tables without a
hidden cause, and both miss many hidden causes: :mod:`drbo.claims.checks.hidden_tests` asks for more.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.claims.ancestral import ancestral_graph
from drbo.claims.claim import SEED, Claim, Context, Ruling
from drbo.claims.denial import Denial
from drbo.constraints import Constraints
from drbo.deadline import OutOfTimeError
from drbo.errors import ScoreError
from drbo.scores.base import Score
from drbo.search.ancestral.climb import LEAST_GAIN, WALKS
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


class Suspects(NamedTuple):
    """The edges of a DAG at which there may be a hidden cause."""

    likely: Bools  # (d, d) the score gains at least half the penalty of an edge
    possible: Bools  # (d, d) it gains, but less than that


def suspected(
    score: Score,
    dag: Bools,  # (d, d) the best DAG
    seed: int,
) -> Suspects:
    """Return the edges of a DAG at which a hidden cause is likely or possible.

    Raises a ScoreError if the score is not linear with a variance of its own for every column, or columns are
    collinear; and an OutOfTimeError if the run has to end before that.
    """
    found, none = np.zeros_like(dag), np.zeros_like(dag)
    walks = min(WALKS, MOST_COLUMNS // len(dag))
    answer = ancestral_graph(score, dag, Constraints.none(len(dag)), seed, walks, least=0.0)
    if not answer.found.whole:
        raise OutOfTimeError("the climb was not finished")
    scores, graph = answer.scores, answer.found.graph
    other = dag & (graph.bidirected | ~graph.adjacent) if graph.bidirected.any() else none
    is_likely = answer.found.gain > LEAST_GAIN * scores.price
    found = other.copy() if is_likely else found
    linked = dag | dag.T
    for clique in islice(_cliques(linked), MOST_CLIQUES):
        if _is_one_factor(scores, dag, clique):
            found[np.ix_(clique, clique)] |= dag[np.ix_(clique, clique)]
    return Suspects(found, other & ~found)


class HiddenCauses(Claim):
    """The claim that the score does not rise with a hidden cause at an arrow of the class; for linear scores.

    Columns of the past are linked in ways that a graph leaves out: see :mod:`drbo.claims.checks.hidden_driver`.
    """

    name, title = "hidden causes", "the search for hidden causes"
    denies = ("class",)

    def relevant(self, context: Context) -> bool:
        linear = context.score.gaussian()
        return context.has_arrows and not context.table.lags and linear is not None and linear.price is not None

    def too_much(self, context: Context) -> str:
        return f"the table has more than {MOST_COLUMNS} columns" if len(context.answer.dag) > MOST_COLUMNS else ""

    def run(self, context: Context) -> Ruling:
        try:
            suspects = suspected(context.score, context.answer.dag, SEED)
        except ScoreError as error:  # collinear columns
            return Ruling(skipped=error.message)
        return Ruling(suspects, doubts(suspects, context.table.names))


def doubts(suspects: Suspects, names: Sequence[str]) -> tuple[Denial, ...]:
    """Return what speaks against the arrows at which there may be a hidden cause."""
    found: dict[tuple[int, int], Denial] = {}
    for words, marked in zip((DOUBT, POSSIBLE), suspects, strict=True):
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
