"""``drbo moments``: sums up a table, so that rows need not be shared or kept in memory."""

from pathlib import Path
from typing import Any

import click

from drbo.cli.executors import executor_for, worker_option
from drbo.cli.interrupts import limited_run
from drbo.cli.many_rows import opened
from drbo.cli.messages import say
from drbo.cli.options import COUNT, FILE, json_option, quiet_option, seed_option, time_option
from drbo.cli.output import show_json
from drbo.cli.table_options import column_options


@click.command(short_help="Sum up a table for a fit without its rows.")
@click.argument("data", type=FILE, nargs=-1, required=True, metavar="DATA")
@click.option("-o", "--output", type=FILE, required=True, metavar="FILE", help="Write to this .npz file.")
@click.option(
    "--resamples",
    type=COUNT,
    metavar="K",
    help="Also sum up K resamples of the rows, for 'drbo fit --bootstrap K'; the file becomes K times as large.",
)
@time_option()
@seed_option()
@worker_option
@column_options
@json_option
@quiet_option
def moments(
    data: tuple[Path, ...],
    output: Path,
    resamples: int | None,
    time_limit: float | None,
    seed: int,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write the moments of the table in DATA: counts, means, ranges, and products of every two columns.

    DATA is a Parquet file or a folder of them, a text file (.csv, .tsv, .txt), a table of an SQLite or DuckDB database
    (file.db::table), or moments, which are added up. Files are read once, in blocks, whatever their size. Moments
    from several data owners can be fitted together, so that no row leaves its owner (docs/guide/big-tables.md says what
    moments reveal). Rows with a missing value are only counted. If the command fails, is interrupted or reaches its
    time limit, what it has summed up is kept, and the same command continues there.

    \b
    Examples:
      drbo moments clinic.parquet -o clinic.npz
      drbo moments folder/ --drop id -o all.npz
      drbo moments clinic.parquet --resamples 100 -o clinic.npz
      drbo fit clinic.npz hospital.npz practice.npz
    """
    from drbo.data.statistics.moments_pass import MomentsPass
    from drbo.gathering import in_time, spread_over

    work = MomentsPass(opened(data, options), output, resamples or 0, seed)
    begun = work.begun()
    if begun is not None and not quiet:
        part = f", and {begun.sections} parts of the next one," if begun.sections else ""
        whole = len(begun.files) - bool(begun.sections)
        say(f"{work.partial}: {whole} of {len(work.source.parts())} files{part} were summed up before")
    with (
        limited_run(time_limit),
        in_time("run the same command again: it continues where it stopped"),
        executor_for(options["workers"]) as executor,
    ):
        totals = work.run(begun, spread_over(executor))
    if not quiet:
        left = f", of which {totals.dropped:,} with a missing value are left out" if totals.dropped else ""
        say(f"{totals.n + totals.dropped:,} rows{left}, {len(totals.names)} columns -> {output}")
        say(f"next: drbo fit {output}")
    if as_json:
        show_json(
            {"files": [str(output)], "n_rows": totals.n, "n_dropped": totals.dropped, "names": list(totals.names)}
        )
