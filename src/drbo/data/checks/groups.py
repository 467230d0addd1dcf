"""Rows that belong together, such as several rows per patient: differences between groups are removed.

Rows of one group share causes that are not in the table. Without them, each column is compared only with itself: how
far is a row from the mean of its group? (The within transformation, or fixed effects: Wooldridge 2010, ch. 10.)
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.data.checks.check import apply_policy, without_collinear
from drbo.data.checks.columns import is_constant
from drbo.data.statistics.statistics import Statistics
from drbo.design import OnCollinear, OnConstant
from drbo.errors import DataError, SettingsError, name_hint

if TYPE_CHECKING:
    import pandas as pd


#: Rows that must be left when one row per group is taken away.
MIN_LEFT = 3


def split_groups(frame: "pd.DataFrame", groups: Any) -> tuple["pd.DataFrame", Indices | None]:
    """Return the table without the column of groups, and the group (n,) of every row, numbered from 0; None: no groups.

    ``groups`` is the name of a column, or one label per row; None and False: rows are not grouped.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"patient": ["eve", "bob", "eve"], "dose": [1.0, 2.0, 3.0]})
    >>> rest, codes = split_groups(frame, "patient")
    >>> list(rest), codes.tolist()
    (['dose'], [1, 0, 1])
    """
    import pandas as pd

    if groups is None or groups is False:
        return frame, None
    if isinstance(groups, str):
        if groups not in frame:
            raise SettingsError(f"there is no column '{groups}' to group rows by", hint=name_hint(groups, frame))
        frame, labels, what = frame.drop(columns=groups), frame[groups], f"column '{groups}'"
    else:
        if np.shape(groups) != (len(frame),):
            raise SettingsError(
                f"groups must be the name of a column or one label for each of {len(frame)} rows, got "
                f"{f'shape {np.shape(groups)}' if np.ndim(groups) else repr(groups)}",
                hint="name the column that says which rows belong together",
            )
        labels, what = pd.Series(np.asarray(groups)), "groups"
    if (missing := labels.isna().to_numpy()).any():
        raise DataError(
            f"{what} has no label in {int(missing.sum())} of {len(frame)} rows, first in row {int(np.argmax(missing))}",
            hint="drop these rows, or give each a label of its own",
        )
    return frame, np.unique(labels.astype(str).to_numpy(dtype=str), return_inverse=True)[1].astype(np.intp)


def in_larger_groups(codes: Indices) -> Bools:
    """Return (n,) True for rows that are not alone in their group; refuse groups with nothing to compare."""
    sizes = np.bincount(codes)
    kept: Bools = sizes[codes] > 1
    if np.count_nonzero(sizes) == 1:
        raise DataError("all rows are in a single group, so nothing is grouped", hint="omit the groups")
    if not kept.any():
        raise DataError(
            "every group has one row, so nothing is grouped",
            hint="omit the groups; if rows are independent although neighbours look alike, use groups=False "
            "(--groups none)",
        )
    left = int(kept.sum()) - len(np.unique(codes[kept]))
    if left < MIN_LEFT:
        raise DataError(
            f"only {left} rows are left when one row per group is taken for the group mean, but at least {MIN_LEFT} "
            "are needed",
            hint="omit the groups, or give more rows per group",
        )
    return kept


def within_groups(
    table: Statistics, codes: Indices, *, on_constant: OnConstant = "error", on_collinear: OnCollinear = "error"
) -> tuple[Statistics, tuple[str, ...]]:
    """Return the table without the differences between groups, and what there is to say about it.

    Every column loses the mean of its group. That takes one degree of freedom per group: a row of a group of m counts
    as (m - 1) / m rows, and is divided by the root of that, so that the variance is the same in groups of all sizes and
    the covariance is the one within groups. The groups, which a bootstrap resamples, stay with the table.

    Parameters
    ----------
    table : checked; no group has a single row. Missing cells stay missing.
    codes : (n,) the group of each row.
    on_constant : what to do with a column that never changes within a group, of which nothing would be left.
    on_collinear : what to do with a column that others determine within groups.

    Examples
    --------
    >>> table = Statistics.from_array([[1.0, 5.0], [3.0, 4.0], [12.0, 1.0], [10.0, 0.0]], ["dose", "response"])
    >>> found, _ = within_groups(table, np.array([0, 0, 1, 1]))
    >>> (found.values * np.sqrt(found.weights)[:, None]).round(3).tolist(), float(found.weights.sum())
    ([[-1.0, 0.5], [1.0, -0.5], [1.0, 0.5], [-1.0, -0.5]], 2.0)
    """
    notes = list[str]()
    _, codes = np.unique(codes, return_inverse=True)
    steady = {j: STEADY for j, column in enumerate(table.values.T) if _is_steady(column, codes)}
    varying = [name for j, name in enumerate(table.names) if table.levels[j] is not None and j not in steady]
    if varying:
        raise DataError(
            f"column '{varying[0]}' is categorical and varies within groups, but only numbers have group means",
            hint="drop the column, or encode it as numbers, such as 0 and 1",
        )
    table = apply_policy(table, steady, "on_constant", on_constant, notes)
    share = 1.0 - 1.0 / np.bincount(codes)[codes]  # of a row that is left
    values = np.empty_like(table.values)
    for j, column in enumerate(table.values.T):
        values[:, j] = (column - _means(column, codes)) / np.sqrt(share)
    table = without_collinear(replace(table, values=values, weights=share, groups=codes), on_collinear, notes)
    words = (
        f"{codes.max() + 1} groups: group means were removed from every column, so only changes within groups count; "
        f"{table.n_rows} rows are worth {share.sum():.6g}"
    )
    return table, (words, *notes)


#: What is said of a column that has no changes within groups.
STEADY = "never changes within a group, so it is constant once group means are removed"


def one_left_out(codes: Indices, rng: np.random.Generator) -> Indices:
    """Return the rows without one of each group: as many as the table is worth, for a test that takes no weights."""
    order = rng.permutation(len(codes))
    _, first = np.unique(codes[order], return_index=True)
    return np.delete(np.arange(len(codes)), order[first]).astype(np.intp)


def steps_within(table: Statistics) -> Floats:
    """Return how far each row is from the first of its group, in the units of the given table up to one factor.

    A column of few values has few such steps, while it has many values once the group means are removed.
    """
    assert table.groups is not None
    assert table.weights is not None
    given = table.values * np.sqrt(table.weights)[:, None]
    _, first, place = np.unique(table.groups, return_index=True, return_inverse=True)
    steps: Floats = np.round(given - given[first][place], 9) + 0.0
    return steps


def _means(column: Floats, codes: Indices) -> Floats:
    """Return the group mean of every row, over the cells that are there."""
    there = ~np.isnan(column)
    count = np.bincount(codes, there)
    total = np.bincount(codes, np.where(there, column, 0.0))
    means: Floats = (total / np.maximum(count, 1))[codes]
    return means


def _is_steady(column: Floats, codes: Indices) -> bool:
    """Tell whether a column has one value in each group."""
    low, high = np.full(codes.max() + 1, np.inf), np.full(codes.max() + 1, -np.inf)
    np.fmin.at(low, codes, column)
    np.fmax.at(high, codes, column)
    return all(is_constant(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True) if a < b)
