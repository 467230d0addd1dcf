"""Tests of conditional independence: of numbers, of categories, and of both together."""

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import chdtrc, fdtrc

from drbo.arrays import Floats, Indices
from drbo.data.statistics.levels import configurations, level_codes
from drbo.data.statistics.statistics import Statistics

#: P-values that are remembered.
REMEMBERED = 2**24
#: A pivot under this makes columns collinear: what they leave of a column counts as nothing.
COLLINEAR = 1e-10


class ConditionalTests(ABC):
    """Tests of "x is independent of y given z"; answers are remembered, as many as REMEMBERED says."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        self._known: dict[tuple[int, bytes], Floats] = {}

    def __call__(self, x: int, others: Indices, given: Indices) -> Floats:
        """Return the p-values of x against each of the others, given the rest."""
        key = (x, np.sort(given).astype(np.int32).tobytes())
        known = self._known.get(key)
        if known is None:
            known = np.full(self.n_columns, np.nan)
            if len(self._known) * self.n_columns < REMEMBERED:
                self._known[key] = known
        open_ = np.asarray([y for y in others if np.isnan(known[y])], dtype=np.intp)
        if len(open_):
            known[open_] = self._p_values(x, open_, np.sort(given))
        return known[others]

    @abstractmethod
    def _p_values(self, x: int, others: Indices, given: Indices) -> Floats: ...


class GaussianTests(ConditionalTests):
    """Partial correlation; of a category with k levels the k - 1 indicators together (Wilks 1935)."""

    def __init__(self, table: Statistics) -> None:
        super().__init__(table.n_columns)
        if table.large and "categorical" not in table.kinds:
            covariance = table.large_moments.covariance
            spread = np.sqrt(np.diag(covariance))
            self.n, self.correlation = table.n_rows, covariance / spread / spread[:, None]
            self.places = [np.array([j]) for j in range(table.n_columns)]
            return
        blocks = []
        for j, levels in enumerate(table.levels):
            column = table.values[:, [j]]
            blocks.append(column if levels is None else (column == np.arange(1, len(levels))).astype(np.float64))
        values = np.concatenate(blocks, axis=1)
        values = values - values.mean(axis=0)
        spread = np.sqrt((values**2).mean(axis=0))
        values = values / np.where(spread > 0, spread, 1.0)
        self.n, self.correlation = len(values), values.T @ values / len(values)
        ends = np.cumsum([block.shape[1] for block in blocks])
        self.places = [np.arange(end - block.shape[1], end) for end, block in zip(ends, blocks, strict=True)]

    def _p_values(self, x: int, others: Indices, given: Indices) -> Floats:
        inner = np.concatenate([self.places[j] for j in given]) if len(given) else np.empty(0, dtype=np.intp)
        blocks = [self.places[j] for j in (x, *others)]
        outer, ends = np.concatenate(blocks), np.cumsum([len(block) for block in blocks])
        rest = self.correlation[outer[:, None], outer]
        if len(inner):
            block, beside = self.correlation[inner[:, None], inner], self.correlation[inner[:, None], outer]
            block.flat[:: len(inner) + 1] += COLLINEAR
            rest -= beside.T @ np.linalg.solve(block, beside)
        first, *places = np.split(np.arange(len(outer)), ends[:-1])
        return np.array([self._p_value(rest, first, place, len(inner)) for place in places])

    def _p_value(self, rest: Floats, x: Indices, y: Indices, k: int) -> float:
        if min(rest[x, x].min(), rest[y, y].min()) < 10 * COLLINEAR:
            return 1.0  # z determines one of the two
        if len(x) == len(y) == 1:
            share = min(rest[x[0], y[0]] ** 2 / (rest[x[0], x[0]] * rest[y[0], y[0]]), 1.0 - 1e-15)
            freedom = self.n - 2 - k
            return float(fdtrc(1, freedom, share * freedom / (1 - share))) if freedom > 0 else 1.0
        both = np.concatenate([x, y])
        logs = [np.linalg.slogdet(rest[np.ix_(part, part)] + COLLINEAR * np.eye(len(part)))[1] for part in (both, x, y)]
        weight = self.n - 1 - k - (len(both) + 1) / 2  # Bartlett's correction
        statistic = max(0.0, weight * float(logs[1] + logs[2] - logs[0]))
        return float(chdtrc(len(x) * len(y), statistic)) if weight > 0 else 1.0


class CountTests(ConditionalTests):
    """Likelihood-ratio test of counts; only levels that occur in a stratum give it degrees of freedom."""

    def __init__(self, table: Statistics) -> None:
        super().__init__(table.n_columns)
        self.codes, self.cardinalities = level_codes(table, "the G-test")
        self.weights = table.weights

    def _p_values(self, x: int, others: Indices, given: Indices) -> Floats:
        strata, _ = configurations(self.codes[given], self.cardinalities[given])
        strata = np.unique(strata, return_inverse=True)[1].ravel()
        return np.array([self._p_value(strata, x, int(y)) for y in others])

    def _p_value(self, strata: Indices, x: int, y: int) -> float:
        k, a, b = int(strata.max()) + 1, int(self.cardinalities[x]), int(self.cardinalities[y])
        cells = np.bincount((strata * a + self.codes[x]) * b + self.codes[y], self.weights, minlength=k * a * b)
        counts = cells.reshape(k, a, b).astype(np.float64)
        by_x, by_y, total = counts.sum(axis=2), counts.sum(axis=1), counts.sum(axis=(1, 2))
        freedom = float((((by_x > 0).sum(axis=1) - 1) * ((by_y > 0).sum(axis=1) - 1)).sum())
        if freedom <= 0:
            return 1.0
        terms = [float((part[part > 0] * np.log(part[part > 0])).sum()) for part in (counts, total, by_x, by_y)]
        return float(chdtrc(freedom, max(0.0, 2 * (terms[0] + terms[1] - terms[2] - terms[3]))))
