"""Different rows of long Parquet tables of categories, counted by DuckDB's GROUP BY where that is installed."""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drbo.data.reading.duck import CONFIG, load_duckdb
from drbo.data.reading.parquet_groups import batches_of, runs_of, schema_of
from drbo.data.reading.pieces import PARQUET, Reading, chosen_columns, frames_of
from drbo.data.statistics.row_counts import RowCounts, counted, joined_counts
from drbo.deadline import current

if TYPE_CHECKING:
    import pandas as pd


def counts_of(files: Sequence[Path], how: Reading, where: Path) -> RowCounts:
    """Return the different rows of all files, with their counts: the same with and without DuckDB.

    What goes wrong in DuckDB is done again by :func:`~drbo.data.statistics.row_counts.counted`, whose errors name file
    and block.
    """
    if all(file.suffix.lower() in PARQUET for file in files) and (duckdb := load_duckdb()) is not None:
        with suppress(duckdb.Error):
            return joined_counts([_grouped(duckdb, file, how) for file in files], where)
    with closing(frame for file in files for frame in frames_of(file, how)) as frames:
        return counted(frames, where)


def _grouped(duckdb: Any, file: Path, how: Reading) -> RowCounts:
    """Return the different rows of a Parquet file, which is read as always: DuckDB itself opens no file."""
    pyarrow: Any = import_module("pyarrow")
    schema = schema_of(file)
    names = chosen_columns(schema.names, how, file)
    numbered = [f"c{j}" for j in range(len(names))]  # names may differ in case only, which DuckDB does not see

    def batches() -> Iterator[Any]:
        for run in runs_of(file):
            for batch in batches_of(file, names, run):
                yield batch.select(list(names)).rename_columns(numbered)

    fields = pyarrow.schema([schema.field(name).with_name(new) for name, new in zip(names, numbered, strict=True)])
    with closing(duckdb.connect(config={name: CONFIG[name] for name in CONFIG if name != "access_mode"})) as database:
        database.register("rows", pyarrow.RecordBatchReader.from_batches(fields, batches()))
        found: pd.DataFrame = database.execute("SELECT *, count(*) FROM rows GROUP BY ALL").df()
    current().check()
    return RowCounts(found.iloc[:, :-1].set_axis(list(names), axis=1), found.iloc[:, -1].to_numpy())
