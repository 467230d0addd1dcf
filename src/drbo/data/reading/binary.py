"""Readers of binary formats by name: those that a guarded process runs, and no others.

Each takes the file, notes to add to, and what else it is told; it yields the columns of the table, at once or some
thousand rows at a time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drbo.data.files.packed import InputLimit

if TYPE_CHECKING:
    import pandas as pd

#: The columns of some rows by their names: arrays of numpy or pandas.
Columns = Mapping[str, Any]
Reader = Callable[..., Iterator[Columns]]


def _columns(frame: "pd.DataFrame") -> Columns:
    return {str(name): column for name, column in frame.items()}


def _parquet(path: Path, _notes: list[str], limit: InputLimit) -> Iterator[Columns]:
    from drbo.data.reading.frames import as_frame
    from drbo.data.reading.parquet import read_parquet

    yield _columns(as_frame(read_parquet(path, limit)))


def _feather(path: Path, _notes: list[str], limit: InputLimit) -> Iterator[Columns]:
    from drbo.data.reading.feather import read_feather
    from drbo.data.reading.frames import as_frame

    yield _columns(as_frame(read_feather(path, limit)))


def _excel(path: Path, notes: list[str], limit: InputLimit, *, sheet: str | None, header: bool) -> Iterator[Columns]:
    from drbo.data.reading.excel import read_excel

    yield _columns(read_excel(path, limit, sheet=sheet, header=header, notes=notes))


def _sqlite(path: Path, notes: list[str], limit: InputLimit, *, table: str) -> Iterator[Columns]:
    from drbo.data.reading.sqlite import read_sqlite

    yield _columns(read_sqlite(path, table, limit, notes))


def _duckdb(path: Path, notes: list[str], limit: InputLimit, *, table: str) -> Iterator[Columns]:
    from drbo.data.reading.duck import read_duckdb

    yield _columns(read_duckdb(path, table, limit, notes))


def _sqlite_pieces(path: Path, notes: list[str], _limit: InputLimit, *, table: str) -> Iterator[Columns]:
    import pandas as pd

    from drbo.data.reading.sqlite import sqlite_pieces
    from drbo.data.reading.text import check_unique

    rows = sqlite_pieces(path, table, notes)
    names = next(rows)
    check_unique(names, f"file '{path}': ")
    for some in chain([next(rows, [])], rows):
        yield _columns(pd.DataFrame(some, columns=names).infer_objects())


def _duckdb_pieces(path: Path, notes: list[str], _limit: InputLimit, *, table: str) -> Iterator[Columns]:
    from drbo.data.reading.duck import duckdb_pieces

    yield from (_columns(frame) for frame in duckdb_pieces(path, table, notes))


def _parquet_description(path: Path, notes: list[str], _limit: InputLimit) -> Iterator[Columns]:
    """Yield whether each column is one of numbers, and then the runs of row groups; types of the others are notes."""
    import numpy as np

    from drbo.data.reading.parquet_groups import not_numbers, runs_of, schema_of
    from drbo.data.reading.source import Run

    schema = schema_of(path)
    others = not_numbers(schema)
    notes += others.values()
    yield {name: np.array([name not in others]) for name in schema.names}
    runs = np.array(runs_of(path), dtype=np.int64).reshape(-1, len(Run._fields))
    yield {name: runs[:, k] for k, name in enumerate(Run._fields)}


def _parquet_pieces(
    path: Path, _notes: list[str], _limit: InputLimit, *, names: Sequence[str], run: Sequence[int]
) -> Iterator[Columns]:
    import numpy as np

    from drbo.data.reading.parquet_groups import batches_of, not_numbers
    from drbo.data.reading.source import Run, frame_of

    for batch in batches_of(path, names, Run(*run)):
        if not_numbers(batch.schema) or any(column.null_count for column in batch.columns):
            yield _columns(frame_of(batch))
        else:  # without pandas, which takes longer to import than many a file to read
            yield {name: np.from_dlpack(batch.column(name)) for name in names}


def _parquet_counts(path: Path, _notes: list[str], _limit: InputLimit, *, names: Sequence[str]) -> Iterator[Columns]:
    from drbo.data.reading.duck import count_rows

    yield _columns(count_rows(path, names))


#: All readers, and the modules that each of them needs: they are trusted, and loaded before limits are set.
READERS: dict[str, tuple[Reader, tuple[str, ...]]] = {
    "parquet": (_parquet, ("pandas", "drbo.data.reading.frames", "drbo.data.reading.parquet", "pyarrow.parquet")),
    "feather": (_feather, ("pandas", "drbo.data.reading.frames", "drbo.data.reading.feather", "pyarrow.ipc")),
    "excel": (_excel, ("pandas", "drbo.data.reading.excel", "python_calamine")),
    "sqlite": (_sqlite, ("pandas", "drbo.data.reading.sqlite")),
    "duckdb": (_duckdb, ("pandas", "drbo.data.reading.duck", "duckdb")),
    "sqlite pieces": (_sqlite_pieces, ("pandas", "drbo.data.reading.sqlite")),
    "duckdb pieces": (_duckdb_pieces, ("pandas", "drbo.data.reading.duck", "duckdb")),
    "parquet description": (
        _parquet_description,
        ("drbo.data.reading.parquet_groups", "pyarrow.parquet", "pyarrow.types"),
    ),
    "parquet pieces": (_parquet_pieces, ("pandas", "drbo.data.reading.parquet_groups", "pyarrow.parquet")),
    "parquet numbers": (_parquet_pieces, ("drbo.data.reading.parquet_groups", "pyarrow.parquet", "pyarrow.types")),
    "parquet counts": (_parquet_counts, ("pandas", "drbo.data.reading.duck", "duckdb", "pyarrow.parquet")),
}
