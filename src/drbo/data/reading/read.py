"""From a file to a pandas frame with string column names."""

import stat
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from drbo.data.files.files import read_header, read_member, read_npy, refusing
from drbo.data.files.packed import TOO_LARGE, InputLimit, open_zip
from drbo.data.reading.excel import read_excel
from drbo.data.reading.feather import read_feather
from drbo.data.reading.frames import as_frame, check_unicode
from drbo.data.reading.number_text import numbers_from_text
from drbo.data.reading.parquet import read_parquet
from drbo.data.reading.text import TextFile, read_text
from drbo.errors import DataError, DrboError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

#: What a table may hold as numpy's letters of kinds; dates and complex numbers get a better message later.
_KINDS = "biufcmMUS"
_TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat", ".data")
_SQLITE, _DUCKDB = (".db", ".sqlite", ".sqlite3"), (".duckdb", ".ddb")
_SUFFIXES = (
    ".csv, .tsv, .txt, .tab, .dat, .data (each also with .gz), .parquet, .pq, .feather, .arrow, .xlsx, .xlsm, "
    ".db, .sqlite, .sqlite3, .duckdb, .ddb, .npz, .npy"
)
#: What a table from standard input is, by its first bytes; anything else is text.
_MAGIC = {
    b"\x1f\x8b": ".csv.gz", b"PAR1": ".parquet", b"ARROW1": ".feather", b"PK": ".xlsx", b"SQLite format 3": ".db",
    b"\x93NUMPY": ".npy",
}  # fmt: skip
_PIECE = 2**20


def read_table(
    path: str | Path,
    *,
    separator: str | None = None,
    header: bool = True,
    max_input: int | None = None,
    decimal: Literal[".", ","] | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    notes: list[str] | None = None,
) -> "pd.DataFrame":
    """Read a table from a file; the suffix says how.

    Text (``.csv``, ``.tsv``, ``.txt``, also with ``.gz``) has one name per column in the first line. Separator,
    encoding and decimal mark are detected; currency signs and thousands marks are removed. ``.xlsx`` needs
    python-calamine, ``.parquet`` and ``.feather`` need pyarrow. ``file.db::table`` is a table of an SQLite database,
    ``file.duckdb::table`` one of DuckDB. ``.npz`` holds the table as ``X`` or as its only 2-D array, and may hold
    ``names``. ``.npy`` is one 2-D array. ``-`` is standard input. Values are not judged here: see
    :func:`drbo.data.checks.check.check_table`.

    Parameters
    ----------
    path : the file.
    separator : one character between the cells of a text file; found in the first lines by default.
    header : False for a table without a line of names; its columns are then called x0, x1, ...
    max_input : bytes that the table may take, as text and in memory. By default 4 GiB, and no more than 100 times the
        size of a packed file, or 64 MiB.
    decimal : the decimal mark of numbers in text, ``"."`` or ``","``; found in the numbers by default.
    encoding : the encoding of a text file; UTF-8, UTF-16 and cp1252 are found by default.
    sheet : name or number (from 1) of an Excel worksheet; the first one by default.
    notes : a list to which is added what was assumed, in words.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "table.csv"
    ...     size = file.write_text("height;weight\\n1,8;75\\n1,6;60\\n")
    ...     print(read_table(file))
       height  weight
    0     1.8      75
    1     1.6      60
    """
    if decimal not in (None, ".", ","):
        raise SettingsError(f"decimal must be '.' or ',', got {decimal!r:.80}", hint="omit it to detect the mark")
    notes, limit = [] if notes is None else notes, InputLimit.of(max_input)
    how: dict[str, Any] = {"separator": separator, "header": header, "encoding": encoding, "sheet": sheet}
    if str(path) == "-":
        return _read_stdin(limit, notes, decimal=decimal, **how)
    path, table = _named_table(Path(path))
    if path.is_dir():
        raise DataError(f"'{path}' is a directory, not a file", hint=f"give the name of a file: {_SUFFIXES}")
    if not path.exists():
        raise DataError(f"file '{path}' does not exist", hint="check the path and the spelling")
    with refusing(path, DataError):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device may never end
            raise DataError(f"'{path}' is not a regular file", hint="save its content to a regular file first")
        limit.check(status.st_size, f"file '{path}'")
        return _read_file(path, table, limit, notes, decimal=decimal, **how)


