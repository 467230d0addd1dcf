"""From a file, a frame or an array to a pandas frame with string column names."""

import codecs
import csv
import io
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.data.files import read_bytes, read_header, read_member, read_npy, refusing, unpack_gzip
from drbo.data.table import by_columns, is_large
from drbo.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

#: A number as text; also what :mod:`drbo.data.check` calls a number.
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")

#: Largest text, unpacked, and largest table in memory; beyond, a sample of the rows does as well.
MAX_TABLE_TEXT = 2**30
MAX_TABLE_BYTES = 2**32
#: Widest table: a search holds several numbers for each pair of columns.
MAX_COLUMNS = 2**14

_SEPARATORS = ",;\t"
#: What a table may hold as numpy's letters of kinds; dates and complex numbers get a better message later.
_KINDS = "biufcmMUS"
_SUFFIXES = ".csv, .tsv, .txt (each also with .gz), .parquet, .pq, .npz, .npy"


def read_table(path: str | Path, *, separator: str | None = None, header: bool = True) -> "pd.DataFrame":
    """Read a table from a file; the suffix says how.

    Text (``.csv``, ``.tsv``, ``.txt``, also with ``.gz``) must be UTF-8 with one name per column in the first line.
    ``.npz`` holds the table as ``X`` or as its only 2-D array, and may hold ``names``. ``.npy`` is one 2-D array.
    ``.parquet`` and ``.pq`` need pyarrow. Values are not judged here: see :func:`drbo.data.check.check_table`.

    Parameters
    ----------
    path : the file.
    separator : one character between the cells of a text file; found in the first line by default.
    header : False for a text file without a line of names; its columns are then called x0, x1, ...

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
    path = Path(path)
    if path.is_dir():
        raise DataError(f"'{path}' is a directory, not a file", hint=f"name a file: {_SUFFIXES}")
    if not path.exists():
        raise DataError(f"file '{path}' does not exist", hint="check the path and the spelling")
    with refusing(path, DataError):
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe or a device may never end
            raise DataError(f"'{path}' is not a regular file", hint="save what it delivers to a file first")
        suffix = Path(path.name.lower().removesuffix(".gz")).suffix
        zipped = path.name.lower().endswith(".gz")
        if suffix in (".csv", ".tsv", ".txt"):
            return _read_text(path, separator or ("\t" if suffix == ".tsv" else None), header, zipped)
        if suffix in (".parquet", ".pq") and not zipped:
            return _read_parquet(path)
        if suffix in (".npz", ".npy") and not zipped:
            return _read_numpy(path)
    raise DataError(f"file '{path}' has an unknown suffix, known are {_SUFFIXES}", hint="save the table as CSV")


def _read_text(path: Path, separator: str | None, header: bool, zipped: bool) -> "pd.DataFrame":
    import pandas as pd

    raw = _utf8(path, _raw_bytes(path, zipped))
    separator = separator or _sniff(raw)
    if len(separator) != 1 or separator in '"\r\n':
        raise SettingsError(f"separator must be one character, got {separator!r}", hint="for example ';' or a tab")
    first, n_lines = _measure(path, raw, separator)
    if len(first) == 1:
        raise DataError(
            f"file '{path}' has only one column, {first[0]!r}, when split at {separator!r}",
            hint="a table needs at least 2 columns; if other characters separate them, give separator=...",
        )
    names = _header_names(path, first) if header else _numbered(len(first))
    n_rows = n_lines - 1 if header else n_lines
    if n_rows == 0:
        raise DataError(f"file '{path}' has column names but no rows", hint="a table needs at least 3 rows")
    options: dict[str, Any] = {"sep": separator, "names": names, "index_col": False, "low_memory": False}
    if int(pd.__version__.split(".")[0]) < 3:  # loses the last bit otherwise
        options["float_precision"] = "round_trip"
    try:
        frame: pd.DataFrame = pd.read_csv(io.BytesIO(raw), header=0 if header else None, **options)
    except ValueError as error:
        raise DataError(f"file '{path}' cannot be read as a table: {error}", hint="look for stray quotes") from error
    if len(frame) != n_rows:
        raise DataError(
            f"file '{path}' has {n_rows} rows or {len(frame)}, depending on how its quotes are read",
            hint="look for stray quotes",
        )
    return frame


def _raw_bytes(path: Path, zipped: bool) -> bytes:
    raw = read_bytes(path, MAX_TABLE_TEXT)
    if zipped:
        raw = unpack_gzip(raw, MAX_TABLE_TEXT, f"file '{path}'")
    if not raw.removeprefix(codecs.BOM_UTF8).strip():
        raise DataError(f"file '{path}' is empty", hint="a table needs column names and at least 3 rows")
    return raw


def _utf8(path: Path, raw: bytes) -> bytes:
    """Return the text without its byte order mark, or say where it is not UTF-8."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"file '{path}' is UTF-16 text, not UTF-8", hint="save it as 'CSV UTF-8'")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"file '{path}' is not UTF-8 text: byte 0x{raw[error.start]:02x} at offset {error.start} (line {line})",
            hint="save it as UTF-8, or read it yourself: pandas.read_csv(path, encoding='latin-1')",
        ) from error
    return raw.removeprefix(codecs.BOM_UTF8)


