"""Checks moments that stand in for a table: enough rows, missing cells, constant and collinear columns."""

from typing import TYPE_CHECKING

import numpy as np

from drbo.data.checks.check import apply_policy, check_shape
from drbo.data.checks.columns import LARGEST, SMALLEST_SPREAD, is_constant
from drbo.data.checks.dependence import find_dependent_sums
from drbo.data.checks.missing import said
from drbo.data.statistics.pattern_moments import estimated
from drbo.data.statistics.table import Kind, Table
from drbo.data.statistics.table_moments import TableMoments
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5  # columns in a message
#: Whole numbers in so small a range may be codes of categories.
FEW_CODES = 10


def checked_totals(
    totals: TableMoments, *, missing: str = "error", on_constant: str = "error", on_collinear: str = "error"
) -> tuple[Table, tuple[str, ...]]:
    """Return a table of moments, with the sample of rows that was kept beside them, and notes; or refuse it.

    The policies are those of a fit; ``missing="em"`` needs the patterns of missing cells, which a stream sums up and a
    file of moments does not have.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 2))
    >>> table, notes = checked_totals(TableMoments.of_rows(["a", "b"], x))
    >>> table.n_rows, table.n_all
    (0, 50)
    """
    notes = list[str]()
    check_missing(totals, missing, notes)
    if totals.dropped and missing == "em" and totals.levels:
        raise DataError('missing="em" requires numeric columns, but some are categories', hint='use missing="drop"')
    if totals.dropped and missing == "em":
        totals = estimated(totals)
        notes[-1] += f"; the effective sample size is {totals.moments.n:.1f} rows"
    check_shape(totals.n, len(totals.names))
    _check_range(totals)
    d = len(totals.names)
    values = totals.sample if totals.sample.size else np.empty((0, d))
    levels = totals.levels or (None,) * d
    kinds: tuple[Kind, ...] = tuple("numeric" if one is None else "categorical" for one in levels)
    table = Table(values, totals.names, kinds, levels, totals=totals)
    notes += [
        f"column '{name}' is treated as categorical with {len(one)} levels"
        for name, one in zip(totals.names, levels, strict=True)
        if one is not None
    ]
    constant = {
        j: f"is constant (every row contains {f'{low + 0.0:g}' if (one := levels[j]) is None else one[int(low)]})"
        for j, (low, high) in enumerate(zip(totals.low, totals.high, strict=True))
        if is_constant(float(low), float(high))
    }
    table = apply_policy(table, constant, "on_constant", on_constant, notes)
    numbers = np.array([j for j, one in enumerate(table.levels) if one is None], dtype=np.intp)
    if len(numbers):
        dependent = find_dependent_sums(totals.take(np.array([totals.names.index(table.names[j]) for j in numbers])))
        faults = {int(numbers[j]): fault for j, fault in dependent.items()}
        table = apply_policy(table, faults, "on_collinear", on_collinear, notes)
    ranges = zip(totals.names, levels, totals.high - totals.low, totals.whole, strict=True)
    codes = [name for name, one, wide, whole in ranges if one is None and whole and 0 < wide < FEW_CODES]
    if codes:
        named = ", ".join(f"'{name}'" for name in codes[:SHOWN]) + (", ..." if len(codes) > SHOWN else "")
        notes.append(f"whole numbers in a small range are treated as numbers, not as categories: {named}")
    if totals.bases is not None and not totals.levels:
        notes.append(f"the knots of splines are quantiles of a random sample of {len(totals.sample):,} rows")
    if totals.n < d:
        notes.append(f"there are fewer rows ({totals.n}) than columns ({d}): expect false edges")
    return table, tuple(notes)


def kept_rows(totals: TableMoments) -> "pd.DataFrame":
    """Return the sample of the rows as a data frame, with categories as text."""
    import pandas as pd

    frame = pd.DataFrame(totals.sample, columns=list(totals.names))
    for name, levels in zip(totals.names, totals.levels, strict=False):
        if levels is not None:
            frame[name] = np.array(levels, dtype=object)[frame[name].to_numpy(dtype=np.intp)]
    return frame


def check_missing(totals: TableMoments, policy: str, notes: list[str]) -> None:
    """Refuse moments of a table with missing cells, or say how many rows were left out."""
    if not totals.dropped:
        return
    total = totals.n + totals.dropped
    lost = [(name, count) for name, count in zip(totals.names, totals.missing.tolist(), strict=True) if count]
    named = "; ".join(f"column '{name}' ({count} of {total} rows)" for name, count in lost[:SHOWN])
    named += f"; and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    if policy == "error":
        raise DataError(f"Input contains NaN: missing values in {named}", hint='use missing="drop"')
    if policy == "impute" or (policy == "em" and not totals.patterns):
        raise DataError(
            f'missing="{policy}" needs the rows of the table, but they were only summed: missing values in {named}',
            hint='use missing="drop", or fit a sample of the rows',
        )
    notes.append(said(policy, total, totals.dropped, int(totals.missing.sum())))


def _check_range(totals: TableMoments) -> None:
    """Refuse numbers whose squares leave the range of floating point."""
    for name, low, high in zip(totals.names, totals.low.tolist(), totals.high.tolist(), strict=True):
        if max(-low, high) > LARGEST:
            raise DataError(
                f"column '{name}' contains {max(-low, high):g}, but absolute values must be below {LARGEST:g}",
                hint="rescale the column",
            )
        if not is_constant(low, high) and high - low < SMALLEST_SPREAD:
            raise DataError(
                f"column '{name}' varies by only {high - low:g}, so that its variance is 0 in floating point",
                hint="rescale the column",
            )
