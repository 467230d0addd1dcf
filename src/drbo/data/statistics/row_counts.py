"""Long tables of categories: which rows occur, and how often. Scores of categories need no more."""

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drbo.arrays import Ints
from drbo.data.reading.guard import releasing
from drbo.data.reading.number_text import with_columns
from drbo.data.reading.source import Source, frames_of
from drbo.deadline import current
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

#: A column of numbers with more different values is not counted as categories, as by ``auto``.
FEW_LEVELS = 10
#: Rows of the first piece that tell whether a table is one of categories.
FIRST_ROWS = 10_000
#: Rows that are counted at once, about.
MERGED_ROWS = 2**18
#: Cells of all different rows at most: beyond it, counts take as much memory as the table.
MOST_CELLS = 2**24


class RowCounts(NamedTuple):
    """The different rows of a table, and how often each occurs."""

    rows: "pd.DataFrame"
    counts: Ints


def is_discrete(frame: "pd.DataFrame") -> bool:
    """Tell whether the first rows of a table hold categories alone: text, truth values, or few different numbers."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    some = frame.iloc[:FIRST_ROWS]
    numbers = [column for _, column in some.items() if is_numeric_dtype(column) and not is_bool_dtype(column)]
    return all(column.nunique() <= FEW_LEVELS for column in numbers)


def counted(pieces: Iterable["pd.DataFrame"], where: str) -> RowCounts:
    """Return the different rows of all pieces in sorted order, with their counts; missing cells are values too.

    Examples
    --------
    >>> import pandas as pd
    >>> pieces = [pd.DataFrame({"a": list("xyx"), "b": [1, 1, 1]}), pd.DataFrame({"a": ["x"], "b": [2]})]
    >>> found = counted(pieces, "t.csv")
    >>> found.rows.to_numpy().tolist(), found.counts.tolist()
    ([['x', 1], ['x', 2], ['y', 1]], [2, 1, 1])
    """
    import pandas as pd

    parts = list[pd.DataFrame]()
    held = 0
    for piece in _merged(_alike(pieces, where)):
        parts.append(_grouped(piece.assign(**{_COUNT: 1}), list(piece.columns)))
        held += parts[-1].size
        if held > 2 * MOST_CELLS:
            parts = [_joined(parts)]
            held = parts[0].size
            _check_size(held, where)
    return _checked(_joined(parts), where)


def joined_counts(parts: Iterable[RowCounts], where: str) -> RowCounts:
    """Return the different rows of several parts of a table, each of which was counted by itself."""
    held = list(parts)
    alike = _alike((part.rows for part in held), where)
    counts = [rows.assign(**{_COUNT: part.counts}) for rows, part in zip(alike, held, strict=True)]
    return _checked(_joined(counts), where)


def _checked(total: "pd.DataFrame", where: str) -> RowCounts:
    _check_size(total.size, where)
    return RowCounts(total.drop(columns=_COUNT), total[_COUNT].to_numpy(dtype=np.int64))


def _merged(pieces: Iterable["pd.DataFrame"]) -> Iterator["pd.DataFrame"]:
    """Yield larger pieces: small ones take several times as long to count."""
    import pandas as pd

    held = list[pd.DataFrame]()
    for piece in pieces:
        held.append(piece)
        if sum(map(len, held)) >= MERGED_ROWS:
            yield pd.concat(held, ignore_index=True)
            held.clear()
    if held:
        yield pd.concat(held, ignore_index=True)


_COUNT = "\0count"  # no column of a table is called so


def _grouped(frame: "pd.DataFrame", columns: list[Any]) -> "pd.DataFrame":
    return frame.groupby(columns, dropna=False, observed=True, sort=True)[_COUNT].sum().reset_index()


def _joined(parts: list["pd.DataFrame"]) -> "pd.DataFrame":
    import pandas as pd

    whole = pd.concat(parts, ignore_index=True)
    return _grouped(whole, [name for name in whole.columns if name != _COUNT])


def _alike(pieces: Iterable["pd.DataFrame"], where: str) -> Iterator["pd.DataFrame"]:
    """Yield pieces whose columns all hold numbers, or all do not, as in the first piece; dictionaries become texts."""
    import pandas as pd

    first: dict[str, bool] = {}
    names: list[Any] = []
    for number, piece in enumerate(pieces, 1):
        names = names or list(piece.columns)
        if other := sorted(set(names) ^ set(piece.columns)):
            raise DataError(
                f"{where}, block {number}: column '{other[0]}' is not in all blocks",
                hint="give all files the same columns, or leave the column out with --drop",
            )
        changed: dict[str, Any] = {}
        for name, column in piece.items():
            if isinstance(column.dtype, pd.CategoricalDtype):
                changed[str(name)] = column = column.astype(object)
            if column.isna().all():
                continue
            numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
            if first.setdefault(str(name), numeric) != numeric:
                words = ("text", "numbers") if numeric else ("numbers", "text")
                raise DataError(
                    f"{where}, block {number}: column '{name}' contains {words[1]}, but {words[0]} before",
                    hint="correct the column, or leave it out with --drop",
                )
        yield with_columns(piece, changed)[names]


def _check_size(cells: int, where: str) -> None:
    if cells > MOST_CELLS:
        raise DataError(
            f"{where} has too many different rows to count them: more than {MOST_CELLS:,} cells",
            hint="leave out columns with --drop, or use a sample of the rows",
        )


@releasing()
def counts_of(source: Source) -> RowCounts:
    """Return the different rows of a source, with their counts, the quick way of its files where all have one.

    What goes wrong on that way is done again by :func:`counted`, whose errors name file and block.
    """
    with suppress(DataError):
        found = list[RowCounts]()
        for part in source.parts():
            if (one := part.row_counts()) is None:
                break
            found.append(one)
            current().check()
        else:
            return joined_counts(found, source.name)
    with closing(frames_of(source)) as frames:
        return counted(frames, source.name)
