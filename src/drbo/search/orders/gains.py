"""What the order search needs of a score: the gain of each added parent, compiled where its form is known."""

from collections.abc import Callable, Container
from typing import Any, NamedTuple, Protocol

import numpy as np

from drbo import _core
from drbo.arrays import Bools, Floats, Ints
from drbo.constraints import Constraints
from drbo.scores.families import Families
from drbo.scores.forms import COLLINEAR_PIVOT, BlockForm, CountForm, GramForm, RowForm
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.screening import Lists

#: Nodes of all families whose scores are asked for at once, so that neither memory nor the time limit is outrun.
MOST_CELLS = 2**25


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
    """Return the steps of a score, compiled if it has a form.

    An equal-variance score is seen through its additive bound at a level.
    """
    form = evaluator.form
    if isinstance(form, GramForm):
        return _regressions(form, constraints, level)
    if isinstance(form, BlockForm):
        return _blocks(form, constraints)
    if isinstance(form, RowForm):
        return _noisy(form, constraints)
    if isinstance(form, CountForm):
        return _counts(form, constraints)
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
        most = max(1, MOST_CELLS // self.n_nodes**2)
        starts = range(0, max(1, len(nodes)), most)
        parts = [self._expanded(*(part[start : start + most] for part in (nodes, parents, sizes))) for start in starts]
        return Expansion(*map(np.concatenate, zip(*parts, strict=True))) if len(parts) > 1 else parts[0]

    def _expanded(self, nodes: Ints, parents: Ints, sizes: Ints) -> Expansion:
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
    form: GramForm, constraints: Constraints, level: float | None
) -> Callable[[Lists], _core.RegressionSteps]:
    """Return what makes the steps of a linear score whose nodes have listed candidates.

    No matrix of all pairs is made beside the correlations where knowledge and edge prior need none.
    """
    d, nothing = form.n_nodes, np.zeros((0, 0), dtype=bool)
    changed: dict[str, Any] = {"prices": form.prices}
    if int(constraints.allowed.sum()) == d * (d - 1):
        changed["allowed"] = nothing
    if not constraints.required.any():
        changed["required"] = nothing
    return lambda lists: _regressions(form, constraints, level, **changed, **lists._asdict())


def _limits(constraints: Constraints, known: Container[str] = ()) -> dict[str, Any]:
    """Return what parent sets obey, as the compiled steps take it, but for what is known already."""
    edges = {"allowed": constraints.allowed, "required": constraints.required}
    found: dict[str, Any] = {name: matrix.T.copy() for name, matrix in edges.items() if name not in known}
    return found | {"max_parents": constraints.max_parents.astype(np.int64)}


def _regressions(
    form: GramForm, constraints: Constraints, level: float | None, **changed: Any
) -> _core.RegressionSteps:
    """Return the steps of a score that comes from matrices of products."""
    nothing, none = np.zeros((0, 0)), np.zeros(0, dtype=np.int64)
    usual = {"constants": nothing, "factors": nothing, "listed": none, "starts": none}
    if "prices" not in changed:
        usual["prices"] = form.edge_prices
    if form.constants is not None and form.factors is not None:  # an evidence of unscaled columns
        usual["constants"] = form.constants - form.factors * form.own_scales[:, None]
        usual["factors"] = form.factors
        usual["prices"] = form.edge_prices + form.log_scales[form.group_of] / 2
    bound = level if form.equal_variance else None
    return _core.RegressionSteps(
        grams=_stacked(form.grams),
        firsts=form.firsts,
        group=form.group_of,
        rows=form.rows,
        weights=np.zeros(form.n_nodes) if bound is None else form.bound_weights(bound),
        collinear=form.collinear,
        floor=form.floor,
        **usual | _limits(constraints, changed) | changed | {"max_parents": _most_parents(form, constraints)},
    )


def _stacked(grams: tuple[Floats, ...]) -> Floats:
    """Return matrices of several sizes as one array, filled up with zeros; one is not copied."""
    if len(grams) == 1:
        return grams[0][None]
    size = max(map(len, grams))
    found = np.zeros((len(grams), size, size))
    for matrix, gram in zip(found, grams, strict=True):
        matrix[: len(gram), : len(gram)] = gram
    return found


def _most_parents(form: GramForm | RowForm, constraints: Constraints) -> Ints:
    return np.minimum(constraints.max_parents, form.most_parents).astype(np.int64)


def _blocks(form: BlockForm, constraints: Constraints) -> _core.BlockSteps:
    return _core.BlockSteps(
        grams=_stacked(form.grams),
        firsts=form.firsts,
        group=form.group_of,
        rows=form.rows,
        prices=form.edge_prices,
        collinear=COLLINEAR_PIVOT,
        **_limits(constraints),
    )


def _noisy(form: RowForm, constraints: Constraints) -> _core.NonGaussianSteps:
    return _core.NonGaussianSteps(
        data=[group.in_core() for group in form.groups],
        group=form.group_of,
        rows=form.rows,
        prices=form.edge_prices,
        **_limits(constraints) | {"max_parents": _most_parents(form, constraints)},
    )


def _counts(form: CountForm, constraints: Constraints) -> _core.CountSteps:
    return _core.CountSteps(
        codes=list(form.codes),
        repeats=list(form.repeats),
        group=form.group_of,
        cardinalities=form.cardinalities,
        ess=form.ess,
        gain=form.gain,
        parameter_prices=form.parameter_prices,
        prices=form.edge_prices,
        **_limits(constraints),
    )
