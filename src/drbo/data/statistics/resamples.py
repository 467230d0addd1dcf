"""Resamples of rows that are not kept: every row counts twice or not at all, decided while it is read.

Weights of 0 and 2 have the mean and the variance of the numbers of times that rows occur in a bootstrap resample (the
double-or-nothing bootstrap of Owen & Eckles 2012). The weight of row i in resample k is ``1 + s_i g_k``: a random sign
per row, the same in all resamples, times a random sign per resample and group of neighbouring rows. The signs of the
rows make the weights of any two rows uncorrelated, so it does not matter that the rows of a group share ``g_k``, also
where the file is sorted. The products of a group are summed once, by the signs of its rows, and then serve all
resamples: many resamples take little longer than one.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from drbo.arrays import Floats, Indices, Ints
from drbo.errors import SettingsError

#: Numbers in the sums of all resamples, at most: 2 GiB.
MOST_NUMBERS = 2**28
#: Numbers in the products of the groups of a block, about, and groups of a block at most.
GROUP_NUMBERS, MOST_GROUPS = 2**21, 256


@dataclass(frozen=True, eq=False)
class Resamples:
    """The moments of resamples of the same rows, beside the moments of the rows themselves."""

    n: Ints  # (K,) rows, counted as often as they were drawn
    offset: Floats  # (K, d) of the means from the shift of the rows
    products: Floats  # (K, d, d) sums of products of deviations from the mean

    def __len__(self) -> int:
        return len(self.n)

    def joined(self, other: "Resamples", shift: Floats) -> "Resamples":
        """Return the resamples of both sets of rows; ``shift`` (d,) is how much further that of the other is.

        Examples
        --------
        >>> one = Resamples(np.array([2]), np.array([[1.0]]), np.array([[[0.5]]]))
        >>> both = one.joined(one, np.array([10.0]))
        >>> both.n.tolist(), both.offset.tolist(), both.products.tolist()
        ([4], [[6.0]], [[[101.0]]])
        """
        if (most := min(len(self), len(other))) < max(len(self), len(other)):  # as many as both have
            return self._first(most).joined(other._first(most), shift)
        n = self.n + other.n
        step = shift + (other.offset - self.offset)
        share = other.n / np.maximum(n, 1)
        products = self.products + other.products
        products += (self.n * share)[:, None, None] * step[:, :, None] * step[:, None, :]
        return Resamples(n, self.offset + step * share[:, None], products)

    def _first(self, count: int) -> "Resamples":
        return Resamples(self.n[:count], self.offset[:count], self.products[:count])

    def take(self, columns: Indices) -> "Resamples":
        """Return the resamples of these columns, in this order."""
        both = np.ix_(np.arange(len(self)), columns, columns)
        return Resamples(self.n, self.offset[:, columns], np.ascontiguousarray(self.products[both]))


class ResampledSums:
    """Adds up the moments of resamples, block by block, about the mean of the first block."""

    def __init__(self, n_columns: int, count: int, seed: int = 0) -> None:
        check_count(count, n_columns)
        self._count, self._seed = count, seed
        self._groups = min(MOST_GROUPS, max(1, GROUP_NUMBERS // (n_columns + 1) ** 2))
        self._shift: Floats | None = None
        self._all = np.zeros((n_columns + 1, n_columns + 1))  # the first column is 1 in every row
        self._signed = np.zeros((count, (n_columns + 1) ** 2))

    def see(self, rows: Floats, place: int) -> None:
        """Look at a block of complete rows, which begins at this row of its file."""
        if not len(rows):
            return
        if self._shift is None:
            self._shift = rows.mean(axis=0)
        rng = random_of(rows, place, self._seed, "resamples")
        size = -(-len(rows) // self._groups)  # rows of a group
        n_groups = -(-len(rows) // size)
        values = np.zeros((n_groups * size, rows.shape[1] + 1))
        values[: len(rows), 0] = 1.0
        np.subtract(rows, self._shift, out=values[: len(rows), 1:])
        self._all += values.T @ values
        signed = values * (2.0 * rng.integers(2, size=len(values)) - 1.0)[:, None]
        shape = (n_groups, size, values.shape[1])
        products = signed.reshape(shape).transpose(0, 2, 1) @ values.reshape(shape)
        draws = 2.0 * rng.integers(2, size=(self._count, n_groups)) - 1.0
        self._signed += draws @ products.reshape(n_groups, -1)

    def resamples(self, shift: Floats) -> Resamples:
        """Return the resamples of all rows that were seen, with offsets from this shift."""
        found = self._all + self._signed.reshape(self._count, *self._all.shape)
        n = np.rint(found[:, 0, 0]).astype(np.int64)
        if self._shift is None:
            return Resamples(n, np.zeros((self._count, len(shift))), np.zeros((self._count, len(shift), len(shift))))
        mean = found[:, 0, 1:] / np.maximum(n, 1)[:, None]
        products = found[:, 1:, 1:] - n[:, None, None] * mean[:, :, None] * mean[:, None, :]
        return Resamples(n, mean + (self._shift - shift), np.ascontiguousarray(products))


def check_count(count: int, n_columns: int) -> None:
    """Refuse more resamples than there is memory for."""
    if count * (n_columns + 1) ** 2 > MOST_NUMBERS:
        gib = 8 * count * (n_columns + 1) ** 2 / 2**30
        raise SettingsError(
            f"the sums of {count} resamples of {n_columns} columns would take {gib:.0f} GiB, but at most "
            f"{8 * MOST_NUMBERS / 2**30:.0f} are allowed",
            hint=f"use at most {MOST_NUMBERS // (n_columns + 1) ** 2} resamples, or leave out columns",
        )


def random_of(rows: Floats, place: int, seed: int, purpose: str) -> np.random.Generator:
    """Return random numbers for a block: they depend on the seed, on where it begins in its file, and on some rows.

    Two owners of different rows therefore draw different resamples, and who reads a block decides nothing.
    """
    some = np.ascontiguousarray(rows[[0, len(rows) // 2, -1]] + 0.0)
    digest = hashlib.sha256(purpose.encode() + some.tobytes()).digest()
    return np.random.default_rng([seed, place, *np.frombuffer(digest, dtype="<u4").tolist()])
