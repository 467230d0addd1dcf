"""What the order search needs of a score: the gain of each added parent, compiled for the known scores."""

from collections.abc import Callable, Container
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import gammaln

from drbo import _core
from drbo.arrays import Bools, Floats, Ints
from drbo.constraints import Constraints
from drbo.scores.base import Score
from drbo.scores.bge import BGe
from drbo.scores.discrete import BDeu, DiscreteBIC
from drbo.scores.families import Families
from drbo.scores.linear import COLLINEAR_PIVOT, RESIDUAL_FLOOR, BicEV, BicNV
from drbo.scores.nongaussian import BicNG
from drbo.scores.splines import RankSplines, SplineScore
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.screening import Lists


class Expansion(NamedTuple):
    """What single steps from some parent sets are worth."""

    values: Floats  # (B,) of the sets themselves
    additions: Floats  # (B, d) gain of each addition; 0 or less where there is none
    drops: Ints  # (B,) the best parent to drop, or -1
    drop_gains: Floats  # (B,)


class Expander(Protocol):
    """An additive score seen step by step; it knows which edges are allowed and how many parents a node may have."""

    @property
    def n_nodes(self) -> int: ...

    def expand(self, nodes: Ints, parents: Ints, sizes: Ints, /) -> tuple[Floats, Floats, Ints, Floats]:
        """Return the :class:`Expansion` of the parent sets ``parents[b, :sizes[b]]`` of ``nodes[b]``."""
        ...


def steps_of(evaluator: Evaluator, constraints: Constraints, level: float | None) -> Expander:
    """Return the steps of a score; an equal-variance score is seen through its additive bound at a level."""
    score = evaluator.score
    if type(score) in (BicNV, BicEV):
        assert isinstance(score, BicNV)
        return _linear(score, constraints, level)
    if type(score) is BicNG:
        return _nongaussian(score, constraints)
    if type(score) is BGe:
        return _evidence(score, constraints)
    if type(score) in (SplineScore, RankSplines):
        assert isinstance(score, SplineScore)
        return _splines(score, constraints)
    if type(score) in (DiscreteBIC, BDeu):
        assert isinstance(score, (DiscreteBIC, BDeu))
        return _counts(score, constraints)
    return ScoreSteps(evaluator, constraints, level)


class ScoreSteps:
    """Steps of any score, by its own local scores, each computed once."""

    def __init__(self, evaluator: Evaluator, constraints: Constraints, level: float | None = None) -> None:
        self.evaluator = evaluator
        self.constraints = constraints
        self.level = level

    @property
    def n_nodes(self) -> int:
        return self.evaluator.score.n_nodes

    def expand(self, nodes: Ints, parents: Ints, sizes: Ints) -> Expansion:
        """Return the steps from the parent sets ``parents[b, :sizes[b]]`` of ``nodes[b]``."""
        count, d = len(nodes), self.n_nodes
        rows, limits = np.arange(count), self.constraints
        chosen = np.zeros((count, d), dtype=bool)
        for b in rows:
            chosen[b, parents[b, : sizes[b]]] = True
        changes = np.where(chosen, ~limits.required.T[nodes], limits.allowed.T[nodes])
        changes &= chosen | (sizes < limits.max_parents[nodes])[:, None]
        values, gains = self._gains(nodes, chosen, changes)
        drops = np.where(chosen, gains, -np.inf)
        best = np.argmax(drops, axis=1)
        best_gain = drops[rows, best]
        additions = np.where(chosen, 0.0, gains)
        return Expansion(values, additions, np.where(best_gain > 0, best, -1), best_gain)

    def _gains(
        self,
        nodes: Ints,  # (m,)
        chosen: Bools,  # (m, d)
        changes: Bools,  # (m, d): toggles that are allowed
    ) -> tuple[Floats, Floats]:
        """Return what families add to the score (m,), and what each toggle adds to that (m, d): -inf if forbidden."""
        row, other = np.nonzero(changes)
        flipped = chosen[row]
        flipped[np.arange(len(row)), other] ^= True
        families = Families(np.concatenate([nodes, nodes[row]]), np.concatenate([chosen, flipped]))
        score, count = self.evaluator.score, len(nodes)
        local, price = self.evaluator.families(families), score.family_price(families)
        values = score.share(local, price, self.level, families.nodes)
        gains = np.full(chosen.shape, -np.inf)
        gains[row, other] = values[count:] - values[row]
        return values[:count], gains


