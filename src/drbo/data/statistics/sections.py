"""Sections of sources: each is read and summed up by itself, wherever that is, and the sums are then joined in order.

A section of a Parquet file is a run of its row groups; any other file is one section. Sections depend on the files
alone, and so do all sums: not on who reads a section, nor on how many read at the same time.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drbo.arrays import Floats, Indices
from drbo.data.checks.columns import LARGEST, is_number_text
from drbo.data.reading.source import Run, Source, naming_blocks
from drbo.data.statistics.coded import codes_of
from drbo.data.statistics.kept_rows import Kept, KeptRows
from drbo.data.statistics.pattern_moments import PatternSums
from drbo.data.statistics.resamples import ResampledSums
from drbo.data.statistics.sums import Bases, Sums, block_rows, summed
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Section:
    """Some rows of a source."""

    source: Source
    start: int = 0  # its first row
    n_before: int = 0  # rows of the table before it, at least
    run: Run | None = None  # None: all rows of the source


class Part(NamedTuple):
    """What is known of a section once it is read."""

    sums: Sums
    kept: Kept | None
    patterns: PatternSums | None


@dataclass(frozen=True)
class SectionSums:
    """Sums up sections: called with a section and a bound on the keys of rows that may be in the sample."""

    names: tuple[str, ...]
    first: str  # the name of the source that they are from
    levels: Mapping[
        str, Sequence[str]
    ]  # of the columns that hold categories, which are read as their places among these
    keep_rows: bool
    keep_patterns: bool
    seed: int
    resamples: int
    bases: Bases | None = None

    def __call__(self, section: Section, threshold: float) -> Part:
        """Return the sums of a section, and the rows that are kept."""
        if not section.source.has_rows():
            return Part(section.source.sums(), None, None)
        names = self.names if self.bases is None else names_of_bases(self.names, self.bases.widths)
        d = len(names)
        kept = KeptRows(d, self.seed, threshold=threshold, n_before=section.n_before) if self.keep_rows else None
        patterns = PatternSums(self.names, self.resamples, self.seed) if self.keep_patterns else None
        resampled = ResampledSums(d, self.resamples, self.seed) if self.resamples else None
        with closing(self._numbers(section)) as rows:
            summands = rows if self.bases is None else _functions(rows, self.bases)
            sums = summed(
                names, summands, place=section.start, resampled=resampled,
                incomplete=None if patterns is None else patterns.see, **({} if kept is None else {"see": kept.see}),
            )  # fmt: skip
        return Part(sums, None if kept is None else kept.kept(), patterns)

    def _numbers(self, section: Section) -> Generator[Floats]:
        """Yield the numbers of batches; an error names the batch."""
        place, size = section.start, None if section.run is None else block_rows(len(self.names))
        with closing(naming_blocks(section.source, section.run, place, size)) as batches:
            for number, batch in enumerate(batches, 1):
                if section.run is None and number == 1:
                    check_same_columns(self.names, list(batch.columns), section.source.name, self.first)
                block = number if size is None else place // size + 1
                where = f"{section.source.name}, block {block} (rows {place} to {place + len(batch) - 1})"
                if len(batch):
                    yield _finite(_values(batch, self.names, self.levels, where), self.names, where)
                place += len(batch)


def names_of_bases(names: Sequence[str], widths: Indices) -> tuple[str, ...]:
    """Return names for the functions of columns.

    Examples
    --------
    >>> names_of_bases(["a", "b"], np.array([2, 1]))
    ('a~0', 'a~1', 'b~0')
    """
    return tuple(f"{name}~{k}" for name, width in zip(names, widths, strict=True) for k in range(width))


def sections_of(
    source: Source, names: Sequence[str], first: str, levels: Mapping[str, Sequence[str]], n_before: int
) -> list[Section]:
    """Return the sections of a source; one with runs is looked at before any of its rows is read."""
    if not (runs := source.runs()):
        return [Section(source, n_before=n_before)]
    schema = source.schema()
    check_same_columns(names, schema.names, source.name, first)
    for name, kind in schema.not_numbers.items():
        if name not in levels:
            raise _no_number(name, source.name, kind)
    found, start = list[Section](), 0
    for run in runs:
        found.append(Section(source, start, n_before + start, run))
        start += run.n_rows
    return found


def check_same_columns(wanted: Sequence[str], found: Sequence[str], what: str, first: str) -> None:
    """Refuse a source that has other columns than the first one."""
    for names, others, has, lacks in ((wanted, found, first, what), (found, wanted, what, first)):
        more = [name for name in names if name not in others]
        if more:
            raise DataError(
                f"{lacks} has no column '{more[0]}', but {has} has it",
                hint="give all files the same columns, or leave the column out with --drop",
            )


def _functions(pieces: Iterable[Floats], bases: Bases) -> Iterator[Floats]:
    """Yield the functions of rows, of so many at a time as a block of these has."""
    size = block_rows(int(bases.widths.sum()))
    for piece in pieces:
        yield from (bases(piece[start : start + size]) for start in range(0, len(piece), size))


def _values(batch: "pd.DataFrame", names: Sequence[str], levels: Mapping[str, Sequence[str]], where: str) -> Floats:
    """Return the numbers of a batch, with categories as their places among the levels."""
    values = np.empty((len(batch), len(names)), order="F")
    for j, name in enumerate(names):
        column = batch[name]
        values[:, j] = codes_of(column, levels[name], where) if name in levels else _numbers(column, where)
    return values


def _numbers(column: "pd.Series[Any]", where: str) -> Any:
    """Return the numbers of a column of one block; NaN where a cell is missing."""
    import pandas as pd

    kinds = pd.api.types
    if kinds.is_numeric_dtype(column) and not kinds.is_bool_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    for cell in column[column.notna()].tolist():
        is_text = isinstance(cell, str) and (not cell.strip() or is_number_text(cell))
        if isinstance(cell, bool) or not (is_text or isinstance(cell, int | float)):
            raise _no_number(column.name, where, repr(cell)[:60])
    return pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)


def _no_number(name: Any, where: str, what: str) -> DataError:
    return DataError(
        f"{where}: column '{name}' contains {what}, but only numbers can be summed up",
        hint=f"correct the cell, leave the column out with --drop {name}, or raise max_memory so that 'drbo fit' reads "
        "all rows into memory",
    )


def _finite(values: Floats, names: Sequence[str], where: str) -> Floats:
    """Refuse numbers whose squares are not finite."""
    high, low = np.fmax.reduce(values, axis=0), np.fmin.reduce(values, axis=0)
    wrong = np.flatnonzero(np.fmax(high, -low) > LARGEST)
    if len(wrong):
        name, value = names[int(wrong[0])], float(np.fmax(high, -low)[wrong[0]])
        raise DataError(
            f"{where}: column '{name}' contains a number of size {value:g}, but absolute values must be below "
            f"{LARGEST:g}",
            hint="replace it, or rescale the column",
        )
    return values
