"""Tables that come as rows of cells, from worksheets and databases."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from drbo.data.reading.lines import check_width
from drbo.data.reading.text import check_unique, numbered
from drbo.errors import DataError, name_hint

if TYPE_CHECKING:
    import pandas as pd


def cells_as_frame(
    rows: Sequence[Sequence[Any]],  # all of the same length; None is a missing cell
    what: str,
    *,
    header: bool,
    notes: list[str],
) -> "pd.DataFrame":
    """Return rows as a frame; their names are in the first row with two cells, above that are titles.

    Columns without any cell and rows without any cell are left out.

    Examples
    --------
    >>> frame = cells_as_frame([["Table 1", None], ["a", "b"], [1, 2.5], [None, None]], "t", header=True, notes=[])
    >>> frame.to_dict("list")
    {'a': [1], 'b': [2.5]}
    """
    filled = [row for row in rows if any(cell is not None for cell in row)]
    used = [j for j in range(len(rows[0]) if rows else 0) if any(row[j] is not None for row in filled)]
    start = next((k for k, row in enumerate(filled) if sum(cell is not None for cell in row) > 1), None)
    if start is None:
        raise DataError(f"{what} has no table", hint="a table needs at least 2 columns and 3 rows")
    check_width(len(used), what)
    if header and start:
        notes.append(f"{start} line{'s' * (start > 1)} above the column names ignored")
    names = [str(filled[start][j] if filled[start][j] is not None else "").strip() for j in used]
    return columns_as_frame(names if header else numbered(len(used)), filled[start + header :], used, what)


def columns_as_frame(
    names: Sequence[str], rows: Sequence[Sequence[Any]], used: Sequence[int], what: str
) -> "pd.DataFrame":
    """Return these places of all rows as columns with these names."""
    import pandas as pd

    if "" in names:
        raise DataError(
            f"{what}: column {list(names).index('') + 1} of {len(names)} has no name", hint="give every column a name"
        )
    check_unique(names, f"{what}: ")
    if not rows:
        raise DataError(f"{what} has column names but no rows", hint="a table needs at least 3 rows")
    return pd.DataFrame({name: pd.Series([row[j] for row in rows]) for name, j in zip(names, used, strict=True)})


def chosen_table(tables: list[str], wanted: str, what: str, example: str, notes: list[str]) -> str:
    """Return the table of a database that is wanted; without a name, the only one that there is."""
    if wanted in tables:
        return wanted
    if wanted and tables:
        raise DataError(f"{what} has no table '{wanted:.80}'", hint=name_hint(wanted, tables, "tables"))
    if len(tables) != 1:
        raise DataError(
            f"{what} has {len(tables)} tables: {', '.join(tables) or 'none':.300}",
            hint=f"name one after two colons, as in {example}::patients",
        )
    notes.append(f"table '{tables[0]}'")
    return tables[0]