def screened_steps(
    score: BicNV, constraints: Constraints, level: float | None
) -> Callable[[Lists], _core.RegressionSteps]:
    """Return what makes the steps of a linear score whose nodes have listed candidates.

    No matrix of all pairs is made beside the correlations where knowledge and edge prior need none.
    """
    d, nothing = score.n_nodes, np.zeros((0, 0), dtype=bool)
    changed: dict[str, Any] = {}
    if int(constraints.allowed.sum()) == d * (d - 1):
        changed["allowed"] = nothing
    if not constraints.required.any():
        changed["required"] = nothing
    if not score.has_prior:
        changed["prices"] = (score.parameter_price + score.edge_price)[:, None]
    return lambda lists: _linear(score, constraints, level, **changed, **lists._asdict())


def _limits(constraints: Constraints, known: Container[str] = ()) -> dict[str, Any]:
    """Return what parent sets obey, as the compiled steps take it, but for what is known already."""
    edges = {"allowed": constraints.allowed, "required": constraints.required}
    found: dict[str, Any] = {name: matrix.T.copy() for name, matrix in edges.items() if name not in known}
    return found | {"max_parents": constraints.max_parents.astype(np.int64)}


def _regressions(
    grams: Floats,  # (G, D, D) the variables, and where they enter by their basis functions, these
    firsts: Ints,  # (G, d + 1) where the functions of each variable begin
    score: BicNV | BGe | SplineScore,
    constraints: Constraints,
    **changed: Any,
) -> _core.RegressionSteps:
    """Return the steps of a score that comes from matrices of products."""
    nothing, none = np.zeros((0, 0)), np.zeros(0, dtype=np.int64)
    usual = {"constants": nothing, "factors": nothing, "listed": none, "starts": none}
    usual["weights"] = np.zeros(score.n_nodes)
    if "prices" not in changed:
        usual["prices"] = edge_prices(score)
    return _core.RegressionSteps(
        grams=grams,
        firsts=firsts,
        group=score.group_of.astype(np.int64),
        rows=score.n_rows,
        collinear=COLLINEAR_PIVOT,
        floor=RESIDUAL_FLOOR,
        **usual | _limits(constraints, changed) | changed,
    )


def _own(score: BicNV | BGe) -> tuple[Floats, Ints]:
    """Return the matrices of a score whose variables enter themselves, and where each is."""
    matrices = [matrix for _, matrix in score.groups]
    grams = np.stack(matrices) if len(matrices) > 1 else matrices[0][None]  # one is not copied
    return grams, np.tile(np.arange(score.n_nodes + 1), (len(grams), 1))


def _linear(score: BicNV, constraints: Constraints, level: float | None, **changed: Any) -> _core.RegressionSteps:
    weights = np.zeros(score.n_nodes)
    if level is not None:
        variances = [np.exp(score.groups[group][0][node]) for node, group in enumerate(score.group_of)]
        weights = score.n_rows / level * np.array(variances)
    most = _most_parents(score, constraints)
    return _regressions(*_own(score), score, constraints, weights=weights, max_parents=most, **changed)


def _most_parents(score: BicNV, constraints: Constraints) -> Ints:
    """With n - 1 parents any data are fitted perfectly: the score gives such a family no credit."""
    return np.minimum(constraints.max_parents, np.ceil(score.n_rows).astype(np.int64) - 2)


