"""The checked table that every score is built from, and its canonical order."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["numeric", "categorical"]


@dataclass(frozen=True, eq=False)
class Table:
    """A table without surprises: finite numbers, unique names, one kind per column.

    A categorical column holds the codes 0, 1, ... of its ``levels``; a numeric column has no levels.
    Build one with :func:`drbo.data.check.check_table`, or from a clean array with :meth:`from_array`.

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

    def take(self, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> "Table":
        """Return the table with these rows and these columns, in this order."""
        return Table(
            np.ascontiguousarray(self.values[np.ix_(rows, columns)]),
            tuple(self.names[j] for j in columns),
            tuple(self.kinds[j] for j in columns),
            tuple(self.levels[j] for j in columns),
        )

    def canonical_order(self, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the rows and columns in an order that depends on the content and the seed alone.

        Columns are ordered by a digest of the seed and their sorted values, so that neither the position nor the
        name of a column can decide a tie; names only separate columns with equal sorted values. Rows are then
        sorted by value.
        """
        sorted_values = np.sort(self.values + 0.0, axis=0)  # + 0.0: -0.0 and 0.0 are one value
        digests = [
            (hashlib.sha256(str(seed).encode() + sorted_values[:, j].tobytes()).digest(), self.names[j], j)
            for j in range(self.n_columns)
        ]
        columns = np.array([j for *_, j in sorted(digests)], dtype=np.intp)
        rows = np.lexsort(self.values[:, columns[::-1]].T).astype(np.intp)
        return rows, columns

    def digest(self) -> str:
        """Return a hash of names, kinds and values that does not depend on the order of rows or columns."""
        rows, columns = self.canonical_order(seed=0)
        ordered = self.take(rows, columns)
        content = hashlib.sha256(repr((ordered.names, ordered.kinds, ordered.levels)).encode())
        content.update((ordered.values + 0.0).tobytes())
        return content.hexdigest()
