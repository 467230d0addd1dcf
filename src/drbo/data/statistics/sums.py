"""Moments of rows that are not kept: counts, means, centred products and ranges, added up block by block.

Blocks of a file have fixed boundaries, so that the size of the pieces in which it is read decides nothing. The products
of a block are centred by its own means, and two sets of rows are joined by the formula of Chan, Golub & LeVeque (1979).
Means are held as a shift and a small offset from it: no digits are lost where means are large beside deviations.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices, Ints
from drbo.data.statistics.moments import Moments
from drbo.data.statistics.resamples import ResampledSums, Resamples
from drbo.errors import DataError
from drbo.machine.threads import one_blas_thread

#: Cells and rows of a block at most; in wide tables, so many columns per row: to join blocks must not take long.
BLOCK_CELLS, MOST_ROWS, COLUMNS_PER_ROW = 2**21, 2**14, 8
FEW_ROWS = 64
#: Cells of the rows that are kept as a sample, and rows at least: what shuffles and tests of residuals use at most.
SAMPLE_CELLS, SAMPLE_ROWS = 2**22, 3_000
#: Rows that describe a table: so many cells, but at least so many rows in all and per column.
DESCRIBED_CELLS, DESCRIBED_ROWS, DESCRIBED_PER_COLUMN = 2 * 10**6, 1_000, 4


class Bases(Protocol):
    """Functions of the columns of a table, which are summed up in place of the columns."""

    @property
    def widths(self) -> Indices:
        """Functions of each column (d,)."""

    def __call__(self, rows: Floats, /) -> Floats:
        """Return the values (n, D) of all functions for some rows (n, d)."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Counts, means, centred products and ranges: all that a linear score needs of a table, without its rows.

    Build one with :meth:`of_rows`, :func:`summed`, or read it from a file (:mod:`drbo.data.statistics.moments_file`),
    and join those of several owners with :meth:`joined`. ``DrBO().fit`` accepts it in place of a table.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> ours, theirs = (Sums.of_rows(["a", "b"], part) for part in (x[:40], x[40:]))
    >>> both = ours.joined(theirs)
    >>> both.n, bool(np.allclose(both.moments.covariance, np.cov(x.T, bias=True)))
    (100, True)
    """

    names: tuple[str, ...]
    n: int  # rows in the sums
    shift: Floats  # (d,) near the mean
    offset: Floats  # (d,) of the mean from the shift
    products: Floats  # (d, d) sums of products of deviations from the mean
    low: Floats  # (d,)
    high: Floats  # (d,)
    whole: Bools  # (d,) only whole numbers
    missing: Ints  # (d,) cells without a value
    dropped: int = 0  # rows with such a cell: they are not in the sums
    worth: float = 1.0  # what a row counts as
    resamples: Resamples | None = None  # of the same rows, drawn while they were read

    @classmethod
    def of_rows(cls, names: Sequence[str], values: npt.ArrayLike) -> "Sums":
        """Return the moments of an array (n, d); rows with a missing cell (NaN) are only counted."""
        rows = np.asarray(values, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(names):
            raise DataError(f"moments need one name per column, got {len(names)} names and shape {rows.shape}")
        return summed(names, [rows])

    @property
    def mean(self) -> Floats:
        """The means (d,)."""
        return self.shift + self.offset

    @cached_property
    def moments(self) -> Moments:
        """Mean and covariance, and the number of rows that they are worth."""
        n = self.n * self.worth
        return Moments(self.mean, self.products / self.n, n, np.full(self.products.shape, n))

    def joined(self, other: "Sums") -> "Sums":
        """Return the moments of both sets of rows; the columns of the other may come in another order."""
        if sorted(self.names) != sorted(other.names):
            raise DataError(_difference(self.names, other.names), hint="the same columns are needed in all parts")
        if other.names != self.names:
            other = other.take(np.array([other.names.index(name) for name in self.names]))
        if not other.n or not self.n:
            full = self if self.n else other
            return replace(full, missing=self.missing + other.missing, dropped=self.dropped + other.dropped)
        n = self.n + other.n
        step = (other.shift - self.shift) + (other.offset - self.offset)
        products = self.products + other.products + np.outer(step, step) * (self.n * (other.n / n))
        return Sums(
            names=self.names,
            n=n,
            shift=self.shift,
            offset=self.offset + step * (other.n / n),
            products=products,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            whole=self.whole & other.whole,
            missing=self.missing + other.missing,
            dropped=self.dropped + other.dropped,
            resamples=self._resamples_with(other),
        )

    def _resamples_with(self, other: "Sums") -> Resamples | None:
        """Return the resamples of both sets of rows: as many as both have."""
        if self.resamples is None or other.resamples is None:
            return None
        return self.resamples.joined(other.resamples, other.shift - self.shift)

    def resample(self, number: int) -> "Sums":
        """Return the moments of one of the resamples, which count rows as those of the table do."""
        assert self.resamples is not None
        drawn = self.resamples
        return replace(
            self, n=int(drawn.n[number]), offset=drawn.offset[number], products=drawn.products[number], resamples=None
        )

    def take(self, columns: Indices) -> "Sums":
        """Return the moments of these columns, in this order."""
        return replace(
            self,
            names=tuple(self.names[j] for j in columns),
            products=np.ascontiguousarray(self.products[np.ix_(columns, columns)]),
            **{name: getattr(self, name)[columns] for name in ("shift", "offset", "low", "high", "whole", "missing")},
            resamples=None if self.resamples is None else self.resamples.take(columns),
        )


class BasisSums(NamedTuple):
    """Sums over functions of the columns of a table, those of the first column first."""

    sums: Sums
    widths: Indices  # (d,) functions of each column

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.sums.n

    @property
    def covariance(self) -> Floats:
        """Covariance of all functions."""
        return self.sums.moments.covariance

    def take(self, columns: Indices) -> "BasisSums":
        """Return the functions of these columns, in this order."""
        ends = np.cumsum(self.widths)
        places = np.concatenate([np.arange(ends[j] - self.widths[j], ends[j]) for j in columns])
        return BasisSums(self.sums.take(places), self.widths[columns])

    def resample(self, number: int) -> "BasisSums":
        """Return the sums of one of the resamples."""
        return self._replace(sums=self.sums.resample(number))


def summed(
    names: Sequence[str],
    pieces: Iterable[Floats],  # (any, d) each; NaN where a cell is missing
    *,
    place: int = 0,
    see: Callable[[Floats, int], None] = lambda _rows, _place: None,
    incomplete: Callable[[Floats, int], None] | None = None,
    resampled: ResampledSums | None = None,
) -> Sums:
    """Return the moments of the rows of one file, whatever the size of the pieces in which they come.

    ``see`` is shown the complete rows of every block, with the row of the file at which it begins (the first one of all
    at ``place``), and ``incomplete`` every block with a missing cell. ``resampled`` adds up resamples of the rows.
    """
    total = _nothing(names)
    with one_blas_thread():
        for block in blocks_of(pieces, len(names)):
            part = of_block(tuple(names), block)
            total = total.joined(part)
            if part.dropped and incomplete is not None:
                incomplete(block, place)
            rows = block if not part.dropped else block[~np.isnan(block).any(axis=1)]
            see(rows, place)
            if resampled is not None:
                resampled.see(rows, place)
            place += len(block)
    return total if resampled is None else replace(total, resamples=resampled.resamples(total.shift))


def block_rows(n_columns: int) -> int:
    """Return the number of rows of a block: it depends on the columns alone."""
    return max(n_columns // COLUMNS_PER_ROW, min(MOST_ROWS, BLOCK_CELLS // max(1, n_columns)))


def describing_rows(n_columns: int) -> int:
    """Return how many rows describe a table of so many columns."""
    return max(DESCRIBED_CELLS // max(1, n_columns), DESCRIBED_ROWS, DESCRIBED_PER_COLUMN * n_columns)


def blocks_of(pieces: Iterable[Floats], n_columns: int) -> Iterator[Floats]:
    """Yield the rows of pieces of any size as blocks of fixed size; the last one may be smaller."""
    size = block_rows(n_columns)
    block, filled = np.empty((size, n_columns), order="F"), 0
    for piece in pieces:
        if not filled and len(piece) == size and piece.flags.f_contiguous:  # laid out as a block is: the same bits
            yield piece
            continue
        start = 0
        while start < len(piece):
            count = min(size - filled, len(piece) - start)
            block[filled : filled + count] = piece[start : start + count]
            filled, start = filled + count, start + count
            if filled == size:
                yield block
                filled = 0
    if filled:
        yield block[:filled]


def _nothing(names: Sequence[str]) -> Sums:
    d = len(names)
    return Sums(
        tuple(names), 0, np.zeros(d), np.zeros(d), np.zeros((d, d)), np.full(d, np.inf), np.full(d, -np.inf),
        np.ones(d, dtype=bool), np.zeros(d, dtype=np.int64),
    )  # fmt: skip


def of_block(names: tuple[str, ...], block: Floats) -> Sums:
    """Return the moments of a block of rows: its mean first, then the products of what is left."""
    shift = block.mean(axis=0)
    missing, dropped = np.zeros(len(names), dtype=np.int64), 0
    if np.isnan(shift).any():
        absent = np.isnan(block)
        missing, complete = absent.sum(axis=0), ~absent.any(axis=1)
        dropped, block = int((~complete).sum()), block[complete]
        if not len(block):
            return replace(_nothing(names), missing=missing, dropped=dropped)
        shift = block.mean(axis=0)
    centred = block - shift
    offset = centred.mean(axis=0)  # what rounding left of the mean
    products = centred.T @ centred - len(block) * np.outer(offset, offset)
    return Sums(
        names, len(block), shift, offset, products, block.min(axis=0), block.max(axis=0),
        _whole(block), missing, dropped,
    )  # fmt: skip


def _whole(block: Floats) -> Bools:
    """Return which columns hold whole numbers alone; a few rows tell of most that do not."""
    some = block[:FEW_ROWS]
    found = (some == np.rint(some)).all(axis=0)
    maybe = np.flatnonzero(found)
    if len(maybe):
        found[maybe] = (block[:, maybe] == np.rint(block[:, maybe])).all(axis=0)
    return np.asarray(found)


def _difference(ours: Sequence[str], theirs: Sequence[str]) -> str:
    """Say in which columns two parts differ."""
    more = [name for name in theirs if name not in ours]
    if more:
        return f"one part has the column '{more[0]}', which another part does not have"
    return f"one part has no column '{next(name for name in ours if name not in theirs)}'"