def _nongaussian(score: BicNG, constraints: Constraints) -> _core.NonGaussianSteps:
    return _core.NonGaussianSteps(
        data=[score.rows_of(group) for group in range(len(score.groups))],
        group=score.group_of.astype(np.int64),
        rows=score.n_rows,
        prices=edge_prices(score),
        **_limits(constraints) | {"max_parents": _most_parents(score, constraints)},
    )


def _evidence(score: BGe, constraints: Constraints) -> _core.RegressionSteps:
    """With R the posterior scale matrix in unit scale, BGe is a sum of log pivots and constants (see its class)."""
    d = score.n_nodes
    size = np.arange(d + 1)
    freedom = score.alpha_w - d + size + 1
    n = score.n_rows[:, None]
    factors = (n + freedom) / 2
    scales = np.stack([log_scale for log_scale, _ in score.groups])[score.group_of]  # (d, d) row: that of the node
    constants = (freedom + size) / 2 * np.log(score.t) + np.log(score.alpha_mu / (n + score.alpha_mu)) / 2
    constants = constants + gammaln(factors) - gammaln(freedom / 2) - n / 2 * np.log(np.pi)
    constants = constants - factors * np.diag(scales)[:, None]
    prices = edge_prices(score) + scales / 2
    return _regressions(*_own(score), score, constraints, constants=constants, factors=factors, prices=prices)


def _counts(score: DiscreteBIC | BDeu, constraints: Constraints) -> _core.CountSteps:
    by_levels = isinstance(score, DiscreteBIC)  # the penalty counts parameters there, edges in BDeu
    free = score.cardinalities - 1 if by_levels else np.zeros(score.n_nodes)
    parameter_prices = score.parameter_price * free
    prices = edge_prices(score)
    if by_levels:  # what a single parent costs beyond its parameters
        prices -= parameter_prices[:, None] * score.cardinalities[None, :]
    return _core.CountSteps(
        codes=[columns for columns, _ in score.counted],
        repeats=[
            np.ones(columns.shape[1], dtype=np.int64) if repeats is None else repeats.astype(np.int64)
            for columns, repeats in score.counted
        ],
        group=score.group_of.astype(np.int64),
        cardinalities=score.cardinalities.astype(np.int64),
        ess=score.ess if isinstance(score, BDeu) else 0.0,
        gain=2.0 if by_levels else 1.0,
        parameter_prices=parameter_prices,
        prices=prices,
        **_limits(constraints),
    )


def _splines(score: SplineScore, constraints: Constraints) -> _core.RegressionSteps:
    d = score.n_nodes
    grams = np.zeros((len(score.groups), *np.max([gram.shape for _, gram in score.groups], axis=0)))
    for matrix, (_, gram) in zip(grams, score.groups, strict=True):
        matrix[: len(gram), : len(gram)] = gram
    widths = np.array([np.bincount(owner, minlength=d) for owner, _ in score.groups])
    firsts = d + np.concatenate([np.zeros((len(widths), 1), dtype=np.int64), widths.cumsum(axis=1)], axis=1)
    return _regressions(grams, firsts, score, constraints)


def edge_prices(score: Score) -> Floats:
    """Return (d, d) what each edge i -> j costs at [j, i].

    For scores whose price is a sum over parents, and whose parameters of a node with one parent are a product of a
    number of the node and a number of the parent: the prices of a row and of a column say those of all pairs.
    """
    d = score.n_nodes
    single, total = np.eye(d, dtype=bool), np.zeros((d, d))
    of_parent = score.parameters(Families(np.zeros(d, dtype=np.intp), single))  # (d,) of node 0 with each parent
    of_node = score.parameters(Families(np.arange(d), np.tile(single[0], (d, 1))))  # (d,) of each node with parent 0
    if of_parent is not None and of_node is not None:
        total -= np.outer(of_node, of_parent) / of_parent[0] * score.parameter_price[:, None]
    if score.edge_price:
        total -= score.edge_price
    if score._prior is not None:
        total += (score.evidence_scale or 1.0) * score._prior.T
    return -total
