"""``drbo judge``: tests a graph on rows that it was not learned from."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.interrupts import limited_run
from drbo.cli.messages import say, show
from drbo.cli.options import FILE, json_option, score_options, seed_option, time_option
from drbo.cli.output import show_json
from drbo.cli.pairs import score_options_of
from drbo.cli.table_options import data_options, group_option, policy_of, read_frame

if TYPE_CHECKING:
    from drbo.result.forecasts import Forecasts
    from drbo.result.judgement import Judgement


@click.command(short_help="Judge a graph when the truth is unknown.")
@click.argument("data", type=FILE)
@click.argument("graph", type=FILE)
@click.option(
    "--as-is",
    is_flag=True,
    help="Judge on these rows even if the graph was learned from them; the verdict is then too favourable.",
)
@click.option(
    "--test",
    type=click.Choice(["auto", "gaussian", "g-test", "kci"]),
    default="auto",
    show_default=True,
    help="Independence test: partial correlation (gaussian), contingency tables (g-test), or kernels (kci, slow).",
)
@click.option("--random", "n_random", type=click.IntRange(min=19), default=100, show_default=True, metavar="N",
              help="Number of random graphs with the same density.")  # fmt: skip
@click.option("--permutations", "n_permutations", type=click.IntRange(min=19), metavar="N",
              help="Number of node permutations.  [default: 20 to 200, depending on the test]")  # fmt: skip
@click.option("--no-path", is_flag=True, help="Skip the searches with increasing penalties.")
@time_option("Stop after this time, such as 60s, 5m or 1h, and report what was done.")
@seed_option("Random seed of the split, the random graphs and the permutations.")
@score_options
@group_option
@data_options
@json_option
def judge(
    data: Path, graph: Path, as_is: bool, as_json: bool, time_limit: float | None, **options: Any
) -> None:  # fmt: skip
    """Judge the graph in GRAPH on the table in DATA, without knowing the true graph.

    The command compares the score with those of random graphs, tests the independences that the graph implies, permutes
    its nodes, and searches with increasing penalties. GRAPH is a result folder or any file that 'drbo compare' reads.

    DATA should be rows that the graph was not learned from. If DATA is the table of the result itself, its rows are
    split: a graph is learned from one half with the same settings and judged on the other half.

    \b
    Examples:
      drbo judge new-rows.csv result
      drbo judge table.csv result          (the table of the result: split and fitted again)
      drbo judge table.csv graph.csv --score bge --json
    """
    with limited_run(time_limit, answers=False):
        found = _judged(data, graph, as_is, options)
    if as_json:
        show_json(found.to_dict())
    else:
        show(found.summary())


def _judged(data: Path, graph: Path, as_is: bool, options: dict[str, Any]) -> "Judgement | Forecasts":
    """Read the table and the graph, and judge."""
    from drbo.judging import Judging
    from drbo.result.files.export import read_graph
    from drbo.result.result import Result

    rows = read_frame(data, options)
    given = {name: options[name] for name in ("test", "n_random", "n_permutations")}
    how = Judging(
        score=options["score"], score_options=score_options_of(options["score_option"]), policy=policy_of(options),
        groups=options["groups"], as_is=as_is, seed=options["seed"], options=given | {"path": not options["no_path"]},
        tell=say,
    )  # fmt: skip
    if graph.is_dir():
        return how.of_result(Result.load(graph), rows, f"the result in {graph}")
    return how.of_graph(lambda columns: read_graph(graph, names=columns), rows)
