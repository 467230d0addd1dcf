"""Checks moments that stand in for a table: enough rows, missing cells, constant and collinear columns."""

from dataclasses import replace

import numpy as np

from drbo.data.checks.check import apply_policy, check_shape, constant_words
from drbo.data.checks.columns import LARGEST, SMALLEST_SPREAD, is_constant
from drbo.data.checks.dependence import find_dependent_sums
from drbo.data.checks.missing import said
from drbo.data.statistics.pattern_moments import estimated
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Sums
from drbo.errors import DataError

SHOWN = 5  # columns in a message
#: Whole numbers in so small a range may be codes of categories.
FEW_CODES = 10


def checked_sums(
    table: Statistics, missing: str = "error", on_constant: str = "error", on_collinear: str = "error"
) -> tuple[Statistics, tuple[str, ...]]:
    """Return what is known of rows that were summed up, checked, and notes; or refuse it.

    The policies are those of a fit; ``missing="em"`` needs the patterns of missing cells, which a stream sums up and a
    file of moments does not have.
    """
    notes = list(check_missing(table, missing))
    if notes and missing == "em" and "categorical" in table.kinds:
        raise DataError('missing="em" requires numeric columns, but some are categories', hint='use missing="drop"')
    if notes and missing == "em":
        table = replace(table, sums=estimated(_sums(table), table.patterns), bases=None, patterns=())
        notes[-1] += f"; the effective sample size is {table.n_counted:.1f} rows"
    check_shape(table.n, table.n_columns)
    sums, names, levels, d = _sums(table), table.names, table.levels, table.n_columns
    _check_range(sums)
    notes += [
        f"column '{name}' is treated as categorical with {len(one)} levels"
        for name, one in zip(names, levels, strict=True)
        if one is not None
    ]
    constant = {
        j: constant_words(float(low) + 0.0, levels[j])
        for j, (low, high) in enumerate(zip(sums.low, sums.high, strict=True))
        if is_constant(float(low), float(high))
    }
    table = apply_policy(table, constant, "on_constant", on_constant, notes)
    numbers = np.array([j for j, one in enumerate(table.levels) if one is None], dtype=np.intp)
    if len(numbers):
        dependent = find_dependent_sums(_sums(table).take(numbers))
        faults = {int(numbers[j]): fault for j, fault in dependent.items()}
        table = apply_policy(table, faults, "on_collinear", on_collinear, notes)
    ranges = zip(names, levels, sums.high - sums.low, sums.whole, strict=True)
    codes = [name for name, one, wide, whole in ranges if one is None and whole and 0 < wide < FEW_CODES]
    if codes:
        named = ", ".join(f"'{name}'" for name in codes[:SHOWN]) + (", ..." if len(codes) > SHOWN else "")
        notes.append(f"whole numbers in a small range are treated as numbers, not as categories: {named}")
    if table.bases is not None and not any(levels):
        notes.append(f"the knots of splines are quantiles of a random sample of {table.n_rows:,} rows")
    if table.n < d:
        notes.append(f"there are fewer rows ({table.n}) than columns ({d}): expect false edges")
    return table, tuple(notes)


def _sums(table: Statistics) -> Sums:
    assert table.sums is not None
    return table.sums


def check_missing(table: Statistics, policy: str) -> tuple[str, ...]:
    """Refuse sums over a table with missing cells, or return a note that says how many rows were left out."""
    sums = _sums(table)
    if not sums.dropped:
        return ()
    total = sums.n + sums.dropped
    lost = [(name, count) for name, count in zip(sums.names, sums.missing.tolist(), strict=True) if count]
    named = "; ".join(f"column '{name}' ({count} of {total} rows)" for name, count in lost[:SHOWN])
    named += f"; and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    if policy == "error":
        raise DataError(f"Input contains NaN: missing values in {named}", hint='use missing="drop"')
    if policy == "impute" or (policy == "em" and not table.patterns):
        raise DataError(
            f'missing="{policy}" needs the rows of the table, but they were only summed: missing values in {named}',
            hint='use missing="drop", or fit a sample of the rows',
        )
    return (said(policy, total, sums.dropped, int(sums.missing.sum())),)


def _check_range(sums: Sums) -> None:
    """Refuse numbers whose squares leave the range of floating point."""
    for name, low, high in zip(sums.names, sums.low.tolist(), sums.high.tolist(), strict=True):
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
