"""From a file, a frame or an array to a pandas frame with string column names."""

import stat
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.data.files import read_header, read_member, read_npy, refusing
from drbo.data.packed import TOO_LARGE, InputLimit, open_npz
from drbo.data.parquet import read_parquet
from drbo.data.table import by_columns, is_large
from drbo.data.text import check_unique, is_unicode, numbered, read_text
from drbo.errors import DataError, DrboError

if TYPE_CHECKING:
    import pandas as pd

#: What a table may hold as numpy's letters of kinds; dates and complex numbers get a better message later.
_KINDS = "biufcmMUS"
_SUFFIXES = ".csv, .tsv, .txt (each also with .gz), .parquet, .pq, .npz, .npy"


def read_table(
    path: str | Path, *, separator: str | None = None, header: bool = True, max_input: int | None = None
) -> "pd.DataFrame":
    """Read a table from a file; the suffix says how.

    Text (``.csv``, ``.tsv``, ``.txt``, also with ``.gz``) must be UTF-8 with one name per column in the first line.
    ``.npz`` holds the table as ``X`` or as its only 2-D array, and may hold ``names``. ``.npy`` is one 2-D array.
    ``.parquet`` and ``.pq`` need pyarrow. Values are not judged here: see :func:`drbo.data.check.check_table`.

    Parameters
    ----------
    path : the file.
    separator : one character between the cells of a text file; found in the first line by default.
    header : False for a text file without a line of names; its columns are then called x0, x1, ...
    max_input : bytes that the table may take, as text and in memory. By default 4 GiB, and no more than 100 times the
        size of a packed file, or 64 MiB.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "table.csv"
    ...     size = file.write_text("height;weight\\n1.8;75\\n1.6;60\\n")
    ...     print(read_table(file))
       height  weight
    0     1.8      75
    1     1.6      60
    """
    path, limit = Path(path), InputLimit.of(max_input)
    if path.is_dir():
        raise DataError(f"'{path}' is a directory, not a file", hint=f"give the name of a file: {_SUFFIXES}")
    if not path.exists():
        raise DataError(f"file '{path}' does not exist", hint="check the path and the spelling")
    with refusing(path, DataError):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device may never end
            raise DataError(f"'{path}' is not a regular file", hint="save its content to a regular file first")
        limit.check(status.st_size, f"file '{path}'")
        suffix = Path(path.name.lower().removesuffix(".gz")).suffix
        zipped = path.name.lower().endswith(".gz")
        if suffix in (".csv", ".tsv", ".txt"):
            separator = separator or ("\t" if suffix == ".tsv" else None)
            return read_text(path, separator=separator, header=header, zipped=zipped, limit=limit)
        if suffix in (".parquet", ".pq") and not zipped:
            return as_frame(read_parquet(path, limit))
        if suffix in (".npz", ".npy") and not zipped:
            return _read_numpy(path, limit)
    raise DataError(f"file '{path}' has an unknown extension; allowed are {_SUFFIXES}", hint="save the table as CSV")


def _read_numpy(path: Path, limit: InputLimit) -> "pd.DataFrame":
    try:
        with path.open("rb") as stream:
            if path.suffix.lower() == ".npz" or stream.read(2) == b"PK":
                return _from_npz(path, stream, limit)
            stream.seek(0)
            return as_frame(read_npy(stream, f"file '{path}'", kinds=_KINDS, limit=limit.max_bytes, hint=TOO_LARGE))
    except (DrboError, OSError, MemoryError):
        raise
    except Exception as error:  # zipfile, zlib and numpy raise a dozen unrelated kinds on bad bytes
        raise DataError(
            f"file '{path}' is not a complete {path.suffix.lower()} file",
            hint="write it again: numpy.savez(path, X=array, names=names)",
        ) from error


def _from_npz(path: Path, stream: IO[bytes], limit: InputLimit) -> "pd.DataFrame":
    with open_npz(stream, f"file '{path}'", limit) as archive:
        members = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        tables = ["X"] if "X" in members else [name for name in members if _n_axes(archive, name) == 2]
        if len(tables) != 1:
            held = ", ".join(members) or "nothing"
            raise DataError(
                f"file '{path}' has {len(tables)} arrays that could be the table; it contains {held:.200}",
                hint="save the table under the name X",
            )
        size = {"kinds": _KINDS, "limit": limit.max_bytes, "hint": TOO_LARGE}
        frame = as_frame(read_member(archive, tables[0], f"file '{path}'", **size))
        if "names" not in members:
            return frame
        found = read_member(archive, "names", f"file '{path}' names", **size).ravel()
    if len(found) != frame.shape[1]:
        raise DataError(
            f"file '{path}' has {len(found)} names for {frame.shape[1]} columns", hint="give one name per column"
        )
    names = [value.decode() if isinstance(value, bytes) else str(value) for value in found.tolist()]
    _check_unicode(names)
    return as_frame(frame.set_axis(names, axis=1))


def _n_axes(archive: zipfile.ZipFile, name: str) -> int:
    with archive.open(f"{name}.npy") as stream:
        return len(read_header(stream, name)[0])


def as_frame(data: Any) -> "pd.DataFrame":
    """Return the data as a new pandas frame with unique string column names; the data is left alone.

    Takes pandas and polars frames, pyarrow tables, 2-D arrays and lists of rows. Columns of arrays and lists are
    called x0, x1, ...; other labels become strings.

    Examples
    --------
    >>> as_frame([[1, "a"], [2, "b"]]).columns.tolist()
    ['x0', 'x1']
    """
    import pandas as pd

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
    _check_unicode(frame.columns.tolist())
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


def _check_unicode(names: Sequence[str]) -> None:
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
