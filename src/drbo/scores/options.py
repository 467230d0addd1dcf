"""Checks the options that all scores have, and the tables of scores of numbers."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError, SettingsError

#: The largest penalty, and log-odds of an edge: with larger ones scores are no longer finite.
LARGEST = 1e100


def checked_penalty(penalty: Any) -> float | Literal["ebic"]:
    """Return a multiplier of the penalty, or the word ebic."""
    if penalty == "ebic":
        return "ebic"
    if not isinstance(penalty, (int, float, np.number)) or not np.isfinite(penalty) or penalty < 0:
        raise SettingsError(
            f"penalty must be a number >= 0 or 'ebic', got {penalty!r}", hint="1 is the usual BIC; 2 gives fewer edges"
        )
    if penalty > LARGEST:
        raise SettingsError(
            f"penalty must be at most {LARGEST:g}, got {penalty:g}", hint="1 is the usual BIC; 2 gives fewer edges"
        )
    return float(penalty)


def checked_gamma(gamma: Any) -> float:
    """Return a weight of ln d."""
    if not isinstance(gamma, (int, float, np.number)) or not 0 <= gamma <= LARGEST:
        raise SettingsError(f"gamma must be a number >= 0, got {gamma!r}", hint="0.5 is usual; 1 gives fewer edges")
    return float(gamma)


def checked_strength(strength: Any) -> float:
    """Return the least strength of an edge."""
    if not isinstance(strength, (int, float, np.number)) or not 0 <= strength < 1:
        raise SettingsError(
            f"min_strength must be at least 0 and below 1, got {strength!r}",
            hint="0.001 leaves out edges that explain less than 0.1% of what the other causes do not explain",
        )
    return float(strength)


def checked_prior(prior: npt.ArrayLike | None, d: int) -> Floats | None:
    """Return the log-odds (d, d) of edges; None: none were given."""
    if prior is None:
        return None
    matrix = np.asarray(prior, dtype=np.float64)
    if matrix.shape != (d, d) or not (np.abs(matrix) <= LARGEST).all():
        raise SettingsError(
            f"edge_prior must be a finite ({d}, {d}) matrix of log-odds of size at most {LARGEST:g}, got shape "
            f"{matrix.shape}",
            hint="to forbid or require an edge, use knowledge instead of an infinite prior",
        )
    return matrix


def checked_targets(targets: npt.ArrayLike | None, n: int, d: int) -> Bools | None:
    """Return the cells (n, d) that experiments set; None: there are none."""
    if targets is None:
        return None
    mask = np.asarray(targets)
    if mask.shape != (n, d) or not np.isin(mask, (0, 1)).all():
        raise SettingsError(f"targets must be a boolean ({n}, {d}) array, got shape {mask.shape}")
    return mask.astype(bool) if mask.any() else None


def check_numbers(table: Statistics, score: str) -> None:
    """Refuse a table that has a column of categories; for scores of numbers alone."""
    for name, kind in zip(table.names, table.kinds, strict=True):
        if kind != "numeric":
            raise ScoreError(
                f"column '{name}' is {kind}, but {score} requires numbers",
                hint="use score='auto' or 'mixed', or encode the column as numbers yourself",
            )
