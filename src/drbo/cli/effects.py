"""``drbo effects``: what a change of one column does to another, over all graphs that the data cannot tell apart."""

import json
from pathlib import Path
from typing import Any

import click

from drbo.cli.messages import say, show
from drbo.cli.options import data_options, json_option, read_frame
from drbo.cli.progress import counting
from drbo.errors import SettingsError


@click.command(short_help="Estimate linear effects under a graph.")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--from", "source", metavar="A", help="The column that is changed.  [default: each]")
@click.option("--to", "target", metavar="B", help="The column that is looked at.  [default: each]")
@click.option(
    "--bootstrap",
    type=click.IntRange(min=2),
    metavar="N",
    help="Learn the graph again from N resamples of DATA; needs --from and --to.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notes on stderr.")
@data_options
@json_option
def effects(run: Path, data: Path, as_json: bool, quiet: bool, **options: Any) -> None:
    """Print total and direct linear effects in the graph of RUN, estimated from the table in DATA.

    RUN is a folder that 'drbo fit -o' wrote. Where the data leave directions open, an effect is a set of values, one
    for each way to direct the edges at the source. DATA should be rows that the graph was not learned from; with the
    rows of the run itself the answer holds only given this graph, and says so. --bootstrap takes the choice of the
    graph into account.

    \b
    Examples:
      drbo effects result new-rows.csv --from dose --to outcome
      drbo effects result table.csv --from dose --to outcome --bootstrap 100
      drbo effects result new-rows.csv --to outcome --json
    """
    from drbo.result.result import Result

    if options["missing"] in ("em", "impute"):
        raise SettingsError(
            f"--missing {options['missing']} is for a fit: effects are estimated from complete rows",
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
            raise SettingsError("--bootstrap is for one effect", hint="add --from A --to B")
        model = DrBO.like(result, missing=options["missing"])
        with counting("resamples", quiet=quiet) as progress:
            found = model.effects(frame, source, target, n=options["bootstrap"], progress=progress)
    if not quiet and found.basis.startswith("conditional"):
        say("note: these are the rows that the graph was learned from; new rows or --bootstrap give honest intervals")
    show(json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else found.summary(), machine=as_json)