def _named_table(path: Path) -> tuple[Path, str]:
    """Return the file and the table that a name such as ``file.db::table`` stands for."""
    file, colons, table = str(path).rpartition("::")
    return (Path(file), table) if colons and not path.exists() else (path, "")


def _read_file(
    path: Path,
    table: str,
    limit: InputLimit,
    notes: list[str],
    *,
    separator: str | None,
    header: bool,
    decimal: str | None,
    encoding: str | None,
    sheet: str | None,
) -> "pd.DataFrame":
    """Return the table of a regular file."""
    zipped = path.name.lower().endswith(".gz")
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix in _TEXT:
        separator = separator or ("\t" if suffix in (".tsv", ".tab") else None)
        return read_text(TextFile(path, zipped, separator, header, encoding), limit, decimal, notes)
    if not zipped and suffix in (".parquet", ".pq"):
        return as_frame(read_parquet(path, limit))
    if not zipped and suffix in (".feather", ".arrow"):
        return as_frame(read_feather(path, limit))
    if not zipped and suffix in (".npz", ".npy"):
        return _read_numpy(path, limit)
    if not zipped and suffix in (".xlsx", ".xlsm"):
        frame = read_excel(path, limit, sheet=sheet, header=header, notes=notes)
        return numbers_from_text(as_frame(frame), notes, decimal=decimal)
    if not zipped and suffix in (*_SQLITE, *_DUCKDB):
        from drbo.data.reading.duck import read_duckdb
        from drbo.data.reading.sqlite import read_sqlite

        frame = (read_sqlite if suffix in _SQLITE else read_duckdb)(path, table, limit, notes)
        return numbers_from_text(as_frame(frame), notes, decimal=decimal)
    raise DataError(f"file '{path}' has an unknown extension; allowed are {_SUFFIXES}", hint="save the table as CSV")


def _read_stdin(limit: InputLimit, notes: list[str], **how: Any) -> "pd.DataFrame":
    """Return the table from standard input, which is kept in a file meanwhile: readers go back and forth in it."""
    if sys.stdin is None or sys.stdin.isatty():
        raise DataError("no table on standard input", hint="pipe a table into the command, or name a file")
    with tempfile.TemporaryDirectory() as folder:
        stream, size = sys.stdin.buffer, 0
        first = stream.read(_PIECE)
        path = Path(folder) / next(
            (f"stdin{end}" for mark, end in _MAGIC.items() if first.startswith(mark)), "stdin.csv"
        )
        try:
            with refusing(Path("-"), DataError):
                with path.open("wb") as file:
                    while first:
                        size += len(first)
                        limit.check(size, "standard input")
                        file.write(first)
                        first = stream.read(_PIECE)
                return _read_file(path, "", limit, notes, **how)
        except DataError as error:
            raise DataError(error.message.replace(f"file '{path}'", "standard input"), hint=error.hint) from error


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
    with open_zip(stream, f"file '{path}'", limit) as archive:
        members = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if {"about", "products"} <= set(members):
            raise DataError(
                f"file '{path}' contains the moments of a table, not its rows",
                hint="only 'drbo fit' and 'drbo moments' can use moments",
            )
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
    check_unicode(names)
    return as_frame(frame.set_axis(names, axis=1))


def _n_axes(archive: zipfile.ZipFile, name: str) -> int:
    with archive.open(f"{name}.npy") as stream:
        return len(read_header(stream, name)[0])
