"""Columns that a fit could use but hardly is meant to: row numbers, identifiers, codes, markers of missing values.

Each function looks at the cells of one column, and returns what is wrong with it and what solves that.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from drbo.arrays import Floats
from drbo.data.checks.columns import is_constant

#: Rows that tell what a column is; all rows are checked for what makes it unusable.
LOOKED_AT = 10_000
#: The same value in such a share of the rows leaves next to nothing to learn from; so does none in such a share.
NEARLY_CONSTANT = 0.99
MOSTLY_MISSING = 0.8
#: Numbers with as few different values as these look like codes.
FEW_CODES = 3
ROWS_PER_CODE = 5
MIN_COUNTED = 10  # rows that show that a column counts them
#: Numbers that rise in every row number the rows, with gaps, if they rise by less than this on average.
MOST_GAPS = 3
#: A label of several rows names a unit, such as a patient, if there are more of them than there are codes.
MIN_UNITS = 10
#: Words for a missing value in a column of labels, and numbers that mark one where no other value is near them.
NO_VALUE = frozenset(
    {"*", "**", "?", "-", "--", ".", "..", "n.a.", "na_na", "unknown", "missing", "not known", "not available"}
)
MARKERS = (-9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0)
#: A positive marker is so many times as large as all other values.
FAR_ABOVE = 5
#: Labels whose order is known, from the lowest to the highest.
SCALES = tuple(
    tuple(words.split())
    for words in (
        "never rarely sometimes often always",
        "never seldom sometimes often always",
        "none mild moderate severe",
        "none low medium high",
        "very_low low medium high very_high",
        "bad poor fair average good very_good excellent outstanding",
        "small medium large",
        "strongly_disagree disagree neutral agree strongly_agree",
        "very_dissatisfied dissatisfied neutral satisfied very_satisfied",
    )
)
MIN_LEVELS = 3  # of an order: of two levels it does not matter

_IDENTIFIER = re.compile(r"(^|[\W_])(?i:id|ids|nr|no|number|index|uuid|key|code|row_?names?)$|[a-z](ID|Id|Nr|NR)$")
_UNIT_NAME = re.compile(r"(^|[\W_])(?i:id|ids|nr|uuid|subject|patient)$|[a-z](ID|Id|Nr|NR)$")
_NUMBERED = re.compile(r"\s*[(\[]?(-?\d+)\s*[\])._:\- ]\s*\D+")


class TableProblem(NamedTuple):
    """What is wrong with a column, or with the table (no column); ``blocks``: a fit cannot use it as it is.

    ``remedy`` is ``drop``, or what the column holds, as in ``types`` of a fit; empty: none is known.
    """

    column: str
    text: str
    remedy: str
    blocks: bool
    marker: str = ""  # a cell that means that the value is missing


def counter(name: str, values: Floats) -> list[TableProblem]:
    """Name a column that numbers the rows, or that names them by numbers."""
    if len(values) < MIN_COUNTED:
        return []
    steps = np.diff(values)
    if (steps == 1).all():
        return [dropped(name, f"only counts the rows ({values[0]:g}, {values[1]:g}, ...)")]
    units = len(np.unique(values))
    if is_identifier(name) and units == len(values):
        return [dropped(name, "is an identifier: every row has a different whole number")]
    if (steps > 0).all() and np.ptp(values) < MOST_GAPS * len(values):
        return [dropped(name, f"rises in every row, like a row number ({values[0]:g}, {values[1]:g}, ...)")]
    if _UNIT_NAME.search(name) and units >= MIN_UNITS:
        rows = len(values) / units
        what = f"names {units} units with {rows:.1f} rows each: its numbers are not quantities"
        return [dropped(name, f"{what} (see groups, --groups, and unit, --unit)")]
    return []


def is_identifier(name: str) -> bool:
    """Tell whether a name is that of an identifier.

    Examples
    --------
    >>> [is_identifier(name) for name in ("patient_id", "schoolNR", "rownames", "avoid", "candid")]
    [True, True, True, False, False]
    """
    return _IDENTIFIER.search(name) is not None


def rare(name: str, values: Floats) -> list[TableProblem]:
    """Name a column with the same value in nearly all rows; one that is the same in all rows is refused elsewhere."""
    low, high = float(values.min()), float(values.max())
    if is_constant(low, high):
        return []
    found, counts = np.unique(values[:: -(-len(values) // LOOKED_AT)], return_counts=True)  # rows may be sorted
    share = float(np.mean(values == found[counts.argmax()]))
    if share < NEARLY_CONSTANT:
        return []
    return [dropped(name, f"has the same value in {100 * share:.1f}% of the rows")]


def empty(name: str, missing: float) -> list[TableProblem]:
    """Name a column with a value in few rows: to impute the others is to invent them."""
    if missing < MOSTLY_MISSING:
        return []
    return [dropped(name, f"has no value in {100 * missing:.0f}% of the rows")]


def codes(name: str, values: Floats) -> list[TableProblem]:
    """Name whole numbers that could be codes of categories."""
    levels = np.unique(values)
    if not 2 <= len(levels) <= FEW_CODES or len(values) < ROWS_PER_CODE * len(levels):
        return []
    if levels[0] not in (0, 1) or (np.diff(levels) != 1).any():
        return []
    shown = ", ".join(f"{level:g}" for level in levels)
    text = f"column '{name}' has only the values {shown}, which look like codes of categories"
    return [TableProblem(name, text, "category", blocks=False)]


def number_markers(name: str, values: Floats) -> list[TableProblem]:
    """Name numbers such as -99 that stand for a missing value: several cells, far from all others."""
    found = []
    marks = np.isin(values, MARKERS)
    rest = values[~marks]
    if len(rest) < MIN_LEVELS or is_constant(rest.min(), rest.max()):
        return []
    for mark in np.unique(values[marks]):
        count = int((values == mark).sum())
        alone = rest.min() >= 0 if mark < 0 else rest.min() >= 0 and mark > FAR_ABOVE * rest.max()
        if count > 1 and alone:
            text = (
                f"column '{name}' is {mark:g} in {count} rows and otherwise from {rest.min():.4g} to {rest.max():.4g}"
            )
            marker = f"{mark:g}"
            found.append(
                TableProblem(name, f"{text}, so it looks like a missing value", "", blocks=False, marker=marker)
            )
    return found


def text_markers(name: str, levels: Iterable[str]) -> list[TableProblem]:
    """Name labels such as * that stand for a missing value."""
    found = [level for level in levels if level.strip().lower() in NO_VALUE]
    return [
        TableProblem(name, f"column '{name}' has the label '{level}' for a missing value", "", False, level.strip())
        for level in found
    ]


def ordered_text(name: str, levels: Iterable[str]) -> list[TableProblem]:
    """Name labels that have an order: numbered ones, and the words of common scales."""
    labels = [level for level in levels if level.strip().lower() not in NO_VALUE]
    order = _by_number(labels) or _by_scale(labels)
    if len(labels) < MIN_LEVELS or not order or any("<" in label or label != label.strip() for label in labels):
        return []
    text = f"column '{name}' has labels in an order: {' < '.join(order)}"
    return [TableProblem(name, text, "<".join(order), blocks=False)]


def _by_number(labels: list[str]) -> list[str]:
    """Return the labels by the numbers that they begin with; nothing if one has none, or two have the same."""
    numbers = {label: int(match[1]) for label in labels if (match := _NUMBERED.fullmatch(label))}
    complete = len(numbers) == len(labels) == len(set(numbers.values()))
    return sorted(labels, key=lambda label: numbers[label]) if complete else []


def _by_scale(labels: list[str]) -> list[str]:
    """Return the labels by the first scale that has all of them; nothing if there is none."""
    words = {label: re.sub(r"[\W_]+", "_", label.lower()) for label in labels}
    for scale in SCALES:
        if len(set(words.values())) == len(labels) and all(word in scale for word in words.values()):
            return sorted(labels, key=lambda label: scale.index(words[label]))
    return []


def dropped(name: str, what: str) -> TableProblem:
    """Return the problem of a column to leave out that a fit would use."""
    return TableProblem(name, f"column '{name}' {what}", "drop", blocks=False)