def _sniff(raw: bytes) -> str:
    """Return the separator that cuts the first line into the most cells; the comma wins ties."""
    line = next(line for line in raw.splitlines() if line.strip()).decode()
    return max(_SEPARATORS, key=lambda separator: len(next(csv.reader([line], delimiter=separator), [])))


def _measure(path: Path, raw: bytes, separator: str) -> tuple[list[str], int]:
    """Return the cells of the first line and the number of lines; pandas fills short lines without a word."""
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=separator)
    first: list[str] = []
    n_lines = 0
    try:
        for cells in reader:
            if not cells or (len(cells) == 1 and not cells[0].strip()):
                continue  # a blank line
            first = first or cells
            n_lines += 1
            if len(cells) != len(first):
                raise DataError(
                    f"file '{path}', line {reader.line_num}: {len(cells)} cells, but the first line has {len(first)}",
                    hint="every line needs the same number of cells; look for a missing separator or a stray quote",
                )
    except csv.Error as error:
        raise DataError(f"file '{path}', line {reader.line_num}: {error}", hint="look for stray quotes") from error
    return first, n_lines


def _header_names(path: Path, first: list[str]) -> list[str]:
    names = [cell.strip() for cell in first]
    if all(NUMBER.fullmatch(name) for name in names):
        raise DataError(
            f"file '{path}' has no column names: its first line holds only numbers: {', '.join(names[:3])}",
            hint="add a first line with names, or read it with header=False",
        )
    if "" in names:
        raise DataError(
            f"file '{path}': column {names.index('') + 1} of {len(names)} has no name",
            hint="name it; if it is the row index of a pandas frame, save the frame with index=False",
        )
    _check_unique(names, f"file '{path}': ")
    return names


def _check_unique(names: Sequence[str], where: str = "") -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        places = ", ".join(str(j + 1) for j, name in enumerate(names) if name == repeated[0])
        raise DataError(
            f"{where}column name '{repeated[0]}' is used more than once (columns {places})",
            hint="give every column a name of its own",
        )


def _read_parquet(path: Path) -> "pd.DataFrame":
    try:
        pyarrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise DataError(
            f"file '{path}': reading Parquet needs pyarrow, which is not installed",
            hint="pip install drbo[parquet]",
        ) from error
    try:
        frame = as_frame(_parquet_table(pyarrow, parquet, path))
        pyarrow.default_memory_pool().release_unused()  # a large table would stay in memory twice
        return frame
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"file '{path}' is no complete Parquet file", hint="write it again") from error


def _parquet_table(pyarrow: Any, parquet: Any, path: Path) -> Any:
    """Return the table of a Parquet file; one that would not fit into memory is refused on the way.

    Repeated texts are stored once in such a file, and once they stay until their full size is known.
    """
    schema = parquet.read_schema(path)
    texts = [field.name for field in schema if field.type in (pyarrow.string(), pyarrow.large_string())]
    file = parquet.ParquetFile(path, read_dictionary=texts, pre_buffer=False)  # no copy of the file in memory
    n_rows, n_columns = file.metadata.num_rows, len(schema)
    _check_size(path, n_rows, n_columns, 8 * n_rows * n_columns)
    table = file.read()
    size = sum(_text_bytes(table, name) for name in texts if name in table.column_names)
    _check_size(path, n_rows, n_columns, table.nbytes + size)
    return table.cast(schema)


