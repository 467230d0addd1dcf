"""``drbo moments``: sums up a table, so that rows need not be shared or kept in memory."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.executors import executor_for, worker_options
from drbo.cli.interrupts import limited_run
from drbo.cli.many_rows import opened
from drbo.cli.messages import say
from drbo.cli.options import COUNT, FILE, duration, quiet_option
from drbo.cli.output import writing
from drbo.cli.table_options import stream_file_options
from drbo.errors import DrboError, SettingsError

if TYPE_CHECKING:
    from drbo.data.reading.source import Source
    from drbo.data.statistics.moments_file import Begun

#: Added to the name of the output while some files are still to be read.
PARTIAL = ".partial"
#: Seconds between two times that the sums so far are saved.
KEPT_SECONDS = 10.0


@click.command(short_help="Sum up a table for a fit without its rows.")
@click.argument("data", type=FILE, nargs=-1, required=True, metavar="DATA")
@click.option("-o", "--output", type=FILE, required=True, metavar="FILE", help="Write to this .npz file.")
@click.option(
    "--resamples",
    type=COUNT,
    metavar="K",
    help="Also sum up K resamples of the rows, for 'drbo fit --bootstrap K'; the file becomes K times as large.",
)
@click.option("--time-limit", type=duration, metavar="TIME", help="Stop after this time, such as 60s, 5m or 1h.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="S", help="Random seed.")
@worker_options
@stream_file_options
@quiet_option
def moments(
    data: tuple[Path, ...],
    output: Path,
    resamples: int | None,
    time_limit: float | None,
    seed: int,
    quiet: bool,
    **options: Any,
) -> None:
    """Write the moments of the table in DATA: counts, means, ranges, and products of every two columns.

    DATA is a Parquet file or a folder of them, a text file (.csv, .tsv, .txt), a table of an SQLite or DuckDB database
    (file.db::table), or moments, which are added up. Files are read once, in blocks, whatever their size. Moments
    from several data owners can be fitted together, so that no row leaves its owner (docs/big-tables.md says what
    moments reveal). Rows with a missing value are only counted. If the command fails, is interrupted or reaches its
    time limit, what it has summed up is kept, and the same command continues there.

    \b
    Examples:
      drbo moments clinic.parquet -o clinic.npz
      drbo moments folder/ --drop id -o all.npz
      drbo moments clinic.parquet --resamples 100 -o clinic.npz
      drbo fit clinic.npz hospital.npz practice.npz
    """
    from drbo.data.statistics.moments_file import save_moments
    from drbo.data.statistics.stream import streamed
    from drbo.gathering import spread_over

    if output.suffix.lower() != ".npz":
        raise SettingsError(f"moments can only be written as .npz, got '{output}'", hint="use a name that ends in .npz")
    source = opened(data, options)
    partial = output.with_name(output.name + PARTIAL)
    begun = _begun(partial, source, resamples or 0)
    if begun is not None and not quiet:
        part = f", and {begun.sections} parts of the next one," if begun.sections else ""
        whole = len(begun.files) - bool(begun.sections)
        say(f"{partial}: {whole} of {len(source.parts())} files{part} were summed up before")
    with limited_run(time_limit), _kept(partial) as keep, executor_for(options["workers"], options["dask"]) as executor:
        totals = streamed(
            source, begun=begun, tell=keep, seed=seed, resamples=resamples or 0, spread=spread_over(executor)
        )  # fmt: skip
    with writing(output):
        save_moments(output, totals)
    partial.unlink(missing_ok=True)
    if not quiet:
        left = f", of which {totals.dropped:,} with a missing value are left out" if totals.dropped else ""
        say(f"{totals.n + totals.dropped:,} rows{left}, {len(totals.names)} columns -> {output}")
        say(f"next: drbo fit {output}")


@contextmanager
def _kept(partial: Path) -> "Iterator[Callable[[Begun], None]]":
    """Give what keeps the sums so far: in a file, every few seconds and where the pass does not come to its end."""
    from drbo.data.statistics.moments_file import save_part
    from drbo.gathering import in_time

    latest: Begun | None = None
    saved = time.monotonic()

    def save(begun: "Begun") -> None:
        with writing(partial):
            save_part(partial, begun)

    def keep(begun: "Begun") -> None:
        nonlocal latest, saved
        latest = begun
        if time.monotonic() > saved + KEPT_SECONDS:
            save(begun)
            saved = time.monotonic()

    try:
        with in_time("run the same command again: it continues where it stopped"):
            yield keep
    except BaseException:
        if latest is not None:
            save(latest)
        raise


def _begun(partial: Path, source: "Source", resamples: int) -> "Begun | None":
    """Return what an earlier command has summed up, if it was of these files and they have not changed since."""
    from drbo.data.statistics.moments_file import load_part

    if not partial.exists():
        return None
    try:
        begun = load_part(partial)
        drawn = 0 if begun.totals.resamples is None else len(begun.totals.resamples)
        now = tuple(part.stamp() for part in source.parts()[: len(begun.files)])
        if begun.files == now and now and drawn == resamples:
            return begun
    except (DrboError, OSError):  # begin again
        pass
    return None
