"""The neighbourhood of one column among very many, which is searched without the others.

Every column is regressed on others step by step: of those that are correlated most with it, the one that explains most
of what is left enters, as long as it explains more than the best of so many unrelated columns would. Two columns are
near each other if one of them enters the regression of the other, or would still improve it at its end. The
neighbourhood of an outcome holds the columns near it, among them its parents, its children and (since these are near
the children) the other parents of the children; and all columns near those, because they decide about directions.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.errors import SettingsError
from drbo.machine.threads import one_blas_thread

#: Terms that can enter a regression, of which so many may, each for so many rows; and regressions made together.
CANDIDATES, MOST_ENTER, ROWS_EACH, BLOCK, COMPARED = 32, 16, 10, 128, 1024
#: What regressions leave of a term below this share of its variance is rounding.
LEAST_LEFT = 1e-4

_Numbers = npt.NDArray[np.float32]


def around(table: Statistics, outcome: str, always: Iterable[str] = ()) -> tuple[Statistics, str]:
    """Return the columns around an outcome, and those that are always kept, and what there is to say about the others.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(size=(300, 40))
    >>> x[:, 1] += x[:, 0]
    >>> x[:, 2] += x[:, 1]
    >>> found, told = around(Statistics.from_array(x), "x0")
    >>> found.names
    ('x0', 'x1', 'x2')
    """
    if not table.whole or table.incomplete:
        raise SettingsError(
            "a neighbourhood is found from complete rows, but not all cells of the table are here",
            hint="omit neighbourhood, use missing='drop', or a sample of the rows as one table",
        )
    goal, place = table.index(outcome), {name: k for k, name in enumerate(table.names)}
    with one_blas_thread():
        regressions = _Regressions(table)
        near = regressions.near(goal)
        chosen = {goal, *near}.union(*map(regressions.near, near))
    chosen |= {place[name] for name in always if name in place}
    left = regressions.most_left(goal, np.setdiff1d(np.arange(table.n_columns), sorted(chosen)))
    told = (
        f"only the neighbourhood of '{outcome}' was searched, {len(chosen)} of {table.n_columns:,} columns: those that "
        f"enter stepwise linear regressions (of normal scores) with it, and with each of these ({len(near)}); no "
        f"other column improves the regression of '{outcome}', nor '{outcome}' that of another, by more than "
        f"{left:.3g} in log-likelihood, where chance reaches {regressions.least_gain:.3g}; links far from '{outcome}' "
        "may be due to columns that were left out"
    )
    found = table.take(np.arange(table.n_rows), np.array(sorted(chosen)))
    return replace(found, chosen_from=table.n_columns), told


class _Regressions:
    """Stepwise regressions of every term: normal scores of numbers, and indicators of categories."""

    def __init__(self, table: Statistics) -> None:
        self._terms, self._owner = _terms(table)
        self.least_gain = float(np.log(len(self._terms)))
        self._worth, self._most = table.n_counted, min(MOST_ENTER, table.n_rows // ROWS_EACH)
        self._rests = np.empty_like(self._terms)
        entered, pairs, most_correlated = list[Indices](), list[Indices](), self._candidates()
        for first in range(0, len(self._terms), BLOCK):
            current().check()
            responses = np.arange(first, min(first + BLOCK, len(self._terms)))
            candidates = most_correlated[responses]
            enter = self._stepwise(responses, candidates)
            row, column = np.nonzero(enter)
            entered.append(candidates[row, column])
            pairs.append(responses[row])
        self._from, self._to = self._owner[np.concatenate(entered)], self._owner[np.concatenate(pairs)]
        self._lengths = np.maximum((self._rests**2).sum(axis=1), LEAST_LEFT)

    def near(self, column: int) -> list[int]:
        """Return the columns near one; where there are none, the one that comes closest."""
        found = {*self._from[self._to == column].tolist(), *self._to[self._from == column].tolist()}
        left = self._left(column)
        found |= set(self._owner[left > self.least_gain].tolist())
        return sorted((found or {int(self._owner[np.argmax(left)])}) - {column})

    def most_left(self, column: int, others: Indices) -> float:
        """Return what another column would still add to the regression of a column, or the reverse, at most."""
        left = self._left(column)[np.isin(self._owner, others)]
        return float(left.max(initial=0.0))

    def _left(self, column: int) -> Floats:
        """Return for every term (p,) what it would add to the regression of a column, or the reverse, at least."""
        own = np.flatnonzero(self._owner == column)
        shares = (self._rests @ self._terms[own].T) ** 2 / self._lengths[:, None]
        back = (self._terms @ self._rests[own].T) ** 2 / self._lengths[own]
        most = np.maximum(shares, back).max(axis=1, initial=0.0)
        most[own] = 0.0
        return self._gain(most)

    def _gain(self, explained: npt.NDArray[np.floating]) -> Floats:
        """Return what a share of the variance adds to the log-likelihood."""
        gain: Floats = -self._worth / 2 * np.log1p(-np.minimum(explained, 1 - LEAST_LEFT).astype(np.float64))
        return gain

    def _candidates(self) -> Indices:
        """Return the terms (p, k) that are correlated most with each; every pair of terms is compared once."""
        size = len(self._terms)
        best = np.full((size, min(CANDIDATES, size - 1)), -1.0, dtype=np.float32)
        which = np.zeros(best.shape, dtype=np.intp)
        parts = np.split(np.arange(size), np.arange(COMPARED, size, COMPARED))
        for place, some in enumerate(parts):
            for others in parts[place:]:
                current().check()
                strength = np.abs(self._terms[some] @ self._terms[others].T)
                strength[self._owner[some][:, None] == self._owner[others]] = -1.0
                both = [(some, others, strength)] + [(others, some, strength.T)] * (others is not some)
                for rows, columns, found in both:
                    joined = np.hstack([best[rows], found])
                    kept = np.argpartition(joined, -best.shape[1], axis=1)[:, -best.shape[1] :]
                    best[rows] = np.take_along_axis(joined, kept, axis=1)
                    known = np.hstack([which[rows], np.broadcast_to(columns, found.shape)])
                    which[rows] = np.take_along_axis(known, kept, axis=1)
        return which

    def _stepwise(self, responses: Indices, candidates: Indices) -> Bools:
        """Return which candidates (b, k) enter the regressions of some terms, and keep what these leave."""
        others, response = self._terms[candidates], self._terms[responses]
        products = others @ others.transpose(0, 2, 1)
        along = np.matmul(others, response[:, :, None])[:, :, 0]
        enter = self._entering(products, along.copy(), self._owner[responses][:, None] != self._owner[candidates])
        both = enter[:, :, None] & enter[:, None, :]
        k = np.arange(enter.shape[1])
        normal = np.where(both, products, 0.0).astype(np.float64)
        normal[:, k, k] += np.where(enter, LEAST_LEFT**2, 1.0)
        weights = np.linalg.solve(normal, np.where(enter, along, 0.0)[:, :, None].astype(np.float64))
        self._rests[responses] = response - np.matmul(weights.transpose(0, 2, 1).astype(np.float32), others)[:, 0]
        return enter

    def _entering(self, products: _Numbers, along: _Numbers, usable: Bools) -> Bools:
        """Return which candidates (b, k) enter, by their products with each other and with what is left so far."""
        row, enter = np.arange(len(along)), np.zeros(along.shape, dtype=bool)
        lengths, rest = np.ones_like(along), np.ones(len(along), dtype=np.float32)
        factor = np.zeros((*along.shape, self._most), dtype=np.float32)  # of the products of those that entered
        for step in range(self._most):
            open_ = usable & ~enter & (lengths > LEAST_LEFT)
            explained = np.where(open_, along**2 / np.where(open_, lengths, 1.0), 0.0) / rest[:, None]
            best = np.argmax(explained, axis=1)
            enters = self._gain(explained[row, best]) > self.least_gain
            if not enters.any():
                break
            scale = np.where(enters, 1 / np.sqrt(np.maximum(lengths[row, best], LEAST_LEFT)), 0.0).astype(np.float32)
            direction = products[row, :, best] - np.matmul(factor, factor[row, best][:, :, None])[:, :, 0]
            factor[:, :, step] = direction = direction * scale[:, None]
            share = along[row, best] * scale
            along -= share[:, None] * direction
            lengths -= direction**2
            rest = np.maximum(rest - share**2, LEAST_LEFT)
            enter[row[enters], best[enters]] = True
        return enter


def _terms(table: Statistics) -> tuple[_Numbers, Indices]:
    """Return the terms (p, n) of all columns, centred and of length 1, and the column of each."""
    scores, parts, owners = table.ranks.values.T, list[Floats](), list[int]()
    for column, levels in enumerate(table.levels):
        own = scores[[column]] if levels is None else (scores[column] == np.arange(len(levels))[:, None]) * 1.0
        parts.append(own)
        owners += [column] * len(own)
    terms = np.concatenate(parts)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    terms -= (terms @ weights / weights.sum())[:, None]
    terms *= np.sqrt(weights)
    lengths = np.linalg.norm(terms, axis=1)
    kept = lengths > 0
    return (terms[kept] / lengths[kept, None]).astype(np.float32), np.array(owners)[kept]
