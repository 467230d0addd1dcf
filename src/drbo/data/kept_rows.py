"""Rows that are kept of a table that is only summed up: the first ones, and a random sample."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from drbo.data import table_moments
from drbo.data.resamples import random_of

Floats = npt.NDArray[np.float64]


class Kept(NamedTuple):
    """Some rows in the order of the table, with their random keys, and the first rows."""

    keys: Floats  # (k,)
    rows: Floats  # (k, d)
    first: Floats  # (m, d)


class KeptRows:
    """Keeps the first rows of all files and a random sample: those rows whose random keys are the smallest.

    The keys of a block depend on the seed, on its place in its file and on its content (:func:`random_of`).

    Parameters
    ----------
    threshold : larger keys are known not to be among the smallest.
    n_before : rows of the table before those that are seen here.
    """

    def __init__(self, n_columns: int, seed: int = 0, *, threshold: float = np.inf, n_before: int = 0) -> None:
        self.size = max(table_moments.SAMPLE_ROWS, table_moments.SAMPLE_CELLS // max(1, n_columns))
        self.threshold = threshold
        self._seed = seed
        self._most_first = max(0, table_moments.describing_rows(n_columns) - n_before)
        self._first: list[Floats] = [np.empty((0, n_columns))]
        self._keys: list[Floats] = [np.empty(0)]
        self._drawn: list[Floats] = [np.empty((0, n_columns))]  # the rows of these keys
        self._n_first = self._n_drawn = 0

    def see(self, rows: Floats, place: int) -> None:
        """Look at a block of complete rows, which begins at this row of its file."""
        if len(rows):
            keys = random_of(rows, place, self._seed, "sample").random(len(rows))
            taken = np.flatnonzero(keys < self.threshold)
            self.add(Kept(keys[taken], rows[taken], rows))

    def add(self, more: Kept) -> None:
        """Add what was kept of the rows that follow."""
        left = self._most_first - self._n_first
        if left > 0:
            self._first.append(more.first[:left].copy())
            self._n_first += len(self._first[-1])
        self._keys.append(more.keys)
        self._drawn.append(more.rows)
        self._n_drawn += len(more.keys)
        if self._n_drawn >= 2 * self.size:
            self._compact()

    def kept(self) -> Kept:
        """Return the rows that are kept."""
        self._compact()
        return Kept(self._keys[0], self._drawn[0], np.concatenate(self._first))

    def _compact(self) -> None:
        """Leave out all but the smallest keys."""
        keys, rows = np.concatenate(self._keys), np.concatenate(self._drawn)
        if len(keys) > self.size:
            smallest = np.sort(np.argpartition(keys, self.size)[: self.size])
            keys, rows = keys[smallest], rows[smallest]
            self.threshold = float(keys.max())
        self._keys, self._drawn, self._n_drawn = [keys], [rows], len(keys)
