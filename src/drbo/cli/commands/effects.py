"""``drbo effects``: estimates the effect of one column on another, over all graphs that the data cannot tell apart."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.messages import say, show
from drbo.cli.options import FILE, json_option, quiet_option
from drbo.cli.output import show_json
from drbo.cli.table_options import file_options, missing_option, read_frame
from drbo.errors import SettingsError
from drbo.progress import counting, under_way

if TYPE_CHECKING:
    from drbo.result.result import Result


@click.command(short_help="Estimate effects, given a graph.")
@click.argument("run", type=FILE)
@click.argument("data", type=FILE, required=False)
@click.option("--from", "source", metavar="A", help="The cause: the column that is changed.  [default: every column]")
@click.option("--to", "target", metavar="B", help="The outcome: the column that responds.  [default: every column]")
@click.option("--do", "do", metavar="A=LEVEL", help="Set the categorical column A to LEVEL; requires --to.")
@click.option(
    "--bootstrap",
    type=click.IntRange(min=2),
    metavar="N",
    help="Relearn the graph on N resamples of DATA; requires --from and --to.",
)
@quiet_option
@missing_option
@file_options
@json_option
def effects(run: Path, data: Path | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Print total and direct linear effects in the graph of RUN, estimated from the table in DATA.

    RUN is a folder that 'drbo fit -o' wrote. Open and assumed directions are tried both ways, so that an effect is a
    set of values, one for each possible set of parents of the cause. A categorical cause has one effect per level. For
    a categorical outcome, --do prints its probabilities if a category were set. With --to alone, the likely causes of B
    come first, those with the largest effects on top; a run that was told its --outcome needs no DATA for that.

    DATA should be rows that the graph was not learned from: the intervals from the rows of the run itself ignore that
    the graph was selected on the same data, and a note says so. --bootstrap accounts for the selection of the graph.

    \b
    Examples:
      drbo effects result new-rows.csv --from dose --to outcome
      drbo effects result table.csv --from dose --to outcome --bootstrap 100
      drbo effects result new-rows.csv --do "smoker=no" --to illness
      drbo effects result --to outcome
      drbo effects result new-rows.csv --to outcome --json
    """
    from drbo.result.result import Result

    if options["missing"] in ("em", "impute"):
        raise SettingsError(
            f"--missing {options['missing']} works only for a fit: effects are estimated from complete rows",
            hint="use --missing drop",
        )
    source, target = options["source"], options["target"]
    do = _setting(options)
    result = Result.load(run)
    if data is None:
        show(_stored(result, options, as_json=as_json))
        return
    frame = read_frame(data, options)
    found: Any
    if options["bootstrap"] is None:
        with under_way("estimating", quiet=quiet, tell=say):
            if do is not None:
                found = result.probabilities(frame, *do, target, missing=options["missing"])
            else:
                found = result.effects(frame, source, target, missing=options["missing"])
    else:
        from drbo.estimator import DrBO

        if source is None or target is None:
            raise SettingsError(
                "--bootstrap estimates a single effect, so it needs both --from and --to", hint="add --from A --to B"
            )
        model = DrBO.like(result)
        model.set_params(policy__missing=options["missing"])
        with under_way("fitting", quiet=quiet, tell=say):
            model.fit(frame)
        with counting("resamples", quiet=quiet, tell=say) as progress:
            found = model.effects(frame, source, target, n=options["bootstrap"], progress=progress)
    from drbo.result.effects import SEEN
    from drbo.result.outcome import outcome_record
    from drbo.result.words.outcome_words import about_outcome

    if not quiet and found.basis == SEEN:
        say("note: the graph was learned from these rows, so the intervals are too narrow; use new rows or --bootstrap")
    if as_json:
        show_json(found.to_dict())
    elif target is not None and source is None and do is None and result.series is None:
        show(about_outcome(result, outcome_record(target, found)))
    else:
        show(found.summary())


def _stored(result: "Result", options: dict[str, Any], *, as_json: bool) -> str:
    """Return what a run says of its outcome."""
    from drbo.result.words.outcome_words import about_outcome

    record, others = result.outcome, [as_json, *(options[name] for name in ("source", "do", "bootstrap"))]
    if record is None or options["target"] not in (None, record.column) or any(others):
        known = "the run was not told which column matters" if record is None else f"its outcome is '{record.column}'"
        raise SettingsError(
            f"without DATA, effects are those on the outcome of the run, but {known}",
            hint="give the table as well, or fit again with --outcome" if record is None else "give the table as well",
        )
    return about_outcome(result, record)


def _setting(options: dict[str, Any]) -> tuple[str, str] | None:
    """Return the column and the level that --do sets."""
    if options["do"] is None:
        return None
    name, equals, level = options["do"].rpartition("=")
    if not equals or not name:
        raise SettingsError(
            f"--do must look like COLUMN=LEVEL, got {options['do']!r}", hint="for example --do smoker=no"
        )
    if options["target"] is None:
        raise SettingsError("--do needs an outcome", hint="add --to COLUMN")
    for other in ("source", "bootstrap"):
        if options[other] is not None:
            option = {"source": "--from", "bootstrap": "--bootstrap"}[other]
            raise SettingsError(f"--do and {option} cannot be combined", hint="remove one of them")
    return name, level
