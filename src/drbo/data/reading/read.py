"""From a path to the source of its table, by the end of its name or its first bytes, and to a frame."""

import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from drbo.data.files.files import file_digest, refusing
from drbo.data.files.packed import InputLimit
from drbo.data.reading.source import FileSource, JoinedSource, ReadOptions, Source
from drbo.errors import DataError, DrboError, SettingsError

if TYPE_CHECKING:
    import pandas as pd


class FileKind(NamedTuple):
    """A kind of file: the ends of its names, the class of :class:`FileSource` that reads it, and its first bytes."""

    endings: tuple[str, ...]
    reader: str  # imported when it is needed
    magic: bytes | None = None  # None: not recognised on standard input


_TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat", ".data")
_PARQUET = (".parquet", ".pq")
#: All kinds of files. A new one is a module with a class and a line here.
KINDS = (
    FileKind(_TEXT, "drbo.data.reading.text:TextSource"),
    FileKind(tuple(f"{ending}.gz" for ending in _TEXT), "drbo.data.reading.text:TextSource", b"\x1f\x8b"),
    FileKind(_PARQUET, "drbo.data.reading.parquet_groups:ParquetSource", b"PAR1"),
    FileKind((".feather", ".arrow"), "drbo.data.reading.feather:FeatherSource", b"ARROW1"),
    FileKind((".xlsx", ".xlsm"), "drbo.data.reading.excel:ExcelSource", b"PK"),
    FileKind((".db", ".sqlite", ".sqlite3"), "drbo.data.reading.sqlite:SqliteSource", b"SQLite format 3"),
    FileKind((".duckdb", ".ddb"), "drbo.data.reading.duck:DuckdbSource"),
    FileKind((".jsonl", ".ndjson"), "drbo.data.reading.json_lines:JsonLinesSource"),
    FileKind((".npz",), "drbo.data.reading.numpy_file:NumpySource"),
    FileKind((".npy",), "drbo.data.reading.numpy_file:NumpySource", b"\x93NUMPY"),
)
ENDINGS = {ending: kind for kind in KINDS for ending in kind.endings}
_SHOWN = f"{', '.join(_TEXT)} (each also with .gz), " + ", ".join(
    ending for ending in ENDINGS if not ending.startswith(_TEXT)
)
_PIECE = 2**20


def read_table(
    path: str | Path, options: ReadOptions | None = None, *, notes: list[str] | None = None, **changes: Any
) -> "pd.DataFrame":
    """Read a table from a file; the suffix says how.

    Text (``.csv``, ``.tsv``, ``.txt``, also with ``.gz``) has one name per column in the first line. Separator,
    encoding and decimal mark are detected; currency signs and thousands marks are removed. ``.xlsx`` needs python-
    calamine, ``.parquet`` and ``.feather`` need pyarrow. ``file.db::table`` is a table of an SQLite database,
    ``file.duckdb::table`` one of DuckDB. ``.jsonl`` has a JSON object in each line. ``.npz`` holds the table as
    ``X`` or as its only 2-D array, and may hold ``names``. ``.npy`` is one 2-D array. ``-`` is standard input.
    Values are not judged here: see :func:`drbo.check`.

    Parameters
    ----------
    path : the file.
    options : how it is read.
    notes : a list to which is added what was assumed, in words.
    changes : single :class:`~drbo.data.reading.source.ReadOptions`, such as ``separator=";"``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "table.csv"
    ...     size = file.write_text("height;weight\\n1,8;75\\n1,6;60\\n")
    ...     print(read_table(file, drop=["weight"]))
       height
    0     1.8
    1     1.6
    """
    with refusing(f"{path!s:.200}", DataError):
        if Path(path).is_dir():
            raise DataError(f"'{path}' is a directory, not a file", hint=f"give the name of a file: {_SHOWN}")
    return open_source(path, options, **changes).frame([] if notes is None else notes)


