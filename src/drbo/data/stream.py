"""Moments of files that are not held in memory: each is read once, piece by piece."""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from drbo.data.columns import LARGEST, is_number_text
from drbo.data.moments_file import Stamp, is_moments_file, load_moments
from drbo.data.pattern_moments import PatternSums
from drbo.data.pieces import PARQUET, Reading, batches_of, chosen_columns, frames_of, named, schema_of
from drbo.data.table_moments import KeptRows, TableMoments, summed
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]


class Progress(NamedTuple):
    """Where a pass over files is."""

    file: Path
    done: int  # files that are summed up
    files: int


def streamed(
    paths: Sequence[Path],
    how: Reading | None = None,
    *,
    keep_rows: bool = False,
    keep_patterns: bool = False,
    seed: int = 0,
    begun: tuple[TableMoments, Sequence[Stamp]] | None = None,
    tell: Callable[[TableMoments, list[Stamp], Progress], None] = lambda *_: None,
) -> TableMoments:
    """Return the moments of the rows of all files, each read once.

    Parameters
    ----------
    paths : files of one table, in the order in which they are added; files of moments may be among them.
    keep_rows : keep the first rows and a random sample, drawn with the ``seed``: for checks of residuals.
    keep_patterns : sum up incomplete rows too, those with the same missing cells together: for EM.
    begun : moments of the first files, and these files, where an earlier pass ended.
    tell : called after every file with what is known by then.
    """
    how = how or Reading()
    total, stamps = (None, list[Stamp]()) if begun is None else (begun[0], list(begun[1]))
    kept: KeptRows | None = None
    patterns: PatternSums | None = None
    for number, path in enumerate(paths):
        if number < len(stamps):
            continue
        if is_moments_file(path):
            part = load_moments(path)
        else:
            with _opened(path, how) as (names, pieces):
                if total is not None:
                    names = _same_columns(total.names, names, path, paths[0])
                kept = KeptRows(len(names), seed) if keep_rows and kept is None else kept
                patterns = PatternSums(names) if keep_patterns and patterns is None else patterns
                with closing(pieces(names)) as rows:
                    part = summed(names, rows, kept=kept, incomplete=None if patterns is None else patterns.see)
        total = part if total is None else total.joined(part)
        stamps.append(stamp_of(path))
        tell(total, stamps, Progress(path, number + 1, len(paths)))
    assert total is not None
    total = total if patterns is None else replace(total, patterns=patterns.parts())
    if kept is None or not total.n:
        return total
    sample, first = kept.rows()
    return replace(total, sample=sample, first=first)


def stamp_of(path: Path) -> Stamp:
    """Return the name, the size and the time of the last change of a file."""
    file = path if path.exists() else Path(str(path).rpartition("::")[0])
    status = file.stat()
    return str(path), status.st_size, status.st_mtime_ns


def _same_columns(wanted: Sequence[str], found: Sequence[str], path: Path, first: Path) -> tuple[str, ...]:
    """Return the columns in the order of the first file, or refuse a file that has others."""
    for names, others, has, lacks in ((wanted, found, first, path), (found, wanted, path, first)):
        more = [name for name in names if name not in others]
        if more:
            raise DataError(
                f"file '{lacks}' has no column '{more[0]}', but file '{has}' has it",
                hint="give all files the same columns, or leave the column out with --drop",
            )
    return tuple(wanted)


@contextmanager
def _opened(path: Path, how: Reading) -> Iterator[tuple[tuple[str, ...], Callable[[Sequence[str]], Generator[Floats]]]]:
    """Give the columns of a file, and a function that reads them in a given order.

    The file is closed at the end, whatever happens: no other thread may close a database when it collects garbage.
    """
    if named(path).suffix in PARQUET:
        schema = schema_of(path)
        chosen = chosen_columns(schema.names, how, path)
        _check_kinds(schema, chosen, path)
        yield chosen, lambda names: _ahead(_of_parquet(path, names))
        return
    with closing(frames_of(path, how)) as pieces:
        first = next(pieces)
        yield tuple(first.columns), lambda names: _of_frames(path, names, first, pieces)


def _of_frames(
    path: Path, names: Sequence[str], first: "pd.DataFrame", rest: Iterator["pd.DataFrame"]
) -> Generator[Floats]:
    place, number = 0, 0
    frame: pd.DataFrame | None = first
    while frame is not None:
        number += 1
        values = np.empty((len(frame), len(names)), order="F")
        where = f"file '{path}', block {number} (rows {place} to {place + len(frame) - 1})"
        for j, name in enumerate(names):
            values[:, j] = _numbers(frame[name], where)
        yield _finite(values, names, where)
        place += len(frame)
        frame = next(rest, None)


def _of_parquet(path: Path, names: Sequence[str]) -> Iterator[Floats]:
    place = 0
    for number, batch in enumerate(batches_of(path, Reading(columns=tuple(names))), 1):
        values = np.empty((batch.num_rows, len(names)), order="F")
        for j, name in enumerate(names):
            values[:, j] = batch.column(name).to_numpy(zero_copy_only=False)
        yield _finite(values, names, f"file '{path}', block {number} (rows {place} to {place + len(values) - 1})")
        place += len(values)


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


def _check_kinds(schema: Any, names: Sequence[str], path: Path) -> None:
    kinds = import_module("pyarrow.types")
    for name in names:
        kind = schema.field(name).type
        if not (kinds.is_integer(kind) or kinds.is_floating(kind)):
            raise _no_number(name, f"file '{path}'", f"{kind!s:.80}")


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


def _ahead(pieces: Iterator[Floats]) -> Generator[Floats]:
    """Yield pieces, of which the next one is read while the last one is used."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, pieces, None)
        while (piece := waiting.result()) is not None:
            waiting = pool.submit(next, pieces, None)
            yield piece
