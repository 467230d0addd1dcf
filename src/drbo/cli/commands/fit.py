"""``drbo fit``: from a file to a graph."""

import math
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.command_line import command_words
from drbo.cli.executors import executor_for, worker_option
from drbo.cli.experiments import experiment_options, series_options
from drbo.cli.fit_request import FitRequest, read_rows, resamples, start_of
from drbo.cli.headings import HeadedCommand
from drbo.cli.interrupts import INTERRUPTED, CommandRun, limited_run
from drbo.cli.many_rows import gathered
from drbo.cli.messages import say, show
from drbo.cli.options import (
    COUNT,
    FILE,
    config_option,
    json_option,
    quiet_option,
    score_options,
    seed_option,
    time_option,
)
from drbo.cli.output import result_content, save_result, show_json, writing
from drbo.cli.pairs import OTHERS
from drbo.cli.problems import refused
from drbo.cli.run_folder import check_folder, run_folder
from drbo.cli.table_options import file_options, group_option, missing_option
from drbo.deadline import Deadline, Stop, current
from drbo.errors import DataError, TimeLimitError
from drbo.progress import clock_time, counting, watch_for
from drbo.result.files.plan import RESAMPLES, Plan
from drbo.result.files.run_folder import CHECKPOINT
from drbo.result.words.plain_text import shell_line
from drbo.settings import Settings

if TYPE_CHECKING:
    from drbo.result.result import Result


HEADINGS = {
    "Table": ("read", "columns", "drop", "types", "na", "missing"),
    "Knowledge": ("knowledge_file", "forbid", "require", "tiers", "roots"),
    "Design (how the rows came about)": (
        "experiment",
        "control",
        "randomised",
        "outcome",
        "neighbourhood",
        "groups",
        "weights",
    ),
    "Time": ("time", "unit", "max_lag", "season", "trend"),
    "Score": ("score", "score_option", "hidden"),
    "Effort": ("max_evals", "time_limit", "seed", "bootstrap", "workers", "changes"),
    "Output": ("output", "force", "config", "as_json", "quiet"),
}


