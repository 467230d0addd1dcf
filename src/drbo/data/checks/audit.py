"""What a table looks like before arrows are trusted: columns, scale, outliers, time, sortability, in words.

:func:`drbo.data.checks.check.check_table` refuses what cannot be used; this module speaks about what can, but should be
known.

The module is long because every finding has a check and a sentence of its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from drbo.arrays import Bools, Floats
from drbo.data.checks.facts import FEWEST, FEWEST_ROWS, SERIAL_TOPIC, Audit, ColumnFacts, Finding
from drbo.data.checks.serial import Serial, first_rows, is_clock, serial
from drbo.data.checks.sortability import explained, sortability
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import describing_rows
from drbo.deadline import current
from drbo.graph.dag import check_dag
from drbo.machine.threads import one_blas_thread

SHOWN_LEVELS = 8
SHOWN_COLUMNS = 3  # named in one finding
ROWS_PER_COLUMN = 10  # fewer rows per column than this is little
#: Distance from the median in robust standard deviations that a Gaussian column reaches once in 10^14 rows.
FAR = 8.0
NORMAL_MAD = 0.6744897501960817  # the median of |x| of a standard normal
#: Share of a column's variance that the others explain: above it, slopes are badly determined (inflation of 50).
NEARLY_COLLINEAR = 0.98
SCALE_RATIO = 100.0  # of the largest to the smallest standard deviation
SAME_SCALE = 1.05
DUPLICATES = 0.01  # share of rows that repeat an earlier one
HEAVY_KURTOSIS = 3.0  # excess: 3 for Laplace noise, 0 for Gaussian
MIN_ARROWS = 4  # a share of fewer arrows says nothing
SORTED = 0.8  # a sortability above it, or below 1 minus it, gives the order away
EQUAL_LEVEL = 0.001  # p-value under which noise variances differ
BINS = 12  # of the little histograms
MUCH_MISSING = 0.2  # share of the cells
MIN_COMPLETE = 10  # complete rows that are worth a look
INVERTED_COLUMNS = 2_000  # with more, a column is not compared with all others together: an inverse takes too long


def audit(table: Statistics, *, independent: bool = False) -> Audit:
    """Look at a checked table: its columns one by one, then what matters for a graph.

    ``independent``: the order of the rows is said to mean nothing.

    Costs a few passes over the data and one inverse of the correlation matrix; a long table is described by some of its
    rows, and the first finding says so. Raises an OutOfTimeError if the run has to end before that.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(500, 2)) * [1, 1000]
    >>> audit(Statistics.from_array(x)).findings[0].topic
    'scale'
    """
    if not table.whole:
        return _audit_sums(table, independent=independent)
    numeric = [j for j, levels in enumerate(table.levels) if levels is None]
    some, findings = _some_rows(table), [*_sample(table), *_missing(table)]
    columns = tuple(_columns(some))
    if some.incomplete:
        some = some.complete_rows
        if some.n_rows < MIN_COMPLETE or (np.ptp(some.values, axis=0) == 0).any():
            return Audit(columns, tuple(findings))
    looks: list[Callable[[], list[Finding]]] = [
        partial(_few, some.n_rows if table.incomplete else table.n_rows, table.n_columns), partial(_repeated, some)
    ]  # fmt: skip
    if numeric:
        values = some.values[:, numeric]
        names = [table.names[j] for j in numeric]
        looks += [partial(_scale, values.std(axis=0), names), partial(_collinear, values, names)]
        looks += [partial(_outliers, values, names), *([] if independent else [partial(_time, table)])]
        looks += [partial(_tails, values, names)]
    for look in looks:
        current().check()
        findings += look()
    return Audit(columns, tuple(findings))


def _audit_sums(table: Statistics, *, independent: bool) -> Audit:
    """Look at a table of which only moments are here, and perhaps a sample of the rows."""
    found, names = table.moments_of_all, list(table.names)
    spread = np.sqrt(np.diag(found.covariance))
    if table.n_rows < MIN_COMPLETE:
        text = (
            "only moments of the rows are known: whether there are outliers, heavy tails, repeated rows, rows that "
            "depend on each other or relations that are not linear cannot be checked"
        )
        sampled: list[ColumnFacts | None] = [None] * len(names)
        findings = [Finding("sample", text, serious=True)]
    else:
        text = f"the audit is based on a random sample of {table.n_rows:,} of {table.n:,} rows; ranges on all"
        looked = audit(table.rows_here, independent=True)
        sampled = list(looked.columns)
        findings = [Finding("sample", text, serious=False)]
        findings += [one for one in looked.findings if one.topic not in ("sample", "rows", "scale")]
    numeric = [j for j, levels in enumerate(table.levels) if levels is None]
    findings += [*_few(table.n, len(names)), *_scale(spread[numeric], [names[j] for j in numeric])]
    findings += [] if independent else _time(table)
    columns = []
    for j, (name, one) in enumerate(zip(names, sampled, strict=True)):
        about = one or ColumnFacts(name=name, kind="numeric", distinct=0, counts=())
        low, high, mean = (float(part[j]) for part in (*table.ranges, found.mean))
        is_number = table.levels[j] is None
        columns.append(replace(about, mean=mean, sd=float(spread[j]), min=low, max=high) if is_number else about)
    return Audit(tuple(columns), tuple(findings))


def _enough_rows(table: Statistics) -> int:
    """Return how many rows describe a table."""
    return min(table.n_rows, describing_rows(table.n_columns))


def _some_rows(table: Statistics) -> Statistics:
    """Return the table with as many rows as describe it, evenly spread."""
    n, enough = table.n_rows, _enough_rows(table)
    if n == enough:
        return table
    return table.take(np.linspace(0, n - 1, enough).astype(np.intp), np.arange(table.n_columns))


def _sample(table: Statistics) -> list[Finding]:
    n, enough = table.n_rows, _enough_rows(table)
    if n == enough:
        return []
    text = f"the audit is based on {enough:,} of {n:,} rows, evenly spaced; serial dependence on the first {enough:,}"
    return [Finding("sample", text, serious=False)]


def audit_arrows(
    table: Statistics,
    dag: npt.ArrayLike,  # (d, d)
    settled: npt.ArrayLike,  # (d, d) True for the arrows that do not depend on units
) -> tuple[Finding, ...]:
    """Say what scale and noise mean for the arrows of a graph of numeric columns; nothing where some are categories.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(500, 5))
    >>> x[:, 4] += x[:, :4].sum(axis=1)
    >>> collider = np.zeros((5, 5))
    >>> collider[:4, 4] = 1
    >>> [finding.topic for finding in audit_arrows(Statistics.from_array(x), collider, collider)]
    ['varsortability', 'R2-sortability', 'equal variances']
    """
    graph = check_dag(dag)
    table = _some_rows(table.rows_here).complete_rows
    few = table.n_rows <= table.n_columns or (np.ptp(table.values, axis=0) == 0).any()
    if any(levels is not None for levels in table.levels) or few:
        return ()
    values = table.values / table.values.std(axis=0).max()  # squares of any column stay in range
    findings = [*_sorted_by(values, np.asarray(settled) != 0)]
    if graph.any():
        findings.append(_equal_variances(values, graph))
    return tuple(findings)


def _sorted_by(values: Floats, settled: Bools) -> list[Finding]:
    if settled.sum() < MIN_ARROWS:
        return []
    findings = []
    by_variance = sortability(settled, values.var(axis=0))
    by_share = None if values.shape[1] > INVERTED_COLUMNS else sortability(settled, explained(values))
    if by_variance is not None:
        if by_variance > SORTED:
            words = "variances increase along most arrows: an equal-variance score finds them from the units alone"
        elif by_variance < 1 - SORTED:
            words = "variances decrease along most arrows: an equal-variance score tends to reverse them"
        else:
            words = "variances do not reveal the causal order"
        text = f"varsortability {by_variance:.2f}, over the arrows that do not depend on units: {words}"
        findings.append(Finding("varsortability", text, serious=by_variance < 1 - SORTED))
    if by_share is not None:
        told = by_share > SORTED or by_share < 1 - SORTED
        words = "explained variance reveals the causal order, in any units" if told else "it does not reveal the order"
        text = f"R2-sortability {by_share:.2f}: {words}" + ("; simple baselines do well on such data" if told else "")
        findings.append(Finding("R2-sortability", text, serious=False))
    return findings


def _equal_variances(values: Floats, dag: Bools) -> Finding:
    """Test with Bartlett's statistic whether the residuals of the graph have one variance."""
    n, d = values.shape
    centred = values - values.mean(axis=0)
    variances = np.empty(d)
    with one_blas_thread():
        for j in range(d):
            parents = centred[:, dag[:, j]]
            slopes = np.linalg.lstsq(parents, centred[:, j])[0]
            variances[j] = float(((centred[:, j] - parents @ slopes) ** 2).mean())
    variances = np.maximum(variances, np.finfo(float).tiny)
    statistic = n * (d * np.log(variances.mean()) - np.log(variances).sum()) / (1 + (d + 1) / (3 * d * n))
    p_value = float(chdtrc(d - 1, statistic))
    ratio = variances.max() / variances.min()
    if p_value < EQUAL_LEVEL:
        text = (
            f"noise variances differ in these units (the largest is {ratio:.3g} times the smallest): arrows from an "
            "equal-variance score (bic-ev, gp-ev) would rest on a false assumption"
        )
    else:
        text = (
            f"equal noise variances are plausible in these units (ratio {ratio:.3g}, p {p_value:.2g}): if the units "
            "are comparable, bic-ev can determine directions that are undetermined here"
        )
    return Finding("equal variances", text, serious=False)


