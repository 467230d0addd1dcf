"""Tables that are not held in memory: their files are read once, piece by piece, and only moments are kept."""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from drbo.data.columns import LARGEST, is_number_text
from drbo.data.files import refusing
from drbo.data.moments_file import Stamp, is_moments_file, load_moments
from drbo.data.packed import MAX_RATIO, InputLimit
from drbo.data.parquet import checked_schema, refusing_parquet
from drbo.data.table_moments import KeptRows, TableMoments, block_rows, summed
from drbo.data.text import check_unique, text_pieces
from drbo.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat", ".data")
DATABASES = (".db", ".sqlite", ".sqlite3")
#: A fit of a table in memory takes about so many times the memory of its numbers.
COPIES = 8
#: Bytes of a stream: as many as there are, but what is packed unpacks to no more than a multiple of it.
NO_LIMIT = InputLimit(2**62, MAX_RATIO)


@dataclass(frozen=True)
class Reading:
    """How text is read, and which columns are used: all but ``drop``, or ``columns`` alone."""

    separator: str | None = None
    header: bool = True
    encoding: str | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class Progress(NamedTuple):
    """Where a pass over files is."""

    file: Path
    done: int  # files that are summed up
    files: int


def is_too_large(path: Path, max_memory: float) -> bool:
    """Tell whether a fit of a file in memory would take more than ``max_memory`` GiB, judged by its size.

    Numbers of a Parquet file are counted by its footer; the bytes of other files stand for their numbers.
    """
    return COPIES * _bytes_of_numbers(path) > max_memory * 2**30


