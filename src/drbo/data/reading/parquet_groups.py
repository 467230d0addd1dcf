"""Parquet files that are read some row groups at a time, each run of them after a look at what its pages unpack to."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.data.files.files import refusing
from drbo.data.files.packed import NO_LIMIT, InputLimit
from drbo.data.reading.binary import Columns
from drbo.data.reading.frames import as_frame
from drbo.data.reading.guard import frames_guarded, pieces_guarded, read_guarded
from drbo.data.reading.parquet import (
    Chunk,
    check_pages,
    check_written_out,
    checked_schema,
    chunks_of,
    footer_of,
    n_cells,
    refusing_parquet,
)
from drbo.data.reading.source import CELL_BYTES, FileSource, Run, Schema, frame_of
from drbo.data.reading.text import check_unique
from drbo.data.statistics.row_counts import RowCounts
from drbo.data.statistics.sums import block_rows
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

#: Rows of a run of row groups, at least: its sums should take longer to make than to send.
RUN_ROWS = 2**19
#: Bytes of the buffers of all columns, and of one at least.
BUFFERS, LEAST_BUFFER = 2**26, 2**14


@dataclass(frozen=True)
class ParquetSource(FileSource):
    """A Parquet file, whose row groups can be read by themselves."""

    def _read(self, limit: InputLimit, notes: list[str]) -> "pd.DataFrame":
        return as_frame(read_guarded("parquet", self.path, limit, notes))

    def schema(self) -> Schema:
        """Return the names of the columns, and the types of those that are no numbers."""
        found, _ = described(self.path)
        names = self.options.chosen(found.names, self.name)
        return Schema(tuple(names), {name: word for name, word in found.not_numbers.items() if name in names})

    def batches(self, run: Run | None = None) -> Iterator["pd.DataFrame"]:
        """Yield the rows as frames."""
        schema = self.schema()
        reader = "parquet pieces" if schema.not_numbers else "parquet numbers"
        for one in self.runs() if run is None else [run]:
            yield from frames_guarded(reader, self.path, names=schema.names, run=one)

    def runs(self) -> list[Run]:
        """Return runs of row groups; one without rows where there are none."""
        return list(described(self.path)[1]) or [Run(0, 0, 0)]

    def row_counts(self) -> RowCounts | None:
        """Return the different rows, counted by DuckDB's GROUP BY where that is installed."""
        if find_spec("duckdb") is None:
            return None
        import pandas as pd

        names = self.schema().names
        (columns,) = pieces_guarded("parquet counts", self.path, names=names)
        *cells, counts = columns.values()
        return RowCounts(pd.DataFrame(dict(zip(names, cells, strict=True)), copy=False), np.asarray(counts))

    def size(self) -> float:
        """Return the bytes of the numbers that the footer speaks of."""
        return float(CELL_BYTES * n_cells(self.path))


def described(path: Path) -> tuple[Schema, tuple[Run, ...]]:
    """Return what a file says of its columns, and its row groups in runs; its pages are not looked at yet."""
    with refusing(path, DataError):
        status = path.stat()
        return _described(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1)
def _described(path: Path, _size: int, _changed: int) -> tuple[Schema, tuple[Run, ...]]:
    words = list[str]()
    columns, groups = pieces_guarded("parquet description", path, words)
    others = [name for name, is_number in columns.items() if not is_number]
    runs = zip(*(groups[field].tolist() for field in Run._fields), strict=True)
    return Schema(tuple(columns), dict(zip(others, words, strict=True))), tuple(Run(*run) for run in runs)


def schema_of(path: Path) -> Any:
    """Return the names and types of the columns of a file; its pages are not looked at yet."""
    with refusing_parquet(path):
        status = path.stat()
        return _schema(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1)
def _schema(path: Path, _size: int, _changed: int) -> Any:
    with refusing_parquet(path) as (pyarrow, parquet):
        schema = checked_schema(pyarrow, parquet, path, NO_LIMIT, pages=False)
    check_unique(schema.names, f"file '{path}': ")
    return schema


