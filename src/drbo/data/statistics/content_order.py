"""The order of rows and columns by their content alone."""

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np

from drbo.arrays import Floats, Indices, Masks
from drbo.data.statistics.blocks import row_blocks, slabs
from drbo.data.statistics.units import unit_free

#: Threads that sort columns: each holds several copies of its own.
SORTING_THREADS = 2
#: Digests begin with it, so that alphabetical order of simple contents does not decide.
SALT = b"0"


def column_order(
    content: Floats,  # (n, d)
    names: Sequence[str],
) -> tuple[Indices, Floats]:
    """Return the order of the columns, and for each whether it (1) or its negative (-1) decided its place.

    Columns are ordered by a digest of their sorted values in standard units, of which a column and its negative
    have the same, so that neither the position nor the name nor the unit nor the sign of a column can decide a
    tie. Columns with equal digests are told apart by what stands beside them in the rows; names only separate columns
    that the whole table cannot tell apart.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=(5, 3))
    >>> order, signs = column_order(values, "abc")
    >>> other, mirrored = column_order(-7.0 * values, "abc")
    >>> bool((order == other).all() and (signs == -mirrored).all())
    True
    """
    digests, signs = _column_digests(content)
    colours = np.zeros(len(digests), dtype=np.uint64)
    if len(set(digests)) < len(digests):
        first = np.array([int.from_bytes(digest[:8]) for digest in digests], np.uint64)
        standard = np.empty(content.shape)
        for part in slabs(*content.shape):
            standard[:, part] = _one_pattern(unit_free(np.ascontiguousarray(content[:, part])) * signs[part])
        colours = _refined(standard, first)
    keys = sorted(zip(digests, colours.tolist(), names, range(len(digests)), strict=True))
    return np.array([j for *_, j in keys], dtype=np.intp), signs


def row_order(n_rows: int, keys: Iterable[Floats]) -> Indices:
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


def _column_digests(values: Floats) -> tuple[list[bytes], Floats]:
    """Return a digest of the sorted values of each column in standard units, up to their sign.

    The signs (d,) tell whether a column (1) or its negative (-1) has that digest.
    """

    def of_slab(columns: Indices) -> list[tuple[bytes, float]]:
        slab = np.ascontiguousarray(np.sort(values[:, columns], axis=0))
        standard = _one_pattern(unit_free(slab))
        mirrored = _one_pattern(np.sort(-standard[::-1], axis=0, kind="stable"))  # in order, but for missing cells
        found = []
        for one, other in zip(standard.T, mirrored.T, strict=True):
            content, sign = min((one.tobytes(), 1.0), (other.tobytes(), -1.0))
            found.append((hashlib.sha256(SALT + content).digest(), sign))
        return found

    parts = slabs(*values.shape)
    if len(parts) == 1:
        keys = of_slab(parts[0])
    else:
        with ThreadPoolExecutor(SORTING_THREADS) as pool:
            keys = list(chain.from_iterable(pool.map(of_slab, parts)))
    return [digest for digest, _ in keys], np.array([sign for _, sign in keys])


def _refined(
    values: Floats,  # (n, d)
    colours: Masks,  # (d,)
) -> Masks:
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


def _one_pattern(values: Floats) -> Floats:
    """Return the same numbers, zero and missing cells without a sign: their bytes tell whether they are equal."""
    return np.where(np.isnan(values), np.nan, values + 0.0)


def _mixed(bits: Masks) -> Masks:
    """Return well-mixed 64-bit numbers, one for each given (the finaliser of splitmix64; Steele et al. 2014)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
