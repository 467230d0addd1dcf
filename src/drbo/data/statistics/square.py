"""Matrices of all pairs of columns: in memory, or in temporary files where there are too many columns for that."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from drbo.arrays import Floats, Indices
from drbo.deadline import current
from drbo.errors import DataError

#: Matrices that a fit of many columns holds at a time.
HELD = 8
#: Columns whose products are one step, and numbers of a matrix that are; the deadline is looked at between such steps.
WIDTH, STEP = 2_048, 2**24

_most: ContextVar[float] = ContextVar("most", default=np.inf)  # bytes


@contextmanager
def within(max_memory: float) -> Iterator[None]:
    """Hold matrices in files, inside the context, where eight of them take more than so many GiB."""
    token = _most.set(max_memory * 2**30)
    try:
        yield
    finally:
        _most.reset(token)


def square(d: int) -> Floats:
    """Return a matrix (d, d) of zeros. A file behind it has no name and goes with it."""
    size = d * d * 8
    if HELD * size <= _most.get():
        return np.zeros((d, d))
    try:
        with tempfile.TemporaryFile() as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)  # else a full disk would end the process later
            return np.asarray(np.memmap(file, np.float64, "w+", shape=(d, d)))
    except OSError as error:
        raise DataError(
            f"{d:,} columns need files of {size / 2**30:.2g} GiB in {tempfile.gettempdir()}: {error.strerror or error}",
            hint="point the variable TMPDIR to a folder with more room, raise max_memory, or use fewer columns",
        ) from error


def add_products(total: Floats, rows: Floats) -> None:
    """Add ``rows.T @ rows`` to a matrix (d, d); beside it, little memory is needed."""
    for start in range(0, len(total), WIDTH):
        if start and takes_steps(len(total)):
            current().check()
        end = start + WIDTH
        part = rows[:, start:end]
        total[start:end, start:end] += part.T @ part
        beyond = part.T @ rows[:, end:]
        total[start:end, end:] += beyond
        total[end:, start:end] += beyond.T


def rearranged(matrix: Floats, columns: Indices) -> Floats:
    """Return ``matrix[np.ix_(columns, columns)]``."""
    found = square(len(columns))
    for part in steps(len(columns)):
        np.take(matrix[columns[part]], columns, axis=1, out=found[part])
    return found


def takes_steps(d: int) -> bool:
    """Tell whether there are so many columns that the deadline is looked at within what is done to a matrix (d, d).

    Examples
    --------
    >>> takes_steps(4_000), takes_steps(5_000)
    (False, True)
    """
    return d * d > STEP


def steps(d: int) -> Iterator[slice]:
    """Yield the rows of a matrix (d, d), as many at a time as make a step; the deadline ends it after the first one."""
    width = max(1, STEP // max(1, d))
    for start in range(0, d, width):
        if start:
            current().check()
        yield slice(start, min(start + width, d))
