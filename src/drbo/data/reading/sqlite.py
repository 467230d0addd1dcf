"""Tables of SQLite databases: opened for reading only, and no code that a database names is run."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from drbo.data.files.files import BYTES_PER_TEXT
from drbo.data.files.packed import InputLimit
from drbo.data.reading.frames import as_frame
from drbo.data.reading.lines import MAX_COLUMNS
from drbo.data.reading.number_text import numbers_from_text
from drbo.data.reading.rows import chosen_table, columns_as_frame
from drbo.data.reading.source import FileSource
from drbo.data.reading.text import check_unique
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MAX_CELL = 2**20  # bytes
_ROWS_AT_ONCE = 1_000
_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
_VIRTUAL = re.compile(r"\s*create\s+virtual\b", re.IGNORECASE)
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)


@dataclass(frozen=True)
class SqliteSource(FileSource):
    """A table of a database."""

    def _read(self, limit: InputLimit, notes: list[str]) -> "pd.DataFrame":
        frame = as_frame(read_sqlite(self.path, self.options.table, limit, notes))
        return numbers_from_text(frame, notes, decimal=self.options.decimal)

    def _pieces(self) -> Iterator["pd.DataFrame"]:
        import pandas as pd

        rows = sqlite_pieces(self.path, self.options.table, [])
        names = next(rows)
        check_unique(names, f"file '{self.path}': ")
        yield from (pd.DataFrame(some, columns=names).infer_objects() for some in chain([next(rows, [])], rows))


def read_sqlite(path: Path, table: str, limit: InputLimit, notes: list[str]) -> "pd.DataFrame":
    """Return a table of a database; without a name, the only one that there is."""
    rows, size, what = list[tuple[Any, ...]](), 0, f"file '{path}'"
    pieces = sqlite_pieces(path, table, notes)
    names = next(pieces)
    for some in pieces:
        for row in some:
            size += sum(BYTES_PER_TEXT + len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)
        limit.check(size, what)
        rows += some
    return columns_as_frame(names, rows, range(len(names)), f"{what}, table '{table}'" if table else what)


def sqlite_pieces(path: Path, table: str, notes: list[str]) -> Iterator[list[Any]]:
    """Yield the names of the columns, and then the rows of a table, some thousand at a time."""
    what = f"file '{path}'"
    try:
        # Immutable: no lock, no journal, and no file is written beside the database.
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA cell_size_check = ON")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL)
            database.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, MAX_COLUMNS)
            database.text_factory = lambda raw: raw.decode(errors="replace")
            database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)
            plain = [str(name) for name, sql in database.execute(_TABLES) if not _VIRTUAL.match(str(sql))]
            plain = [name for name in plain if not name.startswith("sqlite_")]
            name = chosen_table(plain, table, what, "data.db", notes)
            quoted = name.replace('"', '""')
            cursor = database.execute(f'SELECT * FROM "{quoted}"')
            yield [str(column[0]) for column in cursor.description]
            while some := cursor.fetchmany(_ROWS_AT_ONCE):
                yield some
    except (sqlite3.Error, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{what} is not a complete SQLite database, or table '{table}' is not a plain one: {error!s:.200}",
            hint="export the table as CSV",
        ) from error