def description(path: Path, notes: list[str], _limit: InputLimit) -> Iterator[Columns]:
    """Yield whether each column is one of numbers, and then the runs of row groups; types of the others are notes."""
    schema = schema_of(path)
    others = not_numbers(schema)
    notes += others.values()
    yield {name: np.array([name not in others]) for name in schema.names}
    runs = np.array(runs_of(path), dtype=np.int64).reshape(-1, len(Run._fields))
    yield {name: runs[:, k] for k, name in enumerate(Run._fields)}


def pieces(
    path: Path, _notes: list[str], _limit: InputLimit, *, names: Sequence[str], run: Sequence[int]
) -> Iterator[Any]:
    """Yield some columns of a run of row groups; numbers without pandas, which takes longer to import than to read."""
    for batch in batches_of(path, names, Run(*run)):
        if not_numbers(batch.schema) or any(column.null_count for column in batch.columns):
            yield frame_of(batch)
        else:
            yield {name: np.from_dlpack(batch.column(name)) for name in names}


def not_numbers(schema: Any) -> dict[str, str]:
    """Return the columns that hold no numbers, and what they hold."""
    kinds = import_module("pyarrow.types")
    fields = [(name, schema.field(name).type) for name in schema.names]
    return {name: f"{kind!s:.80}" for name, kind in fields if not (kinds.is_integer(kind) or kinds.is_floating(kind))}


def runs_of(path: Path) -> list[Run]:
    """Return the row groups of a file, in runs."""
    with refusing_parquet(path) as (_, parquet):
        about = parquet.read_metadata(path)
        sizes = [about.row_group(k).num_rows for k in range(about.num_row_groups)]
    found, begin, n_rows = list[Run](), 0, 0
    for end, size in enumerate(sizes, 1):
        n_rows += size
        if n_rows >= RUN_ROWS or end == len(sizes):
            found.append(Run(begin, end, n_rows))
            begin, n_rows = end, 0
    return found


def batches_of(path: Path, names: Sequence[str], run: Run) -> Iterator[Any]:
    """Yield columns of a run of row groups as batches of pyarrow, after a look at their pages."""
    with refusing_parquet(path) as (pyarrow, parquet):
        # Otherwise pyarrow holds whole row groups, or the whole file, in memory.
        each = max(LEAST_BUFFER, BUFFERS // max(1, len(names)))
        file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=each, page_checksum_verification=True)
        place = {name: j for j, name in enumerate(file.schema_arrow.names)}
        _check_run(path, {place[name] for name in names}, run)
        groups = range(run.begin, run.end)
        packed, what = path.stat().st_size, f"file '{path}'"
        for batch in file.iter_batches(batch_size=block_rows(len(names)), columns=list(names), row_groups=groups):
            check_written_out(pyarrow, pyarrow.Table.from_batches([batch]), NO_LIMIT, packed, what)
            yield batch
        pyarrow.default_memory_pool().release_unused()


def _check_run(path: Path, columns: set[int], run: Run) -> None:
    """Refuse pages that unpack to too much, and let the system read them all meanwhile: they are needed next."""
    status = path.stat()
    every = _chunks(path, status.st_size, status.st_mtime_ns)
    chunks = [chunk for chunk in every if run.begin <= chunk.group < run.end and chunk.column in columns]
    if not chunks:
        return
    with path.open("rb") as stream:
        if hasattr(os, "posix_fadvise"):
            for chunk in chunks:
                if chunk.start >= 0 and chunk.size > 0:
                    os.posix_fadvise(stream.fileno(), chunk.start, chunk.size, os.POSIX_FADV_WILLNEED)
        check_pages(stream, chunks, sum(chunk.size for chunk in chunks), NO_LIMIT, f"file '{path}'")


@lru_cache(maxsize=1)
def _chunks(path: Path, size: int, _changed: int) -> tuple[Chunk, ...]:
    """Return the column chunks of a file, whose footer may take a second to read: once for all of its runs."""
    what = f"file '{path}'"
    with path.open("rb") as stream:
        return tuple(chunks_of(footer_of(stream, size, what), what))