def open_source(data: str | Path | Sequence[str | Path], options: ReadOptions | None = None, **changes: Any) -> Source:
    """Return the source of a file, of a folder of Parquet files, or of several of them as one table.

    ``options`` and ``changes`` are those of :func:`read_table`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = (Path(folder) / "t.csv").write_text("a,b\\n1,2\\n")
    ...     open_source(Path(folder) / "t.csv").schema().names
    ('a', 'b')
    """
    options = replace(options or ReadOptions(), **changes)
    if not isinstance(data, str | Path):
        paths = [Path(one) for one in data]
        if not paths:
            raise DataError("no file was given", hint="give the name of a file or of a folder")
        if len(paths) > 1:
            _check_different(paths)
        found = [open_source(path, options) for path in paths]
        parts = tuple(part for source in found for part in source.parts())
        return found[0] if len(found) == 1 else JoinedSource(str(paths[0]), parts)
    path = Path(data)
    if str(path) == "-":
        return StandardInput(path, options)
    with refusing(f"{path!s:.200}", DataError):
        if path.is_dir():
            return JoinedSource(str(path), tuple(open_source(file, options) for file in _files(path)))
        file, colons, table = str(path).rpartition("::")
        if colons and not path.exists():
            path, options = Path(file), replace(options, table=table)
        return _reader(path)(path, options)


def _reader(path: Path) -> type[FileSource]:
    """Return the class that reads a file; refuse what is no file, or one of no known kind."""
    if not path.exists():
        raise DataError(f"file '{path}' does not exist", hint="check the path and the spelling")
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe or a device may never end
        raise DataError(f"'{path}' is not a regular file", hint="save its content to a regular file first")
    name = path.name.lower()
    plain = name.removesuffix(".gz")
    kind = ENDINGS.get(Path(plain).suffix + name[len(plain) :])
    if kind is None:
        raise DataError(f"file '{path}' has an unknown extension; allowed are {_SHOWN}", hint="save the table as CSV")
    module, _, reader = kind.reader.partition(":")
    found: type[FileSource] = getattr(import_module(module), reader)
    return found


def _files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of their names."""
    found = sorted(
        file for file in folder.iterdir() if file.suffix.lower() in _PARQUET and not file.name.startswith(".")
    )
    if not found:
        raise DataError(
            f"the folder '{folder}' has no Parquet files", hint="give a folder of .parquet files, or a file"
        )
    return found


def _check_different(paths: Sequence[Path]) -> None:
    """Refuse the same file twice: its rows would count twice."""
    seen: dict[str, Path] = {}
    for path in paths:
        key = file_digest(path) if path.suffix.lower() == ".npz" and path.is_file() else str(path.resolve())
        if key in seen:
            raise SettingsError(
                f"'{path}' has the same content as '{seen[key]}', so its rows would count twice",
                hint="give every part once",
            )
        seen[key] = path


@dataclass(frozen=True)
class StandardInput(FileSource):
    """The table from standard input, which is kept in a file meanwhile: readers go back and forth in it."""

    def size(self) -> float:
        """Return 0: nothing is known before it is read."""
        return 0.0

    def frame(self, notes: list[str]) -> "pd.DataFrame":
        """Return all rows; what was assumed is added to the notes."""
        if sys.stdin is None or sys.stdin.isatty():
            raise DataError("no table on standard input", hint="pipe a table into the command, or name a file")
        with tempfile.TemporaryDirectory() as folder:
            pieces = _pieces_of_input(InputLimit.of(self.options.max_input))
            with refusing(Path("-"), DataError):
                first = next(pieces, b"")
                kind = next((one for one in KINDS if one.magic and first.startswith(one.magic)), KINDS[0])
                path = Path(folder) / f"stdin{kind.endings[0]}"
                with path.open("wb") as file:
                    file.write(first)
                    file.writelines(pieces)
            try:
                return _reader(path)(path, self.options).frame(notes)
            except DrboError as error:
                raise type(error)(error.message.replace(f"file '{path}'", "standard input"), hint=error.hint) from error


def _pieces_of_input(limit: InputLimit) -> Iterator[bytes]:
    size = 0
    while piece := sys.stdin.buffer.read(_PIECE):
        size += len(piece)
        limit.check(size, "standard input")
        yield piece
