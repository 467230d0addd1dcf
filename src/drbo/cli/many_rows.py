"""Tables whose rows are not held in memory: streams of large files, and moments that others share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from drbo.cli.messages import say
from drbo.cli.table_options import SEPARATOR_WORDS, read_frame
from drbo.deadline import OutOfTimeError, current
from drbo.errors import SettingsError, TimeLimitError
from drbo.progress import under_way

if TYPE_CHECKING:
    import pandas as pd

    from drbo.data.reading.pieces import Reading
    from drbo.data.statistics.sections import Bases
    from drbo.data.statistics.stream import Spread
    from drbo.data.statistics.table_moments import TableMoments

F = TypeVar("F", bound=Callable[..., Any])

#: Options of a fit that need rows.
NEEDS_ROWS = ("weights", "clusters", "groups", "experiment", "targets", "types", "sheet")


def rows_options(command: F) -> F:
    """Add the options for many rows."""
    command = click.option(
        "--min-strength",
        type=float,
        metavar="S",
        help="Leave out edges that explain less than this share of what the other causes leave unexplained.  "
        "[default: 0.001 for linear scores with more than 100,000 rows]",
    )(command)
    return stream_option(command)


def stream_option(command: F) -> F:
    """Add --stream."""
    return click.option(
        "--stream",
        is_flag=True,
        help="Read the table piece by piece and keep only moments and a sample of its rows.  [default: if a fit in "
        "memory would take more than max_memory]",
    )(command)


def rows_or_sample(path: Path, options: Mapping[str, Any]) -> tuple["pd.DataFrame", int]:
    """Return the rows of a table, or a random sample of one that a fit would read piece by piece; and their number."""
    from drbo.data.reading.pieces import files_of, frames_of, is_too_large
    from drbo.data.reading.sampled import sampled
    from drbo.settings import Settings

    large = path.is_dir() or (str(path) != "-" and is_too_large(path, Settings().max_memory))
    if not (options["stream"] or large):
        frame = read_frame(path, options)
        return frame, len(frame)
    with under_way(f"reading {path}", tell=say):
        how = reading(options)
        with closing(frame for file in files_of(path) for frame in frames_of(file, how)) as frames:
            return sampled(frames)


@contextmanager
def in_time(hint: str) -> Iterator[None]:
    """Say so where the time is over before a table is read to its end."""
    try:
        yield
    except OutOfTimeError as error:
        if current().interrupted:
            raise
        raise TimeLimitError(f"{error}: the table was not read to its end", hint=hint) from error


class Unread(NamedTuple):
    """What is kept of files that are not read into memory, and the arguments of a bootstrap, if there is to be one."""

    table: Any  # moments, or the different rows of categories
    weights: Any = None  # how often each of these rows occurred
    resampling: dict[str, Any] | None = None


def rows_unread(
    paths: Sequence[Path], options: Mapping[str, Any], max_memory: float, spread: "Spread | None", *, quiet: bool
) -> Unread | None:
    """Return what is kept of files that are not read into memory; None: there is one, and it is.

    ``spread`` sums up several parts of the files at a time; None: one after the other.
    """
    from drbo.data.reading.pieces import frames_of, is_too_large
    from drbo.data.statistics.coded import levels_of
    from drbo.data.statistics.grouped import counts_of
    from drbo.data.statistics.moments_file import is_moments_file
    from drbo.data.statistics.row_counts import is_discrete

    shared = [is_moments_file(path) for path in paths]
    large = len(paths) == 1 and not shared[0] and str(paths[0]) != "-" and is_too_large(paths[0], max_memory)
    if len(paths) == 1 and not (shared[0] or options["stream"] or large or paths[0].is_dir()):
        return None
    _check_options(options)
    check_different(paths)
    files, how = files_for(paths, options), reading(options)
    why = ": a fit in memory would take more than max_memory" if large and not options["stream"] else ""
    first = None if any(shared) else next(frames_of(files[0], how), None)
    if first is not None and is_discrete(first):
        found = counts_of(files, how, paths[0])
        if not quiet:
            size = f"{found.counts.sum():,} rows, {found.rows.shape[1]} columns"
            say(f"{paths[0]}: {size}, read piece by piece{why}; {len(found.counts):,} different rows were counted")
        return Unread(found.rows, found.counts, _resampling(options, "counted"))
    if not any(shared) and first is not None:
        how = replace(how, levels=levels_of(files, how, first))
    totals = _totals(files, how, options, whole=not any(shared), spread=spread)
    if not quiet:
        drawn = f"{len(totals.sample):,} of them, drawn at random," if len(totals.sample) < totals.n else "all of them"
        kept = f"; {drawn} were kept" if totals.sample.size else ""
        many = f"{len(files)} files" if len(files) > 1 else f"{files[0]}"
        times = "" if totals.bases is None else " three times" if how.levels else " twice"
        read = "moments" if all(shared) else f"read piece by piece{times}{why}"
        say(f"{many}: {totals.n + totals.dropped:,} rows, {len(totals.names)} columns, {read}{kept}")
    return Unread(totals, resampling=_resampling(options, "bootstrap"))


def _totals(
    files: Sequence[Path], how: "Reading", options: Mapping[str, Any], *, whole: bool, spread: "Spread | None"
) -> "TableMoments":
    """Return the moments of files, with a sample of the rows if all of them are seen here."""
    from drbo.data.statistics.stream import in_turn, streamed

    passed = partial(
        streamed, files, how, seed=options["seed"], resamples=options["bootstrap"] or 0, spread=spread or in_turn
    )
    totals = passed(keep_rows=whole, keep_patterns=whole and options["missing"] == "em")
    if how.levels:
        totals = replace(totals, levels=tuple(dict(how.levels).get(name) for name in totals.names))
    if (bases := None if totals.all_kept or not whole else _bases(totals, options["score"])) is not None:
        totals = totals.with_bases(passed(bases=bases), bases.widths)
    if options["bootstrap"] is not None and not totals.all_kept:
        from drbo.claims.refits.resampling import Resampling

        drawn = 0 if totals.resamples is None else len(totals.resamples)
        Resampling(options["bootstrap"], drawn=drawn).check(totals.n)  # before the search, not after it
    return totals


def _bases(totals: "TableMoments", score: str) -> "Bases | None":
    """Return functions of the columns that a score needs the sums of; None: it needs none."""
    if totals.levels:
        from drbo.data.statistics.coded import Indicators

        return Indicators(totals.levels)
    if score != "splines":
        return None
    from drbo.scores.curves import Curves

    return Curves.of_sample(totals.sample)


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that need rows."""
    for name in NEEDS_ROWS:
        if options.get(name):
            raise SettingsError(
                f"--{name} needs all rows in memory, but only sums over these rows are kept",
                hint="omit it, or use a sample of the rows as one table",
            )
    if options["bootstrap"] is not None and options["resampling"] != "bootstrap":
        raise SettingsError(
            f"--resampling {options['resampling']} needs all rows in memory, but only sums over these rows are kept",
            hint="use --resampling bootstrap",
        )


