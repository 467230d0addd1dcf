"""Row weights: a row of weight w counts as w identical rows."""

from typing import Any

import numpy as np

from drbo.arrays import Floats
from drbo.errors import DataError

MIN_TOTAL = 3  # rows that a table needs
MAX_TOTAL = 1e12  # rows that a table may stand for: scores grow with them, and must fit into single precision


def checked_weights(weights: Any, n_rows: int) -> Floats:
    """Return the weights of rows as an array; an error if they cannot be counts."""
    try:
        found = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("sample weights must be numbers", hint="give one number >= 0 per row") from error
    if found.shape != (n_rows,):
        raise DataError(
            f"sample weights must have one number for each of {n_rows} rows, got shape {found.shape}",
            hint="give one number >= 0 per row",
        )
    wrong = ~np.isfinite(found) | (found < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"sample weights must be finite and at least 0, got {found[row]:g} in row {row}",
            hint="drop the row, or set its weight to 0",
        )
    if not found.any():
        raise DataError(
            "all sample weights are zero", hint="rows of weight 0 are ignored, so give some rows a positive weight"
        )
    if found.sum() < MIN_TOTAL:
        raise DataError(
            f"sample weights sum to {found.sum():.6g}, but a weight is a number of rows, and at least "
            f"{MIN_TOTAL} are needed",
            hint="multiply weights that sum to 1 by the number of rows that they represent",
        )
    if found.sum() > MAX_TOTAL:
        raise DataError(
            f"sample weights sum to {found.sum():.6g}, but a weight is a number of rows, and at most "
            f"{MAX_TOTAL:g} are allowed",
            hint="divide the weights by the number of observations that one row represents",
        )
    return found


def weights_in_words(weights: Floats) -> str:
    """Return what weights do to a table; for those that are no counts, what they are worth (Kish 1965)."""
    words = f"sample weights: {len(weights)} rows count as {weights.sum():.6g}"
    if (weights == np.round(weights)).all():
        return words
    kish = weights.sum() ** 2 / np.square(weights).sum()
    return (
        f"{words}; if the weights correct for unequal sampling, the effective sample size is only {kish:.6g} "
        f"(Kish): multiply the weights by {kish / weights.sum():.4g} to use it"
    )
