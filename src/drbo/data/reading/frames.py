"""From a frame, an array, rows, or the cells of a worksheet or database to a pandas frame with string column names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.data.reading.lines import check_width
from drbo.data.reading.text import check_unique, is_unicode, numbered
from drbo.data.statistics.blocks import by_columns, is_large
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Sums
from drbo.errors import DataError, name_hint

if TYPE_CHECKING:
    import pandas as pd


def as_frame(data: Any) -> "pd.DataFrame":
    """Return the data as a new pandas frame with unique string column names; the data is left alone.

    Takes pandas and polars frames, pyarrow tables, 2-D arrays and lists of rows. Columns of arrays and lists are
    called x0, x1, ...; other labels become strings.
    """
    import pandas as pd

    if isinstance(data, Statistics) and data.whole:
        return data.frame()
    if isinstance(data, Sums | Statistics):
        raise DataError(
            "the rows of the table are needed here, but only their moments were given", hint="pass the table itself"
        )
    library = type(data).__module__.partition(".")[0]
    if isinstance(data, pd.DataFrame):
        frame = data.reset_index(drop=True)
    elif library == "polars" and type(data).__name__ == "DataFrame":
        frame = _from_polars(data)
    elif library == "pyarrow" and hasattr(data, "column_names"):
        frame = data.to_pandas().reset_index(drop=True)
    elif isinstance(data, (list, tuple)):
        frame = _from_rows(data)
    elif hasattr(data, "tocsr"):  # every scipy sparse matrix and array
        raise DataError("sparse data is not supported: the search needs a dense table", hint="pass data.toarray()")
    elif hasattr(data, "__array__"):
        frame = _from_array(np.asanyarray(data))
    else:
        raise DataError(
            f"data must be a table or a 2-D array, got {type(data).__name__}",
            hint="pass a pandas, polars or pyarrow table or a 2-D array; read files with read_table(path)",
        )
    frame.columns = [str(label) for label in frame.columns]
    check_unique(frame.columns.tolist())
    check_unicode(frame.columns.tolist())
    if "" in (blank := [name.strip() for name in frame.columns]):
        raise DataError(f"column {blank.index('') + 1} of {len(blank)} has no name", hint="give every column a name")
    for name, dtype in frame.dtypes.items():
        if pd.api.types.is_complex_dtype(dtype):
            raise DataError(
                f"Complex data not supported: column '{name}'",
                hint="use the real and imaginary parts as separate columns",
            )
    try:
        return frame.infer_objects()
    except OverflowError:  # pandas before 3 on an integer beyond floating point: the check of the columns names it
        return frame


def check_unicode(names: Sequence[str]) -> None:
    """Refuse a name that no file can hold."""
    wrong = next((k for k, name in enumerate(names) if not is_unicode(name)), None)
    if wrong is not None:
        name = names[wrong]
        raise DataError(f"the name of column {wrong + 1} is not valid Unicode: {name!r:.80}", hint="rename the column")


def _from_array(array: npt.NDArray[Any]) -> "pd.DataFrame":
    import pandas as pd

    if array.ndim < 2:
        shape = "1D array" if array.ndim else "scalar array"
        raise DataError(
            f"Expected 2D array, got {shape} instead: shape {array.shape}",
            hint="Reshape your data to rows and columns; a table needs at least 2 columns",
        )
    if array.ndim > 2:
        raise DataError(
            f"Found array with dim {array.ndim}, a table has 2: shape {array.shape}",
            hint="pass a 2-D array of rows and columns",
        )
    names = numbered(array.shape[1])
    if array.dtype == np.float64 and is_large(*array.shape):
        return pd.DataFrame(by_columns(array), columns=names, copy=False)
    return pd.DataFrame(array, columns=names)


def _from_rows(rows: Sequence[Any]) -> "pd.DataFrame":
    """Build from rows, not through an array: an array would turn mixed rows into text."""
    import pandas as pd

    if not rows or not all(isinstance(row, (list, tuple, np.ndarray)) for row in rows):
        return _from_array(np.empty(len(rows)))
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise DataError(
                f"row {number} has {len(row)} cells, but row 0 has {len(rows[0])}",
                hint="give every row the same number of cells",
            )
    return pd.DataFrame([list(row) for row in rows], columns=numbered(len(rows[0])))


def _from_polars(data: Any) -> "pd.DataFrame":
    """Convert column by column: polars' own way needs pyarrow."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for series in data:
        kind, values = type(series.dtype).__name__, series.to_numpy()
        if kind == "Enum":
            values = pd.Categorical(values, categories=series.dtype.categories.to_list(), ordered=True)
        elif kind == "Categorical":
            values = pd.Categorical(values)
        columns[series.name] = values if values.ndim == 1 else series.to_list()
    return pd.DataFrame(columns, index=range(len(data)))


def cells_as_frame(
    rows: Sequence[Sequence[Any]],  # all of the same length; None is a missing cell
    what: str,
    *,
    header: bool,
    notes: list[str],
) -> "pd.DataFrame":
    """Return rows as a frame; their names are in the first row with two cells, above that are titles.

    Columns without any cell and rows without any cell are left out.
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
