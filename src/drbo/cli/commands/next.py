"""``drbo next``: ranks experiments by what they are expected to tell about the directions of a saved graph."""

from pathlib import Path
from typing import Any

import click

from drbo.cli.messages import show
from drbo.cli.options import COUNT, FILE, json_option
from drbo.cli.output import show_json
from drbo.cli.table_options import file_options, read_frame
from drbo.errors import DataError


@click.command("next", short_help="Rank the experiments that would settle a graph.")
@click.argument("run", type=FILE)
@click.argument("data", type=FILE, required=False)
@click.option(
    "--goal",
    default="graph",
    show_default=True,
    metavar="GOAL",
    help="What to find out: graph (all directions), 'A->B' (whether A causes B, directly or not), or effects-on:B "
    "(which columns cause B).",
)
@click.option(
    "--cost",
    "costs",
    type=FILE,
    metavar="FILE",
    help="A table with the columns column and cost; inf: cannot be changed.  [default: 1 each]",
)
@click.option("--rows", type=COUNT, default=200, show_default=True, metavar="N", help="Planned rows of an experiment.")
@click.option(
    "--batch", type=COUNT, default=1, show_default=True, metavar="K", help="Number of experiments run at the same time."
)
@file_options
@json_option
def next_(run: Path, data: Path | None, costs: Path | None, as_json: bool, **options: Any) -> None:  # fmt: skip
    """Rank experiments on single columns by the information that they are expected to give, per cost.

    RUN is a folder that 'drbo fit -o' wrote. Open and assumed directions count as unknown. For each experiment the
    command says which directions it would settle, how many rows that needs, and what stays open after it.

    With DATA, the table of the run, information is averaged over the classes of graphs that are drawn from the
    posterior: exactly up to 15 columns, else by chains over orders. Without it, the class of the graph is assumed
    to be correct.

    \b
    Examples:
      drbo next result
      drbo next result table.csv
      drbo next result --goal 'dose->outcome' --rows 500
      drbo next result --goal effects-on:outcome --cost costs.csv --batch 3
    """
    from drbo.result.result import Result

    frame = None if data is None else read_frame(data, options)
    asked = {name: options[name] for name in ("goal", "rows", "batch")}
    found = Result.load(run).next_experiments(frame, costs=None if costs is None else read_costs(costs), **asked)
    if as_json:
        show_json(found.to_dict())
    else:
        show(found.summary())


def read_costs(path: Path) -> dict[str, float]:
    """Return the cost of an experiment on each of the columns that a table names."""
    from drbo import read_table

    frame = read_table(path)
    if not {"column", "cost"} <= set(frame.columns):
        raise DataError(
            f"{path} must have the columns column and cost, got {', '.join(map(str, frame.columns))}"[:300],
            hint="for example the lines 'column,cost' and 'dose,2.5'",
        )
    found: dict[str, float] = {}
    for name, cost in zip(frame["column"].astype(str), frame["cost"], strict=True):
        try:
            found[name] = float(cost)
        except ValueError:
            raise DataError(
                f"the cost of '{name}' in {path} must be a number, got {str(cost)!r:.80}",
                hint="give inf for a column that cannot be changed",
            ) from None
    return found
