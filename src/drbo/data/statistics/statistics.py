"""The checked table that every score is built from.

The module is long because it answers whatever others ask of a table, so that nobody looks at which parts it has.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

from drbo.arrays import Floats, Indices, Ints
from drbo.data.checks.experiments import Experiments
from drbo.data.statistics.blocks import gathered, is_large, row_blocks
from drbo.data.statistics.content_order import column_order, row_order
from drbo.data.statistics.moments import Moments, complete_moments, moments
from drbo.data.statistics.sums import BasisSums, Sums
from drbo.data.statistics.units import UNIT_DIGITS, ranked
from drbo.deadline import current
from drbo.errors import DataError, name_hint

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["numeric", "categorical"]
#: What may be known of a table: its rows, their means and covariances, sums over functions of its columns, or counts.
Statistic = Literal["rows", "moments", "bases", "counts"]

#: A table of more columns is wide: its covariance is computed once.
MANY_COLUMNS = 1_000
#: To sort a large table, and to hash it, takes about so many times as long as to check it.
SORTING_SHARE = 5.0


@dataclass(frozen=True, eq=False)
class Statistics:
    """A table without surprises: finite numbers, unique names, one kind per column.

    A categorical column holds the codes 0, 1, ... of its ``levels``; a numeric column has no levels. A row of weight w
    counts as w equal rows. Only where someone asked for it a cell may be missing: NaN. Build one with
    :func:`drbo.data.checks.check.check_table`, or from a clean array with :meth:`from_array`.

    Examples
    --------
    >>> import numpy as np
    >>> table = Statistics.from_array(np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]]), names=["a", "b"])
    >>> table.n_rows, table.n_columns, table.names
    (3, 2, ('a', 'b'))
    """

    values: Floats  # (n, d)
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    levels: tuple[tuple[str, ...] | None, ...]
    weights: Floats | None = None  # (n,) > 0
    groups: Indices | None = None  # (n,) numbers of groups whose means were removed
    experiments: Experiments | None = None  # which experiment each row comes from
    lags: tuple[int, ...] = ()  # (d,) how many steps before its row each column was seen; empty: rows have no time
    blocks: Indices | None = None  # (n,) the stretch of time of each row, whose rows a resample draws together
    order: Indices | None = None  # (n,) the place of each row when it was read, if neighbours depend on each other
    sums: Sums | None = None  # of all complete rows; ``values`` then holds a random sample of them, or none
    first: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (m, d) the first of the rows that were summed
    bases: BasisSums | None = None  # of functions of the columns, over the same rows
    patterns: tuple[Sums, ...] = ()  # of incomplete rows that are not yet in the sums: the columns seen in them
    chosen_from: int = 0  # of so many columns these were chosen, by their relations; 0: they were not

    @classmethod
    def from_array(cls, values: npt.ArrayLike, names: Sequence[str] | None = None) -> "Statistics":
        """Wrap a clean numeric array; columns without names are called x0, x1, ..."""
        array = np.array(values, dtype=np.float64)  # a copy: the caller's data is never shared
        names = tuple(names) if names is not None else tuple(f"x{j}" for j in range(array.shape[1]))
        kinds: tuple[Kind, ...] = tuple("numeric" for _ in names)
        return cls(array, names, kinds, (None,) * len(names))

    @classmethod
    def from_sums(cls, sums: Sums, levels: Mapping[str, Sequence[str]] = MappingProxyType({})) -> "Statistics":
        """Return what is known of rows that were summed up; the columns with levels hold categories."""
        known = tuple(tuple(levels[name]) if name in levels else None for name in sums.names)
        kinds: tuple[Kind, ...] = tuple("numeric" if one is None else "categorical" for one in known)
        return cls(np.empty((0, len(known))), sums.names, kinds, known, sums=sums)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names, under the name that data frames have for them."""
        return self.names

    @property
    def n_rows(self) -> int:
        """Number of rows that are here."""
        return int(self.values.shape[0])

    @property
    def n(self) -> int:
        """Number of rows that the table was learned from: more than are here where only their sums are."""
        return self.n_rows if self.sums is None else self.sums.n

    @property
    def n_read(self) -> int:
        """Number of rows with those that a missing cell keeps out of the sums."""
        return self.n + (0 if self.sums is None else self.sums.dropped)

    @property
    def n_counted(self) -> float:
        """Number of rows that all rows count as."""
        if self.sums is not None:
            return self.sums.moments.n
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @property
    def n_worth(self) -> float:
        """Number of rows that rows which do not count as one each count as together; 0: each counts as one."""
        each = self.weights is None if self.sums is None else self.sums.worth == 1
        return 0.0 if each else self.n_counted

    @property
    def equal_rows(self) -> bool:
        """Whether every row counts as much as every other one."""
        return self.weights is None or bool((self.weights == self.weights[0]).all())

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def whole(self) -> bool:
        """Whether all rows are here, and not only a sample of them, or none."""
        return self.sums is None

    @property
    def all_kept(self) -> bool:
        """Whether all rows were kept beside their sums."""
        return self.n_rows == self.n > 0 and not self.patterns

    @property
    def complete(self) -> bool:
        """Whether all cells of all rows are here."""
        return self.whole and not self.incomplete

    @property
    def from_experiments(self) -> bool:
        """Whether it is known which experiment each row comes from."""
        return self.experiments is not None

    @property
    def offers(self) -> frozenset[Statistic]:
        """What a score can be computed from: complete rows tell all the rest."""
        if self.complete:
            return frozenset(get_args(Statistic))
        return frozenset({"moments"} if self.bases is None else {"moments", "bases"})

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
        return self.large and "_order" not in vars(self) and deadline.left() < SORTING_SHARE * spent

    @property
    def by_moments(self) -> bool:
        """Whether rows are weighted, incomplete or only summed, so that :attr:`moments` stand for them."""
        return self.weights is not None or not self.complete

    @cached_property
    def moments(self) -> Moments | None:
        """Mean and covariance of rows that are weighted, incomplete or summed; None: the rows themselves say it."""
        if self.sums is not None:
            return self.sums.moments
        return moments(self.values, self.weights, self.names) if self.by_moments else None

    def adopt_moments(self, ordered: "Statistics", columns: Indices) -> None:
        """Take over the moments of the same rows in another order; new column k is the old ``columns[k]``."""
        place = np.argsort(columns)
        if ordered.moments is not None:
            vars(self)["moments"] = ordered.moments.take(place)
        elif ordered is not self and ordered.summed and "categorical" not in ordered.kinds:
            vars(self)["_ordered"] = ordered, place

    def adopt_digest(self, ordered: "Statistics") -> str:
        """Take over the hash of the same rows in another order, and return it."""
        if "_digest" not in vars(self):
            vars(self)["_digest"] = ordered.digest()
        return self.digest()

    @property
    def rows_or_moments(self) -> Floats | Moments:
        """What a linear test or regression is computed from: the moments of a large or wide table are computed once."""
        if self.moments is not None:
            return self.moments
        return self.large_moments if self.summed else self.values

    @property
    def moments_of_all(self) -> Moments:
        """Mean and covariance of all rows, complete or not."""
        return self.large_moments if self.moments is None else self.moments

    @property
    def ranges(self) -> tuple[Floats, Floats]:
        """The smallest and the largest value of each column (d,) among all rows."""
        if self.sums is not None:
            return self.sums.low, self.sums.high
        return np.nanmin(self.values, axis=0), np.nanmax(self.values, axis=0)

    @cached_property
    def large_moments(self) -> Moments:
        """Mean and covariance of a complete table, computed block by block."""
        same: tuple[Statistics, Indices] | None = vars(self).get("_ordered")
        return complete_moments(self.values) if same is None else same[0].large_moments.take(same[1])

    @property
    def complete_rows(self) -> "Statistics":
        """The rows without a missing cell."""
        if not self.incomplete:
            return self
        return self.take(np.flatnonzero(~np.isnan(self.values).any(axis=1)), np.arange(self.n_columns))

    @property
    def control_rows(self) -> "Statistics":
        """The rows in which no experiment changed anything, as a table of their own."""
        if self.experiments is None:
            return self
        rows = self.take(np.flatnonzero(self.experiments.control), np.arange(self.n_columns))
        return replace(rows, experiments=None)

    @property
    def ranks(self) -> "Statistics":
        """The table with the normal scores of the ranks of every numeric column in its place."""
        categorical = [j for j, kind in enumerate(self.kinds) if kind == "categorical"]
        return replace(self, values=ranked(self.values, categorical, self.weights))

    @property
    def rows_here(self) -> "Statistics":
        """The rows that are here, as a table of their own."""
        return replace(self, sums=None, first=self.first[:0], bases=None, patterns=())

    @property
    def rows_in_order(self) -> "Statistics":
        """Rows that stood beside each other when they were read: all, or the first ones of many."""
        if self.sums is None:
            return self
        return replace(self.rows_here, values=self.first if self.first.size else self.values[:0])

    @cached_property
    def runs(self) -> Experiments:
        """The experiments that the rows come from: a control alone, where nothing was said about them."""
        return self.experiments or Experiments(np.zeros(self.n_rows, dtype=np.intp), ("control",))

    def within_experiments(self, values: Floats) -> Floats:
        """Return columns (n, k) without the differences between experiments."""
        return values if self.experiments is None else self.experiments.centred(values)

    def counting_as(self, share: float) -> "Statistics":
        """Return the same table of rows that depend on their neighbours: each counts as so much less than before."""
        if self.sums is not None:
            return replace(self, sums=replace(self.sums, worth=share))
        weights = np.full(self.n_rows, share) if self.weights is None else self.weights * share
        return replace(self, weights=weights, order=np.arange(self.n_rows))

    @property
    def in_order(self) -> "Statistics":
        """The rows as they were read, where neighbours depend on each other."""
        return (
            self if self.order is None else self.take(np.argsort(self.order, kind="stable"), np.arange(self.n_columns))
        )

    @property
    def resampled_rows(self) -> Ints:
        """How many rows (K,) each resample has that was drawn of rows which are not here."""
        drawn = None if self.sums is None else self.sums.resamples
        return np.empty(0, dtype=np.int64) if drawn is None else drawn.n

    @property
    def clusters(self) -> Indices | None:
        """(n,) which rows a resample draws together; None: every row by itself."""
        return self.blocks if self.groups is None else self.groups

    def resample(self, draw: Indices) -> "Statistics":
        """Return a resample: these rows or, where rows are not here, the one of this number."""
        if self.sums is None:
            return self.take(draw, np.arange(self.n_columns))
        number, bases = int(draw[0]), self.bases
        return replace(
            self, values=self.values[:0], first=self.first[:0], sums=self.sums.resample(number),
            bases=None if bases is None else bases.resample(number),
        )  # fmt: skip

    def with_bases(self, functions: "Statistics", widths: Indices) -> "Statistics":
        """Return the same with the sums over functions of the columns, so many of each, over the same rows."""
        if functions.sums is None or functions.n != self.n:
            raise DataError(
                f"the files have {functions.n} complete rows, but {self.n} when they were first read",
                hint="do not change files while they are read",
            )
        return replace(self, bases=BasisSums(functions.sums, widths))

    def frame(self) -> "pd.DataFrame":
        """Return the rows that are here as a data frame, with categories as text."""
        import pandas as pd

        frame = pd.DataFrame(self.values, columns=list(self.names))
        for name, levels in zip(self.names, self.levels, strict=True):
            if levels is not None:
                frame[name] = np.array(levels, dtype=object)[frame[name].to_numpy(dtype=np.intp)]
        return frame

    def take(self, rows: Indices, columns: Indices) -> "Statistics":
        """Return the table with these rows and these columns, in this order."""
        return replace(
            self,
            values=gathered(self.values, rows, columns),
            names=tuple(self.names[j] for j in columns),
            kinds=tuple(self.kinds[j] for j in columns),
            levels=tuple(self.levels[j] for j in columns),
            weights=None if self.weights is None else self.weights[rows],
            groups=None if self.groups is None else self.groups[rows],
            experiments=None if self.experiments is None else self.experiments.take(rows),
            lags=tuple(self.lags[j] for j in columns) if self.lags else (),
            blocks=None if self.blocks is None else self.blocks[rows],
            order=None if self.order is None else self.order[rows],
            sums=None if self.sums is None else self.sums.take(columns),
            first=self.first[:, columns] if self.first.size else self.first,
            bases=None if self.bases is None else self.bases.take(columns),
        )

    def canonical_order(self) -> tuple[Indices, Indices]:
        """Return the rows and columns in an order that depends on the content alone.

        Columns are ordered by their content, see :func:`drbo.data.statistics.content_order.column_order`; rows are
        then sorted by value, or by the negative of it where that decided the place of a column. Where only a sample of
        the rows is here, or none, the sizes of the correlations of all rows stand in for the values.
        """
        return self._order

    @cached_property
    def _order(self) -> tuple[Indices, Indices]:
        content = self.values if self.sums is None else np.abs(np.round(self.sums.moments.correlation, UNIT_DIGITS))
        columns, signs = column_order(content, self.names)
        last = [] if self.weights is None else [self.weights]  # rows are told apart by it only if they are equal
        last += [] if self.experiments is None else [self.experiments.codes.astype(np.float64)]
        rows = row_order(self.n_rows, chain((self.values[:, j] * signs[j] for j in columns), last))
        return rows, columns

    def note_order(self) -> None:
        """Take note that the table is in canonical order: it need not be found again."""
        vars(self)["_order"] = np.arange(self.n_rows), np.arange(self.n_columns)

    def digest(self) -> str:
        """Return a hash of names, kinds and values, not of weights; the order of rows and columns does not matter."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        rows, columns = self.canonical_order()
        of_columns = [tuple(part[j] for j in columns) for part in (self.names, self.kinds, self.levels)]
        content = hashlib.sha256(repr(tuple(of_columns)).encode())
        in_order = all((part[1:] > part[:-1]).all() for part in (rows, columns))
        if self.sums is not None:
            found = self.sums.take(columns)
            content.update(f"{found.n}".encode() + found.mean.tobytes() + found.products.tobytes())
            return content.hexdigest()
        for part in row_blocks(self.n_rows):
            block = self.values[part] if in_order else self.values[np.ix_(rows[part], columns)]
            content.update((block + 0.0).tobytes())
        return content.hexdigest()
