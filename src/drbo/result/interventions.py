"""Probabilities under intervention: how a categorical outcome would be distributed if a category were set.

For each possible graph, P(outcome | do(cause = level)) is the mean, over the rows, of the share of the outcome among
rows with this level and the same values of the adjustment set (the back-door formula; Pearl 2009, ch. 3).
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.errors import DataError, name_hint
from drbo.graph.adjustment import member_dags, optimal_set, with_flips
from drbo.graph.dag import check_pdag, descendants
from drbo.result.mixture import LEAST_SHARE, Doubt

#: Resamples of the rows behind an interval, and its percentiles.
RESAMPLES, TAILS = 400, (2.5, 97.5)


@dataclass(frozen=True, kw_only=True)
class Probabilities:
    """The distribution of an outcome if a column were set to a level, in each possible graph.

    ``values`` has one distribution for each adjustment set; the 95% intervals cover all of them.
    """

    source: str
    level: str
    target: str
    levels: tuple[str, ...]  # of the target
    observed: tuple[float, ...]  # their shares in the table
    values: tuple[tuple[float, ...], ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    adjust_for: tuple[tuple[str, ...] | None, ...]  # None: the source has no effect in the graph
    probability: float | None  # that there is an effect that the graph lacks; None: it has one, or none is possible
    overlap: float  # least share of rows that could be compared with rows of this level
    basis: str
    n_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return asdict(self)

    def summary(self) -> str:
        """Return the probabilities in plain words."""
        lines = [
            f"If {self.source} were set to {self.level}, {self.target} would be (observed share in brackets):",
            *(
                f"  {level:<12} {' or '.join(f'{value[k]:.3f}' for value in self.values)} ({self.observed[k]:.3f})   "
                f"95% interval {self.low[k]:.3f} to {self.high[k]:.3f}"
                for k, level in enumerate(self.levels)
            ),
        ]
        sets = ["no directed path" if chosen is None else ", ".join(chosen) or "nothing" for chosen in self.adjust_for]
        lines.append(f"  adjusted for {'; or '.join(sets)}")
        if len(self.values) > 1:
            lines.append("  open and assumed directions leave it undecided which of these values is right")
        if self.probability is not None:
            lines.append(
                f"  the graph has no effect; one is there with probability {self.probability:.2f}, which the interval "
                "counts"
            )
        if self.overlap < 1:
            lines.append(
                f"  only {100 * self.overlap:.0f}% of the rows resemble a row with {self.source} = {self.level}; "
                "the others are left out"
            )
        lines.append(f"  {self.basis} ({self.n_rows} rows); assumed: no hidden common causes")
        return "\n".join(lines)


def probabilities(
    graph: npt.ArrayLike,  # (d, d) DAG, CPDAG or MPDAG
    table: Statistics,
    source: str,
    level: str,
    target: str,
    *,
    basis: str,
    assumed: Bools | None = None,  # (d, d)
    doubt: Doubt | None = None,
    seed: int = 0,
) -> Probabilities:
    """Return the distribution of a categorical column if another one were set to a level.

    Parameters are those of :func:`drbo.result.effects.effects`; ``seed`` is that of the resamples.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1], [1, 0]], dtype=float)
    >>> levels = (("no", "yes"), ("well", "ill"))
    >>> table = Statistics(codes, ("smoker", "health"), ("categorical",) * 2, levels)
    >>> found = probabilities([[0, 1], [0, 0]], table, "smoker", "yes", "health", basis="held-out rows")
    >>> [round(value, 2) for value in found.values[0]]
    [0.33, 0.67]
    """
    given = check_pdag(graph, table.names)
    cause, effect = _category(table, source), _category(table, target)
    code = _code(table, cause, level)
    outcomes = np.eye(len(_levels(table, effect)))[table.values[:, effect].astype(np.intp)]  # (n, levels)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    rng, share = np.random.default_rng(seed), None
    found: dict[tuple[int, ...] | None, tuple[Floats, Floats, float]] = {}
    for dag in with_flips(member_dags(given, cause), assumed, cause):
        current().check()
        chosen = optimal_set(dag, cause, effect, descendants(dag))
        possible = chosen is None and doubt is not None and bool(doubt.possible(cause)[effect])
        if possible and doubt is not None and doubt.is_randomised(cause):
            chosen, possible = [], False  # it is estimated although the graph has no path
        key = None if chosen is None else tuple(chosen)
        if key in found:
            continue
        alike, one = table.values[:, cause] == code, np.zeros(table.n_rows, dtype=np.intp)
        rows = np.ones(table.n_rows, dtype=bool) if key is None else alike
        found[key] = _standardised(_strata(table, list(key), source) if key else one, rows, outcomes, weights, rng)
        if possible and doubt is not None:
            share = doubt.share_of_categories(cause, effect, table)
            value, spread, overlap = found[key]
            other = _standardised(one, alike, outcomes, weights, rng)[1]
            found[key] = value, np.where(rng.random((RESAMPLES, 1)) < max(share, LEAST_SHARE), other, spread), overlap
    low, high = np.percentile(np.stack([spread for _, spread, _ in found.values()]), TAILS, axis=1)  # (sets, levels)
    return Probabilities(
        source=source, level=level, target=target, levels=_levels(table, effect),
        observed=_plain(weights @ outcomes / weights.sum()),
        values=tuple(_plain(value) for value, _, _ in found.values()),
        low=_plain(low.min(axis=0)), high=_plain(high.max(axis=0)),
        adjust_for=tuple(None if key is None else tuple(table.names[k] for k in key) for key in found),
        probability=share, overlap=min(one for _, _, one in found.values()), basis=basis, n_rows=table.n_rows,
    )  # fmt: skip


def _standardised(
    strata: Indices, alike: Bools, outcomes: Floats, weights: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats, float]:
    """Return the standardised distribution, those of resamples, and the share of rows with a counterpart."""
    n_strata, n_levels = int(strata.max()) + 1, outcomes.shape[1]
    level = outcomes.argmax(axis=1)
    places = (strata * 2 + alike) * n_levels + level
    cells = np.bincount(places, weights, n_strata * 2 * n_levels).astype(np.float64)
    draws = rng.multinomial(round(weights.sum()), cells / cells.sum(), size=RESAMPLES)
    value, share = _weighed(cells.reshape(1, n_strata, 2, n_levels))
    spread, _ = _weighed(draws.reshape(RESAMPLES, n_strata, 2, n_levels).astype(np.float64))
    return value[0], spread, float(share[0])


def _weighed(cells: Floats) -> tuple[Floats, Floats]:
    """Return the mean over strata of the distribution in rows that are alike, and the share of rows in such strata."""
    alike = cells[:, :, 1]  # (draws, strata, levels)
    size, of_level = cells.sum(axis=(2, 3)), alike.sum(axis=2)
    weight = np.where(of_level > 0, size, 0.0)
    shares = alike / np.maximum(of_level, 1e-300)[:, :, None]
    covered = np.maximum(weight.sum(axis=1), 1e-300)
    return (weight[:, :, None] * shares).sum(axis=1) / covered[:, None], covered / size.sum(axis=1)


def _strata(table: Statistics, columns: list[int], source: str) -> Indices:
    for k in columns:
        if table.levels[k] is None:
            raise DataError(
                f"the effect of '{source}' must be adjusted for '{table.names[k]}', which is numeric",
                hint="divide this column into a few classes, or estimate a linear effect with --from and --to",
            )
    return np.unique(table.values[:, columns], axis=0, return_inverse=True)[1].ravel().astype(np.intp)


def _category(table: Statistics, name: str) -> int:
    column = table.index(name)
    if table.levels[column] is None:
        raise DataError(
            f"column '{name}' is numeric, but probabilities need categories",
            hint="estimate a linear effect with --from and --to",
        )
    return column


def _code(table: Statistics, column: int, level: str) -> int:
    levels = _levels(table, column)
    if level not in levels:
        raise DataError(
            f"column '{table.names[column]}' has no level '{level}'", hint=name_hint(level, levels, "levels")
        )
    return levels.index(level)


def _levels(table: Statistics, column: int) -> tuple[str, ...]:
    return table.levels[column] or ()


def _plain(values: Floats) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
