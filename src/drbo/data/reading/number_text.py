"""Numbers written as text: with decimal commas, thousands marks, currency signs, or words for a missing value."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from drbo.errors import first_of

if TYPE_CHECKING:
    import pandas as pd

#: Words for a missing value in a column of numbers, beside those that pandas knows.
MISSING_WORDS = frozenset({"?", "-", "--", ".", "missing", "unknown", "none", "n.a.", "k.a."})
#: Cells that are looked at first: most columns of words show in them that they are no numbers.
FIRST_CELLS = 1_000
LONGEST = 64  # characters of a number
SHOWN = 3  # columns in a note

_UNIT = r"(?:[$€£¥₹%]|EUR|USD|GBP|CHF|JPY)"
_DECORATED = re.compile(rf"\s*([+\-−]?)\s*{_UNIT}?\s*([+\-−]?)([\d.,'’\s]*\d[.,]?(?:[eE][+-]?\d+)?)\s*{_UNIT}?\s*")
_BLANK_MARKS = r"\s'’"


def _number(decimal: str, other: str) -> re.Pattern[str]:
    """Return numbers with a decimal mark and, in front of it, groups of three digits."""
    grouped = rf"[1-9]\d{{0,2}}(?:[{re.escape(other)}{_BLANK_MARKS}]\d{{3}})+"
    return re.compile(rf"(?=.*\d)(?:{grouped}|\d*)(?:{re.escape(decimal)}\d*)?(?:[eE][+-]?\d+)?")


_NUMBERS = {".": _number(".", ","), ",": _number(",", ".")}


class Written(NamedTuple):
    """How the numbers of a column are written."""

    decimal: str
    sure: bool  # the other decimal mark is impossible
    values: dict[str, float]  # by their text
    missing: tuple[str, ...]  # words for a missing value
    grouped: bool  # with thousands marks
    unit: bool  # with a currency or percent sign


def written_numbers(texts: Sequence[str], decimal: str | None = None, most: str = ".") -> Written | None:
    """Return how these texts are numbers; None: they are not.

    Parameters
    ----------
    texts : different texts, none of them blank.
    decimal : the decimal mark, if it is known.
    most : the decimal mark where both are possible, as in 1,250.
    """
    if any(len(text) > LONGEST for text in texts):
        return None
    missing = tuple(text for text in texts if text.strip().lower() in MISSING_WORDS)
    parts = {text: _DECORATED.fullmatch(text) for text in texts if text not in missing}
    if not parts or any(match is None or (match[1] and match[2]) for match in parts.values()):
        return None
    bare = {text: match[3].strip() for text, match in parts.items() if match is not None}
    possible = [mark for mark in (".", ",") if all(_NUMBERS[mark].fullmatch(body) for body in bare.values())]
    if not possible:
        return None
    mark = most if decimal is None else decimal
    mark = mark if mark in possible else possible[0]
    values = {}
    for text, match in parts.items():
        assert match is not None
        number = float(re.sub(rf"[{'.' if mark == ',' else ','}{_BLANK_MARKS}]", "", bare[text]).replace(",", "."))
        values[text] = -number if (match[1] or match[2]) in ("-", "−") else number
    values |= dict.fromkeys(missing, float("nan"))
    grouped = any(re.search(rf"\d[^\d{mark}eE+-]\d", body) for body in bare.values())
    unit = any(re.search(_UNIT, text) for text in bare)
    return Written(mark, len(possible) == 1, values, missing, grouped, unit)


def numbers_from_text(
    frame: "pd.DataFrame",
    notes: list[str],
    *,
    decimal: str | None = None,
    most: str = ".",
    again: Callable[[list[str]], "pd.DataFrame"] | None = None,
) -> "pd.DataFrame":
    """Return a frame with numbers in place of texts that are numbers; what was assumed is added to the notes.

    Parameters
    ----------
    frame : the table as it was read.
    decimal : the decimal mark, if it is known.
    most : the likelier decimal mark, where a table shows none.
    again : reads these columns once more, as text: 1.234 is a thousand in a table with decimal commas.
    """
    found = {name: _written(frame[name], decimal, most) for name in _text_columns(frame)}
    sure = {way.decimal for way in found.values() if way is not None and way.sure}
    comma = decimal == "," or (decimal is None and "," in sure)
    fractions = [str(name) for name, kind in frame.dtypes.items() if getattr(kind, "kind", "") == "f"]
    if fractions and "," not in sure and decimal is None:
        most = "."  # the numbers that could be read show it
    most = "," if comma else "." if "." in sure else most
    texts = frame
    if comma and fractions and again is not None:
        texts = again(fractions)
        found |= {name: _written(texts[name], decimal, most) for name in fractions}
    for name, way in found.items():
        if way is not None and not way.sure and way.decimal != most and decimal is None:
            found[name] = _written(texts[name], None, most)
    numbers = {name: texts[name].map(way.values).astype(float) for name, way in found.items() if way is not None}
    notes += _in_words({name: way for name, way in found.items() if way is not None})
    return with_columns(frame, numbers)


def with_columns(frame: "pd.DataFrame", new: Mapping[str, Any]) -> "pd.DataFrame":
    """Return a frame with new columns in place of its own, whatever these are called.

    Examples
    --------
    >>> import pandas as pd
    >>> with_columns(pd.DataFrame({"self": [1], "x": [2]}), {"self": [3]}).to_dict("list")
    {'self': [3], 'x': [2]}
    """
    found = frame.copy(deep=False)
    for name, column in new.items():
        found[name] = column
    return found


def _text_columns(frame: "pd.DataFrame") -> list[str]:
    from pandas.api.types import is_object_dtype, is_string_dtype

    return [str(name) for name, kind in frame.dtypes.items() if is_object_dtype(kind) or is_string_dtype(kind)]


def _written(column: "pd.Series[Any]", decimal: str | None, most: str) -> Written | None:
    """Return how a column is written; missing cells and cells that are no text are left out."""
    for some in (column.iloc[:FIRST_CELLS], column):
        texts = [cell for cell in some.dropna().unique().tolist() if not isinstance(cell, str) or cell.strip()]
        if any(not isinstance(text, str) for text in texts):
            return None
        found = written_numbers(texts, decimal, most)
        if found is None and texts:
            return None
    return found


def _in_words(found: dict[str, Written]) -> list[str]:
    """Return what was assumed about columns of numbers."""
    kinds = {
        "decimal comma in": [name for name, way in found.items() if way.decimal == "," and way.sure],
        "thousands marks in": [name for name, way in found.items() if way.grouped],
        "currency or percent signs ignored in": [name for name, way in found.items() if way.unit],
    }
    for word in sorted({word for way in found.values() for word in way.missing}):
        kinds[f"{word!r} means missing in"] = [name for name, way in found.items() if word in way.missing]
    quoted = {kind: [f"'{name}'" for name in names] for kind, names in kinds.items() if names}
    return [f"{kind} {first_of(names, SHOWN)}" for kind, names in quoted.items()]
