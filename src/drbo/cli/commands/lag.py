"""``drbo lag``: adds the past of a time series to its table, with the matching tiers."""

import json
from pathlib import Path
from typing import Any

import click

from drbo.cli.messages import say
from drbo.cli.options import COUNT, FILE, json_option
from drbo.cli.output import say_written, write
from drbo.cli.table_options import file_options, read_frame
from drbo.errors import SettingsError
from drbo.result.words.plain_text import plain


@click.command(short_help="Add lagged columns to a time series.")
@click.argument("data", type=FILE)
@click.option("--lags", type=COUNT, default=1, show_default=True, metavar="K", help="Number of lags.")
@click.option("-o", "--output", type=FILE, required=True, metavar="FILE", help="Write to this .csv file.")
@click.option(
    "--time",
    metavar="COLUMN",
    help="Sort by this time column, which is then removed.  [default: keep the order of the rows]",
)
@click.option(
    "--group", metavar="COLUMN", help="Column that identifies separate series, such as a person; it is then removed."
)
@file_options
@json_option
def lag(
    data: Path, lags: int, output: Path, time: str | None, group: str | None, as_json: bool, **options: Any
) -> None:
    """Write the time series in DATA with lagged copies of every column, and the tiers that follow from time.

    Column x, k rows earlier, is named x_lagk. A .toml file of the same name is written beside FILE: its tiers state
    that the present never causes the past.

    \b
    Example:
      drbo lag series.csv --lags 2 --time day -o lagged.csv
      drbo fit lagged.csv --knowledge lagged.toml -o result
    """
    from drbo.data.checks.lag import lagged
    from drbo.result.files.export import frame_bytes

    if output.suffix.lower() != ".csv":
        raise SettingsError(
            f"a lagged table can only be written as .csv, got '{output}'", hint="use a name that ends in .csv"
        )
    frame = read_frame(data, options)
    table, tiers, notes = lagged(frame, lags, time=time, group=group)
    for note in notes:
        say(f"note: {note}")
    known = output.with_suffix(".toml")
    made = f"# Made by 'drbo lag {plain(data.name)} --lags {lags}'"
    lines = [f"{made}: earliest to latest; the present never causes the past.", ""]
    lines += ["tiers = [", *(f"  {json.dumps(tier, ensure_ascii=False)}," for tier in tiers), "]", ""]
    write(output, frame_bytes(table))
    write(known, "\n".join(lines).encode())
    say(f"{len(table):,} rows of {table.shape[1]} columns -> {output}, tiers -> {known}")
    facts = {"n_rows": len(table), "names": [str(name) for name in table.columns]}
    say_written(f"next: drbo fit {output} --knowledge {known}", [output, known], as_json=as_json, **facts)
