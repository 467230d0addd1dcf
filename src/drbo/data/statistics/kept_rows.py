"""Rows that are kept of a table that is only summed up: the first ones, and a random sample."""

from typing import NamedTuple

import numpy as np

from drbo.arrays import Floats
from drbo.data.statistics import sums
from drbo.data.statistics.resamples import random_of

CHUNK = 2**12  # rows that are moved at once


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
        self.size = max(sums.SAMPLE_ROWS, sums.SAMPLE_CELLS // max(1, n_columns))
        self.threshold = threshold
        self._seed = seed
        self._most_first = max(0, sums.describing_rows(n_columns) - n_before)
        self._first: list[Floats] = [np.empty((0, n_columns))]
        # Room for keys and their rows, which is used again: new memory costs more than what is written to it.
        self._keys, self._drawn = np.empty(2 * self.size), np.empty((2 * self.size, n_columns))
        self._n_first = self._n_drawn = 0

    def see(self, rows: Floats, place: int) -> None:
        """Look at a block of complete rows, which begins at this row of its file."""
        if len(rows):
            keys = random_of(rows, place, self._seed, "sample").random(len(rows))
            taken = np.flatnonzero(keys < self.threshold)
            self.add(Kept(keys[taken], np.take(rows.T, taken, axis=1).T, rows))  # blocks are held column by column

    def add(self, more: Kept) -> None:
        """Add what was kept of the rows that follow."""
        left = self._most_first - self._n_first
        if left > 0:
            self._first.append(more.first[:left].copy())
            self._n_first += len(self._first[-1])
        start = 0
        while start < len(more.keys):
            if self._n_drawn == len(self._keys):
                self._leave_out()
            end = self._n_drawn + min(len(more.keys) - start, len(self._keys) - self._n_drawn)
            stop = start + end - self._n_drawn
            self._keys[self._n_drawn : end] = more.keys[start:stop]
            self._drawn[self._n_drawn : end] = more.rows[start:stop]
            self._n_drawn, start = end, stop

    def kept(self) -> Kept:
        """Return the rows that are kept."""
        self._leave_out()
        return Kept(self._keys[: self._n_drawn], self._drawn[: self._n_drawn], np.concatenate(self._first))

    def _leave_out(self) -> None:
        """Leave out all but the smallest keys."""
        if self._n_drawn <= self.size:
            return
        smallest = np.sort(np.argpartition(self._keys[: self._n_drawn], self.size)[: self.size])
        for start in range(0, self.size, CHUNK):  # each row moves towards the beginning, so none is lost
            part = smallest[start : start + CHUNK]
            self._keys[start : start + len(part)] = self._keys[part]
            self._drawn[start : start + len(part)] = self._drawn[part]
        self._n_drawn = self.size
        self.threshold = float(self._keys[: self.size].max())
