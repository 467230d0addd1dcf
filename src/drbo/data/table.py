"""The checked table that every score is built from, and its canonical order.

The module is long because the content hash and the canonical order of large tables are computed in blocks.
"""

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Literal

import numpy as np
import numpy.typing as npt

from drbo.data.experiments import Experiments
from drbo.data.moments import Moments, complete_moments, moments
from drbo.data.table_moments import TableMoments
from drbo.deadline import current
from drbo.errors import DataError, name_hint

Kind = Literal["numeric", "categorical"]

#: Digits after the point of standardised columns that count.
UNIT_DIGITS = 9
#: A table of more cells (128 MiB) is large: it is held column by column, and no step makes a copy of it as a whole.
LARGE_CELLS = 2**24
#: A table of more columns is wide: its covariance is computed once.
MANY_COLUMNS = 1_000
#: Cells of the columns that are sorted together, and rows that are taken together.
SLAB_CELLS, BLOCK_ROWS = 2**21, 2**14
#: To sort a large table, and to hash it, takes about so many times as long as to check it.
SORTING_SHARE = 5.0
#: Threads that sort columns: each holds several copies of its own.
SORTING_THREADS = 2


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
    groups: npt.NDArray[np.intp] | None = None  # (n,) numbers of groups whose means were removed
    experiments: Experiments | None = None  # which experiment each row comes from
    totals: TableMoments | None = None  # of all rows; ``values`` then holds a random sample of them, or none

    @classmethod
    def from_array(cls, values: npt.ArrayLike, names: Sequence[str] | None = None) -> "Table":
        """Wrap a clean numeric array; columns without names are called x0, x1, ..."""
        array = np.array(values, dtype=np.float64)  # a copy: the caller's data is never shared
        names = tuple(names) if names is not None else tuple(f"x{j}" for j in range(array.shape[1]))
        kinds: tuple[Kind, ...] = tuple("numeric" for _ in names)
        return cls(array, names, kinds, (None,) * len(names))

    @property
    def n_rows(self) -> int:
        """Number of rows that are here."""
        return int(self.values.shape[0])

    @property
    def n_all(self) -> int:
        """Number of rows that the table was learned from: more than are here where only their sums are."""
        return self.n_rows if self.totals is None else self.totals.n

    @property
    def n_counted(self) -> float:
        """Number of rows that all rows count as."""
        if self.totals is not None:
            return self.totals.moments.n
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    def index(self, name: str) -> int:
        """Return the place of the column of this name."""
        if name not in self.names:
            raise DataError(f"there is no variable '{name}'", hint=name_hint(name, self.names, "variables"))
        return self.names.index(name)

    @cached_property
    def incomplete(self) -> bool:
        """Whether a cell is missing."""
        return any(bool(np.isnan(self.values[part]).any()) for part in row_blocks(self.n_rows))

    @property
    def large(self) -> bool:
        """Whether the table is too large to be copied at every step."""
        return is_large(*self.values.shape)

    @property
    def summed(self) -> bool:
        """Whether one computation of the moments serves all: that of a large or wide table takes a while."""
        return self.large or self.n_columns > MANY_COLUMNS

    @property
    def is_hurried(self) -> bool:
        """Whether the deadline leaves no time to sort a large table, judged by the time spent so far."""
        deadline = current()
        spent = time.monotonic() - deadline.began
        return self.large and not self._orders and deadline.left() < SORTING_SHARE * spent

    @property
    def by_moments(self) -> bool:
        """Whether rows are weighted, incomplete or only summed, so that :attr:`moments` stand for them."""
        return self.weights is not None or self.totals is not None or self.incomplete

    @cached_property
    def moments(self) -> Moments | None:
        """Mean and covariance of rows that are weighted, incomplete or summed; None: the rows themselves say it."""
        if self.totals is not None:
            return self.totals.moments
        return moments(self.values, self.weights, self.names) if self.by_moments else None

    def adopt_moments(self, ordered: "Table", columns: npt.NDArray[np.intp]) -> None:
        """Take over the moments of the same rows in another order; new column k is the old ``columns[k]``."""
        place = np.argsort(columns)
        if ordered.moments is not None:
            vars(self)["moments"] = ordered.moments.take(place)
        elif ordered.summed and "categorical" not in ordered.kinds:
            vars(self)["large_moments"] = ordered.large_moments.take(place)

    def adopt_digest(self, ordered: "Table") -> str:
        """Take over the hash of the same rows in another order, and return it."""
        if "_digest" not in vars(self):
            vars(self)["_digest"] = ordered.digest()
        return self.digest()

    @property
    def rows_or_moments(self) -> npt.NDArray[np.float64] | Moments:
        """What a linear test or regression is computed from: the moments of a large or wide table are computed once."""
        if self.moments is not None:
            return self.moments
        return self.large_moments if self.summed else self.values

    @cached_property
    def large_moments(self) -> Moments:
        """Mean and covariance of a complete table, computed block by block."""
        return complete_moments(self.values)

    @property
    def complete_rows(self) -> "Table":
        """The rows without a missing cell."""
        if not self.incomplete:
            return self
        return self.take(np.flatnonzero(~np.isnan(self.values).any(axis=1)), np.arange(self.n_columns))

    @property
    def control_rows(self) -> "Table":
        """The rows in which no experiment changed anything, as a table of their own."""
        if self.experiments is None:
            return self
        rows = self.take(np.flatnonzero(self.experiments.control), np.arange(self.n_columns))
        return replace(rows, experiments=None)

    def take(self, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> "Table":
        """Return the table with these rows and these columns, in this order."""
        return Table(
            _gathered(self.values, rows, columns),
            tuple(self.names[j] for j in columns),
            tuple(self.kinds[j] for j in columns),
            tuple(self.levels[j] for j in columns),
            None if self.weights is None else self.weights[rows],
            None if self.groups is None else self.groups[rows],
            None if self.experiments is None else self.experiments.take(rows),
            None if self.totals is None else self.totals.take(columns),
        )

    def canonical_order(self, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the rows and columns in an order that depends on the content and the seed alone.

        Columns are ordered by a digest of the seed and their sorted values in standard units, so that neither the
        position nor the name nor the unit of a column can decide a tie. Columns with equal sorted values are told apart
        by what stands beside them in the rows; names only separate columns that the whole table cannot tell apart. Rows
        are then sorted by value. Where only a sample of the rows is here, or none, the correlations of all rows stand
        in for the values.
        """
        if (known := self._orders.get(seed)) is not None:
            return known
        content = self.values if self.totals is None else np.round(self.totals.moments.correlation, UNIT_DIGITS)
        digests = _column_digests(content, seed)
        colours = np.zeros(self.n_columns, dtype=np.uint64)
        if len(set(digests)) < self.n_columns:
            first = np.array([int.from_bytes(digest[:8]) for digest in digests], np.uint64)
            standard = np.empty(content.shape)
            for part in _slabs(*content.shape):
                standard[:, part] = unit_free(np.ascontiguousarray(content[:, part])) + 0.0
            colours = _refined(standard, first)
        keys = sorted(zip(digests, colours.tolist(), self.names, range(self.n_columns), strict=True))
        columns = np.array([j for *_, j in keys], dtype=np.intp)
        last = [] if self.weights is None else [self.weights]  # rows are told apart by it only if they are equal
        last += [] if self.experiments is None else [self.experiments.codes.astype(np.float64)]
        rows = _row_order(self.n_rows, chain((self.values[:, j] for j in columns), last))
        self._orders[seed] = rows, columns
        return rows, columns

    def note_order(self, seed: int) -> None:
        """Take note that the table is in the canonical order of a seed: it need not be found again."""
        self._orders[seed] = np.arange(self.n_rows), np.arange(self.n_columns)

    @cached_property
    def _orders(self) -> dict[int, tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        return {}

    def digest(self) -> str:
        """Return a hash of names, kinds and values, not of weights; the order of rows and columns does not matter."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        rows, columns = self.canonical_order(seed=0)
        of_columns = [tuple(part[j] for j in columns) for part in (self.names, self.kinds, self.levels)]
        content = hashlib.sha256(repr(tuple(of_columns)).encode())
        in_order = all((part[1:] > part[:-1]).all() for part in (rows, columns))
        if self.totals is not None:
            found = self.totals.take(columns)
            content.update(f"{found.n}".encode() + found.mean.tobytes() + found.products.tobytes())
            return content.hexdigest()
        for part in row_blocks(self.n_rows):
            block = self.values[part] if in_order else self.values[np.ix_(rows[part], columns)]
            content.update((block + 0.0).tobytes())
        return content.hexdigest()


def is_large(n_rows: int, n_columns: int) -> bool:
    """Tell whether a table of this size is too large to be copied at every step."""
    return n_rows * n_columns > LARGE_CELLS


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Yield the rows of a table, some at a time.

    Examples
    --------
    >>> [part.stop - part.start for part in row_blocks(BLOCK_ROWS + 5)]
    [16384, 5]
    """
    yield from (slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS))


def by_columns(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a copy of an array (n, d) that holds column after column; made in blocks, which is much quicker."""
    copy = np.empty(values.shape, order="F")
    for part in row_blocks(len(values)):
        copy[part] = values[part]
    return copy


def _column_digests(values: npt.NDArray[np.float64], seed: int) -> list[bytes]:
    """Return a digest of the seed and of the sorted values of each column in standard units."""

    def of_slab(columns: npt.NDArray[np.intp]) -> list[bytes]:
        slab = np.ascontiguousarray(np.sort(values[:, columns], axis=0))
        standard = unit_free(slab) + 0.0  # + 0.0: -0.0 and 0.0 are one value
        return [hashlib.sha256(str(seed).encode() + column.tobytes()).digest() for column in standard.T]

    slabs = _slabs(*values.shape)
    if len(slabs) == 1:
        return of_slab(slabs[0])
    with ThreadPoolExecutor(SORTING_THREADS) as pool:
        return list(chain.from_iterable(pool.map(of_slab, slabs)))


def _slabs(n_rows: int, n_columns: int) -> list[npt.NDArray[np.intp]]:
    """Return the columns of a table, some at a time.

    Never one alone, whose sums numpy would add up in another order: the last bits of a column must not depend on it.
    """
    most = max(2, SLAB_CELLS // max(1, n_rows))
    return np.array_split(np.arange(n_columns), max(1, n_columns // most))


def _gathered(
    values: npt.NDArray[np.float64], rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    """Return some rows and columns; a large table is held column by column."""
    if not is_large(len(rows), len(columns)):
        return np.ascontiguousarray(values[np.ix_(rows, columns)])
    gathered = np.empty((len(rows), len(columns)), order="F")
    for place, column in enumerate(columns):
        np.take(values[:, column], rows, out=gathered[:, place])
    return gathered


def _row_order(n_rows: int, keys: Iterable[npt.NDArray[np.float64]]) -> npt.NDArray[np.intp]:
    """Return the rows sorted by the first key, equal ones by the second, and so on; as np.lexsort with the last first.

    Only rows that are still equal are sorted by a further key: in a table of numbers these are few.
    """
    order = np.arange(n_rows)
    if not n_rows:
        return order
    equal, group = np.arange(n_rows), np.zeros(n_rows, dtype=np.intp)  # places of rows that are equal so far
    for key in keys:
        cells = key[order[equal]]
        place = np.lexsort((cells, group)) if group[-1] else np.argsort(cells, kind="stable")
        order[equal], cells = order[equal[place]], cells[place]
        same = (cells[1:] == cells[:-1]) | (np.isnan(cells[1:]) & np.isnan(cells[:-1]))
        first = np.append(True, (group[1:] != group[:-1]) | ~same)
        number = np.cumsum(first) - 1
        repeated = np.bincount(number)[number] > 1
        equal, group = equal[repeated], number[repeated]
        if not len(equal):
            break
    return order


def _refined(
    values: npt.NDArray[np.float64],  # (n, d)
    colours: npt.NDArray[np.uint64],  # (d,)
) -> npt.NDArray[np.uint64]:
    """Return colours (d,) that also tell columns apart by their rows (colour refinement of Weisfeiler & Leman 1968).

    A row is coloured by the set of its cells with their columns' colours, then a column by its cells with their
    rows' colours, until no column gets a colour of its own any more. Sums wrap around and do not see the order.
    """
    bits = values.view(np.uint64)
    blocks = list(row_blocks(len(bits)))
    while True:
        mixed = _mixed(colours)
        rows = np.concatenate([_mixed(bits[part] ^ mixed).sum(axis=1, dtype=np.uint64) for part in blocks])
        total = np.zeros_like(colours)
        for part in blocks:
            total += _mixed(bits[part] ^ _mixed(rows[part])[:, None]).sum(axis=0, dtype=np.uint64)
        finer = _mixed(total ^ colours)
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
