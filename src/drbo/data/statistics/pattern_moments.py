"""Missing cells in tables that are only summed: EM needs no more than the moments of every pattern of missing cells."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from drbo.arrays import Floats, Indices
from drbo.data.statistics import resamples
from drbo.data.statistics.moments import EM_RIDGE, EM_ROUNDS, EM_TOLERANCE, check_pairs, effective
from drbo.data.statistics.resamples import ResampledSums, Resamples
from drbo.data.statistics.sums import Sums, of_block
from drbo.deadline import current
from drbo.errors import DataError
from drbo.machine.threads import one_blas_thread

#: Numbers in the products of all patterns, at most: 128 MiB.
MOST_NUMBERS = 2**24


class PatternSums:
    """Moments of incomplete rows, those with the same missing cells together; rows without any cell say nothing.

    So many ``resamples`` of the rows are summed up as well, drawn with the ``seed``.
    """

    def __init__(self, names: Sequence[str], resamples: int = 0, seed: int = 0) -> None:
        self._names = tuple(names)
        self._resamples, self._seed = resamples, seed
        self._found: dict[bytes, Sums] = {}

    def see(self, block: Floats, place: int = 0) -> None:
        """Look at some more rows, which begin at this row of their file; complete ones are left out."""
        absent = np.isnan(block)
        rows = np.flatnonzero(absent.any(axis=1) & ~absent.all(axis=1))
        patterns, member = np.unique(absent[rows], axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            seen = np.flatnonzero(~pattern)
            values = block[np.ix_(rows[member.ravel() == k], seen)]
            part = of_block(tuple(self._names[j] for j in seen), values)
            if self._resamples:
                drawn = ResampledSums(len(seen), self._resamples, self._seed)
                drawn.see(values, place)
                part = replace(part, resamples=drawn.resamples(part.shift))
            self._join(pattern.tobytes(), part)
        self._check()

    def add(self, later: "PatternSums") -> None:
        """Add the sums of rows that follow."""
        for key, part in later._found.items():
            self._join(key, part)
        self._check()

    def _join(self, key: bytes, part: Sums) -> None:
        self._found[key] = self._found[key].joined(part) if key in self._found else part

    def _check(self) -> None:
        numbers = sum(one.products.size for one in self._found.values())
        if numbers > MOST_NUMBERS or numbers * self._resamples > resamples.MOST_NUMBERS:
            raise DataError(
                f"cells are missing in more than {len(self._found):,} different patterns, too many to sum up",
                hint="use missing='drop', drop the columns with the most missing values, or use a sample of the rows",
            )

    def parts(self) -> tuple[Sums, ...]:
        """Return the moments of each pattern, of the columns that are seen in it."""
        return tuple(self._found[key] for key in sorted(self._found))


@lru_cache(maxsize=1)  # a bootstrap asks again
def estimated(sums: Sums, patterns: tuple[Sums, ...]) -> Sums:
    """Return the maximum-likelihood moments of complete and incomplete rows together, by EM; also of resamples.

    It is the iteration that :func:`drbo.data.moments.moments` makes over rows; rows count as the harmonic mean of the
    numbers of rows in which two columns are seen together.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [2.0, 4.5], [3.0, 6.0], [4.0, np.nan]])
    >>> patterns = PatternSums(["a", "b"])
    >>> patterns.see(x)
    >>> found = estimated(Sums.of_rows(["a", "b"], x), patterns.parts())
    >>> found.mean.round(4).tolist(), round(found.moments.n, 6)
    ([2.5, 5.1667], 3.0)
    """
    found = _estimated(sums, patterns)
    if sums.resamples is None:
        return found
    drawn = list[Sums]()
    for k in range(len(sums.resamples)):
        current().check()
        parts = (part.resample(k) for part in patterns if part.resamples is not None)
        drawn.append(_estimated(sums.resample(k), tuple(part for part in parts if part.n), found))
    return replace(
        found,
        resamples=Resamples(
            np.array([one.n for one in drawn]),
            np.array([(one.shift - found.shift) + one.offset for one in drawn]),
            np.array([one.products for one in drawn]),
        ),
    )


def _estimated(sums: Sums, patterns: tuple[Sums, ...], start: Sums | None = None) -> Sums:
    """Return the moments by EM, which begins with those of another estimate, or with independent columns."""
    place = {name: j for j, name in enumerate(sums.names)}
    parts = [sums] * bool(sums.n) + list(patterns)
    places = [np.array([place[name] for name in part.names]) for part in parts]
    low, spread = _by_column(parts, places, len(place))
    pairs = np.zeros((len(place),) * 2)
    for part, columns in zip(parts, places, strict=True):
        pairs[np.ix_(columns, columns)] += part.n
    check_pairs(pairs, sums.names)
    groups = [
        (columns, part.n, ((part.shift - low[columns]) + part.offset) / spread[columns],
         part.products / np.outer(spread[columns], spread[columns]))
        for part, columns in zip(parts, places, strict=True)
    ]  # fmt: skip
    mean, covariance = np.zeros(len(place)), np.eye(len(place))
    if start is not None:
        mean = ((start.shift - low) + start.offset) / spread
        covariance = start.moments.covariance / np.outer(spread, spread)
    with one_blas_thread():
        for _ in range(EM_ROUNDS):
            before = mean, covariance
            mean, covariance = _round(groups, *before)
            if max(np.abs(mean - before[0]).max(), np.abs(covariance - before[1]).max()) < EM_TOLERANCE:
                break
    n = sum(part.n for part in parts)
    return replace(
        sums, n=n, shift=low, offset=mean * spread, products=n * covariance * np.outer(spread, spread),
        low=_extreme(np.fmin, parts, places, "low"), high=_extreme(np.fmax, parts, places, "high"),
        missing=np.zeros_like(sums.missing), dropped=0, worth=effective(pairs) / n, resamples=None,
    )  # fmt: skip


def _by_column(parts: list[Sums], places: list[Indices], d: int) -> tuple[Floats, Floats]:
    """Return the mean of the cells of each column that are seen, and their standard deviation (1 for a constant)."""
    count, mean, squares = np.zeros(d), np.zeros(d), np.zeros(d)
    for part, columns in zip(parts, places, strict=True):
        step, total = part.mean - mean[columns], count[columns] + part.n
        squares[columns] += np.diag(part.products) + step**2 * count[columns] * part.n / total
        mean[columns] += step * part.n / total
        count[columns] = total
    spread = np.sqrt(squares / np.maximum(count, 1.0))
    return mean, np.where(spread > 0, spread, 1.0)


def _extreme(better: np.ufunc, parts: list[Sums], places: list[Indices], name: str) -> Floats:
    found = np.full(max(int(columns.max()) for columns in places) + 1, np.nan)
    for part, columns in zip(parts, places, strict=True):
        found[columns] = better(found[columns], getattr(part, name))
    return found


def _round(
    groups: list[tuple[Indices, int, Floats, Floats]], mean: Floats, covariance: Floats
) -> tuple[Floats, Floats]:
    """Return the moments of the completed rows under the last moments, as ``moments._em_round`` does row by row."""
    d, total = len(mean), float(sum(n for _, n, _, _ in groups))
    precision = np.linalg.inv(covariance + EM_RIDGE * np.eye(d))
    centres, scatter = np.empty((len(groups), d)), np.zeros((d, d))
    for k, (seen, n, own, products) in enumerate(groups):
        lost = np.setdiff1d(np.arange(d), seen)
        filled = np.zeros((d, len(seen)))  # what the cells that are seen say about all
        filled[seen, np.arange(len(seen))] = 1.0
        if len(lost):
            rest = np.linalg.inv(precision[np.ix_(lost, lost)])
            filled[lost] = -rest @ precision[np.ix_(lost, seen)]
            scatter[np.ix_(lost, lost)] += n * rest
        centres[k] = mean + filled @ (own - mean[seen])
        scatter += filled @ products @ filled.T
    weights = np.array([n for _, n, _, _ in groups], dtype=np.float64)
    centre = weights @ centres / total
    apart = (centres - centre) * np.sqrt(weights)[:, None]
    spread = (scatter + apart.T @ apart) / total
    return centre, (spread + spread.T) / 2
