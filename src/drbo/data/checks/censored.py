"""Times until an event, some of them cut off before it: recognised by their names, and counted by their order."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from drbo.arrays import Bools, Floats
from drbo.data.checks.doubts import TableProblem
from drbo.design import CENSORED
from drbo.errors import DataError, name_hint

if TYPE_CHECKING:
    import pandas as pd

#: Names of times until an event, and of what says that it happened.
_TIME = re.compile(
    r"(?i)(fu|surv(ival)?|follow_?up|event|death|time_?to_?event|os|pfs|rfs)?[._]?(time|days|months|years)"
)
_EVENT = re.compile(r"(?i)(fu|vital|os|pfs|rfs)?[._]?(status|stat|event|death|dead|died|relapse|delta)")


def _pair(frame: "pd.DataFrame", names: Sequence[str]) -> list[TableProblem]:
    """Name a time that may have been cut off, if one column looks like it and one other like its event."""
    times = [name for name in names if _TIME.fullmatch(name) and _is_time(frame[name])]
    events = [name for name in names if _EVENT.fullmatch(name) and frame[name].dropna().nunique() == 2]
    if len(times) != 1 or len(events) != 1:
        return []
    text = (
        f"column '{times[0]}' looks like a time that ends with an event or before it, as '{events[0]}' says: read as "
        f"two plain columns, both would seem to be causes"
    )
    return [TableProblem(times[0], text, f"{CENSORED}{events[0]}", blocks=False)]


def with_censored(frame: "pd.DataFrame", problems: list[TableProblem], names: list[str]) -> list[TableProblem]:
    """Add what is said of a time until an event, in place of what was said of its two columns."""
    if not (found := _pair(frame, names)):
        return problems
    pair = {found[0].column, found[0].remedy.removeprefix(CENSORED)}
    return [one for one in problems if one.column not in pair] + found


def _is_time(column: "pd.Series[Any]") -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column) and not is_bool_dtype(column) and bool(column.min() >= 0) and column.nunique() > 2


def censored_time(frame: "pd.DataFrame", name: str, event: str, notes: list[str]) -> "pd.Series[Any]":
    """Return the normal scores of the order of times of which some were cut off; missing where either is."""
    import pandas as pd

    if event not in frame or event == name:
        others = [str(one) for one in frame if one != name]
        raise DataError(f"column '{name}': there is no column '{event}' that says whether the event happened",
                        hint=name_hint(event, others))  # fmt: skip
    levels = sorted(frame[event].dropna().unique().tolist())
    if len(levels) != 2:
        raise DataError(
            f"column '{event}' must have two values, without and with the event of '{name}', got {len(levels)}",
            hint="keep one kind of event, and call the others cut off",
        )
    if not _is_time(frame[name]):
        raise DataError(f"column '{name}' holds no times", hint="times are numbers of at least 0")
    known = (frame[name].notna() & frame[event].notna()).to_numpy()
    happened = (frame[event] == levels[1]).to_numpy()[known]
    scores = np.full(len(frame), np.nan)
    scores[known] = censored_scores(frame[name].to_numpy(dtype=np.float64)[known], happened)
    notes.append(
        f"column '{name}' counts by its order, as a time until '{event}' is {levels[1]}; {int((~happened).sum())} of "
        f"{len(happened)} times were cut off before that, which is taken to say nothing about the event"
    )
    return pd.Series(scores, index=frame.index)


def censored_scores(times: Floats, happened: Bools) -> Floats:
    """Return the normal scores of times of which some were cut off (Prentice 1978).

    A time with its event has the normal score of its place in the curve of Kaplan and Meier, one that was cut off the
    mean of the scores that are left.

    Examples
    --------
    >>> censored_scores(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, False, True])).round(2).tolist()
    [-1.15, -0.32, 0.8, 0.67]
    """
    distinct, place = np.unique(times, return_inverse=True)
    events = np.bincount(place, happened, len(distinct))
    at_risk = np.bincount(place, minlength=len(distinct))[::-1].cumsum()[::-1]
    after = np.cumprod(1 - events / at_risk)
    before = np.concatenate([[1.0], after[:-1]])
    middle = ndtri(1 - (before + after) / 2)
    left = np.where(after > 0, after, before / 2)  # the last event ends the curve: half of its share is left
    density = np.exp(-(ndtri(1 - left) ** 2) / 2) / np.sqrt(2 * np.pi)
    with np.errstate(invalid="ignore"):
        cut = np.where(left < 1, density / left, 0.0)
    scores: Floats = np.where(happened, middle[place], cut[place])
    return scores