def _resampling(options: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    """Return the arguments of the bootstrap, if there is to be one."""
    return None if options["bootstrap"] is None else {"n": options["bootstrap"], "kind": kind}


def files_for(paths: Sequence[Path], options: Mapping[str, Any]) -> list[Path]:
    """Return the files of a table by names that are the same for all who read them."""
    from drbo.data.reading.pieces import files_of

    files = [file for path in paths for file in files_of(path)]
    return files if options["dask"] is None else [file.absolute() for file in files]


def reading(options: Mapping[str, Any]) -> "Reading":
    """Return how streams are read by the options of a command."""
    from drbo.data.checks.types import listed
    from drbo.data.reading.pieces import Reading

    if options["decimal"] not in (None, ".", "point", "dot"):
        raise SettingsError(
            "a table that is read piece by piece must have numbers with a decimal point",
            hint="convert it first, for example to Parquet",
        )
    return Reading(
        separator=SEPARATOR_WORDS.get(options["separator"] or "", options["separator"]),
        header=not options["no_header"],
        encoding=options["encoding"],
        columns=tuple(listed(options["columns"] or "")),
        drop=tuple(listed(options["drop"] or "")),
    )


def check_different(paths: Sequence[Path]) -> None:
    """Refuse the same file twice: its rows would count twice."""
    from drbo.data.files.files import file_digest

    seen: dict[str, Path] = {}
    for path in paths:
        key = file_digest(path) if path.suffix.lower() == ".npz" and path.is_file() else str(path.resolve())
        if key in seen:
            raise SettingsError(
                f"'{path}' has the same content as '{seen[key]}', so its rows would count twice",
                hint="give every part once",
            )
        seen[key] = path