@click.command(cls=HeadedCommand, headings=HEADINGS, short_help="Find the highest-scoring graph of a table.")
@click.argument("data", type=FILE, nargs=-1, required=True, metavar="DATA")
@file_options
@missing_option
@click.option(
    "--knowledge",
    "knowledge_file",
    type=FILE,
    metavar="FILE",
    help="A TOML file with required, forbidden, tiers, forbid_within_tiers, roots, leaves, context, max_parents.",
)
@click.option("--forbid", multiple=True, metavar="'A->B'", help="Forbidden edge; repeatable.")
@click.option("--require", multiple=True, metavar="'A->B'", help="Required edge; repeatable.")
@click.option("--tiers", default="", metavar="'a,b;c'", help="Groups of variables in temporal order, earliest first.")
@click.option("--root", "roots", multiple=True, metavar="A", help="A variable without parents; repeatable.")
@experiment_options
@group_option
@click.option("--weights", metavar="COLUMN", help="Row weights, in this column (not a variable); w counts as w rows.")
@series_options
@score_options
@click.option("--hidden", is_flag=True, help="Allow hidden common causes: the answer is a PAG (docs/guide/hidden.md).")
@click.option(
    "--max-evals", type=COUNT, metavar="N", help="Maximum number of graphs to evaluate.  [default: set by the preset]"
)
@time_option()
@seed_option()
@click.option(
    "--bootstrap",
    type=resamples,
    metavar="[KIND:]N",
    help="Refit on N resamples to see how stable edges are: rows with replacement, or half of the rows (subsample:N), "
    "blocks of consecutive rows (block:N), or whole clusters that a column names (cluster=COLUMN:N).",
)
@worker_option
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help=f"Any other setting: of the search, such as exact=on or dropout=0.3, or {', '.join(OTHERS)} ('drbo init' "
    "explains them); repeatable.",
)
@click.option("-o", "--output", type=FILE, metavar="DIR", help="Folder for the result, the picture and the report.")
@click.option("--force", is_flag=True, help="Replace the run in DIR, or write into a folder that contains other files.")
@config_option
@json_option
@quiet_option
def fit(data: tuple[Path, ...], output: Path | None, force: bool, as_json: bool, quiet: bool, **options: Any) -> None:
    """Find the highest-scoring causal graph of the table in DATA.

    DATA is a CSV, TSV, Excel, Parquet, Feather, NPZ or NPY file, a table of an SQLite or DuckDB database
    (file.db::table), or - for standard input, with one named column per variable; or a folder of Parquet files, or
    files of 'drbo moments'. Large tables are read piece by piece (docs/guide/big-tables.md). Ctrl-C ends the search and
    returns the best graph so far. With -o the search is saved at regular intervals; 'drbo resume DIR' continues it.

    \b
    Examples:
      drbo fit table.csv
      drbo fit table.csv -o result --time-limit 5m --score-option penalty=2
      drbo fit table.csv --tiers "age,sex;dose;outcome" --json
      drbo fit trial.csv --randomised arm --outcome pain
      drbo fit visits.csv --groups patient
      drbo fit days.csv --time date --max-lag 7 --season 7
      drbo fit runs.csv --experiment run --control plain --set targets=targets.csv
      drbo fit table.csv -o result --bootstrap 100 --workers 2
      drbo fit survey.csv --missing impute --set imputations=20
      drbo fit messy.xlsx --read sheet=2 --drop id,date --types "sex=category,grade=low<medium<high"
      drbo fit counts.csv --weights times --set seeds=10
      drbo fit table.csv --set start=result --require "dose->outcome" -o edited
      drbo fit clinic.npz hospital.npz
      drbo fit --config run.toml
    """
    request = FitRequest.of(options)
    if output is not None:
        check_folder(output, force=force)
    with limited_run(request.settings.time_limit) as run:
        _fit(data, output, request, options, run, force=force, as_json=as_json, quiet=quiet)