def _columns(table: Statistics) -> Iterator[ColumnFacts]:
    """Yield the facts of all columns; the deadline ends it."""
    deadline = current()
    for j in range(table.n_columns):
        deadline.check()
        yield _column(table, j)


def _column(table: Statistics, j: int) -> ColumnFacts:
    """Return the facts of one column."""
    values, levels = table.values[~np.isnan(table.values[:, j]), j], table.levels[j]
    about: dict[str, Any] = {"name": table.names[j], "kind": table.kinds[j], "distinct": len(np.unique(values))}
    if levels is not None:
        counts = np.bincount(values.astype(np.intp), minlength=len(levels))[:SHOWN_LEVELS]
        return ColumnFacts(**about, counts=tuple(counts.tolist()), levels=tuple(levels[:SHOWN_LEVELS]))
    counts, _ = np.histogram(values / np.abs(values).max(), bins=BINS)  # scaled: bins of tiny ranges exist too
    about |= {"mean": float(values.mean()), "sd": float(values.std())}
    about |= {"min": float(values.min()), "max": float(values.max())}
    return ColumnFacts(**about, counts=tuple(counts.tolist()))


def _missing(table: Statistics) -> list[Finding]:
    if not table.incomplete:
        return []
    lost = np.isnan(table.values)
    counts, names = lost.sum(axis=0), list(table.names)
    worst = [j for j in np.argsort(-counts, kind="stable") if counts[j]]
    text = (
        f"{int(lost.sum())} of {lost.size} cells are missing, in {int(lost.any(axis=1).sum())} of {table.n_rows} "
        f"rows: {_named(names, worst, [str(count) for count in counts])}; the other findings use complete rows only"
    )
    return [Finding("missing", text, serious=bool(lost.mean() > MUCH_MISSING))]


