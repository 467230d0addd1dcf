"""Long tables in pieces: which files they are, how large, and their rows, some thousand at a time."""

from collections.abc import Generator, Iterable, Iterator, Sequence, Sized
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from drbo.data.files.files import refusing
from drbo.data.reading.parquet import n_cells
from drbo.data.reading.parquet_groups import NO_LIMIT, batches_of, runs_of, schema_of
from drbo.data.reading.text import TextFile, check_unique, text_pieces
from drbo.deadline import current
from drbo.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

P = TypeVar("P", bound=Sized)

PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat", ".data")
SQLITE, DUCKDB = (".db", ".sqlite", ".sqlite3"), (".duckdb", ".ddb")
#: A fit of a table in memory takes about so many times the memory of its numbers.
COPIES = 8


@dataclass(frozen=True)
class Reading:
    """How text is read, and which columns are used: all but ``drop``, or ``columns`` alone.

    Columns with ``levels`` hold categories, which are read as their places among these.
    """

    separator: str | None = None
    header: bool = True
    encoding: str | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    levels: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Named(NamedTuple):
    """What the name of a file says: the file, a table in it, and its format."""

    file: Path
    table: str
    suffix: str
    zipped: bool


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


def named(path: Path) -> Named:
    """Return what the name of an existing file says; an error if it cannot be read piece by piece.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "t.csv.gz").touch()
    ...     named(Path(folder) / "t.csv.gz")[1:]
    ('', '.csv', True)
    """
    word, _, table = str(path).rpartition("::") if not path.exists() else (str(path), "", "")
    file = Path(word)
    if not word or not file.is_file():
        raise DataError(f"file '{path}' does not exist", hint="check the path and the spelling")
    name = file.name.lower()
    found = Named(file, table, Path(name.removesuffix(".gz")).suffix, name.endswith(".gz"))
    if found.suffix not in (TEXT if found.zipped else (*TEXT, *SQLITE, *DUCKDB, *PARQUET)):
        raise DataError(
            f"file '{path}' cannot be read piece by piece",
            hint="use Parquet (a file or a folder), text (.csv, .tsv, .txt), an SQLite or DuckDB table, or moments "
            "(.npz)",
        )
    return found


def frames_of(path: Path, how: Reading) -> Generator["pd.DataFrame"]:
    """Yield the chosen columns of a file as they are, text among them, some thousand rows at a time."""
    found = named(path)
    readers = (
        dict.fromkeys(SQLITE, _of_sqlite) | dict.fromkeys(DUCKDB, _of_duckdb) | dict.fromkeys(PARQUET, _of_parquet)
    )
    with closing(naming_blocks(readers.get(found.suffix, _of_text)(found, how), path)) as frames:
        for frame in frames:
            is_chosen = found.suffix in PARQUET  # other columns were not read
            yield frame if is_chosen else frame[list(chosen_columns(list(frame.columns), how, path))]


def naming_blocks(pieces: Iterable[P], path: Path, start: int = 0, size: int | None = None) -> Generator[P]:
    """Yield the pieces of a file; an error while one is read says which one, so that it can be found.

    Pieces of ``size`` rows are numbered from the first row of the file; ``start`` is the first row that is read here.
    """
    place, number = start, 0
    try:
        with refusing(path, DataError):
            for piece in pieces:
                current().check()
                yield piece
                place, number = place + len(piece), number + 1
    except DataError as error:
        block = number + 1 if size is None else place // size + 1
        raise DataError(f"{error.message} (block {block}, after {place} rows)", hint=error.hint) from error


def _of_parquet(found: Named, how: Reading) -> Iterator["pd.DataFrame"]:
    names = chosen_columns(schema_of(found.file).names, how, found.file)
    for run in runs_of(found.file):
        yield from (batch.to_pandas() for batch in batches_of(found.file, names, run))


def _of_duckdb(found: Named, _how: Reading) -> Iterator["pd.DataFrame"]:
    from drbo.data.reading.duck import duckdb_pieces

    return duckdb_pieces(found.file, found.table, [])


def _of_sqlite(found: Named, _how: Reading) -> Iterator["pd.DataFrame"]:
    import pandas as pd

    from drbo.data.reading.sqlite import sqlite_pieces

    rows = sqlite_pieces(found.file, found.table, [])
    names = next(rows)
    check_unique(names, f"file '{found.file}': ")
    for some in rows:
        yield pd.DataFrame(some, columns=names).infer_objects()


def _of_text(found: Named, how: Reading) -> Iterator["pd.DataFrame"]:
    separator = how.separator or ("\t" if found.suffix in (".tsv", ".tab") else None)
    return text_pieces(TextFile(found.file, found.zipped, separator, how.header, how.encoding), NO_LIMIT)


def chosen_columns(names: Sequence[Any], how: Reading, path: Path) -> tuple[str, ...]:
    """Return the columns to use."""
    found = [str(name) for name in names]
    for option, wanted in (("columns", how.columns), ("drop", how.drop)):
        unknown = [name for name in wanted if name not in found]
        if unknown:
            raise SettingsError(f"{option}: file '{path}' has no column '{unknown[0]}'")
    return tuple(name for name in how.columns or found if name not in how.drop)


def _bytes_of_numbers(path: Path) -> float:
    """Return about how many bytes the numbers of a file take in memory."""
    if path.suffix.lower() in PARQUET and path.is_file():
        return 8.0 * n_cells(path)
    file = path if path.exists() else Path(str(path).rpartition("::")[0])
    packed = 4.0 if file.suffix.lower() == ".gz" else 1.0  # text packs to about a quarter
    return packed * file.stat().st_size if file.is_file() else 0.0
