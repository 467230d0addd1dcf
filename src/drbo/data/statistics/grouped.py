"""Different rows of long Parquet tables of categories, counted by DuckDB's GROUP BY where that is installed."""

from collections.abc import Iterator
from contextlib import closing, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from drbo.data.reading.duck import CONFIG, load_duckdb
from drbo.data.reading.parquet_groups import ParquetSource, schema_of
from drbo.data.reading.source import Source, frames_of
from drbo.data.statistics.row_counts import RowCounts, counted, joined_counts
from drbo.deadline import current

if TYPE_CHECKING:
    import pandas as pd


def counts_of(source: Source) -> RowCounts:
    """Return the different rows of a source, with their counts: the same with and without DuckDB.

    What goes wrong in DuckDB is done again by :func:`~drbo.data.statistics.row_counts.counted`, whose errors name file
    and block.
    """
    files = [part for part in source.parts() if isinstance(part, ParquetSource)]
    if len(files) == len(source.parts()) and (duckdb := load_duckdb()) is not None:
        with suppress(duckdb.Error):
            return joined_counts([_grouped(duckdb, file) for file in files], source.name)
    with closing(frames_of(source)) as frames:
        return counted(frames, source.name)


def _grouped(duckdb: Any, file: ParquetSource) -> RowCounts:
    """Return the different rows of a Parquet file, which is read as always: DuckDB itself opens no file."""
    pyarrow: Any = import_module("pyarrow")
    schema, names = schema_of(file.path), file.schema().names
    numbered = [f"c{j}" for j in range(len(names))]  # names may differ in case only, which DuckDB does not see

    def batches() -> Iterator[Any]:
        for batch in file.batches():
            yield batch.select(list(names)).rename_columns(numbered)

    fields = pyarrow.schema([schema.field(name).with_name(new) for name, new in zip(names, numbered, strict=True)])
    with closing(duckdb.connect(config={name: CONFIG[name] for name in CONFIG if name != "access_mode"})) as database:
        database.register("rows", pyarrow.RecordBatchReader.from_batches(fields, batches()))
        found: pd.DataFrame = database.execute("SELECT *, count(*) FROM rows GROUP BY ALL").df()
    current().check()
    return RowCounts(found.iloc[:, :-1].set_axis(list(names), axis=1), found.iloc[:, -1].to_numpy())