def _fit(
    data: tuple[Path, ...],
    output: Path | None,
    request: FitRequest,
    options: dict[str, Any],
    run: CommandRun,
    *,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Read the table, search, save and print the result."""
    from drbo.gathering import in_time

    design, policy = request.arguments["design"], request.arguments["policy"]
    with executor_for(options["workers"]) as executor:
        unread = gathered(data, options, request.settings.max_memory, executor, quiet=quiet)
        frame: Any
        if unread is None:
            with in_time("raise it"):
                frame, resampling = read_rows(data[0], options, request, quiet=quiet)
        else:
            kind, wish = "bootstrap" if unread.counts is None else "counted", request.bootstrap
            frame, resampling = unread, None if wish is None else {"n": wish.n, "kind": kind}
        names = [str(name) for name in frame.columns if name not in design.labels]
        start = None if request.start is None else start_of(request.start, names)
        argv = command_words(click.get_current_context())
        with run_folder(output, force=force):
            if output is not None:
                resampling = _planned(output, argv, frame, resampling, request)
            folder = output / CHECKPOINT if output and request.one_search else None
            arguments = request.arguments | {"executor": executor}
            run.finish = lambda found: finish(replace(found, argv=argv, line=""), output, as_json=as_json, quiet=quiet)
            extra: dict[str, Any] = {"resampling": resampling, "seeds": request.seeds, "settings": request.settings}
            try:
                found = search(frame, arguments, run, quiet=quiet, start=start, checkpoint=folder, **extra)
            except DataError as error:
                raise error if unread is not None else refused(error, frame, design, policy) from error
            run.finish(found)
    exit_if_interrupted(found, output if request.one_search else None)


def _planned(
    output: Path, argv: tuple[str, ...], frame: Any, resampling: dict[str, Any] | None, request: FitRequest
) -> dict[str, Any] | None:
    """Save what the run was asked for, and return the arguments of the bootstrap with the file for its resamples."""
    plan = Plan(argv, time.strftime("%Y-%m-%d %H:%M:%S"), resumable=request.one_search)
    clusters = None
    if resampling is not None:
        plan = replace(plan, resamples=resampling["n"], kind=resampling["kind"])
        clusters = resampling.get("clusters")
        resampling = resampling | {"keep": output / RESAMPLES}
    if clusters is not None:
        from drbo.choices import Choices

        clusters = clusters[Choices.of(request.arguments).preparation.used_rows(frame, None)]
    with writing(output):
        plan.save(output, clusters)
    return resampling


def search(
    frame: Any,
    arguments: dict[str, Any],
    run: CommandRun,
    *,
    quiet: bool,
    settings: Settings | None = None,
    resampling: dict[str, Any] | None = None,
    seeds: int | None = None,
    start: Any = None,
    checkpoint: Path | None = None,
) -> "Result":
    """Fit the estimator and show its progress; then the resamples, if any are wanted."""
    # Read when torch is loaded. Its threads otherwise spin while they wait for work: on a busy machine several times
    # slower than one thread.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from drbo.estimator import DrBO

    with watch_for(settings or Settings(), quiet=quiet, tell=say) as watch:
        run.announce = watch.interrupted
        model = DrBO(**arguments)
        with Deadline(None if seeds is None else current().share(seeds)):
            model.fit(frame, start=start, checkpoint=checkpoint, callbacks=[watch])
        if seeds is not None:
            model.stability(frame, seeds, start=start, callbacks=[watch])
    if resampling is not None and model.result_.search.stop is not Stop.INTERRUPTED:
        refit(model, frame, resampling, quiet=quiet)
    result: Result = model.result_
    return result


def refit(model: Any, rows: Any, wish: dict[str, Any], *, quiet: bool) -> None:
    """Add the shares of resamples, of the rows of a data frame or of a checked table, to the result of a model."""
    executor = model.executor
    model.set_params(executor=None)  # resamples are the unit of work now
    deadline, result = current(), model.result_
    if "keep" in wish:
        deadline.answer_with(None, math.inf)
        save_result(result, wish["keep"].parent)  # the graph is safe before hours of resamples begin
    deadline.answer_with(lambda: result)
    with counting("resamples", quiet=quiet, tell=say) as progress:
        try:
            if (ended := deadline.reason) is not None and not ("keep" in wish and wish["keep"].exists()):
                raise TimeLimitError(f"no resample was finished: {ended.words}")
            model.bootstrap(rows, progress=progress, executor=executor, **wish)
        except TimeLimitError as error:  # the graph itself is there
            model.result_ = replace(model.result_, reasons=(*model.result_.reasons, error.message))


def finish(result: "Result", output: Path | None, *, as_json: bool = False, quiet: bool = False) -> None:
    """Save and print a result."""
    files: list[Path] = []
    current().answer_with(None, math.inf)
    try:
        if output is not None:
            files = save_result(result, output)
    finally:  # the result is not lost when it cannot be saved
        if as_json and not quiet:
            say(f"search: {result.n_evals:,} evaluations in {clock_time(result.seconds)}, {result.stopped}")
        if as_json:
            show_json(result_content(result, files))
        else:
            show(result.summary())
    if files and not quiet:
        say(f"saved {', '.join(file.name for file in files)} in {output}")


def exit_if_interrupted(result: "Result", folder: Path | None) -> None:
    """End the program with the exit code of an interrupted search; its last line continues one that is saved."""
    if result.search.stop is Stop.INTERRUPTED or current().interrupted:
        if folder is not None:
            say(shell_line(["drbo", "resume", str(folder)]))
        raise click.exceptions.Exit(INTERRUPTED)