def files_of(path: Path) -> list[Path]:
    """Return the files of a table: one, or the Parquet files of a folder in the order of their names."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in PARQUET and not file.name.startswith("."))
    if not found:
        raise DataError(f"the folder '{path}' has no Parquet files", hint="give a folder of .parquet files, or a file")
    return found


def streamed(
    paths: Sequence[Path],
    how: Reading | None = None,
    *,
    keep_rows: bool = False,
    seed: int = 0,
    begun: tuple[TableMoments, Sequence[Stamp]] | None = None,
    tell: Callable[[TableMoments, list[Stamp], Progress], None] = lambda *_: None,
) -> TableMoments:
    """Return the moments of the rows of all files, each read once.

    Parameters
    ----------
    paths : files of one table, in the order in which they are added; files of moments may be among them.
    keep_rows : keep the first rows and a random sample, drawn with the ``seed``: for checks of residuals.
    begun : moments of the first files, and these files, where an earlier pass ended.
    tell : called after every file with what is known by then.
    """
    how = how or Reading()
    total, stamps = (None, list[Stamp]()) if begun is None else (begun[0], list(begun[1]))
    kept: KeptRows | None = None
    for number, path in enumerate(paths):
        if number < len(stamps):
            continue
        if is_moments_file(path):
            part = load_moments(path)
        else:
            names, pieces = _opened(path, how)
            if total is not None:
                names = _same_columns(total.names, names, path, paths[0])
            kept = KeptRows(len(names), seed) if keep_rows and kept is None else kept
            with closing(pieces(names)) as rows:
                part = summed(names, rows, kept=kept)
        total = part if total is None else total.joined(part)
        stamps.append(stamp_of(path))
        tell(total, stamps, Progress(path, number + 1, len(paths)))
    assert total is not None
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


def _opened(path: Path, how: Reading) -> tuple[tuple[str, ...], Callable[[Sequence[str]], Generator[Floats]]]:
    """Return the columns of a file, and a function that reads them in a given order."""
    file, _, table = str(path).rpartition("::") if not path.exists() else (str(path), "", "")
    name = Path(file).name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if not file or not Path(file).is_file():
        raise DataError(f"file '{path}' does not exist", hint="check the path and the spelling")
    if suffix in TEXT:
        separator = how.separator or ("\t" if suffix in (".tsv", ".tab") else None)
        given: dict[str, Any] = {"header": how.header, "zipped": name.endswith(".gz"), "encoding": how.encoding}
        pieces = _refusing(path, text_pieces(path, separator=separator, limit=NO_LIMIT, **given))
        first = next(pieces)
        return _chosen(list(first.columns), how, path), lambda names: _of_frames(path, names, first, pieces)
    if suffix in DATABASES:
        from drbo.data.sqlite import sqlite_pieces

        rows = sqlite_pieces(Path(file), table, [])
        found = next(rows)
        check_unique(found, f"file '{path}': ")
        return _chosen(found, how, path), lambda names: _of_rows(path, names, found, rows)
    if suffix in PARQUET:
        with refusing_parquet(path) as (pyarrow, parquet):
            schema = checked_schema(pyarrow, parquet, path, NO_LIMIT)
        check_unique(schema.names, f"file '{path}': ")
        chosen = _chosen(schema.names, how, path)
        _check_kinds(pyarrow, schema, chosen, path)
        return chosen, lambda names: _ahead(_of_parquet(path, names))
    raise DataError(
        f"file '{path}' cannot be read piece by piece",
        hint="use Parquet (a file or a folder), text (.csv, .tsv, .txt), an SQLite table, or moments (.npz)",
    )


def _chosen(names: Sequence[Any], how: Reading, path: Path) -> tuple[str, ...]:
    """Return the columns to use."""
    found = [str(name) for name in names]
    for option, wanted in (("columns", how.columns), ("drop", how.drop)):
        unknown = [name for name in wanted if name not in found]
        if unknown:
            raise SettingsError(f"{option}: file '{path}' has no column '{unknown[0]}'")
    return tuple(name for name in how.columns or found if name not in how.drop)


def _refusing(path: Path, frames: Iterator["pd.DataFrame"]) -> Iterator["pd.DataFrame"]:
    with refusing(path, DataError):
        yield from frames


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


def _of_rows(path: Path, names: Sequence[str], found: Sequence[str], rest: Iterator[list[Any]]) -> Generator[Floats]:
    import pandas as pd

    def frames() -> Iterator[pd.DataFrame]:
        for rows in rest:
            yield pd.DataFrame(rows, columns=list(found)).infer_objects()

    pieces = frames()
    first = next(pieces, None)
    if first is not None:
        yield from _of_frames(path, names, first, pieces)


def _of_parquet(path: Path, names: Sequence[str]) -> Iterator[Floats]:
    with refusing_parquet(path) as (pyarrow, parquet):
        file, place = parquet.ParquetFile(path), 0
        for number, batch in enumerate(file.iter_batches(batch_size=block_rows(len(names)), columns=list(names)), 1):
            values = np.empty((batch.num_rows, len(names)), order="F")
            for j, name in enumerate(names):
                values[:, j] = batch.column(name).to_numpy(zero_copy_only=False)
            yield _finite(values, names, f"file '{path}', block {number} (rows {place} to {place + len(values) - 1})")
            place += len(values)
        pyarrow.default_memory_pool().release_unused()


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
        hint=f"correct the cell, or leave the column out with --drop {name}",
    )


def _check_kinds(pyarrow: Any, schema: Any, names: Sequence[str], path: Path) -> None:
    kinds = pyarrow.types
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


def _bytes_of_numbers(path: Path) -> float:
    """Return about how many bytes the numbers of a file take in memory."""
    if path.suffix.lower() in PARQUET and path.is_file():
        with refusing_parquet(path) as (_, parquet):
            about = parquet.ParquetFile(path).metadata
            return float(8 * about.num_rows * about.num_columns)
    file = path if path.exists() else Path(str(path).rpartition("::")[0])
    packed = 4.0 if file.suffix.lower() == ".gz" else 1.0  # text packs to about a quarter
    return packed * file.stat().st_size if file.is_file() else 0.0
