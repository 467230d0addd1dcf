"""Readers of binary formats by name: those that a guarded process runs, and no others.

Each takes the file, notes to add to, the limit, and what else it is told. It returns the table, or yields it some
thousand rows at a time.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from drbo.data.files.packed import InputLimit

#: The columns of some rows by their names: arrays of numpy or pandas.
Columns = Mapping[str, Any]

_HERE = "drbo.data.reading"
#: All readers: where they are, and the modules that they need, which are trusted and loaded before limits are set.
READERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "parquet": (f"{_HERE}.parquet:read_parquet", ("pandas", f"{_HERE}.frames", "pyarrow.parquet")),
    "feather": (f"{_HERE}.feather:read_feather", ("pandas", "pyarrow.ipc")),
    "excel": (f"{_HERE}.excel:read_excel", ("pandas", "python_calamine")),
    "sqlite": (f"{_HERE}.sqlite:read_sqlite", ("pandas",)),
    "duckdb": (f"{_HERE}.duck:read_duckdb", ("pandas", "duckdb")),
    "sqlite pieces": (f"{_HERE}.sqlite:sqlite_pieces", ("pandas",)),
    "duckdb pieces": (f"{_HERE}.duck:duckdb_pieces", ("pandas", "duckdb")),
    "parquet description": (f"{_HERE}.parquet_groups:description", ("pyarrow.parquet", "pyarrow.types")),
    "parquet pieces": (f"{_HERE}.parquet_groups:pieces", ("pandas", "pyarrow.parquet")),
    "parquet numbers": (f"{_HERE}.parquet_groups:pieces", ("pyarrow.parquet", "pyarrow.types")),
    "parquet counts": (f"{_HERE}.duck:count_rows", ("pandas", "duckdb", "pyarrow.parquet")),
}


def loaded(reader: str) -> Callable[..., Iterator[Columns]]:
    """Return a reader, with all that it needs loaded; it yields the columns of the table, whole or in pieces."""
    place, modules = READERS[reader]
    module, _, name = place.partition(":")
    read = getattr(import_module(module), name)
    for needed in modules:
        with suppress(ImportError):  # the reader says what is missing
            import_module(needed)

    def columns(path: Path, notes: list[str], limit: InputLimit, **told: Any) -> Iterator[Columns]:
        found = read(path, notes, limit, **told)
        yield from map(_columns, found if isinstance(found, Iterator) else [found])

    return columns


def _columns(piece: Any) -> Columns:
    """Return the columns of a frame or of a table of pyarrow; columns stay as they are."""
    if isinstance(piece, dict):
        return piece
    if not hasattr(piece, "items"):
        from drbo.data.reading.frames import as_frame

        piece = as_frame(piece)
    return {str(name): column for name, column in piece.items()}
