"""Every table that can be read is a Source: its columns, and its rows in batches that fit into memory.

:mod:`drbo.data.reading.read` chooses the source of a file. A source of one's own inherits from :class:`Source`, and
says its name, its columns and its batches.
"""

import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from drbo.data.files.files import refusing
from drbo.data.files.packed import InputLimit
from drbo.data.reading.guard import releasing
from drbo.data.reading.number_text import with_columns
from drbo.deadline import current
from drbo.errors import DataError, SettingsError, name_hint

if TYPE_CHECKING:
    import pandas as pd

    from drbo.data.statistics.row_counts import RowCounts
    from drbo.data.statistics.sums import Sums

#: What was read: its name, its size and the time of its last change.
Stamp = tuple[str, int, int]
#: Bytes of a number in memory.
CELL_BYTES = 8


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a table is read, and which of its columns.

    Parameters
    ----------
    separator : one character between the cells of a text file; found in the first lines by default.
    header : False for a table without a line of names; its columns are then called x0, x1, ...
    decimal : the decimal mark of numbers in text, ``"."`` or ``","``; found in the numbers by default.
    encoding : the encoding of a text file; UTF-8, UTF-16 and cp1252 are found by default.
    sheet : name or number (from 1) of an Excel worksheet; the first one by default.
    table : the table of a database, as in ``file.db::table``; the only one by default.
    columns, drop : read these columns alone, or all but those.
    max_input : bytes that the table may take, as text and in memory. By default 4 GiB, and no more than 100 times the
        size of a packed file, or 64 MiB. What is read in batches has no limit but that of packed files.
    """

    separator: str | None = None
    header: bool = True
    decimal: Literal[".", ","] | None = None
    encoding: str | None = None
    sheet: str | None = None
    table: str = ""
    columns: Sequence[str] = ()
    drop: Sequence[str] = ()
    max_input: int | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise SettingsError(
                f"decimal must be '.' or ',', got {self.decimal!r:.80}", hint="omit it to detect the mark"
            )
        for name in ("columns", "drop"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))

    def chosen(self, names: Iterable[Any], what: str) -> list[str]:
        """Return the columns to use, in the order of the table.

        Examples
        --------
        >>> ReadOptions(drop=["b"]).chosen(["a", "b", "c"], "file 't.csv'")
        ['a', 'c']
        """
        found = [str(name) for name in names]
        for option, wanted in (("columns", self.columns), ("drop", self.drop)):
            for name in wanted:
                if name not in found:
                    raise SettingsError(f"{option}: {what} has no column '{name:.80}'", hint=name_hint(name, found))
        return [name for name in found if (not self.columns or name in self.columns) and name not in self.drop]


class Schema(NamedTuple):
    """What is known of the columns before any row is read."""

    names: tuple[str, ...]
    not_numbers: Mapping[str, str] = {}  # what these columns hold, as the file calls it


class Run(NamedTuple):
    """Rows that can be read by themselves: their first part, the one after their last part, and their number."""

    begin: int
    end: int
    n_rows: int


@runtime_checkable
class Source(Protocol):
    """A table: its columns, and its rows in batches.

    Examples
    --------
    >>> import pandas as pd
    >>> class Counter(Source):
    ...     name = "a counter"
    ...     def schema(self):
    ...         return Schema(("a", "b"))
    ...     def batches(self, run=None):
    ...         yield from (pd.DataFrame({"a": [k, k + 1], "b": [0, k]}) for k in range(3))
    >>> Counter().frame([])["a"].tolist()
    [0, 1, 1, 2, 2, 3]
    """

    @property
    def name(self) -> str:
        """What messages call it."""

    def schema(self) -> Schema:
        """Return what is known of the columns."""

    def batches(self, run: Run | None = None) -> Iterator[Any]:
        """Yield the rows, or those of a run, as pandas or polars frames or batches of pyarrow.

        The batches of a run have :func:`~drbo.data.statistics.sums.block_rows` rows, but for the last ones.
        """

    def runs(self) -> list[Run]:
        """Return the runs of rows that can be read by themselves; none: all rows are read in one go."""
        return []

    def parts(self) -> Sequence["Source"]:
        """Return the sources that this one is made of, such as the files of a folder."""
        return (self,)

    def row_counts(self) -> "RowCounts | None":
        """Return the different rows with their counts, where the kind of file has a quick way to them."""
        return None

    def has_rows(self) -> bool:
        """Tell whether there are rows; else there are moments in their place."""
        return True

    def sums(self) -> "Sums":
        """Return the moments that are there in place of rows."""
        raise DataError(f"{self.name} has rows, not moments")

    def size(self) -> float:
        """Return about how many bytes its numbers take in memory; infinite: it is always read in batches."""
        return math.inf

    def stamp(self) -> Stamp:
        """Return what changes when the rows do."""
        return self.name, 0, 0

    def frame(self, notes: list[str]) -> "pd.DataFrame":
        """Return all rows; what was assumed is added to the notes."""
        import pandas as pd

        with releasing(), closing(frames_of(self)) as frames:
            return pd.concat(list(frames) or [pd.DataFrame(columns=self.schema().names)], ignore_index=True)


@dataclass(frozen=True)
class FileSource(Source):
    """A file; a class for each kind reads it whole (``_read``) and, where that can be done, in pieces."""

    path: Path
    options: ReadOptions = ReadOptions()

    @property
    def label(self) -> str:
        """The file, and the table in it."""
        return f"{self.path}::{self.options.table}" if self.options.table else str(self.path)

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"file '{self.label}'"

    def frame(self, notes: list[str]) -> "pd.DataFrame":
        """Return all rows; what was assumed is added to the notes."""
        limit = InputLimit.of(self.options.max_input)
        with refusing(self.path, DataError):
            limit.check(self.path.stat().st_size, f"file '{self.path}'")
            frame = self._read(limit, notes)
        return self._selected(frame)

    def _read(self, limit: InputLimit, notes: list[str]) -> "pd.DataFrame":
        """Return the whole table, within the limit."""
        raise NotImplementedError

    def _pieces(self) -> Iterator["pd.DataFrame"]:
        """Yield the rows, some thousand at a time."""
        raise DataError(
            f"{self.name} cannot be read piece by piece",
            hint="use Parquet (a file or a folder), text (.csv, .tsv, .txt), an SQLite or DuckDB table, or moments "
            "(.npz), or raise max_memory",
        )

    def _selected(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        chosen = self.options.chosen(frame.columns, self.name)
        return frame if len(chosen) == frame.shape[1] else frame[chosen]

    def schema(self) -> Schema:
        """Return the names of the columns, from the first rows."""
        with closing(frames_of(self)) as frames:
            return Schema(tuple(map(str, next(frames).columns)))

    def batches(self, run: Run | None = None) -> Iterator[Any]:
        """Yield the rows, some thousand at a time; text must have numbers with a decimal point."""
        if self.options.decimal == ",":
            raise SettingsError(
                "a table that is read piece by piece must have numbers with a decimal point",
                hint="convert it first, for example to Parquet",
            )
        return map(self._selected, self._pieces())

    def size(self) -> float:
        """Return the bytes of the file, which stand for those of its numbers; text packs to about a quarter."""
        return (4.0 if self.path.suffix.lower() == ".gz" else 1.0) * self.path.stat().st_size

    def stamp(self) -> Stamp:
        """Return the name, the size and the time of the last change of the file."""
        status = self.path.stat()
        return self.label, status.st_size, status.st_mtime_ns


@dataclass(frozen=True)
class JoinedSource(Source):
    """Several sources with the same columns: the files of a folder, or the parts of several owners."""

    label: str
    sources: tuple[Source, ...]

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"file '{self.label}'"

    def schema(self) -> Schema:
        """Return what is known of the columns of the first one."""
        return self.sources[0].schema()

    def batches(self, run: Run | None = None) -> Iterator[Any]:
        """Yield the rows of all."""
        for source in self.sources:
            yield from frames_of(source)

    def parts(self) -> Sequence[Source]:
        """Return the sources."""
        return self.sources


def frames_of(source: Source) -> Generator["pd.DataFrame"]:
    """Yield the rows of a source as they are, text among them, some thousand at a time."""
    for part in source.parts():
        with closing(naming_blocks(part)) as batches:
            yield from batches


def frame_of(batch: Any) -> "pd.DataFrame":
    """Return a batch as a frame; what pandas takes for the index of a batch of pyarrow is a column like any other."""
    frame: pd.DataFrame = batch.to_pandas() if hasattr(batch, "to_pandas") else batch
    lost = [name for name in batch.schema.names if name not in frame.columns] if hasattr(batch, "num_rows") else []
    if not lost:
        return frame
    frame = with_columns(frame.reset_index(drop=True), {name: batch.column(name).to_pandas() for name in lost})
    return frame[list(batch.schema.names)]


def naming_blocks(
    source: Source, run: Run | None = None, start: int = 0, size: int | None = None
) -> Generator["pd.DataFrame"]:
    """Yield the batches of a source as frames; an error while one is read says which one, so that it can be found.

    Batches of ``size`` rows are numbered from the first row of the file; ``start`` is the first row that is read here.
    """
    place, number, batches = start, 0, source.batches(run)
    try:
        with refusing(getattr(source, "path", source.name), DataError):
            for batch in batches:
                current().check()
                yield frame_of(batch)
                place, number = place + len(batch), number + 1
    except DataError as error:
        block = number + 1 if size is None else place // size + 1
        raise DataError(f"{error.message} (block {block}, after {place} rows)", hint=error.hint) from error
