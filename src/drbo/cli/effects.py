"""``drbo effects``: estimates the effect of one column on another, over all graphs that the data cannot tell apart."""

import json
from pathlib import Path
from typing import Any

import click

from drbo.cli.messages import say, show
from drbo.cli.options import FILE, json_option, quiet_option
from drbo.cli.table_options import data_options, read_frame
from drbo.errors import SettingsError
from drbo.progress import counting


@click.command(short_help="Estimate linear effects, given a graph.")
@click.argument("run", type=FILE)
@click.argument("data", type=FILE)
@click.option("--from", "source", metavar="A", help="The cause: the column that is changed.  [default: every column]")
@click.option("--to", "target", metavar="B", help="The outcome: the column that responds.  [default: every column]")
@click.option(
    "--bootstrap",
    type=click.IntRange(min=2),
    metavar="N",
    help="Relearn the graph on N resamples of DATA; requires --from and --to.",
)
@quiet_option
@data_options
@json_option
def effects(run: Path, data: Path, as_json: bool, quiet: bool, **options: Any) -> None:
    """Print total and direct linear effects in the graph of RUN, estimated from the table in DATA.

    RUN is a folder that 'drbo fit -o' wrote. If the data do not determine all directions, an effect is a set of values,
    one for each possible set of parents of the cause. DATA should be rows that the graph was not learned from: the
    intervals from the rows of the run itself ignore that the graph was selected on the same data, and a note says so.
    --bootstrap accounts for the selection of the graph.

    \b
    Examples:
      drbo effects result new-rows.csv --from dose --to outcome
      drbo effects result table.csv --from dose --to outcome --bootstrap 100
      drbo effects result new-rows.csv --to outcome --json
    """
    from drbo.result.result import Result

    if options["missing"] in ("em", "impute"):
        raise SettingsError(
            f"--missing {options['missing']} works only for a fit: effects are estimated from complete rows",
            hint="use --missing drop",
        )
    result = Result.load(run)
    frame = read_frame(data, options)
    source, target = options["source"], options["target"]
    if options["bootstrap"] is None:
        found = result.effects(frame, source, target, missing=options["missing"])
    else:
        from drbo.estimator import DrBO

        if source is None or target is None:
            raise SettingsError(
                "--bootstrap estimates a single effect, so it needs both --from and --to", hint="add --from A --to B"
            )
        model = DrBO.like(result, missing=options["missing"])
        with counting("resamples", quiet=quiet, tell=say) as progress:
            found = model.fit(frame).effects(frame, source, target, n=options["bootstrap"], progress=progress)
    if not quiet and found.basis.startswith("conditional"):
        say("note: the graph was learned from these rows, so the intervals are too narrow; use new rows or --bootstrap")
    show(json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else found.summary(), machine=as_json)
