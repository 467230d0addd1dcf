"""What the compiled kernels share: sums of rows by bytes, cheap random bits.

A parent set is a few bytes, so the sum of the rows of W1 that belong to it needs one table lookup per byte: a table
holds, for each of the 256 values of a byte, the sum of its rows. That is a quarter of the additions at the density of
low-rank graphs, needs no list of parents, and costs the same for every set.
"""

from typing import Any

import numpy as np

from drbo.jit import numba

F32 = np.float32


@numba.njit(cache=True, nogil=True)
def random_word(counter: Any) -> Any:
    """Return 64 random bits for a counter (splitmix64: Steele, Lea & Flood 2014)."""
    x = counter * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(cache=True, nogil=True)
def fill_random(words: Any, start: Any) -> None:
    """Fill an array with random bits, beginning at a counter."""
    for i in range(words.shape[0]):
        words[i] = random_word(start + np.uint64(i))


@numba.njit(cache=True, nogil=True, fastmath=True)
def sums_by_byte(rows: Any, table: Any) -> None:
    """Set table[g, byte] to the sum of the rows 8 g + i over the bits i of the byte, most significant first."""
    for g in range(table.shape[0]):
        sums = table[g]
        sums[0, :] = F32(0.0)
        for bit in range(8):
            place, size = 8 * g + 7 - bit, 1 << bit
            for s in range(size):
                for k in range(rows.shape[1]):
                    sums[size + s, k] = sums[s, k]
            if place < rows.shape[0]:
                row = rows[place]
                for s in range(size, 2 * size):
                    for k in range(rows.shape[1]):
                        sums[s, k] += row[k]


@numba.njit(cache=True, nogil=True, fastmath=True)
def fold_bytes(table: Any, rows: Any) -> None:
    """Undo :func:`sums_by_byte` for gradients: rows[8 g + i] is the sum of table[g, byte] over bytes with bit i.

    The table is used up.
    """
    for g in range(table.shape[0]):
        sums = table[g]
        for bit in range(7, -1, -1):
            place, size = 8 * g + 7 - bit, 1 << bit
            if place < rows.shape[0]:
                row = rows[place]
                row[:] = F32(0.0)
                for s in range(size, 2 * size):
                    for k in range(rows.shape[1]):
                        row[k] += sums[s, k]
            for s in range(size):
                for k in range(rows.shape[1]):
                    sums[s, k] += sums[size + s, k]


@numba.njit(cache=True, nogil=True, fastmath=True, inline="always")
def add_rows(total: Any, table: Any, code: Any) -> None:
    """Add the rows of a parent set, given by its bytes, to a vector."""
    size, q = code.shape[0], 0
    while q + 4 <= size:
        a, b = table[q, code[q]], table[q + 1, code[q + 1]]
        c, d = table[q + 2, code[q + 2]], table[q + 3, code[q + 3]]
        for k in range(total.shape[0]):
            total[k] += (a[k] + b[k]) + (c[k] + d[k])
        q += 4
    while q < size:
        a = table[q, code[q]]
        for k in range(total.shape[0]):
            total[k] += a[k]
        q += 1
