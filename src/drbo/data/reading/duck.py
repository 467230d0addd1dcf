"""Tables of DuckDB databases: opened for reading only, without access to other files, extensions or the network."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drbo.data.files.files import BYTES_PER_TEXT
from drbo.data.files.packed import InputLimit
from drbo.data.reading.frames import as_frame
from drbo.data.reading.lines import check_width
from drbo.data.reading.number_text import numbers_from_text
from drbo.data.reading.rows import chosen_table
from drbo.data.reading.source import FileSource
from drbo.data.reading.text import check_unique
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

#: One thread keeps the rows in their order. What a view or a default could reach is switched off, for good.
CONFIG = {
    "access_mode": "READ_ONLY",
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "temp_directory": "",
    "memory_limit": "1GB",
    "threads": "1",
    "lock_configuration": "true",
}
_VECTORS = 8  # of 2,048 rows, in a piece
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main' ORDER BY table_name"


@dataclass(frozen=True)
class DuckdbSource(FileSource):
    """A table of a database."""

    def _read(self, limit: InputLimit, notes: list[str]) -> "pd.DataFrame":
        frame = as_frame(read_duckdb(self.path, self.options.table, limit, notes))
        return numbers_from_text(frame, notes, decimal=self.options.decimal)

    def _pieces(self) -> Iterator["pd.DataFrame"]:
        return duckdb_pieces(self.path, self.options.table, [])


def read_duckdb(path: Path, table: str, limit: InputLimit, notes: list[str]) -> "pd.DataFrame":
    """Return a table of a database; without a name, the only one that there is."""
    import pandas as pd

    frames, size, what = list[pd.DataFrame](), 0, f"file '{path}'"
    for frame in duckdb_pieces(path, table, notes):
        texts = [column for _, column in frame.items() if not pd.api.types.is_numeric_dtype(column)]
        size += 8 * frame.size + sum(BYTES_PER_TEXT + len(str(cell)) for column in texts for cell in column)
        limit.check(size, what)
        frames.append(frame)
    found = pd.concat(frames, ignore_index=True)
    if not len(found):
        raise DataError(f"{what} has column names but no rows", hint="a table needs at least 3 rows")
    return found


def load_duckdb() -> Any:
    """Return the module of DuckDB; None: it is not installed."""
    try:
        found = import_module("duckdb")
    except ImportError:
        return None
    atexit.unregister(gc.freeze)  # the command line leaves garbage behind at its end, of which DuckDB would complain
    return found


def duckdb_pieces(path: Path, table: str, notes: list[str]) -> Iterator["pd.DataFrame"]:
    """Yield the rows of a table, some thousand at a time; at least one piece, which may have no rows."""
    duckdb = load_duckdb()
    if duckdb is None:
        raise DataError(f"file '{path}': reading it needs DuckDB, which is not installed", hint="pip install drbo[big]")
    what = f"file '{path}'"
    try:
        with closing(duckdb.connect(str(path), config=CONFIG)) as database:
            plain = [str(name) for (name,) in database.execute(_TABLES).fetchall()]
            name = chosen_table(plain, table, what, "data.duckdb", notes)
            quoted = name.replace('"', '""')
            rows = database.execute(f'SELECT * FROM main."{quoted}"')
            names = [str(column[0]) for column in rows.description]
            check_width(len(names), what)
            check_unique(names, f"{what}: ")
            first = True
            while len(frame := rows.fetch_df_chunk(_VECTORS)) or first:
                yield frame
                first = False
    except duckdb.Error as error:
        raise DataError(
            f"{what} is not a complete DuckDB database, or table '{table}' cannot be read: {error!s:.200}",
            hint="export the table as Parquet",
        ) from error
