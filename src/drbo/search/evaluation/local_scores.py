"""Local scores computed in this process, with an error that names the family where a score fails."""

import time
from collections.abc import Generator

import numpy as np

from drbo.arrays import Floats
from drbo.deadline import OutOfTimeError, current
from drbo.errors import ScoreError
from drbo.scores.base import Score
from drbo.scores.families import Families

#: Work is timed in this process first, in steps that double until one takes this long.
PROBE_SECONDS = 0.1
#: Families in the first piece of a batch that may be cut anywhere.
FIRST_PIECE = 64


def local_scores(
    score: Score, families: Families, done: list[float] | None = None
) -> Floats:  # fmt: skip
    """Return the local scores of families, cell by cell; an exception or a bad number of a user's score is named.

    Those of finished cells go to ``done`` if the deadline ends it.
    """
    cells = list[Floats]()
    try:
        for rows in _cells(score, len(families)):
            cells.append(np.asarray(score.local(families[rows]), dtype=np.float64))
        values = np.concatenate(cells) if cells else np.empty(0)
    except OutOfTimeError:
        if done is not None:
            done += _checked_values(score, families, np.concatenate([np.empty(0), *cells]), part=True).tolist()
        raise
    except ScoreError:
        raise
    except (Exception, SystemExit) as error:  # the score may be the user's: it may fail in any way, or exit
        raise ScoreError(
            f"score '{score.name}' failed for {_blamed(score, families)}: {type(error).__name__}: {error}",
            hint="a local score must return a finite number for every family",
        ) from error
    if done is not None:
        done += _checked_values(score, families, values).tolist()
    return _checked_values(score, families, values)


def _checked_values(score: Score, families: Families, values: Floats, *, part: bool = False) -> Floats:
    """Return values, of all families or the first ones, or say what is wrong with them."""
    if values.shape != (len(values) if part else len(families),):
        raise ScoreError(
            f"score '{score.name}' must return one value per family, got shape {values.shape} for {len(families)} "
            "families"
        )
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ScoreError(
            f"score '{score.name}' is {values[row]} for {family_words(score, families, row)}",
            hint="a local score must return a finite number for every family",
        )
    return values


def _cells(score: Score, count: int) -> "Generator[slice, None, None]":
    """Yield the rows that one call computes; the deadline is looked at between two calls.

    Where a batch may be cut anywhere, pieces double while one takes less than PROBE_SECONDS.
    """
    deadline, start = current(), 0
    size = score.cell or FIRST_PIECE
    while start < count:
        deadline.check()
        before = time.perf_counter()
        yield slice(start, start + size)
        start += size
        if score.cell is None and time.perf_counter() - before < PROBE_SECONDS:
            size *= 2


def family_words(score: Score, families: Families, row: int) -> str:
    """Return a family in words: node 'c' with parents ['a', 'b']."""
    parents = [score.names[j] for j in np.flatnonzero(families.parents[row])]
    return f"node '{score.names[families.nodes[row]]}' with parents {parents}"


def _blamed(score: Score, families: Families) -> str:
    """Return the first family that fails alone, in words."""
    for row in range(len(families)):
        try:
            score.local(families[row : row + 1])
        except (Exception, SystemExit):
            return family_words(score, families, row)
    return f"{len(families)} families together"
