"""``drbo judge``: tests a graph on rows that it was not learned from."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.interrupts import start_of_program
from drbo.cli.messages import say, show
from drbo.cli.options import FILE, duration, json_option, score_choice, score_options
from drbo.cli.pairs import score_options_of
from drbo.cli.table_options import data_options, group_option, policy_of, read_frame
from drbo.deadline import Deadline, current
from drbo.errors import SettingsError
from drbo.progress import under_way

if TYPE_CHECKING:
    import pandas as pd

    from drbo.result.judgement import Judgement
    from drbo.result.result import Result


#: With fewer groups, rows are split instead of groups.
MIN_GROUPS = 4


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
@click.option(
    "--time-limit",
    type=duration,
    metavar="TIME",
    help="Stop after this time, such as 60s, 5m or 1h, and report what was done.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random seed of the split, the random graphs and the permutations.",
)
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
    with Deadline(time_limit, start=start_of_program()):
        found = _judged(data, graph, as_is, options)
    show(json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else found.summary(), machine=as_json)


def _judged(data: Path, graph: Path, as_is: bool, options: dict[str, Any]) -> "Judgement":
    """Read the table and the graph, and judge."""
    from drbo.data.checks.experiments import control_rows
    from drbo.data.reading.frames import as_frame
    from drbo.result.judge import judge as judged
    from drbo.result.result import Result
    from drbo.scores.named import score_of_file

    rows = read_frame(data, options)
    frame = _complete(as_frame(rows), options)
    result = Result.load(graph) if graph.is_dir() else None
    groups = options["groups"] or (result and result.table.groups) or None
    if result is None:
        dag, names, choice = _from_file(frame, graph, options)
    else:
        if result.has_seen(rows):
            result, frame = _unseen(result, frame, _own_score(result, options), as_is=as_is, seed=options["seed"])
        if result.graph.kind == "pag":
            return _judged_with_hidden(result, frame, options, groups)
        dag, names = result.dag, result.names
        if options["score"] != "auto" or options["score_option"]:
            choice = _asked(frame[[*names, *([groups] if groups else [])]], options, groups)
        else:
            choice = score_of_file(result.score_name, None, f"the result in {graph}"), result.scoring.plain_options
    if result is not None and (found := result.claims.experiments) is not None:
        frame = control_rows(frame, found.design)  # its independences hold in the control
    with under_way("judging", tell=say):
        return judged(
            dag, frame, names=names, score=choice[0], score_options=choice[1], test=options["test"],
            n_random=options["n_random"], n_permutations=options["n_permutations"], path=not options["no_path"],
            seed=options["seed"], groups=groups,
        )  # fmt: skip


def _judged_with_hidden(
    result: "Result", frame: "pd.DataFrame", options: dict[str, Any], groups: str | None
) -> "Judgement":
    """Judge a graph that allows hidden causes, with its own score."""
    if options["score"] not in ("auto", result.score_name):
        raise SettingsError(f"--score {options['score']} cannot judge a graph with hidden causes", hint="omit --score")
    own = result.scoring.plain_options | score_options_of(options["score_option"])
    given = {name: options[name] for name in ("test", "n_random", "n_permutations", "seed")}
    return result.reading.judge(frame, given | {"score_options": own, "groups": groups})


def _complete(frame: "pd.DataFrame", options: dict[str, Any]) -> "pd.DataFrame":
    """Return the rows that can be judged by."""
    from drbo.data.checks.missing import complete_rows, missing_cells, note

    if options["missing"] in ("em", "impute"):
        raise SettingsError(
            f"--missing {options['missing']} works only for a fit: a graph is judged on complete rows",
            hint="use --missing drop",
        )
    missing = missing_cells(frame)
    if options["missing"] == "drop" and missing.any():
        say(f"note: {note(frame, missing, 'drop')}")
        frame = frame.loc[complete_rows(frame)].reset_index(drop=True)
    return frame


def _from_file(frame: "pd.DataFrame", graph: Path, options: dict[str, Any]) -> tuple[Any, Any, tuple[Any, Any]]:
    from drbo.result.files.export import read_graph

    dag, names = read_graph(graph, names=[str(name) for name in frame if name != options["groups"]])
    say("note: this file does not record the rows that the graph was learned from; make sure that they are not these")
    return dag, names, _asked(frame, options, options["groups"])


def _asked(frame: "pd.DataFrame", options: dict[str, Any], groups: str | None) -> tuple[Any, dict[str, Any]]:
    """Return the score that a fit of this table would use, and its options."""
    from drbo.data.checks.prepare import Preparation
    from drbo.design import DataPolicy, Design

    policy = DataPolicy(on_constant=policy_of(options).on_constant, on_collinear="keep")
    data = Preparation(Design(groups=groups), policy).prepare(frame)
    for note in data.notes:
        say(f"note: {note}")
    name, chosen, *_ = score_choice(data.table, options["score"], options["score_option"])
    return name, chosen


def _own_score(result: "Result", options: dict[str, Any]) -> dict[str, str]:
    """Return the score to learn the graph again with, where it is not one of drbo's: the person must name it."""
    from drbo.scores.named import is_built_in, score_of_file

    if is_built_in(result.score_name):
        return {}
    given = None if options["score"] == "auto" else options["score"]
    return {"score": score_of_file(result.score_name, given, "the result")}


def _unseen(
    result: "Result", frame: "pd.DataFrame", score: dict[str, str], *, as_is: bool, seed: int
) -> tuple["Result", "pd.DataFrame"]:
    """Return a result that was fitted again on one half of the rows, and the other half."""
    import numpy as np

    if as_is:
        say("warning: the graph was learned from these rows, so everything below is too favourable")
        return result, frame
    train, held = _halves(frame, result.table.groups, np.random.default_rng(seed))
    say(
        f"note: the graph was learned from these rows, so they are split: a new graph is learned from {len(train)} "
        f"rows with the same settings and judged on the other {len(held)}. Use --as-is to judge the original graph "
        "on the rows that it was learned from"
    )
    again = _fitted_again(result, frame.iloc[train], score)
    return again, frame.iloc[held].reset_index(drop=True)


def _halves(frame: "pd.DataFrame", groups: str, rng: Any) -> tuple[Any, Any]:
    """Return the rows of two halves of a table, which do not share a group if there are some in both."""
    import numpy as np

    from drbo.data.checks.groups import split_groups

    _, codes = split_groups(frame, groups or None)
    parts = np.arange(len(frame)) if codes is None or codes.max() + 1 < MIN_GROUPS else codes
    order = rng.permutation(parts.max() + 1)
    first = np.isin(parts, order[: len(order) // 2])
    return np.flatnonzero(first), np.flatnonzero(~first)


def _fitted_again(result: "Result", frame: "pd.DataFrame", score: dict[str, str]) -> "Result":
    from drbo.estimator import DrBO

    left = current().left()
    with Deadline(None if left == float("inf") else left / 2):  # the other half is for the judgement
        found = result.claims.experiments
        columns = [*result.names, *([result.table.groups] if result.table.groups else [])]
        columns += [] if found is None else [found.column]
        with under_way("fitting half of the rows", tell=say):
            again: Result = DrBO.like(result, exact=False, **score).fit(frame[columns]).result_
    say(
        f"note: the graph learned from half of the rows has {len(again.directions)} edges, the original graph "
        f"{len(result.directions)}"
    )
    return again