def _few(n_rows: int, n_columns: int) -> list[Finding]:
    if n_rows < FEWEST_ROWS:
        return [Finding("rows", FEWEST.format(n_rows), serious=True)]
    if n_rows >= ROWS_PER_COLUMN * n_columns:
        return []
    few = f"fewer than {ROWS_PER_COLUMN} rows per column; expect missing and false edges"
    return [Finding("rows", f"{n_rows} rows for {n_columns} columns: {few}", serious=n_rows < 3 * n_columns)]


def _repeated(table: Statistics) -> list[Finding]:
    import pandas as pd

    n, repeated = table.n_rows, int(pd.DataFrame(table.values).duplicated().sum())
    if all(levels is not None for levels in table.levels) or repeated <= DUPLICATES * n:
        return []
    text = (
        f"{repeated} of {n} rows are exact duplicates of an earlier row and would be counted as extra evidence; "
        "drop them unless they are separate observations"
    )
    return [Finding("duplicates", text, serious=repeated > 0.1 * n)]


def _scale(spread: Floats, names: list[str]) -> list[Finding]:
    low, high = int(np.argmin(spread)), int(np.argmax(spread))
    ratio = spread[high] / spread[low]
    if len(names) > 1 and ratio < SAME_SCALE:
        text = (
            "all columns have nearly the same standard deviation, as if standardised, which misleads an "
            "equal-variance score (bic-ev, gp-ev); bic-nv and gp do not depend on units"
        )
        return [Finding("scale", text, serious=False)]
    if ratio < SCALE_RATIO:
        return []
    text = (
        f"standard deviations range from {spread[low]:.3g} ('{names[low]}') to {spread[high]:.3g} ('{names[high]}'): "
        "an equal-variance score would read the units as causal order; bic-nv and gp do not depend on units"
    )
    return [Finding("scale", text, serious=False)]


def _collinear(values: Floats, names: list[str]) -> list[Finding]:
    if len(values) <= 2 * len(names) or len(names) > INVERTED_COLUMNS:  # R2 near 1 by counting alone, or long work
        return []
    share = explained(values)
    found = [j for j in np.argsort(-share) if share[j] > NEARLY_COLLINEAR]
    if not found:
        return []
    least = 100 * min(share[found[-1]], 0.999)
    text = (
        f"{_named(names, found)}: the other columns explain {least:.1f}% or more of the variance; "
        "among nearly identical columns the data cannot show which one is the cause, so their edges are unstable"
    )
    return [Finding("collinearity", text, serious=True)]


