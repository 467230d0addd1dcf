"""Different rows of long Parquet tables of categories, counted by DuckDB's GROUP BY where that is installed."""

from contextlib import closing, suppress
from importlib.util import find_spec

import numpy as np

from drbo.data.reading.guard import pieces_guarded, releasing
from drbo.data.reading.parquet_groups import ParquetSource
from drbo.data.reading.source import Source, frames_of
from drbo.data.statistics.row_counts import RowCounts, counted, joined_counts
from drbo.deadline import current
from drbo.errors import DataError


@releasing()
def counts_of(source: Source) -> RowCounts:
    """Return the different rows of a source, with their counts: the same with and without DuckDB.

    What goes wrong in DuckDB is done again by :func:`~drbo.data.statistics.row_counts.counted`, whose errors name file
    and block.
    """
    files = [part for part in source.parts() if isinstance(part, ParquetSource)]
    if len(files) == len(source.parts()) and find_spec("duckdb") is not None:
        with suppress(DataError):
            return joined_counts([_grouped(file) for file in files], source.name)
    with closing(frames_of(source)) as frames:
        return counted(frames, source.name)


def _grouped(file: ParquetSource) -> RowCounts:
    """Return the different rows of a Parquet file."""
    import pandas as pd

    names = file.schema().names
    (columns,) = pieces_guarded("parquet counts", file.path, names=names)
    current().check()
    *cells, counts = columns.values()
    return RowCounts(pd.DataFrame(dict(zip(names, cells, strict=True)), copy=False), np.asarray(counts))
