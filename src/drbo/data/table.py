"""The checked table that every score is built from, and its canonical order."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from drbo.data.moments import Moments, moments

Kind = Literal["numeric", "categorical"]

#: Digits after the point of standardised columns that count.
UNIT_DIGITS = 9


@dataclass(frozen=True, eq=False)
class Table:
    """A table without surprises: finite numbers, unique names, one kind per column.

    A categorical column holds the codes 0, 1, ... of its ``levels``; a numeric column has no levels. A row of weight w
    counts as w equal rows. Only where someone asked for it a cell may be missing: NaN. Build one with
    :func:`drbo.data.check.check_table`, or from a clean array with :meth:`from_array`.

    Examples
    --------
    >>> import numpy as np
    >>> table = Table.from_array(np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]]), names=["a", "b"])
    >>> table.n_rows, table.n_columns, table.names
    (3, 2, ('a', 'b'))
    """

    values: npt.NDArray[np.float64]  # (n, d)
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    levels: tuple[tuple[str, ...] | None, ...]
    weights: npt.NDArray[np.float64] | None = None  # (n,) > 0

    @classmethod
    def from_array(cls, values: npt.ArrayLike, names: Sequence[str] | None = None) -> "Table":
        """Wrap a clean numeric array; columns without names are called x0, x1, ..."""
        array = np.array(values, dtype=np.float64)  # a copy: the caller's data is never shared
        names = tuple(names) if names is not None else tuple(f"x{j}" for j in range(array.shape[1]))
        kinds: tuple[Kind, ...] = tuple("numeric" for _ in names)
        return cls(array, names, kinds, (None,) * len(names))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @cached_property
    def incomplete(self) -> bool:
        """Whether a cell is missing."""
        return bool(np.isnan(self.values).any())

    @property
    def by_moments(self) -> bool:
        """Whether rows are weighted or incomplete, so that :attr:`moments` stand for them."""
        return self.weights is not None or self.incomplete

    @cached_property
    def moments(self) -> Moments | None:
        """Mean and covariance of rows that are weighted or incomplete; None: the rows themselves say it."""
        return moments(self.values, self.weights, self.names) if self.by_moments else None

    def adopt_moments(self, ordered: "Table", columns: npt.NDArray[np.intp]) -> None:
        """Take over the moments of the same rows in another order; new column k is the old ``columns[k]``."""
        if ordered.moments is not None:
            place = np.argsort(columns)
            vars(self)["moments"] = ordered.moments.take(place)

    @property
    def rows_or_moments(self) -> npt.NDArray[np.float64] | Moments:
        """What a linear test or regression is computed from."""
        return self.values if self.moments is None else self.moments

    @property
    def complete_rows(self) -> "Table":
        """The rows without a missing cell."""
        rows = np.flatnonzero(~np.isnan(self.values).any(axis=1)) if self.incomplete else np.arange(self.n_rows)
        return self.take(rows, np.arange(self.n_columns))

    def take(self, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> "Table":
        """Return the table with these rows and these columns, in this order."""
        return Table(
            np.ascontiguousarray(self.values[np.ix_(rows, columns)]),
            tuple(self.names[j] for j in columns),
            tuple(self.kinds[j] for j in columns),
            tuple(self.levels[j] for j in columns),
            None if self.weights is None else self.weights[rows],
        )

    def canonical_order(self, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the rows and columns in an order that depends on the content and the seed alone.

        Columns are ordered by a digest of the seed and their sorted values in standard units, so that neither the
        position nor the name nor the unit of a column can decide a tie. Columns with equal sorted values are told apart
        by what stands beside them in the rows; names only separate columns that the whole table cannot tell apart. Rows
        are then sorted by value.
        """
        sorted_values = unit_free(np.sort(self.values, axis=0)) + 0.0  # + 0.0: -0.0 and 0.0 are one value
        digests = [hashlib.sha256(str(seed).encode() + column.tobytes()).digest() for column in sorted_values.T]
        colours = np.zeros(self.n_columns, dtype=np.uint64)
        if len(set(digests)) < self.n_columns:
            first = np.array([int.from_bytes(digest[:8]) for digest in digests], np.uint64)
            colours = _refined(unit_free(self.values) + 0.0, first)
        keys = sorted(zip(digests, colours.tolist(), self.names, range(self.n_columns), strict=True))
        columns = np.array([j for *_, j in keys], dtype=np.intp)
        keys_of_rows = self.values[:, columns[::-1]].T
        if self.weights is not None:
            keys_of_rows = np.vstack([self.weights, keys_of_rows])  # told apart by it only if they are equal
        return np.lexsort(keys_of_rows).astype(np.intp), columns

    def digest(self) -> str:
        """Return a hash of names, kinds and values, not of weights; the order of rows and columns does not matter."""
        rows, columns = self.canonical_order(seed=0)
        ordered = self.take(rows, columns)
        content = hashlib.sha256(repr((ordered.names, ordered.kinds, ordered.levels)).encode())
        content.update((ordered.values + 0.0).tobytes())
        return content.hexdigest()


def _refined(
    values: npt.NDArray[np.float64],  # (n, d)
    colours: npt.NDArray[np.uint64],  # (d,)
) -> npt.NDArray[np.uint64]:
    """Return colours (d,) that also tell columns apart by their rows (colour refinement of Weisfeiler & Leman 1968).

    A row is coloured by the set of its cells with their columns' colours, then a column by its cells with their
    rows' colours, until no column gets a colour of its own any more. Sums wrap around and do not see the order.
    """
    bits = np.ascontiguousarray(values).view(np.uint64)
    while True:
        rows = _mixed(bits ^ _mixed(colours)[None, :]).sum(axis=1, dtype=np.uint64)
        finer = _mixed(_mixed(bits ^ _mixed(rows)[:, None]).sum(axis=0, dtype=np.uint64) ^ colours)
        if len(np.unique(finer)) <= len(np.unique(colours)):
            return finer
        colours = finer


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return well-mixed 64-bit numbers, one for each given (the finaliser of splitmix64; Steele et al. 2014)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def standardized(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the columns with mean 0 and variance 1; a constant column becomes 0, a missing cell stays NaN.

    Examples
    --------
    >>> standardized(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    if np.isnan(values).any():
        centred = values - np.nanmean(values, axis=0)
        deviation = np.nanstd(centred, axis=0)
    else:
        centred = values - values.mean(axis=0)
        deviation = centred.std(axis=0)
    scaled: npt.NDArray[np.float64] = centred / np.where(deviation > 0, deviation, 1.0)
    return scaled


def unit_free(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return standardised columns that are the same to the last bit in all units, but for rare cases.

    The rounding errors of other units sit in the digits that are cut off; left in, they decide ties, and from there on
    a search takes another way.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> bool((unit_free(x) == unit_free(x * [0.03, 700.0])).all())
    True
    """
    rounded: npt.NDArray[np.float64] = np.round(standardized(values), UNIT_DIGITS)
    return rounded