def _outliers(values: Floats, names: list[str]) -> list[Finding]:
    centre = np.median(values, axis=0)
    spread = np.median(np.abs(values - centre), axis=0) / NORMAL_MAD
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(spread > 0, np.abs(values - centre) > FAR * spread, False)
    counts = far.sum(axis=0)
    found = [j for j in np.argsort(-counts, kind="stable") if counts[j]]
    if not found:
        return []
    text = (
        f"values more than {FAR:g} robust standard deviations from the median: "
        f"{_named(names, found, [f'{counts[j]}' for j in range(len(names))])}; such outliers dominate a "
        "least-squares fit: check these rows, or take logarithms of skewed columns"
    )
    return [Finding("outliers", text, serious=bool(counts.max() > 0.01 * len(values)))]


def audit_time(table: Statistics) -> tuple[Finding, ...]:
    """Say what looks like time: columns that count, neighbouring rows that are alike.

    Examples
    --------
    >>> walk = np.cumsum(np.random.default_rng(0).normal(size=(300, 2)), axis=0)
    >>> [finding.topic for finding in audit_time(Statistics.from_array(walk))]
    ['serial']
    """
    return tuple(_time(table))


def serial_rows(table: Statistics) -> Serial | None:
    """Return how alike neighbouring rows are, if they are: see :func:`drbo.data.checks.serial.serial`."""
    table = table.rows_in_order
    return serial(table, _enough_rows(table))


def _time(table: Statistics) -> list[Finding]:
    near, findings = table.rows_in_order, list[Finding]()
    part = first_rows(near, _enough_rows(near))
    steady = [j for j, kind in enumerate(part.kinds) if kind == "numeric" and is_clock(part.values[:, j])]
    if steady:
        text = (
            f"{_named(list(part.names), steady)}: changes by the same amount from row to row, like a counter or a "
            "clock; drop the column unless it is a cause"
        )
        findings.append(Finding("time", text, serious=True))
    if (found := serial_rows(table)) is None:
        return findings
    if found.lags:
        text = (
            "the table contains lagged columns: rows are assumed independent given these, which is right if there "
            "are enough lags and tiers forbid edges from the present to the past"
        )
        return [*findings, Finding("lags", text, serious=False)]
    if found.sorted_by:
        key = " and ".join(f"'{name}'" for name in found.sorted_by)
        text = f"neighbours are similar only by {key}, as in a table that is sorted by it: every row counts in full"
        return [*findings, Finding("sorted", text, serious=False)]
    listed = _named(list(found.names), found.alike, [f"{value:.2f}" for value in found.lagged])
    text = (
        f"neighbouring rows are correlated in {len(found.alike)} of {len(found.names)} columns, as in a time series or "
        f"a table sorted by something else (lag-1 correlation: {listed}): {table.n:,} rows are worth about "
        f"{table.n * found.share(table.n):,.0f} independent ones, and what they share may be a hidden cause. "
        "time (--time) names the column of their times, groups (--groups) that of rows that belong together, and "
        "groups=False (--groups none) "
        "says that their order means nothing (docs/guide/rows.md)"
    )
    return [*findings, Finding(SERIAL_TOPIC, text, serious=True)]


def _tails(values: Floats, names: list[str]) -> list[Finding]:
    spread = values.std(axis=0)
    kurtosis = (((values - values.mean(axis=0)) / spread) ** 4).mean(axis=0) - 3.0
    found = [j for j in np.argsort(-kurtosis) if kurtosis[j] > HEAVY_KURTOSIS]
    if not found:
        return []
    text = (
        f"heavy tails (excess kurtosis above {HEAVY_KURTOSIS:g}) in {_named(names, found)}: Gaussian scores give "
        "extreme rows a large weight; compare with a fit on ranks or logarithms"
    )
    return [Finding("tails", text, serious=False)]


def _named(names: list[str], found: Any, figures: list[str] | None = None) -> str:
    """Return the first few names, each with its figure where there is one."""
    listed = list(found)
    words = [f"'{names[j]}'" + (f" {figures[j]}" if figures else "") for j in listed[:SHOWN_COLUMNS]]
    more = f" and {len(listed) - SHOWN_COLUMNS} more" if len(listed) > SHOWN_COLUMNS else ""
    return ", ".join(words) + more