def _text_bytes(table: Any, name: str) -> int:
    """Return the bytes of a column of texts, written out."""
    total = 0
    for chunk in table.column(name).chunks:
        if not hasattr(chunk, "dictionary"):
            total += chunk.nbytes
            continue
        lengths = np.array([len(text or "") for text in chunk.dictionary.to_pylist()], dtype=np.int64)
        codes = chunk.indices.drop_null().to_numpy(zero_copy_only=False)
        total += int(lengths[codes].sum())
    return total


def _check_size(path: Path, n_rows: int, n_columns: int, n_bytes: int) -> None:
    if n_columns > MAX_COLUMNS or n_bytes > MAX_TABLE_BYTES:
        raise DataError(
            f"file '{path}' has {n_rows} rows and {n_columns} columns, more than {MAX_COLUMNS} columns or "
            f"{MAX_TABLE_BYTES} bytes",
            hint="take a sample of its rows, or fewer columns",
        )


def _read_numpy(path: Path) -> "pd.DataFrame":
    try:
        with path.open("rb") as stream:
            if path.suffix.lower() == ".npz" or stream.read(2) == b"PK":
                with zipfile.ZipFile(stream) as archive:
                    return _from_npz(path, archive)
            stream.seek(0)
            return as_frame(read_npy(stream, f"file '{path}'", kinds=_KINDS, limit=MAX_TABLE_BYTES))
    except DataError:
        raise
    except OSError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise a dozen unrelated kinds on bad bytes
        raise DataError(
            f"file '{path}' is damaged or holds pickled Python objects, which are not loaded",
            hint="save plain numbers: numpy.savez(path, X=array, names=names)",
        ) from error


def _from_npz(path: Path, archive: zipfile.ZipFile) -> "pd.DataFrame":
    members = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    tables = ["X"] if "X" in members else [name for name in members if _n_axes(archive, name) == 2]
    if len(tables) != 1:
        held = ", ".join(members) or "nothing"
        raise DataError(
            f"file '{path}' has {len(tables)} arrays that could be the table; it holds {held:.200}",
            hint="save the table under the name X",
        )
    size = {"kinds": _KINDS, "limit": MAX_TABLE_BYTES}
    frame = as_frame(read_member(archive, tables[0], f"file '{path}'", **size))
    if "names" not in members:
        return frame
    found = read_member(archive, "names", f"file '{path}' names", **size).ravel()
    if len(found) != frame.shape[1]:
        raise DataError(
            f"file '{path}' has {len(found)} names for {frame.shape[1]} columns", hint="one name per column"
        )
    names = [value.decode() if isinstance(value, bytes) else str(value) for value in found.tolist()]
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
            f"a table cannot be made from {type(data).__name__}",
            hint="pass a pandas, polars or pyarrow table or a 2-D array; read files with read_table(path)",
        )
    frame.columns = [str(label) for label in frame.columns]
    _check_unique(frame.columns.tolist())
    if "" in (blank := [name.strip() for name in frame.columns]):
        raise DataError(f"column {blank.index('') + 1} of {len(blank)} has no name", hint="give every column a name")
    for name, dtype in frame.dtypes.items():
        if pd.api.types.is_complex_dtype(dtype):
            raise DataError(f"Complex data not supported: column '{name}'", hint="use real and imaginary parts")
    try:
        return frame.infer_objects()
    except OverflowError:  # pandas before 3 on an integer beyond floating point: the check of the columns names it
        return frame


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
            f"Found array with dim {array.ndim}, a table has 2: shape {array.shape}", hint="pass rows x columns"
        )
    names = _numbered(array.shape[1])
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
                f"row {number} has {len(row)} cells, but row 0 has {len(rows[0])}", hint="make all rows equally long"
            )
    return pd.DataFrame([list(row) for row in rows], columns=_numbered(len(rows[0])))


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


def _numbered(count: int) -> list[str]:
    return [f"x{j}" for j in range(count)]
